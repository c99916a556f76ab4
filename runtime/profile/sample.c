/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the values of the catalogue's variables come from. */
#include <stddef.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include <trip_cntr.h>

#include "cntr/cntr.h"
#include "domain/domain.h"
#include "domain/launch.h"
#include "profile/profile.h"
#include "home.h"
#include "published.h"

#define WORD(word) (offsetof(struct trip_home_stats, word) / sizeof(uint64_t))

/* A variable of lcores is a word of what is published, or two of them. */
static const struct of_lcore {
	uint32_t id;
	uint8_t word;
	enum { ALONE, PLUS, MINUS } how;
	uint8_t other;
} of_lcores[] = {
	{TRIP_VAR_ITERATIONS_TOTAL, WORD(iterations)},
	{TRIP_VAR_BUSY_ITERATIONS_TOTAL, WORD(busy_iterations)},
	{TRIP_VAR_BEYOND_ITERATIONS_TOTAL, WORD(beyond)},
	{TRIP_VAR_BUSY_NS_TOTAL, WORD(busy_tsc)},
	{TRIP_VAR_IDLE_NS_TOTAL, WORD(idle_tsc)},
	{TRIP_VAR_BEYOND_NS_TOTAL, WORD(beyond_tsc)},
	{TRIP_VAR_ITERATION_NS_MOST, WORD(longest_tsc)},
	{TRIP_VAR_WORKS_ACCEPTED_TOTAL, WORD(accepted), PLUS, WORD(rearmed)},
	{TRIP_VAR_WORKS_REFUSED_TOTAL, WORD(refused)},
	{TRIP_VAR_WORKS_REARMED_TOTAL, WORD(rearmed)},
	{TRIP_VAR_WORKS_FIRED_TOTAL, WORD(fired)},
	{TRIP_VAR_WORKS_FAILED_TOTAL, WORD(failed)},
	{TRIP_VAR_WORKS_CANCELED_TOTAL, WORD(canceled)},
	{TRIP_VAR_WORKS_CUT_TOTAL, WORD(cut)},
	{TRIP_VAR_WORKS_PENDING_NOW, WORD(pending), MINUS, WORD(lasting)},
	{TRIP_VAR_WORKS_LASTING_NOW, WORD(lasting)},
	{TRIP_VAR_OVERSHOOT_MOST, WORD(worst_overshoot)},
	{TRIP_VAR_SUBMIT_RING_MOST, WORD(deepest)},
	{TRIP_VAR_DOORBELLS_TOTAL, WORD(rung)},
	{TRIP_VAR_SCRUB_REPAIRS_TOTAL, WORD(scrub_repairs)},
	{TRIP_VAR_CNTRS_HEATED_TOTAL, WORD(heated)},
	{TRIP_VAR_SIGNALS_SENT_TOTAL, WORD(wakes)},
	{TRIP_VAR_SIGNALS_FAILED_TOTAL, WORD(wakes_failed)},
	{TRIP_VAR_SIGNALS_SUPPRESSED_TOTAL, WORD(wakes_suppressed)},
	{TRIP_VAR_EVENTS_TOLD_TOTAL, WORD(events_told)},
	{TRIP_VAR_EVENTS_LOST_TOTAL, WORD(events_lost)},
};

static const struct of_domain {
	uint32_t id;
	size_t offset;
} of_domain[] = {
	{TRIP_VAR_LCORES_LIMIT, offsetof(struct trip_domain_attr, n_lcores)},
	{TRIP_VAR_CNTRS_LIMIT, offsetof(struct trip_domain_attr, max_cntrs)},
	{TRIP_VAR_WORKS_LIMIT, offsetof(struct trip_domain_attr, max_works)},
	{TRIP_VAR_WAITERS_LIMIT, offsetof(struct trip_domain_attr, max_waiters)},
	{TRIP_VAR_FLOWS_LIMIT, offsetof(struct trip_domain_attr, max_flows)},
	{TRIP_VAR_QUEUES_LIMIT, offsetof(struct trip_domain_attr, max_queues)},
	{TRIP_VAR_PROCESSES_LIMIT, offsetof(struct trip_domain_attr, max_processes)},
};

uint64_t *
trip_profile_value(struct trip_snapshot *snapshot, uint32_t id, uint32_t scope)
{
	return &snapshot->values[trip_catalogue_var_of(id, scope)];
}

static uint64_t
made_of(const struct trip_engine *engine, const struct of_lcore *of, const uint64_t *words)
{
	uint64_t value = words[of->word];
	int row = trip_catalogue_var_of(of->id, TRIP_CATALOGUE_LCORE);

	if (of->how == PLUS)
		value += words[of->other];
	else if (of->how == MINUS)
		value -= words[of->other];
	return trip_catalogue_vars[row].unit == TRIP_PROFILE_NS ? trip_engine_ns(engine, value)
								: value;
}

static const enum trip_home_spread of_spread[] = {
	[TRIP_CATALOGUE_OVERSHOOT] = TRIP_HOME_OVERSHOOT,
	[TRIP_CATALOGUE_FIRING] = TRIP_HOME_FIRING,
	[TRIP_CATALOGUE_DETECTION] = TRIP_HOME_DETECTION,
};

_Static_assert(
	TRIP_PROFILE_SPREADS == TRIP_HOME_SPREADS && RTE_DIM(of_spread) - 1 == TRIP_HOME_SPREADS,
	"each histogram that lcores keep is told of");

/* What one lcore has published, on top of what others have. */
static void
add_lcore(const struct trip_home *home, uint32_t scope, struct trip_snapshot *snapshot)
{
	uint64_t words[TRIP_PUBLISHED_WORDS], now, *age;

	(void)trip_published_get(home->published, words);
	now = rte_rdtsc();
	for (unsigned int i = 0; i < RTE_DIM(of_lcores); i++) {
		int row = trip_catalogue_var_of(of_lcores[i].id, scope);
		uint64_t value = made_of(home->engine, &of_lcores[i], words),
			 *sum = &snapshot->values[row];

		*sum = trip_catalogue_vars[row].kind == TRIP_PROFILE_MOST ? RTE_MAX(*sum, value)
									  : *sum + value;
	}
	age = trip_profile_value(snapshot, TRIP_VAR_SNAPSHOT_AGE_NS_NOW, scope);
	if (now > words[WORD(moment_tsc)])
		*age = RTE_MAX(*age, trip_engine_ns(home->engine, now - words[WORD(moment_tsc)]));
}

static void
add_domain(const struct trip_domain *domain, struct trip_snapshot *snapshot)
{
	for (unsigned int i = 0; i < RTE_DIM(of_domain); i++)
		*trip_profile_value(snapshot, of_domain[i].id, TRIP_CATALOGUE_DOMAIN) =
			*(const uint32_t *)((const char *)&domain->attr + of_domain[i].offset);
	for (uint32_t i = 0; i < domain->engine.n_homes; i++)
		add_lcore(domain->engine.homes[i], TRIP_CATALOGUE_DOMAIN, snapshot);
}

/* Not as the handle reads, to which nothing would be due then (WAIT-04). */
static void
add_cntr(struct trip_cntr *cntr, struct trip_snapshot *snapshot)
{
	const uint32_t scope = TRIP_CATALOGUE_CNTR;
	struct trip_cell_sample sample;

	trip_cntr_sample(cntr, &sample);
	*trip_profile_value(snapshot, TRIP_VAR_CNTR_SUCCESS_TOTAL, scope) = sample.success;
	*trip_profile_value(snapshot, TRIP_VAR_CNTR_ERROR_TOTAL, scope) = sample.error;
	*trip_profile_value(snapshot, TRIP_VAR_CNTR_AGE_NS_NOW, scope) = trip_cntr_age(cntr);
	*trip_profile_value(snapshot, TRIP_VAR_CNTR_THRESHOLD_NOW, scope) =
		atomic_load_explicit(&cntr->cell->next, memory_order_relaxed);
	*trip_profile_value(snapshot, TRIP_VAR_CNTR_FLOWS_NOW, scope) =
		atomic_load_explicit(cntr->flows, memory_order_relaxed);
	*trip_profile_value(snapshot, TRIP_VAR_CNTR_VALUE_LIMIT, scope) = TRIP_CNTR_MAX;
}

static void
add_other(const struct trip_profile *profile, struct trip_snapshot *snapshot)
{
	if (profile->scope == TRIP_CATALOGUE_CNTR)
		add_cntr(trip_cntr_of(profile->fid), snapshot);
	else
		trip_profile_sample_flows(profile, snapshot);
}

void
trip_profile_sample(const struct trip_profile *profile, struct trip_snapshot *snapshot)
{
	struct trip_domain *domain = profile->domain;

	memset(snapshot->values, 0, sizeof(snapshot->values));
	if (profile->scope != TRIP_CATALOGUE_DOMAIN && profile->scope != TRIP_CATALOGUE_LCORE) {
		add_other(profile, snapshot);
		return;
	}
	*trip_profile_value(snapshot, TRIP_VAR_ITERATION_NS_LIMIT, profile->scope) =
		trip_launch_bound_ns(&domain->attr);
	if (profile->scope == TRIP_CATALOGUE_DOMAIN)
		add_domain(domain, snapshot);
	else
		add_lcore(domain->engine.homes[profile->fid - domain->lcore_fids],
			TRIP_CATALOGUE_LCORE, snapshot);
}

static void
add_spreads(const struct trip_home *home, struct trip_spreads *spreads)
{
	for (unsigned int i = 0; i < TRIP_PROFILE_SPREADS; i++)
		trip_spread_copy(&home->spreads[of_spread[1 + i]], &spreads->of[i]);
}

void
trip_profile_sample_spreads(const struct trip_profile *profile, struct trip_spreads *spreads)
{
	struct trip_domain *domain = profile->domain;

	memset(spreads, 0, sizeof(*spreads));
	if (profile->scope == TRIP_CATALOGUE_LCORE)
		add_spreads(domain->engine.homes[profile->fid - domain->lcore_fids], spreads);
	else if (profile->scope == TRIP_CATALOGUE_DOMAIN)
		for (uint32_t i = 0; i < domain->engine.n_homes; i++)
			add_spreads(domain->engine.homes[i], spreads);
}

uint64_t
trip_profile_of_spread(const struct trip_domain *domain, const struct trip_catalogue_var *var,
	const struct trip_spread_copy *spread)
{
	uint64_t value = trip_spread_quantile(spread, var->permille);

	return var->unit == TRIP_PROFILE_NS ? trip_engine_ns(&domain->engine, value) : value;
}
