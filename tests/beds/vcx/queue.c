/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>
#include <string.h>
#include "queue.h"
#include "vcx.h"

enum {
	/* hdr_type_etc of a receive completion, as the driver reads it */
	CQE_VLAN_STRIPPED = 1 << 0,
	CQE_L3_SHIFT = 2, /* 1 IPv6, 2 IPv4 */
	CQE_L4_SHIFT = 4, /* 1 TCP, 2 UDP */
	CQE_FRAGMENT = 1 << 7,
	CQE_L2_OK = 1 << 8,
	CQE_L3_OK = 1 << 9,
	CQE_L4_OK = 1 << 10,
	CQE_TUNNELLED = 1 << 0, /* of pkt_info */
	CQE_OUTER_IPV4 = 1 << 1,
	CQE_HASH_OFFSET = 12,
	WQE_COMPLETE = 1 << 3, /* of fm_ce_se: a completion in any case */
	WQE_COMPLETE_MASK = 3 << 2,
	WQE_INLINE_SEGMENT = 1u << 31,
	WQE_BLOCK = 64,
	WQE_SEGMENT = 16,
};

void
vcx_queue_cq_reset(struct vcx_cq *cq)
{
	memset(cq->entries, 0, cq->count * sizeof(*cq->entries));
	for (uint32_t i = 0; i < cq->count; i++)
		cq->entries[i].op_own = MLX5_CQE_INVALID << 4;
	cq->posted = 0;
}

static bool
cq_has_room(const struct vcx_cq *cq)
{
	return ((cq->posted - be32toh(*cq->doorbell)) & 0xffffff) < cq->count;
}

/* The last byte makes the entry valid: the driver's acquire of it is the partner of this release.
 */
static void
cq_post(struct vcx_cq *cq, const struct mlx5_cqe64 *contents, uint8_t opcode)
{
	struct mlx5_cqe64 *entry = &cq->entries[cq->posted & (cq->count - 1)];
	uint8_t owner = (cq->posted & cq->count) != 0;

	memcpy(entry, contents, offsetof(struct mlx5_cqe64, op_own));
	atomic_store_explicit((_Atomic uint8_t *)&entry->op_own, (uint8_t)(opcode << 4 | owner),
		memory_order_release);
	cq->posted++;
}

/* ---- receive -----------------------------------------------------------------------------------
 */

static uint16_t
header_types(const struct vcx_packet *packet)
{
	unsigned section = packet->tunnel ? VCX_INNER : VCX_OUTER;
	uint32_t version = vcx_packet_get(&packet->key, section, VCX_IP_VERSION);
	uint32_t protocol = vcx_packet_get(&packet->key, section, VCX_IP_PROTOCOL);
	bool l4 = vcx_packet_get(&packet->key, section, VCX_L4_OK);
	unsigned types = CQE_L2_OK;

	if (version != 0)
		types |= CQE_L3_OK | (version == 4 ? 2u : 1u) << CQE_L3_SHIFT;
	if (l4)
		types |= CQE_L4_OK | (protocol == 6 ? 1u : 2u) << CQE_L4_SHIFT;
	if (vcx_packet_get(&packet->key, section, VCX_IP_FRAGMENT))
		types |= CQE_FRAGMENT;
	return (uint16_t)types;
}

/* Copies to the buffers of one packet; false where they are too short. */
static bool
scatter(struct vcx_rq *rq, const struct vcx_packet *packet, size_t skip)
{
	const struct mlx5_wqe_data_seg *segment =
		&rq->entries[(rq->taken & (rq->count - 1)) * rq->segments];
	size_t tag_at = skip > 0 ? 12 : packet->length, room = 0, at = 0;

	for (uint32_t i = 0; i < rq->segments; i++)
		room += be32toh(segment[i].byte_count);
	if (room < packet->length - skip)
		return false;
	for (; at < packet->length; segment++) {
		uint8_t *to = (uint8_t *)(uintptr_t)be64toh(segment->addr);

		for (size_t left = be32toh(segment->byte_count); left > 0 && at < packet->length;) {
			size_t end = at < tag_at ? tag_at : packet->length, bytes = end - at;

			bytes = bytes < left ? bytes : left;
			memcpy(to, packet->data + at, bytes);
			to += bytes;
			left -= bytes;
			at += bytes;
			at += at == tag_at ? skip : 0;
		}
	}
	return true;
}

bool
vcx_queue_deliver(const struct vcx_rss *rss, const struct vcx_packet *packet, uint32_t tag)
{
	uint32_t hash = vcx_packet_hash(packet, rss->fields, rss->key);
	struct vcx_rq *rq = rss->table->queues[hash & (rss->table->count - 1)];
	size_t skip = rq->strip_vlan && packet->vlan ? 4 : 0;
	struct mlx5_cqe64 cqe = {.rsvd0 = {0}};
	uint16_t types = header_types(packet);
	uint8_t pkt_info = 0;

	if (!rq->ready || (uint16_t)be32toh(*rq->doorbell) == rq->taken || !cq_has_room(rq->cq))
		return false;
	atomic_thread_fence(memory_order_acquire); /* the entry is read after the doorbell record */
	if (!scatter(rq, packet, skip))
		return false;
	if (packet->tunnel) {
		bool outer4 = vcx_packet_get(&packet->key, VCX_OUTER, VCX_IP_VERSION) == 4;

		pkt_info = CQE_TUNNELLED | (outer4 ? CQE_OUTER_IPV4 : 0);
	}
	if (skip > 0) {
		types |= CQE_VLAN_STRIPPED;
		cqe.vlan_info = htobe16(packet->vlan_tci);
	}
	hash = htobe32(hash);
	types = htobe16(types);
	memcpy(&cqe, &pkt_info, 1);
	memcpy((uint8_t *)&cqe + CQE_HASH_OFFSET, &hash, sizeof(hash));
	memcpy(&cqe.hds_ip_ext, &types, sizeof(types));
	cqe.byte_cnt = htobe32((uint32_t)(packet->length - skip));
	cqe.sop_drop_qpn = htobe32(tag);
	cqe.wqe_counter = htobe16(rq->taken);
	rq->taken++;
	cq_post(rq->cq, &cqe, MLX5_CQE_RESP_SEND);
	return true;
}

/* ---- send --------------------------------------------------------------------------------------
 */

/* Copies `bytes` that begin `at` bytes into the ring, which wraps, and adds them to the frame. */
static size_t
take_inline(const struct vcx_sq *sq, size_t at, size_t bytes, uint8_t *frame, size_t length)
{
	size_t ring = (size_t)sq->count * WQE_BLOCK;

	for (; bytes > 0 && length < VCX_FRAME_MAX; bytes--)
		frame[length++] = sq->blocks[at++ % ring];
	return length;
}

static size_t
take_pointer(const struct mlx5_wqe_data_seg *segment, uint8_t *frame, size_t length)
{
	size_t bytes = be32toh(segment->byte_count), room = VCX_FRAME_MAX - length;

	bytes = bytes < room ? bytes : room;
	memcpy(frame + length, (const void *)(uintptr_t)be64toh(segment->addr), bytes);
	return length + bytes;
}

/* Gathers what a SEND of `segments` segments, from the ring's byte `base` on, carries. The Ethernet
 * segment's inline header runs on into the segments behind it. */
static size_t
gather(const struct vcx_sq *sq, size_t base, unsigned segments, uint8_t *frame)
{
	size_t ring = (size_t)sq->count * WQE_BLOCK, length = 0, header;
	struct mlx5_wqe_eth_seg eth;
	unsigned i;

	memcpy(&eth, sq->blocks + (base + WQE_SEGMENT) % ring, WQE_SEGMENT);
	header = be16toh(eth.inline_hdr_sz) & 0x3fff;
	length = take_inline(sq,
		base + WQE_SEGMENT + offsetof(struct mlx5_wqe_eth_seg, inline_hdr_start), header,
		frame, length);
	i = 2 + (header > 2 ? (unsigned)(header - 2 + WQE_SEGMENT - 1) / WQE_SEGMENT : 0);
	while (i < segments) {
		size_t at = (base + (size_t)i * WQE_SEGMENT) % ring;
		struct mlx5_wqe_data_seg segment;
		uint32_t count;

		memcpy(&segment, sq->blocks + at, sizeof(segment));
		count = be32toh(segment.byte_count);
		if (count & WQE_INLINE_SEGMENT) {
			count &= ~WQE_INLINE_SEGMENT;
			length = take_inline(sq, at + 4, count, frame, length);
			i += (4 + count + WQE_SEGMENT - 1) / WQE_SEGMENT;
		} else {
			length = take_pointer(&segment, frame, length);
			i++;
		}
	}
	return length;
}

static void
complete(struct vcx_sq *sq, const struct mlx5_wqe_ctrl_seg *ctrl, uint16_t index)
{
	struct mlx5_cqe64 cqe = {.rsvd0 = {0}};

	if ((ctrl->fm_ce_se & WQE_COMPLETE_MASK) != WQE_COMPLETE)
		return;
	cqe.sop_drop_qpn = htobe32(sq->number);
	cqe.wqe_counter = htobe16(index);
	cq_post(sq->cq, &cqe, MLX5_CQE_REQ);
}

size_t
vcx_queue_take(struct vcx_sq *sq, uint8_t *frame)
{
	while (sq->ready && (uint16_t)be32toh(*sq->doorbell) != sq->taken && cq_has_room(sq->cq)) {
		size_t base = (size_t)(sq->taken & (sq->count - 1)) * WQE_BLOCK, length = 0;
		uint16_t index = sq->taken;
		struct mlx5_wqe_ctrl_seg ctrl;
		unsigned segments, opcode;

		atomic_thread_fence(
			memory_order_acquire); /* the WQE is read after the doorbell record */
		memcpy(&ctrl, sq->blocks + base, sizeof(ctrl));
		segments = be32toh(ctrl.qpn_ds) & 0x3f;
		opcode = be32toh(ctrl.opmod_idx_opcode) & 0xff;
		if (opcode == MLX5_OPCODE_SEND && segments >= 2)
			length = gather(sq, base, segments, frame);
		sq->taken += (uint16_t)(segments < 4 ? 1 : (segments + 3) / 4);
		complete(sq, &ctrl, index);
		if (length > 0)
			return length;
	}
	return 0;
}
