/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An rte_flow pattern as masks and values over the words of a packet.
 *
 * Where rte_flow leaves open what an item means, this is what it means here:
 *
 * - An item without fields matches by the number that announces its header (trip_flow_item.h): an
 *   EtherType, a protocol number, a UDP port; also in packets that end before that header, and in
 *   later fragments where the number is there. A field matches where all of its own bytes are in
 *   the packet.
 * - ETH and IP items match behind any number of tags (up to 8); n VLAN items match packets with
 *   exactly n. has_more_vlan 1 on the last of them makes that "at least n + 1".
 * - `proto` of IPV6 is the field of the IPv6 header itself. L4 items look behind extension headers
 *   (up to 16: hop-by-hop, routing, fragment, AH, destination, mobility, HIP, shim6); ESP ends the
 *   search. AH is found in both versions of IP, and is the first of several. has_*_ext 1 matches
 * where that header is announced, 0 where all are known and it is not among them.
 * - ICMP is of IPv4 only, ICMP6 of IPv6 only, and an L4 item without an IP item before it is of
 *   either.
 * - Items before a tunnel, or without one, are of the outer packet. Items behind one are of the
 *   inner packet, under the same rules; a layer left out between the tunnel and the first of them
 * is any: GRE / IPV4 matches IPv4 in GRE, also inside an Ethernet frame in GRE (0x6558).
 * - VXLAN is UDP to port 4789, whatever its flags say. A UDP item before a tunnel may repeat its
 *   port. Behind GRE is looked in version 0 without source routes, behind GENEVE in version 0,
 *   behind GTPU in version 1, with up to 8 extension headers, in messages of type 255 (G-PDU).
 * - n MPLS items are the upper n labels of a stack of at least n (EtherType 0x8847). Behind its
 *   bottom, up to 16 labels down, is IPv4 or IPv6 by the first four bits (RFC 4928); a pseudowire
 * is not looked into. Nor is a tunnel in a tunnel.
 * - A field of `last` that is zero or repeats `spec` is no range, as rte_flow has it; ranges are
 *   refused. Checksums of IPv4, TCP, UDP and ICMP are not read.
 */
#ifndef TRIP_PATTERN_H
#define TRIP_PATTERN_H

#include <rte_flow.h>
#include <trip_set.h>

#include "packet.h"

/* A packet matches where (words & mask) == value, in every word. value has no bit outside mask. */
struct trip_pattern {
	uint64_t mask[TRIP_PACKET_WORDS];
	uint64_t value[TRIP_PACKET_WORDS];
};

/*
 * Compile items up to END. Items are those of the catalogue and VOID, from the outside in; layers
 * may be left out at the outside ("ipv4 / udp") and at the inside, not between. Where mask is NULL
 * rte_flow's default mask of that item holds.
 *
 * -ENOTSUP: an item, a range or a field that the software engine does not read. -EINVAL: an order
 * of items that no packet has, or an item with a mask and no spec. In both, error (which may be
 * NULL) says in its cause which item it was, and in its message the item and the field; the message
 * is good until the calling thread's next refusal.
 */
int trip_pattern_compile(const struct rte_flow_item *items, struct trip_pattern *pattern,
	struct rte_flow_error *error);

/* Fields of a pattern that are in sets: what trip_within_take() needs for each. */
struct trip_pattern_test {
	const char *set; /* in its item's spec */
	uint32_t place;
	enum trip_set_kind kind;
};

/* Of each IP and L4 item, outer and inner, both ends. */
#define TRIP_PATTERN_TESTS_MAX 8

struct trip_pattern_tests {
	uint32_t n;
	struct trip_pattern_test at[TRIP_PATTERN_TESTS_MAX];
};

/* As trip_pattern_compile(), which refuses them, with TRIP_FLOW_ITEM_TYPE_SET among the items: the
 * pattern demands that those fields are in the packet, and `tests` says what else. */
int trip_pattern_compile_tests(const struct rte_flow_item *items, struct trip_pattern *pattern,
	struct trip_pattern_tests *tests, struct rte_flow_error *error);

#endif
