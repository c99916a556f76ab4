/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that have had no packet for a time: keyed.h says who finds them, and how late. */
#include "keyed_priv.h"

void
trip_keyed_quiet_restart(struct trip_keyed *table, uint64_t now)
{
	table->quiet_pace.now = now;
	table->quiet_pace.due = 0;
	if (table->quiet_hand >= table->blocks)
		table->quiet_hand = 0;
	for (uint32_t i = 0; i < table->blocks && table->seen != 0; i++)
		keyed_store(&keyed_quiets(table)[i], 0);
}

/* For which times it is so now, a bit each, that nobody has looked at; and when it will be for the
 * next one. */
static uint64_t
over(const struct trip_keyed *table, uint32_t entry, uint64_t now, uint64_t *next)
{
	uint64_t memo = keyed_load(keyed_seen_at(table, entry)), since = trip_keyed_seen(memo);
	uint64_t found = 0;

	for (uint32_t i = 0; i < TRIP_KEYED_QUIETS; i++) {
		uint64_t end = since + table->quiets[i];

		if (table->quiets[i] == UINT64_MAX ||
			(memo >> (TRIP_KEYED_QUIET_SHIFT + i) & 1) != 0)
			continue;
		if (end <= now)
			found |= UINT64_C(1) << i;
		else if (end < *next)
			*next = end;
	}
	return found;
}

/* Those of a block, which may have any as far as it knows. What comes to it from now on is not
 * quiet before the shortest time is over. */
static uint32_t
look(struct trip_keyed *table, uint32_t block, uint64_t now, uint32_t *entries)
{
	uint32_t entry = block * KEYED_BLOCK, end = entry + KEYED_BLOCK, n = 0;
	uint64_t next = now + table->quiet_least;

	end = end < table->capacity ? end : table->capacity;
	for (; entry < end; entry++)
		if (keyed_lives(keyed_load(&keyed_entry(table, entry)[KEYED_PACKETS])) &&
			over(table, entry, now, &next) != 0)
			entries[n++] = entry;
	keyed_store(&keyed_quiets(table)[block], next);
	return n;
}

uint32_t
trip_keyed_quiet(struct trip_keyed *table, uint64_t now, uint32_t *entries, uint32_t room)
{
	uint64_t looks;
	uint32_t n = 0;

	if (table->quiet_all == 0 || trip_keyed_is_empty(table)) {
		table->quiet_pace.now = now;
		return 0;
	}
	for (looks = keyed_looks_due(&table->quiet_pace, table->blocks, now);
		looks > 0 && n + KEYED_BLOCK <= room; looks--) {
		uint32_t block = table->quiet_hand;

		if (keyed_load(&keyed_quiets(table)[block]) <= now)
			n += look(table, block, now, entries + n);
		table->quiet_hand = block + 1 < table->blocks ? block + 1 : 0;
	}
	/* Of what there was no room for. */
	table->quiet_pace.due += looks * table->quiet_pace.round;
	return n;
}

void
trip_keyed_quiet_looked(struct trip_keyed *table, uint32_t entry, uint64_t now)
{
	uint64_t next = UINT64_MAX, found = over(table, entry, now, &next);
	_Atomic uint64_t *seen = keyed_seen_at(table, entry);

	keyed_store(seen, keyed_load(seen) | found << TRIP_KEYED_QUIET_SHIFT);
}
