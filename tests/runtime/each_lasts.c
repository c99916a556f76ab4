/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What trips begin that ends with a rate, and keys that pass up to a rate; by a clock that is fed,
 * on a port of two queues.
 */
#include <errno.h>
#include <string.h>

#include "harness.h"
#include "traffic.h"

#define QUEUES 2
#define LENGTH 100
#define IDLE_US UINT64_C(1000000000)
#define UNTIL_US UINT64_C(100000)
#define UNTIL_COUNT 10
#define ROUNDS 2000

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static const struct trip_domain_attr tune = {
	.clock = TRIP_CLOCK_PACKET, .each_bytes = 1 << 20, .max_queues = 4};
static const struct trip_each_when rate = {.rate = 1000, .burst = 20};

static struct trip_port *port;
static struct trip_each *each;
static uint64_t now_us, told;

static void
open_all(const struct trip_each_when *when, const struct trip_each_act *act)
{
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	const struct trip_each_attr attr = {.size = sizeof(attr),
		.name = "lasts",
		.parts = by_port,
		.n_parts = 1,
		.max = 100,
		.idle_us = IDLE_US,
		.whens = when,
		.n_whens = 1,
		.acts = act};

	harness_open(1, &tune);
	port = traffic_open(QUEUES, &port_attr);
	each = traffic_each(port, &attr, 0);
	now_us = told = 0;
}

static void
close_all(void)
{
	assert_int_equal(traffic_each_query(each).trips, told);
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

static uint16_t
pass(uint16_t queue, uint16_t key, uint16_t n)
{
	return traffic_burst(port, queue, n, key, LENGTH);
}

static enum trip_each_op
op_of(uint16_t key)
{
	const uint8_t bytes[] = {(uint8_t)(key >> 8), (uint8_t)key};
	struct trip_each_entry entry = {.size = sizeof(entry)};

	assert_int_equal(trip_each_read(each, bytes, &entry), 0);
	return entry.op;
}

static void
expect(uint16_t key, bool ends)
{
	struct trip_each_trip trip;

	assert_int_equal(trip_each_trips(each, told, &trip, sizeof(trip), 1), 1);
	assert_int_equal(trip.number, told++);
	assert_int_equal(trip.key[0] << 8 | trip.key[1], key);
	assert_int_equal(trip.flags, ends ? TRIP_EACH_TRIP_END : 0);
	assert_int_equal(traffic_each_query(each).trips, told);
}

static const struct trip_each_act drop_until = {
	.op = TRIP_EACH_OP_DROP, .until_count = UNTIL_COUNT, .until_us = UNTIL_US};
static const struct trip_each_act tell_until = {.until_count = UNTIL_COUNT, .until_us = UNTIL_US};

/* As long as as much comes in its time; then it passes, and may trip anew, by what comes then. */
static void
each_06_a_drop_ends_with_its_rate(void **state)
{
	open_all(&rate, &drop_until);
	advance(1000);
	assert_int_equal(pass(0, 7, 30), 21);
	expect(7, false);
	for (unsigned int i = 0; i < 20; i++) {
		advance(UNTIL_US / 2);
		assert_int_equal(pass(0, 7, UNTIL_COUNT), 0);
	}
	/* The first completes what has come; then less than that comes for its time, and no more
	 * is dropped. */
	for (unsigned int i = 0; i < 10; i++) {
		advance(UNTIL_US / UNTIL_COUNT);
		assert_int_equal(pass(0, 7, 1), 0);
		assert_int_equal(op_of(7), TRIP_EACH_OP_DROP);
	}
	advance(UNTIL_US / UNTIL_COUNT);
	assert_int_equal(pass(0, 7, 1), 1);
	expect(7, true);
	assert_int_equal(op_of(7), TRIP_EACH_OP_NONE);
	assert_int_equal(pass(0, 7, 19), 19);
	assert_int_equal(pass(0, 7, 5), 2);
	expect(7, false);
	/* Where nothing comes, a hand ends it. */
	advance(UNTIL_US - 1);
	assert_int_equal(pass(0, 8, 0), 0);
	assert_int_equal(traffic_each_query(each).trips, told);
	for (unsigned int i = 0; i < UNTIL_US / 500; i++) {
		advance(5);
		assert_int_equal(pass(0, 8, 0), 0);
	}
	expect(7, true);
	close_all();
}

/* Wherever its packets come in. */
static void
each_06_it_is_dropped_on_all_queues_until_then(void **state)
{
	open_all(&rate, &drop_until);
	advance(1000);
	assert_int_equal(pass(0, 7, 30), 21);
	expect(7, false);
	for (unsigned int i = 0; i < 20; i++) {
		advance(UNTIL_US / 2);
		assert_int_equal(pass(1, 7, UNTIL_COUNT), 0);
	}
	assert_int_equal(pass(0, 7, 1), 0);
	advance(UNTIL_US);
	assert_int_equal(pass(1, 7, 1), 1);
	assert_int_equal(pass(0, 7, 1), 1);
	assert_int_equal(traffic_each_query(each).trips, 2);
	told++;
	close_all();
}

/* What is told alone has an end as well, and its packets pass. */
static void
each_04_what_is_told_ends_with_its_rate(void **state)
{
	open_all(&rate, &tell_until);
	advance(1000);
	assert_int_equal(pass(0, 7, 21), 21);
	expect(7, false);
	assert_int_equal(op_of(7), TRIP_EACH_OP_NONE);
	assert_int_equal(traffic_each_query(each).held, 1);
	advance(UNTIL_US / 2);
	assert_int_equal(pass(0, 7, UNTIL_COUNT), UNTIL_COUNT);
	assert_int_equal(pass(1, 7, 3), 3);
	advance(UNTIL_US - 1);
	assert_int_equal(pass(0, 7, 1), 1);
	assert_int_equal(traffic_each_query(each).trips, told);
	advance(1);
	assert_int_equal(pass(0, 7, 1), 1);
	expect(7, true);
	assert_int_equal(traffic_each_query(each).dropped_packets, 0);
	close_all();
}

/* When packets came. */
static uint64_t at[1 << 20];

/* Behind one of the packets from `began` on less than that came, for the time. */
static bool
may_end(size_t began, size_t n)
{
	for (size_t i = began - 1; i < n && at[i] + UNTIL_US <= now_us; i++)
		if (i + UNTIL_COUNT >= n || at[i + UNTIL_COUNT] >= at[i] + UNTIL_US)
			return true;
	return false;
}

/* As much came in twice the time, or it began within that. */
static bool
may_last(size_t began, size_t n)
{
	size_t last = n;

	while (last >= began && at[last - 1] + 2 * UNTIL_US > now_us)
		last--;
	return last < began || n - last >= UNTIL_COUNT;
}

/* Beside windows that a model knows: never sooner than less than that came in its time, and at the
 * latest, where a packet asks, where less came in twice that. */
static void
each_04_ends_are_those_of_the_model(void **state)
{
	struct trip_random random = {trip_test_seed("each_04_ends_are_those_of_the_model")};
	uint64_t rounds = RTE_MAX(harness_rounds(ROUNDS), UINT64_C(500)), ends = 0;
	size_t n = 0, began = 0;
	bool on = false;

	open_all(&rate, &tell_until);
	advance(1000);
	for (uint64_t i = 0; i < rounds; i++) {
		bool fast = i / 50 % 2 == 0;
		uint16_t burst = (uint16_t)trip_random_below(&random, fast ? 12 : 2);
		size_t before = n;

		advance(trip_random_below(&random, fast ? 3000 : 30000));
		(void)pass(0, 7, burst);
		while (n < before + burst)
			at[n++] = now_us;
		if (traffic_each_query(each).trips == told) {
			assert_true(!on || burst == 0 || may_last(began, n));
			continue;
		}
		assert_true(!on || may_end(began, before));
		ends += on;
		expect(7, on);
		on = !on;
		began = n;
	}
	assert_true(ends > 0);
	close_all();
}

/* ---- policed ----------------------------------------------------------------------------------
 */

#define POLICE_PPS 1000
#define BURST (POLICE_PPS / 10)

static const struct trip_each_when counted = {.count = 50};
static const struct trip_each_act police = {
	.op = TRIP_EACH_OP_POLICE, .unit = TRIP_POLICE_UNIT_PACKETS, .rate = POLICE_PPS};

/* From the packet behind the one that trips: at once what it makes in 100 ms, then the rate. */
static void
each_06_a_key_passes_up_to_a_rate(void **state)
{
	uint64_t passed = 0;

	open_all(&counted, &police);
	advance(1000);
	assert_int_equal(pass(0, 7, 500), 50 + BURST);
	expect(7, false);
	assert_int_equal(op_of(7), TRIP_EACH_OP_POLICE);
	for (unsigned int i = 0; i < 1000; i++) {
		advance(1000);
		passed += pass(0, 7, 5);
	}
	trip_assert_range(passed, 999, 1000);
	assert_int_equal(pass(0, 8, 49), 49);
	assert_int_equal(traffic_each_query(each).dropped_packets, 450 - BURST + 5000 - passed);
	close_all();
}

/* One bucket for all of them: together no more than that passes, and no less. */
static void
each_06_a_rate_is_that_of_all_queues(void **state)
{
	struct trip_random random = {trip_test_seed("each_06_a_rate_is_that_of_all_queues")};
	uint64_t passed = 0;

	open_all(&counted, &police);
	advance(1000);
	assert_int_equal(pass(0, 7, 50), 50);
	expect(7, false);
	for (unsigned int i = 0; i < 5000; i++) {
		advance(200);
		passed += pass((uint16_t)trip_random_below(&random, QUEUES), 7, 4);
	}
	trip_assert_range(passed, BURST + 990, BURST + 1000);
	/* All on one of them. */
	passed = 0;
	for (unsigned int i = 0; i < 1000; i++) {
		advance(1000);
		passed += pass(1, 7, 2);
	}
	trip_assert_range(passed, 999, 1001);
	close_all();
}

/* In bits a second, of what flows count. */
static void
each_06_a_rate_may_be_of_bits(void **state)
{
	static const struct trip_each_act bits = {.op = TRIP_EACH_OP_POLICE,
		.unit = TRIP_POLICE_UNIT_BITS,
		.rate = (uint64_t)POLICE_PPS * LENGTH * 8,
		.until_count = UNTIL_COUNT,
		.until_us = UNTIL_US};
	uint64_t passed = 0;

	open_all(&rate, &bits);
	advance(1000);
	assert_int_equal(pass(0, 7, 500), 21 + BURST);
	expect(7, false);
	for (unsigned int i = 0; i < 1000; i++) {
		advance(1000);
		passed += pass(0, 7, 3);
	}
	trip_assert_range(passed, 999, 1000);
	advance(UNTIL_US);
	assert_int_equal(pass(0, 7, 1), 1);
	expect(7, true);
	assert_int_equal(op_of(7), TRIP_EACH_OP_NONE);
	assert_int_equal(pass(0, 7, 15), 15);
	close_all();
}

/* ---- what it cannot be ------------------------------------------------------------------------
 */

static void
refuse(struct trip_each_when when, struct trip_each_act act, int error, const char *words)
{
	const struct trip_each_when whens[] = {{.count = 1}, when};
	const struct trip_each_act acts[] = {{.op = TRIP_EACH_OP_DROP}, act};
	const struct trip_each_attr attr = {.size = sizeof(attr),
		.name = "lasts",
		.parts = by_port,
		.n_parts = 1,
		.max = 100,
		.idle_us = IDLE_US,
		.whens = whens,
		.n_whens = 2,
		.acts = acts};
	uint64_t bytes;

	assert_int_equal(trip_each_footprint(&attr, 1, &bytes), error);
	if (strstr(trip_error_message(), words) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", trip_error_message(), words);
}

static void
each_06_says_what_cannot_last(void **state)
{
	struct trip_each_act act = drop_until;

	refuse(counted, act, -EINVAL, "no rate");
	act.time_us = 5;
	refuse(rate, act, -EINVAL, "a time");
	act = drop_until;
	act.op = TRIP_EACH_OP_RESET;
	refuse(rate, act, -EINVAL, "nothing that lasts");
	act = drop_until;
	act.until_count = 0;
	refuse(rate, act, -EINVAL, "until_count 0");
	act = police;
	refuse(counted, act, -ENOTSUP, "conditions 0 and 1");
	refuse(rate, tell_until, -ENOTSUP, "conditions 0 and 1");
	act.rate = 0;
	refuse(counted, act, -EINVAL, "polices at 0");
	act = police;
	act.unit = 3;
	refuse(counted, act, -EINVAL, "unit 3");
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(each_06_a_drop_ends_with_its_rate),
	HARNESS_TEST_OWN(each_06_it_is_dropped_on_all_queues_until_then),
	HARNESS_TEST_OWN(each_04_what_is_told_ends_with_its_rate),
	HARNESS_TEST_OWN(each_04_ends_are_those_of_the_model),
	HARNESS_TEST_OWN(each_06_a_key_passes_up_to_a_rate),
	HARNESS_TEST_OWN(each_06_a_rate_is_that_of_all_queues),
	HARNESS_TEST_OWN(each_06_a_rate_may_be_of_bits),
	HARNESS_TEST_OWN(each_06_says_what_cannot_last),
};

TRAFFIC_MAIN(tests)
