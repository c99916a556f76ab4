/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clocks of a domain's homes as counters (COND-01). Their handles, one of each clock, are the
 * domain's: nobody opens or closes them, and the registry does not know them. What they show is
 * reckoned from the tsc, in any process; their cells are the homes'.
 */
#ifndef TRIP_RUNTIME_CLOCK_CNTR_H
#define TRIP_RUNTIME_CLOCK_CNTR_H

#include <stdint.h>

#include "domain/domain.h"

/* Of a domain whose homes are there: 0 or -ENOMEM. */
int trip_clock_cntr_init(struct trip_domain *domain);
void trip_clock_cntr_fini(struct trip_domain *domain);

/* What a clock shows; where this process is not attached, what was last read of the handle. */
uint64_t trip_clock_cntr_read(const struct trip_cntr *clock);

#endif
