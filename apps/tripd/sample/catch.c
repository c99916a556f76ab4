/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_mbuf.h>

#include "catch.h"
#include "now.h"
#include "start/preflight.h"

#define SECOND UINT64_C(1000000000)

_Static_assert(TRIPD_PORTS_MAX <= 64, "a bit each");
_Static_assert(sizeof(uint32_t[4]) == TRIPD_SAMPLE_RECORD, "what is in front of a packet");

/* Acquire and release: what a catch has is seen by who has it next. */
static bool
try(struct tripd_catch *caught)
{
	return !atomic_load_explicit(&caught->held, memory_order_relaxed) &&
	       !atomic_exchange_explicit(&caught->held, true, memory_order_acquire);
}

static void
lock(struct tripd_catch *caught)
{
	while (!try(caught))
		sched_yield();
}

static void
unlock(struct tripd_catch *caught)
{
	atomic_store_explicit(&caught->held, false, memory_order_release);
}

static void
set_state(struct tripd_catch *caught, enum tripd_catch_state state)
{
	atomic_store_explicit(&caught->state, state, memory_order_release);
}

int
tripd_catch_init(struct tripd_catches *catches, const struct tripd_sample_options *options,
	const uint64_t *packet_ns)
{
	*catches = (struct tripd_catches){
		.packets = options->packets, .bytes = options->bytes, .packet_ns = packet_ns};
	for (unsigned int i = 0; i < TRIPD_CATCHES; i++) {
		catches->all[i].records = malloc(tripd_sample_records_max(options));
		if (catches->all[i].records == NULL)
			return -ENOMEM;
	}
	return 0;
}

void
tripd_catch_fini(struct tripd_catches *catches)
{
	for (unsigned int i = 0; i < TRIPD_CATCHES; i++)
		free(catches->all[i].records);
}

/* ---- control ----------------------------------------------------------------------------------
 */

static void
count_open(struct tripd_catches *catches, const struct tripd_catch_key *of, int by)
{
	for (unsigned int i = 0; i < TRIPD_PORTS_MAX; i++)
		if ((of->ports >> i & 1) != 0)
			atomic_fetch_add_explicit(&catches->open[of->direction][i], (uint32_t)by,
				memory_order_relaxed);
}

void
tripd_catch_begin(struct tripd_catches *catches, unsigned int which,
	const struct tripd_catch_key *of, uint64_t until_ns)
{
	struct tripd_catch *caught = &catches->all[which];

	lock(caught);
	caught->of = *of;
	caught->until_ns = until_ns;
	caught->used = 0;
	caught->packets = 0;
	set_state(caught, TRIPD_CATCH_OPEN);
	unlock(caught);
	count_open(catches, of, 1);
}

void
tripd_catch_end(struct tripd_catches *catches, unsigned int which)
{
	struct tripd_catch *caught = &catches->all[which];

	lock(caught);
	set_state(caught, TRIPD_CATCH_FULL);
	unlock(caught);
	count_open(catches, &caught->of, -1);
}

void
tripd_catch_free(struct tripd_catches *catches, unsigned int which)
{
	set_state(&catches->all[which], TRIPD_CATCH_FREE);
}

/* ---- forwarders -------------------------------------------------------------------------------
 */

/* A burst, and its keys as one statement has them. */
struct burst {
	struct rte_mbuf **pkts;
	uint16_t n;
	enum trip_flow_direction direction;
	uint64_t ns;
	const struct trip_each *each;
	uint64_t closings;
	uint32_t has;
	uint8_t keys[TRIPD_BURST][TRIP_EACH_KEY_MAX];
};

_Static_assert(TRIPD_BURST <= 32, "a bit each");

static void
take_keys(struct burst *burst, const struct tripd_catch_key *of)
{
	if (burst->each == of->each && burst->closings == of->closings)
		return;
	burst->each = of->each;
	burst->closings = of->closings;
	burst->has = 0;
	for (uint16_t i = 0; i < burst->n; i++)
		if (trip_each_key(of->each, burst->pkts[i], burst->direction, burst->keys[i]) == 0)
			burst->has |= UINT32_C(1) << i;
}

/* As much of a packet as there is, and as is asked for. */
static void
copy(const struct tripd_catches *catches, struct tripd_catch *caught, const struct rte_mbuf *pkt,
	uint64_t ns)
{
	const uint32_t length = RTE_MIN(pkt->pkt_len, catches->bytes);
	const uint32_t record[] = {
		(uint32_t)(ns / SECOND), (uint32_t)(ns % SECOND), length, pkt->pkt_len};
	uint8_t *to = caught->records + caught->used;
	const void *from = rte_pktmbuf_read(pkt, 0, length, to + sizeof(record));

	/* Its segments hold less than it is said to have. */
	if (from == NULL)
		return;
	memcpy(to, record, sizeof(record));
	if (from != to + sizeof(record))
		memcpy(to + sizeof(record), from, length);
	caught->used += sizeof(record) + length;
	caught->packets++;
}

static void
catch_all(const struct tripd_catches *catches, struct tripd_catch *caught, struct burst *burst)
{
	for (uint16_t i = 0; i < burst->n; i++) {
		if ((burst->has >> i & 1) == 0 ||
			memcmp(burst->keys[i], caught->of.key, caught->of.key_size) != 0)
			continue;
		if (burst->ns == 0)
			burst->ns = now_ns(CLOCK_REALTIME);
		copy(catches, caught, burst->pkts[i], burst->ns);
		if (caught->packets < catches->packets)
			continue;
		set_state(caught, TRIPD_CATCH_FULL);
		return;
	}
}

void
tripd_catch_take(struct tripd_catches *catches, unsigned int port,
	enum trip_flow_direction direction, struct rte_mbuf **pkts, uint16_t n)
{
	struct burst burst = {.pkts = pkts,
		.n = n,
		.direction = direction,
		.ns = catches->packet_ns != NULL ? *catches->packet_ns : 0};

	for (unsigned int i = 0; i < TRIPD_CATCHES; i++) {
		struct tripd_catch *caught = &catches->all[i];

		if (tripd_catch_state(caught) != TRIPD_CATCH_OPEN || !try(caught))
			continue;
		if (tripd_catch_state(caught) == TRIPD_CATCH_OPEN &&
			caught->of.direction == direction && (caught->of.ports >> port & 1) != 0) {
			take_keys(&burst, &caught->of);
			if (catches->packet_ns != NULL && burst.ns >= caught->until_ns)
				set_state(caught, TRIPD_CATCH_FULL);
			else
				catch_all(catches, caught, &burst);
		}
		unlock(caught);
	}
}
