/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums that a sender has left to its device. Where the device is one end of a veth and the
 * other one has no wire, nobody finishes them, and a packet that is forwarded as it is is dropped
 * by its receiver.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_hash_crc.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_sctp.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "checksum.h"
#include "headers.h"

/* rte_hash_crc() loads words from where they are not aligned. */
static uint32_t
crc32c(const uint8_t *data, size_t length, uint32_t crc)
{
	uint64_t word;

	for (; length >= sizeof(word); data += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		crc = rte_hash_crc_8byte(word, crc);
	}
	for (; length > 0; data++, length--)
		crc = rte_hash_crc_1byte(*data, crc);
	return crc;
}

/* RFC 9260, appendix A: the CRC32c with a field of zeroes, in little-endian order. */
static uint32_t
sum_sctp(const uint8_t *sctp, size_t length)
{
	static const uint8_t zeroes[sizeof(rte_be32_t)];
	size_t field = offsetof(struct rte_sctp_hdr, cksum);
	uint32_t crc = crc32c(sctp, field, UINT32_MAX);

	crc = crc32c(zeroes, sizeof(zeroes), crc);
	crc = crc32c(sctp + sizeof(struct rte_sctp_hdr), length - sizeof(struct rte_sctp_hdr), crc);
	return rte_cpu_to_le_32(~crc);
}

void
tripd_checksum_finish(uint8_t *frame, size_t length, size_t start, size_t offset)
{
	uint16_t checksum;
	uint32_t crc;

	if (start + offset + sizeof(checksum) > length)
		return;
	if (offset == offsetof(struct rte_sctp_hdr, cksum)) {
		if (start + sizeof(struct rte_sctp_hdr) > length)
			return;
		crc = sum_sctp(frame + start, length - start);
		memcpy(frame + start + offset, &crc, sizeof(crc));
		return;
	}
	/* The field counts: it holds the pseudo header's sum. In UDP no checksum at all is said by
	 * 0. */
	checksum = (uint16_t)~tripd_headers_sum(frame + start, length - start);
	if (checksum == 0)
		checksum = 0xffff;
	memcpy(frame + start + offset, &checksum, sizeof(checksum));
}

/* Is it as wrong as a sender leaves it? A right one sums up to all ones together with its pseudo
 * header. */
static bool
is_left(const uint8_t *l4, size_t length, size_t offset, uint16_t pseudo)
{
	uint16_t field;
	uint32_t sum;

	memcpy(&field, l4 + offset, sizeof(field));
	if (field != pseudo)
		return false;
	sum = (uint32_t)rte_raw_cksum(l4, length) + pseudo;
	return sum % 0x10000 + sum / 0x10000 != 0xffff;
}

static void
finish_if_left(uint8_t *frame, const struct tripd_headers *headers, size_t offset)
{
	size_t length = headers->end - headers->l4;
	uint32_t crc;

	if (headers->protocol == IPPROTO_SCTP) {
		memcpy(&crc, frame + headers->l4 + offset, sizeof(crc));
		/* Its sender leaves a zero. */
		if (crc == 0)
			tripd_checksum_finish(frame, headers->end, headers->l4, offset);
	} else if (is_left(frame + headers->l4, length, offset,
			   tripd_headers_pseudo(headers, frame, length))) {
		tripd_checksum_finish(frame, headers->end, headers->l4, offset);
	}
}

void
tripd_checksum_finish_if_left(struct rte_mbuf *mbuf)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
	size_t length = rte_pktmbuf_data_len(mbuf), offset, smallest;
	struct tripd_headers headers;

	if (!tripd_headers_find(frame, length, &headers) || headers.end > length)
		return;
	switch (headers.protocol) {
	case IPPROTO_TCP:
		offset = offsetof(struct rte_tcp_hdr, cksum);
		smallest = sizeof(struct rte_tcp_hdr);
		break;
	case IPPROTO_UDP:
		offset = offsetof(struct rte_udp_hdr, dgram_cksum);
		smallest = sizeof(struct rte_udp_hdr);
		break;
	case IPPROTO_SCTP:
		offset = offsetof(struct rte_sctp_hdr, cksum);
		smallest = sizeof(struct rte_sctp_hdr);
		break;
	default:
		return;
	}
	if (headers.l4 + smallest <= headers.end)
		finish_if_left(frame, &headers, offset);
}
