/* SPDX-License-Identifier: BSD-3-Clause */
/* The items that a pattern can have, and where their fields are in a packet's words. */
#ifndef TRIP_PATTERN_ITEM_H
#define TRIP_PATTERN_ITEM_H

#include "pattern.h"

#define TRIP_PATTERN_NOT_READ (-1)

/* One member of an item's structure, and where in a stack's words it is. */
struct trip_pattern_field {
	uint16_t offset;
	uint16_t size;
	int16_t place;
	uint64_t bits; /* presence: TRIP_HAS_*, and TRIP_MORE_* above them */
	const char *not_read;
	const char *range;
};

enum trip_pattern_layer {
	TRIP_PATTERN_NOTHING,
	TRIP_PATTERN_ETH,
	TRIP_PATTERN_VLAN,
	TRIP_PATTERN_IP,
	TRIP_PATTERN_L4,
	TRIP_PATTERN_TUNNEL, /* behind L4 */
};

struct trip_pattern_item {
	enum rte_flow_item_type type;
	enum trip_pattern_layer layer;
	uint32_t bit; /* the item without fields */
	const void *default_mask;
	const struct trip_pattern_field *fields;
	uint32_t n_fields;
	const char *misplaced;
	const char *no_spec;
};

/* `tags`: VLAN items before it in the same stack. NULL: there is no such item. */
const struct trip_pattern_item *trip_pattern_item_of(enum rte_flow_item_type type, uint32_t tags);

#endif
