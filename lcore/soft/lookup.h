/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rules the packets of a chunk hit. A chunk of up to 32 packets goes through stages, each of
 * which asks for the cache lines of the next one before anybody waits for them:
 *
 *	parse	mbuf and headers to words
 *	hash	for a mask: keys, hashes; ask for buckets
 *	probe	compare; ask for counts and action words
 *
 * With one mask, parse and hash are one loop, so that buckets travel while the next headers are
 * read. With more, each mask is asked about the packets that can match it and for which
 * nothing better can be found any more. What is not a plain hit, a key that leads to several rules
 * or to an `also` rule, is only noted: trip_soft_burst searches for it by itself.
 */
#ifndef TRIP_LOOKUP_H
#define TRIP_LOOKUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "count.h"
#include "packet.h"
#include "table.h"

#define TRIP_LOOKUP_CHUNK 32

/* Kept from chunk to chunk: the words of a packet keep what earlier ones left (packet.h). */
struct trip_lookup {
	const struct trip_table *table;
	struct trip_count *counts;      /* [max_rules], of the queue */
	const _Atomic uint8_t *actions; /* [max_rules], shared */

	uint32_t sent;                   /* TRIP_WANT_SENT, or 0; and what keys want */
	struct trip_within_burst within; /* of the burst */

	/* The chunk. */
	struct rte_mbuf **pkts;
	uint32_t count;
	uint32_t parsed; /* TRIP_WANT_* that it was parsed with */
	uint64_t asked;  /* tests whose answers are in its words */
	uint32_t others; /* so many that may be broken were parsed */

	/* What it found, for each packet: a lead as in tuple.h, or 0. */
	uint32_t found[TRIP_LOOKUP_CHUNK];
	uint32_t bytes[TRIP_LOOKUP_CHUNK]; /* as counters have them */
	struct trip_packet_fields fields[TRIP_LOOKUP_CHUNK];

	/* In between: of the packets in `list`, which one mask is asked about. */
	uint8_t list[TRIP_LOOKUP_CHUNK];
	uint32_t leads[TRIP_LOOKUP_CHUNK];
	uint32_t further[TRIP_LOOKUP_CHUNK]; /* those whose search goes on */
	const uint8_t *buckets[TRIP_LOOKUP_CHUNK];
	struct trip_tuple_key keys[TRIP_LOOKUP_CHUNK];
};

/* Asks for the headers of packets that will be looked up. */
void trip_lookup_prefetch(struct rte_mbuf **pkts, uint32_t count);

/* Fills in found, bytes and fields for lookup->pkts. Within an era (era.h). */
void trip_lookup_chunk(struct trip_lookup *lookup);

/* The better of two leads of one packet: by rank, then sequence. Where one of them is a chain
 * the answer is one, too, as these are compared only when they are searched. */
uint32_t trip_lookup_better(const struct trip_table *table, uint32_t a, uint32_t b);

/* Before a search; partner of the release that follows count_change() in table.c. */
static inline uint64_t
trip_lookup_changes(const struct trip_table *table)
{
	return atomic_load_explicit(&table->changes, memory_order_acquire);
}

/* After it: has the table lost a rule, or changed its order, meanwhile? */
static inline bool
trip_lookup_has_changed(const struct trip_table *table, uint64_t changes)
{
	/* Relaxed: every lead and every view was read by an acquire before this. */
	return atomic_load_explicit(&table->changes, memory_order_relaxed) != changes;
}

#endif
