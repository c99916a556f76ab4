/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows in hardware of an attached process, which the primary makes. */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "flows_device.h"

static void
work_05_hard_flows_of_a_secondary(void **state)
{
	flows_each_device(flows_test, TRIP_PROGRESS_LCORE);
}

static void
work_05_hard_flows_of_a_secondary_by_hand(void **state)
{
	flows_each_device(flows_test, TRIP_PROGRESS_MANUAL);
}

static void
work_07_hard_flows_end_with_their_process(void **state)
{
	flows_each_device(flows_test_death, TRIP_PROGRESS_LCORE);
}

static void
work_07_hard_flows_end_with_their_process_by_hand(void **state)
{
	flows_each_device(flows_test_death, TRIP_PROGRESS_MANUAL);
}

/* ---- the life of the port ---------------------------------------------------------------------
 */

static enum trip_flow_fate
fate_of(struct trip_flow *flow)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	return count.fate;
}

static void
tell_primary(char what)
{
	family_say(what);
	(void)family_listen();
}

static void
play_life(const char *arg)
{
	struct trip_flow_attr attr = {
		.size = sizeof(attr), .engine = TRIP_FLOW_ENGINE_HW, .n_cntrs = 1};
	struct trip_cntr *kept_cntr, *lost_cntr;
	struct trip_flow *kept, *lost;
	struct trip_port *found;

	family_attach();
	found = flows_find();
	kept_cntr = family_cntr("kept", TRIP_WAIT_UNSPEC);
	lost_cntr = family_cntr("lost", TRIP_WAIT_UNSPEC);
	attr.cntrs = &lost_cntr;
	lost = flows_create(found, &attr, FLOWS_DNS + 1);
	attr.cntrs = &kept_cntr;
	attr.recreate = true;
	kept = flows_create(found, &attr, FLOWS_DNS);
	tell_primary('p');
	assert_int_equal(trip_cntr_wait(kept_cntr, 10, 60000), 0);
	assert_int_equal(trip_cntr_wait(lost_cntr, 10, 60000), 0);
	tell_primary('s');
	/* CNTR-03: what is lost is told by the error value. */
	family_until(trip_cntr_readerr(lost_cntr) == 1);
	assert_int_equal(fate_of(lost), TRIP_FLOW_FATE_LOST);
	assert_int_equal(fate_of(kept), TRIP_FLOW_FATE_PASS);
	tell_primary('p');
	assert_int_equal(trip_cntr_wait(kept_cntr, 20, 60000), 0);
	assert_int_equal(trip_cntr_read(lost_cntr), 10);
	tell_primary('r');
	tell_primary('p');
	assert_int_equal(trip_cntr_wait(kept_cntr, 30, 60000), 0);
	assert_int_equal(trip_cntr_readerr(kept_cntr), 0);
	tell_primary('d');
	family_until(trip_cntr_readerr(kept_cntr) == 1);
	assert_int_equal(fate_of(kept), TRIP_FLOW_FATE_LOST);
	/* What is gone can be let go of, and one that is asked for is refused. */
	attr.recreate = false;
	{
		struct flows_pattern pattern;
		struct trip_flow *none;

		flows_make_pattern(&pattern, FLOWS_DNS + 2);
		assert_true(trip_flow_create(found, &attr, pattern.items, NULL, &none, NULL) < 0);
	}
	assert_int_equal(trip_flow_destroy(lost), 0);
	assert_int_equal(trip_flow_destroy(kept), 0);
	assert_int_equal(trip_cntr_read(kept_cntr), 30);
	assert_int_equal(trip_cntr_close(kept_cntr), 0);
	assert_int_equal(trip_cntr_close(lost_cntr), 0);
	assert_int_equal(trip_port_close(found), 0);
	assert_int_equal(family_try_close(), 0);
	family_say('e');
}

static void
stop_and_start(void)
{
	assert_int_equal(trip_port_stopping(flows_port), 0);
	assert_int_equal(rte_eth_dev_stop(flows_port_id()), 0);
	if (flows_device->nic.templates)
		fake_hws_flush();
	else
		fake_nic_flush();
	assert_int_equal(rte_eth_dev_start(flows_port_id()), 0);
	assert_int_equal(trip_port_started(flows_port), 0);
}

static void
reset(void)
{
	unsigned int before = atomic_load(&flows_stopped);

	fake_nic_event(RTE_ETH_EVENT_INTR_RESET);
	family_until(atomic_load(&flows_stopped) > before);
	assert_int_equal(rte_eth_dev_stop(flows_port_id()), 0);
	flows_throw_away();
	flows_prepare_device(flows_port_id());
	assert_int_equal(rte_eth_dev_start(flows_port_id()), 0);
	assert_int_equal(trip_port_started(flows_port), 0);
}

static void
serve_life(char said)
{
	switch (said) {
	case 'p':
		(void)flows_receive_hard(FLOWS_DNS, 10);
		(void)flows_receive_hard(FLOWS_DNS + 1, 10);
		break;
	case 's':
		stop_and_start();
		break;
	case 'r':
		reset();
		break;
	case 'd':
		fake_nic_event(RTE_ETH_EVENT_INTR_RMV);
		break;
	default:
		fail_msg("the secondary says %d", said);
	}
}

static void
life(enum trip_progress progress)
{
	struct family_child child;
	char said;

	flows_open(progress);
	child = family_start("life", 8, NULL);
	while ((said = family_hear(&child)) != 'e') {
		serve_life(said);
		family_tell(&child, said);
	}
	family_end(&child);
	flows_throw_away();
	flows_close();
}

static void
cntr_03_a_port_stops_is_reset_and_goes(void **state)
{
	flows_each_device(life, TRIP_PROGRESS_LCORE);
}

/* ---- validation -------------------------------------------------------------------------------
 */

static int
validate(uint16_t port_id, enum trip_flow_engine engine, const struct rte_flow_item *items,
	const char *words)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr), .engine = engine};
	struct rte_flow_error error = {0};
	const char *reason = NULL;
	int result = trip_flow_validate(port_id, &attr, items, NULL, &reason, &error);
	const char *text = result >= 0 ? reason : error.message;

	if (strstr(text, words) == NULL)
		fail_msg("%d: \"%s\" lacks \"%s\"", result, text, words);
	return result;
}

/* Of the primary's device, whatever this process's looks like. */
static void
expect_facts(struct trip_port *found)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};

	assert_int_equal(trip_port_facts(0, &facts), 0);
	assert_string_equal(facts.driver, "mlx5_pci");
	assert_string_equal(facts.engine, "mlx5 verbs");
	assert_int_equal(trip_port_facts(77, &facts), -ENODEV);
	assert_int_equal(trip_port_facts_read(found, &facts), 0);
	assert_string_equal(facts.engine, "mlx5 verbs");
	assert_int_equal(facts.refresh_lag_ns, 0);
	assert_int_equal(facts.refresh_lag_from, TRIP_PORT_FACT_KNOWN);
	assert_int_equal(trip_port_close(found), 0);
}

static void
play_validate(const char *arg)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};
	const struct rte_flow_item_raw raw = {0};
	struct rte_flow_item odd[] = {
		{.type = RTE_FLOW_ITEM_TYPE_RAW, .spec = &raw}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	struct flows_pattern pattern;

	flows_make_pattern(&pattern, FLOWS_DNS);
	assert_int_equal(validate(0, TRIP_FLOW_ENGINE_AUTO, pattern.items, "attached to no domain"),
		-ENOTSUP);
	assert_int_equal(trip_port_facts(0, &facts), -ENOTSUP);
	family_attach();
	expect_facts(flows_find());
	assert_int_equal(
		validate(0, TRIP_FLOW_ENGINE_AUTO, pattern.items, "the port's hardware counts"),
		TRIP_FLOW_ENGINE_HW);
	assert_int_equal(validate(0, TRIP_FLOW_ENGINE_HW, pattern.items, "the rule asks for it"),
		TRIP_FLOW_ENGINE_HW);
	assert_int_equal(validate(0, TRIP_FLOW_ENGINE_SW, pattern.items, "the rule asks for it"),
		TRIP_FLOW_ENGINE_SW);
	assert_int_equal(
		validate(77, TRIP_FLOW_ENGINE_AUTO, pattern.items, "no such port"), -ENODEV);
	assert_int_equal(validate(0, 9, pattern.items, "engine is unknown"), -EINVAL);
	assert_int_equal(validate(0, TRIP_FLOW_ENGINE_AUTO, odd, "item RAW"), -ENOTSUP);
	assert_int_equal(validate(0, TRIP_FLOW_ENGINE_HW, NULL, "no pattern"), -EINVAL);
	/* What only the driver knows. */
	tell_primary('n');
	assert_int_equal(
		validate(0, TRIP_FLOW_ENGINE_HW, pattern.items, "the fake driver says no"), -EIO);
	tell_primary('n');
	assert_int_equal(
		validate(0, TRIP_FLOW_ENGINE_AUTO, pattern.items, "the fake driver says no"),
		TRIP_FLOW_ENGINE_SW);
	assert_int_equal(fake_nic_called(FAKE_NIC_VALIDATE), 0);
	assert_int_equal(family_try_close(), 0);
	assert_int_equal(
		validate(0, TRIP_FLOW_ENGINE_SW, pattern.items, "attached to no domain"), -ENOTSUP);
	family_say('e');
}

/* The primary's driver is asked, where there is one to ask. */
static void
validation_asks_the_primary(void **state)
{
	struct family_child child;

	flows_device = flows_devices;
	flows_open(TRIP_PROGRESS_LCORE);
	child = family_start("validate", 8, NULL);
	while (family_hear(&child) == 'n') {
		fake_nic_fail(FAKE_NIC_VALIDATE, 1, EIO);
		family_tell(&child, 'n');
	}
	family_end(&child);
	flows_close();
}

static const struct family_part parts[] = {
	{"flows", flows_play},
	{"holder", flows_play_holder},
	{"life", play_life},
	{"validate", play_validate},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_05_hard_flows_of_a_secondary),
		cmocka_unit_test(work_05_hard_flows_of_a_secondary_by_hand),
		cmocka_unit_test(work_07_hard_flows_end_with_their_process),
		cmocka_unit_test(work_07_hard_flows_end_with_their_process_by_hand),
		cmocka_unit_test(cntr_03_a_port_stops_is_reset_and_goes),
		cmocka_unit_test(validation_asks_the_primary),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	flows_engine = &flows_hardware;
	family_device = FLOWS_DEVICE;
	return family_main(argc, argv, parts, run);
}
