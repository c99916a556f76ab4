/* SPDX-License-Identifier: BSD-3-Clause */
/* An rte_flow pattern as masks and values over the words of a packet. */
#ifndef TRIP_PATTERN_H
#define TRIP_PATTERN_H

#include <rte_flow.h>

#include "packet.h"

/* A packet matches where (words & mask) == value, in every word. value has no bit outside mask. */
struct trip_pattern {
	uint64_t mask[TRIP_PACKET_WORDS];
	uint64_t value[TRIP_PACKET_WORDS];
};

/*
 * Compile items up to END. Items are ETH, VLAN, IPV4, IPV6, TCP, UDP, ICMP and VOID, from the
 * outside in; layers may be left out at the outside ("ipv4 / udp") and at the inside, not between.
 * Where mask is NULL rte_flow's default mask of that item holds; `last` may only repeat `spec`.
 *
 * -ENOTSUP: an item, a range or a field that the software engine does not read. -EINVAL: an order
 * of items that no packet has, or an item with a mask and no spec. In both, error (which may be
 * NULL) says in its cause which item it was, and in its message the item and the field.
 */
int trip_pattern_compile(const struct rte_flow_item *items, struct trip_pattern *pattern,
	struct rte_flow_error *error);

static inline int
trip_pattern_matches(const struct trip_pattern *pattern, const struct trip_packet_fields *fields)
{
	uint64_t differ = 0;
	unsigned int word;

	for (word = 0; word < TRIP_PACKET_WORDS; word++)
		differ |= (fields->words[word] & pattern->mask[word]) ^ pattern->value[word];
	return differ == 0;
}

#endif
