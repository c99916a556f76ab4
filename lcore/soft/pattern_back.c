/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes rte_flow items of a compiled pattern. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
		       sizeof(struct rte_flow_item_tcp) <= TRIP_PATTERN_ITEM_SIZE &&
		       sizeof(struct trip_flow_item_set) <= TRIP_PATTERN_ITEM_SIZE,
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
read_field(struct reader *reader, const struct trip_flow_field *field, uint32_t at)
{
	const uint8_t *mask = (const uint8_t *)reader->pattern->mask + reader->base + at;
	const uint8_t *value = (const uint8_t *)reader->pattern->value + reader->base + at;
	struct trip_pattern_items *back = reader->back;

	for (uint32_t i = 0; i < field->bytes; i++)
		if (mask[i] != 0)
			use_mask(reader);
	memcpy(&back->mask[back->n][field->offset], mask, field->bytes);
	memcpy(&back->spec[back->n][field->offset], value, field->bytes);
}

/* Flags behind the header of which something is asked. */
static void
read_flag(struct reader *reader, const struct trip_flow_field *field, uint64_t bits)
{
	struct trip_pattern_items *back = reader->back;
	uint8_t bit = (uint8_t)(1u << field->shift);

	if ((reader->asked & bits) == 0)
		return;
	use_mask(reader);
	back->mask[back->n][field->offset] |= bit;
	if ((reader->present & bits) != 0)
		back->spec[back->n][field->offset] |= bit;
}

/* Reads the fields of the next item, before which there are `nth` of these. */
static void
read_fields(struct reader *reader, const struct trip_flow_item *known, unsigned int nth)
{
	next_item(reader, (enum rte_flow_item_type)known->type);
	for (unsigned int i = 0; i < known->n_fields; i++) {
		const struct trip_flow_field *field = trip_flow_item_field(known, i);
		struct trip_pattern_place place;

		if (field->unread)
			continue;
		place = trip_pattern_item_place(known, nth, field);
		if (trip_pattern_item_flag(known, field))
			read_flag(reader, field, place.bits);
		else
			read_field(reader, field, place.at);
	}
}

static void
read_eth(struct reader *reader)
{
	const uint64_t eth = TRIP_PATTERN_MORE(TRIP_MORE_ETH),
		       above = TRIP_HAS_TAGS_MASK | TRIP_HAS_IPV4 | TRIP_HAS_IPV6;
	struct trip_pattern_items *back = reader->back;

	read_fields(reader, trip_flow_item_of(RTE_FLOW_ITEM_TYPE_ETH), 0);
	if (reader->base != 0 ? (reader->asked & eth) != 0
			      : back->items[back->n].spec != NULL || (reader->asked & above) != 0)
		back->n++;
}

static void
read_vlan(struct reader *reader, uint32_t tag, bool more)
{
	struct trip_pattern_items *back = reader->back;

	read_fields(reader, trip_flow_item_of(RTE_FLOW_ITEM_TYPE_VLAN), tag);
	if (more) {
		((struct rte_flow_item_vlan *)back->mask[back->n])->has_more_vlan = 1;
		((struct rte_flow_item_vlan *)back->spec[back->n])->has_more_vlan = 1;
		use_mask(reader);
	}
	back->n++;
}

/* The reverse of finish_stack() in pattern.c: 3 is any number above 2, 2 is any above 1. */
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

static bool
is_asked(const struct reader *reader, const struct trip_flow_item *known, unsigned int nth)
{
	struct trip_pattern_sign sign = trip_pattern_item_sign(known, nth);

	return (reader->asked & sign.mask) == sign.mask &&
	       (reader->present & sign.mask) == sign.value;
}

static bool
is_number(const struct reader *reader, uint32_t at, uint16_t number)
{
	const uint8_t *mask = (const uint8_t *)reader->pattern->mask + reader->base + at;
	const uint8_t *value = (const uint8_t *)reader->pattern->value + reader->base + at;

	return mask[0] == 0xff && mask[1] == 0xff && memcmp(value, &number, 2) == 0;
}

/* The tunnel that leads from one to the other, or NULL. */
static const struct trip_flow_item *
find_tunnel(const struct reader *outer, const struct reader *inner)
{
	const struct trip_flow_item *known;

	for (unsigned int i = 0; (known = trip_flow_item_at(i)) != NULL; i++) {
		if (known->layer != TRIP_FLOW_TUNNEL ||
			!is_asked(trip_pattern_item_inside(known) ? inner : outer, known, 0))
			continue;
		/* Of one behind UDP of which nothing is asked no more is left than its port. */
		if (known->announcer == TRIP_FLOW_BY_PROTOCOL ||
			known->announcer == TRIP_FLOW_BY_EXTENSION ||
			(known->announcer == TRIP_FLOW_BY_ETHERTYPE &&
				is_number(inner, TRIP_PLACE_TUNNEL_TYPE, known->number)) ||
			(known->announcer == TRIP_FLOW_BY_UDP_PORT &&
				(outer->asked & TRIP_HAS_TUNNEL) != 0 &&
				is_number(
					outer, TRIP_PLACE_L4 + 2, rte_cpu_to_be_16(known->number))))
			return known;
	}
	return NULL;
}

/* Its header lies with what it leads to, and so does what else may stand before that. */
static void
read_tunnel(struct reader *inner, const struct trip_flow_item *tunnel)
{
	const struct trip_flow_item *session = trip_flow_item_of(RTE_FLOW_ITEM_TYPE_GTP_PSC);

	read_fields(inner, tunnel, 0);
	inner->back->n++;
	if (tunnel->repeats > 1 && is_asked(inner, tunnel, 1)) {
		read_fields(inner, tunnel, 1);
		inner->back->n++;
	}
	if (tunnel != session && is_asked(inner, session, 0)) {
		read_fields(inner, session, 0);
		inner->back->n++;
	}
}

/* In front of a tunnel the port goes without saying. */
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
read_layer(struct reader *reader, enum trip_flow_layer layer, const struct trip_flow_item *tunnel)
{
	const struct trip_flow_item *known;

	for (unsigned int i = 0; (known = trip_flow_item_at(i)) != NULL; i++) {
		if (known->layer != layer || !is_asked(reader, known, 0))
			continue;
		read_fields(reader, known, 0);
		if (known->type == RTE_FLOW_ITEM_TYPE_UDP && tunnel != NULL)
			forget_port(reader);
		reader->back->n++;
		return;
	}
}

static void
read_stack(struct reader *reader, const struct trip_flow_item *tunnel)
{
	read_eth(reader);
	read_tags(reader);
	read_layer(reader, TRIP_FLOW_IP, tunnel);
	read_layer(reader, TRIP_FLOW_L4, tunnel);
}

void
trip_pattern_back(const struct trip_pattern *pattern, struct trip_pattern_items *back)
{
	struct reader outer = reader_of(pattern, back, 0);
	struct reader inner = reader_of(pattern, back, TRIP_PLACE_INNER);
	const struct trip_flow_item *tunnel = find_tunnel(&outer, &inner);

	memset(back, 0, sizeof(*back));
	read_stack(&outer, tunnel);
	if (tunnel != NULL) {
		read_tunnel(&inner, tunnel);
		read_stack(&inner, NULL);
	}
	back->items[back->n].type = RTE_FLOW_ITEM_TYPE_END;
}

void
trip_pattern_back_set(struct trip_pattern_items *back, uint32_t at, const char *set, uint8_t offset)
{
	struct trip_flow_item_set *spec = (void *)back->spec[back->n + 1];

	/* The structure of the last place, which the end does not need. */
	memmove(&back->items[at + 2], &back->items[at + 1],
		(back->n - at) * sizeof(back->items[0]));
	snprintf(spec->name, sizeof(spec->name), "%s", set);
	spec->offset = offset;
	back->items[at + 1] = (struct rte_flow_item){
		.type = (enum rte_flow_item_type)TRIP_FLOW_ITEM_TYPE_SET, .spec = spec};
	back->n++;
}
