/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading counters through DevX: one at once, or a bulk into memory, answered through an event.
 *
 * A bulk query is put on a list, and answered when its latency has passed and the device is not
 * held: the values are written where the query says, the answer is put on the other list, and the
 * file descriptor made readable, which the driver's interrupt thread waits for. A card needs no
 * processor for that: a query without latency is answered at once, a thread of the device's answers
 * the others. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "devx.h"
#include "devx_layout.h"

struct query {
	TAILQ_ENTRY(query) next;
	uint64_t id;
	struct timespec due;
	const struct vcx_counters *counters;
	uint32_t first, count;
	uint8_t *memory;
};

struct completions {
	struct mlx5dv_devx_cmd_comp dv;
	struct vcx_device *device;
	pthread_t thread;
	bool stop; /* this and the lists under the device's lock */
	TAILQ_HEAD(, query) asked, answered;
};

static void
put64(uint8_t *to, uint64_t value)
{
	value = htobe64(value);
	memcpy(to, &value, sizeof(value));
}

/* With the lock. */
static void
write_values(const struct vcx_counters *counters, uint32_t first, uint32_t count, uint8_t *to)
{
	for (uint32_t i = 0; i < count; i++, to += DEVX_COUNTER_BYTES) {
		uint64_t value[2];

		vcx_counter_read(counters, first + i, value);
		put64(to, value[0]);
		put64(to + 8, value[1]);
	}
}

static int
query_queues(struct vcx_device *device, void *out, size_t outlen)
{
	if (outlen * 8 < 0x180 + 32)
		return EINVAL;
	pthread_mutex_lock(&device->lock);
	devx_set(out, DEVX_Q_OUT_OF_BUFFER, (uint32_t)device->rx.no_buffer);
	pthread_mutex_unlock(&device->lock);
	return 0;
}

int
mlx5dv_devx_obj_query(
	struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct vcx_counters *counters = vcx_devx_counters(obj);
	uint32_t index = devx_get(in, DEVX_QUERY_NUMBER) - obj->number;
	int error;

	(void)inlen;
	memset(out, 0, outlen);
	if (devx_get(in, DEVX_OPCODE) == DEVX_QUERY_Q_COUNTER)
		return query_queues(obj->device, out, outlen);
	if (counters == NULL || devx_get(in, DEVX_OPCODE) != DEVX_QUERY_FLOW_COUNTER ||
		devx_get(in, DEVX_QUERY_DUMP) != 0)
		return EOPNOTSUPP;
	if (index >= counters->count || outlen < DEVX_QUERY_REPLY + DEVX_COUNTER_BYTES)
		return EINVAL;
	error = vcx_device_command(obj->device, VCX_COUNTER_QUERY);
	if (error != 0)
		return error;
	pthread_mutex_lock(&obj->device->lock);
	write_values(counters, index, 1, (uint8_t *)out + DEVX_QUERY_REPLY);
	pthread_mutex_unlock(&obj->device->lock);
	return 0;
}

/* ---- asynchronous ------------------------------------------------------------------------------
 */

static bool
is_due(const struct query *query)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec > query->due.tv_sec ||
	       (now.tv_sec == query->due.tv_sec && now.tv_nsec >= query->due.tv_nsec);
}

/* With the lock: answers what is due, and returns what comes next, or NULL: not until something
 * changes. */
static struct query *
answer_due(struct completions *completions)
{
	struct vcx_device *device = completions->device;
	static const uint64_t one = 1;
	struct query *query;

	while ((query = TAILQ_FIRST(&completions->asked)) != NULL) {
		if (device->held || atomic_load(&device->removed))
			return NULL;
		if (!is_due(query))
			return query;
		TAILQ_REMOVE(&completions->asked, query, next);
		write_values(query->counters, query->first, query->count, query->memory);
		TAILQ_INSERT_TAIL(&completions->answered, query, next);
		/* It fails only beyond 2^64 - 2 unread answers. */
		(void)!write(completions->dv.fd, &one, sizeof(one));
	}
	return NULL;
}

static void *
answer_all(void *argument)
{
	struct completions *completions = argument;
	struct vcx_device *device = completions->device;

	pthread_mutex_lock(&device->lock);
	while (!completions->stop) {
		struct query *next = answer_due(completions);

		if (next == NULL)
			pthread_cond_wait(&device->changed, &device->lock);
		else
			pthread_cond_timedwait(&device->changed, &device->lock, &next->due);
	}
	pthread_mutex_unlock(&device->lock);
	return NULL;
}

struct mlx5dv_devx_cmd_comp *
mlx5dv_devx_create_cmd_comp(struct ibv_context *context)
{
	struct completions *completions = calloc(1, sizeof(*completions));

	if (completions == NULL)
		return NULL;
	completions->device = vcx_device_context(context)->device;
	TAILQ_INIT(&completions->asked);
	TAILQ_INIT(&completions->answered);
	completions->dv.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (completions->dv.fd < 0 ||
		pthread_create(&completions->thread, NULL, answer_all, completions) != 0) {
		if (completions->dv.fd >= 0)
			close(completions->dv.fd);
		free(completions);
		return NULL;
	}
	pthread_setname_np(completions->thread, "vcx-counters");
	return &completions->dv;
}

void
mlx5dv_devx_destroy_cmd_comp(struct mlx5dv_devx_cmd_comp *dv)
{
	struct completions *completions = (struct completions *)dv;
	struct query *query;

	pthread_mutex_lock(&completions->device->lock);
	completions->stop = true;
	pthread_cond_broadcast(&completions->device->changed);
	pthread_mutex_unlock(&completions->device->lock);
	pthread_join(completions->thread, NULL);
	TAILQ_CONCAT(&completions->answered, &completions->asked, next);
	while ((query = TAILQ_FIRST(&completions->answered)) != NULL) {
		TAILQ_REMOVE(&completions->answered, query, next);
		free(query);
	}
	close(dv->fd);
	free(completions);
}

/* The command itself takes no time; its answer does. */
static void
set_due(struct query *query, const struct vcx_device *device)
{
	uint64_t us = atomic_load(&device->behaviour[VCX_COUNTER_QUERY_ASYNC].latency_us);
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &query->due);
	ns = (uint64_t)query->due.tv_nsec + us % 1000000 * 1000;
	query->due.tv_sec += (time_t)(us / 1000000 + ns / 1000000000);
	query->due.tv_nsec = (long)(ns % 1000000000);
}

int
mlx5dv_devx_obj_query_async(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen,
	size_t outlen, uint64_t id, struct mlx5dv_devx_cmd_comp *dv)
{
	struct completions *completions = (struct completions *)dv;
	struct vcx_counters *counters = vcx_devx_counters(obj);
	uint32_t first = devx_get(in, DEVX_QUERY_NUMBER) - obj->number;
	uint32_t count = devx_get(in, DEVX_QUERY_COUNT);
	struct query *query;
	int error;

	(void)inlen, (void)outlen;
	if (counters == NULL || devx_get(in, DEVX_OPCODE) != DEVX_QUERY_FLOW_COUNTER ||
		devx_get(in, DEVX_QUERY_DUMP) == 0)
		return EOPNOTSUPP;
	if (first >= counters->count || count > counters->count - first)
		return EINVAL;
	error = vcx_device_asked(obj->device, VCX_COUNTER_QUERY_ASYNC);
	if (error != 0)
		return error;
	query = calloc(1, sizeof(*query));
	if (query == NULL)
		return ENOMEM;
	query->id = id;
	query->counters = counters;
	query->first = first;
	query->count = count;
	query->memory = (uint8_t *)(uintptr_t)devx_get64(in, DEVX_QUERY_ADDRESS);
	set_due(query, obj->device);
	pthread_mutex_lock(&obj->device->lock);
	TAILQ_INSERT_TAIL(&completions->asked, query, next);
	if (answer_due(completions) != NULL)
		pthread_cond_broadcast(&obj->device->changed);
	pthread_mutex_unlock(&obj->device->lock);
	return 0;
}

/* The descriptor is drained before the list is looked at, both under the lock, so that an answer
 * that comes later makes it readable again. */
int
mlx5dv_devx_get_async_cmd_comp(
	struct mlx5dv_devx_cmd_comp *dv, struct mlx5dv_devx_async_cmd_hdr *reply, size_t length)
{
	struct completions *completions = (struct completions *)dv;
	struct query *query;
	uint64_t ignored;

	pthread_mutex_lock(&completions->device->lock);
	query = TAILQ_FIRST(&completions->answered);
	if (query != NULL)
		TAILQ_REMOVE(&completions->answered, query, next);
	else if (read(dv->fd, &ignored, sizeof(ignored)) < 0)
		errno = EAGAIN;
	pthread_mutex_unlock(&completions->device->lock);
	if (query == NULL)
		return EAGAIN;
	memset(reply, 0, length);
	reply->wr_id = query->id;
	free(query);
	return 0;
}
