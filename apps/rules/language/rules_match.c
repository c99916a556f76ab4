/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do two patterns have a packet in common?
 *
 * A pattern becomes a vector of bits over everything that a packet can hold, each with a value or
 * open; what its items imply (udp that the protocol is 17, one vlan item that there is one tag) is
 * written down as if it were tested, so that most patterns without a common packet differ in a bit
 * that both have. What two vectors together ask for may still be something that no packet has, as
 * they can only say "this value" where packets know "one of these": the EtherType of a tag, the
 * next header of IPv6. That is checked on the vectors joined.
 *
 * There is a vector for the packet and one for the packet within it. The contents of IPv4 and IPv6
 * share a place, and so do those of the L4 protocols and of the tunnels: another byte tells them
 * apart. Not looked at is what would make a packet malformed, such as a length: it may lie.
 */
#include "rules_match_level.h"

static void
demand(struct level *level, size_t at, uint8_t mask, uint8_t value)
{
	level->empty |= ((level->value[at] ^ value) & level->mask[at] & mask) != 0;
	level->mask[at] |= mask;
	level->value[at] |= value & mask;
}

static void
demand_bytes(struct level *level, size_t at, const void *mask, const void *value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		demand(level, at + i, ((const uint8_t *)mask)[i], ((const uint8_t *)value)[i]);
}

static void
demand_u16(struct level *level, size_t at, uint16_t value)
{
	demand(level, at, 0xff, (uint8_t)(value >> 8));
	demand(level, at + 1, 0xff, (uint8_t)value);
}

static void
demand_upper(struct level *level, uint8_t proto)
{
	demand(level, AT_UPPER, 0xff, proto);
	demand(level, AT_IP, 0xff, 1);
}

/* It may stand before the upper protocol of IPv6, and is that of IPv4. */
static void
demand_auth(struct level *level)
{
	demand(level, AT_AUTH, 0xff, 1);
	demand(level, AT_IP, 0xff, 1);
}

/* Bit-fields behind the headers, which have no address. */
static void
demand_flags(struct level *level, const struct rte_flow_item *item, bool last_tag)
{
	const struct rte_flow_item_eth *eth = item->spec, *eth_mask = item->mask;
	const struct rte_flow_item_vlan *vlan = item->spec, *vlan_mask = item->mask;
	const struct rte_flow_item_ipv6 *ipv6 = item->spec, *ipv6_mask = item->mask;

	if (item->type == RTE_FLOW_ITEM_TYPE_ETH && eth_mask->has_vlan)
		demand(level, AT_TAGGED, 0xff, eth->has_vlan);
	else if (item->type == RTE_FLOW_ITEM_TYPE_VLAN && vlan_mask->has_more_vlan)
		level->empty |= vlan->has_more_vlan == last_tag;
	else if (item->type == RTE_FLOW_ITEM_TYPE_IPV6 && ipv6_mask->has_frag_ext)
		demand(level, AT_FRAGMENT, 0xff, ipv6->has_frag_ext);
}

/* What announces an item: itself, and where it stands behind one item only, that one, too. */
static void
demand_announced(struct level *level, const struct trip_flow_item *known)
{
	uint32_t behind = known->behind;

	if (known->announcer == TRIP_FLOW_BY_ETHERTYPE)
		demand_u16(level, AT_L3, known->number);
	else if (known->type == RTE_FLOW_ITEM_TYPE_AH)
		demand_auth(level);
	else if (known->announcer == TRIP_FLOW_BY_PROTOCOL)
		demand_upper(level, (uint8_t)known->number);
	else if (known->announcer == TRIP_FLOW_BY_EXTENSION)
		demand(level, AT_SESSION, 0xff, 1);
	else if (known->announcer == TRIP_FLOW_BY_UDP_PORT && is_open(level, AT_UDP_DST, 2))
		demand_u16(level, AT_UDP_DST, known->number);
	if (known->announcer != TRIP_FLOW_BY_NOTHING && (behind & (behind - 1)) == 0)
		demand_announced(level, trip_flow_item_at(rte_bsf32(behind)));
}

/* `nth`: how many of these items are before it. */
static void
demand_item(struct level *level, const struct rte_flow_item *item,
	const struct trip_flow_item *known, unsigned int nth)
{
	static const uint8_t places[] = {
		[TRIP_FLOW_ETH] = AT_ETH,
		[TRIP_FLOW_VLAN] = AT_VLAN,
		[TRIP_FLOW_IP] = AT_HEADER,
		[TRIP_FLOW_L4] = AT_L4,
		[TRIP_FLOW_TUNNEL] = AT_TUNNEL,
	};

	size_t at = item->type == RTE_FLOW_ITEM_TYPE_AH        ? AT_AUTH_HEADER
		    : item->type == RTE_FLOW_ITEM_TYPE_GTP_PSC ? AT_SESSION_HEADER
							       : places[known->layer];

	demand_announced(level, known);
	/* Behind the last label there is none. */
	if (item->type == RTE_FLOW_ITEM_TYPE_MPLS && nth > 0)
		demand(level, AT_TUNNEL + 2, 1, 0);
	if (item->spec == NULL)
		return;
	demand_bytes(level, at + nth * known->header, item->mask, item->spec, known->header);
	demand_flags(level, item, item[1].type != RTE_FLOW_ITEM_TYPE_VLAN);
}

/* What is known of the tags and of the EtherType says more of each other and of L3. */
static void
close_type(struct level *level, unsigned int n_tags)
{
	bool known = is_known(level, types[0], 2);

	if (n_tags > 0)
		demand(level, AT_TAGS, 0xff, (uint8_t)n_tags);
	else if ((level->mask[AT_TAGGED] != 0 && level->value[AT_TAGGED] == 0) ||
		 (known && !may_be_tag(level, types[0])))
		demand(level, AT_TAGS, 0xff, 0);
	if (n_tags > 0 || (known && may_be_tag(level, types[0])))
		demand(level, AT_TAGGED, 0xff, 1);
	if (level->mask[AT_TAGS] == 0)
		return;
	demand(level, AT_TAGGED, 0xff, n_tags > 0);
	if (is_known(level, types[n_tags], 2))
		demand_bytes(
			level, AT_L3, level->mask + types[n_tags], level->value + types[n_tags], 2);
}

/* In IPv4 the protocol field is the upper protocol; in IPv6 it may be an extension. */
static void
close_proto(struct level *level)
{
	uint8_t proto = level->value[AT_IPV6_PROTO];

	if (!is_known(level, AT_L3, 2))
		return;
	demand(level, AT_IP, 0xff,
		is_u16(level, AT_L3, TYPE_IPV4) || is_u16(level, AT_L3, TYPE_IPV6));
	if (is_u16(level, AT_L3, TYPE_IPV4)) {
		demand(level, AT_UPPER, level->mask[AT_IPV4_PROTO], level->value[AT_IPV4_PROTO]);
		demand(level, AT_IPV4_PROTO, level->mask[AT_UPPER], level->value[AT_UPPER]);
		if (level->mask[AT_UPPER] == 0xff)
			demand(level, AT_AUTH, 0xff, level->value[AT_UPPER] == PROTO_AUTH);
	} else if (is_u16(level, AT_L3, TYPE_IPV6) && level->mask[AT_IPV6_PROTO] == 0xff) {
		if (proto == PROTO_FRAGMENT || !is_extension(proto))
			demand(level, AT_FRAGMENT, 0xff, proto == PROTO_FRAGMENT);
		if (proto == PROTO_AUTH || !is_extension(proto))
			demand(level, AT_AUTH, 0xff, proto == PROTO_AUTH);
		if (!is_extension(proto))
			demand(level, AT_UPPER, 0xff, proto);
	}
}

/* Bytes behind the IP header are there in a first fragment only. */
static void
close_fragment(struct level *level, bool tunnel)
{
	const uint8_t *mask = level->mask + AT_IPV4_FRAGMENT;
	const uint8_t *value = level->value + AT_IPV4_FRAGMENT;

	if (!is_open(level, AT_L4, LEVEL - AT_L4) || tunnel)
		demand(level, AT_LATER, 0xff, 0);
	if (!is_u16(level, AT_L3, TYPE_IPV4))
		return;
	if (((mask[0] & value[0] & 0x1f) | (mask[1] & value[1])) != 0)
		demand(level, AT_LATER, 0xff, 1);
	else if ((mask[0] & 0x1f) == 0x1f && mask[1] == 0xff)
		demand(level, AT_LATER, 0xff, 0);
	else if (level->mask[AT_LATER] != 0) {
		demand(level, AT_IPV4_FRAGMENT, 0x1f, 0);
		demand(level, AT_IPV4_FRAGMENT + 1, 0xff, 0);
	}
}

/* What a tunnel's header says where it carries a packet that begins with an item. */
static void
demand_inner(struct level *level, const struct trip_flow_item *tunnel,
	const struct trip_flow_item *first)
{
	if (tunnel->carries == TRIP_FLOW_CARRIES_TYPED && first->layer == TRIP_FLOW_ETH)
		demand_u16(level, AT_CARRIED, TYPE_ETHERNET);
	if (tunnel->type != RTE_FLOW_ITEM_TYPE_GTPU && tunnel->type != RTE_FLOW_ITEM_TYPE_GTP_PSC)
		return;
	demand(level, AT_TUNNEL, 0xf0, GTP_USER);
	demand(level, AT_TUNNEL + 1, 0xff, GTP_PACKET);
}

/* Sets are not looked into: what they have in common changes with them, so two tests may both
 * hold. */
static const struct rte_flow_item *
skip_sets(const struct rte_flow_item *item)
{
	while ((int)item->type == TRIP_FLOW_ITEM_TYPE_SET)
		item++;
	return item;
}

/* The items of one level, up to the end or its tunnel; returns what stands behind. */
static const struct rte_flow_item *
fill_level(struct level *level, const struct rte_flow_item *item)
{
	const struct trip_flow_item *known, *next;
	unsigned int n_tags = 0, nth = 0;
	bool deep = false;

	for (known = trip_flow_item_of((int)item->type); known != NULL; known = next) {
		demand_item(level, item, known, nth);
		item = skip_sets(item + 1);
		next = trip_flow_item_of((int)item->type);
		nth = next == known ? nth + 1 : 0;
		n_tags += known->layer == TRIP_FLOW_VLAN;
		deep = known->layer == TRIP_FLOW_TUNNEL && next != NULL;
		if (deep && next->layer != TRIP_FLOW_TUNNEL) {
			demand_inner(level, known, next);
			break;
		}
	}
	close_type(level, n_tags);
	close_proto(level);
	close_fragment(level, deep);
	return item;
}

/* False where no packet matches. */
bool
trip_rules_match_compile(const struct rte_flow_item *items, struct trip_rules_match *match)
{
	struct level outer, inner;

	memset(match, 0, sizeof(*match));
	outer = level_of(match, 0);
	inner = level_of(match, 1);
	items = fill_level(&outer, items);
	if (items->type != RTE_FLOW_ITEM_TYPE_END)
		fill_level(&inner, items);
	return !outer.empty && !inner.empty && trip_rules_match_holds(match);
}

/* Is there a packet that both match? */
bool
trip_rules_match_meets(const struct trip_rules_match *a, const struct trip_rules_match *b)
{
	struct trip_rules_match both;

	for (unsigned int i = 0; i < TRIP_RULES_MATCH_WORDS; i++) {
		if (((a->value[i] ^ b->value[i]) & a->mask[i] & b->mask[i]) != 0)
			return false;
		both.mask[i] = a->mask[i] | b->mask[i];
		both.value[i] = a->value[i] | b->value[i];
	}
	return trip_rules_match_holds(&both);
}
