/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that come and go, as it is told where that is asked for, beside what was sent: by a clock
 * that is fed, on two queues, in each of which more keys come than there is room for.
 */
#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>

#include "harness.h"
#include "traffic.h"

#define QUEUES 2
#define KEYS 6000
#define BURSTS 12000
#define LENGTH 100
#define IDLE_US UINT64_C(4000)
/* So many that none is lost between two looks. */
#define KEPT 8192u

static const struct trip_domain_attr tune = {
	.clock = TRIP_CLOCK_PACKET, .each_bytes = 4 << 20, .max_queues = 4};

/* Of a key in a table, as events say. */
struct known {
	bool there;
	uint64_t sent;    /* since it came */
	uint64_t last_us; /* when it had its last packet */
};

static struct trip_port *port;
static struct trip_each *each;
static uint64_t now_us, next[QUEUES], last_ns[QUEUES], gone[QUEUES];
static struct known known[QUEUES][KEYS];

static struct trip_each_attr
attr_of(uint32_t kept)
{
	static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};

	return (struct trip_each_attr){.size = sizeof(struct trip_each_attr),
		.name = "events",
		.parts = by_port,
		.n_parts = 1,
		.max = 100,
		.idle_us = IDLE_US,
		.events_kept = kept};
}

static void
open_port(void)
{
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};

	harness_open(1, &tune);
	port = traffic_open(QUEUES, &port_attr);
	now_us = 0;
	memset(next, 0, sizeof(next));
	memset(last_ns, 0, sizeof(last_ns));
	memset(gone, 0, sizeof(gone));
	memset(known, 0, sizeof(known));
}

static void
open_all(uint32_t kept)
{
	const struct trip_each_attr attr = attr_of(kept);

	open_port();
	each = traffic_each(port, &attr, 0);
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
send_packets(uint16_t queue, uint16_t key, uint16_t n)
{
	assert_int_equal(traffic_burst(port, queue, n, key, LENGTH), n);
}

static uint16_t
key_of(const struct trip_each_event *event)
{
	assert_int_equal(event->size, sizeof(*event));
	assert_int_equal(event->key_size, 2);
	assert_int_equal(event->reserved, 0);
	return (uint16_t)(event->key[0] << 8 | event->key[1]);
}

/* ---- beside a model ---------------------------------------------------------------------------
 */

static void
came(const struct trip_each_event *event, struct known *of)
{
	assert_false(of->there);
	assert_int_equal(event->packets + event->bytes, 0);
	*of = (struct known){.there = true};
}

static void
went(const struct trip_each_event *event, struct known *of)
{
	assert_true(of->there);
	assert_int_equal(event->packets, of->sent);
	assert_int_equal(event->bytes, of->sent * LENGTH);
	gone[event->table] += event->packets;
	of->there = false;
	if (event->change == TRIP_EACH_EVICTED)
		return;
	assert_int_equal(event->change, TRIP_EACH_EXPIRED);
	assert_true(event->ns / 1000 - of->last_us >= IDLE_US);
}

/* All of a table that is new, each once, in its order. */
static void
look(uint16_t queue)
{
	struct trip_each_event some[5];
	int n;

	while ((n = trip_each_events(each, queue, next[queue], some, sizeof(some[0]), 5)) > 0)
		for (int i = 0; i < n; i++) {
			struct known *of = &known[queue][key_of(&some[i])];

			assert_int_equal(some[i].number, next[queue]++);
			assert_int_equal(some[i].table, queue);
			assert_true(some[i].ns >= last_ns[queue] && some[i].ns <= now_us * 1000);
			last_ns[queue] = some[i].ns;
			if (some[i].change == TRIP_EACH_ADMITTED)
				came(&some[i], of);
			else
				went(&some[i], of);
		}
	assert_int_equal(n, 0);
}

/* Behind a burst, of which the last thing was a packet of the key: who is there was told to be. */
static void
send_and_look(uint16_t queue, uint16_t key, uint16_t n)
{
	struct known *of = &known[queue][key];

	send_packets(queue, key, n);
	look(queue);
	assert_true(of->there);
	of->sent += n;
	of->last_us = now_us;
}

static void
check_all(void)
{
	struct trip_each_info info = traffic_each_query(each);
	uint64_t events = 0, keys = 0, packets = 0;

	for (uint16_t q = 0; q < QUEUES; q++) {
		events += next[q];
		packets += gone[q];
		for (uint32_t key = 0; key < KEYS; key++) {
			keys += known[q][key].there;
			packets += known[q][key].there ? known[q][key].sent : 0;
		}
	}
	assert_int_equal(info.refused_packets, 0);
	assert_int_equal(info.events, events);
	assert_int_equal(info.admitted + info.evicted + info.expired, events);
	assert_int_equal(info.keys, keys);
	assert_int_equal(info.remainder_packets, gone[0] + gone[1]);
	assert_int_equal(info.packets, packets);
}

/* Each of them, of each table, with what had been counted of it, by the burst that finds it. */
static void
each_05_who_comes_and_goes_is_told(void **state)
{
	struct trip_random random = {trip_test_seed("each_05_who_comes_and_goes_is_told")};
	uint64_t bursts = RTE_MAX(harness_rounds(BURSTS), UINT64_C(3000));
	struct trip_each_info info;

	open_all(KEPT);
	for (uint64_t i = 0; i < bursts; i++) {
		uint32_t keys = trip_random_below(&random, 3) != 0 ? KEYS : 50;

		send_and_look((uint16_t)trip_random_below(&random, QUEUES),
			(uint16_t)trip_random_below(&random, keys),
			1 + (uint16_t)trip_random_below(&random, 4));
		if (trip_random_below(&random, 20) == 0)
			advance(trip_random_below(&random, 60));
	}
	check_all();
	info = traffic_each_query(each);
	assert_true(info.evicted > 0 && info.expired > 0);
	/* What is idle goes where nothing comes, too. */
	advance(2 * IDLE_US);
	for (uint32_t i = 0; i < 400; i++)
		for (uint16_t q = 0; q < QUEUES; q++)
			assert_int_equal(traffic_burst(port, q, 0, 0, 64), 0);
	for (uint16_t q = 0; q < QUEUES; q++)
		look(q);
	assert_int_equal(traffic_each_query(each).keys, 0);
	check_all();
	close_all();
}

/* What is overwritten is told by the numbers; each table has its own. */
static void
each_05_the_last_events_are_kept(void **state)
{
	struct trip_each_event some[32];
	int n;

	open_all(8);
	for (uint16_t key = 0; key < 20; key++)
		send_packets(0, key, 1);
	send_packets(1, 77, 1);
	n = trip_each_events(each, 0, 0, some, sizeof(some[0]), 32);
	assert_int_equal(n, 8);
	for (int i = 0; i < n; i++) {
		assert_int_equal(some[i].number, 12 + i);
		assert_int_equal(key_of(&some[i]), 12 + i);
		assert_int_equal(some[i].table, 0);
		assert_int_equal(some[i].change, TRIP_EACH_ADMITTED);
	}
	assert_int_equal(trip_each_events(each, 0, 17, some, sizeof(some[0]), 2), 2);
	assert_int_equal(some[0].number, 17);
	assert_int_equal(trip_each_events(each, 0, 20, some, sizeof(some[0]), 2), 0);
	assert_int_equal(trip_each_events(each, 0, UINT64_MAX, some, sizeof(some[0]), 2), 0);
	assert_int_equal(trip_each_events(each, 0, 0, some, sizeof(some[0]), 0), 0);
	assert_int_equal(trip_each_events(each, 1, 0, some, sizeof(some[0]), 32), 1);
	assert_int_equal(key_of(&some[0]), 77);
	assert_int_equal(some[0].table, 1);
	assert_int_equal(traffic_each_query(each).events, 21);
	assert_int_equal(traffic_each_query(each).events_kept, 8);
	assert_int_equal(trip_each_events(each, 2, 0, some, sizeof(some[0]), 1), -EINVAL);
	assert_int_equal(trip_each_events(each, 0, 0, some, sizeof(some[0]) + 8, 1), -EINVAL);
	close_all();
}

/* A program that was compiled with fewer members has these as close as it knows them. */
static void
each_05_events_may_be_shorter(void **state)
{
	const size_t size = offsetof(struct trip_each_event, bytes);
	uint64_t some[4][4];

	assert_int_equal(size % sizeof(some[0][0]), 0);
	open_all(8);
	send_packets(0, 5, 1);
	send_packets(0, 6, 1);
	memset(some, 0xa5, sizeof(some));
	assert_int_equal(trip_each_events(each, 0, 0, (void *)some, size, 4), 2);
	assert_int_equal(((uint64_t *)some)[0], size);
	assert_int_equal(((uint64_t *)some)[1], 0);
	assert_int_equal(((uint64_t *)some)[size / 8], size);
	assert_int_equal(((uint64_t *)some)[size / 8 + 1], 1);
	assert_int_equal(((uint64_t *)some)[2 * size / 8], UINT64_C(0xa5a5a5a5a5a5a5a5));
	close_all();
}

static void
each_05_nobody_is_told_who_does_not_ask(void **state)
{
	struct trip_each_attr attr = attr_of(0);
	struct trip_each_event event;
	uint64_t without, with;

	open_all(0);
	send_packets(0, 5, 1);
	assert_int_equal(trip_each_events(each, 0, 0, &event, sizeof(event), 1), 0);
	assert_int_equal(traffic_each_query(each).events, 0);
	assert_int_equal(traffic_each_query(each).admitted, 1);
	assert_int_equal(trip_each_footprint(&attr, 1, &without), 0);
	attr.events_kept = 1024;
	assert_int_equal(trip_each_footprint(&attr, 1, &with), 0);
	assert_int_equal(with - without, 1024 * 48);
	for (uint32_t i = 0; i < 3; i++) {
		attr.events_kept = (uint32_t[]){4, 12, 2u << 20}[i];
		assert_int_equal(trip_each_footprint(&attr, 1, &with), -EINVAL);
		assert_non_null(strstr(trip_error_message(), "events_kept"));
	}
	close_all();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(each_05_who_comes_and_goes_is_told),
	HARNESS_TEST_OWN(each_05_the_last_events_are_kept),
	HARNESS_TEST_OWN(each_05_events_may_be_shorter),
	HARNESS_TEST_OWN(each_05_nobody_is_told_who_does_not_ask),
};

TRAFFIC_MAIN(tests)
