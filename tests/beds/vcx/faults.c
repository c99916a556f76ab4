/* SPDX-License-Identifier: BSD-3-Clause */
/* A device that is slow, refuses, runs out, falls silent and goes away, as the driver passes it on.
 */
#include <stdatomic.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include "trip_test.h"
#include "vcx_test.h"

enum {
	LENGTH = 64,
	LIMIT = 1024, /* two bulks */
};

static enum vcx_engine engine;
static struct rte_flow_error error;
static uint8_t packet[LENGTH];

static struct rte_flow *
rule(unsigned i)
{
	return vcx_test_rule(0, (uint16_t)(1000 + i), VCX_FATE_DROP, 0, &error);
}

static void
slow_commands_take_their_time(void **state)
{
	uint64_t start = rte_get_tsc_cycles(), packets, bytes;
	struct rte_flow *flow;

	(void)state;
	assert_int_equal(vcx_latency(0, VCX_RULE_CREATE, 50000), 0);
	flow = rule(0);
	assert_non_null(flow);
	assert_true(rte_get_tsc_cycles() - start >= rte_get_tsc_hz() / 20);
	assert_int_equal(vcx_latency(0, VCX_RULE_CREATE, 0), 0);
	if (engine != VCX_BULK) {
		assert_int_equal(vcx_latency(0, VCX_COUNTER_QUERY, 20000), 0);
		start = rte_get_tsc_cycles();
		assert_int_equal(vcx_test_query(0, flow, &packets, &bytes), 0);
		assert_true(rte_get_tsc_cycles() - start >= rte_get_tsc_hz() / 50);
		assert_int_equal(vcx_latency(0, VCX_COUNTER_QUERY, 0), 0);
	}
	assert_int_equal(rte_flow_destroy(0, flow, &error), 0);
	assert_int_equal(vcx_latency(0, VCX_COMMANDS, 1), -EINVAL);
}

/* A late answer to a bulk is late for nobody but its readers. */
static void
slow_bulk_is_told_in_the_end(void **state)
{
	struct rte_flow *flow;

	(void)state;
	if (engine != VCX_BULK)
		skip();
	flow = rule(0);
	assert_non_null(flow);
	assert_int_equal(vcx_latency(0, VCX_COUNTER_QUERY_ASYNC, 300000), 0);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 3, false, NULL), 0);
	vcx_test_bulks(0, 2); /* the second is asked for after the first was answered */
	assert_true(vcx_test_told(0, flow, 3, 3 * LENGTH));
	assert_int_equal(vcx_latency(0, VCX_COUNTER_QUERY_ASYNC, 0), 0);
	assert_int_equal(rte_flow_destroy(0, flow, &error), 0);
}

static void
the_command_that_shall_fail_fails(void **state)
{
	struct rte_flow *flows[6];
	struct vcx_stats stats;

	(void)state;
	assert_int_equal(vcx_fail(0, VCX_RULE_CREATE, 3, 2, EBUSY), 0);
	for (unsigned i = 0; i < 6; i++) {
		flows[i] = rule(i);
		if (i == 3 || i == 4) {
			assert_null(flows[i]);
			assert_int_equal(rte_errno, EBUSY);
		} else {
			assert_non_null(flows[i]);
		}
	}
	assert_int_equal(vcx_stats(0, &stats), 0);
	assert_int_equal(stats.rules, 4);
	for (unsigned i = 0; i < 6; i++)
		assert_true(flows[i] == NULL || rte_flow_destroy(0, flows[i], &error) == 0);
	assert_int_equal(vcx_fail(0, VCX_RULE_CREATE, 0, 1, 0), -EINVAL);
	/* And not longer than is asked for. */
	assert_int_equal(vcx_fail(0, VCX_RULE_CREATE, 0, 100, EBUSY), 0);
	assert_int_equal(vcx_fail(0, VCX_RULE_CREATE, 0, 0, 0), 0);
	flows[0] = rule(0);
	assert_non_null(flows[0]);
	assert_int_equal(rte_flow_destroy(0, flows[0], &error), 0);
}

static void
a_query_that_shall_fail_fails(void **state)
{
	struct rte_flow *flow;
	uint64_t packets, bytes;

	(void)state;
	if (engine == VCX_BULK)
		skip();
	flow = rule(0);
	assert_non_null(flow);
	assert_int_equal(vcx_fail(0, VCX_COUNTER_QUERY, 1, 1, ETIMEDOUT), 0);
	assert_int_equal(vcx_test_query(0, flow, &packets, &bytes), 0);
	assert_true(vcx_test_query(0, flow, &packets, &bytes) < 0);
	assert_int_equal(vcx_test_query(0, flow, &packets, &bytes), 0);
	assert_int_equal(rte_flow_destroy(0, flow, &error), 0);
}

/* In bulk, a counter that was given back is used again after the next bulk only. */
static void
counters_run_out(void **state)
{
	static struct rte_flow *flows[LIMIT + 1];
	struct vcx_stats stats;

	(void)state;
	if (engine == VCX_BULK)
		vcx_test_bulks(0, 2);
	assert_int_equal(vcx_counter_limit(0, LIMIT), 0);
	for (unsigned i = 0; i < LIMIT; i++) {
		flows[i] = rule(i);
		assert_non_null(flows[i]);
	}
	assert_null(rule(LIMIT));
	assert_int_equal(vcx_stats(0, &stats), 0);
	assert_int_equal(stats.rules, LIMIT);
	assert_int_equal(stats.counters, LIMIT);
	assert_int_equal(vcx_counter_limit(0, 0), 0);
	flows[LIMIT] = rule(LIMIT);
	assert_non_null(flows[LIMIT]);
	for (unsigned i = 0; i <= LIMIT; i++)
		assert_int_equal(rte_flow_destroy(0, flows[i], &error), 0);
}

/* No error says that a device is silent: the values only stand still. */
static void
held_counters_stand_still_without_an_error(void **state)
{
	struct rte_flow *flow = rule(0);
	uint64_t packets, bytes;

	(void)state;
	assert_non_null(flow);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 5, false, NULL), 0);
	assert_true(vcx_test_told(0, flow, 5, 5 * LENGTH));
	assert_int_equal(vcx_hold(0, true), 0);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 7, false, NULL), 0);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(vcx_test_query(0, flow, &packets, &bytes), 0);
		assert_int_equal(packets, 5);
		assert_int_equal(bytes, 5 * LENGTH);
		rte_delay_us_sleep(1000);
	}
	assert_int_equal(vcx_hold(0, false), 0);
	assert_true(vcx_test_told(0, flow, 12, 12 * LENGTH));
	assert_int_equal(rte_flow_destroy(0, flow, &error), 0);
}

static _Atomic unsigned removals;

static int
count_removal(uint16_t port, enum rte_eth_event_type event, void *argument, void *unused)
{
	(void)port, (void)event, (void)argument, (void)unused;
	atomic_fetch_add(&removals, 1);
	return 0;
}

/* The last test: the device does not come back. */
static void
removal_is_an_event_and_all_can_be_closed(void **state)
{
	struct rte_flow *flow = rule(0);
	uint64_t packets, bytes;

	(void)state;
	assert_non_null(flow);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 5, false, NULL), 0);
	assert_true(vcx_test_told(0, flow, 5, 5 * LENGTH));
	assert_int_equal(
		rte_eth_dev_callback_register(0, RTE_ETH_EVENT_INTR_RMV, count_removal, NULL), 0);
	assert_int_equal(vcx_remove(0), 0);
	assert_int_equal(vcx_remove(0), -ENODEV);
	while (atomic_load(&removals) == 0)
		rte_delay_us_sleep(1000);
	assert_int_equal(vcx_inject(0, packet, LENGTH, 5, false, NULL), -ENODEV);
	assert_null(rule(1));
	if (engine == VCX_BULK) {
		assert_int_equal(vcx_test_query(0, flow, &packets, &bytes), 0);
		assert_int_equal(packets, 5);
	} else {
		assert_true(vcx_test_query(0, flow, &packets, &bytes) < 0);
	}
	assert_int_equal(rte_flow_destroy(0, flow, &error), 0);
	assert_int_equal(atomic_load(&removals), 1);
	assert_int_equal(
		rte_eth_dev_callback_unregister(0, RTE_ETH_EVENT_INTR_RMV, count_removal, NULL), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_commands_take_their_time),
		cmocka_unit_test(slow_bulk_is_told_in_the_end),
		cmocka_unit_test(the_command_that_shall_fail_fails),
		cmocka_unit_test(a_query_that_shall_fail_fails),
		cmocka_unit_test(counters_run_out),
		cmocka_unit_test(held_counters_stand_still_without_an_error),
		cmocka_unit_test(removal_is_an_event_and_all_can_be_closed),
	};
	int result;

	engine = vcx_test_engine(argc > 1 ? argv[1] : NULL);
	result = vcx_test_init(engine, 1);
	if (result != 0)
		return result;
	vcx_test_start(0, 1, true);
	vcx_test_packet(packet, LENGTH, 9, 1000, 0);
	result = cmocka_run_group_tests(tests, NULL, NULL);
	vcx_test_fini();
	return result;
}
