/* SPDX-License-Identifier: BSD-3-Clause */
/* A small world: takers at a stack of free indices (slots.h). What one has is nobody else's, and
 * whoever has it next sees all that was done with it. */
#include <string.h>

#include "sim.h"
#include "slots.h"

#define TAKERS 3
#define INDICES 4
#define FIRST 5
#define HELD 2
#define ROUNDS 10
#define NOBODY TAKERS

static struct {
	struct trip_slots slots;
	_Atomic uint32_t next[INDICES];
	/* Who has it. */
	uint32_t owner[INDICES];
	/* Written by whoever has it. */
	uint32_t block[INDICES];
	/* Of each taker: whether it takes, otherwise it gives back. */
	bool takes[TAKERS][ROUNDS];
	uint32_t rounds[TAKERS];
	uint32_t held[TAKERS][HELD], n_held[TAKERS];
} stack;

/* Who owns what is the world's to know: its accesses are not the product's. */
static void
own(uint32_t index, uint32_t from, uint32_t to)
{
	bool looks = sim_look(true);
	uint32_t at = index - FIRST;

	sim_expect(at < INDICES, "index %u is taken, which there is not", index);
	sim_expect(stack.owner[at] == from, "index %u is taken, and %u has it", index,
		stack.owner[at]);
	stack.owner[at] = to;
	(void)sim_look(looks);
}

static void
take(uint32_t number)
{
	uint32_t index;

	sim_op("takes an index");
	index = trip_slots_take(&stack.slots);
	if (index == TRIP_SLOTS_NONE) {
		sim_tell("there is none");
		return;
	}
	sim_tell("it is %u", index);
	own(index, NOBODY, number);
	stack.block[index - FIRST]++;
	stack.held[number][stack.n_held[number]++] = index;
}

/* The one that it has had longest. */
static void
give(uint32_t number)
{
	uint32_t index = stack.held[number][0];

	sim_op("gives %u back", index);
	stack.held[number][0] = stack.held[number][1];
	stack.n_held[number]--;
	own(index, number, NOBODY);
	trip_slots_give(&stack.slots, index);
	sim_progress();
}

static void
run_taker(void *arg)
{
	uint32_t number = (uint32_t)(uintptr_t)arg;

	for (uint32_t i = 0; i < stack.rounds[number]; i++) {
		if (stack.n_held[number] == 0 ||
			(stack.takes[number][i] && stack.n_held[number] < HELD))
			take(number);
		else
			give(number);
	}
}

static const char *const names[TAKERS] = {"taker 0", "taker 1", "taker 2"};

static void
begin(void)
{
	memset(&stack, 0, sizeof(stack));
	trip_slots_init(&stack.slots, stack.next, FIRST, INDICES);
	sim_name(&stack.slots.head, sizeof(stack.slots.head), 1, "the head");
	sim_name(stack.next, sizeof(stack.next[0]), INDICES, "what is below %u");
	for (uint32_t i = 0; i < INDICES; i++)
		stack.owner[i] = NOBODY;
	for (uintptr_t i = 0; i < TAKERS; i++) {
		for (uint64_t n = sim_draw(ROUNDS + 1); n > 0; n--) {
			bool takes = sim_draw(2) == 0;

			if (sim_wants())
				stack.takes[i][stack.rounds[i]++] = takes;
		}
		(void)sim_spawn(names[i], false, run_taker, (void *)i);
	}
}

static void
judge(void)
{
	uint32_t n_free = 0, n_held = 0;

	for (uint32_t at = (uint32_t)atomic_load(&stack.slots.head); at != TRIP_SLOTS_NONE;
		n_free++) {
		sim_expect(n_free < INDICES, "the list of free indices has no end");
		sim_expect(stack.owner[at - FIRST] == NOBODY, "index %u is free, and %u has it", at,
			stack.owner[at - FIRST]);
		at = atomic_load(&stack.next[at - FIRST]);
	}
	for (uint32_t i = 0; i < TAKERS; i++)
		n_held += stack.n_held[i];
	sim_expect(n_free + n_held == INDICES, "of %u indices %u are free, and %u are held",
		INDICES, n_free, n_held);
}

static void
forget(void)
{
}

int
main(int argc, char **argv)
{
	static const struct sim_world world = {
		.name = "stacks", .length = 256, .begin = begin, .judge = judge, .forget = forget};

	return sim_main(argc, argv, &world);
}
