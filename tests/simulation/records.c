/* SPDX-License-Identifier: BSD-3-Clause */
/* A small world: a writer that publishes a record, and readers that copy it (published.h). What a
 * copy holds is of one publication, not older than the reader's last, and nobody waits for a writer
 * that is stopped, or killed, in the middle of one. */
#include <string.h>

#include "published.h"
#include "sim.h"

#define READERS 2
#define ROUNDS 6

static struct {
	struct trip_published published;
	_Atomic uint64_t words[TRIP_PUBLISHED_WORDS];
	uint32_t rounds[READERS + 1];
	uint64_t last[READERS];
} records;

static void
run_writer(void *arg)
{
	for (uint64_t n = 1; n <= records.rounds[READERS]; n++) {
		bool looks = sim_look(true);

		/* They are its own: no access of them is another's to see. */
		for (unsigned int i = 0; i < TRIP_PUBLISHED_WORDS; i++)
			atomic_store_explicit(&records.words[i], n, memory_order_relaxed);
		(void)sim_look(looks);
		sim_op("publishes %llu", (unsigned long long)n);
		trip_published_put(&records.published, records.words);
		sim_progress();
	}
}

static void
run_reader(void *arg)
{
	uint64_t *last = arg, words[TRIP_PUBLISHED_WORDS];
	uint32_t number = (uint32_t)(last - records.last);

	for (uint32_t i = 0; i < records.rounds[number]; i++) {
		uint64_t n;

		sim_op("copies");
		n = trip_published_get(&records.published, words);
		for (unsigned int word = 0; word < TRIP_PUBLISHED_WORDS; word++)
			sim_expect(words[word] == n, "word %u of publication %llu is of %llu", word,
				(unsigned long long)n, (unsigned long long)words[word]);
		sim_expect(n >= *last, "publication %llu comes after %llu", (unsigned long long)n,
			(unsigned long long)*last);
		*last = n;
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

static const char *const names[READERS] = {"reader 0", "reader 1"};

static void
begin(void)
{
	memset(&records, 0, sizeof(records));
	for (unsigned int i = 0; i <= READERS; i++)
		records.rounds[i] = draw_rounds();
	for (unsigned int i = 0; i < READERS; i++)
		(void)sim_spawn(names[i], false, run_reader, &records.last[i]);
	/* It may die. */
	(void)sim_spawn("writer", true, run_writer, NULL);
}

static void
judge(void)
{
	uint64_t words[TRIP_PUBLISHED_WORDS], n = trip_published_get(&records.published, words);

	sim_expect(n <= records.rounds[READERS], "%llu publications", (unsigned long long)n);
}

static void
forget(void)
{
}

int
main(int argc, char **argv)
{
	static const struct sim_world world = {.name = "records",
		.length = 1024,
		.begin = begin,
		.judge = judge,
		.forget = forget};

	return sim_main(argc, argv, &world);
}
