/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that trip by a rate, by a clock that is fed, beside all packets of each: over `rate` and
 * `burst` in some interval that ends now, or not.
 */
#include <errno.h>
#include <string.h>

#include "harness.h"
#include "traffic.h"

#define KEYS 12
#define BURSTS 4000
#define RATE 100000
#define BURST 50000
#define UNTIL 20000
#define LENGTH 100
#define LONG_US (UINT64_C(3600) * 1000000)

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static const struct trip_domain_attr tune = {
	.clock = TRIP_CLOCK_PACKET, .each_bytes = 2 << 20, .max_queues = 4};
static const struct trip_each_when whens[] = {
	{.of = TRIP_EACH_BYTES, .rate = RATE, .burst = BURST, .until = UNTIL}};

static struct trip_port *port;
static struct trip_cntr *trips;
static struct trip_each *each;
static uint64_t now_us;

/* Of each key the most that it had above the rate in any interval that ends now, times a million:
 * by the definition, from each of its packets on. */
static struct truth {
	uint64_t at[BURSTS];
	uint64_t bytes[BURSTS];
	unsigned int n;
	bool told;
} truths[KEYS];

static void
open_all(uint16_t queues)
{
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	const struct trip_cntr_attr known = {.size = sizeof(known), .name = "trips"};
	struct trip_each_attr attr = {.size = sizeof(attr),
		.name = "rates",
		.parts = by_port,
		.n_parts = 1,
		.max = 100,
		.idle_us = LONG_US,
		.whens = whens,
		.n_whens = 1};

	harness_open(1, &tune);
	port = traffic_open(queues, &port_attr);
	assert_int_equal(trip_cntr_open(harness_domain, &known, &trips, NULL), 0);
	attr.trips = trips;
	each = traffic_each(port, &attr, 0);
	memset(truths, 0, sizeof(truths));
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

/* What it held above the rate, at most, in intervals that end now. */
static uint64_t
most_above(const struct truth *truth)
{
	uint64_t sum = 0, most = 0;

	for (unsigned int i = truth->n; i-- > 0;) {
		uint64_t leaked = (now_us - truth->at[i]) * RATE;

		sum += truth->bytes[i] * 1000000;
		if (sum > leaked && sum - leaked > most)
			most = sum - leaked;
	}
	return most;
}

static bool
send_packets(uint16_t queue, uint16_t key, uint16_t n)
{
	struct truth *truth = &truths[key];
	bool low = most_above(truth) <= (uint64_t)UNTIL * 1000000, over;

	assert_int_equal(traffic_burst(port, queue, n, key, LENGTH), n);
	truth->at[truth->n] = now_us;
	truth->bytes[truth->n++] = (uint64_t)n * LENGTH;
	truth->told = truth->told && !low;
	over = most_above(truth) > (uint64_t)BURST * 1000000 && !truth->told;
	truth->told |= over;
	return over;
}

/* On one queue: of a key that is told, what was above the burst is over with that. */
static bool
send_alone(uint16_t key, uint16_t n)
{
	struct truth *truth = &truths[key];
	bool over = send_packets(0, key, n);

	if (truth->told && most_above(truth) > (uint64_t)BURST * 1000000) {
		truth->at[0] = now_us;
		truth->bytes[0] = BURST;
		truth->n = 1;
	}
	return over;
}

static uint16_t
key_of(uint64_t number)
{
	struct trip_each_trip trip;

	assert_int_equal(trip_each_trips(each, number, &trip, sizeof(trip), 1), 1);
	assert_int_equal(trip.number, number);
	assert_int_equal(trip.ns, now_us * 1000);
	return (uint16_t)(trip.key[0] << 8 | trip.key[1]);
}

/* Packet by packet it is as by the definition, and told again behind `until` alone. */
static void
each_04_a_rate_trips_as_its_definition_says(void **state)
{
	struct trip_random random = {trip_test_seed("each_04_a_rate")};
	uint64_t bursts = RTE_MIN(harness_rounds(BURSTS), (uint64_t)BURSTS), n = 0, again = 0;
	bool before[KEYS] = {0};

	open_all(1);
	for (uint64_t i = 0; i < bursts; i++) {
		uint16_t key = (uint16_t)trip_random_below(&random, KEYS);

		/* About the rate; keys have parts of it that differ. */
		advance(1 + trip_random_below(&random, 12000));
		if (send_alone(key, (uint16_t)trip_random_below(&random, 20 * (key + 1u)))) {
			again += before[key];
			before[key] = true;
			assert_int_equal(trip_cntr_read(trips), n + 1);
			assert_int_equal(key_of(n), key);
			n++;
		}
		assert_int_equal(trip_cntr_read(trips), n);
	}
	assert_true(n > 0);
	assert_true(harness_away != NULL || again > 0);
	close_all();
}

/* Exactly at the burst it holds no more than that. */
static void
each_04_a_rate_is_reached_above_its_burst(void **state)
{
	open_all(1);
	assert_false(send_alone(1, BURST / LENGTH));
	assert_int_equal(trip_cntr_read(trips), 0);
	advance(LENGTH * 1000000 / RATE);
	assert_false(send_alone(1, 1));
	assert_int_equal(trip_cntr_read(trips), 0);
	assert_true(send_alone(1, 1));
	assert_int_equal(trip_cntr_read(trips), 1);
	/* Above `until`, and then at it, however much came meanwhile. */
	advance((uint64_t)(BURST - UNTIL) * 1000000 / RATE - 1);
	assert_false(send_alone(1, 400));
	assert_int_equal(trip_cntr_read(trips), 1);
	advance((uint64_t)(BURST - UNTIL) * 1000000 / RATE - 1);
	assert_false(send_alone(1, 400));
	assert_int_equal(trip_cntr_read(trips), 1);
	advance((uint64_t)(BURST - UNTIL) * 1000000 / RATE);
	assert_true(send_alone(1, 400));
	assert_int_equal(trip_cntr_read(trips), 2);
	close_all();
}

/* Each queue judges what it has seen: never early, and told once. */
static void
each_04_a_rate_on_two_queues_is_not_early(void **state)
{
	struct trip_random random = {trip_test_seed("each_04_a_rate_on_two")};
	uint64_t bursts = RTE_MIN(harness_rounds(BURSTS), (uint64_t)BURSTS), n = 0;

	open_all(2);
	for (uint64_t i = 0; i < bursts; i++) {
		uint16_t key = (uint16_t)trip_random_below(&random, KEYS);
		uint64_t now;

		advance(1 + trip_random_below(&random, 12000));
		(void)send_packets((uint16_t)trip_random_below(&random, 2), key,
			(uint16_t)trip_random_below(&random, 60 * (key + 1u)));
		now = trip_cntr_read(trips);
		trip_assert_range(now, n, n + 1);
		if (now == n)
			continue;
		assert_int_equal(key_of(n), key);
		assert_true(most_above(&truths[key]) > (uint64_t)BURST * 1000000);
		n = now;
	}
	assert_true(n > 0);
	close_all();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(each_04_a_rate_trips_as_its_definition_says),
	HARNESS_TEST_OWN(each_04_a_rate_is_reached_above_its_burst),
	HARNESS_TEST_OWN(each_04_a_rate_on_two_queues_is_not_early),
};

TRAFFIC_MAIN(tests)
