/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles of ports, of their queues, and of statements that count by keys: in whichever process
 * has them, they tell what the packets of the test were. */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "harness.h"
#include "traffic.h"

#define QUEUES 2
#define DESCS 128
#define MAX 8

static const struct trip_each_part by_port[] = {{TRIP_EACH_L4_DST, 0}};
static const struct trip_domain_attr tune = {.each_bytes = 4 << 20, .max_queues = 4};

static struct trip_port *port;
static struct trip_each *each;

static struct trip_profile *
profile_open(struct trip_fid *fid)
{
	struct trip_profile *profile;

	if (trip_profile_open(fid, 0, &profile, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return profile;
}

static void
profile_close(struct trip_profile *profile)
{
	assert_int_equal(trip_profile_close(profile), 0);
}

static uint64_t
read_var(struct trip_profile *profile, uint32_t var)
{
	uint64_t value = 0;

	assert_int_equal(trip_profile_read_u64(profile, var, &value), 0);
	return value;
}

static void
open_all(void)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	const struct trip_each_attr keys = {.size = sizeof(keys),
		.name = "ports",
		.parts = by_port,
		.n_parts = 1,
		.max = MAX,
		.idle_us = UINT64_C(3600) * 1000000};

	harness_open(1, &tune);
	port = traffic_open(QUEUES, &attr);
	each = traffic_each(port, &keys, 0);
}

static void
close_all(void)
{
	traffic_each_close(each);
	traffic_close(port);
	harness_close();
}

static void
send_packets(uint16_t queue, uint16_t udp_port, uint16_t n)
{
	assert_int_equal(traffic_burst(port, queue, n, udp_port, 64), n);
}

static struct trip_fid *
queue_fid(uint16_t queue)
{
	return trip_port_queue_fid(port, TRIP_FLOW_INGRESS, queue);
}

/* ---- what they tell ---------------------------------------------------------------------------
 */

static void
prof_01_ports_queues_and_keys_have_one(void **state)
{
	static const struct rte_flow_action drop[] = {
		{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	const struct trip_flow_attr attr = {.size = sizeof(attr)};
	struct trip_profile *whole, *queues[QUEUES];
	struct trip_flow *flow, *dropping;

	open_all();
	flow = traffic_flow(port, NULL, 7);
	whole = profile_open(trip_port_fid(port));
	for (uint16_t q = 0; q < QUEUES; q++)
		queues[q] = profile_open(queue_fid(q));
	assert_null(queue_fid(QUEUES));
	assert_null(trip_port_queue_fid(port, TRIP_FLOW_EGRESS, 0));
	/* Of one UDP port that a rule takes, and of another. */
	send_packets(0, 7, 20);
	send_packets(0, 8, 3);
	send_packets(1, 7, 100);
	assert_int_equal(read_var(queues[0], TRIP_VAR_PORT_PACKETS_TOTAL), 23);
	assert_int_equal(read_var(queues[0], TRIP_VAR_PORT_MATCHED_TOTAL), 20);
	assert_int_equal(read_var(queues[1], TRIP_VAR_PORT_PACKETS_TOTAL), 100);
	assert_int_equal(read_var(queues[1], TRIP_VAR_PORT_MATCHED_TOTAL), 100);
	assert_int_equal(read_var(whole, TRIP_VAR_PORT_PACKETS_TOTAL), 123);
	assert_int_equal(read_var(whole, TRIP_VAR_PORT_MATCHED_TOTAL), 120);
	assert_int_equal(read_var(whole, TRIP_VAR_PORT_DROPPED_TOTAL), 0);
	assert_int_equal(read_var(whole, TRIP_VAR_PORT_MALFORMED_TOTAL), 0);
	assert_int_equal(read_var(whole, TRIP_VAR_PORT_RULES_NOW), 0);
	/* What a rule drops. */
	assert_int_equal(
		trip_flow_create(port, &attr, traffic_pattern(9), drop, &dropping, NULL), 0);
	assert_int_equal(traffic_burst(port, 1, 10, 9, 64), 0);
	assert_int_equal(read_var(queues[1], TRIP_VAR_PORT_DROPPED_TOTAL), 10);
	assert_int_equal(read_var(queues[0], TRIP_VAR_PORT_DROPPED_TOTAL), 0);
	assert_int_equal(read_var(whole, TRIP_VAR_PORT_DROPPED_TOTAL), 10);
	for (uint16_t q = 0; q < QUEUES; q++)
		profile_close(queues[q]);
	profile_close(whole);
	assert_int_equal(trip_flow_destroy(dropping), 0);
	traffic_flow_destroy(flow);
	close_all();
}

/* Whoever polls here: one of five ends within its IP header, and one within its ports. */
static void
prof_01_what_is_malformed_is_told(void **state)
{
	struct trip_profile *profile;
	struct rte_mbuf *pkts[5];
	struct trip_flow *flow;

	open_all();
	if (harness_away == NULL) {
		flow = traffic_flow(port, NULL, 7);
		profile = profile_open(queue_fid(0));
		traffic_make(pkts, RTE_DIM(pkts), 7, 64);
		assert_int_equal(rte_pktmbuf_trim(pkts[1], 64 - 30), 0);
		assert_int_equal(rte_pktmbuf_trim(pkts[3], 64 - 36), 0);
		assert_int_equal(trip_port_burst(port, 0, pkts, RTE_DIM(pkts)), RTE_DIM(pkts));
		rte_pktmbuf_free_bulk(pkts, RTE_DIM(pkts));
		assert_int_equal(read_var(profile, TRIP_VAR_PORT_PACKETS_TOTAL), 5);
		assert_int_equal(read_var(profile, TRIP_VAR_PORT_MATCHED_TOTAL), 3);
		assert_int_equal(read_var(profile, TRIP_VAR_PORT_MALFORMED_TOTAL), 2);
		/* Of that burst alone. */
		send_packets(0, 7, 5);
		assert_int_equal(read_var(profile, TRIP_VAR_PORT_MALFORMED_TOTAL), 2);
		profile_close(profile);
		traffic_flow_destroy(flow);
	}
	close_all();
}

/* What went over the wire is told beside that. */
static void
prof_01_what_the_nic_counts_is_beside_it(void **state)
{
	struct trip_profile *profile;

	open_all();
	profile = profile_open(trip_port_fid(port));
	assert_int_equal(trip_profile_reset(profile, 0), 0);
	assert_int_equal(traffic_loop(0, 50, 7, 64), 50);
	assert_int_equal(read_var(profile, TRIP_VAR_PORT_NIC_TX_TOTAL), 50);
	assert_int_equal(read_var(profile, TRIP_VAR_PORT_NIC_RX_TOTAL), 50);
	assert_int_equal(read_var(profile, TRIP_VAR_PORT_NIC_RX_MISSED_TOTAL), 0);
	profile_close(profile);
	close_all();
}

static void
prof_01_keys_are_those_of_the_statement(void **state)
{
	struct trip_profile *profile;
	struct trip_each_info info;

	open_all();
	profile = profile_open(trip_each_fid(each));
	/* On both queues. */
	for (uint16_t key = 1; key <= 500; key++)
		send_packets(key % QUEUES, key, 1 + key % 3);
	info = traffic_each_query(each);
	assert_int_equal(read_var(profile, TRIP_VAR_EACH_PACKETS_TOTAL), info.packets);
	assert_int_equal(read_var(profile, TRIP_VAR_EACH_BYTES_TOTAL), 64 * info.packets);
	assert_int_equal(read_var(profile, TRIP_VAR_EACH_ADMITTED_TOTAL), info.admitted);
	assert_int_equal(read_var(profile, TRIP_VAR_EACH_EVICTED_TOTAL), info.evicted);
	assert_int_equal(read_var(profile, TRIP_VAR_EACH_KEYS_NOW), info.keys);
	assert_int_equal(
		read_var(profile, TRIP_VAR_EACH_REMAINDER_PACKETS_TOTAL), info.remainder_packets);
	assert_int_equal(read_var(profile, TRIP_VAR_EACH_FLOOR_NOW), info.floor);
	assert_int_equal(read_var(profile, TRIP_VAR_EACH_KEYS_LIMIT), MAX);
	assert_true(info.admitted > 0 && info.keys > 0 && info.packets >= 500);
	profile_close(profile);
	close_all();
}

/* ---- what holds of each -----------------------------------------------------------------------
 */

typedef int (*query_t)(
	struct trip_profile *profile, struct trip_profile_desc *list, size_t *count, size_t size);

static size_t
expect_list(struct trip_profile *profile, query_t query, struct trip_profile_desc *list)
{
	size_t count = 7, all;

	assert_int_equal(query(profile, NULL, &count, sizeof(*list)), 0);
	all = count;
	assert_true(all < DESCS);
	count = DESCS;
	assert_int_equal(query(profile, list, &count, sizeof(*list)), all);
	assert_int_equal(count, all);
	return all;
}

static void
expect_reads(struct trip_profile *profile)
{
	struct trip_profile_desc list[DESCS], events[DESCS];
	size_t count = expect_list(profile, trip_profile_query_vars, list), known = 0;
	uint64_t value = 12345;

	assert_true(count > 0);
	(void)expect_list(profile, trip_profile_query_events, events);
	for (uint32_t id = 0; id < 0x2000; id++)
		known += trip_profile_read_u64(profile, id, &value) == 0;
	assert_int_equal(known, count);
	for (size_t i = 0; i < count; i++) {
		(void)read_var(profile, list[i].id);
		for (size_t other = 0; other < i; other++) {
			assert_int_not_equal(list[i].id, list[other].id);
			assert_string_not_equal(list[i].name, list[other].name);
		}
	}
	value = 12345;
	assert_int_equal(
		trip_profile_read_u64(profile, TRIP_VAR_CNTR_SUCCESS_TOTAL, &value), -EINVAL);
	assert_int_equal(
		trip_profile_register_callback(profile, TRIP_EVENT_CNTR_SUCCEEDED, NULL, NULL),
		-EINVAL);
	assert_int_equal(value, 12345);
}

static void
prof_02_03_04_each_of_them_lists_what_it_has(void **state)
{
	struct trip_fid *fids[3];

	open_all();
	fids[0] = trip_port_fid(port);
	fids[1] = queue_fid(1);
	fids[2] = trip_each_fid(each);
	for (unsigned int i = 0; i < RTE_DIM(fids); i++) {
		struct trip_profile *profile = profile_open(fids[i]);

		expect_reads(profile);
		profile_close(profile);
	}
	close_all();
}

/* Of a queue, PROF-06 and PROF-07: one snapshot, and a reset that is the reader's. */
static void
prof_06_07_reads_and_resets_are_of_one_profile(void **state)
{
	struct trip_profile *profile, *other;

	open_all();
	profile = profile_open(queue_fid(0));
	other = profile_open(queue_fid(0));
	send_packets(0, 7, 5);
	assert_int_equal(trip_profile_start_reads(profile, 0), 0);
	send_packets(0, 7, 6);
	assert_int_equal(read_var(profile, TRIP_VAR_PORT_PACKETS_TOTAL), 5);
	assert_int_equal(read_var(other, TRIP_VAR_PORT_PACKETS_TOTAL), 11);
	assert_int_equal(trip_profile_end_reads(profile, 0), 0);
	assert_int_equal(trip_profile_reset(profile, 0), 0);
	send_packets(0, 7, 2);
	assert_int_equal(read_var(profile, TRIP_VAR_PORT_PACKETS_TOTAL), 2);
	assert_int_equal(read_var(other, TRIP_VAR_PORT_PACKETS_TOTAL), 13);
	profile_close(other);
	profile_close(profile);
	close_all();
}

static int
count_more(struct trip_profile *profile, const struct trip_profile_desc *event, void *param,
	size_t size, void *context)
{
	_Atomic uint64_t *more = context;

	atomic_fetch_add(more, *(const uint64_t *)param);
	return 0;
}

static void
prof_05_07_an_object_stays_while_a_profile_is_open(void **state)
{
	struct trip_profile *of_port, *of_queue, *of_each;
	_Atomic uint64_t more = 0;

	open_all();
	of_port = profile_open(trip_port_fid(port));
	of_queue = profile_open(queue_fid(1));
	of_each = profile_open(trip_each_fid(each));
	assert_int_equal(
		trip_profile_register_callback(of_each, TRIP_EVENT_EACH_TRIPPED, count_more, &more),
		0);
	assert_int_equal(trip_each_close(each), -EBUSY);
	assert_non_null(strstr(trip_error_message(), "1 profiles are open"));
	profile_close(of_each);
	assert_int_equal(more, 0);
	assert_int_equal(trip_port_close(port), -EBUSY);
	assert_non_null(strstr(trip_error_message(), "2 profiles are open"));
	profile_close(of_queue);
	profile_close(of_port);
	close_all();
}

const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(prof_01_ports_queues_and_keys_have_one),
	HARNESS_TEST_OWN(prof_01_what_is_malformed_is_told),
	HARNESS_TEST_OWN(prof_01_what_the_nic_counts_is_beside_it),
	HARNESS_TEST_OWN(prof_01_keys_are_those_of_the_statement),
	HARNESS_TEST_OWN(prof_02_03_04_each_of_them_lists_what_it_has),
	HARNESS_TEST_OWN(prof_06_07_reads_and_resets_are_of_one_profile),
	HARNESS_TEST_OWN(prof_05_07_an_object_stays_while_a_profile_is_open),
};

TRAFFIC_MAIN(tests)
