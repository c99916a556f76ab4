/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is in a set, for asking: made once of its entries, never changed, one piece of memory.
 *
 * Nobody asks which entry is the longest match, only whether there is one, so a set is a set of
 * numbers and needs no next hops.
 *
 * - IPv4: for each /18 between the least and the greatest there is, a block that says of its 64
 *   /24s whether all of it is in, or some; of those with some there is a line of 256 bits, and the
 *   block says how many of these come before its own. A question reads one cache line, or two.
 * - IPv6: prefixes are nested or apart, so what remains of them is ranges that are apart, each with
 *   its first and last address. The first ones are a tree of nodes of 4, a cache line each; the
 *   greatest one up to an address is the only range that it can be in. A million of them are 9
 *   nodes deep, and the questions of a chunk go down together.
 * - Ports: a bit each.
 *
 * That is 8 KiB, 24 bytes for each /18 and at most 32 for each entry of IPv4, and about 40 for each
 * of IPv6; no traffic makes a question dearer than that.
 */
#ifndef TRIP_MEMBERS_H
#define TRIP_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trip_set.h>

#define TRIP_MEMBERS_FANOUT 4

__extension__ typedef unsigned __int128 trip_members_u128;

struct trip_members_block {
	uint64_t all;
	uint64_t some;
	/* Lines of those with some before this block. */
	uint64_t base;
};

struct trip_members_node {
	_Alignas(64) trip_members_u128 first[TRIP_MEMBERS_FANOUT];
};

struct trip_members {
	/* IPv4. */
	const struct trip_members_block *blocks;
	const uint64_t (*lines)[4];
	uint32_t low; /* of the first block */
	uint32_t n_blocks;
	/* IPv6. */
	const struct trip_members_node *nodes;
	const trip_members_u128 *last; /* [n_nodes * TRIP_MEMBERS_FANOUT] */
	uint32_t n_nodes;
	uint32_t depth;
	/* What it took. */
	uint64_t n_entries;
	uint64_t bytes;
	uint64_t ports[65536 / 64];
};

/* Most questions at once. */
#define TRIP_MEMBERS_ASK 32

/* One of no entries, for whoever needs one. */
extern const struct trip_members trip_members_none;

/* 0, or -EINVAL (an entry's kind or length), -E2BIG, -ENOMEM. */
int trip_members_open(
	const struct trip_set_entry *entries, size_t n_entries, struct trip_members **members);
void trip_members_close(struct trip_members *members);

/* Which of up to TRIP_MEMBERS_ASK values are in, a bit each. Each is as it is in a packet, of the
 * kind's length; nothing is asked of its alignment. */
uint32_t trip_members_ask(const struct trip_members *members, enum trip_set_kind kind,
	const uint8_t *const *values, uint32_t count);

#endif
