/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPCTL_SAMPLE_H
#define TRIPCTL_SAMPLE_H

#include <stdbool.h>

#include "base/names.h"

#define TRIPCTL_SAMPLE_HOMES 64

struct tripctl_sample {
	/* CLOCK_MONOTONIC when it had been read; 0: there is none yet. */
	uint64_t at_ns;
	struct trip_client_domain domain;
	struct trip_client_home homes[TRIPCTL_SAMPLE_HOMES];
	unsigned int n_homes;
	struct tripctl_names cntrs;
};

/* Reads one: 0, -ENOMEM, or as trip_client_list(). */
int tripctl_sample_read(struct tripctl_sample *sample, struct trip_client *client);
void tripctl_sample_free(struct tripctl_sample *sample);

/* What became of a counter. */
struct tripctl_change {
	const struct trip_client_cntr *cntr;
	/* It was there before. */
	bool known;
	/* Success a second. */
	double rate;
	/* Of the sum, to the next threshold; TRIP_CLIENT_ANY: there is none. */
	uint64_t missing;
	/* How long that takes at this rate, in nanoseconds; UINT64_MAX: for ever. */
	uint64_t eta_ns;
};

void tripctl_sample_compare(const struct tripctl_sample *before, const struct tripctl_sample *now,
	const struct trip_client_cntr *cntr, struct tripctl_change *change);

/* The seconds between two; 0 where there is only one. */
double tripctl_sample_seconds(
	const struct tripctl_sample *before, const struct tripctl_sample *now);

#endif
