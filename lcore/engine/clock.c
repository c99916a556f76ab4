/* SPDX-License-Identifier: BSD-3-Clause */
/* The home's clock as a timer: when it is next due, and the tick that makes it so. */
#include "clock.h"
#include "due.h"

/* The first moment at which the clock shows so much; UINT64_MAX: never. */
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

bool
trip_clock_tick(struct trip_home *home)
{
	uint32_t clock = home->shape.n_cntrs;
	struct trip_cell *cell = &home->cells[clock];
	uint64_t ns;

	if (home->now < home->clock_tsc)
		return false;
	/* Noted anew when it settles. */
	home->clock_tsc = UINT64_MAX;
	ns = trip_clock_ns(home->engine, home->now);
	/* The home alone writes it. Seq_cst, as an add: cell.h. */
	if (ns > atomic_load_explicit(&cell->success, memory_order_relaxed))
		atomic_store(&cell->success, ns);
	trip_due_rang(home, clock);
	return true;
}
