/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writer of a table of keys is killed behind any instruction of a call. What it leaves is
 * copied to another place and recovered there: each key has what it had before the call or that and
 * packets of it, once; nothing is lost but packets under way, and the follower counts on.
 */
#include "keyed_model.h"
#include "trip_step.h"

#define STEP 3u
#define CALLS 6u
#define WORDS 2u
#define KEYS 128000u
/* More than a call makes. */
#define NOTES 2048u

/* One call of the writer's: packets, half of which have keys that are new, in a full table whose
 * hands both move. */
struct call {
	struct trip_keyed *table;
	uint64_t keys[TRIP_KEYED_CHUNK * WORDS];
	uint32_t bytes[TRIP_KEYED_CHUNK];
	uint64_t now;
	uint32_t count;
	struct trip_keyed *before; /* a copy of the table */
};

static void
run(void *arg)
{
	struct call *call = arg;
	const struct trip_keyed_chunk chunk = {
		.keys = call->keys, .bytes = call->bytes, .count = call->count};

	(void)trip_keyed_count(call->table, &chunk, call->now);
}

static void
draw(struct call *call, struct trip_random *random, uint32_t count)
{
	call->count = count;
	call->now += 40;
	for (uint32_t i = 0; i < count; i++) {
		call->keys[i * WORDS] = trip_random_below(random, i % 2 != 0 ? 100 : UINT32_MAX);
		call->keys[i * WORDS + 1] = 0;
		call->bytes[i] = 60 + (uint32_t)trip_random_below(random, 1000);
	}
}

/* How often a key of the call is there, by notes from one on: 1 or 0, as it was before them. */
static int
noted(const struct trip_keyed *table, uint64_t from, const uint64_t *key, int there)
{
	struct trip_keyed_note note;

	for (; from < trip_keyed_notes(table); from++) {
		assert_true(trip_keyed_note(table, from, &note));
		if (memcmp(note.key, key, WORDS * sizeof(*key)) == 0)
			there += note.kind == TRIP_KEYED_CAME ? 1 : -1;
		assert_true(there == 0 || there == 1);
	}
	return there;
}

/* Of the call's keys, and those that may have gone: what is noted is what there is. */
static void
check_notes(const struct call *call, const struct trip_keyed *left)
{
	uint64_t from = trip_keyed_notes(call->before);
	struct trip_keyed_note note;

	for (uint32_t i = 0; i < call->count; i++) {
		const uint64_t *key = &call->keys[i * WORDS];
		int there = trip_keyed_find(call->before, key) != TRIP_KEYED_NONE;

		assert_int_equal(noted(left, from, key, there),
			trip_keyed_find(left, key) != TRIP_KEYED_NONE);
	}
	for (uint64_t i = from; i < trip_keyed_notes(left); i++) {
		assert_true(trip_keyed_note(left, i, &note));
		assert_int_equal(
			noted(left, from, note.key,
				trip_keyed_find(call->before, note.key) != TRIP_KEYED_NONE),
			trip_keyed_find(left, note.key) != TRIP_KEYED_NONE);
	}
}

static uint32_t
alive(const struct trip_keyed *table)
{
	struct trip_keyed_entry reading;
	uint32_t n = 0;

	for (uint32_t entry = 0; entry < trip_keyed_entries(table); entry++)
		n += trip_keyed_read(table, entry, &reading);
	return n;
}

/* Before the call, after it, and of one that was killed in between. */
static void
check(const struct call *call, struct trip_keyed *left, const struct trip_keyed_totals *before)
{
	struct trip_keyed_totals totals;
	struct trip_keyed_entry reading;
	struct call next = *call;
	uint64_t bytes = before->bytes;

	trip_keyed_recover(left, call->now);
	assert_null(trip_keyed_check(left));
	check_notes(call, left);
	trip_keyed_totals(left, &totals);
	assert_int_equal(totals.keys, alive(left));
	for (uint32_t i = 0; i < call->count; i++)
		bytes += call->bytes[i];
	trip_assert_range(totals.packets, before->packets, before->packets + call->count);
	trip_assert_range(totals.bytes, before->bytes, bytes);
	next.table = left;
	run(&next);
	assert_null(trip_keyed_check(left));
	for (uint32_t i = 0; i < call->count; i++) {
		uint32_t entry = trip_keyed_find(left, &call->keys[i * WORDS]);

		assert_int_not_equal(entry, TRIP_KEYED_NONE);
		assert_true(trip_keyed_read(left, entry, &reading));
	}
}

static uint64_t
kill_at_each_step(struct call *call, struct trip_keyed *copy, size_t size)
{
	struct trip_keyed_totals before;
	struct trip_step step;
	uint64_t k = 1, checked = 0;
	bool stopped;

	trip_keyed_totals(call->table, &before);
	memcpy(call->before, call->table, size);
	stopped = trip_step_start(&step, run, call, k);
	for (; stopped; stopped = trip_step_on(&step, k += STEP), checked++) {
		memcpy(copy, call->table, size);
		check(call, copy, &before);
	}
	trip_step_finish(&step);
	return checked;
}

static void
keyed_writer_is_killed_anywhere(void **state)
{
	const struct trip_keyed_attr attr = {.max = 300,
		.words = WORDS,
		.by_bytes = true,
		.idle = 2400,
		.notes = NOTES,
		.secret = {1, 2}};
	struct trip_random random = {trip_test_seed("keyed_writer_is_killed_anywhere")};
	size_t size = trip_keyed_size(&attr);
	void *memory = aligned_alloc(64, size / 64 * 64 + 64);
	void *copy = aligned_alloc(64, size / 64 * 64 + 64);
	void *before_it = aligned_alloc(64, size / 64 * 64 + 64);
	struct trip_keyed_totals before, totals;
	struct call call = {.now = 1};
	uint64_t killed = 0;

	assert_true(memory != NULL && copy != NULL && before_it != NULL);
	call.before = before_it;
	call.table = trip_keyed_init(memory, &attr);
	/* It has been full, and keys have become idle. */
	for (unsigned int i = 0; i < 200; i++) {
		draw(&call, &random, TRIP_KEYED_CHUNK);
		run(&call);
	}
	trip_keyed_totals(call.table, &before);
	for (uint64_t i = 0; TRIP_STEP_POSSIBLE && i < trip_test_rounds(CALLS); i++) {
		draw(&call, &random, 8);
		killed += kill_at_each_step(&call, copy, size);
	}
	trip_keyed_totals(call.table, &totals);
	free(memory);
	free(copy);
	free(before_it);
	printf("killed %llu times\n", (unsigned long long)killed);
	if (!TRIP_STEP_POSSIBLE)
		skip();
	assert_true(totals.admitted > before.admitted && totals.evicted > before.evicted &&
		    totals.expired > before.expired);
}

/* ---- what a call takes ------------------------------------------------------------------------
 */

static void
sweep(void *arg)
{
	const struct call *call = arg;

	(void)trip_keyed_sweep(call->table, call->now);
}

static void
end_holds(void *arg)
{
	const struct call *call = arg;
	uint32_t entry;

	(void)trip_keyed_ended(call->table, call->now, &entry, 1);
}

/* Instructions of a call, and those of the test around it. */
static uint64_t
steps_of(void (*run_one)(void *arg), struct call *call)
{
	struct trip_step step;

	assert_false(trip_step_start(&step, run_one, call, UINT64_MAX));
	trip_step_finish(&step);
	return step.executed;
}

/* Where nothing is idle and nobody's hold is over: each hand goes on by a hundredth of all entries,
 * and looks at few of them. */
static void
keyed_hands_pass_what_is_not_theirs(void **state)
{
	const struct trip_keyed_attr attr = {.max = KEYS,
		.words = WORDS,
		.idle = 1000000,
		.holds = true,
		.hold_max = TRIP_KEYED_EVER,
		.hold_round = 1000,
		.secret = {1, 2}};
	struct call call = {.now = 1, .count = TRIP_KEYED_CHUNK};
	const uint64_t looks = KEYS / 100;
	void *memory;

	if (!TRIP_STEP_POSSIBLE)
		skip();
	memory = aligned_alloc(64, trip_keyed_size(&attr) / 64 * 64 + 64);
	assert_non_null(memory);
	call.table = trip_keyed_init(memory, &attr);
	for (uint32_t key = 0; key < KEYS; key++) {
		call.keys[key % TRIP_KEYED_CHUNK * WORDS] = key;
		call.bytes[key % TRIP_KEYED_CHUNK] = 60;
		if (key % TRIP_KEYED_CHUNK == TRIP_KEYED_CHUNK - 1)
			run(&call);
	}
	trip_keyed_hold(call.table, trip_keyed_find(call.table, call.keys), TRIP_KEYED_EVER, 1);
	call.now += attr.idle / 2;
	assert_true(steps_of(sweep, &call) < looks);
	assert_true(steps_of(end_holds, &call) < looks);
	assert_null(trip_keyed_check(call.table));
	free(memory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keyed_writer_is_killed_anywhere),
		cmocka_unit_test(keyed_hands_pass_what_is_not_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
