/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of a key in its entry, and who looks into a table. */
#include <string.h>

#include "keyed_priv.h"

uint32_t
trip_keyed_find(const struct trip_keyed *table, const uint64_t *key)
{
	return trip_keyed_line_find(table, key, keyed_hash(table->secret, key, table->words));
}

void
trip_keyed_mark(struct trip_keyed *table, uint32_t entry, uint8_t mark)
{
	_Atomic uint64_t *error = &keyed_rest(table, entry)[KEYED_ERROR];
	const uint64_t mask = (uint64_t)(uint8_t)~TRIP_KEYED_STAYS << KEYED_MARK_SHIFT;

	keyed_store(error, (keyed_load(error) & ~mask) | (uint64_t)mark << KEYED_MARK_SHIFT);
	/* It may be idle by then. */
	if (mark == 0)
		keyed_block(table, entry)->seen = keyed_idle_since(table);
}

void
trip_keyed_tell(struct trip_keyed *table, uint32_t entry, uint8_t told, uint8_t telling)
{
	_Atomic uint64_t *error = &keyed_rest(table, entry)[KEYED_ERROR];
	uint8_t state = keyed_told(told) | (uint8_t)(keyed_told(telling) << KEYED_TELLING_SHIFT);

	keyed_store(error, (keyed_load(error) & ~UINT64_C(0xff)) | state);
	if ((told & table->spill_rate) != 0)
		keyed_spill(table, entry);
}

void
trip_keyed_write(struct trip_keyed *table, uint32_t entry, uint32_t memo, uint64_t value)
{
	keyed_publish(&keyed_memos(table, entry)[memo], value);
}

void
trip_keyed_forget(struct trip_keyed *table, uint32_t entry)
{
	_Atomic uint64_t *rest = keyed_rest(table, entry);
	const uint64_t told = (1u << TRIP_KEYED_LIMITS) - 1;

	(void)trip_keyed_empty(table, entry);
	keyed_publish(&rest[KEYED_ERROR], keyed_load(&rest[KEYED_ERROR]) & ~told);
}

uint64_t
trip_keyed_empty(struct trip_keyed *table, uint32_t entry)
{
	uint64_t empty = table->now * table->rate;

	keyed_store(&keyed_rest(table, entry)[KEYED_BUCKET], empty);
	return empty;
}

void
trip_keyed_stay(struct trip_keyed *table, uint32_t entry)
{
	_Atomic uint64_t *error = &keyed_rest(table, entry)[KEYED_ERROR];

	keyed_store(error, keyed_load(error) | (uint64_t)TRIP_KEYED_STAYS << KEYED_MARK_SHIFT);
}

bool
trip_keyed_is_near(const struct trip_keyed *table, uint32_t entry)
{
	const _Atomic uint64_t *at = keyed_entry(table, entry);
	const uint64_t stays = (uint64_t)TRIP_KEYED_STAYS << KEYED_MARK_SHIFT;

	/* Who is held is above any limit of bytes. */
	return keyed_packets(keyed_load(&at[KEYED_PACKETS])) >= table->limit_packets ||
	       keyed_load(&at[KEYED_BYTES]) >= table->limit_bytes ||
	       (table->memos != 0 &&
		       (keyed_load(&keyed_rest(table, entry)[KEYED_ERROR]) & stays) != 0);
}

uint32_t
trip_keyed_near(
	const struct trip_keyed *table, uint32_t entry, uint32_t count, _Atomic uint64_t *close)
{
	uint32_t end = entry < table->capacity ? entry + count : entry;
	uint64_t key[TRIP_KEYED_WORDS_MAX];

	for (end = end < table->capacity ? end : table->capacity; entry < end; entry++) {
		uint64_t packets = keyed_load(&keyed_entry(table, entry)[KEYED_PACKETS]);

		if (!keyed_lives(packets) || !trip_keyed_is_near(table, entry))
			continue;
		keyed_key(table, entry, key);
		(void)trip_keyed_come_close(close, keyed_hash(table->secret, key, table->words));
	}
	return entry;
}

static int64_t
holds_above(const struct trip_keyed *table, uint64_t bucket, uint64_t level)
{
	int64_t holds = (int64_t)(bucket - table->now * table->rate);

	return table->rate != 0 ? (holds > 0 ? holds : 0) - (int64_t)level : 0;
}

int64_t
trip_keyed_exceeds(const struct trip_keyed *table, uint64_t bucket)
{
	return holds_above(table, bucket, table->burst);
}

/* Where the other table's time has stood still for so long, its bucket may have gone round. */
int64_t
trip_keyed_lasts(const struct trip_keyed *table, const struct trip_keyed_entry *other)
{
	const uint64_t idle = table->unit * table->idle_units;
	bool is_idle = table->now > other->now && table->now - other->now > idle;
	uint64_t empty = table->now * table->rate;

	return holds_above(table, is_idle ? empty : other->bucket, table->until);
}

int64_t
trip_keyed_cost(const struct trip_keyed *table, uint32_t bytes)
{
	return (int64_t)(table->cost_packet + bytes * table->cost_byte);
}

uint32_t
trip_keyed_entries(const struct trip_keyed *table)
{
	return table->capacity;
}

/* Readings of an entry whose key begins anew beside each of them. */
#define TORN_MAX 64

/* How often it has begun anew: what else it says is of that life, or of one before, until this has
 * been seen to stay. */
static uint64_t
life_of(const struct trip_keyed *table, uint32_t entry)
{
	return atomic_load_explicit(&keyed_memos(table, entry)[table->anew - 1 + TRIP_KEYED_LIFE],
		memory_order_acquire);
}

static bool
read_once(const struct trip_keyed *table, uint32_t entry, struct trip_keyed_entry *reading)
{
	const _Atomic uint64_t *at = keyed_entry(table, entry);
	/* Acquire: what was there before it lived. Partner: the release in add(). */
	uint64_t packets = atomic_load_explicit(&at[KEYED_PACKETS], memory_order_acquire);
	const _Atomic uint64_t *rest = keyed_rest(table, entry);
	/* Acquire: what was written by then of memos. Partner: the release of whoever tells. */
	uint64_t error = atomic_load_explicit(&rest[KEYED_ERROR], memory_order_acquire);
	uint64_t again[TRIP_KEYED_WORDS_MAX], now;

	keyed_key(table, entry, reading->key);
	reading->bytes = keyed_bytes(keyed_load(&at[KEYED_BYTES]));
	reading->packets = keyed_packets(packets);
	reading->bucket = keyed_load(&rest[KEYED_BUCKET]);
	reading->now = __atomic_load_n(&table->now, __ATOMIC_RELAXED);
	reading->hold = table->holds ? keyed_load(keyed_hold(table, entry)) : 0;
	reading->mark = (uint8_t)(error >> KEYED_MARK_SHIFT) & (uint8_t)~TRIP_KEYED_STAYS;
	reading->told = keyed_told(error);
	reading->telling = keyed_told(error >> KEYED_TELLING_SHIFT);
	reading->error = error >> KEYED_STATE_BITS;
	reading->at = entry;
	for (uint32_t i = 0; i < table->memos; i++)
		reading->memos[i] =
			atomic_load_explicit(&keyed_memos(table, entry)[i], memory_order_acquire);
	/* One key's counts only grow; what was written to it after its death began is seen behind
	 * the fence, if anything of it was before. */
	atomic_thread_fence(memory_order_acquire);
	keyed_key(table, entry, again);
	now = keyed_load(&at[KEYED_PACKETS]);
	return keyed_lives(packets) && keyed_lives(now) && keyed_packets(now) >= reading->packets &&
	       keyed_error(table, entry) == reading->error &&
	       memcmp(again, reading->key, table->words * sizeof(again[0])) == 0;
}

/* Whether its key begins anew meanwhile: then some of it is of one life, and some of the next. */
static bool
is_torn(const struct trip_keyed *table, uint32_t entry, const struct trip_keyed_entry *reading,
	uint64_t life)
{
	uint64_t error = keyed_load(&keyed_rest(table, entry)[KEYED_ERROR]);

	return life != life_of(table, entry) || keyed_told(error) != reading->told ||
	       keyed_told(error >> KEYED_TELLING_SHIFT) != reading->telling;
}

bool
trip_keyed_read(const struct trip_keyed *table, uint32_t entry, struct trip_keyed_entry *reading)
{
	bool is_there = false;

	if (table->anew == 0)
		return read_once(table, entry, reading);
	/* Each time round somebody has told something: nobody goes on doing so. */
	for (unsigned int i = 0; i < TORN_MAX; i++) {
		uint64_t life = life_of(table, entry);

		is_there = read_once(table, entry, reading);
		if (!is_torn(table, entry, reading, life))
			break;
	}
	return is_there;
}

uint64_t
trip_keyed_floor(const struct trip_keyed *table)
{
	return keyed_load(&table->floor);
}

uint64_t
trip_keyed_number(const struct trip_keyed *table, const uint64_t *key)
{
	return keyed_hash(table->secret, key, table->words);
}

void
trip_keyed_totals(const struct trip_keyed *table, struct trip_keyed_totals *totals)
{
	*totals = (struct trip_keyed_totals){
		.packets = keyed_load(&table->seen_packets),
		.bytes = keyed_load(&table->seen_bytes),
		.remainder_packets = keyed_load(&table->remainder_packets),
		.remainder_bytes = keyed_load(&table->remainder_bytes),
		.refused_packets = keyed_load(&table->refused_packets),
		.refused_bytes = keyed_load(&table->refused_bytes),
		.dropped_packets = keyed_load(&table->dropped_packets),
		.dropped_bytes = keyed_load(&table->dropped_bytes),
		.floor = keyed_load(&table->floor),
		.admitted = keyed_load(&table->admitted),
		.evicted = keyed_load(&table->evicted),
		.expired = keyed_load(&table->expired),
		.held = (uint32_t)keyed_load(&table->held),
	};
	totals->keys = (uint32_t)(totals->admitted - totals->evicted - totals->expired);
}

/* Both only grow: who has gone by now is all that had come by then. */
bool
trip_keyed_is_empty(const struct trip_keyed *table)
{
	uint64_t gone = atomic_load_explicit(&table->evicted, memory_order_acquire) +
			atomic_load_explicit(&table->expired, memory_order_acquire);

	return keyed_load(&table->admitted) == gone;
}
