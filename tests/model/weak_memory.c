/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory. Stores of a place are numbered in the order in which they are made; what a thread
 * knows is a view: of each place the oldest store that it may still load.
 */
#include <string.h>

#include "trip_atomics_memory.h"
#include "weak_inside.h"

/* Of one place, in one execution. */
#define STORES 32

struct view {
	uint8_t from[TRIP_WEAK_PLACES];
};

struct store {
	uint64_t value;
	/* What a load that acquires learns with it. */
	struct view view;
};

struct place {
	const volatile void *where;
	unsigned int n;
	struct store stores[STORES];
};

/* What a thread knows; what it will from its next fence on that acquires; and what it knew at its
 * last one that released. */
struct mind {
	struct view now, soon, then;
};

static struct {
	struct place places[TRIP_WEAK_PLACES];
	unsigned int n_places;
	struct mind minds[TRIP_WEAK_THREADS];
	/* What seq_cst fences have known, and seq_cst accesses of their place. */
	struct view seq_cst;
} memory;

void
trip_weak_forget(void)
{
	memory.n_places = 0;
	memset(memory.minds, 0, sizeof(memory.minds));
	memset(&memory.seq_cst, 0, sizeof(memory.seq_cst));
}

static struct mind *
mind_of_self(void)
{
	return &memory.minds[trip_weak_self()];
}

static void
join(struct view *view, const struct view *with)
{
	for (unsigned int i = 0; i < memory.n_places; i++)
		if (view->from[i] < with->from[i])
			view->from[i] = with->from[i];
}

static void
put(volatile void *where, uint64_t value, size_t size)
{
	memcpy((void *)(uintptr_t)where, &value, size);
}

static struct place *
place_of(const volatile void *where, size_t size)
{
	struct place *place = memory.places, *end = &memory.places[memory.n_places];

	while (place < end && place->where != where)
		place++;
	if (place == &memory.places[TRIP_WEAK_PLACES])
		trip_weak_die("more places than there is room for");
	if (place == end) {
		memory.n_places++;
		place->where = where;
		place->n = 1;
		memset(&place->stores[0], 0, sizeof(place->stores[0]));
		place->stores[0].value = trip_atomics_get(where, size);
	}
	if (place->stores[place->n - 1].value != trip_atomics_get(where, size))
		trip_weak_die("a place is written by other means than atomics");
	return place;
}

static unsigned int
number_of(const struct place *place)
{
	return (unsigned int)(place - memory.places);
}

static void
note(struct trip_atomics_here here, const char *what, const struct place *place, unsigned int at)
{
	trip_weak_note((struct trip_weak_step){.here = here,
		.what = what,
		.place = (int)number_of(place),
		.at = at + 1,
		.of = place->n,
		.value = place->stores[at].value});
}

static void
raise_to(struct view *view, const struct place *place, unsigned int at)
{
	uint8_t *from = &view->from[number_of(place)];

	if (*from < at)
		*from = (uint8_t)at;
}

/* The thread has come to know of a store. */
static void
learn(const struct place *place, unsigned int at, memory_order order)
{
	const struct view *view = &place->stores[at].view;
	struct mind *mind = mind_of_self();

	join(&mind->soon, view);
	raise_to(&mind->soon, place, at);
	if (trip_atomics_acquires(order))
		join(&mind->now, view);
	raise_to(&mind->now, place, at);
	if (order == memory_order_seq_cst)
		raise_to(&memory.seq_cst, place, at);
}

/* `modifies`: it takes the place of the store before, whose release sequence it goes on with. */
static void
append(struct place *place, uint64_t value, bool modifies, memory_order order)
{
	unsigned int at = place->n++;
	struct store *store = &place->stores[at];
	struct mind *mind = mind_of_self();

	if (at == STORES)
		trip_weak_die("a place is written more often than there is room for");
	raise_to(&mind->now, place, at);
	raise_to(&mind->soon, place, at);
	store->value = value;
	store->view = trip_atomics_releases(order) ? mind->now : mind->then;
	raise_to(&store->view, place, at);
	if (modifies)
		join(&store->view, &place->stores[at - 1].view);
	if (order == memory_order_seq_cst)
		raise_to(&memory.seq_cst, place, at);
}

static unsigned int
oldest_of(const struct place *place, memory_order order)
{
	unsigned int known = mind_of_self()->now.from[number_of(place)];
	unsigned int seq_cst = memory.seq_cst.from[number_of(place)];

	return order == memory_order_seq_cst && known < seq_cst ? seq_cst : known;
}

void
trip_atomics_load(const volatile void *where, void *value, size_t size, memory_order order,
	struct trip_atomics_here here)
{
	uint64_t found = trip_atomics_get(where, size);

	if (trip_weak_self() >= 0) {
		struct place *place;
		unsigned int at;

		trip_weak_turn(where, false);
		place = place_of(where, size);
		/* The newest first. */
		at = place->n - 1 - trip_weak_choose(place->n - oldest_of(place, order));
		learn(place, at, order);
		note(here, "load", place, at);
		found = place->stores[at].value;
	}
	memcpy(value, &found, size);
}

void
trip_atomics_modify(volatile void *where, enum trip_atomics_change change, const void *operand,
	void *old, size_t size, memory_order order, struct trip_atomics_here here)
{
	bool modifies = change != TRIP_ATOMICS_STORE, runs = trip_weak_self() >= 0;
	struct place *place = NULL;
	uint64_t value;

	if (runs) {
		trip_weak_turn(where, true);
		place = place_of(where, size);
	}
	value = trip_atomics_get(where, size);
	memcpy(old, &value, size);
	put(where, trip_atomics_changed(change, value, trip_atomics_get(operand, size)), size);
	if (!runs)
		return;
	if (modifies)
		learn(place, place->n - 1, order);
	append(place, trip_atomics_get(where, size), modifies, order);
	note(here, modifies ? "modify" : "store", place, place->n - 1);
}

/* One that fails may have loaded an older value than the newest, but none that was expected. */
static unsigned int
choose_compared(const struct place *place, uint64_t expected, memory_order otherwise)
{
	unsigned int oldest = oldest_of(place, otherwise), newest = place->n - 1, n = 1, at, way;

	for (at = oldest; at < newest; at++)
		n += place->stores[at].value != expected;
	for (way = trip_weak_choose(n), at = newest; way > 0; way--)
		while (place->stores[--at].value == expected)
			;
	return at;
}

/* The weak form is the strong one: loops that go on for nothing would have no end. */
bool
trip_atomics_compare_exchange(volatile void *where, void *expected, const void *wanted, size_t size,
	bool weak, memory_order order, memory_order otherwise, struct trip_atomics_here here)
{
	uint64_t value = trip_atomics_get(where, size), expect = trip_atomics_get(expected, size);

	if (trip_weak_self() >= 0) {
		struct place *place;
		unsigned int at;

		trip_weak_turn(where, true);
		place = place_of(where, size);
		at = choose_compared(place, expect, otherwise);
		value = place->stores[at].value;
		learn(place, at, value == expect ? order : otherwise);
		if (value == expect)
			append(place, trip_atomics_get(wanted, size), true, order);
		note(here, value == expect ? "modify" : "load", place,
			value == expect ? place->n - 1 : at);
	}
	if (value == expect)
		put(where, trip_atomics_get(wanted, size), size);
	else
		memcpy(expected, &value, size);
	return value == expect;
}

void
trip_atomics_fence(memory_order order, struct trip_atomics_here here)
{
	struct mind *mind;

	if (trip_weak_self() < 0)
		return;
	trip_weak_turn(NULL, false);
	mind = mind_of_self();
	if (trip_atomics_acquires(order))
		join(&mind->now, &mind->soon);
	if (order == memory_order_seq_cst) {
		join(&mind->now, &memory.seq_cst);
		join(&memory.seq_cst, &mind->now);
		join(&mind->soon, &mind->now);
	}
	if (trip_atomics_releases(order))
		mind->then = mind->now;
	trip_weak_note((struct trip_weak_step){.here = here, .what = "fence", .place = -1});
}
