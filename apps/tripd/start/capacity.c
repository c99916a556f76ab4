/* SPDX-License-Identifier: BSD-3-Clause */
/* How large a domain the rules need, and how much room it has for live ones. */
#include <rte_common.h>

#include <trip.h>

#include "apply/when.h"
#include "capacity.h"
#include "plan.h"

/* Flows and counters of a domain. */
#define DOMAIN_MAX (UINT32_C(4) << 20)

/* Other processes share this room, first come first served. It is cut where a domain cannot have so
 * much: that is no reason not to count. */
static void
make_room(const struct tripd_live *live, struct trip_domain_attr *attr)
{
	uint32_t own_flows = attr->max_flows, own_cntrs = attr->max_cntrs;

	attr->max_flows = RTE_MAX(own_flows, RTE_MIN(own_flows + live->flows, DOMAIN_MAX));
	attr->max_cntrs = RTE_MAX(own_cntrs, RTE_MIN(own_cntrs + live->cntrs, DOMAIN_MAX));
	attr->max_process_flows = RTE_MAX(attr->max_flows - own_flows, 1u);
	attr->max_process_cntrs = RTE_MAX(attr->max_cntrs - own_cntrs, 1u);
	attr->max_process_works = live->works;
	attr->max_processes = live->processes;
}

void
tripd_capacity_attr(const struct trip_rules *rules, const struct tripd_plan *plan,
	struct trip_domain_attr *attr)
{
	unsigned int n_queues = 0;

	for (unsigned int i = 0; i < plan->n_ports; i++)
		n_queues += plan->ports[i].n_queues + 1u;
	*attr = (struct trip_domain_attr){
		.size = sizeof(*attr),
		.name = "tripd",
		.progress = plan->manual ? TRIP_PROGRESS_MANUAL : TRIP_PROGRESS_LCORE,
		.lcores = plan->manual ? NULL : &plan->poller,
		.n_lcores = 1,
		/* What each port does not bring is one more. */
		.max_cntrs = 2 * rules->n_counts + rules->n_counters + plan->n_ports +
			     plan->n_unknown + 16,
		.max_works = 64,
		.max_waiters = 64,
		.max_flows = 1,
		/* To receive, and one to send for each port. */
		.max_queues = n_queues + 2 * plan->n_unknown,
		/* Each one-shot statement holds one until its trip is read; and what two million
		 * trips a second bring about while the control thread sleeps. */
		.max_events = RTE_MAX(65536u, rules->n_whens + 64),
	};
	for (unsigned int i = 0; i < rules->n_counts; i++)
		attr->max_flows += rules->counts[i].n_patterns;
	for (unsigned int i = 0; i < rules->n_whens; i++)
		attr->max_works += trip_apply_when_works(rules, &rules->whens[i]);
	make_room(&plan->live, attr);
}
