/* SPDX-License-Identifier: BSD-3-Clause */
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "bench.h"

const char *argp_program_version = "trip-bench " BENCH_VERSION;

struct options {
	const char *only;
	const char *json;
	bool list;
	bool huge;
};

static const struct argp_option option_list[] = {
	{"only", 'o', "NAME", 0, "Run this benchmark only, or those whose names begin with NAME",
		0},
	{"json", 'j', "FILE", 0, "Write the results to FILE as JSON (-: standard output)", 0},
	{"list", 'l', NULL, 0, "List the benchmarks and what each is compared with", 0},
	{"no-huge", 'n', NULL, 0, "Run without hugepages (slower, all arms alike)", 0},
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
		options->json = arg;
		return 0;
	case 'l':
		options->list = true;
		return 0;
	case 'n':
		options->huge = false;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected word \"%s\"", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {
	.options = option_list,
	.parser = parse,
	.doc = "Measures Tripline, each figure beside its physical limit in the same run.\v"
	       "Quote medians and ratios: on a shared machine single figures drift.",
};

static int
start_eal(const struct options *options)
{
	/* EAL keeps its words, and may write to them. */
	static char huge[][32] = {"trip-bench", "--in-memory"};
	static char small[][32] = {"trip-bench", "--no-huge", "--no-shconf", "-m", "2048"};
	static char both[][32] = {"-l", "0", "--no-pci", "--no-telemetry", "--log-level=error",
		"--vdev=net_null_bench0", "--vdev=net_null_bench1"};
	char *words[RTE_DIM(small) + RTE_DIM(both) + 1];
	int n = 0, error;

	for (unsigned int i = 0; i < (options->huge ? RTE_DIM(huge) : RTE_DIM(small)); i++)
		words[n++] = options->huge ? huge[i] : small[i];
	for (unsigned int i = 0; i < RTE_DIM(both); i++)
		words[n++] = both[i];
	words[n] = NULL;
	error = rte_eal_init(n, words);
	if (error < 0)
		fprintf(stderr,
			"trip-bench: EAL does not start: %s; reserve hugepages (sudo "
			"scripts/setup) or "
			"add --no-huge\n",
			rte_strerror(rte_errno));
	return error;
}

static int
run_one(const struct options *options, const struct bench *bench, struct bench_result *result)
{
	FILE *table = options->json != NULL && strcmp(options->json, "-") == 0 ? stderr : stdout;

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "%s ...\r", bench->name);
	if (bench->run(bench, result) != 0) {
		fprintf(stderr, "trip-bench: %s failed\n", bench->name);
		return -1;
	}
	bench_report_row(table, bench, result);
	return 0;
}

/* The benchmark of that name, or else all whose names begin with it. */
static unsigned int
choose(const char *only, const struct bench **chosen)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < bench_soft_count; i++) {
		if (only != NULL && strcmp(bench_soft[i].name, only) == 0) {
			chosen[0] = &bench_soft[i];
			return 1;
		}
		if (only == NULL || strncmp(bench_soft[i].name, only, strlen(only)) == 0)
			chosen[n++] = &bench_soft[i];
	}
	return n;
}

static void
list(void)
{
	for (unsigned int i = 0; i < bench_soft_count; i++)
		printf("%-12s %s, %s; limit: %s\n", bench_soft[i].name, bench_soft[i].unit,
			bench_soft[i].what, bench_soft[i].limit);
}

int
main(int argc, char **argv)
{
	static struct bench_result results[16];
	const struct bench *chosen[RTE_DIM(results)];
	struct options options = {.huge = true};
	unsigned int n, done = 0;

	argp_parse(&parser, argc, argv, 0, NULL, &options);
	if (options.list) {
		list();
		return 0;
	}
	n = choose(options.only, chosen);
	if (n == 0) {
		fprintf(stderr, "trip-bench: there is no benchmark \"%s\"; --list names them\n",
			options.only);
		return 2;
	}
	if (start_eal(&options) < 0)
		return 1;
	bench_report_head(options.json != NULL && strcmp(options.json, "-") == 0 ? stderr : stdout);
	while (done < n && run_one(&options, chosen[done], &results[done]) == 0)
		done++;
	if (options.json != NULL && bench_report_json(options.json, chosen, results, done) != 0)
		return 1;
	rte_eal_cleanup();
	return done == n ? 0 : 1;
}
