/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is to list, as rows for people and as JSON for programs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trip_cntr.h>
#include <trip_domain.h>

#include "record_rule.h"
#include "text.h"
#include "tripctl.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

_Static_assert(sizeof(struct trip_client_flow) <= TRIPCTL_RECORD_MAX, "a flow is a record");

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
tripctl_record_put_id(json_t *object, const char *key, uint64_t id)
{
	tripctl_record_put(object, key, id != 0 ? json_sprintf("0x%" PRIx64, id) : json_null());
}

void
tripctl_record_write(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

const char *
tripctl_record_word(const char *const *words, size_t n, uint32_t value)
{
	return value < n && words[value] != NULL ? words[value] : "?";
}

static const char *
events_of(const struct trip_client_cntr *cntr)
{
	return cntr->events == TRIP_CNTR_EVENTS_BYTES ? "bytes" : "completions";
}

uint64_t
tripctl_record_missing(const struct trip_client_cntr *cntr)
{
	uint64_t sum = cntr->success + cntr->error;

	if (cntr->next == TRIP_CLIENT_ANY)
		return TRIP_CLIENT_ANY;
	return cntr->next > sum ? cntr->next - sum : 0;
}

/* A number, or a dash where there is none. */
static void
cell_or_dash(struct tripctl_table *table, uint64_t number)
{
	if (number == TRIP_CLIENT_ANY)
		tripctl_table_cell(table, "-");
	else
		tripctl_table_cell(table, "%" PRIu64, number);
}

/* ---- counters ------------------------------------------------------------------------------ */

static const char *const cntr_titles[] = {
	"VALUE", "ERRORS", "NEXT", "TO GO", "HOME", "PID", "FLOWS", "<NAME", NULL};

static void
cntr_row(struct tripctl_table *table, const struct tripctl_names *names, const void *record)
{
	const struct trip_client_cntr *cntr = record;
	char name[TRIPCTL_NAMES_MAX];

	tripctl_table_cell(table, "%" PRIu64, cntr->success);
	tripctl_table_cell(table, "%" PRIu64, cntr->error);
	cell_or_dash(table, cntr->next);
	cell_or_dash(table, tripctl_record_missing(cntr));
	tripctl_table_cell(table, "%" PRIu32, cntr->home);
	if (cntr->pid != 0)
		tripctl_table_cell(table, "%" PRIu32, cntr->pid);
	else
		tripctl_table_cell(table, "-");
	tripctl_table_cell(table, "%" PRIu32, cntr->flows);
	tripctl_table_cell(table, "%s", tripctl_names_of(cntr, name));
}

json_t *
tripctl_record_cntr(const struct trip_client_cntr *cntr)
{
	json_t *object = json_object();

	tripctl_record_put_id(object, "id", cntr->id);
	if (cntr->name[0] != 0)
		tripctl_record_put_text(object, "name", cntr->name);
	else
		tripctl_record_put(object, "name", json_null());
	tripctl_record_put_number(object, "success", cntr->success);
	tripctl_record_put_number(object, "error", cntr->error);
	tripctl_record_put_number(object, "next", cntr->next);
	tripctl_record_put_number(object, "to_go", tripctl_record_missing(cntr));
	tripctl_record_put_text(object, "events", events_of(cntr));
	tripctl_record_put_number(object, "age_ns", cntr->age_ns);
	tripctl_record_put_number(object, "home", cntr->home);
	tripctl_record_put_number(object, "pid", cntr->pid);
	tripctl_record_put_number(object, "users", cntr->users);
	tripctl_record_put_number(object, "flows", cntr->flows);
	return object;
}

static json_t *
cntr_json(const struct tripctl_names *names, const void *record)
{
	return tripctl_record_cntr(record);
}

/* ---- processes ----------------------------------------------------------------------------- */

static const char *const state_words[] = {
	[TRIP_CLIENT_PRIMARY] = "primary",
	[TRIP_CLIENT_ATTACHED] = "attached",
	[TRIP_CLIENT_LOST] = "lost",
	[TRIP_CLIENT_DROPPING] = "dropping",
	[TRIP_CLIENT_ORPHAN] = "orphan",
};

/* The name of a process, as the kernel has it; a process chooses it itself. */
static const char *
command_of(uint32_t pid, char command[64])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
	file = fopen(path, "r");
	if (file == NULL || fgets(command, 64, file) == NULL)
		strcpy(command, "?");
	if (file != NULL)
		fclose(file);
	command[strcspn(command, "\n")] = 0;
	return command;
}

static uint64_t
since(uint64_t then_ns)
{
	uint64_t now = tripctl_text_now();

	return now > then_ns ? now - then_ns : 0;
}

static const char *const process_titles[] = {
	"PID", "UID", "<STATE", "SINCE", "COUNTERS", "FOUND", "WORKS", "WAITERS", "<COMMAND", NULL};

static void
process_row(struct tripctl_table *table, const struct tripctl_names *names, const void *record)
{
	const struct trip_client_process *process = record;
	char age[TRIPCTL_TEXT_NUMBER], command[64];

	tripctl_table_cell(table, "%" PRIu32, process->pid);
	tripctl_table_cell(table, "%" PRIu32, process->uid);
	tripctl_table_cell(
		table, "%s", tripctl_record_word(state_words, COUNT(state_words), process->state));
	tripctl_table_cell(table, "%s", tripctl_text_time(since(process->since_ns), age));
	tripctl_table_cell(table, "%" PRIu32, process->cntrs);
	tripctl_table_cell(table, "%" PRIu32, process->found);
	tripctl_table_cell(table, "%" PRIu32, process->works);
	tripctl_table_cell(table, "%" PRIu32, process->waiters);
	tripctl_table_cell(table, "%s", command_of(process->pid, command));
}

static json_t *
process_json(const struct tripctl_names *names, const void *record)
{
	const struct trip_client_process *process = record;
	json_t *object = json_object(), *lcores = json_array();
	char command[64];

	for (unsigned int i = 0; i < 64 * COUNT(process->lcores); i++)
		if ((process->lcores[i / 64] >> i % 64 & 1) != 0)
			json_array_append_new(lcores, json_integer(i));
	tripctl_record_put_number(object, "pid", process->pid);
	tripctl_record_put_number(object, "uid", process->uid);
	tripctl_record_put_text(object, "command", command_of(process->pid, command));
	tripctl_record_put_text(object, "state",
		tripctl_record_word(state_words, COUNT(state_words), process->state));
	tripctl_record_put_number(object, "age_ns", since(process->since_ns));
	tripctl_record_put_number(object, "counters", process->cntrs);
	tripctl_record_put_number(object, "found", process->found);
	tripctl_record_put_number(object, "works", process->works);
	tripctl_record_put_number(object, "waiters", process->waiters);
	tripctl_record_put(object, "lcores", lcores);
	return object;
}

/* ---- lcores -------------------------------------------------------------------------------- */

static const char *const home_titles[] = {"HOME", "LCORE", "PENDING", "FIRED", "CANCELED",
	"REFUSED", "WAKES", "WITH WORK", "LONGEST", "OVERSHOOT", "REPAIRS", NULL};

static void
home_row(struct tripctl_table *table, const struct tripctl_names *names, const void *record)
{
	const struct trip_client_home *home = record;
	char longest[TRIPCTL_TEXT_NUMBER];
	double all = home->iterations > 0 ? (double)home->iterations : 1;

	tripctl_table_cell(table, "%" PRIu32, home->index);
	cell_or_dash(table, home->lcore == UINT32_MAX ? TRIP_CLIENT_ANY : home->lcore);
	tripctl_table_cell(table, "%" PRIu64, home->pending);
	tripctl_table_cell(table, "%" PRIu64, home->fired);
	tripctl_table_cell(table, "%" PRIu64, home->canceled);
	tripctl_table_cell(table, "%" PRIu64, home->refused);
	tripctl_table_cell(table, "%" PRIu64, home->wakes);
	tripctl_table_cell(table, "%.1f%%", 100 * (double)home->busy_iterations / all);
	tripctl_table_cell(table, "%s", tripctl_text_time(home->longest_iteration_ns, longest));
	tripctl_table_cell(table, "%" PRIu64, home->worst_overshoot);
	tripctl_table_cell(table, "%" PRIu64, home->scrub_repairs);
}

json_t *
tripctl_record_home(const struct trip_client_home *home)
{
	json_t *object = json_object();

	tripctl_record_put_number(object, "home", home->index);
	tripctl_record_put_number(
		object, "lcore", home->lcore == UINT32_MAX ? TRIP_CLIENT_ANY : home->lcore);
	tripctl_record_put_number(object, "accepted", home->accepted);
	tripctl_record_put_number(object, "pending", home->pending);
	tripctl_record_put_number(object, "fired", home->fired);
	tripctl_record_put_number(object, "canceled", home->canceled);
	tripctl_record_put_number(object, "refused", home->refused);
	tripctl_record_put_number(object, "iterations", home->iterations);
	tripctl_record_put_number(object, "busy_iterations", home->busy_iterations);
	tripctl_record_put_number(object, "longest_iteration_ns", home->longest_iteration_ns);
	tripctl_record_put_number(object, "wakes", home->wakes);
	tripctl_record_put_number(object, "scrub_repairs", home->scrub_repairs);
	tripctl_record_put_number(object, "events_lost", home->events_lost);
	tripctl_record_put_number(object, "worst_overshoot", home->worst_overshoot);
	return object;
}

static json_t *
home_json(const struct tripctl_names *names, const void *record)
{
	return tripctl_record_home(record);
}

/* ---- the domain ---------------------------------------------------------------------------- */

static const char *const progress_words[] = {
	[TRIP_PROGRESS_LCORE] = "lcore",
	[TRIP_PROGRESS_SERVICE] = "service",
	[TRIP_PROGRESS_MANUAL] = "manual",
};

static const char *const domain_titles[] = {"PID", "GENERATION", "HOMES", "<PROGRESS", "COUNTERS",
	"PROCESSES", "<VERSION", "<PREFIX", "<DOMAIN", NULL};

static void
domain_row(struct tripctl_table *table, const struct tripctl_names *names, const void *record)
{
	const struct trip_client_domain *domain = record;

	tripctl_table_cell(table, "%" PRIu32, domain->pid);
	tripctl_table_cell(table, "%" PRIu64, domain->generation);
	tripctl_table_cell(table, "%" PRIu32, domain->homes);
	tripctl_table_cell(table, "%s",
		tripctl_record_word(progress_words, COUNT(progress_words), domain->progress));
	tripctl_table_cell(table, "%" PRIu32, domain->cntrs);
	tripctl_table_cell(table, "%" PRIu32, domain->processes);
	tripctl_table_cell(table, "%s", domain->version);
	tripctl_table_cell(table, "%s", domain->prefix);
	tripctl_table_cell(table, "%s", domain->name);
}

json_t *
tripctl_record_domain(const struct trip_client_domain *domain)
{
	json_t *object = json_object();

	tripctl_record_put_text(object, "name", domain->name);
	tripctl_record_put_text(object, "file_prefix", domain->prefix);
	tripctl_record_put_text(object, "version", domain->version);
	tripctl_record_put_number(object, "generation", domain->generation);
	tripctl_record_put_number(object, "pid", domain->pid);
	tripctl_record_put_text(object, "progress",
		tripctl_record_word(progress_words, COUNT(progress_words), domain->progress));
	tripctl_record_put_number(object, "homes", domain->homes);
	tripctl_record_put_number(object, "counters", domain->cntrs);
	tripctl_record_put_number(object, "max_counters", domain->max_cntrs);
	tripctl_record_put_number(object, "max_works", domain->max_works);
	tripctl_record_put_number(object, "max_waiters", domain->max_waiters);
	tripctl_record_put_number(object, "max_flows", domain->max_flows);
	tripctl_record_put_number(object, "processes", domain->processes);
	tripctl_record_put_number(object, "max_processes", domain->max_processes);
	return object;
}

static json_t *
domain_json(const struct tripctl_names *names, const void *record)
{
	return tripctl_record_domain(record);
}

#define KIND(word, type, of, by, named)                                                    \
	{                                                                                  \
		word, type, sizeof(struct trip_client_##of), by##_titles, named, by##_row, \
			by##_json                                                          \
	}

const struct tripctl_record_kind tripctl_record_kinds[] = {
	KIND("counters", TRIP_CLIENT_CNTR, cntr, cntr, false),
	KIND("works", TRIP_CLIENT_WORK, work, tripctl_record_work, true),
	KIND("flows", TRIP_CLIENT_FLOW, flow, tripctl_record_flow, true),
	KIND("processes", TRIP_CLIENT_PROCESS, process, process, false),
	KIND("lcores", TRIP_CLIENT_HOME, home, home, false),
	KIND("domain", TRIP_CLIENT_DOMAIN, domain, domain, false),
	{NULL},
};
