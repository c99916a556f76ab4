/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes the shape of a pattern, and compares shapes. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <trip_flow_item.h>

#include "shape.h"

static_assert(sizeof(struct rte_flow_item_ipv6) <= TRIP_SHAPE_BYTES, "the largest of them");

static int
refuse(struct rte_flow_error *error, const struct rte_flow_item *item, const char *why)
{
	return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_ITEM, item, why);
}

static int
add(struct trip_shape_pattern *normal, const struct rte_flow_item *from,
	struct rte_flow_error *error)
{
	uint32_t n = normal->shape.n_items;
	const struct trip_flow_item *item = trip_flow_item_of((int)from->type);
	const uint8_t *spec = from->spec, *mask;
	struct rte_flow_item *to = &normal->items[n];

	if (item == NULL)
		return refuse(error, from, "no template is made of an item of this type");
	if (from->last != NULL)
		return refuse(error, from, "an item of a template has a mask, but no range");
	if (n == TRIP_SHAPE_ITEMS)
		return refuse(
			error, from, "a template has at most " RTE_STR(TRIP_SHAPE_ITEMS) " items");
	normal->shape.n_items++;
	normal->shape.types[n] = from->type;
	*to = (struct rte_flow_item){.type = from->type};
	if (spec == NULL)
		return 0;
	mask = from->mask != NULL ? from->mask : item->mask;
	for (uint32_t i = 0; i < item->bytes; i++) {
		normal->shape.masks[n][i] = mask[i];
		normal->values[n][i] = spec[i] & mask[i];
		if (mask[i] == 0)
			continue;
		to->mask = normal->shape.masks[n];
		to->spec = normal->values[n];
	}
	return 0;
}

int
trip_shape_of(struct trip_shape_pattern *normal, const struct rte_flow_item *pattern,
	struct rte_flow_error *error)
{
	int result = 0;

	/* All of it: shapes are compared byte by byte. */
	memset(normal, 0, sizeof(*normal));
	for (; pattern->type != RTE_FLOW_ITEM_TYPE_END && result == 0; pattern++)
		if (pattern->type != RTE_FLOW_ITEM_TYPE_VOID)
			result = add(normal, pattern, error);
	normal->items[normal->shape.n_items].type = RTE_FLOW_ITEM_TYPE_END;
	return result;
}

/* FNV-1a. */
uint64_t
trip_shape_key(const struct trip_shape_pattern *normal)
{
	const uint8_t *at = normal->values[0];
	uint64_t key = UINT64_C(0xcbf29ce484222325);

	for (uint32_t i = 0; i < normal->shape.n_items * TRIP_SHAPE_BYTES; i++)
		key = (key ^ at[i]) * UINT64_C(0x100000001b3);
	return key != 0 ? key : 1;
}
