/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that trip again each time that so much more has come, and keys that begin anew as they trip,
 * beside what was sent of each; on a port of two queues.
 */
#include <errno.h>
#include <string.h>

#include "harness.h"
#include "traffic.h"

#define QUEUES 2
#define KEYS 12
#define MAX 200
#define BURSTS 3000
#define LENGTH 100
#define LONG_US (UINT64_C(3600) * 1000000)

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static const struct trip_domain_attr tune = {.each_bytes = 4 << 20, .max_queues = 4};

static struct trip_port *port;
static struct trip_each *each;
static uint64_t next_trip, sent_in_all;

static void
open_port(void)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};

	harness_open(1, &tune);
	port = traffic_open(QUEUES, &attr);
	next_trip = sent_in_all = 0;
}

static struct trip_each_attr
attr_of(const struct trip_each_when *whens, const struct trip_each_act *acts, uint32_t n)
{
	return (struct trip_each_attr){.size = sizeof(struct trip_each_attr),
		.name = "victims",
		.parts = by_port,
		.n_parts = 1,
		.max = MAX,
		.idle_us = LONG_US,
		.whens = whens,
		.acts = acts,
		.n_whens = n};
}

static void
open_all(const struct trip_each_when *whens, const struct trip_each_act *acts, uint32_t n)
{
	const struct trip_each_attr attr = attr_of(whens, acts, n);

	open_port();
	each = traffic_each(port, &attr, 0);
}

static int
add_up(const struct trip_each_entry *entry, void *arg)
{
	uint64_t *sums = arg;

	sums[0] += entry->packets + entry->anew_packets;
	sums[1] += entry->bytes + entry->anew_bytes;
	return 0;
}

/* EACH-03. */
static void
check_totals(void)
{
	struct trip_each_info info = traffic_each_query(each);
	uint64_t sums[2] = {info.remainder_packets, info.remainder_bytes};

	assert_int_equal(info.packets, sent_in_all);
	assert_int_equal(trip_each_walk(each, add_up, sums), 0);
	assert_int_equal(sums[0], info.packets);
	assert_int_equal(sums[1], info.bytes);
}

static void
close_all(void)
{
	struct trip_each_trip trip;

	assert_int_equal(trip_each_trips(each, next_trip, &trip, sizeof(trip), 1), 0);
	check_totals();
	traffic_each_close(each);
	traffic_close(port);
	harness_close();
}

/* How many pass. */
static uint16_t
pass(uint16_t queue, uint16_t key, uint16_t n)
{
	sent_in_all += n;
	return traffic_burst(port, queue, n, key, LENGTH);
}

static struct trip_each_entry
read_key(uint16_t key)
{
	const uint8_t bytes[] = {(uint8_t)(key >> 8), (uint8_t)key};
	struct trip_each_entry entry = {.size = sizeof(entry)};

	assert_int_equal(trip_each_read(each, bytes, &entry), 0);
	return entry;
}

/* The next trip is that of a key, by a condition, at so many packets, for so many times. */
static void
expect(uint16_t key, uint32_t when, uint64_t packets, uint32_t times)
{
	struct trip_each_trip trip;

	assert_int_equal(trip_each_trips(each, next_trip, &trip, sizeof(trip), 1), 1);
	assert_int_equal(trip.number, next_trip++);
	assert_int_equal(trip.key[0] << 8 | trip.key[1], key);
	assert_int_equal(trip.when, when);
	assert_int_equal(trip.packets, packets);
	assert_int_equal(trip.bytes, packets * LENGTH);
	assert_int_equal(trip.times, times);
	assert_int_equal(trip.flags, 0);
}

static void
expect_end(uint16_t key, uint32_t when)
{
	struct trip_each_trip trip;

	assert_int_equal(trip_each_trips(each, next_trip, &trip, sizeof(trip), 1), 1);
	next_trip++;
	assert_int_equal(trip.key[0] << 8 | trip.key[1], key);
	assert_int_equal(trip.when, when);
	assert_int_equal(trip.flags, TRIP_EACH_TRIP_END);
}

static void
expect_none(void)
{
	assert_int_equal(traffic_each_query(each).trips, next_trip);
}

/* ---- again ------------------------------------------------------------------------------------
 */

static void
each_04_a_key_trips_each_time_that_so_much_more_came(void **state)
{
	static const struct trip_each_when when = {.count = 100, .every = 10};

	open_all(&when, NULL, 1);
	(void)pass(0, 7, 99);
	expect_none();
	(void)pass(1, 7, 1);
	expect(7, 0, 100, 1);
	(void)pass(1, 7, 9);
	expect_none();
	(void)pass(0, 7, 1);
	expect(7, 0, 110, 1);
	/* Of a burst it is told chunk by chunk, as that is counted: 120, 130, and 140. */
	(void)pass(1, 7, 32);
	expect(7, 0, 142, 3);
	assert_int_equal(read_key(7).tripped, 1);
	/* Each key by itself. */
	(void)pass(0, 8, 30);
	(void)pass(1, 8, 30);
	(void)pass(0, 8, 30);
	expect_none();
	(void)pass(1, 8, 25);
	expect(8, 0, 115, 2);
	close_all();
}

/* Random bursts on both queues, by packets and by bytes. */
static void
each_04_none_of_many_is_early_or_missed(void **state)
{
	static const struct trip_each_when whens[] = {{.count = 25, .every = 10},
		{.of = TRIP_EACH_BYTES, .count = 40 * LENGTH, .every = 7 * LENGTH}};
	struct trip_random random = {trip_test_seed("each_04_none_of_many_is_early")};
	uint64_t bursts = RTE_MAX(harness_rounds(BURSTS), UINT64_C(600)), sent[KEYS] = {0};

	open_all(whens, NULL, 2);
	for (uint64_t i = 0; i < bursts; i++) {
		uint16_t key = (uint16_t)trip_random_below(&random, KEYS);
		uint64_t n = trip_random_below(&random, 33), before = sent[key];

		(void)pass((uint16_t)trip_random_below(&random, QUEUES), key, (uint16_t)n);
		sent[key] += n;
		for (uint32_t when = 0; when < 2; when++) {
			uint64_t count = when == 0 ? 25 : 40, every = when == 0 ? 10 : 7;
			uint64_t had = before < count ? 0 : (before - count) / every + 1;
			uint64_t has = sent[key] < count ? 0 : (sent[key] - count) / every + 1;

			if (has > had)
				expect(key, when, sent[key], (uint32_t)(has - had));
		}
		expect_none();
	}
	close_all();
}

/* Each time prolongs what it does. */
static void
each_06_each_time_drops_anew(void **state)
{
	static const struct trip_each_when when = {.count = 10, .every = 10};
	static const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP, .time_us = 1000000};
	uint64_t until;

	open_all(&when, &act, 1);
	assert_int_equal(pass(0, 7, 15), 10);
	expect(7, 0, 15, 1);
	until = read_key(7).until_ns;
	assert_int_equal(pass(1, 7, 6), 0);
	expect(7, 0, 21, 1);
	assert_true(read_key(7).until_ns > until);
	assert_int_equal(pass(0, 7, 3), 0);
	expect_none();
	close_all();
}

/* ---- anew -------------------------------------------------------------------------------------
 */

/* What comes behind is counted from 0, on whichever queue. */
static void
each_03_a_key_begins_anew_as_it_trips(void **state)
{
	static const struct trip_each_when when = {.count = 100};
	static const struct trip_each_act act = {.op = TRIP_EACH_OP_RESET};

	open_all(&when, &act, 1);
	(void)pass(0, 7, 60);
	(void)pass(1, 7, 32);
	expect_none();
	(void)pass(1, 7, 32);
	expect(7, 0, 124, 1);
	assert_int_equal(read_key(7).packets, 0);
	assert_int_equal(read_key(7).anew, 1);
	assert_int_equal(read_key(7).anew_packets, 124);
	assert_int_equal(read_key(7).tripped, 0);
	check_totals();
	/* The queue that did not see it trip goes on from there. */
	(void)pass(0, 7, 32);
	(void)pass(0, 7, 32);
	(void)pass(1, 7, 32);
	assert_int_equal(read_key(7).packets, 96);
	expect_none();
	(void)pass(0, 7, 4);
	expect(7, 0, 100, 1);
	assert_int_equal(read_key(7).packets, 0);
	assert_int_equal(read_key(7).anew, 2);
	(void)pass(1, 7, 1);
	assert_int_equal(read_key(7).packets, 1);
	assert_int_equal(read_key(7).bytes, LENGTH);
	close_all();
}

/* What is due by then trips before, once in each life; of a burst there is one trip. */
static void
each_04_all_is_armed_again_as_a_key_begins_anew(void **state)
{
	static const struct trip_each_when whens[] = {{.count = 30, .every = 30}, {.count = 10},
		{.count = 20, .every = 10}, {.of = TRIP_EACH_BYTES, .count = 15 * LENGTH}};
	static const struct trip_each_act acts[] = {{.op = TRIP_EACH_OP_RESET}, {0}, {0}, {0}};

	open_all(whens, acts, 4);
	for (unsigned int life = 0; life < 5; life++) {
		uint16_t queue = (uint16_t)(life % QUEUES);

		(void)pass(queue, 7, 12);
		expect(7, 1, 12, 1);
		expect_none();
		(void)pass((uint16_t)!queue, 7, 32);
		expect(7, 2, 44, 3);
		expect(7, 3, 44, 1);
		expect(7, 0, 44, 1);
		expect_none();
	}
	close_all();
}

static void
each_03_lives_are_those_of_the_model(void **state)
{
	static const struct trip_each_when whens[] = {
		{.of = TRIP_EACH_BYTES, .count = 40 * LENGTH}, {.count = 33}};
	static const struct trip_each_act acts[] = {{.op = TRIP_EACH_OP_RESET}, {0}};
	struct trip_random random = {trip_test_seed("each_03_lives_are_those_of_the_model")};
	uint64_t bursts = RTE_MAX(harness_rounds(BURSTS), UINT64_C(600)), has[KEYS] = {0};
	bool told[KEYS] = {false};

	open_all(whens, acts, 2);
	for (uint64_t i = 0; i < bursts; i++) {
		uint16_t key = (uint16_t)trip_random_below(&random, KEYS);
		uint64_t n = trip_random_below(&random, 33);

		(void)pass((uint16_t)trip_random_below(&random, QUEUES), key, (uint16_t)n);
		has[key] += n;
		if (has[key] >= 33 && !told[key]) {
			expect(key, 1, has[key], 1);
			told[key] = true;
		}
		if (has[key] >= 40) {
			expect(key, 0, has[key], 1);
			has[key] = 0;
			told[key] = false;
		}
		expect_none();
		if (n > 0)
			assert_int_equal(read_key(key).packets, has[key]);
		/* Of many others, so that keys go: those that began anew stay. */
		if (i % 8 == 0)
			(void)pass(0, (uint16_t)(1000 + i), 1);
	}
	close_all();
}

/* What was done to it ends, and is told by whoever began it. */
static void
each_06_who_begins_anew_passes(void **state)
{
	static const struct trip_each_when whens[] = {{.count = 10}, {.count = 50}};
	static const struct trip_each_act acts[] = {
		{.op = TRIP_EACH_OP_DROP}, {.op = TRIP_EACH_OP_RESET}};

	open_all(whens, acts, 2);
	assert_int_equal(pass(0, 7, 32), 10);
	expect(7, 0, 32, 1);
	assert_int_equal(pass(0, 7, 18), 0);
	expect_end(7, 0);
	expect(7, 1, 50, 1);
	assert_int_equal(read_key(7).op, TRIP_EACH_OP_NONE);
	assert_int_equal(pass(0, 7, 5), 5);
	/* By the other queue: it passes there at once. */
	assert_int_equal(pass(0, 7, 7), 5);
	expect(7, 0, 12, 1);
	assert_int_equal(pass(1, 7, 32), 0);
	assert_int_equal(pass(1, 7, 6), 0);
	expect(7, 1, 50, 1);
	assert_int_equal(pass(1, 7, 3), 3);
	assert_int_equal(pass(0, 7, 3), 3);
	expect_end(7, 0);
	expect_none();
	close_all();
}

static void
each_04_says_what_lasts_and_what_does_not(void **state)
{
	static const struct trip_each_when when = {.count = 10};
	static const struct trip_each_act act = {.op = TRIP_EACH_OP_RESET, .time_us = 5};
	struct trip_each_attr attr = attr_of(&when, &act, 1);
	struct trip_each *none;

	open_port();
	attr.ports = &port;
	attr.n_ports = 1;
	assert_int_equal(trip_each_open(harness_domain, &attr, &none), -EINVAL);
	assert_non_null(strstr(trip_error_message(), "lasts"));
	traffic_close(port);
	harness_close();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(each_04_a_key_trips_each_time_that_so_much_more_came),
	HARNESS_TEST_OWN(each_04_none_of_many_is_early_or_missed),
	HARNESS_TEST_OWN(each_06_each_time_drops_anew),
	HARNESS_TEST_OWN(each_03_a_key_begins_anew_as_it_trips),
	HARNESS_TEST_OWN(each_04_all_is_armed_again_as_a_key_begins_anew),
	HARNESS_TEST_OWN(each_03_lives_are_those_of_the_model),
	HARNESS_TEST_OWN(each_06_who_begins_anew_passes),
	HARNESS_TEST_OWN(each_04_says_what_lasts_and_what_does_not),
};

TRAFFIC_MAIN(tests)
