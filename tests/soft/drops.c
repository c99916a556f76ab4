/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every packet against a model: rules added, destroyed, dropped, passed and deleted between bursts,
 * by calls and by deferred work that the packets trigger. The test drives all of it by hand, so the
 * model knows of each packet which rule takes it and whether it is dropped:
 *
 *	- a flow's rule takes its packets while there is one that was not deleted, else the rule
 * below
 *	- work fires between bursts, when its counter is at or above the threshold
 *	- a rule that is `also` counts in addition, and never keeps a packet from another one
 */
#include <trip_test.h>

#include <inttypes.h>

#include <trip_eal.h>
#include <trip_flows.h>

#define CHANGES 100000
#define QUEUES 2
#define WORKS 4
#define AHEAD 300

struct work {
	uint64_t id; /* TRIP_WORK_NONE: none */
	uint64_t threshold;
	enum trip_op op;
};

struct flow {
	struct trip_flow *rule, *below, *also;
	struct trip_cntr *cntrs[2], *below_cntrs[2], *also_cntrs[2];
	/* The model. */
	bool active, drops;
	struct work works[WORKS]; /* in the order of acceptance */
	unsigned int n_works;
	uint64_t counted, counted_below, counted_also, left;
};

struct world {
	struct trip_domain *domain;
	struct trip_port *port;
	struct flow flows[FLOWS];
	struct flows_traffic traffic[QUEUES];
	struct trip_random random;
};

static struct world world;

static struct trip_flow_attr
attr_of(struct trip_cntr **cntrs, uint32_t priority)
{
	return (struct trip_flow_attr){.size = sizeof(struct trip_flow_attr),
		.cntrs = cntrs,
		.n_cntrs = 2,
		.priority = priority};
}

static void
open_world(uint64_t seed)
{
	uint32_t i;

	world = (struct world){.random = {.state = seed}};
	flows_open(&world.domain, &world.port, QUEUES, 6 * FLOWS, 3 * FLOWS);
	for (i = 0; i < FLOWS; i++) {
		struct flow *flow = &world.flows[i];
		struct trip_flow_attr below = attr_of(flow->below_cntrs, 100);

		flows_cntrs_open(world.domain, flow->cntrs);
		flows_cntrs_open(world.domain, flow->below_cntrs);
		flows_cntrs_open(world.domain, flow->also_cntrs);
		flow->below = flows_create(world.port, i, &below, FLOWS_COUNT, i);
	}
	for (i = 0; i < QUEUES; i++)
		flows_traffic_open(&world.traffic[i], trip_random_u64(&world.random));
}

/* --- the model --- */

static void
model_packets(struct flow *flow, uint64_t packets)
{
	if (flow->also != NULL)
		flow->counted_also += packets;
	if (flow->active)
		flow->counted += packets;
	else
		flow->counted_below += packets;
	if (!flow->active || !flow->drops)
		flow->left += packets;
}

static void
model_fire(struct flow *flow, enum trip_op op)
{
	if (op == TRIP_OP_FLOW_DELETE)
		flow->active = false;
	else
		flow->drops = op == TRIP_OP_FLOW_DROP;
}

/* All that is due: by threshold, and in the order of acceptance where that is the same. */
static void
model_due(struct flow *flow)
{
	for (;;) {
		unsigned int i, first = WORKS;

		for (i = 0; i < flow->n_works; i++)
			if (flow->works[i].threshold <= flow->counted &&
				(first == WORKS ||
					flow->works[i].threshold < flow->works[first].threshold))
				first = i;
		if (first == WORKS)
			return;
		model_fire(flow, flow->works[first].op);
		flow->n_works--;
		memmove(&flow->works[first], &flow->works[first + 1],
			(flow->n_works - first) * sizeof(flow->works[0]));
	}
}

/* --- the changes --- */

static void
settle(void)
{
	while (trip_progress(world.domain) > 0)
		;
}

static void
create(struct flow *flow, uint32_t index)
{
	struct trip_flow_attr attr =
		attr_of(flow->cntrs, (uint32_t)trip_random_below(&world.random, 3));

	flow->active = true;
	flow->drops = trip_random_below(&world.random, 2) == 0;
	flow->rule = flows_create(world.port, index, &attr, flow->drops ? FLOWS_DROP : FLOWS_COUNT,
		trip_random_u64(&world.random));
}

/* What was not due yet must still be there to be canceled. */
static void
destroy(struct flow *flow)
{
	for (unsigned int i = 0; i < flow->n_works; i++)
		assert_int_equal(trip_work_cancel(world.domain, flow->works[i].id), 0);
	flow->n_works = 0;
	flows_destroy(world.domain, flow->rule);
	flow->rule = NULL;
	flow->active = false;
}

static void
defer(struct flow *flow)
{
	static const enum trip_op ops[] = {TRIP_OP_FLOW_DROP, TRIP_OP_FLOW_PASS, TRIP_OP_FLOW_DROP,
		TRIP_OP_FLOW_PASS, TRIP_OP_FLOW_DELETE};
	struct work *mine = &flow->works[flow->n_works];
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = flow->cntrs[0],
		.op.flow = flow->rule,
		.op_type = ops[trip_random_below(&world.random, RTE_DIM(ops))]};

	if (flow->n_works == WORKS)
		return;
	if (trip_random_below(&world.random, 3) > 0)
		work.threshold = flow->counted + trip_random_below(&world.random, AHEAD);
	*mine = (struct work){.threshold = work.threshold, .op = work.op_type};
	assert_int_equal(trip_work_queue(world.domain, &work, &mine->id), 0);
	flow->n_works++;
}

static void
toggle_also(struct flow *flow, uint32_t index)
{
	struct trip_flow_attr attr =
		attr_of(flow->also_cntrs, (uint32_t)trip_random_below(&world.random, 200));

	if (flow->also == NULL) {
		flow->also = flows_create(
			world.port, index, &attr, FLOWS_ALSO, trip_random_u64(&world.random));
	} else {
		flows_destroy(world.domain, flow->also);
		flow->also = NULL;
	}
}

static void
change(void)
{
	uint32_t index = (uint32_t)trip_random_below(&world.random, FLOWS);
	struct flow *flow = &world.flows[index];
	uint64_t what = trip_random_below(&world.random, 8);

	if (what == 0)
		toggle_also(flow, index);
	else if (flow->rule == NULL)
		create(flow, index);
	else if (what == 1)
		destroy(flow);
	else
		defer(flow);
	settle();
	model_due(flow);
}

static void
send_burst(void)
{
	uint16_t queue = (uint16_t)trip_random_below(&world.random, QUEUES);
	struct flows_traffic *traffic = &world.traffic[queue];
	uint64_t before[FLOWS];

	memcpy(before, traffic->sent, sizeof(before));
	flows_burst(traffic, world.port, queue, (uint16_t)trip_random_below(&world.random, 65));
	settle();
	for (uint32_t i = 0; i < FLOWS; i++) {
		model_packets(&world.flows[i], traffic->sent[i] - before[i]);
		model_due(&world.flows[i]);
	}
}

/* --- the checks --- */

static void
check_counts(struct trip_cntr *const cntrs[2], uint64_t packets, uint32_t index, const char *which)
{
	uint64_t bytes = packets * flows_length(&world.traffic[0], index);

	if (trip_cntr_read(cntrs[0]) != packets || trip_cntr_read(cntrs[1]) != bytes)
		fail_msg("flow %" PRIu32 ", %s: %" PRIu64 " packets and %" PRIu64
			 " bytes, not %" PRIu64 " and %" PRIu64,
			index, which, trip_cntr_read(cntrs[0]), trip_cntr_read(cntrs[1]), packets,
			bytes);
}

/* Counters have all of it once their rules are gone. */
static void
check_flow(uint32_t index)
{
	struct flow *flow = &world.flows[index];
	uint64_t left = 0;

	check_counts(flow->cntrs, flow->counted, index, "its rules");
	check_counts(flow->below_cntrs, flow->counted_below, index, "the rule below");
	check_counts(flow->also_cntrs, flow->counted_also, index, "its also rules");
	for (uint32_t i = 0; i < QUEUES; i++)
		left += world.traffic[i].left[index];
	if (left != flow->left)
		fail_msg("flow %" PRIu32 ": %" PRIu64 " left, not %" PRIu64, index, left,
			flow->left);
}

/* In the middle of it: what the rule says of itself. */
static void
check_query(uint32_t index)
{
	struct flow *flow = &world.flows[index];
	struct trip_flow_count count = {.size = sizeof(count)};

	if (flow->rule == NULL)
		return;
	trip_flow_query(flow->rule, &count);
	assert_int_equal(count.fate, !flow->active ? TRIP_FLOW_FATE_DELETED
				     : flow->drops ? TRIP_FLOW_FATE_DROP
						   : TRIP_FLOW_FATE_PASS);
}

static void
close_world(void)
{
	uint32_t i, kind;

	for (i = 0; i < FLOWS; i++) {
		struct flow *flow = &world.flows[i];

		if (flow->rule != NULL)
			destroy(flow);
		if (flow->also != NULL)
			flows_destroy(world.domain, flow->also);
		flows_destroy(world.domain, flow->below);
		check_flow(i);
		for (kind = 0; kind < 2; kind++) {
			assert_int_equal(trip_cntr_close(flow->cntrs[kind]), 0);
			assert_int_equal(trip_cntr_close(flow->below_cntrs[kind]), 0);
			assert_int_equal(trip_cntr_close(flow->also_cntrs[kind]), 0);
		}
	}
	assert_int_equal(trip_domain_check(world.domain, stderr), 0);
	assert_int_equal(trip_port_close(world.port), 0);
	assert_int_equal(trip_domain_close(world.domain), 0);
	for (i = 0; i < QUEUES; i++)
		flows_traffic_close(&world.traffic[i]);
}

static void
drops_known_to_the_packet(void **state)
{
	uint64_t changes = trip_test_rounds(CHANGES), i;

	open_world(trip_test_seed("drops"));
	for (i = 0; i < changes; i++) {
		change();
		if (trip_random_below(&world.random, 2) == 0)
			send_burst();
		check_query((uint32_t)(i % FLOWS));
	}
	close_world();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(drops_known_to_the_packet)};
	int failed;

	if (trip_eal_init("net_null0") < 0) {
		printf("EAL does not start\n");
		return TRIP_TEST_SKIP;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	return failed;
}
