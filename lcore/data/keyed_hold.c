/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that are held: keyed.h says until when, and where that is. */
#include "keyed_priv.h"
#include "police.h"

static void
mark_held(struct trip_keyed *table, uint32_t entry)
{
	_Atomic uint64_t *bytes = &keyed_entry(table, entry)[KEYED_BYTES];

	keyed_publish(bytes, keyed_load(bytes) | KEYED_HELD);
}

/* A writer that is killed on the way leaves it held, or not: the mark says which. */
void
trip_keyed_hold(struct trip_keyed *table, uint32_t entry, uint64_t until, uint8_t mark)
{
	bool was_held = keyed_is_held(table, entry);

	keyed_store(keyed_hold(table, entry), until);
	atomic_thread_fence(memory_order_release);
	trip_keyed_mark(table, entry, mark);
	mark_held(table, entry);
	keyed_block(table, entry)->held += !was_held;
	keyed_store(&table->held, keyed_load(&table->held) + !was_held);
}

void
trip_keyed_release(struct trip_keyed *table, uint32_t entry)
{
	_Atomic uint64_t *bytes = &keyed_entry(table, entry)[KEYED_BYTES];

	trip_keyed_mark(table, entry, 0);
	atomic_thread_fence(memory_order_release);
	keyed_store(bytes, keyed_bytes(keyed_load(bytes)));
	keyed_block(table, entry)->held--;
	keyed_store(&table->held, keyed_load(&table->held) - 1);
}

uint64_t
trip_keyed_hold_latest(const struct trip_keyed *table, uint64_t now)
{
	return table->hold_max < TRIP_KEYED_EVER - now ? now + table->hold_max : TRIP_KEYED_EVER;
}

/* No longer than anybody may hold it, whatever is written there. */
void
trip_keyed_hold_recover(struct trip_keyed *table, uint32_t entry, uint64_t now)
{
	_Atomic uint64_t *bytes = &keyed_entry(table, entry)[KEYED_BYTES];
	uint64_t latest = trip_keyed_hold_latest(table, now);

	if (!keyed_is_held(table, entry)) {
		keyed_store(bytes, keyed_bytes(keyed_load(bytes)));
		return;
	}
	if (keyed_load(keyed_hold(table, entry)) > latest)
		keyed_store(keyed_hold(table, entry), latest);
	mark_held(table, entry);
	keyed_block(table, entry)->held++;
	keyed_store(&table->held, keyed_load(&table->held) + 1);
}

static bool
is_over(const struct trip_keyed *table, uint32_t entry, uint64_t now)
{
	const _Atomic uint64_t *at = keyed_entry(table, entry);

	return keyed_load(&at[KEYED_BYTES]) >= KEYED_HELD && keyed_is_held(table, entry) &&
	       keyed_lives(keyed_load(&at[KEYED_PACKETS])) &&
	       keyed_load(keyed_hold(table, entry)) <= now;
}

uint32_t
trip_keyed_ended(struct trip_keyed *table, uint64_t now, uint32_t *entries, uint32_t room)
{
	uint32_t looks, step, n = 0;

	if (keyed_load(&table->held) == 0 || table->hold_pace.round == 0) {
		table->hold_pace.now = now;
		return 0;
	}
	for (looks = keyed_looks_due(&table->hold_pace, table->capacity, now);
		looks > 0 && n < room; looks -= step) {
		uint32_t entry = table->hold_hand;

		step = 1;
		if (keyed_block(table, entry)->held == 0)
			step = KEYED_BLOCK - entry % KEYED_BLOCK;
		else if (is_over(table, entry, now))
			entries[n++] = entry;
		table->hold_hand = entry + step < table->capacity ? entry + step : 0;
		step = step < looks ? step : looks;
	}
	/* Of what there was no room for. */
	table->hold_pace.due += looks * table->hold_pace.round;
	return n;
}

/* ---- policed ----------------------------------------------------------------------------------
 */

/* The bucket of the entry at a place, as long as that is the key's; else NULL. */
static _Atomic uint64_t *
bucket_at(const struct trip_keyed *table, const uint64_t *key, uint64_t place)
{
	uint32_t which = (uint32_t)(place >> 32) - 1, at = (uint32_t)place;
	const struct trip_keyed *other;
	uint64_t differ;

	/* Another process may have written there. */
	if (place == 0 || which >= table->n_tables || at >= table->capacity)
		return NULL;
	other = (const struct trip_keyed *)((uintptr_t)table - table->own * table->pitch +
					    which * table->pitch);
	differ = !keyed_lives(keyed_load(&keyed_entry(other, at)[KEYED_PACKETS]));
	for (uint32_t i = 0; i < table->words; i++)
		differ |= keyed_load(&keyed_entry(other, at)[KEYED_KEY + i]) ^ key[i];
	return differ == 0 ? &keyed_memos(other, at)[table->bucket - 1] : NULL;
}

static bool
takes(const struct trip_keyed *table, _Atomic uint64_t *bucket, uint32_t bytes, uint64_t now)
{
	const uint64_t word = table->police, ticks = now * 1000 * TRIP_POLICE_TICKS;
	uint64_t burst = trip_police_burst(word), cost = trip_police_cost(word, bytes), ahead;
	uint64_t full = keyed_load(bucket);

	do {
		ahead = trip_police_ahead(full, ticks);
		if (ahead != 0 && ahead + cost > burst)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		bucket, &full, ticks + ahead + cost, memory_order_relaxed, memory_order_relaxed));
	return true;
}

bool
trip_keyed_polices(const struct trip_keyed *table, uint32_t entry, uint32_t bytes, uint64_t now)
{
	_Atomic uint64_t *own, *bucket;
	uint64_t key[TRIP_KEYED_WORDS_MAX];

	/* Another process may have written that it is policed. */
	if (table->bucket == 0)
		return true;
	own = &keyed_memos(table, entry)[table->bucket - 1];
	keyed_key(table, entry, key);
	bucket = bucket_at(table, key, keyed_load(&own[1]));
	return takes(table, bucket != NULL ? bucket : own, bytes, now);
}

bool
trip_keyed_polices_at(const struct trip_keyed *table, const uint64_t *key, uint64_t place,
	uint32_t bytes, uint64_t now)
{
	_Atomic uint64_t *bucket = table->bucket != 0 ? bucket_at(table, key, place) : NULL;

	return bucket == NULL || takes(table, bucket, bytes, now);
}

void
trip_keyed_dropped(struct trip_keyed *table, uint64_t packets, uint64_t bytes)
{
	keyed_grow(&table->dropped_packets, packets);
	keyed_grow(&table->dropped_bytes, bytes);
}
