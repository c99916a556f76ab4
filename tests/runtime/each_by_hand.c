/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that are held by hand, as callers see it: by a clock that is fed, on a port of two queues,
 * in the primary and in an attached process. What becomes of it in tables is
 * tests/soft/each_hand.c's.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "traffic.h"

#define QUEUES 2
#define LENGTH 100
#define TIME_US UINT64_C(200000)
#define IDLE_US UINT64_C(1000000)
#define MAX 4

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static const struct trip_domain_attr tune = {
	.clock = TRIP_CLOCK_PACKET, .each_bytes = 1 << 20, .max_queues = 4};

static struct trip_port *port;
static struct trip_cntr *trips;
static struct trip_each *each;
static uint64_t now_us;

static void
open_all(uint32_t by_hand)
{
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	const struct trip_cntr_attr known = {.size = sizeof(known), .name = "trips"};
	const struct trip_each_when when = {.count = 10};
	const struct trip_each_act drops = {.op = TRIP_EACH_OP_DROP};
	struct trip_each_attr attr = {.size = sizeof(attr),
		.name = "held",
		.parts = by_port,
		.n_parts = 1,
		.max = MAX,
		.idle_us = IDLE_US,
		.by_hand = by_hand,
		.whens = &when,
		.n_whens = 1,
		.acts = &drops};

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

static int
hold(const char *text, enum trip_each_op op, uint64_t time_us)
{
	uint8_t key[TRIP_EACH_KEY_MAX];
	int error = trip_each_parse(each, text, key);

	return error == 0 ? trip_each_hold(each, key, op, time_us) : error;
}

static struct trip_each_entry
entry_of(uint16_t key)
{
	const uint8_t bytes[] = {(uint8_t)(key >> 8), (uint8_t)key};
	struct trip_each_entry entry = {.size = sizeof(entry)};

	assert_int_equal(trip_each_read(each, bytes, &entry), 0);
	return entry;
}

/* What has been told is that, and no more. */
static void
check_told(uint64_t number, uint16_t key, uint32_t when, uint32_t flags)
{
	const bool begins = flags == TRIP_EACH_TRIP_HAND;
	struct trip_each_trip trip;

	assert_int_equal(trip_each_trips(each, number, &trip, sizeof(trip), 1), 1);
	assert_int_equal(trip.number, number);
	assert_int_equal(trip.key[0] << 8 | trip.key[1], key);
	assert_int_equal(trip.when, when);
	assert_int_equal(trip.flags, flags);
	assert_int_equal(trip.pid, begins ? getpid() : 0);
	assert_true(trip.table < QUEUES);
	assert_int_equal(traffic_each_query(each).trips, number + 1);
	assert_int_equal(trip_cntr_read(trips), number + 1);
}

static const uint32_t hand_end = TRIP_EACH_TRIP_HAND | TRIP_EACH_TRIP_END;

static void
each_06_a_key_is_held_by_hand_for_a_time(void **state)
{
	open_all(1);
	assert_int_equal(traffic_each_query(each).by_hand, 1);
	advance(1000);
	assert_int_equal(hold("7", TRIP_EACH_OP_DROP, TIME_US), 0);
	check_told(0, 7, TRIP_EACH_OP_DROP, TRIP_EACH_TRIP_HAND);
	for (uint16_t queue = 0; queue < QUEUES; queue++)
		assert_int_equal(pass(queue, 7, 3), 0);
	assert_int_equal(entry_of(7).packets, 6);
	assert_int_equal(entry_of(7).op, TRIP_EACH_OP_DROP);
	assert_int_equal(entry_of(7).by_hand, 1);
	assert_int_equal(entry_of(7).until_ns, (1000 + TIME_US) * 1000);
	assert_int_equal(traffic_each_query(each).held, QUEUES);
	assert_int_equal(traffic_each_query(each).dropped_packets, 6);
	advance(TIME_US - 1);
	assert_int_equal(pass(1, 7, 1), 0);
	advance(1);
	assert_int_equal(pass(1, 7, 1), 1);
	assert_int_equal(pass(0, 7, 1), 1);
	check_told(1, 7, TRIP_EACH_OP_DROP, hand_end);
	assert_int_equal(entry_of(7).op, TRIP_EACH_OP_NONE);
	assert_int_equal(entry_of(7).by_hand, 0);
	assert_int_equal(entry_of(7).packets, 9);
	close_all();
}

/* It is told who does it, and what that ends. */
static void
each_06_a_key_passes_and_is_let_go_by_hand(void **state)
{
	open_all(1);
	advance(1000);
	assert_int_equal(pass(0, 7, 12), 10);
	check_told(0, 7, 0, 0);
	assert_int_equal(hold("7", TRIP_EACH_OP_PASS, 0), 0);
	check_told(1, 7, TRIP_EACH_OP_PASS, TRIP_EACH_TRIP_HAND);
	assert_int_equal(pass(0, 7, 5), 5);
	check_told(2, 7, 0, TRIP_EACH_TRIP_END);
	assert_int_equal(pass(1, 7, 5), 5);
	assert_int_equal(entry_of(7).op, TRIP_EACH_OP_PASS);
	assert_int_equal(entry_of(7).until_ns, UINT64_MAX);
	assert_int_equal(hold("7", TRIP_EACH_OP_NONE, 0), 0);
	check_told(3, 7, TRIP_EACH_OP_NONE, TRIP_EACH_TRIP_HAND);
	/* It had tripped. */
	assert_int_equal(pass(1, 7, 5), 5);
	assert_int_equal(pass(0, 7, 5), 5);
	check_told(4, 7, TRIP_EACH_OP_PASS, hand_end);
	assert_int_equal(hold("7", TRIP_EACH_OP_NONE, 0), -ENOENT);
	close_all();
}

static void
each_06_what_cannot_be_held_by_hand_is_refused(void **state)
{
	char text[8];

	open_all(1);
	assert_int_equal(hold("7", TRIP_EACH_OP_POLICE, 0), -EINVAL);
	assert_int_equal(hold("7", TRIP_EACH_OP_RESET, 0), -EINVAL);
	assert_int_equal(hold("7", TRIP_EACH_OP_NONE, 1), -EINVAL);
	assert_int_equal(hold("7", TRIP_EACH_OP_DROP, (UINT64_C(1) << 48) + 1), -EINVAL);
	assert_int_equal(hold("7", TRIP_EACH_OP_NONE, 0), -ENOENT);
	assert_non_null(strstr(trip_error_message(), "nothing is done to the key 7"));
	assert_int_equal(hold("65536", TRIP_EACH_OP_DROP, 0), -EINVAL);
	assert_non_null(strstr(trip_error_message(), "l4.dst is a number from 0 to 65535"));
	for (unsigned int i = 0; i < MAX; i++) {
		snprintf(text, sizeof(text), "%u", 100 + i);
		assert_int_equal(hold(text, TRIP_EACH_OP_DROP, 0), 0);
	}
	for (uint16_t queue = 0; queue < QUEUES; queue++)
		(void)pass(queue, 1, 1);
	assert_int_equal(hold("7", TRIP_EACH_OP_DROP, 0), -ENOSPC);
	assert_non_null(strstr(trip_error_message(), "all of its max 4 keys are held"));
	assert_int_equal(traffic_each_query(each).trips, MAX);
	/* One of them may be. */
	assert_int_equal(hold("101", TRIP_EACH_OP_PASS, 0), 0);
	assert_int_equal(hold("102", TRIP_EACH_OP_NONE, 0), 0);
	for (uint16_t queue = 0; queue < QUEUES; queue++)
		(void)pass(queue, 1, 1);
	assert_int_equal(hold("7", TRIP_EACH_OP_DROP, 0), 0);
	close_all();
}

/* A queue that nobody polls has taken none of 64; the one behind them changes nothing. */
static void
each_06_holds_by_hand_wait_for_who_polls(void **state)
{
	uint64_t told;

	open_all(1);
	for (unsigned int i = 0; i < 32; i++) {
		assert_int_equal(hold("7", TRIP_EACH_OP_DROP, 0), 0);
		assert_int_equal(hold("7", TRIP_EACH_OP_NONE, 0), 0);
	}
	assert_int_equal(pass(0, 7, 1), 1);
	told = traffic_each_query(each).trips;
	assert_int_equal(hold("7", TRIP_EACH_OP_DROP, 0), -EAGAIN);
	assert_non_null(strstr(trip_error_message(), "who polls queue 1"));
	assert_int_equal(traffic_each_query(each).trips, told);
	assert_int_equal(pass(1, 7, 1), 1);
	assert_int_equal(hold("7", TRIP_EACH_OP_DROP, 0), 0);
	assert_int_equal(pass(1, 7, 1), 0);
	close_all();
}

static void
each_06_a_statement_says_that_keys_are_held_by_hand(void **state)
{
	open_all(0);
	assert_int_equal(traffic_each_query(each).by_hand, 0);
	assert_int_equal(hold("7", TRIP_EACH_OP_DROP, 0), -ENOTSUP);
	assert_non_null(strstr(trip_error_message(), "without by_hand"));
	close_all();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(each_06_a_key_is_held_by_hand_for_a_time),
	HARNESS_TEST_OWN(each_06_a_key_passes_and_is_let_go_by_hand),
	HARNESS_TEST_OWN(each_06_what_cannot_be_held_by_hand_is_refused),
	HARNESS_TEST_OWN(each_06_holds_by_hand_wait_for_who_polls),
	HARNESS_TEST_OWN(each_06_a_statement_says_that_keys_are_held_by_hand),
};

TRAFFIC_MAIN(tests)
