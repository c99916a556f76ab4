/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A benchmark measures its value beside its limit (what the machine allows) and its peer (what one
 * would use instead), in the same run: one repetition measures all arms, one after the other, so
 * that a machine that slows down slows all of them. What is judged is the median of the ratios.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdio.h>

#include <trip.h>

#define BENCH_REPETITIONS_MAX 101

/* One repetition. An arm that a benchmark does not have is 0. */
struct bench_sample {
	double value;
	double limit;
	double peer;
};

struct bench_result {
	struct bench_sample samples[BENCH_REPETITIONS_MAX];
	unsigned int n_samples;
	/* What the numbers were measured on, for a person. */
	char note[160];
};

struct bench {
	const char *name;
	const char *unit;
	/* What the value, the limit and the peer are; NULL: there is no such arm. */
	const char *what;
	const char *limit;
	const char *peer;
	/* What the median of value / limit should not exceed; 0: nothing is promised. */
	double at_most;
	/* Fills in `n_samples` samples. 0, or -1 with a message on stderr. */
	int (*run)(const struct bench *bench, struct bench_result *result);
	/* Sizes, as `run` understands them. */
	unsigned int size;
	unsigned int masks;
};

extern const struct bench bench_soft[];
extern const unsigned int bench_soft_count;

/* Median of numbers, which it sorts. */
double bench_middle(double *numbers, unsigned int n);

/* Median of the numbers that `pick` takes from the samples. */
double bench_median(
	const struct bench_result *result, double (*pick)(const struct bench_sample *s));
double bench_value(const struct bench_sample *sample);
double bench_limit(const struct bench_sample *sample);
double bench_vs_limit(const struct bench_sample *sample);

/* Reports; bench_report_json() returns 0, or -1 when it cannot write. */
void bench_report_head(FILE *stream);
void bench_report_row(FILE *stream, const struct bench *bench, const struct bench_result *result);
int bench_report_json(const char *path, const struct bench *const *benches,
	const struct bench_result *results, unsigned int n);

#endif
