/* SPDX-License-Identifier: BSD-3-Clause */
/* What every test program shares: cmocka in its wanted order, and a seed that is printed. */
#ifndef TRIP_TEST_H
#define TRIP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define TRIP_TEST_SKIP 77

/* Under ThreadSanitizer a test does less: everything takes ten times as long. */
#if defined(__SANITIZE_THREAD__)
#define TRIP_TEST_TSAN true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TRIP_TEST_TSAN true
#endif
#endif
#ifndef TRIP_TEST_TSAN
#define TRIP_TEST_TSAN false
#endif

/* Of one cmocka it is deprecated in the next, which names it otherwise. */
#undef assert_in_range
static inline void
trip_assert_range(uint64_t value, uint64_t low, uint64_t high)
{
	if (value < low || value > high)
		fail_msg("%llu is not within %llu and %llu", (unsigned long long)value,
			(unsigned long long)low, (unsigned long long)high);
}

__extension__ typedef unsigned __int128 trip_u128;

struct trip_random {
	uint64_t state;
};

/* splitmix64: any seed is a good seed, and a failure is repeated from the printed number alone. */
static inline uint64_t
trip_random_u64(struct trip_random *random)
{
	uint64_t z = (random->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Uniform in [0, bound); bound > 0. */
static inline uint64_t
trip_random_below(struct trip_random *random, uint64_t bound)
{
	return (uint64_t)(((trip_u128)trip_random_u64(random) * bound) >> 64);
}

/* TRIP_SEED where it is set, else always the same: a run can be repeated. Printed either way. */
static inline uint64_t
trip_test_seed(const char *test)
{
	const char *given = getenv("TRIP_SEED");
	uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : UINT64_C(20110716);

	printf("%s: TRIP_SEED=%llu\n", test, (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

/* TRIP_SCALE: how many times as much a test does as it asks for; below 1, where another build does
 * all. */
static inline double
trip_test_scale(void)
{
	const char *given = getenv("TRIP_SCALE");

	return given != NULL ? strtod(given, NULL) : 1;
}

/* How often a test repeats: TRIP_ROUNDS where it is set, else what it asks for times TRIP_SCALE. */
static inline uint64_t
trip_test_rounds(uint64_t rounds)
{
	const char *given = getenv("TRIP_ROUNDS");
	uint64_t scaled = (uint64_t)((double)rounds * trip_test_scale());

	if (given != NULL)
		return strtoull(given, NULL, 0);
	return scaled > 0 ? scaled : 1;
}

/* For how many seconds a test goes on that repeats for some: no fewer than it asks for. */
static inline double
trip_test_seconds(double seconds)
{
	double scale = trip_test_scale();

	return scale > 1 ? seconds * scale : seconds;
}

#endif
