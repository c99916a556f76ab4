/* SPDX-License-Identifier: BSD-3-Clause */
/* What the driver's library refers to and this device does not have. Each call is refused, so that
 * none ever reaches the real library with an object that is not its own. */
#include <errno.h>
#include "device.h"

#define NOTHING(type, name, parameters) \
	type name parameters            \
	{                               \
		errno = EOPNOTSUPP;     \
		return NULL;            \
	}

#define REFUSED(name, parameters)  \
	int name parameters        \
	{                          \
		return EOPNOTSUPP; \
	}

#define EMPTY(name, parameters) \
	void name parameters    \
	{                       \
	}

/* Rules by the kernel's interface, which HWS has below its own. */
NOTHING(struct mlx5dv_flow_matcher *, mlx5dv_create_flow_matcher,
	(struct ibv_context * context, struct mlx5dv_flow_matcher_attr *attr))
REFUSED(mlx5dv_destroy_flow_matcher, (struct mlx5dv_flow_matcher * matcher))
/* The name that a driver was built to look for depends on its rdma-core: later headers declare the
 * second, and make the first a macro. */
#undef mlx5dv_create_flow
struct ibv_flow *mlx5dv_create_flow(struct mlx5dv_flow_matcher *matcher,
	struct mlx5dv_flow_match_parameters *value, size_t count,
	struct mlx5dv_flow_action_attr actions[]);
struct ibv_flow *__mlx5dv_create_flow(struct mlx5dv_flow_matcher *matcher,
	struct mlx5dv_flow_match_parameters *value, size_t count,
	struct mlx5dv_flow_action_attr actions[], size_t size);
NOTHING(struct ibv_flow *, mlx5dv_create_flow,
	(struct mlx5dv_flow_matcher * matcher, struct mlx5dv_flow_match_parameters *value,
		size_t count, struct mlx5dv_flow_action_attr actions[]))
NOTHING(struct ibv_flow *, __mlx5dv_create_flow,
	(struct mlx5dv_flow_matcher * matcher, struct mlx5dv_flow_match_parameters *value,
		size_t count, struct mlx5dv_flow_action_attr actions[], size_t size))
NOTHING(struct ibv_flow_action *, mlx5dv_create_flow_action_modify_header,
	(struct ibv_context * context, size_t size, uint64_t actions[],
		enum mlx5dv_flow_table_type type))
NOTHING(struct ibv_flow_action *, mlx5dv_create_flow_action_packet_reformat,
	(struct ibv_context * context, size_t size, void *data,
		enum mlx5dv_flow_action_packet_reformat_type reformat,
		enum mlx5dv_flow_table_type type))

NOTHING(struct mlx5dv_steering_anchor *, mlx5dv_create_steering_anchor,
	(struct ibv_context * context, struct mlx5dv_steering_anchor_attr *attr))
REFUSED(mlx5dv_destroy_steering_anchor, (struct mlx5dv_steering_anchor * anchor))

/* Actions that change packets, measure them, copy them or send them elsewhere. */
NOTHING(struct mlx5dv_dr_action *, mlx5dv_dr_action_create_aso,
	(struct mlx5dv_dr_domain * domain, struct mlx5dv_devx_obj *obj, uint32_t offset,
		uint32_t flags, uint8_t reg))
NOTHING(struct mlx5dv_dr_action *, mlx5dv_dr_action_create_dest_array,
	(struct mlx5dv_dr_domain * domain, size_t count,
		struct mlx5dv_dr_action_dest_attr *dests[]))
NOTHING(struct mlx5dv_dr_action *, mlx5dv_dr_action_create_dest_ib_port,
	(struct mlx5dv_dr_domain * domain, uint32_t port))
NOTHING(struct mlx5dv_dr_action *, mlx5dv_dr_action_create_dest_root_table,
	(struct mlx5dv_dr_table * table, uint16_t priority))
NOTHING(struct mlx5dv_dr_action *, mlx5dv_dr_action_create_flow_meter,
	(struct mlx5dv_dr_flow_meter_attr * attr))
REFUSED(mlx5dv_dr_action_modify_flow_meter,
	(struct mlx5dv_dr_action * action, struct mlx5dv_dr_flow_meter_attr *attr, __be64 fields))
NOTHING(struct mlx5dv_dr_action *, mlx5dv_dr_action_create_flow_sampler,
	(struct mlx5dv_dr_flow_sampler_attr * attr))
NOTHING(struct mlx5dv_dr_action *, mlx5dv_dr_action_create_modify_header,
	(struct mlx5dv_dr_domain * domain, uint32_t flags, size_t size, __be64 actions[]))
NOTHING(struct mlx5dv_dr_action *, mlx5dv_dr_action_create_packet_reformat,
	(struct mlx5dv_dr_domain * domain, uint32_t flags,
		enum mlx5dv_flow_action_packet_reformat_type type, size_t size, void *data))
NOTHING(struct mlx5dv_dr_action *, mlx5dv_dr_action_create_pop_vlan, (void))
NOTHING(struct mlx5dv_dr_action *, mlx5dv_dr_action_create_push_vlan,
	(struct mlx5dv_dr_domain * domain, __be32 vlan))

/* Events of queues, packet pacing, virtio, E-Switch. */
NOTHING(struct mlx5dv_devx_event_channel *, mlx5dv_devx_create_event_channel,
	(struct ibv_context * context, enum mlx5dv_devx_create_event_channel_flags flags))
EMPTY(mlx5dv_devx_destroy_event_channel, (struct mlx5dv_devx_event_channel * channel))
REFUSED(mlx5dv_devx_subscribe_devx_event,
	(struct mlx5dv_devx_event_channel * channel, struct mlx5dv_devx_obj *obj, uint16_t size,
		uint16_t events[], uint64_t cookie))
REFUSED(mlx5dv_devx_subscribe_devx_event_fd, (struct mlx5dv_devx_event_channel * channel, int fd,
						     struct mlx5dv_devx_obj *obj, uint16_t event))
REFUSED(mlx5dv_devx_wq_query,
	(struct ibv_wq * wq, const void *in, size_t inlen, void *out, size_t outlen))
NOTHING(struct mlx5dv_pp *, mlx5dv_pp_alloc,
	(struct ibv_context * context, size_t size, const void *data, uint32_t flags))
EMPTY(mlx5dv_pp_free, (struct mlx5dv_pp * pp))
NOTHING(struct mlx5dv_var *, mlx5dv_alloc_var, (struct ibv_context * context, uint32_t flags))
EMPTY(mlx5dv_free_var, (struct mlx5dv_var * var))
REFUSED(_mlx5dv_query_port,
	(struct ibv_context * context, uint32_t port, struct mlx5dv_port *info, size_t size))

ssize_t
mlx5dv_devx_get_event(struct mlx5dv_devx_event_channel *channel,
	struct mlx5dv_devx_async_event_hdr *event, size_t size)
{
	errno = EOPNOTSUPP;
	return -1;
}
