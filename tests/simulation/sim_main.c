/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays one seed after the other. */
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim_inside.h"

/* Of a defect that is planted, the shortest of so many is told. */
#define FAILURES 4

struct options {
	uint64_t first, n;
	enum sim_memory memory;
	/* One history, each access of it. */
	bool traces;
	/* A defect is planted: it must be found, and told in at most so many steps; 0: none. */
	unsigned int within;
};

static void
usage(const char *program)
{
	printf("usage: %s [--seed N | --first N --seeds N] [--memory strong|buffers|views]\n"
	       "          [--trace] [--planted STEPS]\n"
	       "  --seed     plays this one; --first, --seeds: those from one on, as many\n"
	       "  --memory   instead of what the seed says\n"
	       "  --trace    prints each access of what fails, and does not shrink it\n"
	       "  --planted  succeeds if one fails, and is told in at most STEPS steps\n",
		program);
}

static bool
parse_memory(const char *name, enum sim_memory *memory)
{
	static const char *const names[] = {"strong", "buffers", "views"};

	for (*memory = 0; *memory < SIM_MEMORIES; (*memory)++)
		if (strcmp(name, names[*memory]) == 0)
			return true;
	return false;
}

static bool
parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {{"seed", 1, NULL, 's'}, {"first", 1, NULL, 'f'},
		{"seeds", 1, NULL, 'n'}, {"memory", 1, NULL, 'm'}, {"trace", 0, NULL, 't'},
		{"planted", 1, NULL, 'p'}, {NULL, 0, NULL, 0}};
	int letter;

	while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (letter) {
		case 's':
			options->n = 1;
			/* fall through */
		case 'f':
			options->first = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			options->n = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			if (!parse_memory(optarg, &options->memory))
				return false;
			break;
		case 't':
			options->traces = true;
			break;
		case 'p':
			options->within = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		default:
			return false;
		}
	}
	return optind == argc;
}

/* A crash is a failure like any other; under a debugger it stops there. Where the history does not
 * run, the seed is what is needed. */
static void
crash(int number)
{
	char what[128];
	int n;

	if (sim.self != NULL)
		sim_fail("it crashes: signal %d", number);
	n = snprintf(what, sizeof(what), "seed %llu: signal %d at step %u\n",
		(unsigned long long)(sim.history != NULL ? sim.history->seed : 0), number,
		sim.steps);

	if (write(STDERR_FILENO, what, (size_t)n) < 0)
		_exit(1);
	signal(number, SIG_DFL);
	raise(number);
}

static void
catch_crashes(void)
{
	static char stack[65536];
	const stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = crash, .sa_flags = SA_ONSTACK | SA_NODEFER};

	sigaltstack(&own, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGFPE, &action, NULL);
}

/* Prints what is wrong with it; how many steps that takes. */
static unsigned int
tell(struct sim_history *history, const struct options *options)
{
	static const char *const memories[] = {"the newest store", "store buffers", "C11"};
	unsigned int steps;

	printf("seed %llu, step %u: %s\n", (unsigned long long)history->seed, history->steps,
		history->failed ? history->sentence : "nothing is wrong");
	fflush(stdout);
	if (!options->traces)
		sim_shrink(history);
	history->replays = true;
	history->told = true;
	sim_run(history);
	printf("on a memory of %s:\n", memories[sim.memory]);
	steps = sim_story_print(options->traces);
	printf("%s\n", history->failed ? history->sentence : "nothing is wrong");
	return steps;
}

static double
seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* How many were played, up to the first that fails; where a defect is planted, up to the last of
 * FAILURES, and then the shortest again. */
static void
play(struct sim_history *history, const struct options *options)
{
	double began = seconds_now();
	uint64_t steps = 0, played = 0, shortest = 0, failed = 0;
	uint32_t least = UINT32_MAX;

	while (played < options->n && failed < (options->within > 0 ? FAILURES : 1)) {
		history->seed = history->turns = options->first + played++;
		sim_run(history);
		steps += history->steps;
		failed += history->failed;
		if (history->failed && history->steps < least) {
			least = history->steps;
			shortest = history->seed;
		}
	}
	printf("%s: %llu histories, of which %llu fail, %llu steps, %.0f histories a second\n",
		history->world->name, (unsigned long long)played, (unsigned long long)failed,
		(unsigned long long)steps, (double)played / (seconds_now() - began));
	if (failed == 0)
		return;
	history->seed = history->turns = shortest;
	sim_run(history);
}

int
sim_main(int argc, char **argv, const struct sim_world *world)
{
	struct options options = {.first = 1, .n = trip_test_rounds(500), .memory = SIM_MEMORIES};
	static struct sim_history history;
	unsigned int told = 0;

	if (!parse(argc, argv, &options)) {
		usage(argv[0]);
		return 2;
	}
	catch_crashes();
	history.world = world;
	history.memory = options.memory;
	play(&history, &options);
	if (history.failed || (options.traces && options.n == 1))
		told = tell(&history, &options);
	free(history.decisions);
	if (options.within == 0)
		return history.failed;
	printf("planted: %s, %u steps of at most %u\n", history.failed ? "found" : "not found",
		told, options.within);
	return !history.failed || told > options.within;
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
