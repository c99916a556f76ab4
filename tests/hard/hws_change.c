/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on flows by templates, on mlx5 HWS as the test plays it: one by one, and in its queue.
 */
#include <errno.h>

#include "hws_bed.h"

/* --- operations --- */

static void
receive_in_the_swap(void)
{
	/* The drop stands, the rule that it replaces too; packets come by the same jump. */
	assert_int_equal(fake_hws_rules(HWS_GROUP), 2);
	assert_int_equal(fake_hws_rules(0), 1);
	assert_int_equal(fake_nic_receive(1000, 13, HARD_PACKET), 0);
	fake_nic_refresh();
}

static void
receive_before_the_swap(void)
{
	assert_int_equal(fake_hws_rules(HWS_GROUP), 1);
	assert_int_equal(fake_nic_receive(1000, 5, HARD_PACKET), 5);
	fake_nic_at(FAKE_NIC_DESTROY, receive_in_the_swap);
}

static void
hws_drop_misses_no_packet(void **state)
{
	struct trip_flow *flow;

	hws_open();
	flow = hard_create(1000, false);
	hard_queue_op(flow, 100, TRIP_OP_FLOW_DROP);
	hard_queue_op(flow, 200, TRIP_OP_FLOW_PASS);
	hard_queue_op(flow, 300, TRIP_OP_FLOW_DELETE);
	harness_settle();
	hard_receive(1000, 99, 99);
	fake_nic_at(FAKE_NIC_CREATE, receive_before_the_swap);
	hard_receive(1000, 1, 1);
	harness_until(trip_cntr_read(hard_bed.completion) == 1);
	hard_expect_flow(flow, 118, TRIP_FLOW_FATE_DROP);
	assert_int_equal(fake_nic_rules(), 2);
	hard_receive(1000, 82, 0);
	harness_until(trip_cntr_read(hard_bed.completion) == 2);
	hard_expect_flow(flow, 200, TRIP_FLOW_FATE_PASS);
	hard_receive(1000, 100, 100);
	harness_until(trip_cntr_read(hard_bed.completion) == 3);
	assert_int_equal(fake_nic_rules(), 0);
	hard_receive(1000, 50, 50);
	hard_expect_flow(flow, 300, TRIP_FLOW_FATE_DELETED);
	hard_destroy(flow);
	harness_expect(hard_bed.packets, 300, 0);
	hws_close();
}

/* A rule that fails on its way leaves nothing behind; no packet goes astray meanwhile. */
static void
create_fails(enum fake_nic_call call, int error, const char *why)
{
	const struct trip_flow_attr hw = {.engine = TRIP_FLOW_ENGINE_HW};
	struct trip_flow *flow;

	hws_open();
	fake_nic_fail(call, 2, error);
	hws_expect_refused(traffic_pattern(1000), &hw, -error, why);
	assert_int_equal(fake_nic_rules(), 0);
	hard_receive(1000, 5, 5);
	flow = hard_create(1000, false);
	hard_receive(1000, 5, 5);
	hard_expect_flow(flow, 5, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hws_close();
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

	hws_open();
	flow = hard_create(1000, false);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	fake_nic_fail(call, 1, error);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	assert_int_equal(fake_nic_rules(), 2);
	hard_receive(1000, 10, 10);
	hard_expect_flow(flow, 20, TRIP_FLOW_FATE_PASS);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(hard_bed.completion) == 1);
	hard_receive(1000, 10, 0);
	hard_destroy(flow);
	harness_expect(hard_bed.packets, 30, 0);
	hws_close();
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

	hws_open();
	flow = hard_create(1000, false);
	fake_nic_fail(FAKE_NIC_DESTROY, 1, EIO);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	hard_receive(1000, 10, 0);
	hard_expect_flow(flow, 10, TRIP_FLOW_FATE_DROP);
	hard_destroy(flow);
	harness_expect(hard_bed.packets, 10, 0);
	/* The rule goes with the port, and its counter, which nobody else has got. */
	assert_int_equal(fake_nic_rules(), 1);
	hws_close_with_rest();
}

static void
hws_a_jump_that_stays_has_its_rule(void **state)
{
	struct trip_flow *flow;

	hws_open();
	flow = hard_create(1000, false);
	fake_nic_fail(FAKE_NIC_JUMP_DESTROY, 1, EIO);
	assert_int_equal(trip_flow_retire(flow), 0);
	hard_receive(1000, 10, 10);
	hard_destroy(flow);
	hard_receive(1000, 10, 10);
	hws_close_with_rest();
}

/* --- the queue --- */

/* Completions that do not come keep the worker, not the home; and counters are read. */
static void
hws_home_goes_on_while_the_device_is_slow(void **state)
{
	static struct harness_notes notes;
	struct trip_flow *flow, *other;

	hws_open();
	harness_notes_open(&notes);
	flow = hard_create(1000, false);
	other = hard_create(1001, false);
	fake_hws_hold(true);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(fake_hws_is_waiting());
	for (uint64_t i = 1; i <= 100; i++) {
		harness_note(&notes, hard_bed.packets, 10 * i, i);
		assert_int_equal(fake_nic_receive(1001, 10, HARD_PACKET), 10);
		fake_nic_refresh();
		harness_until(harness_notes_count(&notes) == i);
	}
	harness_expect(hard_bed.completion, 0, 0);
	fake_hws_hold(false);
	harness_until(trip_cntr_read(hard_bed.completion) == 1);
	hard_expect_flow(flow, 0, TRIP_FLOW_FATE_DROP);
	hard_expect_flow(other, 1000, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hard_destroy(other);
	harness_notes_close(&notes);
	hws_close();
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

	hws_open();
	for (unsigned int i = 0; i < DROPS; i++)
		hws_flows[i] = hard_create((uint16_t)(1000 + i), false);
	longest = fake_hws_longest_push();
	assert_int_equal(longest, 1);
	fake_hws_hold(true);
	for (unsigned int i = 0; i < DROPS + 2; i++) {
		bool passes = i == DROPS + 1;

		work = harness_work(
			hard_bed.packets, 0, passes ? TRIP_OP_FLOW_PASS : TRIP_OP_FLOW_DROP);
		/* The last but one is of the flow that fails first. */
		work.op.flow = hws_flows[i < DROPS ? i : i == DROPS ? 1 : 5];
		work.completion_cntr = hard_bed.completion;
		work.flags = TRIP_WORK_COMPLETION;
		work.context = i;
		harness_queue(&work);
		if (i > 0)
			continue;
		harness_until(fake_hws_is_waiting());
		fake_nic_fail(FAKE_NIC_CREATE, 1, EIO);
	}
	harness_settle();
	harness_expect(hard_bed.completion, 0, 0);
	fake_hws_hold(false);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	harness_expect(hard_bed.completion, DROPS + 1, 1);
	assert_int_equal(fake_hws_longest_push(), DROPS - 1);
	while (n < DROPS + 2)
		n += (unsigned int)trip_work_read(
			harness_domain, events + n, sizeof(struct trip_work_event), DROPS + 2 - n);
	for (unsigned int i = 0; i < DROPS + 2; i++) {
		assert_int_equal(events[i].context, i);
		assert_int_equal(events[i].result, i == 1 ? -EIO : 0);
	}
	for (unsigned int i = 0; i < DROPS; i++) {
		hard_receive((uint16_t)(1000 + i), 2, i == 5 ? 2 : 0);
		hard_expect_flow(
			hws_flows[i], 2, i == 5 ? TRIP_FLOW_FATE_PASS : TRIP_FLOW_FATE_DROP);
		assert_int_equal(trip_flow_retire(hws_flows[i]), 0);
	}
	for (unsigned int i = 0; i < DROPS; i++)
		hard_destroy(hws_flows[i]);
	hws_close();
}

/* An application has configured the port, with a short queue: it fills up, and the worker waits. */
static void
hws_full_queue_is_waited_for(void **state)
{
	hws_open_stopped();
	fake_hws_configure(hard_bed.port_id, 3, 4, HWS_SOME);
	/* It is configured, and left as it is. */
	assert_int_equal(trip_port_prepare(hard_bed.port_id, 0), 0);
	hws_open_started(3);
	for (unsigned int i = 0; i < HWS_SOME; i++)
		hws_flows[i] = hard_create((uint16_t)(1000 + i), true);
	assert_int_equal(fake_hws_full(), 0);
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	assert_int_equal(fake_nic_rules(), 0);
	assert_true(fake_hws_full() > 0);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	assert_int_equal(fake_nic_rules(), 2 * HWS_SOME);
	for (unsigned int i = 0; i < HWS_SOME; i++)
		hard_receive((uint16_t)(1000 + i), i, i);
	for (unsigned int i = 0; i < HWS_SOME; i++)
		hard_expect_flow(hws_flows[i], i, TRIP_FLOW_FATE_PASS);
	for (unsigned int i = 0; i < HWS_SOME; i++)
		assert_int_equal(trip_flow_retire(hws_flows[i]), 0);
	for (unsigned int i = 0; i < HWS_SOME; i++)
		hard_destroy(hws_flows[i]);
	hws_close();
}

static void
hws_counters_come_back_with_the_refresh(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_FLOW_ENGINE_HW};
	struct trip_flow *flow;

	hws_open_stopped();
	fake_hws_configure(hard_bed.port_id, 0, 64, 2);
	hws_open_started(0);
	hws_flows[0] = hard_create(1000, false);
	hws_flows[1] = hard_create(1001, false);
	hws_expect_refused(traffic_pattern(1002), &hw, -ENODEV, "counter are not configured!");
	hard_destroy(hws_flows[0]);
	hws_expect_refused(traffic_pattern(1002), &hw, -ENODEV, "counter are not configured!");
	fake_nic_refresh();
	flow = hard_create(1002, false);
	hard_receive(1002, 5, 5);
	hard_expect_flow(flow, 5, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hard_destroy(hws_flows[1]);
	hws_close();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hws_drop_misses_no_packet),
	cmocka_unit_test(hws_a_rule_that_fails_says_why),
	cmocka_unit_test(hws_a_drop_that_fails_leaves_the_rule),
	cmocka_unit_test(hws_a_drop_whose_old_rule_stays),
	cmocka_unit_test(hws_a_jump_that_stays_has_its_rule),
	cmocka_unit_test(hws_home_goes_on_while_the_device_is_slow),
	cmocka_unit_test(hws_operations_go_together),
	cmocka_unit_test(hws_full_queue_is_waited_for),
	cmocka_unit_test(hws_counters_come_back_with_the_refresh),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
