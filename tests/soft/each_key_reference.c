/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>
#include <string.h>

#include "each_key_reference.h"
#include "packet_reference.h"

struct frame_bytes {
	const uint8_t *bytes;
	uint32_t length;
};

/* Has the frame this item, with so many bytes of it? Then they are put in `to`. */
static bool
has(struct frame_bytes frame, enum rte_flow_item_type type, uint32_t at, uint32_t bytes,
	uint8_t *to)
{
	uint8_t spec[DRAW_ITEM_SIZE] = {0}, mask[DRAW_ITEM_SIZE] = {0};
	const struct rte_flow_item items[] = {
		{.type = type, .spec = spec, .mask = mask}, {.type = RTE_FLOW_ITEM_TYPE_END}};

	memset(mask + at, 0xff, bytes);
	reference_fill(items, frame.bytes, frame.length);
	memcpy(to, spec + at, bytes);
	return reference_matches(items, frame.bytes, frame.length);
}

/* The outermost tag, of one or of more. */
static bool
has_tag(struct frame_bytes frame, uint8_t *to)
{
	struct rte_flow_item_vlan spec = {0}, mask = {0};
	const struct rte_flow_item items[] = {
		{.type = RTE_FLOW_ITEM_TYPE_VLAN, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END}};

	if (has(frame, RTE_FLOW_ITEM_TYPE_VLAN, 0, 2, to))
		return true;
	spec.has_more_vlan = 1;
	mask.has_more_vlan = 1;
	memset(&mask, 0xff, 2);
	reference_fill(items, frame.bytes, frame.length);
	memcpy(to, &spec, 2);
	return reference_matches(items, frame.bytes, frame.length);
}

static bool
has_port(struct frame_bytes frame, uint32_t at, uint8_t *to)
{
	return has(frame, RTE_FLOW_ITEM_TYPE_UDP, at, 2, to) ||
	       has(frame, RTE_FLOW_ITEM_TYPE_TCP, at, 2, to) ||
	       has(frame, RTE_FLOW_ITEM_TYPE_SCTP, at, 2, to);
}

static bool
has_address(struct frame_bytes frame, bool src, uint8_t *to)
{
	if (has(frame, RTE_FLOW_ITEM_TYPE_IPV6, src ? 8 : 24, 16, to))
		return true;
	memset(to, 0, 16);
	return has(frame, RTE_FLOW_ITEM_TYPE_IPV4, src ? 12 : 16, 4, to + 12);
}

static bool
has_protocol(struct frame_bytes frame, uint8_t *to)
{
	int carries = reference_carries(frame.bytes, frame.length);

	if (has(frame, RTE_FLOW_ITEM_TYPE_IPV4, 9, 1, to))
		return true;
	*to = (uint8_t)carries;
	return carries >= 0;
}

static bool
has_field(struct frame_bytes frame, enum trip_each_field field, uint8_t *to)
{
	switch (field) {
	case TRIP_EACH_IPV4_SRC:
		return has(frame, RTE_FLOW_ITEM_TYPE_IPV4, 12, 4, to);
	case TRIP_EACH_IPV4_DST:
		return has(frame, RTE_FLOW_ITEM_TYPE_IPV4, 16, 4, to);
	case TRIP_EACH_IPV6_SRC:
		return has(frame, RTE_FLOW_ITEM_TYPE_IPV6, 8, 16, to);
	case TRIP_EACH_IPV6_DST:
		return has(frame, RTE_FLOW_ITEM_TYPE_IPV6, 24, 16, to);
	case TRIP_EACH_IP_SRC:
	case TRIP_EACH_IP_DST:
		return has_address(frame, field == TRIP_EACH_IP_SRC, to);
	case TRIP_EACH_PROTO:
		return has_protocol(frame, to);
	case TRIP_EACH_L4_SRC:
	case TRIP_EACH_L4_DST:
		return has_port(frame, field == TRIP_EACH_L4_SRC ? 0 : 2, to);
	case TRIP_EACH_VLAN_VID:
		return has_tag(frame, to);
	case TRIP_EACH_VXLAN_VNI:
		return has(frame, RTE_FLOW_ITEM_TYPE_VXLAN, 4, 3, to);
	case TRIP_EACH_MPLS_LABEL:
		return has(frame, RTE_FLOW_ITEM_TYPE_MPLS, 0, 3, to);
	case TRIP_EACH_GTPU_TEID:
		return has(frame, RTE_FLOW_ITEM_TYPE_GTPU, 4, 4, to);
	default:
		return false;
	}
}

static uint32_t
bytes_of(enum trip_each_field field)
{
	/* A label has 20 bits of three bytes, and a VID 12 of two. */
	return (trip_each_key_bits(field) + 7) / 8;
}

/* Clears what is behind so many bits. */
static void
cut(uint8_t *bytes, uint32_t count, uint32_t bits)
{
	for (uint32_t bit = bits; bit < 8 * count; bit++)
		bytes[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
}

static void
cut_field(const struct trip_each_part *part, bool ipv4, uint8_t *to)
{
	uint32_t bytes = bytes_of(part->field);
	uint32_t bits = part->length != 0 ? part->length : trip_each_key_bits(part->field);

	if (part->field == TRIP_EACH_VLAN_VID) {
		to[0] &= 0x0f;
	} else if ((part->field == TRIP_EACH_IP_SRC || part->field == TRIP_EACH_IP_DST) && ipv4) {
		to[10] = 0xff;
		to[11] = 0xff;
		cut(to + 12, 4, bits);
	} else {
		cut(to, bytes, bits);
	}
}

bool
reference_key(const struct trip_each_part *parts, uint32_t n, const uint8_t *bytes, uint32_t length,
	uint8_t key[TRIP_EACH_KEY_BYTES])
{
	const struct frame_bytes frame = {bytes, length};
	uint8_t none[4], *to = key;
	bool ipv4 = has(frame, RTE_FLOW_ITEM_TYPE_IPV4, 0, 0, none);

	memset(key, 0, TRIP_EACH_KEY_BYTES);
	for (uint32_t i = 0; i < n; to += bytes_of(parts[i].field), i++) {
		if (!has_field(frame, parts[i].field, to))
			return false;
		cut_field(&parts[i], ipv4, to);
	}
	return true;
}

/* ---- drawing ----------------------------------------------------------------------------------
 */

static struct trip_each_part
draw_part(struct draw *draw)
{
	/* Addresses more often than by their number. */
	enum trip_each_field field =
		draw->below(draw->arg, 2) != 0
			? (enum trip_each_field)draw->below(draw->arg, TRIP_EACH_PROTO)
			: (enum trip_each_field)draw->below(draw->arg, TRIP_EACH_FIELDS);
	uint32_t length = field < TRIP_EACH_PROTO && draw->below(draw->arg, 2) != 0
				  ? draw->below(draw->arg, trip_each_key_bits(field) + 1)
				  : 0;

	return (struct trip_each_part){field, (uint8_t)length};
}

uint32_t
draw_key(struct draw *draw, struct trip_each_part parts[TRIP_EACH_FIELDS])
{
	uint32_t n = 0, wanted = 1 + draw->below(draw->arg, 5);
	struct trip_each_key key;
	const char *message;

	for (uint32_t tries = 0; n < wanted && tries < 16; tries++) {
		parts[n] = draw_part(draw);
		n += trip_each_key_compile(parts, n + 1, &key, &message) == 0 ? 1 : 0;
	}
	return n;
}
