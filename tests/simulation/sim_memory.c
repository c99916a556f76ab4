/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The atomic accesses of the code. What has been stored last is in the memory itself. A store
 * buffer keeps the stores of its actor in their order until their time has come, or a barrier; its
 * own loads find them there.
 */
#include <string.h>

#include "sim_inside.h"
#include "trip_atomics_memory.h"

#define BUFFERED 32

struct buffered {
	volatile void *where;
	uint64_t value;
	size_t size;
	/* The step at which it leaves. */
	uint32_t until;
};

static struct buffer {
	struct buffered stores[BUFFERED];
	unsigned int first, n;
} buffers[SIM_ACTORS];

/* In all of them. */
static unsigned int n_buffered;

void
sim_memory_put(volatile void *where, uint64_t value, size_t size)
{
	memcpy((void *)(uintptr_t)where, &value, size);
	sim_watch_note(where, value);
}

void
sim_memory_begin(void)
{
	memset(buffers, 0, sizeof(buffers));
	n_buffered = 0;
	sim_view_begin();
}

/* --- store buffers --- */

static void
leave_buffer(struct buffer *buffer)
{
	const struct buffered *store = &buffer->stores[buffer->first];

	sim_memory_put(store->where, store->value, store->size);
	buffer->first = (buffer->first + 1) % BUFFERED;
	buffer->n--;
	n_buffered--;
}

void
sim_memory_drain(struct sim_actor *actor)
{
	struct buffer *buffer = &buffers[sim_number(actor)];

	while (buffer->n > 0)
		leave_buffer(buffer);
}

void
sim_memory_settle(void)
{
	if (n_buffered == 0)
		return;
	for (unsigned int i = 0; i < sim.n_actors; i++)
		while (buffers[i].n > 0 && buffers[i].stores[buffers[i].first].until <= sim.steps)
			leave_buffer(&buffers[i]);
}

bool
sim_has_buffered(void)
{
	return buffers[sim_self()].n > 0;
}

static void
store_by_buffer(volatile void *where, uint64_t value, size_t size)
{
	struct buffer *buffer = &buffers[sim_self()];
	uint32_t delay = sim_turn_delay();
	bool is_exchanged = false;

	if (sim.space != NULL)
		(void)sim.space(where, &is_exchanged);
	if (is_exchanged) {
		sim_memory_drain(sim.self);
		sim_memory_put(where, value, size);
		return;
	}
	if (buffer->n == BUFFERED)
		leave_buffer(buffer);
	if (delay == 0 && buffer->n == 0) {
		sim_memory_put(where, value, size);
		return;
	}
	buffer->stores[(buffer->first + buffer->n) % BUFFERED] = (struct buffered){
		.where = where, .value = value, .size = size, .until = sim.steps + delay};
	buffer->n++;
	n_buffered++;
}

static uint64_t
load_by_buffer(const volatile void *where, size_t size)
{
	const struct buffer *buffer = &buffers[sim_self()];

	for (unsigned int i = buffer->n; i > 0; i--) {
		const struct buffered *store = &buffer->stores[(buffer->first + i - 1) % BUFFERED];

		if (store->where == where)
			return store->value;
	}
	return trip_atomics_get(where, size);
}

void
sim_memory_learn(struct sim_actor *who, const struct sim_actor *actor)
{
	if (sim.memory == SIM_MEMORY_VIEWS)
		sim_view_learn(who, actor);
}

/* --- what the code calls --- */

/* Nobody is to see that it is looked at. */
static bool
is_quiet(void)
{
	return sim.self == NULL || sim.self->looks;
}

void
trip_atomics_load(const volatile void *where, void *value, size_t size, memory_order order,
	struct trip_atomics_here here)
{
	uint64_t found;

	if (is_quiet()) {
		/* Its own are in no buffer to who has stored them. */
		found = sim.self != NULL && sim.memory == SIM_MEMORY_BUFFERS
				? load_by_buffer(where, size)
				: trip_atomics_get(where, size);
		memcpy(value, &found, size);
		return;
	}
	sim_step(where, false);
	switch (sim.memory) {
	case SIM_MEMORY_VIEWS:
		found = sim_view_load(where, size, order);
		break;
	case SIM_MEMORY_BUFFERS:
		found = load_by_buffer(where, size);
		break;
	default:
		found = trip_atomics_get(where, size);
	}
	sim_story_access("loads", where, found, here);
	memcpy(value, &found, size);
}

/* As many bytes of it as there are. */
static uint64_t
cut(uint64_t value, size_t size)
{
	return size == sizeof(value) ? value : value & ((UINT64_C(1) << size * 8) - 1);
}

static void
change_here(volatile void *where, uint64_t value, size_t size, bool modifies, memory_order order)
{
	if (sim.memory == SIM_MEMORY_VIEWS) {
		sim_view_modify(where, size, value, modifies, order);
		return;
	}
	if (sim.memory == SIM_MEMORY_BUFFERS && !modifies && order != memory_order_seq_cst) {
		store_by_buffer(where, value, size);
		return;
	}
	sim_memory_put(where, value, size);
}

void
trip_atomics_modify(volatile void *where, enum trip_atomics_change change, const void *operand,
	void *old, size_t size, memory_order order, struct trip_atomics_here here)
{
	bool modifies = change != TRIP_ATOMICS_STORE, quiet = is_quiet();
	uint64_t before, after;

	if (!quiet) {
		sim_step(where, true);
		/* A locked instruction is a barrier. */
		if (modifies || order == memory_order_seq_cst)
			sim_memory_drain(sim.self);
	}
	before = trip_atomics_get(where, size);
	after = cut(trip_atomics_changed(change, before, trip_atomics_get(operand, size)), size);
	memcpy(old, &before, size);
	if (quiet) {
		sim_memory_put(where, after, size);
		return;
	}
	change_here(where, after, size, modifies, order);
	sim_story_access(modifies ? "makes" : "stores", where, after, here);
}

bool
trip_atomics_compare_exchange(volatile void *where, void *expected, const void *wanted, size_t size,
	bool weak, memory_order order, memory_order otherwise, struct trip_atomics_here here)
{
	uint64_t before, expect = trip_atomics_get(expected, size),
			 after = trip_atomics_get(wanted, size);
	bool quiet = is_quiet(), fails;

	if (!quiet) {
		sim_step(where, true);
		sim_memory_drain(sim.self);
	}
	before = trip_atomics_get(where, size);
	if (!quiet && sim.memory == SIM_MEMORY_VIEWS)
		fails = sim_view_fails(where, size, weak, expect, otherwise, &before);
	else
		fails = before != expect;
	if (!fails && quiet)
		sim_memory_put(where, after, size);
	else if (!fails)
		change_here(where, after, size, true, order);
	if (!quiet)
		sim_story_access(fails ? "finds" : "makes", where, fails ? before : after, here);
	memcpy(expected, &before, size);
	return !fails;
}

void
trip_atomics_fence(memory_order order, struct trip_atomics_here here)
{
	if (is_quiet())
		return;
	sim_step(NULL, false);
	if (order == memory_order_seq_cst)
		sim_memory_drain(sim.self);
	if (sim.memory == SIM_MEMORY_VIEWS)
		sim_view_fence(order);
	sim_story_access("fences", NULL, 0, here);
}
