/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program of a world is asked for, and that it can be had. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "sim_options.h"

void
sim_options_usage(const char *program)
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

/* What is asked for can be had, all of it. */
static bool
agree(const struct sim_options *options)
{
	if (options->file != NULL &&
		(options->seeded || options->steers || options->memory != SIM_MEMORIES)) {
		fprintf(stderr,
			"--history plays one, on the memory that it has: not with --seed, --first, "
			"--seeds, --memory, --steer or --corpus\n");
		return false;
	}
	if (options->n - 1 <= UINT64_MAX - options->first)
		return true;
	fprintf(stderr, "--first %llu --seeds %llu: the last seed is beyond %llu\n",
		(unsigned long long)options->first, (unsigned long long)options->n,
		(unsigned long long)UINT64_MAX);
	return false;
}

bool
sim_options_parse(int argc, char **argv, struct sim_options *options)
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
			options->seeded = true;
			right = parse_number("seed", optarg, 0, UINT64_MAX, &options->first);
			break;
		case 'f':
			options->seeded = true;
			right = parse_number("first", optarg, 0, UINT64_MAX, &options->first);
			break;
		case 'n':
			options->seeded = true;
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
	return right && optind == argc && agree(options);
}

uint64_t
sim_options_last(const struct sim_options *options)
{
	return options->first + (options->n - 1);
}

bool
sim_options_have_corpus(const struct sim_options *options)
{
	char path[4096];

	if (options->corpus == NULL)
		return true;
	/* With what comes behind it that would be the root. */
	if (options->corpus[0] == '\0') {
		fprintf(stderr, "--corpus: its name is empty\n");
		return false;
	}
	snprintf(path, sizeof(path), "%s/.", options->corpus);
	if (access(path, R_OK | W_OK | X_OK) == 0)
		return true;
	fprintf(stderr, "--corpus %s: %m\n", options->corpus);
	return false;
}
