/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process killed between an update and its ring has left: armed counters that are past what
 * is armed, and doorbell leaves without their summary. An updater that is merely between the two
 * looks the same, so a suspect is only repaired when the next round still finds it. Counters for
 * which nobody waits cost a bit each, however many there are.
 */
#ifndef TRIP_SCRUB_H
#define TRIP_SCRUB_H

struct trip_home;

/* The home, from next_scrub_tsc on: a bounded part of a pass. */
void trip_scrub(struct trip_home *home);

#endif
