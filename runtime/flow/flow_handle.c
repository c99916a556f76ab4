/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles of flows: where they are, what each engine has in common of them, and their words. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "domain/backend.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "flow/counters.h"
#include "flow/flow.h"
#include "flow/set.h"
#include "hard.h"
#include "pattern_back.h"
#include "source.h"

/* Under the domain's lock. */
static void
give_police(struct trip_domain *domain, uint32_t index)
{
	struct trip_flow_slot *slot = &domain->engine.flows[index];
	uint32_t own;

	if (!trip_engine_is_changed(&domain->engine, index))
		return;
	own = atomic_exchange_explicit(&slot->own_police, 0, memory_order_relaxed);
	if (own == 0)
		return;
	atomic_store_explicit(&domain->engine.police_of[index], 0, memory_order_relaxed);
	trip_indices_retire(domain, &domain->polices, own - 1);
}

/* Homes may still be on it. */
static void
give_index(struct trip_domain *domain, uint32_t index)
{
	pthread_mutex_lock(&domain->lock);
	give_police(domain, index);
	trip_indices_retire(domain, &domain->flows, index);
	pthread_mutex_unlock(&domain->lock);
}

struct trip_flow *
trip_flow_take(struct trip_port *port)
{
	struct trip_domain *domain = port->domain;
	uint32_t index;

	trip_flow_free_held(domain, NULL);
	pthread_mutex_lock(&domain->lock);
	trip_indices_ripen(domain, &domain->flows);
	index = trip_indices_take(&domain->flows);
	pthread_mutex_unlock(&domain->lock);
	if (index == TRIP_NONE)
		return NULL;
	domain->flow[index] = (struct trip_flow){.port = port, .index = index & 0x3fffff};
	return &domain->flow[index];
}

void
trip_flow_give(struct trip_flow *flow)
{
	struct trip_domain *domain = flow->port->domain;
	struct trip_flow_more *more = trip_flow_more(flow);

	/* Its page may never have been there. */
	if (atomic_load_explicit(&more->pid, memory_order_relaxed) != 0)
		atomic_store_explicit(&more->pid, 0, memory_order_relaxed);
	if (more->held_back) {
		/* The list knows it by its port, which nobody else does. */
		more->next_held = domain->held_flows;
		domain->held_flows = flow->index + 1;
		more->port = flow->port;
		flow->port = NULL;
		return;
	}
	flow->port = NULL;
	give_index(domain, flow->index);
}

void
trip_flow_hold_back(struct trip_flow *flow, uint64_t stamp)
{
	struct trip_flow_more *more = trip_flow_more(flow);

	more->held_back = true;
	more->stamp = stamp;
}

void
trip_flow_free_held(struct trip_domain *domain, const struct trip_port *closed)
{
	uint32_t *link = &domain->held_flows;

	while (*link != 0) {
		struct trip_flow *flow = &domain->flow[*link - 1];
		struct trip_flow_more *more = &domain->more[*link - 1];

		if (more->port != closed &&
			!trip_port_is_past(
				more->port, &more->port->sides[flow->direction], more->stamp)) {
			link = &more->next_held;
			continue;
		}
		give_index(domain, *link - 1);
		*link = more->next_held;
		more->held_back = false;
		more->next_held = 0;
		more->port = NULL;
	}
}

struct trip_flow_more *
trip_flow_more(const struct trip_flow *flow)
{
	return trip_flow_domain(flow)->backend->flow->more(flow);
}

const struct trip_flow_ops *
trip_flow_ops(const struct trip_flow *flow)
{
	return flow->hard ? &trip_flow_hard : &trip_flow_soft;
}

struct trip_port_side *
trip_flow_side(const struct trip_flow *flow)
{
	return &flow->port->sides[flow->direction];
}

uint16_t
trip_flow_queues(const struct trip_flow *flow, uint32_t *first)
{
	*first = flow->hard ? flow->port->domain->engine.n_queues
			    : trip_flow_side(flow)->first_queue;
	return flow->hard ? 1 : trip_flow_side(flow)->n_queues;
}

/* So many flows more feed it. Attached processes see that in its cell. Under the control lock. */
static void
count_flow(struct trip_cntr *cntr, int32_t more)
{
	uint32_t n = atomic_load_explicit(cntr->flows, memory_order_relaxed) + (uint32_t)more;

	atomic_store_explicit(cntr->flows, n, memory_order_relaxed);
	atomic_store_explicit(&cntr->cell->flows, n, memory_order_relaxed);
}

/* Has the homes of its counters run a function on the flow. Under the control lock. */
static void
each_home(const struct trip_flow *flow,
	void (*have)(struct trip_domain *domain, struct trip_home *home,
		void (*function)(struct trip_home *home, uint32_t arg), uint32_t arg),
	void (*function)(struct trip_home *home, uint32_t arg))
{
	const struct trip_flow_more *more = trip_flow_more(flow);

	for (unsigned int i = 0; i < flow->n_cntrs; i++) {
		unsigned int first = 0;

		while (more->cntrs[first]->home != more->cntrs[i]->home)
			first++;
		if (first == i)
			have(flow->port->domain, more->cntrs[i]->home, function, flow->index);
	}
}

/* Those of one kind stand at every TRIP_COUNT_KINDS-th place. */
static void
add_feed(const struct trip_flow *flow, const struct trip_cntr *cntr)
{
	struct trip_engine *engine = &flow->port->domain->engine;
	struct trip_flow_slot *slot = &engine->flows[flow->index];
	uint32_t feed = cntr->events;

	while (slot->cntr[feed] != TRIP_NONE)
		feed += TRIP_COUNT_KINDS;
	slot->cntr[feed] = cntr->global;
	if (feed >= TRIP_COUNT_KINDS)
		slot->more_feeds =
			RTE_MAX(slot->more_feeds, (uint8_t)(feed - TRIP_COUNT_KINDS + 1));
	else
		atomic_store_explicit(
			&engine->feeds[flow->index].cntr[feed], cntr->global, memory_order_release);
}

/* Links the flow's counters, through their homes. Under the control lock. */
static void
link_cntrs(struct trip_flow *flow, const struct trip_flow_attr *attr)
{
	struct trip_flow_more *more = trip_flow_more(flow);

	for (unsigned int i = 0; i < attr->n_cntrs; i++) {
		struct trip_cntr *cntr = attr->cntrs[i];

		more->cntrs[flow->n_cntrs++] = cntr;
		trip_fid_hold(&cntr->fid);
		count_flow(cntr, 1);
		add_feed(flow, cntr);
	}
	each_home(flow, trip_progress_post, trip_source_link);
}

/*
 * What is left is folded. In software by us, and the homes forget the flow in time: its index and
 * those of its counters are kept back until they have. In hardware by the homes, so that it comes
 * before the errors that they tell. Under the control lock.
 */
static void
unlink_cntrs(struct trip_flow *flow)
{
	struct trip_domain *domain = flow->port->domain;
	struct trip_flow_feed *feed = &domain->engine.feeds[flow->index];
	struct trip_flow_more *more = trip_flow_more(flow);

	if (!flow->hard && flow->n_cntrs > 0)
		trip_source_finish(&domain->engine, flow->index);
	each_home(flow, flow->hard ? trip_progress_call : trip_progress_post, trip_source_unlink);
	for (unsigned int i = 0; i < flow->n_cntrs; i++) {
		atomic_store_explicit(
			&feed->cntr[more->cntrs[i]->events], TRIP_NONE, memory_order_relaxed);
		count_flow(more->cntrs[i], -1);
		trip_fid_let_go(&more->cntrs[i]->fid);
		more->cntrs[i] = NULL;
	}
	flow->n_cntrs = 0;
}

/* No queue can reach what it last counted on this index any more. */
static void
reset_counts(const struct trip_flow *flow, bool feeds)
{
	struct trip_engine *engine = &flow->port->domain->engine;
	struct trip_flow_slot *slot = &engine->flows[flow->index];
	uint32_t first_queue;
	uint16_t n_queues = trip_flow_queues(flow, &first_queue);

	for (uint32_t q = first_queue; q < first_queue + n_queues; q++) {
		trip_count_init(trip_engine_count(engine, q, flow->index));
		if (feeds) {
			*trip_engine_moments(engine, q, flow->index) =
				(struct trip_count_moments){0};
			*trip_engine_folded(engine, q, flow->index) = (struct trip_count_folded){0};
		}
	}
	if (!feeds && !flow->hard)
		return;
	slot->first_queue = (uint16_t)first_queue;
	slot->n_queues = n_queues;
	slot->more_feeds = 0;
	for (unsigned int feed = 0; feed < TRIP_FLOW_FEEDS; feed++)
		slot->cntr[feed] = TRIP_NONE;
	if (flow->hard)
		atomic_store_explicit(
			&slot->hard, (uint16_t)(flow->port->port_id + 1), memory_order_relaxed);
}

/* What is left of a flow in hardware is not the next one's. */
static void
clear_slot(const struct trip_flow *flow)
{
	struct trip_flow_slot *slot = &flow->port->domain->engine.flows[flow->index];

	if (!flow->hard)
		return;
	atomic_store_explicit(&slot->hard, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->lost, false, memory_order_relaxed);
	atomic_store_explicit(&slot->failed, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->owed, false, memory_order_relaxed);
}

int
trip_flow_attach(struct trip_flow *flow, const struct trip_flow_attr *attr)
{
	reset_counts(flow, attr->n_cntrs > 0);
	if (trip_counters_bind(attr->counters, flow) != 0) {
		clear_slot(flow);
		return trip_error_set(
			ENOMEM, "flow: no memory for the points of its counters object");
	}
	link_cntrs(flow, attr);
	return 0;
}

void
trip_flow_detach(struct trip_flow *flow)
{
	struct trip_domain *domain = flow->port->domain;

	unlink_cntrs(flow);
	trip_counters_unbind(flow);
	clear_slot(flow);
	atomic_store_explicit(&domain->engine.actions[flow->index], 0, memory_order_relaxed);
}

/* ---- its words ---- */

/* Few reasons are those of most flows. */
int
trip_flow_explain(struct trip_flow *flow, const char *reason, struct rte_flow_error *error)
{
	struct trip_domain *domain = flow->port->domain;
	char *copy = NULL;

	for (flow->reason = 1; flow->reason < TRIP_FLOW_REASONS - 1; flow->reason++) {
		const char *known = domain->reasons[flow->reason];

		if (known == NULL)
			break;
		/* By what is kept of it. */
		if (strncmp(known, reason, TRIP_FLOW_REASON_MAX - 1) == 0)
			return 0;
	}
	copy = strndup(reason, TRIP_FLOW_REASON_MAX - 1);
	if (copy == NULL)
		return trip_flow_refuse(error, ENOMEM, RTE_FLOW_ERROR_TYPE_HANDLE, NULL,
			"no memory for its handle");
	if (domain->reasons[flow->reason] == NULL) {
		domain->reasons[flow->reason] = copy;
		return 0;
	}
	flow->reason = 0;
	trip_flow_more(flow)->reason = copy;
	return 0;
}

void
trip_flow_unexplain(struct trip_flow *flow)
{
	struct trip_flow_more *more = trip_flow_more(flow);

	if (flow->reason != 0)
		return;
	free(more->reason);
	more->reason = NULL;
}

const char *
trip_flow_reason(const struct trip_flow *flow)
{
	return flow->reason != 0 ? flow->port->domain->reasons[flow->reason]
				 : trip_flow_more(flow)->reason;
}

void
trip_flow_describe(const struct trip_flow *flow, struct trip_flow_words *words)
{
	const struct trip_hard_flow *hard = flow->hard ? trip_flow_more(flow)->hard : NULL;
	struct trip_table_rule rule = {0};
	struct trip_pattern_items items;
	struct trip_pattern pattern;

	if (hard != NULL) {
		words->group = hard->rule.order.group;
		words->priority = hard->rule.order.priority;
		trip_flow_text(hard->rule.order.pattern, words->pattern, sizeof(words->pattern));
		return;
	}
	memset(&pattern, 0, sizeof(pattern));
	(void)trip_table_get(trip_flow_side(flow)->table, flow->index, &rule, &pattern);
	words->group = rule.group;
	words->priority = rule.priority;
	trip_pattern_back(&pattern, &items);
	trip_set_describe(trip_flow_side(flow), &pattern, &items);
	trip_flow_text(items.items, words->pattern, sizeof(words->pattern));
}
