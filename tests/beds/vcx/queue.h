/* SPDX-License-Identifier: BSD-3-Clause */
/* The data path's rings: what the device reads from and writes to the memory that it shares with
 * the driver, in the formats of <infiniband/mlx5dv.h>.
 *
 * A completion queue (CQ) is written by the device. Entry i, counted from 0 for ever, stands at i
 * modulo the size; its owner bit is the parity of i divided by the size, which flips with each
 * round, so that the driver sees that an entry is new. The driver says in the doorbell record how
 * many it has taken.
 *
 * A receive queue (RQ) holds buffers: scatter entries of 16 bytes, `segments` for one packet. Its
 * doorbell record is the number of packets for which there ever were buffers, modulo 2^16.
 *
 * A send queue (SQ) holds work queue entries (WQEs) in blocks of 64 bytes; its doorbell record is
 * the number of blocks ever posted, modulo 2^16. The device looks at it, instead of at the write to
 * the register page that follows it, which memory cannot notice.
 *
 * Nothing here locks; the device's lock is held by whoever calls. */
#ifndef VCX_QUEUE_H
#define VCX_QUEUE_H

#include <sys/queue.h>
#include <infiniband/mlx5dv.h>
#include "packet.h"

struct vcx_cq {
	struct mlx5_cqe64 *entries;
	uint32_t count; /* a power of two */
	uint32_t posted;
	uint32_t number;
	const volatile __be32 *doorbell;
};

struct vcx_rq {
	struct vcx_cq *cq;
	struct mlx5_wqe_data_seg *entries;
	uint32_t count;    /* of packets; a power of two */
	uint32_t segments; /* of a packet */
	uint16_t taken;
	uint32_t number;
	const volatile __be32 *doorbell;
	bool ready;
	bool strip_vlan;
	unsigned users; /* indirection tables that lead here */
};

struct vcx_sq {
	LIST_ENTRY(vcx_sq) next;
	struct vcx_cq *cq;
	uint8_t *blocks;
	uint32_t count; /* of blocks; a power of two */
	uint16_t taken;
	uint32_t number;
	const volatile __be32 *doorbell;
	bool ready;
};

struct vcx_rq_table {
	uint32_t count; /* a power of two */
	struct vcx_rq *queues[];
};

/* Where rules send packets: the queue that the hash selects. */
struct vcx_rss {
	uint64_t fields; /* IBV_RX_HASH_* */
	uint8_t key[40];
	const struct vcx_rq_table *table;
};

/* Every entry is marked as invalid and nothing has been posted. */
void vcx_queue_cq_reset(struct vcx_cq *cq);

/* False: the queue is not ready, or has no buffer, or the packet does not fit into one. `tag` is in
 * the format of the completion: 24 bits, 0 for none. */
bool vcx_queue_deliver(const struct vcx_rss *rss, const struct vcx_packet *packet, uint32_t tag);

/* Takes the next packet that was posted and copies it to `frame`, of VCX_FRAME_MAX bytes; a WQE
 * that carries none is passed over. Completions are posted as asked for. Returns its length, 0
 * where nothing is posted. */
size_t vcx_queue_take(struct vcx_sq *sq, uint8_t *frame);

#endif
