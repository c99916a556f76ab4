/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's state, one for each port, and what the files of the library call of each other. */
#ifndef VCX_DEVICE_H
#define VCX_DEVICE_H

#include <limits.h>
#include <net/if.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <infiniband/mlx5dv.h>
#include "match.h"
#include "queue.h"
#include "vcx.h"

#define VCX_CAPTURED_MAX 4096

/* Counters that are created together: one in verbs, up to thousands in DV. */
struct vcx_counters {
	LIST_ENTRY(vcx_counters) next;
	struct vcx_device *device;
	uint32_t number; /* of the first */
	uint32_t count;
	struct vcx_counter counter[];
};

struct vcx_captured {
	TAILQ_ENTRY(vcx_captured) next;
	size_t length;
	uint8_t frame[];
};

/* How commands of one kind behave (vcx_latency, vcx_fail) and how many there were. */
struct vcx_behaviour {
	_Atomic uint64_t latency_us;
	_Atomic uint64_t given;
	uint64_t fail_after, fail_times; /* under the lock */
	int fail_error;
};

struct vcx_device {
	struct ibv_device ibv;
	unsigned port;
	char pci[16];
	char ifname[IF_NAMESIZE];
	int tap;
	_Atomic bool removed;
	struct vcx_behaviour behaviour[VCX_COMMANDS];

	pthread_mutex_t lock;     /* of everything below */
	struct vcx_table root;    /* where what comes in begins */
	struct vcx_table tx_root; /* and what goes out */
	LIST_HEAD(, vcx_sq) sqs;
	LIST_HEAD(, vcx_counters) counters;
	uint64_t counter_count, counter_limit, rule_count;
	bool held;
	pthread_cond_t changed; /* a hold ended, a bulk was asked for, the device went */
	struct vcx_injected rx;
	uint64_t tx_packets, tx_bytes;
	enum vcx_tx_mode tx_mode;
	TAILQ_HEAD(, vcx_captured) captured;
	unsigned captured_count;
	uint32_t last_number; /* of any object */
	struct vcx_context *context;
};

/* What ibv_open_device() returns, in the layout that the inline calls of verbs.h look for. */
struct vcx_context {
	struct vcx_device *device;
	struct mlx5dv_ctx_allocators allocators;
	bool has_allocators;
	void *uar; /* the register page, which secondary processes map from cmd_fd */
	int event_write;
	struct verbs_context verbs; /* last: it ends in struct ibv_context */
};

/* sysfs.c: how many ports there are, 0 where the device cannot be or is another process's. */
extern unsigned vcx_device_count;
/* Those that can be seen: also the ports of another process. */
extern unsigned vcx_device_listed;
extern struct vcx_device vcx_devices[VCX_PORTS];
const char *vcx_sysfs_directory(void);
/* The word after `name=` in VCX_OPTIONS, or a number otherwise. */
unsigned vcx_sysfs_option(const char *name, unsigned otherwise);

/* device.c */
struct vcx_context *vcx_device_context(struct ibv_context *context);
#define VCX_PAGE 4096
/* Memory that secondary processes see too, where the driver gave an allocator. Zeroed; NULL: errno.
 */
void *vcx_device_alloc(struct vcx_context *context, size_t bytes);
void vcx_device_free(struct vcx_context *context, void *memory);
/* Notes the command, takes its time, and says how it ends: 0 or a positive errno. Without the lock.
 */
int vcx_device_command(struct vcx_device *device, enum vcx_command command);
/* The same without the time, which the answer takes. */
int vcx_device_asked(struct vcx_device *device, enum vcx_command command);
/* For the ends of objects, which never fail. */
void vcx_device_ended(struct vcx_device *device, enum vcx_command command);
uint32_t vcx_device_number(struct vcx_device *device);
void vcx_device_fatal(struct vcx_device *device);

/* The context operations, which are no symbols. */
void vcx_verbs_operations(struct verbs_context *verbs);
void vcx_objects_operations(struct verbs_context *verbs);

/* flow.c */
struct ibv_flow *vcx_flow_create(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int vcx_flow_destroy(struct ibv_flow *flow);
const struct vcx_rss *vcx_objects_rss(struct ibv_qp *qp);
void vcx_objects_use(struct ibv_qp *qp, int users);

/* counter.c */
struct vcx_counters *vcx_counter_create(struct vcx_device *device, uint32_t count);
void vcx_counter_destroy(struct vcx_counters *counters);
void vcx_counter_hold(struct vcx_device *device, bool held);
/* Packets and bytes as the device tells them now. With the lock. */
void vcx_counter_read(const struct vcx_counters *counters, uint32_t index, uint64_t value[2]);
void vcx_counter_operations(struct verbs_context *verbs);
struct vcx_counters *vcx_counter_of(struct ibv_counters *counters);

/* wire.c: packets in and out. */
int vcx_wire_receive(struct vcx_device *device, const void *data, size_t length, uint64_t times,
	bool patient, struct vcx_injected *result);
uint64_t vcx_wire_transmit(struct vcx_device *device);
int vcx_wire_captured(struct vcx_device *device, size_t room, void *frame, size_t *length);
/* The thread that transmits; started with the first send queue. */
void vcx_wire_start(void);

/* control.c */
void vcx_control_start(const char *directory);

#endif
