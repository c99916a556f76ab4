/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "packet_reference.h"

#define NOWHERE UINT32_MAX

struct frame {
	const uint8_t *bytes;
	uint32_t length;
};

/* One stack of headers: where each is, or would be. */
struct stack {
	bool ethernet;
	uint32_t at;
	uint32_t tags;
	uint32_t tag_at[8]; /* of their TPIDs */
	int ip;             /* 4, 6 or 0 */
	uint32_t ip_at;
	int protocol;   /* or -1 */
	uint32_t l4_at; /* or NOWHERE */
	bool auth;
	uint32_t auth_at; /* or NOWHERE */
	int type;         /* behind all tags, or -1 */
	uint32_t extensions[9];
	bool all_extensions;
	int carries; /* by IPv6, whatever it is; where all extensions are known */
};

struct kind {
	enum rte_flow_item_type type;
	int protocol; /* of L4 items */
	const void *mask;
	size_t size;
	uint8_t members[12][2];
};

#define KIND(id, name, number, ...)                                            \
	{                                                                      \
		RTE_FLOW_ITEM_TYPE_##id, number, &rte_flow_item_##name##_mask, \
			sizeof(struct rte_flow_item_##name),                   \
		{                                                              \
			__VA_ARGS__                                            \
		}                                                              \
	}

static const struct kind kinds[] = {
	KIND(ETH, eth, -1, {0, 6}, {6, 6}, {12, 2}),
	KIND(VLAN, vlan, -1, {0, 2}, {2, 2}),
	KIND(IPV4, ipv4, -1, {0, 1}, {1, 1}, {2, 2}, {4, 2}, {6, 2}, {8, 1}, {9, 1}, {12, 4},
		{16, 4}),
	KIND(IPV6, ipv6, -1, {0, 4}, {4, 2}, {6, 1}, {7, 1}, {8, 16}, {24, 16}),
	KIND(TCP, tcp, 6, {0, 2}, {2, 2}, {4, 4}, {8, 4}, {13, 1}),
	KIND(UDP, udp, 17, {0, 2}, {2, 2}, {4, 2}),
	KIND(SCTP, sctp, 132, {0, 2}, {2, 2}, {4, 4}, {8, 4}),
	KIND(ICMP, icmp, 1, {0, 1}, {1, 1}, {4, 2}, {6, 2}),
	KIND(ICMP6, icmp6, 58, {0, 1}, {1, 1}),
	KIND(GRE, gre, 47, {0, 2}, {2, 2}),
	KIND(VXLAN, vxlan, 17, {0, 1}, {1, 3}, {4, 3}, {7, 1}),
	KIND(GENEVE, geneve, 17, {0, 2}, {2, 2}, {4, 3}, {7, 1}),
	KIND(GTPU, gtp, 17, {0, 1}, {1, 1}, {2, 2}, {4, 4}),
	KIND(GTP_PSC, gtp_psc, -1, {0, 1}, {1, 1}, {2, 1}),
	KIND(MPLS, mpls, -1, {0, 3}, {3, 1}),
	KIND(ESP, esp, 50, {0, 4}, {4, 4}),
	{RTE_FLOW_ITEM_TYPE_PPPOES, -1, &(const struct rte_flow_item_pppoe){.session_id = 0xffff},
		sizeof(struct rte_flow_item_pppoe), {{0, 1}, {1, 1}, {2, 2}, {4, 2}}},
	KIND(AH, ah, -1, {4, 4}, {8, 4}),
};

/* In the order of the flags in rte_flow_item_ipv6. */
static const uint8_t extension_numbers[9] = {0, 43, 44, 51, 50, 60, 135, 139, 140};

static const struct kind *
kind_of(enum rte_flow_item_type type)
{
	size_t i;

	for (i = 0; i < RTE_DIM(kinds); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}

size_t
reference_item_size(enum rte_flow_item_type type)
{
	return kind_of(type)->size;
}

const uint8_t (*reference_members(enum rte_flow_item_type type))[2]
{
	return kind_of(type)->members;
}

static const uint8_t *
bytes_at(const struct frame *frame, uint32_t at, uint32_t count)
{
	return at != NOWHERE && at + count <= frame->length ? frame->bytes + at : NULL;
}

static int
number_at(const struct frame *frame, uint32_t at, uint32_t count)
{
	const uint8_t *bytes = bytes_at(frame, at, count);

	if (bytes == NULL)
		return -1;
	return count == 1 ? bytes[0] : bytes[0] << 8 | bytes[1];
}

/* The first one that is announced. */
static void
note_auth(struct stack *stack, uint32_t at)
{
	if (!stack->auth)
		stack->auth_at = at;
	stack->auth = true;
}

static void
walk_ipv4(const struct frame *frame, struct stack *stack)
{
	int words, fragment;

	stack->protocol = number_at(frame, stack->ip_at + 9, 1);
	if (stack->protocol < 0)
		return;
	words = number_at(frame, stack->ip_at, 1) & 15;
	fragment = number_at(frame, stack->ip_at + 6, 2) & 0x1fff;
	if (words >= 5 && fragment == 0)
		stack->l4_at = stack->ip_at + 4 * (uint32_t)words;
	if (stack->protocol == 51)
		note_auth(stack, stack->l4_at);
	/* Not in IPv4. */
	if (stack->protocol == 58)
		stack->protocol = -1;
}

static void
walk_ipv6(const struct frame *frame, struct stack *stack)
{
	int number = number_at(frame, stack->ip_at + 6, 1), headers = 0, words;
	uint32_t at = stack->ip_at + 40;
	size_t i;

	while (number >= 0) {
		for (i = 0; i < 9 && extension_numbers[i] != number; i++)
			;
		if (i == 9 || at == NOWHERE || number == 50) {
			if (i < 9 && at != NOWHERE)
				stack->extensions[i]++;
			stack->all_extensions = true;
			stack->carries = number;
			stack->protocol = number == 1 ? -1 : number;
			stack->l4_at = at;
			if (number == 51)
				note_auth(stack, NOWHERE);
			return;
		}
		stack->extensions[i]++;
		if (number == 51)
			note_auth(stack, at);
		if (headers++ == 16)
			return;
		/* One byte is enough to know what comes next, if not where. */
		if (bytes_at(frame, at, 1) == NULL)
			return;
		if (number == 44) {
			bool later = bytes_at(frame, at, 4) != NULL &&
				     (number_at(frame, at + 2, 2) & 0xfff8) != 0;

			number = number_at(frame, at, 1);
			at = later ? NOWHERE : at + 8;
			continue;
		}
		words = number_at(frame, at + 1, 1);
		if (words < 0)
			words = 0;
		words = number == 51 ? 4 * (words + 2) : 8 * (words + 1);
		number = number_at(frame, at, 1);
		at += (uint32_t)words;
	}
}

static void
walk_type(const struct frame *frame, struct stack *stack, int type, uint32_t at)
{
	stack->ip_at = at;
	stack->type = type;
	if (type == 0x0800) {
		stack->ip = 4;
		walk_ipv4(frame, stack);
	} else if (type == 0x86dd) {
		stack->ip = 6;
		walk_ipv6(frame, stack);
	}
}

static void
walk_ethernet(const struct frame *frame, struct stack *stack, uint32_t at)
{
	int type;

	stack->ethernet = true;
	stack->at = at;
	at += 12;
	for (;; at += 4) {
		type = number_at(frame, at, 2);
		if ((type != 0x8100 && type != 0x88a8 && type != 0x9100) || stack->tags == 8)
			break;
		stack->tag_at[stack->tags++] = at;
	}
	walk_type(frame, stack, type, at + 2);
}

/* UDP to this port? */
static bool
goes_to(const struct frame *frame, const struct stack *stack, int port)
{
	return stack->protocol == 17 && stack->l4_at != NOWHERE &&
	       number_at(frame, stack->l4_at + 2, 2) == port;
}

#define NO_STACK ((struct stack){.protocol = -1, .l4_at = NOWHERE, .type = -1})

/* IP by the version that it says it is. */
static struct stack
versioned(const struct frame *frame, uint32_t at)
{
	struct stack inner = NO_STACK;
	int first = number_at(frame, at, 1);

	if (first >= 0 && first >> 4 == 4)
		walk_type(frame, &inner, 0x0800, at);
	else if (first >= 0 && first >> 4 == 6)
		walk_type(frame, &inner, 0x86dd, at);
	return inner;
}

static struct stack
typed(const struct frame *frame, int type, uint32_t at)
{
	struct stack inner = NO_STACK;

	if (type == 0x6558)
		walk_ethernet(frame, &inner, at);
	else if (type >= 0)
		walk_type(frame, &inner, type, at);
	return inner;
}

/* Where the second label is, if the first is not the last. */
static uint32_t
second_label(const struct frame *frame, const struct stack *outer)
{
	int low = number_at(frame, outer->ip_at + 2, 1);

	return low >= 0 && (low & 1) == 0 ? outer->ip_at + 4 : NOWHERE;
}

static struct stack
in_mpls(const struct frame *frame, uint32_t at)
{
	for (int n = 0; n < 16; n++, at += 4) {
		int low = number_at(frame, at + 2, 1);

		if (low < 0)
			break;
		if ((low & 1) != 0)
			return versioned(frame, at + 4);
	}
	return NO_STACK;
}

/* Past the extension headers, or NOWHERE. *session: the container of that name, or NOWHERE. */
static uint32_t
past_gtp(const struct frame *frame, uint32_t at, uint32_t *session)
{
	int flags = number_at(frame, at, 1), type;

	*session = NOWHERE;
	if (bytes_at(frame, at, 8) == NULL || (flags & 0xf0) != 0x30)
		return NOWHERE;
	at += 8;
	if ((flags & 7) == 0)
		return at;
	type = (flags & 4) != 0 ? number_at(frame, at + 3, 1) : 0;
	at += 4;
	for (int n = 0; type != 0; n++) {
		int words;

		if (type < 0 || n == 8)
			return NOWHERE;
		if (type == 0x85 && *session == NOWHERE)
			*session = at;
		words = number_at(frame, at, 1);
		if (words <= 0)
			return NOWHERE;
		at += 4 * (uint32_t)words;
		type = number_at(frame, at - 1, 1);
	}
	return at;
}

static struct stack
in_gre(const struct frame *frame, uint32_t at)
{
	int flags = number_at(frame, at, 2), type = number_at(frame, at + 2, 2);

	if (type < 0 || (flags & 0x4007) != 0)
		return NO_STACK;
	return typed(frame, type,
		at + 4 + 4 * (uint32_t)__builtin_popcount((unsigned int)flags & 0xb000));
}

static struct stack
inner_of(const struct frame *frame, const struct stack *outer)
{
	uint32_t at = outer->l4_at + 8, session, packet;
	int first;

	if (outer->type == 0x8847)
		return in_mpls(frame, outer->ip_at);
	if (outer->type == 0x8864) {
		first = number_at(frame, outer->ip_at + 6, 2);
		return number_at(frame, outer->ip_at, 2) != 0x1100 ? NO_STACK
		       : first == 0x0021 ? typed(frame, 0x0800, outer->ip_at + 8)
		       : first == 0x0057 ? typed(frame, 0x86dd, outer->ip_at + 8)
					 : NO_STACK;
	}
	if (outer->l4_at == NOWHERE)
		return NO_STACK;
	if (goes_to(frame, outer, 4789))
		return typed(frame, 0x6558, at + 8);
	if (goes_to(frame, outer, 6081)) {
		first = number_at(frame, at, 1);
		return first >= 0 && (first & 0xc0) == 0
			       ? typed(frame, number_at(frame, at + 2, 2),
					 at + 8 + 4 * (uint32_t)(first & 0x3f))
			       : NO_STACK;
	}
	if (goes_to(frame, outer, 2152)) {
		packet = past_gtp(frame, at, &session);
		return packet != NOWHERE && number_at(frame, at + 1, 1) == 255
			       ? versioned(frame, packet)
			       : NO_STACK;
	}
	return outer->protocol == 47 ? in_gre(frame, outer->l4_at) : NO_STACK;
}

/* A walk of items through a frame. */
struct walk {
	struct frame frame;
	struct stack stack;
	uint32_t tags;
	bool more_tags;
	struct stack outer; /* behind a tunnel's item: what it was in */
	uint32_t labels;
};

static bool
tags_are_right(const struct walk *walk)
{
	return walk->tags == 0 ||
	       (walk->more_tags ? walk->stack.tags > walk->tags : walk->stack.tags == walk->tags);
}

/* Is the item's header announced? Then *header is where it is, or NOWHERE. */
static bool
step(struct walk *walk, const struct rte_flow_item *item, uint32_t *header)
{
	struct stack *stack = &walk->stack;

	*header = NOWHERE;
	switch (item->type) {
	case RTE_FLOW_ITEM_TYPE_ETH:
		*header = stack->at;
		return stack->ethernet;
	case RTE_FLOW_ITEM_TYPE_VLAN:
		if (walk->tags == stack->tags)
			return false;
		*header = stack->tag_at[walk->tags++] + 2;
		walk->more_tags = false;
		return true;
	case RTE_FLOW_ITEM_TYPE_IPV4:
	case RTE_FLOW_ITEM_TYPE_IPV6:
		*header = stack->ip_at;
		return stack->ip == (item->type == RTE_FLOW_ITEM_TYPE_IPV4 ? 4 : 6);
	case RTE_FLOW_ITEM_TYPE_VXLAN:
	case RTE_FLOW_ITEM_TYPE_GENEVE:
	case RTE_FLOW_ITEM_TYPE_GTPU:
		if (!goes_to(&walk->frame, stack,
			    item->type == RTE_FLOW_ITEM_TYPE_VXLAN    ? 4789
			    : item->type == RTE_FLOW_ITEM_TYPE_GENEVE ? 6081
								      : 2152))
			return false;
		*header = stack->l4_at + 8;
		return true;
	case RTE_FLOW_ITEM_TYPE_GTP_PSC:
		if (!goes_to(&walk->frame, &walk->outer, 2152))
			return false;
		past_gtp(&walk->frame, walk->outer.l4_at + 8, header);
		return *header != NOWHERE;
	case RTE_FLOW_ITEM_TYPE_MPLS:
		if (walk->labels++ > 0) {
			*header = second_label(&walk->frame, &walk->outer);
			return *header != NOWHERE;
		}
		*header = stack->ip_at;
		return stack->type == 0x8847;
	case RTE_FLOW_ITEM_TYPE_PPPOES:
		*header = stack->ip_at;
		return stack->type == 0x8864;
	case RTE_FLOW_ITEM_TYPE_AH:
		*header = stack->auth_at;
		return stack->auth;
	default:
		*header = stack->l4_at;
		return stack->protocol == kind_of(item->type)->protocol;
	}
}

/* Behind a tunnel's item: the inner stack. False: the tags before it are not as many. */
static bool
step_inside(struct walk *walk, const struct rte_flow_item *item)
{
	switch (item->type) {
	case RTE_FLOW_ITEM_TYPE_VXLAN:
	case RTE_FLOW_ITEM_TYPE_GENEVE:
	case RTE_FLOW_ITEM_TYPE_GTPU:
	case RTE_FLOW_ITEM_TYPE_GRE:
	case RTE_FLOW_ITEM_TYPE_PPPOES:
		break;
	case RTE_FLOW_ITEM_TYPE_MPLS:
		if (walk->labels == 1)
			break;
		return true;
	default:
		return true;
	}
	if (!tags_are_right(walk))
		return false;
	walk->outer = walk->stack;
	walk->stack = inner_of(&walk->frame, &walk->stack);
	walk->tags = 0;
	walk->more_tags = false;
	return true;
}

static struct walk
walk_of(const uint8_t *bytes, uint32_t length)
{
	struct walk walk = {.frame = {bytes, length}, .stack = NO_STACK};

	walk_ethernet(&walk.frame, &walk.stack, 0);
	return walk;
}

static bool
members_match(const struct walk *walk, const struct rte_flow_item *item, const uint8_t *mask,
	uint32_t header)
{
	const uint8_t *spec = item->spec;
	const uint8_t(*member)[2];

	for (member = kind_of(item->type)->members; (*member)[1] != 0; member++) {
		uint8_t from = (*member)[0], size = (*member)[1], i, asked = 0;
		const uint8_t *bytes =
			header == NOWHERE ? NULL : bytes_at(&walk->frame, header + from, size);

		for (i = 0; i < size; i++) {
			asked |= mask[from + i];
			if (bytes != NULL && ((bytes[i] ^ spec[from + i]) & mask[from + i]) != 0)
				return false;
		}
		if (asked != 0 && bytes == NULL)
			return false;
	}
	return true;
}

static bool
extension_matches(const struct stack *stack, unsigned int which, bool masked, bool wanted)
{
	if (!masked)
		return true;
	if (wanted)
		return stack->extensions[which] > 0;
	return stack->all_extensions && stack->extensions[which] == 0;
}

static bool
flags_match(struct walk *walk, const struct rte_flow_item *item, const void *any_mask)
{
	const struct stack *stack = &walk->stack;

	if (item->type == RTE_FLOW_ITEM_TYPE_ETH) {
		const struct rte_flow_item_eth *spec = item->spec, *mask = any_mask;

		return !mask->has_vlan || spec->has_vlan == (stack->tags > 0);
	}
	if (item->type == RTE_FLOW_ITEM_TYPE_VLAN) {
		const struct rte_flow_item_vlan *spec = item->spec, *mask = any_mask;

		walk->more_tags = mask->has_more_vlan && spec->has_more_vlan;
		return true;
	}
	if (item->type == RTE_FLOW_ITEM_TYPE_IPV6) {
		const struct rte_flow_item_ipv6 *spec = item->spec, *mask = any_mask;

#define EXTENSION(i, name) \
	extension_matches(stack, i, mask->has_##name##_ext, spec->has_##name##_ext)
		return EXTENSION(0, hop) && EXTENSION(1, route) && EXTENSION(2, frag) &&
		       EXTENSION(3, auth) && EXTENSION(4, esp) && EXTENSION(5, dest) &&
		       EXTENSION(6, mobil) && EXTENSION(7, hip) && EXTENSION(8, shim6);
#undef EXTENSION
	}
	return true;
}

bool
reference_matches(const struct rte_flow_item *items, const uint8_t *frame, uint32_t length)
{
	struct walk walk = walk_of(frame, length);
	const struct rte_flow_item *item;
	uint32_t header;

	for (item = items; item->type != RTE_FLOW_ITEM_TYPE_END; item++) {
		const void *mask;

		if (item->type == RTE_FLOW_ITEM_TYPE_VOID)
			continue;
		mask = item->mask != NULL ? item->mask : kind_of(item->type)->mask;
		if (!step(&walk, item, &header))
			return false;
		if (item->spec != NULL && (!members_match(&walk, item, mask, header) ||
						  !flags_match(&walk, item, mask)))
			return false;
		if (!step_inside(&walk, item))
			return false;
	}
	return tags_are_right(&walk);
}

void
reference_fill(const struct rte_flow_item *items, const uint8_t *frame, uint32_t length)
{
	struct walk walk = walk_of(frame, length);
	const struct rte_flow_item *item;
	uint32_t header;

	for (item = items; item->type != RTE_FLOW_ITEM_TYPE_END; item++) {
		const uint8_t(*member)[2];

		if (item->type == RTE_FLOW_ITEM_TYPE_VOID)
			continue;
		if (!step(&walk, item, &header))
			return;
		member = kind_of(item->type)->members;
		for (; item->spec != NULL && header != NOWHERE && (*member)[1] != 0; member++) {
			const uint8_t *bytes =
				bytes_at(&walk.frame, header + (*member)[0], (*member)[1]);

			if (bytes != NULL)
				memcpy((uint8_t *)(uintptr_t)item->spec + (*member)[0], bytes,
					(*member)[1]);
		}
		if (!step_inside(&walk, item))
			return;
	}
}

int
reference_carries(const uint8_t *frame, uint32_t length)
{
	struct walk walk = walk_of(frame, length);

	return walk.stack.ip == 6 && walk.stack.all_extensions ? walk.stack.carries : -1;
}
