/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet as the software flow engine sees it: a flat vector of 64-bit words.
 *
 * Every field has one fixed place, in the byte order of the wire, so that a pattern is a vector of
 * masks and one of values, and matching is AND and compare. The first 32 bits of word 0 say what
 * is in the packet. A pattern that looks at a field also demands the field's presence bit, so the
 * bytes of an absent field are never cleared: they are whatever an earlier packet left there, and
 * can change no verdict.
 *
 * What most rules look at is in the first words, and most packets fill them without a branch. The
 * rest is there for those who ask for it: TRIP_HAS_MORE says that the words MORE and L4_REST are
 * this packet's, TRIP_HAS_TUNNEL that the inner stack and the tunnel's header are. A pattern that
 * looks there demands that bit, and so tells the parser what to read (TRIP_WANT_*). The inner stack
 * is laid out as the outer one, TRIP_PLACE_INNER further on, with presence bits of its own.
 *
 * A field is present where its own bytes are in the mbuf, whatever the rest of its header; lengths
 * in headers that point outside the mbuf make absent what they lead to. The lengths of IPv4, IPv6
 * and UDP packets are not consulted: the mbuf says what is there, as it does for a NIC. Nothing
 * past the mbuf is ever read.
 */
#ifndef TRIP_PACKET_H
#define TRIP_PACKET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_mbuf.h>

#define TRIP_PACKET_STACK_WORDS 13
#define TRIP_PACKET_WORDS (2 * TRIP_PACKET_STACK_WORDS + 3)

/* Where the fields are: offsets in bytes into a stack, of which the outer one is at 0. */
enum trip_packet_place {
	TRIP_PLACE_BITS = 0,         /* 4: TRIP_HAS_* */
	TRIP_PLACE_L4 = 4,           /* 4: first bytes of what L4 it is: ports; type, code */
	TRIP_PLACE_IPV4_SRC = 8,     /* 4 */
	TRIP_PLACE_IPV4_DST = 12,    /* 4 */
	TRIP_PLACE_IP_FRAGMENT = 16, /* 2: of IPv4; payload length of IPv6 */
	TRIP_PLACE_IP_TTL = 18,      /* 1: or hop limit */
	TRIP_PLACE_IP_PROTO = 19,    /* 1: or next header */
	TRIP_PLACE_IP_FIRST = 20,    /* 4: version, ihl, tos, total length; or vtc_flow */
	TRIP_PLACE_ETH_DST = 24,     /* 6 */
	TRIP_PLACE_TCP_FLAGS = 30,   /* 1 */
	TRIP_PLACE_IP_CARRIES = 31,  /* 1: behind what IPv6 extends, where TRIP_MORE_EXT_ALL is */
	TRIP_PLACE_ETH_SRC = 32,     /* 6 */
	TRIP_PLACE_ETH_TYPE = 38,    /* 2: of the outermost tag, where there are tags */
	TRIP_PLACE_VLAN1_TCI = 40,   /* 2: outermost tag */
	TRIP_PLACE_VLAN1_TYPE = 42,  /* 2: what follows that tag */
	TRIP_PLACE_VLAN2_TCI = 44,   /* 2 */
	TRIP_PLACE_VLAN2_TYPE = 46,  /* 2 */
	TRIP_PLACE_IPV6_SRC = 48,    /* 16 */
	TRIP_PLACE_IPV6_DST = 64,    /* 16 */
	TRIP_PLACE_MORE = 80,        /* 4: TRIP_MORE_* */
	TRIP_PLACE_IPV4_ID = 84,     /* 2 */
	TRIP_PLACE_TUNNEL_TYPE =
		86, /* 2, of the inner stack, in host order: what announced the tunnel */
	TRIP_PLACE_L4_REST = 88, /* 8: bytes 4 to 11 of L4 */
	TRIP_PLACE_AUTH = 96,    /* 8: SPI and sequence number of AH */
	/* Only of the inner stack: the header that leads to it. */
	TRIP_PLACE_TUNNEL = 104,  /* its first 8 */
	TRIP_PLACE_SESSION = 112, /* 3, the PDU session container of GTP-U; and 5 of no meaning */
	TRIP_PLACE_INNER = 104,   /* from the outer stack to the inner one */
	/* Of no stack, and in no packet: what its table's tests say of it (within.h). */
	TRIP_PLACE_TESTS = 224, /* 8 */
};

#define TRIP_HAS_ETH_DST (1u << 0)
#define TRIP_HAS_ETH_SRC (1u << 1)
#define TRIP_HAS_ETH_TYPE (1u << 2)
#define TRIP_HAS_TAGS_SHIFT 3
#define TRIP_HAS_TAGS_MASK (3u << TRIP_HAS_TAGS_SHIFT) /* VLAN tags: 0, 1, 2, or more */
#define TRIP_HAS_TAGGED (1u << 5)
#define TRIP_HAS_VLAN1_TCI (1u << 6)
#define TRIP_HAS_VLAN1_TYPE (1u << 7)
#define TRIP_HAS_VLAN2_TCI (1u << 8)
#define TRIP_HAS_VLAN2_TYPE (1u << 9)
#define TRIP_HAS_IP_DST (1u << 10)
#define TRIP_HAS_IPV4 (1u << 11)
#define TRIP_HAS_IPV6 (1u << 12)
#define TRIP_HAS_IP_FIRST0 (1u << 13) /* the byte with version and ihl */
#define TRIP_HAS_IP_FIRST1 (1u << 14) /* tos */
#define TRIP_HAS_IP_FIRST (1u << 15)  /* all four */
#define TRIP_HAS_IP_FRAGMENT (1u << 16)
#define TRIP_HAS_IP_TTL (1u << 17)
#define TRIP_HAS_IP_PROTO (1u << 18)
#define TRIP_HAS_IP_SRC (1u << 19)
#define TRIP_HAS_L4 (15u << 20) /* which protocol, see packet_ip.c; 0: any other */
#define TRIP_HAS_TCP (1u << 20)
#define TRIP_HAS_UDP (2u << 20)
#define TRIP_HAS_GRE (3u << 20)
#define TRIP_HAS_SCTP (4u << 20)
#define TRIP_HAS_L4_BYTE (1u << 24) /* ICMP type */
#define TRIP_HAS_L4_SRC (1u << 25)  /* source port; ICMP code */
#define TRIP_HAS_L4_DST (1u << 26)  /* destination port; SPI of ESP */
#define TRIP_HAS_TCP_FLAGS (1u << 27)
/* Of no pattern: it ends within a header that it begins, up to the ports. */
#define TRIP_HAS_BROKEN (1u << 28)
/* Only in the outer stack: */
#define TRIP_HAS_MORE (1u << 30)
#define TRIP_HAS_TUNNEL (1u << 31)

#define TRIP_HAS_IP_HEADER                                                                    \
	(TRIP_HAS_IP_FIRST0 | TRIP_HAS_IP_FIRST1 | TRIP_HAS_IP_FIRST | TRIP_HAS_IP_FRAGMENT | \
		TRIP_HAS_IP_TTL | TRIP_HAS_IP_PROTO | TRIP_HAS_IP_SRC | TRIP_HAS_IP_DST)
#define TRIP_HAS_ETH_HEADER (TRIP_HAS_ETH_DST | TRIP_HAS_ETH_SRC | TRIP_HAS_ETH_TYPE)
#define TRIP_HAS_PORTS (TRIP_HAS_L4_BYTE | TRIP_HAS_L4_SRC | TRIP_HAS_L4_DST)

#define TRIP_MORE_ETH (1u << 0) /* the stack begins with Ethernet */
#define TRIP_MORE_IPV4_ID (1u << 1)
#define TRIP_MORE_L4_6 (1u << 2) /* up to byte 6 of L4 */
#define TRIP_MORE_L4_8 (1u << 3)
#define TRIP_MORE_L4_12 (1u << 4)
#define TRIP_MORE_AUTH (1u << 5) /* AH: its number was read */
#define TRIP_MORE_AUTH_8 (1u << 6)
#define TRIP_MORE_AUTH_12 (1u << 7)
/* Extension headers of IPv6: their numbers were read, wherever the packet ends. */
#define TRIP_MORE_EXT_HOP (1u << 8)
#define TRIP_MORE_EXT_ROUTE (1u << 9)
#define TRIP_MORE_EXT_FRAG (1u << 10)
#define TRIP_MORE_EXT_AUTH (1u << 11)
#define TRIP_MORE_EXT_ESP (1u << 12)
#define TRIP_MORE_EXT_DEST (1u << 13)
#define TRIP_MORE_EXT_MOBIL (1u << 14)
#define TRIP_MORE_EXT_HIP (1u << 15)
#define TRIP_MORE_EXT_SHIM6 (1u << 16)
#define TRIP_MORE_EXT_ALL (1u << 17) /* there are no others */
/* Only of the inner stack: */
#define TRIP_MORE_TUNNEL_TYPE (1u << 18) /* an EtherType announced the tunnel */
#define TRIP_MORE_DEEPER (1u << 19)      /* behind its header there is another such */
#define TRIP_MORE_SESSION (1u << 20)     /* GTP-U has a PDU session container */
#define TRIP_MORE_SESSION_BYTE(n) (1u << (21 + (n)))
/* Byte n of the tunnel's header, of the first 8. */
#define TRIP_MORE_HEADER(n) (1u << (24 + (n)))

/* What a parser is asked for; the first two are the presence bits that rules demand. */
#define TRIP_WANT_MORE TRIP_HAS_MORE
#define TRIP_WANT_TUNNEL TRIP_HAS_TUNNEL
#define TRIP_WANT_SENT (1u << 0) /* the packet is about to be sent, and was not received */

struct trip_packet_fields {
	/* Aligned, so that the fields of most packets are in one cache line. */
	_Alignas(64) union {
		uint64_t words[TRIP_PACKET_WORDS];
		uint32_t halves[TRIP_PACKET_WORDS * 2];
		uint8_t bytes[TRIP_PACKET_WORDS * 8];
	};
};

/* Of a UDP port's upper byte: do tunnels come to one of these ports? */
extern const bool trip_packet_tunnel_ports[256];

/* What an IPv4 packet's protocol number says of its L4 part, when all of its bytes are there. */
extern const uint32_t trip_packet_l4_bits[256];

/* Any packet. Returns its bytes as counters have them: the L2 frame without FCS, tags that the NIC
 * took out or will put in included. */
uint32_t trip_packet_parse_any(
	const struct rte_mbuf *mbuf, uint32_t wants, struct trip_packet_fields *fields);

static inline uint32_t
trip_packet_load32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

/* Tags of the frame that are in the mbuf, not in its data. */
static inline uint64_t
trip_packet_tag_flags(uint32_t wants)
{
	return (wants & TRIP_WANT_SENT) != 0
		       ? RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_QINQ
		       : RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED;
}

/* Untagged IPv4 without options whose first 48 bytes are in one segment; all else goes the long
 * way. 48 is up to the TCP flags; what is not TCP has bytes there too (padding to 60). */
static inline int
trip_packet_is_plain(const struct rte_mbuf *mbuf, uint32_t wants, const uint8_t *data)
{
	return mbuf->data_len >= 48 && mbuf->pkt_len >= mbuf->data_len &&
	       (uint32_t)mbuf->data_off + mbuf->data_len <= mbuf->buf_len &&
	       (mbuf->ol_flags & trip_packet_tag_flags(wants)) == 0 &&
	       (trip_packet_load32(data + 12) & rte_cpu_to_be_32(0xffffff00u)) ==
		       rte_cpu_to_be_32(0x08004500u);
}

/* May a plain packet have what only the long way reads? `port`: the upper byte of where it goes. */
static inline int
trip_packet_is_wanted(uint32_t wants, uint32_t bits, uint8_t port)
{
	return (wants & TRIP_WANT_MORE) != 0 ||
	       ((wants & TRIP_WANT_TUNNEL) != 0 &&
		       ((bits & TRIP_HAS_L4) == TRIP_HAS_GRE ||
			       ((bits & TRIP_HAS_L4) == TRIP_HAS_UDP &&
				       trip_packet_tunnel_ports[port])));
}

/* As trip_packet_parse_any, inline for the packets that most packets are: gcc would call it. How
 * many went the long way: others are not broken. */
static __rte_always_inline uint32_t
trip_packet_parse_noting(const struct rte_mbuf *mbuf, uint32_t wants,
	struct trip_packet_fields *fields, uint32_t *others)
{
	const uint8_t *data = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	uint32_t ports, bits;

	if (unlikely(!trip_packet_is_plain(mbuf, wants, data))) {
		++*others;
		return trip_packet_parse_any(mbuf, wants, fields);
	}
	bits = trip_packet_l4_bits[data[23]];
	ports = trip_packet_load32(data + 34);
	if (unlikely(wants != 0) && trip_packet_is_wanted(wants, bits, data[36]))
		return trip_packet_parse_any(mbuf, wants, fields);
	/* A later fragment has a protocol, but no header of it. */
	if (unlikely((trip_packet_load32(data + 20) & rte_cpu_to_be_32(0x1fff0000u)) != 0))
		bits &= TRIP_HAS_L4;
	bits |= TRIP_HAS_ETH_HEADER | TRIP_HAS_IPV4 | TRIP_HAS_IP_HEADER;
	memcpy(fields->bytes + TRIP_PLACE_BITS, &bits, 4);
	memcpy(fields->bytes + TRIP_PLACE_L4, &ports, 4);
	memcpy(fields->bytes + TRIP_PLACE_IPV4_SRC, data + 26, 8);
	memcpy(fields->bytes + TRIP_PLACE_IP_FRAGMENT, data + 20, 4);
	memcpy(fields->bytes + TRIP_PLACE_IP_FIRST, data + 14, 4);
	memcpy(fields->bytes + TRIP_PLACE_ETH_DST, data, 8);
	memcpy(fields->bytes + TRIP_PLACE_ETH_SRC, data + 6, 8);
	fields->bytes[TRIP_PLACE_TCP_FLAGS] = data[47];
	return mbuf->pkt_len;
}

static __rte_always_inline uint32_t
trip_packet_parse(const struct rte_mbuf *mbuf, uint32_t wants, struct trip_packet_fields *fields)
{
	uint32_t others = 0;

	return trip_packet_parse_noting(mbuf, wants, fields, &others);
}

#endif
