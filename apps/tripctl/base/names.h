/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPCTL_NAMES_H
#define TRIPCTL_NAMES_H

#include <stddef.h>

#include <trip_client.h>

/* A domain's counters by id, and what it counts by keys, as they were when they were read. */
struct tripctl_names {
	/* In the order of ids. */
	struct trip_client_cntr *cntrs;
	size_t n, max;
	struct trip_client_each *eaches;
	size_t n_eaches, max_eaches;
};

/* Reads the counters, or what is counted by keys: 0, -ENOMEM, or as trip_client_list(). */
int tripctl_names_read(struct tripctl_names *names, struct trip_client *client);
int tripctl_names_read_eaches(struct tripctl_names *names, struct trip_client *client);
void tripctl_names_free(struct tripctl_names *names);

/* NULL: it was not there. */
const struct trip_client_cntr *tripctl_names_find(const struct tripctl_names *names, uint64_t id);

#define TRIPCTL_NAMES_MAX 48

/* What a counter is called: its name, else its id. Returns `out`. */
const char *tripctl_names_of(const struct trip_client_cntr *cntr, char out[TRIPCTL_NAMES_MAX]);
const char *tripctl_names_of_id(
	const struct tripctl_names *names, uint64_t id, char out[TRIPCTL_NAMES_MAX]);

#endif
