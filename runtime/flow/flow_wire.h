/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rule as a message: the items and actions of rte_flow without a pointer, for a process that asks
 * the primary for a flow. Items and actions are those that an engine of ours has; of each, the size
 * follows from its type, which both sides know, so no length that was sent is believed.
 */
#ifndef TRIP_RUNTIME_FLOW_WIRE_H
#define TRIP_RUNTIME_FLOW_WIRE_H

#include <stdint.h>

#include <rte_flow.h>

#define TRIP_FLOW_WIRE_ITEMS 32
#define TRIP_FLOW_WIRE_ACTIONS 16
#define TRIP_FLOW_WIRE_BYTES 2048

struct trip_flow_wire {
	uint16_t n_items;
	/* TRIP_FLOW_WIRE_NONE: no actions were given, which is not none. */
	uint16_t n_actions;
	uint32_t used;
	_Alignas(8) uint8_t bytes[TRIP_FLOW_WIRE_BYTES];
};

#define TRIP_FLOW_WIRE_NONE UINT16_MAX

/* A rule that was unpacked: it points into the message. */
struct trip_flow_unpacked {
	struct rte_flow_item items[TRIP_FLOW_WIRE_ITEMS + 1];
	struct rte_flow_action actions[TRIP_FLOW_WIRE_ACTIONS + 1];
	/* Of the one RSS that there may be. */
	struct rte_flow_action_rss rss;
};

/*
 * Writes a rule; `actions` may be NULL. 0, or -ENOTSUP: an item or action that no engine has, or
 * -E2BIG: more of it than a message holds; `error`, which may be NULL, says which.
 */
int trip_flow_wire_pack(struct trip_flow_wire *wire, const struct rte_flow_item *pattern,
	const struct rte_flow_action *actions, struct rte_flow_error *error);

/* Reads a message that may be garbage, and stays within it: 0 or -EPROTO. */
int trip_flow_wire_unpack(struct trip_flow_wire *wire, struct trip_flow_unpacked *rule);

#endif
