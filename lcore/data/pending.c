/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hierarchical wheel whose clock is the counter: 64 slots a wheel, a bitmap of the used ones,
 * and a wheel for each base-64 digit in which the items below it differ. Two things differ from
 * a timer wheel.
 *
 * Its clock may run backwards. So there is no base that all levels are relative to; a wheel says
 * itself which thresholds it covers (its prefix), and one that lacks the digit for a new item gets
 * a wheel above it. A counter that is set back keeps its wheels as they are, lower thresholds get
 * wheels of their own below the same root, and nothing is ever merged when the counter comes back.
 * An item only ever moves down, from a wheel of one digit into one of a lower digit, so that all
 * lowering and raising in the life of an item costs at most as many moves as there are digits,
 * apart from wheels that have become nearly empty and are folded back into a bucket.
 *
 * And it spreads a bucket only in two cases: when it has just become large and is much of the set,
 * so that most of what is accepted later goes to its place at once; or when it is first, something
 * in it is due, and it is large. A small one is sorted as it is. What comes out is the front, a
 * sorted queue; from there items fire. Of a set that has few in all, pending_few.c tells.
 *
 *	root	wheels and buckets: everything above the sample goes here when it is accepted
 *	front	sorted; was taken out of root, so its items are older than equal ones in root; or
 *		one item below a list in root, which is not touched when that fires
 *	late	due when accepted: fires when neither of the others has anything due
 *
 * The next to fire is the first of the front unless root may hold something lower, which floor
 * tells: then root is asked first, in bounded steps. The front may be long after a counter was set
 * back, so it is only ever touched near its beginning: a bucket that reaches further in is taken
 * as far as that, the rest stays in root.
 *
 * A canceled item of a set with wheels stays where it is and is only marked. It is dropped on its
 * way to the front, or at the latest where it would be handed out. What is said of thresholds here
 * holds of canceled items too, so floor and front may be too low for those that are left, never too
 * high; the next pop corrects it.
 */
#include "pending_pool.h"

void
trip_pending_enqueue(struct trip_pending_pool *pool, uint32_t *head, const uint32_t *nodes,
	unsigned count, bool first)
{
	uint32_t next = *head == TRIP_PENDING_NIL ? nodes[0] : *head;
	uint32_t prev = *head == TRIP_PENDING_NIL ? nodes[count - 1] : pool->items[*head].other;

	pool->items[prev].next = nodes[0];
	for (unsigned i = 0; i < count; i++) {
		pending_place_item(&pool->items[nodes[i]], PENDING_IN_QUEUE, prev,
			i + 1 < count ? nodes[i + 1] : next);
		prev = nodes[i];
	}
	pool->items[next].other = prev;
	if (first || *head == TRIP_PENDING_NIL)
		*head = nodes[0];
	pool->steps += count;
}

static void
dequeue(struct trip_pending_pool *pool, uint32_t *head, uint32_t node)
{
	struct trip_pending_item *item = &pool->items[node];

	pool->items[item->other].next = item->next;
	pool->items[item->next].other = item->other;
	if (*head == node)
		*head = item->next == node ? TRIP_PENDING_NIL : item->next;
	pool->steps++;
}

void
trip_pending_init(struct trip_pending *set)
{
	*set = (struct trip_pending){
		.floor = TRIP_PENDING_NONE,
		.root = TRIP_PENDING_NIL,
		.front = TRIP_PENDING_NIL,
		.late = TRIP_PENDING_NIL,
		.split = TRIP_PENDING_NIL,
		.source = TRIP_PENDING_NIL,
	};
}

/* Most counters have one item: what a bucket does of the first one. */
static inline void
insert_first(
	struct trip_pending_pool *pool, struct trip_pending *set, uint64_t threshold, uint32_t node)
{
	pending_place_item(&pool->items[node], PENDING_IN_LIST, 0, TRIP_PENDING_NIL);
	set->root = pending_list(1, node);
	if (threshold < set->floor)
		set->floor = threshold;
	pool->steps++;
}

static inline void
insert_many(
	struct trip_pending_pool *pool, struct trip_pending *set, uint64_t threshold, uint32_t node)
{
	if (threshold < set->floor)
		set->floor = threshold;
	trip_pending_wheel_insert(pool, set, threshold, node);
}

/* Out of line: where there are many, nothing is kept on the stack for it. */
static __attribute__((noinline)) void
insert_few(
	struct trip_pending_pool *pool, struct trip_pending *set, uint64_t threshold, uint32_t node)
{
	if (!trip_pending_few_insert(pool, set, threshold, node))
		insert_many(pool, set, threshold, node);
}

static void
insert_root(
	struct trip_pending_pool *pool, struct trip_pending *set, uint64_t threshold, uint32_t node)
{
	if (pending_kind(set->root) == PENDING_FEW ||
		pending_list_count(set->root) == PENDING_LIST_MAX)
		insert_few(pool, set, threshold, node);
	else
		insert_many(pool, set, threshold, node);
}

/* What stood apart is in the list again when another comes, so that few are few, whatever their
 * order. Not what was taken out of root: equal ones may be there. */
static void
return_front(struct trip_pending_pool *pool, struct trip_pending *set)
{
	uint32_t node = set->front;

	if (node == TRIP_PENDING_NIL || pool->items[node].next != node ||
		pool->items[node].threshold >= set->floor)
		return;
	set->front = TRIP_PENDING_NIL;
	pool->items[node].place = PENDING_NOWHERE;
	insert_root(pool, set, pool->items[node].threshold, node);
}

/* Mostly it is an interval that comes again, and the others are far off. */
static inline void
insert_apart(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node)
{
	pending_place_item(&pool->items[node], PENDING_IN_QUEUE, node, node);
	set->front = node;
	pool->steps++;
}

static __attribute__((noinline)) void
insert_beside_list(
	struct trip_pending_pool *pool, struct trip_pending *set, uint64_t threshold, uint32_t node)
{
	return_front(pool, set);
	insert_root(pool, set, threshold, node);
}

void
trip_pending_insert(
	struct trip_pending_pool *pool, struct trip_pending *set, uint64_t threshold, uint32_t node)
{
	assert(threshold < TRIP_PENDING_NONE && node < pool->max_nodes);
	assert(pool->items[node].place == PENDING_NOWHERE && !pending_canceled(pool, node));
	pool->items[node].threshold = threshold;
	set->count++;
	if (threshold <= set->sample) {
		trip_pending_enqueue(pool, &set->late, &node, 1, false);
		return;
	}
	if (set->root == TRIP_PENDING_NIL)
		insert_first(pool, set, threshold, node);
	else if (pending_kind(set->root) == PENDING_LIST && set->front == TRIP_PENDING_NIL &&
		 threshold < set->floor)
		insert_apart(pool, set, node);
	else if (pending_kind(set->root) == PENDING_LIST)
		insert_beside_list(pool, set, threshold, node);
	else if (pending_kind(set->root) == PENDING_FEW)
		insert_few(pool, set, threshold, node);
	else
		insert_many(pool, set, threshold, node);
}

/* No item but the late ones has a lower threshold. */
static uint64_t
first_threshold(const struct trip_pending_pool *pool, const struct trip_pending *set)
{
	uint64_t first = pending_front_threshold(pool, set);

	return first < set->floor ? first : set->floor;
}

void
trip_pending_refresh_floor(struct trip_pending_pool *pool, struct trip_pending *set)
{
	struct pending_path path;

	if (set->root == TRIP_PENDING_NIL) {
		set->floor = TRIP_PENDING_NONE;
		return;
	}
	trip_pending_wheel_first(pool, set, &path);
	set->floor = trip_pending_bucket_min(pool, *path.refs[path.depth]);
}

/* Nodes of one bucket, or one of a queue. */
static void
take_out(struct trip_pending_pool *pool, struct trip_pending *set, const uint32_t *nodes,
	unsigned count)
{
	struct pending_path path;
	bool lowest = false;
	uint32_t *ref;

	assert(nodes[0] < pool->max_nodes);
	if (pool->items[nodes[0]].place == PENDING_IN_QUEUE) {
		dequeue(pool, set->late == nodes[0] ? &set->late : &set->front, nodes[0]);
		pool->items[nodes[0]].place = PENDING_NOWHERE;
		return;
	}
	if (pending_kind(set->root) == PENDING_FEW) {
		assert(count == 1);
		trip_pending_few_remove(pool, set, nodes[0]);
		return;
	}
	assert(pool->items[nodes[0]].place != PENDING_NOWHERE);
	trip_pending_wheel_find(pool, set, nodes[0], &path);
	ref = path.refs[path.depth];
	for (unsigned i = 0; i < count; i++) {
		trip_pending_bucket_remove(pool, ref, nodes[i]);
		pool->items[nodes[i]].place = PENDING_NOWHERE;
		lowest |= pool->items[nodes[i]].threshold == set->floor;
	}
	if (ref != &set->source)
		trip_pending_bucket_shrink(pool, ref);
	else if (set->source == TRIP_PENDING_NIL)
		set->split = TRIP_PENDING_NIL;
	trip_pending_wheel_settle(pool, set, &path, count);
	if (set->split == TRIP_PENDING_NIL && (lowest || set->root == TRIP_PENDING_NIL))
		trip_pending_refresh_floor(pool, set);
}

void
trip_pending_remove(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node)
{
	assert(!pending_canceled(pool, node));
	take_out(pool, set, &node, 1);
	set->count--;
}

void
trip_pending_mark(struct trip_pending_pool *pool, uint32_t node, bool canceled)
{
	uint64_t bit = UINT64_C(1) << node % 64;

	if (canceled) {
		pool->canceled[node / 64] |= bit;
		pool->marked++;
	} else {
		pool->canceled[node / 64] &= ~bit;
		pool->marked--;
	}
}

void
trip_pending_cancel(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node)
{
	/* Few items are worth an exact bound: a home is not to be rung for nothing. */
	if (pending_kind(set->root) != PENDING_WHEEL) {
		trip_pending_remove(pool, set, node);
		return;
	}
	trip_pending_mark(pool, node, true);
	set->count--;
	pool->steps++;
}

/* With it go the canceled ones of its chunk: to find the place costs most of it. */
void
trip_pending_forget_marked(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node)
{
	const struct trip_pending_chunk *chunk;
	uint32_t nodes[PENDING_CHUNK_NODES] = {node};
	unsigned count = 0;

	if (!pending_canceled(pool, node))
		return;
	if (pool->items[node].place != PENDING_IN_CHUNK) {
		count = 1;
	} else {
		chunk = &pool->chunks[pool->items[node].next];
		for (unsigned i = 0; i < chunk->fill; i++)
			if (chunk->nodes[i] != TRIP_PENDING_NIL &&
				pending_canceled(pool, chunk->nodes[i]))
				nodes[count++] = chunk->nodes[i];
	}
	for (unsigned i = 0; i < count; i++)
		trip_pending_mark(pool, nodes[i], false);
	take_out(pool, set, nodes, count);
}

void
trip_pending_sample(struct trip_pending_pool *pool, struct trip_pending *set, uint64_t sum)
{
	/* Late items have no place in this order; some canceled ones may have stayed behind. */
	assert(pool->marked > 0 || first_threshold(pool, set) > set->sample);
	assert(sum != TRIP_PENDING_NONE);
	set->sample = sum;
}

bool
trip_pending_due(const struct trip_pending_pool *pool, const struct trip_pending *set)
{
	return set->count > 0 && (set->floor <= set->sample || set->late != TRIP_PENDING_NIL ||
					 pending_front_threshold(pool, set) <= set->sample);
}

uint64_t
trip_pending_bound(const struct trip_pending_pool *pool, const struct trip_pending *set)
{
	if (set->count == 0)
		return TRIP_PENDING_NONE;
	return set->late != TRIP_PENDING_NIL ? 0 : first_threshold(pool, set);
}
