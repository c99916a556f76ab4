/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process holds, by place and id, and what is left when the process is gone. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cntr/registry.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "flow/counters.h"
#include "flow/each.h"
#include "flow/port.h"
#include "primary/proxy_held.h"
#include "primary/request.h"

struct trip_held_place {
	/* NULL: it is free. */
	struct trip_held_object *object;
	uint32_t times_taken;
};

static int
open_places(struct trip_held *held, uint32_t most)
{
	held->places = calloc(most, sizeof(*held->places));
	if (held->places == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for %" PRIu32 " handles", most);
	return trip_indices_init(&held->free_places, most);
}

static void
close_places(struct trip_held *held)
{
	free(held->places);
	held->places = NULL;
	trip_indices_fini(&held->free_places);
	held->free_places = (struct trip_indices){0};
}

int
trip_proxy_hold(struct trip_process *process, struct trip_held_object **out)
{
	const struct trip_domain *domain = trip_proxy_domain(process);
	uint32_t index, most = domain->attr.max_process_flows;
	struct trip_held *held = &process->held;

	if (held->n >= most)
		return trip_error_set(ENOSPC,
			"domain \"%s\": process %d has all %" PRIu32
			" flows and counters objects open that a process may",
			domain->name, (int)process->credentials.pid, most);
	if (held->places == NULL && open_places(held, most) != 0) {
		close_places(held);
		return -ENOMEM;
	}
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return trip_error_set(ENOMEM, "domain \"%s\": no memory for a handle of process %d",
			domain->name, (int)process->credentials.pid);
	index = trip_indices_take(&held->free_places);
	held->places[index].object = *out;
	(*out)->id = (uint64_t)++held->places[index].times_taken << 32 | index;
	held->n++;
	return 0;
}

void
trip_proxy_drop(struct trip_process *process, struct trip_held_object *object)
{
	struct trip_domain *domain = trip_proxy_domain(process);
	struct trip_held *held = &process->held;
	uint32_t index = (uint32_t)object->id;

	while (object->n_cntrs > 0)
		trip_registry_drop(
			domain, &domain->entries[object->cntrs[--object->n_cntrs].global]);
	held->places[index].object = NULL;
	trip_indices_give(&held->free_places, index);
	held->n--;
	free(object);
}

/* NULL: there is none. */
static struct trip_held_object *
find(const struct trip_process *process, uint64_t id)
{
	const struct trip_held *held = &process->held;
	struct trip_held_object *object =
		(uint32_t)id < held->free_places.fresh ? held->places[(uint32_t)id].object : NULL;

	return object != NULL && object->id == id ? object : NULL;
}

struct trip_held_object *
trip_proxy_find_flow(const struct trip_process *process, uint64_t id)
{
	struct trip_held_object *object = find(process, id);

	if (object != NULL && object->flow != NULL)
		return object;
	(void)trip_error_set(EINVAL, "flow 0x%" PRIx64 ": process %d has no such flow", id,
		(int)process->credentials.pid);
	return NULL;
}

struct trip_held_object *
trip_proxy_find_counters(const struct trip_process *process, uint64_t id)
{
	struct trip_held_object *object = find(process, id);

	if (object != NULL && object->counters != NULL)
		return object;
	(void)trip_error_set(EINVAL,
		"counters 0x%" PRIx64 ": process %d has no such counters object", id,
		(int)process->credentials.pid);
	return NULL;
}

int
trip_proxy_destroy(struct trip_process *process, struct trip_held_object *object)
{
	int error = object->flow != NULL ? trip_flow_destroy(object->flow)
					 : trip_counters_destroy(object->counters);

	if (error == 0)
		trip_proxy_drop(process, object);
	return error;
}

/* Does something with each object that is left, flows or counters objects. */
static void
each(struct trip_process *process, bool flows,
	int (*what)(struct trip_process *process, struct trip_held_object *object))
{
	const struct trip_held *held = &process->held;

	for (uint32_t i = 0; i < held->free_places.fresh; i++) {
		struct trip_held_object *object = held->places[i].object;

		if (object != NULL && (object->flow != NULL) == flows)
			(void)what(process, object);
	}
}

static int
retire(struct trip_process *process, struct trip_held_object *object)
{
	return trip_flow_retire(object->flow);
}

/* Whether a process that lives has the number. Under the domain's lock: nobody is let in. */
static bool
lives(const struct trip_process *going, uint32_t number)
{
	return number != going->number && number < trip_process_count(going->server) &&
	       going->server->processes[number].used;
}

/* The queues of a process that is going are nobody's, and so are those that it, or whoever was
 * before, says to be of processes that are not there. */
static void
reclaim_queues(struct trip_process *process)
{
	struct trip_domain *domain = trip_proxy_domain(process);

	pthread_mutex_lock(&domain->lock);
	for (uint32_t i = 0; i < domain->engine.n_queues; i++) {
		struct trip_claim *claim = &domain->engine.claims[i];
		uint32_t owner = atomic_load_explicit(&claim->owner, memory_order_relaxed);

		if (owner != TRIP_CLAIM_NONE && owner != TRIP_CLAIM_PRIMARY &&
			!lives(process, owner - 1))
			(void)trip_claim_give(claim, owner);
	}
	pthread_mutex_unlock(&domain->lock);
}

/* All are retired before any is destroyed, which may wait for a last refresh of them. */
static void
clean(struct trip_process *process)
{
	struct trip_domain *domain = trip_proxy_domain(process);

	/* Its bursts are waited for no more. */
	reclaim_queues(process);
	each(process, true, retire);
	/* Nothing of the process refers to one any more. */
	each(process, true, trip_proxy_destroy);
	each(process, false, trip_proxy_destroy);
	close_places(&process->held);
	trip_progress_lock(domain);
	for (uint32_t i = 0; i < TRIP_PORTS_MAX; i++)
		if (process->held.ports[i] > 0)
			domain->ports[i]->n_found -= process->held.ports[i];
	for (uint32_t i = 0; i < TRIP_EACH_MAX; i++)
		if (process->held.eaches[i] > 0)
			trip_each_let_go(domain, i, process->held.eaches[i]);
	pthread_mutex_unlock(&domain->control);
	memset(process->held.ports, 0, sizeof(process->held.ports));
	memset(process->held.eaches, 0, sizeof(process->held.eaches));
}

void
trip_proxy_run(struct trip_proxy_job *job)
{
	if (job->connection == NULL) {
		clean(job->process);
		return;
	}
	job->size = 0;
	job->error = trip_request_of(job->type)->run(job);
	if (job->refused != 0)
		job->error = job->refused;
	else if (job->error != 0)
		trip_reply_explain(job->connection);
}
