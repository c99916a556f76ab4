/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of each flow, and what it has to have counted. */
#include <string.h>

#include "domain/domain.h"
#include "flow/flow.h"
#include "flow/port.h"
#include "primary/process.h"
#include "primary/server.h"
#include "processes_rules.h"
#include "soft.h"
#include "source.h"

#define BURSTS 64

static struct {
	struct rule all[RULES];
	unsigned int n;
	struct burst bursts[BURSTS];
} rules;

int __real_trip_flow_attach(struct trip_flow *flow, const struct trip_flow_attr *attr);
int __wrap_trip_flow_attach(struct trip_flow *flow, const struct trip_flow_attr *attr);
void __real_trip_flow_detach(struct trip_flow *flow);
void __wrap_trip_flow_detach(struct trip_flow *flow);

void
processes_rules_begin(void)
{
	memset(&rules, 0, sizeof(rules));
}

static unsigned int
number_of(const struct rule *rule)
{
	return (unsigned int)(rule - rules.all);
}

static struct rule *
find(uint64_t opening, uint32_t index)
{
	for (unsigned int i = rules.n; i > 0; i--) {
		struct rule *rule = &rules.all[i - 1];

		if (rule->alive && rule->opening == opening && rule->index == index)
			return rule;
	}
	return NULL;
}

unsigned int
processes_rules_alive(uint64_t opening)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < rules.n; i++)
		n += rules.all[i].alive && rules.all[i].opening == opening;
	return n;
}

/* --- how each comes and goes --- */

static void
meet(struct burst *burst, struct rule *rule)
{
	burst->met[number_of(rule)] = true;
	rule->high += burst->n;
	if (rule->ledger != NULL)
		rule->ledger->bursts++;
}

/* Also by bursts that are under way. */
static struct rule *
add_rule(uint64_t opening, uint32_t index, struct ledger *ledger)
{
	struct rule *rule = &rules.all[rules.n];

	sim_expect(find(opening, index) == NULL, "a flow has index %u, which is that of another",
		index);
	if (rules.n == RULES)
		sim_fail("more flows than there is room for");
	rules.n++;
	*rule = (struct rule){.opening = opening, .index = index, .alive = true, .ledger = ledger};
	for (unsigned int i = 0; i < BURSTS; i++)
		if (rules.bursts[i].process != NULL && rules.bursts[i].opening == opening &&
			sim_process_lives(rules.bursts[i].process))
			meet(&rules.bursts[i], rule);
	for (uint32_t i = 0; i <= CLIENTS; i++) {
		struct user *user = &processes.users[i];

		if (user->opening == opening && user->most_flows < processes_rules_alive(opening))
			user->most_flows = processes_rules_alive(opening);
	}
	return rule;
}

int
__wrap_trip_flow_attach(struct trip_flow *flow, const struct trip_flow_attr *attr)
{
	uint64_t opening = flow->port->domain->engine.base_tsc;
	struct ledger *ledger =
		attr->n_cntrs > 0 ? processes_ledger_of(opening, attr->cntrs[0]->id) : NULL;
	struct rule *rule = add_rule(opening, flow->index, ledger);
	int error;

	if (ledger != NULL)
		ledger->fed = true;
	error = __real_trip_flow_attach(flow, attr);
	if (error != 0)
		rule->alive = false;
	return error;
}

struct rule *
processes_rule_made(const struct user *user, uint32_t index)
{
	struct rule *rule = find(user->opening, index);

	/* A primary that has been killed since is asked no more. */
	sim_expect(rule != NULL || user->opening != processes.opening,
		"%s has created a flow, and there is none", user->name);
	if (rule != NULL)
		rule->process = user->process;
	return rule;
}

void
processes_rules_leave(const struct user *user)
{
	for (unsigned int i = 0; i < rules.n; i++)
		if (rules.all[i].process == user->process)
			rules.all[i].ending = true;
}

static uint64_t
count(const struct trip_engine *engine, const struct rule *rule, bool folded)
{
	bool looks = sim_look(true);
	uint64_t n = 0;

	for (uint32_t q = 0; q < engine->n_queues; q++)
		n += folded ? atomic_load(&trip_engine_folded(engine, q, rule->index)
						   ->of[TRIP_COUNT_KIND_PACKETS])
			    : atomic_load(&trip_engine_count(engine, q, rule->index)->packets);
	(void)sim_look(looks);
	return n;
}

uint64_t
processes_rule_counted(const struct trip_engine *engine, const struct rule *rule)
{
	return count(engine, rule, false);
}

static void
check_counted(const struct trip_engine *engine, const struct rule *rule)
{
	uint64_t n = processes_rule_counted(engine, rule);

	sim_expect(processes_garbage_is_in(rule->opening) || (n >= rule->low && n <= rule->high),
		"flow %u has counted %llu packets, and %llu to %llu have come", number_of(rule),
		(unsigned long long)n, (unsigned long long)rule->low,
		(unsigned long long)rule->high);
}

/* What a burst counts on it that is waited for no more is in no counter. */
void
__wrap_trip_flow_detach(struct trip_flow *flow)
{
	const struct trip_engine *engine = &flow->port->domain->engine;
	struct rule *rule = find(engine->base_tsc, flow->index);
	bool held_back = trip_flow_more(flow)->held_back;

	sim_expect(rule != NULL, "a flow ends that nobody has made");
	__real_trip_flow_detach(flow);
	rule->alive = false;
	check_counted(engine, rule);
	if (rule->ledger == NULL)
		return;
	sim_expect(held_back || processes_garbage_is_in(rule->opening) ||
			   count(engine, rule, true) == count(engine, rule, false),
		"flow %u has ended, and not all that it has counted is in its counter",
		number_of(rule));
	rule->ledger->finished += count(engine, rule, true);
}

/* --- bursts --- */

/* But for what homes are doing to it. */
static bool
stays(const struct rule *rule)
{
	return rule->alive && rule->process != NULL && !rule->ending && !rule->deleted &&
	       sim_process_lives(rule->process) && sim_memory_kind() == SIM_MEMORY_STRONG;
}

bool
processes_rule_is_sure(const struct rule *rule)
{
	return stays(rule) && rule->firing == 0;
}

void
processes_burst_begin(const struct user *user, uint32_t n)
{
	struct burst *burst = rules.bursts;

	while (burst < rules.bursts + BURSTS && burst->process != NULL)
		burst++;
	if (burst == rules.bursts + BURSTS)
		sim_fail("more bursts than there is room for");
	*burst = (struct burst){
		.process = user->process, .opening = user->opening, .n = n, .faults = sim_faults()};
	for (unsigned int i = 0; i < rules.n; i++) {
		struct rule *rule = &rules.all[i];

		/* One that ends may be waiting for a burst, and memory may show what it was. */
		if (!rule->alive || rule->opening != user->opening ||
			(rule->deleted && rule->firing == 0 &&
				sim_memory_kind() == SIM_MEMORY_STRONG))
			continue;
		meet(burst, rule);
		burst->sure[i] = processes_rule_is_sure(rule);
		burst->n_fired[i] = rule->n_fired;
	}
}

/* Nothing has been done to it since the burst began. */
static bool
is_same(const struct burst *burst, unsigned int i)
{
	return burst->sure[i] && processes_rule_is_sure(&rules.all[i]) &&
	       burst->faults == sim_faults() && rules.all[i].n_fired == burst->n_fired[i];
}

static void
check_kept(const struct burst *burst, uint32_t kept)
{
	bool may_drop = false, drops = false;

	for (unsigned int i = 0; i < rules.n; i++) {
		if (!burst->met[i])
			continue;
		may_drop |= rules.all[i].drops || !is_same(burst, i);
		drops |= rules.all[i].drops && is_same(burst, i);
	}
	sim_expect(
		!drops || kept == 0, "a flow is dropped, and %u of its packets come through", kept);
	sim_expect(may_drop || kept == burst->n, "nothing drops, and %u of %u packets come through",
		kept, burst->n);
}

void
processes_burst_end(const struct user *user, bool counts, uint32_t kept)
{
	struct burst *burst = rules.bursts;

	while (burst->process != user->process)
		burst++;
	if (!counts)
		sim_expect(kept == burst->n, "the queue is another's, and packets are dropped");
	else if (!processes_garbage_is_in(burst->opening))
		check_kept(burst, kept);
	for (unsigned int i = 0; i < rules.n; i++) {
		struct rule *rule = &rules.all[i];

		if (!burst->met[i])
			continue;
		if (!counts)
			rule->high -= burst->n;
		else if (is_same(burst, i))
			rule->low += burst->n;
		if (rule->ledger != NULL)
			rule->ledger->bursts--;
	}
	burst->process = NULL;
}

/* --- what homes do to it --- */

void
processes_rule_claimed(struct rule *rule)
{
	rule->contested |= rule->firing > 0 && rule->firer != sim_self();
	rule->firer = sim_self();
	rule->firing++;
	rule->n_fired++;
}

bool
processes_rule_fired(const struct trip_engine *engine, struct rule *rule, enum trip_op op)
{
	bool looks, stayed = stays(rule) && !rule->contested;
	uint8_t action;

	rule->firing--;
	/* It was there when the item was claimed, and nobody has its index before this ends. */
	if (!rule->alive) {
		sim_expect(find(rule->opening, rule->index) == NULL,
			"flow %u has ended, and its index is another's while a home is on it",
			number_of(rule));
		return false;
	}
	looks = sim_look(true);
	action = atomic_load(&engine->actions[rule->index]);
	(void)sim_look(looks);
	if (!rule->contested && rule->firing == 0 && !processes_garbage_is_in(rule->opening)) {
		sim_expect(op == TRIP_OP_FLOW_DELETE ||
				   ((action & TRIP_ACTION_DROP) != 0) == (op == TRIP_OP_FLOW_DROP),
			"an item %s flow %u, and it does not",
			op == TRIP_OP_FLOW_DROP ? "drops" : "passes", number_of(rule));
		sim_expect(op != TRIP_OP_FLOW_DELETE || (action & TRIP_ACTION_ACTIVE) == 0,
			"an item deletes flow %u, and it is active", number_of(rule));
	}
	rule->contested &= rule->firing > 0;
	rule->drops = (action & TRIP_ACTION_DROP) != 0;
	rule->deleted |= (action & TRIP_ACTION_ACTIVE) == 0;
	return stayed;
}

/* --- everything rests --- */

uint64_t
processes_rules_fed(const struct trip_engine *engine, const struct ledger *ledger)
{
	uint64_t n = ledger->finished;

	for (unsigned int i = 0; i < rules.n; i++)
		if (rules.all[i].alive && rules.all[i].ledger == ledger)
			n += count(engine, &rules.all[i], false);
	return n;
}

uint64_t
processes_rules_unread(const struct trip_engine *engine, uint32_t cntr)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < rules.n; i++) {
		const struct rule *rule = &rules.all[i];

		if (rule->alive && rule->opening == engine->base_tsc && rule->ledger != NULL &&
			rule->ledger->index == cntr)
			n += count(engine, rule, false) - count(engine, rule, true);
	}
	return n;
}

bool
processes_rules_is_half_fed(const struct ledger *ledger)
{
	return ledger->bursts > 0;
}

static void
judge_rule(const struct trip_engine *engine, const struct rule *rule)
{
	check_counted(engine, rule);
	if (processes_is_anybody_stopped())
		return;
	sim_expect(rule->process != NULL, "flow %u is there, and nobody has it", number_of(rule));
	sim_expect(sim_process_lives(rule->process), "flow %u is there, and %s has ended",
		number_of(rule), sim_process_name(rule->process));
}

/* Processes that have it, or may have it still. */
static void
judge_port(const struct user *primary)
{
	const struct trip_engine *engine = &primary->domain->engine;
	unsigned int n_alive = processes_rules_alive(processes.opening), n_found = 0, n_left = 0;

	for (uint32_t i = 0; i < CLIENTS; i++) {
		const struct user *user = &processes.users[i];

		if (user->process == NULL || !sim_process_lives(user->process))
			continue;
		n_found += user->port != NULL && user->opening == processes.opening;
		n_left += processes_executed(user);
	}
	if (processes_is_anybody_stopped())
		return;
	sim_expect(primary->port->n_flows == n_alive, "%u flows are there, and their port has %u",
		n_alive, primary->port->n_flows);
	sim_expect(primary->port->n_found >= n_found && primary->port->n_found <= n_found + n_left,
		"%u processes have the port, and it knows of %u", n_found, primary->port->n_found);
	for (uint32_t q = 0; q < engine->n_queues; q++) {
		uint32_t owner = atomic_load(&engine->claims[q].owner);

		sim_expect(owner == TRIP_CLAIM_NONE || owner == TRIP_CLAIM_PRIMARY ||
				   primary->domain->server->processes[owner - 1].used,
			"queue %u is polled by process %u, and there is none", q, owner - 1);
	}
}

void
processes_judge_rules(struct user *primary)
{
	const struct trip_engine *engine = &primary->domain->engine;

	for (unsigned int i = 0; i < rules.n; i++)
		if (rules.all[i].alive && rules.all[i].opening == processes.opening)
			judge_rule(engine, &rules.all[i]);
	if (primary->port != NULL && !processes_garbage_is_in(processes.opening))
		judge_port(primary);
}
