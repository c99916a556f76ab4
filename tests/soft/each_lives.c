/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that begin anew on one queue while another judges them: right before that tells, or looks
 * again, by --wrap, the first one tells that a life has ended, or of more than it had, or counts.
 */
#include "each_bench.h"
#include "keyed_priv.h"
#include "trip_each_bed.h"

#define SECOND UINT64_C(1000000)
#define KEY 7u

/* What is done before the next trip is told, and before a hold looks at others, once; where. */
static void (*beside)(struct trip_each_bed *bed);
static void (*beside_look)(struct trip_each_bed *bed);
static struct trip_each_bed bed;

enum trip_each_tells __real_trip_each_ring_tell(const struct trip_each_ring_at *at,
	const struct trip_each_told *told, uint64_t from, struct trip_each_told *found);
enum trip_each_tells __wrap_trip_each_ring_tell(const struct trip_each_ring_at *at,
	const struct trip_each_told *told, uint64_t from, struct trip_each_told *found);

enum trip_each_tells
__wrap_trip_each_ring_tell(const struct trip_each_ring_at *at, const struct trip_each_told *told,
	uint64_t from, struct trip_each_told *found)
{
	void (*now)(struct trip_each_bed *) = beside;

	beside = NULL;
	if (now != NULL)
		now(&bed);
	return __real_trip_each_ring_tell(at, told, from, found);
}

void __real_trip_each_judge_look(const struct each_bench *bench, struct each_judged *judged);
void __wrap_trip_each_judge_look(const struct each_bench *bench, struct each_judged *judged);

void
__wrap_trip_each_judge_look(const struct each_bench *bench, struct each_judged *judged)
{
	void (*now)(struct trip_each_bed *) = beside_look;

	beside_look = NULL;
	if (now != NULL)
		now(&bed);
	__real_trip_each_judge_look(bench, judged);
}

static void
open_bed(const struct trip_each_when *whens, const struct trip_each_act *acts, uint32_t n)
{
	const struct trip_each_attr attr = {
		.max = 100, .idle_us = 60 * SECOND, .whens = whens, .n_whens = n, .acts = acts};

	trip_each_bed_open(&bed, &attr, 2);
}

/* A queue counts so many packets, and is stopped before it judges. */
static void
count_and_stop(uint32_t queue, uint32_t n)
{
	const uint64_t key = KEY;
	const uint32_t bytes = TRIP_EACH_BED_LENGTH;
	uint32_t dropped;
	const struct trip_keyed_chunk chunk = {
		.keys = &key, .bytes = &bytes, .count = 1, .dropped = &dropped};

	for (; n > 0; n--)
		(void)trip_keyed_count(bed.tables[queue], &chunk, bed.now);
}

/* It tells that by a condition, and is stopped before it says so. */
static void
tell_and_stop(uint32_t queue, uint32_t n, uint32_t when, uint64_t packets)
{
	const struct trip_each_told told = {.packets = packets,
		.bytes = packets * TRIP_EACH_BED_LENGTH,
		.ns = bed.now * 1000,
		.when = when,
		.table = queue,
		.times = 1,
		.key = {KEY}};
	const uint64_t key = KEY;
	struct trip_keyed *table = bed.tables[queue];
	struct trip_keyed_entry reading;
	struct trip_each_told found;
	uint32_t entry;

	count_and_stop(queue, n);
	entry = trip_keyed_find(table, &key);
	assert_true(trip_keyed_read(table, entry, &reading));
	trip_each_ring_write(&bed.at, &told);
	trip_keyed_tell(table, entry, reading.told, (uint8_t)(1u << when));
	assert_int_equal(__real_trip_each_ring_tell(&bed.at, &told, 0, &found), TRIP_EACH_TELLS);
}

static void
check_trip(uint64_t number, uint32_t when, uint32_t life, uint64_t packets)
{
	struct trip_each_told told;

	assert_true(trip_each_ring_read(&bed.at, number, &told));
	assert_int_equal(told.when, when);
	assert_int_equal(told.life, life);
	assert_int_equal(told.packets, packets);
}

static void
end_at_15(struct trip_each_bed *of)
{
	tell_and_stop(0, 7, 2, 15);
}

/* What others had told of it, as was seen before the life ended, is not told in the next one. */
static void
each_03_what_one_life_was_told_is_due_in_the_next(void **state)
{
	static const struct trip_each_when whens[] = {
		{.count = 20, .every = 10}, {.count = 5}, {.count = 15}};
	static const struct trip_each_act acts[] = {[2] = {.op = TRIP_EACH_OP_RESET}};

	open_bed(whens, acts, 3);
	(void)trip_each_bed_count(&bed, 0, KEY, 8);
	check_trip(0, 1, 0, 8);
	beside = end_at_15;
	(void)trip_each_bed_count(&bed, 1, KEY, 12);
	assert_int_equal(trip_each_ring_trips(&bed.at), 3);
	check_trip(1, 2, 0, 15);
	check_trip(2, 1, 1, 27);
	trip_each_bed_close(&bed);
}

static void
trip_at_8(struct trip_each_bed *of)
{
	tell_and_stop(1, 4, 0, 8);
}

/* What was told of a life with more packets than it is to end with was told of all of them. */
static void
each_03_a_life_has_all_packets_that_were_told_of(void **state)
{
	static const struct trip_each_when whens[] = {{.count = 8}, {.count = 4}};
	static const struct trip_each_act acts[] = {[1] = {.op = TRIP_EACH_OP_RESET}};

	open_bed(whens, acts, 2);
	beside = trip_at_8;
	(void)trip_each_bed_count(&bed, 0, KEY, 4);
	assert_int_equal(trip_each_ring_trips(&bed.at), 2);
	check_trip(0, 0, 0, 8);
	check_trip(1, 1, 0, 8);
	trip_each_bed_close(&bed);
}

static void
end_at_23(struct trip_each_bed *of)
{
	tell_and_stop(1, 13, 1, 23);
}

/* A drop that is to be told in a life that has ended is none. */
static void
each_06_what_is_not_told_drops_nothing(void **state)
{
	static const struct trip_each_when whens[] = {{.rate = 1000, .burst = 4}, {.count = 13}};
	static const struct trip_each_act acts[] = {
		{.op = TRIP_EACH_OP_DROP}, {.op = TRIP_EACH_OP_RESET}};

	open_bed(whens, acts, 2);
	beside = end_at_23;
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 10), 0);
	assert_int_equal(trip_each_ring_trips(&bed.at), 1);
	check_trip(0, 1, 0, 23);
	trip_each_bed_close(&bed);
}

static void
one_more(struct trip_each_bed *of)
{
	count_and_stop(0, 1);
}

/* What comes between two conditions is judged by both, or by neither: also where a hold looks at
 * others in between. */
static void
each_03_all_conditions_are_judged_by_one_look(void **state)
{
	static const struct trip_each_when whens[] = {
		{.count = 12, .every = 100}, {.count = 6}, {.count = 12}};
	static const struct trip_each_act acts[] = {
		[1] = {.op = TRIP_EACH_OP_POLICE, .rate = 1, .unit = TRIP_POLICE_UNIT_PACKETS},
		[2] = {.op = TRIP_EACH_OP_RESET}};

	open_bed(whens, acts, 3);
	(void)trip_each_bed_count(&bed, 0, KEY, 6);
	check_trip(0, 1, 0, 6);
	beside_look = one_more;
	(void)trip_each_bed_count(&bed, 1, KEY, 5);
	assert_null(beside_look);
	assert_int_equal(trip_each_ring_trips(&bed.at), 1);
	(void)trip_each_bed_count(&bed, 0, KEY, 1);
	check_trip(1, 0, 0, 13);
	check_trip(2, 1 | TRIP_EACH_TOLD_END, 0, 13);
	check_trip(3, 2, 0, 13);
	trip_each_bed_close(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_03_what_one_life_was_told_is_due_in_the_next),
		cmocka_unit_test(each_03_a_life_has_all_packets_that_were_told_of),
		cmocka_unit_test(each_03_all_conditions_are_judged_by_one_look),
		cmocka_unit_test(each_06_what_is_not_told_drops_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
