/* SPDX-License-Identifier: BSD-3-Clause */
/* Records as rows for people and as JSON for programs. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "record.h"
#include "tripctl.h"

#define KIND(word, kind, of, named)                                                      \
	{                                                                                \
		word, kind, sizeof(struct trip_client_##of), tripctl_members_##of, named \
	}

_Static_assert(sizeof(struct trip_client_flow) <= TRIPCTL_RECORD_MAX, "a flow is a record");

const struct tripctl_record_kind tripctl_record_kinds[TRIPCTL_RECORD_KINDS] = {
	[TRIP_CLIENT_DOMAIN] = KIND("domain", TRIP_CLIENT_DOMAIN, domain, false),
	[TRIP_CLIENT_CNTR] = KIND("counters", TRIP_CLIENT_CNTR, cntr, false),
	[TRIP_CLIENT_WORK] = KIND("works", TRIP_CLIENT_WORK, work, true),
	[TRIP_CLIENT_FLOW] = KIND("flows", TRIP_CLIENT_FLOW, flow, true),
	[TRIP_CLIENT_PROCESS] = KIND("processes", TRIP_CLIENT_PROCESS, process, false),
	[TRIP_CLIENT_HOME] = KIND("lcores", TRIP_CLIENT_HOME, home, false),
	[TRIP_CLIENT_EACH] = KIND("each", TRIP_CLIENT_EACH, each, false),
};

/* ---- JSON ---------------------------------------------------------------------------------- */

void
tripctl_record_put(json_t *object, const char *key, json_t *value)
{
	if (object != NULL && value != NULL && json_object_set_new(object, key, value) == 0)
		return;
	exit(tripctl_complain(TRIPCTL_EXIT_RUN, "no memory for JSON"));
}

void
tripctl_record_put_text(json_t *object, const char *key, const char *text)
{
	json_t *value = json_string(text);
	char plain[512];
	size_t n = 0;

	for (; value == NULL && text[n] != 0 && n + 1 < sizeof(plain); n++)
		plain[n] = (unsigned char)text[n] < 0x80 ? text[n] : '?';
	plain[n] = 0;
	tripctl_record_put(object, key, value != NULL ? value : json_string(plain));
}

void
tripctl_record_put_number(json_t *object, const char *key, uint64_t number)
{
	tripctl_record_put(
		object, key, number <= INT64_MAX ? json_integer((json_int_t)number) : json_null());
}

void
tripctl_record_write(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

/* ---- members of records -------------------------------------------------------------------- */

void
tripctl_sheet_cell(struct tripctl_sheet *sheet, const char *title, const char *format, ...)
{
	char text[TRIPCTL_TABLE_CELL];
	va_list args;

	if (sheet->titles != NULL)
		*sheet->titles++ = title;
	if (sheet->table == NULL)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tripctl_table_cell(sheet->table, text);
}

void
tripctl_sheet_json(struct tripctl_sheet *sheet, const char *key, json_t *value)
{
	if (sheet->object != NULL)
		tripctl_record_put(sheet->object, key, value);
	else
		json_decref(value);
}

void
tripctl_sheet_text(
	struct tripctl_sheet *sheet, const char *title, const char *key, const char *text)
{
	if (title != NULL)
		tripctl_sheet_cell(sheet, title, "%s", text != NULL ? text : "-");
	if (sheet->object != NULL && text != NULL)
		tripctl_record_put_text(sheet->object, key, text);
	else
		tripctl_sheet_json(sheet, key, json_null());
}

void
tripctl_sheet_number(
	struct tripctl_sheet *sheet, const char *title, const char *key, uint64_t number)
{
	if (title != NULL && number <= INT64_MAX)
		tripctl_sheet_cell(sheet, title, "%" PRIu64, number);
	else if (title != NULL)
		tripctl_sheet_cell(sheet, title, "-");
	if (sheet->object != NULL)
		tripctl_record_put_number(sheet->object, key, number);
}

/* Of a record that says nothing, what its columns are called. */
void
tripctl_record_titles(const struct tripctl_record_kind *kind, const char **titles)
{
	static const uint64_t nothing[TRIPCTL_RECORD_MAX / sizeof(uint64_t)];
	static const struct tripctl_names nobody;
	struct tripctl_sheet sheet = {.titles = titles, .names = &nobody};

	kind->members(&sheet, nothing);
	*sheet.titles = NULL;
}

json_t *
tripctl_record_object(const struct tripctl_record_kind *kind, const struct tripctl_names *names,
	const void *record)
{
	struct tripctl_sheet sheet = {.object = json_object(), .names = names};

	kind->members(&sheet, record);
	return sheet.object;
}

json_t *
tripctl_record_json(
	enum trip_client_kind kind, const struct tripctl_names *names, const void *record)
{
	return tripctl_record_object(&tripctl_record_kinds[kind], names, record);
}
