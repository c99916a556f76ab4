/* SPDX-License-Identifier: BSD-3-Clause */
/* DevX: the driver writes firmware commands itself. Those that make queues are parsed for the data
 * path, others only get a number. Objects name each other by number, memory by that of a
 * registration. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "devx.h"
#include "devx_layout.h"

enum {
	HASH_SRC_IP = 1 << 0,
	HASH_DST_IP = 1 << 1,
	HASH_SRC_PORT = 1 << 2,
	HASH_DST_PORT = 1 << 3,
	RQT_MAX = 512,
	SEGMENT_LOG = 4,
};

/* Of all ports: numbers are unique within a device. Under `registry`. */
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, mlx5dv_devx_obj) objects = LIST_HEAD_INITIALIZER(objects);

static struct mlx5dv_devx_obj *
find(struct vcx_device *device, uint16_t opcode, uint32_t number)
{
	struct mlx5dv_devx_obj *obj;

	pthread_mutex_lock(&registry);
	LIST_FOREACH (obj, &objects, next) {
		if (obj->device == device && obj->opcode == opcode && obj->number == number)
			break;
	}
	pthread_mutex_unlock(&registry);
	return obj;
}

/* ---- what each command creates -----------------------------------------------------------------
 */

static int
create_cq(struct mlx5dv_devx_obj *obj, const uint8_t *in)
{
	const uint8_t *context = in + DEVX_CQ_CONTEXT;
	struct vcx_cq *cq = &obj->cq;

	cq->count = 1u << devx_get(context, DEVX_CQ_LOG_SIZE);
	cq->number = obj->number;
	cq->entries = vcx_devx_memory(obj->device, devx_get(in, DEVX_CREATE_CQ_UMEM),
		devx_get64(in, DEVX_CREATE_CQ_OFFSET), cq->count * sizeof(*cq->entries));
	cq->doorbell = vcx_devx_memory(obj->device, devx_get(context, DEVX_CQ_DOORBELL_UMEM),
		devx_get64(context, DEVX_CQ_DOORBELL_OFFSET), 8);
	if (cq->entries == NULL || cq->doorbell == NULL)
		return EINVAL;
	vcx_queue_cq_reset(cq);
	return 0;
}

static struct vcx_cq *
cq_of(struct vcx_device *device, const uint8_t *context)
{
	struct mlx5dv_devx_obj *cq =
		find(device, DEVX_CREATE_CQ, devx_get(context, DEVX_QUEUE_CQN));

	return cq == NULL ? NULL : &cq->cq;
}

static int
create_rq(struct mlx5dv_devx_obj *obj, const uint8_t *in)
{
	const uint8_t *context = in + DEVX_CONTEXT, *wq = context + DEVX_WQ;
	unsigned log_stride = devx_get(wq, DEVX_WQ_LOG_STRIDE);
	struct vcx_rq *rq = &obj->rq;

	if (devx_get(wq, DEVX_WQ_TYPE) != DEVX_WQ_CYCLIC || log_stride < SEGMENT_LOG)
		return EINVAL;
	rq->segments = 1u << (log_stride - SEGMENT_LOG);
	rq->count = 1u << devx_get(wq, DEVX_WQ_LOG_SIZE);
	rq->number = obj->number;
	rq->strip_vlan = devx_get(context, DEVX_RQ_NO_STRIP) == 0;
	rq->cq = cq_of(obj->device, context);
	rq->entries = vcx_devx_memory(obj->device, devx_get(wq, DEVX_WQ_UMEM),
		devx_get64(wq, DEVX_WQ_OFFSET), (size_t)rq->count << log_stride);
	rq->doorbell = vcx_devx_memory(obj->device, devx_get(wq, DEVX_WQ_DOORBELL_UMEM),
		devx_get64(wq, DEVX_WQ_DOORBELL_OFFSET), 8);
	return rq->cq == NULL || rq->entries == NULL || rq->doorbell == NULL ? EINVAL : 0;
}

static int
create_sq(struct mlx5dv_devx_obj *obj, const uint8_t *in)
{
	const uint8_t *context = in + DEVX_CONTEXT, *wq = context + DEVX_WQ;
	unsigned log_stride = devx_get(wq, DEVX_WQ_LOG_STRIDE);
	struct vcx_sq *sq = &obj->sq;
	const __be32 *doorbell;

	sq->count = 1u << devx_get(wq, DEVX_WQ_LOG_SIZE);
	sq->number = obj->number;
	sq->cq = cq_of(obj->device, context);
	sq->blocks = vcx_devx_memory(obj->device, devx_get(wq, DEVX_WQ_UMEM),
		devx_get64(wq, DEVX_WQ_OFFSET), (size_t)sq->count << log_stride);
	doorbell = vcx_devx_memory(obj->device, devx_get(wq, DEVX_WQ_DOORBELL_UMEM),
		devx_get64(wq, DEVX_WQ_DOORBELL_OFFSET), 8);
	if (sq->cq == NULL || sq->blocks == NULL || doorbell == NULL)
		return EINVAL;
	sq->doorbell = doorbell + MLX5_SND_DBR;
	pthread_mutex_lock(&obj->device->lock);
	LIST_INSERT_HEAD(&obj->device->sqs, sq, next);
	pthread_mutex_unlock(&obj->device->lock);
	vcx_wire_start();
	return 0;
}

/* Also for modification: the whole list is given anew. */
static int
fill_rqt(struct mlx5dv_devx_obj *obj, const uint8_t *in, size_t length)
{
	uint32_t count = devx_get(in + DEVX_CONTEXT, DEVX_RQT_SIZE);
	struct vcx_rq *queues[RQT_MAX];

	if (count == 0 || count > RQT_MAX || (count & (count - 1)) != 0 ||
		length < DEVX_RQT_LIST + count * 4)
		return EINVAL;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t number = devx_get(in + DEVX_RQT_LIST + 4 * i, 8, 24);
		struct mlx5dv_devx_obj *rq = find(obj->device, DEVX_CREATE_RQ, number);

		if (rq == NULL)
			return EINVAL;
		queues[i] = &rq->rq;
	}
	pthread_mutex_lock(&obj->device->lock);
	for (uint32_t i = 0; i < obj->rqt.count; i++)
		obj->rqt.queues[i]->users--;
	obj->rqt.count = count;
	for (uint32_t i = 0; i < count; i++) {
		obj->rqt.queues[i] = queues[i];
		queues[i]->users++;
	}
	pthread_mutex_unlock(&obj->device->lock);
	return 0;
}

static uint64_t
hash_fields(const uint8_t *context, unsigned selector)
{
	uint8_t choice[4];
	uint32_t chosen;
	bool v6, udp;
	uint64_t fields = 0;

	memcpy(choice, context + selector / 8, sizeof(choice));
	chosen = devx_get(choice, DEVX_HASH_FIELDS);
	v6 = devx_get(choice, DEVX_HASH_IPV6);
	udp = devx_get(choice, DEVX_HASH_UDP);
	if (chosen & HASH_SRC_IP)
		fields |= v6 ? IBV_RX_HASH_SRC_IPV6 : IBV_RX_HASH_SRC_IPV4;
	if (chosen & HASH_DST_IP)
		fields |= v6 ? IBV_RX_HASH_DST_IPV6 : IBV_RX_HASH_DST_IPV4;
	if (chosen & HASH_SRC_PORT)
		fields |= udp ? IBV_RX_HASH_SRC_PORT_UDP : IBV_RX_HASH_SRC_PORT_TCP;
	if (chosen & HASH_DST_PORT)
		fields |= udp ? IBV_RX_HASH_DST_PORT_UDP : IBV_RX_HASH_DST_PORT_TCP;
	return fields;
}

static int
fill_tir(struct mlx5dv_devx_obj *obj, const uint8_t *in, bool table, bool hash)
{
	const uint8_t *context = in + DEVX_CONTEXT;
	struct mlx5dv_devx_obj *rqt =
		find(obj->device, DEVX_CREATE_RQT, devx_get(context, DEVX_TIR_TABLE));

	if (table && rqt == NULL)
		return EINVAL;
	pthread_mutex_lock(&obj->device->lock);
	if (table) {
		if (obj->tir.table != NULL)
			obj->tir.table->users--;
		obj->tir.table = rqt;
		obj->tir.rss.table = &rqt->rqt;
		rqt->users++;
	}
	if (hash) {
		uint64_t inner = hash_fields(context, DEVX_TIR_INNER);

		memcpy(obj->tir.rss.key, context + DEVX_TIR_KEY, sizeof(obj->tir.rss.key));
		obj->tir.rss.fields = inner != 0 ? inner | IBV_RX_HASH_INNER
						 : hash_fields(context, DEVX_TIR_OUTER);
	}
	pthread_mutex_unlock(&obj->device->lock);
	return 0;
}

static int
create_counters(struct mlx5dv_devx_obj *obj, const uint8_t *in)
{
	uint32_t bulk = devx_get(in, DEVX_COUNTER_BULK);

	obj->counters = vcx_counter_create(obj->device, bulk == 0 ? 1 : 128 * bulk);
	if (obj->counters == NULL)
		return errno;
	obj->number = obj->counters->number;
	return 0;
}

static int
fill(struct mlx5dv_devx_obj *obj, const uint8_t *in, size_t length)
{
	switch (obj->opcode) {
	case DEVX_CREATE_CQ:
		return create_cq(obj, in);
	case DEVX_CREATE_RQ:
		return create_rq(obj, in);
	case DEVX_CREATE_SQ:
		return create_sq(obj, in);
	case DEVX_CREATE_RQT:
		return fill_rqt(obj, in, length);
	case DEVX_CREATE_TIR:
		return fill_tir(obj, in, true, true);
	case DEVX_ALLOC_FLOW_COUNTER:
		return create_counters(obj, in);
	case DEVX_CREATE_MKEY:
	case DEVX_CREATE_TIS:
	case DEVX_ALLOC_Q_COUNTER:
	case DEVX_ALLOC_TRANSPORT_DOMAIN:
		return 0;
	default:
		return EOPNOTSUPP;
	}
}

struct mlx5dv_devx_obj *
mlx5dv_devx_obj_create(
	struct ibv_context *context, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct vcx_device *device = vcx_device_context(context)->device;
	uint16_t opcode = (uint16_t)devx_get(in, DEVX_OPCODE);
	struct mlx5dv_devx_obj *obj = calloc(
		1, sizeof(*obj) + (opcode == DEVX_CREATE_RQT ? RQT_MAX : 0) * sizeof(void *));
	int error = obj == NULL ? ENOMEM : 0;

	memset(out, 0, outlen);
	if (error == 0 && opcode != DEVX_ALLOC_FLOW_COUNTER)
		error = vcx_device_command(device, VCX_QUEUE_CREATE);
	if (error == 0) {
		obj->device = device;
		obj->opcode = opcode;
		if (opcode != DEVX_ALLOC_FLOW_COUNTER)
			obj->number = vcx_device_number(device);
		error = fill(obj, in, inlen);
	}
	if (error != 0) {
		free(obj);
		errno = error;
		return NULL;
	}
	if (opcode == DEVX_CREATE_CQ || opcode == DEVX_CREATE_RQ || opcode == DEVX_CREATE_RQT) {
		pthread_mutex_lock(&registry);
		LIST_INSERT_HEAD(&objects, obj, next);
		pthread_mutex_unlock(&registry);
	}
	devx_set(out, DEVX_REPLY_NUMBER, obj->number);
	return obj;
}

/* ---- what happens to them ----------------------------------------------------------------------
 */

static void
set_state(const uint8_t *context, bool *ready, uint16_t *taken)
{
	uint32_t state = devx_get(context, DEVX_QUEUE_STATE);

	*ready = state == DEVX_QUEUE_READY;
	if (state == 0)
		*taken = 0;
}

static int
modify_rq(struct mlx5dv_devx_obj *obj, const uint8_t *in)
{
	pthread_mutex_lock(&obj->device->lock);
	set_state(in + DEVX_CONTEXT, &obj->rq.ready, &obj->rq.taken);
	if (devx_get64(in, DEVX_MODIFY_MASK) & DEVX_MODIFY_RQ_STRIP)
		obj->rq.strip_vlan = devx_get(in + DEVX_CONTEXT, DEVX_RQ_NO_STRIP) == 0;
	pthread_mutex_unlock(&obj->device->lock);
	return 0;
}

static int
modify_sq(struct mlx5dv_devx_obj *obj, const uint8_t *in)
{
	pthread_mutex_lock(&obj->device->lock);
	set_state(in + DEVX_CONTEXT, &obj->sq.ready, &obj->sq.taken);
	pthread_mutex_unlock(&obj->device->lock);
	return 0;
}

int
mlx5dv_devx_obj_modify(
	struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
	uint64_t mask = devx_get64(in, DEVX_MODIFY_MASK);

	memset(out, 0, outlen);
	switch (devx_get(in, DEVX_OPCODE)) {
	case DEVX_MODIFY_RQ:
		return modify_rq(obj, in);
	case DEVX_MODIFY_SQ:
		return modify_sq(obj, in);
	case DEVX_MODIFY_RQT:
		return fill_rqt(obj, in, inlen);
	case DEVX_MODIFY_TIR:
		return fill_tir(obj, in, mask & DEVX_MODIFY_TIR_TABLE, mask & DEVX_MODIFY_TIR_HASH);
	default:
		return EOPNOTSUPP;
	}
}

/* Lets go of what the object uses; with the lock. */
static void
release(struct mlx5dv_devx_obj *obj)
{
	if (obj->opcode == DEVX_CREATE_SQ)
		LIST_REMOVE(&obj->sq, next);
	else if (obj->opcode == DEVX_CREATE_TIR)
		obj->tir.table->users--;
	for (uint32_t i = 0; i < obj->rqt.count; i++)
		obj->rqt.queues[i]->users--;
}

int
mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	if (obj->users > 0 || (obj->opcode == DEVX_CREATE_RQ && obj->rq.users > 0))
		return EBUSY;
	if (obj->opcode == DEVX_ALLOC_FLOW_COUNTER) {
		vcx_counter_destroy(obj->counters);
	} else {
		vcx_device_ended(obj->device, VCX_QUEUE_DESTROY);
		pthread_mutex_lock(&obj->device->lock);
		release(obj);
		pthread_mutex_unlock(&obj->device->lock);
	}
	if (obj->opcode == DEVX_CREATE_CQ || obj->opcode == DEVX_CREATE_RQ ||
		obj->opcode == DEVX_CREATE_RQT) {
		pthread_mutex_lock(&registry);
		LIST_REMOVE(obj, next);
		pthread_mutex_unlock(&registry);
	}
	free(obj);
	return 0;
}

struct vcx_counters *
vcx_devx_counters(const struct mlx5dv_devx_obj *obj)
{
	return obj->opcode == DEVX_ALLOC_FLOW_COUNTER ? obj->counters : NULL;
}

const struct vcx_rss *
vcx_devx_rss(const struct mlx5dv_devx_obj *obj)
{
	return obj->opcode == DEVX_CREATE_TIR ? &obj->tir.rss : NULL;
}
