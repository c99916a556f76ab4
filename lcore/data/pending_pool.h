/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pool of pending sets is made of; for the files of the pending set only. */
#ifndef TRIP_PENDING_POOL_H
#define TRIP_PENDING_POOL_H

#include <assert.h>

#include "pending.h"

#define PENDING_DIGIT_BITS 6u
#define PENDING_DIGITS 11u /* of a threshold */
#define PENDING_SLOTS 64u
#define PENDING_NO_DIGIT 15u /* a bucket that hangs from no wheel */

#define PENDING_LIST_MAX 4u
#define PENDING_CHUNK_NODES 10u
#define PENDING_CHUNK_MIN 4u   /* nodes in a bucket that has a chunk */
#define PENDING_PAIR_MIN 10u   /* nodes in two neighbouring chunks */
#define PENDING_SORT_MAX 320u  /* a bucket this small is sorted, a larger one is spread */
#define PENDING_WHEEL_MIN 240u /* items under a wheel, or it is folded back into a bucket */
#define PENDING_FEW_KEYS 7u    /* in a cache line */
#define PENDING_FEW_MAX 28u    /* keys of a set that has only these */

enum pending_place {
	PENDING_NOWHERE,
	PENDING_IN_QUEUE, /* front or late: doubly linked */
	PENDING_IN_LIST,
	PENDING_IN_CHUNK,
};

struct trip_pending_item {
	uint64_t threshold;
	uint32_t next;       /* in a queue or list: the next node; in a chunk: that chunk */
	uint32_t other : 28; /* in a queue: the previous node; in a chunk: where in it */
	uint32_t place : 4;  /* enum pending_place */
};

static inline void
pending_place_item(
	struct trip_pending_item *item, enum pending_place place, uint32_t other, uint32_t next)
{
	const struct trip_pending_item at = {
		.threshold = item->threshold, .next = next, .other = other, .place = place};

	*item = at;
}

/* A piece of a sorted array: pending_few.c. */
struct pending_few {
	union {
		uint64_t keys[PENDING_FEW_KEYS];
		struct {
			uint64_t rest[PENDING_CHUNK_MIN - 1];
			struct trip_pending *set; /* thin only, as what follows: whose it is */
			uint32_t prev;
			uint32_t next;
		};
	};
	uint32_t above; /* the line with higher keys, or NIL */
	uint16_t fill;
	uint16_t count; /* lowest line only: keys in all of them */
};

/*
 * A piece of a bucket: its nodes in the order of acceptance, removed ones as NIL in between. The
 * chunks of a bucket form a ring; what is said of the whole bucket is kept in the first.
 */
struct trip_pending_chunk {
	union {
		struct {
			/* first only: once the lowest threshold in the bucket, none is lower */
			uint64_t min;
			uint32_t next;
			uint32_t prev;
			uint32_t items; /* first only: nodes in the bucket */
			uint8_t span;  /* first only: thresholds differ in so many digits at most */
			uint8_t digit; /* of the wheel that it was filled under, or of one above */
			uint8_t fill;
			uint8_t live;
			uint32_t nodes[PENDING_CHUNK_NODES];
		};
		struct pending_few few;
	};
};

_Static_assert(sizeof(struct trip_pending_chunk) == 64, "a chunk is a cache line");

/* Everything below it agrees with prefix in all digits above its own, which chooses the slot. */
struct trip_pending_wheel {
	uint64_t prefix;
	uint64_t used;
	uint32_t items;
	uint32_t digit;
	uint32_t slots[PENDING_SLOTS];
};

/*
 * A reference, in a slot or at the root: to a list (of so many nodes), to the first chunk of a
 * bucket, to a wheel, or NIL. At the root alone: to the lowest line of a few.
 */
enum pending_kind {
	PENDING_LIST,
	PENDING_CHUNK,
	PENDING_WHEEL,
	PENDING_FEW,
	PENDING_EMPTY = 7,
};

static inline uint32_t
pending_ref(enum pending_kind kind, uint32_t index)
{
	return (uint32_t)kind << 29 | index;
}

static inline enum pending_kind
pending_kind(uint32_t ref)
{
	return (enum pending_kind)(ref >> 29);
}

static inline uint32_t
pending_list(uint32_t count, uint32_t node)
{
	return (uint32_t)PENDING_LIST << 29 | (count - 1) << 27 | node;
}

static inline uint32_t
pending_list_count(uint32_t ref)
{
	return (ref >> 27 & 3) + 1;
}

static inline uint32_t
pending_index(uint32_t ref)
{
	return ref & (TRIP_PENDING_MAX_NODES - 1);
}

static inline struct trip_pending_wheel *
pending_wheel(const struct trip_pending_pool *pool, uint32_t ref)
{
	return &pool->wheels[pending_index(ref)];
}

static inline struct trip_pending_chunk *
pending_chunk(const struct trip_pending_pool *pool, uint32_t ref)
{
	return &pool->chunks[pending_index(ref)];
}

static inline struct pending_few *
pending_few(const struct trip_pending_pool *pool, uint32_t ref)
{
	return &pool->chunks[pending_index(ref)].few;
}

/* Where none is, as mostly, the bits are not looked at: they are in another line for each node. */
static inline bool
pending_canceled(const struct trip_pending_pool *pool, uint32_t node)
{
	return pool->marked > 0 && (pool->canceled[node / 64] >> node % 64 & 1) != 0;
}

/* Which of the slots of a wheel of this digit the threshold belongs into. */
static inline unsigned
pending_slot(uint64_t threshold, unsigned digit)
{
	return threshold >> (digit * PENDING_DIGIT_BITS) & (PENDING_SLOTS - 1);
}

/* In how many lowest digits two thresholds differ; 0 when they are equal. */
static inline unsigned
pending_span(uint64_t a, uint64_t b)
{
	uint64_t differ = a ^ b;

	return differ == 0 ? 0 : (63u - (unsigned)__builtin_clzll(differ)) / PENDING_DIGIT_BITS + 1;
}

/* Whether they differ in more than that; at most 10 of the 11 digits lie in one shift. */
static inline bool
pending_beyond(uint64_t a, uint64_t b, unsigned span)
{
	return span < PENDING_DIGITS && (a ^ b) >> (span * PENDING_DIGIT_BITS) != 0;
}

uint32_t trip_pending_pool_chunk(struct trip_pending_pool *pool);
void trip_pending_pool_free_chunk(struct trip_pending_pool *pool, uint32_t index);
uint32_t trip_pending_pool_wheel(struct trip_pending_pool *pool);
void trip_pending_pool_free_wheel(struct trip_pending_pool *pool, uint32_t index);

/* pending_sort.c */
struct pending_key {
	uint64_t threshold;
	uint32_t node;
};

struct pending_key *trip_pending_sort(
	struct pending_key *keys, struct pending_key *spare, unsigned count);

/* The queues, marks and the floor: pending.c. */

/* A queue is a ring: behind its last item and before its first are one place; first says which. */
void trip_pending_enqueue(struct trip_pending_pool *pool, uint32_t *head, const uint32_t *nodes,
	unsigned count, bool first);
void trip_pending_mark(struct trip_pending_pool *pool, uint32_t node, bool canceled);
/* Not while a wheel is being filled: what is first is not known then. */
void trip_pending_refresh_floor(struct trip_pending_pool *pool, struct trip_pending *set);

static inline uint64_t
pending_front_threshold(const struct trip_pending_pool *pool, const struct trip_pending *set)
{
	return set->front == TRIP_PENDING_NIL ? TRIP_PENDING_NONE
					      : pool->items[set->front].threshold;
}

/* In a queue, a list or a chunk no more: false where it was canceled before. pending_pop.c. */
bool trip_pending_leave(struct trip_pending_pool *pool, uint32_t node);

/* Few: pending_few.c. */
#define PENDING_KEY_NODE_BITS 27u
#define PENDING_KEY_BITS (64 - PENDING_KEY_NODE_BITS)

_Static_assert(TRIP_PENDING_MAX_NODES == UINT32_C(1) << PENDING_KEY_NODE_BITS, "any node is below");

static inline uint32_t
pending_key_node(uint64_t key)
{
	return (uint32_t)key & (TRIP_PENDING_MAX_NODES - 1);
}

/* What all thresholds of a few have in common is in any of them. */
static inline uint64_t
pending_key_threshold(uint64_t key, uint64_t other)
{
	return other >> PENDING_KEY_BITS << PENDING_KEY_BITS | key >> PENDING_KEY_NODE_BITS;
}

bool trip_pending_few_insert(struct trip_pending_pool *pool, struct trip_pending *set,
	uint64_t threshold, uint32_t node);
void trip_pending_few_remove(
	struct trip_pending_pool *pool, struct trip_pending *set, uint32_t node);
/* Whether all that is not late is in a list or an array. */
static inline bool
pending_is_few(const struct trip_pending *set)
{
	return pending_kind(set->root) == PENDING_FEW ||
	       (pending_kind(set->root) == PENDING_LIST && set->front == TRIP_PENDING_NIL);
}

void trip_pending_few_reclaim(struct trip_pending_pool *pool);
unsigned trip_pending_few_pop(
	struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *nodes, unsigned max);

/* Buckets: pending_bucket.c. */
void trip_pending_bucket_append(
	struct trip_pending_pool *pool, uint32_t *ref, unsigned digit, uint32_t node);
void trip_pending_bucket_remove(struct trip_pending_pool *pool, uint32_t *ref, uint32_t node);
void trip_pending_bucket_shrink(struct trip_pending_pool *pool, uint32_t *ref);
unsigned trip_pending_bucket_take(struct trip_pending_pool *pool, uint32_t *ref, uint32_t *nodes);
void trip_pending_bucket_spread(
	struct trip_pending_pool *pool, uint32_t *source, struct trip_pending_wheel *wheel);
unsigned trip_pending_bucket_take_all(
	struct trip_pending_pool *pool, uint32_t *ref, uint32_t *nodes);
uint32_t trip_pending_bucket_items(const struct trip_pending_pool *pool, uint32_t ref);
uint64_t trip_pending_bucket_min(const struct trip_pending_pool *pool, uint32_t ref);

/* Wheels: pending_wheel.c. */

/* From the root down to a bucket: refs[i] refers to wheels[i], and refs[depth] to the bucket. */
struct pending_path {
	unsigned depth;
	uint32_t *refs[PENDING_DIGITS + 1];
	struct trip_pending_wheel *wheels[PENDING_DIGITS];
};

void trip_pending_wheel_insert(struct trip_pending_pool *pool, struct trip_pending *set,
	uint64_t threshold, uint32_t node);
void trip_pending_wheel_find(struct trip_pending_pool *pool, struct trip_pending *set,
	uint32_t node, struct pending_path *path);
void trip_pending_wheel_first(
	struct trip_pending_pool *pool, struct trip_pending *set, struct pending_path *path);
unsigned trip_pending_wheel_digit(const struct pending_path *path);
void trip_pending_wheel_settle(struct trip_pending_pool *pool, struct trip_pending *set,
	struct pending_path *path, uint32_t taken);
void trip_pending_wheel_split(
	struct trip_pending_pool *pool, struct trip_pending *set, uint32_t *ref);
void trip_pending_wheel_fill(struct trip_pending_pool *pool, struct trip_pending *set);

#endif
