/* SPDX-License-Identifier: BSD-3-Clause */
/* What engines differ in, or might: each test says of every engine what becomes of it there. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "harness.h"
#include "traffic.h"

static struct trip_port *port;
static uint16_t port_id;

static void
open_port(uint16_t n_tx_queues)
{
	const struct trip_port_attr attr = {
		.size = sizeof(attr), .mode = TRIP_PORT_BURST, .n_tx_queues = n_tx_queues};

	port_id = traffic_start(2);
	if (trip_port_open(harness_domain, port_id, &attr, &port) != 0)
		fail_msg("%s", trip_error_message());
}

static void
close_port(void)
{
	if (trip_port_close(port) != 0)
		fail_msg("%s", trip_error_message());
	traffic_stop();
}

static void
expect(struct trip_flow *flow, uint64_t packets, enum trip_flow_fate fate,
	enum trip_flow_engine engine)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	assert_int_equal(count.packets, packets);
	assert_int_equal(count.bytes, 64 * packets);
	assert_int_equal(count.fate, fate);
	assert_int_equal(count.engine, engine);
}

static void
flow_stop_and_start(void **state)
{
	const struct trip_flow_attr kept = {.recreate = true};
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_cntr *const cntrs[] = {cntr};
	const struct trip_flow_attr plain = {.cntrs = cntrs, .n_cntrs = 1};
	bool hard = traffic_engine() == TRIP_FLOW_ENGINE_HW;
	struct trip_flow *flow[2];

	open_port(0);
	flow[0] = traffic_flow(port, &kept, 1000);
	flow[1] = traffic_flow(port, &plain, 1001);
	for (uint16_t i = 0; i < 2; i++)
		traffic_burst(port, 0, 10, 1000 + i, 64);
	traffic_settle();
	assert_int_equal(trip_port_stopping(port), 0);
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	assert_int_equal(trip_port_started(port), 0);
	for (uint16_t i = 0; i < 2; i++)
		traffic_burst(port, 0, 5, 1000 + i, 64);
	traffic_settle();
	expect(flow[0], 15, TRIP_FLOW_FATE_PASS, traffic_engine());
	/* A rule in hardware is gone when nobody asked for another. */
	expect(flow[1], hard ? 10 : 15, hard ? TRIP_FLOW_FATE_LOST : TRIP_FLOW_FATE_PASS,
		traffic_engine());
	harness_until(trip_cntr_readerr(cntr) == (hard ? 1 : 0));
	harness_until(trip_cntr_read(cntr) == (hard ? 10 : 15));
	for (unsigned int i = 0; i < 2; i++)
		traffic_flow_destroy(flow[i]);
	harness_expect(cntr, hard ? 10 : 15, hard ? 1 : 0);
	close_port();
	harness_cntr_close(cntr);
}

/* Where hardware is asked for and cannot, the rule is refused; where it is left open, it is taken
 * by software, which counts what the card has received. */
static void
only_in_software(const struct trip_flow_attr *given, const struct rte_flow_item *pattern,
	const struct rte_flow_action *actions)
{
	struct trip_flow_attr attr = *given;
	struct rte_flow_error error = {0};
	struct trip_flow *flow = NULL;

	attr.size = sizeof(attr);
	attr.engine = TRIP_FLOW_ENGINE_HW;
	assert_int_equal(trip_flow_create(port, &attr, pattern, actions, &flow, &error), -ENOTSUP);
	assert_null(flow);
	assert_true(error.message != NULL && strlen(error.message) > 0);
	attr.engine = TRIP_FLOW_ENGINE_AUTO;
	assert_int_equal(trip_flow_create(port, &attr, pattern, actions, &flow, &error), 0);
	assert_true(strlen(trip_flow_reason(flow)) > 0);
	if (attr.direction == TRIP_FLOW_INGRESS)
		assert_int_equal(traffic_burst(port, 0, 10, 1000, 64), 10);
	expect(flow, attr.direction == TRIP_FLOW_INGRESS ? 10 : 0, TRIP_FLOW_FATE_PASS,
		TRIP_FLOW_ENGINE_SW);
	assert_int_equal(trip_flow_destroy(flow), 0);
}

static void
flow_passthru_is_software(void **state)
{
	const struct rte_flow_action also[] = {
		{.type = RTE_FLOW_ACTION_TYPE_PASSTHRU}, {.type = RTE_FLOW_ACTION_TYPE_END}};

	open_port(0);
	only_in_software(&(struct trip_flow_attr){0}, traffic_pattern(1000), also);
	close_port();
}

static void
flow_egress_is_software(void **state)
{
	open_port(1);
	only_in_software(&(struct trip_flow_attr){.direction = TRIP_FLOW_EGRESS},
		traffic_pattern(1000), NULL);
	close_port();
}

static void
flow_allow_is_software(void **state)
{
	open_port(0);
	only_in_software(&(struct trip_flow_attr){.allow = true}, traffic_pattern(1000), NULL);
	close_port();
}

static void
flow_set_is_software(void **state)
{
	static const struct trip_set_entry entry = {
		.kind = TRIP_SET_PORT, .length = 16, .value = {1000 >> 8, 1000 & 0xff}};
	const struct trip_set_attr attr = {.size = sizeof(attr), .name = "thousand"};
	const struct trip_flow_item_set test = {.name = "thousand", .offset = 2};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_UDP},
		{.type = (enum rte_flow_item_type)TRIP_FLOW_ITEM_TYPE_SET, .spec = &test},
		{.type = RTE_FLOW_ITEM_TYPE_END}};
	struct trip_set *set;

	open_port(0);
	assert_int_equal(trip_set_open(harness_domain, &attr, &set), 0);
	assert_int_equal(trip_set_replace(set, &entry, 1), 0);
	only_in_software(&(struct trip_flow_attr){0}, pattern, NULL);
	assert_int_equal(trip_set_close(set), 0);
	close_port();
}

/* NULL: the library knows. */
static void
expect_reason(enum trip_flow_engine engine, const char *given, const char *expected)
{
	const struct trip_flow_attr attr = {
		.size = sizeof(attr), .engine = engine, .reason = given};
	const struct rte_flow_item *pattern = traffic_pattern(1000);
	struct trip_flow *flow;
	const char *told;

	assert_int_equal(
		trip_flow_validate(port_id, &attr, pattern, NULL, &told, NULL), traffic_engine());
	assert_string_equal(told, expected != NULL ? expected : told);
	assert_true(given == NULL || expected != NULL || strcmp(told, given) != 0);
	assert_int_equal(trip_flow_create(port, &attr, pattern, NULL, &flow, NULL), 0);
	assert_memory_equal(trip_flow_reason(flow), told, RTE_MIN(strlen(told) + 1, 127));
	assert_int_equal(trip_flow_destroy(flow), 0);
}

static void
flow_reason_is_that_of_who_chooses(void **state)
{
	char text[200];

	memset(text, 'r', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	open_port(0);
	expect_reason(traffic_engine(), "so it is", "so it is");
	expect_reason(traffic_engine(), text, text);
	expect_reason(traffic_engine(), NULL, "the rule asks for it");
	expect_reason(TRIP_FLOW_ENGINE_AUTO, "so it is", NULL);
	close_port();
}

/* In hardware nobody knows at which of its moments packets came. */
static void
flow_by_the_clock_of_packets_is_software(void **state)
{
	struct trip_flow_attr attr = {.size = sizeof(attr), .engine = TRIP_FLOW_ENGINE_HW};
	const struct rte_flow_item *pattern = traffic_pattern(1000);
	struct rte_flow_error error;
	struct trip_flow *flow;

	/* Such a domain progresses by hand alone. */
	if (harness_mode != TRIP_PROGRESS_MANUAL)
		skip();
	harness_open(1, &(struct trip_domain_attr){.clock = TRIP_CLOCK_PACKET});
	open_port(0);
	assert_int_equal(trip_flow_create(port, &attr, pattern, NULL, &flow, &error), -ENOTSUP);
	assert_non_null(strstr(error.message, "times of packets"));
	attr.engine = TRIP_FLOW_ENGINE_AUTO;
	assert_int_equal(trip_flow_create(port, &attr, pattern, NULL, &flow, &error), 0);
	assert_non_null(strstr(trip_flow_reason(flow), "times of packets"));
	expect(flow, 0, TRIP_FLOW_FATE_PASS, TRIP_FLOW_ENGINE_SW);
	assert_int_equal(trip_flow_destroy(flow), 0);
	close_port();
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(flow_stop_and_start),
	HARNESS_TEST(flow_passthru_is_software),
	HARNESS_TEST(flow_egress_is_software),
	HARNESS_TEST(flow_allow_is_software),
	HARNESS_TEST(flow_set_is_software),
	HARNESS_TEST(flow_reason_is_that_of_who_chooses),
	HARNESS_TEST_OWN(flow_by_the_clock_of_packets_is_software),
};

TRAFFIC_MAIN(tests)
