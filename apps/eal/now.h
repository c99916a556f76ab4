/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NOW_H
#define NOW_H

#include <stdint.h>
#include <time.h>

/* What a clock says, in nanoseconds: CLOCK_MONOTONIC the time since some moment, whatever becomes
 * of the time of day; one of CPU time what a thread or process has run. */
static inline uint64_t
now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
