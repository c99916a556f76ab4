/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joined frames, divided as the kernel itself or a device would: lengths, sequence numbers, flags
 * and checksums of each frame are those that it has on the wire. What each of them was before the
 * kernel joined them (GRO), it is again, but for the IPv4 ids of some senders. Here ids count up
 * from the first frame's. GRO joins frames whose ids do so, and also frames that all have the same
 * one, as a sender may that forbids fragments (RFC 6864); which of both it was, it does not say.
 *
 * Of CWR the kernel says what it is. As an answer to a mark of congestion (RFC 3168) only the first
 * frame has it. Without such a word it is a part of a count (RFC 9768, AccECN), and all have it:
 * GRO joins only frames whose counts are the same.
 *
 * A joined frame may be longer than any IP packet (BIG TCP). One whose parts would be, too, is not
 * divided; nor is one that is a fragment, which no kernel joins: it goes on as it is, and is told.
 */
#include <linux/virtio_net.h>
#include <netinet/in.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "segment.h"

/* Geneve's header with all options, the longest of those over UDP. */
#define UDP_TUNNEL_MAX 260
#define ETHERNET_MAX 22
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
 * In a shorter one the kernel puts none: that is its sender's own, and stays. Returns how many
 * bytes the frame is shorter without. */
static size_t
remove_jumbo(uint8_t *frame, size_t length, const struct tripd_headers *headers)
{
	uint8_t *ip = frame + headers->l3;
	uint8_t *option = ip + sizeof(struct rte_ipv6_hdr);

	if (!headers->ipv6 || length - headers->end <= UINT16_MAX ||
		headers->end != headers->l3 + sizeof(struct rte_ipv6_hdr) ||
		ip[offsetof(struct rte_ipv6_hdr, proto)] != IPPROTO_HOPOPTS ||
		headers->l4 < headers->end + JUMBO_BYTES || option[1] != 0 ||
		option[2] != JUMBO_OPTION)
		return 0;
	ip[offsetof(struct rte_ipv6_hdr, proto)] = option[0];
	memmove(frame + JUMBO_BYTES, frame, headers->end);
	return JUMBO_BYTES;
}

static uint16_t
read_be16(const uint8_t *at)
{
	rte_be16_t field;

	memcpy(&field, at, sizeof(field));
	return rte_be_to_cpu_16(field);
}

/* Where inner headers can begin, and how much may stand between: an Ethernet header with two tags,
 * and what the tunnel has before it. Returns 0 if it is none of a tunnel. */
static size_t
skip_tunnel(const struct tripd_joined *joined, size_t *between)
{
	size_t l4 = joined->tunnel.l4;
	uint16_t flags;

	switch (joined->tunnel.protocol) {
	case IPPROTO_IPIP:
	case IPPROTO_IPV6:
		*between = 0;
		return l4;
	case IPPROTO_UDP:
		*between = UDP_TUNNEL_MAX + ETHERNET_MAX;
		return l4 + sizeof(struct rte_udp_hdr);
	case IPPROTO_GRE:
		if (l4 + TRIPD_GRE_BYTES > joined->length)
			return 0;
		flags = read_be16(joined->frame + l4);
		/* The kernel joins none that are numbered. */
		if ((flags & ~(TRIPD_GRE_CHECKSUM | TRIPD_GRE_KEY)) != 0)
			return 0;
		*between = ETHERNET_MAX;
		return l4 + TRIPD_GRE_BYTES + ((flags & TRIPD_GRE_CHECKSUM) != 0 ? 4u : 0) +
		       ((flags & TRIPD_GRE_KEY) != 0 ? 4u : 0);
	default:
		return 0;
	}
}

/* Whether an IPv4 header of that length and all of its packet is at `at`. */
static bool
is_ipv4(const uint8_t *at, size_t header, size_t length)
{
	struct rte_ipv4_hdr ip;

	memcpy(&ip, at, sizeof(ip));
	return ip.version_ihl == (RTE_IPV4_VHL_DEF & ~RTE_IPV4_HDR_IHL_MASK) +
					 header / RTE_IPV4_IHL_MULTIPLIER &&
	       rte_be_to_cpu_16(ip.total_length) == length &&
	       (ip.fragment_offset &
		       rte_cpu_to_be_16(RTE_IPV4_HDR_OFFSET_MASK | RTE_IPV4_HDR_MF_FLAG)) == 0 &&
	       rte_raw_cksum(at, header) == 0xffff;
}

/* What stands between the headers of a tunnel over UDP only those know that set it up. But the
 * inner IP header ends where the inner checksum starts, and cannot be mistaken; of tunnels in
 * tunnels the kernel joins nothing. */
static bool
find_inner(struct tripd_joined *joined, size_t least, size_t l4)
{
	struct tripd_headers *inner = &joined->headers;
	const uint8_t *frame = joined->frame;
	struct rte_ipv6_hdr ipv6;
	size_t header;

	*inner = (struct tripd_headers){.l4 = l4, .end = joined->length};
	for (header = sizeof(struct rte_ipv4_hdr); header <= 60 && least + header <= l4;
		header += RTE_IPV4_IHL_MULTIPLIER) {
		inner->l3 = l4 - header;
		inner->protocol = frame[inner->l3 + offsetof(struct rte_ipv4_hdr, next_proto_id)];
		if (is_ipv4(frame + inner->l3, header, joined->length - inner->l3))
			return true;
	}
	if (least + sizeof(ipv6) > l4)
		return false;
	inner->l3 = l4 - sizeof(ipv6);
	memcpy(&ipv6, frame + inner->l3, sizeof(ipv6));
	inner->ipv6 = true;
	inner->protocol = ipv6.proto;
	return frame[inner->l3] >> 4 == 6 &&
	       rte_be_to_cpu_16(ipv6.payload_len) == joined->length - l4;
}

/* The checksum that is left is the inner one. */
static bool
enter_tunnel(struct tripd_joined *joined, size_t l4)
{
	size_t least, between;

	joined->tunnelled = true;
	joined->tunnel = joined->headers;
	least = skip_tunnel(joined, &between);
	/* Sums of the headers and of the payload are added up. */
	return least != 0 && l4 <= joined->length && (l4 - joined->tunnel.l4) % 2 == 0 &&
	       find_inner(joined, least, l4) && joined->headers.l3 - least <= between;
}

/* Whether the length of each part fits the outermost IP header. It does unless a sender on a tap
 * describes its frames otherwise. */
static bool
is_short(const struct tripd_joined *joined)
{
	size_t l3 = joined->tunnelled ? joined->tunnel.l3 : joined->headers.l3;
	size_t payload = joined->length - joined->payload;

	if (payload > joined->size)
		payload = joined->size;
	return joined->payload - l3 + payload <= UINT16_MAX;
}

bool
tripd_joined_begin(struct tripd_joined *joined, uint8_t *frame, size_t length,
	const struct virtio_net_hdr *header)
{
	size_t removed;

	*joined = (struct tripd_joined){.frame = frame,
		.length = length,
		.size = header->gso_size,
		.answers = (header->gso_type & VIRTIO_NET_HDR_GSO_ECN) != 0};
	if (joined->size == 0 || !tripd_headers_find(frame, length, &joined->headers))
		return false;
	if ((header->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0 &&
		header->csum_start != joined->headers.l4 &&
		!enter_tunnel(joined, header->csum_start))
		return false;
	if (!find_payload(joined, header->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN))
		return false;
	if (joined->payload >= length || joined->payload > TRIPD_SEGMENT_HEADERS_MAX ||
		!is_short(joined))
		return false;
	/* Last, since what is refused goes on as it is. */
	removed = remove_jumbo(frame, length, &joined->headers);
	joined->frame += removed;
	joined->length -= removed;
	joined->headers.l4 -= removed;
	joined->payload -= removed;
	return true;
}

static void
write_l3(const struct tripd_headers *headers, uint8_t *frame, size_t l4_length, unsigned int n)
{
	struct rte_ipv4_hdr ipv4;
	struct rte_ipv6_hdr ipv6;

	if (headers->ipv6) {
		memcpy(&ipv6, frame + headers->l3, sizeof(ipv6));
		ipv6.payload_len = rte_cpu_to_be_16(
			(uint16_t)(headers->l4 - headers->l3 - sizeof(ipv6) + l4_length));
		memcpy(frame + headers->l3, &ipv6, sizeof(ipv6));
		return;
	}
	memcpy(&ipv4, frame + headers->l3, sizeof(ipv4));
	ipv4.total_length = rte_cpu_to_be_16((uint16_t)(headers->l4 - headers->l3 + l4_length));
	ipv4.packet_id = rte_cpu_to_be_16((uint16_t)(rte_be_to_cpu_16(ipv4.packet_id) + n));
	ipv4.hdr_checksum = 0;
	memcpy(frame + headers->l3, &ipv4, sizeof(ipv4));
	ipv4.hdr_checksum =
		(uint16_t)~rte_raw_cksum(frame + headers->l3, headers->l4 - headers->l3);
	memcpy(frame + headers->l3, &ipv4, sizeof(ipv4));
}

/* All but the checksum. */
static void
write_tcp(const struct tripd_joined *joined, uint8_t *frame, bool last)
{
	struct rte_tcp_hdr tcp;

	memcpy(&tcp, frame + joined->headers.l4, sizeof(tcp));
	tcp.sent_seq = rte_cpu_to_be_32(rte_be_to_cpu_32(tcp.sent_seq) + (uint32_t)joined->done);
	if (!last)
		tcp.tcp_flags &= (uint8_t) ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG);
	/* The first one does for all. */
	if (joined->n > 0 && joined->answers)
		tcp.tcp_flags &= (uint8_t)~RTE_TCP_CWR_FLAG;
	memcpy(frame + joined->headers.l4, &tcp, sizeof(tcp));
}

static void
write_udp_length(uint8_t *frame, size_t l4, size_t l4_length)
{
	rte_be16_t length = rte_cpu_to_be_16((uint16_t)l4_length);

	memcpy(frame + l4 + offsetof(struct rte_udp_hdr, dgram_len), &length, sizeof(length));
}

/* Of a frame from there to its end. */
static uint16_t
sum_from(const struct tripd_segment *segment, size_t at)
{
	/* Headers are of an even length, so the two sums add up. */
	uint32_t whole = (uint32_t)rte_raw_cksum(segment->headers + at, segment->n_headers - at) +
			 rte_raw_cksum(segment->payload, segment->n_payload);

	return (uint16_t)(whole % 0x10000 + whole / 0x10000);
}

/* Of TCP or UDP. */
static void
write_checksum(const struct tripd_headers *headers, struct tripd_segment *segment, size_t l4_length)
{
	size_t at = headers->l4 + (headers->protocol == IPPROTO_TCP
						  ? offsetof(struct rte_tcp_hdr, cksum)
						  : offsetof(struct rte_udp_hdr, dgram_cksum));
	uint16_t sum = tripd_headers_pseudo(headers, segment->headers, l4_length);

	memcpy(segment->headers + at, &sum, sizeof(sum));
	sum = (uint16_t)~sum_from(segment, headers->l4);
	/* In UDP no checksum at all is said by 0, which in TCP says the same as all ones. */
	if (sum == 0)
		sum = 0xffff;
	memcpy(segment->headers + at, &sum, sizeof(sum));
}

static void
write_gre_checksum(struct tripd_segment *segment, size_t l4)
{
	uint16_t sum = 0;

	memcpy(segment->headers + l4 + TRIPD_GRE_BYTES, &sum, sizeof(sum));
	sum = (uint16_t)~sum_from(segment, l4);
	memcpy(segment->headers + l4 + TRIPD_GRE_BYTES, &sum, sizeof(sum));
}

/* After the inner headers, which the checksum of a tunnel covers; it has one where the joined frame
 * has. */
static void
write_tunnel(const struct tripd_joined *joined, struct tripd_segment *segment)
{
	const struct tripd_headers *tunnel = &joined->tunnel;
	size_t l4_length = joined->payload - tunnel->l4 + segment->n_payload;
	uint8_t *l4 = segment->headers + tunnel->l4;

	write_l3(tunnel, segment->headers, l4_length, joined->n);
	if (tunnel->protocol == IPPROTO_UDP) {
		write_udp_length(segment->headers, tunnel->l4, l4_length);
		if (read_be16(l4 + offsetof(struct rte_udp_hdr, dgram_cksum)) != 0)
			write_checksum(tunnel, segment, l4_length);
	} else if (tunnel->protocol == IPPROTO_GRE && (read_be16(l4) & TRIPD_GRE_CHECKSUM) != 0) {
		write_gre_checksum(segment, tunnel->l4);
	}
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
	write_l3(&joined->headers, segment->headers, l4_length, joined->n);
	if (joined->headers.protocol == IPPROTO_TCP)
		write_tcp(joined, segment->headers, segment->n_payload == left);
	else
		write_udp_length(segment->headers, joined->headers.l4, l4_length);
	write_checksum(&joined->headers, segment, l4_length);
	if (joined->tunnelled)
		write_tunnel(joined, segment);
	joined->done += segment->n_payload;
	joined->n++;
	return true;
}
