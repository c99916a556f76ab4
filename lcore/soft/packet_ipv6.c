/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 and its extension headers. */
#include <netinet/in.h>

#include "packet_priv.h"

#define PROTO_HIP 139
#define PROTO_SHIM6 140

/* The bit of an extension header, or 0 for what is none. */
static uint32_t
extension_of(uint8_t protocol)
{
	switch (protocol) {
	case IPPROTO_HOPOPTS:
		return TRIP_MORE_EXT_HOP;
	case IPPROTO_ROUTING:
		return TRIP_MORE_EXT_ROUTE;
	case IPPROTO_FRAGMENT:
		return TRIP_MORE_EXT_FRAG;
	case IPPROTO_ESP:
		return TRIP_MORE_EXT_ESP;
	case IPPROTO_AH:
		return TRIP_MORE_EXT_AUTH;
	case IPPROTO_DSTOPTS:
		return TRIP_MORE_EXT_DEST;
	case IPPROTO_MH:
		return TRIP_MORE_EXT_MOBIL;
	case PROTO_HIP:
		return TRIP_MORE_EXT_HIP;
	case PROTO_SHIM6:
		return TRIP_MORE_EXT_SHIM6;
	default:
		return 0;
	}
}

/* Past one extension header, of which `header` are the first `length` bytes. What is cut off leads
 * past the packet in any case. */
static uint32_t
extension_length(uint32_t extension, const uint8_t *header, uint32_t length)
{
	if (extension == TRIP_MORE_EXT_FRAG || length < 2)
		return 8;
	return extension == TRIP_MORE_EXT_AUTH ? (header[1] + 2u) * 4 : (header[1] + 1u) * 8;
}

/* Past the extension headers, to what they end with. Its number is in the first byte of the last of
 * them, and counts where that byte is there. */
static void
read_extensions(struct trip_packet_stack *stack, uint8_t protocol)
{
	bool later_fragment = false;
	uint32_t extensions;

	for (extensions = 0;; extensions++) {
		uint32_t extension = later_fragment ? 0 : extension_of(protocol), length;
		const uint8_t *header;
		uint8_t copy[4];

		stack->more |= extension;
		if (extension == TRIP_MORE_EXT_AUTH)
			trip_packet_auth(stack, true);
		/* Nothing behind the header of ESP, or of a later fragment, can be read here. */
		if (extension == 0 || extension == TRIP_MORE_EXT_ESP)
			break;
		if (extensions == TRIP_PACKET_EXTENSIONS_MAX)
			return;
		header = trip_packet_look(stack->window, stack->at, copy, sizeof(copy), &length);
		if (length == 0)
			return;
		later_fragment = extension == TRIP_MORE_EXT_FRAG && length == sizeof(copy) &&
				 (trip_packet_be16(header + 2) & 0xfff8) != 0;
		protocol = header[0];
		stack->at += extension_length(extension, header, length);
	}
	stack->more |= TRIP_MORE_EXT_ALL;
	stack->fields[TRIP_PLACE_IP_CARRIES] = protocol;
	trip_packet_l4(stack, protocol, !later_fragment, true);
}

void
trip_packet_ipv6(struct trip_packet_stack *stack)
{
	uint32_t length, bits = TRIP_HAS_IPV6;
	const uint8_t *header;
	uint8_t copy[40];

	header = trip_packet_look(stack->window, stack->at, copy, sizeof(copy), &length);
	memcpy(stack->fields + TRIP_PLACE_IP_FIRST, header, 4);
	memcpy(stack->fields + TRIP_PLACE_IP_FRAGMENT, header + 4, 2);
	stack->fields[TRIP_PLACE_IP_PROTO] = header[6];
	stack->fields[TRIP_PLACE_IP_TTL] = header[7];
	memcpy(stack->fields + TRIP_PLACE_IPV6_SRC, header + 8, 32);
	bits |= trip_packet_first_bits(length);
	bits |= length >= 6 ? TRIP_HAS_IP_FRAGMENT : 0;
	bits |= length >= 7 ? TRIP_HAS_IP_PROTO : 0;
	bits |= length >= 8 ? TRIP_HAS_IP_TTL : 0;
	bits |= length >= 24 ? TRIP_HAS_IP_SRC : 0;
	bits |= length >= 40 ? TRIP_HAS_IP_DST : TRIP_HAS_BROKEN;
	stack->bits |= bits;
	if (length < 7)
		return;
	stack->at += 40;
	read_extensions(stack, header[6]);
}
