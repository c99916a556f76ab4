/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_common.h>

#include "call.h"
#include "due.h"
#include "home.h"
#include "scrub.h"

/* Whether an armed counter has passed what is armed since it settled. */
static bool
overdue(const struct trip_home *home, uint32_t index)
{
	const struct trip_home_cntr *cntr = &home->cntrs[index];
	const struct trip_cell *cell = &home->cells[index];

	if (cntr->due != TRIP_DUE_NONE ||
		(cntr->waiters == TRIP_NONE && trip_pending_count(&cntr->pending) == 0))
		return false;
	return trip_cell_stale(cell, &cntr->settled) ||
	       (cntr->watchers > 0 && trip_cell_success(cell) != cntr->settled.success);
}

/* Armed counters of one word that are past what is armed, for the second time; how many. */
static unsigned int
scrub_armed(struct trip_home *home, uint32_t word, unsigned int *repairs)
{
	unsigned int looked = 0;

	for (uint64_t armed = home->armed[word]; armed != 0; armed &= armed - 1, looked++) {
		uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(armed);
		struct trip_home_cntr *cntr = &home->cntrs[index];
		bool suspect = overdue(home, index);

		if (suspect && cntr->suspect) {
			trip_due_ring_self(home, index);
			*repairs += 1;
		}
		cntr->suspect = suspect;
	}
	return looked;
}

/* Leaves of the largest section: what a pass has to cover. */
static uint32_t
most_leaves(const struct trip_home *home)
{
	uint32_t most = 0;

	for (unsigned int bell = 0; bell < TRIP_BELLS; bell++)
		most = RTE_MAX(most, home->doorbell.section[bell].leaves);
	return most;
}

/* A client may have silenced the ring of a control thread, who would wait for ever. */
static void
scrub_asked(struct trip_home *home)
{
	if (!trip_call_ran(home, trip_call_mark(home)))
		trip_doorbell_ring(&home->doorbell, TRIP_BELL_CALL, 0);
	for (uint32_t i = 0; i < home->shape.n_clients; i++)
		if (atomic_load_explicit(&home->drops[i].asked, memory_order_relaxed))
			trip_doorbell_ring(&home->doorbell, TRIP_BELL_CALL, 1 + i);
}

void
trip_scrub(struct trip_home *home)
{
	uint32_t words = (home->shape.n_cntrs + 63) / 64, leaves = home->budget / TRIP_BELLS;
	unsigned int repairs = 0, looked = 0;

	for (uint32_t n = 0; n < leaves && home->scrub_word < words && looked < home->budget; n++)
		looked += scrub_armed(home, home->scrub_word++, &repairs);
	for (unsigned int bell = 0; bell < TRIP_BELLS; bell++)
		repairs += trip_doorbell_scrub(
			&home->doorbell, bell, &home->scrub_bells[bell], leaves);
	home->scrub_leaves += leaves;
	trip_engine_stat(&home->stats.scrub_repairs, repairs);
	if (home->scrub_word < words || home->scrub_leaves < most_leaves(home))
		return;
	scrub_asked(home);
	home->scrub_word = 0;
	home->scrub_leaves = 0;
	home->next_scrub_tsc = home->now + home->scrub_tsc;
}
