/* SPDX-License-Identifier: BSD-3-Clause */
/* Heats, polls and cools counters. hot.h says why no crossing is lost. */
#include <rte_common.h>

#include "clock.h"
#include "due.h"
#include "hot.h"

/* Looks in a row that find a counter changed for nothing. */
#define VAIN_LOOKS 4

static struct trip_hot *
place_of(struct trip_home *home, uint32_t index)
{
	return &home->hot.places[home->cntrs[index].hot - 1];
}

/* It is hot from now on. */
static void
heat(struct trip_home *home, uint32_t index)
{
	home->hot.places[home->n_hot] = (struct trip_hot){.cntr = index, .show_tsc = home->now};
	home->cntrs[index].hot = ++home->n_hot & 7;
	trip_engine_stat(&home->stats.heated, 1);
}

void
trip_hot_fired(struct trip_home *home, uint32_t index)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];
	uint8_t before = cntr->fired;

	if (home->hot.log2 == 0)
		return;
	/* Of a tick that comes round only the difference counts. A counter that has slept for just
	 * as long is polled for a while. */
	cntr->fired = (uint8_t)(home->now >> home->hot.log2);
	if (cntr->hot == 0) {
		if ((uint8_t)(cntr->fired - before) > 1 || home->n_hot == TRIP_HOT_MAX ||
			cntr->sources != TRIP_NONE || trip_clock_is(home, index))
			return;
		heat(home, index);
	}
	place_of(home, index)->until_tsc = home->now + (UINT64_C(1) << home->hot.log2);
	place_of(home, index)->vain = 0;
}

void
trip_hot_leave(struct trip_home *home, uint32_t index)
{
	struct trip_hot *place = place_of(home, index), *last = &home->hot.places[--home->n_hot];

	home->cntrs[last->cntr].hot = home->cntrs[index].hot;
	*place = *last;
	home->cntrs[index].hot = 0;
}

bool
trip_hot_mask(struct trip_home *home, uint32_t index)
{
	struct trip_hot *hot = place_of(home, index);

	(void)trip_cell_arm(&home->cells[index], TRIP_CELL_IDLE, false);
	if ((int64_t)(home->now - hot->show_tsc) < 0)
		return false;
	hot->show_tsc = home->now + (UINT64_C(1) << home->hot.log2);
	return true;
}

bool
trip_hot_settle(struct trip_home *home, uint32_t index, uint64_t bound)
{
	const struct trip_home_cntr *cntr = &home->cntrs[index];
	struct trip_hot *hot = place_of(home, index);
	/* Set since it settled and since it was sampled: that would have rung. */
	bool set = hot->wanted && cntr->settled.setgen != hot->setgen &&
		   cntr->settled.setgen != cntr->setgen;

	hot->success = cntr->settled.success;
	hot->setgen = cntr->settled.setgen;
	hot->bound = bound;
	if (cntr->watchers > 0)
		hot->bound = RTE_MIN(bound, cntr->settled.success + cntr->settled.error + 1);
	hot->wanted = bound != TRIP_PENDING_NONE || cntr->waiters != TRIP_NONE;
	return set;
}

static bool
has_news(const struct trip_home *home, struct trip_hot *hot)
{
	const struct trip_cell_sample *seen = &home->cntrs[hot->cntr].settled;
	struct trip_cell_sample now;

	if (!hot->wanted)
		return false;
	trip_cell_sample(&home->cells[hot->cntr], &now);
	if (now.success != hot->success) {
		hot->success = now.success;
		hot->vain++;
	}
	/* A killed setter left its value without a generation. */
	return now.success + now.error >= hot->bound || now.success < seen->success ||
	       now.error != seen->error || now.errgen != seen->errgen || now.setgen != seen->setgen;
}

/* Samples the counter of a place that has news. */
static inline bool
look(struct trip_home *home, struct trip_hot *hot)
{
	if (!has_news(home, hot))
		return false;
	trip_due_rang(home, hot->cntr);
	return true;
}

bool
trip_hot_look(struct trip_home *home, uint32_t index)
{
	return look(home, place_of(home, index));
}

void
trip_hot_poll(struct trip_home *home)
{
	/* The last one may take the place of one that cools. */
	for (uint32_t i = home->n_hot; i > 0; i--) {
		struct trip_hot *hot = &home->hot.places[i - 1];
		uint32_t index = hot->cntr;

		if (home->cntrs[index].due != TRIP_DUE_NONE || look(home, hot))
			continue;
		if (hot->vain > VAIN_LOOKS || (int64_t)(home->now - hot->until_tsc) >= 0) {
			trip_hot_leave(home, index);
			trip_due_touch(home, index);
		}
	}
}
