/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports whose device goes away, or whose interface goes down, while they are in use. */
#ifndef TRIPD_REMOVAL_H
#define TRIPD_REMOVAL_H

#include <stdbool.h>
#include <stdint.h>

struct tripd_plan;
struct tripd_quota;

/* Begins to look after the planned ports, on which the rules are at work. Says on stderr which of
 * them nothing can arrive at. */
void tripd_removal_begin(const struct tripd_plan *plan, const struct tripd_quota *quota);
void tripd_removal_end(const struct tripd_plan *plan);

/* Tells that the device of a port is gone. Any thread. */
void tripd_removal_note(uint16_t port);

/* Looks for all of them. Returns whether there is something to say: some are gone, or a network
 * interface has gone down, or come up. */
bool tripd_removal_check(const struct tripd_plan *plan);

/* Says that on stderr, once. */
void tripd_removal_say(const struct tripd_plan *plan);

bool tripd_removal_of(uint16_t port);

/* How many of them are gone. */
unsigned int tripd_removal_count(const struct tripd_plan *plan);

#endif
