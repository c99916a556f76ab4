/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows by templates, on mlx5 HWS as the test plays it: what they count, and what a rule is made
 * of. */
#include <errno.h>

#include "hws_bed.h"

/* --- counting --- */

static void
count(unsigned int n)
{
	uint64_t sum = 0;

	hws_open();
	for (unsigned int i = 0; i < n; i++)
		hws_flows[i] = hard_create((uint16_t)(1000 + i), false);
	assert_int_equal(fake_hws_rules(0), n);
	assert_int_equal(fake_hws_rules(HWS_GROUP), n);
	/* One of counted rules, one of jumps. */
	assert_int_equal(fake_hws_tables(), 2);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(
			fake_nic_receive((uint16_t)(1000 + i), i % 17, HARD_PACKET), i % 17);
		sum += i % 17;
	}
	assert_int_equal(fake_nic_receive((uint16_t)(1000 + n), 5, HARD_PACKET), 5);
	fake_nic_refresh();
	for (unsigned int i = 0; i < n; i++)
		hard_expect_flow(hws_flows[i], i % 17, TRIP_FLOW_FATE_PASS);
	harness_until(trip_cntr_read(hard_bed.packets) == sum);
	/* What nobody has read yet is in the counter when the flow is gone. */
	hard_receive(1000, 7, 7);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(trip_flow_retire(hws_flows[i]), 0);
	assert_int_equal(fake_nic_rules(), 0);
	for (unsigned int i = 0; i < n; i++)
		hard_destroy(hws_flows[i]);
	harness_expect(hard_bed.packets, sum + 7, 0);
	hws_close();
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
	count(HWS_MANY);
}

static void
hws_trips_in_threshold_order(void **state)
{
	static struct harness_notes notes;
	struct trip_flow *flow;

	hws_open();
	harness_notes_open(&notes);
	flow = hard_create(1000, false);
	for (uint64_t i = 10; i > 0; i--)
		harness_note(&notes, hard_bed.packets, 100 * i, i);
	hard_receive(1000, 99, 99);
	harness_until(trip_cntr_read(hard_bed.packets) == 99);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	hard_receive(1000, 400, 400);
	harness_until(harness_notes_count(&notes) == 4);
	hard_receive(1000, 501, 501);
	harness_until(harness_notes_count(&notes) == 10);
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(notes.event[i].context, i + 1);
	hard_destroy(flow);
	harness_notes_close(&notes);
	hws_close();
}

static void
hws_facts_are_asked(void **state)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};
	struct trip_flow *flow;

	hws_open();
	assert_int_equal(trip_port_facts(hard_bed.port_id, &facts), 0);
	assert_string_equal(facts.engine, "mlx5 HWS");
	assert_true(facts.templates && facts.templates_from == TRIP_PORT_FACT_KNOWN);
	assert_int_equal(facts.refresh_lag_ns, 2000000);
	flow = hard_create(1000, false);
	assert_int_equal(trip_port_facts_read(hard_bed.port, &facts), 0);
	assert_true(facts.templates && facts.templates_from == TRIP_PORT_FACT_MEASURED);
	assert_true(facts.indirect);
	hard_destroy(flow);
	hws_close();
}

/* --- what a rule is made of --- */

/* Bits of a value that its mask leaves out would make the driver's rule match nothing. */
static void
hws_values_are_masked(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_FLOW_ENGINE_HW};
	struct trip_flow *flow;

	hws_open();
	assert_int_equal(hard_try_create(hws_masked(0, 1000, 0xffff), &hw, &flow, NULL), 0);
	hard_receive(1000, 3, 3);
	hard_expect_flow(flow, 3, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hws_close();
}

static void
hws_two_that_match_the_same_are_refused(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_FLOW_ENGINE_HW};
	const struct trip_flow_attr later = {.engine = TRIP_FLOW_ENGINE_HW, .priority = 1};
	struct trip_flow *flow, *behind;

	hws_open();
	flow = hard_create(1000, false);
	hws_expect_refused(traffic_pattern(1000), &hw, -EEXIST, "matches the same");
	assert_int_equal(fake_nic_rules(), 2);
	assert_int_equal(hard_try_create(traffic_pattern(1000), &later, &behind, NULL), 0);
	hard_receive(1000, 3, 3);
	hard_expect_flow(flow, 3, TRIP_FLOW_FATE_PASS);
	hard_expect_flow(behind, 0, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hard_receive(1000, 2, 2);
	hard_expect_flow(behind, 2, TRIP_FLOW_FATE_PASS);
	hard_destroy(behind);
	flow = hard_create(1000, false);
	hard_destroy(flow);
	hws_close();
}

/* In another group packets come by the application's own jump. */
static void
hws_other_groups_have_no_jump(void **state)
{
	const struct trip_flow_attr attr = {.engine = TRIP_FLOW_ENGINE_HW, .group = 5};
	struct trip_flow *flow;

	hws_open();
	assert_int_equal(hard_try_create(traffic_pattern(1000), &attr, &flow, NULL), 0);
	assert_int_equal(fake_hws_rules(5), 1);
	assert_int_equal(fake_nic_rules(), 1);
	hard_destroy(flow);
	hws_close();
}

/* Group 0 has few priorities; what is behind them comes in its order all the same. */
static void
hws_late_rules_are_reached(void **state)
{
	const struct trip_flow_attr late = {.engine = TRIP_FLOW_ENGINE_HW, .priority = 20};
	const struct trip_flow_attr later = {.engine = TRIP_FLOW_ENGINE_HW, .priority = 1000};
	struct trip_flow *flow, *behind;

	hws_open();
	assert_int_equal(hard_try_create(hws_masked(1, 1000, 0xffff), &later, &behind, NULL), 0);
	hard_receive(1000, 1, 1);
	hard_expect_flow(behind, 1, TRIP_FLOW_FATE_PASS);
	assert_int_equal(hard_try_create(traffic_pattern(1000), &late, &flow, NULL), 0);
	hard_receive(1000, 3, 3);
	hard_expect_flow(flow, 3, TRIP_FLOW_FATE_PASS);
	hard_expect_flow(behind, 1, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hard_destroy(behind);
	hws_close();
}

/* A mask for each shape; two tables for each: the rules, and the jumps to them. */
static void
hws_shapes_have_a_limit_that_is_named(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_FLOW_ENGINE_HW};
	unsigned int n = HWS_TABLES / 2;

	hws_open();
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(hard_try_create(hws_masked((uint16_t)(i + 1), 1000, 0xffff), &hw,
					 &hws_flows[i], NULL),
			0);
	assert_int_equal(fake_hws_tables(), HWS_TABLES);
	hws_expect_refused(hws_masked(1000, 1000, 0xffff), &hw, -ENOSPC, "all 128 template tables");
	assert_int_equal(fake_hws_tables(), HWS_TABLES);
	assert_int_equal(fake_nic_rules(), 2 * n);
	/* Another rule of a shape that is there. */
	hws_flows[n] = NULL;
	assert_int_equal(hard_try_create(hws_masked(1, 1001, 0xffff), &hw, &hws_flows[n], NULL), 0);
	/* Tables that have no rule left give way. */
	hard_destroy(hws_flows[3]);
	assert_int_equal(fake_hws_tables(), HWS_TABLES);
	assert_int_equal(
		hard_try_create(hws_masked(1000, 1000, 0xffff), &hw, &hws_flows[3], NULL), 0);
	for (unsigned int i = 0; i <= n; i++)
		hard_destroy(hws_flows[i]);
	hws_close();
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
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
