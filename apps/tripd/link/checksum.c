/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums that a sender has left to its device. Where the device is one end of a veth and the
 * other one has no wire, nobody finishes them, and a packet that is forwarded as it is is dropped
 * by its receiver.
 *
 * Of a packet in tunnels one is left at most: that of the packet that was made first and has one.
 * A tunnel's own checksum covers it, and is then made for what it is to be, not for what is there
 * (Linux: "local checksum offload"). So what was finished is confirmed by each checksum around it.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_gre.h>
#include <rte_hash_crc.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_sctp.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "checksum.h"
#include "headers.h"
#include "layers.h"

/* RFC 2784, in the first byte. */
#define GRE_CHECKSUM 0x80

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

/* Where a checksum is that covers all of L4, and how long a header that has it is. */
static const struct field {
	uint8_t protocol;
	uint8_t offset;
	uint8_t header;
} fields[] = {
	{IPPROTO_TCP, offsetof(struct rte_tcp_hdr, cksum), sizeof(struct rte_tcp_hdr)},
	{IPPROTO_UDP, offsetof(struct rte_udp_hdr, dgram_cksum), sizeof(struct rte_udp_hdr)},
	{IPPROTO_SCTP, offsetof(struct rte_sctp_hdr, cksum), sizeof(struct rte_sctp_hdr)},
	/* With an optional word for it. */
	{IPPROTO_GRE, sizeof(struct rte_gre_hdr), sizeof(struct rte_gre_hdr) + 4},
};

/* Returns 0 where a packet has none. */
static size_t
find_field(const uint8_t *frame, const struct tripd_headers *headers)
{
	const struct field *field = fields;
	const uint8_t *l4 = frame + headers->l4;

	while (field->protocol != headers->protocol)
		if (++field == fields + RTE_DIM(fields))
			return 0;
	if (headers->end - headers->l4 < field->header)
		return 0;
	if (field->protocol == IPPROTO_UDP && l4[field->offset] == 0 && l4[field->offset + 1] == 0)
		return 0;
	return field->protocol == IPPROTO_GRE && (l4[0] & GRE_CHECKSUM) == 0 ? 0 : field->offset;
}

static size_t
size_of_field(const struct tripd_headers *headers)
{
	return headers->protocol == IPPROTO_SCTP ? sizeof(uint32_t) : sizeof(uint16_t);
}

/* What a sender leaves in the field; GRE and SCTP have no pseudo header. */
static uint16_t
sum_pseudo(const uint8_t *frame, const struct tripd_headers *headers)
{
	return headers->protocol == IPPROTO_TCP || headers->protocol == IPPROTO_UDP
		       ? tripd_headers_pseudo(headers, frame, headers->end - headers->l4)
		       : 0;
}

/* A checksum that is right sums up to all ones, together with its pseudo header. */
static bool
is_right(const uint8_t *frame, const struct tripd_headers *headers, size_t offset)
{
	const uint8_t *l4 = frame + headers->l4;
	size_t length = headers->end - headers->l4;
	uint32_t sum;

	if (headers->protocol == IPPROTO_SCTP) {
		sum = sum_sctp(l4, length);
		return memcmp(l4 + offset, &sum, sizeof(sum)) == 0;
	}
	sum = (uint32_t)tripd_headers_sum(l4, length) + sum_pseudo(frame, headers);
	return sum % 0x10000 + sum / 0x10000 == 0xffff;
}

/* Is it as wrong as a sender leaves it? The field is compared first, which costs no sum. */
static bool
is_left(const uint8_t *frame, const struct tripd_headers *headers, size_t offset)
{
	uint16_t expected[2] = {sum_pseudo(frame, headers)};

	return memcmp(frame + headers->l4 + offset, expected, size_of_field(headers)) == 0 &&
	       !is_right(frame, headers, offset);
}

/* Finishes the checksum of a layer. Those of the tunnels around it are made for what it is to be:
 * if one is wrong then, this one had not been left, and it is put back. */
static bool
finish_layer(uint8_t *frame, const struct tripd_headers *layers, unsigned int n, size_t offset)
{
	uint8_t *field = frame + layers[n].l4 + offset;
	size_t size = size_of_field(&layers[n]), around;
	uint32_t before;

	memcpy(&before, field, size);
	tripd_checksum_finish(frame, layers[n].end, layers[n].l4, offset);
	while (n-- > 0) {
		around = find_field(frame, &layers[n]);
		if (around != 0 && !is_right(frame, &layers[n], around)) {
			memcpy(field, &before, size);
			return false;
		}
	}
	return true;
}

/* Whether the outermost checksum that can cover other packets is right: nothing is left in there,
 * be it in a tunnel that is not known. */
static bool
covers_right(const uint8_t *frame, const struct tripd_headers *layers, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		size_t offset = find_field(frame, &layers[i]);

		if (offset != 0)
			return (layers[i].protocol != IPPROTO_UDP &&
				       layers[i].protocol != IPPROTO_GRE) ||
			       is_right(frame, &layers[i], offset);
	}
	return true;
}

bool
tripd_checksum_finish_if_left(struct rte_mbuf *mbuf)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
	struct tripd_headers layers[TRIPD_LAYERS_MAX];
	unsigned int n = tripd_layers_find(frame, rte_pktmbuf_data_len(mbuf), layers);

	/* A sender leaves one of them only. The innermost first: a tunnel's may hold by chance what
	 * would be left there. */
	for (unsigned int i = n; i-- > 0;) {
		size_t offset = find_field(frame, &layers[i]);

		if (offset != 0 && is_left(frame, &layers[i], offset) &&
			finish_layer(frame, layers, i, offset))
			return true;
	}
	return covers_right(frame, layers, n);
}
