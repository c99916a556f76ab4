/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of a statement by themselves, on a clock of the test: what several of them say of one
 * key, over times that no queue is polled for, and beside what another process has left in one.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/domain.h"
#include "flow/each.h"
#include "each_judge.h"
#include "keyed_priv.h"
#include "trip_each_bed.h"

#define TABLES_MAX 2u
#define SECOND UINT64_C(1000000)

static uint64_t
trips(const struct trip_each_bed *bed)
{
	return trip_each_ring_trips(&bed->at);
}

static struct trip_each_told
last_trip(const struct trip_each_bed *bed)
{
	struct trip_each_told told;

	assert_true(trip_each_ring_read(&bed->at, trips(bed) - 1, &told));
	return told;
}

static uint32_t
entry_of(const struct trip_each_bed *bed, uint32_t queue, uint64_t key)
{
	uint32_t entry = trip_keyed_find(bed->tables[queue], &key);

	assert_int_not_equal(entry, TRIP_KEYED_NONE);
	return entry;
}

/* For so long no packet comes to a queue, which is polled each `step`. */
static void
be_silent(struct trip_each_bed *bed, uint32_t queue, uint64_t us, uint64_t step)
{
	for (uint64_t end = bed->now + us; bed->now < end;) {
		bed->now += step;
		trip_each_queue_sweep(&bed->polls[queue], bed->now);
	}
}

/* However many end at once: a 32nd of their time later at most all have. */
static void
each_06_holds_end_in_time_on_a_silent_queue(void **state)
{
	enum { KEYS = 16384 };
	const struct trip_each_when when = {.count = 1};
	const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP, .time_us = 60 * SECOND};
	const struct trip_each_attr attr = {.max = KEYS,
		.idle_us = 60 * SECOND,
		.whens = &when,
		.n_whens = 1,
		.acts = &act,
		.trips_kept = 32768};
	struct trip_keyed_totals totals;
	struct trip_each_bed bed;
	uint64_t began;

	trip_each_bed_open(&bed, &attr, 1);
	began = bed.now;
	for (uint64_t key = 1; key <= KEYS; key++)
		(void)trip_each_bed_count(&bed, 0, key, 1);
	trip_keyed_totals(bed.tables[0], &totals);
	assert_int_equal(totals.held, KEYS);
	be_silent(&bed, 0, 60 * SECOND - 1, 1000);
	bed.now = began + 60 * SECOND;
	be_silent(&bed, 0, 60 * SECOND / 32, 100);
	trip_keyed_totals(bed.tables[0], &totals);
	assert_int_equal(totals.held, 0);
	assert_int_equal(trips(&bed), 2 * KEYS);
	trip_each_bed_close(&bed);
}

#define RATE UINT64_C(1250000000)

static const struct trip_each_when rate_when = {
	.of = TRIP_EACH_BYTES, .rate = RATE, .burst = 100 * TRIP_EACH_BED_LENGTH};

/* In three hours a bucket of ten gigabits a second has gone round. A key that is held stays that
 * long: it had nothing. */
static void
each_04_a_silent_key_has_no_rate(void **state)
{
	const struct trip_each_when whens[] = {rate_when, {.count = 10}};
	const struct trip_each_act acts[] = {
		{.op = TRIP_EACH_OP_NONE}, {.op = TRIP_EACH_OP_DROP, .time_us = 86400 * SECOND}};
	const struct trip_each_attr attr = {
		.max = 100, .idle_us = 60 * SECOND, .whens = whens, .n_whens = 2, .acts = acts};
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 1);
	assert_int_equal(trip_each_bed_count(&bed, 0, 7, 32), UINT32_MAX << 10);
	assert_int_equal(trips(&bed), 1);
	be_silent(&bed, 0, 3 * 3600 * SECOND, SECOND / 10);
	/* A follower takes the queue. */
	trip_each_queue_recover(&bed.polls[0], bed.now);
	assert_int_equal(trips(&bed), 1);
	trip_each_bed_close(&bed);
}

/* Nobody polls a queue for three hours: what it told of a key by a rate is not so any more. */
static void
each_04_a_rate_is_not_told_by_who_is_gone(void **state)
{
	const struct trip_each_attr attr = {
		.max = 100, .idle_us = 60 * SECOND, .whens = &rate_when, .n_whens = 1};
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	for (uint32_t i = 0; i < 4; i++)
		(void)trip_each_bed_count(&bed, 0, 7, 32);
	assert_int_equal(trips(&bed), 1);
	(void)trip_each_bed_count(&bed, 1, 7, 32);
	assert_int_equal(trips(&bed), 1);
	be_silent(&bed, 1, 3 * 3600 * SECOND, SECOND / 10);
	for (uint32_t i = 0; i < 4; i++)
		(void)trip_each_bed_count(&bed, 1, 7, 32);
	assert_int_equal(trips(&bed), 2);
	trip_each_bed_close(&bed);
}

/* Whatever another process has written: no hold that is taken from there is longer than any. */
static void
each_06_no_hold_of_others_is_longer_than_any(void **state)
{
	const struct trip_each_when when = {.count = 10};
	const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP, .time_us = SECOND};
	const struct trip_each_attr attr = {
		.max = 100, .idle_us = 60 * SECOND, .whens = &when, .n_whens = 1, .acts = &act};
	struct trip_keyed_entry reading;
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	(void)trip_each_bed_count(&bed, 0, 7, 10);
	assert_int_equal(trips(&bed), 1);
	trip_keyed_hold(
		bed.tables[0], entry_of(&bed, 0, 7), UINT64_C(1) << 63, 0xff & ~TRIP_KEYED_BY_HAND);
	assert_int_equal(trip_each_bed_count(&bed, 1, 7, 1), 1);
	assert_true(trip_keyed_read(bed.tables[1], entry_of(&bed, 1, 7), &reading));
	assert_int_equal(reading.hold, bed.now + SECOND);
	trip_each_bed_close(&bed);
}

static int
visit(const struct trip_each_entry *entry, void *arg)
{
	struct trip_each_entry *told = arg;

	while (told->packets != 0)
		told++;
	*told = *entry;
	return 0;
}

/* As who walks finds it where a key has gone, and come again in a place further behind: there are
 * two of it in a table. */
static void
check_twice(uint32_t n_tables)
{
	const struct trip_each_when when = {.count = 1000};
	const struct trip_each_attr attr = {
		.max = 100, .idle_us = 60 * SECOND, .whens = &when, .n_whens = 1};
	struct trip_domain *domain = calloc(1, sizeof(*domain));
	struct trip_each *each = calloc(1, sizeof(*each));
	struct trip_each_entry told[4] = {{0}}, top[4];
	struct trip_each_bed bed;
	uint32_t again;

	assert_non_null(domain);
	assert_non_null(each);
	trip_each_bed_open(&bed, &attr, n_tables);
	domain->engine.eaches = bed.zone;
	each->domain = domain;
	each->statement = *bed.statement;
	(void)trip_each_bed_count(&bed, 0, 7, 3);
	(void)trip_each_bed_count(&bed, 0, 8, 5);
	(void)trip_each_bed_count(&bed, n_tables - 1, 7, 2);
	again = entry_of(&bed, 0, 8);
	assert_true(again > entry_of(&bed, 0, 7));
	keyed_store(&keyed_entry(bed.tables[0], again)[KEYED_KEY], 7);
	assert_int_equal(trip_each_top(each, TRIP_EACH_PACKETS, top, sizeof(top[0]), 4), 1);
	if (n_tables > 1) {
		keyed_store(&bed.tables[0]->floor, 100);
		assert_int_equal(trip_each_walk(each, visit, told), 0);
		/* What it is now, and in the other one. */
		assert_int_equal(told[0].packets, 5 + 2);
		assert_int_equal(told[0].tables, 2);
		assert_int_equal(told[0].error, 0);
		assert_int_equal(told[1].packets, 0);
	}
	trip_each_bed_close(&bed);
	free(each);
	free(domain);
}

static void
each_03_a_key_that_comes_again_is_one(void **state)
{
	check_twice(1);
	check_twice(2);
}

/* A queue whose lines are being made anew holds nobody up: what is not in them yet is not there,
 * and no other queue looks for it among all entries. */
static void
each_04_nobody_waits_for_lines(void **state)
{
	const struct trip_each_when when = {.count = 10};
	const struct trip_each_attr attr = {
		.max = 100, .idle_us = 60 * SECOND, .whens = &when, .n_whens = 1};
	struct trip_keyed_entry reading;
	const uint64_t key = 7;
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	(void)trip_each_bed_count(&bed, 0, 7, 9);
	/* Whoever recovered it was killed on the way. */
	atomic_fetch_add(&bed.tables[0]->rebuilt, 1);
	trip_keyed_line_clear(bed.tables[0]);
	assert_true(trip_keyed_seek(bed.tables[0], &key, &reading));
	assert_false(trip_keyed_glance(bed.tables[0], &key, &reading));
	(void)trip_each_bed_count(&bed, 1, 7, 9);
	assert_int_equal(trips(&bed), 0);
	(void)trip_each_bed_count(&bed, 1, 7, 1);
	assert_int_equal(trips(&bed), 1);
	assert_int_equal(last_trip(&bed).packets, 10);
	trip_each_bed_close(&bed);
}

/* Who polls a queue was killed as he told an end of a key: another queue's trip of it is told. */
static void
each_06_an_end_hides_no_trip(void **state)
{
	const struct trip_each_when when = {.rate = 1000, .burst = 10};
	const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP, .time_us = SECOND};
	const struct trip_each_attr attr = {
		.max = 100, .idle_us = 60 * SECOND, .whens = &when, .n_whens = 1, .acts = &act};

	for (unsigned int placed = 0; placed < 2; placed++) {
		struct trip_each_told end = {.when = TRIP_EACH_TOLD_END, .table = 0, .key = {7}},
				      found;
		struct trip_each_bed bed;

		trip_each_bed_open(&bed, &attr, 2);
		(void)trip_each_bed_count(&bed, 0, 7, 32);
		assert_int_equal(trips(&bed), 1);
		bed.now += 2 * SECOND;
		trip_each_ring_write(&bed.at, &end);
		trip_keyed_tell(bed.tables[0], entry_of(&bed, 0, 7), 1, 1);
		if (placed != 0)
			assert_int_equal(
				trip_each_ring_tell(&bed.at, &end, 1, &found), TRIP_EACH_TELLS);
		(void)trip_each_bed_count(&bed, 1, 7, 32);
		assert_int_equal(trips(&bed), 2 + placed);
		assert_int_equal(last_trip(&bed).when, 0);
		assert_int_equal(last_trip(&bed).table, 1);
		trip_each_bed_close(&bed);
	}
}

/* Who polls a queue was killed as he told a crossing of a key that had told one before: it is told
 * once, and what it began goes on. */
static void
each_04_a_crossing_is_told_once_behind_a_kill(void **state)
{
	const struct trip_each_when when = {.of = TRIP_EACH_PACKETS, .count = 5, .every = 5};
	const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP, .time_us = 60 * SECOND};
	const struct trip_each_attr attr = {
		.max = 100, .idle_us = 600 * SECOND, .whens = &when, .n_whens = 1, .acts = &act};

	for (uint32_t n_tables = 1; n_tables <= TABLES_MAX; n_tables++) {
		struct trip_each_told second = {.packets = 10, .times = 1, .key = {7}}, found;
		struct trip_each_bed bed;

		trip_each_bed_open(&bed, &attr, n_tables);
		(void)trip_each_bed_count(&bed, 0, 7, 9);
		assert_int_equal(trips(&bed), 1);
		trip_each_ring_write(&bed.at, &second);
		trip_keyed_tell(bed.tables[0], entry_of(&bed, 0, 7), 1, 1);
		assert_int_equal(trip_each_ring_tell(&bed.at, &second, 1, &found), TRIP_EACH_TELLS);
		trip_each_judge_recover(&bed.polls[0], 0);
		/* The tenth is one of those that are dropped. */
		assert_int_equal(trip_each_bed_count(&bed, 0, 7, 5), 0x1f);
		assert_int_equal(trips(&bed), 2);
		(void)trip_each_bed_count(&bed, 0, 7, 1);
		assert_int_equal(trips(&bed), 3);
		assert_int_equal(last_trip(&bed).packets, 15);
		trip_each_bed_close(&bed);
	}
}

/* A rate goes on behind another drop: the end that is told is that of the rate, which is the last.
 */
static void
each_06_the_end_is_of_the_rate_that_prolonged(void **state)
{
	const struct trip_each_when whens[] = {{.rate = 1000, .burst = 10}, {.count = 100}};
	const struct trip_each_act acts[] = {{.op = TRIP_EACH_OP_DROP, .time_us = SECOND},
		{.op = TRIP_EACH_OP_DROP, .time_us = 10 * SECOND}};
	const struct trip_each_attr attr = {
		.max = 100, .idle_us = 60 * SECOND, .whens = whens, .n_whens = 2, .acts = acts};
	struct trip_each_told told;
	struct trip_each_bed bed;
	uint64_t last = 0;

	trip_each_bed_open(&bed, &attr, 1);
	/* 32 packets each millisecond, for a minute. */
	for (uint32_t i = 0; i < 60000; i++) {
		last = bed.now += 1000;
		(void)trip_each_bed_count(&bed, 0, 7, 32);
	}
	assert_int_equal(trips(&bed), 2);
	be_silent(&bed, 0, 2 * SECOND, 1000);
	assert_int_equal(trips(&bed), 3);
	told = last_trip(&bed);
	assert_int_equal(told.when, TRIP_EACH_TOLD_END);
	trip_assert_range(told.ns / 1000, last + SECOND, last + SECOND + SECOND / 50);
	trip_each_bed_close(&bed);
}

/* Several conditions that drop a key are reached in one chunk: all is dropped that is behind the
 * first packet with which one is, whichever is told first. */
static void
each_06_the_first_packet_that_trips_is_the_last_to_pass(void **state)
{
	const struct trip_each_when whens[] = {{.count = 20}, {.count = 10}, {.count = 15}};
	const struct trip_each_act acts[] = {{.op = TRIP_EACH_OP_DROP, .time_us = SECOND},
		{.op = TRIP_EACH_OP_DROP, .time_us = SECOND},
		{.op = TRIP_EACH_OP_DROP, .time_us = SECOND}};
	const struct trip_each_attr attr = {
		.max = 100, .idle_us = 60 * SECOND, .whens = whens, .n_whens = 3, .acts = acts};
	struct trip_each_bed bed;

	for (uint32_t n_tables = 1; n_tables <= TABLES_MAX; n_tables++) {
		trip_each_bed_open(&bed, &attr, n_tables);
		assert_int_equal(trip_each_bed_count(&bed, 0, 7, 32), UINT32_MAX << 10);
		assert_int_equal(trips(&bed), 3);
		trip_each_bed_close(&bed);
	}
}

/* Of a table all of whose keys are held: what others do to a key that has no room there is done. */
static void
each_06_what_is_done_to_a_key_needs_no_room(void **state)
{
	const struct trip_each_when when = {.count = 10};
	const struct trip_each_act acts[] = {{.op = TRIP_EACH_OP_DROP},
		{.op = TRIP_EACH_OP_POLICE, .unit = TRIP_POLICE_UNIT_PACKETS, .rate = 100}};

	for (unsigned int i = 0; i < 2; i++) {
		const struct trip_each_attr attr = {.max = 10,
			.idle_us = 60 * SECOND,
			.whens = &when,
			.n_whens = 1,
			.acts = &acts[i]};
		uint32_t passed = 0;
		struct trip_each_bed bed;

		trip_each_bed_open(&bed, &attr, 2);
		for (uint64_t key = 1000; key < 3000; key++)
			(void)trip_each_bed_count(&bed, 1, key, 20);
		(void)trip_each_bed_count(&bed, 0, 7, 10);
		for (uint32_t ms = 0; ms < 1000; ms++) {
			bed.now += 1000;
			passed += 32 -
				  (uint32_t)__builtin_popcount(trip_each_bed_count(&bed, 1, 7, 32));
		}
		/* A second, and what may come at once. */
		trip_assert_range(passed, i * 100, i * 111);
		trip_each_bed_close(&bed);
	}
}

#define COUNT 100u

/* As much of a key on a queue as makes it close on two. */
static void
count_close(struct trip_each_bed *bed, uint32_t queue, uint64_t key)
{
	(void)trip_each_bed_count(bed, queue, key, 32);
	(void)trip_each_bed_count(bed, queue, key, COUNT / 2 - 32);
}

static uint32_t
close_bits(const struct trip_each_bed *bed)
{
	const _Atomic uint64_t *close = trip_each_ring_close(&bed->at);
	uint32_t n = 0;

	for (uint32_t i = 0; i < TRIP_KEYED_CLOSE_WORDS; i += 2)
		n += (uint32_t)__builtin_popcountll(close[i] | close[i + 1]);
	return n;
}

/* Many keys come close, and go: nobody looks for others by their bits for good. */
static void
each_04_bits_of_close_keys_go_with_them(void **state)
{
	const struct trip_each_when when = {.count = COUNT};
	const struct trip_each_attr attr = {
		.max = 8192, .idle_us = SECOND, .whens = &when, .n_whens = 1};
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	for (uint64_t key = 1; key <= 8000; key++)
		count_close(&bed, key % 2, key);
	assert_true(close_bits(&bed) > 4000);
	assert_int_equal(trips(&bed), 0);
	be_silent(&bed, 0, 2 * SECOND, 1000);
	be_silent(&bed, 1, 2 * SECOND, 1000);
	/* A thousand more, of which all are there. */
	for (uint64_t key = 10001; key <= 13000; key++) {
		count_close(&bed, key % 2, key);
		be_silent(&bed, 0, 30, 10);
		be_silent(&bed, 1, 30, 10);
	}
	trip_assert_range(close_bits(&bed), 2500, 4500);
	trip_each_bed_close(&bed);
}

/* Of a key that is close, or held, they stay, through all rounds; on a silent queue, too. */
static void
each_04_bits_of_close_keys_stay_with_them(void **state)
{
	const struct trip_each_when whens[] = {{.count = COUNT}, {.count = 4 * COUNT}};
	const struct trip_each_act acts[] = {{.op = TRIP_EACH_OP_NONE}, {.op = TRIP_EACH_OP_DROP}};
	const struct trip_each_attr attr = {
		.max = 20000, .idle_us = 3600 * SECOND, .whens = whens, .n_whens = 2, .acts = acts};
	struct trip_each_bed bed;
	uint64_t round;

	trip_each_bed_open(&bed, &attr, 2);
	count_close(&bed, 0, 7);
	for (uint32_t i = 0; i < 4 * COUNT / 20; i++)
		(void)trip_each_bed_count(&bed, 0, 9, 20);
	assert_int_equal(trips(&bed), 2);
	/* Its queue is not polled: nothing is cleared. */
	for (uint64_t key = 101; key <= 5100; key++)
		count_close(&bed, 1, key);
	round = bed.at.ring->round;
	assert_true(round >> 32 <= 1);
	for (uint64_t key = 5101; key <= 19000; key++) {
		count_close(&bed, 1, key);
		be_silent(&bed, 0, 1000, 100);
	}
	assert_true(bed.at.ring->round >> 32 > (round >> 32) + 4);
	assert_int_equal(trips(&bed), 2);
	assert_int_equal(trip_each_bed_count(&bed, 1, 9, 1), 1);
	(void)trip_each_bed_count(&bed, 1, 7, 32);
	assert_int_equal(trips(&bed), 2);
	(void)trip_each_bed_count(&bed, 1, 7, COUNT / 2 - 32);
	assert_int_equal(trips(&bed), 3);
	trip_each_bed_close(&bed);
}

/* Who is killed as he clears them has a follower. */
static void
each_04_bits_of_close_keys_are_cleared_by_a_follower(void **state)
{
	const struct trip_each_when when = {.count = COUNT};
	const struct trip_each_attr attr = {
		.max = 100, .idle_us = SECOND, .whens = &when, .n_whens = 1};
	_Atomic uint64_t *close;
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	(void)trip_each_bed_count(&bed, 0, 7, 1);
	close = trip_each_ring_close(&bed.at);
	memset((void *)(uintptr_t)close, 0xff, TRIP_KEYED_CLOSE_WORDS * sizeof(*close));
	bed.at.ring->round = UINT64_C(3) << 32 | 2;
	trip_each_queue_recover(&bed.polls[0], bed.now);
	assert_int_equal(bed.at.ring->round, UINT64_C(3) << 32 | 2);
	trip_each_queue_recover(&bed.polls[1], bed.now);
	assert_int_equal(bed.at.ring->round, UINT64_C(3) << 32);
	for (uint32_t i = 0; i < TRIP_KEYED_CLOSE_WORDS; i++)
		assert_int_equal(close[i], i % 2 == 0 ? UINT64_MAX : 0);
	trip_each_bed_close(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_06_holds_end_in_time_on_a_silent_queue),
		cmocka_unit_test(each_04_a_silent_key_has_no_rate),
		cmocka_unit_test(each_04_a_rate_is_not_told_by_who_is_gone),
		cmocka_unit_test(each_06_no_hold_of_others_is_longer_than_any),
		cmocka_unit_test(each_03_a_key_that_comes_again_is_one),
		cmocka_unit_test(each_04_nobody_waits_for_lines),
		cmocka_unit_test(each_06_an_end_hides_no_trip),
		cmocka_unit_test(each_04_a_crossing_is_told_once_behind_a_kill),
		cmocka_unit_test(each_06_the_end_is_of_the_rate_that_prolonged),
		cmocka_unit_test(each_06_the_first_packet_that_trips_is_the_last_to_pass),
		cmocka_unit_test(each_06_what_is_done_to_a_key_needs_no_room),
		cmocka_unit_test(each_04_bits_of_close_keys_go_with_them),
		cmocka_unit_test(each_04_bits_of_close_keys_stay_with_them),
		cmocka_unit_test(each_04_bits_of_close_keys_are_cleared_by_a_follower),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
