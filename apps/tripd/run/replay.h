/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --clock packet: the control thread drives the ports itself, and all happens at the times of the
 * packets.
 *
 * Of all queues of all ports the earliest packet comes next, of packets of one time that of the
 * first port and queue. Before it is counted, the domain's clock goes to its time, by way of
 * everything that is due until then, and of the ends of quotas' periods; and what it makes due is
 * done before the next. So what is done, and in which order, is of the packets alone.
 *
 * Time may jump by years. Only what is due every so often makes that long: after so many stops of
 * the clock it rests until the packet, and is done once for all that was left out. And rules may
 * go round at one time, by what they reset: behind as many resets the packet is next.
 */
#ifndef TRIPD_REPLAY_H
#define TRIPD_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct tripd_forwarding;
struct tripd_plan;
struct tripd_quota;
struct tripd_replay_queue;

struct tripd_replay {
	struct tripd_forwarding *forwarding;
	struct tripd_quota *quota;
	struct tripd_replay_queue *queues;
	unsigned int n_queues;
	/* Where a packet has its time, and the flag that says so. */
	int offset;
	uint64_t flag;
	/* When the first packet came, which is when the clock was 0; since the epoch. */
	uint64_t began;
	bool has_begun;
	/* How often the clock has stopped on the way to the next packet. */
	unsigned int n_stops;
	/* How often something has begun anew since it moved. */
	unsigned int n_resets;
	/* When idle keys were looked for last. */
	uint64_t swept;
	/* A period did not end, or the next one did not begin. */
	bool failed;
};

/* Whether all ports of a run give their packets times; else TRIPD_EXIT_USAGE, and says which does
 * not. EAL runs. */
int tripd_replay_check(const struct tripd_plan *plan);

/* Over started ports: 0, or -ENOMEM, said on stderr. */
int tripd_replay_open(struct tripd_replay *replay, struct tripd_forwarding *forwarding,
	struct tripd_quota *quota);

/* Frees what has been received and not counted. */
void tripd_replay_close(struct tripd_replay *replay);

/* Goes on for so many milliseconds, or until there is no packet, and nothing left to do at the time
 * of the last one; false then. */
bool tripd_replay_run(struct tripd_replay *replay, unsigned int ms);

#endif
