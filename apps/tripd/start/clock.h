/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_CLOCK_H
#define TRIPD_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some moment, whatever becomes of the time of day. */
static inline uint64_t
tripd_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
