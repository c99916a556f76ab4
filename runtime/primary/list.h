/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_LIST_H
#define TRIP_RUNTIME_LIST_H

#include "primary/request.h"

struct trip_client_cntr;
struct trip_domain;
struct trip_entry;

/* Answers TRIP_PROTOCOL_LIST. */
trip_request_quick trip_list;

/* Under the domain's lock. */
void trip_list_cntr(
	struct trip_domain *domain, const struct trip_entry *entry, struct trip_client_cntr *out);

#endif
