/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NIC's driver by templates and a flow queue, as mlx5 has it (fake_hws.h tells how): operations
 * are enqueued, pushed and pulled; what becomes of one is seen when it completes, or before; they
 * complete in any order, and some with an error. A rule whose creation has failed has a handle that
 * must be destroyed; one whose removal has failed stands for ever.
 */
#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "nic_inside.h"

#define OPS 64
#define OBJECTS 512
/* Looks at the queue before an operation completes, at most. */
#define LOOKS 5

struct rte_flow_pattern_template {
	bool dead;
	unsigned int uses;
};

struct rte_flow_actions_template {
	bool dead;
	unsigned int uses;
};

struct rte_flow_template_table {
	bool dead;
	struct rte_flow_attr attr;
	struct rte_flow_pattern_template *pattern;
	struct rte_flow_actions_template *actions;
	unsigned int n_rules;
};

struct op {
	struct nic_rule *rule;
	void *user_data;
	bool destroys, pushed, failed;
	uint32_t looks;
};

static struct {
	struct rte_flow_pattern_template patterns[OBJECTS];
	struct rte_flow_actions_template actions[OBJECTS];
	struct rte_flow_template_table tables[OBJECTS];
	unsigned int n_patterns, n_actions, n_tables;
	struct op ops[OPS];
	unsigned int n_ops;
	/* All that were ever enqueued. */
	uint32_t enqueued;
} queue;

void
nic_queue_begin(void)
{
	memset(&queue, 0, sizeof(queue));
}

/* So a counter of a rule that was going in is nobody's, and so is what it counts. */
void
nic_queue_doubt(void)
{
	for (unsigned int i = 0; i < queue.n_ops; i++) {
		uint32_t flow = queue.ops[i].rule->flow;

		nic.flows[flow].stuck++;
		for (unsigned int k = 0; k < nic.n_counters; k++)
			nic.counters[k].stuck |= nic.counters[k].flow == flow;
	}
}

void
nic_queue_drain(void)
{
	queue.n_ops = 0;
}

void
nic_queue_flush(void)
{
	for (unsigned int i = 0; i < queue.n_tables; i++)
		queue.tables[i].n_rules = 0;
}

bool
nic_is_hung(void)
{
	return !nic.removed && nic.shape.hangs != 0 && queue.enqueued >= nic.shape.hangs;
}

unsigned int
nic_queue_objects(void)
{
	unsigned int n = queue.n_ops;

	for (unsigned int i = 0; i < queue.n_patterns; i++)
		n += !queue.patterns[i].dead && queue.patterns[i].uses == 0;
	for (unsigned int i = 0; i < queue.n_actions; i++)
		n += !queue.actions[i].dead && queue.actions[i].uses == 0;
	/* One that has a rule which nobody could take out stays with it. */
	for (unsigned int i = 0; i < queue.n_tables; i++)
		n += !queue.tables[i].dead && queue.tables[i].n_rules == 0;
	return n;
}

/* --- templates and tables --- */

int
rte_flow_info_get(uint16_t port_id, struct rte_flow_port_info *port,
	struct rte_flow_queue_info *info, struct rte_flow_error *error)
{
	if (nic.shape.queue == 0)
		return -ENOTSUP;
	*port = (struct rte_flow_port_info){.max_nb_queues = 1, .max_nb_counters = NIC_COUNTERS};
	info->max_size = nic.shape.queue;
	return 0;
}

struct rte_flow_pattern_template *
rte_flow_pattern_template_create(uint16_t port_id,
	const struct rte_flow_pattern_template_attr *attr, const struct rte_flow_item pattern[],
	struct rte_flow_error *error)
{
	struct rte_flow_pattern_template *template = &queue.patterns[queue.n_patterns];
	int why = nic.shape.queue == 0 ? ENOTSUP : nic_refuses(0);

	nic_enter(NULL);
	sim_expect(queue.n_patterns < OBJECTS, "more templates than there is room for");
	queue.n_patterns += why == 0;
	return nic_leave(why, error) == 0 ? template : NULL;
}

int
rte_flow_pattern_template_destroy(
	uint16_t port_id, struct rte_flow_pattern_template *template, struct rte_flow_error *error)
{
	sim_expect(!template->dead && template->uses == 0,
		"a pattern template is destroyed that is dead, or that a table uses");
	template->dead = true;
	return 0;
}

struct rte_flow_actions_template *
rte_flow_actions_template_create(uint16_t port_id,
	const struct rte_flow_actions_template_attr *attr, const struct rte_flow_action actions[],
	const struct rte_flow_action masks[], struct rte_flow_error *error)
{
	struct rte_flow_actions_template *template = &queue.actions[queue.n_actions];
	int why = nic_refuses(0);

	nic_enter(NULL);
	sim_expect(queue.n_actions < OBJECTS, "more templates than there is room for");
	queue.n_actions += why == 0;
	return nic_leave(why, error) == 0 ? template : NULL;
}

int
rte_flow_actions_template_destroy(
	uint16_t port_id, struct rte_flow_actions_template *template, struct rte_flow_error *error)
{
	sim_expect(!template->dead && template->uses == 0,
		"an actions template is destroyed that is dead, or that a table uses");
	template->dead = true;
	return 0;
}

struct rte_flow_template_table *
rte_flow_template_table_create(uint16_t port_id, const struct rte_flow_template_table_attr *attr,
	struct rte_flow_pattern_template *patterns[], uint8_t n_patterns,
	struct rte_flow_actions_template *actions[], uint8_t n_actions,
	struct rte_flow_error *error)
{
	struct rte_flow_template_table *table = &queue.tables[queue.n_tables];
	int why = nic_refuses(2 * nic.shape.bad_rules);

	nic_enter("makes a table");
	sim_expect(queue.n_tables < OBJECTS, "more tables than there is room for");
	if (why == 0) {
		*table = (struct rte_flow_template_table){
			.attr = attr->flow_attr, .pattern = patterns[0], .actions = actions[0]};
		patterns[0]->uses++;
		actions[0]->uses++;
		queue.n_tables++;
	}
	return nic_leave(why, error) == 0 ? table : NULL;
}

int
rte_flow_template_table_destroy(
	uint16_t port_id, struct rte_flow_template_table *table, struct rte_flow_error *error)
{
	nic_enter("gives a table back");
	sim_expect(!table->dead && (table->n_rules == 0 || nic_may_keep()),
		"a table is destroyed that is dead, or has rules");
	table->dead = true;
	table->pattern->uses--;
	table->actions->uses--;
	return nic_leave(0, error);
}

/* --- operations --- */

/* Packets come to it: in group 0, which is the kernel's, at once. */
static void
come_true(const struct op *op)
{
	if (!op->destroys && !op->failed && !op->rule->dead)
		op->rule->stands = true;
}

static void
enqueue(struct nic_rule *rule, bool destroys, void *user_data)
{
	struct op *op = &queue.ops[queue.n_ops++];
	uint32_t bad = destroys ? nic.shape.bad_removals : nic.shape.bad_rules;

	*op = (struct op){.rule = rule, .destroys = destroys, .user_data = user_data};
	op->looks = nic.shape.together ? 0 : nic_chance(LOOKS);
	op->failed = bad != 0 && nic_chance(bad) == 0;
	queue.enqueued++;
	if (rule->jump)
		come_true(op);
}

static int
check_queue(uint32_t one_of)
{
	int why = nic_refuses(one_of);

	nic_enter(NULL);
	sim_expect(sim_self() == nic.worker, "somebody else uses the worker's flow queue");
	if (why == 0 && nic.stopped)
		return EINVAL;
	return why == 0 && queue.n_ops == nic.shape.queue ? ENOMEM : why;
}

/* HWS finds a rule to take out by what it matches. */
static void
check_alone(const struct nic_rule *rule, const struct rte_flow_template_table *table)
{
	for (unsigned int i = 0; i < nic.n_rules; i++) {
		const struct nic_rule *other = &nic.rules[i];

		sim_expect(nic_may_keep() || other == rule || other->dead ||
				   other->table != table || other->flow != rule->flow,
			"two rules of a table match the same");
	}
}

struct rte_flow *
rte_flow_async_create(uint16_t port_id, uint32_t queue_id, const struct rte_flow_op_attr *op_attr,
	struct rte_flow_template_table *table, const struct rte_flow_item pattern[],
	uint8_t pattern_template_index, const struct rte_flow_action actions[],
	uint8_t actions_template_index, void *user_data, struct rte_flow_error *error)
{
	int why = check_queue(2 * nic.shape.bad_rules);
	struct nic_rule *rule = NULL;

	sim_expect(!table->dead, "a rule is put into a table that is dead");
	if (why == 0 && nic_refers_to_dead(actions))
		why = EINVAL;
	if (why == 0) {
		rule = nic_make_rule(&table->attr, pattern, actions);
		check_alone(rule, table);
		rule->table = table;
		table->n_rules++;
		sim_tell("%s of flow %u is enqueued", rule->jump ? "the jump" : "the rule",
			rule->flow);
		enqueue(rule, false, user_data);
	}
	(void)nic_leave(why, error);
	return (struct rte_flow *)rule;
}

int
rte_flow_async_destroy(uint16_t port_id, uint32_t queue_id, const struct rte_flow_op_attr *op_attr,
	struct rte_flow *flow, void *user_data, struct rte_flow_error *error)
{
	struct nic_rule *rule = nic_find_rule(flow);
	int why = check_queue(2 * nic.shape.bad_removals);

	if (why == 0 && rule->dead) {
		why = EINVAL;
		/* It is taken for one that stands. */
		if (rule->counter != NULL)
			rule->counter->has_failed = true;
	}
	if (why == 0) {
		sim_expect(!rule->has_failed, "a rule is destroyed a second time");
		for (unsigned int i = 0; i < queue.n_ops; i++)
			sim_expect(queue.ops[i].rule != rule,
				"a rule is destroyed while an operation on it is under way");
		sim_tell("the removal of %s of flow %u is enqueued",
			rule->jump ? "the jump" : "the rule", rule->flow);
		enqueue(rule, true, user_data);
	} else if (queue.n_ops == 0 || (why != ENOMEM && why != EBUSY && why != EAGAIN)) {
		nic_cannot_take_out(rule);
	}
	return nic_leave(why, error);
}

int
rte_flow_push(uint16_t port_id, uint32_t queue_id, struct rte_flow_error *error)
{
	nic_enter(NULL);
	for (unsigned int i = 0; i < queue.n_ops; i++) {
		struct op *op = &queue.ops[i];

		op->pushed = true;
		if (op->looks % 2 == 0)
			come_true(op);
	}
	return nic_leave(0, error);
}

static void
complete(const struct op *op, struct rte_flow_op_result *result)
{
	struct nic_rule *rule = op->rule;

	come_true(op);
	*result = (struct rte_flow_op_result){
		.status = op->failed ? RTE_FLOW_OP_ERROR : RTE_FLOW_OP_SUCCESS,
		.user_data = op->user_data};
	sim_tell("the driver has completed it%s", op->failed ? ", with an error" : "");
	if (!op->destroys || rule->dead)
		return;
	if (op->failed) {
		rule->has_failed = true;
		nic_cannot_take_out(rule);
		return;
	}
	rule->dead = true;
	rule->stands = false;
	if (rule->counter != NULL)
		nic_note_out(rule->counter);
	rule->table->n_rules--;
}

int
rte_flow_pull(uint16_t port_id, uint32_t queue_id, struct rte_flow_op_result results[], uint16_t n,
	struct rte_flow_error *error)
{
	int done = 0;

	nic_enter(NULL);
	for (unsigned int i = queue.n_ops; i-- > 0 && done < n && !nic_is_hung();) {
		struct op *op = &queue.ops[i];

		if (!op->pushed || nic.removed || nic.away || op->looks-- > 0)
			continue;
		complete(op, &results[done++]);
		*op = queue.ops[--queue.n_ops];
	}
	(void)nic_leave(0, error);
	nic_note_progress();
	/* What is under way completes, or the driver tells why not. */
	if (queue.n_ops > 0 && !nic_is_hung() && !nic.removed)
		sim_progress();
	if (done == 0)
		sim_pause();
	return done;
}
