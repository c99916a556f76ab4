/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows whose counters can be asked, so many a second, in virtual time: the horizon, or a plain
 * sweep, chooses which. Every run of the same shape is the same.
 *
 * Rates are those of Zipf, together what the line carries. Somebody waits for each flow all the
 * time: at distances that are random from the limit before, so far that a flow gets there every
 * fourth round of a plain sweep on average.
 */
#ifndef HORIZON_SIM_H
#define HORIZON_SIM_H

#include <stdbool.h>
#include <stdint.h>

struct horizon_sim_shape {
	uint32_t flows;
	/* Readings a second. */
	uint64_t budget;
	uint64_t seed;
	/* So many rounds of a plain sweep are simulated, after two without limits. */
	uint32_t rounds;
	/* A plain sweep instead. */
	bool sweep;
	/* Packets come one by one at random, or as evenly as they can. */
	bool poisson;
	/*
	 * Half of the line is steady. With the other half somebody hits one flow after the other,
	 * each from the moment when it was read and armed for the next packet, until that is found.
	 */
	bool bursts;
	/* Packets. */
	uint64_t tolerance;
};

struct horizon_sim_result {
	/* Packets past the limit, of all crossings and of those by bursts. */
	uint64_t worst, worst_burst;
	uint64_t crossings;
	/* Crossings found later than the tolerance: as it was, and as the horizon told. */
	uint64_t missed, reported;
	/* What the horizon says any traffic might have done. */
	uint64_t exposure;
};

/* Packets a second: 100 Gb/s of the smallest. */
#define HORIZON_SIM_LINE 148.8e6

/* 0, or -1: no memory. */
int horizon_sim_run(const struct horizon_sim_shape *shape, struct horizon_sim_result *result);

/*
 * A cache that is refreshed every so often, and read through the horizon. Every counter moves all
 * the time, and has one limit, at a random moment.
 */
struct horizon_sim_cache {
	uint32_t flows;
	uint64_t seed;
	/* Nanoseconds between refreshes, for one reading, and in all. */
	uint64_t lag, query, time;
};

struct horizon_sim_cached {
	/* The most readings of one counter between two refreshes. */
	uint32_t most_readings;
	/* Nanoseconds from a crossing to the reading that shows it, at most; the longest time
	 * between two readings of a counter. */
	uint64_t latest, sweep;
	uint64_t crossings;
};

int horizon_sim_run_cached(
	const struct horizon_sim_cache *cache, struct horizon_sim_cached *result);

#endif
