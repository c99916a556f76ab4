/* SPDX-License-Identifier: BSD-3-Clause */
/* The scrub: looks for what should have been rung for, and rings. scrub.h has the list. */
#include <rte_common.h>

#include "call.h"
#include "drop.h"
#include "due.h"
#include "errand.h"
#include "home.h"
#include "scrub.h"
#include "waiter.h"

/* Whether an armed counter has passed what is armed since it settled, or some of its waiters have
 * yet to be compared with its values. */
static bool
overdue(const struct trip_home *home, uint32_t index)
{
	const struct trip_home_cntr *cntr = &home->cntrs[index];
	const struct trip_cell *cell = &home->cells[index];

	if (cntr->due != TRIP_DUE_NONE ||
		(cntr->waiters == TRIP_NONE && trip_pending_count(&cntr->pending) == 0))
		return false;
	return trip_cell_stale(cell, &cntr->settled) ||
	       (cntr->unchecked && cntr->waiters != TRIP_NONE) ||
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

/* Leaves of the largest section, channels or waiters: what a pass has to cover. */
static uint32_t
last_index(const struct trip_home *home)
{
	uint32_t most = RTE_MAX(home->shape.n_channels, home->shape.n_waiters);

	for (unsigned int bell = 0; bell < TRIP_BELLS; bell++)
		most = RTE_MAX(most, home->doorbell.section[bell].leaves);
	return most;
}

/* Rings for what waits at an index of a section though its bit is clear, for the second time in a
 * row; how often. Whoever looks at the index clears `suspect`. */
static unsigned int
scrub_index(struct trip_home *home, unsigned int bell, uint32_t index, bool waits, bool *suspect)
{
	bool lost = waits && !trip_doorbell_rung(&home->doorbell, bell, index);
	bool again = lost && *suspect;

	if (again)
		trip_doorbell_ring(&home->doorbell, bell, index);
	*suspect = lost;
	return again;
}

static bool
in_sweep(const struct trip_home *home, uint32_t channel)
{
	for (uint32_t i = 0; i < home->accept.n_sweep; i++)
		if (home->accept.sweep[i].channel == channel)
			return true;
	return false;
}

/* A ring that is garbage has nothing that could be accepted. */
static bool
channel_waits(const struct trip_home *home, uint32_t index)
{
	const struct trip_channel_home *channel = &home->channels[index];
	uint32_t submitted = trip_channel_pending_tail(channel) - channel->submit.here;

	if (trip_drop_has(home, index))
		return false;
	return (!home->accept.canceling[index] && trip_channel_canceling(channel)) ||
	       (submitted != 0 && submitted <= channel->submit.size && !in_sweep(home, index));
}

/* A request that its home has not taken up, or has yet to queue. */
static bool
waiter_waits(const struct trip_home *home, uint32_t index)
{
	const struct trip_waiter_node *node = &home->waiter_nodes[index];
	uint32_t word = atomic_load(&home->waiters[index].word);

	/* One whose signal failed is signalled again. */
	if ((word & TRIP_WAITER_STATE_MASK) != TRIP_WAITER_ARMED || word == node->unsent)
		return false;
	return word != node->word || (!node->queued && node->threshold != TRIP_WAITER_ANY);
}

static bool
port_waits(const struct trip_home *home, uint32_t port)
{
	struct trip_errand_desk *desk = trip_engine_desk(home->engine, port);

	return desk != NULL && trip_errand_back(&desk->rings[home->index]) != NULL;
}

/* The next n channels and waiters. */
static unsigned int
scrub_clients(struct trip_home *home, uint32_t n)
{
	uint32_t first = home->scrub.index;
	unsigned int repairs = 0;

	for (uint32_t i = first; i < home->shape.n_channels && i - first < n; i++)
		repairs += scrub_index(home, TRIP_BELL_CHANNEL, i, channel_waits(home, i),
			&home->scrub.channels[i]);
	for (uint32_t i = first; i < home->shape.n_waiters && i - first < n; i++)
		repairs += scrub_index(home, TRIP_BELL_WAITER, i, waiter_waits(home, i),
			&home->waiter_nodes[i].suspect);
	return repairs;
}

static unsigned int
scrub_ports(struct trip_home *home)
{
	unsigned int repairs = 0;

	for (uint32_t i = 0; i < TRIP_PORTS_MAX; i++)
		repairs += scrub_index(
			home, TRIP_BELL_HARD, i, port_waits(home, i), &home->scrub.ports[i]);
	return repairs;
}

/* What a control thread waits for: rung for at once, as the primary's memory alone says it. */
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
	uint32_t words = (trip_home_cntrs(&home->shape) + 63) / 64, n = home->budget / TRIP_BELLS;
	unsigned int repairs = scrub_clients(home, n), looked = 0;

	for (uint32_t i = 0; i < n && home->scrub.word < words && looked < home->budget; i++)
		looked += scrub_armed(home, home->scrub.word++, &repairs);
	for (unsigned int bell = 0; bell < TRIP_BELLS; bell++)
		repairs += trip_doorbell_scrub(&home->doorbell, bell, &home->scrub.bells[bell], n);
	home->scrub.index += n;
	if (home->scrub.word >= words && home->scrub.index >= last_index(home)) {
		repairs += scrub_ports(home);
		scrub_asked(home);
		home->scrub.word = 0;
		home->scrub.index = 0;
		home->scrub.next_tsc = home->now + home->scrub.period_tsc;
	}
	trip_engine_stat(&home->stats.scrub_repairs, repairs);
}
