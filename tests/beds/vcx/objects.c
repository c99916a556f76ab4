/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of verbs: completion queues, receive queues (WQ), indirection tables; and
 * mlx5dv_init_obj(), which tells the driver where their rings are. An object that another one uses
 * cannot be destroyed (EBUSY), as with the kernel. Queue pairs are in qp.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "objects.h"

enum {
	CQE_BYTES = 64,
	DOORBELL_BYTES = 64,
};

struct verbs_wq {
	struct ibv_wq ibv;
	struct vcx_rq ring;
	void *memory;
};

void *
vcx_objects_ring(struct ibv_context *context, size_t bytes, __be32 **doorbell)
{
	char *memory = vcx_device_alloc(vcx_device_context(context), bytes + DOORBELL_BYTES);

	if (memory != NULL)
		*doorbell = (__be32 *)(memory + bytes);
	return memory;
}

uint32_t
vcx_objects_power(uint32_t at_least)
{
	uint32_t power = 1;

	while (power < at_least)
		power *= 2;
	return power;
}

/* ---- completion queues -------------------------------------------------------------------------
 */

static struct vcx_verbs_cq *
cq_create(struct ibv_context *context, uint32_t entries, void *user)
{
	struct vcx_device *device = vcx_device_context(context)->device;
	struct vcx_verbs_cq *cq = NULL;
	__be32 *doorbell = NULL;
	int error = vcx_device_command(device, VCX_QUEUE_CREATE);

	if (error == 0 && (cq = calloc(1, sizeof(*cq))) == NULL)
		error = ENOMEM;
	if (error == 0) {
		cq->ring.count = vcx_objects_power(entries + 1);
		cq->memory =
			vcx_objects_ring(context, (size_t)cq->ring.count * CQE_BYTES, &doorbell);
		error = cq->memory == NULL ? ENOMEM : 0;
	}
	if (error != 0) {
		free(cq);
		errno = error;
		return NULL;
	}
	cq->ibv.context = context;
	cq->ibv.cq_context = user;
	cq->ibv.cqe = (int)cq->ring.count - 1;
	cq->ring.entries = cq->memory;
	cq->ring.doorbell = doorbell;
	cq->ring.number = cq->ibv.handle = vcx_device_number(device);
	vcx_queue_cq_reset(&cq->ring);
	return cq;
}

struct ibv_cq *
ibv_create_cq(struct ibv_context *context, int entries, void *user,
	struct ibv_comp_channel *channel, int vector)
{
	struct vcx_verbs_cq *cq = cq_create(context, (uint32_t)entries, user);

	(void)channel, (void)vector;
	return cq == NULL ? NULL : ibv_cq_ex_to_cq(&cq->ibv);
}

/* Compressed completions may be asked for; the device is free to write none. */
struct ibv_cq_ex *
mlx5dv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
	struct mlx5dv_cq_init_attr *dv)
{
	struct vcx_verbs_cq *cq = cq_create(context, attr->cqe, attr->cq_context);

	(void)dv;
	return cq == NULL ? NULL : &cq->ibv;
}

int
ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct vcx_verbs_cq *cq = (struct vcx_verbs_cq *)ibv;
	struct vcx_context *context = vcx_device_context(ibv->context);

	if (cq->users > 0)
		return EBUSY;
	vcx_device_ended(context->device, VCX_QUEUE_DESTROY);
	vcx_device_free(context, cq->memory);
	free(cq);
	return 0;
}

/* ---- receive queues and indirection tables -----------------------------------------------------
 */

static struct ibv_wq *
wq_create(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
	struct vcx_device *device = vcx_device_context(context)->device;
	struct verbs_wq *wq = NULL;
	__be32 *doorbell = NULL;
	int error = vcx_device_command(device, VCX_QUEUE_CREATE);

	if (error == 0 && (wq = calloc(1, sizeof(*wq))) == NULL)
		error = ENOMEM;
	if (error == 0) {
		wq->ring.count = vcx_objects_power(attr->max_wr);
		wq->ring.segments = vcx_objects_power(attr->max_sge);
		wq->memory = vcx_objects_ring(context,
			(size_t)wq->ring.count * wq->ring.segments *
				sizeof(struct mlx5_wqe_data_seg),
			&doorbell);
		error = wq->memory == NULL ? ENOMEM : 0;
	}
	if (error != 0) {
		free(wq);
		errno = error;
		return NULL;
	}
	wq->ibv.context = context;
	wq->ibv.pd = attr->pd;
	wq->ibv.cq = attr->cq;
	wq->ibv.state = IBV_WQS_RESET;
	wq->ibv.wq_type = IBV_WQT_RQ;
	wq->ibv.wq_num = wq->ring.number = vcx_device_number(device);
	wq->ring.entries = wq->memory;
	wq->ring.doorbell = &doorbell[VCX_RECEIVE_DOORBELL];
	wq->ring.strip_vlan = attr->create_flags & IBV_WQ_FLAGS_CVLAN_STRIPPING;
	wq->ring.cq = &((struct vcx_verbs_cq *)attr->cq)->ring;
	((struct vcx_verbs_cq *)attr->cq)->users++;
	return &wq->ibv;
}

/* Buffers of several packets (a striding RQ) are not advertised, so the driver asks for none. */
struct ibv_wq *
mlx5dv_create_wq(
	struct ibv_context *context, struct ibv_wq_init_attr *attr, struct mlx5dv_wq_init_attr *dv)
{
	if (dv != NULL && dv->comp_mask != 0) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return wq_create(context, attr);
}

static int
wq_modify(struct ibv_wq *ibv, struct ibv_wq_attr *attr)
{
	struct verbs_wq *wq = (struct verbs_wq *)ibv;
	struct vcx_device *device = vcx_device_context(ibv->context)->device;

	pthread_mutex_lock(&device->lock);
	if (attr->attr_mask & IBV_WQ_ATTR_STATE) {
		ibv->state = attr->wq_state;
		wq->ring.ready = attr->wq_state == IBV_WQS_RDY;
		if (attr->wq_state == IBV_WQS_RESET)
			wq->ring.taken = 0;
	}
	if (attr->attr_mask & IBV_WQ_ATTR_FLAGS && attr->flags_mask & IBV_WQ_FLAGS_CVLAN_STRIPPING)
		wq->ring.strip_vlan = attr->flags & IBV_WQ_FLAGS_CVLAN_STRIPPING;
	pthread_mutex_unlock(&device->lock);
	return 0;
}

static int
wq_destroy(struct ibv_wq *ibv)
{
	struct verbs_wq *wq = (struct verbs_wq *)ibv;
	struct vcx_context *context = vcx_device_context(ibv->context);

	if (wq->ring.users > 0)
		return EBUSY;
	vcx_device_ended(context->device, VCX_QUEUE_DESTROY);
	((struct vcx_verbs_cq *)ibv->cq)->users--;
	vcx_device_free(context, wq->memory);
	free(wq);
	return 0;
}

static struct ibv_rwq_ind_table *
table_create(struct ibv_context *context, struct ibv_rwq_ind_table_init_attr *attr)
{
	uint32_t count = 1u << attr->log_ind_tbl_size;
	struct vcx_device *device = vcx_device_context(context)->device;
	int error = vcx_device_command(device, VCX_QUEUE_CREATE);
	struct vcx_verbs_table *table =
		error == 0 ? calloc(1, sizeof(*table) + count * sizeof(struct vcx_rq *)) : NULL;

	if (table == NULL) {
		errno = error == 0 ? ENOMEM : error;
		return NULL;
	}
	table->ibv.context = context;
	table->table.count = count;
	table->ibv.ind_tbl_num = table->ibv.ind_tbl_handle = (int)vcx_device_number(device);
	for (uint32_t i = 0; i < count; i++) {
		table->table.queues[i] = &((struct verbs_wq *)attr->ind_tbl[i])->ring;
		table->table.queues[i]->users++;
	}
	return &table->ibv;
}

static int
table_destroy(struct ibv_rwq_ind_table *ibv)
{
	struct vcx_verbs_table *table = (struct vcx_verbs_table *)ibv;

	if (table->users > 0)
		return EBUSY;
	vcx_device_ended(vcx_device_context(ibv->context)->device, VCX_QUEUE_DESTROY);
	for (uint32_t i = 0; i < table->table.count; i++)
		table->table.queues[i]->users--;
	free(table);
	return 0;
}

/* ---- where the rings are -----------------------------------------------------------------------
 */

int
mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
	if (type & MLX5DV_OBJ_PD)
		*obj->pd.out = (struct mlx5dv_pd){.pdn = obj->pd.in->handle};
	if (type & MLX5DV_OBJ_CQ) {
		struct vcx_verbs_cq *cq = (struct vcx_verbs_cq *)obj->cq.in;

		*obj->cq.out = (struct mlx5dv_cq){.buf = cq->memory,
			.dbrec = (__be32 *)(uintptr_t)cq->ring.doorbell,
			.cqe_cnt = cq->ring.count,
			.cqe_size = CQE_BYTES,
			.cq_uar = vcx_device_context(cq->ibv.context)->uar,
			.cqn = cq->ring.number};
	}
	if (type & MLX5DV_OBJ_RWQ) {
		struct verbs_wq *wq = (struct verbs_wq *)obj->rwq.in;

		*obj->rwq.out = (struct mlx5dv_rwq){.buf = wq->memory,
			.dbrec = (__be32 *)(uintptr_t)wq->ring.doorbell,
			.wqe_cnt = wq->ring.count,
			.stride = wq->ring.segments * (uint32_t)sizeof(struct mlx5_wqe_data_seg)};
	}
	if (type & MLX5DV_OBJ_QP) {
		struct vcx_verbs_qp *qp = (struct vcx_verbs_qp *)obj->qp.in;

		*obj->qp.out = (struct mlx5dv_qp){
			.dbrec = (__be32 *)(uintptr_t)qp->ring.doorbell - VCX_SEND_DOORBELL,
			.sq = {.buf = qp->memory,
				.wqe_cnt = qp->ring.count,
				.stride = VCX_SQ_BLOCK},
			.bf = {.reg = vcx_device_context(qp->ibv.context)->uar},
			.comp_mask =
				obj->qp.out->comp_mask &
				(MLX5DV_QP_MASK_UAR_MMAP_OFFSET | MLX5DV_QP_MASK_RAW_QP_HANDLES),
			.tisn = qp->ring.number};
	}
	return 0;
}

void
vcx_objects_operations(struct verbs_context *verbs)
{
	verbs->create_wq = wq_create;
	verbs->modify_wq = wq_modify;
	verbs->destroy_wq = wq_destroy;
	verbs->create_rwq_ind_table = table_create;
	verbs->destroy_rwq_ind_table = table_destroy;
	verbs->create_qp_ex = vcx_qp_create;
	verbs->ibv_create_flow = vcx_flow_create;
	verbs->ibv_destroy_flow = vcx_flow_destroy;
}
