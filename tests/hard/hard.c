/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows in hardware on a driver that the test plays (fake_nic.h): above all the failures, and what
 * happens between two calls, which no device lets one arrange. Here what they count, and which
 * engine it is.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "hard_bed.h"

/* The cached one, with time for the test to do something before a reading is final. */
static const struct fake_nic slowly_cached = {.driver = "mlx5_pci",
	.devargs = "dv_flow_en=2,svc_cycle_time=2000",
	.shared = true,
	.cached = true,
	.keeps_shared = true};

/* --- counting --- */

static void
count_and_trip(const struct fake_nic *nic)
{
	const struct trip_flow_attr automatic = {0};
	static struct harness_notes notes;
	struct trip_flow *flow;

	hard_open(nic);
	harness_notes_open(&notes);
	assert_int_equal(hard_try_create(traffic_pattern(1000), &automatic, &flow, NULL), 0);
	assert_string_equal(trip_flow_reason(flow), "the port's hardware counts it");
	harness_note(&notes, hard_bed.packets, 100, 1);
	harness_note(&notes, hard_bed.bytes, 15000, 2);
	hard_receive(1000, 99, 99);
	harness_until(trip_cntr_read(hard_bed.packets) == 99);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	hard_receive(1000, 1, 1);
	harness_until(harness_notes_count(&notes) == 1);
	hard_receive(1000, 50, 50);
	harness_until(harness_notes_count(&notes) == 2);
	harness_until(trip_cntr_read(hard_bed.packets) == 150);
	assert_int_equal(notes.event[0].value, 100);
	assert_int_equal(notes.event[1].value, 15000);
	hard_expect_flow(flow, 150, TRIP_FLOW_FATE_PASS);
	/* What nobody has read yet is in the counter when the flow is gone. */
	hard_receive(1000, 7, 7);
	hard_destroy(flow);
	harness_expect(hard_bed.packets, 157, 0);
	harness_expect(hard_bed.bytes, 15700, 0);
	harness_notes_close(&notes);
	hard_close();
}

static void
hard_counts_and_trips_direct(void **state)
{
	count_and_trip(&hard_direct);
}

static void
hard_counts_and_trips_shared(void **state)
{
	count_and_trip(&hard_shared);
}

static void
hard_counts_and_trips_cached(void **state)
{
	count_and_trip(&hard_cached);
}

/* More than the line can carry in a second has passed the limit when it is read: that is told. */
static void
hard_misses_are_told(void **state)
{
	static struct harness_notes notes;
	struct trip_flow *flow;

	hard_open(&hard_direct);
	harness_notes_open(&notes);
	flow = hard_create(1000, false);
	harness_note(&notes, hard_bed.packets, 100, 1);
	harness_note(&notes, hard_bed.packets, 1000, 2);
	harness_settle();
	hard_receive(1000, 120, 120);
	harness_until(harness_notes_count(&notes) == 1);
	assert_int_equal(hard_stats_of().missed, 0);
	assert_int_equal(hard_stats_of().worst_packets, 20);
	assert_int_equal(hard_stats_of().worst_bytes, 0);
	/* The home has armed anew, and what was read is below that. */
	harness_settle();
	hard_receive(1000, 1000000880, 1000000880);
	harness_until(harness_notes_count(&notes) == 2);
	assert_int_equal(hard_stats_of().missed, 1);
	assert_int_equal(hard_stats_of().worst_packets, 1000000000);
	hard_destroy(flow);
	harness_notes_close(&notes);
	hard_close();
}

/* Nothing is refreshed in the background: the reading rings, and at the limit only. */
static void
hard_readings_ring(void **state)
{
	static const struct trip_domain_attr by_bell = {.refresh_us = UINT32_MAX};
	static struct harness_notes notes;
	struct trip_flow *flow;

	hard_open_homes(1, &hard_direct, &by_bell);
	harness_notes_open(&notes);
	flow = hard_create(1000, false);
	harness_note(&notes, hard_bed.packets, 100, 1);
	harness_settle();
	hard_receive(1000, 99, 99);
	hard_expect_flow(flow, 99, TRIP_FLOW_FATE_PASS);
	harness_settle();
	harness_expect(hard_bed.packets, 0, 0);
	hard_receive(1000, 1, 1);
	harness_until(harness_notes_count(&notes) == 1);
	harness_expect(hard_bed.packets, 100, 0);
	hard_destroy(flow);
	harness_notes_close(&notes);
	hard_close();
}

/* A retired flow's last counts come out of the cache later; nobody waits for them but destroy. */
static void
hard_retired_flows_count_to_the_last(void **state)
{
	struct trip_flow *flow;

	hard_open(&slowly_cached);
	flow = hard_create(1000, false);
	assert_int_equal(fake_nic_receive(1000, 30, 100), 30);
	assert_int_equal(trip_flow_retire(flow), 0);
	assert_int_equal(fake_nic_rules(), 0);
	assert_int_equal(fake_nic_receive(1000, 5, 100), 5);
	harness_settle();
	harness_expect(hard_bed.packets, 0, 0);
	fake_nic_refresh();
	harness_until(trip_cntr_read(hard_bed.packets) == 30);
	hard_expect_flow(flow, 30, TRIP_FLOW_FATE_DELETED);
	hard_destroy(flow);
	harness_expect(hard_bed.packets, 30, 0);
	hard_close();
}

/* The device tells it while that is waited for. */
static void *
refresh_until_told(void *told)
{
	while (!atomic_load((atomic_bool *)told)) {
		usleep(10000);
		fake_nic_refresh();
	}
	return NULL;
}

/* Whoever has ended it does not have to ask twice. */
static void
hard_retired_flows_tell_all_that_they_have_counted(void **state)
{
	atomic_bool told = false;
	struct trip_flow *flow;
	pthread_t device;

	hard_open(&slowly_cached);
	flow = hard_create(1000, false);
	assert_int_equal(fake_nic_receive(1000, 30, 100), 30);
	assert_int_equal(trip_flow_retire(flow), 0);
	assert_int_equal(pthread_create(&device, NULL, refresh_until_told, &told), 0);
	hard_expect_flow(flow, 30, TRIP_FLOW_FATE_DELETED);
	atomic_store(&told, true);
	assert_int_equal(pthread_join(device, NULL), 0);
	hard_destroy(flow);
	hard_close();
}

static void
cntr_23_age_has_the_refresh_lag(void **state)
{
	struct trip_flow *flow;
	uint64_t age;

	hard_open(&hard_cached);
	flow = hard_create(1000, false);
	hard_receive(1000, 10, 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	age = trip_cntr_age(hard_bed.packets);
	assert_true(age >= 20000000);
	hard_destroy(flow);
	assert_int_equal(trip_cntr_age(hard_bed.packets), 0);
	hard_close();
}

/* A counter is as old as the oldest of its sources. */
static void
cntr_23_age_of_a_mixed_counter_is_the_worst(void **state)
{
	const struct trip_flow_attr sw = {.engine = TRIP_FLOW_ENGINE_SW};
	struct trip_flow *slow, *fast;

	hard_open(&hard_cached);
	slow = hard_create(1000, false);
	assert_int_equal(hard_try_create(traffic_pattern(1001), &sw, &fast, NULL), 0);
	hard_receive(1000, 10, 10);
	assert_int_equal(traffic_burst(hard_bed.port, 0, 10, 1001, 100), 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 20);
	harness_settle();
	assert_true(trip_cntr_age(hard_bed.packets) >= 20000000);
	hard_destroy(slow);
	/* The home has looked since. */
	harness_until(trip_cntr_age(hard_bed.packets) < 20000000);
	hard_destroy(fast);
	hard_close();
}

static void
hard_facts_are_told(void **state)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};
	struct trip_flow *flow;

	hard_open(&hard_cached);
	assert_int_equal(trip_port_facts(hard_bed.port_id, &facts), 0);
	assert_string_equal(facts.engine, "mlx5 HWS");
	assert_int_equal(facts.refresh_lag_ns, 20000000);
	assert_int_equal(facts.refresh_lag_from, TRIP_PORT_FACT_KNOWN);
	assert_int_equal(facts.query_ns, 0);
	flow = hard_create(1000, false);
	hard_receive(1000, 1, 1);
	harness_until(trip_cntr_read(hard_bed.packets) == 1);
	assert_int_equal(trip_port_facts_read(hard_bed.port, &facts), 0);
	assert_true(facts.query_ns > 0 && facts.query_from == TRIP_PORT_FACT_MEASURED);
	assert_true(facts.indirect && facts.indirect_from == TRIP_PORT_FACT_MEASURED);
	hard_destroy(flow);
	hard_close();
}

/* A device in trouble does not tell what its engine is; it is asked again. */
static void
hard_facts_are_asked_again(void **state)
{
	static const struct fake_nic dv = {.driver = "mlx5_pci",
		.devargs = "dv_flow_en=1",
		.shared = true,
		.cached = true,
		.keeps_shared = true};
	const struct trip_flow_attr hw = {.engine = TRIP_FLOW_ENGINE_HW};
	struct trip_port_facts facts = {.size = sizeof(facts)};
	struct rte_flow_error error = {0};
	struct trip_flow *flow = NULL;

	hard_open(&dv);
	fake_nic_fail(FAKE_NIC_COUNTER, 1, EBUSY);
	if (hard_try_create(traffic_pattern(1000), &hw, &flow, &error) == 0)
		hard_destroy(flow);
	flow = hard_create(1000, false);
	assert_int_equal(trip_port_facts_read(hard_bed.port, &facts), 0);
	assert_string_equal(facts.engine, "mlx5 DV");
	assert_true(facts.indirect && facts.indirect_from == TRIP_PORT_FACT_MEASURED);
	hard_destroy(flow);
	hard_close();
}

/* A driver that nobody knows turns out to ask the device each time. */
static void
hard_lag_is_measured(void **state)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};
	struct trip_flow *flow;
	uint64_t n = 0;

	hard_open(&hard_direct);
	flow = hard_create(1000, false);
	assert_int_equal(trip_port_facts_read(hard_bed.port, &facts), 0);
	assert_int_equal(facts.refresh_lag_from, TRIP_PORT_FACT_ASSUMED);
	assert_int_equal(facts.refresh_lag_ns, 1000000000);
	assert_string_equal(facts.engine, "rte_flow");
	do {
		hard_receive(1000, 1, 1);
		n++;
		harness_step();
		trip_port_facts_read(hard_bed.port, &facts);
	} while (facts.refresh_lag_from == TRIP_PORT_FACT_ASSUMED);
	/* 0, unless this machine lets the worker wait: less than was seen it does not claim. */
	assert_int_equal(facts.refresh_lag_from, TRIP_PORT_FACT_MEASURED);
	assert_true(facts.refresh_lag_ns <= 1000000000);
	hard_expect_flow(flow, n, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	hard_close();
}

/* --- which engine --- */

static void
hard_auto_falls_back_with_the_reason(void **state)
{
	const struct trip_flow_attr automatic = {0}, hw = {.engine = TRIP_FLOW_ENGINE_HW};
	struct rte_flow_error error = {0};
	struct trip_flow_count count = {.size = sizeof(count)};
	struct trip_flow *flow = NULL;

	hard_open(&hard_direct);
	fake_nic_fail(FAKE_NIC_VALIDATE, UINT32_MAX, EINVAL);
	assert_int_equal(hard_try_create(traffic_pattern(1000), &hw, &flow, &error), -EINVAL);
	assert_string_equal(error.message, "the fake driver says no");
	assert_null(flow);
	assert_int_equal(hard_try_create(traffic_pattern(1000), &automatic, &flow, &error), 0);
	assert_string_equal(trip_flow_reason(flow), "the fake driver says no");
	trip_flow_query(flow, &count);
	assert_int_equal(count.engine, TRIP_FLOW_ENGINE_SW);
	assert_int_equal(traffic_burst(hard_bed.port, 0, 10, 1000, 100), 10);
	harness_until(trip_cntr_read(hard_bed.packets) == 10);
	hard_destroy(flow);
	/* Neither when it is only found out by trying. */
	fake_nic_fail(FAKE_NIC_VALIDATE, 0, 0);
	fake_nic_fail(FAKE_NIC_CREATE, 2, ENOSPC);
	assert_int_equal(hard_try_create(traffic_pattern(1000), &hw, &flow, &error), -ENOSPC);
	assert_int_equal(hard_try_create(traffic_pattern(1000), &automatic, &flow, NULL), 0);
	trip_flow_query(flow, &count);
	assert_int_equal(count.engine, TRIP_FLOW_ENGINE_SW);
	hard_destroy(flow);
	hard_close();
}

static const struct rte_flow_item items[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
	{.type = RTE_FLOW_ITEM_TYPE_VLAN}, {.type = RTE_FLOW_ITEM_TYPE_VLAN},
	{.type = RTE_FLOW_ITEM_TYPE_IPV4}, {.type = RTE_FLOW_ITEM_TYPE_UDP},
	{.type = RTE_FLOW_ITEM_TYPE_VXLAN}};

/* Items [from, to) of the list above. */
static void
expect_engine(const char *devargs, unsigned int from, unsigned int to, int hw, int automatic)
{
	const struct fake_nic nic = {
		.driver = devargs != NULL ? "mlx5_pci" : NULL, .devargs = devargs};
	struct rte_flow_item pattern[RTE_DIM(items) + 1] = {{0}};
	struct trip_flow_attr attr = {.size = sizeof(attr), .engine = TRIP_FLOW_ENGINE_HW};
	struct rte_flow_error error = {0};

	for (unsigned int i = from; i < to; i++)
		pattern[i - from] = items[i];
	pattern[to - from].type = RTE_FLOW_ITEM_TYPE_END;
	fake_nic_open(&nic);
	assert_int_equal(
		trip_flow_validate(hard_bed.port_id, &attr, pattern, NULL, NULL, &error), hw);
	if (hw < 0)
		assert_non_null(strstr(error.message, "item VLAN matches other packets"));
	attr.engine = TRIP_FLOW_ENGINE_AUTO;
	assert_int_equal(trip_flow_validate(hard_bed.port_id, &attr, pattern, NULL, NULL, &error),
		automatic);
}

/* README.md has the table. */
static void
hard_items_match_alike_or_are_refused(void **state)
{
	static const char verbs[] = "dv_flow_en=0", dv[] = "dv_flow_en=1", hws[] = "dv_flow_en=2";

	hard_bed.port_id = traffic_start(1);
	expect_engine(verbs, 0, 1, TRIP_FLOW_ENGINE_HW, TRIP_FLOW_ENGINE_HW);
	expect_engine(verbs, 3, 5, TRIP_FLOW_ENGINE_HW, TRIP_FLOW_ENGINE_HW);
	expect_engine(verbs, 0, 2, -ENOTSUP, TRIP_FLOW_ENGINE_SW);
	expect_engine(verbs, 0, 3, -ENOTSUP, TRIP_FLOW_ENGINE_SW);
	expect_engine(verbs, 3, 6, TRIP_FLOW_ENGINE_HW, TRIP_FLOW_ENGINE_SW);
	expect_engine(dv, 0, 2, TRIP_FLOW_ENGINE_HW, TRIP_FLOW_ENGINE_HW);
	expect_engine("", 0, 2, TRIP_FLOW_ENGINE_HW, TRIP_FLOW_ENGINE_HW);
	expect_engine(dv, 0, 3, -ENOTSUP, TRIP_FLOW_ENGINE_SW);
	expect_engine(hws, 0, 2, TRIP_FLOW_ENGINE_HW, TRIP_FLOW_ENGINE_SW);
	expect_engine(hws, 0, 3, -ENOTSUP, TRIP_FLOW_ENGINE_SW);
	expect_engine(NULL, 0, 2, TRIP_FLOW_ENGINE_HW, TRIP_FLOW_ENGINE_SW);
	expect_engine(NULL, 3, 5, TRIP_FLOW_ENGINE_HW, TRIP_FLOW_ENGINE_HW);
	traffic_stop();
}

/* It was another flow's before, and has what came then. */
static void
hard_a_counter_that_cannot_be_read_is_none(void **state)
{
	const struct trip_flow_attr attr = {.engine = TRIP_FLOW_ENGINE_HW};
	struct rte_flow_error error = {0};
	struct trip_flow *flow;

	hard_open(&hard_shared);
	fake_nic_fail(FAKE_NIC_QUERY, 1, EIO);
	assert_int_equal(hard_try_create(traffic_pattern(7), &attr, &flow, &error), -EIO);
	assert_non_null(error.message);
	assert_int_equal(fake_nic_rules(), 0);
	flow = hard_create(7, false);
	hard_receive(7, 3, 3);
	hard_expect_flow(flow, 3, TRIP_FLOW_FATE_PASS);
	hard_destroy(flow);
	harness_settle();
	harness_expect(hard_bed.packets, 3, 0);
	hard_close();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hard_counts_and_trips_direct),
	cmocka_unit_test(hard_counts_and_trips_shared),
	cmocka_unit_test(hard_counts_and_trips_cached),
	cmocka_unit_test(hard_a_counter_that_cannot_be_read_is_none),
	cmocka_unit_test(hard_misses_are_told),
	cmocka_unit_test(hard_readings_ring),
	cmocka_unit_test(hard_retired_flows_count_to_the_last),
	cmocka_unit_test(hard_retired_flows_tell_all_that_they_have_counted),
	cmocka_unit_test(cntr_23_age_has_the_refresh_lag),
	cmocka_unit_test(cntr_23_age_of_a_mixed_counter_is_the_worst),
	cmocka_unit_test(hard_facts_are_told),
	cmocka_unit_test(hard_facts_are_asked_again),
	cmocka_unit_test(hard_lag_is_measured),
	cmocka_unit_test(hard_auto_falls_back_with_the_reason),
	cmocka_unit_test(hard_items_match_alike_or_are_refused),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
