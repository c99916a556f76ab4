/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tripctl list. What is listed goes out as it comes in, page by page, so that a domain of millions
 * takes no memory here, and the primary answers others in between.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/record.h"
#include "base/text.h"
#include "base/tripctl.h"
#include "quotas.h"

struct list {
	struct tripctl *ctl;
	/* One more: quotas are tripd's. */
	const struct tripctl_record_kind *kinds[TRIPCTL_RECORD_KINDS + 1];
	unsigned int n_kinds;
	/* What is left out: NULL and 0 leave out nothing. */
	const char *match;
	uint64_t pid;
	struct tripctl_names names;
	struct tripctl_quotas quotas;
};

static const struct tripctl_option options[] = {
	{"match", "GLOB",
		"only what has such a name, and work and flows of such counters (\"dns.*\")",
		TRIPCTL_OPTION_TEXT, offsetof(struct list, match)},
	{"pid", "PID", "only what is of this process", TRIPCTL_OPTION_NUMBER,
		offsetof(struct list, pid), INT32_MAX, "process"},
	{NULL},
};

static void
take_kind(struct argp_state *state, void *into, char *word)
{
	struct list *list = into;
	const struct tripctl_record_kind *kind = &tripctl_quotas_kind;
	char escaped[64];

	for (unsigned int i = 0; i < TRIPCTL_RECORD_KINDS; i++)
		if (strcmp(word, tripctl_record_kinds[i].name) == 0)
			kind = &tripctl_record_kinds[i];
	if (strcmp(word, kind->name) != 0)
		argp_error(state,
			"\"%s\" is none of counters, works, flows, each, quotas, processes, "
			"lcores, "
			"domain",
			tripctl_text_escape(word, escaped, sizeof(escaped)));
	for (unsigned int k = 0; k < list->n_kinds; k++)
		if (list->kinds[k] == kind)
			return;
	list->kinds[list->n_kinds++] = kind;
}

static bool
matches(const struct list *list, uint64_t id)
{
	const struct trip_client_cntr *cntr = tripctl_names_find(&list->names, id);

	return cntr != NULL && fnmatch(list->match, cntr->name, 0) == 0;
}

static bool
is_wanted(const struct list *list, const struct tripctl_record_kind *kind, const void *record)
{
	const struct trip_client_cntr *cntr = record;
	const struct trip_client_work *work = record;
	const struct trip_client_flow *flow = record;
	const struct trip_client_process *process = record;
	const struct trip_client_each *each = record;

	switch (kind->kind) {
	case TRIP_CLIENT_CNTR:
		return (list->pid == 0 || cntr->pid == list->pid) &&
		       (list->match == NULL || fnmatch(list->match, cntr->name, 0) == 0);
	case TRIP_CLIENT_WORK:
		return (list->pid == 0 || work->pid == list->pid) &&
		       (list->match == NULL || matches(list, work->cntr));
	case TRIP_CLIENT_FLOW:
		return (list->pid == 0 || flow->pid == list->pid) &&
		       (list->match == NULL || matches(list, flow->packets_cntr) ||
			       matches(list, flow->bytes_cntr));
	case TRIP_CLIENT_EACH:
		return (list->pid == 0 || list->pid == list->ctl->about.pid) &&
		       (list->match == NULL || fnmatch(list->match, each->name, 0) == 0);
	case TRIP_CLIENT_PROCESS:
		return list->pid == 0 || process->pid == list->pid;
	default:
		return true;
	}
}

/* The members of an array, each on a line of its own. */
static void
write_member(const struct list *list, const struct tripctl_record_kind *kind, const void *record,
	bool *first)
{
	json_t *object = tripctl_record_object(kind, &list->names, record);

	fputs(*first ? "\n  " : ",\n  ", stdout);
	json_dumpf(object, stdout, JSON_COMPACT);
	json_decref(object);
	*first = false;
}

static void
write_record(const struct list *list, const struct tripctl_record_kind *kind,
	struct tripctl_sheet *row, const void *record, bool *first)
{
	if (list->ctl->json)
		write_member(list, kind, record, first);
	else
		kind->members(row, record);
}

/* They are of the primary. */
static int
write_quotas(struct list *list, struct tripctl_sheet *row)
{
	const struct tripctl_quota *quota = list->quotas.all;
	bool first = true;

	for (size_t n = list->quotas.n; n > 0; n--, quota++)
		if ((list->match == NULL || fnmatch(list->match, quota->name, 0) == 0) &&
			(list->pid == 0 || list->pid == list->ctl->about.pid))
			write_record(list, &tripctl_quotas_kind, row, quota, &first);
	return 0;
}

static int
write_records(struct list *list, const struct tripctl_record_kind *kind, struct tripctl_sheet *row)
{
	uint64_t records[16 * TRIPCTL_RECORD_MAX / sizeof(uint64_t)], cursor = 0;
	bool first = true;
	int got;

	while ((got = trip_client_list(list->ctl->client, kind->kind, &cursor, records, kind->size,
			sizeof(records) / kind->size)) > 0) {
		for (int i = 0; i < got; i++) {
			const void *record = (const char *)records + (size_t)i * kind->size;

			if (is_wanted(list, kind, record))
				write_record(list, kind, row, record, &first);
		}
	}
	return got < 0 ? tripctl_fail(got) : 0;
}

static int
list_kind(struct list *list, const struct tripctl_record_kind *kind)
{
	const char *titles[TRIPCTL_TABLE_COLUMNS + 1];
	struct tripctl_table table;
	struct tripctl_sheet row = {.table = &table, .names = &list->names};
	int code;

	tripctl_record_titles(kind, titles);
	if (!list->ctl->json)
		tripctl_table_open(&table, stdout, titles);
	code = kind == &tripctl_quotas_kind ? write_quotas(list, &row)
					    : write_records(list, kind, &row);
	if (!list->ctl->json)
		tripctl_table_close(&table);
	return code;
}

static int
read_names(struct list *list)
{
	bool wanted = false;
	int error;

	for (unsigned int i = 0; i < list->n_kinds; i++)
		wanted |= list->kinds[i]->wants_names;
	if (!wanted)
		return 0;
	error = tripctl_names_read(&list->names, list->ctl->client);
	return error != 0 ? tripctl_fail(error) : 0;
}

/* Before anything is written: not everybody may ask. */
static int
read_quotas(struct list *list)
{
	bool wanted = false;
	int error;

	for (unsigned int i = 0; i < list->n_kinds; i++)
		wanted |= list->kinds[i] == &tripctl_quotas_kind;
	if (!wanted)
		return 0;
	error = tripctl_quotas_read(&list->quotas, list->ctl->client);
	if (error == -ENOENT)
		return tripctl_complain(TRIPCTL_EXIT_RUN,
			"process %" PRIu32 ", whose domain it is, does not list quotas",
			list->ctl->about.pid);
	if (error == -ENOMEM || error == -EPROTO)
		return tripctl_complain(TRIPCTL_EXIT_RUN, "quotas: %s",
			error == -ENOMEM ? "no memory" : "what was said of them is not known");
	return error != 0 ? tripctl_fail(error) : 0;
}

int
tripctl_list(struct tripctl *ctl, int argc, char **argv)
{
	static const struct tripctl_line line = {
		.options = options,
		.args_doc = "[counters|works|flows|each|quotas|processes|lcores|domain]...",
		.doc = "Lists what a domain has; without a word, its counters.",
		.word = take_kind,
	};
	struct list list = {.ctl = ctl};
	int code;

	tripctl_options_parse(ctl, &line, argc, argv, &list);
	if (list.n_kinds == 0)
		list.kinds[list.n_kinds++] = &tripctl_record_kinds[TRIP_CLIENT_CNTR];
	code = tripctl_connect(ctl, UINT64_MAX);
	if (code == 0)
		code = read_names(&list);
	if (code == 0)
		code = read_quotas(&list);
	for (unsigned int i = 0; code == 0 && i < list.n_kinds; i++) {
		const char *before = i == 0 ? "{" : ",\n";

		if (ctl->json)
			printf("%s\"%s\": [", before, list.kinds[i]->name);
		else if (i > 0)
			putchar('\n');
		code = list_kind(&list, list.kinds[i]);
		if (ctl->json && code == 0)
			printf("]%s", i + 1 == list.n_kinds ? "}\n" : "");
	}
	tripctl_names_free(&list.names);
	tripctl_quotas_free(&list.quotas);
	return code;
}
