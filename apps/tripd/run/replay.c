/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <trip.h>

#include "forward.h"
#include "link/link.h"
#include "now.h"
#include "period.h"
#include "quota.h"
#include "replay.h"
#include "start/fail.h"
#include "start/preflight.h"
#include "start/resolve.h"

#define SECOND UINT64_C(1000000000)
/* Two for each time at which anything is due: a day in seconds, and some. */
#define STOPS_MAX 200000u
/* So many bursts of no packet find all keys that are idle, and once in a 320th of their idle time
 * they are to be found. */
#define SWEEPS_MAX 101u
#define SWEEPS_IN_IDLE 32000u
/* So often things begin anew on the way to a packet, where the clock stands: rules may go round. */
#define RESETS_MAX 1000u

/* What a queue has brought that is not counted yet. */
struct tripd_replay_queue {
	/* Index of its port in the plan. */
	unsigned int port;
	uint16_t id;
	uint16_t next, n;
	struct rte_mbuf *pkts[TRIPD_BURST];
};

int
tripd_replay_check(const struct tripd_plan *plan)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	for (unsigned int i = 0; i < plan->n_ports; i++) {
		uint16_t port = plan->ports[i].id;

		if (!tripd_link_has_times(port))
			return tripd_fail(TRIPD_EXIT_USAGE,
				"port %u (%s): --clock packet takes ports that give their packets "
				"times, which net_pcap does, without infinite_rx: --vdev "
				"net_pcap0,rx_pcap=FILE",
				port, tripd_resolve_device(port, name));
	}
	return 0;
}

int
tripd_replay_open(
	struct tripd_replay *replay, struct tripd_forwarding *forwarding, struct tripd_quota *quota)
{
	const struct tripd_plan *plan = forwarding->plan;
	unsigned int n = 0;

	for (unsigned int i = 0; i < plan->n_ports; i++)
		n += plan->ports[i].n_queues;
	*replay = (struct tripd_replay){
		.forwarding = forwarding,
		.quota = quota,
		.queues = calloc(n, sizeof(*replay->queues)),
		.offset = rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, NULL),
	};
	if (replay->queues == NULL)
		return tripd_fail(-ENOMEM, "no memory for %u queues", n);
	n = (unsigned int)rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_RX_TIMESTAMP_NAME, NULL);
	replay->flag = RTE_BIT64(n);
	for (unsigned int i = 0; i < plan->n_ports; i++)
		for (uint16_t id = 0; id < plan->ports[i].n_queues; id++)
			replay->queues[replay->n_queues++] =
				(struct tripd_replay_queue){.port = i, .id = id};
	return 0;
}

void
tripd_replay_close(struct tripd_replay *replay)
{
	for (unsigned int i = 0; i < replay->n_queues; i++) {
		struct tripd_replay_queue *queue = &replay->queues[i];

		rte_pktmbuf_free_bulk(&queue->pkts[queue->next], queue->n - queue->next);
	}
	free(replay->queues);
	*replay = (struct tripd_replay){0};
}

/* Of a packet, since the epoch: net_pcap has microseconds, from whatever a file says. One that has
 * none came with the one before it. */
static uint64_t
time_of(const struct tripd_replay *replay, const struct rte_mbuf *pkt)
{
	uint64_t us;

	if ((pkt->ol_flags & replay->flag) == 0)
		return replay->quota->packet_ns;
	us = *RTE_MBUF_DYNFIELD(pkt, replay->offset, const rte_mbuf_timestamp_t *);
	return us > TRIP_CNTR_MAX / 1000 ? TRIP_CNTR_MAX : us * 1000;
}

/* The queue whose next packet is the earliest; NULL: none has any. */
static struct tripd_replay_queue *
earliest(struct tripd_replay *replay, uint64_t *ns)
{
	struct tripd_replay_queue *first = NULL;

	for (unsigned int i = 0; i < replay->n_queues; i++) {
		struct tripd_replay_queue *queue = &replay->queues[i];
		uint64_t time;

		if (queue->next == queue->n) {
			queue->next = 0;
			queue->n = tripd_link_receive(&replay->forwarding->links[queue->port],
				queue->id, queue->pkts, TRIPD_BURST);
		}
		if (queue->n == 0)
			continue;
		time = time_of(replay, queue->pkts[queue->next]);
		if (first == NULL || time < *ns) {
			first = queue;
			*ns = time;
		}
	}
	return first;
}

static void
begin(struct tripd_replay *replay, uint64_t ns)
{
	replay->began = ns;
	replay->has_begun = true;
	replay->quota->packet_ns = replay->quota->packet_began = ns;
	tripd_period_restart(replay->quota, (int64_t)(ns / SECOND));
}

static void
update(struct tripd_replay *replay, uint64_t ns)
{
	replay->failed |= tripd_period_update(replay->quota, (int64_t)(ns / SECOND)) != 0;
}

/* At a time to which the clock has come: whether nothing is to be done there any more. */
static bool
arrive(struct tripd_replay *replay, uint64_t ns)
{
	bool rested = replay->n_stops >= STOPS_MAX;

	replay->n_stops = replay->n_resets = 0;
	if (!rested)
		return true;
	tripd_quota_go_round(replay->quota);
	update(replay, ns);
	return false;
}

/* All at the time that the clock shows: where anything is done, it does not move. */
static void
do_what_is_read(struct tripd_replay *replay)
{
	struct tripd_quota *quota = replay->quota;

	if (tripd_quota_read(quota) > 0 && (!quota->anew_asked || replay->n_resets++ < RESETS_MAX))
		update(replay, quota->packet_ns);
}

/* A step on the way to a time, at which nothing is due any more if it is there: whether it is. */
static bool
come_to(struct tripd_replay *replay, uint64_t ns)
{
	struct tripd_quota *quota = replay->quota;
	uint64_t end = tripd_period_next(quota), to = RTE_MIN(ns, end), was = quota->packet_ns;

	to = to > replay->began ? to - replay->began : 0;
	if (trip_clock_advance(quota->domain, to) != 0) {
		do_what_is_read(replay);
		quota->packet_ns = replay->began + trip_cntr_read(trip_clock_cntr(quota->domain));
		if (quota->packet_ns != was)
			replay->n_resets = 0;
		if (++replay->n_stops % STOPS_MAX == 0)
			tripd_quota_rest(quota);
		return false;
	}
	quota->packet_ns = RTE_MAX(quota->packet_ns, replay->began + to);
	if (end > ns)
		return arrive(replay, ns);
	/* However many ends there are until the packet, what was counted is of one period. Where
	 * that fails it is tried again. */
	update(replay, ns);
	return tripd_period_next(quota) == end;
}

/* How often queues are asked for keys that have become idle in that time: the shortest idle time of
 * all says so. */
static unsigned int
sweeps_of(const struct tripd_quota *quota, uint64_t passed)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < quota->rules->n_eaches; i++) {
		uint64_t idle = quota->rules->eaches[i].idle_us * 1000;

		if (quota->eaches[i].each != NULL)
			n = RTE_MAX(n, passed / (idle / SWEEPS_IN_IDLE));
	}
	return (unsigned int)RTE_MIN(n, SWEEPS_MAX);
}

/* Keys that are idle by the time of a packet go before it, which may be of one of them. */
static void
let_idle_go(struct tripd_replay *replay)
{
	uint64_t now = replay->quota->packet_ns;
	unsigned int n = sweeps_of(replay->quota, now - replay->swept);

	if (n > 0)
		replay->swept = now;
	for (unsigned int i = 0; i < replay->n_queues; i++)
		for (unsigned int k = 0; k < n; k++)
			tripd_forward_packets(replay->forwarding, replay->queues[i].port,
				replay->queues[i].id, NULL, 0);
}

bool
tripd_replay_run(struct tripd_replay *replay, unsigned int ms)
{
	uint64_t until = now_ns(CLOCK_MONOTONIC) + ms * UINT64_C(1000000), ns = 0;

	do {
		struct tripd_replay_queue *queue = earliest(replay, &ns);

		if (queue == NULL && !replay->has_begun)
			return false;
		if (!replay->has_begun)
			begin(replay, ns);
		if (queue == NULL && come_to(replay, replay->quota->packet_ns))
			return false;
		if (queue == NULL || !come_to(replay, ns))
			continue;
		let_idle_go(replay);
		tripd_forward_packets(
			replay->forwarding, queue->port, queue->id, &queue->pkts[queue->next++], 1);
		/* The next packet may be of a key that has tripped with this one. */
		if (replay->quota->samples != NULL && tripd_quota_keys_tripped(replay->quota))
			do_what_is_read(replay);
	} while (now_ns(CLOCK_MONOTONIC) < until && !tripd_period_is_full(replay->quota));
	return true;
}
