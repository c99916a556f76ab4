/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the keys of a table are found: lines of slots. A key is in its home line, or where that was
 * full in the next one that was not; each line on the way knows how many have passed it, so a
 * search ends at a line that none has.
 */
#include <string.h>

#include "keyed_priv.h"

static bool
is_key(const struct trip_keyed *table, uint32_t entry, const uint64_t *key)
{
	const _Atomic uint64_t *at = keyed_entry(table, entry);
	uint64_t differ = 0;

	for (uint32_t i = 0; i < table->words; i++)
		differ |= keyed_load(&at[KEYED_KEY + i]) ^ key[i];
	return differ == 0;
}

uint32_t
trip_keyed_line_find(const struct trip_keyed *table, const uint64_t *key, uint64_t hash)
{
	uint32_t at = keyed_home(table->lines, hash), tag = keyed_tag(table->id_mask, hash);

	for (uint32_t steps = 0; steps < table->lines; steps++, at = keyed_next(table, at)) {
		const struct keyed_line *line = &keyed_lines(table)[at];
		uint32_t matches = keyed_match(line, ~table->id_mask, tag);

		for (; matches != 0; matches &= matches - 1) {
			uint32_t slot = (uint32_t)__builtin_ctz(matches);
			uint32_t entry = (line->slots[slot] & table->id_mask) - 1;

			if (is_key(table, entry, key))
				return entry;
		}
		if (line->passed == 0)
			break;
	}
	return TRIP_KEYED_NONE;
}

/* The first slot on a key's way that is so under a mask; there is one. */
static uint32_t *
walk(struct trip_keyed *table, uint64_t hash, uint32_t mask, uint32_t want, int passes)
{
	uint32_t at = keyed_home(table->lines, hash);

	for (;; at = keyed_next(table, at)) {
		struct keyed_line *line = &keyed_lines(table)[at];
		uint32_t slots = keyed_match(line, mask, want);

		if (slots != 0)
			return &line->slots[__builtin_ctz(slots)];
		keyed_put(&line->passed, line->passed + (uint32_t)passes);
	}
}

/* There are more slots than entries. */
void
trip_keyed_line_insert(struct trip_keyed *table, uint64_t hash, uint32_t entry)
{
	keyed_put(
		walk(table, hash, UINT32_MAX, 0, 1), keyed_tag(table->id_mask, hash) | (entry + 1));
}

void
trip_keyed_line_erase(struct trip_keyed *table, uint64_t hash, uint32_t entry)
{
	keyed_put(walk(table, hash, table->id_mask, entry + 1, -1), 0);
}

void
trip_keyed_line_clear(struct trip_keyed *table)
{
	for (uint32_t i = 0; i < table->lines; i++) {
		struct keyed_line *line = &keyed_lines(table)[i];

		for (uint32_t slot = 0; slot < KEYED_SLOTS; slot++)
			keyed_put(&line->slots[slot], 0);
		keyed_put(&line->passed, 0);
	}
}

/* ---- beside the writer ------------------------------------------------------------------------
 */

/* What is in an entry decides; a slot only says where to look. */
static bool
read_key(const struct trip_keyed *table, uint32_t entry, const uint64_t *key,
	struct trip_keyed_entry *reading)
{
	return entry < table->capacity && is_key(table, entry, key) &&
	       trip_keyed_read(table, entry, reading) &&
	       memcmp(reading->key, key, table->words * sizeof(*key)) == 0;
}

static bool
seek_in_lines(const struct trip_keyed *table, const uint64_t *key, struct trip_keyed_entry *reading)
{
	uint64_t hash = keyed_hash(table->secret, key, table->words);
	uint32_t at = keyed_home(table->lines, hash), tag = keyed_tag(table->id_mask, hash);

	for (uint32_t steps = 0; steps < table->lines; steps++, at = keyed_next(table, at)) {
		const struct keyed_line *line = &keyed_lines(table)[at];

		for (uint32_t i = 0; i < KEYED_SLOTS; i++) {
			uint32_t slot = keyed_get(&line->slots[i]);

			if ((slot & ~table->id_mask) == tag &&
				read_key(table, (slot & table->id_mask) - 1, key, reading))
				return true;
		}
		if (keyed_get(&line->passed) == 0)
			break;
	}
	return false;
}

bool
trip_keyed_glance(
	const struct trip_keyed *table, const uint64_t *key, struct trip_keyed_entry *reading)
{
	/* Acquire: the lines, as they are made by then. Partner: the release in
	 * trip_keyed_recover(). */
	(void)atomic_load_explicit(&table->rebuilt, memory_order_acquire);
	return seek_in_lines(table, key, reading);
}

bool
trip_keyed_seek(
	const struct trip_keyed *table, const uint64_t *key, struct trip_keyed_entry *reading)
{
	/* Acquire: the lines, as they are made by then. Partner: the release in
	 * trip_keyed_recover(). */
	uint64_t rebuilt = atomic_load_explicit(&table->rebuilt, memory_order_acquire);

	if (seek_in_lines(table, key, reading))
		return true;
	/* If anything was seen of lines that are being made, this is, too. Partner: the fence in
	 * trip_keyed_recover(). */
	atomic_thread_fence(memory_order_acquire);
	if (rebuilt % 2 == 0 && keyed_load(&table->rebuilt) == rebuilt)
		return false;
	for (uint32_t entry = 0; entry < table->capacity; entry++)
		if (read_key(table, entry, key, reading))
			return true;
	return false;
}
