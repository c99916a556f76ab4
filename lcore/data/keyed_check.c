/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds of a table of keys between two calls of its writer. */
#include "keyed_priv.h"

static uint32_t
free_entries(const struct trip_keyed *table)
{
	uint32_t next = table->free_head, count = 0;

	for (; next != 0 && count <= table->capacity; count++) {
		const _Atomic uint64_t *at = keyed_entry(table, next - 1);

		if (keyed_lives(keyed_load(&at[KEYED_PACKETS])))
			return UINT32_MAX;
		next = (uint32_t)keyed_load(&at[KEYED_KEY]);
	}
	return count;
}

static uint64_t
went(const struct trip_keyed *table)
{
	return keyed_load(&table->evicted) + keyed_load(&table->expired);
}

static const char *
check_entries(const struct trip_keyed *table)
{
	uint64_t packets = keyed_load(&table->remainder_packets);
	uint64_t bytes = keyed_load(&table->remainder_bytes), key[TRIP_KEYED_WORDS_MAX];
	uint32_t alive = 0, held = 0;

	for (uint32_t entry = 0; entry < table->capacity; entry++) {
		const _Atomic uint64_t *at = keyed_entry(table, entry);

		if (!keyed_lives(keyed_load(&at[KEYED_PACKETS])))
			continue;
		alive++;
		packets += keyed_packets(keyed_load(&at[KEYED_PACKETS]));
		bytes += keyed_bytes(keyed_load(&at[KEYED_BYTES]));
		held += keyed_is_held(table, entry);
		if (keyed_is_held(table, entry) != (keyed_load(&at[KEYED_BYTES]) >= KEYED_HELD))
			return "who is held has the bit of that";
		keyed_key(table, entry, key);
		if (trip_keyed_find(table, key) != entry)
			return "each key is found in its entry";
		if (keyed_error(table, entry) > keyed_load(&table->floor))
			return "no error is above the floor";
	}
	if (alive + table->free != table->capacity || free_entries(table) != table->free)
		return "all other entries are free";
	if (held != keyed_load(&table->held))
		return "the number of held keys is that";
	if (alive + went(table) != keyed_load(&table->admitted))
		return "who came has gone, or is there";
	if (table->notes != 0 &&
		keyed_load(&table->noted) != keyed_load(&table->admitted) + went(table))
		return "there is a note for each that came or went";
	if (packets != keyed_load(&table->seen_packets) || bytes != keyed_load(&table->seen_bytes))
		return "entries and the remainder are what was seen";
	return NULL;
}

static const char *
check_blocks(const struct trip_keyed *table)
{
	for (uint32_t i = 0; i < table->blocks; i++) {
		const struct keyed_block *block = keyed_block(table, i * KEYED_BLOCK);
		uint32_t held = 0, entry = i * KEYED_BLOCK;
		uint16_t age = keyed_age(table, block->seen);

		for (; entry < (i + 1) * KEYED_BLOCK && entry < table->capacity; entry++) {
			uint64_t packets = keyed_load(&keyed_entry(table, entry)[KEYED_PACKETS]);

			if (!keyed_lives(packets))
				continue;
			held += keyed_is_held(table, entry);
			if (keyed_mark(table, entry) == 0 && age <= table->idle_units &&
				keyed_age(table, keyed_seen(packets)) > age)
				return "no key was seen before its block says";
		}
		if (held != block->held)
			return "blocks know who is held";
	}
	return NULL;
}

/* How many lines a slot's key has passed. */
static uint32_t
distance(const struct trip_keyed *table, uint32_t line, uint32_t slot)
{
	uint64_t key[TRIP_KEYED_WORDS_MAX];
	uint32_t home;

	keyed_key(table, (slot & table->id_mask) - 1, key);
	home = keyed_home(table->lines, keyed_hash(table->secret, key, table->words));
	return line >= home ? line - home : line + table->lines - home;
}

/* All keys are in the lines, which was seen before: so nothing else may be. */
static const char *
check_lines(const struct trip_keyed *table)
{
	uint64_t passed = 0, passes = 0;
	uint32_t slots = 0;

	for (uint32_t i = 0; i < table->lines; i++) {
		const struct keyed_line *line = &keyed_lines(table)[i];

		passed += line->passed;
		for (uint32_t k = 0; k < KEYED_SLOTS; k++)
			if (line->slots[k] != 0) {
				passes += distance(table, i, line->slots[k]);
				slots++;
			}
	}
	if (slots != table->capacity - table->free)
		return "each slot is a key's";
	return passed == passes ? NULL : "lines know who has passed";
}

static const char *
check_floor(const struct trip_keyed *table)
{
	uint64_t counted = 0;

	for (uint32_t bin = 0; bin < KEYED_BINS; bin++) {
		counted += table->bins[bin];
		if (table->bins[bin] != 0 && bin > table->top_bin)
			return "no bin above the highest has any";
	}
	if (counted != table->counted)
		return "the bins have those that were counted";
	if (table->base > keyed_load(&table->floor) ||
		keyed_load(&table->floor) > TRIP_KEYED_FLOOR_MAX)
		return "the floor does not fall";
	return NULL;
}

/* Of those of which nobody has looked at that. */
static const char *
check_quiets(const struct trip_keyed *table)
{
	for (uint32_t entry = 0; entry < table->capacity && table->seen != 0; entry++) {
		const _Atomic uint64_t *at = keyed_entry(table, entry);
		uint64_t memo = keyed_load(keyed_seen_at(table, entry)), since;

		since = trip_keyed_seen(memo);
		if (!keyed_lives(keyed_load(&at[KEYED_PACKETS])))
			continue;
		for (uint32_t i = 0; i < TRIP_KEYED_QUIETS; i++)
			if (table->quiets[i] != UINT64_MAX &&
				(memo >> (TRIP_KEYED_QUIET_SHIFT + i) & 1) == 0 &&
				since + table->quiets[i] <
					keyed_load(&keyed_quiets(table)[entry / KEYED_BLOCK]))
				return "no key is quiet before its block says";
	}
	return NULL;
}

const char *
trip_keyed_check(const struct trip_keyed *table)
{
	const char *broken = check_entries(table);

	if (broken == NULL)
		broken = check_lines(table);
	if (broken == NULL)
		broken = check_blocks(table);
	if (broken == NULL)
		broken = check_quiets(table);
	if (broken == NULL)
		broken = check_floor(table);
	if (broken == NULL && keyed_load(&table->moving) != 0)
		broken = "no counts are on the way";
	return broken;
}
