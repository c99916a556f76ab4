/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the last counts of a shared counter are in the cache that it is read from.
 *
 * Whoever refreshes a driver's cache is EAL's interrupt thread: mlx5 DV asks its device by an
 * alarm, and takes the answer in a handler there; bnxt does it all in an alarm. A clock says
 * nothing of a thread that waits for a processor, or for somebody's callback that takes long. So
 * time is counted where the refresher runs: by beats, alarms of our own in that thread, each set
 * anew as it runs. EAL runs alarms in the order in which they are due. Whatever was set when a
 * rule went, and is due within the lag, has been run when beats have gone by since then that are
 * the lag's length together. What they count more than that is the device's, to answer.
 *
 * An alarm of mlx5 DV asks for one pool of 512 counters, and is set anew as it runs, too: for N
 * pools after an Nth of the lag. A thread that has its turn only when a beat is due runs each up to
 * a beat late, and has asked for all pools after the lag and N beats. N is not told. It is taken
 * from the most flows that were counted at once, twice over: counters that were given back wait in
 * the driver until their pool has been asked again, and the application may have some of its own.
 * So do those of rules that were refused, of which the last few lags are counted.
 * Pools stay. The more there are the shorter beats are, so that N of them are little.
 * Some that come while a flow is waited for are asked in the round that is under way, at shorter
 * intervals; what was asked before they came took longer ones. That is less than another lag.
 *
 * Beats run only while somebody waits for the end of a flow. Without them the clock decides, which
 * then may take longer: whoever waits may be that thread, or it hangs for good, or has no memory
 * for an alarm.
 *
 * The thread of mlx5 HWS is the driver's own, and runs nothing of ours: for that the clock has
 * more to spare.
 */
#ifndef TRIP_REFRESHER_H
#define TRIP_REFRESHER_H

#include "hard.h"

/* On the worker: a flow is counted from now on, or is not any more. */
void trip_refresher_count(struct trip_hard *hard, bool begins);

/* On the worker: a rule was refused that may have had a counter. */
void trip_refresher_refused(struct trip_hard *hard);

/* On the worker: a flow's rule has been taken out. */
void trip_refresher_out(struct trip_hard *hard, struct trip_hard_flow *flow);

/* On the worker: whether a reading that begins now, at `began`, shows all that the flow counted
 * before its rule went. To be asked before the driver is. */
bool trip_refresher_is_final(
	struct trip_hard *hard, const struct trip_hard_flow *flow, uint64_t began);

/* When there is no worker any more: no beat runs behind this. */
void trip_refresher_close(struct trip_hard *hard);

#endif
