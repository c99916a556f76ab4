/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians, the table for a person, and the JSON for a script. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bench.h"

/* What a repetition has measured, and what follows from that; 0: there is none. */
enum figure {
	VALUE,
	LIMIT,
	PEER,
	VS_LIMIT,
	VS_PEER,
};

static double
figure_of(const struct bench_sample *sample, enum figure figure)
{
	const double figures[] = {
		[VALUE] = sample->value,
		[LIMIT] = sample->limit,
		[PEER] = sample->peer,
		[VS_LIMIT] = sample->limit > 0 ? sample->value / sample->limit : 0,
		[VS_PEER] = sample->peer > 0 ? sample->value / sample->peer : 0,
	};

	return figures[figure];
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
sorted(const struct bench_result *result, enum figure figure, double *out)
{
	for (unsigned int i = 0; i < result->n_samples; i++)
		out[i] = figure_of(&result->samples[i], figure);
	qsort(out, result->n_samples, sizeof(*out), ascending);
	return result->n_samples;
}

static double
median(const struct bench_result *result, enum figure figure)
{
	double all[BENCH_REPETITIONS_MAX];

	return bench_middle(all, sorted(result, figure, all));
}

void
bench_report_head(FILE *stream)
{
	fprintf(stream, "%-15s %9s %19s %9s %6s %5s %9s %6s %5s\n", "benchmark", "value",
		"min - max", "limit", "ratio", "most", "peer", "ratio", "most");
}

/* One arm beside the value: its median, the ratio, and what is promised of that. */
/* Of large ones no fraction, so that a row stays within its columns on a busy machine, too. */
static int
decimals(double value)
{
	return value < 1e5 ? 2 : 0;
}

static bool
print_arm(FILE *stream, const struct bench_result *result, const char *arm, enum figure figure,
	enum figure ratio_of, double promised, bool more)
{
	double ratio, value = median(result, figure);
	char most[16] = "";

	if (arm == NULL || value == 0) {
		fprintf(stream, " %9s %6s %5s", "", "", "");
		return true;
	}
	if (promised > 0)
		snprintf(most, sizeof(most), "%.2f", promised);
	ratio = median(result, ratio_of);
	fprintf(stream, " %9.*f %6.2f %5s", decimals(value), value, ratio, most);
	return promised == 0 || (more ? ratio >= promised : ratio <= promised);
}

/* Breaks between words so that no line is longer than a screen. */
static void
print_wrapped(FILE *stream, const char *text)
{
	size_t width = 96;

	while (*text != 0) {
		size_t length = strlen(text);

		if (length > width) {
			length = width;
			while (length > 0 && text[length] != ' ')
				length--;
		}
		fprintf(stream, "    %.*s\n", (int)length, text);
		text += length;
		text += strspn(text, " ");
	}
}

void
bench_report_words(const struct bench *bench, const char *note, char *text, size_t size)
{
	snprintf(text, size, "%s, %s%s%s%s%s%s%s", bench->unit, bench->what,
		bench->limit != NULL ? "; limit: " : "", bench->limit != NULL ? bench->limit : "",
		bench->peer != NULL ? "; peer: " : "", bench->peer != NULL ? bench->peer : "",
		note[0] != 0 ? "; " : "", note);
}

void
bench_report_row(
	FILE *stream, const struct bench *bench, const struct bench_result *result, bool brief)
{
	double value[BENCH_REPETITIONS_MAX], middle = median(result, VALUE);
	unsigned int n = sorted(result, VALUE, value);
	char spread[40], words[1024];
	bool kept;

	if (result->skipped) {
		fprintf(stream, "%-15s skipped: %s\n", bench->name, result->note);
		return;
	}
	snprintf(spread, sizeof(spread), "%.*f - %.*f", decimals(value[n - 1]), value[0],
		decimals(value[n - 1]), value[n - 1]);
	fprintf(stream, "%-15s %9.*f %19s", bench->name, decimals(middle), middle, spread);
	kept = print_arm(stream, result, bench->limit, LIMIT, VS_LIMIT, bench->at_most,
		bench->more_is_better);
	kept &= print_arm(stream, result, bench->peer, PEER, VS_PEER, bench->at_most_peer, false);
	fprintf(stream, "%s\n", kept ? "" : "  !");
	bench_report_words(bench, result->note, words, sizeof(words));
	if (!brief)
		print_wrapped(stream, words);
	fflush(stream);
}

/* What the kernel calls the first processor; else "unknown". */
static void
name_machine(char name[200])
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	strcpy(name, "unknown");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "model name : %199[^\n]", name) == 1)
			break;
	if (file != NULL)
		fclose(file);
}

static json_t *
optional(double number)
{
	return number != 0 ? json_real(number) : json_null();
}

static json_t *
bench_json(const struct bench *bench, const struct bench_result *result)
{
	double value[BENCH_REPETITIONS_MAX] = {0};
	unsigned int n = sorted(result, VALUE, value);

	if (result->skipped)
		return json_pack("{s:s, s:n, s:s, s:s}", "name", bench->name, "value", "unit",
			bench->unit, "note", result->note);
	return json_pack("{s:s, s:f, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:i, s:s}",
		"name", bench->name, "value", median(result, VALUE), "unit", bench->unit, "limit",
		optional(median(result, LIMIT)), "peer", optional(median(result, PEER)), "vs_limit",
		optional(median(result, VS_LIMIT)), "vs_peer", optional(median(result, VS_PEER)),
		"at_most", optional(bench->at_most), "at_most_peer", optional(bench->at_most_peer),
		"min", value[0], "max", value[n - 1], "repetitions", (int)n, "note", result->note);
}

int
bench_report_json(const char *path, const struct bench *const *benches,
	const struct bench_result *results, unsigned int n)
{
	char machine[200];
	json_t *list = json_array(), *root;
	int error;

	name_machine(machine);
	for (unsigned int i = 0; i < n; i++)
		json_array_append_new(list, bench_json(benches[i], &results[i]));
	root = json_pack(
		"{s:s, s:s, s:o}", "machine", machine, "commit", BENCH_COMMIT, "bench", list);
	error = strcmp(path, BENCH_STDOUT) == 0
			? json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6))
			: json_dump_file(root, path, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	json_decref(root);
	if (error != 0)
		fprintf(stderr, "trip-bench: %s: cannot be written: %s\n", path, strerror(errno));
	else if (strcmp(path, BENCH_STDOUT) == 0)
		putchar('\n');
	return error;
}
