/* SPDX-License-Identifier: BSD-3-Clause */
/* What the device's parser makes of a packet: a vector of header fields, laid out as the "flow
 * table entry match parameter" of the ConnectX programming reference, whose sections of 64 bytes
 * are the outer headers, misc, the inner headers, misc 2 and misc 3. A rule is a mask and a value
 * over this vector; the DV engine hands both over in this layout, and verbs specifications are
 * translated to it. */
#ifndef VCX_PACKET_H
#define VCX_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VCX_KEY_BYTES 320
#define VCX_KEY_WORDS (VCX_KEY_BYTES / 8)

union vcx_key {
	uint8_t bytes[VCX_KEY_BYTES];
	uint64_t words[VCX_KEY_WORDS];
};

/* Sections, in bits from the start of the vector. */
#define VCX_OUTER 0x000
#define VCX_MISC 0x200
#define VCX_INNER 0x400
#define VCX_MISC3 0x800

/* Fields of the header sections: bits from the start of the section, and width. */
#define VCX_SMAC_HIGH 0x00, 32
#define VCX_SMAC_LOW 0x20, 16
#define VCX_ETHERTYPE 0x30, 16 /* behind VLAN tags */
#define VCX_DMAC_HIGH 0x40, 32
#define VCX_DMAC_LOW 0x60, 16
#define VCX_VLAN_TCI 0x70, 16 /* the first tag's */
#define VCX_IP_PROTOCOL 0x80, 8
#define VCX_IP_TOS 0x88, 8
#define VCX_CVLAN 0x90, 1
#define VCX_SVLAN 0x91, 1
#define VCX_IP_FRAGMENT 0x92, 1
#define VCX_IP_VERSION 0x93, 4
#define VCX_TCP_FLAGS 0x97, 9
#define VCX_TCP_SPORT 0xa0, 16
#define VCX_TCP_DPORT 0xb0, 16
#define VCX_IPV4_IHL 0xd0, 4
#define VCX_L3_OK 0xd4, 1
#define VCX_L4_OK 0xd5, 1
#define VCX_IP_TTL 0xd8, 8
#define VCX_UDP_SPORT 0xe0, 16
#define VCX_UDP_DPORT 0xf0, 16
#define VCX_IP_SRC 0x100 /* 16 bytes; IPv4 in the last 4 */
#define VCX_IP_DST 0x180
#define VCX_IPV4_IN_IPV6 96, 32

/* Fields of misc. */
#define VCX_GRE_C_PRESENT 0x00, 1
#define VCX_GRE_FLAGS 0x00, 4
#define VCX_SECOND_TCI 0x40, 16
#define VCX_SECOND_CVLAN 0x60, 1
#define VCX_SECOND_SVLAN 0x62, 1
#define VCX_GRE_PROTOCOL 0x70, 16
#define VCX_GRE_KEY 0x80, 32
#define VCX_VXLAN_VNI 0xa0, 24
#define VCX_FLOW_LABEL 0xec, 20
#define VCX_INNER_FLOW_LABEL 0x10c, 20

/* Fields of misc 3. */
#define VCX_ICMP4_TYPE 0x100, 8
#define VCX_ICMP4_CODE 0x108, 8
#define VCX_ICMP6_TYPE 0x110, 8
#define VCX_ICMP6_CODE 0x118, 8

struct vcx_packet {
	const uint8_t *data;
	size_t length;
	union vcx_key key;
	uint16_t vlan_tci;
	bool vlan;        /* the first tag is 802.1Q, at byte 12 */
	bool tunnel;      /* the inner section is filled */
	bool ip_fragment; /* outermost */
};

/* Any bytes may be given: what does not fit stays zero. The packet's data must outlive the result.
 */
void vcx_packet_parse(struct vcx_packet *packet, const void *data, size_t length);

/* Widths up to 32 bits; most significant bit first, as in a header. */
void vcx_packet_set(
	union vcx_key *key, unsigned section, unsigned bit, unsigned width, uint32_t value);
uint32_t vcx_packet_get(const union vcx_key *key, unsigned section, unsigned bit, unsigned width);

/* Toeplitz over the fields of the mask (IBV_RX_HASH_*) that the packet has, in the order source
 * address, destination address, source port, destination port; 0 where it has none of them. The key
 * has 40 bytes. */
uint32_t vcx_packet_hash(const struct vcx_packet *packet, uint64_t fields, const uint8_t *key);

#endif
