/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network interfaces of the kernel, by packet sockets of our own. A port of net_af_packet is
 * received from and sent to here; its driver gives number, name and address, and the sockets that
 * it opens itself are made to take nothing. For what it hands over is not what is on the wire: it
 * cuts what is longer than its slots without a word, takes frames that the kernel joined for one,
 * joins fragments itself, makes every tag one of 802.1Q, takes what this host sends for received,
 * and knows neither checksums that a sender left to its device nor how many frames the kernel had
 * to drop.
 *
 * The kernel says all of that to who asks: PACKET_VNET_HDR brings how a frame was joined and what
 * of its checksum is left, PACKET_AUXDATA the tag, PACKET_IGNORE_OUTGOING keeps away what is sent,
 * and PACKET_STATISTICS counts what found the socket full. No offload is switched, so nothing is to
 * be switched back, whatever becomes of this process.
 */
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_mbuf.h>

#include "checksum.h"
#include "link.h"
#include "packet_open.h"
#include "packet_socket.h"
#include "start/fail.h"
#include "start/preflight.h"
#include "segment.h"

/* Longer than any frame that the kernel joins (BIG TCP); only what is used of it becomes memory. No
 * power of two, or all frames would want the same lines of the cache. */
#define FRAME_ROOM ((UINT32_C(1) << 20) + 1600)
/* For a tag to be put back. */
#define TAG_BYTES 4
/* Pieces of all frames of one call. One frame of the largest MTU has 35; one with more than these,
 * a joined one that could not be divided, no interface would take. */
#define PIECES_MAX 128

struct tripd_packet_socket {
	struct tripd_packet_fds fds;
	struct rte_mempool *pool;
	/* Frames that the kernel handed over; [next, n) are still to be taken. */
	unsigned int next;
	unsigned int n;
	struct mmsghdr messages[TRIPD_BURST];
	struct iovec pieces[TRIPD_BURST][2];
	struct virtio_net_hdr headers[TRIPD_BURST];
	_Alignas(struct cmsghdr) char control[TRIPD_BURST]
					     [CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	uint8_t *frames;
	/* The one before `next`, while it is being divided. */
	bool dividing;
	struct tripd_joined joined;
	/* Refused frames are counted by the sender, missed ones by the control thread, as reading
	 * them sets the kernel's to zero; the others by the receiver. */
	_Atomic uint64_t losses[TRIPD_LOSSES];
};

static void
count(struct tripd_packet_socket *opened, enum tripd_loss loss)
{
	tripd_link_count(&opened->losses[loss], 1);
}

static void
lay_out(struct tripd_packet_socket *opened)
{
	for (unsigned int i = 0; i < TRIPD_BURST; i++) {
		opened->pieces[i][0] =
			(struct iovec){&opened->headers[i], sizeof(opened->headers[i])};
		opened->pieces[i][1] =
			(struct iovec){opened->frames + (size_t)i * FRAME_ROOM + TAG_BYTES,
				FRAME_ROOM - TAG_BYTES};
		opened->messages[i].msg_hdr.msg_iov = opened->pieces[i];
		opened->messages[i].msg_hdr.msg_iovlen = 2;
		opened->messages[i].msg_hdr.msg_control = opened->control[i];
	}
}

int
tripd_packet_socket_open(
	const char *ifname, struct rte_mempool *pool, struct tripd_packet_socket **opened)
{
	struct tripd_packet_socket *own;
	struct tripd_packet_fds fds;
	int ret = tripd_packet_open(ifname, &fds);

	if (ret != 0)
		return ret;
	own = calloc(1, sizeof(*own));
	if (own != NULL)
		own->frames = mmap(NULL, (size_t)TRIPD_BURST * FRAME_ROOM, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (own == NULL || own->frames == MAP_FAILED) {
		free(own);
		tripd_packet_close(&fds);
		return tripd_fail(-ENOMEM, "packet socket on %s: no memory for its frames", ifname);
	}
	own->fds = fds;
	own->pool = pool;
	lay_out(own);
	*opened = own;
	return 0;
}

void
tripd_packet_socket_close(struct tripd_packet_socket *opened)
{
	tripd_packet_close(&opened->fds);
	munmap(opened->frames, (size_t)TRIPD_BURST * FRAME_ROOM);
	free(opened);
}

static bool
append(struct rte_mempool *pool, struct rte_mbuf *head, const uint8_t *bytes, size_t n)
{
	struct rte_mbuf *last = rte_pktmbuf_lastseg(head);

	while (n > 0) {
		uint16_t room = rte_pktmbuf_tailroom(last);

		if (room == 0) {
			last->next = rte_pktmbuf_alloc(pool);
			if (last->next == NULL)
				return false;
			last = last->next;
			head->nb_segs++;
			continue;
		}
		room = RTE_MIN(room, n);
		memcpy(rte_pktmbuf_mtod_offset(last, void *, last->data_len), bytes, room);
		last->data_len += room;
		head->pkt_len += room;
		bytes += room;
		n -= room;
	}
	return true;
}

/* A frame of two pieces, one of which may be empty. Returns NULL where no buffer is left. */
static struct rte_mbuf *
make_mbuf(struct tripd_packet_socket *opened, const uint8_t *first, size_t n_first,
	const uint8_t *second, size_t n_second)
{
	struct rte_mbuf *frame = rte_pktmbuf_alloc(opened->pool);

	if (frame != NULL && append(opened->pool, frame, first, n_first) &&
		append(opened->pool, frame, second, n_second))
		return frame;
	rte_pktmbuf_free(frame);
	count(opened, TRIPD_LOSS_NO_BUFFER);
	return NULL;
}

/* Puts the tag back that the kernel took out. Returns where the frame begins now. */
static uint8_t *
restore_tag(struct msghdr *message, uint8_t *frame, size_t *length)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	struct tpacket_auxdata told;
	rte_be16_t tag[2];

	if (control == NULL || control->cmsg_level != SOL_PACKET ||
		control->cmsg_type != PACKET_AUXDATA || *length < 2 * ETH_ALEN)
		return frame;
	memcpy(&told, CMSG_DATA(control), sizeof(told));
	if ((told.tp_status & TP_STATUS_VLAN_VALID) == 0)
		return frame;
	tag[0] = rte_cpu_to_be_16((told.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0
					  ? told.tp_vlan_tpid
					  : ETH_P_8021Q);
	tag[1] = rte_cpu_to_be_16(told.tp_vlan_tci);
	memmove(frame - TAG_BYTES, frame, 2 * ETH_ALEN);
	memcpy(frame - TAG_BYTES + 2 * ETH_ALEN, tag, sizeof(tag));
	*length += TAG_BYTES;
	return frame - TAG_BYTES;
}

/* Takes the next message: a frame, or one to be divided, which gives none yet. */
static struct rte_mbuf *
take(struct tripd_packet_socket *opened)
{
	unsigned int i = opened->next++;
	struct virtio_net_hdr header = opened->headers[i];
	struct msghdr *message = &opened->messages[i].msg_hdr;
	uint8_t *at = opened->frames + (size_t)i * FRAME_ROOM + TAG_BYTES, *frame;
	size_t length = opened->messages[i].msg_len;

	if (length <= sizeof(header))
		return NULL;
	length -= sizeof(header);
	if ((message->msg_flags & MSG_TRUNC) != 0)
		count(opened, TRIPD_LOSS_CUT);
	length = RTE_MIN(length, FRAME_ROOM - TAG_BYTES);
	frame = restore_tag(message, at, &length);
	header.csum_start = (uint16_t)(header.csum_start + (at - frame));
	if (header.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
		opened->dividing = tripd_joined_begin(&opened->joined, frame, length, &header);
		if (opened->dividing)
			return NULL;
		count(opened, TRIPD_LOSS_UNDIVIDED);
	}
	if ((header.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0)
		tripd_checksum_finish(frame, length, header.csum_start, header.csum_offset);
	return make_mbuf(opened, frame, length, NULL, 0);
}

static struct rte_mbuf *
divide(struct tripd_packet_socket *opened)
{
	struct tripd_segment segment;

	opened->dividing = tripd_joined_next(&opened->joined, &segment);
	if (!opened->dividing)
		return NULL;
	return make_mbuf(
		opened, segment.headers, segment.n_headers, segment.payload, segment.n_payload);
}

/* Returns whether the kernel had any. */
static bool
fill(struct tripd_packet_socket *opened)
{
	int n;

	for (unsigned int i = 0; i < TRIPD_BURST; i++)
		opened->messages[i].msg_hdr.msg_controllen = sizeof(opened->control[i]);
	n = recvmmsg(opened->fds.receiver, opened->messages, TRIPD_BURST, MSG_DONTWAIT | MSG_TRUNC,
		NULL);
	/* A frame joined in a manner that the header has no word for, such as SCTP's: it is gone.
	 */
	if (n < 0 && errno == EINVAL)
		count(opened, TRIPD_LOSS_ERRORS);
	opened->next = 0;
	opened->n = n > 0 ? (unsigned int)n : 0;
	return n > 0;
}

uint16_t
tripd_packet_socket_receive(struct tripd_packet_socket *opened, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t received = 0;
	bool asked = false;

	while (received < n) {
		if (!opened->dividing && opened->next == opened->n) {
			/* Once for each burst: what comes meanwhile is for the next. */
			if (asked || !fill(opened))
				break;
			asked = true;
		}
		pkts[received] = opened->dividing ? divide(opened) : take(opened);
		received += pkts[received] != NULL;
	}
	return received;
}

/* Describes the first frames, as many as there is room for. Returns their number. */
static unsigned int
describe(struct rte_mbuf **pkts, unsigned int n, struct mmsghdr *messages, struct iovec *pieces)
{
	unsigned int used = 0, i;

	for (i = 0; i < n && i < TRIPD_BURST && used + pkts[i]->nb_segs <= PIECES_MAX; i++) {
		struct iovec *first = &pieces[used];

		for (struct rte_mbuf *piece = pkts[i]; piece != NULL; piece = piece->next)
			pieces[used++] =
				(struct iovec){rte_pktmbuf_mtod(piece, void *), piece->data_len};
		messages[i] =
			(struct mmsghdr){.msg_hdr = {.msg_iov = first,
						 .msg_iovlen = (size_t)(&pieces[used] - first)}};
	}
	return i;
}

uint16_t
tripd_packet_socket_send(struct tripd_packet_socket *opened, struct rte_mbuf **pkts, uint16_t n)
{
	struct mmsghdr messages[TRIPD_BURST];
	struct iovec pieces[PIECES_MAX];
	uint16_t done = 0;

	while (done < n) {
		unsigned int described = describe(&pkts[done], n - done, messages, pieces);
		int sent = -1;

		if (described > 0) {
			sent = sendmmsg(opened->fds.sender, messages, described, MSG_DONTWAIT);
			if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS))
				break;
		}
		if (sent < 0) {
			/* Longer than its MTU, or it is down: this one never goes. */
			count(opened, TRIPD_LOSS_REFUSED);
			sent = 1;
		}
		rte_pktmbuf_free_bulk(&pkts[done], (unsigned int)sent);
		done = (uint16_t)(done + sent);
	}
	return done;
}

void
tripd_packet_socket_losses(struct tripd_packet_socket *opened, struct tripd_losses *losses)
{
	struct tpacket_stats stats;
	socklen_t size = sizeof(stats);

	if (getsockopt(opened->fds.receiver, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0)
		tripd_link_count(&opened->losses[TRIPD_LOSS_MISSED], stats.tp_drops);
	for (unsigned int i = 0; i < TRIPD_LOSSES; i++)
		losses->frames[i] += atomic_load_explicit(&opened->losses[i], memory_order_relaxed);
}
