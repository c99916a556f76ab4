/* SPDX-License-Identifier: BSD-3-Clause */
/* Who goes out of a table of keys, and when its floor rises: keyed.h says why that is right. */
#include <string.h>

#include "keyed_priv.h"

/* Those whose lines are asked for together. */
#define LEAVING 64u
#define FETCH_AHEAD 512u

struct leaving {
	uint32_t entries[LEAVING];
	uint64_t hashes[LEAVING];
	uint32_t count;
};

void
trip_keyed_room_free(struct trip_keyed *table, uint32_t entry)
{
	keyed_store(&keyed_entry(table, entry)[KEYED_KEY], table->free_head);
	table->free_head = entry + 1;
	table->free++;
}

uint32_t
trip_keyed_room_take(struct trip_keyed *table)
{
	uint32_t entry = table->free_head - 1;

	if (table->free_head == 0)
		return TRIP_KEYED_NONE;
	table->free_head = (uint32_t)keyed_load(&keyed_entry(table, entry)[KEYED_KEY]);
	table->free--;
	return entry;
}

static _Atomic uint64_t *
gone(struct trip_keyed *table, bool idle)
{
	return idle ? &table->expired : &table->evicted;
}

/* From `moving` being set until it is 0 again this may be done anew, and has the same effect. */
void
trip_keyed_room_finish(struct trip_keyed *table)
{
	uint64_t moving = keyed_load(&table->moving);
	bool idle = keyed_load(&table->moved_idle) != 0;

	if (moving == 0)
		return;
	/* While all of it is there. */
	if (table->notes != 0 && keyed_load(&table->noted) == keyed_load(&table->moved_note)) {
		trip_keyed_note_write(table, (uint32_t)moving - 1,
			idle ? TRIP_KEYED_EXPIRED : TRIP_KEYED_EVICTED);
		trip_keyed_note_show(table);
	}
	keyed_publish(&keyed_entry(table, (uint32_t)moving - 1)[KEYED_PACKETS], 0);
	keyed_store(&table->remainder_packets, keyed_load(&table->moved_packets));
	keyed_store(&table->remainder_bytes, keyed_load(&table->moved_bytes));
	keyed_store(gone(table, idle), keyed_load(&table->moved_gone));
	keyed_publish(&table->moving, 0);
}

static void
move_to_remainder(struct trip_keyed *table, uint32_t entry, bool idle)
{
	const _Atomic uint64_t *at = keyed_entry(table, entry);

	keyed_store(&table->moved_packets, keyed_load(&table->remainder_packets) +
						   keyed_packets(keyed_load(&at[KEYED_PACKETS])));
	keyed_store(&table->moved_bytes,
		keyed_load(&table->remainder_bytes) + keyed_bytes(keyed_load(&at[KEYED_BYTES])));
	keyed_store(&table->moved_idle, idle);
	keyed_store(&table->moved_gone, keyed_load(gone(table, idle)) + 1);
	keyed_store(&table->moved_note, keyed_load(&table->noted));
	keyed_publish(&table->moving, entry + 1);
	trip_keyed_room_finish(table);
}

static void
leave(struct trip_keyed *table, struct leaving *leaving, bool idle)
{
	uint64_t key[TRIP_KEYED_WORDS_MAX];

	for (uint32_t i = 0; i < leaving->count; i++) {
		keyed_key(table, leaving->entries[i], key);
		leaving->hashes[i] = keyed_hash(table->secret, key, table->words);
		__builtin_prefetch(
			&keyed_lines(table)[keyed_home(table->lines, leaving->hashes[i])], 1);
	}
	for (uint32_t i = 0; i < leaving->count; i++) {
		keyed_line_erase(table, leaving->hashes[i], leaving->entries[i]);
		move_to_remainder(table, leaving->entries[i], idle);
		trip_keyed_room_free(table, leaving->entries[i]);
	}
	leaving->count = 0;
}

/* ---- idle entries -----------------------------------------------------------------------------
 */

/* However long it stays: when it was seen does not go round, nor does its bucket, which is empty.
 * Where there is no rate that may be the word of its hold. */
static void
stay_idle(struct trip_keyed *table, uint32_t entry, uint64_t packets)
{
	uint64_t seen = keyed_idle_since(table);

	if (table->rate != 0)
		(void)trip_keyed_empty(table, entry);
	keyed_store(&keyed_entry(table, entry)[KEYED_PACKETS],
		(packets & KEYED_PACKETS_MASK) | seen << KEYED_SEEN_SHIFT);
}

/* Those of a block, which has any as far as it knows. Then it knows when it was seen that will be
 * idle next. */
static void
expire_block(struct trip_keyed *table, uint32_t block, struct leaving *leaving)
{
	uint32_t entry = block * KEYED_BLOCK, end = entry + KEYED_BLOCK;
	uint16_t oldest = 0;

	end = end < table->capacity ? end : table->capacity;
	for (; entry < end; entry++) {
		uint64_t packets = keyed_load(&keyed_entry(table, entry)[KEYED_PACKETS]);
		uint16_t age = keyed_age(table, keyed_seen(packets));

		if (!keyed_lives(packets))
			continue;
		if (!keyed_is_idle(table, packets)) {
			oldest = age > oldest ? age : oldest;
			continue;
		}
		if (keyed_mark(table, entry) != 0) {
			stay_idle(table, entry, packets);
			continue;
		}
		/* That it is quiet comes first, and within a round. */
		if (!keyed_was_quiet(table, entry)) {
			oldest = age;
			continue;
		}
		/* If the other hand has counted it. */
		table->lost += entry < table->hand;
		leaving->entries[leaving->count++] = entry;
	}
	keyed_block(table, block * KEYED_BLOCK)->seen = (uint16_t)(table->units - oldest);
}

void
trip_keyed_room_expire(struct trip_keyed *table, uint32_t blocks)
{
	struct leaving leaving;

	leaving.count = 0;
	for (; blocks > 0; blocks--) {
		uint32_t block = table->idle_hand;
		uint16_t seen = keyed_block(table, block * KEYED_BLOCK)->seen;

		table->idle_hand = block + 1 < table->blocks ? block + 1 : 0;
		if (keyed_age(table, seen) <= table->idle_units)
			continue;
		expire_block(table, block, &leaving);
		if (leaving.count > LEAVING - KEYED_BLOCK)
			leave(table, &leaving, true);
	}
	leave(table, &leaving, true);
}

/* ---- the floor --------------------------------------------------------------------------------
 */

/* A bin has one value where it is low, else what agrees in its first bits. */
static uint32_t
bin_of(uint64_t above)
{
	uint32_t shift;

	if (above < KEYED_BINS_EXACT)
		return (uint32_t)above;
	shift = 63 - (uint32_t)__builtin_clzll(above) - KEYED_BIN_BITS;
	return (shift << KEYED_BIN_BITS) + (uint32_t)(above >> shift);
}

/* The lowest value in it. */
static uint64_t
bin_begins(uint32_t bin)
{
	uint32_t shift = bin >> KEYED_BIN_BITS;

	if (bin < KEYED_BINS_EXACT)
		return bin;
	return (uint64_t)(bin - ((shift - 1) << KEYED_BIN_BITS)) << (shift - 1);
}

void
trip_keyed_room_restart(struct trip_keyed *table)
{
	memset(table->bins, 0, (table->top_bin + 1) * sizeof(table->bins[0]));
	table->base = keyed_load(&table->floor);
	table->top_bin = 0;
	table->counted = 0;
	table->lost = 0;
	table->hand = 0;
}

/* To the highest value that as many entries as there is room for have reached. */
static void
raise_floor(struct trip_keyed *table)
{
	uint64_t needed = table->max + table->lost, above = 0, floor;
	uint32_t bin = table->top_bin;

	if (table->counted >= needed) {
		for (;; bin--) {
			above += table->bins[bin];
			if (above >= needed)
				break;
		}
		floor = table->base + bin_begins(bin);
		if (floor > TRIP_KEYED_FLOOR_MAX)
			floor = TRIP_KEYED_FLOOR_MAX;
		if (floor > keyed_load(&table->floor))
			keyed_store(&table->floor, floor);
	}
	trip_keyed_room_restart(table);
}

/* Where the hand is. */
struct hand {
	const _Atomic uint64_t *at, *rest;
	uint64_t floor;
};

/* One entry, which leaves or is counted. */
static inline bool
leaves(struct trip_keyed *table, const struct hand hand)
{
	uint64_t packets = keyed_load(&hand.at[KEYED_PACKETS]);
	uint64_t error = keyed_load(&hand.rest[KEYED_ERROR]), rank;
	uint32_t bin;

	if (!keyed_lives(packets))
		return false;
	rank = keyed_weight(table, keyed_packets(packets),
		       keyed_bytes(keyed_load(&hand.at[KEYED_BYTES]))) +
	       (error >> KEYED_STATE_BITS);
	if (rank <= hand.floor && (uint8_t)(error >> KEYED_MARK_SHIFT) == 0)
		return true;
	bin = bin_of(rank > table->base ? rank - table->base : 0);
	table->bins[bin]++;
	table->counted++;
	if (bin > table->top_bin)
		table->top_bin = bin;
	return false;
}

void
trip_keyed_room_make(struct trip_keyed *table, uint32_t packets)
{
	struct hand hand = {.at = keyed_entry(table, table->hand),
		.rest = keyed_rest(table, table->hand),
		.floor = keyed_load(&table->floor)};
	const uint32_t wanted = table->free_least - table->free;
	struct leaving leaving;

	leaving.count = 0;
	for (uint32_t looks = packets * TRIP_KEYED_LOOKS; looks > 0; looks--) {
		if (leaving.count == LEAVING || leaving.count >= wanted)
			break;
		__builtin_prefetch((const char *)hand.at + FETCH_AHEAD);
		__builtin_prefetch((const char *)hand.rest + FETCH_AHEAD);
		if (leaves(table, hand))
			leaving.entries[leaving.count++] = table->hand;
		hand.at += table->stride;
		hand.rest += table->rest_stride;
		/* Once round at most, before it comes by again. */
		if (++table->hand == table->capacity) {
			raise_floor(table);
			break;
		}
	}
	leave(table, &leaving, false);
}
