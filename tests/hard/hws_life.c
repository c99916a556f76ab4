/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows by templates while their port stops, starts, resets and goes, on mlx5 HWS as the test plays
 * it. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "hws_bed.h"

static void
hws_port_is_prepared_before_it_starts(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_FLOW_ENGINE_HW};
	struct trip_flow *flow;

	hws_open_stopped();
	fake_hws_counters(100);
	hws_open_started(0);
	hws_expect_refused(traffic_pattern(1000), &hw, -EINVAL, "trip_port_prepare()");
	assert_int_equal(trip_port_prepare(hard_bed.port_id, 10), -EINVAL);
	assert_int_equal(trip_port_prepare(99, 10), -ENODEV);
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	assert_int_equal(trip_port_prepare(hard_bed.port_id, 101), -ERANGE);
	assert_non_null(strstr(trip_error_message(), "101 rules, but it has 100 counters"));
	assert_int_equal(trip_port_prepare(hard_bed.port_id, 0), 0);
	hws_expect_refused(traffic_pattern(1000), &hw, -ENODEV, "not started");
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	flow = hard_create(1000, false);
	hard_destroy(flow);
	hws_close();
}

static void
hws_stop_and_start(void **state)
{
	struct trip_flow *kept, *lost;
	unsigned int tables;

	hws_open();
	kept = hard_create(1000, true);
	lost = hard_create(1001, false);
	hard_receive(1000, 10, 10);
	hard_receive(1001, 5, 5);
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	assert_int_equal(fake_nic_rules(), 0);
	tables = fake_hws_tables();
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	fake_hws_flush();
	hard_expect_flow(lost, 5, TRIP_FLOW_FATE_LOST);
	hard_expect_flow(kept, 10, TRIP_FLOW_FATE_PASS);
	harness_await(hard_bed.packets, 15, 1);
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	assert_int_equal(fake_hws_tables(), tables);
	hard_receive(1000, 20, 20);
	hard_expect_flow(kept, 30, TRIP_FLOW_FATE_PASS);
	/* A drop that fires meanwhile is that of the rule that comes back. */
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	fake_hws_flush();
	hard_queue_op(kept, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(hard_bed.completion) == 1);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	hard_receive(1000, 1, 0);
	hard_expect_flow(kept, 31, TRIP_FLOW_FATE_DROP);
	hard_destroy(kept);
	hard_destroy(lost);
	hws_close();
}

/* Many come back together, some of them do not: those are lost, and no other. */
static void
hws_each_of_many_has_a_fate(void **state)
{
	unsigned int n_lost = 0;

	hws_open();
	for (unsigned int i = 0; i < HWS_SOME; i++)
		hws_flows[i] = hard_create((uint16_t)(1000 + i), true);
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	fake_nic_fail(FAKE_NIC_CREATE, 7, EIO);
	fake_nic_fail(FAKE_NIC_JUMP, 5, EIO);
	assert_int_equal(trip_port_started(hard_bed.port), 12);
	assert_true(fake_hws_longest_push() > 1);
	assert_int_equal(fake_nic_rules(), 2 * (HWS_SOME - 12));
	for (unsigned int i = 0; i < HWS_SOME; i++) {
		hard_receive((uint16_t)(1000 + i), 3, 3);
		if (hard_fate_of(hws_flows[i]) == TRIP_FLOW_FATE_LOST)
			n_lost++;
		else
			hard_expect_flow(hws_flows[i], 3, TRIP_FLOW_FATE_PASS);
	}
	assert_int_equal(n_lost, 12);
	harness_until(trip_cntr_readerr(hard_bed.packets) == 12);
	harness_until(trip_cntr_read(hard_bed.packets) == 3 * (HWS_SOME - 12));
	assert_int_equal(hard_stats_of().lost, 12);
	for (unsigned int i = 0; i < HWS_SOME; i++)
		assert_int_equal(trip_flow_retire(hws_flows[i]), 0);
	for (unsigned int i = 0; i < HWS_SOME; i++)
		hard_destroy(hws_flows[i]);
	hws_close();
}

/* The application says nothing: no dead handle is used all the same. */
static void
hws_stop_that_is_not_told(void **state)
{
	struct trip_flow *kept;

	hws_open();
	kept = hard_create(1000, true);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	fake_hws_flush();
	harness_until(hard_stats_of().rules == 0);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STOPPED]) == 1);
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	hard_receive(1000, 20, 20);
	hard_expect_flow(kept, 30, TRIP_FLOW_FATE_PASS);
	hard_destroy(kept);
	hws_close();
}

/* What nobody could take out ends with the stop, a rule and a jump: the flows come back where they
 * stood, and give all back when they go. */
static void
hws_what_stays_ends_with_the_stop(void **state)
{
	struct trip_flow *flow, *other;

	hws_open();
	flow = hard_create(1000, true);
	other = hard_create(1001, true);
	hard_receive(1000, 10, 10);
	fake_nic_fail(FAKE_NIC_DESTROY, 1, EIO);
	fake_nic_fail(FAKE_NIC_JUMP_DESTROY, 1, EIO);
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	assert_true(fake_nic_rules() > 0);
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	fake_hws_flush();
	assert_int_equal(fake_nic_rules(), 0);
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	hard_receive(1000, 20, 20);
	hard_receive(1001, 5, 5);
	hard_expect_flow(flow, 30, TRIP_FLOW_FATE_PASS);
	hard_expect_flow(other, 5, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hard_destroy(other);
	hws_close();
}

/* Here it is the old rule of a drop, and where it stood the pass after the stop is to stand. */
static void
hws_what_stays_ends_with_a_stop_not_told(void **state)
{
	struct trip_flow *flow;

	hws_open();
	flow = hard_create(1000, true);
	fake_nic_fail(FAKE_NIC_DESTROY, 1, EIO);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	fake_hws_flush();
	harness_until(hard_stats_of().rules == 0);
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_PASS);
	harness_until(
		trip_cntr_read(hard_bed.completion) + trip_cntr_readerr(hard_bed.completion) == 2);
	harness_expect(hard_bed.completion, 1, 1);
	hard_receive(1000, 20, 20);
	hard_expect_flow(flow, 20, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hws_close();
}

/* An operation that the device will never answer. */
static void
hws_removal_ends_the_wait(void **state)
{
	struct trip_flow *flow, *other;

	hws_open();
	flow = hard_create(1000, true);
	other = hard_create(1001, false);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	fake_hws_hold(true);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(fake_hws_is_waiting());
	fake_nic_event(RTE_ETH_EVENT_INTR_RMV);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_REMOVED]) == 1);
	harness_until(trip_cntr_readerr(hard_bed.packets) == 2);
	hard_expect_flow(flow, 10, TRIP_FLOW_FATE_LOST);
	hard_expect_flow(other, 0, TRIP_FLOW_FATE_LOST);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_PASS);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 2);
	hard_destroy(flow);
	hard_destroy(other);
	hws_close_with_rest();
}

static void
remove_device(void)
{
	fake_nic_event(RTE_ETH_EVENT_INTR_RMV);
}

/* One that it answers when nobody waits any more. */
static void
hws_removal_as_the_device_answers(void **state)
{
	struct trip_flow *flow;

	hws_open();
	flow = hard_create(1000, true);
	fake_hws_at_pull(1, remove_device);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_REMOVED]) == 1);
	hard_expect_flow(flow, 0, TRIP_FLOW_FATE_LOST);
	hard_destroy(flow);
	hws_close_with_rest();
}

/* Nor will it ever answer this one. */
static void
hws_reset_ends_the_wait(void **state)
{
	struct trip_flow *flow;

	hws_open();
	flow = hard_create(1000, true);
	fake_hws_hold(true);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(fake_hws_is_waiting());
	fake_nic_event(RTE_ETH_EVENT_INTR_RESET);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STOPPED]) == 1);
	fake_hws_abandon();
	fake_hws_hold(false);
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	fake_hws_configure(hard_bed.port_id, 0, 64, 100);
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	hard_receive(1000, 5, 5);
	hard_expect_flow(flow, 5, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hws_close();
}

/* A recovery empties the queue, which takes operations again afterwards. */
static void
hws_recovery_ends_the_wait(void **state)
{
	struct trip_flow *flow;

	hws_open();
	flow = hard_create(1000, true);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	fake_hws_hold(true);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(fake_hws_is_waiting());
	fake_nic_event(RTE_ETH_EVENT_ERR_RECOVERING);
	harness_until(trip_cntr_readerr(hard_bed.completion) == 1);
	fake_hws_drain();
	fake_hws_flush();
	fake_hws_hold(false);
	fake_nic_event(RTE_ETH_EVENT_RECOVERY_SUCCESS);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STARTED]) == 1);
	hard_receive(1000, 5, 5);
	hard_expect_flow(flow, 15, TRIP_FLOW_FATE_PASS);
	hard_queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(hard_bed.completion) == 1);
	hard_receive(1000, 5, 0);
	hard_destroy(flow);
	hws_close();
}

/* The driver throws all away, also what it was asked for last. */
static void
begin_recovery(void)
{
	fake_nic_event(RTE_ETH_EVENT_ERR_RECOVERING);
	fake_hws_drain();
	fake_hws_flush();
	fake_nic_flush();
}

/* Rules are waited for because of a stop, and some have gone: counters that the driver has thrown
 * away meanwhile are neither read to the last nor given back. */
static void
hws_recovery_in_a_stop(void **state)
{
	/* Without jumps, which go first. */
	const struct trip_flow_attr attr = {
		.engine = TRIP_FLOW_ENGINE_HW, .recreate = true, .group = 5};
	const unsigned int n = 20;

	hws_open_forgetful();
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(hard_try_create(traffic_pattern((uint16_t)(1000 + i)), &attr,
					 &hws_flows[i], NULL),
			0);
	fake_hws_at_pull(n / 2, begin_recovery);
	assert_int_equal(trip_port_stopping(hard_bed.port), 0);
	assert_int_equal(fake_nic_rules(), 0);
	fake_nic_event(RTE_ETH_EVENT_RECOVERY_SUCCESS);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STOPPED]) == 2);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	assert_int_equal(fake_nic_rules(), n);
	for (unsigned int i = 0; i < n; i++)
		hard_expect_flow(hws_flows[i], 0, TRIP_FLOW_FATE_PASS);
	for (unsigned int i = 0; i < n; i++)
		hard_destroy(hws_flows[i]);
	hws_close();
}

/* All is gone, the configuration too; the application brings it back. */
static void
hws_reset_begins_anew(void **state)
{
	struct trip_flow *flow;

	hws_open();
	flow = hard_create(1000, true);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	fake_nic_event(RTE_ETH_EVENT_INTR_RESET);
	harness_until(atomic_load(&hard_bed.n_events[TRIP_PORT_STOPPED]) == 1);
	fake_hws_abandon();
	assert_int_equal(rte_eth_dev_stop(hard_bed.port_id), 0);
	fake_hws_configure(hard_bed.port_id, 0, 64, 100);
	assert_int_equal(rte_eth_dev_start(hard_bed.port_id), 0);
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	hard_receive(1000, 5, 5);
	hard_expect_flow(flow, 15, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hws_close();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hws_port_is_prepared_before_it_starts),
	cmocka_unit_test(hws_stop_and_start),
	cmocka_unit_test(hws_each_of_many_has_a_fate),
	cmocka_unit_test(hws_stop_that_is_not_told),
	cmocka_unit_test(hws_what_stays_ends_with_the_stop),
	cmocka_unit_test(hws_what_stays_ends_with_a_stop_not_told),
	cmocka_unit_test(hws_removal_ends_the_wait),
	cmocka_unit_test(hws_removal_as_the_device_answers),
	cmocka_unit_test(hws_reset_begins_anew),
	cmocka_unit_test(hws_reset_ends_the_wait),
	cmocka_unit_test(hws_recovery_ends_the_wait),
	cmocka_unit_test(hws_recovery_in_a_stop),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
