/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joined frames, divided as the kernel itself or a device would: lengths, IPv4 ids, sequence
 * numbers and flags of each frame are those that it has on the wire. What each of them was before
 * the kernel joined them (GRO), it is again.
 */
#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "segment.h"

/* RFC 2675: a header of one option. */
#define JUMBO_OPTION 0xc2
#define JUMBO_BYTES 8
/* Linux 6.2 describes what UDP's senders left to divide; headers may be older. */
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

/* Sets where it begins. Returns whether the kernel joins such frames in the way that it says. */
static bool
find_payload(struct tripd_joined *joined, uint8_t type)
{
	const struct tripd_headers *headers = &joined->headers;
	struct rte_tcp_hdr tcp;

	if (headers->protocol == IPPROTO_UDP) {
		joined->payload = headers->l4 + sizeof(struct rte_udp_hdr);
		return type == VIRTIO_NET_HDR_GSO_UDP_L4;
	}
	if (headers->protocol != IPPROTO_TCP || headers->l4 + sizeof(tcp) > joined->length)
		return false;
	memcpy(&tcp, joined->frame + headers->l4, sizeof(tcp));
	joined->payload = headers->l4 + (size_t)(tcp.data_off >> 4) * 4;
	/* A sender on a tap describes its frames itself, as it likes. */
	if (joined->payload < headers->l4 + sizeof(tcp))
		return false;
	return type == (headers->ipv6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4);
}

/* A frame too long for IPv6's field (BIG TCP) says so by a hop-by-hop option, which no wire sees.
 * Returns how many bytes the frame is shorter without. */
static size_t
remove_jumbo(uint8_t *frame, const struct tripd_headers *headers)
{
	uint8_t *ip = frame + headers->l3;
	uint8_t *option = ip + sizeof(struct rte_ipv6_hdr);

	if (!headers->ipv6 || headers->end != headers->l3 + sizeof(struct rte_ipv6_hdr) ||
		ip[offsetof(struct rte_ipv6_hdr, proto)] != IPPROTO_HOPOPTS ||
		headers->l4 < headers->end + JUMBO_BYTES || option[1] != 0 ||
		option[2] != JUMBO_OPTION)
		return 0;
	ip[offsetof(struct rte_ipv6_hdr, proto)] = option[0];
	memmove(frame + JUMBO_BYTES, frame, headers->end);
	return JUMBO_BYTES;
}

bool
tripd_joined_begin(struct tripd_joined *joined, uint8_t *frame, size_t length,
	const struct virtio_net_hdr *header)
{
	size_t removed;

	*joined = (struct tripd_joined){.frame = frame, .length = length, .size = header->gso_size};
	if (joined->size == 0 || !tripd_headers_find(frame, length, &joined->headers) ||
		!find_payload(joined, header->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN))
		return false;
	/* Of a tunnel it would be the inner one. */
	if ((header->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0 &&
		header->csum_start != joined->headers.l4)
		return false;
	if (joined->payload >= length || joined->payload > TRIPD_SEGMENT_HEADERS_MAX)
		return false;
	/* Last, since what is refused goes on as it is. */
	removed = remove_jumbo(frame, &joined->headers);
	joined->frame += removed;
	joined->length -= removed;
	joined->headers.l4 -= removed;
	joined->payload -= removed;
	return true;
}

static void
write_l3(const struct tripd_joined *joined, uint8_t *headers, size_t l4_length)
{
	struct rte_ipv4_hdr ipv4;
	struct rte_ipv6_hdr ipv6;

	if (joined->headers.ipv6) {
		memcpy(&ipv6, headers + joined->headers.l3, sizeof(ipv6));
		ipv6.payload_len =
			rte_cpu_to_be_16((uint16_t)(joined->headers.l4 - joined->headers.l3 -
						    sizeof(ipv6) + l4_length));
		memcpy(headers + joined->headers.l3, &ipv6, sizeof(ipv6));
		return;
	}
	memcpy(&ipv4, headers + joined->headers.l3, sizeof(ipv4));
	ipv4.total_length =
		rte_cpu_to_be_16((uint16_t)(joined->headers.l4 - joined->headers.l3 + l4_length));
	ipv4.packet_id = rte_cpu_to_be_16((uint16_t)(rte_be_to_cpu_16(ipv4.packet_id) + joined->n));
	ipv4.hdr_checksum = 0;
	memcpy(headers + joined->headers.l3, &ipv4, sizeof(ipv4));
	ipv4.hdr_checksum = (uint16_t)~rte_raw_cksum(
		headers + joined->headers.l3, joined->headers.l4 - joined->headers.l3);
	memcpy(headers + joined->headers.l3, &ipv4, sizeof(ipv4));
}

/* All but the checksum. */
static void
write_tcp(const struct tripd_joined *joined, uint8_t *headers, bool last)
{
	struct rte_tcp_hdr tcp;

	memcpy(&tcp, headers + joined->headers.l4, sizeof(tcp));
	tcp.sent_seq = rte_cpu_to_be_32(rte_be_to_cpu_32(tcp.sent_seq) + (uint32_t)joined->done);
	if (!last)
		tcp.tcp_flags &= (uint8_t) ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG);
	/* The first one answers a mark of congestion for all. */
	if (joined->n > 0)
		tcp.tcp_flags &= (uint8_t)~RTE_TCP_CWR_FLAG;
	memcpy(headers + joined->headers.l4, &tcp, sizeof(tcp));
}

static void
write_udp(const struct tripd_joined *joined, uint8_t *headers, size_t l4_length)
{
	struct rte_udp_hdr udp;

	memcpy(&udp, headers + joined->headers.l4, sizeof(udp));
	udp.dgram_len = rte_cpu_to_be_16((uint16_t)l4_length);
	memcpy(headers + joined->headers.l4, &udp, sizeof(udp));
}

static void
write_checksum(const struct tripd_joined *joined, struct tripd_segment *segment, size_t l4_length)
{
	const struct tripd_headers *headers = &joined->headers;
	size_t at = headers->l4 + (headers->protocol == IPPROTO_TCP
						  ? offsetof(struct rte_tcp_hdr, cksum)
						  : offsetof(struct rte_udp_hdr, dgram_cksum));
	uint16_t sum = tripd_headers_pseudo(headers, segment->headers, l4_length);
	uint32_t whole;

	memcpy(segment->headers + at, &sum, sizeof(sum));
	/* L4 headers are of an even length, so the two sums add up. */
	whole = (uint32_t)rte_raw_cksum(
			segment->headers + headers->l4, joined->payload - headers->l4) +
		rte_raw_cksum(segment->payload, segment->n_payload);
	sum = (uint16_t) ~(uint16_t)(whole % 0x10000 + whole / 0x10000);
	/* In UDP no checksum at all is said by 0, which in TCP says the same as all ones. */
	if (sum == 0)
		sum = 0xffff;
	memcpy(segment->headers + at, &sum, sizeof(sum));
}

bool
tripd_joined_next(struct tripd_joined *joined, struct tripd_segment *segment)
{
	size_t left = joined->length - joined->payload - joined->done;
	size_t l4_length;

	if (left == 0)
		return false;
	segment->n_headers = joined->payload;
	segment->payload = joined->frame + joined->payload + joined->done;
	segment->n_payload = left < joined->size ? left : joined->size;
	l4_length = joined->payload - joined->headers.l4 + segment->n_payload;
	memcpy(segment->headers, joined->frame, joined->payload);
	write_l3(joined, segment->headers, l4_length);
	if (joined->headers.protocol == IPPROTO_TCP)
		write_tcp(joined, segment->headers, segment->n_payload == left);
	else
		write_udp(joined, segment->headers, l4_length);
	write_checksum(joined, segment, l4_length);
	joined->done += segment->n_payload;
	joined->n++;
	return true;
}
