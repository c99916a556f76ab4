/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that are held by hand, in tables by themselves, on a clock of the test: on several queues,
 * beside conditions, without room, behind kills at any instruction, and beside garbage.
 */
#include <string.h>

#include "each_bed.h"
#include "each_hand.h"
#include "keyed_priv.h"
#include "trip_step.h"

#define IDLE (60 * SECOND)
#define KEY UINT64_C(7)

static const struct trip_each_when ten = {.count = 10};
static const struct trip_each_act drops = {.op = TRIP_EACH_OP_DROP};

static struct trip_each_attr
attr_of(const struct trip_each_when *when, const struct trip_each_act *act)
{
	return (struct trip_each_attr){.max = 100,
		.idle_us = IDLE,
		.by_hand = 1,
		.whens = when,
		.n_whens = when != NULL,
		.acts = act};
}

/* As the primary gives it to all tables, of which `owner` tells the end. */
static void
order_to(struct trip_each_bed *bed, uint64_t key, enum trip_each_op op, uint64_t us, uint32_t owner)
{
	struct trip_each_ordered order = {
		.key = {key}, .until = us != 0 ? bed->now + us : TRIP_KEYED_EVER, .op = op};

	for (uint32_t i = 0; i < bed->statement->n_tables; i++) {
		struct trip_each_orders *orders =
			trip_each_hand_orders(bed->zone, bed->statement, i);

		assert_true(trip_each_hand_has_room(orders));
		order.owns = i == owner;
		trip_each_hand_give(orders, &order);
		atomic_fetch_or(&bed->zone->queues[i].ordered, 1);
	}
}

static void
order(struct trip_each_bed *bed, uint64_t key, enum trip_each_op op, uint64_t us)
{
	order_to(bed, key, op, us, 0);
}

static void
check(const struct trip_each_bed *bed)
{
	for (uint32_t i = 0; i < bed->statement->n_tables; i++)
		assert_null(trip_keyed_check(bed->tables[i]));
}

static struct trip_keyed_entry
reading_of(const struct trip_each_bed *bed, uint32_t queue, uint64_t key)
{
	struct trip_keyed_entry reading;

	assert_true(trip_keyed_read(bed->tables[queue], bed_entry_of(bed, queue, key), &reading));
	return reading;
}

/* The last that was told is that end by hand. */
static void
assert_hand_end(const struct trip_each_bed *bed, uint64_t key, enum trip_each_op op)
{
	struct trip_each_told told = bed_last_trip(bed);

	assert_int_equal(told.when, TRIP_EACH_TOLD_HAND | TRIP_EACH_TOLD_END | (uint32_t)op);
	assert_int_equal(told.key[0], key);
}

/* ---- what is done -----------------------------------------------------------------------------
 */

/* From the next burst on, wherever it comes in, and not a microsecond longer. */
static void
each_06_a_key_is_dropped_by_hand_on_all_queues(void **state)
{
	const struct trip_each_attr attr = attr_of(NULL, NULL);
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 3), 0);
	order_to(&bed, KEY, TRIP_EACH_OP_DROP, SECOND, 1);
	bed.now += SECOND - 1;
	for (uint32_t queue = 0; queue < 2; queue++)
		assert_int_equal(trip_each_bed_count(&bed, queue, KEY, 4), 0xf);
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY + 1, 4), 0);
	assert_int_equal(bed_trips(&bed), 0);
	bed.now += 1;
	for (uint32_t queue = 0; queue < 2; queue++) {
		assert_int_equal(trip_each_bed_count(&bed, queue, KEY, 2), 0);
		assert_int_equal(bed_trips(&bed), queue);
	}
	assert_hand_end(&bed, KEY, TRIP_EACH_OP_DROP);
	assert_int_equal(bed_last_trip(&bed).packets, 3 + 4 + 4 + 2 + 2);
	assert_int_equal(bed_last_trip(&bed).ns, bed.now * 1000);
	bed_be_silent(&bed, SECOND, SECOND / 100);
	assert_int_equal(bed_trips(&bed), 1);
	check(&bed);
	trip_each_bed_close(&bed);
}

/* It has an entry at once, with nothing in it, that stays while it is held and goes when it is
 * idle; its first packet is dropped, and is one. */
static void
each_03_a_key_is_held_before_it_has_a_packet(void **state)
{
	const struct trip_each_attr attr = attr_of(NULL, NULL);
	struct trip_keyed_totals totals;
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 1);
	order(&bed, KEY, TRIP_EACH_OP_DROP, 3 * IDLE);
	order(&bed, KEY + 1, TRIP_EACH_OP_DROP, IDLE);
	bed_be_silent(&bed, SECOND, SECOND);
	check(&bed);
	assert_int_equal(reading_of(&bed, 0, KEY).packets, 0);
	bed_be_silent(&bed, 2 * IDLE, SECOND / 10);
	assert_int_equal(reading_of(&bed, 0, KEY).packets, 0);
	assert_int_equal(trip_keyed_find(bed.tables[0], &(uint64_t){KEY + 1}), TRIP_KEYED_NONE);
	trip_keyed_totals(bed.tables[0], &totals);
	assert_int_equal(totals.packets + totals.bytes + totals.remainder_packets, 0);
	assert_int_equal(totals.held, 1);
	assert_int_equal(totals.admitted - totals.expired, 1);
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 1), 1);
	assert_int_equal(reading_of(&bed, 0, KEY).packets, 1);
	assert_int_equal(reading_of(&bed, 0, KEY).bytes, LENGTH);
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 2), 3);
	assert_int_equal(reading_of(&bed, 0, KEY).packets, 3);
	check(&bed);
	bed_be_silent(&bed, 3 * IDLE, SECOND / 10);
	trip_keyed_totals(bed.tables[0], &totals);
	assert_int_equal(totals.keys, 0);
	assert_int_equal(totals.remainder_packets, 3);
	assert_int_equal(bed_trips(&bed), 2);
	check(&bed);
	trip_each_bed_close(&bed);
}

/* What would drop it waits, and what is but told is told; once it is let go it trips. */
static void
each_04_a_key_passes_by_hand_whatever_conditions_say(void **state)
{
	const struct trip_each_when whens[] = {{.count = 10}, {.count = 12}};
	const struct trip_each_act acts[] = {{.op = TRIP_EACH_OP_DROP}, {.op = TRIP_EACH_OP_NONE}};
	struct trip_each_attr attr = attr_of(whens, acts);
	struct trip_each_bed bed;

	attr.n_whens = 2;
	for (uint32_t n_tables = 1; n_tables <= 2; n_tables++) {
		trip_each_bed_open(&bed, &attr, n_tables);
		order(&bed, KEY, TRIP_EACH_OP_PASS, 0);
		for (uint32_t i = 0; i < 10; i++)
			assert_int_equal(trip_each_bed_count(&bed, i % n_tables, KEY, 3), 0);
		assert_int_equal(bed_trips(&bed), 1);
		assert_int_equal(bed_last_trip(&bed).when, 1);
		order(&bed, KEY, TRIP_EACH_OP_NONE, 0);
		bed_be_silent(&bed, 1, 1);
		assert_int_equal(bed_trips(&bed), 2);
		assert_hand_end(&bed, KEY, TRIP_EACH_OP_PASS);
		assert_int_equal(trip_each_bed_count(&bed, n_tables - 1, KEY, 3), 7);
		assert_int_equal(bed_trips(&bed), 3);
		assert_int_equal(bed_last_trip(&bed).when, 0);
		assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 3), 7);
		check(&bed);
		trip_each_bed_close(&bed);
	}
}

/* Also where another queue has not heard of it, and holds the key yet; its end is told once. */
static void
each_06_a_key_that_has_tripped_is_let_go(void **state)
{
	const struct trip_each_attr attr = attr_of(&ten, &drops);
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 3);
	(void)trip_each_bed_count(&bed, 0, KEY, 10);
	for (uint32_t queue = 0; queue < 3; queue++)
		assert_int_equal(trip_each_bed_count(&bed, queue, KEY, 1), 1);
	assert_int_equal(bed_trips(&bed), 1);
	order(&bed, KEY, TRIP_EACH_OP_NONE, 0);
	assert_int_equal(trip_each_bed_count(&bed, 1, KEY, 2), 0);
	assert_int_equal(trip_each_bed_count(&bed, 1, KEY, 2), 0);
	assert_int_equal(bed_trips(&bed), 1);
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 2), 0);
	assert_int_equal(bed_trips(&bed), 2);
	assert_int_equal(bed_last_trip(&bed).when, TRIP_EACH_TOLD_END);
	for (uint32_t queue = 0; queue < 3; queue++)
		assert_int_equal(trip_each_bed_count(&bed, queue, KEY, 5), 0);
	assert_int_equal(bed_trips(&bed), 2);
	check(&bed);
	trip_each_bed_close(&bed);
}

/* Of a rate whose drop goes on by itself, and of each other: what held it before ends, once. */
static void
each_06_what_is_said_last_by_hand_is_done(void **state)
{
	const struct trip_each_when when = {.rate = 1000, .burst = 10};
	const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP, .time_us = SECOND};
	const struct trip_each_attr attr = attr_of(&when, &act);
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 1);
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 12), 1u << 11);
	order(&bed, KEY, TRIP_EACH_OP_DROP, SECOND / 2);
	for (uint32_t i = 0; i < 50; i++, bed.now += SECOND / 100)
		assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 32), UINT32_MAX);
	assert_int_equal(bed_trips(&bed), 2);
	assert_int_equal(bed_last_trip(&bed).when, TRIP_EACH_TOLD_END);
	assert_int_equal(bed_last_trip(&bed).packets, 12);
	/* Its time is over, and it is above its rate. */
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 1), 1);
	assert_int_equal(bed_trips(&bed), 4);
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 1), 1);
	order(&bed, KEY, TRIP_EACH_OP_DROP, 0);
	order(&bed, KEY, TRIP_EACH_OP_PASS, 0);
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 32), 0);
	assert_int_equal(bed_trips(&bed), 6);
	assert_hand_end(&bed, KEY, TRIP_EACH_OP_DROP);
	bed_be_silent(&bed, 10 * IDLE, SECOND);
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 32), 0);
	check(&bed);
	trip_each_bed_close(&bed);
}

/* A key that begins anew meanwhile stays dropped. */
static void
each_06_a_hold_by_hand_outlasts_a_beginning_anew(void **state)
{
	const struct trip_each_act act = {.op = TRIP_EACH_OP_RESET};
	const struct trip_each_attr attr = attr_of(&ten, &act);
	struct trip_each_bed bed;

	for (uint32_t n_tables = 1; n_tables <= 2; n_tables++) {
		trip_each_bed_open(&bed, &attr, n_tables);
		order(&bed, KEY, TRIP_EACH_OP_DROP, 0);
		for (uint32_t i = 0; i < 30; i++)
			assert_int_equal(trip_each_bed_count(&bed, i % n_tables, KEY, 2), 3);
		trip_assert_range(bed_trips(&bed), 5, 6);
		assert_int_equal(bed_last_trip(&bed).when, 0);
		check(&bed);
		trip_each_bed_close(&bed);
	}
}

/* ---- no room ----------------------------------------------------------------------------------
 */

/* All entries there are stay: the order waits, and is done as soon as one has gone. */
static void
each_06_an_order_waits_for_room(void **state)
{
	const struct trip_each_attr attr = attr_of(NULL, NULL);
	struct trip_keyed_totals totals;
	struct trip_each_bed bed;
	uint32_t n, first = 1000;

	trip_each_bed_open(&bed, &attr, 1);
	n = trip_keyed_entries(bed.tables[0]);
	for (uint32_t i = 0; i < n; i++) {
		order(&bed, first + i, TRIP_EACH_OP_DROP, 0);
		bed_be_silent(&bed, SECOND / 100, SECOND / 100);
	}
	trip_keyed_totals(bed.tables[0], &totals);
	assert_int_equal(totals.held, n);
	order(&bed, KEY, TRIP_EACH_OP_DROP, 0);
	order(&bed, first + 5, TRIP_EACH_OP_NONE, 0);
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 1), 0);
	assert_int_equal(trip_each_bed_count(&bed, 0, first + 5, 1), 1);
	/* By what somebody has written, one of them goes. */
	trip_keyed_release(bed.tables[0], bed_entry_of(&bed, 0, first + 9));
	bed_be_silent(&bed, 2 * IDLE, SECOND / 10);
	assert_int_equal(trip_each_bed_count(&bed, 0, KEY, 1), 1);
	assert_int_equal(trip_each_bed_count(&bed, 0, first + 5, 1), 0);
	check(&bed);
	trip_each_bed_close(&bed);
}

/* ---- kills ------------------------------------------------------------------------------------
 */

static void
poll_once(void *arg)
{
	struct trip_each_bed *bed = arg;

	trip_each_queue_sweep(&bed->polls[0], bed->now);
}

/* What a killed poller has left, in memory of its own; and the follower has the queue. */
static void
take_over(const struct trip_each_bed *killed, struct trip_each_bed *left, size_t size)
{
	memcpy(left->zone, killed->zone, size);
	left->now = killed->now;
	trip_each_bed_poll(left, 0);
	trip_each_queue_recover(&left->polls[0], left->now);
	trip_each_queue_sweep(&left->polls[0], left->now);
}

static size_t
size_of(const struct trip_each_bed *bed)
{
	return trip_each_zone_size(bed->statement->n_tables,
		trip_each_statement_lines(bed->statement) * TRIP_EACH_LINE);
}

/* How often that is told. */
static uint32_t
times_told(const struct trip_each_bed *bed, uint64_t key, uint32_t when)
{
	struct trip_each_told told;
	uint32_t n = 0;

	for (uint64_t i = 0; i < bed_trips(bed); i++) {
		assert_true(trip_each_ring_read(&bed->at, i, &told));
		n += told.when == when && told.key[0] == key;
	}
	return n;
}

/* Three orders are taken at once: of a key that has tripped, of one that nobody has seen, and the
 * end of one that is held by hand. */
static void
prepare(struct trip_each_bed *bed)
{
	const struct trip_each_attr attr = attr_of(&ten, &drops);

	trip_each_bed_open(bed, &attr, 1);
	(void)trip_each_bed_count(bed, 0, KEY, 12);
	order(bed, KEY + 2, TRIP_EACH_OP_DROP, 0);
	(void)trip_each_bed_count(bed, 0, KEY + 2, 1);
	order(bed, KEY, TRIP_EACH_OP_DROP, SECOND);
	order(bed, KEY + 1, TRIP_EACH_OP_PASS, SECOND);
	order(bed, KEY + 2, TRIP_EACH_OP_NONE, 0);
}

static void
check_left(struct trip_each_bed *left)
{
	const uint32_t end = TRIP_EACH_TOLD_HAND | TRIP_EACH_TOLD_END;

	assert_null(trip_keyed_check(left->tables[0]));
	assert_int_equal(times_told(left, KEY, TRIP_EACH_TOLD_END), 1);
	assert_int_equal(times_told(left, KEY + 2, end | TRIP_EACH_OP_DROP), 1);
	assert_int_equal(reading_of(left, 0, KEY).packets, 12);
	assert_int_equal(reading_of(left, 0, KEY + 1).packets, 0);
	assert_int_equal(reading_of(left, 0, KEY + 2).packets, 1);
	assert_int_equal(trip_each_bed_count(left, 0, KEY, 1), 1);
	assert_int_equal(trip_each_bed_count(left, 0, KEY + 1, 32), 0);
	assert_int_equal(trip_each_bed_count(left, 0, KEY + 2, 1), 0);
	left->now += SECOND;
	bed_be_silent(left, SECOND, SECOND / 1000);
	assert_int_equal(times_told(left, KEY, end | TRIP_EACH_OP_DROP), 1);
	assert_int_equal(times_told(left, KEY + 1, end | TRIP_EACH_OP_PASS), 1);
	assert_int_equal(times_told(left, KEY, TRIP_EACH_TOLD_END), 1);
	assert_int_equal(times_told(left, KEY + 2, end | TRIP_EACH_OP_DROP), 1);
	assert_null(trip_keyed_check(left->tables[0]));
}

/* At each stop of one call all of it is copied, and gone on with there. */
static void
check_kills(void (*begin)(struct trip_each_bed *bed), void (*check_one)(struct trip_each_bed *left))
{
	struct trip_each_bed bed, left;
	struct trip_step step;
	uint64_t stops = 0;
	bool stopped;

	begin(&bed);
	begin(&left);
	stopped = trip_step_start(&step, poll_once, &bed, 1);
	for (; stopped; stopped = trip_step_on(&step, step.executed + 1), stops++) {
		take_over(&bed, &left, size_of(&bed));
		check_one(&left);
	}
	trip_step_finish(&step);
	assert_true(stops > 100);
	check_one(&bed);
	trip_each_bed_close(&bed);
	trip_each_bed_close(&left);
}

static void
each_06_orders_are_done_once_wherever_the_poller_is_killed(void **state)
{
	if (!TRIP_STEP_POSSIBLE)
		skip();
	check_kills(prepare, check_left);
}

/* The times of both are over. */
static void
prepare_ends(struct trip_each_bed *bed)
{
	prepare(bed);
	bed_be_silent(bed, 1, 1);
	bed->now += 2 * SECOND;
}

static void
check_ended(struct trip_each_bed *left)
{
	const uint32_t end = TRIP_EACH_TOLD_HAND | TRIP_EACH_TOLD_END;

	bed_be_silent(left, SECOND, SECOND / 1000);
	assert_int_equal(times_told(left, KEY, end | TRIP_EACH_OP_DROP), 1);
	assert_int_equal(times_told(left, KEY + 1, end | TRIP_EACH_OP_PASS), 1);
	assert_int_equal(trip_each_bed_count(left, 0, KEY, 1), 0);
	assert_null(trip_keyed_check(left->tables[0]));
}

static void
each_06_ends_are_told_once_wherever_the_poller_is_killed(void **state)
{
	if (!TRIP_STEP_POSSIBLE)
		skip();
	check_kills(prepare_ends, check_ended);
}

/* ---- garbage ----------------------------------------------------------------------------------
 */

/* Whatever another process has written there: nothing hangs, and nothing is written elsewhere. */
static void
garbage_is_survived(void **state)
{
	struct trip_random random = {trip_test_seed("each_hand_garbage")};
	const struct trip_each_attr attr = attr_of(&ten, &drops);
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	for (uint64_t i = 0; i < trip_test_rounds(20000); i++) {
		uint32_t queue = (uint32_t)trip_random_below(&random, 2);
		struct trip_each_orders *orders =
			trip_each_hand_orders(bed.zone, bed.statement, queue);
		uint64_t *words = (uint64_t *)orders;

		words[trip_random_below(&random, sizeof(*orders) / sizeof(*words))] =
			trip_random_below(&random, 2) != 0 ? trip_random_u64(&random)
							   : trip_random_below(&random, 16);
		atomic_fetch_or(&bed.zone->queues[queue].ordered, 1);
		(void)trip_each_bed_count(&bed, queue, trip_random_below(&random, 16), 3);
		(void)trip_each_bed_count(&bed, 1 - queue, trip_random_below(&random, 16), 3);
		bed.now += trip_random_below(&random, SECOND);
		if (i % 100 == 0)
			check(&bed);
	}
	trip_each_bed_close(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_06_a_key_is_dropped_by_hand_on_all_queues),
		cmocka_unit_test(each_03_a_key_is_held_before_it_has_a_packet),
		cmocka_unit_test(each_04_a_key_passes_by_hand_whatever_conditions_say),
		cmocka_unit_test(each_06_a_key_that_has_tripped_is_let_go),
		cmocka_unit_test(each_06_what_is_said_last_by_hand_is_done),
		cmocka_unit_test(each_06_a_hold_by_hand_outlasts_a_beginning_anew),
		cmocka_unit_test(each_06_an_order_waits_for_room),
		cmocka_unit_test(each_06_orders_are_done_once_wherever_the_poller_is_killed),
		cmocka_unit_test(each_06_ends_are_told_once_wherever_the_poller_is_killed),
		cmocka_unit_test(garbage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
