/* SPDX-License-Identifier: BSD-3-Clause */
/* Where what the catalogue's items match is in a packet's words. */
#ifndef TRIP_PATTERN_ITEM_H
#define TRIP_PATTERN_ITEM_H

#include <stdbool.h>

#include <trip_flow_item.h>

#include "pattern.h"

/* The second half of the presence bits. */
#define TRIP_PATTERN_MORE(bits) ((uint64_t)(bits) << 32)

/* The bytes of a field in a stack's words, and the presence bits that say that they are there:
 * TRIP_HAS_*, and TRIP_MORE_* above them. */
struct trip_pattern_place {
	uint32_t at;
	uint64_t bits;
};

/* `nth`: how many of these items are before it. Of a flag behind the header only bits are set; it
 * may have no place at all. */
struct trip_pattern_place trip_pattern_item_place(
	const struct trip_flow_item *item, unsigned int nth, const struct trip_flow_field *field);

/* Is a field one of the flags behind the header? Then which of them. */
static inline bool
trip_pattern_item_flag(const struct trip_flow_item *item, const struct trip_flow_field *field)
{
	return field->offset >= item->header;
}

/* What says in a stack's presence bits that an item is there: those of `mask` are `value`. */
struct trip_pattern_sign {
	uint64_t mask, value;
};

struct trip_pattern_sign trip_pattern_item_sign(
	const struct trip_flow_item *item, unsigned int nth);

/* Does that stand in the inner stack? It does where the outer one has nothing but an EtherType. */
static inline bool
trip_pattern_item_inside(const struct trip_flow_item *item)
{
	return item->layer == TRIP_FLOW_TUNNEL && item->announcer != TRIP_FLOW_BY_PROTOCOL &&
	       item->announcer != TRIP_FLOW_BY_UDP_PORT;
}

#endif
