/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include "device.h"

struct ibv_context *
mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	(void)device, (void)attr;
	errno = EOPNOTSUPP;
	return NULL;
}

struct mlx5dv_dr_action {
	struct ibv_qp *qp;
};

struct mlx5dv_dr_action *
mlx5dv_dr_action_create_dest_ibv_qp(struct ibv_qp *qp)
{
	struct mlx5dv_dr_action *action = calloc(1, sizeof(*action));

	if (action != NULL)
		action->qp = qp;
	return action;
}

int
mlx5dv_dr_action_destroy(struct mlx5dv_dr_action *action)
{
	free(action);
	return 0;
}
