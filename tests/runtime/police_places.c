/* SPDX-License-Identifier: BSD-3-Clause */
/* Whatever a police is refused for, it takes no place among those that may be policed (WORK-11). */
#include <errno.h>

#include <rte_common.h>

#include "harness.h"
#include "traffic.h"

static struct trip_flow *
create(struct trip_port *port, uint16_t udp_port)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr)};
	struct rte_flow_error error;
	struct trip_flow *flow;

	if (trip_flow_create(port, &attr, traffic_pattern(udp_port), NULL, &flow, &error) != 0)
		fail_msg("%s", error.message);
	return flow;
}

/* At once. */
static struct trip_work
police(struct trip_cntr *cntr, struct trip_flow *flow, struct trip_flow *with)
{
	struct trip_work work = harness_work(cntr, 0, TRIP_OP_FLOW_POLICE);

	work.op.police.flow = flow;
	work.op.police.rate = 500;
	work.op.police.with = with;
	work.op.police.unit = TRIP_POLICE_UNIT_PACKETS;
	return work;
}

/* Until there is no room for another. */
static int
fill(const struct trip_work *work)
{
	int error;

	while ((error = trip_work_queue(harness_domain, work, NULL)) == 0)
		;
	return error;
}

static struct trip_work
never(struct trip_cntr *cntr)
{
	struct trip_work work = harness_work(cntr, TRIP_CNTR_MAX, TRIP_OP_CNTR_ADD);

	work.op.cntr.cntr = cntr;
	return work;
}

static int
refuse_to_share(struct trip_cntr *cntr, struct trip_flow *const flows[3])
{
	struct trip_work work = police(cntr, flows[0], flows[1]);

	return trip_work_queue(harness_domain, &work, NULL);
}

static int
refuse_without_slots(struct trip_cntr *cntr, struct trip_flow *const flows[3])
{
	struct trip_work work = never(cntr);

	assert_int_equal(fill(&work), -EAGAIN);
	work = police(cntr, flows[0], NULL);
	return trip_work_queue(harness_domain, &work, NULL);
}

static int
refuse_without_events(struct trip_cntr *cntr, struct trip_flow *const flows[3])
{
	struct trip_work work = never(cntr);

	work.flags = TRIP_WORK_COMPLETION;
	assert_int_equal(fill(&work), -EAGAIN);
	work = police(cntr, flows[0], NULL);
	work.flags = TRIP_WORK_COMPLETION;
	return trip_work_queue(harness_domain, &work, NULL);
}

/* Of pairs, where so many others are, of pairs or not, that there is no room. */
static int
refuse_pairs(struct trip_cntr *cntr, struct trip_flow *const flows[3], bool of_pairs)
{
	const struct trip_pair pair = {
		.size = sizeof(pair), .cntr = cntr, .threshold = TRIP_CNTR_MAX};
	const struct trip_condition all = {.size = sizeof(all),
		.kind = TRIP_CONDITION_ALL,
		.when.pairs = {.of = &pair, .count = 1}};
	struct trip_work work = never(cntr);

	if (of_pairs) {
		work.triggering_cntr = NULL;
		work.threshold = 0;
		work.condition = &all;
	}
	(void)fill(&work);
	work = police(NULL, flows[0], NULL);
	work.condition = &all;
	return trip_work_queue(harness_domain, &work, NULL);
}

static int
refuse_without_groups(struct trip_cntr *cntr, struct trip_flow *const flows[3])
{
	return refuse_pairs(cntr, flows, true);
}

static int
refuse_pairs_without_slots(struct trip_cntr *cntr, struct trip_flow *const flows[3])
{
	return refuse_pairs(cntr, flows, false);
}

/* Whatever an item is refused for, another flow can be policed behind it, and one alone. */
static void
expect_place(int (*refuse)(struct trip_cntr *cntr, struct trip_flow *const flows[3]), int error)
{
	const struct trip_domain_attr attr = {.max_policed = 1, .max_groups = 4, .max_events = 8};
	struct trip_cntr *cntr;
	const struct trip_port_attr by_hand = {
		.size = sizeof(by_hand), .mode = TRIP_PORT_BURST, .n_tx_queues = 1};
	struct trip_port *port;
	struct trip_flow *flows[3];
	struct trip_work work;
	int result;

	harness_open(1, &attr);
	cntr = harness_cntr(TRIP_WAIT_NONE);
	port = traffic_open(1, &by_hand);
	for (unsigned int i = 0; i < RTE_DIM(flows); i++)
		flows[i] = create(port, (uint16_t)(1000 + i));
	assert_int_equal(refuse(cntr, flows), error);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	work = police(cntr, flows[2], NULL);
	work.flags = TRIP_WORK_COMPLETION;
	/* Slots come back as the home gets on. */
	harness_until((result = trip_work_queue(harness_domain, &work, NULL)) != -EAGAIN);
	assert_int_equal(result, 0);
	assert_int_equal(harness_event().result, 0);
	work = police(cntr, flows[1], NULL);
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -ENOSPC);
	for (unsigned int i = 0; i < RTE_DIM(flows); i++)
		assert_int_equal(trip_flow_destroy(flows[i]), 0);
	traffic_close(port);
	harness_cntr_close(cntr);
}

static void
work_11_what_cannot_share_takes_no_place(void **state)
{
	expect_place(refuse_to_share, -ENOSPC);
}

static void
work_11_what_finds_no_slot_takes_no_place(void **state)
{
	expect_place(refuse_without_slots, -EAGAIN);
}

static void
work_11_what_cannot_be_told_takes_no_place(void **state)
{
	expect_place(refuse_without_events, -EAGAIN);
}

static void
work_11_what_finds_no_group_takes_no_place(void **state)
{
	/* Another process has fewer slots than would do for as many. */
	expect_place(refuse_without_groups, harness_away == NULL ? -ENOSPC : -EAGAIN);
}

static void
work_11_pairs_that_find_no_slot_take_no_place(void **state)
{
	expect_place(refuse_pairs_without_slots, -EAGAIN);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(work_11_what_cannot_share_takes_no_place),
	HARNESS_TEST_OWN(work_11_what_finds_no_slot_takes_no_place),
	HARNESS_TEST_OWN(work_11_what_cannot_be_told_takes_no_place),
	HARNESS_TEST_OWN(work_11_what_finds_no_group_takes_no_place),
	HARNESS_TEST_OWN(work_11_pairs_that_find_no_slot_take_no_place),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
