/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memory as weak as model/weak.h has it, for thousands of places. There a view holds for each
 * place the oldest store that may still be loaded. Here it holds, for each actor, how many of its
 * accesses are known. A store is known to a view that has its store, or a load of it. It comes to
 * the same, costs as much for any number of places, and each place keeps its last few stores only.
 *
 * What has been overwritten for long is loaded by nobody: all stores are seen at last.
 */
#include <string.h>

#include "sim_inside.h"
#include "trip_atomics_memory.h"

#define STORES 8
/* Steps after which a store that was overwritten has gone from everywhere. */
#define AGE 600

struct view {
	/* Accesses of each actor, by its own count. */
	uint32_t known[SIM_ACTORS];
	/* The last seq_cst fence, in the one order of what is seq_cst. */
	uint32_t fence;
};

struct store {
	uint64_t value;
	/* What a load that acquires learns with it. */
	struct view view;
	/* Which access of whom it was; 0: it was there before. */
	uint32_t clock, actor;
	/* Which access of each was the first to load it; 0: none. */
	uint32_t loaded[SIM_ACTORS];
	/* Its first seq_cst access, in their order, which is behind none of the others; 0: none. */
	uint32_t seq_cst;
	uint32_t step;
};

struct place {
	uint32_t history;
	/* The newest is at n - 1, of those that are kept. */
	uint32_t n;
	struct store stores[STORES];
};

/* What an actor knows; what it will from its next fence on that acquires; and what it knew at its
 * last one that released. */
struct mind {
	struct view now, soon, then;
	uint32_t clock;
	/* Its last compare-exchange has failed for nothing. */
	bool failed;
};

static struct {
	/* By their number; those of another history are none. */
	struct place *places;
	uint32_t history;
	struct mind minds[SIM_ACTORS];
	/* What seq_cst fences have known. */
	struct view seq_cst;
	uint32_t n_seq_cst;
} memory;

void
sim_view_begin(void)
{
	if (memory.places == NULL)
		memory.places = calloc(SIM_PLACES, sizeof(*memory.places));
	memory.history++;
	memory.n_seq_cst = 0;
	memset(memory.minds, 0, sizeof(memory.minds));
	memset(&memory.seq_cst, 0, sizeof(memory.seq_cst));
	sim_plain_begin();
}

static struct mind *
own_mind(void)
{
	return &memory.minds[sim_self()];
}

static void
join(struct view *view, const struct view *with)
{
	for (unsigned int i = 0; i < sim.n_actors; i++)
		if (view->known[i] < with->known[i])
			view->known[i] = with->known[i];
	if (view->fence < with->fence)
		view->fence = with->fence;
}

/* To be learnt from is an access of its own: what the other does from here on comes behind it. */
void
sim_view_learn(const struct sim_actor *who, const struct sim_actor *of)
{
	struct mind *mind = &memory.minds[sim_number(who)], *other = &memory.minds[sim_number(of)];

	other->now.known[sim_number(of)] = ++other->clock;
	join(&mind->now, &other->now);
	join(&mind->soon, &mind->now);
}

/* Who makes a process tells it all. */
void
sim_view_spawned(const struct sim_actor *actor)
{
	if (sim.self != NULL)
		sim_view_learn(actor, sim.self);
}

/* Nobody knows of an access to it, or it was written by other means than atomics. */
static void
begin_place(struct place *place, uint64_t value)
{
	place->history = memory.history;
	place->n = 1;
	memset(&place->stores[0], 0, sizeof(place->stores[0]));
	place->stores[0].value = value;
}

static struct place *
place_of(const volatile void *where, size_t size)
{
	struct place *place = &memory.places[sim_place_of(where)->number];
	uint64_t value = trip_atomics_get(where, size);

	if (place->history != memory.history || place->stores[place->n - 1].value != value)
		begin_place(place, value);
	return place;
}

static bool
is_known(const struct store *store, const struct view *view)
{
	if (store->clock == 0 || view->known[store->actor] >= store->clock ||
		(store->seq_cst != 0 && store->seq_cst < view->fence))
		return true;
	for (unsigned int i = 0; i < sim.n_actors; i++)
		if (store->loaded[i] != 0 && view->known[i] >= store->loaded[i])
			return true;
	return false;
}

/* It is the newest of those that may not be overlooked. */
static bool
is_oldest(const struct store *store, memory_order order)
{
	if (store->step + AGE < sim.steps || is_known(store, &own_mind()->now))
		return true;
	return order == memory_order_seq_cst &&
	       (store->seq_cst != 0 || is_known(store, &memory.seq_cst));
}

/* The actor has come to know of a store. */
static void
learn(struct store *store, memory_order order)
{
	struct mind *mind = own_mind();

	if (store->loaded[sim_self()] == 0)
		store->loaded[sim_self()] = mind->clock;
	join(&mind->soon, &store->view);
	if (trip_atomics_acquires(order))
		join(&mind->now, &store->view);
	if (order == memory_order_seq_cst && store->seq_cst == 0)
		store->seq_cst = ++memory.n_seq_cst;
}

/* Its next access, which it knows itself. */
static void
begin_access(void)
{
	struct mind *mind = own_mind();

	mind->clock++;
	mind->now.known[sim_self()] = mind->clock;
	mind->soon.known[sim_self()] = mind->clock;
}

uint32_t
sim_view_count(void)
{
	return own_mind()->clock;
}

bool
sim_view_knows(unsigned int actor, uint32_t count)
{
	return own_mind()->now.known[actor] >= count;
}

uint64_t
sim_view_load(const volatile void *where, size_t size, memory_order order)
{
	struct place *place = place_of(where, size);
	uint32_t at = place->n - 1, oldest = at;

	while (oldest > 0 && !is_oldest(&place->stores[oldest], order))
		oldest--;
	if (oldest < at)
		at -= sim_turn_stale(at - oldest + 1);
	begin_access();
	learn(&place->stores[at], order);
	return place->stores[at].value;
}

/* It may have loaded an older store than the newest, as any load, but none of what was expected;
 * the weak form that, too, which is for nothing: not twice in a row, or a loop would have no end.
 */
bool
sim_view_fails(const volatile void *where, size_t size, bool weak, uint64_t expected,
	memory_order otherwise, uint64_t *found)
{
	struct place *place = place_of(where, size);
	struct mind *mind = own_mind();
	uint32_t newest = place->n - 1, ways[STORES + 1] = {newest}, n, way;
	bool may_succeed = place->stores[newest].value == expected;

	/* The first is nothing special. */
	n = may_succeed;
	for (uint32_t at = newest + 1; at-- > 0;) {
		if (place->stores[at].value != expected || (weak && !mind->failed))
			ways[n++] = at;
		if (is_oldest(&place->stores[at], otherwise))
			break;
	}
	way = n > 1 ? sim_turn_stale(n) : 0;
	mind->failed = false;
	if (may_succeed && way == 0)
		return false;
	begin_access();
	learn(&place->stores[ways[way]], otherwise);
	*found = place->stores[ways[way]].value;
	mind->failed = *found == expected;
	return true;
}

/* One that modifies takes the place of the store before, whose release sequence it goes on with. */
void
sim_view_modify(
	volatile void *where, size_t size, uint64_t value, bool modifies, memory_order order)
{
	struct place *place = place_of(where, size);
	struct mind *mind = own_mind();
	struct store *store;
	struct view before = place->stores[place->n - 1].view;

	begin_access();
	if (modifies)
		learn(&place->stores[place->n - 1], order);
	if (place->n == STORES)
		memmove(&place->stores[0], &place->stores[1],
			--place->n * sizeof(place->stores[0]));
	store = &place->stores[place->n++];
	*store = (struct store){
		.value = value,
		.view = trip_atomics_releases(order) ? mind->now : mind->then,
		.clock = mind->clock,
		.actor = sim_self(),
		.step = sim.steps,
	};
	if (modifies)
		join(&store->view, &before);
	if (order == memory_order_seq_cst)
		store->seq_cst = ++memory.n_seq_cst;
	sim_memory_put(where, value, size);
}

void
sim_view_fence(memory_order order)
{
	struct mind *mind = own_mind();

	begin_access();
	if (trip_atomics_acquires(order))
		join(&mind->now, &mind->soon);
	if (order == memory_order_seq_cst) {
		join(&mind->now, &memory.seq_cst);
		mind->now.fence = ++memory.n_seq_cst;
		join(&memory.seq_cst, &mind->now);
		join(&mind->soon, &mind->now);
	}
	if (trip_atomics_releases(order))
		mind->then = mind->now;
}
