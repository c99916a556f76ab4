/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements as flows and deferred work. Each firing adds 1 to a counter of our own, the tick,
 * whose descriptor is all there is to wait for: an operation on a counter by a second item behind
 * it, of the same threshold; one on flows by its completion, for a flow's hardware does later what
 * it is asked for. So the tick says how many events there are to be read, at once or in a moment.
 * Functions run in the primary, so what `log` does is nothing, with an event, and one of its end.
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>

#include "apply/port.h"
#include "apply/when.h"
#include "attach.h"
#include "base/record.h"
#include "when.h"

/* Context of the items that add to the tick. */
#define NOBODY UINT64_MAX

/* ---- counters ------------------------------------------------------------------------------ */

/* Finds a counter where `cntr` is wanted and not found yet. */
static int
find(struct tripctl_when *when, const char *name, const char *tail, struct trip_cntr **cntr)
{
	char full[TRIP_RULES_NAME_MAX + 16];
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .name = full};
	int error;

	if (*cntr != NULL)
		return 0;
	snprintf(full, sizeof(full), "%s%s", name, tail);
	error = trip_cntr_find(when->domain, &attr, cntr, NULL);
	return error != 0 ? tripctl_attach_fail(error) : 0;
}

static bool
is_own(const struct tripctl_when *when, const struct trip_rules_count *rule)
{
	return rule->line <= when->statement.lines;
}

static int
find_trigger(struct tripctl_when *when, enum trip_rules_ref ref, unsigned int index,
	struct trip_cntr **cntr)
{
	const struct trip_rules *rules = when->statement.rules;
	bool packets = ref == TRIP_RULES_REF_PACKETS;
	struct trip_cntr **place;
	int error;

	if (ref == TRIP_RULES_REF_CLOCK) {
		*cntr = trip_clock_cntr(when->domain);
		return 0;
	}
	if (ref == TRIP_RULES_REF_COUNTER) {
		place = &when->counters[index];
		error = find(when, rules->counters[index].name, "", place);
	} else if (is_own(when, &rules->counts[index])) {
		place = packets ? &when->counts[index].applied.packets
				: &when->counts[index].applied.bytes;
		error = 0;
	} else {
		place = packets ? &when->packets[index] : &when->bytes[index];
		error = find(
			when, rules->counts[index].name, packets ? ".packets" : ".bytes", place);
	}
	*cntr = *place;
	return error;
}

/* What it cannot find it has said. */
static struct trip_cntr *
find_of_pair(void *arg, const struct trip_rules_pair *pair)
{
	struct trip_cntr *cntr = NULL;

	return find_trigger(arg, pair->ref, pair->index, &cntr) == 0 ? cntr : NULL;
}

/* ---- flows of this process ----------------------------------------------------------------- */

/* Whether it is such that this process can have it: 0, or the exit code, with the reason said. */
static int
check_count(const struct trip_rules_count *rule)
{
	if (rule->ports[0].by == TRIP_RULES_PORT_ANY)
		return tripctl_complain(TRIPCTL_EXIT_USAGE,
			"count %s: which ports the primary has is not known here: they may be "
			"called by "
			"their numbers, as in port 0,1",
			rule->name);
	if ((rule->actions & TRIP_RULES_ACTION_RSS) != 0)
		return tripctl_complain(TRIPCTL_EXIT_USAGE,
			"count %s: the action rss takes the port's queues, which the primary "
			"knows; without it packets go there too",
			rule->name);
	return 0;
}

/* On one of its ports. Likewise. */
static int
open_port(struct tripctl_count *count, struct trip_domain *domain,
	const struct trip_rules_count *rule, const struct trip_rules_port *named)
{
	struct trip_apply_place place = {0};
	const char *why;
	uint16_t port, other;
	int error;

	if (named->by == TRIP_RULES_PORT_INTERFACE && if_nametoindex(named->name) == 0)
		return tripctl_complain(TRIPCTL_EXIT_USAGE,
			"count %s: there is no network interface %s", rule->name, named->name);
	/* Of PCI devices only the primary has the driver. */
	if (!trip_apply_port(named, &port))
		return tripctl_complain(TRIPCTL_EXIT_USAGE,
			"count %s: which port that is, is not known here: it may be called by its "
			"number",
			rule->name);
	/* Two words for one. */
	for (const struct trip_rules_port *before = rule->ports; before < named; before++)
		if (trip_apply_port(before, &other) && other == port)
			return 0;
	error = trip_port_find(domain, port, &place.port);
	if (error != 0)
		return tripctl_attach_fail(error);
	count->ports[count->n_ports++] = place.port;
	error = trip_apply_count_add(&count->applied, rule, &place, &why);
	if (error == 0)
		return 0;
	if (error == -ESHUTDOWN || why == NULL)
		return tripctl_attach_fail(error);
	return tripctl_complain(TRIPCTL_EXIT_RUN, "count %s: %s", rule->name, why);
}

/* Likewise; close in any case. */
static int
open_count(struct tripctl_count *count, struct trip_domain *domain,
	const struct trip_rules_count *rule)
{
	int error = trip_apply_count_open(&count->applied, domain, rule);

	if (error != 0)
		return tripctl_attach_fail(error);
	for (unsigned int i = 0; i < rule->n_ports && error == 0; i++)
		error = open_port(count, domain, rule, &rule->ports[i]);
	return error;
}

void
tripctl_count_tell(
	const struct tripctl_count *count, const struct trip_rules_count *rule, bool json)
{
	struct trip_flow_count sum = {.size = sizeof(sum)};
	json_t *object;

	if (count->applied.n_flows == 0 || trip_apply_count_query(&count->applied, &sum) != 0)
		return;
	if (!json) {
		printf("%s: %" PRIu64 " packets, %" PRIu64 " bytes\n", rule->name, sum.packets,
			sum.bytes);
		return;
	}
	object = json_object();
	tripctl_record_put_text(object, "count", rule->name);
	tripctl_record_put_number(object, "packets", sum.packets);
	tripctl_record_put_number(object, "bytes", sum.bytes);
	tripctl_record_put_text(object, "engine",
		sum.engine == TRIP_FLOW_ENGINE_HW   ? "hw"
		: sum.engine == TRIP_FLOW_ENGINE_SW ? "sw"
						    : "both");
	tripctl_record_write(object);
}

void
tripctl_count_close(struct tripctl_count *count)
{
	(void)trip_apply_count_close(&count->applied);
	for (unsigned int i = 0; i < count->n_ports; i++)
		(void)trip_port_close(count->ports[i]);
}

/* ---- work ---------------------------------------------------------------------------------- */

/* 0, or the exit code. */
static int
queue(void *arg, const struct trip_work *work)
{
	const struct tripctl_when *when = arg;
	int error = trip_work_queue(when->domain, work, NULL);

	return error != 0 ? tripctl_attach_fail(error) : 0;
}

int
tripctl_when_check(const struct tripctl_when *when)
{
	const struct trip_rules *rules = when->statement.rules;
	int error = 0;

	for (unsigned int i = 0; i < rules->n_counts && error == 0; i++)
		if (is_own(when, &rules->counts[i]))
			error = check_count(&rules->counts[i]);
	for (unsigned int i = 0; i < rules->n_counters && error == 0; i++)
		if (rules->counters[i].line <= when->statement.lines)
			error = tripctl_complain(TRIPCTL_EXIT_USAGE,
				"%s %s: one that ends with this command is of no use to it",
				rules->counters[i].quota != NULL ? "quota" : "counter",
				rules->counters[i].name);
	for (unsigned int i = 0; i < rules->n_whens && error == 0; i++)
		if (rules->whens[i].op == TRIP_RULES_OP_EXEC)
			error = tripctl_complain(TRIPCTL_EXIT_USAGE,
				"exec %s: it is tripd that starts programs, by its rules",
				rules->whens[i].text);
		else if (rules->whens[i].on_count &&
			 !is_own(when, &rules->counts[rules->whens[i].target]))
			error = tripctl_complain(TRIPCTL_EXIT_USAGE,
				"%s %s: its flows are another process's, which alone can do that",
				trip_rules_op_of(rules->whens[i].op)->word,
				rules->counts[rules->whens[i].target].name);
	return error;
}

/* What it acts on: a counter of another process has to be found; `log` has the tick. */
static int
find_target(struct tripctl_when *when, const struct trip_rules_when *rule,
	struct trip_apply_when *found)
{
	enum trip_op_target target = trip_rules_op_of(rule->op)->target;
	int error = 0;

	if (rule->on_count) {
		found->count = &when->counts[rule->target].applied;
	} else if (target == TRIP_OP_ON_FUNCTION) {
		found->cntr = when->tick;
	} else {
		error = find(when, when->statement.rules->counters[rule->target].name, "",
			&when->counters[rule->target]);
		found->cntr = when->counters[rule->target];
	}
	return error;
}

/* Among equals the first queued fires first, so its event is there when the tick has counted. */
static int
queue_tick(struct tripctl_when *when, const struct trip_apply_when *behind)
{
	struct trip_work work = {
		.size = sizeof(work),
		.op_type = TRIP_OP_CNTR_ADD,
		.context = NOBODY,
		.op.cntr = {.cntr = when->tick, .value = 1},
	};
	struct trip_apply_condition condition;
	int error = trip_apply_when_trigger(behind, &condition, &work);

	return error != 0 ? error : queue(when, &work);
}

/* The tick stands on it, too. */
static int
open_gate(struct tripctl_when *when, unsigned int index, struct trip_cntr **gate)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr)};
	int error = trip_cntr_open(when->domain, &attr, &when->gates[index], NULL);

	*gate = when->gates[index];
	return error != 0 ? tripctl_attach_fail(error) : 0;
}

static int
queue_when(struct tripctl_when *when, unsigned int index)
{
	const struct trip_rules_when *rule = &when->statement.rules->whens[index];
	struct trip_apply_when work = {
		.rule = rule,
		.since = when->since,
		.context = index,
		.flows_done = when->tick,
		.find = find_of_pair,
		.queue = queue,
		.arg = when,
	};
	int error = rule->pairs != NULL ? open_gate(when, index, &work.gate)
					: find_trigger(when, rule->ref, rule->index, &work.trigger);

	if (error == 0)
		error = find_target(when, rule, &work);
	if (error == 0)
		error = trip_apply_when(&work);
	if (error == 0 && work.count == NULL)
		error = queue_tick(when, &work);
	return error == -ENOENT ? TRIPCTL_EXIT_NONE : error;
}

int
tripctl_when_open(struct tripctl_when *when)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_FD};
	const struct trip_rules *rules = when->statement.rules;
	int error = trip_cntr_open(when->domain, &attr, &when->tick, NULL);

	if (error != 0)
		return tripctl_attach_fail(error);
	for (unsigned int i = 0; error == 0 && i < rules->n_counts; i++)
		if (is_own(when, &rules->counts[i]))
			error = open_count(&when->counts[i], when->domain, &rules->counts[i]);
	when->since = trip_cntr_read(trip_clock_cntr(when->domain));
	when->stays = rules->n_whens == 0;
	for (unsigned int i = 0; error == 0 && i < rules->n_whens; i++) {
		error = queue_when(when, i);
		when->stays |= rules->whens[i].every != 0;
		when->left += rules->whens[i].every == 0;
		when->ends |= trip_apply_when_ends(&rules->whens[i]);
	}
	return error;
}
