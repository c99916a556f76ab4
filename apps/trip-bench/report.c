/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians, the table for a person, and the JSON for a script. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bench.h"

double
bench_value(const struct bench_sample *sample)
{
	return sample->value;
}

double
bench_limit(const struct bench_sample *sample)
{
	return sample->limit;
}

double
bench_vs_limit(const struct bench_sample *sample)
{
	return sample->limit > 0 ? sample->value / sample->limit : 0;
}

static double
peer(const struct bench_sample *sample)
{
	return sample->peer;
}

static double
vs_peer(const struct bench_sample *sample)
{
	return sample->peer > 0 ? sample->value / sample->peer : 0;
}

static int
ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
bench_middle(double *numbers, unsigned int n)
{
	qsort(numbers, n, sizeof(*numbers), ascending);
	return (numbers[(n - 1) / 2] + numbers[n / 2]) / 2;
}

static unsigned int
sorted(const struct bench_result *result, double (*pick)(const struct bench_sample *s), double *out)
{
	for (unsigned int i = 0; i < result->n_samples; i++)
		out[i] = pick(&result->samples[i]);
	qsort(out, result->n_samples, sizeof(*out), ascending);
	return result->n_samples;
}

double
bench_median(const struct bench_result *result, double (*pick)(const struct bench_sample *s))
{
	double all[BENCH_REPETITIONS_MAX];

	return bench_middle(all, sorted(result, pick, all));
}

void
bench_report_head(FILE *stream)
{
	fprintf(stream, "%-12s %9s %17s %9s %9s %13s %8s\n", "benchmark", "value", "min - max",
		"limit", "x limit", "min - max", "at most");
}

void
bench_report_row(FILE *stream, const struct bench *bench, const struct bench_result *result)
{
	double value[BENCH_REPETITIONS_MAX], ratio[BENCH_REPETITIONS_MAX];
	unsigned int n = sorted(result, bench_value, value);
	double median = bench_median(result, bench_vs_limit);

	sorted(result, bench_vs_limit, ratio);
	fprintf(stream, "%-12s %9.2f %8.2f - %6.2f %9.2f %9.2f %5.2f - %5.2f %8.2f%s\n",
		bench->name, bench_median(result, bench_value), value[0], value[n - 1],
		bench_median(result, bench_limit), median, ratio[0], ratio[n - 1], bench->at_most,
		bench->at_most > 0 && median > bench->at_most ? "  exceeded" : "");
	fprintf(stream, "             %s, %s; limit: %s\n", bench->unit, bench->what, bench->limit);
	if (bench->peer != NULL)
		fprintf(stream, "             peer: %s: %.2f, value is %.2f x that\n", bench->peer,
			bench_median(result, peer), bench_median(result, vs_peer));
	fprintf(stream, "             %s\n", result->note);
	fflush(stream);
}

/* The first line of `path` that begins with `key`, behind its colon; "unknown" where there is none.
 */
static void
machine_line(const char *path, const char *key, char *out, size_t size)
{
	FILE *file = fopen(path, "r");
	char line[256];

	snprintf(out, size, "unknown");
	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		char *colon = strchr(line, ':');

		if (strncmp(line, key, strlen(key)) != 0 || colon == NULL)
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
		break;
	}
	fclose(file);
}

static json_t *
optional(const char *arm, double number)
{
	return arm != NULL ? json_real(number) : json_null();
}

static json_t *
bench_json(const struct bench *bench, const struct bench_result *result)
{
	return json_pack("{s:s, s:f, s:s, s:o, s:o, s:o, s:o, s:i, s:s}", "name", bench->name,
		"value", bench_median(result, bench_value), "unit", bench->unit, "limit",
		optional(bench->limit, bench_median(result, bench_limit)), "peer",
		optional(bench->peer, bench_median(result, peer)), "vs_limit",
		optional(bench->limit, bench_median(result, bench_vs_limit)), "vs_peer",
		optional(bench->peer, bench_median(result, vs_peer)), "repetitions",
		(int)result->n_samples, "note", result->note);
}

int
bench_report_json(const char *path, const struct bench *const *benches,
	const struct bench_result *results, unsigned int n)
{
	char machine[200];
	json_t *list = json_array(), *root;
	int error;

	machine_line("/proc/cpuinfo", "model name", machine, sizeof(machine));
	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(list, bench_json(benches[i], &results[i]));
	root = json_pack(
		"{s:s, s:s, s:o}", "machine", machine, "commit", BENCH_COMMIT, "bench", list);
	error = strcmp(path, "-") == 0
			? json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6))
			: json_dump_file(root, path, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	json_decref(root);
	if (error != 0)
		fprintf(stderr, "trip-bench: %s: cannot be written: %s\n", path, strerror(errno));
	else if (strcmp(path, "-") == 0)
		putchar('\n');
	return error;
}
