/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters objects of the process that asks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <trip_counters.h>

#include "domain/error.h"
#include "primary/proxy_held.h"

int
trip_proxy_counters_create(struct trip_proxy_job *job)
{
	const struct trip_counters_init_attr attr = {
		.size = sizeof(attr), .n_slots = job->request.counters.slots};
	struct trip_held_counters *held;
	int error = trip_proxy_check_room(job->process);

	if (error != 0)
		return error;
	held = calloc(1, sizeof(*held));
	if (held == NULL)
		return trip_error_set(ENOMEM, "counters: no memory for its handle");
	error = trip_counters_create(trip_proxy_domain(job->process), &attr, &held->counters);
	if (error != 0) {
		free(held);
		return error;
	}
	held->id = ++job->process->held.last_id;
	LIST_INSERT_HEAD(&job->process->held.counters, held, next);
	job->process->held.n++;
	job->peer->reply.answer.counters = held->id;
	job->size = sizeof(held->id);
	return 0;
}

int
trip_proxy_counters_point(struct trip_proxy_job *job)
{
	const struct trip_protocol_point *asked = &job->request.point;
	const struct trip_counter_attach_attr attr = {.size = sizeof(attr),
		.index = asked->index,
		.counter_desc = (enum trip_counter_description)asked->desc};
	const struct trip_held_counters *held =
		trip_proxy_find_counters(job->process, asked->counters);
	const struct trip_held_flow *flow = NULL;

	if (held == NULL || (asked->flow != 0 && (flow = trip_proxy_find_flow(
							  job->process, asked->flow)) == NULL))
		return -EINVAL;
	return trip_counters_attach_point_flow(
		held->counters, &attr, flow != NULL ? flow->flow : NULL);
}

int
trip_proxy_counters_read(struct trip_proxy_job *job)
{
	const struct trip_protocol_counters_read *asked = &job->request.counters_read;
	const struct trip_held_counters *held =
		trip_proxy_find_counters(job->process, asked->counters);
	struct trip_protocol_values *values = &job->peer->reply.answer.values;
	uint64_t all[TRIP_COUNTERS_SLOTS_MAX];
	int error;

	if (held == NULL)
		return -EINVAL;
	if (asked->count > TRIP_PROTOCOL_VALUES || asked->first > TRIP_COUNTERS_SLOTS_MAX ||
		asked->first + asked->count > TRIP_COUNTERS_SLOTS_MAX)
		return trip_error_set(EINVAL,
			"counters: %" PRIu32 " slots from %" PRIu32 " on are not to be had",
			asked->count, asked->first);
	error = trip_counters_read(held->counters, all, asked->first + asked->count, asked->flags);
	if (error != 0)
		return error;
	values->count = asked->count;
	values->reserved = 0;
	memcpy(values->value, all + asked->first, asked->count * sizeof(*all));
	job->size = offsetof(struct trip_protocol_values, value) + asked->count * sizeof(*all);
	return 0;
}

int
trip_proxy_counters_destroy(struct trip_process *process, struct trip_held_counters *held)
{
	int error = trip_counters_destroy(held->counters);

	if (error != 0)
		return error;
	LIST_REMOVE(held, next);
	process->held.n--;
	free(held);
	return 0;
}

int
trip_proxy_counters_close(struct trip_proxy_job *job)
{
	struct trip_held_counters *held =
		trip_proxy_find_counters(job->process, job->request.closed);

	return held != NULL ? trip_proxy_counters_destroy(job->process, held) : -EINVAL;
}
