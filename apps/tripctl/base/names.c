/* SPDX-License-Identifier: BSD-3-Clause */
/* A domain's counters by id, for those who show what refers to them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "names.h"

#define ROOM 256

static int
by_id(const void *a, const void *b)
{
	const struct trip_client_cntr *one = a, *other = b;

	return (one->id > other->id) - (one->id < other->id);
}

int
tripctl_names_read(struct tripctl_names *names, struct trip_client *client)
{
	uint64_t cursor = 0;
	int got;

	names->n = 0;
	do {
		if (names->max - names->n < ROOM) {
			size_t max = 2 * names->max + ROOM;
			void *grown = realloc(names->cntrs, max * sizeof(*names->cntrs));

			if (grown == NULL)
				return -ENOMEM;
			names->cntrs = grown;
			names->max = max;
		}
		got = trip_client_list(client, TRIP_CLIENT_CNTR, &cursor, names->cntrs + names->n,
			sizeof(*names->cntrs), names->max - names->n);
		if (got > 0)
			names->n += (size_t)got;
	} while (got > 0);
	qsort(names->cntrs, names->n, sizeof(*names->cntrs), by_id);
	return got;
}

void
tripctl_names_free(struct tripctl_names *names)
{
	free(names->cntrs);
	*names = (struct tripctl_names){0};
}

const struct trip_client_cntr *
tripctl_names_find(const struct tripctl_names *names, uint64_t id)
{
	const struct trip_client_cntr key = {.id = id};

	return names->n > 0 ? bsearch(&key, names->cntrs, names->n, sizeof(key), by_id) : NULL;
}

const char *
tripctl_names_of(const struct trip_client_cntr *cntr, char out[TRIPCTL_NAMES_MAX])
{
	if (cntr->name[0] != 0)
		snprintf(out, TRIPCTL_NAMES_MAX, "%s", cntr->name);
	else
		snprintf(out, TRIPCTL_NAMES_MAX, "0x%" PRIx64, cntr->id);
	return out;
}

const char *
tripctl_names_of_id(const struct tripctl_names *names, uint64_t id, char out[TRIPCTL_NAMES_MAX])
{
	const struct trip_client_cntr unknown = {.id = id}, *cntr = tripctl_names_find(names, id);

	return tripctl_names_of(cntr != NULL ? cntr : &unknown, out);
}
