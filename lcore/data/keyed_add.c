/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of what came of keys elsewhere: keyed.h says what they are. */
#include "keyed_priv.h"

/* A product that fits into what a bucket holds, or all of that. */
static uint64_t
cost_of(const struct trip_keyed *table, const struct trip_keyed_sum *sum)
{
	keyed_u128 cost = (keyed_u128)sum->packets * table->cost_packet +
			  (keyed_u128)sum->bytes * table->cost_byte;

	return cost < (uint64_t)KEYED_BUCKET_MAX ? (uint64_t)cost : (uint64_t)KEYED_BUCKET_MAX;
}

/* Adds to a leaky bucket what leaks since then; true where it holds more than it may. `had`: what
 * says when the entry was used last. */
static bool
leak_since(struct trip_keyed *table, uint32_t entry, const struct trip_keyed_sum *sum, uint64_t had)
{
	_Atomic uint64_t *bucket = &keyed_rest(table, entry)[KEYED_BUCKET];
	const uint64_t idle = table->unit * table->idle_units, empty = table->now * table->rate;
	uint64_t passed = table->now > sum->since ? table->now - sum->since : 0, leaked, holds;
	int64_t held;

	leaked = (passed < idle ? passed : idle) * table->rate;
	held = (int64_t)(keyed_load(bucket) - (empty - leaked));
	holds = held > 0 && !keyed_is_idle(table, had) ? (uint64_t)held : 0;
	holds += cost_of(table, sum);
	holds -= holds < leaked ? holds : leaked;
	if (holds > (uint64_t)KEYED_BUCKET_MAX)
		holds = (uint64_t)KEYED_BUCKET_MAX;
	if (holds <= table->until)
		keyed_forget_rate(table, entry);
	keyed_store(bucket, empty + holds);
	return holds > table->burst;
}

/* Behind the last entry is the remainder. From `adding` being set until it is 0 again this may be
 * done anew, and has the same effect. */
void
trip_keyed_add_finish(struct trip_keyed *table)
{
	uint64_t adding = keyed_load(&table->adding);
	bool is_remainder = adding > table->capacity;
	_Atomic uint64_t *at;

	if (adding == 0 || adding > table->capacity + 1u) {
		keyed_store(&table->adding, 0);
		return;
	}
	at = is_remainder ? &table->remainder_packets
			  : &keyed_entry(table, (uint32_t)adding - 1)[KEYED_PACKETS];
	keyed_store(is_remainder ? &table->remainder_bytes : &at[KEYED_BYTES],
		keyed_load(&table->adding_bytes));
	keyed_publish(at, keyed_load(&table->adding_packets));
	keyed_publish(&table->added, keyed_load(&table->adding_number));
	keyed_publish(&table->adding, 0);
}

static void
add_to(struct trip_keyed *table, uint64_t adding, uint64_t packets, uint64_t bytes)
{
	keyed_store(&table->adding_packets, packets);
	keyed_store(&table->adding_bytes, bytes);
	keyed_store(&table->adding_number, keyed_load(&table->added) + 1);
	/* Release: what is to be done, for whoever follows. */
	keyed_publish(&table->adding, adding);
	trip_keyed_add_finish(table);
}

static void
refuse(struct trip_keyed *table, const struct trip_keyed_sum *sum)
{
	uint64_t weight = keyed_weight(table, sum->packets, sum->bytes);
	uint64_t room = TRIP_KEYED_FLOOR_MAX - keyed_load(&table->floor);

	/* First: who is killed behind it has a bound that is higher than it has to be. */
	keyed_grow(&table->floor, weight < room ? weight : room);
	keyed_grow(&table->refused_packets, sum->packets);
	keyed_grow(&table->refused_bytes, sum->bytes);
	add_to(table, table->capacity + 1u, keyed_load(&table->remainder_packets) + sum->packets,
		keyed_load(&table->remainder_bytes) + sum->bytes);
}

static bool
has_room(const _Atomic uint64_t *at, const struct trip_keyed_sum *sum)
{
	return sum->packets <=
		       TRIP_KEYED_PACKETS_MAX - keyed_packets(keyed_load(&at[KEYED_PACKETS])) &&
	       sum->bytes < KEYED_HELD - keyed_bytes(keyed_load(&at[KEYED_BYTES]));
}

void
trip_keyed_add(struct trip_keyed *table, const struct trip_keyed_sum *sum, uint64_t now)
{
	uint32_t entry;
	_Atomic uint64_t *at;
	uint64_t had, seen;

	(void)trip_keyed_sweep(table, now);
	entry = trip_keyed_find(table, sum->key);
	at = keyed_entry(table, entry != TRIP_KEYED_NONE ? entry : 0);
	if (entry == TRIP_KEYED_NONE || !has_room(at, sum)) {
		refuse(table, sum);
	} else {
		had = keyed_load(&at[KEYED_PACKETS]);
		seen = sum->packets > 0 ? table->units : keyed_seen(had);
		add_to(table, entry + 1,
			keyed_packets_word(keyed_packets(had) + sum->packets) |
				seen << KEYED_SEEN_SHIFT,
			keyed_load(&at[KEYED_BYTES]) + sum->bytes);
		trip_keyed_above_sum(table, entry,
			table->cost_byte != 0 ? sum->bytes : sum->packets,
			table->rate != 0 && leak_since(table, entry, sum, had));
	}
	keyed_grow(&table->seen_packets, sum->packets);
	keyed_grow(&table->seen_bytes, sum->bytes);
	trip_keyed_dropped(table, sum->packets, sum->bytes);
}

uint64_t
trip_keyed_added(const struct trip_keyed *table)
{
	/* Acquire: what was added. Partner: the release of its writer. */
	return atomic_load_explicit(&table->added, memory_order_acquire);
}

void
trip_keyed_skip_to(struct trip_keyed *table, uint64_t added)
{
	keyed_publish(&table->added, added);
}
