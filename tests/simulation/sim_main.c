/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays one seed after the other. */
#include <errno.h>
#include <time.h>

#include "sim_options.h"

/* Of a defect that is planted, the shortest of so many is told; of those that are found in some
 * times the time of the first: a long one takes longer to shrink than a short one to find. */
#define FAILURES 4
#define GRACE 64

/* Prints what is wrong with it; how many steps that takes. */
static unsigned int
tell(struct sim_history *history, const struct sim_options *options)
{
	static const char *const memories[] = {"the newest store", "store buffers", "C11"};
	unsigned int steps;

	printf("seed %llu, step %u: %s\n", (unsigned long long)history->seed, history->steps,
		history->failed ? history->sentence : "nothing is wrong");
	fflush(stdout);
	if (!options->traces)
		sim_shrink(history, (unsigned int)options->within * 3 / 4);
	history->replays = true;
	history->told = true;
	sim_run(history);
	printf("on a memory of %s:\n", memories[sim.memory]);
	steps = sim_story_print(options->traces);
	if (history->failed)
		printf("%s (%s:%d)\n", history->sentence, sim_story_base_of(history->file),
			history->line);
	else
		printf("nothing is wrong\n");
	return steps;
}

/* Of the CPU: the machine may have others. */
static double
seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Of those that were played. */
struct tally {
	uint64_t played, failed, steps;
	/* The first that failed, and the shortest. */
	uint64_t first;
	uint32_t least;
};

static bool
goes_on(const struct tally *tally, const struct sim_options *options)
{
	if (tally->played >= options->n)
		return false;
	if (options->counts > 0)
		return tally->failed < options->counts;
	if (options->within == 0 || tally->failed == 0)
		return tally->failed == 0;
	return tally->failed < FAILURES && tally->played < 4 * tally->first + GRACE;
}

static void
play_next(struct sim_history *history, const struct sim_options *options, uint64_t number)
{
	if (options->steers) {
		sim_steer_play(history);
		return;
	}
	if (options->file == NULL)
		history->seed = history->turns = options->first + number;
	sim_run(history);
}

/* Whoever counts knows of each at once. */
static void
note_failure(
	const struct sim_history *history, const struct sim_options *options, struct tally *tally)
{
	if (tally->failed++ == 0)
		tally->first = tally->played;
	if (options->counts == 0)
		return;
	printf("seed %llu: %s (%s:%d)\n", (unsigned long long)history->seed, history->sentence,
		sim_story_base_of(history->file), history->line);
	fflush(stdout);
}

/* Up to the first that fails; where a defect is planted, a few more. `told` is the shortest. */
static void
play_all(struct sim_history *told, const struct sim_options *options, struct tally *tally)
{
	static struct sim_history history;

	history = *told;
	told->decisions = NULL;
	told->plan = NULL;
	if (options->steers)
		sim_steer_begin(&history, options->first, options->corpus);
	while (goes_on(tally, options)) {
		play_next(&history, options, tally->played++);
		tally->steps += history.steps;
		if (options->digests)
			printf("seed %llu: %016llx\n", (unsigned long long)history.seed,
				(unsigned long long)history.digest);
		if (history.failed)
			note_failure(&history, options, tally);
		if ((history.failed && history.steps < tally->least) ||
			(options->traces && options->n == 1)) {
			tally->least = history.steps;
			sim_corpus_free(told);
			sim_corpus_copy(told, &history);
		}
	}
	if (!options->steers)
		free((void *)(uintptr_t)history.plan);
	free(history.decisions);
}

static void
play(struct sim_history *told, const struct sim_options *options)
{
	struct tally tally = {.least = UINT32_MAX};
	double began = seconds_now();

	play_all(told, options, &tally);
	printf("%s: %llu histories, of which %llu fail, %llu steps, %.0f histories a CPU "
	       "second\n",
		told->world->name, (unsigned long long)tally.played,
		(unsigned long long)tally.failed, (unsigned long long)tally.steps,
		(double)tally.played / (seconds_now() - began));
	if (tally.failed > 0)
		printf("the first that fails is number %llu\n", (unsigned long long)tally.first);
	if (options->steers) {
		printf("reached: %u edges, %u meetings; %u histories are kept\n", sim_edge_count(),
			sim_edge_meetings(), sim_steer_kept());
		sim_steer_end();
	}
	if (tally.failed > 0 && options->corpus != NULL)
		(void)sim_corpus_write(told, options->corpus, "failed");
}

/* Until one fails whose story is as short as it is to be: the steps of the last one, 0: none. */
static unsigned int
play_until_short(struct sim_history *history, struct sim_options *options)
{
	uint64_t last = sim_options_last(options);
	unsigned int told = 0;

	for (;;) {
		play(history, options);
		if (!history->failed)
			return told;
		told = tell(history, options);
		if (told <= options->within || options->steers || options->file != NULL ||
			history->seed >= last)
			return told;
		options->first = history->seed + 1;
		options->n = last - history->seed;
		sim_corpus_free(history);
		*history = (struct sim_history){.world = history->world, .memory = options->memory};
	}
}

int
sim_main(int argc, char **argv, const struct sim_world *world)
{
	struct sim_options options = {
		.first = 1, .n = trip_test_rounds(500), .memory = SIM_MEMORIES};
	static struct sim_history history;
	unsigned int told = 0;

	if (!sim_options_parse(argc, argv, &options)) {
		fprintf(stderr, "%s --help tells what there is\n", argv[0]);
		return 2;
	}
	if (options.helps) {
		sim_options_usage(argv[0]);
		return 0;
	}
	if (!sim_options_have_corpus(&options))
		return 2;
	sim_watchdog_catch_crashes();
	history.world = world;
	history.memory = options.memory;
	if (options.file != NULL && !sim_corpus_read(&history, options.file)) {
		if (errno == EINVAL)
			fprintf(stderr, "--history %s: no history of %s\n", options.file,
				world->name);
		else
			fprintf(stderr, "--history %s: %m\n", options.file);
		return 2;
	}
	if (options.within > 0) {
		told = play_until_short(&history, &options);
	} else {
		play(&history, &options);
		if (options.counts == 0 && !options.finds &&
			(history.failed || (options.traces && options.n == 1)))
			(void)tell(&history, &options);
	}
	sim_corpus_free(&history);
	if (options.within == 0)
		return history.failed != options.finds;
	if (told > 0)
		printf("planted: found, %u steps of at most %llu\n", told,
			(unsigned long long)options.within);
	else
		printf("planted: not found\n");
	return told == 0 || told > options.within;
}

const char *
sim_play(const struct sim_world *world, uint64_t seed, enum sim_memory memory)
{
	static struct sim_history history;

	history.world = world;
	history.seed = history.turns = seed;
	history.memory = memory;
	sim_run(&history);
	return history.failed ? history.sentence : NULL;
}

void
sim_play_steered(const struct sim_world *world, uint64_t seed, unsigned int n, const char *folder)
{
	struct sim_history history = {.world = world, .memory = SIM_MEMORIES};

	sim_steer_begin(&history, seed, folder);
	for (unsigned int i = 0; i < n; i++)
		sim_steer_play(&history);
	sim_steer_end();
	free(history.decisions);
}
