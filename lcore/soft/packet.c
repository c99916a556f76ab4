/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments, Ethernet and its tags. */
#include <rte_ether.h>

#include "packet_priv.h"

struct tag {
	uint16_t tpid;
	uint16_t tci;
	bool has_tci;
};

struct tags {
	struct tag tag[TRIP_PACKET_TAGS_MAX];
	uint32_t count;
	uint16_t type; /* what follows the last of them */
	bool has_type;
};

/* The bytes of one segment that are both claimed and inside its buffer. */
static uint32_t
segment_length(const struct rte_mbuf *segment)
{
	uint32_t room = segment->data_off < segment->buf_len
				? (uint32_t)segment->buf_len - segment->data_off
				: 0;

	return segment->data_len < room ? segment->data_len : room;
}

static void
enter_segment(struct trip_packet_window *window, const struct rte_mbuf *segment, uint32_t begin)
{
	uint32_t left = window->first->pkt_len - begin, length = segment_length(segment);

	window->segment = segment;
	window->data = rte_pktmbuf_mtod(segment, const uint8_t *);
	window->begin = begin;
	window->end = begin + (length < left ? length : left);
}

static void
open_window(struct trip_packet_window *window, const struct rte_mbuf *mbuf)
{
	window->first = mbuf;
	/* At least one, whatever nb_segs says. */
	window->behind = mbuf->nb_segs > 1 ? mbuf->nb_segs - 1u : 0;
	enter_segment(window, mbuf, 0);
}

/* The chain may be shorter than nb_segs says, and than pkt_len says. */
static bool
next_segment(struct trip_packet_window *window)
{
	if (window->behind == 0 || window->segment->next == NULL ||
		window->end == window->first->pkt_len)
		return false;
	window->behind--;
	enter_segment(window, window->segment->next, window->end);
	return true;
}

/* rte_pktmbuf_read is not used, as it follows `next` for as long as pkt_len says, also off the end
 * of the chain. */
uint32_t
trip_packet_window_take(struct trip_packet_window *window, uint32_t at, uint8_t *to, uint32_t count)
{
	uint32_t done = 0;

	memset(to, 0, count);
	if (at < window->begin)
		open_window(window, window->first);
	while (done < count) {
		uint32_t some;

		while (at + done >= window->end)
			if (!next_segment(window))
				return done;
		some = window->end - (at + done);
		if (some > count - done)
			some = count - done;
		memcpy(to + done, window->data + (at + done - window->begin), some);
		done += some;
	}
	return done;
}

static void
store_be16(uint8_t *to, uint16_t value)
{
	to[0] = (uint8_t)(value >> 8);
	to[1] = (uint8_t)value;
}

static bool
is_tag(uint16_t type)
{
	return type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ ||
	       type == RTE_ETHER_TYPE_QINQ1;
}

static bool
take_be16(struct trip_packet_stack *stack, uint16_t *value)
{
	uint8_t copy[2];
	uint32_t there;
	const uint8_t *bytes = trip_packet_look(stack->window, stack->at, copy, 2, &there);

	*value = there == 2 ? trip_packet_be16(bytes) : 0;
	stack->at += 2;
	return there == 2;
}

/* The tags that are in the frame; the stack stands at the EtherType of Ethernet. Those beside it
 * count with them against the most there can be. */
static void
read_tags(struct trip_packet_stack *stack, struct tags *tags, uint32_t beside)
{
	tags->count = 0;
	for (;;) {
		struct tag *tag = &tags->tag[tags->count];

		tags->has_type = take_be16(stack, &tags->type);
		if (!tags->has_type || !is_tag(tags->type) ||
			tags->count + beside == TRIP_PACKET_TAGS_MAX)
			return;
		tag->tpid = tags->type;
		tag->has_tci = take_be16(stack, &tag->tci);
		tags->count++;
	}
}

static void
insert_tag(struct tags *tags, uint32_t at, uint16_t tpid, uint16_t tci)
{
	memmove(&tags->tag[at + 1], &tags->tag[at], (tags->count - at) * sizeof(tags->tag[0]));
	tags->tag[at] = (struct tag){.tpid = tpid, .tci = tci, .has_tci = true};
	tags->count++;
}

static uint32_t
count_beside(const struct rte_mbuf *mbuf, uint32_t wants)
{
	uint64_t flags = mbuf->ol_flags;

	if ((wants & TRIP_WANT_SENT) != 0)
		return (flags & RTE_MBUF_F_TX_QINQ) != 0 ? 2 : (flags & RTE_MBUF_F_TX_VLAN) != 0;
	return ((flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0) +
	       ((flags & RTE_MBUF_F_RX_QINQ_STRIPPED) != 0);
}

/*
 * Put back what Rx stripped. The mbuf does not keep the TPID: it
 * is taken as 802.1Q, and as 802.1ad for the outer of two. With QINQ and VLAN_STRIPPED but not
 * QINQ_STRIPPED, the NIC took the inner tag and left the outer one in the frame.
 */
static void
insert_stripped(const struct rte_mbuf *mbuf, struct tags *tags)
{
	uint64_t flags = mbuf->ol_flags;

	if (flags & RTE_MBUF_F_RX_VLAN_STRIPPED) {
		uint32_t behind_outer = (flags & RTE_MBUF_F_RX_QINQ) != 0 &&
					(flags & RTE_MBUF_F_RX_QINQ_STRIPPED) == 0 &&
					tags->count > 0;

		insert_tag(tags, behind_outer, RTE_ETHER_TYPE_VLAN, mbuf->vlan_tci);
	}
	if (flags & RTE_MBUF_F_RX_QINQ_STRIPPED)
		insert_tag(tags, 0, RTE_ETHER_TYPE_QINQ, mbuf->vlan_tci_outer);
}

/* Put in what Tx is asked to put in. QINQ asks for both. What Rx stripped is not sent. */
static void
insert_sent(const struct rte_mbuf *mbuf, struct tags *tags)
{
	if (mbuf->ol_flags & (RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_QINQ))
		insert_tag(tags, 0, RTE_ETHER_TYPE_VLAN, mbuf->vlan_tci);
	if (mbuf->ol_flags & RTE_MBUF_F_TX_QINQ)
		insert_tag(tags, 0, RTE_ETHER_TYPE_QINQ, mbuf->vlan_tci_outer);
}

/* The fields of tag `which`, 0 or 1; returns their presence bits (as for the first tag). */
static uint32_t
store_tag(const struct tags *tags, uint32_t which, uint8_t *fields)
{
	uint8_t *to = fields + (which == 0 ? TRIP_PLACE_VLAN1_TCI : TRIP_PLACE_VLAN2_TCI);
	bool last = which + 1 == tags->count;
	uint32_t bits = 0;

	if (tags->tag[which].has_tci) {
		store_be16(to, tags->tag[which].tci);
		bits |= TRIP_HAS_VLAN1_TCI;
	}
	if (!last || tags->has_type) {
		store_be16(to + 2, last ? tags->type : tags->tag[which + 1].tpid);
		bits |= TRIP_HAS_VLAN1_TYPE;
	}
	return bits;
}

static uint32_t
store_tags(const struct tags *tags, uint8_t *fields)
{
	uint8_t *type = fields + TRIP_PLACE_ETH_TYPE;
	uint32_t bits = (tags->count < 3 ? tags->count : 3) << TRIP_HAS_TAGS_SHIFT;

	if (tags->count == 0) {
		store_be16(type, tags->type);
		return tags->has_type ? bits | TRIP_HAS_ETH_TYPE : bits;
	}
	store_be16(type, tags->tag[0].tpid);
	bits |= TRIP_HAS_ETH_TYPE | TRIP_HAS_TAGGED | store_tag(tags, 0, fields);
	if (tags->count > 1)
		bits |= store_tag(tags, 1, fields) << 2;
	return bits;
}

uint32_t
trip_packet_ethernet(struct trip_packet_stack *stack, const struct rte_mbuf *mbuf, uint32_t wants)
{
	uint32_t length, beside = mbuf != NULL ? count_beside(mbuf, wants) : 0;
	const uint8_t *addresses;
	struct tags tags;
	uint8_t copy[12];

	addresses = trip_packet_look(stack->window, stack->at, copy, sizeof(copy), &length);
	memcpy(stack->fields + TRIP_PLACE_ETH_DST, addresses, 6);
	memcpy(stack->fields + TRIP_PLACE_ETH_SRC, addresses + 6, 6);
	stack->bits |= (length >= 6 ? TRIP_HAS_ETH_DST : 0) | (length == 12 ? TRIP_HAS_ETH_SRC : 0);
	stack->more |= TRIP_MORE_ETH;
	stack->at += 12;
	read_tags(stack, &tags, beside);
	if (beside != 0 && (wants & TRIP_WANT_SENT) != 0)
		insert_sent(mbuf, &tags);
	else if (beside != 0)
		insert_stripped(mbuf, &tags);
	stack->bits |= store_tags(&tags, stack->fields);
	if (tags.has_type)
		trip_packet_ip(stack, tags.type);
	else
		stack->bits |= TRIP_HAS_BROKEN;
	return 4 * beside;
}

uint32_t
trip_packet_parse_any(
	const struct rte_mbuf *mbuf, uint32_t wants, struct trip_packet_fields *fields)
{
	struct trip_packet_window window;
	struct trip_packet_stack stack = {.window = &window, .fields = fields->bytes};
	uint32_t beside;

	open_window(&window, mbuf);
	beside = trip_packet_ethernet(&stack, mbuf, wants);
	stack.bits |= TRIP_HAS_MORE;
	if ((wants & TRIP_WANT_TUNNEL) != 0 && trip_packet_inner(&stack, fields))
		stack.bits |= TRIP_HAS_TUNNEL;
	memcpy(fields->bytes + TRIP_PLACE_BITS, &stack.bits, sizeof(stack.bits));
	memcpy(fields->bytes + TRIP_PLACE_MORE, &stack.more, sizeof(stack.more));
	return mbuf->pkt_len + beside;
}
