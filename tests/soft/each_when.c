/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conditions of keys beside counts: rates that are told again, keys that are quiet, and several
 * conditions together; on a clock of the test, over several queues, and behind kills.
 */
#include <errno.h>
#include <string.h>

#include "each_bed.h"

#define IDLE (60 * SECOND)
#define QUIET (5 * SECOND)
#define ROUNDS 20000

static struct trip_each_attr
attr_of(const struct trip_each_when *whens, uint32_t n)
{
	return (struct trip_each_attr){
		.max = 100, .idle_us = IDLE, .whens = whens, .n_whens = n, .trips_kept = 32768};
}

/* ---- rates ------------------------------------------------------------------------------------
 */

static const struct trip_each_when again = {.rate = 1000, .burst = 10, .again = 1};

/* All at one moment, in which nothing leaks. */
static void
cond_05_a_rate_of_keys_is_told_again(void **state)
{
	const struct trip_each_attr attr = attr_of(&again, 1);
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 1);
	(void)trip_each_bed_count(&bed, 0, 7, 10);
	assert_int_equal(bed_trips(&bed), 0);
	for (uint64_t i = 1; i < 100; i++) {
		(void)trip_each_bed_count(&bed, 0, 7, 1);
		assert_int_equal(bed_trips(&bed), i);
		assert_int_equal(bed_last_trip(&bed).packets, 11 * i);
		(void)trip_each_bed_count(&bed, 0, 7, 10);
		assert_int_equal(bed_trips(&bed), i);
	}
	/* Of a chunk once; what is behind that is in no other. */
	(void)trip_each_bed_count(&bed, 0, 7, 32);
	assert_int_equal(bed_trips(&bed), 100);
	(void)trip_each_bed_count(&bed, 0, 7, 10);
	assert_int_equal(bed_trips(&bed), 100);
	trip_each_bed_close(&bed);
}

/* Who finds that another queue has told begins anew as well. */
static void
cond_05_what_is_told_again_came_behind_any_queue_s_trip(void **state)
{
	const struct trip_each_attr attr = attr_of(&again, 1);
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	(void)trip_each_bed_count(&bed, 1, 7, 8);
	(void)trip_each_bed_count(&bed, 0, 7, 11);
	assert_int_equal(bed_trips(&bed), 1);
	(void)trip_each_bed_count(&bed, 1, 7, 3);
	assert_int_equal(bed_trips(&bed), 1);
	(void)trip_each_bed_count(&bed, 1, 7, 10);
	assert_int_equal(bed_trips(&bed), 1);
	(void)trip_each_bed_count(&bed, 1, 7, 1);
	assert_int_equal(bed_trips(&bed), 2);
	assert_int_equal(bed_last_trip(&bed).table, 1);
	trip_each_bed_close(&bed);
}

/* Random chunks: on one queue each trip is where the model has it; on two, what a queue tells it
 * has had behind the last trip of any. */
static void
cond_05_none_of_many_is_early_or_missed(void **state)
{
	struct trip_random random = {trip_test_seed("cond_05_none_of_many_is_early_or_missed")};
	const struct trip_each_attr attr = attr_of(&again, 1);

	for (uint32_t n_tables = 1; n_tables <= TABLES_MAX; n_tables++) {
		uint64_t behind[TABLES_MAX] = {0}, rounds = trip_test_rounds(ROUNDS), trips = 0;
		struct trip_each_bed bed;

		trip_each_bed_open(&bed, &attr, n_tables);
		for (uint64_t i = 0; i < rounds; i++) {
			uint32_t table = (uint32_t)trip_random_below(&random, n_tables);
			uint32_t n = 1 + (uint32_t)trip_random_below(&random, 8);

			(void)trip_each_bed_count(&bed, table, 7, n);
			behind[table] += n;
			if (n_tables == 1)
				assert_int_equal(bed_trips(&bed) - trips, behind[0] > 10);
			if (bed_trips(&bed) == trips)
				continue;
			assert_int_equal(bed_trips(&bed), ++trips);
			assert_true(behind[table] > 10);
			memset(behind, 0, sizeof(behind));
		}
		assert_true(trips > rounds / 20);
		trip_each_bed_close(&bed);
	}
}

/* While it is dropped for ever, each time is told; and the packets behind the first are dropped. */
static void
cond_05_a_rate_is_told_again_of_who_is_dropped(void **state)
{
	const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP};
	struct trip_each_attr attr = attr_of(&again, 1);
	struct trip_each_bed bed;

	attr.acts = &act;
	trip_each_bed_open(&bed, &attr, 1);
	assert_int_equal(trip_each_bed_count(&bed, 0, 7, 13), 0x3u << 11);
	for (uint64_t i = 2; i < 10; i++) {
		assert_int_equal(trip_each_bed_count(&bed, 0, 7, 11), 0x7ff);
		assert_int_equal(bed_trips(&bed), i);
	}
	trip_each_bed_close(&bed);
}

/* Who told it was killed before he had written that down. */
static void
cond_05_what_was_told_behind_a_kill_is_told_once(void **state)
{
	const struct trip_each_attr attr = attr_of(&again, 1);

	for (uint32_t n_tables = 1; n_tables <= TABLES_MAX; n_tables++) {
		struct trip_each_told told = {.packets = 22, .nth = 2, .times = 1, .key = {7}};
		struct trip_each_told found;
		struct trip_each_bed bed;

		trip_each_bed_open(&bed, &attr, n_tables);
		(void)trip_each_bed_count(&bed, 0, 7, 11);
		(void)trip_each_bed_count(&bed, 0, 7, 10);
		assert_int_equal(bed_trips(&bed), 1);
		trip_each_ring_write(&bed.at, &told);
		trip_keyed_tell(bed.tables[0], bed_entry_of(&bed, 0, 7), 0, 1);
		assert_int_equal(trip_each_ring_tell(&bed.at, &told, 1, &found), TRIP_EACH_TELLS);
		trip_each_queue_recover(&bed.polls[0], bed.now);
		(void)trip_each_bed_count(&bed, 0, 7, 10);
		assert_int_equal(bed_trips(&bed), 2);
		(void)trip_each_bed_count(&bed, 0, 7, 1);
		assert_int_equal(bed_trips(&bed), 3);
		trip_each_bed_close(&bed);
	}
}

/* ---- quiet keys -------------------------------------------------------------------------------
 */

static const struct trip_each_when quiet = {.quiet_us = QUIET};

static void
cond_06_a_key_is_quiet_once(void **state)
{
	const struct trip_each_when whens[] = {quiet, {.quiet_us = 2 * QUIET, .every = 3}};
	const struct trip_each_attr attr = attr_of(whens, 2);
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 1);
	(void)trip_each_bed_count(&bed, 0, 7, 1);
	bed_be_silent(&bed, QUIET - 1, 1);
	assert_int_equal(bed_trips(&bed), 0);
	bed_be_silent(&bed, QUIET / 100, 1);
	assert_int_equal(bed_trips(&bed), 1);
	assert_int_equal(bed_last_trip(&bed).when, 0);
	bed_be_silent(&bed, 2 * QUIET, 1000);
	assert_int_equal(bed_trips(&bed), 2);
	assert_int_equal(bed_last_trip(&bed).when, 1);
	/* The one holds once; the other after three more. */
	for (uint32_t n = 1; n <= 6; n++) {
		(void)trip_each_bed_count(&bed, 0, 7, 1);
		bed_be_silent(&bed, 3 * QUIET, 1000);
		assert_int_equal(bed_trips(&bed), 2 + n / 3);
		if (n == 3)
			assert_int_equal(bed_last_trip(&bed).packets, 4);
	}
	/* Before it goes. */
	bed_be_silent(&bed, IDLE, 1000);
	assert_true(trip_keyed_is_empty(bed.tables[0]));
	assert_int_equal(bed_trips(&bed), 4);
	(void)trip_each_bed_count(&bed, 0, 7, 1);
	bed_be_silent(&bed, QUIET + QUIET / 100, 1000);
	assert_int_equal(bed_trips(&bed), 5);
	trip_each_bed_close(&bed);
}

/* However near the time is to that at which it goes, and however seldom the queue is polled. */
static void
cond_06_a_key_is_quiet_before_it_goes(void **state)
{
	const struct trip_each_when when = {.quiet_us = IDLE - 1};
	const uint64_t steps[] = {1000, IDLE / 700, IDLE / 3, 3 * IDLE};
	const struct trip_each_attr attr = attr_of(&when, 1);

	for (unsigned int i = 0; i < RTE_DIM(steps); i++) {
		struct trip_each_bed bed;

		trip_each_bed_open(&bed, &attr, 1);
		for (uint64_t key = 1; key <= 100; key++)
			(void)trip_each_bed_count(&bed, 0, key, 1);
		bed_be_silent(&bed, IDLE - 1 - steps[0], steps[0]);
		assert_int_equal(bed_trips(&bed), 0);
		for (unsigned int calls = 0; !trip_keyed_is_empty(bed.tables[0]) && calls < 100000;
			calls++)
			bed_be_silent(&bed, steps[i], steps[i]);
		assert_int_equal(bed_trips(&bed), 100);
		if (i == 0)
			assert_true(bed.now <= SECOND + IDLE + IDLE / 100);
		trip_each_bed_close(&bed);
	}
}

/* The queue that had its last packet tells it; at one moment both had one. */
static void
cond_06_a_key_is_quiet_on_all_queues(void **state)
{
	const struct trip_each_when when = {.quiet_us = QUIET, .every = 1};
	const struct trip_each_attr attr = attr_of(&when, 1);
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	(void)trip_each_bed_count(&bed, 0, 7, 1);
	bed_be_silent(&bed, QUIET / 2, 1000);
	(void)trip_each_bed_count(&bed, 1, 7, 1);
	bed_be_silent(&bed, QUIET - 1000, 1000);
	assert_int_equal(bed_trips(&bed), 0);
	bed_be_silent(&bed, QUIET / 50, 1000);
	assert_int_equal(bed_trips(&bed), 1);
	assert_int_equal(bed_last_trip(&bed).table, 1);
	assert_int_equal(bed_last_trip(&bed).packets, 2);
	for (uint64_t i = 2; i < 10; i++) {
		(void)trip_each_bed_count(&bed, 0, 7, 1);
		(void)trip_each_bed_count(&bed, 1, 7, 1);
		bed_be_silent(&bed, 2 * QUIET, 1000);
		assert_int_equal(bed_trips(&bed), i);
	}
	trip_each_bed_close(&bed);
}

/* Many at once, of a table that is full: each once, none early, all in time. */
static void
cond_06_all_of_many_are_quiet_in_time(void **state)
{
	enum { KEYS = 16384 };
	const struct trip_each_when whens[] = {quiet, {.rate = 1000, .burst = 1000}};
	struct trip_each_attr attr = attr_of(whens, 2);
	struct trip_each_told told;
	struct trip_each_bed bed;
	uint64_t began;

	attr.max = KEYS;
	trip_each_bed_open(&bed, &attr, 1);
	began = bed.now;
	for (uint64_t key = 1; key <= KEYS; key++)
		(void)trip_each_bed_count(&bed, 0, key, 1);
	bed_be_silent(&bed, QUIET + QUIET / 100, 100);
	assert_int_equal(bed_trips(&bed), KEYS);
	for (uint64_t i = 0; i < KEYS; i++) {
		assert_true(trip_each_ring_read(&bed.at, i, &told));
		trip_assert_range(told.ns / 1000, began + QUIET, began + QUIET + QUIET / 100);
	}
	assert_null(trip_keyed_check(bed.tables[0]));
	trip_each_bed_close(&bed);
}

/* Keys of a model, each with its last packet, over two queues and times at random. */
static void
cond_06_none_of_many_is_early_or_missed(void **state)
{
	enum { KEYS = 40 };
	/* A hundred and first call has been round. */
	const uint64_t step = QUIET / 400, late = 102 * step + QUIET / 100;
	struct trip_random random = {trip_test_seed("cond_06_none_of_many_is_early_or_missed")};
	const struct trip_each_when when = {.quiet_us = QUIET, .every = 1};
	uint64_t last[KEYS] = {0}, next = 0, rounds = trip_test_rounds(ROUNDS);
	const struct trip_each_attr attr = attr_of(&when, 1);
	bool told[KEYS] = {false};
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t key = trip_random_below(&random, KEYS);

		/* What is due by then is told before. */
		bed_be_silent(&bed, 1 + trip_random_below(&random, QUIET / 5), step);
		for (; next < bed_trips(&bed); next++) {
			struct trip_each_told trip;

			assert_true(trip_each_ring_read(&bed.at, next, &trip));
			assert_false(told[trip.key[0] - 1]);
			told[trip.key[0] - 1] = true;
			assert_true(trip.ns / 1000 >= last[trip.key[0] - 1] + QUIET);
		}
		for (uint64_t k = 0; k < KEYS; k++)
			assert_true(last[k] == 0 || told[k] || bed.now <= last[k] + QUIET + late);
		(void)trip_each_bed_count(
			&bed, (uint32_t)trip_random_below(&random, 2), key + 1, 1);
		last[key] = bed.now;
		told[key] = false;
	}
	assert_true(next > rounds / 20);
	trip_each_bed_close(&bed);
}

/* Who finds it was killed as he told it, or behind that. */
static void
cond_06_what_was_found_behind_a_kill_is_told_once(void **state)
{
	const struct trip_each_when when = {.quiet_us = QUIET, .every = 1};
	const struct trip_each_attr attr = attr_of(&when, 1);

	for (unsigned int is_told = 0; is_told < 2; is_told++) {
		struct trip_each_told told = {.packets = 1, .times = 1, .key = {7}}, found;
		struct trip_each_bed bed;

		trip_each_bed_open(&bed, &attr, 2);
		(void)trip_each_bed_count(&bed, 0, 7, 1);
		bed.now += QUIET + 1;
		told.ns = bed.now * 1000;
		trip_each_ring_write(&bed.at, &told);
		trip_keyed_tell(bed.tables[0], bed_entry_of(&bed, 0, 7), 0, 1);
		if (is_told != 0)
			assert_int_equal(
				trip_each_ring_tell(&bed.at, &told, 0, &found), TRIP_EACH_TELLS);
		trip_each_queue_recover(&bed.polls[0], bed.now);
		bed_be_silent(&bed, QUIET, 1000);
		assert_int_equal(bed_trips(&bed), 1);
		trip_each_bed_close(&bed);
	}
}

/* What a quiet key sends from then on is dropped, and so long. */
static void
cond_06_a_quiet_key_is_dropped(void **state)
{
	const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP, .time_us = 2 * QUIET};
	struct trip_each_attr attr = attr_of(&quiet, 1);
	struct trip_each_bed bed;

	attr.acts = &act;
	trip_each_bed_open(&bed, &attr, 2);
	assert_int_equal(trip_each_bed_count(&bed, 0, 7, 1), 0);
	bed_be_silent(&bed, QUIET + QUIET / 50, 1000);
	assert_int_equal(trip_each_bed_count(&bed, 1, 7, 2), 3);
	assert_int_equal(trip_each_bed_count(&bed, 0, 7, 2), 3);
	bed_be_silent(&bed, 2 * QUIET, 1000);
	assert_int_equal(bed_trips(&bed), 2);
	assert_int_equal(bed_last_trip(&bed).when, TRIP_EACH_TOLD_END);
	assert_int_equal(trip_each_bed_count(&bed, 1, 7, 2), 0);
	trip_each_bed_close(&bed);
}

/* As it begins anew it has had nothing, and is quiet only when it has had something again. */
static void
cond_06_a_quiet_key_begins_anew(void **state)
{
	const struct trip_each_act act = {.op = TRIP_EACH_OP_RESET};
	struct trip_each_attr attr = attr_of(&quiet, 1);
	struct trip_each_bed bed;

	attr.acts = &act;
	trip_each_bed_open(&bed, &attr, 2);
	for (uint64_t i = 1; i < 6; i++) {
		(void)trip_each_bed_count(&bed, (uint32_t)(i % 2), 7, 3);
		bed_be_silent(&bed, 3 * QUIET, 1000);
		assert_int_equal(bed_trips(&bed), i);
		assert_int_equal(bed_last_trip(&bed).packets, 3 * i);
		assert_int_equal(bed_last_trip(&bed).anew_packets, 3 * (i - 1));
	}
	trip_each_bed_close(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cond_05_a_rate_of_keys_is_told_again),
		cmocka_unit_test(cond_05_what_is_told_again_came_behind_any_queue_s_trip),
		cmocka_unit_test(cond_05_none_of_many_is_early_or_missed),
		cmocka_unit_test(cond_05_a_rate_is_told_again_of_who_is_dropped),
		cmocka_unit_test(cond_05_what_was_told_behind_a_kill_is_told_once),
		cmocka_unit_test(cond_06_a_key_is_quiet_once),
		cmocka_unit_test(cond_06_a_key_is_quiet_before_it_goes),
		cmocka_unit_test(cond_06_a_key_is_quiet_on_all_queues),
		cmocka_unit_test(cond_06_all_of_many_are_quiet_in_time),
		cmocka_unit_test(cond_06_none_of_many_is_early_or_missed),
		cmocka_unit_test(cond_06_what_was_found_behind_a_kill_is_told_once),
		cmocka_unit_test(cond_06_a_quiet_key_is_dropped),
		cmocka_unit_test(cond_06_a_quiet_key_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
