/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of trip-bench: which benchmarks run, and where results go. */
#include <argp.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "bench.h"

#define BENCHES_MAX 64

const char *argp_program_version = "trip-bench " BENCH_VERSION;

struct options {
	const char *only;
	const char *json;
	/* Two files to compare. */
	const char *compare[2];
	bool comparing;
	bool list;
	bool brief;
	bool huge;
};

static const struct argp_option option_list[] = {
	{"only", 'o', "NAME", 0, "Run this benchmark only, or those whose names begin with NAME"},
	{"json", 'j', "FILE", OPTION_ARG_OPTIONAL,
		"Write the results to FILE as JSON, or to standard output, and the table to "
		"standard error then"},
	{"list", 'l', NULL, 0, "List the benchmarks and what each is compared with"},
	{"brief", 'b', NULL, 0, "One line for each benchmark"},
	{"compare", 'c', NULL, 0,
		"Run nothing; compare two files that --json wrote, the older first"},
	{"no-huge", 'n', NULL, 0, "Run without hugepages (slower, all arms alike)"},
	{0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'o':
		options->only = arg;
		return 0;
	case 'j':
		options->json = arg != NULL ? arg : BENCH_STDOUT;
		return 0;
	case 'l':
		options->list = true;
		return 0;
	case 'b':
		options->brief = true;
		return 0;
	case 'c':
		options->comparing = true;
		return 0;
	case 'n':
		options->huge = false;
		return 0;
	case ARGP_KEY_ARG:
		if (!options->comparing || state->arg_num >= RTE_DIM(options->compare))
			argp_error(state, "unexpected word \"%s\"", arg);
		options->compare[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->comparing && state->arg_num != RTE_DIM(options->compare))
			argp_error(state, "--compare takes two files");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_list,
	.parser = parse,
	.args_doc = "\n--compare BEFORE.json AFTER.json",
	.doc = "Measures Tripline, each figure beside its physical limit in the same run.\v"
	       "Quote medians and ratios: on a shared machine single figures drift.",
};

/* The first two CPUs that we may run on; one, where there are no more. */
static void
choose_cpus(char *list, size_t size)
{
	cpu_set_t set;
	int length = 0;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0, n = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			length += snprintf(
				list + length, size - (size_t)length, n++ > 0 ? ",%d" : "%d", cpu);
}

static int
start_eal(const struct options *options)
{
	/* EAL keeps its words, and may write to them. */
	static char cpus[32], words[][32] = {"trip-bench", "--no-pci", "--no-telemetry",
				      "--log-level=error", "--vdev=net_null_bench0",
				      "--vdev=net_null_bench1", "--vdev=net_ring_bench", "-l"};
	static char huge[][32] = {"--in-memory"};
	static char small[][32] = {"--no-huge", "--no-shconf", "-m", "3072"};
	char *all[RTE_DIM(words) + RTE_DIM(small) + 2];
	int n = 0, error;

	choose_cpus(cpus, sizeof(cpus));
	for (unsigned int i = 0; i < RTE_DIM(words); i++)
		all[n++] = words[i];
	all[n++] = cpus;
	for (unsigned int i = 0; i < (options->huge ? RTE_DIM(huge) : RTE_DIM(small)); i++)
		all[n++] = options->huge ? huge[i] : small[i];
	all[n] = NULL;
	error = rte_eal_init(n, all);
	if (error < 0)
		fprintf(stderr,
			"trip-bench: EAL does not start: %s; reserve hugepages "
			"(scripts/setup, as root) or add --no-huge\n",
			rte_strerror(rte_errno));
	return error;
}

int
bench_skip(struct bench_result *result, const char *why)
{
	result->skipped = true;
	snprintf(result->note, sizeof(result->note), "%s", why);
	return BENCH_SKIPPED;
}

void
bench_progress(const struct bench *bench, unsigned int done, unsigned int of)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "%s: %u of %u\033[K\r", bench->name, done, of);
}

int
bench_fail(const char *what)
{
	fprintf(stderr, "trip-bench: %s: %s; %s\n", what, rte_strerror(rte_errno),
		trip_error_message());
	return -1;
}

int
bench_repeat(const struct bench *bench, struct bench_result *result, unsigned int n,
	int (*repeat)(void *arg, struct bench_sample *sample), void *arg)
{
	struct bench_sample warm;
	int error = repeat(arg, &warm);

	for (unsigned int i = 0; i < n && error == 0; i++) {
		bench_progress(bench, i, n);
		error = repeat(arg, &result->samples[i]);
	}
	result->n_samples = n;
	return error;
}

/* Where the table goes: not among JSON. */
static FILE *
table_of(const struct options *options)
{
	return options->json != NULL && strcmp(options->json, BENCH_STDOUT) == 0 ? stderr : stdout;
}

static int
run_one(const struct options *options, const struct bench *bench, struct bench_result *result)
{
	int error;

	bench_progress(bench, 0, 1);
	error = bench->run(bench, result);
	if (isatty(STDERR_FILENO))
		fputs("\033[K", stderr);
	if (error != 0 && error != BENCH_SKIPPED) {
		fprintf(stderr, "trip-bench: %s failed\n", bench->name);
		return -1;
	}
	bench_report_row(table_of(options), bench, result, options->brief);
	return 0;
}

/* Whether `name` is asked for: it, or what begins with `only`, unless that is a name itself. */
static bool
wanted(const char *only, bool exact, const char *name)
{
	return only == NULL ||
	       (exact ? strcmp(name, only) : strncmp(name, only, strlen(only))) == 0;
}

static unsigned int
choose(const char *only, const struct bench **chosen, unsigned int max)
{
	bool exact = false;
	unsigned int n = 0;

	for (const struct bench *bench = bench_catalogue; bench->name != NULL; bench++)
		exact |= only != NULL && strcmp(bench->name, only) == 0;
	for (const struct bench *bench = bench_catalogue; bench->name != NULL && n < max; bench++)
		if ((only != NULL || !bench->curve) && wanted(only, exact, bench->name))
			chosen[n++] = bench;
	return n;
}

static void
list(const struct bench *const *benches, unsigned int n)
{
	char words[1024];

	for (unsigned int i = 0; i < n; i++) {
		bench_report_words(benches[i], "", words, sizeof(words));
		printf("%-15s %s\n", benches[i]->name, words);
	}
}

static int
run_all(const struct options *options, const struct bench *const *chosen, unsigned int n)
{
	static struct bench_result results[BENCHES_MAX];
	time_t began = time(NULL);
	unsigned int done = 0;

	if (start_eal(options) < 0)
		return 1;
	bench_report_head(table_of(options));
	while (done < n && run_one(options, chosen[done], &results[done]) == 0)
		done++;
	if (n > 1)
		fprintf(table_of(options), "%u benchmarks in %.0f s\n", done,
			difftime(time(NULL), began));
	if (options->json != NULL && bench_report_json(options->json, chosen, results, done) != 0)
		return 1;
	rte_eal_cleanup();
	return done == n ? 0 : 1;
}

int
main(int argc, char **argv)
{
	const struct bench *chosen[BENCHES_MAX];
	struct options options = {.huge = true};
	unsigned int n;

	argp_parse(&parser, argc, argv, 0, NULL, &options);
	if (options.comparing)
		return bench_compare(options.compare[0], options.compare[1]);
	n = choose(options.only, chosen, BENCHES_MAX);
	if (n == 0) {
		fprintf(stderr, "trip-bench: there is no benchmark \"%s\"; --list names them\n",
			options.only);
		return 2;
	}
	if (options.list) {
		list(chosen, n);
		return 0;
	}
	return run_all(&options, chosen, n);
}
