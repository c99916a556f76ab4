/* SPDX-License-Identifier: BSD-3-Clause */
/* What the homes of a domain have done, each and all together. */

#include <rte_common.h>
#include <rte_lcore.h>

#include <trip_client.h>

#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/domain.h"
#include "domain/sized.h"
#include "domain/stats.h"

static void
read_spread(const struct trip_home *home, enum trip_home_spread which, bool is_time,
	struct trip_client_spread *out)
{
	static const unsigned int permilles[] = {500, 900, 990, 999, 1000};
	uint64_t *const to[] = {&out->p50, &out->p90, &out->p99, &out->p999, &out->most};
	struct trip_spread_copy copy = {0};

	trip_spread_copy(&home->spreads[which], &copy);
	for (unsigned int i = 0; i < RTE_DIM(permilles); i++) {
		uint64_t value = trip_spread_quantile(&copy, permilles[i]);

		*to[i] = is_time ? trip_engine_ns(home->engine, value) : value;
	}
}

void
trip_stats_home(const struct trip_home *home, struct trip_client_home *out)
{
	const struct trip_home_stats *stats = &home->stats;

	*out = (struct trip_client_home){
		.index = home->index,
		.lcore = home->lcore_id == LCORE_ID_ANY ? UINT32_MAX : home->lcore_id,
		.accepted = trip_engine_stat_read(&stats->accepted),
		.fired = trip_engine_stat_read(&stats->fired),
		.canceled = trip_engine_stat_read(&stats->canceled) +
			    trip_engine_stat_read(&stats->cut),
		.refused = trip_engine_stat_read(&stats->refused),
		.pending = trip_engine_stat_read(&stats->pending),
		.iterations = trip_engine_stat_read(&home->iterations),
		.busy_iterations = trip_engine_stat_read(&stats->busy_iterations),
		.longest_iteration_ns =
			trip_engine_ns(home->engine, trip_engine_stat_read(&stats->longest_tsc)),
		.wakes = trip_engine_stat_read(&stats->wakes),
		.scrub_repairs = trip_engine_stat_read(&stats->scrub_repairs),
		.events_lost = trip_engine_stat_read(&stats->events_lost),
		.worst_overshoot = trip_engine_stat_read(&stats->worst_overshoot),
	};
	read_spread(home, TRIP_HOME_OVERSHOOT, false, &out->overshoot);
	read_spread(home, TRIP_HOME_FIRING, true, &out->firing_ns);
	read_spread(home, TRIP_HOME_DETECTION, true, &out->detection_ns);
}

static void
add(struct trip_domain_stats *stats, const struct trip_client_home *home)
{
	stats->accepted += home->accepted;
	stats->fired += home->fired;
	stats->canceled += home->canceled;
	stats->pending += home->pending;
	stats->refused += home->refused;
	stats->iterations += home->iterations;
	stats->busy_iterations += home->busy_iterations;
	stats->wakes += home->wakes;
	stats->scrub_repairs += home->scrub_repairs;
	stats->events_lost += home->events_lost;
	stats->longest_iteration_ns =
		RTE_MAX(stats->longest_iteration_ns, home->longest_iteration_ns);
	stats->worst_overshoot = RTE_MAX(stats->worst_overshoot, home->worst_overshoot);
}

int
trip_stats_homes(struct trip_domain *domain, struct trip_client_home *homes)
{
	for (uint32_t i = 0; i < domain->engine.n_homes; i++)
		trip_stats_home(domain->engine.homes[i], &homes[i]);
	return (int)domain->engine.n_homes;
}

int
trip_domain_stats_read(struct trip_domain *domain, struct trip_domain_stats *stats)
{
	struct trip_client_home homes[TRIP_HOMES_MAX];
	struct trip_domain_stats own = {0};
	int n = trip_detach_check(domain);

	if (n == 0)
		n = domain->backend->homes(domain, homes);
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		add(&own, &homes[i]);
	domain->backend->commands(domain, &own.commands, &own.commands_refused);
	return TRIP_SIZED_GIVE(trip_domain_stats, stats, &own);
}
