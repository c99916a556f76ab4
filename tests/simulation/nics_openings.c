/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of completions that are closed, and others opened in their place, as runtime/cntr/ does
 * it: while nothing refers to one it is closed, though operations of which it knows may be under
 * way, and its index is the next one's behind a grace period (indices.h). Each home has one index.
 */
#include "domain/domain.h"
#include "domain/indices.h"

#include "nics.h"

/* Looks at whether anything refers to it still. */
#define LOOKS 24

/* Of which the indices know homes and desks. */
static struct trip_domain domain;
static bool reopens;

bool
nics_is_back(const struct trip_channel_client *channel, uint64_t id)
{
	const struct trip_channel_map *map = &channel->map;
	/* Acquire: who gave it back may still run its operation. */
	uint64_t word = atomic_load_explicit(
		&map->state[trip_channel_id_number(id) - map->first], memory_order_acquire);

	return trip_channel_word_generation(word) != trip_channel_id_generation(id) ||
	       trip_channel_word_state(word) == TRIP_CHANNEL_FREE;
}

void
nics_openings_begin(void)
{
	domain.grace = (struct trip_grace){0};
	domain.engine = nics.engine;
	domain.n_hard = 1;
	reopens = sim_draw(3) == 0;
	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		domain.cntrs[h] = (struct trip_indices){0};
		sim_expect(trip_indices_init(&domain.cntrs[h], 1) == 0, "no memory for an index");
		(void)trip_indices_take(&domain.cntrs[h]);
	}
}

static bool
is_referred_to(uint32_t home)
{
	for (unsigned int i = 0; i < nics.n_items; i++) {
		const struct item *item = &nics.items[i];

		if (item->completion == home && item->opening == nics.openings[home] &&
			!nics_is_back(&nics.engine.homes[item->home]->clients[0], item->id))
			return true;
	}
	return false;
}

static void
open_another(uint32_t home)
{
	struct trip_home *of = nics.engine.homes[home];

	nics.openings[home]++;
	(void)trip_cell_set(&of->cells[DONE], 0);
	(void)trip_cell_seterr(&of->cells[DONE], 0);
	trip_doorbell_ring(&of->doorbell, TRIP_BELL_CNTR, DONE);
	nics.is_closed[home] = false;
	sim_progress();
}

void
nics_reopen(uint32_t home)
{
	if (!reopens)
		return;
	sim_op("waits until nothing refers to the counter of home %u", home);
	for (unsigned int i = 0; is_referred_to(home); i++) {
		if (i == LOOKS)
			return;
		sim_pause();
	}
	sim_op("closes the counter of home %u", home);
	nics.is_closed[home] = true;
	trip_indices_retire(&domain, &domain.cntrs[home], 0);
	for (;;) {
		trip_indices_ripen(&domain, &domain.cntrs[home]);
		if (trip_indices_take(&domain.cntrs[home]) != TRIP_NONE)
			break;
		sim_pause();
	}
	sim_op("opens another counter of home %u", home);
	open_another(home);
}

void
nics_openings_end(void)
{
	atomic_store(&domain.engine.desks[0], NULL);
	domain.n_hard = 0;
}

void
nics_openings_forget(void)
{
	for (uint32_t h = 0; h < nics.engine.n_homes; h++)
		trip_indices_fini(&domain.cntrs[h]);
}
