/* SPDX-License-Identifier: BSD-3-Clause */
/* Indices that are taken, retired, and ripe again after a grace period. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "domain/indices.h"
#include "call.h"
#include "hard.h"
#include "home.h"

int
trip_indices_init(struct trip_indices *indices, uint32_t limit)
{
	indices->limit = limit;
	indices->freed = calloc(limit, sizeof(*indices->freed));
	return indices->freed != NULL
		       ? 0
		       : trip_error_set(
				 ENOMEM, "domain: no memory for %" PRIu32 " free indices", limit);
}

void
trip_indices_fini(struct trip_indices *indices)
{
	free(indices->freed);
}

/* The one that was given back first. */
static uint32_t
pop(struct trip_indices *indices)
{
	uint32_t index = indices->freed[indices->first];

	indices->first = (indices->first + 1) % indices->limit;
	indices->n_freed--;
	return index;
}

uint32_t
trip_indices_take(struct trip_indices *indices)
{
	if (indices->n_ready == 0)
		return indices->fresh < indices->limit ? indices->fresh++ : TRIP_NONE;
	indices->n_ready--;
	return pop(indices);
}

uint32_t
trip_indices_take_unripe(struct trip_indices *indices, uint32_t but)
{
	uint32_t *first = &indices->freed[indices->first];
	uint32_t *second = &indices->freed[(indices->first + 1) % indices->limit];

	if (indices->n_ready > 0 || indices->n_freed == 0 ||
		(*first == but && indices->n_freed == 1))
		return TRIP_NONE;
	/* That one waits on, with those that came later if need be. */
	if (*first == but) {
		*first = *second;
		*second = but;
	}
	indices->n_due -= indices->n_due > 0;
	return pop(indices);
}

void
trip_indices_give(struct trip_indices *indices, uint32_t index)
{
	indices->first = (indices->first + indices->limit - 1) % indices->limit;
	indices->freed[indices->first] = index;
	indices->n_freed++;
	indices->n_ready++;
}

static void
begin(struct trip_domain *domain)
{
	struct trip_grace *grace = &domain->grace;

	grace->begun++;
	grace->marked = false;
	for (uint32_t i = 0; i < domain->engine.n_homes; i++) {
		grace->epochs[i] = trip_home_epoch(domain->engine.homes[i]);
		grace->calls[i] = trip_call_mark(domain->engine.homes[i]);
	}
}

static bool
homes_have_passed(struct trip_domain *domain)
{
	const struct trip_grace *grace = &domain->grace;

	for (uint32_t i = 0; i < domain->engine.n_homes; i++)
		if (!trip_home_quiesced(domain->engine.homes[i], grace->epochs[i]) ||
			!trip_call_ran(domain->engine.homes[i], grace->calls[i]))
			return false;
	return true;
}

/* What iterations have started on hardware is marked once they have ended. */
static bool
errands_have_settled(struct trip_domain *domain)
{
	bool settled = true;

	for (unsigned int i = 0; domain->n_hard > 0 && i < TRIP_PORTS_MAX; i++) {
		struct trip_hard *hard = trip_hard_of(trip_engine_desk(&domain->engine, i));

		if (hard == NULL)
			continue;
		if (!domain->grace.marked)
			trip_hard_marks(hard, hard->grace_marks);
		settled &= trip_hard_settled(hard, hard->grace_marks);
	}
	domain->grace.marked = true;
	return settled;
}

static bool
is_over(struct trip_domain *domain, uint64_t period)
{
	struct trip_grace *grace = &domain->grace;

	while (grace->over < period) {
		if (grace->begun == grace->over)
			begin(domain);
		if (!grace->marked && !homes_have_passed(domain))
			return false;
		if (!errands_have_settled(domain))
			return false;
		grace->over = grace->begun;
	}
	return true;
}

void
trip_indices_ripen(struct trip_domain *domain, struct trip_indices *indices)
{
	while (trip_indices_unripe(indices)) {
		if (indices->n_due == 0) {
			indices->n_due = indices->n_freed - indices->n_ready;
			indices->period = domain->grace.begun + 1;
		}
		if (!is_over(domain, indices->period))
			return;
		indices->n_ready += indices->n_due;
		indices->n_due = 0;
	}
}

bool
trip_indices_try(
	struct trip_domain *domain, struct trip_indices *indices, uint32_t *index, unsigned int n)
{
	bool on_home = trip_domain_on_home(domain), has_all;
	uint32_t ripe, left;

	trip_indices_ripen(domain, indices);
	ripe = indices->n_ready + indices->limit - indices->fresh;
	left = indices->n_freed + indices->limit - indices->fresh;
	has_all = n <= (on_home ? left : ripe);
	for (unsigned int i = 0; i < n; i++) {
		index[i] = has_all ? trip_indices_take(indices) : TRIP_NONE;
		if (has_all && index[i] == TRIP_NONE)
			index[i] = trip_indices_take_unripe(indices, TRIP_NONE);
	}
	return has_all || n > left;
}

void
trip_indices_retire(struct trip_domain *domain, struct trip_indices *indices, uint32_t index)
{
	uint64_t last = (uint64_t)indices->first + indices->n_freed++;

	indices->freed[last % indices->limit] = index;
	/* So that a period begins, if none of ours is under way. */
	if (indices->n_due == 0)
		trip_indices_ripen(domain, indices);
}
