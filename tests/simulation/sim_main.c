/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays one seed after the other. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim_inside.h"

/* Of a defect that is planted, the shortest of so many is told; of those that are found in some
 * times the time of the first: a long one takes longer to shrink than a short one to find. */
#define FAILURES 4
#define GRACE 64

struct options {
	uint64_t first, n;
	enum sim_memory memory;
	/* Goes by what was reached; what is kept of that is in a folder, NULL: in none. */
	bool steers;
	const char *corpus;
	/* Plays what this file has. */
	const char *file;
	/* Only counts, up to so many that fail; 0: what fails is told. */
	uint64_t counts;
	/* Tells histories apart. */
	bool digests;
	/* One history, each access of it. */
	bool traces;
	/* A defect is planted: it must be found, and told in at most so many steps; 0: none. Or it
	 * must be found, and that is all. */
	uint64_t within;
	bool finds;
	bool helps;
};

static void
usage(const char *program)
{
	printf("usage: %s [--seed N | --first N --seeds N] [--memory strong|buffers|views]\n"
	       "          [--steer] [--corpus FOLDER] [--history FILE]\n"
	       "          [--trace] [--digest] [--found] [--planted STEPS] [--count N]\n"
	       "  --seed     plays this one; if it fails, it is shrunk and told\n"
	       "  --first    plays seeds from this one on (default: 1),\n"
	       "  --seeds    so many, up to the first that fails (default: 500)\n"
	       "  --memory   instead of what the seed says\n"
	       "  --steer    changes those that have reached what none had before\n"
	       "  --corpus   the same, from those in FOLDER on, and keeps there what is new\n"
	       "  --history  plays what FILE of such a folder has\n"
	       "  --trace    prints each access of what fails, and does not shrink it; of the one "
	       "of\n"
	       "             --seed or --history, failed or not\n"
	       "  --digest   prints a number of each: the same steps have the same\n"
	       "  --found    succeeds at the first that fails; that is neither shrunk nor told\n"
	       "  --planted  succeeds if one fails, and is told in at most STEPS steps\n"
	       "  --count    only counts and names those that fail, up to N\n",
		program);
}

static bool
parse_memory(const char *name, enum sim_memory *memory)
{
	static const char *const names[] = {"strong", "buffers", "views"};

	for (*memory = 0; *memory < SIM_MEMORIES; (*memory)++)
		if (strcmp(name, names[*memory]) == 0)
			return true;
	fprintf(stderr, "--memory %s: it is strong, buffers or views\n", name);
	return false;
}

/* What is no number would be another seed, and pass. */
static bool
parse_number(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 0);
	if (isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && *number >= least &&
		*number <= most)
		return true;
	fprintf(stderr, "--%s %s: it is a number from %llu to %llu\n", option, text,
		(unsigned long long)least, (unsigned long long)most);
	return false;
}

static bool
parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {{"seed", 1, NULL, 's'}, {"first", 1, NULL, 'f'},
		{"seeds", 1, NULL, 'n'}, {"memory", 1, NULL, 'm'}, {"trace", 0, NULL, 't'},
		{"planted", 1, NULL, 'p'}, {"steer", 0, NULL, 'S'}, {"corpus", 1, NULL, 'C'},
		{"history", 1, NULL, 'F'}, {"count", 1, NULL, 'c'}, {"found", 0, NULL, 'o'},
		{"digest", 0, NULL, 'd'}, {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
	bool right = true;
	int letter;

	while (right && (letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (letter) {
		case 's':
			options->n = 1;
			right = parse_number("seed", optarg, 0, UINT64_MAX, &options->first);
			break;
		case 'f':
			right = parse_number("first", optarg, 0, UINT64_MAX, &options->first);
			break;
		case 'n':
			right = parse_number("seeds", optarg, 1, UINT64_MAX, &options->n);
			break;
		case 'm':
			right = parse_memory(optarg, &options->memory);
			break;
		case 't':
			options->traces = true;
			break;
		case 'p':
			right = parse_number("planted", optarg, 1, SIM_STEPS, &options->within);
			break;
		case 'C':
			options->corpus = optarg;
			/* fall through */
		case 'S':
			options->steers = true;
			break;
		case 'F':
			options->file = optarg;
			options->n = 1;
			break;
		case 'c':
			right = parse_number("count", optarg, 1, UINT64_MAX, &options->counts);
			break;
		case 'd':
			options->digests = true;
			break;
		case 'o':
			options->finds = true;
			break;
		case 'h':
			options->helps = true;
			break;
		default:
			return false;
		}
	}
	if (right && optind < argc)
		fprintf(stderr, "%s: no option\n", argv[optind]);
	if (options->file != NULL && options->steers) {
		fprintf(stderr, "--history plays one: not with --steer or --corpus\n");
		return false;
	}
	return right && optind == argc;
}

/* Without it each history that is kept would say so. */
static bool
has_corpus(const struct options *options)
{
	char path[4096];

	if (options->corpus == NULL)
		return true;
	snprintf(path, sizeof(path), "%s/.", options->corpus);
	if (access(path, R_OK | W_OK | X_OK) == 0)
		return true;
	fprintf(stderr, "--corpus %s: %m\n", options->corpus);
	return false;
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
goes_on(const struct tally *tally, const struct options *options)
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
play_next(struct sim_history *history, const struct options *options, uint64_t number)
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
note_failure(const struct sim_history *history, const struct options *options, struct tally *tally)
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
play_all(struct sim_history *told, const struct options *options, struct tally *tally)
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
play(struct sim_history *told, const struct options *options)
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
play_until_short(struct sim_history *history, struct options *options)
{
	uint64_t end = options->first + options->n;
	unsigned int told = 0;

	for (;;) {
		play(history, options);
		if (!history->failed)
			return told;
		told = tell(history, options);
		options->first = history->seed + 1;
		if (told <= options->within || options->steers || options->first >= end)
			return told;
		options->n = end - options->first;
		sim_corpus_free(history);
		*history = (struct sim_history){.world = history->world, .memory = options->memory};
	}
}

int
sim_main(int argc, char **argv, const struct sim_world *world)
{
	struct options options = {.first = 1, .n = trip_test_rounds(500), .memory = SIM_MEMORIES};
	static struct sim_history history;
	unsigned int told = 0;

	if (!parse(argc, argv, &options)) {
		fprintf(stderr, "%s --help tells what there is\n", argv[0]);
		return 2;
	}
	if (options.helps) {
		usage(argv[0]);
		return 0;
	}
	if (!has_corpus(&options))
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
