/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program asks for, checked, as what is submitted. Each answers 0, or the error. */
#ifndef TRIP_RUNTIME_PLAN_H
#define TRIP_RUNTIME_PLAN_H

#include "work/submitter.h"

/* An item that has a counter of its own. */
int trip_plan_work(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work);

/* One of pairs, but for where it stands: the counter that they feed. */
int trip_plan_of_pairs(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_work *work);

/* A pair, which has a counter: when it is reached. */
int trip_plan_pair(struct trip_submission *request, const struct trip_domain *domain,
	const struct trip_pair *pair);

/* Behind the parameters of a condition there is nothing. */
int trip_plan_check_rest(const struct trip_condition_row *row, const void *when);

#endif
