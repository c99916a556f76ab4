/* SPDX-License-Identifier: BSD-3-Clause */
/* What is due leaves a pending set, in its order: pending.c has the whole. */
#include "pending_pool.h"

bool
trip_pending_leave(struct trip_pending_pool *pool, uint32_t node)
{
	bool canceled = pending_canceled(pool, node);

	pool->items[node].place = PENDING_NOWHERE;
	if (canceled)
		trip_pending_mark(pool, node, false);
	return !canceled;
}

/*
 * Takes the beginning of a queue out, as far as its thresholds go up to limit: no more than `max`
 * nodes that are still wanted, nor than `look` in all.
 */
static unsigned
take_first(struct trip_pending_pool *pool, uint32_t *head, uint64_t limit, uint32_t *nodes,
	unsigned max, uint64_t look)
{
	uint32_t at = *head, last = pool->items[at].other, before = TRIP_PENDING_NIL;
	unsigned count = 0, looked = 0;

	do {
		if (count == max || looked == look || pool->items[at].threshold > limit)
			break;
		nodes[count] = at;
		before = at;
		at = pool->items[at].next;
		count += trip_pending_leave(pool, before);
		looked++;
	} while (before != last);
	pool->steps += looked;
	if (before == last) {
		*head = TRIP_PENDING_NIL;
	} else {
		pool->items[last].next = at;
		pool->items[at].other = last;
		*head = at;
	}
	return count;
}

/* Where the front is left alone, as far from its beginning as reach. */
static uint64_t
front_limit(struct trip_pending_pool *pool, const struct trip_pending *set, unsigned reach)
{
	uint32_t at = set->front;

	if (at == TRIP_PENDING_NIL)
		return TRIP_PENDING_NONE;
	pool->steps += reach;
	for (; reach > 0; reach--) {
		at = pool->items[at].next;
		if (at == set->front)
			return TRIP_PENDING_NONE;
	}
	return pool->items[at].threshold;
}

/* Sorted nodes go among those of the front, behind equal ones, which are older. */
static void
merge_front(struct trip_pending_pool *pool, struct trip_pending *set,
	const struct pending_key *keys, unsigned count)
{
	uint32_t at = set->front;
	bool end = false;

	for (unsigned i = 0; i < count; i++) {
		while (!end && pool->items[at].threshold <= keys[i].threshold) {
			at = pool->items[at].next;
			end = at == set->front;
			pool->steps++;
		}
		trip_pending_enqueue(pool, &at, &keys[i].node, 1, false);
		if (at == set->front && !end)
			set->front = keys[i].node;
	}
}

/*
 * From a small bucket to the front, sorted; returns how many, canceled ones included. Only as many
 * of the front are passed as the bucket has items, however long it is; what lies beyond stays where
 * it is. Taking just what lies below the front would do, but look at the whole bucket again for
 * each new item there.
 */
static unsigned
take_sorted(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *ref, unsigned digit)
{
	struct pending_key keys[PENDING_SORT_MAX], spare[PENDING_SORT_MAX], *sorted;
	uint32_t nodes[PENDING_SORT_MAX];
	unsigned count = trip_pending_bucket_take_all(pool, ref, nodes);
	uint64_t limit = front_limit(pool, set, count);
	unsigned taken = 0, dropped = 0;

	for (unsigned i = 0; i < count; i++)
		__builtin_prefetch(&pool->items[nodes[i]], 1);
	for (unsigned i = 0; i < count; i++) {
		uint64_t threshold = pool->items[nodes[i]].threshold;

		if (pending_canceled(pool, nodes[i]))
			dropped += !trip_pending_leave(pool, nodes[i]);
		else if (threshold < limit)
			keys[taken++] = (struct pending_key){threshold, nodes[i]};
		else
			trip_pending_bucket_append(pool, ref, digit, nodes[i]);
	}
	sorted = trip_pending_sort(keys, spare, taken);
	pool->steps += taken;
	if (set->front != TRIP_PENDING_NIL) {
		merge_front(pool, set, sorted, taken);
		return taken + dropped;
	}
	for (unsigned i = 0; i < taken; i++)
		nodes[i] = sorted[i].node;
	if (taken > 0)
		trip_pending_enqueue(pool, &set->front, nodes, taken, true);
	return taken + dropped;
}

/*
 * One bounded step towards knowing what in root is due next. The longest takes a bucket to the
 * front, each item of which is taken, sorted and linked while as many of the front are looked at
 * and passed, and folds the wheels above it, for whose chunks thin lines may have to be given up. A
 * pop begins it with less than SORT_MAX spent.
 */
_Static_assert(
	6 * PENDING_SORT_MAX + 2 * PENDING_WHEEL_MIN + 8 * PENDING_DIGITS +
			(PENDING_CHUNK_MIN - 1) * (PENDING_WHEEL_MIN / PENDING_CHUNK_NODES) <=
		TRIP_PENDING_STEPS,
	"no step is longer than what is promised of all calls");

static void
advance(struct trip_pending_pool *pool, struct trip_pending *set)
{
	uint32_t nodes[PENDING_CHUNK_NODES];
	struct pending_path path;
	unsigned taken;
	uint32_t *ref;

	if (set->split != TRIP_PENDING_NIL) {
		trip_pending_wheel_fill(pool, set);
		if (set->split == TRIP_PENDING_NIL)
			trip_pending_refresh_floor(pool, set);
		return;
	}
	trip_pending_wheel_first(pool, set, &path);
	ref = path.refs[path.depth];
	set->floor = trip_pending_bucket_min(pool, *ref);
	if (set->floor > set->sample || set->floor >= pending_front_threshold(pool, set))
		return;
	if (trip_pending_bucket_items(pool, *ref) <= PENDING_SORT_MAX) {
		taken = take_sorted(pool, set, ref, trip_pending_wheel_digit(&path));
	} else if (pending_chunk(pool, *ref)->span > 0) {
		trip_pending_wheel_split(pool, set, ref);
		return;
	} else {
		taken = trip_pending_bucket_take(pool, ref, nodes);
		trip_pending_enqueue(pool, &set->front, nodes, taken, true);
	}
	trip_pending_wheel_settle(pool, set, &path, taken);
	trip_pending_refresh_floor(pool, set);
}

/* Out of line: one item alone needs none of what this keeps on the stack. */
static __attribute__((noinline)) unsigned
pop_any(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *nodes, unsigned max)
{
	uint64_t end = pool->steps + PENDING_SORT_MAX + 8u * (uint64_t)max;
	unsigned count = 0;

	/* Small sets need nothing of what follows. */
	if (set->floor <= set->sample && max > 0 && pending_is_few(set)) {
		count = trip_pending_few_pop(pool, set, nodes, max);
		if (set->late == TRIP_PENDING_NIL) {
			set->count -= count;
			return count;
		}
	}
	while (count < max && pool->steps < end) {
		uint64_t first = pending_front_threshold(pool, set);
		uint64_t limit = set->sample < set->floor ? set->sample : set->floor;

		if (first <= limit)
			count += take_first(pool, &set->front, limit, &nodes[count], max - count,
				end - pool->steps);
		else if (set->floor <= set->sample)
			advance(pool, set);
		else if (set->late != TRIP_PENDING_NIL)
			count += take_first(pool, &set->late, UINT64_MAX, &nodes[count],
				max - count, end - pool->steps);
		else
			break;
	}
	set->count -= count;
	return count;
}

/* A list of one node is that node, and there is nothing else. */
static inline bool
is_single(const struct trip_pending *set)
{
	return set->root < TRIP_PENDING_MAX_NODES && (set->front & set->late) == TRIP_PENDING_NIL;
}

/* The only one of the front is due, and nothing else. */
static inline bool
is_apart(const struct trip_pending_pool *pool, const struct trip_pending *set)
{
	return set->sample < set->floor && set->front != TRIP_PENDING_NIL &&
	       set->late == TRIP_PENDING_NIL && pool->items[set->front].next == set->front &&
	       pool->items[set->front].threshold <= set->sample;
}

static inline __attribute__((always_inline)) unsigned
pop_single(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *head, uint32_t *node)
{
	unsigned count;

	*node = *head;
	*head = TRIP_PENDING_NIL;
	pool->steps++;
	count = trip_pending_leave(pool, *node);
	set->count -= count;
	return count;
}

/* Out of line: one item alone needs none of this. */
static __attribute__((noinline)) unsigned
pop_many(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *nodes, unsigned max)
{
	if (is_apart(pool, set) && max > 0)
		return pop_single(pool, set, &set->front, nodes);
	return pop_any(pool, set, nodes, max);
}

unsigned
trip_pending_pop(
	struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *nodes, unsigned max)
{
	if (is_single(set) && max > 0 && pool->items[set->root].threshold <= set->sample) {
		set->floor = TRIP_PENDING_NONE;
		return pop_single(pool, set, &set->root, nodes);
	}
	return pop_many(pool, set, nodes, max);
}
