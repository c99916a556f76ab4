/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is to list, as rows for people and as JSON for programs. */
#ifndef TRIPCTL_RECORD_H
#define TRIPCTL_RECORD_H

#include <jansson.h>

#include <trip_client.h>

#include "names.h"
#include "table.h"

/* What is made of a record, one of the first three; the others are NULL. */
struct tripctl_sheet {
	/* A row of it. */
	struct tripctl_table *table;
	/* Members of it. */
	json_t *object;
	/* The titles of columns: where the next one goes. */
	const char **titles;
	/* Those of the counters that records name by id. */
	const struct tripctl_names *names;
};

/* Says each member of a record, once for a table and for JSON. */
typedef void tripctl_members_t(struct tripctl_sheet *sheet, const void *record);

struct tripctl_record_kind {
	const char *name;
	enum trip_client_kind kind;
	size_t size;
	tripctl_members_t *members;
	/* Records name counters by id. */
	bool wants_names;
};

/* By enum trip_client_kind. */
#define TRIPCTL_RECORD_KINDS (TRIP_CLIENT_EACH + 1)
extern const struct tripctl_record_kind tripctl_record_kinds[TRIPCTL_RECORD_KINDS];

/* Bytes of the largest record. */
#define TRIPCTL_RECORD_MAX 1024

/* The titles of a table of such records. */
void tripctl_record_titles(const struct tripctl_record_kind *kind, const char **titles);
/* `names` may be NULL where the kind does not want them. */
json_t *tripctl_record_json(
	enum trip_client_kind kind, const struct tripctl_names *names, const void *record);

/* Likewise, of one that may be none of those of the domain. */
json_t *tripctl_record_object(const struct tripctl_record_kind *kind,
	const struct tripctl_names *names, const void *record);

/* Of each kind. */
tripctl_members_t tripctl_members_domain, tripctl_members_cntr, tripctl_members_work,
	tripctl_members_flow, tripctl_members_process, tripctl_members_home, tripctl_members_each;

/* A member that only a table has; one that only JSON has, taken over; and those of both, or without
 * a title of JSON. NULL is no text, and what is above 2^63-1 no number. */
__attribute__((format(printf, 3, 4))) void tripctl_sheet_cell(
	struct tripctl_sheet *sheet, const char *title, const char *format, ...);
void tripctl_sheet_json(struct tripctl_sheet *sheet, const char *key, json_t *value);
void tripctl_sheet_text(
	struct tripctl_sheet *sheet, const char *title, const char *key, const char *text);
void tripctl_sheet_number(
	struct tripctl_sheet *sheet, const char *title, const char *key, uint64_t number);

/* A member of an object, taken over; without memory the program ends. */
void tripctl_record_put(json_t *object, const char *key, json_t *value);
/* A text of somebody else's: bytes that are no UTF-8 become question marks. */
void tripctl_record_put_text(json_t *object, const char *key, const char *text);
void tripctl_record_put_number(json_t *object, const char *key, uint64_t number);

/* Writes an object on a line of its own, and frees it. */
void tripctl_record_write(json_t *object);

/* Of a counter, how much its sum has yet to grow to the next threshold; 0: it is there;
 * TRIP_CLIENT_ANY: there is none. */
uint64_t tripctl_record_missing(const struct trip_client_cntr *cntr);

#endif
