/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each item is a head and those of its three structures that are there, each action a head and its
 * structure; all begin at a multiple of 8. RSS alone has more behind its own: a key and queues.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <rte_common.h>
#include <trip_flow_item.h>

#include "flow/flow.h"
#include "flow/flow_wire.h"

enum part {
	SPEC = 1,
	LAST = 2,
	MASK = 4,
};
/* Of an action. */
#define CONF 1u

struct head {
	uint32_t type;
	uint32_t parts;
};

/* What of RSS has no pointer. */
struct rss {
	uint32_t func, level;
	uint64_t types;
	uint32_t key_len, queue_num;
};

struct kind {
	uint32_t type;
	uint32_t size;
};

/* Nobody reads the id of a COUNT. */
static const struct kind action_kinds[] = {
	{RTE_FLOW_ACTION_TYPE_VOID, 0},
	{RTE_FLOW_ACTION_TYPE_COUNT, 0},
	{RTE_FLOW_ACTION_TYPE_DROP, 0},
	{RTE_FLOW_ACTION_TYPE_PASSTHRU, 0},
	{RTE_FLOW_ACTION_TYPE_MARK, sizeof(struct rte_flow_action_mark)},
	{RTE_FLOW_ACTION_TYPE_QUEUE, sizeof(struct rte_flow_action_queue)},
	{RTE_FLOW_ACTION_TYPE_RSS, sizeof(struct rss)},
};

static const struct kind *
find_action(uint32_t type)
{
	for (size_t i = 0; i < RTE_DIM(action_kinds); i++)
		if (action_kinds[i].type == type)
			return &action_kinds[i];
	return NULL;
}

/* The size of an item's structure, or -1. */
static int
item_size(uint32_t type)
{
	const struct trip_flow_item *item = trip_flow_item_of((int)type);

	return type == RTE_FLOW_ITEM_TYPE_VOID ? 0 : item != NULL ? item->bytes : -1;
}

/* ---- writing ---- */

/* NULL: no room. */
static void *
put(struct trip_flow_wire *wire, const void *bytes, size_t size)
{
	size_t room = sizeof(wire->bytes) - wire->used;
	uint8_t *at = wire->bytes + wire->used;

	if (RTE_ALIGN_CEIL(size, 8) > room)
		return NULL;
	if (size == 0)
		return at;
	/* What fills up a structure is sent, too. */
	memset(at, 0, RTE_ALIGN_CEIL(size, 8));
	memcpy(at, bytes, size);
	wire->used += (uint32_t)RTE_ALIGN_CEIL(size, 8);
	return at;
}

static int
too_long(struct rte_flow_error *error, const void *cause)
{
	return trip_flow_refuse(error, E2BIG, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, cause,
		"the rule is too long to be sent to the primary");
}

static int
pack_item(
	struct trip_flow_wire *wire, const struct rte_flow_item *item, struct rte_flow_error *error)
{
	int size = item_size((uint32_t)item->type);
	const void *const parts[] = {item->spec, item->last, item->mask};
	struct head head = {.type = (uint32_t)item->type};
	bool fits;

	if (size < 0)
		return trip_flow_refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, item,
			"item %s cannot be asked of the primary, which has no engine for it",
			trip_flow_name(RTE_FLOW_CONV_OP_ITEM_NAME_PTR, head.type));
	for (unsigned int i = 0; i < RTE_DIM(parts); i++)
		head.parts |= parts[i] != NULL && size > 0 ? 1u << i : 0;
	fits = put(wire, &head, sizeof(head)) != NULL;
	for (unsigned int i = 0; i < RTE_DIM(parts) && fits; i++)
		if ((head.parts & 1u << i) != 0)
			fits = put(wire, parts[i], (size_t)size) != NULL;
	return fits ? 0 : too_long(error, item);
}

static bool
put_rss(struct trip_flow_wire *wire, const struct rte_flow_action_rss *conf)
{
	const struct rss rss = {
		.func = (uint32_t)conf->func,
		.level = conf->level,
		.types = conf->types,
		.key_len = conf->key != NULL ? conf->key_len : 0,
		.queue_num = conf->queue != NULL ? conf->queue_num : 0,
	};

	return put(wire, &rss, sizeof(rss)) != NULL && rss.key_len <= sizeof(wire->bytes) &&
	       rss.queue_num <= sizeof(wire->bytes) / sizeof(*conf->queue) &&
	       put(wire, conf->key, rss.key_len) != NULL &&
	       put(wire, conf->queue, rss.queue_num * sizeof(*conf->queue)) != NULL;
}

static int
pack_action(struct trip_flow_wire *wire, const struct rte_flow_action *action,
	struct rte_flow_error *error)
{
	const struct kind *kind = find_action((uint32_t)action->type);
	struct head head = {.type = (uint32_t)action->type};
	bool fits;

	if (kind == NULL)
		return trip_flow_refuse(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ACTION, action,
			"action %s cannot be asked of the primary, which has no engine for it",
			trip_flow_name(RTE_FLOW_CONV_OP_ACTION_NAME_PTR, head.type));
	head.parts = action->conf != NULL && kind->size > 0 ? CONF : 0;
	fits = put(wire, &head, sizeof(head)) != NULL;
	if (fits && head.parts != 0)
		fits = kind->type == RTE_FLOW_ACTION_TYPE_RSS
			       ? put_rss(wire, action->conf)
			       : put(wire, action->conf, kind->size) != NULL;
	return fits ? 0 : too_long(error, action);
}

int
trip_flow_wire_pack(struct trip_flow_wire *wire, const struct rte_flow_item *pattern,
	const struct rte_flow_action *actions, struct rte_flow_error *error)
{
	int result = 0;

	wire->n_items = 0;
	wire->n_actions = actions != NULL ? 0 : TRIP_FLOW_WIRE_NONE;
	wire->used = 0;
	for (; pattern->type != RTE_FLOW_ITEM_TYPE_END && result == 0; pattern++)
		result = wire->n_items++ < TRIP_FLOW_WIRE_ITEMS ? pack_item(wire, pattern, error)
								: too_long(error, pattern);
	for (; actions != NULL && actions->type != RTE_FLOW_ACTION_TYPE_END && result == 0;
		actions++)
		result = wire->n_actions++ < TRIP_FLOW_WIRE_ACTIONS
				 ? pack_action(wire, actions, error)
				 : too_long(error, actions);
	return result;
}

/* ---- reading ---- */

struct reader {
	const uint8_t *at, *end;
};

/* NULL: the message ends before. */
static const void *
take(struct reader *reader, size_t size)
{
	const void *at = reader->at;

	if (RTE_ALIGN_CEIL(size, 8) > (size_t)(reader->end - reader->at))
		return NULL;
	reader->at += RTE_ALIGN_CEIL(size, 8);
	return at;
}

static bool
unpack_item(struct reader *reader, struct rte_flow_item *item)
{
	const struct head *head = take(reader, sizeof(*head));
	int size = head != NULL ? item_size(head->type) : -1;
	const void **const parts[] = {&item->spec, &item->last, &item->mask};

	if (size < 0 || head->parts > (SPEC | LAST | MASK) || (size == 0 && head->parts != 0))
		return false;
	*item = (struct rte_flow_item){.type = (enum rte_flow_item_type)head->type};
	for (unsigned int i = 0; i < RTE_DIM(parts); i++) {
		if ((head->parts & 1u << i) == 0)
			continue;
		*parts[i] = take(reader, (size_t)size);
		if (*parts[i] == NULL)
			return false;
	}
	return true;
}

static bool
unpack_rss(struct reader *reader, struct rte_flow_action_rss *conf)
{
	const struct rss *rss = take(reader, sizeof(*rss));

	if (rss == NULL || rss->key_len > TRIP_FLOW_WIRE_BYTES ||
		rss->queue_num > TRIP_FLOW_WIRE_BYTES)
		return false;
	*conf = (struct rte_flow_action_rss){
		.func = (enum rte_eth_hash_function)rss->func,
		.level = rss->level,
		.types = rss->types,
		.key_len = rss->key_len,
		.queue_num = rss->queue_num,
	};
	conf->key = take(reader, rss->key_len);
	conf->queue = take(reader, rss->queue_num * sizeof(*conf->queue));
	if (conf->key == NULL || conf->queue == NULL)
		return false;
	if (rss->key_len == 0)
		conf->key = NULL;
	return true;
}

static bool
unpack_action(
	struct reader *reader, struct trip_flow_unpacked *rule, struct rte_flow_action *action)
{
	const struct head *head = take(reader, sizeof(*head));
	const struct kind *kind = head != NULL ? find_action(head->type) : NULL;

	if (kind == NULL || head->parts > CONF || (kind->size == 0 && head->parts != 0))
		return false;
	*action = (struct rte_flow_action){.type = (enum rte_flow_action_type)kind->type};
	if (head->parts == 0)
		return true;
	if (kind->type != RTE_FLOW_ACTION_TYPE_RSS) {
		action->conf = take(reader, kind->size);
		return action->conf != NULL;
	}
	/* There is room for one. */
	if (rule->rss.func != RTE_ETH_HASH_FUNCTION_MAX)
		return false;
	action->conf = &rule->rss;
	return unpack_rss(reader, &rule->rss);
}

int
trip_flow_wire_unpack(struct trip_flow_wire *wire, struct trip_flow_unpacked *rule)
{
	struct reader reader = {.at = wire->bytes, .end = wire->bytes};
	uint32_t n_actions = wire->n_actions != TRIP_FLOW_WIRE_NONE ? wire->n_actions : 0;
	bool good = wire->used <= sizeof(wire->bytes) && wire->n_items <= TRIP_FLOW_WIRE_ITEMS &&
		    n_actions <= TRIP_FLOW_WIRE_ACTIONS;

	if (good)
		reader.end += wire->used;
	memset(rule, 0, sizeof(*rule));
	rule->rss.func = RTE_ETH_HASH_FUNCTION_MAX;
	for (uint32_t i = 0; i < wire->n_items && good; i++)
		good = unpack_item(&reader, &rule->items[i]);
	for (uint32_t i = 0; i < n_actions && good; i++)
		good = unpack_action(&reader, rule, &rule->actions[i]);
	if (!good || reader.at != reader.end)
		return -EPROTO;
	rule->items[wire->n_items].type = RTE_FLOW_ITEM_TYPE_END;
	rule->actions[n_actions].type = RTE_FLOW_ACTION_TYPE_END;
	return 0;
}
