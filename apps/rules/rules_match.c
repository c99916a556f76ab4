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
#include <string.h>

#include <rte_byteorder.h>

#include "rules_priv.h"

#define LEVEL (8 * TRIP_RULES_MATCH_WORDS / 2)

/* Bytes of a level. */
enum place {
	AT_TAGS,      /* 0, 1, 2, or 3 for more */
	AT_TAGGED,    /* 1: there is one */
	AT_L3,        /* 4, 6, or 0 for another protocol than IP */
	AT_IP,        /* 1: AT_L3 is 4 or 6 */
	AT_UPPER,     /* the protocol number behind all headers of IP */
	AT_LATER,     /* 1: not the first fragment of IPv4 */
	AT_FRAGMENT,  /* 1: IPv6 has a fragment header */
	AT_ETH = 8,   /* 14 */
	AT_VLAN = 24, /* 4, and 4 of the second one */
	AT_HEADER = 32,
	AT_L4 = 72,
	AT_TUNNEL = 96,
};

/* The EtherType of the frame, and of what stands behind one tag and behind two. */
static const size_t types[] = {AT_ETH + 12, AT_VLAN + 2, AT_VLAN + 6};
#define AT_IPV4_FRAGMENT (AT_HEADER + 6)
#define AT_IPV4_PROTO (AT_HEADER + 9)
#define AT_IPV6_PROTO (AT_HEADER + 6)
#define AT_UDP_DST (AT_L4 + 2)
#define AT_GRE_TYPE (AT_TUNNEL + 2)

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_ETHERNET 0x6558
#define PORT_VXLAN 4789

static const uint16_t tag_types[] = {0x8100, 0x88a8, 0x9100};
/* What may stand between IPv6 and its upper protocol. */
static const uint8_t extensions[] = {0, 43, 44, 51, 60};
#define PROTO_FRAGMENT 44
#define PROTO_UDP 17
#define PROTO_GRE 47

static_assert(AT_TUNNEL + 8 == LEVEL, "a level is filled");

/* A level being filled or checked. */
struct level {
	uint8_t *mask;
	uint8_t *value;
	bool empty; /* two of its demands exclude each other */
};

static struct level
level_of(struct trip_rules_match *match, unsigned int i)
{
	return (struct level){
		.mask = (uint8_t *)match->mask + i * LEVEL,
		.value = (uint8_t *)match->value + i * LEVEL,
	};
}

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

/* Could this byte, or these two, be that? */
static bool
may_be(const struct level *level, size_t at, uint8_t value)
{
	return ((level->value[at] ^ value) & level->mask[at]) == 0;
}

static bool
may_be_u16(const struct level *level, size_t at, uint16_t value)
{
	return may_be(level, at, (uint8_t)(value >> 8)) && may_be(level, at + 1, (uint8_t)value);
}

static bool
is_known(const struct level *level, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (level->mask[at + i] != 0xff)
			return false;
	}
	return true;
}

static bool
is_open(const struct level *level, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (level->mask[at + i] != 0)
			return false;
	}
	return true;
}

static bool
may_be_tag(const struct level *level, size_t at)
{
	for (size_t i = 0; i < RTE_DIM(tag_types); i++) {
		if (may_be_u16(level, at, tag_types[i]))
			return true;
	}
	return false;
}

static bool
is_extension(uint8_t proto)
{
	return memchr(extensions, proto, sizeof(extensions)) != NULL;
}

static void
demand_upper(struct level *level, uint8_t proto)
{
	demand(level, AT_UPPER, 0xff, proto);
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

struct header {
	enum rte_flow_item_type type;
	uint8_t at;
	uint8_t size;
	uint8_t l3;    /* that it is or needs */
	uint8_t upper; /* its protocol number; 0: none */
};

static const struct header headers[] = {
	{RTE_FLOW_ITEM_TYPE_ETH, AT_ETH, 14, 0, 0},
	{RTE_FLOW_ITEM_TYPE_VLAN, AT_VLAN, 4, 0, 0},
	{RTE_FLOW_ITEM_TYPE_IPV4, AT_HEADER, 20, 4, 0},
	{RTE_FLOW_ITEM_TYPE_IPV6, AT_HEADER, 40, 6, 0},
	{RTE_FLOW_ITEM_TYPE_TCP, AT_L4, 20, 0, 6},
	{RTE_FLOW_ITEM_TYPE_UDP, AT_L4, 8, 0, PROTO_UDP},
	{RTE_FLOW_ITEM_TYPE_SCTP, AT_L4, 12, 0, 132},
	{RTE_FLOW_ITEM_TYPE_ICMP, AT_L4, 8, 4, 1},
	{RTE_FLOW_ITEM_TYPE_ICMP6, AT_L4, 4, 6, 58},
	{RTE_FLOW_ITEM_TYPE_VXLAN, AT_TUNNEL, 8, 0, PROTO_UDP},
	{RTE_FLOW_ITEM_TYPE_GRE, AT_TUNNEL, 4, 0, PROTO_GRE},
};

static void
demand_item(struct level *level, const struct rte_flow_item *item, unsigned int tag)
{
	const struct header *header = headers;

	while (header->type != item->type)
		header++;
	if (header->l3 != 0)
		demand(level, AT_L3, 0xff, header->l3);
	if (header->upper != 0)
		demand_upper(level, header->upper);
	if (item->spec == NULL)
		return;
	demand_bytes(level, header->at + 4u * tag, item->mask, item->spec, header->size);
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
		demand(level, AT_L3, 0xff,
			may_be_u16(level, types[n_tags], TYPE_IPV4)   ? 4
			: may_be_u16(level, types[n_tags], TYPE_IPV6) ? 6
								      : 0);
}

/* In IPv4 the protocol field is the upper protocol; in IPv6 it may be an extension. */
static void
close_proto(struct level *level)
{
	uint8_t proto = level->value[AT_IPV6_PROTO];

	if (level->mask[AT_L3] == 0)
		return;
	demand(level, AT_IP, 0xff, level->value[AT_L3] != 0);
	if (level->value[AT_L3] == 4) {
		demand(level, AT_UPPER, level->mask[AT_IPV4_PROTO], level->value[AT_IPV4_PROTO]);
		demand(level, AT_IPV4_PROTO, level->mask[AT_UPPER], level->value[AT_UPPER]);
	} else if (level->value[AT_L3] == 6 && level->mask[AT_IPV6_PROTO] == 0xff) {
		if (proto == PROTO_FRAGMENT || !is_extension(proto))
			demand(level, AT_FRAGMENT, 0xff, proto == PROTO_FRAGMENT);
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
	if (level->mask[AT_L3] == 0 || level->value[AT_L3] != 4)
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

/* The items of one level, up to the end or its tunnel; returns what stands behind. */
static const struct rte_flow_item *
fill_level(struct level *level, const struct rte_flow_item *item)
{
	unsigned int n_tags = 0;
	bool tunnel = false;

	for (; item->type != RTE_FLOW_ITEM_TYPE_END && !tunnel; item++) {
		bool tag = item->type == RTE_FLOW_ITEM_TYPE_VLAN;

		demand_item(level, item, tag ? n_tags : 0);
		n_tags += tag;
		if (item->type == RTE_FLOW_ITEM_TYPE_VXLAN && is_open(level, AT_UDP_DST, 2))
			demand_u16(level, AT_UDP_DST, PORT_VXLAN);
		if (item->type == RTE_FLOW_ITEM_TYPE_GRE && item[1].type == RTE_FLOW_ITEM_TYPE_ETH)
			demand_u16(level, AT_GRE_TYPE, TYPE_ETHERNET);
		tunnel = item->type == RTE_FLOW_ITEM_TYPE_VXLAN ||
			 (item->type == RTE_FLOW_ITEM_TYPE_GRE &&
				 item[1].type != RTE_FLOW_ITEM_TYPE_END);
	}
	close_type(level, n_tags);
	close_proto(level);
	close_fragment(level, tunnel);
	return item;
}

/* Is there a packet with these tags and this L3? */
static bool
type_holds(const struct level *level, uint8_t tags, uint8_t l3)
{
	size_t type;

	if (!may_be(level, AT_TAGS, tags) || !may_be(level, AT_TAGGED, tags > 0))
		return false;
	for (unsigned int i = 0; i < tags && i < RTE_DIM(types); i++) {
		if (!may_be_tag(level, types[i]))
			return false;
	}
	if (tags == 3)
		return true;
	type = types[tags];
	if (l3 != 0)
		return may_be_u16(level, type, l3 == 4 ? TYPE_IPV4 : TYPE_IPV6);
	return !is_known(level, type, 2) ||
	       (!may_be_u16(level, type, TYPE_IPV4) && !may_be_u16(level, type, TYPE_IPV6) &&
		       !may_be_tag(level, type));
}

/* Is there a chain of headers from IPv6 to its upper protocol? */
static bool
ipv6_holds(const struct level *level)
{
	bool known = level->mask[AT_IPV6_PROTO] == 0xff;
	uint8_t proto = level->value[AT_IPV6_PROTO];
	uint8_t common = level->mask[AT_UPPER] & level->mask[AT_IPV6_PROTO];

	if (may_be(level, AT_FRAGMENT, 0) && !(known && is_extension(proto)) &&
		((level->value[AT_UPPER] ^ proto) & common) == 0)
		return true;
	for (size_t i = 0; i < sizeof(extensions); i++) {
		if (may_be(level, AT_IPV6_PROTO, extensions[i]) &&
			(extensions[i] != PROTO_FRAGMENT || may_be(level, AT_FRAGMENT, 1)))
			return true;
	}
	return false;
}

static bool
l3_holds(const struct level *level, uint8_t l3)
{
	if (!may_be(level, AT_L3, l3) || !may_be(level, AT_IP, l3 != 0))
		return false;
	if (l3 == 4 && !is_open(level, AT_FRAGMENT, 1) && level->value[AT_FRAGMENT] != 0)
		return false;
	if (l3 == 6 && !ipv6_holds(level))
		return false;
	for (uint8_t tags = 0; tags <= 3; tags++) {
		if (type_holds(level, tags, l3))
			return true;
	}
	return false;
}

/* In GRE, IP may stand without Ethernet. */
static bool
gre_holds(const struct level *outer, const struct level *inner)
{
	if (may_be_u16(outer, AT_GRE_TYPE, TYPE_ETHERNET))
		return true;
	if (!is_open(inner, AT_TAGS, 2) || !is_open(inner, AT_ETH, AT_HEADER - AT_ETH))
		return false;
	return (may_be_u16(outer, AT_GRE_TYPE, TYPE_IPV4) && may_be(inner, AT_L3, 4)) ||
	       (may_be_u16(outer, AT_GRE_TYPE, TYPE_IPV6) && may_be(inner, AT_L3, 6));
}

/* What no packet has, although no bit says so. */
static bool
holds(struct trip_rules_match *match)
{
	struct level outer = level_of(match, 0), inner = level_of(match, 1);
	bool has_inner = !is_open(&inner, 0, LEVEL);

	if (!l3_holds(&outer, 0) && !l3_holds(&outer, 4) && !l3_holds(&outer, 6))
		return false;
	if (!has_inner)
		return true;
	if (!l3_holds(&inner, 0) && !l3_holds(&inner, 4) && !l3_holds(&inner, 6))
		return false;
	return outer.value[AT_UPPER] != PROTO_GRE || gre_holds(&outer, &inner);
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
	return !outer.empty && !inner.empty && holds(match);
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
	return holds(&both);
}
