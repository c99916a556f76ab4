/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the members of a set of its entries, and answers who is one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_prefetch.h>

#include "members.h"
#include "memory.h"

const struct trip_members trip_members_none;

/* Addresses from one to another. */
struct range {
	trip_members_u128 first, last;
};

/* What is being made, and of what. */
struct draft {
	const struct trip_set_entry *entries;
	size_t n_entries;
	struct range *ranges; /* of IPv6: in order, apart */
	size_t n_ranges;
	uint32_t low, high; /* /18s of IPv4; low > high: none */
	struct trip_members_block *blocks;
	uint64_t n_lines;
};

static const uint8_t widths[] = {[TRIP_SET_IPV4] = 32, [TRIP_SET_IPV6] = 128, [TRIP_SET_PORT] = 16};

static trip_members_u128
load_u128(const uint8_t *from)
{
	uint64_t halves[2];

	memcpy(halves, from, sizeof(halves));
	return (trip_members_u128)rte_be_to_cpu_64(halves[0]) << 64 | rte_be_to_cpu_64(halves[1]);
}

static uint32_t
load_u32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return rte_be_to_cpu_32(value);
}

static uint32_t
load_u16(const uint8_t *from)
{
	return (uint32_t)from[0] << 8 | from[1];
}

/* All values that an entry stands for. */
static struct range
range_of(const struct trip_set_entry *entry)
{
	unsigned int free = widths[entry->kind] - entry->length;
	/* A shift by all bits is none in C. */
	trip_members_u128 behind =
		free == 128 ? ~(trip_members_u128)0 : ((trip_members_u128)1 << free) - 1;
	trip_members_u128 value = entry->kind == TRIP_SET_IPV6   ? load_u128(entry->value)
				  : entry->kind == TRIP_SET_IPV4 ? load_u32(entry->value)
								 : load_u16(entry->value);

	return (struct range){value & ~behind, value | behind};
}

/* ---- IPv4 ---- */

/* Which of the blocks there are to be. */
static void
bound(struct draft *draft)
{
	draft->low = UINT32_MAX;
	for (size_t i = 0; i < draft->n_entries; i++) {
		struct range range;

		if (draft->entries[i].kind != TRIP_SET_IPV4)
			continue;
		range = range_of(&draft->entries[i]);
		draft->low = RTE_MIN(draft->low, (uint32_t)(range.first >> 14));
		draft->high = RTE_MAX(draft->high, (uint32_t)(range.last >> 14));
	}
}

/* Notes of each /24 whether all of it is in, or some. Of those that are
 * blocks or wider it notes in `base` how many more begin there than have ended just before: each is
 * two steps, however wide. */
static void
mark_blocks(struct draft *draft)
{
	for (size_t i = 0; i < draft->n_entries; i++) {
		const struct trip_set_entry *entry = &draft->entries[i];
		struct range range = range_of(entry);
		uint32_t at = (uint32_t)(range.first >> 8), last = (uint32_t)(range.last >> 8);

		if (entry->kind != TRIP_SET_IPV4)
			continue;
		if (entry->length > 24)
			draft->blocks[(at >> 6) - draft->low].some |= UINT64_C(1) << (at & 63);
		if (entry->length <= 18)
			draft->blocks[(at >> 6) - draft->low].base++;
		if (entry->length <= 18 && last >> 6 < draft->high)
			draft->blocks[(last >> 6) + 1 - draft->low].base--;
		for (; entry->length > 18 && entry->length <= 24 && at <= last; at++)
			draft->blocks[(at >> 6) - draft->low].all |= UINT64_C(1) << (at & 63);
	}
}

/* Where the lines of each block begin. */
static void
number_lines(struct draft *draft)
{
	uint64_t wide = 0;

	for (uint32_t i = 0; draft->low <= draft->high && i <= draft->high - draft->low; i++) {
		struct trip_members_block *block = &draft->blocks[i];

		wide += block->base;
		if (wide > 0)
			block->all = UINT64_MAX;
		block->some &= ~block->all;
		block->base = draft->n_lines;
		draft->n_lines += (uint64_t)__builtin_popcountll(block->some);
	}
}

static inline uint64_t
line_of(const struct trip_members_block *block, uint32_t address)
{
	uint64_t before = (UINT64_C(1) << (address >> 8 & 63)) - 1;

	return block->base + (uint64_t)__builtin_popcountll(block->some & before);
}

static void
fill_lines(const struct draft *draft, uint64_t (*lines)[4])
{
	for (size_t i = 0; i < draft->n_entries; i++) {
		const struct trip_set_entry *entry = &draft->entries[i];
		const struct trip_members_block *block;
		struct range range = range_of(entry);
		uint32_t at = (uint32_t)range.first;

		if (entry->kind != TRIP_SET_IPV4 || entry->length <= 24)
			continue;
		block = &draft->blocks[(at >> 14) - draft->low];
		/* Where all of the /24 is in, it has no line. */
		if ((block->some >> (at >> 8 & 63) & 1) == 0)
			continue;
		for (; at >= (uint32_t)range.first && at <= (uint32_t)range.last; at++)
			lines[line_of(block, at)][at >> 6 & 3] |= UINT64_C(1) << (at & 63);
	}
}

static int
make_blocks(struct draft *draft)
{
	bound(draft);
	if (draft->low > draft->high)
		return 0;
	draft->blocks = calloc(draft->high - draft->low + 1, sizeof(*draft->blocks));
	if (draft->blocks == NULL)
		return -ENOMEM;
	mark_blocks(draft);
	number_lines(draft);
	return 0;
}

/* ---- IPv6 ---- */

static int
by_first(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	/* The wider one first: it has the others. */
	return a->last > b->last ? -1 : a->last < b->last;
}

static int
make_ranges(struct draft *draft)
{
	size_t n = 0;

	for (size_t i = 0; i < draft->n_entries; i++)
		n += draft->entries[i].kind == TRIP_SET_IPV6;
	if (n == 0)
		return 0;
	draft->ranges = calloc(n, sizeof(*draft->ranges));
	if (draft->ranges == NULL)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < draft->n_entries; i++)
		if (draft->entries[i].kind == TRIP_SET_IPV6)
			draft->ranges[n++] = range_of(&draft->entries[i]);
	qsort(draft->ranges, n, sizeof(*draft->ranges), by_first);
	draft->n_ranges = 1;
	for (size_t i = 1; i < n; i++)
		if (draft->ranges[i].last > draft->ranges[draft->n_ranges - 1].last)
			draft->ranges[draft->n_ranges++] = draft->ranges[i];
	return 0;
}

/* A node and what is below it, from range `next` on, in their order; returns what comes next. What
 * is left of the last places is the last range again: it is the greatest, and so is its answer. */
static size_t
fill_nodes(const struct draft *draft, uint32_t n_nodes, struct trip_members_node *nodes,
	trip_members_u128 *last, uint64_t node, size_t next)
{
	if (node >= n_nodes)
		return next;
	for (uint32_t i = 0; i < TRIP_MEMBERS_FANOUT; i++) {
		const struct range *range;

		next = fill_nodes(draft, n_nodes, nodes, last,
			node * (TRIP_MEMBERS_FANOUT + 1) + i + 1, next);
		range = &draft->ranges[RTE_MIN(next, draft->n_ranges - 1)];
		nodes[node].first[i] = range->first;
		last[node * TRIP_MEMBERS_FANOUT + i] = range->last;
		next++;
	}
	return fill_nodes(draft, n_nodes, nodes, last,
		node * (TRIP_MEMBERS_FANOUT + 1) + TRIP_MEMBERS_FANOUT + 1, next);
}

/* ---- all of it ---- */

static int
check_entries(const struct trip_set_entry *entries, size_t n_entries)
{
	if (n_entries > TRIP_SET_ENTRIES_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n_entries; i++)
		if (entries[i].kind > TRIP_SET_PORT || entries[i].length > widths[entries[i].kind])
			return -EINVAL;
	return 0;
}

static void
fill_ports(const struct draft *draft, struct trip_members *members)
{
	for (size_t i = 0; i < draft->n_entries; i++) {
		struct range range;

		if (draft->entries[i].kind != TRIP_SET_PORT)
			continue;
		range = range_of(&draft->entries[i]);
		for (uint32_t port = (uint32_t)range.first; port <= (uint32_t)range.last; port++)
			members->ports[port >> 6] |= UINT64_C(1) << (port & 63);
	}
}

/* Room for all of it, one piece behind the other, in the order of what their lines are. */
static struct trip_members *
lay_out(const struct draft *draft)
{
	uint32_t n_blocks = draft->low <= draft->high ? draft->high - draft->low + 1 : 0;
	uint32_t n_nodes =
		(uint32_t)((draft->n_ranges + TRIP_MEMBERS_FANOUT - 1) / TRIP_MEMBERS_FANOUT);
	size_t nodes = RTE_ALIGN_CEIL(sizeof(struct trip_members), 64);
	size_t last = nodes + n_nodes * sizeof(struct trip_members_node);
	size_t lines = last + n_nodes * sizeof(trip_members_u128) * TRIP_MEMBERS_FANOUT;
	size_t blocks = lines + draft->n_lines * sizeof(uint64_t[4]);
	size_t size = blocks + n_blocks * sizeof(struct trip_members_block);
	struct trip_members *members = trip_memory_take(size);

	if (members == NULL)
		return NULL;
	members->nodes = (void *)((uint8_t *)members + nodes);
	members->last = (void *)((uint8_t *)members + last);
	members->lines = (void *)((uint8_t *)members + lines);
	members->blocks = (void *)((uint8_t *)members + blocks);
	members->low = draft->low;
	members->n_blocks = n_blocks;
	members->n_nodes = n_nodes;
	for (uint64_t first = 0; first < n_nodes; first = first * (TRIP_MEMBERS_FANOUT + 1) + 1)
		members->depth++;
	members->n_entries = draft->n_entries;
	members->bytes = size;
	return members;
}

static void
fill(const struct draft *draft, struct trip_members *members)
{
	uint8_t *base = (uint8_t *)members;

	fill_ports(draft, members);
	if (members->n_blocks > 0) {
		memcpy(base + ((const uint8_t *)members->blocks - base), draft->blocks,
			members->n_blocks * sizeof(*draft->blocks));
		fill_lines(draft, (void *)(base + ((const uint8_t *)members->lines - base)));
	}
	if (members->n_nodes > 0)
		fill_nodes(draft, members->n_nodes,
			(void *)(base + ((const uint8_t *)members->nodes - base)),
			(void *)(base + ((const uint8_t *)members->last - base)), 0, 0);
}

int
trip_members_open(
	const struct trip_set_entry *entries, size_t n_entries, struct trip_members **members)
{
	struct draft draft = {.entries = entries, .n_entries = n_entries};
	int error = check_entries(entries, n_entries);

	if (error != 0)
		return error;
	error = make_blocks(&draft);
	if (error == 0)
		error = make_ranges(&draft);
	if (error == 0) {
		*members = lay_out(&draft);
		if (*members != NULL)
			fill(&draft, *members);
		else
			error = -ENOMEM;
	}
	free(draft.blocks);
	free(draft.ranges);
	return error;
}

void
trip_members_close(struct trip_members *members)
{
	trip_memory_give(members);
}

/* ---- questions ---- */

static uint32_t
ask_ports(const struct trip_members *members, const uint8_t *const *values, uint32_t count)
{
	uint32_t in = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t port = load_u16(values[i]);

		in |= (uint32_t)(members->ports[port >> 6] >> (port & 63) & 1) << i;
	}
	return in;
}

/* Blocks are asked for before the first is read, and lines likewise. */
static uint32_t
ask_ipv4(const struct trip_members *members, const uint8_t *const *values, uint32_t count)
{
	const struct trip_members_block *blocks[TRIP_MEMBERS_ASK];
	const uint64_t *words[TRIP_MEMBERS_ASK];
	uint32_t addresses[TRIP_MEMBERS_ASK], left[TRIP_MEMBERS_ASK];
	uint32_t in = 0, n = 0, n_left = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t address = load_u32(values[i]), at = (address >> 14) - members->low;

		if (at >= members->n_blocks)
			continue;
		addresses[i] = address;
		blocks[i] = &members->blocks[at];
		rte_prefetch0(blocks[i]);
		left[n++] = i;
	}
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = left[k], address = addresses[i], bit = address >> 8 & 63;

		in |= (uint32_t)(blocks[i]->all >> bit & 1) << i;
		words[i] = &members->lines[line_of(blocks[i], address)][address >> 6 & 3];
		left[n_left] = i;
		if ((blocks[i]->some >> bit & 1) == 0)
			continue;
		rte_prefetch0(words[i]);
		n_left++;
	}
	for (uint32_t k = 0; k < n_left; k++) {
		uint32_t i = left[k];

		in |= (uint32_t)(*words[i] >> (addresses[i] & 63) & 1) << i;
	}
	return in;
}

/* Level by level, all of them together: a node travels while the others are looked at. */
static uint32_t
ask_ipv6(const struct trip_members *members, const uint8_t *const *values, uint32_t count)
{
	trip_members_u128 addresses[TRIP_MEMBERS_ASK];
	uint64_t nodes[TRIP_MEMBERS_ASK], best[TRIP_MEMBERS_ASK];
	uint32_t in = 0;

	for (uint32_t i = 0; i < count; i++) {
		addresses[i] = load_u128(values[i]);
		nodes[i] = 0;
		best[i] = UINT64_MAX;
	}
	for (uint32_t level = 0; level < members->depth; level++)
		for (uint32_t i = 0; i < count; i++) {
			const struct trip_members_node *node = &members->nodes[nodes[i]];
			uint32_t below = 0;

			if (nodes[i] >= members->n_nodes)
				continue;
			for (uint32_t k = 0; k < TRIP_MEMBERS_FANOUT; k++)
				below += node->first[k] <= addresses[i];
			if (below > 0)
				best[i] = nodes[i] * TRIP_MEMBERS_FANOUT + below - 1;
			nodes[i] = nodes[i] * (TRIP_MEMBERS_FANOUT + 1) + below + 1;
			rte_prefetch0(&members->nodes[nodes[i]]);
		}
	for (uint32_t i = 0; i < count; i++)
		in |= (uint32_t)(best[i] != UINT64_MAX && addresses[i] <= members->last[best[i]])
		      << i;
	return in;
}

uint32_t
trip_members_ask(const struct trip_members *members, enum trip_set_kind kind,
	const uint8_t *const *values, uint32_t count)
{
	switch (kind) {
	case TRIP_SET_IPV4:
		return ask_ipv4(members, values, count);
	case TRIP_SET_IPV6:
		return ask_ipv6(members, values, count);
	default:
		return ask_ports(members, values, count);
	}
}
