/* SPDX-License-Identifier: BSD-3-Clause */
/* Counted flows: what they count, and when what they count is noticed. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_common.h>

#include "harness.h"
#include "traffic.h"

static struct harness_notes notes;
static struct trip_port *port;

/* Nothing is refreshed in the background: all that is noticed was rung for. */
static const struct trip_domain_attr by_bell = {.refresh_us = UINT32_MAX};

static void
open_port(enum trip_port_mode mode, uint16_t n_queues)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = mode};

	port = traffic_open(n_queues, &attr);
}

static void
close_port(void)
{
	traffic_close(port);
}

static struct trip_cntr *
open_cntr(enum trip_cntr_events events)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .events = events};
	struct trip_cntr *cntr;

	assert_int_equal(trip_cntr_open(harness_domain, &attr, &cntr, NULL), 0);
	return cntr;
}

static struct trip_flow *
create(uint16_t udp_port, struct trip_cntr *packets, struct trip_cntr *bytes)
{
	struct trip_cntr *cntrs[2];
	struct trip_flow_attr attr = {.cntrs = cntrs};

	if (packets != NULL)
		cntrs[attr.n_cntrs++] = packets;
	if (bytes != NULL)
		cntrs[attr.n_cntrs++] = bytes;
	return traffic_flow(port, &attr, udp_port);
}

static void
expect_count(struct trip_flow *flow, uint64_t packets, uint64_t bytes, enum trip_flow_fate fate)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	assert_int_equal(count.packets, packets);
	assert_int_equal(count.bytes, bytes);
	assert_int_equal(count.fate, fate);
	assert_int_equal(count.engine, traffic_engine());
}

/* Two flows feed one counter of packets, on one home, and one of bytes, on the other. */
static void
count_traffic(enum trip_port_mode mode, uint16_t n_queues)
{
	struct trip_random random = {harness_seed};
	struct trip_cntr *packets, *bytes, *own;
	uint64_t n_packets[2] = {0}, n_bytes[2] = {0};
	struct trip_flow *flow[2];

	harness_open(2, NULL);
	open_port(mode, n_queues);
	packets = open_cntr(TRIP_CNTR_EVENTS_COMP);
	bytes = open_cntr(TRIP_CNTR_EVENTS_BYTES);
	own = open_cntr(TRIP_CNTR_EVENTS_COMP);
	flow[0] = create(1000, packets, bytes);
	flow[1] = create(1001, packets, bytes);
	for (unsigned int i = 0; i < 300; i++) {
		uint16_t queue = (uint16_t)trip_random_below(&random, n_queues);
		uint16_t which = (uint16_t)trip_random_below(&random, 3);
		uint16_t n = (uint16_t)trip_random_below(&random, 100);
		uint16_t size = (uint16_t)(64 + trip_random_below(&random, 1400));
		uint16_t left = mode == TRIP_PORT_BURST
					? traffic_burst(port, queue, n, 1000 + which, size)
					: traffic_loop(queue, n, 1000 + which, size);

		assert_int_equal(left, n);
		if (which < 2) {
			n_packets[which] += n;
			n_bytes[which] += (uint64_t)n * size;
		}
		if (i % 16 == 0)
			harness_step();
	}
	traffic_wait();
	for (unsigned int i = 0; i < 2; i++)
		expect_count(flow[i], n_packets[i], n_bytes[i], TRIP_FLOW_FATE_PASS);
	/* Nobody waits for it, and it comes, with no further packet. */
	harness_until(trip_cntr_read(packets) == n_packets[0] + n_packets[1]);
	harness_until(trip_cntr_read(bytes) == n_bytes[0] + n_bytes[1]);
	harness_settle();
	harness_expect(packets, n_packets[0] + n_packets[1], 0);
	traffic_flow_destroy(flow[0]);
	traffic_flow_destroy(flow[1]);
	harness_expect(packets, n_packets[0] + n_packets[1], 0);
	harness_expect(bytes, n_bytes[0] + n_bytes[1], 0);
	harness_expect(own, 0, 0);
	close_port();
	harness_cntr_close(packets);
	harness_cntr_close(bytes);
	harness_cntr_close(own);
}

static void
cntr_21_packets_and_bytes_of_a_queue(void **state)
{
	count_traffic(TRIP_PORT_BURST, 1);
}

static void
cntr_21_packets_and_bytes_of_four_queues(void **state)
{
	count_traffic(TRIP_PORT_BURST, 4);
}

static void
cntr_19_counts_become_visible_by_themselves(void **state)
{
	count_traffic(TRIP_PORT_CALLBACK, 4);
}

static int
fail_it(const struct trip_work_event *event, void *arg)
{
	return -EIO;
}

static void
cntr_21_an_error_is_one(void **state)
{
	struct trip_cntr *cntr[2] = {
		open_cntr(TRIP_CNTR_EVENTS_COMP), open_cntr(TRIP_CNTR_EVENTS_BYTES)};
	struct trip_work work = harness_work(cntr[0], 0, TRIP_OP_CALL);
	struct trip_function *function;

	assert_int_equal(trip_function_register(harness_domain, fail_it, NULL, &function), 0);
	work.op.call.function = function;
	for (unsigned int i = 0; i < 2; i++) {
		work.completion_cntr = cntr[i];
		harness_queue(&work);
		harness_until(trip_cntr_readerr(cntr[i]) == 1);
		harness_expect(cntr[i], 0, 1);
	}
	assert_int_equal(trip_function_unregister(function), 0);
	for (unsigned int i = 0; i < 2; i++)
		harness_cntr_close(cntr[i]);
}

/* Done or failed, each adds 1 to one of the values, and leaves the other alone. */
static void
operate(struct trip_flow *flow, enum trip_op op, struct trip_cntr *completion, uint64_t success,
	uint64_t error)
{
	struct trip_cntr *trigger = open_cntr(TRIP_CNTR_EVENTS_COMP);
	struct trip_work work = harness_work(trigger, 1, op);

	work.op.flow = flow;
	work.completion_cntr = completion;
	harness_queue(&work);
	harness_settle();
	trip_cntr_add(trigger, 1);
	harness_until(
		trip_cntr_read(completion) + trip_cntr_readerr(completion) == success + error);
	traffic_settle();
	harness_expect(completion, success, error);
	harness_expect(trigger, 1, 0);
	harness_cntr_close(trigger);
}

static void
work_05_flow_operations_are_completed(void **state)
{
	struct trip_cntr *completion = open_cntr(TRIP_CNTR_EVENTS_COMP);
	struct trip_flow *flow;

	open_port(TRIP_PORT_BURST, 1);
	flow = create(1000, NULL, NULL);
	operate(flow, TRIP_OP_FLOW_DROP, completion, 1, 0);
	operate(flow, TRIP_OP_FLOW_PASS, completion, 2, 0);
	operate(flow, TRIP_OP_FLOW_DELETE, completion, 3, 0);
	traffic_flow_destroy(flow);
	close_port();
	harness_cntr_close(completion);
}

static void
cntr_03_a_flow_that_is_gone_fails(void **state)
{
	struct trip_cntr *completion = open_cntr(TRIP_CNTR_EVENTS_COMP);
	struct trip_flow *flow;

	open_port(TRIP_PORT_BURST, 1);
	flow = create(1000, NULL, NULL);
	operate(flow, TRIP_OP_FLOW_DELETE, completion, 1, 0);
	operate(flow, TRIP_OP_FLOW_DROP, completion, 1, 1);
	operate(flow, TRIP_OP_FLOW_DELETE, completion, 1, 2);
	traffic_flow_destroy(flow);
	close_port();
	harness_cntr_close(completion);
}

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void
cntr_23_age_of_a_flow_counter(void **state)
{
	struct trip_cntr *cntr;
	uint64_t age, began;
	struct trip_flow *flow;

	traffic_only_soft("a port's worker refreshes by itself; unit/hard has what it adds");
	harness_open(1, &by_bell);
	open_port(TRIP_PORT_BURST, 1);
	cntr = open_cntr(TRIP_CNTR_EVENTS_COMP);
	harness_notes_open(&notes);
	flow = create(1000, cntr, NULL);
	harness_settle();
	age = trip_cntr_age(cntr);
	harness_until(trip_cntr_age(cntr) > age + 1000000);
	/* Nothing refreshes it, until it crosses. */
	harness_note(&notes, cntr, 10, 0);
	harness_settle();
	traffic_burst(port, 0, 9, 1000, 64);
	harness_settle();
	harness_expect(cntr, 0, 0);
	age = trip_cntr_age(cntr);
	harness_until(trip_cntr_age(cntr) > age + 1000000);
	/* A refreshing is as of when its iteration began. */
	began = now_ns();
	harness_settle();
	traffic_burst(port, 0, 1, 1000, 64);
	harness_until(harness_notes_count(&notes) == 1);
	harness_expect(cntr, 10, 0);
	age = trip_cntr_age(cntr);
	assert_true(age <= now_ns() - began);
	traffic_flow_destroy(flow);
	assert_int_equal(trip_cntr_age(cntr), 0);
	close_port();
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* After each burst, what it has crossed has fired, and nothing else. */
static void
trip_within_bursts(uint16_t n_queues, enum trip_cntr_events events)
{
	struct trip_random random = {harness_seed};
	uint64_t unit = events == TRIP_CNTR_EVENTS_COMP ? 1 : 100, sum = 0;
	struct trip_cntr *cntr;
	struct trip_flow *flow[2];
	/* Each look at a live home costs turns of a processor that others may want. */
	uint64_t rounds = traffic_rounds(harness_mode == TRIP_PROGRESS_MANUAL ? 200 : 50);
	uint64_t most = traffic_is_late() ? 150 : 50;

	harness_open(1, &by_bell);
	open_port(TRIP_PORT_BURST, n_queues);
	cntr = open_cntr(events);
	harness_notes_open(&notes);
	for (uint16_t i = 0; i < 2; i++)
		flow[i] =
			create((uint16_t)(1000 + i), events == TRIP_CNTR_EVENTS_COMP ? cntr : NULL,
				events == TRIP_CNTR_EVENTS_COMP ? NULL : cntr);
	for (uint32_t i = 1; i <= rounds; i++) {
		uint64_t threshold = sum + unit * (1 + trip_random_below(&random, 200));

		harness_note(&notes, cntr, threshold, i);
		harness_settle();
		while (sum < threshold) {
			uint16_t n = (uint16_t)(1 + trip_random_below(&random, most));

			assert_int_equal(harness_notes_count(&notes), i - 1);
			if (trip_random_below(&random, 8) == 0)
				trip_cntr_add(cntr, unit * n);
			else
				traffic_burst(port, (uint16_t)trip_random_below(&random, n_queues),
					n, (uint16_t)(1000 + trip_random_below(&random, 2)), 100);
			sum += unit * n;
			traffic_settle();
		}
		assert_int_equal(harness_notes_count(&notes), i);
		/* A live home may look in the middle of the burst. */
		assert_true(
			notes.event[i - 1].value == sum || harness_mode != TRIP_PROGRESS_MANUAL);
		assert_true(
			notes.event[i - 1].value >= threshold && notes.event[i - 1].value <= sum);
	}
	for (uint32_t i = 0; i < 2; i++)
		traffic_flow_destroy(flow[i]);
	assert_true(trip_cntr_read(cntr) == sum);
	close_port();
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

static void
work_01_trips_within_the_burst_of_a_queue(void **state)
{
	trip_within_bursts(1, TRIP_CNTR_EVENTS_COMP);
}

static void
work_01_trips_within_the_burst_of_four_queues(void **state)
{
	trip_within_bursts(4, TRIP_CNTR_EVENTS_COMP);
}

static void
work_01_trips_within_the_burst_by_bytes(void **state)
{
	trip_within_bursts(4, TRIP_CNTR_EVENTS_BYTES);
}

/* Nobody cares how far it is, until somebody asks for less than it was when one did. */
static void
work_15_a_value_is_of_when_it_fires(void **state)
{
	struct trip_cntr *cntr;
	struct trip_flow *flow;

	harness_open(1, &by_bell);
	open_port(TRIP_PORT_BURST, 2);
	cntr = open_cntr(TRIP_CNTR_EVENTS_COMP);
	harness_notes_open(&notes);
	flow = create(1000, cntr, NULL);
	harness_note(&notes, cntr, 20, 1);
	harness_settle();
	for (uint64_t i = 1; i <= 10; i++) {
		for (uint16_t queue = 0; queue < 2; queue++)
			traffic_burst(port, queue, 50, 1000, 64);
		traffic_settle();
		/* One that waits for more gives queues budgets that they do not use up. */
		if (i == 5)
			harness_note(&notes, cntr, 1000000, 0);
		harness_note(&notes, cntr, 10 * i, 1 + i);
		harness_settle();
		assert_int_equal(harness_notes_count(&notes), 1 + i);
		assert_int_equal(notes.event[i].threshold, 10 * i);
		assert_int_equal(notes.event[i].value, 100 * i);
	}
	traffic_flow_destroy(flow);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	close_port();
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

#define SHARED 5
#define FLOWS 3

/* Each feeds its own counters and those of others. */
static const struct {
	uint32_t n_cntrs;
	unsigned int cntrs[4];
} feeds[FLOWS] = {{2, {0, 3}}, {4, {1, 3, 4, 0}}, {3, {2, 4, 3}}};

static uint64_t sums[SHARED], thresholds[SHARED];
static uint32_t firings;

/* What was crossed has fired, and nothing else. */
static void
expect_crossed(struct trip_cntr *const *cntrs, struct trip_random *random)
{
	traffic_settle();
	for (unsigned int i = 0; i < SHARED; i++) {
		if (sums[i] < thresholds[i])
			continue;
		firings++;
		thresholds[i] = sums[i] + 1 + trip_random_below(random, 300);
		harness_note(&notes, cntrs[i], thresholds[i], i);
	}
	assert_int_equal(harness_notes_count(&notes), firings);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), firings);
}

/* Counters that share flows, each with a threshold of its own. */
static void
work_01_trips_within_the_burst_of_shared_flows(void **state)
{
	struct trip_random random = {harness_seed};
	struct trip_cntr *cntrs[SHARED], *fed[4];
	struct trip_flow *flows[FLOWS];
	uint64_t rounds = traffic_rounds(harness_mode == TRIP_PROGRESS_MANUAL ? 500 : 50);

	harness_open(1, &by_bell);
	open_port(TRIP_PORT_BURST, 2);
	harness_notes_open(&notes);
	firings = 0;
	for (unsigned int i = 0; i < SHARED; i++) {
		cntrs[i] = open_cntr(TRIP_CNTR_EVENTS_COMP);
		sums[i] = 0;
		thresholds[i] = 1 + trip_random_below(&random, 300);
		harness_note(&notes, cntrs[i], thresholds[i], i);
	}
	for (unsigned int f = 0; f < FLOWS; f++) {
		const struct trip_flow_attr attr = {.cntrs = fed, .n_cntrs = feeds[f].n_cntrs};

		for (uint32_t i = 0; i < feeds[f].n_cntrs; i++)
			fed[i] = cntrs[feeds[f].cntrs[i]];
		flows[f] = traffic_flow(port, &attr, (uint16_t)(1000 + f));
	}
	harness_settle();
	for (uint64_t round = 0; round < rounds; round++) {
		unsigned int f = trip_random_below(&random, FLOWS);
		uint16_t n = (uint16_t)(1 + trip_random_below(&random, 60));

		traffic_burst(
			port, (uint16_t)trip_random_below(&random, 2), n, (uint16_t)(1000 + f), 64);
		for (uint32_t i = 0; i < feeds[f].n_cntrs; i++)
			sums[feeds[f].cntrs[i]] += n;
		expect_crossed(cntrs, &random);
	}
	for (unsigned int f = 0; f < FLOWS; f++)
		traffic_flow_destroy(flows[f]);
	for (unsigned int i = 0; i < SHARED; i++)
		harness_expect(cntrs[i], sums[i], 0);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	close_port();
	harness_notes_close(&notes);
	for (unsigned int i = 0; i < SHARED; i++)
		harness_cntr_close(cntrs[i]);
}

/* Whatever was left of the budgets that its queues had, its threshold counts from 0. */
static void
work_13_a_threshold_counts_from_a_reset(void **state)
{
	uint64_t was, taken = 0, sum = 0;
	struct trip_cntr *cntr;
	struct trip_flow *flow;

	harness_open(1, &by_bell);
	open_port(TRIP_PORT_BURST, 2);
	cntr = open_cntr(TRIP_CNTR_EVENTS_COMP);
	harness_notes_open(&notes);
	flow = create(1000, cntr, NULL);
	for (uint32_t i = 1; i <= traffic_rounds(20); i++) {
		harness_note(&notes, cntr, 100, i);
		harness_settle();
		/* Nothing of it has reached the counter, and nobody knows. */
		traffic_burst(port, 0, (uint16_t)(1 + 2 * i % 40), 1000, 64);
		sum += 1 + 2 * i % 40;
		traffic_settle();
		assert_int_equal(trip_cntr_reset(cntr, &was), 0);
		harness_settle();
		/* What was counted already counts from 0, too. */
		for (taken += was; sum - taken < 99; sum++)
			traffic_burst(port, (uint16_t)(sum % 2), 1, 1000, 64);
		traffic_settle();
		assert_int_equal(harness_notes_count(&notes), i - 1);
		traffic_burst(port, 1, 1, 1000, 64);
		sum++;
		traffic_settle();
		assert_int_equal(harness_notes_count(&notes), i);
		assert_int_equal(notes.event[i - 1].value, 100);
		assert_int_equal(trip_cntr_reset(cntr, &was), 0);
		assert_int_equal(was, 100);
		taken += was;
	}
	traffic_flow_destroy(flow);
	assert_int_equal(taken + trip_cntr_read(cntr), sum);
	close_port();
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

static void
queue_flow_op(struct trip_cntr *cntr, uint64_t threshold, enum trip_op op, struct trip_flow *flow,
	struct trip_cntr *completion)
{
	struct trip_work work = harness_work(cntr, threshold, op);

	work.op.flow = flow;
	work.completion_cntr = completion;
	harness_queue(&work);
}

static uint16_t
send_some(enum trip_port_mode mode, uint16_t n)
{
	return mode == TRIP_PORT_BURST ? traffic_burst(port, 0, n, 1000, 64)
				       : traffic_loop(0, n, 1000, 64);
}

/* Drop, pass and delete by deferred work: after a drop not one packet gets through. */
static void
change_fates(enum trip_port_mode mode)
{
	const uint16_t some = traffic_is_late() ? 100 : 10;
	struct trip_cntr *cntr, *completion;
	struct trip_flow *flow;
	uint64_t sum = 0;

	harness_open(1, &by_bell);
	open_port(mode, 1);
	cntr = open_cntr(TRIP_CNTR_EVENTS_COMP);
	completion = open_cntr(TRIP_CNTR_EVENTS_COMP);
	flow = create(1000, cntr, NULL);
	queue_flow_op(cntr, 100, TRIP_OP_FLOW_DROP, flow, completion);
	queue_flow_op(cntr, 200, TRIP_OP_FLOW_PASS, flow, completion);
	queue_flow_op(cntr, 300, TRIP_OP_FLOW_DELETE, flow, completion);
	queue_flow_op(completion, 3, TRIP_OP_FLOW_DROP, flow, completion);
	assert_int_equal(trip_flow_destroy(flow), -EBUSY);
	assert_int_equal(trip_cntr_close(cntr), -EBUSY);
	assert_int_equal(trip_port_close(port), -EBUSY);
	traffic_settle();
	while (sum < 300) {
		bool drop = sum >= 100 && sum < 200;

		expect_count(flow, sum, 64 * sum, drop ? TRIP_FLOW_FATE_DROP : TRIP_FLOW_FATE_PASS);
		assert_int_equal(send_some(mode, some), drop ? 0 : some);
		sum += some;
		traffic_settle();
	}
	/* It matches and counts no more, and keeps its last value; what comes after it fails. */
	harness_until(trip_cntr_readerr(completion) == 1);
	harness_expect(completion, 3, 1);
	expect_count(flow, 300, 64 * 300, TRIP_FLOW_FATE_DELETED);
	assert_int_equal(send_some(mode, some), some);
	traffic_settle();
	expect_count(flow, 300, 64 * 300, TRIP_FLOW_FATE_DELETED);
	harness_expect(cntr, 300, 0);
	traffic_flow_destroy(flow);
	harness_expect(cntr, 300, 0);
	close_port();
	harness_cntr_close(completion);
	harness_cntr_close(cntr);
}

static void
work_01_fates_of_bursts(void **state)
{
	change_fates(TRIP_PORT_BURST);
}

static void
work_01_fates_in_callbacks(void **state)
{
	change_fates(TRIP_PORT_CALLBACK);
}

#define HOUR UINT64_C(3600000000000)

static enum trip_flow_fate
fate_of(struct trip_flow *flow)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	return count.fate;
}

/* Drops for a time when the counter comes to so much. */
static uint64_t
queue_drop_for(struct trip_cntr *cntr, uint64_t threshold, struct trip_flow *flow, uint64_t time)
{
	struct trip_work work = harness_work(cntr, threshold, TRIP_OP_FLOW_DROP);

	work.op.drop.flow = flow;
	work.op.drop.time = time;
	work.flags = TRIP_WORK_COMPLETION;
	return harness_queue(&work);
}

static struct trip_work_event
next_event(void)
{
	struct trip_work_event event = harness_event();

	assert_int_equal(event.result, 0);
	return event;
}

static void
data_10_a_drop_for_a_time_ends(void **state)
{
	const uint64_t time = 5000000;
	struct trip_cntr *cntr = open_cntr(TRIP_CNTR_EVENTS_COMP);
	struct trip_work_event event;
	struct trip_flow *flow;
	uint64_t id, began;

	open_port(TRIP_PORT_BURST, 1);
	flow = create(1000, NULL, NULL);
	for (uint64_t i = 1; i <= 3; i++) {
		id = queue_drop_for(cntr, 10 * i, flow, time);
		harness_settle();
		assert_int_equal(fate_of(flow), TRIP_FLOW_FATE_PASS);
		began = now_ns();
		trip_cntr_add(cntr, 10);
		event = next_event();
		assert_int_equal(event.flags, TRIP_WORK_MORE);
		event = next_event();
		assert_true(now_ns() - began >= time);
		assert_int_equal(event.flags, TRIP_WORK_END);
		assert_int_equal(event.id, id);
		assert_int_equal(event.threshold, 10 * i);
		assert_int_equal(event.value, 10 * i);
		assert_int_equal(fate_of(flow), TRIP_FLOW_FATE_PASS);
		assert_int_equal(traffic_burst(port, 0, 10, 1000, 64), 10);
		assert_int_equal(trip_work_cancel(harness_domain, id), -ENOENT);
	}
	traffic_flow_destroy(flow);
	close_port();
	harness_cntr_close(cntr);
}

/* It stays for as long, so its objects are in use; and what takes it back ends it. */
static void
data_10_a_drop_that_lasts_is_canceled(void **state)
{
	struct trip_cntr *cntr = open_cntr(TRIP_CNTR_EVENTS_COMP);
	struct trip_flow *flow;
	uint64_t id;

	open_port(TRIP_PORT_BURST, 1);
	flow = create(1000, NULL, NULL);
	for (unsigned int i = 0; i < 2; i++) {
		id = queue_drop_for(cntr, 0, flow, HOUR);
		assert_int_equal(next_event().flags, TRIP_WORK_MORE);
		harness_until(fate_of(flow) == TRIP_FLOW_FATE_DROP);
		assert_int_equal(traffic_burst(port, 0, 10, 1000, 64), 0);
		assert_int_equal(trip_flow_destroy(flow), -EBUSY);
		assert_int_equal(trip_cntr_close(cntr), -EBUSY);
		if (i == 0)
			assert_int_equal(trip_work_cancel(harness_domain, id), 0);
		else
			assert_int_equal(trip_work_flush(harness_domain, cntr), 0);
		harness_until(fate_of(flow) == TRIP_FLOW_FATE_PASS);
		assert_int_equal(trip_work_cancel(harness_domain, id), -ENOENT);
	}
	traffic_flow_destroy(flow);
	close_port();
	harness_cntr_close(cntr);
}

/* Each lasts for its own time, a pass ends both, and what drops for ever does. */
static void
data_10_a_drop_that_lasts_undoes_no_other(void **state)
{
	struct trip_cntr *cntr = open_cntr(TRIP_CNTR_EVENTS_COMP);
	struct trip_cntr *completion = open_cntr(TRIP_CNTR_EVENTS_COMP);
	struct trip_flow *flow;
	uint64_t id[2];

	open_port(TRIP_PORT_BURST, 1);
	flow = create(1000, NULL, NULL);
	for (unsigned int i = 0; i < 2; i++) {
		id[i] = queue_drop_for(cntr, 0, flow, HOUR);
		(void)next_event();
	}
	assert_int_equal(trip_work_cancel(harness_domain, id[0]), 0);
	harness_settle();
	harness_until(fate_of(flow) == TRIP_FLOW_FATE_DROP);
	operate(flow, TRIP_OP_FLOW_PASS, completion, 1, 0);
	assert_int_equal(fate_of(flow), TRIP_FLOW_FATE_PASS);
	operate(flow, TRIP_OP_FLOW_DROP, completion, 2, 0);
	assert_int_equal(trip_work_cancel(harness_domain, id[1]), 0);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	assert_int_equal(fate_of(flow), TRIP_FLOW_FATE_DROP);
	traffic_flow_destroy(flow);
	close_port();
	harness_cntr_close(completion);
	harness_cntr_close(cntr);
}

static void
data_10_a_time_above_the_limit_is_refused(void **state)
{
	struct trip_cntr *cntr = open_cntr(TRIP_CNTR_EVENTS_COMP);
	struct trip_work work = harness_work(cntr, 1, TRIP_OP_FLOW_DROP);

	open_port(TRIP_PORT_BURST, 1);
	work.op.drop.flow = create(1000, NULL, NULL);
	work.op.drop.time = TRIP_CNTR_MAX + 1;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	assert_string_equal(trip_error_message(),
		"work: time 9223372036854775808 is above the limit 9223372036854775807");
	/* It is for ever where nothing is said, and for no time where it is no drop. */
	work.op_type = TRIP_OP_FLOW_PASS;
	(void)harness_queue(&work);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	traffic_flow_destroy(work.op.drop.flow);
	close_port();
	harness_cntr_close(cntr);
}

/* Of packets or of bytes; and it has gone on counting. */
static void
cntr_11_a_flow_refuses_close(void **state)
{
	struct trip_cntr *packets, *bytes;
	struct trip_flow *flow;

	open_port(TRIP_PORT_BURST, 1);
	packets = open_cntr(TRIP_CNTR_EVENTS_COMP);
	bytes = open_cntr(TRIP_CNTR_EVENTS_BYTES);
	flow = create(53, packets, bytes);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(trip_cntr_close(packets), -EBUSY);
		assert_int_equal(trip_cntr_close(bytes), -EBUSY);
		traffic_burst(port, 0, 10, 53, 100);
	}
	traffic_flow_destroy(flow);
	harness_expect(packets, 20, 0);
	harness_expect(bytes, 2000, 0);
	harness_cntr_close(packets);
	harness_cntr_close(bytes);
	close_port();
}

/* What was counted and not yet taken is in the counter when the flow is gone. */
static void
pnt_07_destroy_folds_the_last_counts(void **state)
{
	struct trip_cntr *packets, *bytes;
	uint64_t rounds = traffic_rounds(50);
	struct trip_flow *flow;

	harness_open(2, &by_bell);
	open_port(TRIP_PORT_BURST, 4);
	packets = open_cntr(TRIP_CNTR_EVENTS_COMP);
	bytes = open_cntr(TRIP_CNTR_EVENTS_BYTES);
	harness_notes_open(&notes);
	for (uint64_t i = 1; i <= rounds; i++) {
		flow = create(1000, packets, bytes);
		for (uint16_t q = 0; q < 4; q++)
			traffic_burst(port, q, 10, 1000, 100);
		if (i == rounds / 2)
			harness_note(&notes, packets, 40 * i, i);
		traffic_flow_destroy(flow);
		harness_expect(packets, 40 * i, 0);
		harness_expect(bytes, 4000 * i, 0);
		/* A slot that is used again counts from 0. */
		flow = create(1001, NULL, NULL);
		expect_count(flow, 0, 0, TRIP_FLOW_FATE_PASS);
		traffic_flow_destroy(flow);
	}
	harness_until(harness_notes_count(&notes) == 1);
	close_port();
	harness_notes_close(&notes);
	harness_cntr_close(packets);
	harness_cntr_close(bytes);
}

static void
destroy(struct trip_flow *flow)
{
	if (trip_flow_destroy(flow) != 0)
		fail_msg("%s", trip_error_message());
}

static void
flow_priorities_and_passthru(void **state)
{
	const struct rte_flow_action also[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT},
		{.type = RTE_FLOW_ACTION_TYPE_PASSTHRU}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	const struct rte_flow_action drop[] = {
		{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	const struct rte_flow_item any[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	struct trip_flow_attr attr = {.size = sizeof(attr), .priority = 5};
	struct trip_flow *wide, *exact, *second, *counted, *first;

	traffic_only_soft("no hardware has PASSTHRU, or an order among equal priorities");
	open_port(TRIP_PORT_BURST, 1);
	assert_int_equal(trip_flow_create(port, &attr, any, NULL, &wide, NULL), 0);
	attr.priority = 3;
	assert_int_equal(
		trip_flow_create(port, &attr, traffic_pattern(1000), drop, &exact, NULL), 0);
	assert_int_equal(
		trip_flow_create(port, &attr, traffic_pattern(1000), NULL, &second, NULL), 0);
	attr.priority = 9;
	assert_int_equal(trip_flow_create(port, &attr, any, also, &counted, NULL), 0);
	assert_int_equal(traffic_burst(port, 0, 10, 1000, 64), 0);
	assert_int_equal(traffic_burst(port, 0, 7, 1001, 64), 7);
	expect_count(wide, 7, 7 * 64, TRIP_FLOW_FATE_PASS);
	expect_count(exact, 10, 10 * 64, TRIP_FLOW_FATE_DROP);
	expect_count(second, 0, 0, TRIP_FLOW_FATE_PASS);
	expect_count(counted, 17, 17 * 64, TRIP_FLOW_FATE_PASS);
	attr.priority = 0;
	assert_int_equal(
		trip_flow_create(port, &attr, traffic_pattern(1000), NULL, &first, NULL), 0);
	assert_int_equal(traffic_burst(port, 0, 3, 1000, 64), 3);
	expect_count(first, 3, 3 * 64, TRIP_FLOW_FATE_PASS);
	destroy(first);
	destroy(exact);
	assert_int_equal(traffic_burst(port, 0, 4, 1000, 64), 4);
	expect_count(second, 4, 4 * 64, TRIP_FLOW_FATE_PASS);
	expect_count(counted, 24, 24 * 64, TRIP_FLOW_FATE_PASS);
	destroy(second);
	destroy(counted);
	destroy(wide);
	close_port();
}

static void
refuse(const struct trip_flow_attr *attr, const struct rte_flow_item *pattern,
	const struct rte_flow_action *actions, int number, enum rte_flow_error_type type)
{
	struct rte_flow_error error = {0};
	struct trip_flow *flow = NULL;

	assert_int_equal(trip_flow_create(port, attr, pattern, actions, &flow, &error), number);
	assert_null(flow);
	assert_int_equal(error.type, type);
	assert_true(error.message != NULL && strlen(error.message) > 0);
	assert_int_equal(trip_flow_create(port, attr, pattern, actions, &flow, NULL), number);
}

static void
flow_refusals_say_where(void **state)
{
	const struct rte_flow_item_ipv4 ip = {.hdr.dst_addr = RTE_BE32(1)};
	const struct rte_flow_item range[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .last = &ip}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct rte_flow_item fuzzy[] = {
		{.type = RTE_FLOW_ITEM_TYPE_FUZZY}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct rte_flow_item any[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct rte_flow_action pop[] = {
		{.type = RTE_FLOW_ACTION_TYPE_OF_POP_VLAN}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct trip_cntr *cntrs[] = {NULL, NULL, NULL};
	const struct trip_flow_attr good = {.size = sizeof(good)};
	struct trip_cntr *of_one_kind[TRIP_FLOW_CNTRS_MAX / 2 + 1];
	struct trip_flow_attr attr = good;

	traffic_only_soft("each engine refuses something else; unit/hard has that");
	for (unsigned int i = 0; i < 2; i++)
		cntrs[i] = open_cntr(TRIP_CNTR_EVENTS_COMP);
	for (unsigned int i = 0; i < RTE_DIM(of_one_kind); i++)
		of_one_kind[i] = open_cntr(TRIP_CNTR_EVENTS_BYTES);
	open_port(TRIP_PORT_BURST, 1);
	refuse(&good, NULL, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_NUM);
	refuse(&good, fuzzy, NULL, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM);
	refuse(&good, range, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ITEM_SPEC);
	refuse(&good, any, pop, -ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION);
	attr.size--;
	refuse(&attr, any, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ATTR);
	attr = good;
	attr.engine = (enum trip_flow_engine)77;
	refuse(&attr, any, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ATTR);
	attr = good;
	attr.n_cntrs = 1;
	refuse(&attr, any, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ATTR);
	/* Twice the same one, too many of the same events, too many. */
	attr.cntrs = (struct trip_cntr *[]){cntrs[0], cntrs[1], cntrs[0]};
	attr.n_cntrs = 3;
	refuse(&attr, any, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ATTR);
	attr.cntrs = of_one_kind;
	attr.n_cntrs = RTE_DIM(of_one_kind);
	refuse(&attr, any, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ATTR);
	attr.n_cntrs = TRIP_FLOW_CNTRS_MAX + 1;
	refuse(&attr, any, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ATTR);
	attr.cntrs = &cntrs[2];
	attr.n_cntrs = 1;
	refuse(&attr, any, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ATTR);
	cntrs[2] = trip_clock_cntr(harness_domain);
	refuse(&attr, any, NULL, -EINVAL, RTE_FLOW_ERROR_TYPE_ATTR);
	close_port();
	for (unsigned int i = 0; i < RTE_DIM(of_one_kind); i++)
		harness_cntr_close(of_one_kind[i]);
	harness_cntr_close(cntrs[0]);
	harness_cntr_close(cntrs[1]);
}

/* Each home tells its own. */
static void
flow_counters_of_two_homes_are_refused(void **state)
{
	struct trip_cntr *cntrs[3];
	struct trip_flow_attr attr = {
		.size = sizeof(attr), .cntrs = cntrs, .n_cntrs = RTE_DIM(cntrs)};
	struct rte_flow_error error;
	struct trip_flow *flow;

	harness_open(2, NULL);
	open_port(TRIP_PORT_BURST, 1);
	for (unsigned int i = 0; i < RTE_DIM(cntrs); i++)
		cntrs[i] = open_cntr(TRIP_CNTR_EVENTS_COMP);
	assert_int_equal(trip_flow_create(port, &attr, traffic_pattern(1000), NULL, &flow, &error),
		-ENOTSUP);
	assert_non_null(strstr(error.message, "are of homes"));
	close_port();
	for (unsigned int i = 0; i < RTE_DIM(cntrs); i++)
		harness_cntr_close(cntrs[i]);
}

static void
port_limits_are_checked(void **state)
{
	struct trip_domain_attr tune = {.max_flows = 2, .max_queues = 2};
	struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	struct trip_flow *flow[2], *third = NULL;
	struct trip_port *other = NULL;
	uint16_t id;

	traffic_only_soft("its queues are not the domain's");
	harness_open(1, &tune);
	id = traffic_start(4);
	assert_int_equal(trip_port_open(harness_domain, id, &attr, &other), -ENOSPC);
	attr.n_queues = 5;
	assert_int_equal(trip_port_open(harness_domain, id, &attr, &other), -EINVAL);
	attr.n_queues = 2;
	assert_int_equal(trip_port_open(harness_domain, 31, &attr, &other), -ENODEV);
	attr.mode = (enum trip_port_mode)9;
	assert_int_equal(trip_port_open(harness_domain, id, &attr, &other), -EINVAL);
	attr.mode = TRIP_PORT_BURST;
	assert_int_equal(trip_port_open(harness_domain, id, &attr, &port), 0);
	assert_int_equal(trip_port_open(harness_domain, id, &attr, &other), -EEXIST);
	assert_null(other);
	assert_int_equal(trip_domain_close(harness_domain), -EBUSY);
	for (uint16_t i = 0; i < 2; i++)
		flow[i] = create((uint16_t)(1000 + i), NULL, NULL);
	assert_int_equal(
		trip_flow_create(port, NULL, traffic_pattern(1002), NULL, &third, NULL), -ENOSPC);
	assert_null(third);
	for (uint16_t i = 0; i < 2; i++)
		traffic_flow_destroy(flow[i]);
	close_port();
}

/* What a function may do, between two bursts of work: everything that does not wait. */
static int
open_and_close(const struct trip_work_event *event, void *arg)
{
	const struct rte_flow_item any[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	struct trip_cntr *cntr;
	struct trip_function *function;
	struct trip_flow *flow;
	struct trip_port *other;
	int error = trip_cntr_open(harness_domain, NULL, &cntr, NULL);

	if (error == 0)
		error = trip_cntr_close(cntr);
	if (error == 0)
		error = trip_function_register(harness_domain, fail_it, NULL, &function);
	if (error == 0)
		error = trip_function_unregister(function);
	if (error == 0 && trip_cntr_wait(arg, 1000000, -1) != -EINVAL)
		error = -EPROTO;
	if (error == 0 && trip_flow_create(port, NULL, any, NULL, &flow, NULL) != -EDEADLK)
		error = -EPROTO;
	if (error == 0 && trip_port_open(harness_domain, 0, NULL, &other) != -EDEADLK)
		error = -EPROTO;
	return error == 0 && trip_port_close(port) != -EDEADLK ? -EPROTO : error;
}

/* While another thread waits for the home that calls the function. */
static void
work_12_functions_may_open_objects(void **state)
{
	struct trip_cntr *cntr, *trigger, *completion;
	uint64_t rounds = traffic_rounds(300);
	struct trip_function *function;
	struct trip_work work;

	harness_open(2, NULL);
	open_port(TRIP_PORT_BURST, 1);
	/* By turns: the flow's counter is at home where the function is called. */
	cntr = open_cntr(TRIP_CNTR_EVENTS_COMP);
	completion = open_cntr(TRIP_CNTR_EVENTS_COMP);
	trigger = open_cntr(TRIP_CNTR_EVENTS_COMP);
	assert_int_equal(
		trip_function_register(harness_domain, open_and_close, cntr, &function), 0);
	work = harness_work(trigger, 1, TRIP_OP_CALL);
	work.interval = 1;
	work.op.call.function = function;
	work.completion_cntr = completion;
	harness_queue(&work);
	for (uint64_t i = 1; i <= rounds; i++) {
		struct trip_flow *flow;

		trip_cntr_add(trigger, 10);
		flow = create(1000, cntr, NULL);
		traffic_burst(port, 0, 10, 1000, 64);
		trip_cntr_add(trigger, 10);
		traffic_flow_destroy(flow);
		harness_expect(cntr, 10 * i, 0);
	}
	harness_until(trip_cntr_read(completion) == 20 * rounds);
	harness_expect(completion, 20 * rounds, 0);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	assert_int_equal(trip_function_unregister(function), 0);
	close_port();
	harness_cntr_close(trigger);
	harness_cntr_close(completion);
	harness_cntr_close(cntr);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(data_10_a_drop_for_a_time_ends),
	HARNESS_TEST(data_10_a_drop_that_lasts_is_canceled),
	HARNESS_TEST(data_10_a_drop_that_lasts_undoes_no_other),
	HARNESS_TEST(data_10_a_time_above_the_limit_is_refused),
	HARNESS_TEST(cntr_11_a_flow_refuses_close),
	HARNESS_TEST_OWN(cntr_19_counts_become_visible_by_themselves),
	HARNESS_TEST_OWN(cntr_21_packets_and_bytes_of_a_queue),
	HARNESS_TEST_OWN(cntr_21_packets_and_bytes_of_four_queues),
	HARNESS_TEST(cntr_21_an_error_is_one),
	HARNESS_TEST_OWN(cntr_23_age_of_a_flow_counter),
	HARNESS_TEST_OWN(work_01_trips_within_the_burst_of_a_queue),
	HARNESS_TEST_OWN(work_01_trips_within_the_burst_of_four_queues),
	HARNESS_TEST_OWN(work_01_trips_within_the_burst_by_bytes),
	HARNESS_TEST_OWN(work_01_trips_within_the_burst_of_shared_flows),
	HARNESS_TEST_OWN(work_13_a_threshold_counts_from_a_reset),
	HARNESS_TEST_OWN(work_15_a_value_is_of_when_it_fires),
	HARNESS_TEST_OWN(work_01_fates_of_bursts),
	HARNESS_TEST_OWN(work_01_fates_in_callbacks),
	HARNESS_TEST_OWN(pnt_07_destroy_folds_the_last_counts),
	HARNESS_TEST(cntr_03_a_flow_that_is_gone_fails),
	HARNESS_TEST(work_05_flow_operations_are_completed),
	HARNESS_TEST_OWN(work_12_functions_may_open_objects),
	HARNESS_TEST(flow_priorities_and_passthru),
	HARNESS_TEST(flow_refusals_say_where),
	HARNESS_TEST_OWN(flow_counters_of_two_homes_are_refused),
	HARNESS_TEST_OWN(port_limits_are_checked),
};

TRAFFIC_MAIN(tests)
