/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device says of itself through DevX, and what DevX has beside objects: register pages,
 * event queue numbers. VCX_OPTIONS decides: devx=0 refuses DevX altogether, bulk=0 counters in
 * bulk; with either the driver's DV engine reads each counter synchronously. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "device.h"
#include "devx_layout.h"

enum {
	COUNTERS_BY_512 = 1 << 2,
};

struct ibv_context *
mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	(void)attr;
	if (vcx_sysfs_option("devx", 1) == 0) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	return ibv_open_device(device);
}

/* Only what the driver cannot do without; where a bit is 0 it does not use the feature. That the
 * table capabilities are asked for (NIC_FLOW_TABLE) and then are all 0 says that there are no
 * registers. */
static void
general(uint8_t *caps)
{
	devx_set(caps, DEVX_CAP_LOG_MAX_QP, 18);
	devx_set(caps, DEVX_CAP_LOG_MAX_QP_SZ, 15);
	devx_set(caps, DEVX_CAP_LOG_MAX_CQ, 18);
	devx_set(caps, DEVX_CAP_LOG_MAX_CQ_SZ, 22);
	devx_set(caps, DEVX_CAP_LOG_MAX_WQ_SZ, 15);
	devx_set(caps, DEVX_CAP_LOG_MAX_RQT_SIZE, 9);
	devx_set(caps, DEVX_CAP_LOG_MAX_MRW_SZ, 48);
	devx_set(caps, DEVX_CAP_LOG_MAX_PD, 16);
	devx_set(caps, DEVX_CAP_MAX_WQE_SZ_SQ, 1024);
	devx_set(caps, DEVX_CAP_FREQUENCY_KHZ, 1000000);
	devx_set(caps, DEVX_CAP_ETH_NET_OFFLOADS, 1);
	devx_set(caps, DEVX_CAP_NIC_FLOW_TABLE, 1);
	if (vcx_sysfs_option("bulk", 1) != 0) {
		devx_set(caps, DEVX_CAP_COUNTERS_DUMP, 1);
		devx_set(caps, DEVX_CAP_COUNTER_BULK_ALLOC, COUNTERS_BY_512);
	}
}

static void
ethernet(uint8_t *caps)
{
	devx_set(caps, DEVX_ETH_CSUM, 1);
	devx_set(caps, DEVX_ETH_VLAN, 1);
	devx_set(caps, DEVX_ETH_INLINE_MODE, DEVX_ETH_INLINE_NOT_REQUIRED);
	devx_set(caps, DEVX_ETH_RSS_TABLE, 9);
}

int
mlx5dv_devx_general_cmd(
	struct ibv_context *context, const void *in, size_t inlen, void *out, size_t outlen)
{
	uint32_t kind = DEVX_CAP_KIND(devx_get(in, DEVX_OP_MOD));

	(void)context, (void)inlen;
	memset(out, 0, outlen);
	if (devx_get(in, DEVX_OPCODE) != DEVX_QUERY_HCA_CAP || outlen < 0x200)
		return EOPNOTSUPP;
	if (kind == DEVX_CAP_GENERAL)
		general((uint8_t *)out + DEVX_CAP_BYTES);
	else if (kind == DEVX_CAP_ETHERNET)
		ethernet((uint8_t *)out + DEVX_CAP_BYTES);
	else if (kind != DEVX_CAP_FLOW_TABLE)
		return EOPNOTSUPP;
	return 0;
}

struct mlx5dv_devx_uar *
mlx5dv_devx_alloc_uar(struct ibv_context *context, uint32_t flags)
{
	struct mlx5dv_devx_uar *uar = calloc(1, sizeof(*uar));

	(void)flags;
	if (uar != NULL) {
		uar->base_addr = uar->reg_addr = vcx_device_context(context)->uar;
		uar->page_id = vcx_device_number(vcx_device_context(context)->device);
	}
	return uar;
}

void
mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *uar)
{
	free(uar);
}

int
mlx5dv_devx_query_eqn(struct ibv_context *context, uint32_t vector, uint32_t *eqn)
{
	(void)context, (void)vector;
	*eqn = 1;
	return 0;
}

/* The transport domain of a verbs queue pair, which the verbs engine asks for where there is DevX.
 */
int
mlx5dv_devx_qp_query(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen)
{
	(void)qp, (void)in, (void)inlen;
	memset(out, 0, outlen);
	devx_set(out, DEVX_TIS_DOMAIN, 1);
	return 0;
}
