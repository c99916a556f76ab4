/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tripline's flows on the unmodified mlx5 driver: counts are exact, thresholds trip, drops miss no
 * packet, and the life of the port is survived. Run for each engine of the driver.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "harness.h"
#include "vcx_test.h"

#define PORT 0
#define QUEUES 2
#define LENGTH 100
#define FLOWS_MAX 4000

static enum vcx_engine engine;
static struct trip_port *port;
static struct trip_cntr *packets, *bytes, *completion;
static struct trip_flow *flows[FLOWS_MAX];
static struct harness_notes notes;
static _Atomic unsigned int n_events[8];

static void
note_event(struct trip_port *which, enum trip_port_event event, void *arg)
{
	atomic_fetch_add(&n_events[event], 1);
}

static void
open_all(void)
{
	const struct trip_domain_attr tune = {.max_flows = FLOWS_MAX};
	const struct trip_cntr_attr by_bytes = {
		.size = sizeof(by_bytes), .events = TRIP_CNTR_EVENTS_BYTES};
	const struct trip_port_attr attr = {
		.size = sizeof(attr), .mode = TRIP_PORT_BURST, .notify = note_event};

	memset(n_events, 0, sizeof(n_events));
	harness_open(1, &tune);
	if (trip_port_open(harness_domain, PORT, &attr, &port) != 0)
		fail_msg("%s", trip_error_message());
	packets = harness_cntr(TRIP_WAIT_NONE);
	completion = harness_cntr(TRIP_WAIT_NONE);
	assert_int_equal(trip_cntr_open(harness_domain, &by_bytes, &bytes, NULL), 0);
	harness_notes_open(&notes);
}

static void
close_all(void)
{
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	if (trip_port_close(port) != 0)
		fail_msg("%s", trip_error_message());
	harness_notes_close(&notes);
	harness_cntr_close(packets);
	harness_cntr_close(bytes);
	harness_cntr_close(completion);
	harness_close();
}

static const struct rte_flow_item *
pattern_of(uint16_t udp_port)
{
	static struct rte_flow_item_udp spec, mask = {.hdr.dst_port = RTE_BE16(0xffff)};
	static const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END}};

	spec.hdr.dst_port = rte_cpu_to_be_16(udp_port);
	return pattern;
}

static struct trip_flow *
create(uint16_t udp_port, bool recreate)
{
	struct trip_cntr *cntrs[] = {packets, bytes};
	const struct trip_flow_attr attr = {.size = sizeof(attr),
		.cntrs = cntrs,
		.n_cntrs = 2,
		.engine = TRIP_FLOW_ENGINE_HW,
		.recreate = recreate};
	struct trip_flow *flow;

	if (trip_flow_create(port, &attr, pattern_of(udp_port), NULL, &flow, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return flow;
}

static void
destroy(struct trip_flow *flow)
{
	if (trip_flow_destroy(flow) != 0)
		fail_msg("%s", trip_error_message());
}

static struct trip_flow_count
count_of(struct trip_flow *flow)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	return count;
}

static struct trip_port_stats
stats_of(void)
{
	struct trip_port_stats stats = {.size = sizeof(stats)};

	assert_int_equal(trip_port_stats_read(port, &stats), 0);
	return stats;
}

static uint64_t
drain(void)
{
	uint64_t n = 0;

	for (uint16_t q = 0; q < QUEUES; q++)
		n += vcx_test_receive(PORT, q, NULL);
	return n;
}

static struct vcx_injected
send_packets(uint16_t udp_port, uint64_t n)
{
	struct vcx_injected result;
	uint8_t packet[LENGTH];

	vcx_test_packet(packet, sizeof(packet), 7, udp_port, 0);
	assert_int_equal(vcx_inject(PORT, packet, sizeof(packet), n, false, &result), 0);
	return result;
}

/* So that nothing is lost for want of room. */
static void
pass(uint16_t udp_port, uint64_t n)
{
	while (n > 0) {
		uint64_t some = RTE_MIN(n, (uint64_t)128);

		assert_int_equal(send_packets(udp_port, some).delivered, some);
		assert_int_equal(drain(), some);
		n -= some;
	}
}

static void
queue_op(struct trip_flow *flow, uint64_t threshold, enum trip_op op)
{
	struct trip_work work = harness_work(packets, threshold, op);

	work.op.flow = flow;
	work.completion_cntr = completion;
	harness_queue(&work);
}

static double
seconds(uint64_t tsc)
{
	return (double)tsc / (double)rte_get_tsc_hz();
}

/* It is for software: hardware's flow is refused. */
static void
police_is_refused(struct trip_flow *flow)
{
	struct trip_work work = harness_work(packets, 0, TRIP_OP_FLOW_POLICE);

	work.op.police.flow = flow;
	work.op.police.rate = 1;
	work.op.police.unit = TRIP_POLICE_UNIT_BITS;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -ENOTSUP);
}

/* --- counts --- */

static void
report_facts(unsigned int n, double create_s)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};
	struct trip_port_stats stats = stats_of();

	trip_port_facts_read(port, &facts);
	printf("%s, %u rules: created in %.1f us each; a query takes %" PRIu64
	       " ns, refresh lag %.3f s (%s); longest gap between readings %.3f s, %" PRIu64
	       " of %" PRIu64 " late\n",
		facts.engine, n, create_s * 1e6 / n, facts.query_ns,
		(double)facts.refresh_lag_ns / 1e9,
		facts.refresh_lag_from == TRIP_PORT_FACT_KNOWN      ? "known"
		: facts.refresh_lag_from == TRIP_PORT_FACT_MEASURED ? "measured"
								    : "assumed",
		(double)stats.longest_gap_ns / 1e9, stats.late_readings, stats.readings);
}

/* Each flow counts what was sent to it, and the counter that all feed counts all. */
static void
count_exactly(unsigned int n)
{
	struct trip_random random = {harness_seed};
	static uint64_t sent[FLOWS_MAX];
	uint64_t sum = 0, began;

	open_all();
	began = rte_rdtsc();
	for (unsigned int i = 0; i < n; i++) {
		flows[i] = create((uint16_t)(1000 + i), false);
		sent[i] = 0;
	}
	began = rte_rdtsc() - began;
	for (unsigned int i = 0; i < 2000; i++) {
		unsigned int flow = (unsigned int)trip_random_below(&random, n);
		uint64_t some = 1 + trip_random_below(&random, 8);

		pass((uint16_t)(1000 + flow), some);
		sent[flow] += some;
		sum += some;
	}
	assert_int_equal(send_packets((uint16_t)(1000 + n), 1).delivered, 0);
	harness_until(trip_cntr_read(packets) == sum);
	harness_until(trip_cntr_read(bytes) == LENGTH * sum);
	for (unsigned int i = 0; i < n; i++) {
		const struct trip_flow_count count = count_of(flows[i]);

		assert_int_equal(count.packets, sent[i]);
		assert_int_equal(count.bytes, LENGTH * sent[i]);
		assert_int_equal(count.engine, TRIP_FLOW_ENGINE_HW);
	}
	report_facts(n, seconds(began));
	/* What comes just before the end counts as well, and what comes after it does not. */
	pass(1000, 17);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(trip_flow_retire(flows[i]), 0);
	assert_int_equal(send_packets(1000, 1).delivered, 0);
	for (unsigned int i = 0; i < n; i++)
		destroy(flows[i]);
	harness_expect(packets, sum + 17, 0);
	harness_expect(bytes, LENGTH * (sum + 17), 0);
	assert_int_equal(stats_of().rules, 0);
	close_all();
}

static void
flows_1_rule_counts_exactly(void **state)
{
	count_exactly(1);
}

static void
flows_100_rules_count_exactly(void **state)
{
	count_exactly(100);
}

static void
flows_4000_rules_count_exactly(void **state)
{
	count_exactly(4000);
}

/* An item that has no mask of its own matches by rte_flow's, as in software: by addresses, and by
 * ports. */
static void
flows_without_masks_match_by_the_default_ones(void **state)
{
	const struct rte_flow_item_ipv4 ip = {
		.hdr = {.src_addr = RTE_BE32(0x0a000001), .dst_addr = RTE_BE32(0x0a000002)}};
	const struct rte_flow_item_udp udp = {
		.hdr = {.src_port = RTE_BE16(7), .dst_port = RTE_BE16(1000)}};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct rte_flow_action drop[] = {
		{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct trip_flow_attr attr = {sizeof(attr), .engine = TRIP_FLOW_ENGINE_HW};

	open_all();
	attr.cntrs = &packets;
	attr.n_cntrs = 1;
	if (trip_flow_create(port, &attr, pattern, drop, &flows[0], NULL) != 0)
		fail_msg("%s", trip_error_message());
	assert_int_equal(send_packets(1000, 5).dropped, 5);
	assert_int_equal(send_packets(1001, 3).dropped, 0);
	harness_until(count_of(flows[0]).packets == 5);
	destroy(flows[0]);
	drain();
	close_all();
}

static void
flows_trip_in_threshold_order(void **state)
{
	struct trip_flow *flow;

	open_all();
	flow = create(1000, false);
	harness_note(&notes, packets, 200, 2);
	harness_note(&notes, packets, 100, 1);
	harness_note(&notes, bytes, 300 * LENGTH, 3);
	pass(1000, 99);
	harness_until(trip_cntr_read(packets) == 99);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	pass(1000, 151);
	harness_until(harness_notes_count(&notes) == 2);
	pass(1000, 50);
	harness_until(harness_notes_count(&notes) == 3);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(notes.event[i].context, i + 1);
	destroy(flow);
	close_all();
}

/* The table of lcore/hard/README.md. */
static void
flows_refresh_lag_is_as_the_table_has_it(void **state)
{
	static const char *const names[] = {"mlx5 verbs", "mlx5 DV", "mlx5 DV"};
	struct trip_port_facts facts = {.size = sizeof(facts)};
	struct trip_flow *flow;
	uint64_t n = 0;

	open_all();
	flow = create(1000, false);
	do {
		pass(1000, 1);
		n++;
		harness_step();
		trip_port_facts_read(port, &facts);
	} while (facts.refresh_lag_from == TRIP_PORT_FACT_ASSUMED);
	assert_string_equal(facts.engine, names[engine]);
	assert_int_equal(facts.indirect, engine != VCX_VERBS);
	assert_int_equal(facts.refresh_lag_from,
		engine == VCX_VERBS ? TRIP_PORT_FACT_KNOWN : TRIP_PORT_FACT_MEASURED);
	if (engine == VCX_BULK)
		trip_assert_range(facts.refresh_lag_ns, 900000000, 1000000000);
	else
		/* What cannot be told from nothing on a machine that lets the worker wait. */
		trip_assert_range(facts.refresh_lag_ns, 0, 100000000);
	report_facts(1, 0);
	destroy(flow);
	harness_expect(packets, n, 0);
	close_all();
}

/* --- drop, pass, delete --- */

struct load {
	pthread_t thread;
	_Atomic bool stop;
	struct vcx_injected sum;
	_Atomic uint64_t n_sent;
};

static void *
send_all_the_time(void *arg)
{
	struct load *load = arg;
	uint8_t packet[LENGTH];

	vcx_test_packet(packet, sizeof(packet), 7, 1000, 0);
	while (!atomic_load(&load->stop)) {
		struct vcx_injected one;

		if (vcx_inject(PORT, packet, sizeof(packet), 1, false, &one) != 0)
			break;
		load->sum.delivered += one.delivered;
		load->sum.dropped += one.dropped;
		load->sum.unmatched += one.unmatched;
		load->sum.no_buffer += one.no_buffer;
		atomic_fetch_add(&load->n_sent, 1);
	}
	return NULL;
}

static void
load_begin(struct load *load)
{
	memset(load, 0, sizeof(*load));
	assert_int_equal(pthread_create(&load->thread, NULL, send_all_the_time, load), 0);
}

static void
load_end(struct load *load)
{
	atomic_store(&load->stop, true);
	assert_int_equal(pthread_join(load->thread, NULL), 0);
	drain();
}

/* While packets come all the time: each matches a rule and is counted. */
static void
flows_drop_misses_no_packet(void **state)
{
	struct trip_flow *flow;
	struct load load;
	uint64_t n;

	open_all();
	/* Long enough for packets to come between any two steps of the swap. */
	for (unsigned int command = 0; command < VCX_COMMANDS; command++)
		assert_int_equal(vcx_latency(PORT, command, 2000), 0);
	flow = create(1000, false);
	police_is_refused(flow);
	queue_op(flow, 500, TRIP_OP_FLOW_DROP);
	load_begin(&load);
	while (trip_cntr_read(completion) == 0) {
		drain();
		harness_step();
	}
	drain();
	n = atomic_load(&load.n_sent);
	harness_until(atomic_load(&load.n_sent) > n + 500);
	assert_int_equal(drain(), 0);
	load_end(&load);
	for (unsigned int command = 0; command < VCX_COMMANDS; command++)
		assert_int_equal(vcx_latency(PORT, command, 0), 0);
	assert_int_equal(load.sum.unmatched, 0);
	assert_true(load.sum.dropped >= 500);
	assert_int_equal(count_of(flow).fate, TRIP_FLOW_FATE_DROP);
	assert_int_equal(trip_flow_retire(flow), 0);
	destroy(flow);
	harness_expect(packets, load.sum.delivered + load.sum.dropped + load.sum.no_buffer, 0);
	harness_expect(completion, 1, 0);
	printf("%" PRIu64 " packets while the drop was put in: %" PRIu64 " passed, %" PRIu64
	       " dropped, all counted\n",
		atomic_load(&load.n_sent), load.sum.delivered, load.sum.dropped);
	close_all();
}

static void
flows_pass_and_delete(void **state)
{
	struct trip_flow *flow;

	open_all();
	flow = create(1000, false);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_read(completion) == 1);
	assert_int_equal(send_packets(1000, 10).dropped, 10);
	queue_op(flow, 0, TRIP_OP_FLOW_PASS);
	harness_until(trip_cntr_read(completion) == 2);
	pass(1000, 10);
	queue_op(flow, 0, TRIP_OP_FLOW_DELETE);
	queue_op(flow, 0, TRIP_OP_FLOW_DROP);
	harness_until(trip_cntr_readerr(completion) == 1);
	harness_expect(completion, 3, 1);
	assert_int_equal(send_packets(1000, 10).delivered, 0);
	harness_until(trip_cntr_read(packets) == 20);
	assert_int_equal(count_of(flow).fate, TRIP_FLOW_FATE_DELETED);
	destroy(flow);
	harness_expect(packets, 20, 0);
	close_all();
}

static void
flows_failed_drop_leaves_the_rule(void **state)
{
	static const enum vcx_command steps[] = {VCX_RULE_CREATE, VCX_COUNTER_CREATE};
	struct trip_flow *flow;
	uint64_t errors = 0;

	open_all();
	flow = create(1000, false);
	for (unsigned int i = 0; i < RTE_DIM(steps); i++) {
		assert_int_equal(vcx_fail(PORT, steps[i], 0, 1, EIO), 0);
		queue_op(flow, 0, TRIP_OP_FLOW_DROP);
		harness_until(trip_cntr_read(completion) + trip_cntr_readerr(completion) == i + 1u);
		assert_int_equal(vcx_fail(PORT, steps[i], 0, 0, 0), 0);
		errors = trip_cntr_readerr(completion);
		/* A shared counter needs no new one. */
		assert_int_equal(errors, engine == VCX_VERBS || i == 0 ? i + 1u : 1u);
		if (errors == i + 1u)
			pass(1000, 5);
	}
	assert_true(errors >= 1);
	destroy(flow);
	harness_expect(packets, 5 * errors, 0);
	close_all();
}

/* --- a slow device --- */

static void
flows_home_goes_on_while_the_device_is_slow(void **state)
{
	const uint64_t latency_us = 50000, n = 10;
	struct trip_flow *flow;
	uint64_t turns = 0, longest;
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	open_all();
	flow = create(1000, false);
	assert_int_equal(vcx_latency(PORT, VCX_RULE_CREATE, latency_us), 0);
	assert_int_equal(vcx_latency(PORT, VCX_COUNTER_QUERY, latency_us), 0);
	for (uint64_t i = 0; i < n; i++)
		queue_op(flow, 0, i % 2 == 0 ? TRIP_OP_FLOW_DROP : TRIP_OP_FLOW_PASS);
	/* Each turn fires something of its own: were the home to wait for the device, there would
	 * be as many as operations. */
	while (trip_cntr_read(completion) < n) {
		turns++;
		harness_note(&notes, packets, 0, turns);
		harness_until(harness_notes_count(&notes) == turns);
	}
	assert_int_equal(vcx_latency(PORT, VCX_RULE_CREATE, 0), 0);
	assert_int_equal(vcx_latency(PORT, VCX_COUNTER_QUERY, 0), 0);
	trip_domain_stats_read(harness_domain, &stats);
	longest = stats.longest_iteration_ns;
	printf("%" PRIu64 " operations of %" PRIu64 " ms; the home fired %" PRIu64
	       " items meanwhile, its longest iteration took %.3f ms\n",
		n, latency_us / 1000, turns, (double)longest / 1e6);
	assert_true(turns > 20 * n);
	destroy(flow);
	close_all();
}

/* --- the life of the port --- */

static void
flows_stop_and_start(void **state)
{
	struct trip_flow *kept, *lost;

	open_all();
	kept = create(1000, true);
	lost = create(1001, false);
	pass(1000, 10);
	pass(1001, 5);
	assert_int_equal(trip_port_stopping(port), 0);
	assert_int_equal(rte_eth_dev_stop(PORT), 0);
	assert_int_equal(rte_eth_dev_start(PORT), 0);
	assert_int_equal(trip_port_started(port), 0);
	pass(1000, 20);
	assert_int_equal(send_packets(1001, 5).delivered, 0);
	harness_await(packets, 35, 1);
	assert_int_equal(count_of(kept).packets, 30);
	assert_int_equal(count_of(lost).packets, 5);
	assert_int_equal(count_of(lost).fate, TRIP_FLOW_FATE_LOST);
	destroy(kept);
	destroy(lost);
	harness_expect(packets, 35, 1);
	close_all();
}

/* A device that counts on, and does not tell. */
static void
flows_hung_device_is_noticed(void **state)
{
	struct trip_flow *flow;
	uint64_t n = 10;

	open_all();
	flow = create(1000, false);
	pass(1000, 10);
	harness_until(trip_cntr_read(packets) == 10);
	assert_int_equal(vcx_hold(PORT, true), 0);
	while (atomic_load(&n_events[TRIP_PORT_STALE]) == 0) {
		pass(1000, 1);
		n++;
		harness_step();
	}
	assert_true(stats_of().stale_now);
	assert_int_equal(vcx_hold(PORT, false), 0);
	harness_until(atomic_load(&n_events[TRIP_PORT_FRESH]) == 1);
	harness_until(trip_cntr_read(packets) == n);
	assert_int_equal(stats_of().stale, 1);
	destroy(flow);
	harness_expect(packets, n, 0);
	close_all();
}

/* The last one: the device does not come back. */
static void
flows_removal_under_load(void **state)
{
	struct trip_flow *flow;
	struct load load;
	uint64_t value;

	open_all();
	flow = create(1000, true);
	load_begin(&load);
	while (trip_cntr_read(packets) < 100) {
		drain();
		harness_step();
	}
	queue_op(flow, 1u << 30, TRIP_OP_FLOW_DROP);
	assert_int_equal(vcx_remove(PORT), 0);
	harness_until(trip_cntr_readerr(packets) == 1);
	harness_until(trip_cntr_readerr(bytes) == 1);
	load_end(&load);
	value = trip_cntr_read(packets);
	trip_assert_range(value, 100, load.sum.delivered + load.sum.no_buffer);
	harness_until(atomic_load(&n_events[TRIP_PORT_REMOVED]) == 1);
	assert_int_equal(count_of(flow).fate, TRIP_FLOW_FATE_LOST);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	destroy(flow);
	harness_expect(packets, value, 1);
	close_all();
}

int
main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_1_rule_counts_exactly),
		cmocka_unit_test(flows_100_rules_count_exactly),
		cmocka_unit_test(flows_4000_rules_count_exactly),
		cmocka_unit_test(flows_without_masks_match_by_the_default_ones),
		cmocka_unit_test(flows_trip_in_threshold_order),
		cmocka_unit_test(flows_refresh_lag_is_as_the_table_has_it),
		cmocka_unit_test(flows_drop_misses_no_packet),
		cmocka_unit_test(flows_pass_and_delete),
		cmocka_unit_test(flows_failed_drop_leaves_the_rule),
		cmocka_unit_test(flows_home_goes_on_while_the_device_is_slow),
		cmocka_unit_test(flows_stop_and_start),
		cmocka_unit_test(flows_hung_device_is_noticed),
		cmocka_unit_test(flows_removal_under_load),
	};
	int result;

	engine = vcx_test_engine(argv[1]);
	if (argc == 3)
		cmocka_set_test_filter(argv[2]);
	result = vcx_test_init(engine, 1);
	if (result != 0)
		return result;
	harness_mode = TRIP_PROGRESS_MANUAL;
	harness_seed = trip_test_seed(argv[1]);
	vcx_test_start(PORT, QUEUES, true);
	result = cmocka_run_group_tests(tests, NULL, NULL);
	if (result == 0)
		vcx_test_fini();
	return result;
}
