/* SPDX-License-Identifier: BSD-3-Clause */
/* Work and flows, which name counters by id. */
#include <inttypes.h>

#include <trip_flow.h>
#include <trip_work.h>

#include "record_rule.h"
#include "text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

/* NULL: none. */
static const char *
condition_of(const struct trip_client_work *work)
{
	struct trip_condition_info info = {.size = sizeof(info)};

	if (work->condition == TRIP_CONDITION_NONE)
		return NULL;
	if (trip_condition_describe((enum trip_condition_kind)work->condition, &info) != 0)
		info.name = "?";
	return info.name;
}

static const char *
target_of(const struct trip_op_info *op)
{
	static const char *const words[] = {
		[TRIP_OP_ON_CNTR] = "counter",
		[TRIP_OP_ON_FLOW] = "flow",
		[TRIP_OP_ON_FUNCTION] = "function",
	};

	return tripctl_record_word(words, COUNT(words), op->target);
}

static uint64_t
to_go(const struct trip_client_work *work)
{
	return work->threshold > work->sum ? work->threshold - work->sum : 0;
}

/* When, in units of what triggers it. */
static void
when_cells(struct tripctl_table *table, const struct trip_client_work *work)
{
	char text[3][TRIPCTL_TEXT_NUMBER];
	bool clock = work->cntr == 0;
	const char *(*const say)(uint64_t, char *) = clock ? tripctl_text_time : tripctl_text_exact;

	tripctl_table_cell(table, "%s", say(work->threshold, text[0]));
	tripctl_table_cell(table, "%s", work->interval != 0 ? say(work->interval, text[1]) : "-");
	tripctl_table_cell(table, "%s%s", clock ? "in " : "", say(to_go(work), text[2]));
}

const char *const tripctl_record_work_titles[] = {
	"THRESHOLD", "EVERY", "TO GO", "PID", "<ID", "<COUNTER", "<DOES", NULL};

void
tripctl_record_work_row(
	struct tripctl_table *table, const struct tripctl_names *names, const void *record)
{
	const struct trip_client_work *work = record;
	const struct trip_op_info op = op_of(work);
	const char *condition = condition_of(work);
	char name[TRIPCTL_NAMES_MAX], target[TRIPCTL_NAMES_MAX];

	when_cells(table, work);
	tripctl_table_cell(table, "%" PRIu32, work->pid);
	tripctl_table_cell(table, "0x%" PRIx64, work->id);
	tripctl_table_cell(table, "%s%s%s",
		work->cntr != 0 ? tripctl_names_of_id(names, work->cntr, name) : "(clock)",
		condition != NULL ? " " : "", condition != NULL ? condition : "");
	if (op.target == TRIP_OP_ON_CNTR)
		tripctl_table_cell(table, "%s %s %" PRIu64, op.name,
			tripctl_names_of_id(names, work->target, target), work->value);
	else if (work->function[0] != 0)
		tripctl_table_cell(table, "%s", work->function);
	else if (op.target == TRIP_OP_ON_FUNCTION)
		tripctl_table_cell(table, "call the primary's function %" PRIu32, work->index);
	else
		tripctl_table_cell(table, "%s %s %" PRIu32, op.name, target_of(&op), work->index);
}

static void
put_name(json_t *object, const char *key, const struct tripctl_names *names, uint64_t id)
{
	char name[TRIPCTL_NAMES_MAX];

	if (id != 0)
		tripctl_record_put_text(object, key, tripctl_names_of_id(names, id, name));
	else
		tripctl_record_put(object, key, json_null());
}

json_t *
tripctl_record_work_json(const struct tripctl_names *names, const void *record)
{
	const struct trip_client_work *work = record;
	const struct trip_op_info op = op_of(work);
	json_t *object = json_object();

	tripctl_record_put_id(object, "id", work->id);
	tripctl_record_put_number(object, "pid", work->pid);
	put_name(object, "counter", names, work->cntr);
	tripctl_record_put_number(object, "threshold", work->threshold);
	tripctl_record_put_number(object, "every", work->interval);
	tripctl_record_put_number(object, "to_go", to_go(work));
	if (condition_of(work) != NULL)
		tripctl_record_put_text(object, "condition", condition_of(work));
	else
		tripctl_record_put(object, "condition", json_null());
	tripctl_record_put_text(object, "op", op.name);
	if (op.target == TRIP_OP_ON_CNTR) {
		put_name(object, "target", names, work->target);
		tripctl_record_put_number(object, "value", work->value);
	} else {
		tripctl_record_put_number(object, target_of(&op), work->index);
	}
	if (work->function[0] != 0)
		tripctl_record_put_text(object, "function_name", work->function);
	else if (op.target == TRIP_OP_ON_FUNCTION)
		tripctl_record_put(object, "function_name", json_null());
	put_name(object, "completion", names, work->completion);
	tripctl_record_put(
		object, "event", json_boolean((work->flags & TRIP_WORK_COMPLETION) != 0));
	tripctl_record_put(
		object, "coalesce", json_boolean((work->flags & TRIP_WORK_COALESCE) != 0));
	tripctl_record_put(object, "context", json_sprintf("0x%" PRIx64, work->context));
	return object;
}

/* ---- flows --------------------------------------------------------------------------------- */

static const char *const engine_words[] = {
	[TRIP_FLOW_ENGINE_HW] = "hw",
	[TRIP_FLOW_ENGINE_SW] = "sw",
};
static const char *const fate_words[] = {
	[TRIP_FLOW_FATE_PASS] = "pass",
	[TRIP_FLOW_FATE_DROP] = "drop",
	[TRIP_FLOW_FATE_DELETED] = "deleted",
	[TRIP_FLOW_FATE_LOST] = "lost",
};
static const char *const direction_words[] = {
	[TRIP_FLOW_INGRESS] = "ingress",
	[TRIP_FLOW_EGRESS] = "egress",
};

const char *const tripctl_record_flow_titles[] = {
	"FLOW", "PORT", "<ENGINE", "<FATE", "PACKETS", "BYTES", "<COUNTER", "<PATTERN", NULL};

void
tripctl_record_flow_row(
	struct tripctl_table *table, const struct tripctl_names *names, const void *record)
{
	const struct trip_client_flow *flow = record;
	uint64_t cntr = flow->packets_cntr != 0 ? flow->packets_cntr : flow->bytes_cntr;
	char name[TRIPCTL_NAMES_MAX];

	tripctl_table_cell(table, "%" PRIu32, flow->index);
	tripctl_table_cell(table, "%" PRIu32, flow->port);
	tripctl_table_cell(
		table, "%s", tripctl_record_word(engine_words, COUNT(engine_words), flow->engine));
	tripctl_table_cell(
		table, "%s", tripctl_record_word(fate_words, COUNT(fate_words), flow->fate));
	tripctl_table_cell(table, "%" PRIu64, flow->packets);
	tripctl_table_cell(table, "%" PRIu64, flow->bytes);
	tripctl_table_cell(table, "%s", cntr != 0 ? tripctl_names_of_id(names, cntr, name) : "-");
	tripctl_table_cell(
		table, "%s%s", flow->direction == TRIP_FLOW_EGRESS ? "egress " : "", flow->pattern);
}

json_t *
tripctl_record_flow_json(const struct tripctl_names *names, const void *record)
{
	const struct trip_client_flow *flow = record;
	json_t *object = json_object();

	tripctl_record_put_number(object, "flow", flow->index);
	tripctl_record_put_number(object, "pid", flow->pid);
	tripctl_record_put_number(object, "port", flow->port);
	tripctl_record_put_text(object, "direction",
		tripctl_record_word(direction_words, COUNT(direction_words), flow->direction));
	tripctl_record_put_number(object, "group", flow->group);
	tripctl_record_put_number(object, "priority", flow->priority);
	tripctl_record_put_text(object, "pattern", flow->pattern);
	tripctl_record_put_text(object, "engine",
		tripctl_record_word(engine_words, COUNT(engine_words), flow->engine));
	tripctl_record_put_text(object, "reason", flow->reason);
	tripctl_record_put_text(
		object, "fate", tripctl_record_word(fate_words, COUNT(fate_words), flow->fate));
	tripctl_record_put_number(object, "packets", flow->packets);
	tripctl_record_put_number(object, "bytes", flow->bytes);
	put_name(object, "packets_counter", names, flow->packets_cntr);
	put_name(object, "bytes_counter", names, flow->bytes_cntr);
	tripctl_record_put_number(object, "queues", flow->queues);
	return object;
}
