/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of keys, and what was told and counted of them. */
#include <rte_common.h>

#include "each.h"

/* A key, as its trips say in their order. */
struct life {
	uint64_t number, before, level, most, trips;
	bool once;
};

static uint64_t
level_of(uint64_t packets)
{
	for (unsigned int i = 0; i < world.n_whens; i++) {
		const struct trip_each_when *when = &world.whens[i];

		if (world.kinds[i] == EVERY && packets >= when->count)
			return (packets - when->count) / when->every + 1;
	}
	return 0;
}

static bool
once_of(uint64_t packets)
{
	for (unsigned int i = 0; i < world.n_whens; i++)
		if (world.kinds[i] == ONCE && packets >= world.whens[i].count)
			return true;
	return false;
}

uint64_t
each_word_of(unsigned int key)
{
	const uint8_t bytes[sizeof(uint64_t)] = {
		10, (uint8_t)(key >> 16), (uint8_t)(key >> 8), (uint8_t)key};
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

uint64_t
each_least_of(unsigned int key)
{
	uint64_t sum = 0;

	for (unsigned int q = 0; q < QUEUES; q++)
		sum += world.queues[q].counted[key];
	return world.expires ? 0 : sum;
}

/* Likewise at the most. */
static uint64_t
most_of(unsigned int key)
{
	uint64_t sum = 0;

	for (unsigned int q = 0; q < QUEUES; q++)
		sum += world.queues[q].counted[key] + world.queues[q].counting[key] +
		       world.queues[q].lost[key];
	return sum;
}

/* ---- trips ------------------------------------------------------------------------------------
 */

/* All that is due by so many packets of a life has been told. */
static void
expect_told(const struct life *life, uint64_t packets)
{
	sim_expect(life->level == level_of(packets), "%llu crossings of %llu packets are told",
		(unsigned long long)life->level, (unsigned long long)packets);
	sim_expect(life->once == once_of(packets), "a trip at %llu packets is %stold",
		(unsigned long long)packets, life->once ? "" : "not ");
	sim_expect(life->most <= packets, "%llu packets are told of %llu",
		(unsigned long long)life->most, (unsigned long long)packets);
}

static void
take_trip(struct life *life, const struct trip_each_told *told, bool exact)
{
	unsigned int kind = world.kinds[told->when];
	uint64_t packets = told->packets - told->anew_packets;

	sim_expect(kind == RATE || packets >= world.whens[told->when].count,
		"it is told at %llu packets", (unsigned long long)packets);
	life->trips += kind == world.drops;
	if (!exact || kind == RATE)
		return;
	sim_expect(told->life == life->number && told->anew_packets == life->before,
		"a trip is of life %u behind %llu packets, and it is %llu behind %llu", told->life,
		(unsigned long long)told->anew_packets, (unsigned long long)life->number,
		(unsigned long long)life->before);
	life->most = RTE_MAX(life->most, packets);
	if (kind == RESETS) {
		expect_told(life, packets);
		*life = (struct life){
			.number = life->number + 1, .before = told->packets, .trips = life->trips};
	} else if (kind == ONCE) {
		sim_expect(!life->once, "a trip is told twice");
		life->once = true;
	} else {
		life->level += told->times;
		sim_expect(life->level == level_of(packets),
			"%llu crossings of %llu packets are told", (unsigned long long)life->level,
			(unsigned long long)packets);
	}
}

/* Of a key; from some trip on. */
static struct life
take_trips(unsigned int key, uint64_t from, bool exact)
{
	uint64_t n = trip_each_ring_trips(&world.bed.at);
	struct life life = {.number = 0};
	struct trip_each_told told;

	for (; from < n; from++) {
		sim_expect(trip_each_ring_read(&world.bed.at, from, &told), "trip %llu is gone",
			(unsigned long long)from);
		if (told.key[0] == each_word_of(key) && (told.when & TRIP_EACH_TOLD_END) == 0)
			take_trip(&life, &told, exact);
	}
	return life;
}

/* ---- everything rests -------------------------------------------------------------------------
 */

void
each_expect_counted(unsigned int key, uint64_t least)
{
	const uint64_t word = each_word_of(key);
	struct trip_each_entry sum = trip_each_sum(&world.each, &word);
	uint64_t counted = sum.packets + sum.anew_packets;

	sim_expect(counted <= most_of(key) && counted + sum.error >= least,
		"of key %u %llu to %llu packets came, and %llu are counted, %llu are not known",
		key, (unsigned long long)least, (unsigned long long)most_of(key),
		(unsigned long long)counted, (unsigned long long)sum.error);
}

static void
judge_table(const struct trip_keyed *table)
{
	const char *broken = trip_keyed_check(table);
	struct trip_keyed_totals totals;

	trip_keyed_totals(table, &totals);
	sim_expect(broken == NULL, "of a table it is not so that %s", broken);
	sim_expect(
		totals.floor <= totals.packets / world.bed.statement->max + totals.refused_packets,
		"of %llu packets the floor is %llu", (unsigned long long)totals.packets,
		(unsigned long long)totals.floor);
}

static void
judge_key(unsigned int key)
{
	const uint64_t word = each_word_of(key);
	struct trip_each_entry sum = trip_each_sum(&world.each, &word);
	bool exact = !world.vague && !world.expires && sum.error == 0;
	struct life life = take_trips(key, 0, exact);

	each_expect_counted(key, each_least_of(key));
	sim_expect(!world.dropped[key] || take_trips(key, world.calm, false).trips > 0,
		"packets of key %u were dropped, and nothing has begun that", key);
	if (!exact)
		return;
	expect_told(&life, sum.packets);
	sim_expect(sum.anew == life.number && sum.anew_packets == life.before,
		"key %u is in life %llu behind %llu packets, and trips tell of %llu behind %llu",
		key, (unsigned long long)sum.anew, (unsigned long long)sum.anew_packets,
		(unsigned long long)life.number, (unsigned long long)life.before);
}

void
each_judge(void)
{
	for (unsigned int q = 0; q < world.bed.statement->n_tables; q++)
		judge_table(world.bed.tables[q]);
	for (unsigned int key = 0; key < KEYS; key++)
		judge_key(key);
	world.bed.now += LONG;
	if (!world.holds_end)
		return;
	world.calm = trip_each_ring_trips(&world.bed.at);
	memset(world.dropped, 0, sizeof(world.dropped));
}
