/* SPDX-License-Identifier: BSD-3-Clause */
/* A small world: a counter that is set up and down, and items in between. One that is queued behind
 * a set is measured against what there was since (WORK-13). */
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "due.h"
#include "home.h"
#include "sim.h"

#define ROUNDS 8
#define SETS 2
#define ITEMS (1 + ROUNDS)
#define STEP 4
#define LEVELS (SETS * STEP)
#define NEVER (UINT64_MAX / 4)

static struct {
	struct trip_engine engine;
	struct trip_home_shape shape;
	struct trip_function_slot function;
	void *memory;
	struct trip_home *home;
	struct trip_cell *cell;
	struct sim_watch *watch;
	/* The counter is set to what is high, then to what is less, and then an item is queued. */
	struct round {
		uint64_t high, sets[SETS], threshold;
	} rounds[ROUNDS];
	unsigned int n_rounds;
	struct item {
		uint64_t threshold;
		/* Its user's last set, as the watch counts, and how often it has fired. */
		unsigned int set, fired;
	} items[ITEMS];
	unsigned int n_items;
} levels;

static uint64_t
now_of(struct trip_home *home)
{
	return sim_now();
}

static int
called(const struct trip_work_event *event, void *arg)
{
	struct item *item = &levels.items[event->context];
	const struct sim_value *values;
	uint64_t most = 0;
	unsigned int n;

	values = sim_watched(levels.watch, &n);
	for (unsigned int i = item->set; i < n; i++)
		most = RTE_MAX(most, values[i].value);
	sim_expect(++item->fired == 1, "an item fires twice");
	sim_expect(most >= item->threshold, "an item fires at %llu, and there was %llu since a set",
		(unsigned long long)item->threshold, (unsigned long long)most);
	return 0;
}

static void
run_home(void *arg)
{
	for (;;) {
		sim_op("iterates");
		if (trip_home_iterate(levels.home, sim_now()) == 0)
			sim_pause();
		else
			sim_progress();
	}
}

static void
queue(uint64_t threshold, unsigned int set)
{
	struct trip_channel_client *client = &levels.home->clients[0];
	int slot = trip_channel_alloc(client, trip_channel_returned(client));
	uint64_t id;

	sim_op("queues an item at %llu", (unsigned long long)threshold);
	levels.items[levels.n_items] = (struct item){.threshold = threshold, .set = set};
	*trip_channel_desc(client, (uint32_t)slot) = (struct trip_work_desc){.threshold = threshold,
		.context = levels.n_items++,
		.completion = TRIP_NONE,
		.op = TRIP_OP_CALL};
	sim_expect(trip_channel_submit(client, (uint32_t)slot, &id) == 0, "it is refused");
	trip_doorbell_ring(&levels.home->doorbell, TRIP_BELL_CHANNEL, 0);
}

/* Which of the values is the one that whoever runs has stored last. */
static unsigned int
set_to(uint64_t value)
{
	const struct sim_value *values;
	unsigned int n;

	sim_op("sets the counter to %llu", (unsigned long long)value);
	if (trip_cell_set(levels.cell, value))
		trip_due_ring(&levels.engine, 0);
	values = sim_watched(levels.watch, &n);
	while (n > 1 && values[n - 1].actor != sim_self())
		n--;
	return n - 1;
}

/* Everything rests at the top of a round, and then both begin. */
static void
run_user(void *arg)
{
	queue(NEVER, 0);
	for (unsigned int i = 0; i < levels.n_rounds; i++) {
		const struct round *round = &levels.rounds[i];
		unsigned int set = set_to(round->high);

		sim_rest();
		for (unsigned int k = 0; k < SETS; k++)
			if (round->sets[k] < LEVELS)
				set = set_to(round->sets[k]);
		queue(round->threshold, set);
		sim_progress();
		sim_rest();
	}
}

/* Whoever is not sure that nobody cares may ring. */
static void
run_adder(void *arg)
{
	for (unsigned int n = 2 * levels.n_rounds; n > 0; n--) {
		sim_rest();
		sim_op("adds 1, and rings");
		(void)trip_cell_add(levels.cell, 1);
		trip_due_ring(&levels.engine, 0);
		sim_progress();
	}
}

static void
plan(void)
{
	for (uint64_t n = 1 + sim_draw(ROUNDS); n > 0; n--) {
		struct round round = {.high = LEVELS + sim_draw(LEVELS)};

		for (unsigned int i = 0; i < SETS; i++)
			round.sets[i] =
				sim_wants() ? (SETS - 1 - i) * STEP + sim_draw(STEP) : round.high;
		round.threshold = STEP + sim_draw(STEP);
		if (sim_wants())
			levels.rounds[levels.n_rounds++] = round;
	}
}

static void
begin(void)
{
	memset(&levels, 0, sizeof(levels));
	levels.shape = (struct trip_home_shape){.n_cntrs = 2,
		.n_waiters = 1,
		.n_slots = ITEMS,
		.n_handler_slots = 1,
		.n_events = 1,
		.n_channels = 2};
	levels.engine = (struct trip_engine){.n_homes = 1,
		.cntrs_per_home = levels.shape.n_cntrs,
		.waiters_per_home = levels.shape.n_waiters,
		.functions = &levels.function,
		.n_functions = 1,
		.tsc_hz = 1000000000};
	atomic_init(&levels.function.function, called);
	levels.memory = aligned_alloc(64, RTE_ALIGN(trip_home_size(&levels.shape), 64));
	if (levels.memory == NULL)
		abort();
	memset(levels.memory, 0, trip_home_size(&levels.shape));
	levels.home = trip_home_init(levels.memory, &levels.engine, 0, &levels.shape);
	if (levels.home == NULL)
		abort();
	levels.engine.homes[0] = levels.home;
	levels.home->budget = 64;
	levels.home->scrub.period_tsc = levels.home->scrub.next_tsc = NEVER;
	levels.home->fed.period_tsc = NEVER;
	levels.home->clock = now_of;
	levels.cell = &levels.home->cells[0];
	levels.watch = sim_watch(&levels.cell->success, sizeof(levels.cell->success));
	sim_name(levels.cell, sizeof(*levels.cell), 1, "the cell");
	sim_local(&trip_engine_current);
	plan();
	(void)sim_spawn("home", false, run_home, NULL);
	(void)sim_spawn("user", false, run_user, NULL);
	(void)sim_spawn("adder", false, run_adder, NULL);
}

static void
judge(void)
{
	uint64_t sum = trip_cell_sum(levels.cell);

	for (unsigned int i = 0; i < levels.n_items; i++)
		sim_expect(levels.items[i].fired == 1 || levels.items[i].threshold > sum,
			"an item waits for %llu, and there is %llu",
			(unsigned long long)levels.items[i].threshold, (unsigned long long)sum);
}

static void
forget(void)
{
	trip_home_fini(levels.home);
	free(levels.memory);
}

int
main(int argc, char **argv)
{
	static const struct sim_world world = {
		.name = "levels", .length = 2048, .begin = begin, .judge = judge, .forget = forget};

	return sim_main(argc, argv, &world);
}
