/* SPDX-License-Identifier: BSD-3-Clause */
/* A level of a pattern's vector (rules_match.c): what stands at which byte. */
#ifndef RULES_MATCH_LEVEL_H
#define RULES_MATCH_LEVEL_H

#include <assert.h>
#include <string.h>

#include <rte_common.h>

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

static inline struct level
level_of(struct trip_rules_match *match, unsigned int i)
{
	return (struct level){
		.mask = (uint8_t *)match->mask + i * LEVEL,
		.value = (uint8_t *)match->value + i * LEVEL,
	};
}

/* Could this byte, or these two, be that? */
static inline bool
may_be(const struct level *level, size_t at, uint8_t value)
{
	return ((level->value[at] ^ value) & level->mask[at]) == 0;
}

static inline bool
may_be_u16(const struct level *level, size_t at, uint16_t value)
{
	return may_be(level, at, (uint8_t)(value >> 8)) && may_be(level, at + 1, (uint8_t)value);
}

/* Do the masks of these bytes say all of them, or nothing? */
static inline bool
is_masked(const struct level *level, size_t at, size_t n, uint8_t mask)
{
	size_t i = 0;

	while (i < n && level->mask[at + i] == mask)
		i++;
	return i == n;
}

static inline bool
is_known(const struct level *level, size_t at, size_t n)
{
	return is_masked(level, at, n, 0xff);
}

static inline bool
is_open(const struct level *level, size_t at, size_t n)
{
	return is_masked(level, at, n, 0);
}

static inline bool
is_u16(const struct level *level, size_t at, uint16_t value)
{
	return is_known(level, at, 2) && may_be_u16(level, at, value);
}

static inline bool
may_be_tag(const struct level *level, size_t at)
{
	for (size_t i = 0; i < RTE_DIM(tag_types); i++) {
		if (may_be_u16(level, at, tag_types[i]))
			return true;
	}
	return false;
}

static inline bool
is_extension(uint8_t proto)
{
	return memchr(extensions, proto, sizeof(extensions)) != NULL;
}

/* What no packet has, although no bit says so. */
bool trip_rules_match_holds(struct trip_rules_match *match);

#endif
