/* SPDX-License-Identifier: BSD-3-Clause */
/* A small world: who rings, and a consumer that takes, at a doorbell with spans of several leaves
 * (doorbell.h). A ring that was given is taken by the next take that has room for it, and whoever
 * takes it sees what was changed before. */
#include <stdlib.h>
#include <string.h>

#include "doorbell.h"
#include "sim.h"

#define RINGERS 3
#define ROUNDS 6
#define THINGS 8
#define ROOM 16
#define NONE UINT32_MAX

/* 130 leaves, of which a span has four, and two things that are all in one leaf. */
static const struct trip_doorbell_shape shape = {.count = {64 * 130 - 7, 3}, .words = {1, 1}};

/* What is rung for: of a span the first leaf, others, and the last; the span behind it; the last
 * index; and the other section's. */
static const struct thing {
	unsigned int section;
	uint32_t index;
} things[THINGS] = {{0, 3}, {0, 64 + 5}, {0, 64 + 6}, {0, 4 * 64 - 1}, {0, 4 * 64},
	{0, 64 * 130 - 8}, {1, 0}, {1, 2}};

static struct {
	void *memory;
	struct trip_doorbell bell, own;
	/* How often each has changed it. */
	_Atomic uint32_t changed[THINGS][RINGERS];
	/* How often it has rung for it, and the consumer has seen that. */
	uint32_t rung[THINGS][RINGERS], seen[THINGS][RINGERS];
	uint32_t rings[RINGERS][ROUNDS], n_rings[RINGERS];
	/* Room of a take. */
	unsigned int room;
	/* Takes that have begun, and ended. */
	uint32_t n_begun, n_ended;
} bells;

static bool
is_in_summary(const struct thing *thing)
{
	const struct trip_doorbell_section *section = &bells.bell.section[thing->section];
	uint32_t span = (thing->index >> 6) >> section->shift;
	uint64_t word = atomic_load(&bells.bell.summary[section->first + (span >> 6)]);

	return (word >> (span & 63) & 1) != 0;
}

/* Takes that have begun; none: one is under way. What the world notes is quiet. */
static uint32_t
look_for_take(void)
{
	bool looks = sim_look(true);
	uint32_t begun = bells.n_begun == bells.n_ended ? bells.n_begun : NONE;

	(void)sim_look(looks);
	return begun;
}

/* So many takes had begun before it, and none was under way. */
static void
has_rung(uint32_t which, uint32_t number, uint32_t begun)
{
	bool looks = sim_look(true);

	sim_expect(begun == NONE || bells.n_begun != begun || is_in_summary(&things[which]),
		"thing %u has been rung for, and its span is not in the summary", which);
	bells.rung[which][number]++;
	(void)sim_look(looks);
}

static void
run_ringer(void *arg)
{
	uint32_t number = (uint32_t)(uintptr_t)arg, changed[THINGS] = {0};

	for (uint32_t i = 0; i < bells.n_rings[number]; i++) {
		uint32_t which = bells.rings[number][i], begun = look_for_take();
		const struct thing *thing = &things[which];

		sim_op("rings for thing %u, which is %u of section %u", which, thing->index,
			thing->section);
		atomic_store_explicit(
			&bells.changed[which][number], ++changed[which], memory_order_relaxed);
		trip_doorbell_ring(&bells.bell, thing->section, thing->index);
		has_rung(which, number, begun);
		sim_progress();
	}
}

static uint32_t
thing_of(unsigned int section, uint32_t index)
{
	for (uint32_t i = 0; i < THINGS; i++)
		if (things[i].section == section && things[i].index == index)
			return i;
	sim_fail("index %u of section %u was taken, which nobody rings for", index, section);
}

static void
see(uint32_t which)
{
	for (unsigned int ringer = 0; ringer < RINGERS; ringer++)
		bells.seen[which][ringer] = atomic_load(&bells.changed[which][ringer]);
}

static void
expect_all(unsigned int section, uint32_t rung[THINGS][RINGERS])
{
	for (unsigned int i = 0; i < THINGS; i++)
		for (unsigned int ringer = 0; ringer < RINGERS; ringer++)
			sim_expect(things[i].section != section ||
					   bells.seen[i][ringer] >= rung[i][ringer],
				"all is taken, and thing %u was rung for and is not seen", i);
}

static unsigned int
take(unsigned int section)
{
	uint32_t indices[ROOM], rung[THINGS][RINGERS];
	bool looks = sim_look(true);
	unsigned int n;

	memcpy(rung, bells.rung, sizeof(rung));
	bells.n_begun++;
	(void)sim_look(looks);
	n = trip_doorbell_take(&bells.own, section, indices, bells.room);
	looks = sim_look(true);
	bells.n_ended++;
	(void)sim_look(looks);
	for (unsigned int i = 0; i < n; i++)
		see(thing_of(section, indices[i]));
	/* There was room for more. */
	if (n < bells.room)
		expect_all(section, rung);
	return n;
}

static void
run_consumer(void *arg)
{
	for (;;) {
		sim_op("takes up to %u", bells.room);
		if (!trip_doorbell_idle(&bells.own) && take(0) + take(1) > 0)
			sim_progress();
		else
			sim_pause();
	}
}

static const char *const names[RINGERS] = {"ringer 0", "ringer 1", "ringer 2"};

static void
begin(void)
{
	memset(&bells, 0, sizeof(bells));
	bells.memory = aligned_alloc(64, trip_doorbell_size(&shape));
	trip_doorbell_init(bells.memory, &shape);
	trip_doorbell_map(&bells.bell, bells.memory, &shape);
	trip_doorbell_map(&bells.own, bells.memory, &shape);
	bells.room = 1 + (unsigned int)sim_draw(sim_draw(2) == 0 ? 3 : ROOM);
	for (unsigned int i = 0; i < RINGERS; i++)
		for (uint64_t n = sim_draw(ROUNDS + 1); n > 0; n--) {
			uint32_t thing = (uint32_t)sim_draw(THINGS);

			if (sim_wants())
				bells.rings[i][bells.n_rings[i]++] = thing;
		}
	sim_name(bells.bell.summary, sizeof(uint64_t), TRIP_DOORBELL_WORDS, "summary word %u");
	sim_name(bells.bell.section[0].leaf, sizeof(uint64_t), bells.bell.section[0].leaves,
		"leaf %u");
	for (uintptr_t i = 0; i < RINGERS; i++)
		(void)sim_spawn(names[i], false, run_ringer, (void *)i);
	(void)sim_spawn("consumer", false, run_consumer, NULL);
}

static void
judge(void)
{
	const char *wrong = trip_doorbell_check(&bells.own);

	sim_expect(wrong == NULL, "%s", wrong);
	for (unsigned int i = 0; i < THINGS; i++)
		for (unsigned int ringer = 0; ringer < RINGERS; ringer++)
			sim_expect(bells.seen[i][ringer] == bells.rung[i][ringer],
				"thing %u was rung for %u times by %u, and is seen %u times", i,
				bells.rung[i][ringer], ringer, bells.seen[i][ringer]);
}

static void
forget(void)
{
	free(bells.memory);
}

int
main(int argc, char **argv)
{
	static const struct sim_world world = {
		.name = "bells", .length = 512, .begin = begin, .judge = judge, .forget = forget};

	return sim_main(argc, argv, &world);
}
