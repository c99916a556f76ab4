/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of verbs, between objects.c and qp.c. */
#ifndef VCX_OBJECTS_H
#define VCX_OBJECTS_H

#include "device.h"

enum {
	VCX_RECEIVE_DOORBELL = 0,
	VCX_SEND_DOORBELL = 1,
	VCX_SQ_BLOCK = 64,
};

struct vcx_verbs_cq {
	struct ibv_cq_ex ibv; /* begins as struct ibv_cq does */
	struct vcx_cq ring;
	void *memory;
	unsigned users;
};

struct vcx_verbs_table {
	struct ibv_rwq_ind_table ibv;
	unsigned users;
	struct vcx_rq_table table; /* last, its list follows */
};

struct vcx_verbs_qp {
	struct ibv_qp ibv;
	struct vcx_device *device;
	struct vcx_rss rss;
	struct vcx_verbs_table *table; /* of a QP that receives */
	struct vcx_sq ring;            /* of one that sends */
	void *memory;
	_Atomic int users; /* rules */
};

/* Rings and their doorbell record stand in one allocation, the record behind the ring. */
void *vcx_objects_ring(struct ibv_context *context, size_t bytes, __be32 **doorbell);
uint32_t vcx_objects_power(uint32_t at_least);

struct ibv_qp *vcx_qp_create(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

#endif
