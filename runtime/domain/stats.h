/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_STATS_H
#define TRIP_RUNTIME_STATS_H

struct trip_client_home;
struct trip_domain;
struct trip_home;

/* What a home has done so far; any thread of the primary. */
void trip_stats_home(const struct trip_home *home, struct trip_client_home *out);
/* Of all homes, as backend.h has it. */
int trip_stats_homes(struct trip_domain *domain, struct trip_client_home *homes);

#endif
