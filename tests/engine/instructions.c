/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What instructions.py counts the instructions of: a home that is handed work, fires it and idles,
 * and bursts of packets, without EAL, threads or a clock, so that every run executes the same ones.
 * It prints how often it did what. With "lines" it does nothing but idle, and says between which
 * two writes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "home.h"
#include "instructions.h"
#include "node.h"

#define ITEMS 20000u
#define STEPS 1000u
#define TIMES 10000u
/* An idle iteration touches the same lines each time. */
#define IDLES 4u
#define BATCH 32u
/* Rates that begin one after the other, of counters that all advance: so often is each looked at
 * in a window, and an iteration is so far from the next. */
#define RATES 10000u
#define WINDOW_NS UINT64_C(5000000000)
#define CUTS 72u
#define STEP_NS (WINDOW_NS / CUTS / 1000)

static struct trip_engine engine = {.n_homes = 1, .tsc_hz = 1000000000};

static uint64_t
draw(void)
{
	static uint64_t state = 1;
	uint64_t z = (state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	return z ^ (z >> 27);
}

static uint64_t
stands_still(struct trip_home *home)
{
	return home->now;
}

static void
settle(struct trip_home *home)
{
	while (trip_home_iterate(home, 1) > 0)
		;
}

static void
submit(struct trip_home *home, const struct trip_work_desc *desc, uint32_t returned)
{
	struct trip_channel_client *client = &home->clients[0];
	int slot = trip_channel_alloc(client, returned);
	uint64_t id;

	if (slot < 0)
		abort();
	*trip_channel_desc(client, (uint32_t)slot) = *desc;
	if (trip_channel_submit(client, (uint32_t)slot, &id) != 0)
		abort();
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, 0);
}

static void
add(struct trip_home *home, uint32_t cntr, uint64_t value)
{
	if (trip_cell_add(&home->cells[cntr], value))
		trip_doorbell_ring(&home->doorbell, TRIP_BELL_CNTR, cntr);
}

__attribute__((noinline)) static void
count_queue(struct trip_home *home)
{
	uint32_t returned = trip_channel_returned(&home->clients[0]);

	for (uint32_t i = 0; i < ITEMS; i++) {
		const struct trip_work_desc desc = {
			.threshold = 1 + draw() % ITEMS,
			.value = 1,
			.trigger = 0,
			.target = 1,
			.completion = TRIP_NONE,
			.op = TRIP_OP_CNTR_ADD,
		};

		submit(home, &desc, returned);
		if (i % BATCH == BATCH - 1) {
			settle(home);
			returned = trip_channel_returned(&home->clients[0]);
		}
	}
}

__attribute__((noinline)) static void
count_fire(struct trip_home *home)
{
	for (uint32_t i = 0; i < STEPS; i++) {
		add(home, 0, ITEMS / STEPS);
		settle(home);
	}
}

/* One item fires each time, of a counter that its home polls. */
__attribute__((noinline)) static void
count_trip(struct trip_home *home)
{
	for (uint32_t i = 0; i < TIMES; i++) {
		add(home, 3, 1);
		trip_home_iterate(home, 1);
	}
}

static int
nothing(const struct trip_work_event *event, void *arg)
{
	return 0;
}

/* Such a counter: it has fired twice. */
static void
heat(struct trip_home *home)
{
	static struct trip_function_slot function = {.function = nothing};
	const struct trip_work_desc desc = {
		.threshold = 1,
		.interval = 1,
		.trigger = 3,
		.target = 0,
		.completion = 4,
		.op = TRIP_OP_CALL,
	};

	engine.functions = &function;
	engine.n_functions = 1;
	home->hot.log2 = 16;
	submit(home, &desc, trip_channel_returned(&home->clients[0]));
	settle(home);
	for (unsigned int i = 0; i < 2; i++) {
		add(home, 3, 1);
		settle(home);
	}
}

__attribute__((noinline)) static void
count_add(struct trip_home *home)
{
	for (uint32_t i = 0; i < TIMES; i++)
		add(home, 2, 1);
}

__attribute__((noinline)) static void
count_idle(struct trip_home *home, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++)
		trip_home_iterate(home, 1);
}

/* Its memory is given back at the end of the program. */
static struct trip_home *
open_home(const struct trip_home_shape *shape)
{
	void *memory = aligned_alloc(64, trip_home_size(shape));
	struct trip_home *home;

	engine.cntrs_per_home = shape->n_cntrs;
	engine.waiters_per_home = shape->n_waiters;
	home = memory != NULL ? trip_home_init(memory, &engine, 0, shape) : NULL;
	if (home == NULL)
		abort();
	engine.homes[0] = home;
	home->budget = 256;
	home->scrub.next_tsc = UINT64_MAX;
	home->clock = stands_still;
	return home;
}

static void
submit_rate(struct trip_home *home, uint32_t cntr, uint64_t now)
{
	struct trip_channel_client *client = &home->clients[0];
	uint32_t more[TRIP_CHANNEL_MORE];
	int slot = trip_channel_alloc_more(
		client, trip_channel_returned(client), more, 1 + TRIP_CHANNEL_MEMORY);
	struct trip_work_desc *desc;
	uint64_t id, *parameters;

	if (slot < 0)
		abort();
	parameters = trip_channel_operands(client, more[0]);
	parameters[0] = UINT64_C(1) << 40;
	parameters[1] = WINDOW_NS;
	parameters[2] = parameters[3] = 0;
	trip_channel_chain(client, &more[1], TRIP_CHANNEL_MEMORY);
	desc = trip_channel_desc(client, (uint32_t)slot);
	*desc = (struct trip_work_desc){
		.interval = 1,
		.value = 1,
		.trigger = cntr,
		.target = RATES,
		.completion = TRIP_NONE,
		.op = TRIP_OP_CNTR_ADD,
		.condition_kind = TRIP_CONDITION_RATE,
		.condition = 1 + more[0],
		.memory = 1 + more[1],
	};
	if (trip_channel_submit(client, (uint32_t)slot, &id) != 0)
		abort();
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, 0);
	while (trip_home_iterate(home, now) > 0)
		;
}

static void
advance_all(struct trip_home *home, uint64_t now)
{
	for (uint32_t i = 0; i < RATES; i++)
		add(home, i, 1);
	while (trip_home_iterate(home, now) > 0)
		;
}

/* From one cut of each window to the next. */
static void
pass_cut(struct trip_home *home, uint64_t *now)
{
	for (uint64_t end = *now + WINDOW_NS / CUTS; *now < end; *now += STEP_NS)
		trip_home_iterate(home, *now);
}

__attribute__((noinline)) static void
count_look(struct trip_home *home, uint64_t *now)
{
	pass_cut(home, now);
}

static void
look(void)
{
	const struct trip_home_shape shape = {.n_cntrs = RATES + 1,
		.n_waiters = 64,
		.n_channels = 2,
		.n_slots = RATES * (2 + TRIP_CHANNEL_MEMORY),
		.n_handler_slots = 64,
		.n_events = 64};
	struct trip_home *home = open_home(&shape);
	uint64_t now = 0;

	for (uint32_t i = 0; i < RATES; i++)
		submit_rate(home, i, now += 1 + draw() % (2 * WINDOW_NS / RATES));
	/* First they begin to advance. */
	advance_all(home, now);
	pass_cut(home, &now);
	advance_all(home, now);
	count_look(home, &now);
	trip_home_fini(home);
}

/* Written before and after what is looked at. */
static volatile uint64_t mark;

static int
idle_between_marks(struct trip_home *home)
{
	settle(home);
	mark = 1;
	count_idle(home, IDLES);
	mark = 2;
	printf("mark %p\n", (const volatile void *)&mark);
	return 0;
}

int
main(int argc, char **argv)
{
	/* With the clock, as many as a leaf of the doorbell has. */
	struct trip_home_shape shape = {.n_cntrs = 63,
		.n_waiters = 64,
		.n_channels = 2,
		.n_slots = argc > 1 ? 64 : ITEMS,
		.n_handler_slots = 64,
		.n_events = 64};
	struct trip_home *home = open_home(&shape);

	if (argc > 1 && strcmp(argv[1], "lines") == 0)
		return idle_between_marks(home);
	count_queue(home);
	count_fire(home);
	count_add(home);
	count_idle(home, TIMES);
	heat(home);
	count_trip(home);
	if (trip_cell_success(&home->cells[1]) != ITEMS ||
		trip_cell_success(&home->cells[4]) != TIMES + 2 || home->n_hot != 1)
		return 1;
	trip_home_fini(home);
	look();
	printf("queue %u\nfire %u\nadd %u\nidle %u\ntrip %u\nlook %u\n", ITEMS, ITEMS, TIMES, TIMES,
		TIMES, RATES);
	instructions_burst();
	return 0;
}
