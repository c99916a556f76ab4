/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts packets by their keys. */
#include <string.h>

#include "keyed_priv.h"

/* ---- time -------------------------------------------------------------------------------------
 */

/* After a pause of any length, all that was idle then is, and the units do not go round. */
static void
advance(struct trip_keyed *table, uint64_t now)
{
	const uint64_t pause = table->unit * (table->idle_units + 1u),
		       most = (uint64_t)table->blocks << 32;
	uint64_t passed;

	if (now <= table->now)
		return;
	passed = now - table->now < pause ? now - table->now : pause;
	/* Others read it: trip_keyed_read(). */
	__atomic_store_n(&table->now, now, __ATOMIC_RELAXED);
	table->into += passed;
	if (table->into >= table->unit) {
		table->units = (uint16_t)(table->units + table->into / table->unit);
		table->into %= table->unit;
	}
	table->due += (passed < table->unit ? passed : table->unit) * table->pace;
	if (table->due > most)
		table->due = most;
}

bool
trip_keyed_sweep(struct trip_keyed *table, uint64_t now)
{
	uint64_t blocks, most = table->blocks / KEYED_SWEEP_PART + 1;

	advance(table, now);
	blocks = table->due >> 32;
	if (blocks > most)
		blocks = most;
	table->due -= blocks << 32;
	if (blocks > 0)
		trip_keyed_room_expire(table, (uint32_t)blocks);
	return table->due >> 32 != 0;
}

/* ---- counting ---------------------------------------------------------------------------------
 */

/* What is the same for all packets of a chunk. By value where it is inlined: what is stored to
 * entries cannot change it then. */
struct view {
	const struct keyed_line *lines;
	_Atomic uint64_t *entries;
	const uint64_t *keys;
	const uint32_t *bytes;
	uint64_t limit_packets, limit_bytes;
	uint64_t empty; /* what a bucket is that is empty now */
	uint64_t seen;  /* the unit, where entries have it */
	uint32_t n_lines, id_mask, stride, count;
	bool has_rate;
};

struct counting {
	struct trip_keyed *table;
	struct view view;
	uint64_t hashes[TRIP_KEYED_CHUNK];
	uint32_t entries[TRIP_KEYED_CHUNK]; /* where a tag says so; else any */
	uint8_t missing[TRIP_KEYED_CHUNK];  /* packets whose keys are not there */
	uint32_t n_missing;
	struct keyed_above above;
};

static __attribute__((noinline)) void
count_in_remainder(struct trip_keyed *table, uint32_t bytes)
{
	keyed_grow(&table->remainder_bytes, bytes);
	keyed_grow(&table->remainder_packets, 1);
}

/* Adds to a leaky bucket; true where it holds more than it may. `had`: what says when it was used
 * last. */
static inline __attribute__((always_inline)) bool
leak(const struct trip_keyed *table, uint64_t empty, uint32_t entry, uint64_t had, uint32_t bytes)
{
	_Atomic uint64_t *bucket = &keyed_rest(table, entry)[KEYED_BUCKET];
	/* Above 0: it is not empty yet. What leaks until a key goes is less than half the range. */
	int64_t holds = (int64_t)(keyed_load(bucket) - empty);

	holds = holds > 0 && !keyed_is_idle(table, had) ? holds : 0;
	if ((uint64_t)holds <= table->until)
		keyed_forget_rate(table, entry);
	holds += (int64_t)(table->cost_packet + bytes * table->cost_byte);
	holds = holds < KEYED_BUCKET_MAX ? holds : KEYED_BUCKET_MAX;
	keyed_store(bucket, empty + (uint64_t)holds);
	return (uint64_t)holds > table->burst;
}

/* `seen`: it writes when the key had a packet. */
static inline __attribute__((always_inline)) void
add(struct counting *counting, const struct view view, uint32_t entry, uint32_t packet, bool seen)
{
	_Atomic uint64_t *at = view.entries + (size_t)entry * view.stride;
	uint32_t bytes = view.bytes[packet];
	uint64_t had = keyed_load(&at[KEYED_PACKETS]), packets = (had & KEYED_PACKETS_MASK) + 1;
	uint64_t sum = keyed_load(&at[KEYED_BYTES]) + bytes;
	uint32_t over = (packets >= view.limit_packets) | (sum >= view.limit_bytes), rate = 0;

	if (__builtin_expect(packets > TRIP_KEYED_PACKETS_MAX, 0)) {
		if (packets <= KEYED_PACKETS_NONE) {
			count_in_remainder(counting->table, bytes);
			return;
		}
		packets = 1;
	}
	if (view.has_rate)
		rate = leak(counting->table, view.empty, entry, had, bytes);
	if (seen)
		keyed_store(keyed_seen_at(counting->above.table, entry), counting->above.now);
	keyed_store(&at[KEYED_BYTES], sum);
	/* Release: with packets it is alive, and whole. Partner: trip_keyed_read(). */
	keyed_publish(&at[KEYED_PACKETS], packets | view.seen);
	if (__builtin_expect(over | rate, 0))
		trip_keyed_above(&counting->above, entry, packet, rate);
}

static void
refuse(struct counting *counting, uint32_t packet)
{
	struct trip_keyed *table = counting->table;
	uint32_t bytes = counting->view.bytes[packet];
	uint64_t floor = keyed_load(&table->floor) + keyed_weight(table, 1, bytes);

	count_in_remainder(table, bytes);
	keyed_grow(&table->refused_packets, 1);
	keyed_grow(&table->refused_bytes, bytes);
	keyed_store(&table->floor, floor < TRIP_KEYED_FLOOR_MAX ? floor : TRIP_KEYED_FLOOR_MAX);
	counting->above.dropped |= (uint32_t)table->closed << packet;
}

static __attribute__((noinline)) void
begin_memos(const struct trip_keyed *table, uint32_t entry, uint64_t now)
{
	for (uint32_t i = 0; i < table->memos; i++)
		keyed_store(&keyed_memos(table, entry)[i], 0);
	if (table->seen != 0)
		keyed_store(keyed_seen_at(table, entry), now);
}

/* All of an entry that is about to live; TRIP_KEYED_NONE: there is no room. */
static inline __attribute__((always_inline)) uint32_t
enter(struct trip_keyed *table, const uint64_t *key, uint64_t hash, uint64_t now)
{
	uint32_t entry = trip_keyed_room_take(table);
	_Atomic uint64_t *at, *rest;

	if (entry == TRIP_KEYED_NONE)
		return entry;
	at = keyed_entry(table, entry);
	rest = keyed_rest(table, entry);
	for (uint32_t i = 0; i < table->words; i++)
		keyed_store(&at[KEYED_KEY + i], key[i]);
	keyed_store(&at[KEYED_BYTES], 0);
	keyed_store(&rest[KEYED_BUCKET], table->now * table->rate);
	keyed_store(&rest[KEYED_ERROR], keyed_load(&table->floor) << KEYED_STATE_BITS);
	if (__builtin_expect(table->memos != 0, 0))
		begin_memos(table, entry, now);
	/* Before it lives: who has seen it among all entries finds it by its key, too. */
	keyed_line_insert(table, hash, entry);
	if (__builtin_expect(table->notes != 0, 0))
		trip_keyed_note_write(table, entry, TRIP_KEYED_CAME);
	return entry;
}

/* It lives. */
static inline void
come(struct trip_keyed *table)
{
	keyed_grow(&table->admitted, 1);
	if (__builtin_expect(table->notes != 0, 0))
		trip_keyed_note_show(table);
}

static void
admit(struct counting *counting, uint32_t packet)
{
	struct trip_keyed *table = counting->table;
	uint32_t entry = enter(table, &counting->view.keys[(size_t)packet * table->words],
		counting->hashes[packet], counting->above.now);

	if (entry == TRIP_KEYED_NONE) {
		refuse(counting, packet);
		return;
	}
	add(counting, counting->view, entry, packet, false);
	come(table);
}

uint32_t
trip_keyed_admit(struct trip_keyed *table, const uint64_t *key, uint64_t now)
{
	uint32_t entry;

	(void)trip_keyed_sweep(table, now);
	if (table->free < table->free_least)
		trip_keyed_room_make(table, TRIP_KEYED_CHUNK);
	entry = trip_keyed_find(table, key);
	if (entry != TRIP_KEYED_NONE)
		return entry;
	entry = enter(table, key, trip_keyed_number(table, key), now);
	if (entry == TRIP_KEYED_NONE)
		return entry;
	/* Release: as add() has it. */
	keyed_publish(&keyed_entry(table, entry)[KEYED_PACKETS],
		KEYED_PACKETS_NONE | (uint64_t)table->units << KEYED_SEEN_SHIFT);
	come(table);
	return entry;
}

/* Several packets may have one new key. */
static __attribute__((noinline)) void
count_missing(struct counting *counting)
{
	struct trip_keyed *table = counting->table;

	for (uint32_t i = 0; i < counting->n_missing; i++) {
		uint32_t packet = counting->missing[i];
		uint32_t entry =
			keyed_line_find(table, &counting->view.keys[(size_t)packet * table->words],
				counting->hashes[packet]);

		if (entry != TRIP_KEYED_NONE)
			add(counting, counting->view, entry, packet, table->seen != 0);
		else
			admit(counting, packet);
	}
}

/* Hashes; asks for lines. */
static inline __attribute__((always_inline)) void
hash(struct counting *counting, const struct view view, const uint32_t words)
{
	uint64_t secret[KEYED_SECRETS];

	memcpy(secret, counting->table->secret, sizeof(secret));
	for (uint32_t i = 0; i < view.count; i++) {
		uint64_t hash = keyed_hash(secret, &view.keys[(size_t)i * words], words);

		counting->hashes[i] = hash;
		__builtin_prefetch(&view.lines[keyed_home(view.n_lines, hash)], 1);
	}
}

/* Compares tags; asks for entries. */
static inline __attribute__((always_inline)) void
probe(struct counting *counting, const struct view view, const uint32_t words, const bool seen)
{
	for (uint32_t i = 0; i < view.count; i++) {
		uint64_t hash = counting->hashes[i];
		const struct keyed_line *line = &view.lines[keyed_home(view.n_lines, hash)];
		uint32_t matches = keyed_match(line, ~view.id_mask, keyed_tag(view.id_mask, hash));
		uint32_t slot = (uint32_t)__builtin_ctz(matches | 1u << (KEYED_SLOTS - 1));
		/* Without a tag: any that there is, which the last slot may have. */
		uint32_t id = line->slots[slot] & view.id_mask, entry = id - (id != 0);
		const _Atomic uint64_t *at = view.entries + (size_t)entry * view.stride;

		counting->entries[i] = entry;
		__builtin_prefetch((const void *)at, 1);
		/* What is longer than half a line may be in two. */
		if (view.has_rate || words > KEYED_HALF_LINE - KEYED_KEY)
			__builtin_prefetch((const char *)(at + view.stride) - 1, 1);
		if (seen)
			__builtin_prefetch(
				(const void *)keyed_seen_at(counting->above.table, entry), 1);
	}
}

/* Compares keys; counts those that are there. A live entry with a key is that key's, whatever led
 * here; a dead one may have any words. */
static inline __attribute__((always_inline)) void
count_present(
	struct counting *counting, const struct view view, const uint32_t words, const bool seen)
{
	for (uint32_t i = 0; i < view.count; i++) {
		const uint64_t *key = &view.keys[(size_t)i * words];
		uint32_t entry = counting->entries[i];
		const _Atomic uint64_t *at = view.entries + (size_t)entry * view.stride;
		uint64_t differ = !keyed_lives(keyed_load(&at[KEYED_PACKETS]));

		for (uint32_t k = 0; k < words; k++)
			differ |= keyed_load(&at[KEYED_KEY + k]) ^ key[k];
		if (differ == 0)
			add(counting, view, entry, i, seen);
		else
			counting->missing[counting->n_missing++] = (uint8_t)i;
	}
}

static inline __attribute__((always_inline)) void
count_words(struct counting *counting, const uint32_t words, const bool seen)
{
	hash(counting, counting->view, words);
	probe(counting, counting->view, words, seen);
	count_present(counting, counting->view, words, seen);
}

/* Behind the counts of the chunk: what another table has told by then. */
static __attribute__((noinline)) uint32_t
close_keys(const struct counting *counting, const _Atomic uint64_t *close)
{
	uint32_t found = 0;

	/* Partner: the fence of whoever has set a bit, and then reads our counts. */
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < counting->view.count; i++)
		found |= (uint32_t)trip_keyed_is_close(close, counting->hashes[i]) << i;
	return found;
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

	(void)trip_keyed_sweep(table, now);
	/* Before anything is counted: so who is over a limit then is there until the next call. */
	if (table->free < table->free_least)
		trip_keyed_room_make(table, chunk->count);
	counting.table = table;
	counting.view = (struct view){.lines = keyed_lines(table),
		.entries = keyed_entry(table, 0),
		.keys = chunk->keys,
		.bytes = chunk->bytes,
		.limit_packets = table->limit_packets,
		.limit_bytes = table->limit_bytes,
		.empty = table->now * table->rate,
		.seen = (uint64_t)table->units << KEYED_SEEN_SHIFT,
		.n_lines = table->lines,
		.id_mask = table->id_mask,
		.stride = table->stride,
		.count = chunk->count,
		.has_rate = table->rate != 0};
	counting.n_missing = 0;
	counting.above = (struct keyed_above){.table = table, .bytes = chunk->bytes, .now = now};
	/* Code of its own for the lengths that most keys have. */
	switch (table->path) {
	case 1:
		count_words(&counting, 1, false);
		break;
	case 2:
		count_words(&counting, 2, false);
		break;
	case 0:
		count_words(&counting, table->words, true);
		break;
	default:
		count_words(&counting, table->words, false);
	}
	if (counting.n_missing > 0)
		count_missing(&counting);
	count_seen(table, chunk);
	if (__builtin_expect(chunk->close != NULL, 0))
		counting.above.over |=
			close_keys(&counting, chunk->close) & ~counting.above.settled;
	if (chunk->dropped != NULL)
		*chunk->dropped = counting.above.dropped;
	return counting.above.over;
}
