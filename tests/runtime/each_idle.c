/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that have been idle, by a clock that is fed: each verdict is about a moment of it, and all
 * that counts is how often the queues are polled.
 */
#include <errno.h>

#include <rte_byteorder.h>

#include "harness.h"
#include "traffic.h"

#define KEYS 40
#define QUEUES 2
#define IDLE_US UINT64_C(20000)

static const struct trip_domain_attr tune = {
	.clock = TRIP_CLOCK_PACKET, .each_bytes = 1 << 20, .max_queues = 4};

static struct trip_port *port;
static struct trip_each *each;
static uint64_t now_us, last_us[KEYS];

static void
open_all(void)
{
	static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	const struct trip_each_attr attr = {.size = sizeof(attr),
		.name = "idle",
		.parts = by_port,
		.n_parts = 1,
		.max = 100,
		.idle_us = IDLE_US};

	harness_open(1, &tune);
	port = traffic_open(QUEUES, &port_attr);
	each = traffic_each(port, &attr, 0);
	now_us = 0;
}

static void
close_all(void)
{
	traffic_each_close(each);
	traffic_close(port);
	harness_close();
}

static void
advance(uint64_t us)
{
	now_us += us;
	harness_advance(now_us * 1000);
}

static void
send_packets(uint16_t key, uint16_t n)
{
	assert_int_equal(traffic_burst(port, key % QUEUES, n, key, 64), n);
	last_us[key] = now_us;
}

/* Nothing comes. */
static void
poll_queues(void)
{
	for (uint16_t q = 0; q < QUEUES; q++)
		assert_int_equal(traffic_burst(port, q, 0, 0, 64), 0);
}

static bool
is_there(uint16_t key)
{
	const uint16_t bytes = rte_cpu_to_be_16(key);
	struct trip_each_entry entry = {.size = sizeof(entry)};
	int result = trip_each_read(each, &bytes, &entry);

	assert_true(result == 0 || result == -ENOENT);
	return result == 0;
}

static void
look(void)
{
	for (uint16_t key = 0; key < KEYS; key++) {
		uint64_t idle = now_us - last_us[key];

		if (idle < IDLE_US)
			assert_true(is_there(key));
		if (idle > IDLE_US + IDLE_US / 100)
			assert_false(is_there(key));
	}
}

/* Polled as an lcore polls, which sees each moment: never before its time, nor a hundredth late. */
static void
each_05_an_idle_key_goes_in_time(void **state)
{
	struct trip_each_info info;

	open_all();
	for (uint16_t key = 0; key < KEYS; key++) {
		send_packets(key, 1 + key % 3);
		for (unsigned int i = 0; i < 90; i++) {
			advance(IDLE_US / KEYS / 100);
			poll_queues();
		}
	}
	/* Some come again, and stay. */
	for (uint16_t key = 0; key < KEYS; key += 3)
		send_packets(key, 1);
	while (traffic_each_query(each).keys > 0) {
		advance(1);
		poll_queues();
		if (now_us % 20 == 0)
			look();
	}
	look();
	info = traffic_each_query(each);
	assert_true(now_us <= IDLE_US + last_us[KEYS - 1] + IDLE_US / 100);
	assert_int_equal(info.expired, KEYS);
	assert_int_equal(info.evicted, 0);
	assert_int_equal(info.floor, 0);
	assert_int_equal(info.remainder_packets, info.packets);
	close_all();
}

/* Where the clock jumps, as many polls as it takes to look at each entry find what is idle. */
static void
each_05_a_jump_of_the_clock_is_caught_up_with(void **state)
{
	open_all();
	for (uint16_t key = 0; key < KEYS; key++)
		send_packets(key, 1);
	advance(IDLE_US - 1);
	for (unsigned int i = 0; i < 400; i++)
		poll_queues();
	assert_int_equal(traffic_each_query(each).keys, KEYS);
	advance(IDLE_US * 1000);
	for (unsigned int i = 0; i < 101; i++)
		poll_queues();
	assert_int_equal(traffic_each_query(each).keys, 0);
	assert_int_equal(traffic_each_query(each).expired, KEYS);
	/* What comes again begins anew. */
	send_packets(3, 2);
	assert_true(is_there(3));
	assert_int_equal(traffic_each_query(each).admitted, KEYS + 1);
	close_all();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(each_05_an_idle_key_goes_in_time),
	HARNESS_TEST_OWN(each_05_a_jump_of_the_clock_is_caught_up_with),
};

TRAFFIC_MAIN(tests)
