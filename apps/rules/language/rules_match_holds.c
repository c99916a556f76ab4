/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is there a packet that has what a vector asks for (rules_match.c)? Only what no single bit says
 * is looked at: which tags lead to which L3, which headers to which upper protocol, and what a
 * tunnel carries.
 */
#include "rules_match_level.h"

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

bool
trip_rules_match_holds(struct trip_rules_match *match)
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
