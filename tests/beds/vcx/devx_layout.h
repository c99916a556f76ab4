/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of DevX commands that the device reads or writes. A command is what the driver would
 * hand to the firmware: numbers in big-endian, at bit offsets that the ConnectX programming
 * reference fixes. Here each is "bit from the start of its structure, width"; a structure's own
 * place is in bytes. */
#ifndef VCX_DEVX_LAYOUT_H
#define VCX_DEVX_LAYOUT_H

#include <stdint.h>

enum {
	DEVX_QUERY_HCA_CAP = 0x100,
	DEVX_CREATE_MKEY = 0x200,
	DEVX_CREATE_CQ = 0x400,
	DEVX_ALLOC_Q_COUNTER = 0x771,
	DEVX_QUERY_Q_COUNTER = 0x773,
	DEVX_ALLOC_TRANSPORT_DOMAIN = 0x816,
	DEVX_CREATE_TIR = 0x900,
	DEVX_MODIFY_TIR = 0x901,
	DEVX_CREATE_SQ = 0x904,
	DEVX_MODIFY_SQ = 0x905,
	DEVX_CREATE_RQ = 0x908,
	DEVX_MODIFY_RQ = 0x909,
	DEVX_CREATE_TIS = 0x912,
	DEVX_CREATE_RQT = 0x916,
	DEVX_MODIFY_RQT = 0x917,
	DEVX_ALLOC_FLOW_COUNTER = 0x939,
	DEVX_QUERY_FLOW_COUNTER = 0x93b,
};

/* All commands and replies. */
#define DEVX_OPCODE 0x00, 16
#define DEVX_OP_MOD 0x30, 16
#define DEVX_REPLY_NUMBER 0x40, 32 /* of the object that was created */

/* QUERY_HCA_CAP: the operation modifier is what to query, shifted, and whether maximal or current.
 */
#define DEVX_CAP_KIND(modifier) ((modifier) >> 1)
#define DEVX_CAP_BYTES 0x10 /* where capabilities begin in the reply */
enum {
	DEVX_CAP_GENERAL = 0,
	DEVX_CAP_ETHERNET = 1,
	DEVX_CAP_FLOW_TABLE = 7,
};
#define DEVX_CAP_LOG_MAX_QP_SZ 0x88, 8
#define DEVX_CAP_LOG_MAX_QP 0x9b, 5
#define DEVX_CAP_LOG_MAX_CQ_SZ 0xc8, 8
#define DEVX_CAP_LOG_MAX_CQ 0xdb, 5
#define DEVX_CAP_LOG_MAX_MRW_SZ 0x109, 7
#define DEVX_CAP_NIC_FLOW_TABLE 0x1a6, 1
#define DEVX_CAP_ETH_NET_OFFLOADS 0x21c, 1
#define DEVX_CAP_MAX_WQE_SZ_SQ 0x290, 16
#define DEVX_CAP_COUNTER_BULK_ALLOC 0x310, 8 /* a bit for each size: 128, 256, 512, ... */
#define DEVX_CAP_LOG_MAX_PD 0x32b, 5
#define DEVX_CAP_COUNTERS_DUMP 0x361, 1
#define DEVX_CAP_LOG_MAX_RQT_SIZE 0x393, 5
#define DEVX_CAP_LOG_MAX_WQ_SZ 0x3db, 5
#define DEVX_CAP_FREQUENCY_KHZ 0x4e0, 32
#define DEVX_ETH_CSUM 0x00, 1
#define DEVX_ETH_VLAN 0x01, 1
#define DEVX_ETH_INLINE_MODE 0x12, 2
#define DEVX_ETH_INLINE_NOT_REQUIRED 2
#define DEVX_ETH_RSS_TABLE 0x14, 4

/* CREATE_CQ. */
#define DEVX_CQ_CONTEXT 0x10
#define DEVX_CQ_DOORBELL_UMEM 0x20, 32
#define DEVX_CQ_LOG_SIZE 0x63, 5
#define DEVX_CQ_DOORBELL_OFFSET 0x1c0
#define DEVX_CREATE_CQ_OFFSET 0x280
#define DEVX_CREATE_CQ_UMEM 0x2c0, 32

/* CREATE_RQ and CREATE_SQ: one context, in which a work queue's stands. */
#define DEVX_CONTEXT 0x20 /* of RQ, SQ, RQT and TIR, also in MODIFY */
#define DEVX_RQ_NO_STRIP 0x03, 1
#define DEVX_QUEUE_STATE 0x08, 4
#define DEVX_QUEUE_READY 1
#define DEVX_QUEUE_CQN 0x48, 24
#define DEVX_WQ 0x30 /* in the context */
#define DEVX_WQ_TYPE 0x00, 4
#define DEVX_WQ_CYCLIC 1
#define DEVX_WQ_DOORBELL_OFFSET 0x80
#define DEVX_WQ_LOG_STRIDE 0x10c, 4
#define DEVX_WQ_LOG_SIZE 0x11b, 5
#define DEVX_WQ_DOORBELL_UMEM 0x140, 32
#define DEVX_WQ_UMEM 0x160, 32
#define DEVX_WQ_OFFSET 0x180
#define DEVX_MODIFY_MASK 0x80
#define DEVX_MODIFY_RQ_STRIP (1 << 1)

/* CREATE_RQT: behind its context, the numbers of the queues. */
#define DEVX_RQT_MAX_SIZE 0xb0, 16
#define DEVX_RQT_SIZE 0xd0, 16
#define DEVX_RQT_LIST 0x110 /* in the command */

/* CREATE_TIR. */
#define DEVX_TIR_TABLE 0x108, 24
#define DEVX_TIR_KEY 0x28
#define DEVX_TIR_OUTER 0x280
#define DEVX_TIR_INNER 0x2a0
#define DEVX_HASH_IPV6 0x00, 1
#define DEVX_HASH_UDP 0x01, 1
#define DEVX_HASH_FIELDS 0x02, 30
#define DEVX_MODIFY_TIR_TABLE (1 << 1)
#define DEVX_MODIFY_TIR_HASH (1 << 2)

/* Flow counters. */
#define DEVX_COUNTER_BULK 0x78, 8 /* in 128; 0: one counter */
#define DEVX_QUERY_ADDRESS 0x80
#define DEVX_QUERY_DUMP 0xc1, 1
#define DEVX_QUERY_COUNT 0xc2, 30
#define DEVX_QUERY_NUMBER 0xe0, 32
#define DEVX_QUERY_REPLY 0x10 /* packets, bytes: 64 bits each, big-endian */
#define DEVX_COUNTER_BYTES 16

/* QUERY_Q_COUNTER: what was lost because queues had no buffer. */
#define DEVX_Q_OUT_OF_BUFFER 0x180, 32

/* QUERY_TIS. */
#define DEVX_TIS_DOMAIN 0x1a8, 24

static inline uint32_t
devx_get(const void *from, unsigned bit, unsigned width)
{
	const uint8_t *bytes = from;
	uint32_t value = 0;

	for (unsigned at = bit; at < bit + width; at++)
		value = value << 1 | (bytes[at / 8] >> (7 - at % 8) & 1);
	return value;
}

static inline uint64_t
devx_get64(const void *from, unsigned bit)
{
	return (uint64_t)devx_get(from, bit, 32) << 32 | devx_get(from, bit + 32, 32);
}

static inline void
devx_set(void *to, unsigned bit, unsigned width, uint32_t value)
{
	uint8_t *bytes = to;

	for (unsigned i = 0; i < width; i++) {
		unsigned at = bit + width - 1 - i;
		uint8_t one = (uint8_t)(0x80 >> at % 8);

		bytes[at / 8] =
			(uint8_t)(value >> i & 1 ? bytes[at / 8] | one : bytes[at / 8] & ~one);
	}
}

#endif
