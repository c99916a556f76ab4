/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device says of itself through verbs, and the calls of libibverbs and libmlx5 that have
 * no other place. The device has little: what is not advertised here the driver does not use. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "objects.h"

#undef ibv_query_port

enum {
	MANY = 1 << 20,
};

static int
query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
	struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex all = {
		.orig_attr = {.fw_ver = "16.35.4030",
			.vendor_id = 0x15b3,
			.vendor_part_id = 0x1017,
			.max_qp = MANY,
			.max_qp_wr = 1 << 15,
			.max_sge = 30,
			.max_cq = MANY,
			.max_cqe = 1 << 22,
			.max_mr = MANY,
			.max_pd = MANY,
			.phys_port_cnt = 1},
		.device_cap_flags_ex = IBV_DEVICE_RAW_IP_CSUM,
		.rss_caps = {.supported_qpts = 1 << IBV_QPT_RAW_PACKET,
			.max_rwq_indirection_tables = MANY,
			.max_rwq_indirection_table_size = 512,
			.rx_hash_fields_mask = 0xff,
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ},
		.max_wq_type_rq = MANY,
		.raw_packet_caps = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING | IBV_RAW_PACKET_CAP_IP_CSUM,
		.phys_port_cnt_ex = 1,
	};

	(void)context, (void)input;
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

int
ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct ibv_device_attr_ex all;
	int error = query_device_ex(context, NULL, &all, sizeof(all));

	*attr = all.orig_attr;
	return error;
}

static int
query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
	struct ibv_port_attr all = {.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_1024,
		.link_layer = IBV_LINK_LAYER_ETHERNET};

	(void)context;
	if (port != 1)
		return EINVAL;
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

int
ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	/* The old form of the structure ends before the last fields, and nobody here uses it. */
	(void)context, (void)port, (void)attr;
	return EOPNOTSUPP;
}

const char *
ibv_port_state_str(enum ibv_port_state state)
{
	return state == IBV_PORT_ACTIVE ? "active" : "not active";
}

struct ibv_qp *
ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex wider = {.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd};

	return vcx_qp_create(pd->context, &wider);
}

void
vcx_verbs_operations(struct verbs_context *verbs)
{
	verbs->query_device_ex = query_device_ex;
	verbs->query_port = query_port;
}

/* ---- mlx5dv ------------------------------------------------------------------------------------
 */

/* No flags: each packet is sent in a work queue entry of its own, completions are not compressed.
 */
int
mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_context *attr)
{
	(void)context;
	attr->version = 0;
	attr->flags = MLX5DV_CONTEXT_FLAGS_CQE_V1;
	attr->comp_mask = 0;
	return 0;
}

int
mlx5dv_set_context_attr(struct ibv_context *ibv, enum mlx5dv_set_ctx_attr_type type, void *attr)
{
	struct vcx_context *context = vcx_device_context(ibv);

	if (type != MLX5DV_CTX_ATTR_BUF_ALLOCATORS)
		return EOPNOTSUPP;
	context->allocators = *(struct mlx5dv_ctx_allocators *)attr;
	context->has_allocators = true;
	return 0;
}
