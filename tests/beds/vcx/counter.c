/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters, and the counters object of verbs, which is one of them with two values attached. */
#include <errno.h>
#include <stdlib.h>
#include "device.h"

struct verbs_counters {
	struct ibv_counters ibv;
	struct vcx_counters *counters;
	unsigned kind[2]; /* what stands at each index: 1 + enum ibv_counter_description */
};

struct vcx_counters *
vcx_counter_create(struct vcx_device *device, uint32_t count)
{
	struct vcx_counters *counters = NULL;
	int error = vcx_device_command(device, VCX_COUNTER_CREATE);

	if (error == 0) {
		counters = calloc(1, sizeof(*counters) + count * sizeof(counters->counter[0]));
		error = counters == NULL ? ENOMEM : 0;
	}
	if (error != 0) {
		errno = error;
		return NULL;
	}
	pthread_mutex_lock(&device->lock);
	if (device->counter_limit > 0 && device->counter_count + count > device->counter_limit) {
		pthread_mutex_unlock(&device->lock);
		free(counters);
		errno = ENOSPC;
		return NULL;
	}
	counters->device = device;
	counters->count = count;
	counters->number = device->last_number + 1;
	device->last_number = (device->last_number + count) & 0xffffff;
	device->counter_count += count;
	LIST_INSERT_HEAD(&device->counters, counters, next);
	pthread_mutex_unlock(&device->lock);
	return counters;
}

void
vcx_counter_destroy(struct vcx_counters *counters)
{
	struct vcx_device *device = counters->device;

	vcx_device_ended(device, VCX_COUNTER_DESTROY);
	pthread_mutex_lock(&device->lock);
	device->counter_count -= counters->count;
	LIST_REMOVE(counters, next);
	pthread_mutex_unlock(&device->lock);
	free(counters);
}

void
vcx_counter_hold(struct vcx_device *device, bool held)
{
	struct vcx_counters *counters;

	pthread_mutex_lock(&device->lock);
	if (held && !device->held) {
		LIST_FOREACH (counters, &device->counters, next) {
			for (uint32_t i = 0; i < counters->count; i++) {
				struct vcx_counter *counter = &counters->counter[i];

				counter->told_packets = counter->packets;
				counter->told_bytes = counter->bytes;
			}
		}
	}
	device->held = held;
	pthread_cond_broadcast(&device->changed);
	pthread_mutex_unlock(&device->lock);
}

void
vcx_counter_read(const struct vcx_counters *counters, uint32_t index, uint64_t value[2])
{
	const struct vcx_counter *counter = &counters->counter[index];
	bool held = counters->device->held;

	value[0] = held ? counter->told_packets : counter->packets;
	value[1] = held ? counter->told_bytes : counter->bytes;
}

/* ---- verbs -------------------------------------------------------------------------------------
 */

static struct verbs_counters *
from_ibv(struct ibv_counters *ibv)
{
	return (struct verbs_counters *)ibv;
}

struct vcx_counters *
vcx_counter_of(struct ibv_counters *counters)
{
	return from_ibv(counters)->counters;
}

static struct ibv_counters *
create_counters(struct ibv_context *context, struct ibv_counters_init_attr *attr)
{
	struct verbs_counters *object = calloc(1, sizeof(*object));

	if (object == NULL || attr->comp_mask != 0) {
		free(object);
		errno = object == NULL ? ENOMEM : EOPNOTSUPP;
		return NULL;
	}
	object->ibv.context = context;
	object->counters = vcx_counter_create(vcx_device_context(context)->device, 1);
	if (object->counters == NULL) {
		free(object);
		return NULL;
	}
	return &object->ibv;
}

static int
destroy_counters(struct ibv_counters *ibv)
{
	vcx_counter_destroy(from_ibv(ibv)->counters);
	free(from_ibv(ibv));
	return 0;
}

static int
attach_counters(
	struct ibv_counters *ibv, struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)
{
	if (flow != NULL || attr->comp_mask != 0 || attr->index > 1)
		return EOPNOTSUPP;
	if (attr->counter_desc != IBV_COUNTER_PACKETS && attr->counter_desc != IBV_COUNTER_BYTES)
		return EOPNOTSUPP;
	from_ibv(ibv)->kind[attr->index] = 1 + (unsigned)attr->counter_desc;
	return 0;
}

static int
read_counters(struct ibv_counters *ibv, uint64_t *values, uint32_t count, uint32_t flags)
{
	struct verbs_counters *object = from_ibv(ibv);
	struct vcx_device *device = object->counters->device;
	int error = vcx_device_command(device, VCX_COUNTER_QUERY);
	uint64_t told[2];

	(void)flags;
	if (error != 0)
		return error;
	pthread_mutex_lock(&device->lock);
	vcx_counter_read(object->counters, 0, told);
	pthread_mutex_unlock(&device->lock);
	for (uint32_t i = 0; i < count; i++) {
		unsigned kind = i < 2 ? object->kind[i] : 0;

		values[i] = kind == 0 ? 0 : told[kind == 1 + IBV_COUNTER_BYTES];
	}
	return 0;
}

void
vcx_counter_operations(struct verbs_context *verbs)
{
	verbs->create_counters = create_counters;
	verbs->destroy_counters = destroy_counters;
	verbs->attach_counters_point_flow = attach_counters;
	verbs->read_counters = read_counters;
}
