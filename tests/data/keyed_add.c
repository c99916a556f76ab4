/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of what came of keys elsewhere, by a table alone: they count as packets do, in entries or in
 * the remainder; a rate is never early by them; a writer that is killed behind any instruction has
 * added all of one, or nothing, and is not added twice.
 */
#include "keyed_model.h"
#include "trip_step.h"

#define HOLD_US 100000u
#define RATE 1000u /* a second: one in a millisecond */
#define BURST 50u

static struct trip_keyed_attr
attr_of(uint32_t words, bool rate)
{
	return (struct trip_keyed_attr){.max = MAX,
		.words = words,
		.idle = FOREVER,
		.rate = rate ? RATE : 0,
		.burst = rate ? BURST : 0,
		.holds = true,
		.hold_max = TRIP_KEYED_EVER,
		.hold_of_rate = rate ? HOLD_US : 0,
		.hold_round = HOLD_US / 128,
		.secret = {5, 6}};
}

static struct trip_keyed_sum
sum_of(const struct model *model, uint32_t key, uint64_t packets, uint64_t bytes, uint64_t since)
{
	struct trip_keyed_sum sum = {.packets = packets, .bytes = bytes, .since = since};

	memcpy(sum.key, &model->words[(size_t)key * model->attr.words],
		model->attr.words * sizeof(sum.key[0]));
	return sum;
}

static void
add(struct model *model, uint32_t key, uint64_t packets, uint64_t since)
{
	const struct trip_keyed_sum sum = sum_of(model, key, packets, packets * 100, since);

	trip_keyed_add(model->table, &sum, model->now);
	model->keys[key].packets += packets;
	model->keys[key].bytes += packets * 100;
	model->keys[key].seen = model->now;
	model->packets += packets;
	model->bytes += packets * 100;
}

static void
see(struct model *model, uint32_t key)
{
	const uint32_t bytes = 60;

	model_count(model, &key, &bytes, 1);
}

static struct trip_keyed_entry
reading_of(const struct model *model, uint32_t key)
{
	struct trip_keyed_entry reading;

	assert_true(trip_keyed_seek(
		model->table, &model->words[(size_t)key * model->attr.words], &reading));
	return reading;
}

/* EACH-01, EACH-03: in any order of packets and sums, of keys that are there and others. */
static void
keyed_sums_count_as_packets_do(void **state)
{
	for (uint32_t words = 1; words <= TRIP_KEYED_WORDS_MAX; words++) {
		struct trip_keyed_attr attr = attr_of(words, words % 2 == 0);
		struct model model;

		attr.by_bytes = words % 3 == 0;
		model_open(&model, &attr, trip_test_seed("keyed_sums") + words, 8 * MAX);
		model_draw_keys(&model, false);
		for (unsigned int i = 0; i < 20000; i++) {
			uint32_t key = (uint32_t)trip_random_below(&model.random, 8 * MAX);

			model.now += trip_random_below(&model.random, 3);
			if (trip_random_below(&model.random, 4) == 0)
				add(&model, key, trip_random_below(&model.random, 5), model.now);
			else
				see(&model, key);
			if (i % 500 == 0)
				model_check(&model);
		}
		model_check(&model);
		assert_true(model.totals.refused_packets > 0);
		model_close(&model);
	}
}

/* So much that no entry has it: the remainder does. */
static void
keyed_sums_have_room_in_the_remainder(void **state)
{
	const struct trip_keyed_attr attr = attr_of(1, false);
	struct model model;

	model_open(&model, &attr, trip_test_seed("keyed_sums_room"), 1);
	model_draw_keys(&model, false);
	see(&model, 0);
	add(&model, 0, TRIP_KEYED_PACKETS_MAX - 1, model.now);
	assert_int_equal(reading_of(&model, 0).packets, TRIP_KEYED_PACKETS_MAX);
	add(&model, 0, 1, model.now);
	assert_int_equal(reading_of(&model, 0).packets, TRIP_KEYED_PACKETS_MAX);
	trip_keyed_totals(model.table, &model.totals);
	assert_int_equal(model.totals.packets, model.packets);
	assert_int_equal(model.totals.bytes, model.bytes);
	assert_int_equal(model.totals.remainder_packets, 1);
	assert_int_equal(trip_keyed_added(model.table), 2);
	model_close(&model);
}

/* A hold goes on where more than the rate came for certain, and not where that may have been less:
 * a sum may be of all the time since the last one. */
static void
keyed_sums_prolong_what_is_above_its_rate(void **state)
{
	const struct trip_keyed_attr attr = attr_of(1, true);
	struct model model;
	uint64_t began;
	uint32_t entry;

	model_open(&model, &attr, trip_test_seed("keyed_sums_prolong"), 1);
	model_draw_keys(&model, false);
	see(&model, 0);
	entry = trip_keyed_find(model.table, model.words);
	model.now += 1000000;
	began = model.now;
	trip_keyed_hold(model.table, entry, model.now + HOLD_US, 0x80);
	/* What leaks in 80 ms, and the burst: no more than the rate. */
	model.now += 80000;
	add(&model, 0, 80 + BURST, began);
	assert_int_equal(reading_of(&model, 0).hold, began + HOLD_US);
	model.now += 10000;
	add(&model, 0, 11, model.now - 10000);
	assert_int_equal(reading_of(&model, 0).hold, model.now + HOLD_US);
	/* From now on it is full, and what comes at the rate does not prolong it. */
	trip_keyed_tell(model.table, entry, 1, 0);
	began = model.now;
	model.now += 50000;
	add(&model, 0, 50, began);
	assert_int_equal(reading_of(&model, 0).hold, began + HOLD_US);
	model.now += 1000;
	add(&model, 0, 2, model.now - 1000);
	assert_int_equal(reading_of(&model, 0).hold, model.now + HOLD_US);
	/* Once it is over, nothing does. */
	began = model.now;
	model.now += HOLD_US;
	add(&model, 0, 1000, began);
	assert_int_equal(reading_of(&model, 0).hold, began + HOLD_US);
	model_close(&model);
}

/* The window of a condition with `until`: with as much as it says the hold begins anew. */
static void
keyed_sums_go_for_a_window(void **state)
{
	struct trip_keyed_attr attr = attr_of(1, true);
	struct model model;
	uint32_t entry;

	attr.hold_count = 30;
	attr.memos = 1;
	attr.window = 1;
	model_open(&model, &attr, trip_test_seed("keyed_sums_window"), 1);
	model_draw_keys(&model, false);
	see(&model, 0);
	entry = trip_keyed_find(model.table, model.words);
	trip_keyed_tell(model.table, entry, 1, 0);
	trip_keyed_hold(model.table, entry, model.now + HOLD_US, 0x80);
	model.now += 90000;
	add(&model, 0, 29, model.now - 90000);
	assert_int_equal(reading_of(&model, 0).hold, 1 + HOLD_US);
	add(&model, 0, 1, model.now);
	assert_int_equal(reading_of(&model, 0).hold, model.now + HOLD_US);
	model_close(&model);
}

/* ---- who is killed ----------------------------------------------------------------------------
 */

struct call {
	struct trip_keyed *table;
	struct trip_keyed_sum sum;
	uint64_t now;
};

static void
run(void *arg)
{
	const struct call *call = arg;

	trip_keyed_add(call->table, &call->sum, call->now);
}

/* It is added or not, and the table says which. */
static void
check_left(struct trip_keyed *left, const struct call *call, uint64_t now, uint64_t had)
{
	struct trip_keyed_totals totals;
	struct trip_keyed_entry reading;
	bool there, added;

	trip_keyed_recover(left, now);
	assert_null(trip_keyed_check(left));
	added = trip_keyed_added(left) == 1;
	assert_true(added || trip_keyed_added(left) == 0);
	trip_keyed_totals(left, &totals);
	assert_int_equal(totals.packets, had + (added ? call->sum.packets : 0));
	assert_int_equal(totals.bytes, had * 60 + (added ? call->sum.bytes : 0));
	there = trip_keyed_seek(left, call->sum.key, &reading);
	assert_int_equal(there ? reading.packets : totals.remainder_packets,
		(there ? had : 0) + (added ? call->sum.packets : 0));
}

static void
keyed_sum_is_added_once_where_the_writer_is_killed(void **state)
{
	const struct trip_keyed_attr attr = attr_of(2, true);
	size_t size = trip_keyed_size(&attr);
	struct trip_keyed *copy;
	uint64_t killed = 0;

	if (!TRIP_STEP_POSSIBLE)
		skip();
	copy = aligned_alloc(64, size / 64 * 64 + 64);
	assert_non_null(copy);
	/* Of a key that is there, and of one that is not. */
	for (uint32_t key = 0; key < 2; key++) {
		struct trip_step step;
		struct model model;
		struct call call;
		bool stopped;

		model_open(&model, &attr, trip_test_seed("keyed_sums_killed"), 2);
		model_draw_keys(&model, false);
		for (unsigned int i = 0; i < 3; i++)
			see(&model, 0);
		call = (struct call){.table = model.table,
			.sum = sum_of(&model, key, 1000, 70000, model.now),
			.now = model.now};
		stopped = trip_step_start(&step, run, &call, 1);
		for (uint64_t k = 1; stopped; stopped = trip_step_on(&step, ++k), killed++) {
			memcpy(copy, model.table, size);
			check_left(copy, &call, model.now, 3);
		}
		trip_step_finish(&step);
		assert_int_equal(trip_keyed_added(model.table), 1);
		model_close(&model);
	}
	printf("killed %llu times\n", (unsigned long long)killed);
	assert_true(killed > 100);
	free(copy);
}

/* What another process has written is no place. */
static void
keyed_sum_of_garbage_goes_nowhere(void **state)
{
	const struct trip_keyed_attr attr = attr_of(1, false);
	struct model model;

	model_open(&model, &attr, trip_test_seed("keyed_sums_garbage"), 1);
	model_draw_keys(&model, false);
	see(&model, 0);
	keyed_store(&model.table->adding, trip_keyed_entries(model.table) + 2u);
	trip_keyed_recover(model.table, model.now);
	assert_int_equal(trip_keyed_added(model.table), 0);
	model_check(&model);
	model_close(&model);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keyed_sums_count_as_packets_do),
		cmocka_unit_test(keyed_sums_have_room_in_the_remainder),
		cmocka_unit_test(keyed_sums_prolong_what_is_above_its_rate),
		cmocka_unit_test(keyed_sums_go_for_a_window),
		cmocka_unit_test(keyed_sum_is_added_once_where_the_writer_is_killed),
		cmocka_unit_test(keyed_sum_of_garbage_goes_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
