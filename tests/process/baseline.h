/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of the domain is in use, by everything that a process can hold of it: a test takes it
 * before a process comes, and expects the same when that is gone. The domain is progressed by hand,
 * and its primary waits on nothing itself.
 */
#ifndef TRIP_BASELINE_H
#define TRIP_BASELINE_H

#include <stdint.h>

#define BASELINE_COUNTS 192

struct baseline {
	unsigned int n;
	struct {
		char what[56];
		uint64_t n;
	} counts[BASELINE_COUNTS];
};

/* Homes come to rest, and all that trip_domain_check() looks at holds. */
void baseline_take(struct baseline *baseline);

/* As it was; what is not fails the test by its name. */
void baseline_expect(const struct baseline *wanted);

/* One of the counts, as "home 0: items that wait". */
uint64_t baseline_count(const struct baseline *baseline, const char *what);

/* Homes come to rest. */
void baseline_settle(void);

#endif
