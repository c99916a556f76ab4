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
	AT_L3,        /* 2: the EtherType behind all tags */
	AT_IP = 4,    /* 1: AT_L3 is IPv4 or IPv6 */
	AT_UPPER,     /* the protocol number behind all headers of IP */
	AT_LATER,     /* 1: not the first fragment of IPv4 */
	AT_FRAGMENT,  /* 1: IPv6 has a fragment header */
	AT_ETH = 8,   /* 14 */
	AT_AUTH = 22, /* 1: there is AH */
	AT_VLAN = 24, /* 4, and 4 of the second one */
	AT_HEADER = 32,
	AT_L4 = 72,
	AT_TUNNEL = 96,
	AT_SESSION = 104, /* 1: there is a PDU session container */
	AT_SESSION_HEADER,
	AT_AUTH_HEADER = 112, /* 12 */
};

/* The EtherType of the frame, and of what stands behind one tag and behind two. */
static const size_t types[] = {AT_ETH + 12, AT_VLAN + 2, AT_VLAN + 6};
#define AT_IPV4_FRAGMENT (AT_HEADER + 6)
#define AT_IPV4_PROTO (AT_HEADER + 9)
#define AT_IPV6_PROTO (AT_HEADER + 6)
#define AT_UDP_DST (AT_L4 + 2)
#define AT_CARRIED (AT_TUNNEL + 2)

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_ETHERNET 0x6558

static const uint16_t tag_types[] = {0x8100, 0x88a8, 0x9100};
/* What may stand between IPv6 and its upper protocol. */
static const uint8_t extensions[] = {0, 43, 44, 51, 60};
#define PROTO_FRAGMENT 44
#define PROTO_UDP 17
#define PROTO_AUTH 51
#define GTP_USER 0x30
#define GTP_PACKET 255

static_assert(AT_AUTH_HEADER + 12 <= LEVEL, "a level has room");

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
is_u16(const struct level *level, size_t at, uint16_t value)
{
	return is_known(level, at, 2) && may_be_u16(level, at, value);
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

/* The items of one level, up to the end or its tunnel; returns what stands behind. */
static const struct rte_flow_item *
fill_level(struct level *level, const struct rte_flow_item *item)
{
	const struct trip_flow_item *known, *next;
	unsigned int n_tags = 0, nth = 0;
	bool deep = false;

	for (known = trip_flow_item_of((int)item->type); known != NULL; known = next) {
		demand_item(level, item, known, nth);
		next = trip_flow_item_of((int)(++item)->type);
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

/* Is there a packet with these tags and this L3? */
static bool
type_holds(const struct level *level, uint8_t tags, uint16_t l3)
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
		return may_be_u16(level, type, l3);
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

	if (may_be(level, AT_FRAGMENT, 0) && may_be(level, AT_AUTH, 0) &&
		!(known && is_extension(proto)) && ((level->value[AT_UPPER] ^ proto) & common) == 0)
		return true;
	for (size_t i = 0; i < sizeof(extensions); i++) {
		if (may_be(level, AT_IPV6_PROTO, extensions[i]) &&
			(extensions[i] != PROTO_FRAGMENT || may_be(level, AT_FRAGMENT, 1)) &&
			(extensions[i] != PROTO_AUTH || may_be(level, AT_AUTH, 1)))
			return true;
	}
	return false;
}

/* In IPv4 there is AH where the protocol says so. */
static bool
auth_holds(const struct level *level)
{
	if (may_be(level, AT_AUTH, 1) && may_be(level, AT_UPPER, PROTO_AUTH) &&
		may_be(level, AT_IPV4_PROTO, PROTO_AUTH))
		return true;
	return may_be(level, AT_AUTH, 0) &&
	       !(is_known(level, AT_UPPER, 1) && level->value[AT_UPPER] == PROTO_AUTH);
}

/* `l3`: TYPE_IPV4 or TYPE_IPV6; 0 is any other. */
static bool
l3_holds(const struct level *level, uint16_t l3)
{
	bool ip = l3 != 0;

	if (!ip && is_known(level, AT_L3, 2)) {
		if (level->value[AT_IP] != 0 || may_be_tag(level, AT_L3))
			return false;
		l3 = (uint16_t)(level->value[AT_L3] << 8 | level->value[AT_L3 + 1]);
	}
	if (!may_be(level, AT_IP, ip) || (ip && !may_be_u16(level, AT_L3, l3)))
		return false;
	if (l3 == TYPE_IPV4 && !is_open(level, AT_FRAGMENT, 1) && level->value[AT_FRAGMENT] != 0)
		return false;
	if (l3 == TYPE_IPV4 && !auth_holds(level))
		return false;
	if (l3 == TYPE_IPV6 && !ipv6_holds(level))
		return false;
	for (uint8_t tags = 0; tags <= 3; tags++) {
		if (type_holds(level, tags, l3))
			return true;
	}
	return false;
}

static bool
level_holds(const struct level *level)
{
	return l3_holds(level, 0) || l3_holds(level, TYPE_IPV4) || l3_holds(level, TYPE_IPV6);
}

/* Behind a tunnel that says what it carries, IP may stand without Ethernet. */
static bool
carried_holds(const struct level *outer, const struct level *inner)
{
	if (may_be_u16(outer, AT_CARRIED, TYPE_ETHERNET))
		return true;
	if (!is_open(inner, AT_TAGS, 2) || !is_open(inner, AT_ETH, AT_HEADER - AT_ETH))
		return false;
	return (may_be_u16(outer, AT_CARRIED, TYPE_IPV4) && may_be_u16(inner, AT_L3, TYPE_IPV4)) ||
	       (may_be_u16(outer, AT_CARRIED, TYPE_IPV6) && may_be_u16(inner, AT_L3, TYPE_IPV6));
}

/* Does the outer packet lead to what is in this tunnel? */
static bool
leads_into(const struct level *outer, const struct trip_flow_item *tunnel)
{
	switch (tunnel->announcer) {
	case TRIP_FLOW_BY_PROTOCOL:
		return is_known(outer, AT_UPPER, 1) && outer->value[AT_UPPER] == tunnel->number;
	case TRIP_FLOW_BY_UDP_PORT:
		return is_known(outer, AT_UPPER, 1) && outer->value[AT_UPPER] == PROTO_UDP &&
		       is_u16(outer, AT_UDP_DST, tunnel->number);
	default:
		return is_u16(outer, AT_L3, tunnel->number);
	}
}

/* What no packet has, although no bit says so. */
static bool
holds(struct trip_rules_match *match)
{
	struct level outer = level_of(match, 0), inner = level_of(match, 1);
	const struct trip_flow_item *known;

	if (!level_holds(&outer))
		return false;
	if (is_open(&inner, 0, LEVEL))
		return true;
	if (!level_holds(&inner))
		return false;
	for (unsigned int i = 0; (known = trip_flow_item_at(i)) != NULL; i++) {
		if (known->carries == TRIP_FLOW_CARRIES_TYPED && leads_into(&outer, known))
			return carried_holds(&outer, &inner);
	}
	return true;
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
