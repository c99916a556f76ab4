/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the headers of a frame are. */
#include <netinet/in.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>

#include "headers.h"

size_t
tripd_headers_skip_tags(const uint8_t *frame, size_t length, size_t at, uint16_t *type)
{
	rte_be16_t next;

	*type = 0;
	at += offsetof(struct rte_ether_hdr, ether_type);
	for (; at + sizeof(next) <= length; at += sizeof(struct rte_vlan_hdr)) {
		memcpy(&next, frame + at, sizeof(next));
		*type = rte_be_to_cpu_16(next);
		if (*type != RTE_ETHER_TYPE_VLAN && *type != RTE_ETHER_TYPE_QINQ)
			return at + sizeof(next);
	}
	return length;
}

static bool
find_ipv4(const uint8_t *frame, size_t length, struct tripd_headers *headers)
{
	struct rte_ipv4_hdr ip;

	if (headers->l3 + sizeof(ip) > length)
		return false;
	memcpy(&ip, frame + headers->l3, sizeof(ip));
	headers->protocol = ip.next_proto_id;
	headers->l4 = headers->l3 +
		      (size_t)(ip.version_ihl & RTE_IPV4_HDR_IHL_MASK) * RTE_IPV4_IHL_MULTIPLIER;
	headers->end = headers->l3 + rte_be_to_cpu_16(ip.total_length);
	if (headers->l4 < headers->l3 + sizeof(ip))
		return false;
	return (ip.fragment_offset &
		       rte_cpu_to_be_16(RTE_IPV4_HDR_OFFSET_MASK | RTE_IPV4_HDR_MF_FLAG)) == 0;
}

static bool
find_ipv6(const uint8_t *frame, size_t length, struct tripd_headers *headers)
{
	struct rte_ipv6_hdr ip;
	size_t at = headers->l3 + sizeof(ip);
	uint8_t next;

	if (at > length)
		return false;
	memcpy(&ip, frame + headers->l3, sizeof(ip));
	next = ip.proto;
	while (next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING || next == IPPROTO_DSTOPTS) {
		if (at + 2 > length)
			return false;
		next = frame[at];
		at += (frame[at + 1] + (size_t)1) * 8;
	}
	headers->protocol = next;
	headers->l4 = at;
	headers->end = headers->l3 + sizeof(ip) + rte_be_to_cpu_16(ip.payload_len);
	return true;
}

bool
tripd_headers_find_ip(const uint8_t *frame, size_t length, size_t at, uint16_t type,
	struct tripd_headers *headers)
{
	headers->l3 = at;
	headers->ipv6 = type == RTE_ETHER_TYPE_IPV6;
	if (headers->ipv6)
		return find_ipv6(frame, length, headers);
	return type == RTE_ETHER_TYPE_IPV4 && find_ipv4(frame, length, headers);
}

bool
tripd_headers_find(const uint8_t *frame, size_t length, struct tripd_headers *headers)
{
	uint16_t type;
	size_t at = tripd_headers_skip_tags(frame, length, 0, &type);

	return tripd_headers_find_ip(frame, length, at, type, headers);
}

uint16_t
tripd_headers_pseudo(const struct tripd_headers *headers, const uint8_t *frame, size_t l4_length)
{
	rte_be32_t rest[2] = {
		rte_cpu_to_be_32((uint32_t)l4_length), rte_cpu_to_be_32(headers->protocol)};
	size_t addresses = headers->ipv6 ? offsetof(struct rte_ipv6_hdr, src_addr)
					 : offsetof(struct rte_ipv4_hdr, src_addr);
	uint32_t sum =
		(uint32_t)rte_raw_cksum(frame + headers->l3 + addresses, headers->ipv6 ? 32 : 8) +
		rte_raw_cksum(rest, sizeof(rest));

	return (uint16_t)(sum % 0x10000 + sum / 0x10000);
}

uint16_t
tripd_headers_sum(const uint8_t *bytes, size_t length)
{
	/* 32 bits hold the sum of 128 kB. */
	const size_t most = 65536;
	uint32_t sum = 0;

	for (; length > most; bytes += most, length -= most)
		sum += rte_raw_cksum(bytes, most);
	sum += rte_raw_cksum(bytes, length);
	sum = sum % 0x10000 + sum / 0x10000;
	return (uint16_t)(sum % 0x10000 + sum / 0x10000);
}
