/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts packets by their keys. */
#include "keyed_priv.h"

/* What a bucket holds, in parts. */
#define BUCKET_MAX (INT64_C(1) << 62)

/* ---- time -------------------------------------------------------------------------------------
 */

/* After a pause of any length, all that was idle then is, and the units do not go round. */
static void
advance(struct trip_keyed *table, uint64_t now)
{
	const uint64_t pause = table->unit * (table->idle_units + 1u),
		       most = (uint64_t)table->capacity << 32;
	uint64_t ticks = now / table->tick, passed;

	if (ticks <= table->now)
		return;
	passed = ticks - table->now < pause ? ticks - table->now : pause;
	table->now = ticks;
	table->into += passed;
	if (table->into >= table->unit) {
		table->units = (uint16_t)(table->units + table->into / table->unit);
		table->into %= table->unit;
	}
	table->due += (passed < table->unit ? passed : table->unit) * table->pace;
	if (table->due > most)
		table->due = most;
}

void
trip_keyed_sweep(struct trip_keyed *table, uint64_t now)
{
	uint64_t looks, most = table->capacity / KEYED_SWEEP_PART + 1;

	advance(table, now);
	looks = table->due >> 32;
	if (looks > most)
		looks = most;
	table->due -= looks << 32;
	if (looks > 0)
		trip_keyed_room_expire(table, (uint32_t)looks);
}

/* ---- counting ---------------------------------------------------------------------------------
 */

/* What is the same for all packets of a chunk. */
struct counting {
	struct trip_keyed *table;
	const struct trip_keyed_chunk *chunk;
	uint64_t empty; /* what a bucket is that is empty now */
	uint64_t hashes[TRIP_KEYED_CHUNK];
	uint32_t entries[TRIP_KEYED_CHUNK]; /* where a tag says so */
	uint32_t tagged;
	uint8_t missing[TRIP_KEYED_CHUNK]; /* packets whose keys are not there */
	uint32_t n_missing;
	uint32_t over;
};

static __attribute__((noinline)) void
count_in_remainder(struct trip_keyed *table, uint32_t bytes)
{
	keyed_grow(&table->remainder_bytes, bytes);
	keyed_grow(&table->remainder_packets, 1);
}

static inline __attribute__((always_inline)) void
add(struct counting *counting, _Atomic uint64_t *at, uint32_t packet)
{
	struct trip_keyed *table = counting->table;
	uint32_t bytes = counting->chunk->bytes[packet];
	uint64_t packets = keyed_load(&at[KEYED_PACKETS]) + 1;
	uint64_t sum = keyed_load(&at[KEYED_BYTES]) + bytes;
	uint64_t error = keyed_load(&at[KEYED_ERROR]);
	/* Above 0: it is not empty yet. What leaks until a key goes is less than half the range. */
	int64_t holds = (int64_t)(keyed_load(&at[KEYED_BUCKET]) - counting->empty);

	if (__builtin_expect(keyed_packets(packets) == 0, 0)) {
		count_in_remainder(table, bytes);
		return;
	}
	holds = holds > 0 && !keyed_is_idle(table, error) ? holds : 0;
	holds += (int64_t)(table->cost_packet + bytes * table->cost_byte);
	holds = holds < BUCKET_MAX ? holds : BUCKET_MAX;
	keyed_store(&at[KEYED_BUCKET], counting->empty + (uint64_t)holds);
	keyed_store(&at[KEYED_ERROR], error >> KEYED_SEEN_BITS << KEYED_SEEN_BITS | table->units);
	keyed_store(&at[KEYED_BYTES], sum);
	/* Release: with packets it is alive, and whole. Partner: trip_keyed_read(). */
	keyed_publish(&at[KEYED_PACKETS], packets);
	counting->over |=
		(uint32_t)((keyed_packets(packets) >= table->limit_packets) |
			   (sum >= table->limit_bytes) | ((uint64_t)holds > table->burst)) *
			(uint32_t)(keyed_mark(packets) == 0)
		<< packet;
}

static void
refuse(struct counting *counting, uint32_t packet)
{
	struct trip_keyed *table = counting->table;
	uint32_t bytes = counting->chunk->bytes[packet];
	uint64_t floor = keyed_load(&table->floor) + keyed_weight(table, 1, bytes);

	count_in_remainder(table, bytes);
	keyed_grow(&table->refused_packets, 1);
	keyed_grow(&table->refused_bytes, bytes);
	keyed_store(&table->floor, floor < TRIP_KEYED_FLOOR_MAX ? floor : TRIP_KEYED_FLOOR_MAX);
}

static void
admit(struct counting *counting, uint32_t packet)
{
	struct trip_keyed *table = counting->table;
	const uint64_t *key = &counting->chunk->keys[(size_t)packet * table->words];
	uint32_t entry = trip_keyed_room_take(table);
	_Atomic uint64_t *at;

	if (entry == TRIP_KEYED_NONE) {
		refuse(counting, packet);
		return;
	}
	at = keyed_entry(table, entry);
	for (uint32_t i = 0; i < table->words; i++)
		keyed_store(&at[KEYED_KEY + i], key[i]);
	keyed_store(&at[KEYED_BYTES], 0);
	keyed_store(&at[KEYED_BUCKET], counting->empty);
	keyed_store(&at[KEYED_ERROR], keyed_load(&table->floor) << KEYED_SEEN_BITS | table->units);
	add(counting, at, packet);
	trip_keyed_line_insert(table, counting->hashes[packet], entry);
	keyed_grow(&table->admitted, 1);
}

/* Several packets may have one new key. */
static __attribute__((noinline)) void
count_missing(struct counting *counting)
{
	struct trip_keyed *table = counting->table;

	for (uint32_t i = 0; i < counting->n_missing; i++) {
		uint32_t packet = counting->missing[i];
		uint32_t entry = trip_keyed_line_find(table,
			&counting->chunk->keys[(size_t)packet * table->words],
			counting->hashes[packet]);

		if (entry != TRIP_KEYED_NONE)
			add(counting, keyed_entry(table, entry), packet);
		else
			admit(counting, packet);
	}
}

/* Hashes; asks for lines. */
static inline __attribute__((always_inline)) void
hash(struct counting *counting, const uint32_t words)
{
	const struct trip_keyed *table = counting->table;

	for (uint32_t i = 0; i < counting->chunk->count; i++) {
		uint64_t hash =
			keyed_hash(table->secret, &counting->chunk->keys[(size_t)i * words], words);

		counting->hashes[i] = hash;
		__builtin_prefetch(&keyed_lines(table)[keyed_home(table, hash)], 1);
	}
}

/* Compares tags; asks for entries. An entry is in two cache lines at most. */
static inline __attribute__((always_inline)) void
probe(struct counting *counting, const uint32_t words)
{
	const struct trip_keyed *table = counting->table;

	for (uint32_t i = 0; i < counting->chunk->count; i++) {
		uint64_t hash = counting->hashes[i];
		const struct keyed_line *line = &keyed_lines(table)[keyed_home(table, hash)];
		uint32_t matches = keyed_match(line, ~table->id_mask, keyed_tag(table, hash));
		uint32_t slot = (uint32_t)__builtin_ctz(matches | 1u << (KEYED_SLOTS - 1));
		/* Without a tag: any that there is, which the last slot may have. */
		uint32_t id = line->slots[slot] & table->id_mask, entry = id - (id != 0);
		const char *at = (const char *)keyed_entry(table, entry);

		counting->entries[i] = entry;
		counting->tagged |= (uint32_t)(matches != 0) << i;
		__builtin_prefetch(at, 1);
		__builtin_prefetch(at + (KEYED_KEY + words) * 8 - 1, 1);
	}
}

/* Compares keys; counts those that are there. */
static inline __attribute__((always_inline)) void
count_present(struct counting *counting, const uint32_t words)
{
	struct trip_keyed *table = counting->table;

	for (uint32_t i = 0; i < counting->chunk->count; i++) {
		const uint64_t *key = &counting->chunk->keys[(size_t)i * words];
		_Atomic uint64_t *at = keyed_entry(table, counting->entries[i]);
		uint64_t differ = (counting->tagged >> i & 1) ^ 1;

		for (uint32_t k = 0; k < words; k++)
			differ |= keyed_load(&at[KEYED_KEY + k]) ^ key[k];
		if (differ == 0)
			add(counting, at, i);
		else
			counting->missing[counting->n_missing++] = (uint8_t)i;
	}
}

static inline __attribute__((always_inline)) void
count_words(struct counting *counting, const uint32_t words)
{
	hash(counting, words);
	probe(counting, words);
	count_present(counting, words);
}

static void
count_seen(struct trip_keyed *table, const struct trip_keyed_chunk *chunk)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < chunk->count; i++)
		bytes += chunk->bytes[i];
	keyed_grow(&table->seen_bytes, bytes);
	keyed_grow(&table->seen_packets, chunk->count);
}

uint32_t
trip_keyed_count(struct trip_keyed *table, const struct trip_keyed_chunk *chunk, uint64_t now)
{
	struct counting counting;

	trip_keyed_sweep(table, now);
	counting.table = table;
	counting.chunk = chunk;
	counting.empty = table->now * table->rate;
	counting.tagged = 0;
	counting.n_missing = 0;
	counting.over = 0;
	/* Code of its own for the lengths that most keys have. */
	switch (table->words) {
	case 1:
		count_words(&counting, 1);
		break;
	case 2:
		count_words(&counting, 2);
		break;
	default:
		count_words(&counting, table->words);
	}
	if (table->free < table->free_least)
		trip_keyed_room_make(table, chunk->count);
	if (counting.n_missing > 0)
		count_missing(&counting);
	count_seen(table, chunk);
	return counting.over;
}
