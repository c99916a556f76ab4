/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The unmodified mlx5 driver with dv_flow_en=2 on a device that cannot do it, as old cards cannot:
 * whoever wants hardware is told why not, everybody else gets software, and none of the calls is
 * made of which the driver does not come back.
 */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "harness.h"
#include "vcx_test.h"

#define PORT 0

static const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
	{.type = RTE_FLOW_ITEM_TYPE_IPV4}, {.type = RTE_FLOW_ITEM_TYPE_END}};

static void
hws_is_refused_with_the_reason(void **state)
{
	struct trip_port_attr port_attr = {.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	struct trip_flow_attr attr = {.size = sizeof(attr), .engine = TRIP_FLOW_ENGINE_HW};
	const struct rte_eth_conf conf = {0};
	struct rte_flow_error error = {0};
	struct trip_port_facts facts = {.size = sizeof(facts)};
	struct trip_flow_count count = {.size = sizeof(count)};
	struct trip_port *port;
	struct trip_flow *flow;

	/* Not configured; then without counters. It is not started: later drivers refuse that too.
	 */
	assert_int_equal(trip_port_prepare(PORT, 10), -EINVAL);
	assert_int_equal(rte_eth_dev_configure(PORT, 2, 2, &conf), 0);
	assert_int_equal(trip_port_prepare(PORT, 10), -ERANGE);
	assert_non_null(strstr(trip_error_message(), "10 rules, but it has 0 counters"));
	assert_int_equal(trip_port_facts(PORT, &facts), 0);
	assert_string_equal(facts.engine, "mlx5 HWS");
	assert_true(facts.templates);
	/* rte_flow_validate() would be its end. */
	assert_int_equal(
		trip_flow_validate(PORT, &attr, pattern, NULL, NULL, &error), TRIP_FLOW_ENGINE_HW);
	harness_open(1, NULL);
	assert_int_equal(trip_port_open(harness_domain, PORT, &port_attr, &port), 0);
	assert_int_equal(trip_flow_create(port, &attr, pattern, NULL, &flow, &error), -EINVAL);
	assert_non_null(strstr(error.message, "trip_port_prepare()"));
	attr.engine = TRIP_FLOW_ENGINE_AUTO;
	assert_int_equal(trip_flow_create(port, &attr, pattern, NULL, &flow, NULL), 0);
	assert_string_equal(trip_flow_reason(flow), error.message);
	assert_int_equal(trip_flow_query(flow, &count), 0);
	assert_int_equal(count.engine, TRIP_FLOW_ENGINE_SW);
	assert_int_equal(trip_flow_destroy(flow), 0);
	assert_int_equal(trip_port_close(port), 0);
	harness_close();
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(hws_is_refused_with_the_reason)};
	int result = vcx_test_init(VCX_HWS, 1);

	if (result != 0)
		return result;
	harness_mode = TRIP_PROGRESS_MANUAL;
	result = cmocka_run_group_tests(tests, NULL, NULL);
	if (result == 0)
		vcx_test_fini();
	return result;
}
