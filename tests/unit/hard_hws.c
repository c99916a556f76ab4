/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows in hardware by templates, on mlx5 HWS as the test plays it (fake_hws.h): no driver runs
 * here. hard.c has what does not depend on how rules go in.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_ethdev.h>

#include "fake_hws.h"
#include "harness.h"
#include "traffic.h"

#define PORT_EVENTS 16
#define MANY 4000
#define BYTES 100
/* Where template.h puts what was asked for in group 0. */
#define GROUP 0x7472
#define TABLES 128

static struct trip_port *port;
static uint16_t port_id;
static struct trip_cntr *packets, *completion;
static _Atomic unsigned int n_events[PORT_EVENTS];
static struct trip_flow *flows[MANY];

static const struct fake_nic hws = {.driver = "mlx5_pci",
	.devargs = "0000:01:00.0,dv_flow_en=2,svc_cycle_time=2",
	.shared = true,
	.cached = true,
	.keeps_shared = true,
	.templates = true};

static void
note_event(struct trip_port *which, enum trip_port_event event, void *arg)
{
	atomic_fetch_add(&n_events[event], 1);
}

/* Everything up to what the flow engine of the port needs before its start. */
static void
open_stopped(void)
{
	static const struct trip_domain_attr tune = {.max_flows = MANY + 16};

	memset(n_events, 0, sizeof(n_events));
	fake_nic_open(&hws);
	fake_hws_open(harness_seed);
	harness_open(1, &tune);
	port_id = traffic_start(2);
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
}

static void
open_started(uint32_t flow_queue)
{
	const struct trip_port_attr attr = {.size = sizeof(attr),
		.mode = TRIP_PORT_BURST,
		.notify = note_event,
		.flow_queue = flow_queue};

	assert_int_equal(rte_eth_dev_start(port_id), 0);
	if (trip_port_open(harness_domain, port_id, &attr, &port) != 0)
		fail_msg("%s", trip_error_message());
	packets = harness_cntr(TRIP_WAIT_NONE);
	completion = harness_cntr(TRIP_WAIT_NONE);
}

static void
open_all(void)
{
	open_stopped();
	if (trip_port_prepare(port_id, MANY) != 0)
		fail_msg("%s", trip_error_message());
	open_started(0);
}

static void
close_port(void)
{
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	if (trip_port_close(port) != 0)
		fail_msg("%s", trip_error_message());
	traffic_stop();
	harness_cntr_close(packets);
	harness_cntr_close(completion);
	harness_close();
}

static void
close_nic(void)
{
	assert_int_equal(fake_hws_missed(), 0);
	fake_hws_close();
	fake_nic_close();
}

static void
close_all(void)
{
	close_port();
	close_nic();
}

/* What is left is the driver's to throw away, with the port. */
static void
close_with_rest(void)
{
	close_port();
	fake_hws_abandon();
	close_nic();
}

static int
try_create(const struct rte_flow_item *pattern, const struct trip_flow_attr *more,
	struct trip_flow **flow, struct rte_flow_error *error)
{
	struct trip_cntr *cntrs[] = {packets};
	struct trip_flow_attr attr = *more;

	attr.size = sizeof(attr);
	attr.cntrs = cntrs;
	attr.n_cntrs = 1;
	return trip_flow_create(port, &attr, pattern, NULL, flow, error);
}

static struct trip_flow *
create(uint16_t udp_port, bool recreate)
{
	const struct trip_flow_attr attr = {.recreate = recreate, .engine = TRIP_ENGINE_HW};
	struct rte_flow_error error = {0};
	struct trip_flow *flow;

	if (try_create(traffic_pattern(udp_port), &attr, &flow, &error) != 0)
		fail_msg("%s: %s", trip_error_message(), error.message);
	return flow;
}

static void
destroy(struct trip_flow *flow)
{
	if (trip_flow_destroy(flow) != 0)
		fail_msg("%s", trip_error_message());
}

static void
expect_flow(struct trip_flow *flow, uint64_t n, enum trip_fate fate)
{
	struct trip_flow_count count;

	assert_int_equal(trip_flow_query(flow, &count), 0);
	assert_int_equal(count.packets, n);
	assert_int_equal(count.bytes, BYTES * n);
	assert_int_equal(count.fate, fate);
	assert_int_equal(count.engine, TRIP_ENGINE_HW);
}

static enum trip_fate
fate_of(struct trip_flow *flow)
{
	struct trip_flow_count count;

	assert_int_equal(trip_flow_query(flow, &count), 0);
	return count.fate;
}

static void
receive(uint16_t udp_port, uint64_t n, uint64_t left)
{
	assert_int_equal(fake_nic_receive(udp_port, n, BYTES), left);
	fake_nic_refresh();
}

static void
queue_op(struct trip_flow *flow, uint64_t threshold, enum trip_op op)
{
	struct trip_work work = harness_work(packets, threshold, op);

	work.op.flow = flow;
	work.completion_cntr = completion;
	harness_queue(&work);
}

static struct trip_port_stats
stats_of(void)
{
	struct trip_port_stats stats;

	assert_int_equal(trip_port_stats_read(port, &stats), 0);
	return stats;
}

/* --- counting --- */

static void
count(unsigned int n)
{
	uint64_t sum = 0;

	open_all();
	for (unsigned int i = 0; i < n; i++)
		flows[i] = create((uint16_t)(1000 + i), false);
	assert_int_equal(fake_hws_rules(0), n);
	assert_int_equal(fake_hws_rules(GROUP), n);
	/* One of counted rules, one of jumps. */
	assert_int_equal(fake_hws_tables(), 2);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(fake_nic_receive((uint16_t)(1000 + i), i % 17, BYTES), i % 17);
		sum += i % 17;
	}
	assert_int_equal(fake_nic_receive((uint16_t)(1000 + n), 5, BYTES), 5);
	fake_nic_refresh();
	for (unsigned int i = 0; i < n; i++)
		expect_flow(flows[i], i % 17, TRIP_FATE_PASS);
	harness_until(trip_cntr_read(packets) == sum);
	/* What nobody has read yet is in the counter when the flow is gone. */
	receive(1000, 7, 7);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(trip_flow_retire(flows[i]), 0);
	assert_int_equal(fake_nic_rules(), 0);
	for (unsigned int i = 0; i < n; i++)
		destroy(flows[i]);
	harness_expect(packets, sum + 7, 0);
	close_all();
}

static void
hws_1_rule_counts_exactly(void **state)
{
	count(1);
}

static void
hws_100_rules_count_exactly(void **state)
{
	count(100);
}

/* A call to the worker waits for a CPU where lcores spin. */
static void
hws_4000_rules_count_exactly(void **state)
{
	if (harness_mode != TRIP_PROGRESS_MANUAL)
		skip();
	count(MANY);
}

static void
hws_trips_in_threshold_order(void **state)
{
	static struct harness_notes notes;
	struct trip_flow *flow;

	open_all();
	harness_notes_open(&notes);
	flow = create(1000, false);
	for (uint64_t i = 10; i > 0; i--)
		harness_note(&notes, packets, 100 * i, i);
	receive(1000, 99, 99);
	harness_until(trip_cntr_read(packets) == 99);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	receive(1000, 400, 400);
	harness_until(harness_notes_count(&notes) == 4);
	receive(1000, 501, 501);
	harness_until(harness_notes_count(&notes) == 10);
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(notes.event[i].context, i + 1);
	destroy(flow);
	harness_notes_close(&notes);
	close_all();
}

static void
hws_facts_are_asked(void **state)
{
	struct trip_port_facts facts;
	struct trip_flow *flow;

	open_all();
	assert_int_equal(trip_port_facts(port_id, &facts), 0);
	assert_string_equal(facts.engine, "mlx5 HWS");
	assert_true(facts.templates && facts.templates_from == TRIP_FACT_KNOWN);
	assert_int_equal(facts.refresh_lag_ns, 2000000);
	flow = create(1000, false);
	assert_int_equal(trip_port_facts_read(port, &facts), 0);
	assert_true(facts.templates && facts.templates_from == TRIP_FACT_MEASURED);
	assert_true(facts.indirect);
	destroy(flow);
	close_all();
}

/* --- what a rule is made of --- */

/* UDP by its ports, each with its mask. */
static const struct rte_flow_item *
masked(uint16_t src_mask, uint16_t dst, uint16_t dst_mask)
{
	static struct rte_flow_item_udp spec, mask;
	static const struct rte_flow_item_ipv4 no_mask;
	static const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_VOID},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &no_mask, .mask = &no_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END}};

	spec.hdr.src_port = rte_cpu_to_be_16(0xffff);
	spec.hdr.dst_port = rte_cpu_to_be_16(dst);
	mask.hdr.src_port = rte_cpu_to_be_16(src_mask);
	mask.hdr.dst_port = rte_cpu_to_be_16(dst_mask);
	return pattern;
}

/* Bits of a value that its mask leaves out would make the driver's rule match nothing. */
static void
hws_values_are_masked(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_ENGINE_HW};
	struct trip_flow *flow;

	open_all();
	assert_int_equal(try_create(masked(0, 1000, 0xffff), &hw, &flow, NULL), 0);
	receive(1000, 3, 3);
	expect_flow(flow, 3, TRIP_FATE_PASS);
	destroy(flow);
	close_all();
}

static void
expect_refused(const struct rte_flow_item *pattern, const struct trip_flow_attr *attr, int result,
	const char *why)
{
	struct trip_flow_attr automatic = *attr;
	struct rte_flow_error error = {0};
	struct trip_flow_count counted;
	struct trip_flow *flow = NULL;

	assert_int_equal(try_create(pattern, attr, &flow, &error), result);
	assert_null(flow);
	if (strstr(error.message, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", error.message, why);
	automatic.engine = TRIP_ENGINE_AUTO;
	assert_int_equal(try_create(pattern, &automatic, &flow, &error), 0);
	assert_string_equal(trip_flow_reason(flow), error.message);
	trip_flow_query(flow, &counted);
	assert_int_equal(counted.engine, TRIP_ENGINE_SW);
	destroy(flow);
}

static void
hws_two_that_match_the_same_are_refused(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_ENGINE_HW};
	const struct trip_flow_attr later = {.engine = TRIP_ENGINE_HW, .priority = 1};
	struct trip_flow *flow, *behind;

	open_all();
	flow = create(1000, false);
	expect_refused(traffic_pattern(1000), &hw, -EEXIST, "matches the same");
	assert_int_equal(fake_nic_rules(), 2);
	assert_int_equal(try_create(traffic_pattern(1000), &later, &behind, NULL), 0);
	receive(1000, 3, 3);
	expect_flow(flow, 3, TRIP_FATE_PASS);
	expect_flow(behind, 0, TRIP_FATE_PASS);
	destroy(flow);
	receive(1000, 2, 2);
	expect_flow(behind, 2, TRIP_FATE_PASS);
	destroy(behind);
	flow = create(1000, false);
	destroy(flow);
	close_all();
}

/* In another group packets come by the application's own jump. */
static void
hws_other_groups_have_no_jump(void **state)
{
	const struct trip_flow_attr attr = {.engine = TRIP_ENGINE_HW, .group = 5};
	struct trip_flow *flow;

	open_all();
	assert_int_equal(try_create(traffic_pattern(1000), &attr, &flow, NULL), 0);
	assert_int_equal(fake_hws_rules(5), 1);
	assert_int_equal(fake_nic_rules(), 1);
	destroy(flow);
	close_all();
}

/* Group 0 has few priorities; what is behind them comes in its order all the same. */
static void
hws_late_rules_are_reached(void **state)
{
	const struct trip_flow_attr late = {.engine = TRIP_ENGINE_HW, .priority = 20};
	const struct trip_flow_attr later = {.engine = TRIP_ENGINE_HW, .priority = 1000};
	struct trip_flow *flow, *behind;

	open_all();
	assert_int_equal(try_create(masked(1, 1000, 0xffff), &later, &behind, NULL), 0);
	receive(1000, 1, 1);
	expect_flow(behind, 1, TRIP_FATE_PASS);
	assert_int_equal(try_create(traffic_pattern(1000), &late, &flow, NULL), 0);
	receive(1000, 3, 3);
	expect_flow(flow, 3, TRIP_FATE_PASS);
	expect_flow(behind, 1, TRIP_FATE_PASS);
	destroy(flow);
	destroy(behind);
	close_all();
}

/* A mask for each shape; two tables for each: the rules, and the jumps to them. */
static void
hws_shapes_have_a_limit_that_is_named(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_ENGINE_HW};
	unsigned int n = TABLES / 2;

	open_all();
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(
			try_create(masked((uint16_t)(i + 1), 1000, 0xffff), &hw, &flows[i], NULL),
			0);
	assert_int_equal(fake_hws_tables(), TABLES);
	expect_refused(masked(1000, 1000, 0xffff), &hw, -ENOSPC, "all 128 template tables");
	assert_int_equal(fake_hws_tables(), TABLES);
	assert_int_equal(fake_nic_rules(), 2 * n);
	/* Another rule of a shape that is there. */
	flows[n] = NULL;
	assert_int_equal(try_create(masked(1, 1001, 0xffff), &hw, &flows[n], NULL), 0);
	/* Tables that have no rule left give way. */
	destroy(flows[3]);
	assert_int_equal(fake_hws_tables(), TABLES);
	assert_int_equal(try_create(masked(1000, 1000, 0xffff), &hw, &flows[3], NULL), 0);
	for (unsigned int i = 0; i <= n; i++)
		destroy(flows[i]);
	close_all();
}

/* --- operations --- */

static void
receive_in_the_swap(void)
{
	/* The drop stands, the rule that it replaces too; packets come by the same jump. */
	assert_int_equal(fake_hws_rules(GROUP), 2);
	assert_int_equal(fake_hws_rules(0), 1);
	assert_int_equal(fake_nic_receive(1000, 13, BYTES), 0);
	fake_nic_refresh();
}

static void
receive_before_the_swap(void)
{
	assert_int_equal(fake_hws_rules(GROUP), 1);
	assert_int_equal(fake_nic_receive(1000, 5, BYTES), 5);
	fake_nic_at(FAKE_NIC_DESTROY, receive_in_the_swap);
}

static void
hws_drop_misses_no_packet(void **state)
{
	struct trip_flow *flow;

	open_all();
	flow = create(1000, false);
	queue_op(flow, 100, TRIP_OP_FLOW_DROP);
	queue_op(flow, 200, TRIP_OP_FLOW_PASS);
	queue_op(flow, 300, TRIP_OP_FLOW_DELETE);
	harness_settle();
	receive(1000, 99, 99);
	fake_nic_at(FAKE_NIC_CREATE, receive_before_the_swap);
	receive(1000, 1, 1);
	harness_until(trip_cntr_read(completion) == 1);
	expect_flow(flow, 118, TRIP_FATE_DROP);
	assert_int_equal(fake_nic_rules(), 2);
	receive(1000, 82, 0);
	harness_until(trip_cntr_read(completion) == 2);
	expect_flow(flow, 200, TRIP_FATE_PASS);
	receive(1000, 100, 100);
	harness_until(trip_cntr_read(completion) == 3);
	assert_int_equal(fake_nic_rules(), 0);
	receive(1000, 50, 50);
	expect_flow(flow, 300, TRIP_FATE_DELETED);
	destroy(flow);
	harness_expect(packets, 300, 0);
	close_all();
}

/* A rule that fails on its way leaves nothing behind; no packet goes astray meanwhile. */
static void
create_fails(enum fake_nic_call call, int error, const char *why)
{
	const struct trip_flow_attr hw = {.engine = TRIP_ENGINE_HW};
	struct trip_flow *flow;

	open_all();
	fake_nic_fail(call, 2, error);
	expect_refused(traffic_pattern(1000), &hw, -error, why);
	assert_int_equal(fake_nic_rules(), 0);
	receive(1000, 5, 5);
	flow = create(1000, false);
	receive(1000, 5, 5);
	expect_flow(flow, 5, TRIP_FATE_PASS);
	destroy(flow);
	close_all();
}

static void
hws_a_rule_that_fails_says_why(void **state)
{
	static const char device[] = "the device does not take the rule";

	create_fails(FAKE_NIC_CREATE, EIO, device);
	create_fails(FAKE_NIC_JUMP, EIO, device);
	create_fails(FAKE_NIC_ENQUEUE, EINVAL, "the fake driver says no");
	create_fails(FAKE_NIC_TABLE, ENOSPC, "the fake driver says no");
}

static void
drop_fails(enum fake_nic_call call, int error)
{
	struct trip_flow *flow;

	open_all();
	flow = create(1000, false);
	receive(1000, 10, 10);
	harness_until(trip_cntr_read(packets) == 10);
	fake_nic_fail(call, 1, error);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(completion) == 1);
	assert_int_equal(fake_nic_rules(), 2);
	receive(1000, 10, 10);
	expect_flow(flow, 20, TRIP_FATE_PASS);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(completion) == 1);
	receive(1000, 10, 0);
	destroy(flow);
	harness_expect(packets, 30, 0);
	close_all();
}

static void
hws_a_drop_that_fails_leaves_the_rule(void **state)
{
	drop_fails(FAKE_NIC_CREATE, EIO);
	drop_fails(FAKE_NIC_ENQUEUE, EINVAL);
	drop_fails(FAKE_NIC_ENQUEUE_DESTROY, EINVAL);
}

/* The old rule stands, and nobody can take it out: below the drop it does no harm. */
static void
hws_a_drop_whose_old_rule_stays(void **state)
{
	struct trip_flow *flow;

	open_all();
	flow = create(1000, false);
	fake_nic_fail(FAKE_NIC_DESTROY, 1, EIO);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(completion) == 1);
	receive(1000, 10, 0);
	expect_flow(flow, 10, TRIP_FATE_DROP);
	destroy(flow);
	harness_expect(packets, 10, 0);
	/* The rule goes with the port, and its counter, which nobody else has got. */
	assert_int_equal(fake_nic_rules(), 1);
	close_with_rest();
}

static void
hws_a_jump_that_stays_has_its_rule(void **state)
{
	struct trip_flow *flow;

	open_all();
	flow = create(1000, false);
	fake_nic_fail(FAKE_NIC_JUMP_DESTROY, 1, EIO);
	assert_int_equal(trip_flow_retire(flow), 0);
	receive(1000, 10, 10);
	destroy(flow);
	receive(1000, 10, 10);
	close_with_rest();
}

/* --- the queue --- */

/* Completions that do not come keep the worker, not the home; and counters are read. */
static void
hws_home_goes_on_while_the_device_is_slow(void **state)
{
	static struct harness_notes notes;
	struct trip_flow *flow, *other;

	open_all();
	harness_notes_open(&notes);
	flow = create(1000, false);
	other = create(1001, false);
	fake_hws_hold(true);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(fake_hws_is_waiting());
	for (uint64_t i = 1; i <= 100; i++) {
		harness_note(&notes, packets, 10 * i, i);
		assert_int_equal(fake_nic_receive(1001, 10, BYTES), 10);
		fake_nic_refresh();
		harness_until(harness_notes_count(&notes) == i);
	}
	harness_expect(completion, 0, 0);
	fake_hws_hold(false);
	harness_until(trip_cntr_read(completion) == 1);
	expect_flow(flow, 0, TRIP_FATE_DROP);
	expect_flow(other, 1000, TRIP_FATE_PASS);
	destroy(flow);
	destroy(other);
	harness_notes_close(&notes);
	close_all();
}

#define DROPS 40

/* What is fired while an operation is under way goes together, but for a flow that is in it
 * already; all is told in the order of firing. */
static void
hws_operations_go_together(void **state)
{
	struct trip_work_event events[DROPS + 2];
	struct trip_work work;
	unsigned int n = 0, longest;

	open_all();
	for (unsigned int i = 0; i < DROPS; i++)
		flows[i] = create((uint16_t)(1000 + i), false);
	longest = fake_hws_longest_push();
	assert_int_equal(longest, 1);
	fake_hws_hold(true);
	for (unsigned int i = 0; i < DROPS + 2; i++) {
		bool passes = i == DROPS + 1;

		work = harness_work(packets, 0, passes ? TRIP_OP_FLOW_PASS : TRIP_OP_FLOW_DROP);
		/* The last but one is of the flow that fails first. */
		work.op.flow = flows[i < DROPS ? i : i == DROPS ? 1 : 5];
		work.completion_cntr = completion;
		work.flags = TRIP_COMPLETION;
		work.context = i;
		harness_queue(&work);
		if (i > 0)
			continue;
		harness_until(fake_hws_is_waiting());
		fake_nic_fail(FAKE_NIC_CREATE, 1, EIO);
	}
	harness_settle();
	harness_expect(completion, 0, 0);
	fake_hws_hold(false);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	harness_expect(completion, DROPS + 1, 1);
	assert_int_equal(fake_hws_longest_push(), DROPS - 1);
	while (n < DROPS + 2)
		n += (unsigned int)trip_work_read(harness_domain, events + n, DROPS + 2 - n);
	for (unsigned int i = 0; i < DROPS + 2; i++) {
		assert_int_equal(events[i].context, i);
		assert_int_equal(events[i].result, i == 1 ? -EIO : 0);
	}
	for (unsigned int i = 0; i < DROPS; i++) {
		receive((uint16_t)(1000 + i), 2, i == 5 ? 2 : 0);
		expect_flow(flows[i], 2, i == 5 ? TRIP_FATE_PASS : TRIP_FATE_DROP);
		assert_int_equal(trip_flow_retire(flows[i]), 0);
	}
	for (unsigned int i = 0; i < DROPS; i++)
		destroy(flows[i]);
	close_all();
}

#define SOME 300

/* An application has configured the port, with a short queue: it fills up, and the worker waits. */
static void
hws_full_queue_is_waited_for(void **state)
{
	open_stopped();
	fake_hws_configure(port_id, 3, 4, SOME);
	/* It is configured, and left as it is. */
	assert_int_equal(trip_port_prepare(port_id, 0), 0);
	open_started(3);
	for (unsigned int i = 0; i < SOME; i++)
		flows[i] = create((uint16_t)(1000 + i), true);
	assert_int_equal(fake_hws_full(), 0);
	assert_int_equal(trip_port_stopping(port), 0);
	assert_int_equal(fake_nic_rules(), 0);
	assert_true(fake_hws_full() > 0);
	assert_int_equal(trip_port_started(port), 0);
	assert_int_equal(fake_nic_rules(), 2 * SOME);
	for (unsigned int i = 0; i < SOME; i++)
		receive((uint16_t)(1000 + i), i, i);
	for (unsigned int i = 0; i < SOME; i++)
		expect_flow(flows[i], i, TRIP_FATE_PASS);
	for (unsigned int i = 0; i < SOME; i++)
		assert_int_equal(trip_flow_retire(flows[i]), 0);
	for (unsigned int i = 0; i < SOME; i++)
		destroy(flows[i]);
	close_all();
}

static void
hws_counters_come_back_with_the_refresh(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_ENGINE_HW};
	struct trip_flow *flow;

	open_stopped();
	fake_hws_configure(port_id, 0, 64, 2);
	open_started(0);
	flows[0] = create(1000, false);
	flows[1] = create(1001, false);
	expect_refused(traffic_pattern(1002), &hw, -ENODEV, "counter are not configured!");
	destroy(flows[0]);
	expect_refused(traffic_pattern(1002), &hw, -ENODEV, "counter are not configured!");
	fake_nic_refresh();
	flow = create(1002, false);
	receive(1002, 5, 5);
	expect_flow(flow, 5, TRIP_FATE_PASS);
	destroy(flow);
	destroy(flows[1]);
	close_all();
}

/* --- the life of a port --- */

static void
hws_port_is_prepared_before_it_starts(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_ENGINE_HW};
	struct trip_flow *flow;

	open_stopped();
	fake_hws_counters(100);
	open_started(0);
	expect_refused(traffic_pattern(1000), &hw, -EINVAL, "trip_port_prepare()");
	assert_int_equal(trip_port_prepare(port_id, 10), -EINVAL);
	assert_int_equal(trip_port_prepare(99, 10), -ENODEV);
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
	assert_int_equal(trip_port_prepare(port_id, 101), -ERANGE);
	assert_non_null(strstr(trip_error_message(), "101 rules, but it has 100 counters"));
	assert_int_equal(trip_port_prepare(port_id, 0), 0);
	expect_refused(traffic_pattern(1000), &hw, -ENODEV, "not started");
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	flow = create(1000, false);
	destroy(flow);
	close_all();
}

static void
hws_stop_and_start(void **state)
{
	struct trip_flow *kept, *lost;
	unsigned int tables;

	open_all();
	kept = create(1000, true);
	lost = create(1001, false);
	receive(1000, 10, 10);
	receive(1001, 5, 5);
	assert_int_equal(trip_port_stopping(port), 0);
	assert_int_equal(fake_nic_rules(), 0);
	tables = fake_hws_tables();
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
	fake_hws_flush();
	expect_flow(lost, 5, TRIP_FATE_LOST);
	expect_flow(kept, 10, TRIP_FATE_PASS);
	harness_until(trip_cntr_read(packets) == 15);
	harness_expect(packets, 15, 1);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	assert_int_equal(trip_port_started(port), 0);
	assert_int_equal(fake_hws_tables(), tables);
	receive(1000, 20, 20);
	expect_flow(kept, 30, TRIP_FATE_PASS);
	/* A drop that fires meanwhile is that of the rule that comes back. */
	assert_int_equal(trip_port_stopping(port), 0);
	fake_hws_flush();
	queue_op(kept, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(completion) == 1);
	assert_int_equal(trip_port_started(port), 0);
	receive(1000, 1, 0);
	expect_flow(kept, 31, TRIP_FATE_DROP);
	destroy(kept);
	destroy(lost);
	close_all();
}

/* Many come back together, some of them do not: those are lost, and no other. */
static void
hws_each_of_many_has_a_fate(void **state)
{
	unsigned int n_lost = 0;

	open_all();
	for (unsigned int i = 0; i < SOME; i++)
		flows[i] = create((uint16_t)(1000 + i), true);
	assert_int_equal(trip_port_stopping(port), 0);
	fake_nic_fail(FAKE_NIC_CREATE, 7, EIO);
	fake_nic_fail(FAKE_NIC_JUMP, 5, EIO);
	assert_int_equal(trip_port_started(port), 12);
	assert_true(fake_hws_longest_push() > 1);
	assert_int_equal(fake_nic_rules(), 2 * (SOME - 12));
	for (unsigned int i = 0; i < SOME; i++) {
		receive((uint16_t)(1000 + i), 3, 3);
		if (fate_of(flows[i]) == TRIP_FATE_LOST)
			n_lost++;
		else
			expect_flow(flows[i], 3, TRIP_FATE_PASS);
	}
	assert_int_equal(n_lost, 12);
	harness_until(trip_cntr_readerr(packets) == 12);
	harness_until(trip_cntr_read(packets) == 3 * (SOME - 12));
	assert_int_equal(stats_of().lost, 12);
	for (unsigned int i = 0; i < SOME; i++)
		assert_int_equal(trip_flow_retire(flows[i]), 0);
	for (unsigned int i = 0; i < SOME; i++)
		destroy(flows[i]);
	close_all();
}

/* The application says nothing: no dead handle is used all the same. */
static void
hws_stop_that_is_not_told(void **state)
{
	struct trip_flow *kept;

	open_all();
	kept = create(1000, true);
	receive(1000, 10, 10);
	harness_until(trip_cntr_read(packets) == 10);
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
	fake_hws_flush();
	harness_until(stats_of().rules == 0);
	harness_until(atomic_load(&n_events[TRIP_PORT_STOPPED]) == 1);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	assert_int_equal(trip_port_started(port), 0);
	receive(1000, 20, 20);
	expect_flow(kept, 30, TRIP_FATE_PASS);
	destroy(kept);
	close_all();
}

/* An operation that the device will never answer. */
static void
hws_removal_ends_the_wait(void **state)
{
	struct trip_flow *flow, *other;

	open_all();
	flow = create(1000, true);
	other = create(1001, false);
	receive(1000, 10, 10);
	harness_until(trip_cntr_read(packets) == 10);
	fake_hws_hold(true);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(fake_hws_is_waiting());
	fake_nic_event(RTE_ETH_EVENT_INTR_RMV);
	harness_until(trip_cntr_readerr(completion) == 1);
	harness_until(atomic_load(&n_events[TRIP_PORT_REMOVED]) == 1);
	harness_until(trip_cntr_readerr(packets) == 2);
	expect_flow(flow, 10, TRIP_FATE_LOST);
	expect_flow(other, 0, TRIP_FATE_LOST);
	queue_op(flow, 0, TRIP_OP_FLOW_PASS);
	harness_until(trip_cntr_readerr(completion) == 2);
	destroy(flow);
	destroy(other);
	close_with_rest();
}

/* All is gone, the configuration too; the application brings it back. */
static void
hws_reset_begins_anew(void **state)
{
	struct trip_flow *flow;

	open_all();
	flow = create(1000, true);
	receive(1000, 10, 10);
	harness_until(trip_cntr_read(packets) == 10);
	fake_nic_event(RTE_ETH_EVENT_INTR_RESET);
	harness_until(atomic_load(&n_events[TRIP_PORT_STOPPED]) == 1);
	fake_hws_abandon();
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
	fake_hws_configure(port_id, 0, 64, 100);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	assert_int_equal(trip_port_started(port), 0);
	receive(1000, 5, 5);
	expect_flow(flow, 15, TRIP_FATE_PASS);
	destroy(flow);
	close_all();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hws_1_rule_counts_exactly),
	cmocka_unit_test(hws_100_rules_count_exactly),
	cmocka_unit_test(hws_4000_rules_count_exactly),
	cmocka_unit_test(hws_trips_in_threshold_order),
	cmocka_unit_test(hws_facts_are_asked),
	cmocka_unit_test(hws_values_are_masked),
	cmocka_unit_test(hws_two_that_match_the_same_are_refused),
	cmocka_unit_test(hws_other_groups_have_no_jump),
	cmocka_unit_test(hws_late_rules_are_reached),
	cmocka_unit_test(hws_shapes_have_a_limit_that_is_named),
	cmocka_unit_test(hws_drop_misses_no_packet),
	cmocka_unit_test(hws_a_rule_that_fails_says_why),
	cmocka_unit_test(hws_a_drop_that_fails_leaves_the_rule),
	cmocka_unit_test(hws_a_drop_whose_old_rule_stays),
	cmocka_unit_test(hws_a_jump_that_stays_has_its_rule),
	cmocka_unit_test(hws_home_goes_on_while_the_device_is_slow),
	cmocka_unit_test(hws_operations_go_together),
	cmocka_unit_test(hws_full_queue_is_waited_for),
	cmocka_unit_test(hws_counters_come_back_with_the_refresh),
	cmocka_unit_test(hws_port_is_prepared_before_it_starts),
	cmocka_unit_test(hws_stop_and_start),
	cmocka_unit_test(hws_each_of_many_has_a_fate),
	cmocka_unit_test(hws_stop_that_is_not_told),
	cmocka_unit_test(hws_removal_ends_the_wait),
	cmocka_unit_test(hws_reset_begins_anew),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
