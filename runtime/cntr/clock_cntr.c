/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters that show a home's clock: their handles, and what is refused of them. */
#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>

#include "cntr/clock_cntr.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/thread.h"
#include "clock.h"

static void
open_clock(struct trip_cntr *clock, struct trip_domain *domain, struct trip_home *home)
{
	*clock = (struct trip_cntr){
		.fid = {.domain = domain, .kind = TRIP_FID_CNTR, .wait_obj = TRIP_WAIT_UNSPEC},
		.is_clock = true,
		.home = home,
		.local = home->shape.n_cntrs,
		.global = trip_clock_global(home),
		.cell = &home->cells[home->shape.n_cntrs],
	};
	clock->flows = &clock->cell->flows;
	trip_detach_watch_cntr(clock);
}

int
trip_clock_cntr_init(struct trip_domain *domain)
{
	uint32_t n = domain->engine.n_homes;

	domain->clocks = calloc(n, sizeof(*domain->clocks));
	if (domain->clocks == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for its clocks");
	for (uint32_t i = 0; i < n; i++)
		open_clock(&domain->clocks[i], domain, domain->engine.homes[i]);
	return 0;
}

void
trip_clock_cntr_fini(struct trip_domain *domain)
{
	for (uint32_t i = 0; domain->clocks != NULL && i < domain->engine.n_homes; i++)
		trip_detach_unwatch_cntr(&domain->clocks[i]);
	free(domain->clocks);
	domain->clocks = NULL;
}

uint64_t
trip_clock_cntr_read(const struct trip_cntr *clock)
{
	const struct trip_domain *domain = clock->fid.domain;
	uint64_t now;

	/* Without a sentence: to read is not refused. */
	if (atomic_load_explicit(&domain->detached, memory_order_relaxed))
		return atomic_load_explicit(&clock->read_success, memory_order_relaxed);
	now = trip_clock_at(clock->home, rte_rdtsc());
	/* The tsc of the home's CPU may be a little ahead of ours: whoever was told that a time has
	 * come finds that it has. */
	return RTE_MAX(now, trip_cell_success(clock->cell));
}

struct trip_cntr *
trip_clock_cntr(struct trip_domain *domain)
{
	uint32_t home;

	if (trip_domain_on_home(domain))
		home = trip_engine_current->index;
	else
		home = domain->submitters[0][trip_thread_channel(domain)].number %
		       domain->engine.n_homes;
	return &domain->clocks[home];
}
