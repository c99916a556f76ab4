/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys whose packets are dropped for a time, by a clock that is fed: until when, to the
 * microsecond, what prolongs that, and that its end is told, once; on a port of two queues.
 */
#include <errno.h>
#include <string.h>

#include "harness.h"
#include "traffic.h"

#define QUEUES 2
#define COUNT 10
#define LENGTH 100
#define TIME_US UINT64_C(200000)
#define IDLE_US UINT64_C(40000)
/* As a hand comes by. */
#define LATE_US (TIME_US / 100)
#define RATE 1000
#define BURST 20

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static const struct trip_domain_attr tune = {
	.clock = TRIP_CLOCK_PACKET, .each_bytes = 1 << 20, .max_queues = 4};

static struct trip_port *port;
static struct trip_cntr *trips;
static struct trip_each *each;
static uint64_t now_us;

static void
open_all(const struct trip_each_when *whens, const struct trip_each_act *acts, uint32_t n)
{
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	const struct trip_cntr_attr known = {.size = sizeof(known), .name = "trips"};
	struct trip_each_attr attr = {.size = sizeof(attr),
		.name = "held",
		.parts = by_port,
		.n_parts = 1,
		.max = 100,
		.idle_us = IDLE_US,
		.whens = whens,
		.n_whens = n,
		.acts = acts};

	harness_open(1, &tune);
	port = traffic_open(QUEUES, &port_attr);
	assert_int_equal(trip_cntr_open(harness_domain, &known, &trips, NULL), 0);
	attr.trips = trips;
	each = traffic_each(port, &attr, 0);
	now_us = 0;
}

static void
close_all(void)
{
	traffic_each_close(each);
	harness_cntr_close(trips);
	traffic_close(port);
	harness_close();
}

static void
advance(uint64_t us)
{
	now_us += us;
	harness_advance(now_us * 1000);
}

static uint16_t
pass(uint16_t queue, uint16_t key, uint16_t n)
{
	return traffic_burst(port, queue, n, key, LENGTH);
}

/* Nothing comes. */
static void
poll_queues(void)
{
	for (uint16_t q = 0; q < QUEUES; q++)
		assert_int_equal(pass(q, 0, 0), 0);
}

static int
read_key(uint16_t key, struct trip_each_entry *entry)
{
	const uint8_t bytes[] = {(uint8_t)(key >> 8), (uint8_t)key};

	*entry = (struct trip_each_entry){.size = sizeof(*entry)};
	return trip_each_read(each, bytes, entry);
}

/* What has been told is that, and no more. */
static void
check_told(uint64_t number, uint16_t key, uint32_t when, bool ends)
{
	struct trip_each_trip trip;

	assert_int_equal(trip_each_trips(each, number, &trip, sizeof(trip), 1), 1);
	assert_int_equal(trip.number, number);
	assert_int_equal(trip.key[0] << 8 | trip.key[1], key);
	assert_int_equal(trip.when, when);
	assert_int_equal(trip.flags, ends ? TRIP_EACH_TRIP_END : 0);
	assert_int_equal(traffic_each_query(each).trips, number + 1);
	assert_int_equal(trip_cntr_read(trips), number + 1);
}

static const struct trip_each_when counted = {.count = COUNT};
static const struct trip_each_act for_a_time = {.op = TRIP_EACH_OP_DROP, .time_us = TIME_US};

static void
each_06_a_drop_ends_in_time(void **state)
{
	struct trip_each_entry entry;

	open_all(&counted, &for_a_time, 1);
	advance(1000);
	assert_int_equal(pass(0, 7, 3 * COUNT), COUNT);
	check_told(0, 7, 0, false);
	assert_int_equal(read_key(7, &entry), 0);
	assert_int_equal(entry.op, TRIP_EACH_OP_DROP);
	assert_int_equal(entry.until_ns, (1000 + TIME_US) * 1000);
	/* On the other queue, until the same moment. */
	advance(TIME_US - 1);
	assert_int_equal(pass(1, 7, 5), 0);
	assert_int_equal(pass(0, 7, 5), 0);
	check_told(0, 7, 0, false);
	advance(1);
	assert_int_equal(pass(1, 7, 5), 5);
	assert_int_equal(pass(0, 7, 5), 5);
	check_told(1, 7, 0, true);
	assert_int_equal(read_key(7, &entry), 0);
	assert_int_equal(entry.op, TRIP_EACH_OP_NONE);
	assert_int_equal(entry.until_ns, 0);
	assert_int_equal(entry.tripped, 1);
	assert_int_equal(entry.packets, 3 * COUNT + 20);
	assert_int_equal(traffic_each_query(each).dropped_packets, 2 * COUNT + 10);
	assert_int_equal(traffic_each_query(each).held, 0);
	/* It has tripped. */
	advance(TIME_US);
	assert_int_equal(pass(0, 7, 50), 50);
	close_all();
}

/* Where no packet comes, either; and meanwhile it does not go, however idle it is. */
static void
each_06_who_is_held_stays_until_then(void **state)
{
	struct trip_each_entry entry;

	open_all(&counted, &for_a_time, 1);
	advance(1000);
	for (uint16_t key = 1; key < 60; key++)
		assert_int_equal(pass(key % QUEUES, key, COUNT + 1), COUNT);
	assert_int_equal(traffic_each_query(each).held, 59);
	while (now_us < 1000 + TIME_US) {
		poll_queues();
		assert_int_equal(traffic_each_query(each).held, 59);
		assert_int_equal(traffic_each_query(each).trips, 59);
		advance(50);
	}
	while (now_us < 1000 + TIME_US + LATE_US) {
		poll_queues();
		advance(5);
	}
	assert_int_equal(traffic_each_query(each).held, 0);
	assert_int_equal(traffic_each_query(each).trips, 118);
	/* It has been idle for long. */
	while (traffic_each_query(each).keys > 0) {
		poll_queues();
		advance(5);
	}
	assert_true(now_us <= 1000 + TIME_US + LATE_US + IDLE_US / 50);
	assert_int_equal(read_key(7, &entry), -ENOENT);
	assert_int_equal(traffic_each_query(each).expired, 59);
	/* It begins anew. */
	assert_int_equal(pass(0, 7, 2 * COUNT), COUNT);
	assert_int_equal(traffic_each_query(each).trips, 119);
	close_all();
}

static void
each_06_a_jump_of_the_clock_ends_all(void **state)
{
	open_all(&counted, &for_a_time, 1);
	for (uint16_t key = 1; key < 60; key++)
		assert_int_equal(pass(key % QUEUES, key, COUNT + 1), COUNT);
	advance(TIME_US * 1000);
	for (unsigned int i = 0; i < 101; i++)
		poll_queues();
	assert_int_equal(traffic_each_query(each).held, 0);
	assert_int_equal(traffic_each_query(each).trips, 118);
	close_all();
}

/* As long as the rate is exceeded, and from then on for the time. */
static void
each_06_a_rate_prolongs_its_drop(void **state)
{
	static const struct trip_each_when rate = {.rate = RATE, .burst = BURST};
	uint64_t last = 0;

	open_all(&rate, &for_a_time, 1);
	assert_int_equal(pass(0, 7, BURST + 30), BURST + 1);
	check_told(0, 7, 0, false);
	/* Twice as much as the rate. */
	for (; now_us < 5 * TIME_US; advance(1000)) {
		assert_int_equal(pass(0, 7, 2), 0);
		last = now_us;
	}
	assert_int_equal(traffic_each_query(each).trips, 1);
	/* That is below it, whatever has come before. */
	for (; traffic_each_query(each).held > 0; advance(2000)) {
		uint16_t passed = pass(0, 7, 1);

		assert_int_equal(passed, traffic_each_query(each).held == 0);
	}
	trip_assert_range(now_us, last + TIME_US, last + TIME_US + 4000);
	check_told(1, 7, 0, true);
	/* Then it trips anew, also where its bucket was never empty. */
	trip_assert_range(pass(0, 7, 50), BURST - 1, BURST + 1);
	check_told(2, 7, 0, false);
	close_all();
}

/* It is prolonged where it is exceeded, and so it is everywhere; its end is told once. */
static void
each_06_queues_agree_on_the_end(void **state)
{
	static const struct trip_each_when rate = {.rate = RATE, .burst = BURST};

	open_all(&rate, &for_a_time, 1);
	advance(1000);
	assert_int_equal(pass(0, 7, BURST + 10), BURST + 1);
	assert_int_equal(pass(1, 7, 1), 0);
	advance(TIME_US / 2);
	/* Above the rate of the other queue. */
	assert_int_equal(pass(1, 7, 2 * BURST), 0);
	advance(TIME_US / 2);
	assert_int_equal(pass(0, 7, 3), 0);
	check_told(0, 7, 0, false);
	assert_int_equal(traffic_each_query(each).held, QUEUES);
	advance(TIME_US / 2 - 1);
	poll_queues();
	assert_int_equal(pass(0, 7, 3), 0);
	assert_int_equal(pass(1, 7, 3), 0);
	check_told(0, 7, 0, false);
	advance(1);
	assert_int_equal(pass(1, 7, 3), 3);
	assert_int_equal(pass(0, 7, 3), 3);
	check_told(1, 7, 0, true);
	close_all();
}

/* Each for its time: the last one's end is the end. */
static void
each_06_the_drop_that_ends_last_prevails(void **state)
{
	static const struct trip_each_when whens[] = {{.count = COUNT}, {.count = 2 * COUNT}};
	static const struct trip_each_act acts[] = {
		{.op = TRIP_EACH_OP_DROP, .time_us = 2 * TIME_US},
		{.op = TRIP_EACH_OP_DROP, .time_us = TIME_US}};

	open_all(whens, acts, 2);
	assert_int_equal(pass(0, 7, COUNT), COUNT);
	check_told(0, 7, 0, false);
	advance(1000);
	assert_int_equal(pass(0, 7, COUNT), 0);
	check_told(1, 7, 1, false);
	advance(2 * TIME_US - 1001);
	assert_int_equal(pass(0, 7, 1), 0);
	advance(1);
	assert_int_equal(pass(0, 7, 1), 1);
	check_told(2, 7, 0, true);
	/* The other way round. */
	assert_int_equal(pass(1, 8, COUNT), COUNT);
	advance(2 * TIME_US - 1000);
	assert_int_equal(pass(0, 8, COUNT), 0);
	advance(TIME_US - 1);
	assert_int_equal(pass(1, 8, 1), 0);
	advance(1);
	assert_int_equal(pass(1, 8, 1), 1);
	/* Who has told the trip tells its end. */
	assert_int_equal(traffic_each_query(each).trips, 5);
	assert_int_equal(pass(0, 8, 1), 1);
	check_told(5, 8, 1, true);
	close_all();
}

/* Who has told the trip goes on to own the end, whatever another queue tells meanwhile. */
static void
each_06_what_another_queue_tells_leaves_the_end(void **state)
{
	static const struct trip_each_when whens[] = {{.count = COUNT}, {.count = 2 * COUNT}};
	static const struct trip_each_act acts[] = {
		{.op = TRIP_EACH_OP_DROP, .time_us = TIME_US}, {.op = TRIP_EACH_OP_NONE}};

	open_all(whens, acts, 2);
	assert_int_equal(pass(0, 7, COUNT), COUNT);
	assert_int_equal(pass(1, 7, COUNT), 0);
	check_told(1, 7, 1, false);
	assert_int_equal(pass(0, 7, 1), 0);
	advance(TIME_US);
	assert_int_equal(pass(1, 7, 1), 1);
	assert_int_equal(traffic_each_query(each).trips, 2);
	assert_int_equal(pass(0, 7, 1), 1);
	check_told(2, 7, 0, true);
	close_all();
}

/* The queue that has told it prolongs it: to the others it is over later, and the end is told there
 * alone. */
static void
each_06_who_tells_prolongs_it_for_others(void **state)
{
	static const struct trip_each_when rate = {.rate = RATE, .burst = BURST};

	open_all(&rate, &for_a_time, 1);
	assert_int_equal(pass(0, 7, BURST + 1), BURST + 1);
	assert_int_equal(pass(1, 7, 1), 0);
	advance(TIME_US / 2);
	assert_int_equal(pass(0, 7, 2 * BURST), 0);
	advance(TIME_US / 2);
	assert_int_equal(pass(1, 7, 1), 0);
	advance(TIME_US / 2 - 1);
	assert_int_equal(pass(1, 7, 1), 0);
	check_told(0, 7, 0, false);
	advance(1);
	assert_int_equal(pass(1, 7, 1), 1);
	assert_int_equal(pass(0, 7, 1), 1);
	check_told(1, 7, 0, true);
	advance(TIME_US);
	poll_queues();
	assert_int_equal(traffic_each_query(each).trips, 2);
	close_all();
}

/* A drop that is over has nothing to say about the next time, also where nobody has polled the
 * queue since that told it. */
static void
each_06_a_drop_that_is_over_hides_no_trip(void **state)
{
	static const struct trip_each_when rate = {.rate = RATE, .burst = BURST};

	open_all(&rate, &for_a_time, 1);
	assert_int_equal(pass(0, 7, BURST + 1), BURST + 1);
	check_told(0, 7, 0, false);
	advance(TIME_US);
	assert_int_equal(pass(1, 7, BURST + 5), BURST + 1);
	check_told(1, 7, 0, false);
	assert_int_equal(pass(0, 7, 1), 0);
	close_all();
}

/* When a drop is over the key may trip again, also where its bucket has not come down to `until`
 * meanwhile. */
static void
each_06_behind_a_drop_a_rate_trips_again(void **state)
{
	static const struct trip_each_when rate = {.rate = RATE, .burst = BURST};
	static const struct trip_each_act brief = {.op = TRIP_EACH_OP_DROP, .time_us = 5000};

	open_all(&rate, &brief, 1);
	assert_int_equal(pass(0, 7, BURST + 1), BURST + 1);
	check_told(0, 7, 0, false);
	/* 5 of them have leaked. */
	advance(brief.time_us);
	assert_int_equal(pass(0, 7, 4), 4);
	check_told(1, 7, 0, true);
	assert_int_equal(pass(0, 7, 3), 2);
	check_told(2, 7, 0, false);
	close_all();
}

/* A rate prolongs a drop, and shortens none. */
static void
each_06_a_rate_shortens_no_drop(void **state)
{
	static const struct trip_each_when whens[] = {
		{.count = COUNT}, {.rate = RATE, .burst = BURST}};
	static const struct trip_each_act acts[] = {
		{.op = TRIP_EACH_OP_DROP, .time_us = 2 * TIME_US},
		{.op = TRIP_EACH_OP_DROP, .time_us = TIME_US}};

	open_all(whens, acts, 2);
	assert_int_equal(pass(0, 7, COUNT), COUNT);
	advance(TIME_US / 2);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(pass(0, 7, 2 * BURST), 0);
	advance(3 * TIME_US / 2 - 1);
	assert_int_equal(pass(0, 7, 1), 0);
	advance(1);
	assert_int_equal(pass(0, 7, 1), 1);
	close_all();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(each_06_a_drop_ends_in_time),
	HARNESS_TEST_OWN(each_06_who_is_held_stays_until_then),
	HARNESS_TEST_OWN(each_06_a_jump_of_the_clock_ends_all),
	HARNESS_TEST_OWN(each_06_a_rate_prolongs_its_drop),
	HARNESS_TEST_OWN(each_06_queues_agree_on_the_end),
	HARNESS_TEST_OWN(each_06_the_drop_that_ends_last_prevails),
	HARNESS_TEST_OWN(each_06_what_another_queue_tells_leaves_the_end),
	HARNESS_TEST_OWN(each_06_who_tells_prolongs_it_for_others),
	HARNESS_TEST_OWN(each_06_a_drop_that_is_over_hides_no_trip),
	HARNESS_TEST_OWN(each_06_behind_a_drop_a_rate_trips_again),
	HARNESS_TEST_OWN(each_06_a_rate_shortens_no_drop),
};

TRAFFIC_MAIN(tests)
