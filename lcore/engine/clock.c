/* SPDX-License-Identifier: BSD-3-Clause */
/* The home's clock as a timer: when it is next due, and the tick or step that makes it so. */
#include "clock.h"
#include "due.h"

/* The first moment at which the clock shows so much; UINT64_MAX: never, as of one that is fed. */
static uint64_t
moment_of(const struct trip_engine *engine, uint64_t ns)
{
	__extension__ unsigned __int128 ticks =
		((unsigned __int128)ns * engine->tsc_hz + 999999999u) / 1000000000u;

	return ticks < UINT64_MAX - engine->base_tsc ? engine->base_tsc + (uint64_t)ticks
						     : UINT64_MAX;
}

void
trip_clock_arm(struct trip_home *home, uint64_t bound)
{
	home->clock_tsc = bound == TRIP_PENDING_NONE ? UINT64_MAX : moment_of(home->engine, bound);
	trip_home_timers(home);
}

static void
show(struct trip_home *home, uint64_t ns)
{
	struct trip_cell *cell = &home->cells[home->shape.n_cntrs];

	/* The home alone writes it. Seq_cst, as an add: cell.h. */
	if (ns > atomic_load_explicit(&cell->success, memory_order_relaxed))
		atomic_store(&cell->success, ns);
}

bool
trip_clock_tick(struct trip_home *home)
{
	if (home->now < home->clock_tsc)
		return false;
	/* Noted anew when it settles. */
	home->clock_tsc = UINT64_MAX;
	show(home, trip_clock_ns(home->engine, home->now));
	trip_due_rang(home, home->shape.n_cntrs);
	return true;
}

uint64_t
trip_clock_next(const struct trip_home *home)
{
	return trip_pending_bound(&home->pool, &home->cntrs[home->shape.n_cntrs].pending);
}

void
trip_clock_step(struct trip_home *home, uint64_t ns)
{
	show(home, ns);
	if (trip_clock_next(home) <= ns)
		trip_due_rang(home, home->shape.n_cntrs);
}
