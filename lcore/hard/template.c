/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes tables of templates, and puts rules into them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "template.h"

/* Operations that a flow queue of ours takes. */
#define QUEUE_SIZE TRIP_BATCH_MAX

static const struct rte_flow_pattern_template_attr ingress_pattern = {.ingress = 1};
static const struct rte_flow_actions_template_attr ingress_actions = {.ingress = 1};

/* --- the flow engine of a port --- */

static int
read_info(uint16_t port_id, struct rte_flow_port_info *info)
{
	struct rte_flow_queue_info queue;
	struct rte_flow_error error;

	*info = (struct rte_flow_port_info){0};
	return rte_flow_info_get(port_id, info, &queue, &error);
}

bool
trip_template_offered(uint16_t port_id)
{
	struct rte_flow_port_info info;

	return read_info(port_id, &info) == 0;
}

/* Nothing tells, but that nothing can be made before. */
bool
trip_template_configured(uint16_t port_id, struct rte_flow_error *error)
{
	static const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	struct rte_flow_pattern_template *template =
		rte_flow_pattern_template_create(port_id, &ingress_pattern, pattern, error);

	return template != NULL && rte_flow_pattern_template_destroy(port_id, template, error) == 0;
}

int
trip_template_configure(
	uint16_t port_id, uint32_t n_rules, uint32_t *max, struct rte_flow_error *error)
{
	const struct rte_flow_queue_attr queue = {.size = QUEUE_SIZE};
	const struct rte_flow_queue_attr *queues[] = {&queue};
	struct rte_flow_port_attr attr = {0};
	struct rte_flow_port_info info;
	int result = read_info(port_id, &info);

	if (result != 0)
		return rte_flow_error_set(error, -result, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			result == -EINVAL ? "the port is not configured" : "the driver has none");
	*max = info.max_nb_counters;
	if (n_rules > *max)
		return -ERANGE;
	attr.nb_counters = n_rules + RTE_MIN(*max - n_rules, (uint32_t)TRIP_TEMPLATE_SPARE);
	result = rte_flow_configure(port_id, &attr, RTE_DIM(queues), queues, error);
	return result == 0 ? 0 : trip_rule_error(result);
}

/* --- tables --- */

struct trip_template *
trip_template_open(uint16_t port_id, uint32_t queue, int (*wait)(void *arg), void *arg)
{
	struct trip_template *templates = calloc(1, sizeof(*templates));

	if (templates == NULL)
		return NULL;
	templates->port_id = port_id;
	templates->queue = queue;
	templates->batch.wait = wait;
	templates->batch.arg = arg;
	return templates;
}

static void
close_table(struct trip_template *templates, struct trip_template_table *table, bool dead)
{
	struct rte_flow_error error;
	uint16_t port_id = templates->port_id;

	if (table->handle != NULL && !dead)
		rte_flow_template_table_destroy(port_id, table->handle, &error);
	if (table->actions != NULL && !dead)
		rte_flow_actions_template_destroy(port_id, table->actions, &error);
	if (table->pattern != NULL && !dead)
		rte_flow_pattern_template_destroy(port_id, table->pattern, &error);
	free(table->keys);
	*table = (struct trip_template_table){0};
}

void
trip_template_close(struct trip_template *templates, bool dead)
{
	/* Where a rule could not be taken out, its table goes with the port. */
	for (unsigned int i = 0; i < TRIP_TEMPLATE_TABLES; i++)
		close_table(
			templates, &templates->tables[i], dead || templates->tables[i].n_rules > 0);
	free(templates);
}

/* What differs between the rules of a table is not in its template: the mask says so. */
static void
mask_actions(const struct rte_flow_action *actions, struct rte_flow_action *shown,
	struct rte_flow_action *masks)
{
	static const struct rte_flow_action_mark any_mark;
	static const struct rte_flow_action_queue any_queue;
	static const struct rte_flow_action_jump this_group = {.group = UINT32_MAX};

	do {
		*shown = *actions;
		*masks = (struct rte_flow_action){.type = actions->type};
		switch (actions->type) {
		case RTE_FLOW_ACTION_TYPE_INDIRECT:
			shown->conf = NULL;
			masks->type = RTE_FLOW_ACTION_TYPE_COUNT;
			break;
		case RTE_FLOW_ACTION_TYPE_MARK:
			masks->conf = &any_mark;
			break;
		case RTE_FLOW_ACTION_TYPE_QUEUE:
			masks->conf = &any_queue;
			break;
		case RTE_FLOW_ACTION_TYPE_JUMP:
			masks->conf = &this_group;
			break;
		default:
			break;
		}
		shown++;
		masks++;
	} while (actions++->type != RTE_FLOW_ACTION_TYPE_END);
}

/* A rule to be, and the head of the table that it belongs into. */
struct plan {
	struct trip_draft draft;
	struct trip_shape_pattern normal;
	struct rte_flow_action_jump jump;
	uint32_t action_types[TRIP_DRAFT_ACTIONS];
	uint64_t key;
};

static int
plan_rule(struct plan *plan, uint16_t port_id, const struct trip_rule *rule, bool drop, bool jump,
	struct rte_flow_error *error)
{
	struct trip_draft *draft = &plan->draft;
	int result = trip_draft_rule(draft, port_id, rule, drop, error);

	if (result == 0)
		result = trip_shape_of(&plan->normal, rule->order.pattern, error);
	if (result != 0)
		return result;
	if (jump) {
		/* It serves the rule in either fate; where it leads, rules are in order. */
		draft->attr.priority =
			RTE_MIN(rule->order.priority, (uint32_t)TRIP_TEMPLATE_LAST_PRIORITY);
		plan->jump = (struct rte_flow_action_jump){.group = TRIP_TEMPLATE_GROUP};
		draft->actions[0] = (struct rte_flow_action){
			.type = RTE_FLOW_ACTION_TYPE_JUMP, .conf = &plan->jump};
		draft->actions[1] = (struct rte_flow_action){.type = RTE_FLOW_ACTION_TYPE_END};
	} else if (draft->attr.group == 0) {
		draft->attr.group = TRIP_TEMPLATE_GROUP;
	}
	memset(plan->action_types, 0, sizeof(plan->action_types));
	for (uint32_t i = 0; draft->actions[i].type != RTE_FLOW_ACTION_TYPE_END; i++)
		plan->action_types[i] = draft->actions[i].type;
	plan->key = trip_shape_key(&plan->normal);
	return 0;
}

static bool
is_for(const struct trip_template_table *table, const struct plan *plan)
{
	return table->handle != NULL && table->attr.group == plan->draft.attr.group &&
	       table->attr.priority == plan->draft.attr.priority &&
	       memcmp(table->action_types, plan->action_types, sizeof(plan->action_types)) == 0 &&
	       memcmp(&table->shape, &plan->normal.shape, sizeof(table->shape)) == 0;
}

static int
make_table(struct trip_template *templates, struct trip_template_table *table, struct plan *plan,
	struct rte_flow_error *error)
{
	struct rte_flow_action shown[TRIP_DRAFT_ACTIONS], masks[TRIP_DRAFT_ACTIONS];
	const struct rte_flow_template_table_attr attr = {
		.flow_attr = plan->draft.attr, .nb_flows = TRIP_TEMPLATE_RULES};
	uint16_t port_id = templates->port_id;
	int result = 0;

	*table =
		(struct trip_template_table){.attr = plan->draft.attr, .shape = plan->normal.shape};
	memcpy(table->action_types, plan->action_types, sizeof(table->action_types));
	table->keys = calloc(TRIP_TEMPLATE_RULES, sizeof(*table->keys));
	if (table->keys == NULL)
		return rte_flow_error_set(error, ENOMEM, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"no memory for a template table");
	mask_actions(plan->draft.actions, shown, masks);
	rte_errno = 0;
	table->pattern = rte_flow_pattern_template_create(
		port_id, &ingress_pattern, plan->normal.items, error);
	if (table->pattern != NULL)
		table->actions = rte_flow_actions_template_create(
			port_id, &ingress_actions, shown, masks, error);
	if (table->actions != NULL)
		table->handle = rte_flow_template_table_create(
			port_id, &attr, &table->pattern, 1, &table->actions, 1, error);
	if (table->handle == NULL) {
		result = trip_rule_error(rte_errno);
		close_table(templates, table, false);
	}
	return result;
}

/* Where a new table goes; one that has no rule left gives way. */
static struct trip_template_table *
take_place(struct trip_template *templates)
{
	struct trip_template_table *empty = NULL;

	for (unsigned int i = 0; i < TRIP_TEMPLATE_TABLES; i++) {
		if (templates->tables[i].handle == NULL)
			return &templates->tables[i];
		if (templates->tables[i].n_rules == 0)
			empty = &templates->tables[i];
	}
	if (empty != NULL)
		close_table(templates, empty, false);
	return empty;
}

/* A free row of the table, or -EEXIST: it has this key. */
static int
find_row(const struct trip_template_table *table, uint64_t key)
{
	int row = TRIP_TEMPLATE_RULES;

	for (int i = TRIP_TEMPLATE_RULES - 1; i >= 0; i--) {
		if (table->keys[i] == key)
			return -EEXIST;
		if (table->keys[i] == 0)
			row = i;
	}
	return row;
}

/* On a stopped port mlx5 takes a table, and then does not start; and a rule would be its end. There
 * is no call that tells: a stopped port has the bursts of one that is not there. */
static bool
is_started(uint16_t port_id)
{
	uint16_t none = RTE_MAX_ETHPORTS;

	while (none-- > 0 && rte_eth_dev_is_valid_port(none))
		;
	return none == UINT16_MAX ||
	       rte_eth_fp_ops[port_id].rx_pkt_burst != rte_eth_fp_ops[none].rx_pkt_burst;
}

/* Finds the rule a row, in a new table if need be. */
static int
take_row(struct trip_template *templates, struct trip_rule_entry *entry, struct plan *plan,
	struct rte_flow_error *error)
{
	struct trip_template_table *found = NULL;
	int row, found_row = 0, result;

	for (unsigned int i = 0; i < TRIP_TEMPLATE_TABLES; i++) {
		struct trip_template_table *table = &templates->tables[i];

		if (!is_for(table, plan))
			continue;
		row = find_row(table, plan->key);
		if (row < 0)
			return rte_flow_error_set(error, EEXIST, RTE_FLOW_ERROR_TYPE_ITEM, NULL,
				"a rule of this port matches the same, with the same priority");
		if (row == TRIP_TEMPLATE_RULES)
			continue;
		found = table;
		found_row = row;
	}
	if (found == NULL) {
		found = take_place(templates);
		if (found == NULL)
			return rte_flow_error_set(error, ENOSPC, RTE_FLOW_ERROR_TYPE_UNSPECIFIED,
				NULL,
				"all " RTE_STR(
					TRIP_TEMPLATE_TABLES) " template tables of the port "
							      "are in use: each is for rules of "
							      "the same items, masks, actions "
							      "and priority, at most " RTE_STR(
								      TRIP_TEMPLATE_RULES));
		result = make_table(templates, found, plan, error);
		if (result != 0)
			return result;
	}
	*entry = (struct trip_rule_entry){
		.table = (uint16_t)(found - templates->tables), .row = (uint16_t)found_row};
	found->keys[found_row] = plan->key;
	found->n_rules++;
	return 0;
}

static void
free_row(struct trip_template *templates, const struct trip_rule_entry *entry)
{
	struct trip_template_table *table = &templates->tables[entry->table];

	table->keys[entry->row] = 0;
	table->n_rules--;
}

int
trip_template_put(struct trip_template *templates, struct trip_rule_entry *entry,
	const struct trip_rule *rule, bool drop, bool jump, void *completion,
	struct rte_flow_error *error)
{
	static const struct rte_flow_op_attr later = {.postpone = 1};
	struct plan plan;
	int result;

	if (!is_started(templates->port_id))
		return rte_flow_error_set(
			error, ENODEV, RTE_FLOW_ERROR_TYPE_STATE, NULL, "the port is not started");
	result = plan_rule(&plan, templates->port_id, rule, drop, jump, error);
	if (result == 0)
		result = take_row(templates, entry, &plan, error);
	if (result != 0)
		return result;
	rte_errno = 0;
	entry->flow = rte_flow_async_create(templates->port_id, templates->queue, &later,
		templates->tables[entry->table].handle, plan.normal.items, 0, plan.draft.actions, 0,
		completion, error);
	if (entry->flow != NULL)
		return 0;
	result = trip_rule_error(rte_errno);
	free_row(templates, entry);
	return result;
}

void
trip_template_free(struct trip_template *templates, struct trip_rule_entry *entry)
{
	if (entry->flow != NULL)
		free_row(templates, entry);
	entry->flow = NULL;
}

void
trip_template_clear(struct trip_template *templates)
{
	for (unsigned int i = 0; i < TRIP_TEMPLATE_TABLES; i++) {
		struct trip_template_table *table = &templates->tables[i];

		if (table->n_rules > 0)
			memset(table->keys, 0, TRIP_TEMPLATE_RULES * sizeof(*table->keys));
		table->n_rules = 0;
	}
}
