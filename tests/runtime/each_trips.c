/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that trip: what is told of them, and what is woken by that, beside what was sent of each; on
 * a port of two queues.
 */
#include <errno.h>
#include <string.h>

#include "harness.h"
#include "traffic.h"

#define QUEUES 2
#define KEYS 200
#define HOT 30
#define KEPT 64
#define BURSTS 3000
#define LENGTH 100
#define LONG_US (UINT64_C(3600) * 1000000)

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static const struct trip_domain_attr tune = {.each_bytes = 4 << 20, .max_queues = 4};

static struct trip_port *port;
static struct trip_cntr *trips;
static struct trip_each *each;
static uint64_t sent[KEYS];

static struct trip_each_attr
attr_of(const struct trip_each_when *whens, uint32_t n)
{
	return (struct trip_each_attr){.size = sizeof(struct trip_each_attr),
		.name = "victims",
		.parts = by_port,
		.n_parts = 1,
		.max = 1000,
		.idle_us = LONG_US,
		.trips_kept = KEPT,
		.whens = whens,
		.n_whens = n,
		.trips = trips};
}

static void
open_port(void)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	const struct trip_cntr_attr known = {
		.size = sizeof(known), .name = "trips", .wait_obj = TRIP_WAIT_UNSPEC};

	harness_open(1, &tune);
	port = traffic_open(QUEUES, &attr);
	assert_int_equal(trip_cntr_open(harness_domain, &known, &trips, NULL), 0);
	memset(sent, 0, sizeof(sent));
}

static void
open_all(const struct trip_each_when *whens, uint32_t n)
{
	struct trip_each_attr attr;

	open_port();
	attr = attr_of(whens, n);
	each = traffic_each(port, &attr, 0);
}

static void
close_port(void)
{
	harness_cntr_close(trips);
	traffic_close(port);
	harness_close();
}

static void
close_all(void)
{
	traffic_each_close(each);
	close_port();
}

static void
send_packets(uint16_t queue, uint16_t key, uint16_t n)
{
	assert_int_equal(traffic_burst(port, queue, n, key, LENGTH), n);
	sent[key] += n;
}

static uint16_t
key_of(const struct trip_each_trip *trip)
{
	assert_int_equal(trip->size, sizeof(*trip));
	assert_int_equal(trip->key_size, 2);
	return (uint16_t)(trip->key[0] << 8 | trip->key[1]);
}

/* The trip of a number, which is there. */
static struct trip_each_trip
trip_at(uint64_t number)
{
	struct trip_each_trip trip;

	assert_int_equal(trip_each_trips(each, number, &trip, sizeof(trip), 1), 1);
	assert_int_equal(trip.number, number);
	return trip;
}

static uint32_t
tripped(uint16_t key)
{
	const uint8_t bytes[] = {(uint8_t)(key >> 8), (uint8_t)key};
	struct trip_each_entry entry = {.size = sizeof(entry)};

	assert_int_equal(trip_each_read(each, bytes, &entry), 0);
	return entry.tripped;
}

/* In the burst in which it does, whatever queues have its packets; and once. */
static void
each_04_a_key_trips_with_its_nth_packet(void **state)
{
	static const struct trip_each_when when = {.count = 100};
	struct trip_each_trip trip;

	open_all(&when, 1);
	send_packets(0, 7, 60);
	send_packets(1, 7, 39);
	send_packets(0, 8, 99);
	assert_int_equal(trip_cntr_read(trips), 0);
	assert_int_equal(trip_each_trips(each, 0, &trip, sizeof(trip), 1), 0);
	assert_int_equal(tripped(7), 0);
	/* On the queue that has fewer than its part. */
	send_packets(1, 7, 1);
	assert_int_equal(trip_cntr_read(trips), 1);
	trip = trip_at(0);
	assert_int_equal(key_of(&trip), 7);
	assert_int_equal(trip.packets, 100);
	assert_int_equal(trip.bytes, 100 * LENGTH);
	assert_int_equal(trip.when, 0);
	assert_int_equal(trip.table, 1);
	assert_int_equal(tripped(7), 1);
	for (uint16_t q = 0; q < QUEUES; q++)
		send_packets(q, 7, 300);
	assert_int_equal(trip_cntr_read(trips), 1);
	send_packets(0, 8, 1);
	assert_int_equal(trip_cntr_read(trips), 2);
	assert_int_equal(key_of((struct trip_each_trip[]){trip_at(1)}), 8);
	/* From its first packet on there may be enough. */
	send_packets(1, 9, 150);
	assert_int_equal(trip_cntr_read(trips), 3);
	trip_assert_range(trip_at(2).packets, 100, 150);
	close_all();
}

static void
each_04_each_condition_trips_by_itself(void **state)
{
	static const struct trip_each_when whens[] = {{.count = 30}, {.count = 10},
		{.of = TRIP_EACH_BYTES, .count = 2000}, {.count = 30}};
	static const uint32_t order[] = {1, 2, 0, 3};

	open_all(whens, 4);
	send_packets(0, 5, 9);
	assert_int_equal(trip_cntr_read(trips), 0);
	send_packets(1, 5, 10);
	assert_int_equal(trip_cntr_read(trips), 1);
	send_packets(0, 5, 1);
	assert_int_equal(trip_cntr_read(trips), 2);
	assert_int_equal(tripped(5), 6);
	send_packets(1, 5, 10);
	assert_int_equal(trip_cntr_read(trips), 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(trip_at(i).when, order[i]);
	assert_int_equal(trip_at(1).bytes, 2000);
	assert_int_equal(tripped(5), 15);
	close_all();
}

/* Ordinary work of the counter, in the order of trips, one item for each of them. */
static void
each_04_work_is_woken_by_trips(void **state)
{
	static const struct trip_each_when when = {.count = 10};
	static struct harness_notes notes;

	open_all(&when, 1);
	harness_notes_open(&notes);
	for (uint64_t i = 1; i <= 5; i++)
		(void)harness_note(&notes, trips, 6 - i, 6 - i);
	send_packets(0, 1, 9);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	for (uint16_t key = 1; key <= 5; key++) {
		send_packets(key % QUEUES, key, 10);
		harness_until(harness_notes_count(&notes) == key);
		assert_int_equal(notes.event[key - 1].context, key);
		assert_int_equal(key_of((struct trip_each_trip[]){trip_at(key - 1u)}), key);
	}
	assert_int_equal(trip_cntr_wait(trips, 5, 0), 0);
	harness_notes_close(&notes);
	close_all();
}

/* What is overwritten is told by the numbers. */
static void
each_04_the_last_trips_are_kept(void **state)
{
	static const struct trip_each_when when = {.count = 1};
	struct trip_each_trip some[2 * KEPT];
	struct trip_each_info info = {.size = sizeof(info)};
	int n;

	open_all(&when, 1);
	for (uint16_t key = 0; key < KEPT + 20; key++)
		send_packets(key % QUEUES, key, 1);
	assert_int_equal(trip_cntr_read(trips), KEPT + 20);
	n = trip_each_trips(each, 0, some, sizeof(some[0]), 2 * KEPT);
	assert_int_equal(n, KEPT);
	for (int i = 0; i < n; i++) {
		assert_int_equal(some[i].number, 20 + i);
		assert_int_equal(key_of(&some[i]), 20 + i);
		assert_int_equal(some[i].table, (20 + i) % QUEUES);
	}
	assert_int_equal(trip_each_trips(each, 70, some, sizeof(some[0]), 3), 3);
	assert_int_equal(some[0].number, 70);
	assert_int_equal(trip_each_trips(each, KEPT + 20, some, sizeof(some[0]), 3), 0);
	assert_int_equal(trip_each_trips(each, 0, some, 3, 3), -EINVAL);
	assert_int_equal(trip_each_query(each, &info), 0);
	assert_int_equal(info.trips, KEPT + 20);
	assert_int_equal(info.trips_kept, KEPT);
	assert_int_equal(info.n_whens, 1);
	assert_int_equal(info.whens[0].count, 1);
	close_all();
}

/* All that trips does so in the burst that takes it there, over both queues; nothing else does. */
static void
each_04_none_is_early_and_none_is_missed(void **state)
{
	static const struct trip_each_when whens[] = {
		{.count = 50}, {.of = TRIP_EACH_BYTES, .count = 70 * LENGTH - 1}};
	struct trip_random random = {trip_test_seed("each_04_none_is_early")};
	/* Enough for some key to come to its count. */
	uint64_t bursts = RTE_MAX(harness_rounds(BURSTS), UINT64_C(600)), n = 0;

	open_all(whens, 2);
	for (uint64_t i = 0; i < bursts; i++) {
		uint16_t key = (uint16_t)trip_random_below(
			&random, trip_random_below(&random, 2) != 0 ? HOT : KEYS);
		uint64_t before = sent[key];

		send_packets((uint16_t)trip_random_below(&random, QUEUES), key,
			(uint16_t)trip_random_below(&random, 12));
		for (uint32_t when = 0; when < 2; when++) {
			uint64_t count = when == 0 ? 50 : 70;
			struct trip_each_trip trip;

			if (before >= count || sent[key] < count)
				continue;
			trip = trip_at(n++);
			assert_int_equal(key_of(&trip), key);
			assert_int_equal(trip.when, when);
			assert_int_equal(trip.packets, sent[key]);
			assert_int_equal(trip.bytes, sent[key] * LENGTH);
		}
		assert_int_equal(trip_cntr_read(trips), n);
	}
	assert_true(n > 0);
	close_all();
}

/* ---- what it cannot be ------------------------------------------------------------------------
 */

static void
refuse(struct trip_each_when when, uint32_t n, int error, const char *words)
{
	const struct trip_each_when whens[5] = {when, {.count = 5}, when, when, when};
	struct trip_each_attr attr = attr_of(n > 0 ? whens : NULL, n > 0 ? n : 1);
	struct trip_each *none;

	attr.ports = &port;
	attr.n_ports = 1;
	assert_int_equal(trip_each_open(harness_domain, &attr, &none), error);
	if (strstr(trip_error_message(), words) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", trip_error_message(), words);
}

static void
each_04_says_what_is_no_condition(void **state)
{
	static const struct trip_each_when good = {.count = 5};
	const uint64_t big = (UINT64_C(1) << 40) + 1;
	struct trip_each_attr attr;
	struct trip_each *none;

	open_port();
	refuse(good, 0, -EINVAL, "conditions");
	refuse(good, 5, -EINVAL, "5 conditions");
	refuse((struct trip_each_when){.count = 0}, 1, -EINVAL, "count 0");
	refuse((struct trip_each_when){.count = UINT64_C(1) << 48}, 1, -EINVAL, "count");
	refuse((struct trip_each_when){.of = (enum trip_each_rank)2, .count = 1}, 1, -EINVAL,
		"is of 2");
	refuse((struct trip_each_when){.count = 1, .until = 2}, 1, -EINVAL, "no rate");
	refuse((struct trip_each_when){.count = 1, .every = UINT64_C(1) << 48}, 1, -EINVAL,
		"every 281474976710656");
	refuse((struct trip_each_when){.count = 1, .seconds = 2}, 1, -EINVAL, "no rate");
	refuse((struct trip_each_when){.count = 1, .rate = 2}, 1, -EINVAL, "a count and a rate");
	refuse((struct trip_each_when){.rate = big}, 1, -EINVAL, "above 2^40");
	refuse((struct trip_each_when){.rate = 1, .burst = big}, 1, -EINVAL, "above 2^40");
	refuse((struct trip_each_when){.rate = 1, .burst = 5, .until = 6}, 1, -EINVAL, "until 6");
	refuse((struct trip_each_when){.rate = 1, .burst = 5}, 3, -ENOTSUP,
		"condition 2 is a second rate");
	attr = attr_of(&good, 1);
	attr.ports = &port;
	attr.n_ports = 1;
	attr.trips_kept = 48;
	assert_int_equal(trip_each_open(harness_domain, &attr, &none), -EINVAL);
	assert_non_null(strstr(trip_error_message(), "trips_kept 48"));
	attr.trips_kept = 0;
	attr.n_whens = 0;
	assert_int_equal(trip_each_open(harness_domain, &attr, &none), -EINVAL);
	assert_non_null(strstr(trip_error_message(), "no condition"));
	attr.n_whens = 1;
	attr.trips = trip_clock_cntr(harness_domain);
	assert_int_equal(trip_each_open(harness_domain, &attr, &none), -EINVAL);
	assert_non_null(strstr(trip_error_message(), "clock"));
	close_port();
}

/* It is the statement's as long as that is open. */
static void
each_04_the_counter_stays(void **state)
{
	static const struct trip_each_when when = {.count = 5};

	open_all(&when, 1);
	assert_int_equal(trip_cntr_close(trips), -EBUSY);
	close_all();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(each_04_a_key_trips_with_its_nth_packet),
	HARNESS_TEST_OWN(each_04_each_condition_trips_by_itself),
	HARNESS_TEST_OWN(each_04_work_is_woken_by_trips),
	HARNESS_TEST_OWN(each_04_the_last_trips_are_kept),
	HARNESS_TEST_OWN(each_04_none_is_early_and_none_is_missed),
	HARNESS_TEST_OWN(each_04_says_what_is_no_condition),
	HARNESS_TEST_OWN(each_04_the_counter_stays),
};

TRAFFIC_MAIN(tests)
