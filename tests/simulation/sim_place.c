/* SPDX-License-Identifier: BSD-3-Clause */
/* The places that a history has come to, and who has been there: only where one goes that another
 * writes does it matter who is first. */
#include "sim_inside.h"

static struct {
	struct sim_place places[SIM_PLACES];
	uint32_t n;
	/* By address; those of another history are none. */
	struct {
		uint32_t place, history;
	} index[2 * SIM_PLACES];
	uint32_t history;
} map;

void
sim_place_begin(void)
{
	map.history++;
	map.n = 0;
}

static struct sim_place *
add_place(const volatile void *where)
{
	struct sim_place *place = &map.places[map.n];

	if (map.n == SIM_PLACES)
		sim_fail("more places than there is room for");
	*place = (struct sim_place){.where = where, .number = map.n++, .last = sim_self()};
	return place;
}

struct sim_place *
sim_place_of(const volatile void *address)
{
	bool is_exchanged;
	uintptr_t space = sim.space != NULL ? sim.space(address, &is_exchanged) : 0;
	/* No address has these bits. */
	const volatile void *where = (const volatile char *)address + (space << 56);
	uint32_t at = (uint32_t)(((uintptr_t)where * UINT64_C(0x9e3779b97f4a7c15)) >> 40);

	for (;; at++) {
		at %= 2 * SIM_PLACES;
		if (map.index[at].history != map.history)
			break;
		if (map.places[map.index[at].place].where == where)
			return &map.places[map.index[at].place];
	}
	map.index[at].history = map.history;
	map.index[at].place = map.n;
	return add_place(where);
}

bool
sim_place_visit(const volatile void *where, bool writes)
{
	struct sim_place *place = sim_place_of(where);
	uint32_t self = UINT32_C(1) << sim_self();

	sim_digest(place->number);
	sim_edge_meet(place, writes);
	place->visitors |= self;
	if (writes)
		place->writers |= self;
	return ((writes ? place->visitors : place->writers) & ~self) != 0;
}
