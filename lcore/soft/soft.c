/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chunk of up to 32 packets goes through stages, each of which asks for the cache lines of the
 * next one before anybody waits for them:
 *
 *	parse	mbuf and headers to words
 *	look up, for each mask: make keys, hash, prefetch buckets; then compare, prefetch counts
 *		and action words
 *	settle	read action words, count, drop; a fence; compare counts with limits
 *
 * What is rare leaves the stages for a search of its own, packet by packet, in settle(): a key that
 * leads to several rules or to an `also` rule, and a rule that is not active.
 */
#include <rte_cycles.h>
#include <rte_prefetch.h>

#include "soft.h"

/* Searches again after a change; then packet by packet; see table.h on `changes`. */
#define LOOKUPS_MAX 4
#define SEARCHES_MAX 64

static const uint8_t all_packets[TRIP_SOFT_CHUNK] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
	14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

struct chunk {
	struct trip_soft_queue *queue;
	const struct trip_table *table;
	struct trip_soft_scratch *scratch;
	struct rte_mbuf **pkts;
	uint32_t count;
};

static void
parse(const struct chunk *chunk)
{
	uint32_t i;

	for (i = 0; i < chunk->count; i++)
		rte_prefetch0(rte_pktmbuf_mtod(chunk->pkts[i], const void *));
	for (i = 0; i < chunk->count; i++)
		chunk->scratch->bytes[i] =
			trip_packet_parse(chunk->pkts[i], &chunk->scratch->fields[i]);
}

static inline __attribute__((always_inline)) void
hash_keys(const struct chunk *chunk, const struct trip_tuple *tuple,
	const struct trip_tuple_array *array, const unsigned int key_words, const uint8_t *list,
	uint32_t count)
{
	struct trip_soft_scratch *scratch = chunk->scratch;
	uint64_t *key = scratch->keys;
	uint32_t i, j;

	for (i = 0; i < count; i++, key += key_words) {
		const uint64_t *words = scratch->fields[list[i]].words;

		for (j = 0; j < key_words; j++)
			key[j] = words[tuple->word[j]] & tuple->mask[j];
		scratch->buckets[i] = trip_tuple_bucket(
			array, key_words, trip_tuple_hash(key, key_words, tuple->secret));
		for (j = 0; j < trip_tuple_stride(key_words); j += TRIP_TUPLE_LINE_WORDS)
			rte_prefetch0(scratch->buckets[i] + j);
	}
}

/* Leads of the packets in `list` to scratch->leads, in the order of the list. */
static inline __attribute__((always_inline)) void
probe_keys(const struct chunk *chunk, const struct trip_tuple_array *array,
	const unsigned int key_words, uint32_t count)
{
	struct trip_soft_scratch *scratch = chunk->scratch;
	const struct trip_soft_queue *queue = chunk->queue;
	const uint64_t *key = scratch->keys;
	uint32_t i;

	for (i = 0; i < count; i++, key += key_words) {
		const uint64_t *bucket = scratch->buckets[i];
		uint32_t lead = trip_tuple_probe(bucket, key_words, key), rule;

		if (unlikely(lead == 0 && trip_tuple_goes_on(bucket, key_words)))
			lead = trip_tuple_search_on(array, key_words, bucket, key);
		scratch->leads[i] = lead;
		rule = (lead & ~TRIP_TUPLE_CHAIN) - (lead != 0);
		rte_prefetch0_write(&queue->counts[rule]);
		rte_prefetch0((const void *)&queue->actions[rule]);
	}
}

static void
lookup(const struct chunk *chunk, const struct trip_tuple *tuple, const uint8_t *list,
	uint32_t count)
{
	const struct trip_tuple_array *array =
		atomic_load_explicit(&tuple->array, memory_order_acquire);

#define LOOKUP(n)                                               \
	case n:                                                 \
		hash_keys(chunk, tuple, array, n, list, count); \
		probe_keys(chunk, array, n, count);             \
		return
	switch (tuple->key_words) {
		LOOKUP(1);
		LOOKUP(2);
		LOOKUP(3);
		LOOKUP(4);
		LOOKUP(5);
		LOOKUP(6);
		LOOKUP(7);
		LOOKUP(8);
		LOOKUP(9);
		LOOKUP(10);
		LOOKUP(11);
	}
#undef LOOKUP
}

/* The better of two leads of one packet; chains are looked into only when the packet is settled. */
static uint32_t
better(const struct trip_table *table, uint32_t a, uint32_t b)
{
	const struct trip_table_entry *x, *y;

	if (a == 0 || b == 0)
		return a | b;
	if (((a | b) & TRIP_TUPLE_CHAIN) != 0)
		return a | TRIP_TUPLE_CHAIN;
	x = &table->entries[a - 1];
	y = &table->entries[b - 1];
	if (x->priority != y->priority)
		return x->priority < y->priority ? a : b;
	return x->sequence < y->sequence ? a : b;
}

/* Of the packets that are still searched for, those in which this mask can find anything. */
static uint32_t
candidates(const struct chunk *chunk, uint32_t required, uint32_t active)
{
	struct trip_soft_scratch *scratch = chunk->scratch;
	uint32_t packet, count = 0, bits;

	for (packet = 0; packet < chunk->count; packet++) {
		memcpy(&bits, scratch->fields[packet].bytes + TRIP_PLACE_BITS, sizeof(bits));
		scratch->list[count] = (uint8_t)packet;
		count += (active >> packet & 1) & ((bits & required) == required);
	}
	return count;
}

/* Note what a mask found; returns the packets to which the next masks still matter. */
static uint32_t
merge(const struct chunk *chunk, bool final, uint32_t count, uint32_t active)
{
	struct trip_soft_scratch *scratch = chunk->scratch;
	uint32_t i;

	for (i = 0; i < count; i++) {
		uint32_t lead = scratch->leads[i], packet = scratch->list[i];

		if (lead == 0)
			continue;
		lead = better(chunk->table, scratch->found[packet], lead);
		scratch->found[packet] = lead;
		/* What needs a search of its own gets it, whatever else would be found. */
		if (final || (lead & TRIP_TUPLE_CHAIN) != 0)
			active &= ~(1u << packet);
	}
	return active;
}

static void
lookup_all(const struct chunk *chunk, const struct trip_table_view *view)
{
	struct trip_soft_scratch *scratch = chunk->scratch;
	uint32_t active = UINT32_MAX >> (TRIP_SOFT_CHUNK - chunk->count), i, count;

	if (view->count == 1) {
		lookup(chunk, view->at[0].tuple, all_packets, chunk->count);
		memcpy(scratch->found, scratch->leads, sizeof(scratch->found));
		return;
	}
	memset(scratch->found, 0, sizeof(scratch->found));
	for (i = 0; i < view->count && active != 0; i++) {
		const struct trip_tuple *tuple = view->at[i].tuple;

		count = candidates(chunk, tuple->required, active);
		if (count == 0)
			continue;
		lookup(chunk, tuple, scratch->list, count);
		active = merge(chunk, view->at[i].final, count, active);
	}
}

/* Has the table lost a rule or changed its order since? Partner: count_change() in table.c. */
static bool
has_changed(const struct trip_table *table, uint64_t changes)
{
	/* Relaxed: every lead and every view was read by an acquire before this. */
	return atomic_load_explicit(&table->changes, memory_order_relaxed) != changes;
}

/* Which rules the packets of the chunk found, as of one moment. */
static void
lookup_stable(const struct chunk *chunk)
{
	const struct trip_table *table = chunk->table;
	uint32_t tries, i;
	uint64_t changes;

	for (tries = 0; tries < LOOKUPS_MAX; tries++) {
		changes = atomic_load_explicit(&table->changes, memory_order_acquire);
		lookup_all(chunk, atomic_load_explicit(&table->view, memory_order_acquire));
		if (likely(!has_changed(table, changes)))
			return;
	}
	/* A writer is busy: search for each packet by itself, which takes a shorter moment. */
	for (i = 0; i < chunk->count; i++)
		chunk->scratch->found[i] = TRIP_TUPLE_CHAIN;
}

static __attribute__((noinline)) void
ring_reached(const struct chunk *chunk)
{
	struct trip_soft_queue *queue = chunk->queue;
	uint64_t tsc = rte_rdtsc();
	uint32_t i;

	for (i = 0; i < chunk->scratch->touched_count; i++) {
		uint32_t rule = chunk->scratch->touched[i];
		unsigned int reached = trip_count_reached(&queue->counts[rule]);

		if (reached == 0)
			continue;
		trip_count_cross(&queue->counts[rule], reached, tsc);
		queue->cross(queue->cross_arg, rule, reached);
	}
}

/* All limits of the lines that were counted on, after their counts: Q2 and Q3 of count.h. */
static void
ring(const struct chunk *chunk)
{
	struct trip_soft_scratch *scratch = chunk->scratch;
	unsigned int reached = 0;
	uint32_t i;

	trip_count_fence();
	for (i = 0; i < scratch->touched_count; i++)
		reached |= trip_count_reached(&chunk->queue->counts[scratch->touched[i]]);
	if (unlikely(reached != 0))
		ring_reached(chunk);
	scratch->touched_count = 0;
}

static inline void
count_rule(const struct chunk *chunk, uint32_t rule, uint32_t bytes)
{
	struct trip_soft_scratch *scratch = chunk->scratch;

	trip_count_add(&chunk->queue->counts[rule], 1, bytes);
	scratch->touched[scratch->touched_count++] = rule;
}

static inline uint8_t
action_of(const struct chunk *chunk, uint32_t rule)
{
	/* Relaxed: an action word stands for itself, nothing is published by it. */
	return atomic_load_explicit(&chunk->queue->actions[rule], memory_order_relaxed);
}

/* What a search of its own found for one packet. */
struct verdict {
	uint32_t best; /* rule + 1 */
	uint8_t best_action;
	uint8_t actions; /* of all `also` rules together */
};

static void
count_also(const struct chunk *chunk, uint32_t bytes)
{
	struct trip_soft_scratch *scratch = chunk->scratch;
	uint32_t i;

	for (i = 0; i < scratch->also_count; i++) {
		if (scratch->touched_count == TRIP_SOFT_TOUCHED)
			ring(chunk);
		count_rule(chunk, scratch->also[i], bytes);
	}
	scratch->also_count = 0;
}

/* The rules with one mask and key. Returns false where more than fit had to be counted at once. */
static bool
weigh_chain(const struct chunk *chunk, uint32_t lead, uint32_t bytes, struct verdict *verdict)
{
	struct trip_soft_scratch *scratch = chunk->scratch;
	const struct trip_table_entry *entry;
	bool fitted = true;
	uint8_t action;
	uint32_t at;

	for (at = lead & ~TRIP_TUPLE_CHAIN; at != 0;
		at = atomic_load_explicit(&entry->next, memory_order_acquire)) {
		entry = &chunk->table->entries[at - 1];
		action = action_of(chunk, at - 1);
		if ((action & TRIP_ACTION_ACTIVE) == 0)
			continue;
		if (entry->also) {
			if (scratch->also_count == TRIP_SOFT_ALSO) {
				count_also(chunk, bytes);
				fitted = false;
			}
			scratch->also[scratch->also_count++] = at - 1;
			verdict->actions |= action;
		} else if (verdict->best == 0 || better(chunk->table, verdict->best, at) == at) {
			verdict->best = at;
			verdict->best_action = action;
		}
	}
	return fitted;
}

/* One packet against all masks, without shortcuts. */
static void
search(const struct chunk *chunk, uint32_t packet, struct verdict *verdict)
{
	const struct trip_packet_fields *fields = &chunk->scratch->fields[packet];
	uint32_t bytes = chunk->scratch->bytes[packet], tries, i;
	const struct trip_table_view *view;
	bool fitted = true;
	uint64_t changes;

	for (tries = 0; tries < SEARCHES_MAX; tries++) {
		memset(verdict, 0, sizeof(*verdict));
		chunk->scratch->also_count = 0;
		changes = atomic_load_explicit(&chunk->table->changes, memory_order_acquire);
		view = atomic_load_explicit(&chunk->table->view, memory_order_acquire);
		for (i = 0; i < view->count; i++)
			fitted &= weigh_chain(chunk, trip_tuple_search(view->at[i].tuple, fields),
				bytes, verdict);
		/* What was counted already cannot be searched for again. */
		if (!fitted || !has_changed(chunk->table, changes))
			return;
	}
}

/* The long way for packet; returns whether it is dropped. */
static bool
settle_one(const struct chunk *chunk, uint32_t packet)
{
	uint32_t bytes = chunk->scratch->bytes[packet];
	struct verdict verdict;

	search(chunk, packet, &verdict);
	count_also(chunk, bytes);
	/* Room for one rule of each packet that is still to come, and for this one. */
	if (chunk->scratch->touched_count > TRIP_SOFT_TOUCHED - TRIP_SOFT_CHUNK)
		ring(chunk);
	if (verdict.best != 0)
		count_rule(chunk, verdict.best - 1, bytes);
	return ((verdict.actions | verdict.best_action) & TRIP_ACTION_DROP) != 0;
}

/* Count each packet; those that remain go to pkts from `to` on. Returns where the next one goes. */
static uint32_t
settle(const struct chunk *chunk, struct rte_mbuf **to)
{
	struct trip_soft_scratch *scratch = chunk->scratch;
	struct rte_mbuf *dropped[TRIP_SOFT_CHUNK];
	uint32_t i, kept = 0, drops = 0;

	for (i = 0; i < chunk->count; i++) {
		struct rte_mbuf *mbuf = chunk->pkts[i];
		uint32_t lead = scratch->found[i];
		uint8_t action = TRIP_ACTION_ACTIVE;
		bool drop;

		if (lead == 0) {
			to[kept++] = mbuf;
			continue;
		}
		if (likely((lead & TRIP_TUPLE_CHAIN) == 0))
			action = action_of(chunk, lead - 1);
		if (likely((lead & TRIP_TUPLE_CHAIN) == 0 && (action & TRIP_ACTION_ACTIVE) != 0)) {
			count_rule(chunk, lead - 1, scratch->bytes[i]);
			drop = (action & TRIP_ACTION_DROP) != 0;
		} else {
			drop = settle_one(chunk, i);
		}
		if (drop)
			dropped[drops++] = mbuf;
		else
			to[kept++] = mbuf;
	}
	ring(chunk);
	if (drops > 0)
		rte_pktmbuf_free_bulk(dropped, drops);
	return kept;
}

void
trip_soft_open(struct trip_soft_queue *queue, struct trip_table *table, struct trip_count *counts,
	const _Atomic uint8_t *actions, trip_soft_cross cross, void *cross_arg)
{
	memset(queue, 0, sizeof(*queue));
	queue->table = table;
	queue->counts = counts;
	queue->actions = actions;
	queue->cross = cross;
	queue->cross_arg = cross_arg;
	trip_table_attach(table, &queue->reader);
}

void
trip_soft_close(struct trip_soft_queue *queue)
{
	trip_table_detach(queue->table, &queue->reader);
}

uint16_t
trip_soft_burst(struct trip_soft_queue *queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct trip_table *table = queue->table;
	const struct trip_table_view *view;
	uint32_t done = 0, kept = 0;

	if (n == 0)
		return 0;
	trip_era_enter(&table->era, &queue->reader);
	view = atomic_load_explicit(&table->view, memory_order_acquire);
	if (view->count == 0) {
		trip_era_leave(&queue->reader);
		return n;
	}
	while (done < n) {
		struct chunk chunk = {
			.queue = queue,
			.table = table,
			.scratch = &queue->scratch,
			.pkts = pkts + done,
			.count = n - done < TRIP_SOFT_CHUNK ? n - done : TRIP_SOFT_CHUNK,
		};

		parse(&chunk);
		lookup_stable(&chunk);
		kept += settle(&chunk, pkts + kept);
		done += chunk.count;
	}
	trip_era_leave(&queue->reader);
	return (uint16_t)kept;
}
