/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the rules that a chunk of packets hits. */
#include <rte_prefetch.h>

#include "lookup.h"

/* Looked up again after a change; then packet by packet; see table.h on `changes`. */
#define LOOKUPS_MAX 4

void
trip_lookup_prefetch(struct rte_mbuf **pkts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		rte_prefetch0(rte_pktmbuf_mtod(pkts[i], const void *));
}

static inline __attribute__((always_inline)) void
parse_packet(struct trip_lookup *lookup, uint32_t i)
{
	lookup->bytes[i] = trip_packet_parse_noting(
		lookup->pkts[i], lookup->parsed, &lookup->fields[i], &lookup->others);
}

/* Not inline: its loop wants the registers that the masks' take. */
static __attribute__((noinline)) void
parse(struct trip_lookup *lookup)
{
	for (uint32_t i = 0; i < lookup->count; i++)
		parse_packet(lookup, i);
}

/* One mask being asked about packets: key i of the scratch is of packet i, or of list[i]. By value
 * where it is inlined: what is stored to the scratch cannot change it then. */
struct ask {
	struct trip_lookup *lookup;
	const struct trip_tuple *tuple;
	const struct trip_tuple_array *array;
	const struct trip_count *counts;
	const _Atomic uint8_t *actions;
};

static struct ask
ask_of(struct trip_lookup *lookup, const struct trip_tuple *tuple)
{
	/* Acquire: the keys in it; partner: the release in trip_tuple_grow. */
	return (struct ask){.lookup = lookup,
		.tuple = tuple,
		.array = atomic_load_explicit(&tuple->array, memory_order_acquire),
		.counts = lookup->counts,
		.actions = lookup->actions};
}

static inline __attribute__((always_inline)) void
prefetch_bucket(const uint8_t *bucket, const unsigned int words)
{
	for (uint32_t i = 0; i < trip_tuple_stride(words); i += 64)
		rte_prefetch0(bucket + i);
}

static inline __attribute__((always_inline)) void
hash_key(const struct ask ask, const unsigned int words, uint32_t at, uint32_t packet)
{
	struct trip_lookup *lookup = ask.lookup;
	const struct trip_packet_fields *fields = &lookup->fields[packet];
	struct trip_tuple_key *key = &lookup->keys[at];

	trip_tuple_key(ask.tuple, words, fields, key);
	lookup->buckets[at] = trip_tuple_home(ask.tuple, ask.array, words, fields, key);
	prefetch_bucket(lookup->buckets[at], words);
}

static inline __attribute__((always_inline)) void
hash_keys(const struct ask ask, const unsigned int words, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		hash_key(ask, words, i, ask.lookup->list[i]);
}

/* Of all packets, each as soon as it is parsed: its bucket travels while the next one is read. */
static inline __attribute__((always_inline)) void
parse_and_hash_keys(const struct ask ask, const unsigned int words, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		parse_packet(ask.lookup, i);
		hash_key(ask, words, i, i);
	}
}

/* For writing, where DPDK's rte_prefetch0_write() is one for reading in a build for any x86-64: the
 * home reads these lines too, and a line that is only shared would be asked for twice. */
static inline __attribute__((always_inline)) void
prefetch_counts(const struct trip_count *count)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)count));
#else
	rte_prefetch0_write(count);
#endif
}

static inline __attribute__((always_inline)) void
prefetch_rule(const struct trip_count *counts, const _Atomic uint8_t *actions, uint32_t lead)
{
	/* No lead: rule 0's lines, which costs less than to ask. */
	uint32_t rule = (lead & TRIP_TUPLE_RULE) - (lead != 0);

	prefetch_counts(&counts[rule]);
	rte_prefetch0((const void *)&actions[rule]);
}

/* What packet `at` of the list finds in its bucket; true where it must look into the next one,
 * which is asked for. That is rare, and so one branch that is well predicted; a bucket that some
 * keys have passed is not. */
static inline __attribute__((always_inline)) bool
probe_key(const struct ask ask, const unsigned int words, uint32_t at)
{
	struct trip_lookup *lookup = ask.lookup;
	const uint8_t *bucket = lookup->buckets[at];
	uint32_t lead = trip_tuple_probe(bucket, words, &lookup->keys[at]);
	uint32_t stops = trip_tuple_goes_on(bucket) ^ TRIP_TUPLE_GOES_ON;

	lookup->leads[at] = lead;
	/* Of two comparisons a compiler makes two branches. */
	if (unlikely((lead | stops) == 0)) {
		lookup->buckets[at] = trip_tuple_next(ask.array, words, bucket);
		prefetch_bucket(lookup->buckets[at], words);
		return true;
	}
	prefetch_rule(ask.counts, ask.actions, lead);
	return false;
}

/* The keys that were not in their first bucket, but may be in the next: step by step, together. */
static inline __attribute__((always_inline)) void
probe_further(const struct ask ask, const unsigned int words, uint32_t count)
{
	uint32_t *further = ask.lookup->further;
	uint32_t i, left;
	uint64_t steps;

	/* Bounded by the array: a writer may change what goes on while we walk. */
	for (steps = 1; count > 0 && steps < ask.array->count; steps++, count = left)
		for (i = 0, left = 0; i < count; i++)
			if (probe_key(ask, words, further[i]))
				further[left++] = further[i];
}

/* Leads of the packets in the list to lookup->leads, in the order of the list. */
static inline __attribute__((always_inline)) void
probe_keys(const struct ask ask, const unsigned int words, uint32_t count)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++)
		if (probe_key(ask, words, i))
			ask.lookup->further[left++] = i;
	if (unlikely(left > 0))
		probe_further(ask, words, left);
}

/* Code of its own for each length that keys of one stack of headers have, so that no loop over
 * their words is left. */
#define EACH_LENGTH(of, run)                                                                    \
	of(run, 0) of(run, 1) of(run, 2) of(run, 3) of(run, 4) of(run, 5) of(run, 6) of(run, 7) \
		of(run, 8) of(run, 9)
#define CASE(run, n)                 \
	case n:                      \
		run(*ask, n, count); \
		break;
#define BY_LENGTH(run)                               \
	switch (ask->tuple->words) {                 \
		EACH_LENGTH(CASE, run)               \
	default:                                     \
		run(*ask, ask->tuple->words, count); \
	}

static void
hash(const struct ask *ask, uint32_t count)
{
	BY_LENGTH(hash_keys);
}

static void
parse_and_hash(const struct ask *ask, uint32_t count)
{
	BY_LENGTH(parse_and_hash_keys);
}

static void
probe(const struct ask *ask, uint32_t count)
{
	BY_LENGTH(probe_keys);
}

/* The better of two leads of one packet; chains are looked into only when the packet is settled. */
uint32_t
trip_lookup_better(const struct trip_table *table, uint32_t a, uint32_t b)
{
	const struct trip_table_entry *x, *y;

	if (a == 0 || b == 0)
		return a | b;
	if (((a | b) & TRIP_TUPLE_CHAIN) != 0)
		return a | TRIP_TUPLE_CHAIN;
	x = &table->entries[a - 1];
	y = &table->entries[b - 1];
	if (x->rank != y->rank)
		return x->rank < y->rank ? a : b;
	return trip_table_sequence(x) < trip_table_sequence(y) ? a : b;
}

/* Of the packets that are still searched for, those in which this mask can find anything. */
static uint32_t
candidates(struct trip_lookup *lookup, const struct trip_tuple *tuple, uint32_t active)
{
	uint32_t packet, count = 0;

	for (packet = 0; packet < lookup->count; packet++) {
		uint32_t bits = lookup->fields[packet].halves[0];

		lookup->list[count] = (uint8_t)packet;
		count += (active >> packet & 1) & ((bits & tuple->bits_mask) == tuple->bits_value);
	}
	return count;
}

/* Note what a mask found; returns the packets to which the next masks still matter. */
static uint32_t
merge(struct trip_lookup *lookup, bool final, uint32_t count, uint32_t active)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t lead = lookup->leads[i], packet = lookup->list[i];

		if (lead == 0)
			continue;
		lead = trip_lookup_better(lookup->table, lookup->found[packet], lead);
		lookup->found[packet] = lead;
		/* What needs a search of its own gets it, whatever else would be found. */
		if (final || (lead & TRIP_TUPLE_CHAIN) != 0)
			active &= ~(1u << packet);
	}
	return active;
}

static void
look_up_one_mask(struct trip_lookup *lookup, const struct trip_tuple *tuple)
{
	struct ask ask = ask_of(lookup, tuple);

	parse_and_hash(&ask, lookup->count);
	probe(&ask, lookup->count);
	memcpy(lookup->found, lookup->leads, sizeof(lookup->found));
}

static void
look_up(struct trip_lookup *lookup, const struct trip_table_view *view, bool parsed)
{
	uint32_t active = UINT32_MAX >> (TRIP_LOOKUP_CHUNK - lookup->count), i, count;

	if (view->count == 1 && view->tests == 0) {
		look_up_one_mask(lookup, view->at[0].tuple);
		return;
	}
	if (!parsed)
		parse(lookup);
	trip_within_ask(&lookup->table->within, &lookup->within, view->tests & ~lookup->asked,
		lookup->fields, lookup->count);
	lookup->asked |= view->tests;
	memset(lookup->found, 0, sizeof(lookup->found));
	for (i = 0; i < view->count && active != 0; i++) {
		struct ask ask = ask_of(lookup, view->at[i].tuple);

		count = candidates(lookup, ask.tuple, active);
		if (count == 0)
			continue;
		hash(&ask, count);
		probe(&ask, count);
		active = merge(lookup, view->at[i].final, count, active);
	}
}

void
trip_lookup_chunk(struct trip_lookup *lookup)
{
	const struct trip_table *table = lookup->table;
	const struct trip_table_view *view;
	uint32_t tries;
	uint64_t changes;
	bool parsed;

	for (tries = 0; tries < LOOKUPS_MAX; tries++) {
		changes = trip_lookup_changes(table);
		/* Acquire: what is in it; partner: the release in publish_view(), table.c. */
		view = atomic_load_explicit(&table->view, memory_order_acquire);
		parsed = tries > 0 && (view->wants & ~lookup->parsed) == 0;
		lookup->parsed = view->wants | lookup->sent;
		if (!parsed)
			lookup->asked = 0;
		look_up(lookup, view, parsed);
		if (likely(!trip_lookup_has_changed(table, changes)))
			return;
	}
	/* A writer is busy: search for each packet by itself, which takes a shorter moment. */
	for (uint32_t i = 0; i < lookup->count; i++)
		lookup->found[i] = TRIP_TUPLE_CHAIN;
}
