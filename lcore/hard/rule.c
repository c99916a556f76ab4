/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies, creates, queries and destroys a counted rule. */
#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include <trip_flow_item.h>

#include "batch.h"
#include "draft.h"
#include "rule.h"
#include "shape.h"
#include "template.h"

static const struct rte_flow_action_count no_count;

static void *
copy(enum rte_flow_conv_op op, const void *from)
{
	struct rte_flow_error error;
	int size = rte_flow_conv(op, NULL, 0, from, &error);
	void *to = size > 0 ? malloc((size_t)size) : NULL;

	if (to != NULL && rte_flow_conv(op, to, (size_t)size, from, &error) != size) {
		free(to);
		to = NULL;
	}
	return to;
}

/* A driver may have another idea of what an item without a mask matches: mlx5 DV matches IPv4 by
 * time to live and protocol, too. */
static void
say_masks(struct rte_flow_item *item)
{
	for (; item->type != RTE_FLOW_ITEM_TYPE_END; item++) {
		const struct trip_flow_item *known = trip_flow_item_of((int)item->type);

		if (item->spec != NULL && item->mask == NULL && known != NULL)
			item->mask = known->mask;
	}
}

int
trip_rule_init(struct trip_rule *rule, uint32_t group, uint32_t priority,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions)
{
	static const struct rte_flow_action none = {.type = RTE_FLOW_ACTION_TYPE_END};

	*rule = (struct trip_rule){.order = {.group = group, .priority = priority}};
	rule->order.pattern = copy(RTE_FLOW_CONV_OP_PATTERN, pattern);
	rule->order.actions = copy(RTE_FLOW_CONV_OP_ACTIONS, actions != NULL ? actions : &none);
	if (rule->order.pattern != NULL && rule->order.actions != NULL) {
		say_masks(rule->order.pattern);
		return 0;
	}
	trip_rule_fini(rule);
	return -ENOMEM;
}

void
trip_rule_fini(struct trip_rule *rule)
{
	free(rule->order.pattern);
	free(rule->order.actions);
	rule->order = (struct trip_rule_order){0};
}

int
trip_rule_validate(uint16_t port_id, bool templates, struct trip_rule *rule, bool drop,
	struct rte_flow_error *error)
{
	struct trip_shape_pattern normal;
	struct rte_eth_dev_info info;
	struct trip_draft draft;
	int result;

	/* Before it is configured a port has no queue that the driver would take. */
	drop |= rte_eth_dev_info_get(port_id, &info) == 0 && info.nb_rx_queues == 0;
	result = trip_draft_rule(&draft, port_id, rule, drop, error);
	if (result != 0)
		return result;
	if (templates)
		return trip_shape_of(&normal, rule->order.pattern, error);
	result = rte_flow_validate(port_id, &draft.attr, rule->order.pattern, draft.actions, error);
	return result == 0 ? 0 : trip_rule_error(result);
}

static struct rte_flow_action_handle *
create_counter(uint16_t port_id, struct rte_flow_error *error)
{
	static const struct rte_flow_indir_action_conf conf = {.ingress = 1};
	static const struct rte_flow_action count = {
		.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = &no_count};

	return rte_flow_action_handle_create(port_id, &conf, &count, error);
}

int
trip_rule_probe_shared(uint16_t port_id, bool *shared, struct rte_flow_error *error)
{
	struct rte_flow_action_handle *handle;

	rte_errno = 0;
	handle = create_counter(port_id, error);
	/* For the moment a port in trouble has none, either. */
	if (handle == NULL && (rte_errno == EBUSY || rte_errno == EAGAIN))
		return -rte_errno;
	*shared = handle != NULL && rte_flow_action_handle_destroy(port_id, handle, error) == 0;
	return 0;
}

static int
query(uint16_t port_id, const struct trip_rule *rule, struct rte_flow_query_count *count)
{
	/* The list is the query's own: a driver may look at each action of it. */
	static const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_COUNT, .conf = &no_count},
		{.type = RTE_FLOW_ACTION_TYPE_END},
	};
	struct rte_flow_error error;
	int result;

	*count = (struct rte_flow_query_count){0};
	if (rule->shared != NULL)
		result = rte_flow_action_handle_query(port_id, rule->shared, count, &error);
	else if (rule->entry.flow != NULL)
		result = rte_flow_query(port_id, rule->entry.flow, actions, count, &error);
	else
		return -ENOENT;
	if (result != 0)
		return trip_rule_error(result);
	return count->hits_set ? 0 : -ENODATA;
}

int
trip_rule_share(uint16_t port_id, struct trip_rule *rule, struct rte_flow_error *error)
{
	struct rte_flow_query_count count;
	int result;

	rule->shared = create_counter(port_id, error);
	if (rule->shared == NULL)
		return trip_rule_error(-rte_errno);
	/* What may stand refers to another. */
	rule->stuck = false;
	/* A counter that was another's may begin anywhere: what it had then is not counted. */
	result = query(port_id, rule, &count);
	if (result != 0) {
		trip_rule_unshare(port_id, rule);
		rte_flow_error_set(error, -result, RTE_FLOW_ERROR_TYPE_ACTION_CONF, NULL,
			"its counter cannot be read, so where it begins is not known");
		return result;
	}
	rule->last[TRIP_COUNT_KIND_PACKETS] = count.hits;
	rule->last[TRIP_COUNT_KIND_BYTES] = count.bytes;
	return 0;
}

static struct rte_flow *
create(uint16_t port_id, const struct trip_rule_change *change, int *result)
{
	struct rte_flow *flow = NULL;
	struct trip_draft draft;

	*result = trip_draft_rule(&draft, port_id, change->rule, change->drop, change->error);
	if (*result != 0)
		return NULL;
	rte_errno = 0;
	flow = rte_flow_create(
		port_id, &draft.attr, change->rule->order.pattern, draft.actions, change->error);
	if (flow == NULL)
		*result = trip_rule_error(-rte_errno);
	return flow;
}

/* The rule's own counter is a new one. */
static void
begin(struct trip_rule *rule, struct rte_flow *flow, bool drop)
{
	rule->entry.flow = flow;
	rule->drop = drop;
	if (rule->shared == NULL)
		rule->last[TRIP_COUNT_KIND_PACKETS] = rule->last[TRIP_COUNT_KIND_BYTES] = 0;
}

static int
put(uint16_t port_id, struct trip_rule_change *change)
{
	int result;
	struct rte_flow *flow = create(port_id, change, &result);

	if (flow != NULL)
		begin(change->rule, flow, change->drop);
	return result;
}

static uint64_t
growth(uint64_t *last, uint64_t now)
{
	/* One that has gone down has begun anew. */
	uint64_t grew = now >= *last ? now - *last : now;

	*last = now;
	return grew;
}

int
trip_rule_read(uint16_t port_id, struct trip_rule *rule, uint64_t grew[TRIP_COUNT_KINDS])
{
	struct rte_flow_query_count count;
	int result = query(port_id, rule, &count);

	grew[TRIP_COUNT_KIND_PACKETS] = grew[TRIP_COUNT_KIND_BYTES] = 0;
	if (result != 0)
		return result;
	grew[TRIP_COUNT_KIND_PACKETS] = growth(&rule->last[TRIP_COUNT_KIND_PACKETS], count.hits);
	if (count.bytes_set)
		grew[TRIP_COUNT_KIND_BYTES] =
			growth(&rule->last[TRIP_COUNT_KIND_BYTES], count.bytes);
	return 0;
}

/* A rule that has stood for a moment: what came by counts. */
static void
take_back(uint16_t port_id, struct trip_rule *rule, struct rte_flow *flow,
	uint64_t grew[TRIP_COUNT_KINDS])
{
	struct trip_rule brief = {.entry.flow = flow};
	struct rte_flow_error error;
	uint64_t more[TRIP_COUNT_KINDS];

	if (rule->shared == NULL && trip_rule_read(port_id, &brief, more) == 0)
		for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
			grew[kind] += more[kind];
	rule->stuck |= rte_flow_destroy(port_id, flow, &error) != 0;
}

static int
swap(uint16_t port_id, struct trip_rule_change *change)
{
	struct trip_rule *rule = change->rule;
	int result;
	struct rte_flow *flow = create(port_id, change, &result);

	if (flow == NULL)
		return result;
	/* The last of the old one's own counter, before that goes with it. */
	if (rule->shared == NULL)
		result = trip_rule_read(port_id, rule, change->grew);
	if (result == 0)
		result = rte_flow_destroy(port_id, rule->entry.flow, change->error);
	if (result != 0) {
		take_back(port_id, rule, flow, change->grew);
		return trip_rule_error(result);
	}
	begin(rule, flow, change->drop);
	return 0;
}

static int
take(uint16_t port_id, struct trip_rule *rule)
{
	struct rte_flow_error error;
	int result;

	if (rule->entry.flow == NULL)
		return 0;
	result = rte_flow_destroy(port_id, rule->entry.flow, &error);
	/* Whatever it says: a handle that destroy has seen is not used again. */
	rule->entry.flow = NULL;
	rule->stuck |= result != 0;
	return result == 0 ? 0 : trip_rule_error(result);
}

static int
apply(uint16_t port_id, struct trip_rule_change *change)
{
	switch (change->want) {
	case TRIP_RULE_PUT:
		return put(port_id, change);
	case TRIP_RULE_SWAP:
		return swap(port_id, change);
	default:
		return take(port_id, change->rule);
	}
}

void
trip_rule_apply(const struct trip_rule_port *port, struct trip_rule_change *changes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		changes[i].grew[TRIP_COUNT_KIND_PACKETS] = changes[i].grew[TRIP_COUNT_KIND_BYTES] =
			0;
	for (uint32_t i = 0; i < n && port->templates == NULL; i++)
		changes[i].result = apply(port->port_id, &changes[i]);
	for (uint32_t i = 0; i < n && port->templates != NULL; i += TRIP_BATCH_MAX)
		trip_batch_run(port->templates, changes + i, RTE_MIN(n - i, TRIP_BATCH_MAX));
}

int
trip_rule_take(const struct trip_rule_port *port, struct trip_rule *rule)
{
	struct rte_flow_error error;
	struct trip_rule_change change = {.rule = rule, .want = TRIP_RULE_TAKE, .error = &error};

	trip_rule_apply(port, &change, 1);
	return change.result;
}

void
trip_rule_forget(const struct trip_rule_port *port, struct trip_rule *rule)
{
	if (port->templates != NULL) {
		trip_template_free(port->templates, &rule->entry);
		trip_template_free(port->templates, &rule->jump);
	}
	rule->entry.flow = NULL;
}

void
trip_rule_unshare(uint16_t port_id, struct trip_rule *rule)
{
	struct rte_flow_error error;

	if (rule->shared != NULL && !rule->stuck)
		rte_flow_action_handle_destroy(port_id, rule->shared, &error);
	rule->shared = NULL;
}
