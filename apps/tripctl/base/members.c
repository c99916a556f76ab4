/* SPDX-License-Identifier: BSD-3-Clause */
/* What each kind of record has. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <trip_cntr.h>
#include <trip_domain.h>
#include <trip_flow.h>
#include <trip_work.h>

#include "now.h"
#include "record.h"
#include "text.h"

/* The word for a value of an enum, "?" for one that is not known. */
#define WORD(words, value) word_of(words, sizeof(words) / sizeof((words)[0]), value)

static const char *
word_of(const char *const *words, size_t n, uint32_t value)
{
	return value < n && words[value] != NULL ? words[value] : "?";
}

/* NULL where there is no counter. */
static const char *
name_of(const struct tripctl_sheet *sheet, uint64_t id, char name[TRIPCTL_NAMES_MAX])
{
	return id != 0 ? tripctl_names_of_id(sheet->names, id, name) : NULL;
}

/* A string in JSON: not all 64 bits fit a number of it. */
static void
hex(struct tripctl_sheet *sheet, const char *title, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, number);
	tripctl_sheet_text(sheet, title, key, text);
}

uint64_t
tripctl_record_missing(const struct trip_client_cntr *cntr)
{
	uint64_t sum = cntr->success + cntr->error;

	if (cntr->next == TRIP_CLIENT_ANY)
		return TRIP_CLIENT_ANY;
	return cntr->next > sum ? cntr->next - sum : 0;
}

void
tripctl_members_cntr(struct tripctl_sheet *sheet, const void *record)
{
	static const char *const events[] = {
		[TRIP_CNTR_EVENTS_COMP] = "completions",
		[TRIP_CNTR_EVENTS_BYTES] = "bytes",
	};
	const struct trip_client_cntr *cntr = record;
	char name[TRIPCTL_NAMES_MAX], pid[TRIPCTL_TEXT_NUMBER];

	hex(sheet, NULL, "id", cntr->id);
	tripctl_sheet_text(sheet, NULL, "name", cntr->name[0] != 0 ? cntr->name : NULL);
	tripctl_sheet_number(sheet, "VALUE", "success", cntr->success);
	tripctl_sheet_number(sheet, "ERRORS", "error", cntr->error);
	tripctl_sheet_number(sheet, "NEXT", "next", cntr->next);
	tripctl_sheet_number(sheet, "TO GO", "to_go", tripctl_record_missing(cntr));
	tripctl_sheet_text(sheet, NULL, "events", WORD(events, cntr->events));
	tripctl_sheet_number(sheet, NULL, "age_ns", cntr->age_ns);
	tripctl_sheet_number(sheet, "HOME", "home", cntr->home);
	tripctl_sheet_number(sheet, NULL, "pid", cntr->pid);
	tripctl_sheet_cell(
		sheet, "PID", "%s", cntr->pid != 0 ? tripctl_text_exact(cntr->pid, pid) : "-");
	tripctl_sheet_number(sheet, NULL, "users", cntr->users);
	tripctl_sheet_number(sheet, "FLOWS", "flows", cntr->flows);
	tripctl_sheet_cell(sheet, "<NAME", "%s", tripctl_names_of(cntr, name));
}

/* ---- works --------------------------------------------------------------------------------- */

static struct trip_op_info
op_of(const struct trip_client_work *work)
{
	struct trip_op_info info = {.size = sizeof(info)};

	/* A newer library may list what this one does not know. */
	if (trip_op_describe((enum trip_op)work->op, &info) != 0)
		info.name = "?";
	return info;
}

static struct trip_condition_info
condition_of(const struct trip_client_work *work)
{
	struct trip_condition_info info = {.size = sizeof(info)};

	/* Likewise. */
	if (work->condition != TRIP_CONDITION_NONE &&
		trip_condition_describe((enum trip_condition_kind)work->condition, &info) != 0)
		info.name = "?";
	return info;
}

/* All have one but those of pairs; some, of 0. */
static bool
has_its_time(const struct trip_client_work *work)
{
	return work->condition != TRIP_CONDITION_NONE && condition_of(work).pairs == 0;
}

/* Of its condition, with a blank before them: " 5s", " 1000 in 5s until < 500 in 60s", " of 3". */
static const char *
say_parameters(const struct trip_client_work *work, char *text, size_t size)
{
	bool has_count = work->condition_count != 0, has_time = has_its_time(work);
	char count[TRIPCTL_TEXT_NUMBER], time[TRIPCTL_TEXT_NUMBER];
	int n = snprintf(text, size, "%s%s%s%s",
		has_count  ? has_time ? " " : " of "
		: has_time ? " "
			   : "",
		has_count ? tripctl_text_exact(work->condition_count, count) : "",
		has_count && has_time ? " in " : "",
		has_time ? tripctl_text_whole_time(work->condition_time, time) : "");

	if (work->condition_until_time != 0)
		snprintf(text + n, size - (size_t)n, " until < %s in %s",
			tripctl_text_exact(work->condition_until_count, count),
			tripctl_text_whole_time(work->condition_until_time, time));
	return text;
}

static uint64_t
unless_0(uint64_t value)
{
	return value != 0 ? value : TRIP_CLIENT_ANY;
}

/* What triggers it, and what has to hold then. */
static void
say_trigger(struct tripctl_sheet *sheet, const struct trip_client_work *work)
{
	const struct trip_condition_info info = condition_of(work);
	char name[TRIPCTL_NAMES_MAX], parameters[4 * TRIPCTL_TEXT_NUMBER + 24];
	const char *trigger = name_of(sheet, work->cntr, name);

	tripctl_sheet_text(sheet, NULL, "counter", trigger);
	tripctl_sheet_text(sheet, NULL, "condition", info.name);
	tripctl_sheet_number(sheet, NULL, "condition_ns",
		has_its_time(work) ? work->condition_time : TRIP_CLIENT_ANY);
	tripctl_sheet_number(sheet, NULL, "condition_count", unless_0(work->condition_count));
	tripctl_sheet_number(
		sheet, NULL, "condition_until_ns", unless_0(work->condition_until_time));
	tripctl_sheet_number(
		sheet, NULL, "condition_until_count", unless_0(work->condition_until_count));
	tripctl_sheet_cell(sheet, "<COUNTER", "%s%s%s%s",
		trigger != NULL   ? trigger
		: info.pairs != 0 ? ""
				  : "(clock)",
		trigger != NULL && info.name != NULL ? " " : "", info.name != NULL ? info.name : "",
		say_parameters(work, parameters, sizeof(parameters)));
}

/* Its counter is the time. */
static bool
is_timed(const struct trip_client_work *work)
{
	return work->cntr == 0 && condition_of(work).pairs == 0;
}

/* In units of what triggers it. */
static const char *
amount_of(const struct trip_client_work *work, uint64_t amount, char text[TRIPCTL_TEXT_NUMBER])
{
	if (amount == TRIP_CLIENT_ANY)
		return "-";
	return (is_timed(work) ? tripctl_text_time : tripctl_text_exact)(amount, text);
}

static uint64_t
missing(const struct trip_client_work *work)
{
	if (work->threshold == TRIP_CLIENT_ANY)
		return TRIP_CLIENT_ANY;
	return work->threshold > work->sum ? work->threshold - work->sum : 0;
}

static void
say_when(struct tripctl_sheet *sheet, const struct trip_client_work *work)
{
	uint64_t to_go = missing(work);
	char text[3][TRIPCTL_TEXT_NUMBER];

	tripctl_sheet_number(sheet, NULL, "threshold", work->threshold);
	tripctl_sheet_number(sheet, NULL, "every", work->interval);
	tripctl_sheet_number(sheet, NULL, "to_go", to_go);
	tripctl_sheet_cell(sheet, "THRESHOLD", "%s", amount_of(work, work->threshold, text[0]));
	tripctl_sheet_cell(sheet, "EVERY", "%s",
		work->interval != 0 ? amount_of(work, work->interval, text[1]) : "-");
	tripctl_sheet_cell(sheet, "TO GO", "%s%s", is_timed(work) ? "in " : "",
		amount_of(work, to_go, text[2]));
}

static void
say_change(struct tripctl_sheet *sheet, const struct trip_client_work *work,
	const struct trip_op_info *op)
{
	char target[TRIPCTL_NAMES_MAX];

	tripctl_names_of_id(sheet->names, work->target, target);
	tripctl_sheet_text(sheet, NULL, "target", target);
	if (op->has_value) {
		tripctl_sheet_number(sheet, NULL, "value", work->value);
		tripctl_sheet_cell(sheet, "<DOES", "%s %s %" PRIu64, op->name, target, work->value);
	} else {
		tripctl_sheet_cell(sheet, "<DOES", "%s %s", op->name, target);
	}
}

static void
say_flow(struct tripctl_sheet *sheet, const struct trip_client_work *work,
	const struct trip_op_info *op)
{
	uint64_t lasts = op->has_time ? work->value : 0;
	char time[TRIPCTL_TEXT_NUMBER];

	tripctl_sheet_number(sheet, NULL, "flow", work->index);
	tripctl_sheet_number(sheet, NULL, "for_ns", unless_0(lasts));
	if (op->has_value) {
		tripctl_sheet_number(sheet, NULL, "value", work->value);
		tripctl_sheet_cell(sheet, "<DOES", "%s flow %" PRIu32 " %" PRIu64, op->name,
			work->index, work->value);
	} else {
		tripctl_sheet_cell(sheet, "<DOES", "%s flow %" PRIu32 "%s%s", op->name, work->index,
			lasts != 0 ? " for " : "",
			lasts != 0 ? tripctl_text_whole_time(lasts, time) : "");
	}
}

/* What is done when it fires, and to what; JSON has other keys for each kind of target. */
static void
say_what(struct tripctl_sheet *sheet, const struct trip_client_work *work)
{
	const struct trip_op_info op = op_of(work);
	const char *function = work->function[0] != 0 ? work->function : NULL;

	tripctl_sheet_text(sheet, NULL, "op", op.name);
	if (op.target == TRIP_OP_ON_CNTR) {
		say_change(sheet, work, &op);
	} else if (op.target == TRIP_OP_ON_FUNCTION) {
		tripctl_sheet_number(sheet, NULL, "function", work->index);
		tripctl_sheet_text(sheet, NULL, "function_name", function);
		if (function != NULL)
			tripctl_sheet_cell(sheet, "<DOES", "%s", function);
		else
			tripctl_sheet_cell(sheet, "<DOES", "call the primary's function %" PRIu32,
				work->index);
	} else {
		say_flow(sheet, work, &op);
	}
}

void
tripctl_members_work(struct tripctl_sheet *sheet, const void *record)
{
	const struct trip_client_work *work = record;
	char completion[TRIPCTL_NAMES_MAX];

	say_when(sheet, work);
	tripctl_sheet_number(sheet, "PID", "pid", work->pid);
	hex(sheet, "<ID", "id", work->id);
	say_trigger(sheet, work);
	say_what(sheet, work);
	tripctl_sheet_text(sheet, NULL, "completion", name_of(sheet, work->completion, completion));
	tripctl_sheet_json(sheet, "event", json_boolean((work->flags & TRIP_WORK_COMPLETION) != 0));
	tripctl_sheet_json(
		sheet, "coalesce", json_boolean((work->flags & TRIP_WORK_COALESCE) != 0));
	hex(sheet, NULL, "context", work->context);
}

/* ---- flows --------------------------------------------------------------------------------- */

/* Behind all else of its line, and of those alone that are policed or have been. */
static void
say_police(struct tripctl_sheet *sheet, const struct trip_client_flow *flow)
{
	static const char *const units[] = {
		[TRIP_POLICE_UNIT_BITS] = "bit/s",
		[TRIP_POLICE_UNIT_PACKETS] = "pps",
	};

	tripctl_sheet_number(sheet, NULL, "policed_packets", flow->policed_packets);
	tripctl_sheet_number(sheet, NULL, "policed_bytes", flow->policed_bytes);
	tripctl_sheet_number(sheet, NULL, "police_rate",
		flow->police_unit != 0 ? flow->police_rate : TRIP_CLIENT_ANY);
	tripctl_sheet_text(sheet, NULL, "police_unit",
		flow->police_unit != 0 ? WORD(units, flow->police_unit) : NULL);
}

void
tripctl_members_flow(struct tripctl_sheet *sheet, const void *record)
{
	static const char *const engines[] = {
		[TRIP_FLOW_ENGINE_HW] = "hw",
		[TRIP_FLOW_ENGINE_SW] = "sw",
	};
	static const char *const fates[] = {
		[TRIP_FLOW_FATE_PASS] = "pass",
		[TRIP_FLOW_FATE_DROP] = "drop",
		[TRIP_FLOW_FATE_DELETED] = "deleted",
		[TRIP_FLOW_FATE_LOST] = "lost",
		[TRIP_FLOW_FATE_POLICE] = "police",
	};
	static const char *const directions[] = {
		[TRIP_FLOW_INGRESS] = "ingress",
		[TRIP_FLOW_EGRESS] = "egress",
	};
	const struct trip_client_flow *flow = record;
	char name[2][TRIPCTL_NAMES_MAX];
	const char *packets = name_of(sheet, flow->packets_cntr, name[0]);
	const char *bytes = name_of(sheet, flow->bytes_cntr, name[1]);
	const char *either = packets != NULL ? packets : bytes;

	tripctl_sheet_number(sheet, "FLOW", "flow", flow->index);
	tripctl_sheet_number(sheet, NULL, "pid", flow->pid);
	tripctl_sheet_number(sheet, "PORT", "port", flow->port);
	tripctl_sheet_text(sheet, NULL, "direction", WORD(directions, flow->direction));
	tripctl_sheet_number(sheet, NULL, "group", flow->group);
	tripctl_sheet_number(sheet, NULL, "priority", flow->priority);
	tripctl_sheet_text(sheet, "<ENGINE", "engine", WORD(engines, flow->engine));
	tripctl_sheet_text(sheet, NULL, "reason", flow->reason);
	tripctl_sheet_text(sheet, "<FATE", "fate", WORD(fates, flow->fate));
	tripctl_sheet_number(sheet, "PACKETS", "packets", flow->packets);
	tripctl_sheet_number(sheet, "BYTES", "bytes", flow->bytes);
	tripctl_sheet_text(sheet, NULL, "packets_counter", packets);
	tripctl_sheet_text(sheet, NULL, "bytes_counter", bytes);
	tripctl_sheet_cell(sheet, "<COUNTER", "%s", either != NULL ? either : "-");
	tripctl_sheet_text(sheet, NULL, "pattern", flow->pattern);
	tripctl_sheet_cell(sheet, "<PATTERN", "%s%s",
		flow->direction == TRIP_FLOW_EGRESS ? "egress " : "", flow->pattern);
	tripctl_sheet_number(sheet, NULL, "queues", flow->queues);
	say_police(sheet, flow);
}

/* ---- processes ----------------------------------------------------------------------------- */

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

void
tripctl_members_process(struct tripctl_sheet *sheet, const void *record)
{
	static const char *const states[] = {
		[TRIP_CLIENT_PRIMARY] = "primary",
		[TRIP_CLIENT_ATTACHED] = "attached",
		[TRIP_CLIENT_LOST] = "lost",
		[TRIP_CLIENT_DROPPING] = "dropping",
		[TRIP_CLIENT_ORPHAN] = "orphan",
	};
	const struct trip_client_process *process = record;
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	uint64_t age = now > process->since_ns ? now - process->since_ns : 0;
	char text[TRIPCTL_TEXT_NUMBER], command[64];
	json_t *lcores = json_array();

	for (unsigned int i = 0; i < 8 * sizeof(process->lcores); i++)
		if ((process->lcores[i / 64] >> i % 64 & 1) != 0)
			json_array_append_new(lcores, json_integer(i));
	tripctl_sheet_number(sheet, "PID", "pid", process->pid);
	tripctl_sheet_number(sheet, "UID", "uid", process->uid);
	tripctl_sheet_text(sheet, "<STATE", "state", WORD(states, process->state));
	tripctl_sheet_number(sheet, NULL, "age_ns", age);
	tripctl_sheet_cell(sheet, "SINCE", "%s", tripctl_text_time(age, text));
	tripctl_sheet_number(sheet, "COUNTERS", "counters", process->cntrs);
	tripctl_sheet_number(sheet, "FOUND", "found", process->found);
	tripctl_sheet_number(sheet, "WORKS", "works", process->works);
	tripctl_sheet_number(sheet, "WAITERS", "waiters", process->waiters);
	tripctl_sheet_json(sheet, "lcores", lcores);
	tripctl_sheet_text(sheet, "<COMMAND", "command", command_of(process->pid, command));
}

/* ---- lcores and the domain ----------------------------------------------------------------- */

/* Of times its 99 % are in the table. */
static void
say_spread(struct tripctl_sheet *sheet, const char *heading, const char *name,
	const struct trip_client_spread *spread)
{
	const struct {
		const char *end;
		uint64_t value;
	} parts[] = {{"p50", spread->p50}, {"p90", spread->p90}, {"p99", spread->p99},
		{"p999", spread->p999}, {"most", spread->most}};
	/* What is the most of counts stands there by its old name. */
	size_t n = heading != NULL ? 5 : 4;
	char key[32], text[TRIPCTL_TEXT_NUMBER];

	for (size_t i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "%s_%s", name, parts[i].end);
		tripctl_sheet_number(sheet, NULL, key, parts[i].value);
	}
	if (heading != NULL)
		tripctl_sheet_cell(sheet, heading, "%s", tripctl_text_time(spread->p99, text));
}

void
tripctl_members_home(struct tripctl_sheet *sheet, const void *record)
{
	const struct trip_client_home *home = record;
	char longest[TRIPCTL_TEXT_NUMBER];
	double all = home->iterations > 0 ? (double)home->iterations : 1;

	tripctl_sheet_number(sheet, "HOME", "home", home->index);
	tripctl_sheet_number(
		sheet, "LCORE", "lcore", home->lcore == UINT32_MAX ? TRIP_CLIENT_ANY : home->lcore);
	tripctl_sheet_number(sheet, NULL, "accepted", home->accepted);
	tripctl_sheet_number(sheet, "PENDING", "pending", home->pending);
	tripctl_sheet_number(sheet, "FIRED", "fired", home->fired);
	tripctl_sheet_number(sheet, "CANCELED", "canceled", home->canceled);
	tripctl_sheet_number(sheet, "REFUSED", "refused", home->refused);
	tripctl_sheet_number(sheet, "WAKES", "wakes", home->wakes);
	tripctl_sheet_number(sheet, NULL, "iterations", home->iterations);
	tripctl_sheet_number(sheet, NULL, "busy_iterations", home->busy_iterations);
	tripctl_sheet_cell(sheet, "WITH WORK", "%.1f%%", 100 * (double)home->busy_iterations / all);
	tripctl_sheet_number(sheet, NULL, "longest_iteration_ns", home->longest_iteration_ns);
	tripctl_sheet_cell(
		sheet, "LONGEST", "%s", tripctl_text_time(home->longest_iteration_ns, longest));
	tripctl_sheet_number(sheet, "OVERSHOOT", "worst_overshoot", home->worst_overshoot);
	say_spread(sheet, NULL, "overshoot", &home->overshoot);
	say_spread(sheet, "FOUND P99", "detection_ns", &home->detection_ns);
	say_spread(sheet, "FIRED P99", "firing_ns", &home->firing_ns);
	tripctl_sheet_number(sheet, "REPAIRS", "scrub_repairs", home->scrub_repairs);
	tripctl_sheet_number(sheet, NULL, "events_lost", home->events_lost);
}

void
tripctl_members_domain(struct tripctl_sheet *sheet, const void *record)
{
	static const char *const progress[] = {
		[TRIP_PROGRESS_LCORE] = "lcore",
		[TRIP_PROGRESS_SERVICE] = "service",
		[TRIP_PROGRESS_MANUAL] = "manual",
	};
	const struct trip_client_domain *domain = record;

	tripctl_sheet_number(sheet, "PID", "pid", domain->pid);
	tripctl_sheet_number(sheet, "GENERATION", "generation", domain->generation);
	tripctl_sheet_number(sheet, "HOMES", "homes", domain->homes);
	tripctl_sheet_text(sheet, "<PROGRESS", "progress", WORD(progress, domain->progress));
	tripctl_sheet_number(sheet, "COUNTERS", "counters", domain->cntrs);
	tripctl_sheet_number(sheet, NULL, "max_counters", domain->max_cntrs);
	tripctl_sheet_number(sheet, NULL, "max_works", domain->max_works);
	tripctl_sheet_number(sheet, NULL, "max_waiters", domain->max_waiters);
	tripctl_sheet_number(sheet, NULL, "max_flows", domain->max_flows);
	tripctl_sheet_number(sheet, "PROCESSES", "processes", domain->processes);
	tripctl_sheet_number(sheet, NULL, "max_processes", domain->max_processes);
	tripctl_sheet_number(sheet, "COMMANDS", "commands", domain->commands);
	tripctl_sheet_number(sheet, "REFUSED", "commands_refused", domain->commands_refused);
	tripctl_sheet_json(sheet, "may_command", json_boolean(domain->may_command != 0));
	tripctl_sheet_text(sheet, "<VERSION", "version", domain->version);
	tripctl_sheet_text(sheet, "<PREFIX", "file_prefix", domain->prefix);
	tripctl_sheet_text(sheet, "<DOMAIN", "name", domain->name);
}
