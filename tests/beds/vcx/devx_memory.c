/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that the driver has registered, which commands name by number and offset. */
#include <stdlib.h>
#include "devx.h"

struct vcx_umem {
	struct mlx5dv_devx_umem dv;
	LIST_ENTRY(vcx_umem) next;
	struct vcx_device *device;
	uint8_t *memory;
	size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, vcx_umem) umems = LIST_HEAD_INITIALIZER(umems);

void *
vcx_devx_memory(struct vcx_device *device, uint32_t number, uint64_t offset, size_t bytes)
{
	struct vcx_umem *umem;
	void *at = NULL;

	pthread_mutex_lock(&lock);
	LIST_FOREACH (umem, &umems, next) {
		if (umem->device == device && umem->dv.umem_id == number && offset <= umem->bytes &&
			bytes <= umem->bytes - offset)
			at = umem->memory + offset;
	}
	pthread_mutex_unlock(&lock);
	return at;
}

struct mlx5dv_devx_umem *
mlx5dv_devx_umem_reg(struct ibv_context *context, void *address, size_t size, uint32_t access)
{
	struct vcx_umem *umem = calloc(1, sizeof(*umem));

	(void)access;
	if (umem == NULL)
		return NULL;
	umem->device = vcx_device_context(context)->device;
	umem->dv.umem_id = vcx_device_number(umem->device);
	umem->memory = address;
	umem->bytes = size;
	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(&umems, umem, next);
	pthread_mutex_unlock(&lock);
	return &umem->dv;
}

int
mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *dv)
{
	struct vcx_umem *umem = (struct vcx_umem *)dv;

	pthread_mutex_lock(&lock);
	LIST_REMOVE(umem, next);
	pthread_mutex_unlock(&lock);
	free(umem);
	return 0;
}
