/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of a packet that an item's fields are in. */

#include "packet_priv.h"
#include "pattern_item.h"

/* Bytes of a header, where they are in a stack's words, and the bits that say that the last of them
 * is there. A second tag follows the first one. */
struct run {
	uint8_t from, size, at;
	uint64_t bits;
};

static const struct run ethernet[] = {
	{0, 6, TRIP_PLACE_ETH_DST, TRIP_HAS_ETH_DST},
	{6, 6, TRIP_PLACE_ETH_SRC, TRIP_HAS_ETH_SRC},
	{12, 2, TRIP_PLACE_ETH_TYPE, TRIP_HAS_ETH_TYPE},
};
static const struct run tags[] = {
	{0, 2, TRIP_PLACE_VLAN1_TCI, TRIP_HAS_VLAN1_TCI},
	{2, 2, TRIP_PLACE_VLAN1_TYPE, TRIP_HAS_VLAN1_TYPE},
	{4, 2, TRIP_PLACE_VLAN2_TCI, TRIP_HAS_VLAN2_TCI},
	{6, 2, TRIP_PLACE_VLAN2_TYPE, TRIP_HAS_VLAN2_TYPE},
};
static const struct run ipv4[] = {
	{0, 1, TRIP_PLACE_IP_FIRST, TRIP_HAS_IP_FIRST0},
	{1, 1, TRIP_PLACE_IP_FIRST + 1, TRIP_HAS_IP_FIRST1},
	{2, 2, TRIP_PLACE_IP_FIRST + 2, TRIP_HAS_IP_FIRST},
	{4, 2, TRIP_PLACE_IPV4_ID, TRIP_PATTERN_MORE(TRIP_MORE_IPV4_ID)},
	{6, 2, TRIP_PLACE_IP_FRAGMENT, TRIP_HAS_IP_FRAGMENT},
	{8, 1, TRIP_PLACE_IP_TTL, TRIP_HAS_IP_TTL},
	{9, 1, TRIP_PLACE_IP_PROTO, TRIP_HAS_IP_PROTO},
	{12, 4, TRIP_PLACE_IPV4_SRC, TRIP_HAS_IP_SRC},
	{16, 4, TRIP_PLACE_IPV4_DST, TRIP_HAS_IP_DST},
};
static const struct run ipv6[] = {
	{0, 4, TRIP_PLACE_IP_FIRST, TRIP_HAS_IP_FIRST},
	{4, 2, TRIP_PLACE_IP_FRAGMENT, TRIP_HAS_IP_FRAGMENT},
	{6, 1, TRIP_PLACE_IP_PROTO, TRIP_HAS_IP_PROTO},
	{7, 1, TRIP_PLACE_IP_TTL, TRIP_HAS_IP_TTL},
	{8, 16, TRIP_PLACE_IPV6_SRC, TRIP_HAS_IP_SRC},
	{24, 16, TRIP_PLACE_IPV6_DST, TRIP_HAS_IP_DST},
};
static const struct run l4[] = {
	{0, 1, TRIP_PLACE_L4, TRIP_HAS_L4_BYTE},
	{1, 1, TRIP_PLACE_L4 + 1, TRIP_HAS_L4_SRC},
	{2, 2, TRIP_PLACE_L4 + 2, TRIP_HAS_L4_DST},
	{4, 2, TRIP_PLACE_L4_REST, TRIP_PATTERN_MORE(TRIP_MORE_L4_6)},
	{6, 2, TRIP_PLACE_L4_REST + 2, TRIP_PATTERN_MORE(TRIP_MORE_L4_8)},
	{8, 4, TRIP_PLACE_L4_REST + 4, TRIP_PATTERN_MORE(TRIP_MORE_L4_12)},
	{13, 1, TRIP_PLACE_TCP_FLAGS, TRIP_HAS_TCP_FLAGS},
};

static const struct run auth[] = {
	{4, 4, TRIP_PLACE_AUTH, TRIP_PATTERN_MORE(TRIP_MORE_AUTH_8)},
	{8, 4, TRIP_PLACE_AUTH + 4, TRIP_PATTERN_MORE(TRIP_MORE_AUTH_12)},
};
static const struct run session[] = {
	{0, 1, TRIP_PLACE_SESSION, TRIP_PATTERN_MORE(TRIP_MORE_SESSION_BYTE(0))},
	{1, 1, TRIP_PLACE_SESSION + 1, TRIP_PATTERN_MORE(TRIP_MORE_SESSION_BYTE(1))},
	{2, 1, TRIP_PLACE_SESSION + 2, TRIP_PATTERN_MORE(TRIP_MORE_SESSION_BYTE(2))},
};

/* Bytes of a tunnel's header: one lies behind another. */
#define HEADER_BYTE(n)                                                                \
	{                                                                             \
		n, 1, TRIP_PLACE_TUNNEL + (n), TRIP_PATTERN_MORE(TRIP_MORE_HEADER(n)) \
	}
static const struct run tunnel[] = {HEADER_BYTE(0), HEADER_BYTE(1), HEADER_BYTE(2), HEADER_BYTE(3),
	HEADER_BYTE(4), HEADER_BYTE(5), HEADER_BYTE(6), HEADER_BYTE(7)};

/* The run that an offset into a header is in. */
static const struct run *
run_of(const struct trip_flow_item *item, uint32_t offset)
{
	static const struct run *const layers[] = {
		[TRIP_FLOW_ETH] = ethernet,
		[TRIP_FLOW_VLAN] = tags,
		[TRIP_FLOW_IP] = ipv6,
		[TRIP_FLOW_L4] = l4,
		[TRIP_FLOW_TUNNEL] = tunnel,
	};
	const struct run *run = item->type == RTE_FLOW_ITEM_TYPE_IPV4      ? ipv4
				: item->type == RTE_FLOW_ITEM_TYPE_AH      ? auth
				: item->type == RTE_FLOW_ITEM_TYPE_GTP_PSC ? session
									   : layers[item->layer];

	while (offset >= (uint32_t)run->from + run->size)
		run++;
	return run;
}

static uint64_t
flag_bits(const struct trip_flow_item *item, const struct trip_flow_field *field)
{
	const struct trip_flow_field *first = trip_flow_item_field(item, 0);

	while (!trip_pattern_item_flag(item, first))
		first++;
	if (item->layer == TRIP_FLOW_ETH)
		return TRIP_HAS_TAGGED;
	/* Of a tag, that there are more is in their number. */
	return item->layer == TRIP_FLOW_IP ? TRIP_PATTERN_MORE(TRIP_MORE_EXT_HOP) << (field - first)
					   : 0;
}

struct trip_pattern_place
trip_pattern_item_place(
	const struct trip_flow_item *item, unsigned int nth, const struct trip_flow_field *field)
{
	uint32_t from = nth * item->header + field->offset, last = from + field->bytes - 1;
	const struct run *run;

	if (trip_pattern_item_flag(item, field))
		return (struct trip_pattern_place){.bits = flag_bits(item, field)};
	run = run_of(item, from);
	return (struct trip_pattern_place){run->at + from - run->from, run_of(item, last)->bits};
}

/* A number that both versions of IP have means the same in both. */
static struct trip_pattern_sign
protocol_sign(uint8_t number)
{
	uint32_t bits = trip_packet_protocol(number, false) | trip_packet_protocol(number, true);

	/* AH may stand before another protocol, and is not in its place. */
	if (bits == 0)
		return (struct trip_pattern_sign){
			TRIP_PATTERN_MORE(TRIP_MORE_AUTH), TRIP_PATTERN_MORE(TRIP_MORE_AUTH)};
	return (struct trip_pattern_sign){TRIP_HAS_L4, bits & TRIP_HAS_L4};
}

struct trip_pattern_sign
trip_pattern_item_sign(const struct trip_flow_item *item, unsigned int nth)
{
	uint64_t bits = 0;

	switch (item->announcer) {
	case TRIP_FLOW_BY_ETHERTYPE:
		bits = item->type == RTE_FLOW_ITEM_TYPE_IPV4   ? TRIP_HAS_IPV4
		       : item->type == RTE_FLOW_ITEM_TYPE_IPV6 ? TRIP_HAS_IPV6
		       : nth > 0                               ? TRIP_PATTERN_MORE(TRIP_MORE_DEEPER)
				 : TRIP_PATTERN_MORE(TRIP_MORE_TUNNEL_TYPE);
		break;
	case TRIP_FLOW_BY_PROTOCOL:
		return protocol_sign((uint8_t)item->number);
	case TRIP_FLOW_BY_UDP_PORT:
		return (struct trip_pattern_sign){
			TRIP_HAS_L4 | TRIP_HAS_L4_DST, TRIP_HAS_UDP | TRIP_HAS_L4_DST};
	case TRIP_FLOW_BY_EXTENSION:
		bits = TRIP_PATTERN_MORE(TRIP_MORE_SESSION);
		break;
	case TRIP_FLOW_BY_NOTHING:
		break;
	}
	return (struct trip_pattern_sign){bits, bits};
}
