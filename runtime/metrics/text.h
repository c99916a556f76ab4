/* SPDX-License-Identifier: BSD-3-Clause */
/* What the text of a domain is made of: what was gathered first, family by family then. */
#ifndef TRIP_METRICS_TEXT_H
#define TRIP_METRICS_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include <trip_client.h>
#include <trip_each.h>
#include <trip_metrics.h>

#include "profile/profile.h"

struct trip_domain;

/* A thing that variables are of. */
struct trip_text_object {
	uint32_t scope;
	/* `lcore="0"`; "": it has none. */
	char labels[160];
	uint64_t values[TRIP_CATALOGUE_VARS];
	/* Of an lcore; or NULL. */
	struct trip_spreads *spreads;
};

/* A key of a statement, which is told of since it has much. */
struct trip_text_key {
	char labels[4 * TRIP_CLIENT_KEY_MAX + 160];
	uint64_t packets, bytes;
};

struct trip_text {
	const struct trip_domain *domain;
	/* All of its numbers are given. */
	struct trip_metrics_attr attr;
	struct trip_text_object *objects;
	size_t n_objects, room_objects;
	struct trip_text_key *keys;
	size_t n_keys, room_keys;
	struct trip_client_cntr *cntrs;
	size_t n_cntrs, room_cntrs;
	/* Of all statements; of counters with names. */
	uint64_t keys_left, cntrs_left;
};

/* What is wrong with attributes, or 0: `out` has them, with the defaults. */
int trip_text_attr(const struct trip_metrics_attr *attr, struct trip_metrics_attr *out);

/* Gathers all; 0, or -ENOMEM. */
int trip_text_gather(struct trip_domain *domain, struct trip_text *text);

/* Another element of an array; NULL: no memory. */
void *trip_text_grow(void **array, size_t *n, size_t *room, size_t size);

/* As a value of a label stands between quotes. */
void trip_text_escape(const char *value, char *out, size_t size);

/* Writes what was gathered. */
void trip_text_write(const struct trip_text *text, FILE *out);

void trip_text_free(struct trip_text *text);

#endif
