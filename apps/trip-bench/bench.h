/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A benchmark measures its value beside its limit (what the machine allows) and its peer (what one
 * would use instead), in the same run: one repetition measures all arms, one after the other, so
 * that a machine that slows down slows all of them. What is judged is the median of the ratios.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_cycles.h>

#include <trip.h>

#include "now.h"

#define BENCH_REPETITIONS_MAX 101
/* What `run` returns where the benchmark cannot run here; the note says why. */
#define BENCH_SKIPPED 77

/* One repetition. An arm that a benchmark does not have is 0. */
struct bench_sample {
	double value;
	double limit;
	double peer;
};

struct bench_result {
	struct bench_sample samples[BENCH_REPETITIONS_MAX];
	unsigned int n_samples;
	bool skipped;
	/* What the numbers were measured on, for a person. */
	char note[240];
};

struct bench {
	const char *name;
	const char *unit;
	/* What the value, limit and peer are; NULL: there is no such arm. What the medians of
	 * value / limit and of value / peer should not exceed; 0: nothing is promised. */
	const char *what;
	const char *limit;
	double at_most;
	const char *peer;
	double at_most_peer;
	/* Fills in `n_samples` samples. 0, BENCH_SKIPPED, or -1 with a message on stderr. */
	int (*run)(const struct bench *bench, struct bench_result *result);
	/* Sizes, as `run` understands them. */
	unsigned int size;
	unsigned int second;
	/* The promises are lower bounds. */
	bool more_is_better;
	/* A point of the plot of cost against size: runs only when it is asked for. */
	bool curve;
};

/* All of them, ended by one without a name. */
extern const struct bench bench_catalogue[];

int bench_memory_cntr(const struct bench *bench, struct bench_result *result);
int bench_memory_work(const struct bench *bench, struct bench_result *result);
int bench_memory_rule(const struct bench *bench, struct bench_result *result);
int bench_memory_each(const struct bench *bench, struct bench_result *result);
int bench_queue(const struct bench *bench, struct bench_result *result);
int bench_fire(const struct bench *bench, struct bench_result *result);
int bench_cancel(const struct bench *bench, struct bench_result *result);
int bench_add(const struct bench *bench, struct bench_result *result);
int bench_trip(const struct bench *bench, struct bench_result *result);
int bench_wake(const struct bench *bench, struct bench_result *result);
int bench_idle(const struct bench *bench, struct bench_result *result);
int bench_profile(const struct bench *bench, struct bench_result *result);
int bench_rate(const struct bench *bench, struct bench_result *result);
int bench_soft(const struct bench *bench, struct bench_result *result);
int bench_soft_hostile(const struct bench *bench, struct bench_result *result);
int bench_set(const struct bench *bench, struct bench_result *result);
int bench_set_load(const struct bench *bench, struct bench_result *result);
int bench_each(const struct bench *bench, struct bench_result *result);
int bench_each_rate(const struct bench *bench, struct bench_result *result);
int bench_each_drop(const struct bench *bench, struct bench_result *result);
int bench_each_flood(const struct bench *bench, struct bench_result *result);
int bench_forward(const struct bench *bench, struct bench_result *result);
int bench_horizon(const struct bench *bench, struct bench_result *result);
int bench_horizon_cached(const struct bench *bench, struct bench_result *result);

/* Takes n samples by `repeat`, behind one that warms up: 0, or what that returned. */
int bench_repeat(const struct bench *bench, struct bench_result *result, unsigned int n,
	int (*repeat)(void *arg, struct bench_sample *sample), void *arg);

/* Whether EAL has a second lcore for benchmarks; those of two cores are skipped otherwise. */
bool bench_worker_have(void);
/* Calls step(arg) on the second lcore, over and over, until bench_worker_stop(). */
void bench_worker_start(void (*step)(void *arg), void *arg);
void bench_worker_stop(void);
/* Opens a domain that the second lcore progresses. */
int bench_worker_domain(struct trip_domain **domain);

/* Skips a benchmark, saying why. */
int bench_skip(struct bench_result *result, const char *why);
/* Shows how far a benchmark is, where a person looks on. */
void bench_progress(const struct bench *bench, unsigned int done, unsigned int of);
/* Says what failed, and why as far as the library and DPDK know; returns -1. */
int bench_fail(const char *what);

struct bench_random {
	uint64_t state;
};

static inline uint64_t
bench_random_u64(struct bench_random *random)
{
	uint64_t z = (random->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline double
bench_ns(uint64_t tsc)
{
	return (double)tsc * 1e9 / (double)rte_get_tsc_hz();
}

/* Nanoseconds that this thread has run: what others do on its CPU meanwhile does not count. A
 * system call, so for arms that take long. */
static inline uint64_t
bench_cpu_ns(void)
{
	return now_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Median of numbers, which it sorts. */
double bench_middle(double *numbers, unsigned int n);

/* In place of a path. */
#define BENCH_STDOUT "-"

/* Reports; bench_report_json() returns 0, or -1 when it cannot write. */
void bench_report_head(FILE *stream);
void bench_report_row(
	FILE *stream, const struct bench *bench, const struct bench_result *result, bool brief);
/* What a benchmark measures, and beside what. */
void bench_report_words(const struct bench *bench, const char *note, char *text, size_t size);
int bench_report_json(const char *path, const struct bench *const *benches,
	const struct bench_result *results, unsigned int n);

/* Prints two files that bench_report_json() wrote beside each other; an exit status. */
int bench_compare(const char *before, const char *after);

#endif
