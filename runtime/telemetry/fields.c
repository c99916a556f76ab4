/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of each record: the names are those that tripctl --json has. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#include <trip_cntr.h>
#include <trip_each.h>
#include <trip_flow.h>
#include <trip_work.h>

#include "telemetry/fields.h"

/* A number of 32 or of 64 bits; one that may be none (TRIP_CLIENT_ANY, or 0), and is left out
 * then; likewise an id, as text, for not all of its bits fit the numbers of whoever reads JSON, and
 * a text; or an enum as its word. */
struct field {
	const char *name;
	uint32_t offset;
	enum { U32, U64, UNLESS_ANY, UNLESS_0, ID, TEXT, WORD } type;
	const char *const *words;
	uint32_t n_words;
};

#define FIELD(of, member, name, type)                                 \
	{                                                             \
		name, offsetof(struct trip_client_##of, member), type \
	}
#define WORDS(of, member, name, words)                                                       \
	{                                                                                    \
		name, offsetof(struct trip_client_##of, member), WORD, words, RTE_DIM(words) \
	}

/* Of flows, and of statements that count by keys. */
static const char *const directions[] = {
	[TRIP_FLOW_INGRESS] = "ingress",
	[TRIP_FLOW_EGRESS] = "egress",
};

int
trip_telemetry_u64(struct rte_tel_data *dict, const char *name, uint64_t value)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
	return rte_tel_data_add_dict_uint(dict, name, value);
#else
	return rte_tel_data_add_dict_u64(dict, name, value);
#endif
}

int
trip_telemetry_text(struct rte_tel_data *dict, const char *name, const char *text)
{
	char plain[RTE_TEL_MAX_STRING_LEN];
	size_t n = strnlen(text, sizeof(plain));
	bool fits = n < sizeof(plain);

	snprintf(plain, sizeof(plain), "%.*s%s", (int)(fits ? n : sizeof(plain) - 4), text,
		fits ? "" : "...");
	for (char *c = plain; *c != 0; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
	return rte_tel_data_add_dict_string(dict, name, plain);
}

static int
say_word(struct rte_tel_data *dict, const struct field *field, uint64_t value)
{
	bool known = value < field->n_words && field->words[value] != NULL;

	return trip_telemetry_text(dict, field->name, known ? field->words[value] : "?");
}

static int
say_id(struct rte_tel_data *dict, const struct field *field, uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, id);
	return id == 0 ? 0 : trip_telemetry_text(dict, field->name, text);
}

static int
say_field(struct rte_tel_data *dict, const struct field *field, const void *record)
{
	const char *at = (const char *)record + field->offset;
	uint64_t number = 0;

	if (field->type == TEXT)
		return at[0] == 0 ? 0 : trip_telemetry_text(dict, field->name, at);
	if (field->type == U32 || field->type == WORD)
		number = *(const uint32_t *)at;
	else
		memcpy(&number, at, sizeof(number));
	if (field->type == WORD)
		return say_word(dict, field, number);
	if (field->type == ID)
		return say_id(dict, field, number);
	if ((field->type == UNLESS_ANY && number == TRIP_CLIENT_ANY) ||
		(field->type == UNLESS_0 && number == 0))
		return 0;
	return trip_telemetry_u64(dict, field->name, number);
}

static int
say_fields(
	struct rte_tel_data *dict, const struct field *fields, unsigned int n, const void *record)
{
	int error = 0;

	for (unsigned int i = 0; i < n && error == 0; i++)
		error = say_field(dict, &fields[i], record);
	return error;
}

static int
say_domain(struct rte_tel_data *dict, const void *record)
{
	static const struct field fields[] = {
		FIELD(domain, name, "name", TEXT),
		FIELD(domain, prefix, "file_prefix", TEXT),
		FIELD(domain, version, "version", TEXT),
		FIELD(domain, pid, "pid", U32),
		FIELD(domain, generation, "generation", U64),
		FIELD(domain, homes, "lcores", U32),
		FIELD(domain, cntrs, "counters", U32),
		FIELD(domain, max_cntrs, "max_counters", U32),
		FIELD(domain, max_works, "max_works", U32),
		FIELD(domain, max_waiters, "max_waiters", U32),
		FIELD(domain, max_flows, "max_flows", U32),
		FIELD(domain, processes, "processes", U32),
		FIELD(domain, max_processes, "max_processes", U32),
		FIELD(domain, commands, "commands", U64),
		FIELD(domain, commands_refused, "commands_refused", U64),
	};

	return say_fields(dict, fields, RTE_DIM(fields), record);
}

static int
say_cntr(struct rte_tel_data *dict, const void *record)
{
	static const char *const events[] = {
		[TRIP_CNTR_EVENTS_COMP] = "completions",
		[TRIP_CNTR_EVENTS_BYTES] = "bytes",
	};
	static const struct field fields[] = {
		FIELD(cntr, id, "id", ID),
		FIELD(cntr, name, "name", TEXT),
		FIELD(cntr, success, "success", U64),
		FIELD(cntr, error, "error", U64),
		FIELD(cntr, next, "next", UNLESS_ANY),
		WORDS(cntr, events, "events", events),
		FIELD(cntr, age_ns, "age_ns", U64),
		FIELD(cntr, home, "home", U32),
		FIELD(cntr, pid, "pid", U32),
		FIELD(cntr, users, "users", U32),
		FIELD(cntr, flows, "flows", U32),
	};

	return say_fields(dict, fields, RTE_DIM(fields), record);
}

static int
say_work(struct rte_tel_data *dict, const void *record)
{
	static const struct field fields[] = {
		FIELD(work, id, "id", ID),
		FIELD(work, context, "context", ID),
		FIELD(work, cntr, "counter", ID),
		FIELD(work, sum, "sum", U64),
		FIELD(work, threshold, "threshold", UNLESS_ANY),
		FIELD(work, interval, "every", U64),
		FIELD(work, condition_time, "condition_ns", UNLESS_0),
		FIELD(work, condition_count, "condition_count", UNLESS_0),
		FIELD(work, condition_until_time, "condition_until_ns", UNLESS_0),
		FIELD(work, condition_until_count, "condition_until_count", UNLESS_0),
		FIELD(work, value, "value", U64),
		FIELD(work, target, "target", ID),
		FIELD(work, index, "index", U32),
		FIELD(work, completion, "completion", ID),
		FIELD(work, flags, "flags", U32),
		FIELD(work, pid, "pid", U32),
	};
	const struct trip_client_work *work = record;
	struct trip_op_info op = {.size = sizeof(op)};
	struct trip_condition_info condition = {.size = sizeof(condition)};
	int error = say_fields(dict, fields, RTE_DIM(fields), record);

	if (error == 0)
		error = trip_telemetry_text(dict, "op",
			trip_op_describe((enum trip_op)work->op, &op) == 0 ? op.name : "?");
	if (error == 0 && work->condition != TRIP_CONDITION_NONE)
		error = trip_telemetry_text(dict, "condition",
			trip_condition_describe(
				(enum trip_condition_kind)work->condition, &condition) == 0
				? condition.name
				: "?");
	if (error == 0 && work->function[0] != 0)
		error = trip_telemetry_text(dict, "function_name", work->function);
	return error;
}

static int
say_flow(struct rte_tel_data *dict, const void *record)
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
	static const struct field fields[] = {
		FIELD(flow, index, "flow", U32),
		FIELD(flow, pid, "pid", U32),
		FIELD(flow, port, "port", U32),
		FIELD(flow, queues, "queues", U32),
		WORDS(flow, direction, "direction", directions),
		FIELD(flow, group, "group", U32),
		FIELD(flow, priority, "priority", U32),
		WORDS(flow, engine, "engine", engines),
		FIELD(flow, reason, "reason", TEXT),
		WORDS(flow, fate, "fate", fates),
		FIELD(flow, packets, "packets", U64),
		FIELD(flow, bytes, "bytes", U64),
		FIELD(flow, policed_packets, "policed_packets", U64),
		FIELD(flow, policed_bytes, "policed_bytes", U64),
		FIELD(flow, packets_cntr, "packets_counter", ID),
		FIELD(flow, bytes_cntr, "bytes_counter", ID),
		FIELD(flow, pattern, "pattern", TEXT),
	};

	return say_fields(dict, fields, RTE_DIM(fields), record);
}

static int
say_process(struct rte_tel_data *dict, const void *record)
{
	static const char *const states[] = {
		[TRIP_CLIENT_PRIMARY] = "primary",
		[TRIP_CLIENT_ATTACHED] = "attached",
		[TRIP_CLIENT_LOST] = "lost",
		[TRIP_CLIENT_DROPPING] = "dropping",
		[TRIP_CLIENT_ORPHAN] = "orphan",
	};
	static const struct field fields[] = {
		FIELD(process, pid, "pid", U32),
		FIELD(process, uid, "uid", U32),
		WORDS(process, state, "state", states),
		FIELD(process, cntrs, "counters", U32),
		FIELD(process, found, "found", U32),
		FIELD(process, waiters, "waiters", U32),
		FIELD(process, works, "works", U32),
		FIELD(process, since_ns, "since_ns", U64),
	};

	return say_fields(dict, fields, RTE_DIM(fields), record);
}

static int
say_home(struct rte_tel_data *dict, const void *record)
{
	static const struct field fields[] = {
		FIELD(home, index, "home", U32),
		FIELD(home, accepted, "accepted", U64),
		FIELD(home, fired, "fired", U64),
		FIELD(home, canceled, "canceled", U64),
		FIELD(home, refused, "refused", U64),
		FIELD(home, pending, "pending", U64),
		FIELD(home, iterations, "iterations", U64),
		FIELD(home, busy_iterations, "busy_iterations", U64),
		FIELD(home, longest_iteration_ns, "longest_iteration_ns", U64),
		FIELD(home, wakes, "wakes", U64),
		FIELD(home, scrub_repairs, "scrub_repairs", U64),
		FIELD(home, events_lost, "events_lost", U64),
		FIELD(home, worst_overshoot, "worst_overshoot", U64),
		FIELD(home, overshoot.p50, "overshoot_p50", U64),
		FIELD(home, overshoot.p90, "overshoot_p90", U64),
		FIELD(home, overshoot.p99, "overshoot_p99", U64),
		FIELD(home, overshoot.p999, "overshoot_p999", U64),
		FIELD(home, firing_ns.p50, "firing_ns_p50", U64),
		FIELD(home, firing_ns.p90, "firing_ns_p90", U64),
		FIELD(home, firing_ns.p99, "firing_ns_p99", U64),
		FIELD(home, firing_ns.p999, "firing_ns_p999", U64),
		FIELD(home, firing_ns.most, "firing_ns_most", U64),
		FIELD(home, detection_ns.p50, "detection_ns_p50", U64),
		FIELD(home, detection_ns.p90, "detection_ns_p90", U64),
		FIELD(home, detection_ns.p99, "detection_ns_p99", U64),
		FIELD(home, detection_ns.p999, "detection_ns_p999", U64),
		FIELD(home, detection_ns.most, "detection_ns_most", U64),
	};
	const struct trip_client_home *home = record;
	int error = say_fields(dict, fields, RTE_DIM(fields), record);

	/* Where nobody of EAL's polls it, the application does. */
	return error == 0 && home->lcore != UINT32_MAX
		       ? trip_telemetry_u64(dict, "lcore", home->lcore)
		       : error;
}

static int
say_each(struct rte_tel_data *dict, const void *record)
{
	static const struct field fields[] = {
		FIELD(each, name, "name", TEXT),
		FIELD(each, fields, "fields", TEXT),
		WORDS(each, direction, "direction", directions),
		FIELD(each, keys, "keys", U64),
		FIELD(each, max, "max", U32),
		FIELD(each, tables, "queues", U32),
		FIELD(each, idle_us, "idle_us", U64),
		FIELD(each, packets, "packets", U64),
		FIELD(each, bytes, "bytes", U64),
		FIELD(each, remainder_packets, "remainder_packets", U64),
		FIELD(each, remainder_bytes, "remainder_bytes", U64),
		FIELD(each, refused_packets, "refused_packets", U64),
		FIELD(each, refused_bytes, "refused_bytes", U64),
		FIELD(each, held, "held", U64),
		FIELD(each, dropped_packets, "dropped_packets", U64),
		FIELD(each, dropped_bytes, "dropped_bytes", U64),
		FIELD(each, admitted, "admitted", U64),
		FIELD(each, evicted, "evicted", U64),
		FIELD(each, expired, "expired", U64),
		FIELD(each, floor, "floor", U64),
		FIELD(each, table_bytes, "memory", U64),
	};

	return say_fields(dict, fields, RTE_DIM(fields), record);
}

#define KIND(word, help, name, kind, of, page)                           \
	{                                                                \
		"/tripline/" word, help ". [DOMAIN][,FROM]", name, kind, \
			sizeof(struct trip_client_##of), page, say_##of  \
	}

/* A page fits its answer with every number and text as long as they may be: the test counts. */
const struct trip_telemetry_kind trip_telemetry_kinds[TRIP_TELEMETRY_KINDS] = {
	KIND("domain", "A domain and its sizes", "domains", TRIP_CLIENT_DOMAIN, domain, 1),
	KIND("cntr", "Counters", "counters", TRIP_CLIENT_CNTR, cntr, 32),
	KIND("work", "Pending work", "works", TRIP_CLIENT_WORK, work, 20),
	KIND("flow", "Counted flows", "flows", TRIP_CLIENT_FLOW, flow, 16),
	KIND("proc", "Processes", "processes", TRIP_CLIENT_PROCESS, process, 48),
	KIND("lcore", "Polling lcores", "lcores", TRIP_CLIENT_HOME, home, 16),
	KIND("each", "Counters by keys", "each", TRIP_CLIENT_EACH, each, 16),
};

_Static_assert(sizeof(struct trip_client_flow) <= TRIP_TELEMETRY_RECORD_MAX &&
		       sizeof(struct trip_client_each) <= TRIP_TELEMETRY_RECORD_MAX,
	"they are records");
