/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a driver tells of its port, and when the worker may ask it.
 *
 * ethdev forbids control calls from RTE_ETH_EVENT_ERR_RECOVERING until the end of that is told, and
 * from RTE_ETH_EVENT_INTR_RESET on the application may reset the port. A driver tells before it
 * begins (hns3, bnxt), by a call in a thread of its own. So the worker asks it in turns. A turn
 * begins with a look at what was told (trip_life_look()), and whoever tells of a beginning waits
 * until the turn is over. A rule has gone in, then, before the beginning was told, and is dead when
 * the end is; or after the end was taken up, and lives. None went in between.
 *
 * The teller is EAL's interrupt thread, or one that polls the port (bnxt). It waits for a call, an
 * errand, a batch of rules or a few readings: a turn that is longer lets it go on in between. What
 * hns3 and bnxt do for a flow waits for no thread, but polls for the device's answer, for so long.
 * Where a call waited for the teller, neither would end: a teller goes on after WAIT_S all the
 * same. Of the rule of that call alone nobody knows, then, and it is taken for dead.
 */
#ifndef TRIP_NOTICE_H
#define TRIP_NOTICE_H

#include "hard.h"

/* Asks ethdev to tell of the port's removal, reset and recovery; and no more. Any thread. */
int trip_notice_watch(struct trip_hard *hard);
void trip_notice_unwatch(struct trip_hard *hard);

/* --- on the worker --- */

/* What was told since the last time, a set; a recovery in it is of after a reset, and its end of
 * after its beginning. */
uint32_t trip_notice_take(struct trip_hard *hard);
bool trip_notice_waits(const struct trip_hard *hard);

/* A turn begins, or ends. */
void trip_notice_enter(struct trip_hard *hard);
void trip_notice_leave(struct trip_hard *hard);

/* In the middle of a turn, lets whoever waits go on: 0; or -ENODEV, -EBUSY: the port is gone, or
 * recovers or is to be reset, and is not asked any more in this turn. */
int trip_notice_pass(struct trip_hard *hard);

/* Tells the application, which may take its time. */
void trip_notice_forward(struct trip_hard *hard, enum trip_port_event event);

#endif
