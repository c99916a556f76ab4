/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters objects against a model, by random steps: what each slot is, after each. */
#include <errno.h>
#include <string.h>

#include "points.h"

#define OBJECTS 4
#define SLOTS 3
#define FLOWS 6
#define STEPS 3000

/* How many points, and what they leave out. */
struct model_points {
	uint64_t weight[SLOTS][2];
	uint64_t without[SLOTS][2];
};

struct model_flow {
	struct trip_flow *flow;
	uint64_t counts[2];
	bool bound[OBJECTS];
	struct model_points points[OBJECTS];
};

struct model_object {
	struct trip_counters *counters;
	uint64_t weight[SLOTS][2];
	uint64_t gone[SLOTS];
	uint64_t before[SLOTS];
};

static struct model_flow flows[FLOWS];
static struct model_object objects[OBJECTS];

static uint64_t
model_of_flow(const struct model_flow *flow, uint32_t object, uint32_t index)
{
	const struct model_points *points = &flow->points[object];
	uint64_t sum = 0;

	for (unsigned int kind = 0; kind < 2; kind++)
		sum += points->weight[index][kind] * flow->counts[kind] -
		       points->without[index][kind];
	return sum;
}

static bool
model_bound(uint32_t object)
{
	for (uint32_t i = 0; i < FLOWS; i++)
		if (flows[i].flow != NULL && flows[i].bound[object])
			return true;
	return false;
}

static void
model_create(uint32_t f, uint32_t object)
{
	struct model_flow *flow = &flows[f];

	*flow = (struct model_flow){0};
	flow->flow = points_create(
		(uint16_t)(1000 + f), object < OBJECTS ? objects[object].counters : NULL);
	if (object == OBJECTS)
		return;
	flow->bound[object] = true;
	memcpy(flow->points[object].weight, objects[object].weight, sizeof(objects->weight));
}

static void
model_destroy(struct model_flow *flow)
{
	traffic_flow_destroy(flow->flow);
	flow->flow = NULL;
	for (uint32_t i = 0; i < OBJECTS; i++)
		for (uint32_t s = 0; s < SLOTS; s++)
			objects[i].gone[s] += model_of_flow(flow, i, s);
}

static void
model_attach_live(struct model_flow *flow, uint32_t object, uint32_t index, unsigned int kind)
{
	points_attach(
		objects[object].counters, index, (enum trip_counter_description)kind, flow->flow);
	flow->bound[object] = true;
	flow->points[object].weight[index][kind]++;
	flow->points[object].without[index][kind] += flow->counts[kind];
}

static void
model_attach_static(uint32_t object, uint32_t index, unsigned int kind)
{
	int result = points_try(
		objects[object].counters, index, (enum trip_counter_description)kind, NULL);

	assert_int_equal(result, model_bound(object) ? -EBUSY : 0);
	if (result == 0)
		objects[object].weight[index][kind]++;
}

static void
model_replace(uint32_t object)
{
	int result = trip_counters_destroy(objects[object].counters);

	assert_int_equal(result, model_bound(object) ? -EBUSY : 0);
	if (result == 0)
		objects[object] = (struct model_object){.counters = points_open(SLOTS)};
}

static void
model_step(struct trip_random *random)
{
	uint32_t f = (uint32_t)trip_random_below(random, FLOWS);
	uint32_t object = (uint32_t)trip_random_below(random, OBJECTS);
	uint32_t index = (uint32_t)trip_random_below(random, SLOTS);
	unsigned int kind = (unsigned int)trip_random_below(random, 2);
	uint16_t n = (uint16_t)trip_random_below(random, 40);
	struct model_flow *flow = &flows[f];
	uint64_t what = trip_random_below(random, 16);

	if (what == 0) {
		model_replace(object);
	} else if (what <= 3) {
		model_attach_static(object, index, kind);
	} else if (flow->flow == NULL) {
		model_create(f, (uint32_t)trip_random_below(random, OBJECTS + 1));
	} else if (what == 4) {
		model_destroy(flow);
	} else if (what <= 7) {
		model_attach_live(flow, object, index, kind);
	} else {
		points_send((uint16_t)(1000 + f), n, (uint16_t)(64 + f));
		flow->counts[0] += n;
		flow->counts[1] += (uint64_t)n * (64 + f);
	}
}

static void
model_check(uint32_t object, uint32_t flags)
{
	uint64_t values[SLOTS];

	assert_int_equal(points_read(objects[object].counters, values, SLOTS, flags), 0);
	for (uint32_t s = 0; s < SLOTS; s++) {
		uint64_t sum = objects[object].gone[s];

		for (uint32_t f = 0; f < FLOWS; f++)
			if (flows[f].flow != NULL)
				sum += model_of_flow(&flows[f], object, s);
		assert_int_equal(values[s], sum);
		assert_true(values[s] >= objects[object].before[s]);
		objects[object].before[s] = values[s];
	}
}

static void
pnt_01_slots_are_what_a_model_says(void **state)
{
	struct trip_random random = {harness_seed};
	uint64_t steps = trip_test_rounds(traffic_rounds(STEPS));

	for (uint32_t i = 0; i < OBJECTS; i++)
		objects[i] = (struct model_object){.counters = points_open(SLOTS)};
	for (uint64_t step = 0; step < steps; step++) {
		model_step(&random);
		for (uint32_t i = 0; i < OBJECTS; i++)
			model_check(i, 0);
	}
	for (uint32_t i = 0; i < FLOWS; i++)
		if (flows[i].flow != NULL)
			model_destroy(&flows[i]);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		model_check(i, TRIP_READ_CACHED);
		points_close(objects[i].counters);
	}
}

static const struct CMUnitTest tests[] = {
	POINTS_TEST(pnt_01_slots_are_what_a_model_says),
};

TRAFFIC_MAIN(tests)
