/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets that have few items, as most have: there is no wheel, and no front but what stands apart
 * (pending.c), and what fires next is taken from where it lies.
 *
 * One to a few are a list through their items, searched each time. From CHUNK_MIN to FEW_MAX they
 * are a sorted array, and their items are not touched at all: popping is a decrement in one line,
 * and accepting one moves what is lower. A key is a threshold above its node; of the thresholds
 * there is room for the low KEY_BITS, the rest is the same for all and to be read from the floor,
 * which is the lowest of them. Keys fall from the first to the last, and among equal ones the last
 * was accepted first.
 *
 * The array lies in lines that are all full but the lowest, so it keeps the bound on chunks in
 * pending_pool.c, until fewer than CHUNK_MIN are left. Most are about to be popped as well, and to
 * make them a list is more work than that; so they stay where they are, and their line is thin: as
 * long as there are other chunks, nobody wants it. When there are none, it is given up.
 *
 * What an array cannot hold becomes a bucket: thresholds far apart, or too many of them. It becomes
 * an array again when it has been a list in between.
 */
#include "pending_pool.h"

_Static_assert(PENDING_LIST_MAX >= PENDING_CHUNK_MIN, "a full list has enough nodes for a line");
_Static_assert(PENDING_FEW_KEYS >= PENDING_LIST_MAX, "which is where they go");
_Static_assert(3 * (PENDING_FEW_KEYS + 1) >= 2 * 11, "lines of keys are bounded as chunks are");

static bool
fits(uint64_t threshold, uint64_t other)
{
	return (threshold ^ other) >> PENDING_KEY_BITS == 0;
}

/* A new lowest line. */
static struct pending_few *
extend(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t above, uint16_t count)
{
	uint32_t index = trip_pending_pool_chunk(pool);
	struct pending_few *line = &pool->chunks[index].few;

	line->above = above;
	line->fill = 0;
	line->count = count;
	set->root = pending_ref(PENDING_FEW, index);
	return line;
}

/* The lowest line has become empty. What is left was all there was when it was added. */
static struct pending_few *
retract(struct trip_pending_pool *pool, struct trip_pending *set)
{
	uint32_t index = pending_index(set->root);
	uint32_t above = pool->chunks[index].few.above;

	trip_pending_pool_free_chunk(pool, index);
	if (above == TRIP_PENDING_NIL) {
		set->root = TRIP_PENDING_NIL;
		return NULL;
	}
	set->root = pending_ref(PENDING_FEW, above);
	return &pool->chunks[above].few;
}

/* Behind all higher ones, and before those of its threshold: it fires after them. */
static void
put(struct trip_pending_pool *pool, struct trip_pending *set, uint64_t threshold, uint32_t node)
{
	uint64_t key = threshold << PENDING_KEY_NODE_BITS | node;
	uint64_t most = key | (TRIP_PENDING_MAX_NODES - 1);
	struct pending_few *line = pending_few(pool, set->root);
	unsigned at;

	if (line->fill == PENDING_FEW_KEYS)
		line = extend(pool, set, pending_index(set->root), line->count);
	line->count++;
	at = line->fill++;
	for (;;) {
		struct pending_few *above;

		for (; at > 0 && line->keys[at - 1] <= most; at--)
			line->keys[at] = line->keys[at - 1];
		if (at > 0 || line->above == TRIP_PENDING_NIL)
			break;
		above = &pool->chunks[line->above].few;
		if (above->keys[PENDING_FEW_KEYS - 1] > most)
			break;
		line->keys[0] = above->keys[PENDING_FEW_KEYS - 1];
		pool->steps += PENDING_FEW_KEYS;
		line = above;
		at = PENDING_FEW_KEYS - 1;
	}
	line->keys[at] = key;
	pool->steps += PENDING_FEW_KEYS;
}

static void
link_thin(struct trip_pending_pool *pool, struct trip_pending *set)
{
	struct pending_few *line = pending_few(pool, set->root);

	line->set = set;
	line->prev = TRIP_PENDING_NIL;
	line->next = pool->thin;
	if (line->next != TRIP_PENDING_NIL)
		pool->chunks[line->next].few.prev = pending_index(set->root);
	pool->thin = pending_index(set->root);
}

static void
unlink_thin(struct trip_pending_pool *pool, const struct pending_few *line)
{
	if (line->next != TRIP_PENDING_NIL)
		pool->chunks[line->next].few.prev = line->prev;
	if (line->prev != TRIP_PENDING_NIL)
		pool->chunks[line->prev].few.next = line->next;
	else
		pool->thin = line->next;
}

/* In the order in which they would fire, which is that of acceptance for equal ones. */
static void
dissolve(struct trip_pending_pool *pool, struct trip_pending *set)
{
	struct pending_few *line = pending_few(pool, set->root);
	uint64_t keys[PENDING_FEW_MAX];
	unsigned count = 0;

	if (line->count < PENDING_CHUNK_MIN)
		unlink_thin(pool, line);
	while (line != NULL) {
		for (unsigned i = line->fill; i > 0; i--)
			keys[count++] = line->keys[i - 1];
		line = retract(pool, set);
	}
	for (unsigned i = 0; i < count; i++) {
		uint32_t node = pending_key_node(keys[i]);

		pool->items[node].threshold = pending_key_threshold(keys[i], set->floor);
		trip_pending_bucket_append(pool, &set->root, PENDING_NO_DIGIT, node);
	}
}

/* No chunk is left. Whoever needs one is not of a thin line himself. */
void
trip_pending_few_reclaim(struct trip_pending_pool *pool)
{
	if (pool->thin != TRIP_PENDING_NIL)
		dissolve(pool, pool->chunks[pool->thin].few.set);
}

/* There were so many, and some have left the lowest line. */
static void
settle(struct trip_pending_pool *pool, struct trip_pending *set, unsigned before)
{
	struct pending_few *line = pending_few(pool, set->root);

	if (line->fill == 0) {
		if (before < PENDING_CHUNK_MIN)
			unlink_thin(pool, line);
		line = retract(pool, set);
	}
	if (line == NULL) {
		set->floor = TRIP_PENDING_NONE;
		return;
	}
	set->floor = pending_key_threshold(line->keys[line->fill - 1], set->floor);
	if (before >= PENDING_CHUNK_MIN && line->count < PENDING_CHUNK_MIN)
		link_thin(pool, set);
}

/* Takes a whole list; what was canceled is dropped. In the order of acceptance. */
static unsigned
take_list(struct trip_pending_pool *pool, struct trip_pending *set, struct pending_key *keys)
{
	uint32_t nodes[PENDING_CHUNK_NODES];
	unsigned count = 0, taken = trip_pending_bucket_take(pool, &set->root, nodes);

	for (unsigned i = 0; i < taken; i++) {
		keys[count] = (struct pending_key){pool->items[nodes[i]].threshold, nodes[i]};
		count += !pending_canceled(pool, nodes[i]) || trip_pending_leave(pool, nodes[i]);
	}
	return count;
}

static void
return_list(struct trip_pending_pool *pool, struct trip_pending *set,
	const struct pending_key *keys, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		trip_pending_bucket_append(pool, &set->root, PENDING_NO_DIGIT, keys[i].node);
}

/* A full list becomes an array, or stays a list. */
static bool
begin(struct trip_pending_pool *pool, struct trip_pending *set, uint64_t threshold)
{
	struct pending_key keys[PENDING_LIST_MAX];
	unsigned count = take_list(pool, set, keys);
	uint64_t floor = TRIP_PENDING_NONE;
	bool fit = count >= PENDING_CHUNK_MIN;

	for (unsigned i = 0; i < count; i++) {
		fit = fit && fits(keys[i].threshold, threshold);
		floor = keys[i].threshold < floor ? keys[i].threshold : floor;
	}
	set->floor = floor;
	if (!fit) {
		return_list(pool, set, keys, count);
		return false;
	}
	extend(pool, set, TRIP_PENDING_NIL, 0);
	for (unsigned i = 0; i < count; i++) {
		(void)trip_pending_leave(pool, keys[i].node);
		put(pool, set, keys[i].threshold, keys[i].node);
	}
	return true;
}

/* Root is an array or a full list. False: it goes into root as it does into any other, which root
 * is ready for now. */
bool
trip_pending_few_insert(
	struct trip_pending_pool *pool, struct trip_pending *set, uint64_t threshold, uint32_t node)
{
	const struct pending_few *line;

	if (pending_kind(set->root) == PENDING_LIST) {
		if (set->front != TRIP_PENDING_NIL || !begin(pool, set, threshold))
			return false;
	} else if (pending_few(pool, set->root)->count == PENDING_FEW_MAX ||
		   !fits(threshold, set->floor)) {
		dissolve(pool, set);
		return false;
	}
	line = pending_few(pool, set->root);
	if (line->count == PENDING_CHUNK_MIN - 1)
		unlink_thin(pool, line);
	put(pool, set, threshold, node);
	if (threshold < set->floor)
		set->floor = threshold;
	return true;
}

/* What is lower moves up by one, line by line. */
void
trip_pending_few_remove(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node)
{
	struct pending_few *line = pending_few(pool, set->root);
	unsigned before = line->count--, fill = line->fill--;
	uint64_t lower = 0;

	for (bool found = false; !found; fill = PENDING_FEW_KEYS) {
		for (unsigned i = fill; i > 0 && !found; i--) {
			uint64_t key = line->keys[i - 1];

			line->keys[i - 1] = lower;
			lower = key;
			found = pending_key_node(key) == node;
		}
		pool->steps += fill;
		assert(found || line->above != TRIP_PENDING_NIL);
		if (!found)
			line = &pool->chunks[line->above].few;
	}
	settle(pool, set, before);
}

static unsigned
pop_list(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *nodes, unsigned max)
{
	struct pending_key keys[PENDING_LIST_MAX], spare[PENDING_LIST_MAX], *sorted;
	unsigned count, taken = 0;

	count = take_list(pool, set, keys);
	sorted = trip_pending_sort(keys, spare, count);
	for (; taken < max && taken < count && sorted[taken].threshold <= set->sample; taken++) {
		nodes[taken] = sorted[taken].node;
		(void)trip_pending_leave(pool, nodes[taken]);
	}
	return_list(pool, set, &sorted[taken], count - taken);
	set->floor = taken < count ? sorted[taken].threshold : TRIP_PENDING_NONE;
	return taken;
}

/* Some of which the floor says that they are due. */
unsigned
trip_pending_few_pop(
	struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *nodes, unsigned max)
{
	struct pending_few *line = pending_few(pool, set->root);
	uint64_t most = UINT64_MAX;
	unsigned count = 0, before;

	if (pending_kind(set->root) == PENDING_LIST)
		return pop_list(pool, set, nodes, max);
	before = line->count;
	/* Or all of them are. */
	if (fits(set->sample, set->floor))
		most = set->sample << PENDING_KEY_NODE_BITS | (TRIP_PENDING_MAX_NODES - 1);
	while (count < max && line->keys[line->fill - 1] <= most) {
		nodes[count++] = pending_key_node(line->keys[--line->fill]);
		line->count--;
		if (line->fill > 0)
			continue;
		if (line->above == TRIP_PENDING_NIL)
			break;
		line = retract(pool, set);
	}
	pool->steps += count;
	settle(pool, set, before);
	return count;
}

void
trip_pending_prefetch(const struct trip_pending_pool *pool, const struct trip_pending *set)
{
	if (pending_kind(set->root) == PENDING_FEW)
		__builtin_prefetch(pending_few(pool, set->root), 1);
	else if (set->front != TRIP_PENDING_NIL)
		__builtin_prefetch(&pool->items[set->front], 1);
	else if (pending_kind(set->root) == PENDING_LIST)
		__builtin_prefetch(&pool->items[pending_index(set->root)], 1);
}
