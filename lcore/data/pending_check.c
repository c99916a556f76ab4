/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The invariants of a pending set, each as a sentence. The rules about how empty something may be
 * are those that the proof in pending_pool.c uses.
 */
#include "pending_pool.h"

struct audit {
	const struct trip_pending_pool *pool;
	const struct trip_pending *set;
	uint32_t items;
	uint32_t canceled; /* of these */
	const char *broken;
};

static void
expect(struct audit *audit, bool holds, const char *sentence)
{
	if (!holds && audit->broken == NULL)
		audit->broken = sentence;
}

static void
check_queue(struct audit *audit, uint32_t head, bool front)
{
	const struct trip_pending_item *items = audit->pool->items;
	uint32_t at = head;

	if (head == TRIP_PENDING_NIL)
		return;
	do {
		uint32_t next = items[at].next;

		expect(audit, items[at].place == PENDING_IN_QUEUE, "a queued item says so");
		expect(audit, next < audit->pool->max_nodes && items[next].other == at,
			"neighbours in a queue know each other");
		if (audit->broken != NULL || ++audit->items > audit->pool->max_nodes)
			return;
		audit->canceled += pending_canceled(audit->pool, at);
		if (front)
			expect(audit, next == head || items[at].threshold <= items[next].threshold,
				"the front is sorted");
		at = next;
	} while (at != head);
}

static void
check_member(
	struct audit *audit, uint32_t node, const struct trip_pending_wheel *wheel, unsigned slot)
{
	uint64_t threshold = audit->pool->items[node].threshold;

	audit->items++;
	audit->canceled += pending_canceled(audit->pool, node);
	expect(audit, threshold >= audit->set->floor, "nothing in root lies below the floor");
	if (wheel == NULL)
		return;
	expect(audit, pending_span(threshold, wheel->prefix) <= wheel->digit + 1,
		"a wheel covers what lies under it");
	expect(audit, slot == PENDING_SLOTS || pending_slot(threshold, wheel->digit) == slot,
		"an item lies in the slot of its digit");
}

static void
check_list(struct audit *audit, uint32_t ref, const struct trip_pending_wheel *wheel, unsigned slot)
{
	uint32_t count = pending_list_count(ref), at = pending_index(ref);

	expect(audit, count > 0 && count <= PENDING_LIST_MAX, "a list has one to a few nodes");
	for (; count > 0 && audit->broken == NULL; count--) {
		expect(audit, at < audit->pool->max_nodes, "a list has as many nodes as it says");
		if (audit->broken != NULL)
			return;
		expect(audit, audit->pool->items[at].place == PENDING_IN_LIST,
			"an item in a list says so");
		check_member(audit, at, wheel, slot);
		at = audit->pool->items[at].next;
	}
}

static void
check_chunk(struct audit *audit, uint32_t first, uint32_t index,
	const struct trip_pending_wheel *wheel, unsigned slot)
{
	const struct trip_pending_chunk *head = &audit->pool->chunks[first];
	const struct trip_pending_chunk *chunk = &audit->pool->chunks[index];
	unsigned live = 0;

	expect(audit, chunk->fill <= PENDING_CHUNK_NODES, "a chunk is not overfull");
	for (unsigned i = 0; i < chunk->fill && audit->broken == NULL; i++) {
		uint32_t node = chunk->nodes[i];
		const struct trip_pending_item *item = &audit->pool->items[node];

		if (node == TRIP_PENDING_NIL)
			continue;
		live++;
		expect(audit,
			item->place == PENDING_IN_CHUNK && item->next == index && item->other == i,
			"an item in a chunk knows where");
		expect(audit, item->threshold >= head->min, "no item is below its bucket's lowest");
		expect(audit, pending_span(item->threshold, head->min) <= head->span,
			"a bucket knows in how many digits it differs");
		check_member(audit, node, wheel, slot);
	}
	expect(audit, live > 0 && live == chunk->live, "a chunk knows how many nodes it has");
	if (slot < PENDING_SLOTS)
		expect(audit, chunk->digit >= wheel->digit, "chunks only move down");
	if (wheel != NULL && pending_kind(audit->set->split) == PENDING_WHEEL &&
		wheel == pending_wheel(audit->pool, audit->set->split))
		expect(audit, (chunk->digit == wheel->digit) == (slot < PENDING_SLOTS),
			"a source's chunks differ from those of the wheel's slots");
}

static void
check_line(struct audit *audit, const struct pending_few *line, uint64_t *below)
{
	for (unsigned i = line->fill; i > 0 && audit->broken == NULL; i--) {
		uint64_t key = line->keys[i - 1];
		uint32_t node = pending_key_node(key);

		expect(audit, node < audit->pool->max_nodes, "a key is of a node");
		expect(audit, key >> PENDING_KEY_NODE_BITS >= *below >> PENDING_KEY_NODE_BITS,
			"keys are sorted");
		if (audit->broken != NULL)
			return;
		*below = key;
		expect(audit, audit->pool->items[node].place == PENDING_NOWHERE,
			"what has a key has no other place");
		expect(audit, !pending_canceled(audit->pool, node), "no key is of a canceled item");
		audit->items++;
	}
}

static void
check_few(struct audit *audit, const struct trip_pending *set)
{
	const struct pending_few *lowest = pending_few(audit->pool, set->root), *line = lowest;
	uint32_t before = audit->items;
	uint64_t below = 0;

	expect(audit,
		lowest->fill > 0 && lowest->fill <= PENDING_FEW_KEYS &&
			lowest->count >= lowest->fill && lowest->count <= PENDING_FEW_MAX,
		"an array has as many keys as are few");
	if (audit->broken != NULL)
		return;
	expect(audit,
		pending_key_threshold(lowest->keys[lowest->fill - 1], set->floor) == set->floor,
		"the floor is the lowest of few");
	expect(audit, lowest->count >= PENDING_CHUNK_MIN || lowest->set == set,
		"a thin line knows its set");
	check_line(audit, line, &below);
	while (line->above != TRIP_PENDING_NIL && audit->broken == NULL &&
		audit->items - before < lowest->count) {
		line = &audit->pool->chunks[line->above].few;
		expect(audit, line->fill == PENDING_FEW_KEYS, "lines but the lowest are full");
		check_line(audit, line, &below);
	}
	expect(audit, audit->items - before == lowest->count, "an array knows how many it has");
	expect(audit, set->front == TRIP_PENDING_NIL && set->split == TRIP_PENDING_NIL,
		"few have no front");
}

/* slot: PENDING_SLOTS for the root and for the source of a wheel that is being filled. */
static void
check_bucket(
	struct audit *audit, uint32_t ref, const struct trip_pending_wheel *wheel, unsigned slot)
{
	const struct trip_pending_chunk *chunks = audit->pool->chunks;
	uint32_t first = pending_index(ref), before = audit->items, at = first;

	if (pending_kind(ref) == PENDING_LIST) {
		check_list(audit, ref, wheel, slot);
		return;
	}
	do {
		uint32_t next = chunks[at].next;

		check_chunk(audit, first, at, wheel, slot);
		expect(audit, next < audit->pool->max_chunks && chunks[next].prev == at,
			"neighbouring chunks know each other");
		if (audit->broken != NULL)
			return;
		expect(audit,
			next == first ||
				(unsigned)chunks[at].live + chunks[next].live >= PENDING_PAIR_MIN,
			"two neighbouring chunks are not nearly empty");
		at = next;
	} while (at != first && audit->items <= audit->pool->max_nodes);
	expect(audit, chunks[first].items == audit->items - before,
		"a bucket knows how many items it has");
	expect(audit,
		chunks[first].items >= PENDING_CHUNK_MIN ||
			(wheel != NULL && slot == PENDING_SLOTS),
		"what has a chunk has four nodes");
}

/* Recurses once a digit. */
static void
check_wheel(struct audit *audit, uint32_t ref, unsigned digits)
{
	const struct trip_pending_wheel *wheel = pending_wheel(audit->pool, ref);
	uint32_t before = audit->items;

	expect(audit, wheel->digit < digits, "digits fall from wheel to wheel");
	for (unsigned slot = 0; slot < PENDING_SLOTS && audit->broken == NULL; slot++) {
		uint32_t in = wheel->slots[slot];
		bool used = wheel->used >> slot & 1;

		expect(audit, used == (in != TRIP_PENDING_NIL),
			"a slot is used when its bit says so");
		if (in == TRIP_PENDING_NIL || audit->broken != NULL)
			continue;
		if (pending_kind(in) == PENDING_WHEEL) {
			expect(audit,
				pending_slot(pending_wheel(audit->pool, in)->prefix,
					wheel->digit) == slot,
				"a wheel lies in the slot of its prefix");
			check_wheel(audit, in, wheel->digit);
		} else {
			check_bucket(audit, in, wheel, slot);
		}
	}
	if (ref == audit->set->split && audit->broken == NULL)
		check_bucket(audit, audit->set->source, wheel, PENDING_SLOTS);
	expect(audit, wheel->items == audit->items - before, "a wheel knows how many items it has");
	expect(audit, wheel->items >= PENDING_WHEEL_MIN, "a wheel is not nearly empty");
}

const char *
trip_pending_check(const struct trip_pending_pool *pool, const struct trip_pending *set)
{
	struct audit audit = {.pool = pool, .set = set};

	expect(&audit, pool->used_chunks <= pool->max_chunks, "chunks suffice");
	expect(&audit, pool->used_wheels <= pool->max_wheels, "wheels suffice");
	expect(&audit, (set->split == TRIP_PENDING_NIL) == (set->source == TRIP_PENDING_NIL),
		"a wheel is being filled from something, or none is");
	expect(&audit, set->split == TRIP_PENDING_NIL || set->floor <= set->sample,
		"a set is due while a wheel is being filled");
	expect(&audit, (set->root == TRIP_PENDING_NIL) == (set->floor == TRIP_PENDING_NONE),
		"the floor is that of something");
	check_queue(&audit, set->front, true);
	check_queue(&audit, set->late, false);
	if (pending_kind(set->root) == PENDING_WHEEL)
		check_wheel(&audit, set->root, PENDING_DIGITS);
	else if (pending_kind(set->root) == PENDING_FEW)
		check_few(&audit, set);
	else if (set->root != TRIP_PENDING_NIL)
		check_bucket(&audit, set->root, NULL, PENDING_SLOTS);
	expect(&audit, audit.items == set->count + audit.canceled,
		"a set knows how many items it has, but for the canceled ones");
	expect(&audit, audit.canceled <= pool->marked, "marks are counted");
	return audit.broken;
}
