/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that are held, by a table alone: in each layout of an entry, until when, who finds that it
 * is over; what is left by a writer that is killed behind any instruction, or by garbage.
 */
#include "keyed_model.h"
#include "trip_step.h"

#define HOLD_US 100000u

static struct trip_keyed_attr
attr_of(uint32_t words, bool rate)
{
	return (struct trip_keyed_attr){.max = MAX,
		.words = words,
		.idle = FOREVER,
		.rate = rate ? 1000 : 0,
		.burst = rate ? 50 : 0,
		.holds = true,
		.hold_max = HOLD_US,
		.hold_of_rate = rate ? HOLD_US : 0,
		.hold_round = HOLD_US / 128,
		.secret = {5, 6}};
}

/* Which of so many packets of a key are dropped. */
static uint32_t
count(struct model *model, uint32_t key, uint32_t n)
{
	uint64_t words[TRIP_KEYED_CHUNK * TRIP_KEYED_WORDS_MAX];
	uint32_t bytes[TRIP_KEYED_CHUNK], dropped = UINT32_MAX, length = model->attr.words;
	const struct trip_keyed_chunk chunk = {
		.keys = words, .bytes = bytes, .count = n, .dropped = &dropped};

	for (uint32_t i = 0; i < n; i++) {
		memcpy(&words[i * length], &model->words[(size_t)key * length],
			length * sizeof(words[0]));
		bytes[i] = 60;
		model->packets++;
		model->bytes += 60;
	}
	model->keys[key].packets += n;
	model->keys[key].bytes += n * 60;
	model->over = trip_keyed_count(model->table, &chunk, model->now);
	return dropped;
}

static uint32_t
entry_of(const struct model *model, uint32_t key)
{
	return trip_keyed_find(model->table, &model->words[(size_t)key * model->attr.words]);
}

static void
check_layout(uint32_t words, bool rate)
{
	const struct trip_keyed_attr attr = attr_of(words, rate);
	struct trip_keyed_entry reading;
	struct model model;

	model_open(&model, &attr, trip_test_seed("keyed_hold") + words, 64);
	model_draw_keys(&model, false);
	for (uint32_t key = 0; key < 64; key++)
		assert_int_equal(count(&model, key, 3), 0);
	for (uint32_t key = 0; key < 64; key += 2)
		trip_keyed_hold(model.table, entry_of(&model, key), model.now + 100 + key, 0x81);
	model_check(&model);
	assert_int_equal(model.totals.held, 32);
	for (uint32_t key = 0; key < 64; key++) {
		assert_int_equal(count(&model, key, 3), key % 2 == 0 ? 7 : 0);
		assert_int_equal(model.over, 0);
		assert_true(trip_keyed_read(model.table, entry_of(&model, key), &reading));
		assert_int_equal(reading.packets, 6);
		assert_int_equal(reading.bytes, 360);
		assert_int_equal(reading.mark, key % 2 == 0 ? 0x81 : 0);
		if (key % 2 == 0)
			assert_int_equal(reading.hold, model.now + 100 + key);
	}
	/* From that moment on they pass, and whoever judges is told. */
	model.now += 130;
	for (uint32_t key = 0; key < 64; key += 2) {
		assert_int_equal(count(&model, key, 2), key > 30 ? 3 : 0);
		assert_int_equal(model.over, key > 30 ? 0 : 3);
	}
	for (uint32_t key = 0; key < 64; key += 2)
		trip_keyed_release(model.table, entry_of(&model, key));
	model_check(&model);
	assert_int_equal(model.totals.held, 0);
	for (uint32_t key = 0; key < 64; key++)
		assert_int_equal(count(&model, key, 1), 0);
	model_check(&model);
	model_close(&model);
}

static void
keyed_holds_in_each_layout(void **state)
{
	for (uint32_t words = 1; words <= TRIP_KEYED_WORDS_MAX; words++)
		for (unsigned int rate = 0; rate < 2; rate++)
			check_layout(words, rate != 0);
}

static void
keyed_prolongs_what_is_above_its_rate(void **state)
{
	const struct trip_keyed_attr attr = attr_of(1, true);
	struct trip_keyed_entry reading;
	struct model model;

	model_open(&model, &attr, trip_test_seed("keyed_prolongs"), 2);
	model_draw_keys(&model, false);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(count(&model, 0, 17), 0);
	assert_int_equal(model.over, 1u << 16);
	trip_keyed_tell(model.table, entry_of(&model, 0), 1, 0);
	trip_keyed_hold(model.table, entry_of(&model, 0), model.now + 10, 0x80);
	model.now += 9;
	assert_int_equal(count(&model, 0, 1), 1);
	assert_true(trip_keyed_read(model.table, entry_of(&model, 0), &reading));
	assert_int_equal(reading.hold, model.now + HOLD_US);
	/* As long as that is so it has been told, also when its bucket has run empty. */
	model.now += HOLD_US - 1;
	assert_int_equal(count(&model, 0, 1), 1);
	assert_int_equal(model.over, 0);
	assert_true(trip_keyed_read(model.table, entry_of(&model, 0), &reading));
	assert_int_equal(reading.told, 1);
	model.now += 1;
	assert_int_equal(count(&model, 0, 1), 0);
	assert_int_equal(model.over, 1);
	model_close(&model);
}

/* Held ones that had no packet since. */
static void
keyed_finds_whose_hold_is_over(void **state)
{
	const struct trip_keyed_attr attr = attr_of(2, false);
	uint32_t entries[4], found = 0, n;
	struct model model;

	model_open(&model, &attr, trip_test_seed("keyed_finds"), 64);
	model_draw_keys(&model, false);
	for (uint32_t key = 0; key < 64; key++)
		(void)count(&model, key, 1);
	assert_int_equal(trip_keyed_ended(model.table, model.now += 10 * HOLD_US, entries, 4), 0);
	for (uint32_t key = 0; key < 40; key++)
		trip_keyed_hold(model.table, entry_of(&model, key), model.now + HOLD_US, 0x80);
	for (uint64_t i = 0; i < HOLD_US; i += 10)
		assert_int_equal(trip_keyed_ended(model.table, model.now + i, entries, 4), 0);
	model.now += HOLD_US;
	for (uint64_t i = 0; i <= HOLD_US / 64; i += 5) {
		n = trip_keyed_ended(model.table, model.now + i, entries, 4);
		for (uint32_t k = 0; k < n; k++)
			trip_keyed_release(model.table, entries[k]);
		found += n;
	}
	assert_int_equal(found, 40);
	model_check(&model);
	assert_int_equal(model.totals.held, 0);
	model_close(&model);
}

/* Many at one moment, never before it, by a caller who takes few at a time. */
static void
keyed_finds_all_whose_hold_is_over(void **state)
{
	const struct trip_keyed_attr attr = attr_of(1, false);
	uint32_t entry, found = 0;
	struct model model;

	model_open(&model, &attr, trip_test_seed("keyed_finds_all"), 200);
	model_draw_keys(&model, false);
	for (uint32_t key = 0; key < 200; key++) {
		assert_int_equal(count(&model, key, 1), 0);
		trip_keyed_hold(model.table, entry_of(&model, key), HOLD_US, 0x80);
	}
	model.now = HOLD_US - 1;
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(trip_keyed_ended(model.table, model.now, &entry, 1), 0);
	/* A round later. */
	model.now += 1 + attr.hold_round;
	for (uint32_t i = 0; i < 300; i++)
		if (trip_keyed_ended(model.table, model.now, &entry, 1) == 1) {
			trip_keyed_release(model.table, entry);
			found++;
		}
	assert_int_equal(found, 200);
	model_check(&model);
	model_close(&model);
}

/* However long a key is held: it goes once it is not, as it was idle for as long. */
static void
keyed_goes_behind_any_hold(void **state)
{
	struct trip_keyed_attr attr = attr_of(1, false);
	struct model model;

	attr.idle = TRIP_KEYED_IDLE_MIN;
	attr.hold_max = TRIP_KEYED_EVER;
	model_open(&model, &attr, trip_test_seed("keyed_goes"), 1);
	model_draw_keys(&model, false);
	assert_int_equal(count(&model, 0, 1), 0);
	trip_keyed_hold(model.table, entry_of(&model, 0), TRIP_KEYED_EVER, 0x80);
	/* When it was seen is told by so many bits. */
	while (model.now < (1u << 16) + 10) {
		model.now++;
		trip_keyed_sweep(model.table, model.now);
	}
	trip_keyed_release(model.table, entry_of(&model, 0));
	/* A round of the hand. */
	for (unsigned int i = 0; i < 101; i++)
		trip_keyed_sweep(model.table, model.now);
	assert_int_equal(entry_of(&model, 0), TRIP_KEYED_NONE);
	assert_null(trip_keyed_check(model.table));
	model_close(&model);
}

/* What is refused is dropped, where the statement says so. */
static void
keyed_closed_drops_what_is_refused(void **state)
{
	for (unsigned int closed = 0; closed < 2; closed++) {
		struct trip_keyed_attr attr = attr_of(1, false);
		struct model model;
		uint32_t n = 0, room;

		attr.closed = closed != 0;
		model_open(&model, &attr, trip_test_seed("keyed_closed"), 8 * MAX);
		model_draw_keys(&model, false);
		room = trip_keyed_entries(model.table);
		for (; n < room; n++) {
			assert_int_equal(count(&model, n, 1), 0);
			trip_keyed_hold(model.table, entry_of(&model, n), TRIP_KEYED_EVER, 0x80);
		}
		assert_int_equal(count(&model, n, 5), closed != 0 ? 31 : 0);
		trip_keyed_totals(model.table, &model.totals);
		assert_int_equal(model.totals.refused_packets, 5);
		assert_int_equal(model.totals.held, room);
		assert_int_equal(count(&model, 3, 2), 3);
		assert_null(trip_keyed_check(model.table));
		model_close(&model);
	}
}

/* ---- what another writer has left -------------------------------------------------------------
 */

struct call {
	struct trip_keyed *table;
	uint32_t entry;
	uint64_t until; /* 0: it is released */
};

static void
run(void *arg)
{
	const struct call *call = arg;

	if (call->until != 0)
		trip_keyed_hold(call->table, call->entry, call->until, 0x82);
	else
		trip_keyed_release(call->table, call->entry);
}

/* It is held or not, as others read it; and so it is then. */
static void
check_left(struct trip_keyed *left, const struct call *call, uint64_t now, uint64_t until)
{
	struct trip_keyed_totals totals;
	struct trip_keyed_entry before, after;

	assert_true(trip_keyed_read(left, call->entry, &before));
	trip_keyed_recover(left, now);
	assert_null(trip_keyed_check(left));
	assert_true(trip_keyed_read(left, call->entry, &after));
	assert_int_equal(after.mark, before.mark);
	assert_true(after.mark == 0 || after.mark == 0x82);
	if (after.mark != 0)
		assert_int_equal(after.hold, until);
	trip_keyed_totals(left, &totals);
	assert_int_equal(totals.held, after.mark != 0);
}

static void
keyed_is_held_or_not_where_the_writer_is_killed(void **state)
{
	const struct trip_keyed_attr attr = attr_of(1, false);
	size_t size = trip_keyed_size(&attr);
	struct trip_keyed *copy = aligned_alloc(64, size / 64 * 64 + 64);
	struct model model;
	struct call call;
	uint64_t killed = 0;

	if (!TRIP_STEP_POSSIBLE) {
		free(copy);
		skip();
	}
	assert_non_null(copy);
	model_open(&model, &attr, trip_test_seed("keyed_hold_killed"), 4);
	model_draw_keys(&model, false);
	(void)count(&model, 1, 4);
	call = (struct call){.table = model.table, .entry = entry_of(&model, 1)};
	for (unsigned int i = 0; i < 2; i++) {
		struct trip_step step;
		bool stopped;

		call.until = i == 0 ? model.now + 500 : 0;
		stopped = trip_step_start(&step, run, &call, 1);
		for (uint64_t k = 1; stopped; stopped = trip_step_on(&step, ++k), killed++) {
			memcpy(copy, model.table, size);
			check_left(copy, &call, model.now, model.now + 500);
		}
		trip_step_finish(&step);
	}
	model_check(&model);
	printf("killed %llu times\n", (unsigned long long)killed);
	assert_true(killed > 20);
	model_close(&model);
	free(copy);
}

/* Nobody is held for longer than any hold is. */
static void
keyed_garbage_holds_nobody_for_longer(void **state)
{
	const struct trip_keyed_attr attr = attr_of(2, true);
	struct trip_keyed_entry reading;
	struct model model;

	model_open(&model, &attr, trip_test_seed("keyed_garbage"), 2);
	model_draw_keys(&model, false);
	(void)count(&model, 0, 1);
	(void)count(&model, 1, 1);
	trip_keyed_hold(model.table, entry_of(&model, 0), TRIP_KEYED_EVER, 0x80);
	keyed_store(&keyed_entry(model.table, entry_of(&model, 1))[KEYED_BYTES], KEYED_HELD | 60);
	trip_keyed_recover(model.table, model.now);
	assert_null(trip_keyed_check(model.table));
	assert_true(trip_keyed_read(model.table, entry_of(&model, 0), &reading));
	assert_int_equal(reading.hold, model.now + HOLD_US);
	model_check(&model);
	assert_int_equal(model.totals.held, 1);
	model_close(&model);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keyed_holds_in_each_layout),
		cmocka_unit_test(keyed_prolongs_what_is_above_its_rate),
		cmocka_unit_test(keyed_finds_whose_hold_is_over),
		cmocka_unit_test(keyed_finds_all_whose_hold_is_over),
		cmocka_unit_test(keyed_goes_behind_any_hold),
		cmocka_unit_test(keyed_closed_drops_what_is_refused),
		cmocka_unit_test(keyed_is_held_or_not_where_the_writer_is_killed),
		cmocka_unit_test(keyed_garbage_holds_nobody_for_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
