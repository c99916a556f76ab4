/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows in hardware on a driver that the test plays (fake_nic.h): above all the failures, and what
 * happens between two calls, which no device lets one arrange.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_ethdev.h>

#include "domain.h"
#include "drop.h"
#include "fake_nic.h"
#include "harness.h"
#include "traffic.h"

#define PORT_EVENTS 16

static unsigned int n_homes = 1;
static struct trip_port *port;
static uint16_t port_id;
static struct trip_cntr *packets, *bytes, *completion;
static _Atomic unsigned int n_events[PORT_EVENTS];

static const struct fake_nic direct = {0};
static const struct fake_nic shared = {.shared = true, .keeps_shared = true};
static const struct fake_nic forgetful = {.shared = true};
/* A cache with a short, known period. */
static const struct fake_nic cached = {.driver = "mlx5_pci",
	.devargs = "0000:01:00.0,dv_flow_en=2,svc_cycle_time=20",
	.shared = true,
	.cached = true,
	.keeps_shared = true};

/* The same, with time for the test to do something before a reading is final. */
static const struct fake_nic slowly_cached = {.driver = "mlx5_pci",
	.devargs = "dv_flow_en=2,svc_cycle_time=2000",
	.shared = true,
	.cached = true,
	.keeps_shared = true};

static void
note_event(struct trip_port *which, enum trip_port_event event, void *arg)
{
	atomic_fetch_add(&n_events[event], 1);
}

static void
open_tuned(const struct fake_nic *nic, const struct trip_domain_attr *tune)
{
	struct trip_port_attr attr = {
		.size = sizeof(attr), .mode = TRIP_PORT_BURST, .notify = note_event};
	struct trip_cntr_attr by_bytes = {
		.size = sizeof(by_bytes), .events = TRIP_CNTR_EVENTS_BYTES};

	memset(n_events, 0, sizeof(n_events));
	fake_nic_open(nic);
	harness_open(n_homes, tune);
	port_id = traffic_start(2);
	if (trip_port_open(harness_domain, port_id, &attr, &port) != 0)
		fail_msg("%s", trip_error_message());
	packets = harness_cntr(TRIP_WAIT_NONE);
	completion = harness_cntr(TRIP_WAIT_NONE);
	assert_int_equal(trip_cntr_open(harness_domain, &by_bytes, &bytes, NULL), 0);
}

static void
open_all(const struct fake_nic *nic)
{
	open_tuned(nic, NULL);
}

static void
close_all(void)
{
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	if (trip_port_close(port) != 0)
		fail_msg("%s", trip_error_message());
	traffic_stop();
	harness_cntr_close(packets);
	harness_cntr_close(bytes);
	harness_cntr_close(completion);
	harness_close();
	fake_nic_close();
}

static int
try_create(uint16_t udp_port, const struct trip_flow_attr *more, struct trip_flow **flow,
	struct rte_flow_error *error)
{
	struct trip_cntr *cntrs[] = {packets, bytes};
	struct trip_flow_attr attr = *more;

	attr.size = sizeof(attr);
	attr.cntrs = cntrs;
	attr.n_cntrs = 2;
	return trip_flow_create(port, &attr, traffic_pattern(udp_port), NULL, flow, error);
}

static struct trip_flow *
create(uint16_t udp_port, bool recreate)
{
	const struct trip_flow_attr attr = {.recreate = recreate};
	struct trip_flow *flow;

	if (try_create(udp_port, &attr, &flow, NULL) != 0)
		fail_msg("%s", trip_error_message());
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
	assert_int_equal(count.bytes, 100 * n);
	assert_int_equal(count.fate, fate);
	assert_int_equal(count.engine, TRIP_ENGINE_HW);
}

static void
receive(uint64_t n, uint64_t left)
{
	assert_int_equal(fake_nic_receive(1000, n, 100), left);
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
count_and_trip(const struct fake_nic *nic)
{
	static struct harness_notes notes;
	struct trip_flow *flow;

	open_all(nic);
	harness_notes_open(&notes);
	flow = create(1000, false);
	assert_string_equal(trip_flow_reason(flow), "the port's hardware counts it");
	harness_note(&notes, packets, 100, 1);
	harness_note(&notes, bytes, 15000, 2);
	receive(99, 99);
	harness_until(trip_cntr_read(packets) == 99);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	receive(1, 1);
	harness_until(harness_notes_count(&notes) == 1);
	receive(50, 50);
	harness_until(harness_notes_count(&notes) == 2);
	harness_until(trip_cntr_read(packets) == 150);
	assert_int_equal(notes.event[0].value, 100);
	assert_int_equal(notes.event[1].value, 15000);
	expect_flow(flow, 150, TRIP_FATE_PASS);
	/* What nobody has read yet is in the counter when the flow is gone. */
	receive(7, 7);
	destroy(flow);
	harness_expect(packets, 157, 0);
	harness_expect(bytes, 15700, 0);
	harness_notes_close(&notes);
	close_all();
}

static void
hard_counts_and_trips_direct(void **state)
{
	count_and_trip(&direct);
}

static void
hard_counts_and_trips_shared(void **state)
{
	count_and_trip(&shared);
}

static void
hard_counts_and_trips_cached(void **state)
{
	count_and_trip(&cached);
}

/* More than the line can carry in a second has passed the limit when it is read: that is told. */
static void
hard_misses_are_told(void **state)
{
	static struct harness_notes notes;
	struct trip_flow *flow;

	open_all(&direct);
	harness_notes_open(&notes);
	flow = create(1000, false);
	harness_note(&notes, packets, 100, 1);
	harness_note(&notes, packets, 1000, 2);
	harness_settle();
	receive(120, 120);
	harness_until(harness_notes_count(&notes) == 1);
	assert_int_equal(stats_of().missed, 0);
	assert_int_equal(stats_of().worst_packets, 20);
	assert_int_equal(stats_of().worst_bytes, 0);
	/* The home has armed anew, and what was read is below that. */
	harness_settle();
	receive(1000000880, 1000000880);
	harness_until(harness_notes_count(&notes) == 2);
	assert_int_equal(stats_of().missed, 1);
	assert_int_equal(stats_of().worst_packets, 1000000000);
	destroy(flow);
	harness_notes_close(&notes);
	close_all();
}

/* Nothing is refreshed in the background: the reading rings, and at the limit only. */
static void
hard_readings_ring(void **state)
{
	static const struct trip_domain_attr by_bell = {.refresh_us = UINT32_MAX};
	static struct harness_notes notes;
	struct trip_flow *flow;

	open_tuned(&direct, &by_bell);
	harness_notes_open(&notes);
	flow = create(1000, false);
	harness_note(&notes, packets, 100, 1);
	harness_settle();
	receive(99, 99);
	expect_flow(flow, 99, TRIP_FATE_PASS);
	harness_settle();
	harness_expect(packets, 0, 0);
	receive(1, 1);
	harness_until(harness_notes_count(&notes) == 1);
	harness_expect(packets, 100, 0);
	destroy(flow);
	harness_notes_close(&notes);
	close_all();
}

/* A retired flow's last counts come out of the cache later; nobody waits for them but destroy. */
static void
hard_retired_flows_count_to_the_last(void **state)
{
	struct trip_flow *flow;

	open_all(&slowly_cached);
	flow = create(1000, false);
	assert_int_equal(fake_nic_receive(1000, 30, 100), 30);
	assert_int_equal(trip_flow_retire(flow), 0);
	assert_int_equal(fake_nic_rules(), 0);
	assert_int_equal(fake_nic_receive(1000, 5, 100), 5);
	harness_settle();
	harness_expect(packets, 0, 0);
	fake_nic_refresh();
	harness_until(trip_cntr_read(packets) == 30);
	expect_flow(flow, 30, TRIP_FATE_DELETED);
	destroy(flow);
	harness_expect(packets, 30, 0);
	close_all();
}

static void
cntr_23_age_has_the_refresh_lag(void **state)
{
	struct trip_flow *flow;
	uint64_t age;

	open_all(&cached);
	flow = create(1000, false);
	receive(10, 10);
	harness_until(trip_cntr_read(packets) == 10);
	age = trip_cntr_age(packets);
	assert_true(age >= 20000000);
	destroy(flow);
	assert_int_equal(trip_cntr_age(packets), 0);
	close_all();
}

/* A counter is as old as the oldest of its sources. */
static void
cntr_23_age_of_a_mixed_counter_is_the_worst(void **state)
{
	const struct trip_flow_attr sw = {.engine = TRIP_ENGINE_SW};
	struct trip_flow *slow, *fast;

	open_all(&cached);
	slow = create(1000, false);
	assert_int_equal(try_create(1001, &sw, &fast, NULL), 0);
	receive(10, 10);
	assert_int_equal(traffic_burst(port, 0, 10, 1001, 100), 10);
	harness_until(trip_cntr_read(packets) == 20);
	harness_settle();
	assert_true(trip_cntr_age(packets) >= 20000000);
	destroy(slow);
	/* The home has looked since. */
	harness_until(trip_cntr_age(packets) < 20000000);
	destroy(fast);
	close_all();
}

static void
hard_facts_are_told(void **state)
{
	struct trip_port_facts facts;
	struct trip_flow *flow;

	open_all(&cached);
	assert_int_equal(trip_port_facts(port_id, &facts), 0);
	assert_string_equal(facts.engine, "mlx5 HWS");
	assert_int_equal(facts.refresh_lag_ns, 20000000);
	assert_int_equal(facts.refresh_lag_from, TRIP_FACT_KNOWN);
	assert_int_equal(facts.query_ns, 0);
	flow = create(1000, false);
	receive(1, 1);
	harness_until(trip_cntr_read(packets) == 1);
	assert_int_equal(trip_port_facts_read(port, &facts), 0);
	assert_true(facts.query_ns > 0 && facts.query_from == TRIP_FACT_MEASURED);
	assert_true(facts.indirect && facts.indirect_from == TRIP_FACT_MEASURED);
	destroy(flow);
	close_all();
}

/* A driver that nobody knows turns out to ask the device each time. */
static void
hard_lag_is_measured(void **state)
{
	struct trip_port_facts facts;
	struct trip_flow *flow;
	uint64_t n = 0;

	open_all(&direct);
	flow = create(1000, false);
	assert_int_equal(trip_port_facts_read(port, &facts), 0);
	assert_int_equal(facts.refresh_lag_from, TRIP_FACT_ASSUMED);
	assert_int_equal(facts.refresh_lag_ns, 1000000000);
	assert_string_equal(facts.engine, "rte_flow");
	do {
		receive(1, 1);
		n++;
		harness_step();
		trip_port_facts_read(port, &facts);
	} while (facts.refresh_lag_from == TRIP_FACT_ASSUMED);
	/* 0, unless this machine lets the worker wait: less than was seen it does not claim. */
	assert_int_equal(facts.refresh_lag_from, TRIP_FACT_MEASURED);
	assert_true(facts.refresh_lag_ns <= 1000000000);
	expect_flow(flow, n, TRIP_FATE_PASS);
	destroy(flow);
	close_all();
}

/* --- which engine --- */

static void
hard_auto_falls_back_with_the_reason(void **state)
{
	const struct trip_flow_attr automatic = {0}, hw = {.engine = TRIP_ENGINE_HW};
	struct rte_flow_error error = {0};
	struct trip_flow_count count;
	struct trip_flow *flow = NULL;

	open_all(&direct);
	fake_nic_fail(FAKE_NIC_VALIDATE, UINT32_MAX, EINVAL);
	assert_int_equal(try_create(1000, &hw, &flow, &error), -EINVAL);
	assert_string_equal(error.message, "the fake driver says no");
	assert_null(flow);
	assert_int_equal(try_create(1000, &automatic, &flow, &error), 0);
	assert_string_equal(trip_flow_reason(flow), "the fake driver says no");
	trip_flow_query(flow, &count);
	assert_int_equal(count.engine, TRIP_ENGINE_SW);
	assert_int_equal(traffic_burst(port, 0, 10, 1000, 100), 10);
	harness_until(trip_cntr_read(packets) == 10);
	destroy(flow);
	/* Neither when it is only found out by trying. */
	fake_nic_fail(FAKE_NIC_VALIDATE, 0, 0);
	fake_nic_fail(FAKE_NIC_CREATE, 2, ENOSPC);
	assert_int_equal(try_create(1000, &hw, &flow, &error), -ENOSPC);
	assert_int_equal(try_create(1000, &automatic, &flow, NULL), 0);
	trip_flow_query(flow, &count);
	assert_int_equal(count.engine, TRIP_ENGINE_SW);
	destroy(flow);
	close_all();
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
	struct trip_flow_attr attr = {.size = sizeof(attr), .engine = TRIP_ENGINE_HW};
	struct rte_flow_error error = {0};

	for (unsigned int i = from; i < to; i++)
		pattern[i - from] = items[i];
	pattern[to - from].type = RTE_FLOW_ITEM_TYPE_END;
	fake_nic_open(&nic);
	assert_int_equal(trip_flow_validate(port_id, &attr, pattern, NULL, NULL, &error), hw);
	if (hw < 0)
		assert_non_null(strstr(error.message, "item VLAN matches other packets"));
	attr.engine = TRIP_ENGINE_AUTO;
	assert_int_equal(
		trip_flow_validate(port_id, &attr, pattern, NULL, NULL, &error), automatic);
}

/* README.md has the table. */
static void
hard_items_match_alike_or_are_refused(void **state)
{
	static const char verbs[] = "dv_flow_en=0", dv[] = "dv_flow_en=1", hws[] = "dv_flow_en=2";

	port_id = traffic_start(1);
	expect_engine(verbs, 0, 1, TRIP_ENGINE_HW, TRIP_ENGINE_HW);
	expect_engine(verbs, 3, 5, TRIP_ENGINE_HW, TRIP_ENGINE_HW);
	expect_engine(verbs, 0, 2, -ENOTSUP, TRIP_ENGINE_SW);
	expect_engine(verbs, 0, 3, -ENOTSUP, TRIP_ENGINE_SW);
	expect_engine(verbs, 3, 6, TRIP_ENGINE_HW, TRIP_ENGINE_SW);
	expect_engine(dv, 0, 2, TRIP_ENGINE_HW, TRIP_ENGINE_HW);
	expect_engine("", 0, 2, TRIP_ENGINE_HW, TRIP_ENGINE_HW);
	expect_engine(dv, 0, 3, -ENOTSUP, TRIP_ENGINE_SW);
	expect_engine(hws, 0, 2, TRIP_ENGINE_HW, TRIP_ENGINE_SW);
	expect_engine(hws, 0, 3, -ENOTSUP, TRIP_ENGINE_SW);
	expect_engine(NULL, 0, 2, TRIP_ENGINE_HW, TRIP_ENGINE_SW);
	expect_engine(NULL, 3, 5, TRIP_ENGINE_HW, TRIP_ENGINE_HW);
	traffic_stop();
}

/* --- drop, pass, delete --- */

static void
receive_in_the_swap(void)
{
	/* The drop stands, the rule that it replaces too. */
	assert_int_equal(fake_nic_rules(), 2);
	assert_int_equal(fake_nic_receive(1000, 13, 100), 0);
	fake_nic_refresh();
}

static void
receive_before_the_swap(void)
{
	assert_int_equal(fake_nic_rules(), 1);
	assert_int_equal(fake_nic_receive(1000, 5, 100), 5);
	fake_nic_at(FAKE_NIC_DESTROY, receive_in_the_swap);
}

/* No packet is uncounted, and none that comes after the new rule gets through. */
static void
drop_and_delete(const struct fake_nic *nic)
{
	struct trip_flow *flow;

	open_all(nic);
	flow = create(1000, false);
	queue_op(flow, 100, TRIP_OP_FLOW_DROP);
	queue_op(flow, 200, TRIP_OP_FLOW_DELETE);
	queue_op(flow, 200, TRIP_OP_FLOW_DROP);
	harness_settle();
	receive(99, 99);
	fake_nic_at(FAKE_NIC_CREATE, receive_before_the_swap);
	receive(1, 1);
	harness_until(trip_cntr_read(completion) == 1);
	expect_flow(flow, 118, TRIP_FATE_DROP);
	assert_int_equal(fake_nic_rules(), 1);
	receive(82, 0);
	harness_until(trip_cntr_readerr(completion) == 1);
	harness_expect(completion, 2, 1);
	assert_int_equal(fake_nic_rules(), 0);
	receive(50, 50);
	expect_flow(flow, 200, TRIP_FATE_DELETED);
	harness_expect(packets, 200, 0);
	destroy(flow);
	harness_expect(packets, 200, 0);
	harness_expect(bytes, 20000, 0);
	close_all();
}

static void
hard_drop_misses_no_packet_direct(void **state)
{
	drop_and_delete(&direct);
}

static void
hard_drop_misses_no_packet_shared(void **state)
{
	drop_and_delete(&shared);
}

static void
hard_drop_misses_no_packet_cached(void **state)
{
	drop_and_delete(&cached);
}

static void
receive_before_the_pass(void)
{
	assert_int_equal(fake_nic_rules(), 2);
	assert_int_equal(fake_nic_receive(1000, 13, 100), 0);
}

/* Where the counter is shared, no packet is uncounted here either. */
static void
hard_pass_after_drop(void **state)
{
	struct trip_flow *flow;

	open_all(&shared);
	flow = create(1000, false);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(completion) == 1);
	receive(10, 0);
	fake_nic_at(FAKE_NIC_DESTROY, receive_before_the_pass);
	queue_op(flow, 0, TRIP_OP_FLOW_PASS);
	harness_until(trip_cntr_read(completion) == 2);
	receive(10, 10);
	expect_flow(flow, 33, TRIP_FATE_PASS);
	/* It is what it is asked to be. */
	queue_op(flow, 0, TRIP_OP_FLOW_PASS);
	harness_until(trip_cntr_read(completion) == 3);
	destroy(flow);
	harness_expect(packets, 33, 0);
	close_all();
}

/* Any failure leaves the old rule, and all counts. */
static void
drop_fails(const struct fake_nic *nic, enum fake_nic_call call, uint64_t swapped)
{
	struct trip_flow *flow;

	open_all(nic);
	flow = create(1000, false);
	receive(10, 10);
	harness_until(trip_cntr_read(packets) == 10);
	fake_nic_fail(call, 1, EIO);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(completion) + trip_cntr_readerr(completion) == 1);
	harness_expect(completion, swapped, 1 - swapped);
	receive(10, 10 - 10 * swapped);
	expect_flow(flow, 20, swapped ? TRIP_FATE_DROP : TRIP_FATE_PASS);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(completion) == 1 + swapped);
	receive(10, 0);
	destroy(flow);
	harness_expect(packets, 30, 0);
	close_all();
}

static void
hard_drop_whose_rule_is_refused(void **state)
{
	drop_fails(&direct, FAKE_NIC_CREATE, 0);
	drop_fails(&shared, FAKE_NIC_CREATE, 0);
}

static void
hard_drop_whose_old_rule_stays(void **state)
{
	drop_fails(&direct, FAKE_NIC_DESTROY, 0);
	drop_fails(&shared, FAKE_NIC_DESTROY, 0);
}

/* --- the home goes on --- */

static void
hard_home_goes_on_while_the_device_is_slow(void **state)
{
	static struct harness_notes notes;
	struct trip_flow *flow;
	uint64_t calls;

	open_all(&direct);
	harness_notes_open(&notes);
	flow = create(1000, false);
	fake_nic_hold(FAKE_NIC_CREATE, true);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(fake_nic_is_held());
	calls = fake_nic_called(FAKE_NIC_CREATE);
	for (uint64_t i = 1; i <= 1000; i++) {
		harness_note(&notes, packets, 0, i);
		harness_until(harness_notes_count(&notes) == i);
	}
	assert_true(fake_nic_is_held());
	assert_int_equal(fake_nic_called(FAKE_NIC_CREATE), calls);
	harness_expect(completion, 0, 0);
	fake_nic_hold(FAKE_NIC_CREATE, false);
	harness_until(trip_cntr_read(completion) == 1);
	harness_notes_close(&notes);
	destroy(flow);
	close_all();
}

#define MANY 300
#define RING 256

static void
hard_full_queue_is_an_error_of_the_operation(void **state)
{
	struct trip_work_event events[MANY];
	struct trip_flow *flow;
	struct trip_work work;
	unsigned int n = 0, refused = 0;

	open_all(&direct);
	flow = create(1000, false);
	fake_nic_hold(FAKE_NIC_CREATE, true);
	for (uint64_t i = 0; i < MANY; i++) {
		work = harness_work(packets, 0, i % 2 == 0 ? TRIP_OP_FLOW_DROP : TRIP_OP_FLOW_PASS);
		work.op.flow = flow;
		work.completion_cntr = completion;
		work.flags = TRIP_COMPLETION;
		work.context = i;
		harness_queue(&work);
	}
	harness_until(trip_cntr_readerr(completion) == MANY - RING);
	harness_expect(completion, 0, MANY - RING);
	assert_int_equal(stats_of().refused_operations, MANY - RING);
	/* Nothing of it is over before it has finished. */
	fake_nic_hold(FAKE_NIC_CREATE, false);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	harness_expect(completion, RING, MANY - RING);
	assert_int_equal(stats_of().operations, RING);
	while (n < MANY)
		n += (unsigned int)trip_work_read(harness_domain, events + n, MANY - n);
	/* Those that were refused were told at once; the others in the order of their firing. */
	for (unsigned int i = 0; i < MANY; i++) {
		refused += events[i].result == -EAGAIN;
		if (events[i].result == -EAGAIN)
			assert_int_equal(events[i].context, RING + i);
		else
			assert_int_equal(events[i].context, i - (MANY - RING));
	}
	assert_int_equal(refused, MANY - RING);
	destroy(flow);
	close_all();
}

/* The next client finds neither their events nor, where it has their counters, what they count. */
static void
hard_operations_of_the_dead_end_before_it_is_dropped(void **state)
{
	struct trip_channel_client *client;
	struct trip_work_event event;
	struct trip_home *home;
	struct trip_flow *flow;
	uint32_t channel;
	uint64_t id;
	int slot;

	open_all(&direct);
	flow = create(1000, false);
	home = harness_domain->engine.homes[0];
	channel = home->shape.n_channels - home->shape.n_clients;
	client = &home->clients[channel];
	fake_nic_hold(FAKE_NIC_CREATE, true);
	slot = trip_channel_alloc(client);
	assert_true(slot >= 0);
	*trip_channel_desc(client, (uint32_t)slot) = (struct trip_work_desc){
		.trigger = packets->global,
		.target = flow->index,
		.completion = completion->global,
		.op = TRIP_OP_FLOW_DROP,
		.flags = TRIP_COMPLETION,
	};
	assert_int_equal(trip_channel_submit(client, (uint32_t)slot, &id), 0);
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, channel);
	harness_until(fake_nic_is_held());
	trip_drop_ask(home, 0);
	harness_settle();
	assert_false(trip_drop_done(home, 0));
	fake_nic_hold(FAKE_NIC_CREATE, false);
	harness_until(trip_drop_done(home, 0));
	harness_settle();
	harness_expect(completion, 1, 0);
	assert_int_equal(trip_event_ring_pop(&home->events[1], &event, 1), 0);
	destroy(flow);
	close_all();
}

/* Each home fires some, by turns; the port does them in the order of their firing. */
static void
work_02_operations_complete_in_firing_order(void **state)
{
	struct trip_flow *flows[8];
	struct trip_cntr *triggers[8];
	struct trip_work work;

	n_homes = 2;
	open_all(&direct);
	n_homes = 1;
	for (unsigned int i = 0; i < RTE_DIM(flows); i++) {
		flows[i] = create((uint16_t)(1000 + i), false);
		triggers[i] = harness_cntr(TRIP_WAIT_NONE);
	}
	fake_nic_hold(FAKE_NIC_CREATE, true);
	/* Counters are at home by turns. */
	for (unsigned int i = RTE_DIM(flows); i-- > 0;) {
		work = harness_work(triggers[(i * 5) % RTE_DIM(flows)], 0, TRIP_OP_FLOW_DROP);
		work.op.flow = flows[i];
		work.completion_cntr = completion;
		harness_queue(&work);
		harness_settle();
	}
	fake_nic_hold(FAKE_NIC_CREATE, false);
	harness_until(trip_cntr_read(completion) == RTE_DIM(flows));
	for (unsigned int i = 0; i < RTE_DIM(flows); i++)
		assert_int_equal(
			fake_nic_created(RTE_DIM(flows) + i), 1000 + RTE_DIM(flows) - 1 - i);
	for (unsigned int i = 0; i < RTE_DIM(flows); i++) {
		destroy(flows[i]);
		harness_cntr_close(triggers[i]);
	}
	close_all();
}

/* --- the life of a port --- */

static void
stop_and_start(const struct fake_nic *nic)
{
	struct trip_flow *kept, *lost;

	open_all(nic);
	kept = create(1000, true);
	lost = create(1001, false);
	receive(10, 10);
	assert_int_equal(fake_nic_receive(1001, 5, 100), 5);
	assert_int_equal(trip_port_stopping(port), 0);
	assert_int_equal(fake_nic_rules(), 0);
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
	fake_nic_flush();
	/* Read to the last, and told. */
	expect_flow(lost, 5, TRIP_FATE_LOST);
	expect_flow(kept, 10, TRIP_FATE_PASS);
	harness_until(trip_cntr_read(packets) == 15);
	harness_expect(packets, 15, 1);
	harness_expect(bytes, 1500, 1);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	assert_int_equal(trip_port_started(port), 0);
	assert_int_equal(stats_of().recreated, 1);
	assert_int_equal(stats_of().lost, 1);
	receive(20, 20);
	assert_int_equal(fake_nic_receive(1001, 5, 100), 5);
	expect_flow(kept, 30, TRIP_FATE_PASS);
	expect_flow(lost, 5, TRIP_FATE_LOST);
	/* A drop that fires meanwhile is that of the rule that comes back. */
	assert_int_equal(trip_port_stopping(port), 0);
	fake_nic_flush();
	queue_op(kept, 0, TRIP_OP_FLOW_DROP);
	queue_op(lost, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(completion) + trip_cntr_readerr(completion) == 2);
	harness_expect(completion, 1, 1);
	assert_int_equal(trip_port_started(port), 0);
	receive(1, 0);
	expect_flow(kept, 31, TRIP_FATE_DROP);
	/* One that cannot be created again is lost. */
	assert_int_equal(trip_port_stopping(port), 0);
	fake_nic_fail(FAKE_NIC_CREATE, 1, EIO);
	assert_int_equal(trip_port_started(port), 1);
	expect_flow(kept, 31, TRIP_FATE_LOST);
	harness_until(trip_cntr_read(packets) == 36);
	harness_expect(packets, 36, 2);
	destroy(kept);
	destroy(lost);
	close_all();
}

static void
hard_stop_and_start_direct(void **state)
{
	stop_and_start(&direct);
}

static void
hard_stop_and_start_shared(void **state)
{
	stop_and_start(&shared);
}

/* The driver destroys counters with the stop. */
static void
hard_stop_and_start_forgetful(void **state)
{
	stop_and_start(&forgetful);
}

/* The application says nothing: no dead handle is used all the same. */
static void
hard_stop_that_is_not_told(void **state)
{
	struct trip_flow *kept, *lost;

	open_all(&shared);
	kept = create(1000, true);
	lost = create(1001, false);
	receive(10, 10);
	harness_until(trip_cntr_read(packets) == 10);
	fake_nic_hold(FAKE_NIC_QUERY, true);
	harness_until(fake_nic_is_held());
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
	fake_nic_hold(FAKE_NIC_QUERY, false);
	harness_until(trip_cntr_readerr(packets) == 1);
	fake_nic_flush();
	expect_flow(lost, 0, TRIP_FATE_LOST);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	assert_int_equal(trip_port_started(port), 0);
	receive(10, 10);
	expect_flow(kept, 20, TRIP_FATE_PASS);
	destroy(kept);
	destroy(lost);
	close_all();
}

/* Waiters wake, the value stays, and no handle is touched any more. */
static void
cntr_03_removal_is_an_error(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_ENGINE_HW};
	struct rte_flow_error error;
	struct trip_flow *flow, *other = NULL;

	open_all(&forgetful);
	flow = create(1000, true);
	receive(10, 10);
	harness_until(trip_cntr_read(packets) == 10);
	fake_nic_event(RTE_ETH_EVENT_INTR_RMV);
	harness_until(trip_cntr_readerr(packets) == 1);
	fake_nic_flush();
	harness_expect(packets, 10, 1);
	harness_expect(bytes, 1000, 1);
	harness_until(atomic_load(&n_events[TRIP_PORT_REMOVED]) == 1);
	expect_flow(flow, 10, TRIP_FATE_LOST);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(completion) == 1);
	assert_int_equal(trip_port_started(port), 0);
	assert_int_equal(try_create(1000, &hw, &other, &error), -ENODEV);
	destroy(flow);
	close_all();
}

static void
hard_reset_and_recovery(void **state)
{
	const struct trip_flow_attr hw = {.engine = TRIP_ENGINE_HW};
	struct trip_flow *flow, *other = NULL;
	uint64_t queries;

	open_all(&forgetful);
	flow = create(1000, true);
	receive(10, 10);
	harness_until(trip_cntr_read(packets) == 10);
	/* Nothing is asked while the driver recovers. */
	fake_nic_event(RTE_ETH_EVENT_ERR_RECOVERING);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(completion) == 1);
	assert_int_equal(try_create(1001, &hw, &other, NULL), -EBUSY);
	expect_flow(flow, 10, TRIP_FATE_PASS);
	queries = fake_nic_called(FAKE_NIC_QUERY);
	fake_nic_flush();
	harness_settle();
	assert_int_equal(fake_nic_called(FAKE_NIC_QUERY), queries);
	fake_nic_event(RTE_ETH_EVENT_RECOVERY_SUCCESS);
	harness_until(atomic_load(&n_events[TRIP_PORT_STARTED]) == 1);
	receive(10, 10);
	harness_until(trip_cntr_read(packets) == 20);
	fake_nic_hold(FAKE_NIC_QUERY, true);
	harness_until(fake_nic_is_held());
	fake_nic_event(RTE_ETH_EVENT_INTR_RESET);
	fake_nic_hold(FAKE_NIC_QUERY, false);
	harness_until(atomic_load(&n_events[TRIP_PORT_STOPPED]) == 2);
	fake_nic_flush();
	assert_int_equal(trip_port_started(port), 0);
	receive(10, 10);
	expect_flow(flow, 30, TRIP_FATE_PASS);
	harness_expect(completion, 0, 1);
	destroy(flow);
	harness_expect(packets, 30, 0);
	close_all();
}

/* The cache stands still, the port does not. */
static void
hard_stale_counters_are_noticed(void **state)
{
	struct trip_flow *flow;

	open_all(&cached);
	flow = create(1000, false);
	receive(10, 10);
	harness_until(trip_cntr_read(packets) == 10);
	while (!stats_of().stale_now) {
		fake_nic_receive(1000, 1, 100);
		harness_step();
	}
	harness_until(atomic_load(&n_events[TRIP_PORT_STALE]) == 1);
	assert_int_equal(stats_of().stale, 1);
	fake_nic_refresh();
	harness_until(!stats_of().stale_now);
	harness_until(atomic_load(&n_events[TRIP_PORT_FRESH]) == 1);
	destroy(flow);
	close_all();
}

static int
try_what_waits(const struct trip_work_event *event, void *arg)
{
	struct trip_flow *flow = arg, *other;

	if (trip_flow_retire(flow) != -EDEADLK || trip_port_stopping(port) != -EDEADLK ||
		trip_port_started(port) != -EDEADLK)
		return -EPROTO;
	return try_create(1001, &(struct trip_flow_attr){0}, &other, NULL) == -EDEADLK ? 0
										       : -EPROTO;
}

static void
hard_functions_do_not_wait_for_the_worker(void **state)
{
	struct trip_function *function;
	struct trip_flow_count count;
	struct trip_flow *flow;
	struct trip_work work;

	open_all(&direct);
	flow = create(1000, false);
	trip_flow_query(flow, &count);
	assert_int_equal(
		trip_function_register(harness_domain, try_what_waits, flow, &function), 0);
	work = harness_work(packets, 0, TRIP_OP_CALL);
	work.op.call.function = function;
	work.completion_cntr = completion;
	harness_queue(&work);
	harness_until(trip_cntr_read(completion) == 1);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	assert_int_equal(trip_function_unregister(function), 0);
	destroy(flow);
	close_all();
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hard_counts_and_trips_direct),
	cmocka_unit_test(hard_counts_and_trips_shared),
	cmocka_unit_test(hard_counts_and_trips_cached),
	cmocka_unit_test(hard_misses_are_told),
	cmocka_unit_test(hard_readings_ring),
	cmocka_unit_test(hard_retired_flows_count_to_the_last),
	cmocka_unit_test(cntr_23_age_has_the_refresh_lag),
	cmocka_unit_test(cntr_23_age_of_a_mixed_counter_is_the_worst),
	cmocka_unit_test(hard_facts_are_told),
	cmocka_unit_test(hard_lag_is_measured),
	cmocka_unit_test(hard_auto_falls_back_with_the_reason),
	cmocka_unit_test(hard_items_match_alike_or_are_refused),
	cmocka_unit_test(hard_drop_misses_no_packet_direct),
	cmocka_unit_test(hard_drop_misses_no_packet_shared),
	cmocka_unit_test(hard_drop_misses_no_packet_cached),
	cmocka_unit_test(hard_pass_after_drop),
	cmocka_unit_test(hard_drop_whose_rule_is_refused),
	cmocka_unit_test(hard_drop_whose_old_rule_stays),
	cmocka_unit_test(hard_home_goes_on_while_the_device_is_slow),
	cmocka_unit_test(hard_full_queue_is_an_error_of_the_operation),
	cmocka_unit_test(hard_operations_of_the_dead_end_before_it_is_dropped),
	cmocka_unit_test(work_02_operations_complete_in_firing_order),
	cmocka_unit_test(hard_stop_and_start_direct),
	cmocka_unit_test(hard_stop_and_start_shared),
	cmocka_unit_test(hard_stop_and_start_forgetful),
	cmocka_unit_test(hard_stop_that_is_not_told),
	cmocka_unit_test(cntr_03_removal_is_an_error),
	cmocka_unit_test(hard_reset_and_recovery),
	cmocka_unit_test(hard_stale_counters_are_noticed),
	cmocka_unit_test(hard_functions_do_not_wait_for_the_worker),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
