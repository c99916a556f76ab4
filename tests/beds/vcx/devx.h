/* SPDX-License-Identifier: BSD-3-Clause */
/* DevX objects, between devx.c, devx_counter.c and dr.c. */
#ifndef VCX_DEVX_H
#define VCX_DEVX_H

#include "device.h"

struct mlx5dv_devx_obj {
	LIST_ENTRY(mlx5dv_devx_obj) next; /* of the device's; only what others refer to by number */
	struct vcx_device *device;
	uint16_t opcode; /* that created it */
	uint32_t number;
	unsigned users;
	union {
		struct vcx_cq cq;
		struct vcx_rq rq;
		struct vcx_sq sq;
		struct {
			struct vcx_rss rss;
			struct mlx5dv_devx_obj *table;
		} tir;
		struct vcx_counters *counters;
	};
	struct vcx_rq_table rqt; /* of a table of receive queues; last, its list follows */
};

/* Registered memory of at least these bytes from the offset on, or NULL. */
void *vcx_devx_memory(struct vcx_device *device, uint32_t number, uint64_t offset, size_t bytes);

/* The counters of an object that has them, otherwise NULL. */
struct vcx_counters *vcx_devx_counters(const struct mlx5dv_devx_obj *obj);
const struct vcx_rss *vcx_devx_rss(const struct mlx5dv_devx_obj *obj);

#endif
