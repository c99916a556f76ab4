/* SPDX-License-Identifier: BSD-3-Clause */
/* A `count` rule in a domain: opens, changes and reads its flows and counters. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_flow.h>

#include "count.h"
#include "flow.h"

int
trip_apply_cntr(struct trip_domain *domain, const char *name, const char *tail,
	enum trip_cntr_events events, struct trip_cntr **cntr)
{
	char full[TRIP_RULES_NAME_MAX + 16];
	struct trip_cntr_attr attr = {.size = sizeof(attr), .events = events};

	snprintf(full, sizeof(full), "%s%s", name, tail);
	if (strlen(full) <= TRIP_NAME_MAX)
		attr.name = full;
	return trip_cntr_open(domain, &attr, cntr, NULL);
}

static int
create_flows(struct trip_apply_count *count, const struct trip_rules_count *rule,
	const struct trip_apply_place *place, struct rte_flow_error *flow_error)
{
	struct trip_cntr *cntrs[TRIP_FLOW_CNTRS_MAX] = {count->packets, count->bytes};
	struct trip_apply_actions actions;
	struct trip_flow_attr attr;
	int error = 0;

	trip_apply_flow_attr(rule, &attr);
	trip_apply_flow_actions(rule, place->queues, place->n_queues, &actions);
	if (place->engine != TRIP_FLOW_ENGINE_AUTO) {
		attr.engine = place->engine;
		attr.reason = place->reason;
	}
	attr.cntrs = cntrs;
	attr.n_cntrs = count->packets != NULL ? 2 : 0;
	for (uint32_t i = 0; i < place->n_more; i++)
		cntrs[attr.n_cntrs++] = place->more[i];
	for (unsigned int i = 0; i < rule->n_patterns && error == 0; i++) {
		error = trip_flow_create(place->port, &attr, rule->patterns[i], actions.list,
			&count->flows[count->n_flows], flow_error);
		count->n_flows += error == 0;
	}
	return error;
}

int
trip_apply_count_add(struct trip_apply_count *count, const struct trip_rules_count *rule,
	const struct trip_apply_place *place, const char **why)
{
	struct rte_flow_error flow_error = {0};
	void *flows = reallocarray(count->flows, (size_t)count->n_flows + rule->n_patterns,
		sizeof(struct trip_flow *));
	int error;

	if (flows == NULL) {
		*why = "no memory";
		return -ENOMEM;
	}
	count->flows = flows;
	error = create_flows(count, rule, place, &flow_error);
	*why = flow_error.message;
	return error;
}

int
trip_apply_count_open(struct trip_apply_count *count, struct trip_domain *domain,
	const struct trip_rules_count *rule)
{
	int error = trip_apply_cntr(
		domain, rule->name, ".packets", TRIP_CNTR_EVENTS_COMP, &count->packets);

	return error != 0 ? error
			  : trip_apply_cntr(domain, rule->name, ".bytes", TRIP_CNTR_EVENTS_BYTES,
				    &count->bytes);
}

void
trip_apply_count_renew(struct trip_apply_count *next, const struct trip_apply_count *count)
{
	*next = (struct trip_apply_count){.packets = count->packets, .bytes = count->bytes};
}

static bool
is_over(enum trip_flow_fate fate)
{
	return fate == TRIP_FLOW_FATE_DELETED || fate == TRIP_FLOW_FATE_LOST;
}

int
trip_apply_count_query(const struct trip_apply_count *count, struct trip_flow_count *sum)
{
	struct trip_flow_count one = {.size = sizeof(one)};

	*sum = (struct trip_flow_count){.packets = count->earlier_packets,
		.bytes = count->earlier_bytes,
		.policed_packets = count->earlier_policed_packets,
		.policed_bytes = count->earlier_policed_bytes};
	for (unsigned int i = 0; i < count->n_flows; i++) {
		int error = trip_flow_query(count->flows[i], &one);

		if (error != 0)
			return error;
		sum->packets += one.packets;
		sum->bytes += one.bytes;
		sum->policed_packets += one.policed_packets;
		sum->policed_bytes += one.policed_bytes;
		sum->police_rate = one.police_rate;
		sum->police_unit = one.police_unit;
		if (i == 0 || is_over(sum->fate))
			sum->fate = one.fate;
		sum->engine =
			i == 0 || one.engine == sum->engine ? one.engine : TRIP_FLOW_ENGINE_AUTO;
	}
	return 0;
}

void
trip_apply_count_retire(const struct trip_apply_count *count)
{
	for (unsigned int i = 0; i < count->n_flows; i++)
		trip_flow_retire(count->flows[i]);
}

static int
destroy_flows(struct trip_apply_count *count)
{
	int error = 0;

	/* The first last: all of them may be policed by its bucket. */
	for (unsigned int i = count->n_flows; i-- > 0;) {
		int one = trip_flow_destroy(count->flows[i]);

		error = one != 0 ? one : error;
	}
	free(count->flows);
	count->flows = NULL;
	count->n_flows = 0;
	return error;
}

int
trip_apply_count_end(struct trip_apply_count *count)
{
	struct trip_flow_count sum;

	trip_apply_count_retire(count);
	if (trip_apply_count_query(count, &sum) == 0) {
		count->earlier_packets = sum.packets;
		count->earlier_bytes = sum.bytes;
		count->earlier_policed_packets = sum.policed_packets;
		count->earlier_policed_bytes = sum.policed_bytes;
	}
	return destroy_flows(count);
}

void
trip_apply_count_swap(struct trip_apply_count *count, struct trip_apply_count *next)
{
	const struct trip_apply_count old = *count;

	count->flows = next->flows;
	count->n_flows = next->n_flows;
	next->flows = old.flows;
	next->n_flows = old.n_flows;
}

static int
close_cntr(struct trip_cntr *cntr, int error)
{
	int one = cntr != NULL ? trip_cntr_close(cntr) : 0;

	return one != 0 ? one : error;
}

int
trip_apply_count_close(struct trip_apply_count *count)
{
	int error = destroy_flows(count);

	error = close_cntr(count->packets, error);
	error = close_cntr(count->bytes, error);
	*count = (struct trip_apply_count){0};
	return error;
}
