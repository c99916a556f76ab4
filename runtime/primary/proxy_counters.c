/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters objects of the process that asks. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <trip_counters.h>

#include "domain/error.h"
#include "primary/proxy_held.h"

int
trip_proxy_counters_create(struct trip_proxy_job *job)
{
	const struct trip_counters_init_attr attr = {
		.size = sizeof(attr), .n_slots = job->request.counters.slots};
	struct trip_held_object *held;
	int error = trip_proxy_hold(job->process, &held);

	if (error != 0)
		return error;
	error = trip_counters_create(trip_proxy_domain(job->process), &attr, &held->counters);
	if (error != 0) {
		trip_proxy_drop(job->process, held);
		return error;
	}
	job->connection->reply.answer.counters = held->id;
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
	const struct trip_held_object *held =
		trip_proxy_find_counters(job->process, asked->counters);
	const struct trip_held_object *flow = NULL;

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
	const struct trip_held_object *held =
		trip_proxy_find_counters(job->process, asked->counters);
	struct trip_protocol_values *values = &job->connection->reply.answer.values;
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
trip_proxy_counters_close(struct trip_proxy_job *job)
{
	struct trip_held_object *held = trip_proxy_find_counters(job->process, job->request.closed);

	return held != NULL ? trip_proxy_destroy(job->process, held) : -EINVAL;
}
