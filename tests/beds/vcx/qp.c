/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: either a destination of rules, with a hash over receive queues, or a send queue. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "objects.h"

/* A QP that receives only: a hash, a key and an indirection table. */
static int
qp_receives(struct vcx_verbs_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_rx_hash_conf *hash = &attr->rx_hash_conf;

	if (hash->rx_hash_function != IBV_RX_HASH_FUNC_TOEPLITZ ||
		hash->rx_hash_key_len != sizeof(qp->rss.key))
		return EINVAL;
	qp->table = (struct vcx_verbs_table *)attr->rwq_ind_tbl;
	qp->table->users++;
	memcpy(qp->rss.key, hash->rx_hash_key, sizeof(qp->rss.key));
	qp->rss.fields = hash->rx_hash_fields_mask;
	qp->rss.table = &qp->table->table;
	return 0;
}

/* One that sends: a control and an Ethernet segment with its inline data, and a pointer, in blocks.
 */
static int
qp_sends(struct vcx_verbs_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	uint32_t bytes = 16 + 16 + 16 + attr->cap.max_inline_data;
	uint32_t blocks = (bytes + VCX_SQ_BLOCK - 1) / VCX_SQ_BLOCK;
	__be32 *doorbell = NULL;

	qp->ring.count = vcx_objects_power(blocks * attr->cap.max_send_wr);
	qp->memory = vcx_objects_ring(
		attr->pd->context, (size_t)qp->ring.count * VCX_SQ_BLOCK, &doorbell);
	if (qp->memory == NULL)
		return ENOMEM;
	qp->ring.blocks = qp->memory;
	qp->ring.doorbell = &doorbell[VCX_SEND_DOORBELL];
	qp->ring.cq = &((struct vcx_verbs_cq *)attr->send_cq)->ring;
	((struct vcx_verbs_cq *)attr->send_cq)->users++;
	return 0;
}

struct ibv_qp *
vcx_qp_create(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct vcx_device *device = vcx_device_context(context)->device;
	struct vcx_verbs_qp *qp = NULL;
	int error = vcx_device_command(device, VCX_QUEUE_CREATE);

	if (error == 0 && attr->qp_type != IBV_QPT_RAW_PACKET)
		error = EOPNOTSUPP;
	if (error == 0 && (qp = calloc(1, sizeof(*qp))) == NULL)
		error = ENOMEM;
	if (error == 0)
		error = attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE ? qp_receives(qp, attr)
								     : qp_sends(qp, attr);
	if (error != 0) {
		free(qp);
		errno = error;
		return NULL;
	}
	qp->device = device;
	qp->ibv.context = context;
	qp->ibv.pd = attr->pd;
	qp->ibv.send_cq = attr->send_cq;
	qp->ibv.qp_type = attr->qp_type;
	qp->ibv.qp_num = qp->ibv.handle = qp->ring.number = vcx_device_number(device);
	if (qp->table == NULL) {
		pthread_mutex_lock(&device->lock);
		LIST_INSERT_HEAD(&device->sqs, &qp->ring, next);
		pthread_mutex_unlock(&device->lock);
		vcx_wire_start();
	}
	return &qp->ibv;
}

struct ibv_qp *
mlx5dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
	struct mlx5dv_qp_init_attr *dv)
{
	(void)dv;
	return vcx_qp_create(context, attr);
}

int
ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct vcx_verbs_qp *qp = (struct vcx_verbs_qp *)ibv;

	if (mask & IBV_QP_STATE) {
		pthread_mutex_lock(&qp->device->lock);
		ibv->state = attr->qp_state;
		qp->ring.ready = attr->qp_state == IBV_QPS_RTS;
		if (attr->qp_state == IBV_QPS_RESET)
			qp->ring.taken = 0;
		pthread_mutex_unlock(&qp->device->lock);
	}
	return 0;
}

int
ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct vcx_verbs_qp *qp = (struct vcx_verbs_qp *)ibv;

	if (atomic_load(&qp->users) > 0)
		return EBUSY;
	vcx_device_ended(qp->device, VCX_QUEUE_DESTROY);
	if (qp->table != NULL) {
		qp->table->users--;
	} else {
		pthread_mutex_lock(&qp->device->lock);
		LIST_REMOVE(&qp->ring, next);
		pthread_mutex_unlock(&qp->device->lock);
		((struct vcx_verbs_cq *)ibv->send_cq)->users--;
		vcx_device_free(vcx_device_context(ibv->context), qp->memory);
	}
	free(qp);
	return 0;
}

const struct vcx_rss *
vcx_objects_rss(struct ibv_qp *ibv)
{
	return &((struct vcx_verbs_qp *)ibv)->rss;
}

void
vcx_objects_use(struct ibv_qp *ibv, int users)
{
	atomic_fetch_add(&((struct vcx_verbs_qp *)ibv)->users, users);
}
