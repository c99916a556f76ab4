/* SPDX-License-Identifier: BSD-3-Clause */
/* A small world: readers that look at what a writer publishes, takes away, and uses again when its
 * era is safe (era.h). Who reads it meanwhile has been told so too early. */
#include <string.h>

#include "era.h"
#include "sim.h"

#define READERS 3
#define BLOCKS 3
#define ROUNDS 8

static struct {
	struct trip_era era;
	struct trip_era_reader readers[READERS];
	/* What is published, what is written there, and who reads which. */
	_Atomic uint32_t published;
	uint32_t blocks[BLOCKS];
	uint32_t reads[READERS];
	uint64_t stamps[BLOCKS];
	uint32_t rounds[READERS + 1];
} eras;

/* Reads nothing. */
#define NONE BLOCKS

/* That is not the product's: no access of it orders anything, or needs an order. */
static void
note_read(uint32_t number, uint32_t block)
{
	bool looks = sim_look(true);

	eras.reads[number] = block;
	(void)sim_look(looks);
}

static void
run_reader(void *arg)
{
	struct trip_era_reader *reader = arg;
	uint32_t number = (uint32_t)(reader - eras.readers), block;

	for (uint32_t i = 0; i < eras.rounds[number]; i++) {
		sim_op("reads what is published");
		trip_era_enter(&eras.era, reader);
		block = atomic_load_explicit(&eras.published, memory_order_acquire);
		note_read(number, block);
		/* The burst goes on for a while. */
		(void)atomic_load_explicit(&eras.published, memory_order_relaxed);
		sim_expect(eras.blocks[block] % BLOCKS == block, "block %u is another's", block);
		note_read(number, NONE);
		trip_era_leave(reader);
		sim_progress();
	}
}

static void
use_again(uint32_t block)
{
	bool looks = sim_look(true);

	for (unsigned int i = 0; i < READERS; i++)
		sim_expect(
			eras.reads[i] != block, "block %u is written while %u reads it", block, i);
	(void)sim_look(looks);
	eras.blocks[block] += BLOCKS;
}

static void
run_writer(void *arg)
{
	for (uint32_t i = 0; i < eras.rounds[READERS]; i++) {
		uint32_t block = (i + 1) % BLOCKS;

		sim_op("uses block %u again", block);
		while (!trip_era_safe(&eras.era, eras.stamps[block]))
			sim_pause();
		use_again(block);
		sim_op("publishes block %u in place of block %u", block, i % BLOCKS);
		atomic_store_explicit(&eras.published, block, memory_order_release);
		eras.stamps[i % BLOCKS] = trip_era_retire(&eras.era);
		sim_progress();
	}
}

static uint32_t
draw_rounds(void)
{
	uint32_t rounds = 0;

	for (uint64_t n = sim_draw(ROUNDS + 1); n > 0; n--)
		rounds += sim_wants();
	return rounds;
}

static const char *const names[READERS] = {"reader 0", "reader 1", "reader 2"};

static void
begin(void)
{
	memset(&eras, 0, sizeof(eras));
	trip_era_init(&eras.era);
	for (unsigned int i = 0; i <= READERS; i++)
		eras.rounds[i] = draw_rounds();
	for (uint32_t i = 0; i < BLOCKS; i++)
		eras.blocks[i] = i;
	for (unsigned int i = 0; i < READERS; i++) {
		eras.reads[i] = NONE;
		trip_era_attach(&eras.era, &eras.readers[i]);
		(void)sim_spawn(names[i], false, run_reader, &eras.readers[i]);
	}
	(void)sim_spawn("writer", false, run_writer, NULL);
}

static void
judge(void)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		sim_expect(trip_era_safe(&eras.era, eras.stamps[i]),
			"nobody reads, and block %u is not safe", i);
}

static void
forget(void)
{
}

int
main(int argc, char **argv)
{
	static const struct sim_world world = {
		.name = "eras", .length = 256, .begin = begin, .judge = judge, .forget = forget};

	return sim_main(argc, argv, &world);
}
