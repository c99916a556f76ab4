/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements that count by keys, on a port of two queues: what they tell of each key beside what
 * was sent of it. There are more keys than room, so they go, and come again.
 */
#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>

#include "harness.h"
#include "traffic.h"

#define QUEUES 2
#define KEYS 4000
#define HOT 12
#define MAX 16
#define BURSTS 6000
/* In the primary: with fewer its tables may not be full. */
#define BURSTS_LEAST UINT64_C(3000)
#define LONG_US (UINT64_C(3600) * 1000000)

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static const struct trip_domain_attr tune = {.each_bytes = 4 << 20, .max_queues = 4};

static struct trip_port *port;

/* By UDP port. */
static struct truth {
	uint64_t packets, bytes;
	bool told;
} truths[KEYS];

static uint64_t packets, bytes;

static struct trip_each_attr
attr_of(const char *name, enum trip_each_rank rank)
{
	return (struct trip_each_attr){.size = sizeof(struct trip_each_attr),
		.name = name,
		.parts = by_port,
		.n_parts = 1,
		.max = MAX,
		.rank = rank,
		.idle_us = LONG_US};
}

static void
open_all(void)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};

	harness_open(1, &tune);
	port = traffic_open(QUEUES, &attr);
	memset(truths, 0, sizeof(truths));
	packets = bytes = 0;
}

static void
close_all(void)
{
	traffic_close(port);
	harness_close();
}

static void
send_packets(uint16_t queue, uint16_t key, uint16_t n, uint16_t length)
{
	assert_int_equal(traffic_burst(port, queue, n, key, length), n);
	truths[key].packets += n;
	truths[key].bytes += (uint64_t)n * length;
	packets += n;
	bytes += (uint64_t)n * length;
}

/* Some keys have much, on both queues; many have little. */
static void
send_random(struct trip_random *random, uint64_t bursts)
{
	for (uint64_t i = 0; i < bursts; i++) {
		uint64_t hot = trip_random_below(random, 3);
		uint16_t key = (uint16_t)trip_random_below(random, hot == 0 ? HOT : KEYS);

		send_packets((uint16_t)trip_random_below(random, QUEUES), key,
			(uint16_t)(1 + trip_random_below(random, hot == 0 ? 8 : 2)),
			(uint16_t)(64 + trip_random_below(random, 1000)));
	}
}

static uint64_t
seed(void)
{
	return trip_test_seed("each");
}

static uint16_t
key_of(const struct trip_each_entry *entry)
{
	assert_int_equal(entry->size, sizeof(*entry));
	assert_int_equal(entry->key_size, 2);
	return (uint16_t)(entry->key[0] << 8 | entry->key[1]);
}

/* ---- what is told of a key --------------------------------------------------------------------
 */

struct sums {
	enum trip_each_rank rank;
	uint64_t packets, bytes, keys, tables;
};

/* count - error <= truth <= count, where the count is what was counted and the error. */
static void
check_bounds(const struct trip_each_entry *entry, enum trip_each_rank rank)
{
	const struct truth *truth = &truths[key_of(entry)];
	uint64_t counted = rank == TRIP_EACH_BYTES ? entry->bytes : entry->packets;
	uint64_t is = rank == TRIP_EACH_BYTES ? truth->bytes : truth->packets;

	assert_true(entry->packets > 0 && entry->packets <= truth->packets);
	assert_true(entry->bytes <= truth->bytes);
	trip_assert_range(is, counted, counted + entry->error);
	trip_assert_range(entry->tables, 1, QUEUES);
}

static int
visit(const struct trip_each_entry *entry, void *arg)
{
	struct truth *truth = &truths[key_of(entry)];
	struct sums *sums = arg;

	check_bounds(entry, sums->rank);
	assert_false(truth->told);
	truth->told = true;
	sums->packets += entry->packets;
	sums->bytes += entry->bytes;
	sums->keys++;
	sums->tables += entry->tables;
	return 0;
}

static struct sums
walk(const struct trip_each *each, enum trip_each_rank rank)
{
	struct sums sums = {.rank = rank};

	for (unsigned int i = 0; i < KEYS; i++)
		truths[i].told = false;
	assert_int_equal(trip_each_walk(each, visit, &sums), 0);
	return sums;
}

/* One key at a time says the same as all of them do. */
static void
read_all(const struct trip_each *each, enum trip_each_rank rank)
{
	uint64_t floor = traffic_each_query(each).floor;

	for (unsigned int i = 0; i < KEYS; i++) {
		const uint16_t key = rte_cpu_to_be_16((uint16_t)i);
		struct trip_each_entry entry = {.size = sizeof(entry)};
		int result = trip_each_read(each, &key, &entry);

		assert_int_equal(result, truths[i].told ? 0 : -ENOENT);
		if (result == 0)
			check_bounds(&entry, rank);
		else
			assert_true((rank == TRIP_EACH_BYTES ? truths[i].bytes
							     : truths[i].packets) <= floor);
	}
}

static void
each_01_counts_and_errors_bound_the_truth(void **state)
{
	const uint64_t bursts =
		RTE_MAX(harness_rounds(BURSTS), harness_away != NULL ? 0 : BURSTS_LEAST);
	struct trip_random random = {seed()};

	for (unsigned int rank = 0; rank <= TRIP_EACH_BYTES; rank++) {
		const struct trip_each_attr attr = attr_of("bounds", (enum trip_each_rank)rank);
		struct trip_each *each;

		open_all();
		each = traffic_each(port, &attr, 0);
		for (unsigned int i = 0; i < 4; i++) {
			send_random(&random, bursts / 4);
			(void)walk(each, (enum trip_each_rank)rank);
			read_all(each, (enum trip_each_rank)rank);
		}
		/* There was not room for all, and keys had an error. */
		assert_true(harness_away != NULL || traffic_each_query(each).evicted > 0);
		traffic_each_close(each);
		close_all();
	}
}

/* ---- which keys are there ---------------------------------------------------------------------
 */

static void
each_02_who_has_more_than_its_part_is_there(void **state)
{
	struct trip_random random = {seed() + 2};
	const struct trip_each_attr attr = attr_of("parts", TRIP_EACH_PACKETS);
	struct trip_each *each;
	unsigned int there = 0;

	open_all();
	each = traffic_each(port, &attr, 0);
	for (unsigned int i = 0; i < 8; i++) {
		send_random(&random, harness_rounds(BURSTS) / 8);
		(void)walk(each, TRIP_EACH_PACKETS);
		for (unsigned int key = 0; key < KEYS; key++)
			if (truths[key].packets > packets / MAX) {
				assert_true(truths[key].told);
				there++;
			}
	}
	assert_int_equal(traffic_each_query(each).refused_packets, 0);
	assert_true(there > 0);
	traffic_each_close(each);
	close_all();
}

/* The first are those that have most of all that are told, whatever the queues that have them. */
static void
each_02_the_first_are_those_with_most(void **state)
{
	struct trip_random random = {seed() + 3};
	const struct trip_each_attr attr = attr_of("first", TRIP_EACH_BYTES);
	struct trip_each_entry first[5], all[64];
	struct trip_each *each;
	int n;

	open_all();
	each = traffic_each(port, &attr, 0);
	assert_int_equal(trip_each_top(each, TRIP_EACH_PACKETS, first, sizeof(first[0]), 5), 0);
	send_random(&random, harness_rounds(BURSTS));
	for (unsigned int rank = 0; rank <= TRIP_EACH_BYTES; rank++) {
		n = trip_each_top(each, (enum trip_each_rank)rank, first, sizeof(first[0]), 5);
		assert_int_equal(n, 5);
		n = trip_each_top(each, (enum trip_each_rank)rank, all, sizeof(all[0]), 64);
		assert_true(n > 5);
		for (int i = 0; i < n; i++) {
			uint64_t had = rank == 0 ? all[i].packets : all[i].bytes;

			check_bounds(&all[i], TRIP_EACH_BYTES);
			if (i > 0)
				assert_true(
					had <= (rank == 0 ? all[i - 1].packets : all[i - 1].bytes));
			for (int k = 0; k < i; k++)
				assert_int_not_equal(key_of(&all[i]), key_of(&all[k]));
			if (i < 5)
				assert_int_equal(
					had, rank == 0 ? first[i].packets : first[i].bytes);
		}
	}
	assert_int_equal(trip_each_top(each, TRIP_EACH_BYTES, first, 7, 5), -EINVAL);
	assert_int_equal(
		trip_each_top(each, (enum trip_each_rank)2, first, sizeof(first[0]), 5), -EINVAL);
	assert_int_equal(trip_each_top(each, TRIP_EACH_BYTES, first, sizeof(first[0]), 0), 0);
	traffic_each_close(each);
	close_all();
}

/* ---- all that was seen ------------------------------------------------------------------------
 */

static void
check_whole(const struct trip_each *each, enum trip_each_rank rank)
{
	struct sums sums = walk(each, rank);
	struct trip_each_info info = traffic_each_query(each);

	assert_int_equal(info.packets, packets);
	assert_int_equal(info.bytes, bytes);
	assert_int_equal(sums.packets + info.remainder_packets, packets);
	assert_int_equal(sums.bytes + info.remainder_bytes, bytes);
	assert_int_equal(sums.tables, info.keys);
	assert_int_equal(info.admitted - info.evicted - info.expired, info.keys);
}

static void
each_03_entries_and_the_remainder_are_what_was_seen(void **state)
{
	struct trip_random random = {seed() + 4};

	for (unsigned int rank = 0; rank <= TRIP_EACH_BYTES; rank++) {
		const struct trip_each_attr attr = attr_of("whole", (enum trip_each_rank)rank);
		struct trip_each *each;

		open_all();
		each = traffic_each(port, &attr, 0);
		for (unsigned int i = 0; i < 4; i++) {
			send_random(&random, harness_rounds(BURSTS) / 4);
			check_whole(each, (enum trip_each_rank)rank);
		}
		traffic_each_close(each);
		close_all();
	}
}

/* Several at once, each with what it is of. */
static void
each_03_a_pattern_says_what_is_seen(void **state)
{
	static const struct trip_each_part by_source[] = {
		{TRIP_EACH_IPV4_SRC, 24}, {TRIP_EACH_L4_SRC, 0}};
	struct trip_each_attr attr = attr_of("some", TRIP_EACH_PACKETS);
	struct trip_each_entry entry = {.size = sizeof(entry)};
	struct trip_each *some, *all, *others;
	uint8_t projected[TRIP_EACH_KEY_MAX];
	char text[TRIP_EACH_TEXT_MAX];

	open_all();
	attr.parts = by_source;
	attr.n_parts = 2;
	some = traffic_each(port, &attr, 7);
	attr = attr_of("all", TRIP_EACH_PACKETS);
	all = traffic_each(port, &attr, 0);
	send_packets(0, 7, 3, 64);
	send_packets(1, 7, 2, 100);
	send_packets(1, 8, 5, 64);
	attr.name = "others";
	others = traffic_each(port, &attr, 8);
	send_packets(0, 8, 6, 64);
	assert_int_equal(traffic_each_query(some).packets, 5);
	assert_int_equal(traffic_each_query(some).bytes, 3 * 64 + 2 * 100);
	assert_int_equal(traffic_each_query(all).packets, 16);
	assert_int_equal(traffic_each_query(others).packets, 6);
	assert_int_equal(trip_each_read(some,
				 (const uint8_t[]){192, 0, 2, 0, 1234 >> 8, 1234 & 0xff}, &entry),
		0);
	assert_int_equal(entry.packets, 5);
	assert_int_equal(entry.error, 0);
	assert_int_equal(entry.tables, 2);
	assert_int_equal(trip_each_text(some, entry.key, text, sizeof(text)), 0);
	assert_string_equal(text, "192.0.2.0/24,1234");
	assert_int_equal(
		trip_each_text(some, entry.key, text, strlen("192.0.2.0/24,1234")), -ENOSPC);
	assert_int_equal(trip_each_project(some, entry.key, some, projected), 0);
	assert_memory_equal(projected, entry.key, entry.key_size);
	assert_int_equal(trip_each_project(some, entry.key, all, projected), -EINVAL);
	assert_non_null(strstr(trip_error_message(), "l4.dst of 16 bits"));
	traffic_each_close(all);
	/* What others have is as it was. */
	send_packets(0, 7, 1, 64);
	assert_int_equal(traffic_each_query(some).packets, 6);
	assert_int_equal(traffic_each_query(others).packets, 6);
	traffic_each_close(some);
	traffic_each_close(others);
	close_all();
}

/* As it counts it: whose pattern it matches, by the bytes that are there. */
static void
each_tells_the_key_of_a_packet(void **state)
{
	static const struct trip_each_part by_source[] = {
		{TRIP_EACH_IPV4_SRC, 24}, {TRIP_EACH_L4_DST, 0}};
	static const struct trip_each_part by_tag[] = {{TRIP_EACH_VLAN_VID, 0}};
	static const uint8_t expected[] = {192, 0, 2, 0, 0, 7};
	struct trip_each_attr attr = attr_of("some", TRIP_EACH_PACKETS);
	struct trip_each *some, *tagged;
	uint8_t key[TRIP_EACH_KEY_MAX];
	struct rte_mbuf *pkts[2];

	open_all();
	attr.parts = by_source;
	attr.n_parts = 2;
	some = traffic_each(port, &attr, 7);
	attr.name = "tagged";
	attr.parts = by_tag;
	attr.n_parts = 1;
	tagged = traffic_each(port, &attr, 0);
	traffic_make(&pkts[0], 1, 7, 64);
	traffic_make(&pkts[1], 1, 8, 64);
	memset(key, 0xee, sizeof(key));
	assert_int_equal(trip_each_key(some, pkts[0], TRIP_FLOW_INGRESS, key), 0);
	assert_memory_equal(key, expected, sizeof(expected));
	assert_int_equal(key[sizeof(expected)], 0xee);
	assert_int_equal(trip_each_key(some, pkts[1], TRIP_FLOW_INGRESS, key), -ENOENT);
	assert_int_equal(trip_each_key(tagged, pkts[0], TRIP_FLOW_INGRESS, key), -ENOENT);
	/* What the port is to put in is in a packet that is sent. */
	pkts[0]->ol_flags |= RTE_MBUF_F_TX_VLAN;
	pkts[0]->vlan_tci = 0xe123;
	assert_int_equal(trip_each_key(tagged, pkts[0], TRIP_FLOW_INGRESS, key), -ENOENT);
	assert_int_equal(trip_each_key(tagged, pkts[0], TRIP_FLOW_EGRESS, key), 0);
	assert_int_equal(key[0] << 8 | key[1], 0x123);
	/* The destination port's second byte is missing. */
	pkts[0]->ol_flags = 0;
	rte_pktmbuf_trim(pkts[0], 64 - 37);
	assert_int_equal(trip_each_key(some, pkts[0], TRIP_FLOW_INGRESS, key), -ENOENT);
	rte_pktmbuf_free_bulk(pkts, 2);
	traffic_each_close(some);
	traffic_each_close(tagged);
	close_all();
}

/* ---- opening, finding, closing ----------------------------------------------------------------
 */

static void
each_is_found_by_its_name(void **state)
{
	const struct trip_each_attr attr = attr_of("known", TRIP_EACH_BYTES);
	struct trip_each *each, *found, *none;
	struct trip_each_info info;

	open_all();
	each = traffic_each(port, &attr, 0);
	assert_int_equal(trip_each_find(harness_domain, "known", &found), 0);
	send_packets(0, 9, 4, 64);
	info = traffic_each_query(found);
	assert_string_equal(info.name, "known");
	assert_int_equal(info.packets, 4);
	assert_int_equal(info.max, MAX);
	assert_int_equal(info.rank, TRIP_EACH_BYTES);
	assert_int_equal(info.idle_us, LONG_US);
	assert_int_equal(info.tables, QUEUES);
	assert_int_equal(info.n_parts, 1);
	assert_int_equal(info.parts[0].field, TRIP_EACH_L4_DST);
	assert_int_equal(info.key_size, 2);
	assert_int_equal(trip_each_find(harness_domain, "unknown", &none), -ENOENT);
	assert_int_equal(trip_each_find(harness_domain, "1", &none), -EINVAL);
	assert_int_equal(trip_each_find(harness_domain, NULL, &none), -EINVAL);
	if (harness_away == NULL) {
		assert_int_equal(trip_each_close(each), -EBUSY);
		assert_int_equal(trip_port_close(port), -EBUSY);
		assert_non_null(strstr(trip_error_message(), "1 statements"));
		assert_int_equal(trip_each_settle(found), -EINVAL);
		assert_int_equal(trip_each_settle(each), 0);
	}
	/* It has let go of that alone. */
	assert_int_equal(trip_each_close(found), 0);
	assert_int_equal(traffic_each_query(each).packets, 4);
	traffic_each_close(each);
	assert_int_equal(trip_each_find(harness_domain, "known", &none), -ENOENT);
	close_all();
}

static int
try(const struct trip_each_attr *attr)
{
	struct trip_each *each;
	int error = trip_each_open(harness_domain, attr, &each);

	return error == 0 ? trip_each_close(each) : error;
}

/* What it cannot be, a member at a time. */
static void
refuse(struct trip_each_attr attr, int error, const char *words)
{
	assert_int_equal(try(&attr), error);
	if (strstr(trip_error_message(), words) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", trip_error_message(), words);
}

#define REFUSE(error, words, ...)                      \
	do {                                           \
		struct trip_each_attr refused_ = good; \
		(void)(__VA_ARGS__);                   \
		refuse(refused_, error, words);        \
	} while (0)

static void
each_says_what_is_wrong(void **state)
{
	static const struct trip_each_part strange[] = {{99, 0}},
					   longer[] = {{TRIP_EACH_IPV4_SRC, 33}};
	static const struct rte_flow_item sets[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = (enum rte_flow_item_type)TRIP_FLOW_ITEM_TYPE_SET},
		{.type = RTE_FLOW_ITEM_TYPE_END}};
	struct trip_port *twice[2], *foreign;
	struct trip_each_attr good = attr_of("good", TRIP_EACH_PACKETS);
	const struct trip_domain_attr domain_attr = {.size = sizeof(domain_attr),
		.name = "another",
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = 16,
		.max_works = 16,
		.max_flows = 16};
	struct trip_domain *domain;
	struct trip_each *each;
	uint64_t cost;

	open_all();
	twice[0] = twice[1] = port;
	good.ports = &port;
	good.n_ports = 1;
	assert_int_equal(try(&good), 0);
	REFUSE(-EINVAL, "name", refused_.name = NULL);
	REFUSE(-EINVAL, "name", refused_.name = "");
	REFUSE(-EINVAL, "has no port", refused_.n_ports = 0);
	REFUSE(-EINVAL, "twice", (refused_.ports = twice, refused_.n_ports = 2));
	REFUSE(-EINVAL, "no field", refused_.n_parts = 0);
	REFUSE(-EINVAL, "no field", refused_.parts = NULL);
	REFUSE(-EINVAL, "no field 99", refused_.parts = strange);
	REFUSE(-EINVAL, "ipv4.src/33 is longer", refused_.parts = longer);
	REFUSE(-EINVAL, "max 0", refused_.max = 0);
	REFUSE(-EINVAL, "max 8388609", refused_.max = (8 << 20) + 1);
	REFUSE(-EINVAL, "rank 2", refused_.rank = (enum trip_each_rank)2);
	REFUSE(-EINVAL, "idle_us 319", refused_.idle_us = 319);
	REFUSE(-EINVAL, "idle_us", refused_.idle_us = (UINT64_C(1) << 48) + 1);
	REFUSE(-EINVAL, "direction 2", refused_.direction = (enum trip_flow_direction)2);
	REFUSE(-ENOTSUP, "n_tx_queues", refused_.direction = TRIP_FLOW_EGRESS);
	REFUSE(-ENOTSUP, "good", refused_.pattern = sets);
	REFUSE(-ENOSPC, "free in one piece", refused_.max = 1 << 20);
	assert_int_equal(trip_each_footprint(&good, QUEUES, &cost), 0);
	assert_int_equal(trip_each_open(harness_domain, &good, &each), 0);
	assert_int_equal(traffic_each_query(each).table_bytes, cost);
	REFUSE(-EEXIST, "has one", 0);
	assert_int_equal(trip_each_close(each), 0);
	/* A domain that was opened without. */
	assert_int_equal(trip_domain_open(&domain_attr, &domain, NULL), 0);
	assert_int_equal(trip_each_open(domain, &good, &each), -EXDEV);
	traffic_close(port);
	assert_int_equal(trip_port_open(domain, traffic_start(QUEUES), NULL, &foreign), 0);
	good.ports = &foreign;
	assert_int_equal(trip_each_open(domain, &good, &each), -ENOSPC);
	assert_non_null(strstr(trip_error_message(), "each_bytes 0"));
	assert_int_equal(trip_port_close(foreign), 0);
	traffic_stop();
	assert_int_equal(trip_domain_close(domain), 0);
	harness_close();
}

/* Their memory is used again, and as many as there may be have what they need. */
static void
each_memory_comes_back(void **state)
{
	struct trip_each *eaches[TRIP_EACH_MAX], *more;
	struct trip_each_attr attr = attr_of("x", TRIP_EACH_PACKETS);
	char name[TRIP_NAME_MAX + 1];
	uint64_t cost;

	attr.ports = &port;
	attr.n_ports = 1;
	attr.name = name;
	for (unsigned int round = 0; round < 3; round++) {
		uint64_t before;
		unsigned int n = 0;

		if (round == 0) {
			assert_int_equal(trip_each_footprint(&attr, 1, &cost), 0);
			harness_open(
				1, &(struct trip_domain_attr){.each_bytes = TRIP_EACH_MAX * cost});
			port = traffic_open(
				1, &(struct trip_port_attr){.size = sizeof(struct trip_port_attr),
					   .mode = TRIP_PORT_BURST});
		}
		for (; n < TRIP_EACH_MAX; n++) {
			snprintf(name, sizeof(name), "x%u", n);
			assert_int_equal(trip_each_open(harness_domain, &attr, &eaches[n]), 0);
		}
		snprintf(name, sizeof(name), "more");
		assert_int_equal(trip_each_open(harness_domain, &attr, &more), -ENOSPC);
		before = traffic_each_query(eaches[0]).packets;
		traffic_burst(port, 0, 5, 1, 64);
		for (unsigned int i = 0; i < n; i++)
			assert_int_equal(traffic_each_query(eaches[i]).packets, before + 5);
		/* Holes between them are filled. */
		for (unsigned int i = 0; i < n; i += 2)
			assert_int_equal(trip_each_close(eaches[i]), 0);
		for (unsigned int i = 0; i < n; i += 2) {
			snprintf(name, sizeof(name), "y%u", i);
			assert_int_equal(trip_each_open(harness_domain, &attr, &eaches[i]), 0);
			assert_int_equal(traffic_each_query(eaches[i]).packets, 0);
		}
		traffic_burst(port, 0, 1, 1, 64);
		for (unsigned int i = 0; i < n; i++) {
			assert_int_equal(traffic_each_query(eaches[i]).packets, i % 2 == 0 ? 1 : 6);
			assert_int_equal(trip_each_close(eaches[i]), 0);
		}
	}
	close_all();
}

/* Only the primary opens one. */
static void
each_is_opened_by_the_primary(void **state)
{
	struct trip_each_attr attr = attr_of("mine", TRIP_EACH_PACKETS);
	struct trip_each *each;

	open_all();
	attr.ports = &port;
	attr.n_ports = 1;
	if (harness_away != NULL) {
		assert_int_equal(trip_each_open(harness_domain, &attr, &each), -ENOTSUP);
		assert_non_null(strstr(trip_error_message(), "primary"));
	} else {
		assert_int_equal(trip_each_open(harness_domain, &attr, &each), 0);
		assert_int_equal(trip_each_close(each), 0);
	}
	close_all();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(each_01_counts_and_errors_bound_the_truth),
	HARNESS_TEST_OWN(each_02_who_has_more_than_its_part_is_there),
	HARNESS_TEST_OWN(each_02_the_first_are_those_with_most),
	HARNESS_TEST_OWN(each_03_entries_and_the_remainder_are_what_was_seen),
	HARNESS_TEST_OWN(each_03_a_pattern_says_what_is_seen),
	HARNESS_TEST_OWN(each_tells_the_key_of_a_packet),
	HARNESS_TEST_OWN(each_is_found_by_its_name),
	HARNESS_TEST_OWN(each_says_what_is_wrong),
	HARNESS_TEST_OWN(each_memory_comes_back),
	HARNESS_TEST_OWN(each_is_opened_by_the_primary),
};

TRAFFIC_MAIN(tests)
