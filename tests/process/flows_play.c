/* SPDX-License-Identifier: BSD-3-Clause */
/* What shows the same of either engine. */
#include <errno.h>
#include <string.h>

#include "flows.h"

static void
expect_count(struct trip_flow *flow, uint64_t packets, enum trip_flow_fate fate)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	assert_int_equal(count.packets, packets);
	assert_int_equal(count.bytes, packets * FLOWS_PACKET);
	assert_int_equal(count.fate, fate);
	assert_int_equal(count.engine, flows_engine->engine);
}

/* The primary receives so many packets, and has then told how many were left. */
static uint16_t
have_received(uint16_t n)
{
	family_say((char)n);
	return (uint16_t)(unsigned char)family_listen();
}

/* Points of the flow, static and live, and their values. */
static void
expect_slots(struct trip_counters *counters, uint64_t packets, uint64_t bytes)
{
	uint64_t values[2];

	assert_int_equal(trip_counters_read(counters, values, 2, 0), 0);
	assert_int_equal(values[0], packets);
	assert_int_equal(values[1], bytes);
}

void
flows_play(const char *arg)
{
	struct trip_counter_attach_attr point = {.size = sizeof(point)};
	struct trip_flow_attr attr = {.size = sizeof(attr),
		.n_cntrs = 2,
		.engine = flows_engine->engine,
		.reason = "so it is"};
	struct trip_cntr *cntrs[2], *completion;
	struct trip_port_stats stats = {.size = sizeof(stats)};
	struct trip_port *found, *none;
	struct trip_counters *counters;
	struct trip_flow *flow;

	family_attach();
	assert_int_equal(trip_port_open(family_domain, 0, NULL, &none), -ENOTSUP);
	assert_int_equal(trip_port_find(family_domain, 7, &none), -ENOENT);
	assert_non_null(strstr(trip_error_message(), "port 7: the domain \"trip\""));
	assert_int_equal(trip_port_find(family_domain, 999, &none), -ENOENT);
	found = flows_find();
	assert_int_equal(trip_port_stats_read(found, &stats), 0);
	assert_int_equal(stats.rules, 0);
	/* Queues that the primary did not open it with. */
	assert_int_equal(trip_port_burst(found, 1, NULL, 32), 32);
	assert_int_equal(trip_port_burst_tx(found, 0, NULL, 32), 32);
	cntrs[0] = family_cntr("packets", TRIP_WAIT_UNSPEC);
	cntrs[1] = flows_bytes_cntr("bytes");
	completion = family_cntr(NULL, TRIP_WAIT_UNSPEC);
	attr.cntrs = cntrs;
	assert_int_equal(trip_counters_create(family_domain, NULL, &attr.counters), 0);
	counters = attr.counters;
	assert_int_equal(trip_counters_attach_point_flow(counters, &point, NULL), 0);
	flow = flows_create(found, &attr, FLOWS_DNS);
	assert_string_equal(trip_flow_reason(flow), attr.reason);
	assert_int_equal(trip_port_stats_read(found, &stats), 0);
	assert_int_equal(stats.rules, flows_engine->engine == TRIP_FLOW_ENGINE_HW);
	point.index = 1;
	point.counter_desc = TRIP_COUNTER_BYTES;
	assert_int_equal(trip_counters_attach_point_flow(counters, &point, NULL), -EBUSY);
	assert_int_equal(trip_counters_attach_point_flow(counters, &point, flow), 0);
	/* Whatever it refers to stays. */
	assert_int_equal(trip_cntr_close(cntrs[0]), -EBUSY);
	assert_int_equal(trip_counters_destroy(counters), -EBUSY);
	assert_int_equal(trip_port_close(found), -EBUSY);
	assert_int_equal(family_try_close(), -EBUSY);
	/* It counts, and its counters with it. */
	assert_int_equal(have_received(10), 10);
	assert_int_equal(trip_cntr_wait(cntrs[0], 10, 60000), 0);
	assert_int_equal(trip_cntr_wait(cntrs[1], 10 * FLOWS_PACKET, 60000), 0);
	expect_count(flow, 10, TRIP_FLOW_FATE_PASS);
	expect_slots(counters, 10, 10 * FLOWS_PACKET);
	/* Deferred work acts on it, and completes (WORK-05). */
	flows_operate(cntrs[0], 12, TRIP_OP_FLOW_DROP, flow, completion);
	assert_int_equal(trip_flow_destroy(flow), -EBUSY);
	assert_int_equal(have_received(5), 5);
	assert_int_equal(trip_cntr_wait(completion, 1, 60000), 0);
	assert_int_equal(have_received(5), 0);
	expect_count(flow, 20, TRIP_FLOW_FATE_DROP);
	flows_operate(cntrs[0], 0, TRIP_OP_FLOW_DELETE, flow, completion);
	assert_int_equal(trip_cntr_wait(completion, 2, 60000), 0);
	assert_int_equal(have_received(5), 5);
	expect_count(flow, 20, TRIP_FLOW_FATE_DELETED);
	/* One that fails changes the error value only (CNTR-03). */
	flows_operate(cntrs[0], 0, TRIP_OP_FLOW_DROP, flow, completion);
	family_until(trip_cntr_readerr(completion) == 1);
	assert_int_equal(trip_cntr_read(completion), 2);
	assert_int_equal(trip_flow_retire(flow), 0);
	family_until(trip_flow_destroy(flow) == 0);
	/* Nothing that it has counted is lost. */
	assert_int_equal(trip_cntr_read(cntrs[0]), 20);
	assert_int_equal(trip_cntr_read(cntrs[1]), 20 * FLOWS_PACKET);
	expect_slots(counters, 20, 20 * FLOWS_PACKET);
	assert_int_equal(trip_counters_destroy(counters), 0);
	assert_int_equal(trip_port_close(found), 0);
	assert_int_equal(trip_cntr_close(cntrs[0]), 0);
	assert_int_equal(trip_cntr_close(cntrs[1]), 0);
	assert_int_equal(trip_cntr_close(completion), 0);
	assert_int_equal(family_try_close(), 0);
	family_say(0x7f);
}

static void
serve_packets(const struct family_child *child)
{
	char said;

	while ((said = family_hear(child)) != 0x7f) {
		assert_int_not_equal(said, 0);
		family_tell(child, (char)flows_engine->receive(FLOWS_DNS, (uint16_t)said));
	}
}

void
flows_test(enum trip_progress progress)
{
	struct family_child child;

	flows_open(progress);
	child = family_start("flows", 8, NULL);
	serve_packets(&child);
	family_end(&child);
	flows_close();
}

void
flows_play_holder(const char *arg)
{
	struct trip_flow_attr attr = {
		.size = sizeof(attr), .n_cntrs = 1, .engine = flows_engine->engine};
	struct trip_cntr *theirs, *own;
	struct trip_port *found;
	struct trip_flow *flow;

	family_attach();
	found = flows_find();
	(void)flows_find();
	theirs = family_find("theirs", TRIP_WAIT_NONE);
	own = family_cntr("own", TRIP_WAIT_NONE);
	assert_int_equal(trip_counters_create(family_domain, NULL, &attr.counters), 0);
	attr.cntrs = &theirs;
	flow = flows_create(found, &attr, FLOWS_DNS);
	flows_operate(own, 1000, TRIP_OP_FLOW_DROP, flow, theirs);
	attr.cntrs = &own;
	(void)flows_create(found, &attr, FLOWS_DNS + 1);
	attr.n_cntrs = 0;
	attr.counters = NULL;
	(void)flows_create(found, &attr, FLOWS_DNS + 2);
	family_say('h');
	for (;;)
		(void)trip_flow_query(
			flow, &(struct trip_flow_count){.size = sizeof(struct trip_flow_count)});
}

/* Its flows end, and what they have counted stays where others use that. */
void
flows_test_death(enum trip_progress progress)
{
	struct trip_cntr *theirs;
	struct family_child child;

	flows_open(progress);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	for (unsigned int i = 1; i <= flows_engine->deaths; i++) {
		child = family_start("holder", 8, NULL);
		assert_int_equal(family_hear(&child), 'h');
		assert_int_equal(trip_port_close(flows_port), -EBUSY);
		assert_int_equal(trip_cntr_close(theirs), -EBUSY);
		assert_int_equal(flows_engine->receive(FLOWS_DNS, 10), 10);
		family_kill(&child);
		assert_int_equal(flows_engine->receive(FLOWS_DNS, 10), 10);
		assert_int_equal(trip_cntr_read(theirs), 10 * i);
		/* By the item that was never met. */
		assert_int_equal(trip_cntr_readerr(theirs), i);
	}
	assert_int_equal(trip_cntr_close(theirs), 0);
	flows_close();
}
