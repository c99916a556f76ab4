/* SPDX-License-Identifier: BSD-3-Clause */
/* What top shows of one `each`: its keys with most, and how fast each grows. */
#ifndef TRIPCTL_HITTERS_H
#define TRIPCTL_HITTERS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include <trip_client.h>

#define TRIPCTL_HITTERS_LINE 1024

enum tripctl_hitters_sort {
	TRIPCTL_HITTERS_PACKETS,
	TRIPCTL_HITTERS_BYTES,
	TRIPCTL_HITTERS_RATE,
	TRIPCTL_HITTERS_KEY,
	TRIPCTL_HITTERS_SORTS,
};

extern const char *const tripctl_hitters_sorts[];

struct tripctl_hitters_sample {
	/* CLOCK_MONOTONIC when it had been read; 0: there is none yet. */
	uint64_t at_ns;
	struct trip_client_domain domain;
	struct trip_client_each each;
	struct trip_client_key keys[TRIP_CLIENT_TOP_MAX];
	size_t n;
};

struct tripctl_hitter {
	const struct trip_client_key *key;
	/* It was there before: what it has had a second since then. */
	bool known;
	double rate, byte_rate;
	/* Of all packets that had a key. */
	double share;
};

struct tripctl_hitters {
	char name[40];
	/* Only keys that are such, or contain it; "": all. */
	const char *filter;
	enum tripctl_hitters_sort sort;
	struct tripctl_hitters_sample samples[2];
	/* Which of them is the latest. */
	unsigned int latest;
	struct tripctl_hitter rows[TRIP_CLIENT_TOP_MAX];
	size_t n_rows;
};

/* Takes a new sample: 0, or as trip_client_top(). */
int tripctl_hitters_read(struct tripctl_hitters *hitters, struct trip_client *client);
/* Sorts anew. */
void tripctl_hitters_choose(struct tripctl_hitters *hitters);

const struct tripctl_hitters_sample *tripctl_hitters_now(const struct tripctl_hitters *hitters);

/* Each writes a line of at most `width` columns; of a key that has no room the end is a '+'. */
void tripctl_hitters_head(const struct tripctl_hitters *hitters, unsigned int width, char *line);
void tripctl_hitters_titles(unsigned int width, char *line);
void tripctl_hitters_row(
	const struct tripctl_hitters *hitters, size_t row, unsigned int width, char *line);

/* A round with so many rows at most, as an object. */
json_t *tripctl_hitters_json(const struct tripctl_hitters *hitters, size_t rows);

#endif
