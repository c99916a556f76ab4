/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters objects. An object that collects from a flow is bound to it: a binding, one for each
 * such pair, holds the points, and a point holds since which count it collects. So
 *
 *	slot = what was folded + the sum over its points of weight * (count - since)
 *
 * where several equal points are one of that weight. A point is folded (its term is moved to what
 * was folded, and begins anew at the present count) when its weight changes and when its flow goes.
 * As counts only grow, no term and no fold ever makes a slot smaller.
 *
 * Locks. The domain's control lock, which all of a flow's life is under, guards the bindings of
 * flows; the object's own guards its slots, its points and its list. The latter is taken inside the
 * former, and whoever reads takes it alone: a reader finds a flow that is being destroyed either
 * bound, and its counts still there, or folded.
 *
 * To ask a source may take firmware's time, so no lock of ours is held meanwhile: a home that reads
 * does not wait for it, nor does the port's worker, which answers. A reader that asks stands on the
 * binding instead, and whoever destroys the flow waits until nobody does.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "domain/error.h"
#include "domain/progress.h"
#include "flow/counters.h"
#include "flow/flow.h"

__extension__ typedef unsigned __int128 product_t;

_Static_assert((unsigned int)TRIP_COUNTER_PACKETS == (unsigned int)TRIP_COUNT_KIND_PACKETS &&
		       (unsigned int)TRIP_COUNTER_BYTES == (unsigned int)TRIP_COUNT_KIND_BYTES,
	"a description is a kind of count");

struct point {
	uint32_t slot;
	uint16_t kind;
	uint16_t weight;
	uint64_t since;
};

struct trip_binding {
	struct trip_counters *counters;
	struct trip_flow *flow;
	LIST_ENTRY(trip_binding) of_flow;
	LIST_ENTRY(trip_binding) of_counters;
	/* Readers that stand on it; none come any more when its flow is about to go. */
	uint32_t readers;
	bool leaving;
	/* At most one for each slot and kind. */
	uint32_t n_points;
	struct point *points;
};

static int
create_local(struct trip_domain *domain, uint32_t n_slots, uint64_t *id)
{
	return 0;
}

static int
destroy_local(struct trip_counters *counters)
{
	bool bound;

	/* Whoever unbound the last flow has left it to us by unlocking this. */
	pthread_mutex_lock(&counters->lock);
	bound = !LIST_EMPTY(&counters->bindings);
	pthread_mutex_unlock(&counters->lock);
	return bound ? trip_error_set(
			       EBUSY, "counters %" PRIu32 ": it is bound to a flow", counters->id)
		     : 0;
}

/* What is known of a flow, without asking its source. */
static void
look(const struct trip_flow *flow, uint64_t counts[TRIP_COUNT_KINDS])
{
	struct trip_flow_count count;

	trip_flow_read(flow, &count);
	counts[TRIP_COUNT_KIND_PACKETS] = count.packets;
	counts[TRIP_COUNT_KIND_BYTES] = count.bytes;
}

/* Has the sources asked, so that it is known what they have counted. Under the object's lock, which
 * is let go meanwhile. */
static void
ask(struct trip_counters *counters)
{
	struct trip_binding *binding;
	struct trip_flow_count count = {.size = sizeof(count)};

	LIST_FOREACH (binding, &counters->bindings, of_counters) {
		if (binding->leaving)
			continue;
		binding->readers++;
		pthread_mutex_unlock(&counters->lock);
		(void)trip_flow_query(binding->flow, &count);
		pthread_mutex_lock(&counters->lock);
		if (--binding->readers == 0 && binding->leaving)
			pthread_cond_broadcast(&counters->left);
	}
}

static void
add(uint64_t *sum, const struct point *point, const uint64_t counts[TRIP_COUNT_KINDS])
{
	product_t more = (product_t)(counts[point->kind] - point->since) * point->weight;

	/* Below the limit both, their sum cannot wrap. */
	*sum = trip_cell_clamp(*sum + (more < TRIP_CNTR_MAX ? (uint64_t)more : TRIP_CNTR_MAX));
}

/* Under the object's lock. */
static void
fold(struct trip_counters *counters, struct point *point, const uint64_t counts[TRIP_COUNT_KINDS])
{
	add(&counters->slots[point->slot].folded, point, counts);
	point->since = counts[point->kind];
}

/* One more of equal points. */
static int
weigh(const struct trip_counters *counters, uint32_t index, uint16_t *weight)
{
	if (*weight == TRIP_COUNTERS_POINTS_MAX)
		return trip_error_set(ENOSPC,
			"counters %" PRIu32 ": index %" PRIu32
			" has all its %d points of this description",
			counters->id, index, TRIP_COUNTERS_POINTS_MAX);
	++*weight;
	return 0;
}

static int
attach_static(struct trip_counters *counters, const struct trip_counter_attach_attr *attr)
{
	uint16_t *weight = &counters->slots[attr->index].weight[attr->counter_desc];
	int error;

	pthread_mutex_lock(&counters->lock);
	if (!LIST_EMPTY(&counters->bindings))
		error = trip_error_set(EBUSY,
			"counters %" PRIu32 ": it is bound to a flow, and takes no static points",
			counters->id);
	else
		error = weigh(counters, attr->index, weight);
	if (error == 0 && *weight == 1)
		counters->n_static++;
	pthread_mutex_unlock(&counters->lock);
	return error;
}

/* An empty binding. Under the control lock and the object's. */
static struct trip_binding *
bind_flow(struct trip_counters *counters, struct trip_flow *flow)
{
	struct trip_binding *binding = calloc(1, sizeof(*binding));

	if (binding == NULL)
		return NULL;
	binding->counters = counters;
	binding->flow = flow;
	LIST_INSERT_HEAD(&trip_flow_more(flow)->bindings, binding, of_flow);
	LIST_INSERT_HEAD(&counters->bindings, binding, of_counters);
	return binding;
}

static void
unbind(struct trip_binding *binding)
{
	LIST_REMOVE(binding, of_flow);
	LIST_REMOVE(binding, of_counters);
	free(binding->points);
	free(binding);
}

/* The point of a binding for a slot and a kind, of weight 0 if it is new; NULL: no memory. */
static struct point *
take_point(struct trip_binding *binding, uint32_t slot, uint16_t kind)
{
	struct point *points = binding->points;

	for (uint32_t i = 0; i < binding->n_points; i++)
		if (points[i].slot == slot && points[i].kind == kind)
			return &points[i];
	points = realloc(points, (binding->n_points + 1) * sizeof(*points));
	if (points == NULL)
		return NULL;
	binding->points = points;
	points[binding->n_points] = (struct point){.slot = slot, .kind = kind};
	return &points[binding->n_points++];
}

/* Under the control lock and the object's. */
static int
attach_live(struct trip_counters *counters, const struct trip_counter_attach_attr *attr,
	struct trip_flow *flow)
{
	struct trip_binding *found, *binding;
	uint64_t counts[TRIP_COUNT_KINDS];
	struct point *point = NULL;

	LIST_FOREACH (found, &trip_flow_more(flow)->bindings, of_flow)
		if (found->counters == counters)
			break;
	binding = found != NULL ? found : bind_flow(counters, flow);
	if (binding != NULL)
		point = take_point(binding, attr->index, (uint16_t)attr->counter_desc);
	if (point == NULL) {
		if (binding != NULL && found == NULL)
			unbind(binding);
		return trip_error_set(
			ENOMEM, "counters %" PRIu32 ": no memory for a point", counters->id);
	}
	look(flow, counts);
	fold(counters, point, counts);
	return weigh(counters, attr->index, &point->weight);
}

static int
attach_local(struct trip_counters *counters, const struct trip_counter_attach_attr *attr,
	struct trip_flow *flow)
{
	struct trip_domain *domain = counters->domain;
	struct trip_flow_count now = {.size = sizeof(now)};
	int error;

	if (flow == NULL)
		return attach_static(counters, attr);
	error = trip_progress_check_worker(domain, "counters", counters->id, "attach to flows");
	if (error != 0)
		return error;
	trip_progress_lock(domain);
	/* It collects from now on, not from the last reading on. */
	(void)trip_flow_query(flow, &now);
	pthread_mutex_lock(&counters->lock);
	error = attach_live(counters, attr, flow);
	pthread_mutex_unlock(&counters->lock);
	pthread_mutex_unlock(&domain->control);
	return error;
}

static int
read_local(struct trip_counters *counters, uint64_t *values, uint32_t n, uint32_t flags)
{
	const struct trip_binding *binding;
	uint64_t counts[TRIP_COUNT_KINDS];

	pthread_mutex_lock(&counters->lock);
	if ((flags & TRIP_READ_CACHED) == 0 && !trip_progress_on_worker(counters->domain))
		ask(counters);
	for (uint32_t slot = 0; slot < n; slot++)
		values[slot] = counters->slots[slot].folded;
	LIST_FOREACH (binding, &counters->bindings, of_counters) {
		look(binding->flow, counts);
		for (uint32_t i = 0; i < binding->n_points; i++)
			if (binding->points[i].slot < n)
				add(&values[binding->points[i].slot], &binding->points[i], counts);
	}
	pthread_mutex_unlock(&counters->lock);
	return 0;
}

const struct trip_counters_backend trip_counters_local = {
	.create = create_local,
	.destroy = destroy_local,
	.attach = attach_local,
	.read = read_local,
};

/* Under the object's lock. */
static int
copy_static(const struct trip_counters *counters, struct trip_binding *binding)
{
	if (counters->n_static == 0)
		return 0;
	binding->points = calloc(counters->n_static, sizeof(*binding->points));
	if (binding->points == NULL)
		return -ENOMEM;
	for (uint32_t slot = 0; slot < counters->n_slots; slot++)
		for (uint16_t kind = 0; kind < TRIP_COUNT_KINDS; kind++) {
			uint16_t weight = counters->slots[slot].weight[kind];

			if (weight > 0)
				binding->points[binding->n_points++] = (struct point){
					.slot = slot, .kind = kind, .weight = weight};
		}
	return 0;
}

int
trip_counters_bind(struct trip_counters *counters, struct trip_flow *flow)
{
	struct trip_binding *binding;
	int error = -ENOMEM;

	if (counters == NULL)
		return 0;
	pthread_mutex_lock(&counters->lock);
	binding = bind_flow(counters, flow);
	if (binding != NULL)
		error = copy_static(counters, binding);
	if (binding != NULL && error != 0)
		unbind(binding);
	pthread_mutex_unlock(&counters->lock);
	return error;
}

void
trip_counters_leave(struct trip_flow *flow)
{
	struct trip_binding *binding;

	LIST_FOREACH (binding, &trip_flow_more(flow)->bindings, of_flow) {
		struct trip_counters *counters = binding->counters;

		pthread_mutex_lock(&counters->lock);
		binding->leaving = true;
		while (binding->readers > 0)
			pthread_cond_wait(&counters->left, &counters->lock);
		pthread_mutex_unlock(&counters->lock);
	}
}

void
trip_counters_unbind(struct trip_flow *flow)
{
	struct trip_binding *binding;
	uint64_t counts[TRIP_COUNT_KINDS];

	if (!LIST_EMPTY(&trip_flow_more(flow)->bindings))
		look(flow, counts);
	while ((binding = LIST_FIRST(&trip_flow_more(flow)->bindings)) != NULL) {
		struct trip_counters *counters = binding->counters;

		pthread_mutex_lock(&counters->lock);
		for (uint32_t i = 0; i < binding->n_points; i++)
			fold(counters, &binding->points[i], counts);
		unbind(binding);
		pthread_mutex_unlock(&counters->lock);
	}
}
