/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys whose packets are dropped from the one behind that with which they trip, for ever; which
 * stay as others go; and what becomes of new keys where all stay. On a port of two queues.
 */
#include <errno.h>
#include <string.h>

#include "harness.h"
#include "traffic.h"

#define QUEUES 2
#define KEYS 40
#define COUNT 100
#define BURSTS 3000
#define LENGTH 100
#define MAX 16
/* Entries of a table for so many keys, the spare ones among them. */
#define ENTRIES (MAX + 1024)
#define LONG_US (UINT64_C(3600) * 1000000)

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static const struct trip_domain_attr tune = {.each_bytes = 4 << 20, .max_queues = 4};
static const struct trip_each_act drops[] = {{.op = TRIP_EACH_OP_DROP}, {.op = TRIP_EACH_OP_DROP}};

static struct trip_port *port;
static struct trip_each *each;

static void
open_port(void)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};

	harness_open(1, &tune);
	port = traffic_open(QUEUES, &attr);
}

static void
open_all(const struct trip_each_when *whens, uint32_t n, enum trip_each_full full)
{
	const struct trip_each_attr attr = {.size = sizeof(attr),
		.name = "victims",
		.parts = by_port,
		.n_parts = 1,
		.max = MAX,
		.idle_us = LONG_US,
		.whens = whens,
		.n_whens = n,
		.full = full,
		.acts = drops};

	open_port();
	each = traffic_each(port, &attr, 0);
}

static void
close_port(void)
{
	traffic_close(port);
	harness_close();
}

static void
close_all(void)
{
	traffic_each_close(each);
	close_port();
}

/* How many pass. */
static uint16_t
pass(uint16_t queue, uint16_t key, uint16_t n)
{
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

static void
each_06_a_drop_passes_exactly_what_it_says(void **state)
{
	static const struct trip_each_when when = {.count = COUNT};

	open_all(&when, 1, TRIP_EACH_OPEN);
	assert_int_equal(pass(0, 7, COUNT - 40), COUNT - 40);
	assert_int_equal(read_key(7).op, TRIP_EACH_OP_NONE);
	assert_int_equal(pass(0, 7, 60), 40);
	assert_int_equal(pass(0, 7, 5), 0);
	assert_int_equal(pass(0, 8, COUNT), COUNT);
	assert_int_equal(read_key(7).op, TRIP_EACH_OP_DROP);
	assert_true(read_key(7).until_ns == UINT64_MAX);
	/* What is dropped counts. */
	assert_int_equal(read_key(7).packets, COUNT + 25);
	assert_int_equal(traffic_each_query(each).packets, 2 * COUNT + 25);
	assert_int_equal(traffic_each_query(each).dropped_packets, 25);
	assert_int_equal(traffic_each_query(each).dropped_bytes, 25 * LENGTH);
	assert_int_equal(traffic_each_query(each).held, 2);
	assert_int_equal(traffic_each_query(each).trips, 2);
	assert_int_equal(pass(0, 8, 1), 0);
	close_all();
}

static void
each_06_a_drop_by_bytes_counts_the_packet_that_trips(void **state)
{
	static const struct trip_each_when when = {
		.of = TRIP_EACH_BYTES, .count = COUNT * LENGTH - LENGTH / 2};

	open_all(&when, 1, TRIP_EACH_OPEN);
	assert_int_equal(pass(0, 7, 2 * COUNT), COUNT);
	assert_int_equal(traffic_each_query(each).dropped_bytes, COUNT * LENGTH);
	close_all();
}

/* Wherever its packets come, from the next burst on. */
static void
each_06_a_drop_is_that_of_all_queues(void **state)
{
	static const struct trip_each_when when = {.count = COUNT};

	open_all(&when, 1, TRIP_EACH_OPEN);
	assert_int_equal(pass(0, 7, 60), 60);
	assert_int_equal(pass(1, 7, 60), 40);
	assert_int_equal(pass(0, 7, 60), 0);
	assert_int_equal(pass(1, 7, 1), 0);
	/* Of one that the other queue has never seen. */
	assert_int_equal(pass(0, 9, 2 * COUNT), COUNT);
	assert_int_equal(pass(1, 9, 30), 0);
	assert_int_equal(read_key(9).packets, 2 * COUNT + 30);
	assert_int_equal(traffic_each_query(each).dropped_packets, 20 + 60 + 1 + COUNT + 30);
	assert_int_equal(traffic_each_query(each).trips, 2);
	close_all();
}

static void
each_06_drops_are_those_of_the_model(void **state)
{
	static const struct trip_each_when whens[] = {
		{.count = 3 * COUNT}, {.of = TRIP_EACH_BYTES, .count = COUNT * LENGTH}};
	struct trip_random random = {trip_test_seed("each_06_drops_are_those_of_the_model")};
	uint64_t bursts = RTE_MAX(harness_rounds(BURSTS), UINT64_C(600));
	uint64_t sent[KEYS] = {0}, dropped = 0;

	open_all(whens, 2, TRIP_EACH_OPEN);
	for (uint64_t i = 0; i < bursts; i++) {
		uint16_t key = (uint16_t)trip_random_below(&random, KEYS);
		uint16_t n = (uint16_t)trip_random_below(&random, 80);
		uint64_t left = sent[key] < COUNT ? COUNT - sent[key] : 0;

		assert_int_equal(pass((uint16_t)trip_random_below(&random, QUEUES), key, n),
			RTE_MIN(n, left));
		sent[key] += n;
		dropped += n - RTE_MIN(n, left);
		assert_int_equal(traffic_each_query(each).dropped_packets, dropped);
	}
	assert_true(dropped > 0);
	close_all();
}

/* ---- who stays --------------------------------------------------------------------------------
 */

static void
each_06_who_is_dropped_stays(void **state)
{
	static const struct trip_each_when when = {.count = 2};

	open_all(&when, 1, TRIP_EACH_OPEN);
	for (uint16_t key = 1; key <= 5; key++)
		assert_int_equal(pass(0, key, 3), 2);
	/* Each other has more than those had. */
	for (uint16_t key = 100; key < 100 + 8 * ENTRIES; key++)
		for (unsigned int i = 0; i < 2; i++)
			(void)pass(0, key, 1);
	for (uint16_t key = 1; key <= 5; key++) {
		assert_int_equal(read_key(key).op, TRIP_EACH_OP_DROP);
		assert_int_equal(pass(0, key, 1), 0);
		assert_int_equal(read_key(key).packets, 4);
	}
	close_all();
}

/* All entries are of keys that stay. */
static void
fill(void)
{
	for (uint16_t key = 0; key < ENTRIES; key++)
		assert_int_equal(pass(0, key, 2), 1);
	assert_int_equal(traffic_each_query(each).held, ENTRIES);
	assert_int_equal(traffic_each_query(each).refused_packets, 0);
}

static void
each_06_the_word_decides_where_all_stay(void **state)
{
	static const struct trip_each_when when = {.count = 1};

	for (unsigned int full = TRIP_EACH_OPEN; full <= TRIP_EACH_CLOSED; full++) {
		struct trip_each_info info;

		open_all(&when, 1, (enum trip_each_full)full);
		fill();
		for (uint16_t key = 5000; key < 5010; key++)
			assert_int_equal(pass(0, key, 3), full == TRIP_EACH_OPEN ? 3 : 0);
		info = traffic_each_query(each);
		assert_int_equal(info.full, full);
		assert_int_equal(info.refused_packets, 30);
		assert_int_equal(info.refused_bytes, 30 * LENGTH);
		assert_int_equal(info.remainder_packets, 30);
		assert_int_equal(info.evicted, 0);
		assert_int_equal(info.dropped_packets, ENTRIES + (full == TRIP_EACH_OPEN ? 0 : 30));
		/* Who is there is dropped as before, and so is who is held by another queue. */
		assert_int_equal(pass(0, 3, 1), 0);
		assert_int_equal(pass(1, 6000, 2), 1);
		assert_int_equal(pass(0, 6000, 4), 0);
		close_all();
	}
}

/* Without anything that holds keys, too. */
static void
each_06_a_full_table_may_be_closed(void **state)
{
	struct trip_each_attr attr = {.size = sizeof(attr),
		.name = "closed",
		.parts = by_port,
		.n_parts = 1,
		.max = MAX,
		.idle_us = LONG_US,
		.full = TRIP_EACH_CLOSED};

	open_port();
	each = traffic_each(port, &attr, 0);
	for (uint16_t key = 0; key < 4 * ENTRIES; key++)
		assert_int_equal(pass(0, key, 1), 1);
	assert_int_equal(traffic_each_query(each).refused_packets, 0);
	assert_int_equal(traffic_each_query(each).dropped_packets, 0);
	assert_int_equal(traffic_each_query(each).full, TRIP_EACH_CLOSED);
	close_all();
}

/* ---- what it cannot be ------------------------------------------------------------------------
 */

static void
refuse(struct trip_each_act act, enum trip_each_full full, const char *words)
{
	static const struct trip_each_when whens[] = {{.count = 1}, {.count = 2}};
	const struct trip_each_act acts[] = {{.op = TRIP_EACH_OP_DROP}, act};
	const struct trip_each_attr attr = {.size = sizeof(attr),
		.name = "victims",
		.ports = &port,
		.n_ports = 1,
		.parts = by_port,
		.n_parts = 1,
		.max = MAX,
		.idle_us = LONG_US,
		.whens = whens,
		.n_whens = 2,
		.full = full,
		.acts = acts};
	struct trip_each *none;

	assert_int_equal(trip_each_open(harness_domain, &attr, &none), -EINVAL);
	if (strstr(trip_error_message(), words) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", trip_error_message(), words);
}

static void
each_06_says_what_is_no_operation(void **state)
{
	open_port();
	refuse((struct trip_each_act){.op = (enum trip_each_op)9}, TRIP_EACH_OPEN,
		"condition 1 does 9");
	refuse((struct trip_each_act){.time_us = 5}, TRIP_EACH_OPEN, "does nothing");
	refuse((struct trip_each_act){.op = TRIP_EACH_OP_DROP, .time_us = (UINT64_C(1) << 48) + 1},
		TRIP_EACH_OPEN, "above 2^48");
	refuse((struct trip_each_act){.op = TRIP_EACH_OP_DROP}, (enum trip_each_full)2, "full 2");
	close_port();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(each_06_a_drop_passes_exactly_what_it_says),
	HARNESS_TEST_OWN(each_06_a_drop_by_bytes_counts_the_packet_that_trips),
	HARNESS_TEST_OWN(each_06_a_drop_is_that_of_all_queues),
	HARNESS_TEST_OWN(each_06_drops_are_those_of_the_model),
	HARNESS_TEST_OWN(each_06_who_is_dropped_stays),
	HARNESS_TEST_OWN(each_06_the_word_decides_where_all_stay),
	HARNESS_TEST_OWN(each_06_a_full_table_may_be_closed),
	HARNESS_TEST_OWN(each_06_says_what_is_no_operation),
};

TRAFFIC_MAIN(tests)
