/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why the pool suffices for N nodes, all of them pending in any number of sets in any way:
 *
 * Items: one a node.
 *
 * Wheels: under every wheel lie at least WHEEL_MIN items, or it is folded in the same call (and
 * nothing is taken from the pool in between). Down from the root the digits of wheels strictly
 * fall, so an item lies under at most DIGITS of them. Adding up the items under each wheel counts
 * no item more than DIGITS times: wheels * WHEEL_MIN <= N * DIGITS.
 *
 * Chunks: a bucket of one chunk has at least CHUNK_MIN = 4 nodes, or it is a list. In one of k > 1
 * chunks two neighbours have PAIR_MIN = 10 or more between them, and each has one or more: with k
 * even that is 5k nodes, with k odd 5(k - 1) + 1, which is 11k / 3 or more either way. The
 * exception is what a wheel is being filled from, which may be one chunk with a single node: one a
 * set, and such a set has a wheel, hence WHEEL_MIN items. So chunks <= 3N / 11 + N / WHEEL_MIN.
 * Nodes that move from one place to another leave the first before they enter the second.
 * The lines of sorted arrays are such chunks, too: one has CHUNK_MIN keys or more, k > 1 have more
 * than 7(k - 1). Where fewer than CHUNK_MIN are left of an array its line is thin, and beyond the
 * bound: when there is no other chunk left, it is given up.
 *
 * Canceled items that nobody has come across yet count as pending here: their nodes are in no other
 * place, so N nodes it is all the same.
 */
#include <string.h>

#include "pending_pool.h"

#define LINE 64u

static uint32_t
chunks_for(uint32_t max_nodes)
{
	return (uint32_t)((uint64_t)max_nodes * 3 / 11) + max_nodes / PENDING_WHEEL_MIN + 1;
}

static uint32_t
wheels_for(uint32_t max_nodes)
{
	return (uint32_t)((uint64_t)max_nodes * PENDING_DIGITS / PENDING_WHEEL_MIN);
}

static size_t
lines(size_t bytes)
{
	return (bytes + LINE - 1) / LINE * LINE;
}

static size_t
canceled_bytes(uint32_t max_nodes)
{
	return ((size_t)max_nodes + 63) / 64 * sizeof(uint64_t);
}

size_t
trip_pending_pool_size(uint32_t max_nodes)
{
	if (max_nodes > TRIP_PENDING_MAX_NODES)
		return 0;
	return lines((size_t)chunks_for(max_nodes) * sizeof(struct trip_pending_chunk)) +
	       lines((size_t)max_nodes * sizeof(struct trip_pending_item)) +
	       lines(canceled_bytes(max_nodes)) +
	       lines((size_t)wheels_for(max_nodes) * sizeof(struct trip_pending_wheel));
}

void
trip_pending_pool_init(struct trip_pending_pool *pool, void *memory, uint32_t max_nodes)
{
	char *at = memory;

	assert(max_nodes <= TRIP_PENDING_MAX_NODES);
	assert((uintptr_t)memory % LINE == 0);
	*pool = (struct trip_pending_pool){
		.max_nodes = max_nodes,
		.max_chunks = chunks_for(max_nodes),
		.max_wheels = wheels_for(max_nodes),
		.free_chunks = TRIP_PENDING_NIL,
		.free_wheels = TRIP_PENDING_NIL,
		.thin = TRIP_PENDING_NIL,
	};
	pool->chunks = (void *)at;
	at += lines(pool->max_chunks * sizeof(*pool->chunks));
	pool->items = (void *)at;
	at += lines(max_nodes * sizeof(*pool->items));
	pool->canceled = (void *)at;
	at += lines(canceled_bytes(max_nodes));
	pool->wheels = (void *)at;
	memset(pool->items, 0, max_nodes * sizeof(*pool->items));
	memset(pool->canceled, 0, canceled_bytes(max_nodes));
}

uint32_t
trip_pending_pool_chunk(struct trip_pending_pool *pool)
{
	uint32_t index;

	if (pool->used_chunks == pool->max_chunks)
		trip_pending_few_reclaim(pool);
	index = pool->free_chunks;
	if (index != TRIP_PENDING_NIL)
		pool->free_chunks = pool->chunks[index].next;
	else
		index = pool->fresh_chunks++;
	assert(index < pool->max_chunks);
	pool->used_chunks++;
	return index;
}

void
trip_pending_pool_free_chunk(struct trip_pending_pool *pool, uint32_t index)
{
	pool->chunks[index].next = pool->free_chunks;
	pool->free_chunks = index;
	pool->used_chunks--;
}

uint32_t
trip_pending_pool_wheel(struct trip_pending_pool *pool)
{
	uint32_t index = pool->free_wheels;

	if (index != TRIP_PENDING_NIL)
		pool->free_wheels = pool->wheels[index].slots[0];
	else
		index = pool->fresh_wheels++;
	assert(index < pool->max_wheels);
	pool->used_wheels++;
	return index;
}

void
trip_pending_pool_free_wheel(struct trip_pending_pool *pool, uint32_t index)
{
	pool->wheels[index].slots[0] = pool->free_wheels;
	pool->free_wheels = index;
	pool->used_wheels--;
}
