/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of keys that are at a limit, or held: the few of which counting does not know all. */
#include "keyed_priv.h"

/* Likewise, over one of those of which it was not said that it is. */
static bool
is_news_to_members(
	const struct trip_keyed *table, uint32_t entry, uint64_t packets, uint64_t bytes, bool rate)
{
	uint64_t over = rate ? table->rate_member : 0;

	for (uint32_t i = 0; i < table->n_members; i++)
		over |= (uint64_t)(packets >= table->members[i].packets ||
				   bytes >= table->members[i].bytes)
			<< i;
	return over != 0 &&
	       (over & ~keyed_load(&keyed_memos(table, entry)[table->members_told - 1])) != 0;
}

/* Whether it is over a limit that it has not been told of: by what it has since it began anew, and
 * limits that grow. */
static bool
is_news_again(
	const struct trip_keyed *table, uint32_t entry, uint64_t packets, uint64_t bytes, bool rate)
{
	uint8_t told = keyed_told(keyed_load(&keyed_rest(table, entry)[KEYED_ERROR]));
	uint8_t over = rate ? (uint8_t)(table->told_rate & ~(told & table->spill_rate)) : 0;
	const _Atomic uint64_t *memos = keyed_memos(table, entry);

	if (table->anew != 0) {
		uint64_t had_packets =
			keyed_load(&memos[table->anew - 1 + TRIP_KEYED_ANEW_PACKETS]);
		uint64_t had_bytes = keyed_load(&memos[table->anew - 1 + TRIP_KEYED_ANEW_BYTES]);

		packets -= packets < had_packets ? packets : had_packets;
		bytes -= bytes < had_bytes ? bytes : had_bytes;
	}
	for (unsigned int i = 0; i < TRIP_KEYED_LIMITS; i++) {
		const struct trip_keyed_limit *limit = &table->limits[i];
		uint64_t next = table->next[i] != 0 ? keyed_load(&memos[table->next[i] - 1]) : 0;
		uint64_t of = limit->packets != UINT64_MAX ? packets : bytes;

		if (next == 0 && (told >> i & 1) != 0)
			continue;
		over |= (uint8_t)((packets >= limit->packets || bytes >= limit->bytes) &&
				  of >= next)
			<< i;
	}
	return over != 0 || is_news_to_members(table, entry, packets, bytes, rate);
}

/* Likewise, of any table. */
static bool
is_news(const struct trip_keyed *table, uint32_t entry, uint64_t packets, uint64_t bytes, bool rate)
{
	uint8_t told = keyed_told(keyed_load(&keyed_rest(table, entry)[KEYED_ERROR]));
	uint8_t over = rate ? (uint8_t)table->told_rate : 0;

	if (table->memos != 0)
		return is_news_again(table, entry, packets, bytes, rate);
	for (unsigned int i = 0; i < TRIP_KEYED_LIMITS; i++)
		over |= (uint8_t)((unsigned int)(packets >= table->limits[i].packets ||
						 bytes >= table->limits[i].bytes)
				  << i);
	return (over & ~told) != 0;
}

/* A packet that is above the rate of a key that has been told of that. */
static void
spill(const struct trip_keyed *table, uint32_t entry)
{
	uint64_t told = keyed_told(keyed_load(&keyed_rest(table, entry)[KEYED_ERROR]));

	if ((told & table->spill_rate) != 0)
		keyed_spill(table, entry);
}

/* Of a key that is held something came that is above the rate; or with which as much came as has
 * to. */
static bool
lasts_longer(const struct trip_keyed *table, uint32_t entry, uint64_t weight, bool rate)
{
	_Atomic uint64_t *window;
	uint64_t told, came;

	if ((keyed_mark(table, entry) & TRIP_KEYED_BY_HAND) != 0)
		return false;
	if (table->hold_of_rate == 0 || table->window == 0)
		return rate && table->hold_of_rate != 0;
	told = keyed_told(keyed_load(&keyed_rest(table, entry)[KEYED_ERROR]));
	if ((told & table->told_rate) == 0)
		return false;
	window = &keyed_memos(table, entry)[table->window - 1];
	came = keyed_load(window) + weight;
	keyed_store(window, came < table->hold_count ? came : 0);
	return came >= table->hold_count;
}

/* It is held by the rate from here on, if that was told: so the end is that of the rate. */
static void
prolong(const struct trip_keyed *table, uint32_t entry, uint64_t until)
{
	_Atomic uint64_t *error = &keyed_rest(table, entry)[KEYED_ERROR];
	const uint64_t by = (uint64_t)TRIP_KEYED_MARK_BY << KEYED_MARK_SHIFT;
	uint64_t state = keyed_load(error);

	keyed_store(keyed_hold(table, entry), until);
	if ((state & table->told_rate) != 0)
		keyed_store(error, (state & ~by) | (uint64_t)__builtin_ctzll(table->told_rate)
							   << KEYED_MARK_SHIFT);
}

/* A packet of a key that is held, or was until now: then whoever judges ends that. */
static void
add_held(struct keyed_above *above, uint32_t entry, uint32_t packet, bool rate)
{
	const struct trip_keyed *table = above->table;
	uint64_t until = keyed_load(keyed_hold(table, entry));
	uint64_t longer = above->now + table->hold_of_rate;
	uint32_t bytes = above->bytes[packet];
	uint8_t told, mark = keyed_mark(table, entry);

	if (above->now >= until) {
		above->over |= 1u << packet;
		return;
	}
	if (lasts_longer(table, entry, table->cost_byte != 0 ? bytes : 1, rate) && longer > until)
		prolong(table, entry, longer);
	if (rate)
		spill(table, entry);
	if ((mark & TRIP_KEYED_POLICED) != 0)
		above->dropped |= (uint32_t)!trip_keyed_polices(table, entry, bytes, above->now)
				  << packet;
	else if ((mark & TRIP_KEYED_PASSES) == 0)
		above->dropped |= 1u << packet;
	told = keyed_told(keyed_load(&keyed_rest(table, entry)[KEYED_ERROR]));
	above->settled |= (uint32_t)(told == table->told_all) << packet;
}

/* A packet that has taken its key to a limit, or is of one that is there, or is held. */
void
trip_keyed_above(struct keyed_above *above, uint32_t entry, uint32_t packet, bool rate)
{
	struct trip_keyed *table = above->table;
	_Atomic uint64_t *at = keyed_entry(table, entry);
	uint64_t word = keyed_load(&at[KEYED_BYTES]), bytes = keyed_bytes(word);
	uint64_t packets = keyed_packets(keyed_load(&at[KEYED_PACKETS]));

	above->over |= (uint32_t)is_news(table, entry, packets, bytes, rate) << packet;
	if (word < KEYED_HELD) {
		if (rate)
			spill(table, entry);
		return;
	}
	if (keyed_is_held(table, entry)) {
		add_held(above, entry, packet, rate);
		return;
	}
	/* So many bytes no key has: they are the remainder's. */
	keyed_store(&at[KEYED_BYTES], word - above->bytes[packet]);
	keyed_grow(&table->remainder_bytes, above->bytes[packet]);
}

void
trip_keyed_above_sum(struct trip_keyed *table, uint32_t entry, uint64_t weight, bool rate)
{
	uint64_t until = table->now + table->hold_of_rate;

	if (keyed_is_held(table, entry) && table->now < keyed_load(keyed_hold(table, entry)) &&
		lasts_longer(table, entry, weight, rate) &&
		until > keyed_load(keyed_hold(table, entry)))
		prolong(table, entry, until);
	if (rate)
		spill(table, entry);
}
