/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_DEMO_H
#define TRIPD_DEMO_H

#include <stdbool.h>
#include <stdint.h>

#include "run/run.h"
#include "run/screen.h"
#include "wire.h"

struct tripd_options;

/* The demo as it runs. */
struct tripd_demo {
	struct tripd_run run;
	struct tripd_screen screen;
	struct tripd_wire wire;
	/* Per flow of the wire: its first drop has fired, and what had arrived by then. */
	bool dropped[TRIPD_WIRE_FLOWS];
	uint64_t arrived_at_drop[TRIPD_WIRE_FLOWS];
	/* Trips said so far. */
	size_t said;
};

/* Runs the demo. Returns the exit code. */
int tripd_demo_run(const struct tripd_options *options);

/* Checks what the demo says of itself against what was sent, counted and received, and says each
 * claim with its figures. Returns the number of claims that do not hold. */
unsigned int tripd_verdict_say(struct tripd_demo *demo);

#endif
