/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a history has reached, by which histories are steered. Two kinds. Edges: which block of the
 * code followed which, of one actor, and about how often; the compiler calls for each block.
 * Meetings: at which block one actor came to a place after which block of another, one of them
 * writing: of what a turn changes, that is what can be seen.
 */
#include <string.h>

#include "sim_inside.h"

/* Each is a number below this; two that share one are the same. */
#define MAP 65536

struct map {
	/* How often, in this history; and the ones that are not 0. */
	uint8_t times[MAP];
	uint16_t touched[MAP];
	unsigned int n_touched;
	/* Ranges of such numbers that histories have had so far. */
	uint8_t ranges[MAP];
	unsigned int n_reached;
};

static struct {
	bool on;
	struct map edges, meetings;
	/* The last step at which there was something that no history had reached. */
	uint32_t step;
} reached;

/* The image is loaded anywhere. */
extern const char __executable_start[];

void __sanitizer_cov_trace_pc(void);

static uint32_t
scatter(uint32_t x)
{
	return x * UINT32_C(0x9e3779b1);
}

static void
note(struct map *map, uint32_t what)
{
	uint32_t at = scatter(what) >> 16;

	if (map->times[at] == 0) {
		map->touched[map->n_touched++] = (uint16_t)at;
		if (map->ranges[at] == 0)
			reached.step = sim.steps;
	}
	map->times[at] += map->times[at] < UINT8_MAX;
}

void
__sanitizer_cov_trace_pc(void)
{
	struct sim_actor *self = sim.self;
	uintptr_t here;

	if (!reached.on || self == NULL || self->looks)
		return;
	here = (uintptr_t)__builtin_return_address(0) - (uintptr_t)__executable_start;
	note(&reached.edges, self->block << 1 ^ (uint32_t)here);
	self->block = (uint32_t)here;
}

void
sim_edge_meet(struct sim_place *place, bool writes)
{
	const struct sim_actor *self = sim.self;

	if (!reached.on)
		return;
	if (place->last != sim_self() && (writes || place->last_writes))
		note(&reached.meetings, scatter(place->block) ^ self->block);
	place->last = sim_self();
	place->last_writes = writes;
	place->block = self->block;
}

static void
forget(struct map *map)
{
	for (unsigned int i = 0; i < map->n_touched; i++)
		map->times[map->touched[i]] = 0;
	map->n_touched = 0;
}

void
sim_edge_forget(void)
{
	memset(&reached, 0, sizeof(reached));
}

void
sim_edge_begin(void)
{
	reached.on = true;
	reached.step = 0;
	forget(&reached.edges);
	forget(&reached.meetings);
}

/* 1, 2 and 3, 4 to 7, ... 128 and more: a bit each. */
static uint8_t
range_of(uint8_t times)
{
	return (uint8_t)(1u << (31 - __builtin_clz(times)));
}

static unsigned int
learn(struct map *map)
{
	unsigned int news = 0;

	for (unsigned int i = 0; i < map->n_touched; i++) {
		uint16_t at = map->touched[i];
		uint8_t range = range_of(map->times[at]);

		map->n_reached += map->ranges[at] == 0;
		news += (map->ranges[at] & range) == 0;
		map->ranges[at] |= range;
	}
	return news;
}

unsigned int
sim_edge_end(void)
{
	unsigned int news = learn(&reached.edges);

	reached.on = false;
	return news + learn(&reached.meetings);
}

uint32_t
sim_edge_step(void)
{
	return reached.step;
}

unsigned int
sim_edge_count(void)
{
	return reached.edges.n_reached;
}

unsigned int
sim_edge_meetings(void)
{
	return reached.meetings.n_reached;
}
