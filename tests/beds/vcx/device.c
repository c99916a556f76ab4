/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices, contexts, protection domains and memory regions: what a driver does before it has a
 * queue. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "device.h"

#undef ibv_query_port
#undef ibv_reg_mr

/* ---- commands ----------------------------------------------------------------------------------
 */

static void
spend(uint64_t us)
{
	struct timespec time = {
		.tv_sec = (time_t)(us / 1000000), .tv_nsec = (long)(us % 1000000) * 1000};

	while (us > 0 && clock_nanosleep(CLOCK_MONOTONIC, 0, &time, &time) == EINTR)
		;
}

int
vcx_device_asked(struct vcx_device *device, enum vcx_command command)
{
	struct vcx_behaviour *behaviour = &device->behaviour[command];
	int error = 0;

	atomic_fetch_add(&behaviour->given, 1);
	if (atomic_load(&device->removed))
		return EIO;
	pthread_mutex_lock(&device->lock);
	if (behaviour->fail_times > 0 && behaviour->fail_after > 0) {
		behaviour->fail_after--;
	} else if (behaviour->fail_times > 0) {
		behaviour->fail_times--;
		error = behaviour->fail_error;
	}
	pthread_mutex_unlock(&device->lock);
	return error;
}

int
vcx_device_command(struct vcx_device *device, enum vcx_command command)
{
	spend(atomic_load(&device->behaviour[command].latency_us));
	return vcx_device_asked(device, command);
}

void
vcx_device_ended(struct vcx_device *device, enum vcx_command command)
{
	atomic_fetch_add(&device->behaviour[command].given, 1);
	spend(atomic_load(&device->behaviour[command].latency_us));
}

uint32_t
vcx_device_number(struct vcx_device *device)
{
	uint32_t number;

	pthread_mutex_lock(&device->lock);
	number = device->last_number = (device->last_number + 1) & 0xffffff;
	pthread_mutex_unlock(&device->lock);
	return number;
}

/* ---- devices and contexts ----------------------------------------------------------------------
 */

int
ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status
ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

struct ibv_device **
ibv_get_device_list(int *count)
{
	struct ibv_device **list = calloc(VCX_PORTS + 1, sizeof(*list));

	for (unsigned i = 0; list != NULL && i < vcx_device_listed; i++)
		list[i] = &vcx_devices[i].ibv;
	if (count != NULL)
		*count = list != NULL ? (int)vcx_device_listed : 0;
	return list;
}

void
ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *
ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct vcx_context *
vcx_device_context(struct ibv_context *context)
{
	return (struct vcx_context *)((char *)context -
				      offsetof(struct vcx_context, verbs.context));
}

/* The register page is a file, so that a secondary process can map it from the fd that the driver
 * hands over. The device never looks at it. */
static bool
open_files(struct vcx_context *context, int page)
{
	int fds[2];

	if (page < 0 || pipe2(fds, O_CLOEXEC) != 0)
		return false;
	context->uar = mmap(NULL, VCX_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
	context->event_write = fds[1];
	context->verbs.context.cmd_fd = page;
	context->verbs.context.async_fd = fds[0];
	return context->uar != MAP_FAILED;
}

static struct ibv_context *
open_context(struct vcx_device *device, int page)
{
	struct vcx_context *context =
		device->port < vcx_device_count ? calloc(1, sizeof(*context)) : NULL;

	if (context == NULL || atomic_load(&device->removed) || !open_files(context, page)) {
		free(context);
		errno = ENODEV;
		return NULL;
	}
	context->device = device;
	context->verbs.sz = sizeof(context->verbs);
	context->verbs.context.device = &device->ibv;
	context->verbs.context.num_comp_vectors = 1;
	context->verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&context->verbs.context.mutex, NULL);
	vcx_verbs_operations(&context->verbs);
	vcx_objects_operations(&context->verbs);
	vcx_counter_operations(&context->verbs);
	return &context->verbs.context;
}

struct ibv_context *
ibv_open_device(struct ibv_device *ibv)
{
	struct vcx_device *device =
		(struct vcx_device *)((char *)ibv - offsetof(struct vcx_device, ibv));
	int page = memfd_create("vcx-uar", MFD_CLOEXEC);
	struct ibv_context *context =
		page >= 0 && ftruncate(page, VCX_PAGE) == 0 ? open_context(device, page) : NULL;

	if (context == NULL) {
		close(page);
		return NULL;
	}
	pthread_mutex_lock(&device->lock);
	device->context = vcx_device_context(context);
	pthread_mutex_unlock(&device->lock);
	return context;
}

static bool
is_page_of(struct vcx_device *device, int page)
{
	struct stat theirs, ours;
	bool same = false;

	pthread_mutex_lock(&device->lock);
	if (device->context != NULL)
		same = fstat(page, &theirs) == 0 &&
		       fstat(device->context->verbs.context.cmd_fd, &ours) == 0 &&
		       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
	pthread_mutex_unlock(&device->lock);
	return same;
}

/* Another context of an open device, which events do not go to; later drivers keep in it what
 * outlives a port. */
struct ibv_context *
ibv_import_device(int cmd_fd)
{
	for (unsigned i = 0; i < vcx_device_count; i++)
		if (is_page_of(&vcx_devices[i], cmd_fd))
			return open_context(&vcx_devices[i], cmd_fd);
	errno = EINVAL;
	return NULL;
}

int
ibv_close_device(struct ibv_context *ibv)
{
	struct vcx_context *context = vcx_device_context(ibv);
	struct vcx_device *device = context->device;

	pthread_mutex_lock(&device->lock);
	if (device->context == context)
		device->context = NULL;
	pthread_mutex_unlock(&device->lock);
	munmap(context->uar, VCX_PAGE);
	close(ibv->cmd_fd);
	close(ibv->async_fd);
	close(context->event_write);
	free(context);
	return 0;
}

void *
vcx_device_alloc(struct vcx_context *context, size_t bytes)
{
	void *memory;

	bytes = (bytes + VCX_PAGE - 1) & ~(size_t)(VCX_PAGE - 1);
	if (context->has_allocators)
		memory = context->allocators.alloc(bytes, context->allocators.data);
	else
		memory = aligned_alloc(VCX_PAGE, bytes);
	if (memory == NULL)
		errno = ENOMEM;
	else
		memset(memory, 0, bytes);
	return memory;
}

void
vcx_device_free(struct vcx_context *context, void *memory)
{
	if (context->has_allocators)
		context->allocators.free(memory, context->allocators.data);
	else
		free(memory);
}

/* ---- protection domains and memory regions, which only have numbers ----------------------------
 */

struct ibv_pd *
ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (pd != NULL) {
		pd->context = context;
		pd->handle = vcx_device_number(vcx_device_context(context)->device);
	}
	return pd;
}

int
ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

struct ibv_pd *
ibv_import_pd(struct ibv_context *context, uint32_t handle)
{
	(void)context, (void)handle;
	errno = EOPNOTSUPP;
	return NULL;
}

void
ibv_unimport_pd(struct ibv_pd *pd)
{
	(void)pd;
}

struct ibv_mr *
ibv_reg_mr_iova2(
	struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
	struct ibv_mr *mr = calloc(1, sizeof(*mr));

	(void)iova, (void)access;
	if (mr != NULL) {
		mr->context = pd->context;
		mr->pd = pd;
		mr->addr = address;
		mr->length = length;
		mr->handle = mr->lkey = mr->rkey =
			vcx_device_number(vcx_device_context(pd->context)->device);
	}
	return mr;
}

struct ibv_mr *
ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned)access);
}

int
ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	return 0;
}

/* ---- events ------------------------------------------------------------------------------------
 */

void
vcx_device_fatal(struct vcx_device *device)
{
	struct ibv_async_event event = {.event_type = IBV_EVENT_DEVICE_FATAL};

	pthread_mutex_lock(&device->lock);
	atomic_store(&device->removed, true);
	pthread_cond_broadcast(&device->changed);
	if (device->context != NULL) {
		/* A pipe takes an event whole or not at all, and this is the only one. */
		if (write(device->context->event_write, &event, sizeof(event)) != sizeof(event))
			fprintf(stderr, "vcx: port %u: the event is lost\n", device->port);
	}
	pthread_mutex_unlock(&device->lock);
}

int
ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	return read(context->async_fd, event, sizeof(*event)) == sizeof(*event) ? 0 : -1;
}

void
ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}

/* Receive interrupts are not modelled: a driver that asks for a channel is refused. */
struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *context)
{
	(void)context;
	errno = EOPNOTSUPP;
	return NULL;
}

int
ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	(void)channel;
	return 0;
}

int
ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	(void)channel, (void)cq, (void)context;
	errno = EOPNOTSUPP;
	return -1;
}

void
ibv_ack_cq_events(struct ibv_cq *cq, unsigned int events)
{
	(void)cq, (void)events;
}
