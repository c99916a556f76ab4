/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of statements as what rules of rte_flow match. */
#ifndef TRIP_RUNTIME_EACH_RULE_H
#define TRIP_RUNTIME_EACH_RULE_H

#include <rte_flow.h>

#include "flow/each.h"

/* Ethernet, a tag, IP, ports, and the end. */
#define TRIP_EACH_RULE_ITEMS 5

struct trip_each_rule {
	struct rte_flow_item items[TRIP_EACH_RULE_ITEMS];
	struct rte_flow_item_vlan vlan[2]; /* what is asked for, and under which mask */
	union {
		struct rte_flow_item_ipv4 v4[2];
		struct rte_flow_item_ipv6 v6[2];
	};
	union {
		struct rte_flow_item_tcp tcp[2];
		struct rte_flow_item_udp udp[2];
	};
};

/* COUNT and DROP. */
extern const struct rte_flow_action trip_each_rule_actions[];

/* What is asked for of hardware becomes data: 0, or the error of trip_each_footprint(). */
int trip_each_rule_plan(const struct trip_each_attr *attr, struct trip_each_statement *statement);

/* The rule that matches no other packets than those of a key; false: none does. It refers to
 * itself. */
bool trip_each_rule_make(const struct trip_each_statement *statement, const uint8_t *key,
	struct trip_each_rule *rule);

/* Its priority among those of its port: of one that drops, or of what takes over while that ends,
 * which none needs whose counter is shared. */
static inline uint32_t
trip_each_rule_priority(bool shares, bool drops)
{
	return drops && !shares ? 1 : 0;
}

/* Whether it has one port, which takes rules of its keys, if any are to go to hardware, where rules
 * share counters or not: 0, or the error of trip_each_open(). */
int trip_each_rule_check(const struct trip_each *each, bool shares);

/* Rules of hardware take their packets from all else that counts on a port: whether there is
 * nothing. 0, or the error. Under the control lock. */
int trip_each_rule_alone(const struct trip_each *each);

#endif
