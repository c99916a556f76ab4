/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The unsorted rest of a pending set: wheels in the slots of wheels, and buckets in the others.
 * pending.c says what for.
 *
 * A bucket is spread over a wheel of its own in steps (split, then fill until nothing is left).
 * Meanwhile the wheel owns what it is filled from, and what is accepted for it queues up there,
 * behind its equals. Chunks tell which of the two they are part of by the digit that they were
 * filled under: above the wheel's own where they are still part of the source.
 */
#include "pending_pool.h"

/* A bucket with more than this part of its set is a large one. */
#define EARLY_PART 32u

static bool
covers(const struct trip_pending_wheel *wheel, uint64_t threshold)
{
	/* Two shifts: the highest digit ends above bit 63. */
	return (threshold ^ wheel->prefix) >> (wheel->digit * PENDING_DIGIT_BITS) >>
		       PENDING_DIGIT_BITS ==
	       0;
}

static struct trip_pending_wheel *
new_wheel(struct trip_pending_pool *pool, uint32_t *ref, unsigned digit, uint64_t prefix,
	uint32_t items)
{
	uint32_t index = trip_pending_pool_wheel(pool);
	struct trip_pending_wheel *wheel = &pool->wheels[index];

	wheel->prefix = prefix;
	wheel->used = 0;
	wheel->items = items;
	wheel->digit = digit;
	for (unsigned i = 0; i < PENDING_SLOTS; i++)
		wheel->slots[i] = TRIP_PENDING_NIL;
	*ref = pending_ref(PENDING_WHEEL, index);
	return wheel;
}

/* A wheel in the place of ref, with what was there in the slot of member, one of its thresholds. */
static struct trip_pending_wheel *
nest(struct trip_pending_pool *pool, uint32_t *ref, uint64_t member, uint64_t threshold,
	uint32_t items)
{
	unsigned digit = pending_span(member, threshold) - 1;
	unsigned slot = pending_slot(member, digit);
	uint32_t was = *ref;
	struct trip_pending_wheel *wheel = new_wheel(pool, ref, digit, member, items);

	wheel->slots[slot] = was;
	wheel->used = UINT64_C(1) << slot;
	return wheel;
}

/* Many equal ones need no sorting as long as they stay among themselves. */
static bool
many_equal(const struct trip_pending_pool *pool, uint32_t ref)
{
	return pending_kind(ref) == PENDING_CHUNK &&
	       pending_chunk(pool, ref)->items > PENDING_SORT_MAX &&
	       pending_chunk(pool, ref)->span == 0;
}

/*
 * A wheel spreads at once what is accepted later, so it is made before it is needed, while its
 * bucket is still small. Not of buckets that hold a small part of the set: there may be so many of
 * them that they would not stay in the cache, for which each item accepted would have to wait. And
 * not before everything else has taken as many steps since the last time: buckets that grow alike
 * come to this all at once, and would make one iteration long.
 */
static bool
is_spread_early(const struct trip_pending_pool *pool, const struct trip_pending *set, uint32_t ref)
{
	const struct trip_pending_chunk *chunk = pending_chunk(pool, ref);

	return pending_kind(ref) == PENDING_CHUNK && chunk->items > PENDING_SORT_MAX &&
	       chunk->items <= 2 * PENDING_SORT_MAX && chunk->span > 0 &&
	       chunk->items > set->count / EARLY_PART && pool->steps - pool->spread >= chunk->items;
}

void
trip_pending_wheel_insert(
	struct trip_pending_pool *pool, struct trip_pending *set, uint64_t threshold, uint32_t node)
{
	unsigned digit = PENDING_NO_DIGIT;
	uint32_t *ref = &set->root;

	for (;;) {
		struct trip_pending_wheel *wheel;
		unsigned slot;

		if (pending_kind(*ref) == PENDING_WHEEL) {
			wheel = pending_wheel(pool, *ref);
			if (!covers(wheel, threshold))
				wheel = nest(pool, ref, wheel->prefix, threshold, wheel->items);
		} else if (many_equal(pool, *ref) && pending_chunk(pool, *ref)->min != threshold) {
			wheel = nest(pool, ref, pending_chunk(pool, *ref)->min, threshold,
				pending_chunk(pool, *ref)->items);
		} else {
			break;
		}
		pool->steps++;
		wheel->items++;
		if (*ref == set->split) {
			trip_pending_bucket_append(pool, &set->source, PENDING_NO_DIGIT, node);
			/* Faster than it grows, however much more is submitted meanwhile. */
			trip_pending_wheel_fill(pool, set);
			return;
		}
		digit = wheel->digit;
		slot = pending_slot(threshold, digit);
		wheel->used |= UINT64_C(1) << slot;
		ref = &wheel->slots[slot];
	}
	trip_pending_bucket_append(pool, ref, digit, node);
	if (set->split == TRIP_PENDING_NIL && is_spread_early(pool, set, *ref)) {
		trip_pending_wheel_split(pool, set, ref);
		while (set->split != TRIP_PENDING_NIL)
			trip_pending_wheel_fill(pool, set);
		pool->spread = pool->steps;
	}
}

void
trip_pending_wheel_find(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node,
	struct pending_path *path)
{
	const struct trip_pending_item *item = &pool->items[node];
	uint32_t *ref = &set->root;

	path->depth = 0;
	while (pending_kind(*ref) == PENDING_WHEEL) {
		struct trip_pending_wheel *wheel = pending_wheel(pool, *ref);

		pool->steps++;
		path->refs[path->depth] = ref;
		path->wheels[path->depth++] = wheel;
		if (*ref == set->split && item->place == PENDING_IN_CHUNK &&
			pool->chunks[item->next].digit != wheel->digit) {
			ref = &set->source;
			break;
		}
		ref = &wheel->slots[pending_slot(item->threshold, wheel->digit)];
	}
	path->refs[path->depth] = ref;
}

void
trip_pending_wheel_first(
	struct trip_pending_pool *pool, struct trip_pending *set, struct pending_path *path)
{
	uint32_t *ref = &set->root;

	path->depth = 0;
	while (pending_kind(*ref) == PENDING_WHEEL) {
		struct trip_pending_wheel *wheel = pending_wheel(pool, *ref);

		pool->steps++;
		path->refs[path->depth] = ref;
		path->wheels[path->depth++] = wheel;
		ref = &wheel->slots[__builtin_ctzll(wheel->used)];
	}
	path->refs[path->depth] = ref;
}

/* Of the wheel that the bucket at the end of the path hangs in. */
unsigned
trip_pending_wheel_digit(const struct pending_path *path)
{
	return path->depth == 0 ? PENDING_NO_DIGIT : path->wheels[path->depth - 1]->digit;
}

/*
 * Everything under a wheel that has become too empty goes into one bucket in its place. Wheels
 * below it are as empty, so there is at most one in each: they are a chain. Equal ones are either
 * in one slot or, later accepted, in the source.
 */
static void
fold(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *ref, unsigned digit)
{
	uint32_t nodes[PENDING_WHEEL_MIN];
	uint32_t at = *ref;
	unsigned count = 0;

	*ref = TRIP_PENDING_NIL;
	while (at != TRIP_PENDING_NIL) {
		struct trip_pending_wheel *wheel = pending_wheel(pool, at);
		uint32_t below = TRIP_PENDING_NIL;

		assert(wheel->items < PENDING_WHEEL_MIN);
		pool->steps++;
		for (uint64_t used = wheel->used; used != 0; used &= used - 1) {
			uint32_t *slot = &wheel->slots[__builtin_ctzll(used)];

			if (pending_kind(*slot) == PENDING_WHEEL)
				below = *slot;
			else
				count += trip_pending_bucket_take_all(pool, slot, &nodes[count]);
		}
		if (at == set->split) {
			count += trip_pending_bucket_take_all(pool, &set->source, &nodes[count]);
			set->split = TRIP_PENDING_NIL;
		}
		trip_pending_pool_free_wheel(pool, pending_index(at));
		at = below;
	}
	for (unsigned i = 0; i < count; i++)
		trip_pending_bucket_append(pool, ref, digit, nodes[i]);
}

/* So many items of the bucket at the end of the path are gone. */
void
trip_pending_wheel_settle(struct trip_pending_pool *pool, struct trip_pending *set,
	struct pending_path *path, uint32_t taken)
{
	unsigned last = path->depth;

	for (unsigned i = 0; i < path->depth; i++) {
		path->wheels[i]->items -= taken;
		if (path->wheels[i]->items < PENDING_WHEEL_MIN && last == path->depth)
			last = i;
	}
	if (last < path->depth) {
		path->depth = last;
		fold(pool, set, path->refs[last], trip_pending_wheel_digit(path));
	}
	if (path->depth > 0 && *path->refs[path->depth] == TRIP_PENDING_NIL &&
		path->refs[path->depth] != &set->source) {
		struct trip_pending_wheel *wheel = path->wheels[path->depth - 1];

		wheel->used &= ~(UINT64_C(1) << (path->refs[path->depth] - wheel->slots));
	}
}

/* Puts a wheel in the place of a bucket; fill does the rest. */
void
trip_pending_wheel_split(struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *ref)
{
	const struct trip_pending_chunk *chunk = pending_chunk(pool, *ref);

	assert(set->split == TRIP_PENDING_NIL && chunk->span > 0);
	set->source = *ref;
	new_wheel(pool, ref, chunk->span - 1, chunk->min, chunk->items);
	set->split = *ref;
}

void
trip_pending_wheel_fill(struct trip_pending_pool *pool, struct trip_pending *set)
{
	trip_pending_bucket_spread(pool, &set->source, pending_wheel(pool, set->split));
	if (set->source == TRIP_PENDING_NIL)
		set->split = TRIP_PENDING_NIL;
}
