/* SPDX-License-Identifier: BSD-3-Clause */
/* What flows pass within a rate, and whose bucket they take it from (DATA-10). */
#include <errno.h>
#include <string.h>

#include "harness.h"
#include "traffic.h"

static struct trip_port *port;

static const struct rte_flow_item any[] = {
	{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};

static void
open_port(enum trip_port_mode mode)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = mode, .n_tx_queues = 1};

	port = traffic_open(1, &attr);
}

static void
close_port(void)
{
	traffic_close(port);
}

static struct trip_flow *
create(uint32_t group, uint32_t priority, const struct rte_flow_item *pattern,
	const struct rte_flow_action *actions)
{
	const struct trip_flow_attr attr = {
		.size = sizeof(attr), .group = group, .priority = priority};
	struct rte_flow_error error;
	struct trip_flow *flow;

	if (trip_flow_create(port, &attr, pattern, actions, &flow, &error) != 0)
		fail_msg("%s", error.message);
	return flow;
}

static uint64_t
packets_of(struct trip_flow *flow)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	return count.packets;
}

static void
destroy(struct trip_flow **flows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(trip_flow_destroy(flows[i]), 0);
}

/* Queues what is due at once, and waits until it has fired; returns its result. */
static int
act(const struct trip_work *work)
{
	struct trip_work own = *work;

	own.flags = TRIP_WORK_COMPLETION;
	harness_queue(&own);
	return harness_event().result;
}

static struct trip_work
police(struct trip_cntr *cntr, struct trip_flow *flow, struct trip_flow *with, uint64_t rate)
{
	struct trip_work work = harness_work(cntr, 0, TRIP_OP_FLOW_POLICE);

	work.op.police.flow = flow;
	work.op.police.rate = rate;
	work.op.police.with = with;
	work.op.police.unit = TRIP_POLICE_UNIT_PACKETS;
	work.op.police.burst_ms = 1000;
	return work;
}

static uint64_t
rate_of(struct trip_flow *flow)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	return count.police_rate;
}

static uint64_t
expect_fate(struct trip_flow *flow, enum trip_flow_fate fate, uint64_t rate)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	assert_int_equal(count.fate, fate);
	assert_int_equal(count.police_rate, rate);
	return count.policed_packets;
}

/* What passes of twice as much as a burst has: the burst, and what the time that it took yields. */
static void
expect_burst(struct trip_flow *const flows[2], struct trip_cntr *clock, uint64_t rate)
{
	uint64_t before[2], began = trip_cntr_read(clock), passed = 0, policed = 0, most;
	struct trip_flow_count count = {.size = sizeof(count)};

	for (unsigned int i = 0; i < 2; i++)
		before[i] = expect_fate(flows[i], TRIP_FLOW_FATE_POLICE, rate);
	for (unsigned int i = 0; i < rate / 50; i++)
		passed += traffic_burst(port, 0, 100, (uint16_t)(1000 + i % 2), 64);
	most = rate + (trip_cntr_read(clock) - began) * rate / 1000000000 + 2;
	assert_true(passed >= rate);
	assert_true(passed <= most);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(trip_flow_query(flows[i], &count), 0);
		policed += count.policed_packets - before[i];
		assert_int_equal(count.policed_bytes, 64 * count.policed_packets);
	}
	assert_int_equal(passed + policed, 2 * rate);
}

/* DATA-10 as it is of drops: what began last prevails until it ends, and a pass ends all. */
static void
data_10_flow_passes_within_a_rate(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_condition rate = {.size = sizeof(rate),
		.kind = TRIP_CONDITION_RATE,
		.when.rate = {1, 1000000000, 1, 1000000000}};
	struct trip_flow *flows[2];
	struct trip_work work;
	uint64_t id;

	open_port(TRIP_PORT_BURST);
	flows[0] = create(0, 0, traffic_pattern(1000), NULL);
	flows[1] = create(0, 0, traffic_pattern(1001), NULL);
	for (unsigned int i = 0; i < 2; i++) {
		work = police(cntr, flows[i], flows[0], 500);
		assert_int_equal(act(&work), 0);
	}
	expect_burst(flows, trip_clock_cntr(harness_domain), 500);
	/* All that came counts; what is dropped is not policed. */
	assert_int_equal(packets_of(flows[0]) + packets_of(flows[1]), 1000);
	work = harness_work(cntr, 0, TRIP_OP_FLOW_DROP);
	work.op.flow = flows[0];
	assert_int_equal(act(&work), 0);
	id = expect_fate(flows[0], TRIP_FLOW_FATE_DROP, 500);
	assert_int_equal(traffic_burst(port, 0, 100, 1000, 64), 0);
	assert_int_equal(expect_fate(flows[0], TRIP_FLOW_FATE_DROP, 500), id);
	work.op_type = TRIP_OP_FLOW_PASS;
	assert_int_equal(act(&work), 0);
	(void)expect_fate(flows[0], TRIP_FLOW_FATE_PASS, 0);
	assert_int_equal(traffic_burst(port, 0, 1000, 1000, 64), 1000);
	/* One with an end gives way to what was before it, unless something came since. */
	for (unsigned int later = 0; later < 2; later++) {
		work = police(cntr, flows[1], NULL, 7);
		assert_int_equal(act(&work), 0);
		work = police(cntr, flows[1], NULL, 9);
		work.condition = &rate;
		work.interval = 1;
		id = harness_queue(&work);
		harness_settle();
		trip_cntr_add(cntr, 1);
		harness_until(rate_of(flows[1]) == 9);
		work = police(cntr, flows[1], NULL, 11);
		if (later != 0)
			assert_int_equal(act(&work), 0);
		assert_int_equal(trip_work_cancel(harness_domain, id), 0);
		harness_settle();
		harness_until(rate_of(flows[1]) == (later != 0 ? 11 : 7));
	}
	destroy(flows, RTE_DIM(flows));
	/* The next flow in its place is not policed. */
	flows[0] = create(0, 0, traffic_pattern(1001), NULL);
	(void)expect_fate(flows[0], TRIP_FLOW_FATE_PASS, 0);
	destroy(flows, 1);
	close_port();
	harness_cntr_close(cntr);
}

/* What a packet takes at one bit a second is eight minutes. */
static void
data_10_a_lower_rate_keeps_no_higher_one_waiting(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_flow *flow;
	struct trip_work work;

	open_port(TRIP_PORT_BURST);
	flow = create(0, 0, traffic_pattern(1000), NULL);
	work = police(cntr, flow, NULL, 1);
	work.op.police.unit = TRIP_POLICE_UNIT_BITS;
	assert_int_equal(act(&work), 0);
	assert_int_equal(traffic_burst(port, 0, 2, 1000, 64), 1);
	work = police(cntr, flow, NULL, TRIP_POLICE_MAX);
	work.op.police.burst_ms = 1;
	assert_int_equal(act(&work), 0);
	harness_until(traffic_burst(port, 0, 1, 1000, 64) == 1);
	destroy(&flow, 1);
	close_port();
	harness_cntr_close(cntr);
}

static void
refuse_police(const struct trip_work *work, const char *says)
{
	assert_int_equal(trip_work_queue(harness_domain, work, NULL), -EINVAL);
	if (strstr(trip_error_message(), says) == NULL)
		fail_msg("%s", trip_error_message());
}

static void
flow_refuses_rates(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_flow *flow;
	struct trip_work work;

	open_port(TRIP_PORT_BURST);
	flow = create(0, 0, any, NULL);
	work = police(cntr, flow, NULL, 0);
	refuse_police(&work, "rate 0 of operation \"police\" is below the limit 1");
	work.op.police.rate = TRIP_POLICE_MAX + 1;
	refuse_police(&work, "is above the limit 1099511627775");
	work.op.police.rate = 1;
	work.op.police.unit = 0;
	refuse_police(&work, "unit 0");
	work.op.police.unit = 3;
	refuse_police(&work, "unit 3");
	work.op.police.unit = TRIP_POLICE_UNIT_BITS;
	work.op.police.burst_ms = 1001;
	refuse_police(&work, "burst_ms 1001");
	work.op.police.burst_ms = 0;
	assert_int_equal(act(&work), 0);
	(void)expect_fate(flow, TRIP_FLOW_FATE_POLICE, 1);
	destroy(&flow, 1);
	close_port();
	harness_cntr_close(cntr);
}

/* What takes from one bucket takes from it again, when something that had another has ended. */
static void
data_10_the_bucket_comes_back_with_the_rate(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_condition rate = {.size = sizeof(rate),
		.kind = TRIP_CONDITION_RATE,
		.when.rate = {1, 1000000000, 1, 1000000000}};
	struct trip_flow *flows[2];
	struct trip_work work;
	uint64_t id;

	open_port(TRIP_PORT_BURST);
	flows[0] = create(0, 0, traffic_pattern(1000), NULL);
	flows[1] = create(0, 0, traffic_pattern(1001), NULL);
	for (unsigned int i = 0; i < 2; i++) {
		work = police(cntr, flows[i], flows[0], 500);
		assert_int_equal(act(&work), 0);
	}
	work = police(cntr, flows[1], NULL, 900);
	work.condition = &rate;
	work.interval = 1;
	id = harness_queue(&work);
	harness_settle();
	trip_cntr_add(cntr, 1);
	harness_until(rate_of(flows[1]) == 900);
	assert_int_equal(trip_work_cancel(harness_domain, id), 0);
	harness_until(rate_of(flows[1]) == 500);
	expect_burst(flows, trip_clock_cntr(harness_domain), 500);
	destroy(flows, RTE_DIM(flows));
	close_port();
	harness_cntr_close(cntr);
}

/* A flow that ends leaves room for another, which is not policed yet. */
static void
data_10_as_many_flows_are_policed_as_may(void **state)
{
	const struct trip_domain_attr attr = {.max_policed = 2};
	struct trip_cntr *cntr;
	struct trip_flow *flows[3];
	struct trip_work work;

	harness_open(1, &attr);
	cntr = harness_cntr(TRIP_WAIT_NONE);
	open_port(TRIP_PORT_BURST);
	for (unsigned int i = 0; i < 3; i++)
		flows[i] = create(0, 0, traffic_pattern((uint16_t)(1000 + i)), NULL);
	work = police(cntr, flows[1], flows[0], 500);
	assert_int_equal(act(&work), 0);
	work = police(cntr, flows[2], NULL, 500);
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -ENOSPC);
	assert_non_null(strstr(trip_error_message(), "max_policed 2"));
	work = police(cntr, flows[0], flows[1], 500);
	assert_int_equal(act(&work), 0);
	for (unsigned int round = 0; round < 5; round++) {
		assert_int_equal(trip_flow_destroy(flows[1]), 0);
		flows[1] = create(0, 0, traffic_pattern(1001), NULL);
		assert_int_equal(expect_fate(flows[1], TRIP_FLOW_FATE_PASS, 0), 0);
		assert_int_equal(traffic_burst(port, 0, 32, 1001, 64), 32);
		work = police(cntr, flows[1], NULL, 1);
		assert_int_equal(act(&work), 0);
		assert_int_equal(traffic_burst(port, 0, 32, 1001, 64), 1);
		assert_int_equal(expect_fate(flows[1], TRIP_FLOW_FATE_POLICE, 1), 31);
	}
	destroy(flows, RTE_DIM(flows));
	close_port();
	harness_cntr_close(cntr);
}

/* WORK-11: of what is refused for something else, no flow is policed. */
static void
work_11_what_is_refused_takes_no_place(void **state)
{
	const struct trip_domain_attr attr = {.max_policed = 1};
	const struct trip_condition idle = {
		.size = sizeof(idle), .kind = TRIP_CONDITION_IDLE, .when.idle.time = UINT64_MAX};
	struct trip_cntr *cntr;
	struct trip_flow *flows[2];
	struct trip_work work;

	harness_open(1, &attr);
	cntr = harness_cntr(TRIP_WAIT_NONE);
	open_port(TRIP_PORT_BURST);
	for (unsigned int i = 0; i < RTE_DIM(flows); i++)
		flows[i] = create(0, 0, traffic_pattern((uint16_t)(1000 + i)), NULL);
	work = police(cntr, flows[0], NULL, 500);
	work.condition = &idle;
	refuse_police(&work, "time 18446744073709551615 of condition \"idle\"");
	work = police(cntr, flows[1], NULL, 500);
	assert_int_equal(act(&work), 0);
	destroy(flows, RTE_DIM(flows));
	close_port();
	harness_cntr_close(cntr);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(data_10_flow_passes_within_a_rate),
	HARNESS_TEST(data_10_a_lower_rate_keeps_no_higher_one_waiting),
	HARNESS_TEST(data_10_the_bucket_comes_back_with_the_rate),
	HARNESS_TEST(flow_refuses_rates),
	HARNESS_TEST_OWN(data_10_as_many_flows_are_policed_as_may),
	HARNESS_TEST_OWN(work_11_what_is_refused_takes_no_place),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
