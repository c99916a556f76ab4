/* SPDX-License-Identifier: BSD-3-Clause */
/* In which order work fires. work_model.c asks the same of random histories. */
#include <pthread.h>
#include <string.h>

#include "harness.h"
#include "traffic.h"

#define SEEDS 10000
#define BURST 1000
#define ITEMS_MAX 64

static struct harness_notes notes;

static void
work_01_fires_at_the_threshold_of_the_sum(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);

	harness_notes_open(&notes);
	harness_note(&notes, cntr, 6, 77);
	for (unsigned int sum = 1; sum < 6; sum++) {
		if (sum % 2 == 0)
			trip_cntr_adderr(cntr, 1);
		else
			trip_cntr_add(cntr, 1);
		harness_settle();
		assert_int_equal(harness_notes_count(&notes), 0);
	}
	trip_cntr_adderr(cntr, 1);
	harness_until(harness_notes_count(&notes) == 1);
	assert_int_equal(notes.event[0].context, 77);
	assert_int_equal(notes.event[0].threshold, 6);
	assert_int_equal(notes.event[0].value, 6);
	trip_cntr_add(cntr, 100);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 1);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* A call in which nothing is queued: the threshold 0 holds from the start. */
static void
work_01_threshold_zero_fires_at_once(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	uint64_t began = rte_rdtsc(), ns;

	harness_notes_open(&notes);
	harness_note(&notes, cntr, 0, 1);
	harness_until(harness_notes_count(&notes) == 1);
	/* There was no update, so it is not late by the time since there might have been one. */
	ns = (rte_rdtsc() - began) * 1000000000 / rte_get_tsc_hz();
	trip_assert_range(notes.event[0].latency_ns, 0, ns);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

struct plan {
	uint64_t threshold[ITEMS_MAX];
	uint32_t n;
	/* Items by (threshold, submission). */
	uint32_t order[ITEMS_MAX];
};

/* Few different thresholds in one plan of three, so that many are equal. */
static void
make_plan(struct plan *plan, struct trip_random *random)
{
	static const uint64_t spans[] = {4, 60, BURST};
	uint64_t span = spans[trip_random_below(random, 3)];

	plan->n = 2 + (uint32_t)trip_random_below(random, ITEMS_MAX - 1);
	for (uint32_t i = 0; i < plan->n; i++) {
		uint32_t at = i;

		plan->threshold[i] = BURST - trip_random_below(random, span);
		for (; at > 0 && plan->threshold[plan->order[at - 1]] > plan->threshold[i]; at--)
			plan->order[at] = plan->order[at - 1];
		plan->order[at] = i;
	}
}

/* From 0 to 1000 by one jump, or by a few, which may be errors. */
static void
jump(struct trip_cntr *cntr, struct trip_random *random)
{
	uint64_t left, step;

	if (trip_random_below(random, 8) == 0) {
		trip_cntr_set(cntr, BURST);
		return;
	}
	for (left = BURST; left > 0; left -= step) {
		step = trip_random_below(random, 2) == 0 ? left
							 : 1 + trip_random_below(random, left);
		if (trip_random_below(random, 8) == 0)
			trip_cntr_adderr(cntr, step);
		else
			trip_cntr_add(cntr, step);
	}
}

static void
check_plan(const struct plan *plan, uint64_t seed)
{
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct trip_work_event *event = &notes.event[i];

		if (event->context != plan->order[i] ||
			event->threshold != plan->threshold[plan->order[i]])
			fail_msg("seed %llu: item %llu fired at place %u of %u, where %u belongs",
				(unsigned long long)seed, (unsigned long long)event->context, i,
				plan->n, plan->order[i]);
	}
}

static void
run_plan(struct trip_cntr *cntr, uint64_t seed)
{
	struct trip_random random = {seed};
	struct plan plan;

	make_plan(&plan, &random);
	atomic_store(&notes.n, 0);
	trip_cntr_set(cntr, 0);
	trip_cntr_seterr(cntr, 0);
	for (uint32_t i = 0; i < plan.n; i++) {
		harness_note(&notes, cntr, plan.threshold[i], i);
		if (trip_random_below(&random, 64) == 0)
			harness_step();
	}
	jump(cntr, &random);
	harness_until(harness_notes_count(&notes) >= plan.n);
	check_plan(&plan, seed);
	assert_int_equal(harness_notes_count(&notes), plan.n);
}

/* The burst of the contract: a counter jumps from 0 to 1000 past everything that was queued. */
static void
work_02_threshold_order(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_domain_stats before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
	uint64_t seeds = harness_rounds(SEEDS);

	harness_notes_open(&notes);
	trip_domain_stats_read(harness_domain, &before);
	for (uint64_t i = 0; i < seeds; i++)
		run_plan(cntr, harness_seed + i);
	harness_settle();
	trip_domain_stats_read(harness_domain, &after);
	assert_int_equal(after.accepted - before.accepted, after.fired - before.fired);
	assert_int_equal(after.pending, 0);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* The same by packets of a counted flow, which come in one burst or in several. */
static void
run_packets(struct trip_cntr *cntr, struct trip_port *port, uint64_t seed)
{
	struct trip_random random = {seed};
	uint16_t done, n;
	struct plan plan;

	make_plan(&plan, &random);
	atomic_store(&notes.n, 0);
	trip_cntr_set(cntr, 0);
	for (uint32_t i = 0; i < plan.n; i++)
		harness_note(&notes, cntr, plan.threshold[i], i);
	for (done = 0; done < BURST; done = (uint16_t)(done + n)) {
		n = trip_random_below(&random, 2) == 0
			    ? BURST - done
			    : (uint16_t)(1 + trip_random_below(&random, BURST - done));
		assert_int_equal(traffic_burst(port, 0, n, 53, 64), n);
		if (trip_random_below(&random, 4) == 0)
			harness_step();
	}
	harness_until(harness_notes_count(&notes) >= plan.n);
	check_plan(&plan, seed);
	harness_until(trip_cntr_read(cntr) == BURST);
	assert_int_equal(harness_notes_count(&notes), plan.n);
}

static void
work_02_packets(void **state)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	const struct trip_flow_attr feeds = {.size = sizeof(feeds), .cntrs = &cntr, .n_cntrs = 1};
	uint64_t seeds = harness_rounds(SEEDS);
	struct trip_port *port;
	struct trip_flow *flow;

	harness_notes_open(&notes);
	port = traffic_open(1, &attr);
	assert_int_equal(trip_flow_create(port, &feeds, traffic_pattern(53), NULL, &flow, NULL), 0);
	for (uint64_t i = 0; i < seeds; i++)
		run_packets(cntr, port, harness_seed + i);
	assert_int_equal(trip_flow_destroy(flow), 0);
	traffic_close(port);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* More items than one iteration fires, and than one channel accepts at once. */
static void
work_02_many_items(void **state)
{
	const struct trip_domain_attr attr = {.budget_log2 = 4};
	struct trip_random random = {harness_seed};
	struct trip_cntr *cntr;

	harness_open(1, &attr);
	cntr = harness_cntr(TRIP_WAIT_NONE);
	harness_notes_open(&notes);
	for (uint32_t i = 0; i < HARNESS_NOTES; i++)
		harness_note(&notes, cntr, 1 + trip_random_below(&random, BURST), i);
	trip_cntr_add(cntr, BURST);
	harness_until(harness_notes_count(&notes) == HARNESS_NOTES);
	for (uint32_t i = 1; i < HARNESS_NOTES; i++) {
		const struct trip_work_event *a = &notes.event[i - 1], *b = &notes.event[i];

		assert_true(a->threshold < b->threshold ||
			    (a->threshold == b->threshold && a->context < b->context));
	}
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

#define SUBMITTERS 3
#define SUBMITTED 1000

struct submitter {
	struct trip_cntr *cntr;
	uint64_t first;
	pthread_t thread;
};

static void *
submit(void *arg)
{
	struct submitter *submitter = arg;

	for (uint64_t i = 0; i < SUBMITTED; i++)
		harness_note(&notes, submitter->cntr, 5 + i % 3, submitter->first + i);
	return NULL;
}

static void
work_03_equal_thresholds_in_submission_order(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct submitter submitters[SUBMITTERS];
	uint64_t next[SUBMITTERS][3], threshold = 0;

	harness_notes_open(&notes);
	for (uint64_t i = 0; i < SUBMITTERS; i++) {
		submitters[i] = (struct submitter){.cntr = cntr, .first = i * SUBMITTED};
		assert_int_equal(
			pthread_create(&submitters[i].thread, NULL, submit, &submitters[i]), 0);
		for (uint64_t k = 0; k < 3; k++)
			next[i][k] = i * SUBMITTED + k;
	}
	for (unsigned int i = 0; i < SUBMITTERS; i++)
		pthread_join(submitters[i].thread, NULL);
	trip_cntr_add(cntr, 10);
	harness_until(harness_notes_count(&notes) == SUBMITTERS * SUBMITTED);
	for (uint32_t i = 0; i < SUBMITTERS * SUBMITTED; i++) {
		const struct trip_work_event *event = &notes.event[i];
		uint64_t *expected = &next[event->context / SUBMITTED][event->threshold - 5];

		assert_true(event->threshold >= threshold);
		assert_int_equal(event->context, *expected);
		*expected += 3;
		threshold = event->threshold;
	}
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

static struct trip_cntr *queue_on;

/* Queues an item that is due already, below everything that is still ready. */
static int
queue_due(const struct trip_work_event *event, void *arg)
{
	struct harness_notes *to = arg;
	struct trip_work work = harness_work(queue_on, 1, TRIP_OP_CALL);

	work.op.call.function = to->function;
	work.context = 1000 + event->context;
	return trip_work_queue(harness_domain, &work, NULL);
}

static void
work_04_no_overtaking_of_what_is_ready(void **state)
{
	const struct trip_domain_attr attr = {.budget_log2 = 4};
	struct trip_function *function;
	struct trip_work work;

	harness_open(1, &attr);
	queue_on = harness_cntr(TRIP_WAIT_NONE);
	work = harness_work(queue_on, 10, TRIP_OP_CALL);
	harness_notes_open(&notes);
	assert_int_equal(trip_function_register(harness_domain, queue_due, &notes, &function), 0);
	work.op.call.function = function;
	for (uint64_t i = 0; i < 3; i++) {
		work.context = i;
		harness_queue(&work);
	}
	for (uint64_t i = 0; i < 500; i++)
		harness_note(&notes, queue_on, 11 + i, i);
	trip_cntr_add(queue_on, 1000);
	harness_until(harness_notes_count(&notes) == 503);
	for (uint64_t i = 0; i < 503; i++)
		assert_int_equal(notes.event[i].context, i < 500 ? i : 500 + i);
	assert_int_equal(trip_function_unregister(function), 0);
	harness_notes_close(&notes);
	harness_cntr_close(queue_on);
}

/* Where the home knows that an item is due when it accepts it, order is that of acceptance. */
static void
work_04_due_items_fire_at_once_in_turn(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);

	harness_notes_open(&notes);
	harness_note(&notes, cntr, 100, 0);
	trip_cntr_add(cntr, 100);
	harness_until(harness_notes_count(&notes) == 1);
	for (uint64_t i = 1; i <= 100; i++)
		harness_note(&notes, cntr, 101 - i, i);
	harness_until(harness_notes_count(&notes) == 101);
	for (uint64_t i = 0; i <= 100; i++)
		assert_int_equal(notes.event[i].context, i);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(work_01_fires_at_the_threshold_of_the_sum),
	HARNESS_TEST(work_01_threshold_zero_fires_at_once),
	HARNESS_TEST(work_02_threshold_order),
	HARNESS_TEST(work_02_packets),
	HARNESS_TEST_OWN(work_02_many_items),
	HARNESS_TEST(work_03_equal_thresholds_in_submission_order),
	HARNESS_TEST_OWN(work_04_no_overtaking_of_what_is_ready),
	HARNESS_TEST(work_04_due_items_fire_at_once_in_turn),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
