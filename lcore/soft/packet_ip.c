/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv4, and what IP carries. */
#include <netinet/in.h>

#include <rte_ether.h>

#include "packet_priv.h"

/* A number in TRIP_HAS_L4, up to 15; 1 to 4 have names in packet.h. */
#define L4(n) ((uint32_t)(n) << 20)

const uint32_t trip_packet_l4_bits[256] = {
	[IPPROTO_TCP] = TRIP_HAS_TCP | TRIP_HAS_PORTS | TRIP_HAS_TCP_FLAGS,
	[IPPROTO_UDP] = TRIP_HAS_UDP | TRIP_HAS_PORTS,
	[IPPROTO_GRE] = TRIP_HAS_GRE,
	[IPPROTO_SCTP] = TRIP_HAS_SCTP | TRIP_HAS_PORTS,
	[IPPROTO_ICMP] = L4(5) | TRIP_HAS_PORTS,
	/* 6: ICMP6. */
	[IPPROTO_ESP] = L4(7) | TRIP_HAS_PORTS,
};

uint32_t
trip_packet_protocol(uint8_t protocol, bool ipv6)
{
	if (ipv6 && protocol == IPPROTO_ICMPV6)
		return L4(6) | TRIP_HAS_PORTS;
	if (ipv6 && protocol == IPPROTO_ICMP)
		return 0;
	return trip_packet_l4_bits[protocol];
}

/* Of more than one, the first. */
void
trip_packet_auth(struct trip_packet_stack *stack, bool header)
{
	const uint8_t *bytes;
	uint32_t length;
	uint8_t copy[12];

	if ((stack->more & TRIP_MORE_AUTH) != 0)
		return;
	stack->more |= TRIP_MORE_AUTH;
	if (!header)
		return;
	bytes = trip_packet_look(stack->window, stack->at, copy, sizeof(copy), &length);
	stack->more |=
		(length >= 8 ? TRIP_MORE_AUTH_8 : 0) | (length >= 12 ? TRIP_MORE_AUTH_12 : 0);
	memcpy(stack->fields + TRIP_PLACE_AUTH, bytes + 4, 8);
}

void
trip_packet_l4(struct trip_packet_stack *stack, uint8_t protocol, bool header, bool ipv6)
{
	uint32_t bits = trip_packet_protocol(protocol, ipv6), length;
	const uint8_t *bytes;
	uint8_t copy[14];

	if (protocol == IPPROTO_AH)
		trip_packet_auth(stack, header);
	if (!header || bits == 0) {
		stack->bits |= bits & TRIP_HAS_L4;
		return;
	}
	bytes = trip_packet_look(stack->window, stack->at, copy, sizeof(copy), &length);
	if (length < sizeof(copy)) {
		bits &= length >= 1 ? ~0u : ~TRIP_HAS_L4_BYTE;
		bits &= length >= 2 ? ~0u : ~TRIP_HAS_L4_SRC;
		bits &= length >= 4 ? ~0u : ~TRIP_HAS_L4_DST;
		bits &= ~TRIP_HAS_TCP_FLAGS;
		bits |= length < 4 ? TRIP_HAS_BROKEN : 0;
	}
	stack->more |= (length >= 6 ? TRIP_MORE_L4_6 : 0) | (length >= 8 ? TRIP_MORE_L4_8 : 0) |
		       (length >= 12 ? TRIP_MORE_L4_12 : 0);
	memcpy(stack->fields + TRIP_PLACE_L4, bytes, 4);
	memcpy(stack->fields + TRIP_PLACE_L4_REST, bytes + 4, 8);
	stack->fields[TRIP_PLACE_TCP_FLAGS] = bytes[13];
	stack->bits |= bits;
	if ((bits & TRIP_HAS_L4) != TRIP_HAS_UDP) {
		stack->announcer = TRIP_FLOW_BY_PROTOCOL;
		stack->number = protocol;
	} else if (length >= 4) {
		stack->announcer = TRIP_FLOW_BY_UDP_PORT;
		stack->number = trip_packet_be16(bytes + 2);
	}
}

static void
read_ipv4(struct trip_packet_stack *stack)
{
	uint32_t length, header_length, bits = TRIP_HAS_IPV4;
	const uint8_t *header;
	uint8_t copy[20];

	header = trip_packet_look(stack->window, stack->at, copy, sizeof(copy), &length);
	header_length = (header[0] & 0x0fu) * 4u;
	memcpy(stack->fields + TRIP_PLACE_IP_FIRST, header, 4);
	memcpy(stack->fields + TRIP_PLACE_IPV4_ID, header + 4, 2);
	memcpy(stack->fields + TRIP_PLACE_IP_FRAGMENT, header + 6, 4);
	memcpy(stack->fields + TRIP_PLACE_IPV4_SRC, header + 12, 8);
	bits |= trip_packet_first_bits(length);
	bits |= length >= 8 ? TRIP_HAS_IP_FRAGMENT : 0;
	bits |= length >= 9 ? TRIP_HAS_IP_TTL : 0;
	bits |= length >= 10 ? TRIP_HAS_IP_PROTO : 0;
	bits |= length >= 16 ? TRIP_HAS_IP_SRC : 0;
	bits |= length >= 20 ? TRIP_HAS_IP_DST : 0;
	bits |= length < 20 || header_length < 20 ? TRIP_HAS_BROKEN : 0;
	stack->bits |= bits;
	stack->more |= length >= 6 ? TRIP_MORE_IPV4_ID : 0;
	if (length < 10)
		return;
	stack->at += header_length;
	/* Later fragments have no L4 header, and an IP header that is too short leads to none. */
	trip_packet_l4(stack, header[9],
		header_length >= 20 && (trip_packet_be16(header + 6) & 0x1fff) == 0, false);
}

void
trip_packet_ip(struct trip_packet_stack *stack, uint16_t type)
{
	if (type == RTE_ETHER_TYPE_IPV4) {
		read_ipv4(stack);
	} else if (type == RTE_ETHER_TYPE_IPV6) {
		trip_packet_ipv6(stack);
	} else {
		stack->announcer = TRIP_FLOW_BY_ETHERTYPE;
		stack->number = type;
	}
}
