/* SPDX-License-Identifier: BSD-3-Clause */
/* Pending sets beside a model that searches a plain array; every call is measured in steps. */
#ifndef PENDING_MODEL_H
#define PENDING_MODEL_H

#include <string.h>

#include "pending.h"
#include "trip_test.h"

#define SETS 5
#define COUNTER_MAX (UINT64_MAX - 1) /* success and error, both at their limit */

struct entry {
	uint64_t threshold;
	uint64_t accepted;
	bool late;
	int set;  /* -1: not pending */
	int last; /* the set that it was in last */
};

struct model {
	struct trip_random random;
	struct trip_pending_pool pool;
	void *memory;
	struct trip_pending sets[SETS];
	uint64_t samples[SETS];
	struct entry *entries; /* one a node */
	uint32_t max_nodes;
	uint32_t pending;
	uint32_t most_chunks;
	uint32_t most_wheels;
	uint64_t clock;
	uint64_t most_steps;
};

static inline void
setup(struct model *model, uint64_t seed, uint32_t max_nodes)
{
	size_t size = trip_pending_pool_size(max_nodes);

	memset(model, 0, sizeof(*model));
	model->random.state = seed;
	model->max_nodes = max_nodes;
	model->memory = aligned_alloc(64, size);
	model->entries = calloc(max_nodes, sizeof(*model->entries));
	assert_non_null(model->memory);
	assert_non_null(model->entries);
	memset(model->memory, 0xa5, size);
	trip_pending_pool_init(&model->pool, model->memory, max_nodes);
	for (uint32_t i = 0; i < max_nodes; i++)
		model->entries[i].set = -1;
	for (int i = 0; i < SETS; i++)
		trip_pending_init(&model->sets[i]);
}

static inline void
measure(struct model *model, uint64_t before, uint64_t limit)
{
	uint64_t steps = model->pool.steps - before;

	assert_true(steps <= limit);
	if (steps > model->most_steps)
		model->most_steps = steps;
	if (model->pool.used_chunks > model->most_chunks)
		model->most_chunks = model->pool.used_chunks;
	if (model->pool.used_wheels > model->most_wheels)
		model->most_wheels = model->pool.used_wheels;
}

/* As whoever uses a node anew does it. */
static inline void
forget(struct model *model, uint32_t node)
{
	uint64_t before = model->pool.steps;

	trip_pending_forget(&model->pool, &model->sets[model->entries[node].last], node);
	measure(model, before, TRIP_PENDING_STEPS);
}

static inline void
teardown(struct model *model)
{
	for (uint32_t i = 0; i < model->max_nodes; i++)
		if (model->entries[i].set < 0)
			forget(model, i);
	assert_true(model->pending > 0 || model->pool.marked == 0);
	for (int i = 0; i < SETS; i++) {
		assert_null(trip_pending_check(&model->pool, &model->sets[i]));
		if (model->pending == 0)
			assert_true(trip_pending_bound(&model->pool, &model->sets[i]) ==
				    TRIP_PENDING_NONE);
	}
	if (model->pending == 0) {
		assert_int_equal(model->pool.used_chunks, 0);
		assert_int_equal(model->pool.used_wheels, 0);
	}
	free(model->memory);
	free(model->entries);
}

static inline void
check(struct model *model, int set)
{
	const char *broken = trip_pending_check(&model->pool, &model->sets[set]);

	if (broken != NULL)
		fail_msg("not so: %s", broken);
}

static inline void
insert(struct model *model, int set, uint64_t threshold, uint32_t node)
{
	uint64_t before;

	forget(model, node);
	before = model->pool.steps;
	model->entries[node] = (struct entry){
		.threshold = threshold,
		.accepted = model->clock++,
		.late = threshold <= model->samples[set],
		.set = set,
		.last = set,
	};
	model->pending++;
	trip_pending_insert(&model->pool, &model->sets[set], threshold, node);
	measure(model, before, TRIP_PENDING_STEPS);
}

/* Either way: at once, or by a mark. */
static inline void
cancel(struct model *model, uint32_t node)
{
	uint64_t before = model->pool.steps;
	int set = model->entries[node].set;

	model->entries[node].set = -1;
	model->pending--;
	if (trip_random_below(&model->random, 2) == 0)
		trip_pending_remove(&model->pool, &model->sets[set], node);
	else
		trip_pending_cancel(&model->pool, &model->sets[set], node);
	measure(model, before, TRIP_PENDING_STEPS);
}

static inline bool
sooner(const struct entry *a, const struct entry *b)
{
	if (a->late != b->late)
		return b->late;
	if (!a->late && a->threshold != b->threshold)
		return a->threshold < b->threshold;
	return a->accepted < b->accepted;
}

/* The next due node by the model, and the lowest threshold. */
static inline uint32_t
next_due(const struct model *model, int set, uint64_t *lowest)
{
	uint32_t found = TRIP_PENDING_NIL;

	*lowest = TRIP_PENDING_NONE;
	for (uint32_t i = 0; i < model->max_nodes; i++) {
		const struct entry *entry = &model->entries[i];

		if (entry->set != set)
			continue;
		if (entry->threshold < *lowest)
			*lowest = entry->threshold;
		if ((entry->late || entry->threshold <= model->samples[set]) &&
			(found == TRIP_PENDING_NIL || sooner(entry, &model->entries[found])))
			found = i;
	}
	return found;
}

static inline void
check_bound(const struct model *model, int set)
{
	const struct trip_pending *pending = &model->sets[set];
	uint64_t bound = trip_pending_bound(&model->pool, pending);
	uint64_t lowest;
	uint32_t node = next_due(model, set, &lowest);

	assert_true(bound <= lowest);
	assert_true((bound == TRIP_PENDING_NONE) == (trip_pending_count(pending) == 0));
	if (trip_pending_due(&model->pool, pending))
		return;
	assert_int_equal(node, TRIP_PENDING_NIL);
	assert_true(bound > model->samples[set]);
}

static inline unsigned
pop(struct model *model, int set, unsigned max)
{
	uint64_t before = model->pool.steps, lowest;
	uint32_t nodes[256];
	unsigned count;

	count = trip_pending_pop(&model->pool, &model->sets[set], nodes, max);
	assert_true(count <= max);
	measure(model, before, TRIP_PENDING_STEPS + (uint64_t)TRIP_PENDING_STEPS_POP * max);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(nodes[i], next_due(model, set, &lowest));
		model->entries[nodes[i]].set = -1;
		model->pending--;
	}
	return count;
}

static inline bool
due(const struct model *model, int set)
{
	return trip_pending_due(&model->pool, &model->sets[set]);
}

static inline void
sample(struct model *model, int set, uint64_t sum)
{
	model->samples[set] = sum;
	trip_pending_sample(&model->pool, &model->sets[set], sum);
}

static inline void
empty(struct model *model)
{
	for (int set = 0; set < SETS; set++) {
		while (due(model, set))
			pop(model, set, 256);
		sample(model, set, COUNTER_MAX);
		while (due(model, set))
			pop(model, set, 256);
		check(model, set);
		assert_int_equal(trip_pending_count(&model->sets[set]), 0);
	}
	assert_int_equal(model->pending, 0);
}

#endif
