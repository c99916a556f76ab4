/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a run, made before anything is touched.
 *
 * Each port has one Tx queue, and one Rx queue unless its driver receives on more. A forwarder
 * polls whole ports, and a port is the partner of at most one other, so that each queue has a
 * single user without a lock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_ethdev.h>

#include <trip.h>

#include "apply/each.h"
#include "apply/when.h"
#include "plan.h"
#include "rules.h"

int
tripd_plan_find(const struct tripd_plan *plan, unsigned int id)
{
	for (unsigned int i = 0; i < plan->n_ports; i++)
		if (plan->ports[i].id == id)
			return (int)i;
	return -1;
}

static int
add_port(struct tripd_plan *plan, uint16_t id)
{
	if (tripd_plan_find(plan, id) >= 0)
		return 0;
	if (plan->n_ports == TRIPD_PORTS_MAX)
		return -ENOSPC;
	plan->ports[plan->n_ports++] =
		(struct tripd_plan_port){.id = id, .partner = -1, .n_queues = 1};
	return 0;
}

static int
by_id(const void *a, const void *b)
{
	const struct tripd_plan_port *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static void
make_partners(struct tripd_plan *plan, int a, int b)
{
	plan->ports[a].partner = b;
	plan->ports[b].partner = a;
}

/* Ports that are not known yet, each by the first words for it. */
struct unknown {
	const struct trip_rules_port *first[TRIPD_PORTS_MAX];
};

static int
add_unknown(struct tripd_plan *plan, struct unknown *unknown, const struct trip_rules_port *port)
{
	for (unsigned int i = 0; i < plan->n_unknown; i++)
		if (trip_rules_port_compare(unknown->first[i], port) == 0)
			return 0;
	if (plan->n_unknown == TRIPD_PORTS_MAX)
		return -ENOSPC;
	unknown->first[plan->n_unknown++] = port;
	return 0;
}

/* Any is those that others name. */
static int
add_placed(struct tripd_plan *plan, const struct trip_rules *rules)
{
	const struct trip_rules_count *count;
	struct unknown unknown;
	int ret = 0;

	for (unsigned int i = 0; (count = trip_rules_placed(rules, i)) != NULL; i++)
		for (unsigned int k = 0; k < count->n_ports && ret == 0; k++) {
			const struct trip_rules_port *port = &count->ports[k];

			if (port->by == TRIP_RULES_PORT_ID)
				ret = add_port(plan, port->id);
			else if (port->by != TRIP_RULES_PORT_ANY)
				ret = add_unknown(plan, &unknown, port);
		}
	return ret;
}

/* Ports of --iface, which are in use as they are given. Before EAL runs they are known where tripd
 * chooses its words, for it has no other device then. */
static int
add_ifaces(struct tripd_plan *plan, const struct tripd_options *options)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	uint16_t id;
	int ret = 0;

	for (unsigned int i = 0; i < options->n_ifaces && ret == 0; i++) {
		snprintf(name, sizeof(name), "net_af_packet%u", i);
		if (rte_eth_dev_get_port_by_name(name, &id) == 0)
			ret = add_port(plan, id);
		else if (options->eal_words == NULL)
			ret = add_port(plan, (uint16_t)i);
		else if (++plan->n_unknown > TRIPD_PORTS_MAX)
			ret = -ENOSPC;
	}
	return ret;
}

int
tripd_plan_ports(struct tripd_plan *plan, const struct tripd_options *options,
	const struct trip_rules *rules)
{
	int ret;

	plan->n_ports = 0;
	plan->n_unknown = 0;
	plan->live = options->live;
	plan->by_packets = options->by_packets;
	plan->event_keys = options->event_keys;
	ret = add_placed(plan, rules);
	if (ret == 0)
		ret = add_ifaces(plan, options);
	for (unsigned int i = 0; i < options->n_ports && ret == 0; i++)
		ret = add_port(plan, options->ports[i]);
	for (unsigned int i = 0; i < options->n_pairs && ret == 0; i++) {
		ret = add_port(plan, options->pairs[i].a);
		if (ret == 0)
			ret = add_port(plan, options->pairs[i].b);
	}
	if (ret != 0)
		return ret;
	if (plan->n_ports + plan->n_unknown == 0)
		return -ENOENT;
	qsort(plan->ports, plan->n_ports, sizeof(*plan->ports), by_id);
	if (options->forward == TRIPD_FORWARD_NONE)
		return 0;
	for (unsigned int i = 0; i < options->n_pairs; i++)
		make_partners(plan, tripd_plan_find(plan, options->pairs[i].a),
			tripd_plan_find(plan, options->pairs[i].b));
	for (unsigned int i = 0; i < plan->n_ports; i++) {
		int other = tripd_plan_find(plan, plan->ports[i].id ^ 1u);

		if (other >= 0 && plan->ports[i].partner < 0 && plan->ports[other].partner < 0)
			make_partners(plan, (int)i, other);
	}
	return 0;
}

int
tripd_plan_lcores(struct tripd_plan *plan, const unsigned int *workers, unsigned int n)
{
	if (n == 0)
		return -ENOSPC;
	plan->manual = n == 1 || plan->by_packets;
	plan->poller = workers[n - 1];
	plan->n_forwarders = 0;
	if (plan->by_packets)
		return 0;
	plan->n_forwarders = plan->manual ? 1 : n - 1;
	if (plan->n_forwarders > plan->n_ports)
		plan->n_forwarders = plan->n_ports;
	if (plan->n_forwarders > TRIPD_LCORES_MAX)
		plan->n_forwarders = TRIPD_LCORES_MAX;
	for (unsigned int i = 0; i < plan->n_forwarders; i++)
		plan->forwarders[i] = workers[i];
	for (unsigned int i = 0; i < plan->n_ports; i++)
		plan->ports[i].forwarder = i % plan->n_forwarders;
	return 0;
}

unsigned int
tripd_plan_ports_of(const struct tripd_plan *plan, const struct trip_rules_count *count)
{
	return count->n_ports == 1 && count->ports[0].by == TRIP_RULES_PORT_ANY
		       ? plan->n_ports + plan->n_unknown
		       : count->n_ports;
}

int
tripd_plan_any(const struct tripd_plan *plan, struct trip_rules_count *count)
{
	uint16_t ids[TRIPD_PORTS_MAX];

	if (count->n_ports != 1 || count->ports[0].by != TRIP_RULES_PORT_ANY)
		return 0;
	for (unsigned int i = 0; i < plan->n_ports; i++)
		ids[i] = plan->ports[i].id;
	return trip_rules_set_ports(count, ids, plan->n_ports);
}

uint32_t
tripd_plan_queues_of(const struct tripd_plan *plan, const struct trip_rules_count *count)
{
	bool any = count->n_ports == 1 && count->ports[0].by == TRIP_RULES_PORT_ANY;
	unsigned int known = 0, queues = 0;

	for (unsigned int i = 0; i < plan->n_ports; i++) {
		if (!any && !trip_rules_has_port(count, plan->ports[i].id))
			continue;
		known++;
		/* It sends by one. */
		queues += count->direction == TRIP_RULES_EGRESS ? 1 : plan->ports[i].n_queues;
	}
	return queues + tripd_plan_ports_of(plan, count) - known;
}

/* Of a home: as many as a process is given at once. */
#define PROCESS_WAITERS 16

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
	attr->max_process_waiters = PROCESS_WAITERS;
	/* Our own, those of all that may be attached, and a quarter for who only watches. */
	attr->max_waiters = (1 + live->processes) * PROCESS_WAITERS * 4 / 3;
}

void
tripd_plan_domain(const struct trip_rules *rules, const struct tripd_plan *plan,
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
		.clock = plan->by_packets ? TRIP_CLOCK_PACKET : TRIP_CLOCK_MONOTONIC,
		/* What each port does not bring is one more. */
		.max_cntrs = 2 * rules->n_counts + rules->n_counters + plan->n_ports +
			     plan->n_unknown + 16,
		.max_works = 64,
		.max_flows = 1,
		/* To receive, and one to send for each port. */
		.max_queues = n_queues + 2 * plan->n_unknown,
		/* Each one-shot statement holds one until its trip is read; and what two million
		 * trips a second bring about while the control thread sleeps. */
		.max_events = RTE_MAX(65536u, rules->n_whens + 64),
	};
	for (unsigned int i = 0; i < rules->n_counts; i++)
		attr->max_flows +=
			tripd_plan_ports_of(plan, &rules->counts[i]) * rules->counts[i].n_patterns;
	for (unsigned int i = 0; i < rules->n_eaches; i++)
		attr->max_flows += (uint32_t)trip_apply_each_flows(&rules->eaches[i]);
	for (unsigned int i = 0; i < rules->n_whens; i++) {
		attr->max_works += trip_apply_when_works(rules, &rules->whens[i]);
		attr->max_cntrs += trip_apply_when_is_gated(&rules->whens[i]);
	}
	/* For rules that come while they are at work (run/live.h). */
	attr->max_works += plan->live.works;
	/* Those of trip_apply_when_works(), and what live rules may have of them. */
	attr->max_groups = attr->max_works / 64 + 9;
	attr->max_events += plan->live.works;
	make_room(&plan->live, attr);
	for (unsigned int i = 0; i < rules->n_eaches; i++)
		attr->each_bytes += trip_apply_each_bytes(&rules->eaches[i],
			tripd_plan_queues_of(plan, &rules->eaches[i].count), plan->event_keys);
	attr->each_bytes += plan->live.each_bytes == TRIPD_LIVE_EACH_BYTES ? attr->each_bytes
									   : plan->live.each_bytes;
	/* Rules that come later may police any of them. */
	attr->max_policed = attr->max_flows;
}
