/* SPDX-License-Identifier: BSD-3-Clause */
/* A domain's counters by id, for those who show what refers to them, and the names of its keys. */
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

/* All records of a kind, in `array` that has room for `max`. */
static int
read_all(struct trip_client *client, enum trip_client_kind kind, void *array, size_t size,
	size_t *n, size_t *max)
{
	char **records = array;
	uint64_t cursor = 0;
	int got;

	*n = 0;
	do {
		if (*max - *n < ROOM) {
			char *grown = realloc(*records, (2 * *max + ROOM) * size);

			if (grown == NULL)
				return -ENOMEM;
			*records = grown;
			*max = 2 * *max + ROOM;
		}
		got = trip_client_list(
			client, kind, &cursor, *records + *n * size, size, *max - *n);
		if (got > 0)
			*n += (size_t)got;
	} while (got > 0);
	return got;
}

int
tripctl_names_read(struct tripctl_names *names, struct trip_client *client)
{
	int error = read_all(client, TRIP_CLIENT_CNTR, &names->cntrs, sizeof(*names->cntrs),
		&names->n, &names->max);

	if (names->n > 0)
		qsort(names->cntrs, names->n, sizeof(*names->cntrs), by_id);
	return error;
}

int
tripctl_names_read_eaches(struct tripctl_names *names, struct trip_client *client)
{
	return read_all(client, TRIP_CLIENT_EACH, &names->eaches, sizeof(*names->eaches),
		&names->n_eaches, &names->max_eaches);
}

void
tripctl_names_free(struct tripctl_names *names)
{
	free(names->cntrs);
	free(names->eaches);
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
