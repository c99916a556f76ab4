/* SPDX-License-Identifier: BSD-3-Clause */
/* RATE, on counters that nobody sets. All that a history does takes less than a BUSTLE, windows far
 * longer. Time goes by for them only while nobody has anything to do: all stores are seen then,
 * whoever has added has rung, and homes have looked. What is nearer to each other, where some are
 * paused and stores late, is taken for either order. */
#include <rte_common.h>

#include "homes.h"

/* A million steps, of 1025 ticks at most. Homes look SOON before each moment to which time goes. */
#define BUSTLE (UINT64_C(1) << 31)
#define SOON (UINT64_C(1) << 20)
#define SKIP (UINT64_C(1) << 46)

/* Windows are just longer or shorter than so many skips. */
void
homes_rate_plan(struct act *act)
{
	uint64_t time = SKIP * (1 + act->value % 4);

	*act = (struct act){.kind = ACT_QUEUE,
		.n = act->n,
		.cntr = act->cntr,
		.interval = act->interval > 0,
		.time = act->value > 4 ? time + time / 60 : time - time / 144,
		.rate = (1 + act->value) * (1 + act->threshold % 4),
		.op = TRIP_OP_CALL};
}

/* Lets time go by, to the next alarm at most, between what others do. */
void
homes_rate_run(void *skips)
{
	for (uint64_t left = (uintptr_t)skips; left > 0; left /= 4) {
		uint64_t until = sim_now() + left % 4 * SKIP, next;

		for (sim_op("lets time go by"); sim_now() < until; sim_progress())
			do {
				next = until;
				for (uint32_t h = 0; h < homes.engine.n_homes; h++)
					next = RTE_MIN(next, homes.engine.homes[h]->clock_tsc);
				next -= next > sim_now() + 2 * SOON ? SOON : 0;
				sim_polls_until(next);
				sim_pause();
			} while (sim_now() < next);
		sim_polls_until(0);
		sim_rest();
	}
}

/* Where it fires (COND-03, COND-05), what came is since the values of a window ago; errors, which
 * are in no value, seem new. Else no window since it was surely accepted has as many (COND-04). */
void
homes_rate_check(const struct item *item, bool fires, uint64_t sum)
{
	uint64_t now = trip_engine_current != NULL ? trip_engine_current->now : 0, due;
	uint64_t time = item->time - item->time / 64 - BUSTLE, from = item->queued + BUSTLE;
	const struct sim_value *values;
	unsigned int n, i, first = 1;

	values = sim_watched(homes.watches[item->desc.trigger], &n);
	for (i = n; fires && i > 1 && values[i - 1].now + item->time + BUSTLE > now; i--)
		;
	due = RTE_MAX(values[i - 1].value, item->last) + item->rate;
	sim_expect(!fires || sum >= due, "a rate is not reached: %llu of %llu",
		(unsigned long long)sum, (unsigned long long)due);
	for (i = 1; i < n && !fires && (item->fired == 0 || item->desc.interval > 0); i++) {
		while (first < n &&
			(values[first].now < from || values[first].now + time < values[i].now))
			first++;
		due = RTE_MAX(values[first - 1].value, item->last) + item->rate;
		sim_expect(values[i].value < due, "a rate has missed %llu: it was due at %llu",
			(unsigned long long)values[i].value, (unsigned long long)due);
	}
}
