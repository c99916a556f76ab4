/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is to list, as rows for people and as JSON for programs. */
#ifndef TRIPCTL_RECORD_H
#define TRIPCTL_RECORD_H

#include <jansson.h>

#include <trip_client.h>

#include "names.h"
#include "table.h"

struct tripctl_record_kind {
	const char *name;
	enum trip_client_kind kind;
	size_t size;
	const char *const *titles;
	/* Records name counters by id. */
	bool wants_names;
	void (*row)(
		struct tripctl_table *table, const struct tripctl_names *names, const void *record);
	json_t *(*json)(const struct tripctl_names *names, const void *record);
};

/* Ended by one without a name. */
extern const struct tripctl_record_kind tripctl_record_kinds[];

/* Bytes of the largest record. */
#define TRIPCTL_RECORD_MAX 1024

/* A member of an object, taken over; without memory the program ends. */
void tripctl_record_put(json_t *object, const char *key, json_t *value);
/* A text of somebody else's: bytes that are no UTF-8 become question marks. */
void tripctl_record_put_text(json_t *object, const char *key, const char *text);
void tripctl_record_put_number(json_t *object, const char *key, uint64_t number);
/* Numbers that need all of 64 bits are strings in JSON. */
void tripctl_record_put_id(json_t *object, const char *key, uint64_t id);

/* Writes an object on a line of its own, and frees it. */
void tripctl_record_write(json_t *object);

/* The members of each. */
json_t *tripctl_record_cntr(const struct trip_client_cntr *cntr);
json_t *tripctl_record_home(const struct trip_client_home *home);
json_t *tripctl_record_domain(const struct trip_client_domain *domain);

/* Of a counter, how much its sum has yet to grow to the next threshold; 0: it is there;
 * TRIP_CLIENT_ANY: there is none. */
uint64_t tripctl_record_missing(const struct trip_client_cntr *cntr);

#endif
