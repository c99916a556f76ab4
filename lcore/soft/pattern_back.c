/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <string.h>

#include <rte_common.h>

#include "pattern_back.h"
#include "pattern_item.h"

/* One stack of the pattern, and its items so far. */
struct reader {
	const struct trip_pattern *pattern;
	struct trip_pattern_items *back;
	uint32_t base; /* where it is: 0, or TRIP_PLACE_INNER */
	/* Presence bits, TRIP_MORE_* above TRIP_HAS_*: which are asked for, and which must be. */
	uint64_t asked, present;
};

_Static_assert(sizeof(struct rte_flow_item_eth) <= TRIP_PATTERN_ITEM_SIZE &&
		       sizeof(struct rte_flow_item_ipv4) <= TRIP_PATTERN_ITEM_SIZE &&
		       sizeof(struct rte_flow_item_ipv6) <= TRIP_PATTERN_ITEM_SIZE &&
		       sizeof(struct rte_flow_item_tcp) <= TRIP_PATTERN_ITEM_SIZE,
	"an item has room for its fields");

static uint64_t
load_bits(const uint64_t *words, uint32_t base)
{
	uint32_t has, more;

	memcpy(&has, (const uint8_t *)words + base + TRIP_PLACE_BITS, sizeof(has));
	memcpy(&more, (const uint8_t *)words + base + TRIP_PLACE_MORE, sizeof(more));
	return (uint64_t)more << 32 | has;
}

static struct reader
reader_of(const struct trip_pattern *pattern, struct trip_pattern_items *back, uint32_t base)
{
	return (struct reader){pattern, back, base, load_bits(pattern->mask, base),
		load_bits(pattern->value, base)};
}

/* The spec and mask of the item that comes next; it has them once something is in its mask. */
static void
next_item(struct reader *reader, enum rte_flow_item_type type)
{
	reader->back->items[reader->back->n] = (struct rte_flow_item){.type = type};
}

static void
use_mask(struct reader *reader)
{
	struct trip_pattern_items *back = reader->back;

	back->items[back->n].spec = back->spec[back->n];
	back->items[back->n].mask = back->mask[back->n];
}

static void
read_field(struct reader *reader, const struct trip_pattern_field *field)
{
	const uint8_t *mask = (const uint8_t *)reader->pattern->mask + reader->base + field->place;
	const uint8_t *value =
		(const uint8_t *)reader->pattern->value + reader->base + field->place;
	struct trip_pattern_items *back = reader->back;

	for (uint32_t i = 0; i < field->size; i++)
		if (mask[i] != 0)
			use_mask(reader);
	memcpy(&back->mask[back->n][field->offset], mask, field->size);
	memcpy(&back->spec[back->n][field->offset], value, field->size);
}

/* Reads the fields of the next item. */
static void
read_fields(struct reader *reader, enum rte_flow_item_type type, uint32_t tags)
{
	const struct trip_pattern_item *known = trip_pattern_item_of(type, tags);

	next_item(reader, type);
	for (uint32_t i = 0; i < known->n_fields; i++)
		if (known->fields[i].place != TRIP_PATTERN_NOT_READ)
			read_field(reader, &known->fields[i]);
}

static void
read_eth(struct reader *reader)
{
	const uint64_t eth = (uint64_t)TRIP_MORE_ETH << 32,
		       above = TRIP_HAS_TAGS_MASK | TRIP_HAS_IPV4 | TRIP_HAS_IPV6;
	struct trip_pattern_items *back = reader->back;
	struct rte_flow_item_eth *spec = (void *)back->spec[back->n];
	struct rte_flow_item_eth *mask = (void *)back->mask[back->n];

	read_fields(reader, RTE_FLOW_ITEM_TYPE_ETH, 0);
	if ((reader->asked & TRIP_HAS_TAGGED) != 0) {
		mask->has_vlan = 1;
		spec->has_vlan = (reader->present & TRIP_HAS_TAGGED) != 0;
		use_mask(reader);
	}
	if (reader->base != 0 ? (reader->asked & eth) != 0
			      : back->items[back->n].spec != NULL || (reader->asked & above) != 0)
		back->n++;
}

static void
read_vlan(struct reader *reader, uint32_t tag, bool more)
{
	struct trip_pattern_items *back = reader->back;

	read_fields(reader, RTE_FLOW_ITEM_TYPE_VLAN, tag);
	if (more) {
		((struct rte_flow_item_vlan *)back->mask[back->n])->has_more_vlan = 1;
		((struct rte_flow_item_vlan *)back->spec[back->n])->has_more_vlan = 1;
		use_mask(reader);
	}
	back->n++;
}

/* As finish_stack() in pattern.c puts it: 3 is any number above 2, and its upper bit alone is any
 * above 1. */
static void
read_tags(struct reader *reader)
{
	uint64_t asked = (reader->asked & TRIP_HAS_TAGS_MASK) >> TRIP_HAS_TAGS_SHIFT;
	uint64_t tags = (reader->present & TRIP_HAS_TAGS_MASK) >> TRIP_HAS_TAGS_SHIFT;

	if (asked == 0)
		return;
	if (asked == 2) {
		read_vlan(reader, 0, true);
		return;
	}
	read_vlan(reader, 0, false);
	if (tags > 1)
		read_vlan(reader, 1, tags == 3);
}

/* `there` where it must be; where it must not, all of them are known (demand_extension()). */
#define EXTENSION(member, extension)                                                             \
	do {                                                                                     \
		if ((reader->asked >> 32 & TRIP_MORE_EXT_##extension) != 0) {                    \
			mask->member = 1;                                                        \
			spec->member = (reader->present >> 32 & TRIP_MORE_EXT_##extension) != 0; \
			use_mask(reader);                                                        \
		}                                                                                \
	} while (0)

static void
read_ipv6(struct reader *reader)
{
	struct trip_pattern_items *back = reader->back;
	struct rte_flow_item_ipv6 *spec = (void *)back->spec[back->n];
	struct rte_flow_item_ipv6 *mask = (void *)back->mask[back->n];

	read_fields(reader, RTE_FLOW_ITEM_TYPE_IPV6, 0);
	EXTENSION(has_hop_ext, HOP);
	EXTENSION(has_route_ext, ROUTE);
	EXTENSION(has_frag_ext, FRAG);
	EXTENSION(has_auth_ext, AUTH);
	EXTENSION(has_esp_ext, ESP);
	EXTENSION(has_dest_ext, DEST);
	EXTENSION(has_mobil_ext, MOBIL);
	EXTENSION(has_hip_ext, HIP);
	EXTENSION(has_shim6_ext, SHIM6);
	back->n++;
}
#undef EXTENSION

static void
read_ip(struct reader *reader)
{
	if ((reader->asked & TRIP_HAS_IPV4) != 0) {
		read_fields(reader, RTE_FLOW_ITEM_TYPE_IPV4, 0);
		reader->back->n++;
	} else if ((reader->asked & TRIP_HAS_IPV6) != 0) {
		read_ipv6(reader);
	}
}

/* In front of VXLAN the port goes without saying. */
static void
forget_port(struct reader *reader)
{
	struct trip_pattern_items *back = reader->back;
	struct rte_flow_item_udp *udp = (void *)back->mask[back->n];
	const struct rte_flow_item_udp none = {0};

	udp->hdr.dst_port = 0;
	if (memcmp(udp, &none, sizeof(none)) == 0)
		next_item(reader, RTE_FLOW_ITEM_TYPE_UDP);
}

static void
read_l4(struct reader *reader, bool vxlan)
{
	static const enum rte_flow_item_type types[] = {RTE_FLOW_ITEM_TYPE_TCP,
		RTE_FLOW_ITEM_TYPE_UDP, RTE_FLOW_ITEM_TYPE_SCTP, RTE_FLOW_ITEM_TYPE_ICMP,
		RTE_FLOW_ITEM_TYPE_ICMP6};

	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		if ((reader->asked & trip_pattern_item_of(types[i], 0)->bit) == 0)
			continue;
		read_fields(reader, types[i], 0);
		if (vxlan)
			forget_port(reader);
		reader->back->n++;
		return;
	}
}

static void
read_stack(struct reader *reader, bool vxlan)
{
	read_eth(reader);
	read_tags(reader);
	read_ip(reader);
	read_l4(reader, vxlan);
}

/* The header of a tunnel lies with what it leads to. */
static void
read_tunnel(struct reader *inner, enum rte_flow_item_type type)
{
	read_fields(inner, type, 0);
	inner->back->n++;
}

void
trip_pattern_back(const struct trip_pattern *pattern, struct trip_pattern_items *back)
{
	struct reader outer = reader_of(pattern, back, 0);
	struct reader inner = reader_of(pattern, back, TRIP_PLACE_INNER);
	bool gre = (outer.asked & TRIP_HAS_GRE) != 0;
	/* A tunnel of which nothing is asked is no more than its number. */
	bool vxlan = !gre && (outer.asked & TRIP_HAS_TUNNEL) != 0;

	memset(back, 0, sizeof(*back));
	read_stack(&outer, vxlan);
	if (gre || vxlan) {
		read_tunnel(&inner, gre ? RTE_FLOW_ITEM_TYPE_GRE : RTE_FLOW_ITEM_TYPE_VXLAN);
		read_stack(&inner, false);
	}
	back->items[back->n].type = RTE_FLOW_ITEM_TYPE_END;
}
