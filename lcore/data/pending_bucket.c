/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buckets: what is known of the place of some items, but not their order.
 *
 * A few nodes are a list through their items, last accepted first, and need no more memory than
 * that. More are an array in chunks: to spread a large bucket, the items of the next chunk are
 * prefetched all at once, where a list would wait for one after the other. An item knows its
 * place, so removing one is O(1). It leaves a hole; two neighbouring chunks that have become
 * nearly empty are joined, which is what the bound on chunks in pending_pool.c rests on.
 */
#include "pending_pool.h"

static void
put(struct trip_pending_pool *pool, uint32_t index, uint32_t node)
{
	struct trip_pending_chunk *chunk = &pool->chunks[index];

	pending_place_item(&pool->items[node], PENDING_IN_CHUNK, chunk->fill, index);
	chunk->nodes[chunk->fill++] = node;
	chunk->live++;
	pool->steps++;
}

static void
compact(struct trip_pending_pool *pool, uint32_t index)
{
	struct trip_pending_chunk *chunk = &pool->chunks[index];
	unsigned fill = chunk->fill;

	chunk->fill = 0;
	chunk->live = 0;
	for (unsigned i = 0; i < fill; i++)
		if (chunk->nodes[i] != TRIP_PENDING_NIL)
			put(pool, index, chunk->nodes[i]);
}

/* A new last chunk, or the only one where first is NIL. */
static uint32_t
extend(struct trip_pending_pool *pool, uint32_t first, unsigned digit)
{
	uint32_t index = trip_pending_pool_chunk(pool);
	struct trip_pending_chunk *chunk = &pool->chunks[index];

	chunk->digit = (uint8_t)digit;
	chunk->fill = 0;
	chunk->live = 0;
	if (first == TRIP_PENDING_NIL) {
		chunk->next = index;
		chunk->prev = index;
		chunk->items = 0;
		chunk->span = 0;
		chunk->min = TRIP_PENDING_NONE;
		return index;
	}
	chunk->next = first;
	chunk->prev = pool->chunks[first].prev;
	pool->chunks[chunk->prev].next = index;
	pool->chunks[first].prev = index;
	return index;
}

/* What is said of a bucket with items holds of one more. */
static inline void
widen(struct trip_pending_chunk *head, uint64_t threshold)
{
	/* min was once a member: what differs from it differs from a member, and the reverse. */
	head->items++;
	if (pending_beyond(threshold, head->min, head->span))
		head->span = (uint8_t)pending_span(threshold, head->min);
	if (threshold < head->min)
		head->min = threshold;
}

/* The last chunk of a bucket is full: one that has room. Out of line: one item in ten asks. */
static __attribute__((noinline)) uint32_t
make_room(struct trip_pending_pool *pool, uint32_t first, uint32_t last, unsigned digit)
{
	if (pool->chunks[last].live + 1u >= PENDING_PAIR_MIN)
		return extend(pool, first, digit);
	compact(pool, last);
	return last;
}

static void
append_chunk(struct trip_pending_pool *pool, uint32_t first, unsigned digit, uint32_t node)
{
	uint64_t threshold = pool->items[node].threshold;
	struct trip_pending_chunk *head = &pool->chunks[first];
	uint32_t last = head->prev;

	if (pool->chunks[last].fill == PENDING_CHUNK_NODES)
		last = make_room(pool, first, last, digit);
	put(pool, last, node);
	if (head->items == 0)
		head->min = threshold;
	widen(head, threshold);
}

/* Out of line: a bucket with a chunk needs none of what this keeps on the stack. */
static __attribute__((noinline)) void
append_few(struct trip_pending_pool *pool, uint32_t *ref, unsigned digit, uint32_t node)
{
	struct trip_pending_item *item = &pool->items[node];
	uint32_t nodes[PENDING_LIST_MAX];
	unsigned count;
	uint32_t first;

	count = *ref == TRIP_PENDING_NIL ? 0 : pending_list_count(*ref);
	if (count < PENDING_LIST_MAX) {
		item->place = PENDING_IN_LIST;
		item->next = count > 0 ? pending_index(*ref) : TRIP_PENDING_NIL;
		*ref = pending_list(count + 1, node);
		pool->steps++;
		return;
	}
	trip_pending_bucket_take_all(pool, ref, nodes);
	first = extend(pool, TRIP_PENDING_NIL, digit);
	for (unsigned i = 0; i < count; i++)
		append_chunk(pool, first, digit, nodes[i]);
	*ref = pending_ref(PENDING_CHUNK, first);
	append_chunk(pool, first, digit, node);
}

/* digit: of the wheel in whose slot the bucket hangs. */
void
trip_pending_bucket_append(
	struct trip_pending_pool *pool, uint32_t *ref, unsigned digit, uint32_t node)
{
	if (pending_kind(*ref) == PENDING_CHUNK)
		append_chunk(pool, pending_index(*ref), digit, node);
	else
		append_few(pool, ref, digit, node);
}

static void
unlink_chunk(struct trip_pending_pool *pool, uint32_t *ref, uint32_t index)
{
	struct trip_pending_chunk *chunk = &pool->chunks[index];
	struct trip_pending_chunk *next = &pool->chunks[chunk->next];

	if (next == chunk) {
		*ref = TRIP_PENDING_NIL;
	} else {
		pool->chunks[chunk->prev].next = chunk->next;
		next->prev = chunk->prev;
		if (index == pending_index(*ref)) {
			next->min = chunk->min;
			next->items = chunk->items;
			next->span = chunk->span;
			*ref = pending_ref(PENDING_CHUNK, chunk->next);
		}
	}
	trip_pending_pool_free_chunk(pool, index);
}

/* Two neighbours have become too empty: the nodes of the second go behind those of the first. */
static void
join(struct trip_pending_pool *pool, uint32_t *ref, uint32_t index)
{
	uint32_t second = pool->chunks[index].next;
	struct trip_pending_chunk *from = &pool->chunks[second];

	compact(pool, index);
	for (unsigned i = 0; i < from->fill; i++)
		if (from->nodes[i] != TRIP_PENDING_NIL)
			put(pool, index, from->nodes[i]);
	unlink_chunk(pool, ref, second);
}

static void
remove_from_list(struct trip_pending_pool *pool, uint32_t *ref, uint32_t node)
{
	uint32_t count = pending_list_count(*ref) - 1;
	uint32_t at = pending_index(*ref);

	if (at == node) {
		at = pool->items[node].next;
	} else {
		uint32_t before = at;

		while (pool->items[before].next != node)
			before = pool->items[before].next;
		pool->items[before].next = pool->items[node].next;
	}
	pool->steps++;
	*ref = count == 0 ? TRIP_PENDING_NIL : pending_list(count, at);
}

void
trip_pending_bucket_remove(struct trip_pending_pool *pool, uint32_t *ref, uint32_t node)
{
	const struct trip_pending_item *item = &pool->items[node];
	struct trip_pending_chunk *chunk;
	uint32_t index, first;

	if (item->place == PENDING_IN_LIST) {
		remove_from_list(pool, ref, node);
		return;
	}
	index = item->next;
	first = pending_index(*ref);
	chunk = &pool->chunks[index];
	assert(chunk->nodes[item->other] == node);
	chunk->nodes[item->other] = TRIP_PENDING_NIL;
	chunk->live--;
	pool->chunks[first].items--;
	pool->steps++;
	/* With so many left here, the neighbours need not be looked at: each has one at least. */
	if (chunk->live >= PENDING_PAIR_MIN - 1)
		return;
	if (chunk->live == 0)
		unlink_chunk(pool, ref, index);
	else if (chunk->next != first &&
		 chunk->live + pool->chunks[chunk->next].live < (int)PENDING_PAIR_MIN)
		join(pool, ref, index);
	else if (index != first &&
		 chunk->live + pool->chunks[chunk->prev].live < (int)PENDING_PAIR_MIN)
		join(pool, ref, chunk->prev);
}

/* Gives up the chunk of a bucket of which little is left. */
void
trip_pending_bucket_shrink(struct trip_pending_pool *pool, uint32_t *ref)
{
	uint32_t nodes[PENDING_LIST_MAX];
	unsigned count;

	if (pending_kind(*ref) != PENDING_CHUNK ||
		pending_chunk(pool, *ref)->items >= PENDING_CHUNK_MIN)
		return;
	count = trip_pending_bucket_take_all(pool, ref, nodes);
	for (unsigned i = 0; i < count; i++)
		trip_pending_bucket_append(pool, ref, PENDING_NO_DIGIT, nodes[i]);
}

/* Inline: gcc 12 takes a function that does nothing but prefetch for one without effect, and leaves
 * out its calls. */
static inline __attribute__((always_inline)) void
prefetch_behind(const struct trip_pending_pool *pool, const struct trip_pending_chunk *chunk)
{
	const struct trip_pending_chunk *next = &pool->chunks[chunk->next];
	const struct trip_pending_item *items = pool->items;

	__builtin_prefetch(&pool->chunks[next->next], 1);
	for (unsigned i = 0, fill = next->fill; i < fill; i++)
		if (next->nodes[i] != TRIP_PENDING_NIL)
			__builtin_prefetch(&items[next->nodes[i]], 1);
}

/* fetch: the items of what is taken next are wanted then and there. */
static inline __attribute__((always_inline)) unsigned
take(struct trip_pending_pool *pool, uint32_t *ref, uint32_t *nodes, bool fetch)
{
	struct trip_pending_chunk *chunk;
	unsigned count = 0;

	if (pending_kind(*ref) == PENDING_LIST) {
		unsigned left = count = pending_list_count(*ref);

		for (uint32_t at = pending_index(*ref); left > 0; at = pool->items[at].next)
			nodes[--left] = at;
		*ref = TRIP_PENDING_NIL;
	} else if (pending_kind(*ref) == PENDING_CHUNK) {
		chunk = pending_chunk(pool, *ref);
		if (fetch)
			prefetch_behind(pool, chunk);
		else
			__builtin_prefetch(&pool->chunks[pool->chunks[chunk->next].next], 1);
		/* Not as far as it is filled: there may be no room for a last one that is gone. */
		for (unsigned i = 0, live = chunk->live; count < live; i++) {
			nodes[count] = chunk->nodes[i];
			count += nodes[count] != TRIP_PENDING_NIL;
		}
		chunk->items -= count;
		unlink_chunk(pool, ref, pending_index(*ref));
	}
	pool->steps += count;
	return count;
}

/* Takes out the first few nodes, at most CHUNK_NODES, in the order of acceptance. */
unsigned
trip_pending_bucket_take(struct trip_pending_pool *pool, uint32_t *ref, uint32_t *nodes)
{
	return take(pool, ref, nodes, true);
}

/* Spreads the first nodes of the source over the slots of a wheel: what take() and append() do, but
 * most of it is done here. */
void
trip_pending_bucket_spread(
	struct trip_pending_pool *pool, uint32_t *source, struct trip_pending_wheel *wheel)
{
	struct trip_pending_chunk *const chunks = pool->chunks;
	struct trip_pending_item *const items = pool->items;
	uint32_t nodes[PENDING_CHUNK_NODES];
	unsigned count = take(pool, source, nodes, true);
	const unsigned digit = wheel->digit;

	for (unsigned i = 0; i < count; i++) {
		uint64_t threshold = items[nodes[i]].threshold;
		unsigned slot = pending_slot(threshold, digit);
		uint32_t ref = wheel->slots[slot], last;

		wheel->used |= UINT64_C(1) << slot;
		if (pending_kind(ref) != PENDING_CHUNK ||
			chunks[last = chunks[pending_index(ref)].prev].fill ==
				PENDING_CHUNK_NODES) {
			trip_pending_bucket_append(pool, &wheel->slots[slot], digit, nodes[i]);
			continue;
		}
		put(pool, last, nodes[i]);
		widen(&chunks[pending_index(ref)], threshold);
	}
}

unsigned
trip_pending_bucket_take_all(struct trip_pending_pool *pool, uint32_t *ref, uint32_t *nodes)
{
	unsigned count = 0;

	while (*ref != TRIP_PENDING_NIL)
		count += take(pool, ref, &nodes[count], false);
	return count;
}

uint32_t
trip_pending_bucket_items(const struct trip_pending_pool *pool, uint32_t ref)
{
	if (pending_kind(ref) == PENDING_CHUNK)
		return pending_chunk(pool, ref)->items;
	return ref == TRIP_PENDING_NIL ? 0 : pending_list_count(ref);
}

uint64_t
trip_pending_bucket_min(const struct trip_pending_pool *pool, uint32_t ref)
{
	uint64_t min = TRIP_PENDING_NONE;
	uint32_t at = pending_index(ref);

	if (pending_kind(ref) == PENDING_CHUNK)
		return pending_chunk(pool, ref)->min;
	for (uint32_t left = trip_pending_bucket_items(pool, ref); left > 0; left--) {
		if (pool->items[at].threshold < min)
			min = pool->items[at].threshold;
		at = pool->items[at].next;
	}
	return min;
}
