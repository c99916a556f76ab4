/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters objects: what their slots collect of which flows, and when. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "points.h"

/* More than the software engine can have of them. */
#define MASKS 300

static uint64_t
slot(struct trip_counters *counters, uint32_t index)
{
	uint64_t values[TRIP_COUNTERS_SLOTS];

	assert_true(index < TRIP_COUNTERS_SLOTS);
	if (points_read(counters, values, index + 1, 0) != 0)
		fail_msg("%s", trip_error_message());
	return values[index];
}

/* The first two slots. */
static void
expect(struct trip_counters *counters, uint64_t first, uint64_t second)
{
	assert_int_equal(slot(counters, 0), first);
	assert_int_equal(slot(counters, 1), second);
}

static void
pnt_01_slots_begin_at_zero(void **state)
{
	uint64_t values[TRIP_COUNTERS_SLOTS_MAX];
	struct trip_counters *small, *defaults, *large;

	assert_int_equal(trip_counters_create(harness_domain, NULL, &defaults), 0);
	small = points_open(1);
	large = points_open(TRIP_COUNTERS_SLOTS_MAX);
	memset(values, 0xff, sizeof(values));
	assert_int_equal(points_read(defaults, values, TRIP_COUNTERS_SLOTS, 0), 0);
	for (uint32_t i = 0; i < TRIP_COUNTERS_SLOTS; i++)
		assert_int_equal(values[i], 0);
	/* No more is written than asked for. */
	assert_int_equal(values[TRIP_COUNTERS_SLOTS], UINT64_MAX);
	assert_int_equal(points_read(large, values, TRIP_COUNTERS_SLOTS_MAX, 0), 0);
	for (uint32_t i = 0; i < TRIP_COUNTERS_SLOTS_MAX; i++)
		assert_int_equal(values[i], 0);
	assert_int_equal(points_read(small, values, 1, 0), 0);
	assert_int_equal(points_read(small, NULL, 0, 0), 0);
	assert_int_equal(trip_domain_close(harness_domain), -EBUSY);
	points_close(small);
	points_close(defaults);
	points_close(large);
}

static void
pnt_01_refusals(void **state)
{
	struct trip_counters_init_attr attr = {.size = sizeof(attr), .comp_mask = 1};
	struct trip_counters *counters = NULL;
	uint64_t values[3] = {7, 7, 7};

	assert_int_equal(trip_counters_create(harness_domain, &attr, &counters), -EINVAL);
	attr.comp_mask = 0;
	attr.n_slots = TRIP_COUNTERS_SLOTS_MAX + 1;
	assert_int_equal(trip_counters_create(harness_domain, &attr, &counters), -EINVAL);
	attr.n_slots = 2;
	attr.size--;
	assert_int_equal(trip_counters_create(harness_domain, &attr, &counters), -EINVAL);
	assert_null(counters);
	counters = points_open(2);
	assert_int_equal(points_read(counters, values, 3, 0), -EINVAL);
	assert_int_equal(points_read(counters, values, 2, 2), -EINVAL);
	assert_int_equal(points_read(counters, values, 2, TRIP_READ_CACHED | 1u << 31), -EINVAL);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(values[i], 7);
	points_close(counters);
}

static void
pnt_02_static_points_collect_from_the_first_packet_on(void **state)
{
	struct trip_counters *counters = points_open(2), *none = points_open(2);
	struct trip_flow *before, *flow, *pointless;

	before = points_create(1000, NULL);
	points_attach(counters, 0, TRIP_COUNTER_PACKETS, NULL);
	points_attach(counters, 1, TRIP_COUNTER_BYTES, NULL);
	/* The object is bound to nothing, and to no flow that names another or none. */
	points_send(1000, 10, 100);
	expect(counters, 0, 0);
	flow = points_create(1001, counters);
	pointless = points_create(1002, none);
	expect(counters, 0, 0);
	points_send(1000, 1, 64);
	points_send(1001, 20, 100);
	points_send(1002, 1, 64);
	expect(counters, 20, 2000);
	points_send(1001, 5, 200);
	expect(counters, 25, 3000);
	expect(none, 0, 0);
	traffic_flow_destroy(before);
	traffic_flow_destroy(pointless);
	traffic_flow_destroy(flow);
	expect(counters, 25, 3000);
	points_close(counters);
	points_close(none);
}

static void
pnt_03_no_static_point_while_bound(void **state)
{
	struct trip_counters *counters = points_open(2);
	struct trip_flow *flow, *live;

	points_attach(counters, 0, TRIP_COUNTER_PACKETS, NULL);
	flow = points_create(1000, counters);
	assert_int_equal(points_try(counters, 1, TRIP_COUNTER_BYTES, NULL), -EBUSY);
	live = points_create(1001, NULL);
	/* Points of live flows go on being taken. */
	points_attach(counters, 0, TRIP_COUNTER_PACKETS, live);
	traffic_flow_destroy(flow);
	assert_int_equal(points_try(counters, 1, TRIP_COUNTER_BYTES, NULL), -EBUSY);
	points_send(1001, 1, 64);
	traffic_flow_destroy(live);
	expect(counters, 1, 0);
	/* Unbound; the refused points are not there, the one now is. */
	points_attach(counters, 1, TRIP_COUNTER_BYTES, NULL);
	expect(counters, 1, 0);
	flow = points_create(1000, counters);
	points_send(1000, 10, 64);
	expect(counters, 11, 640);
	traffic_flow_destroy(flow);
	points_close(counters);
	/* A flow binds an object also without points. */
	counters = points_open(2);
	flow = points_create(1000, counters);
	assert_int_equal(points_try(counters, 0, TRIP_COUNTER_PACKETS, NULL), -EBUSY);
	traffic_flow_destroy(flow);
	points_attach(counters, 0, TRIP_COUNTER_PACKETS, NULL);
	points_close(counters);
}

/* With a flow, and with none. */
static void
refuse_attributes(struct trip_counters *counters, struct trip_flow *flow)
{
	const struct trip_counter_attach_attr good = {.size = sizeof(good)};
	struct trip_counter_attach_attr attr = good;

	attr.counter_desc = (enum trip_counter_description)2;
	assert_int_equal(trip_counters_attach_point_flow(counters, &attr, flow), -ENOTSUP);
	attr.counter_desc = (enum trip_counter_description) - 1;
	assert_int_equal(trip_counters_attach_point_flow(counters, &attr, flow), -ENOTSUP);
	attr = good;
	attr.index = 2;
	assert_int_equal(trip_counters_attach_point_flow(counters, &attr, flow), -EINVAL);
	attr.index = UINT32_MAX;
	assert_int_equal(trip_counters_attach_point_flow(counters, &attr, flow), -EINVAL);
	attr = good;
	attr.comp_mask = 1;
	assert_int_equal(trip_counters_attach_point_flow(counters, &attr, flow), -EINVAL);
	attr = good;
	attr.size++;
	assert_int_equal(trip_counters_attach_point_flow(counters, &attr, flow), -EINVAL);
}

static void
pnt_04_descriptions_indices_and_masks(void **state)
{
	struct trip_counters *counters = points_open(2);
	struct trip_flow *flow = points_create(1000, NULL);

	refuse_attributes(counters, NULL);
	refuse_attributes(counters, flow);
	/* Nothing of that is left. */
	points_close(counters);
	counters = points_open(2);
	refuse_attributes(counters, NULL);
	traffic_flow_destroy(flow);
	flow = points_create(1000, counters);
	points_send(1000, 10, 64);
	expect(counters, 0, 0);
	points_attach(counters, 0, TRIP_COUNTER_BYTES, flow);
	points_attach(counters, 1, TRIP_COUNTER_PACKETS, flow);
	points_send(1000, 10, 64);
	expect(counters, 640, 10);
	traffic_flow_destroy(flow);
	points_close(counters);
}

static void
pnt_04_objects_of_another_domain(void **state)
{
	struct trip_flow_attr flow_attr = {.size = sizeof(flow_attr)};
	struct trip_flow *flow = points_create(1000, NULL), *refused = NULL;
	struct trip_counters *foreign;
	struct rte_flow_error error;
	struct trip_domain *other = harness_open_other();

	assert_int_equal(trip_counters_create(other, NULL, &foreign), 0);
	assert_int_equal(points_try(foreign, 0, TRIP_COUNTER_PACKETS, flow), -EXDEV);
	flow_attr.counters = foreign;
	assert_int_equal(trip_flow_create(points_port, &flow_attr, traffic_pattern(1001), NULL,
				 &refused, &error),
		-EXDEV);
	assert_int_equal(error.type, RTE_FLOW_ERROR_TYPE_ATTR);
	assert_null(refused);
	points_close(foreign);
	harness_close_other(other);
	traffic_flow_destroy(flow);
}

static void
pnt_05_flows_sum_and_so_do_points(void **state)
{
	struct trip_counters *counters = points_open(4);
	struct trip_flow *flow[3];

	points_attach(counters, 0, TRIP_COUNTER_PACKETS, NULL);
	points_attach(counters, 1, TRIP_COUNTER_BYTES, NULL);
	/* Twice the same, and both descriptions, at one index. */
	points_attach(counters, 2, TRIP_COUNTER_PACKETS, NULL);
	points_attach(counters, 2, TRIP_COUNTER_PACKETS, NULL);
	points_attach(counters, 3, TRIP_COUNTER_BYTES, NULL);
	points_attach(counters, 3, TRIP_COUNTER_PACKETS, NULL);
	for (uint16_t i = 0; i < 3; i++)
		flow[i] = points_create((uint16_t)(1000 + i), counters);
	for (uint16_t i = 0; i < 3; i++)
		points_send((uint16_t)(1000 + i), (uint16_t)(10 << i), 100);
	expect(counters, 70, 7000);
	assert_int_equal(slot(counters, 2), 140);
	assert_int_equal(slot(counters, 3), 7070);
	/* One goes, and another takes its place. */
	traffic_flow_destroy(flow[1]);
	flow[1] = points_create(1001, counters);
	points_send(1001, 5, 100);
	expect(counters, 75, 7500);
	assert_int_equal(slot(counters, 2), 150);
	assert_int_equal(slot(counters, 3), 7575);
	for (uint16_t i = 0; i < 3; i++)
		traffic_flow_destroy(flow[i]);
	expect(counters, 75, 7500);
	assert_int_equal(slot(counters, 2), 150);
	assert_int_equal(slot(counters, 3), 7575);
	points_close(counters);
}

static void
pnt_05_as_many_points_as_there_may_be(void **state)
{
	struct trip_counters *counters = points_open(1);
	struct trip_flow *flow;

	/* Each point is a request: the same one whoever polls, and in the same memory. */
	if (harness_away != NULL && (harness_away->burst == NULL || trip_test_scale() < 1)) {
		points_close(counters);
		skip();
	}
	for (uint32_t i = 0; i < TRIP_COUNTERS_POINTS_MAX; i++)
		points_attach(counters, 0, TRIP_COUNTER_PACKETS, NULL);
	assert_int_equal(points_try(counters, 0, TRIP_COUNTER_PACKETS, NULL), -ENOSPC);
	points_attach(counters, 0, TRIP_COUNTER_BYTES, NULL);
	flow = points_create(1000, counters);
	points_send(1000, 10, 64);
	assert_int_equal(slot(counters, 0), 10 * TRIP_COUNTERS_POINTS_MAX + 640);
	/* Full for this flow, not for another. */
	assert_int_equal(points_try(counters, 0, TRIP_COUNTER_PACKETS, flow), -ENOSPC);
	points_send(1000, 1, 64);
	assert_int_equal(slot(counters, 0), 11 * TRIP_COUNTERS_POINTS_MAX + 704);
	traffic_flow_destroy(flow);
	flow = points_create(1000, NULL);
	points_attach(counters, 0, TRIP_COUNTER_PACKETS, flow);
	points_send(1000, 1, 64);
	assert_int_equal(slot(counters, 0), 11 * TRIP_COUNTERS_POINTS_MAX + 705);
	traffic_flow_destroy(flow);
	points_close(counters);
}

static void
pnt_06_a_live_flow_is_collected_from_then_on(void **state)
{
	struct trip_counters *one = points_open(2), *two = points_open(2);
	struct trip_flow *flow = points_create(1000, NULL), *other = points_create(1001, NULL);

	points_send(1000, 10, 64);
	points_attach(one, 0, TRIP_COUNTER_PACKETS, flow);
	expect(one, 0, 0);
	points_send(1000, 5, 64);
	points_attach(one, 1, TRIP_COUNTER_BYTES, flow);
	expect(one, 5, 0);
	points_send(1000, 2, 100);
	expect(one, 7, 200);
	/* Of another object, of another flow, and once more the same. */
	points_attach(two, 0, TRIP_COUNTER_PACKETS, flow);
	points_attach(one, 0, TRIP_COUNTER_PACKETS, other);
	points_attach(one, 0, TRIP_COUNTER_PACKETS, flow);
	expect(one, 7, 200);
	points_send(1000, 3, 100);
	points_send(1001, 1, 64);
	expect(one, 14, 500);
	expect(two, 3, 0);
	traffic_flow_destroy(flow);
	expect(one, 14, 500);
	expect(two, 3, 0);
	points_close(two);
	points_send(1001, 1, 64);
	expect(one, 15, 500);
	traffic_flow_destroy(other);
	points_close(one);
}

static void
pnt_07_a_destroyed_flow_leaves_what_it_counted(void **state)
{
	struct trip_counters *counters = points_open(2);
	uint64_t rounds = traffic_rounds(50);

	points_attach(counters, 0, TRIP_COUNTER_PACKETS, NULL);
	points_attach(counters, 1, TRIP_COUNTER_BYTES, NULL);
	for (uint64_t i = 1; i <= rounds; i++) {
		struct trip_flow *flow = points_create(1000, counters);

		assert_int_equal(trip_counters_destroy(counters), -EBUSY);
		expect(counters, 10 * (i - 1), 1000 * (i - 1));
		points_send(1000, 10, 100);
		traffic_flow_destroy(flow);
		expect(counters, 10 * i, 1000 * i);
		/* The flow that takes its place in the engine is another one. */
		flow = points_create(1000, NULL);
		points_send(1000, 10, 100);
		expect(counters, 10 * i, 1000 * i);
		traffic_flow_destroy(flow);
	}
	points_close(counters);
}

static void
pnt_07_a_bound_object_stays(void **state)
{
	struct trip_counters *counters = points_open(2);
	struct trip_flow *flow = points_create(1000, NULL);

	points_attach(counters, 0, TRIP_COUNTER_PACKETS, flow);
	points_send(1000, 1, 64);
	assert_int_equal(trip_counters_destroy(counters), -EBUSY);
	points_send(1000, 1, 64);
	expect(counters, 2, 0);
	traffic_flow_destroy(flow);
	points_close(counters);
}

/* One mask after the other, until the engine has no room for the next. */
static void
pnt_07_a_refused_flow_is_not_bound(void **state)
{
	const struct trip_domain_attr tune = {.max_flows = MASKS};
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	struct rte_flow_item_ipv4 mask = {0};
	const struct rte_flow_item_ipv4 spec = {0};
	const struct rte_flow_item items[] = {
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	struct trip_flow_attr attr = {.size = sizeof(attr)};
	struct trip_flow *flow[MASKS];
	uint32_t n = 0;

	traffic_only_soft("a card takes any number of masks");
	harness_open(1, &tune);
	points_port = traffic_open(1, &port_attr);
	attr.counters = points_open(1);
	points_attach(attr.counters, 0, TRIP_COUNTER_PACKETS, NULL);
	while (n < MASKS) {
		mask.hdr.src_addr = n + 1;
		if (trip_flow_create(points_port, &attr, items, NULL, &flow[n], NULL) != 0)
			break;
		n++;
	}
	trip_assert_range(n, 1, MASKS - 1);
	assert_int_equal(trip_counters_destroy(attr.counters), -EBUSY);
	while (n > 0)
		assert_int_equal(trip_flow_destroy(flow[--n]), 0);
	points_close(attr.counters);
	traffic_close(points_port);
}

static void
queue_flow_op(struct trip_cntr *cntr, enum trip_op op, struct trip_flow *flow)
{
	struct trip_work work = harness_work(cntr, 0, op);
	uint64_t before = trip_cntr_read(cntr);

	work.op.flow = flow;
	work.completion_cntr = cntr;
	harness_queue(&work);
	harness_until(trip_cntr_read(cntr) == before + 1);
}

static void
pnt_07_changed_fates_take_nothing_away(void **state)
{
	static const enum trip_op ops[] = {
		TRIP_OP_FLOW_DROP, TRIP_OP_FLOW_PASS, TRIP_OP_FLOW_DROP, TRIP_OP_FLOW_DELETE};
	struct trip_counters *counters = points_open(2);
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_flow *flow;

	points_attach(counters, 0, TRIP_COUNTER_PACKETS, NULL);
	points_attach(counters, 1, TRIP_COUNTER_BYTES, NULL);
	flow = points_create(1000, counters);
	for (uint64_t i = 0; i < RTE_DIM(ops); i++) {
		points_send(1000, 10, 64);
		expect(counters, 10 * (i + 1), 640 * (i + 1));
		queue_flow_op(cntr, ops[i], flow);
		expect(counters, 10 * (i + 1), 640 * (i + 1));
	}
	/* Deleted: it counts no more, and what it counted stays; the object is bound until its end.
	 */
	points_send(1000, 10, 64);
	expect(counters, 40, 2560);
	assert_int_equal(trip_counters_destroy(counters), -EBUSY);
	harness_settle();
	traffic_flow_destroy(flow);
	expect(counters, 40, 2560);
	points_close(counters);
	harness_cntr_close(cntr);
}

static void
pnt_08_the_source_and_the_cache(void **state)
{
	struct trip_counters *counters = points_open(2);
	uint64_t cached, fresh, before = 0, rounds = traffic_rounds(20);
	struct trip_flow *flow;

	points_attach(counters, 0, TRIP_COUNTER_PACKETS, NULL);
	flow = points_create(1000, counters);
	for (uint64_t i = 1; i <= rounds; i++) {
		points_send(1000, 10, 64);
		/* The cache may lag behind, but not behind what was read before. */
		assert_int_equal(points_read(counters, &cached, 1, TRIP_READ_CACHED), 0);
		assert_true(cached >= before && cached <= 10 * i);
		assert_int_equal(points_read(counters, &fresh, 1, 0), 0);
		assert_int_equal(fresh, 10 * i);
		assert_int_equal(points_read(counters, &before, 1, TRIP_READ_CACHED), 0);
		assert_int_equal(before, fresh);
	}
	traffic_flow_destroy(flow);
	assert_int_equal(points_read(counters, &cached, 1, TRIP_READ_CACHED), 0);
	assert_int_equal(cached, 10 * rounds);
	points_close(counters);
}

static struct trip_flow *live_flow;
static struct trip_counters *own;

/* What may be done between two bursts of work: everything that does not wait. */
static int
use_on_home(const struct trip_work_event *event, void *arg)
{
	uint64_t value = 0;
	struct trip_counters *fresh;

	if (trip_counters_read(own, &value, 1, 0) != 0 || value != 10)
		return -EPROTO;
	if (points_try(own, 0, TRIP_COUNTER_PACKETS, live_flow) != -EDEADLK ||
		trip_counters_destroy(own) != -EBUSY)
		return -EPROTO;
	if (trip_counters_create(harness_domain, NULL, &fresh) != 0)
		return -EPROTO;
	if (points_try(fresh, 0, TRIP_COUNTER_PACKETS, NULL) != 0)
		return -EPROTO;
	return trip_counters_destroy(fresh);
}

static void
pnt_08_a_function_reads(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 0, TRIP_OP_CALL);
	struct trip_function *function;

	own = points_open(1);
	live_flow = points_create(1000, NULL);
	points_attach(own, 0, TRIP_COUNTER_PACKETS, live_flow);
	points_send(1000, 10, 64);
	/* A home does not ask; it finds what was read. */
	assert_int_equal(slot(own, 0), 10);
	assert_int_equal(trip_function_register(harness_domain, use_on_home, NULL, &function), 0);
	work.op.call.function = function;
	work.completion_cntr = cntr;
	harness_queue(&work);
	harness_until(trip_cntr_read(cntr) + trip_cntr_readerr(cntr) > 0);
	harness_expect(cntr, 1, 0);
	assert_int_equal(trip_function_unregister(function), 0);
	traffic_flow_destroy(live_flow);
	points_close(own);
	harness_cntr_close(cntr);
}

static const struct CMUnitTest tests[] = {
	POINTS_TEST(pnt_01_slots_begin_at_zero),
	POINTS_TEST(pnt_01_refusals),
	POINTS_TEST(pnt_02_static_points_collect_from_the_first_packet_on),
	POINTS_TEST(pnt_03_no_static_point_while_bound),
	POINTS_TEST(pnt_04_descriptions_indices_and_masks),
	POINTS_TEST(pnt_04_objects_of_another_domain),
	POINTS_TEST(pnt_05_flows_sum_and_so_do_points),
	POINTS_TEST(pnt_05_as_many_points_as_there_may_be),
	POINTS_TEST(pnt_06_a_live_flow_is_collected_from_then_on),
	POINTS_TEST(pnt_07_a_destroyed_flow_leaves_what_it_counted),
	POINTS_TEST(pnt_07_a_bound_object_stays),
	HARNESS_TEST_OWN(pnt_07_a_refused_flow_is_not_bound),
	POINTS_TEST(pnt_07_changed_fates_take_nothing_away),
	POINTS_TEST(pnt_08_the_source_and_the_cache),
	POINTS_TEST(pnt_08_a_function_reads),
};

TRAFFIC_MAIN(tests)
