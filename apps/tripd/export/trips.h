/* SPDX-License-Identifier: BSD-3-Clause */
/* Trips, and keys that come and go, as they do so: lines of JSON from a pipe, as `exec` and
 * `--events` have them, with `time_ns` beside `time`. */
#ifndef TRIPD_TRIPS_H
#define TRIPD_TRIPS_H

#include <stdbool.h>
#include <stddef.h>

#include "message.h"

struct tripd_trips {
	/* -1: it has ended. */
	int fd;
	/* What was read, up to a line that is not whole. */
	char *text;
	size_t size, length;
};

/* Lines are up to so long. Returns 0 or -ENOMEM. */
int tripd_trips_init(struct tripd_trips *trips, int fd, size_t size);

void tripd_trips_free(struct tripd_trips *trips);

/* Reads what is there, and exports it; without a connection it is lost. Returns 0 or what
 * tripd_message_flush() does. */
int tripd_trips_take(struct tripd_trips *trips, struct tripd_message *message);

#endif
