/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of counters objects; what such an object is in the primary: counters_local.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/sized.h"
#include "flow/counters.h"
#include "flow/flow.h"

int
trip_counters_create(struct trip_domain *domain, const struct trip_counters_init_attr *given,
	struct trip_counters **out)
{
	struct trip_counters_init_attr attr;
	struct trip_counters *counters;
	uint32_t n_slots;
	int error;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (TRIP_SIZED_TAKE(trip_counters_init_attr, &attr, given) != 0)
		return -EINVAL;
	if (attr.comp_mask != 0)
		return trip_error_set(
			EINVAL, "counters: comp_mask 0x%" PRIx32 " is not 0", attr.comp_mask);
	n_slots = attr.n_slots != 0 ? attr.n_slots : TRIP_COUNTERS_SLOTS;
	if (n_slots > TRIP_COUNTERS_SLOTS_MAX)
		return trip_error_set(EINVAL, "counters: n_slots %" PRIu32 " is above the limit %d",
			n_slots, TRIP_COUNTERS_SLOTS_MAX);
	counters = calloc(1, sizeof(*counters) + n_slots * sizeof(*counters->slots));
	if (counters == NULL)
		return trip_error_set(ENOMEM, "counters: no memory for %" PRIu32 " slots", n_slots);
	counters->domain = domain;
	counters->n_slots = n_slots;
	error = domain->backend->counters->create(domain, n_slots, &counters->far);
	if (error != 0) {
		free(counters);
		return error;
	}
	pthread_mutex_init(&counters->lock, NULL);
	pthread_cond_init(&counters->left, NULL);
	LIST_INIT(&counters->bindings);
	pthread_mutex_lock(&domain->lock);
	counters->id = domain->next_counters++;
	domain->n_counters++;
	pthread_mutex_unlock(&domain->lock);
	*out = counters;
	return 0;
}

int
trip_counters_destroy(struct trip_counters *counters)
{
	struct trip_domain *domain = counters->domain;
	int error = trip_detach_check(domain);

	if (error == 0)
		error = domain->backend->counters->destroy(counters);
	if (error != 0)
		return error;
	pthread_cond_destroy(&counters->left);
	pthread_mutex_destroy(&counters->lock);
	free(counters);
	trip_domain_count(domain, &domain->n_counters, -1);
	return 0;
}

static int
check_attach(const struct trip_counters *counters, const struct trip_counter_attach_attr *attr)
{
	if (attr->comp_mask != 0)
		return trip_error_set(EINVAL,
			"counters %" PRIu32 ": comp_mask 0x%" PRIx32 " is not 0", counters->id,
			attr->comp_mask);
	if (attr->index >= counters->n_slots)
		return trip_error_set(EINVAL,
			"counters %" PRIu32 ": index %" PRIu32 " is not below its n_slots %" PRIu32,
			counters->id, attr->index, counters->n_slots);
	if ((unsigned int)attr->counter_desc > TRIP_COUNTER_BYTES)
		return trip_error_set(ENOTSUP,
			"counters %" PRIu32 ": description %d is none of PACKETS and BYTES",
			counters->id, (int)attr->counter_desc);
	return 0;
}

int
trip_counters_attach_point_flow(struct trip_counters *counters,
	const struct trip_counter_attach_attr *given, struct trip_flow *flow)
{
	struct trip_domain *domain = counters->domain;
	struct trip_counter_attach_attr attr;
	int error = trip_detach_check(domain);

	if (error == 0)
		error = TRIP_SIZED_TAKE(trip_counter_attach_attr, &attr, given);
	if (error == 0)
		error = check_attach(counters, &attr);
	if (error != 0)
		return error;
	if (flow != NULL && trip_flow_domain(flow) != domain)
		return trip_error_set(EXDEV,
			"counters %" PRIu32 ": flow %" PRIu32 " is of another domain", counters->id,
			flow->index);
	return domain->backend->counters->attach(counters, &attr, flow);
}

int
trip_counters_read(struct trip_counters *counters, uint64_t *values, uint32_t n, uint32_t flags)
{
	if (trip_detach_check(counters->domain) != 0)
		return -ESHUTDOWN;
	if (n > counters->n_slots)
		return trip_error_set(EINVAL,
			"counters %" PRIu32 ": %" PRIu32 " slots are asked for, it has %" PRIu32,
			counters->id, n, counters->n_slots);
	if ((flags & ~(uint32_t)TRIP_READ_CACHED) != 0)
		return trip_error_set(EINVAL,
			"counters %" PRIu32 ": flags 0x%" PRIx32 " are unknown", counters->id,
			flags);
	return counters->domain->backend->counters->read(counters, values, n, flags);
}
