/* SPDX-License-Identifier: BSD-3-Clause */
/* The virtual ConnectX as a test sees it: what can be done to the device behind the driver's back.
 *
 * A program that links libvcx (or is started by scripts/vcx-run) carries the device within itself;
 * every call here then acts on it at once, in the calling thread. A program that is linked with
 * vcx_client.c instead drives the device of another process, through the socket `control` in the
 * directory $VCX_DIR; the calls are the same. README.md has the whole picture.
 *
 * All calls return 0 or a negative errno: -ENODEV no such port, or the device was removed; -EINVAL
 * an argument out of range; -ENOTCONN (client only) no device answers in $VCX_DIR. They may be made
 * from any thread, at any time from the constructor of the library until the process exits. */
#ifndef VCX_H
#define VCX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VCX_PORTS 2
#define VCX_FRAME_MAX 9216 /* bytes of one packet */
#define VCX_DATA_MAX 65536 /* bytes of one request or reply, beside its numbers */

/* What a driver asks of the device's firmware. Each kind has its own latency, failures and count.
 */
enum vcx_command {
	VCX_RULE_CREATE,
	VCX_RULE_DESTROY,
	VCX_COUNTER_CREATE, /* one counter in verbs, a bulk of them in DV */
	VCX_COUNTER_DESTROY,
	VCX_COUNTER_QUERY,       /* answered before the call returns */
	VCX_COUNTER_QUERY_ASYNC, /* a bulk; answered through an event */
	VCX_QUEUE_CREATE,        /* CQ, RQ, SQ and what leads to them */
	VCX_QUEUE_DESTROY,
	VCX_COMMANDS,
};

/* What became of injected packets; the parts add up to what was injected. */
struct vcx_injected {
	uint64_t delivered; /* written to a receive queue, its completion posted */
	uint64_t dropped;   /* by a rule */
	uint64_t unmatched; /* no rule at the end of the way: it would go to the kernel */
	uint64_t no_buffer; /* a rule led to a queue without room */
};

/* Where transmitted packets go, beside being counted. */
enum vcx_tx_mode {
	VCX_TX_DROP,
	VCX_TX_CAPTURE, /* kept, at most 4096, for vcx_tx_read() */
	VCX_TX_LOOP,    /* received by the same port, patiently */
	VCX_TX_WIRE,    /* received by the other port */
};

struct vcx_stats {
	struct vcx_injected rx; /* since the process started */
	uint64_t tx_packets;
	uint64_t tx_bytes;
	uint64_t rules;    /* alive now, the driver's own among them */
	uint64_t counters; /* alive now */
	uint64_t commands[VCX_COMMANDS];
};

/* Receives `times` copies of one packet, as if from the wire. With `patient`, a full queue is
 * waited for, up to 30 seconds for each packet; otherwise the packet is lost as `no_buffer`, after
 * it counted in its rule, as in hardware. `result` may be NULL. */
int vcx_inject(unsigned port, const void *packet, size_t length, uint64_t times, bool patient,
	struct vcx_injected *result);

/* Each command of this kind takes `us` microseconds longer, in the thread that gives it. */
int vcx_latency(unsigned port, enum vcx_command command, uint64_t us);

/* The `after` next commands of this kind succeed, the `times` after those fail with `error`, a
 * positive errno; times 0 ends all failing. */
int vcx_fail(unsigned port, enum vcx_command command, uint64_t after, uint64_t times, int error);

/* The device has no more than this many counters: creating one more is ENOSPC. 0: no limit. */
int vcx_counter_limit(unsigned port, uint64_t counters);

/* While held, the device counts on but does not tell: a query returns, with success, what was told
 * last, and an asynchronous query is not answered before release. */
int vcx_hold(unsigned port, bool held);

/* The device is gone, as after a surprise removal: its event queue says DEVICE_FATAL, commands fail
 * with EIO, packets move no more. Destroying objects still works. It does not come back. */
int vcx_remove(unsigned port);

int vcx_stats(unsigned port, struct vcx_stats *stats);

int vcx_tx_mode(unsigned port, enum vcx_tx_mode mode);

/* Sends at once what the driver has posted, instead of when the transmitting thread next looks
 * (within a millisecond). `sent` may be NULL. */
int vcx_tx_flush(unsigned port, uint64_t *sent);

/* Takes the oldest captured packet; *length goes from the buffer's size to the packet's. -EAGAIN:
 * there is none; -EMSGSIZE: it is longer, and stays. */
int vcx_tx_read(unsigned port, void *packet, size_t *length);

/* The name of the port's kernel interface, a tap that exists as long as the device. */
int vcx_ifname(unsigned port, char *name, size_t size);

/* ---- below the calls: one request, one reply ---------------------------------------------------
 */

enum vcx_op {
	VCX_OP_INJECT = 1, /* arg: times, patient; data: packet; value: struct vcx_injected */
	VCX_OP_LATENCY,    /* arg: command, us */
	VCX_OP_FAIL,       /* arg: command, after, times, errno */
	VCX_OP_LIMIT,      /* arg: counters */
	VCX_OP_HOLD,       /* arg: held */
	VCX_OP_REMOVE,
	VCX_OP_STATS,    /* value: struct vcx_stats */
	VCX_OP_TX_MODE,  /* arg: mode */
	VCX_OP_TX_FLUSH, /* value: packets */
	VCX_OP_TX_READ,  /* arg: room; data: packet */
	VCX_OP_IFNAME,   /* data: name */
};

struct vcx_request {
	uint32_t op;
	uint32_t port;
	uint64_t arg[4];
	uint32_t length;
	uint8_t data[];
};

struct vcx_reply {
	int32_t result;
	uint32_t length;
	uint64_t value[32];
	uint8_t data[VCX_DATA_MAX];
};

/* One or the other: in the library it acts, in the client it asks. */
int vcx_call(const struct vcx_request *request, struct vcx_reply *reply);

#endif
