/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Feeds the clock of a domain that goes by packets (COND-02): a step at a time, and only while all
 * homes are idle, and nobody else runs one.
 */
#include <errno.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "domain/detach.h"
#include "domain/error.h"
#include "domain/thread.h"
#include "clock.h"

/* Whether it took them all; otherwise it has given back those that it took. */
static bool
take_homes(const struct trip_engine *engine)
{
	uint32_t n = 0;

	while (n < engine->n_homes && !atomic_flag_test_and_set_explicit(
					      &engine->homes[n]->progressing, memory_order_acquire))
		n++;
	if (n == engine->n_homes)
		return true;
	while (n > 0)
		atomic_flag_clear_explicit(&engine->homes[--n]->progressing, memory_order_release);
	return false;
}

static void
give_homes(const struct trip_engine *engine)
{
	for (uint32_t i = 0; i < engine->n_homes; i++)
		atomic_flag_clear_explicit(&engine->homes[i]->progressing, memory_order_release);
}

/* Whether there was something to do, or is still. */
static bool
run_homes(const struct trip_engine *engine)
{
	unsigned int done = 0;

	for (uint32_t i = 0; i < engine->n_homes; i++)
		done += trip_home_iterate(engine->homes[i], rte_rdtsc());
	for (uint32_t i = 0; i < engine->n_homes; i++)
		done += !trip_home_idle(engine->homes[i]);
	return done > 0;
}

/* Whether that has made something due. */
static bool
step(const struct trip_engine *engine, uint64_t ns)
{
	uint64_t next = TRIP_PENDING_NONE;

	for (uint32_t i = 0; i < engine->n_homes; i++)
		next = RTE_MIN(next, trip_clock_next(engine->homes[i]));
	for (uint32_t i = 0; i < engine->n_homes; i++)
		trip_clock_step(engine->homes[i], RTE_MIN(next, ns));
	return next <= ns;
}

int
trip_clock_advance(struct trip_domain *domain, uint64_t ns)
{
	const struct trip_engine *engine = &domain->engine;
	bool more = true;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (domain->attr.clock != TRIP_CLOCK_PACKET)
		return trip_error_set(
			EINVAL, "domain \"%s\": its clock goes by itself", domain->name);
	if (domain->link != NULL)
		return trip_error_set(
			ENOTSUP, "domain \"%s\": its clock is fed by the primary", domain->name);
	if (trip_domain_on_home(domain))
		return trip_error_set(EDEADLK,
			"domain \"%s\": its clock stands while it calls a function", domain->name);
	if (!take_homes(engine))
		return 1;
	ns = trip_cell_clamp(ns);
	if (!run_homes(engine))
		more = trip_clock_at(engine->homes[0], 0) < ns && step(engine, ns);
	give_homes(engine);
	return more;
}
