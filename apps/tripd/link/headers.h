/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_HEADERS_H
#define TRIPD_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* RFC 2784 and RFC 2890: flags of GRE, and bytes of its header without what they announce. */
#define TRIPD_GRE_CHECKSUM 0x8000
#define TRIPD_GRE_KEY 0x2000
#define TRIPD_GRE_SEQUENCE 0x1000
#define TRIPD_GRE_BYTES 4

/* Where the headers of a frame are that is no fragment. */
struct tripd_headers {
	size_t l3;
	size_t l4;
	bool ipv6;
	/* Of L4. */
	uint8_t protocol;
	/* Where the packet ends by its own word; a frame may go on with padding. */
	size_t end;
};

/* Returns whether it is a whole IP packet, behind any tags and with any extension headers. */
bool tripd_headers_find(const uint8_t *frame, size_t length, struct tripd_headers *headers);

/* The same for an IP packet of that Ethernet type, which begins at `at`. */
bool tripd_headers_find_ip(const uint8_t *frame, size_t length, size_t at, uint16_t type,
	struct tripd_headers *headers);

/* Returns where an Ethernet frame that begins at `at` goes on behind its header and any tags, and
 * sets the type of what is there. Where it ends before, that is none of a packet. */
size_t tripd_headers_skip_tags(const uint8_t *frame, size_t length, size_t at, uint16_t *type);

/* The folded sum of the pseudo header, with a length of L4. */
uint16_t tripd_headers_pseudo(
	const struct tripd_headers *headers, const uint8_t *frame, size_t l4_length);

/* The sum in ones' complement of that many bytes, be they more than rte_raw_cksum() can add up. */
uint16_t tripd_headers_sum(const uint8_t *bytes, size_t length);

#endif
