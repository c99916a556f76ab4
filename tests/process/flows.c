/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows of an attached process, which the primary makes: on a port of rings, by hand and by lcores.
 */
#include <errno.h>
#include <string.h>

#include <rte_flow.h>

#include "flow/flow_wire.h"
#include "flows.h"

static void
work_05_flows_of_a_secondary_by_hand(void **state)
{
	flows_test(TRIP_PROGRESS_MANUAL);
}

static void
work_05_flows_of_a_secondary(void **state)
{
	flows_test(TRIP_PROGRESS_LCORE);
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

/* The rule is refused here as by the primary: errno, kind, place and words. */
static void
refuse(struct trip_port *found, const struct trip_flow_attr *attr,
	const struct rte_flow_item *items, const struct rte_flow_action *actions, int result,
	enum rte_flow_error_type type, const void *cause, const char *words)
{
	struct rte_flow_error error = {0};
	struct trip_flow *flow;

	assert_int_equal(trip_flow_create(found, attr, items, actions, &flow, &error), result);
	assert_non_null(strstr(error.message, words));
	assert_non_null(strstr(trip_error_message(), words));
	assert_int_equal(error.type, type);
	assert_ptr_equal(error.cause, cause);
}

static void
play_refused(const char *arg)
{
	const struct rte_flow_item_raw raw = {0};
	const struct rte_flow_action_mark mark = {.id = 7};
	struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT},
		{.type = RTE_FLOW_ACTION_TYPE_MARK}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct trip_flow_attr attr = {.size = sizeof(attr)};
	struct trip_port *found;
	struct trip_flow *flows[FLOWS_EACH + 1];
	struct flows_pattern pattern;
	struct rte_flow_item items[TRIP_FLOW_WIRE_ITEMS + 2];

	family_attach();
	found = flows_find();
	flows_make_pattern(&pattern, FLOWS_DNS);
	pattern.items[2].spec = NULL;
	refuse(found, NULL, pattern.items, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_SPEC,
		&pattern.items[2], "udp: mask or last without spec");
	flows_make_pattern(&pattern, FLOWS_DNS);
	refuse(found, NULL, pattern.items, actions, -EINVAL, RTE_FLOW_ERROR_TYPE_ACTION_CONF,
		&actions[1], "action MARK says no id");
	actions[1].conf = &mark;
	attr.direction = TRIP_FLOW_EGRESS;
	refuse(found, &attr, pattern.items, actions, -EINVAL, RTE_FLOW_ERROR_TYPE_ACTION,
		&actions[1], "not for egress");
	attr.direction = TRIP_FLOW_INGRESS;
	attr.engine = TRIP_FLOW_ENGINE_HW;
	{
		struct rte_flow_error error;
		struct trip_flow *flow;

		assert_true(trip_flow_create(found, &attr, pattern.items, NULL, &flow, &error) < 0);
		assert_true(strlen(error.message) > 0);
	}
	/* What cannot be asked for. */
	pattern.items[2] = (struct rte_flow_item){.type = RTE_FLOW_ITEM_TYPE_RAW, .spec = &raw};
	refuse(found, NULL, pattern.items, NULL, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM,
		&pattern.items[2], "item RAW");
	actions[1].type = RTE_FLOW_ACTION_TYPE_JUMP;
	flows_make_pattern(&pattern, FLOWS_DNS);
	refuse(found, NULL, pattern.items, actions, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION,
		&actions[1], "action JUMP");
	memset(items, 0, sizeof(items));
	for (unsigned int i = 0; i <= TRIP_FLOW_WIRE_ITEMS; i++)
		items[i].type = RTE_FLOW_ITEM_TYPE_VOID;
	refuse(found, NULL, items, NULL, -E2BIG, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
		&items[TRIP_FLOW_WIRE_ITEMS], "too long");
	/* What a process may have. */
	for (unsigned int i = 0; i < FLOWS_EACH; i++)
		flows[i] = flows_create(found, NULL, (uint16_t)(FLOWS_DNS + i));
	flows_make_pattern(&pattern, 99);
	refuse(found, NULL, pattern.items, NULL, -ENOSPC, RTE_FLOW_ERROR_TYPE_NONE, NULL,
		"has all 6 flows and counters objects");
	assert_int_equal(trip_flow_destroy(flows[0]), 0);
	flows[0] = flows_create(found, NULL, FLOWS_DNS);
	for (unsigned int i = 0; i < FLOWS_EACH; i++)
		assert_int_equal(trip_flow_destroy(flows[i]), 0);
	assert_int_equal(trip_port_close(found), 0);
	assert_int_equal(family_try_close(), 0);
}

static void
what_the_primary_refuses_is_told_in_full(void **state)
{
	struct family_child child;

	flows_open(TRIP_PROGRESS_LCORE);
	child = family_start("refused", 8, NULL);
	family_end(&child);
	flows_close();
}

/* ---- death ------------------------------------------------------------------------------------
 */

static void
work_07_flows_end_with_their_process_by_hand(void **state)
{
	flows_test_death(TRIP_PROGRESS_MANUAL);
}

static void
work_07_flows_end_with_their_process(void **state)
{
	flows_test_death(TRIP_PROGRESS_LCORE);
}

static const struct family_part parts[] = {
	{"flows", flows_play},
	{"refused", play_refused},
	{"holder", flows_play_holder},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_05_flows_of_a_secondary),
		cmocka_unit_test(work_05_flows_of_a_secondary_by_hand),
		cmocka_unit_test(what_the_primary_refuses_is_told_in_full),
		cmocka_unit_test(work_07_flows_end_with_their_process),
		cmocka_unit_test(work_07_flows_end_with_their_process_by_hand),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	static const struct flows_engine software = {
		.engine = TRIP_FLOW_ENGINE_SW, .deaths = 5, .receive = flows_receive_burst};

	flows_engine = &software;
	family_device = FLOWS_DEVICE;
	return family_main(argc, argv, parts, run);
}
