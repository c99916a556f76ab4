/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trips of a statement by themselves: their order over queues, what is kept of them, who is
 * first; and who is killed behind any instruction of telling one.
 */
#include <string.h>

#include "each_ring.h"
#include "trip_step.h"
#include "trip_test.h"

#define TABLES 3u
#define KEPT 8u

static struct trip_each_ring_at
open_ring(bool lives)
{
	struct trip_each_ring_at at = {.kept = KEPT, .n_tables = TABLES, .lives = lives};
	size_t size = trip_each_ring_size(&at);

	at.ring = aligned_alloc(64, size);
	assert_non_null(at.ring);
	memset(at.ring, 0xa5, size);
	trip_each_ring_init(&at);
	return at;
}

static struct trip_each_told
told_of(uint64_t key, uint32_t table)
{
	return (struct trip_each_told){.packets = key + 1,
		.bytes = key + 2,
		.ns = key + 3,
		.table = table,
		.times = 1,
		.key = {key}};
}

static enum trip_each_tells
tell(const struct trip_each_ring_at *at, const struct trip_each_told *told, uint64_t from)
{
	struct trip_each_told found;

	trip_each_ring_write(at, told);
	return trip_each_ring_tell(at, told, from, &found);
}

/* Word by word: nobody says what stands in between. */
static void
assert_same(const struct trip_each_told *read, const struct trip_each_told *told)
{
	assert_int_equal(read->packets, told->packets);
	assert_int_equal(read->bytes, told->bytes);
	assert_int_equal(read->ns, told->ns);
	assert_int_equal(read->when, told->when);
	assert_int_equal(read->table, told->table);
	assert_int_equal(read->life, told->life);
	assert_int_equal(read->times, told->times);
	assert_int_equal(read->nth, told->nth);
	assert_int_equal(read->anew_packets, told->anew_packets);
	assert_int_equal(read->anew_bytes, told->anew_bytes);
	assert_memory_equal(read->key, told->key, sizeof(told->key));
}

/* Whether one of the key by that condition is among those from `from` up to `end`, and kept. */
static bool
has(const struct trip_each_ring_at *at, const struct trip_each_told *told, uint64_t from,
	uint64_t end)
{
	struct trip_each_told read;

	for (; from < end; from++)
		if (trip_each_ring_read(at, from, &read) && read.when == told->when &&
			memcmp(read.key, told->key, sizeof(read.key)) == 0)
			return true;
	return false;
}

static void
each_ring_keeps_the_last(void **state)
{
	struct trip_random random = {trip_test_seed("each_ring_keeps_the_last")};
	struct trip_each_ring_at at = open_ring(false);
	uint32_t tables[1000];
	struct trip_each_told read;

	assert_int_equal(trip_each_ring_trips(&at), 0);
	assert_false(trip_each_ring_read(&at, 0, &read));
	for (uint64_t i = 0; i < 1000; i++) {
		uint32_t table = tables[i] = (uint32_t)trip_random_below(&random, TABLES);
		struct trip_each_told told = told_of(i, table);

		assert_int_equal(tell(&at, &told, trip_each_ring_trips(&at)), TRIP_EACH_TELLS);
		assert_int_equal(trip_each_ring_trips(&at), i + 1);
		assert_false(trip_each_ring_read(&at, i + 1, &read));
		for (uint64_t k = 0; k <= i; k++) {
			assert_int_equal(trip_each_ring_read(&at, k, &read), k + KEPT > i);
			if (k + KEPT <= i)
				continue;
			told = told_of(k, tables[k]);
			assert_same(&read, &told);
		}
		/* Nothing was left half told. */
		for (table = 0; table < TABLES; table++)
			assert_true(trip_each_ring_settle(&at, table));
	}
	free(at.ring);
}

/* A queue writes its next trip over its oldest before that has left its place: a place never has
 * the trip that comes after it in its log. */
static void
each_ring_reads_none_for_another(void **state)
{
	struct trip_each_ring_at at = open_ring(false);
	struct trip_each_told read;

	for (uint64_t i = 0; i < 3 * KEPT; i++) {
		struct trip_each_told told = told_of(i, 1);

		trip_each_ring_write(&at, &told);
		for (uint64_t k = 0; k <= i; k++)
			assert_int_equal(trip_each_ring_read(&at, k, &read), k < i && k + KEPT > i);
		assert_false(has(&at, &told, 0, i));
		assert_int_equal(trip_each_ring_tell(&at, &told, i, &read), TRIP_EACH_TELLS);
		assert_true(trip_each_ring_read(&at, i, &read));
		assert_same(&read, &told);
	}
	free(at.ring);
}

/* What is in the way of another is handed over; what ends a life of a key is in the way of all that
 * is told of that, but ends. */
static void
each_ring_knows_lives(void **state)
{
	struct trip_each_ring_at at = open_ring(true);
	struct trip_each_told ends = told_of(5, 0), other = told_of(5, 1), found;

	at.anew = 1u << 2;
	ends.when = 2;
	ends.life = 7;
	ends.times = 3;
	ends.anew_packets = 50;
	ends.anew_bytes = 60;
	assert_int_equal(tell(&at, &ends, 0), TRIP_EACH_TELLS);
	other.when = 1;
	other.life = 7;
	trip_each_ring_write(&at, &other);
	assert_int_equal(trip_each_ring_tell(&at, &other, 0, &found), TRIP_EACH_KNOWN);
	assert_same(&found, &ends);
	assert_true(trip_each_ring_last(&at, 0, &found));
	assert_same(&found, &ends);
	assert_false(trip_each_ring_last(&at, 1, &found));
	other.key[0]++;
	assert_int_equal(tell(&at, &other, 0), TRIP_EACH_TELLS);
	other.key[0]--;
	other.when |= TRIP_EACH_TOLD_END;
	assert_int_equal(tell(&at, &other, 0), TRIP_EACH_TELLS);
	other.when = 1;
	other.life = 8;
	assert_int_equal(tell(&at, &other, 0), TRIP_EACH_TELLS);
	assert_int_equal(tell(&at, &other, 0), TRIP_EACH_KNOWN);
	/* Of the next life the same. */
	ends.life = 8;
	assert_int_equal(tell(&at, &ends, 0), TRIP_EACH_TELLS);
	free(at.ring);
}

/* Two that have looked at the same time: the second finds the first, or cannot know. */
static void
each_ring_tells_once(void **state)
{
	struct trip_each_ring_at at = open_ring(false);

	for (uint64_t key = 0; key < 200; key++) {
		uint64_t from = trip_each_ring_trips(&at), others = key % (2 * KEPT);
		struct trip_each_told first = told_of(key, 0), second = told_of(key, 1);
		struct trip_each_told by_another = told_of(key, 2);

		assert_int_equal(tell(&at, &first, from), TRIP_EACH_TELLS);
		for (uint64_t i = 0; i < others; i++) {
			struct trip_each_told other = told_of(1000 + key * KEPT * 2 + i, 2);

			assert_int_equal(tell(&at, &other, from + 1 + i), TRIP_EACH_TELLS);
		}
		assert_int_equal(tell(&at, &second, from),
			others < KEPT ? TRIP_EACH_KNOWN : TRIP_EACH_MISSED);
		assert_int_equal(has(&at, &second, 0, trip_each_ring_trips(&at)), others < KEPT);
		/* By another condition it is another one. */
		by_another.when = 1;
		assert_false(has(&at, &by_another, 0, trip_each_ring_trips(&at)));
		assert_int_equal(
			tell(&at, &by_another, trip_each_ring_trips(&at)), TRIP_EACH_TELLS);
		assert_int_equal(trip_each_ring_trips(&at), from + 2 + others);
	}
	free(at.ring);
}

/* ---- who is killed ----------------------------------------------------------------------------
 */

struct call {
	struct trip_each_ring_at at;
	struct trip_each_told told;
	uint64_t from;
	/* As the entry of the key has it. */
	_Atomic bool telling, told_so;
};

static void
run(void *arg)
{
	struct call *call = arg;
	struct trip_each_told found;

	trip_each_ring_write(&call->at, &call->told);
	atomic_store(&call->telling, true);
	(void)trip_each_ring_tell(&call->at, &call->told, call->from, &found);
	atomic_store(&call->told_so, true);
	atomic_store(&call->telling, false);
}

/* In a copy, while he is held up: others know whether he has told, however much they tell. */
static void
check_asking(const struct call *call, struct trip_each_ring *copy, uint64_t before)
{
	struct trip_each_ring_at at = {
		.ring = copy, .kept = KEPT, .n_tables = TABLES, .lives = true};
	const uint32_t table = call->told.table;
	bool has_it = has(&at, &call->told, before, trip_each_ring_trips(&at));
	struct trip_each_told another = told_of(8888, table), found;

	for (uint64_t i = 0; atomic_load(&call->telling) && i < 3 * KEPT; i++) {
		struct trip_each_told other = told_of(9000 + i, (table + 1) % TABLES);

		assert_int_equal(trip_each_ring_ask(&at, &call->told, table, &found),
			has_it ? TRIP_EACH_KNOWN : TRIP_EACH_TELLS);
		if (!has_it)
			assert_int_equal(
				trip_each_ring_ask(&at, &another, table, &found), TRIP_EACH_MISSED);
		assert_int_equal(tell(&at, &other, trip_each_ring_trips(&at)), TRIP_EACH_TELLS);
	}
}

/* In a copy: whoever follows knows whether it was told, and tells it if not. */
static void
check(const struct call *call, struct trip_each_ring *copy, uint64_t before)
{
	struct trip_each_ring_at at = {
		.ring = copy, .kept = KEPT, .n_tables = TABLES, .lives = true};
	uint64_t trips = trip_each_ring_trips(&at);
	bool has_it = has(&at, &call->told, before, trips);
	struct trip_each_told next = told_of(7777, call->told.table);
	bool told = trip_each_ring_settle(&at, call->told.table);

	trip_assert_range(trips, before, before + 1);
	if (atomic_load(&call->telling))
		assert_int_equal(told, has_it);
	if (atomic_load(&call->told_so))
		assert_true(has_it);
	for (uint64_t i = before >= KEPT - 1 ? before - (KEPT - 1) : 0; i < trips; i++) {
		struct trip_each_told read;

		assert_true(trip_each_ring_read(&at, i, &read));
	}
	if (!has_it)
		assert_int_equal(tell(&at, &call->told, trips), TRIP_EACH_TELLS);
	assert_int_equal(tell(&at, &next, before + 1), TRIP_EACH_TELLS);
	assert_int_equal(trip_each_ring_trips(&at), before + 2);
	assert_true(has(&at, &call->told, before, before + 1));
	assert_true(has(&at, &next, before + 1, before + 2));
	assert_true(trip_each_ring_settle(&at, call->told.table));
}

static void
each_ring_survives_who_tells(void **state)
{
	struct trip_random random = {trip_test_seed("each_ring_survives_who_tells")};
	struct call call = {.at = open_ring(true)};
	size_t size = trip_each_ring_size(&call.at);
	struct trip_each_ring *copy = aligned_alloc(64, size);
	uint64_t killed = 0;

	assert_non_null(copy);
	for (uint64_t i = 0; TRIP_STEP_POSSIBLE && i < trip_test_rounds(40); i++) {
		struct trip_step step;
		uint64_t k = 1;
		bool stopped;

		call.told = told_of(i, i < 20 ? 0 : (uint32_t)trip_random_below(&random, TABLES));
		call.from = trip_each_ring_trips(&call.at);
		stopped = trip_step_start(&step, run, &call, k);
		for (; stopped; stopped = trip_step_on(&step, ++k), killed++) {
			memcpy(copy, call.at.ring, size);
			check_asking(&call, copy, i);
			memcpy(copy, call.at.ring, size);
			check(&call, copy, i);
		}
		trip_step_finish(&step);
		atomic_store(&call.told_so, false);
	}
	free(copy);
	free(call.at.ring);
	printf("killed %llu times\n", (unsigned long long)killed);
	if (!TRIP_STEP_POSSIBLE)
		skip();
	assert_true(killed > 0);
}

/* Another process has written all over it: each call comes to an end, and the next tells again
 * where that is possible. */
static void
each_ring_with_garbage_ends(void **state)
{
	struct trip_each_ring_at at = open_ring(false);
	const size_t places = sizeof(struct trip_each_ring) +
			      TABLES * sizeof(struct trip_each_head) +
			      TRIP_KEYED_CLOSE_WORDS * sizeof(uint64_t);
	struct trip_each_told told = told_of(1, 1), read;

	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(tell(&at, &told, i), TRIP_EACH_TELLS);
	/* Turns that are far ahead, of no queue. */
	memset((char *)at.ring + places, 0x7f, KEPT * sizeof(uint64_t));
	trip_assert_range(trip_each_ring_trips(&at), 5, 5 + KEPT);
	for (uint64_t i = 0; i < 3 * KEPT; i++)
		assert_false(trip_each_ring_read(&at, i, &read));
	assert_false(has(&at, &told, 0, 100));
	assert_int_equal(tell(&at, &told, 5), TRIP_EACH_MISSED);
	for (uint32_t table = 0; table < TABLES; table++)
		(void)trip_each_ring_settle(&at, table);
	memset((char *)at.ring + places, 0, KEPT * sizeof(uint64_t));
	assert_int_equal(tell(&at, &told, 5), TRIP_EACH_TELLS);
	free(at.ring);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_ring_keeps_the_last),
		cmocka_unit_test(each_ring_reads_none_for_another),
		cmocka_unit_test(each_ring_tells_once),
		cmocka_unit_test(each_ring_knows_lives),
		cmocka_unit_test(each_ring_survives_who_tells),
		cmocka_unit_test(each_ring_with_garbage_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
