/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <infiniband/verbs.h>
#include "packet.h"

enum {
	TYPE_IPV4 = 0x0800,
	TYPE_VLAN = 0x8100,
	TYPE_IPV6 = 0x86dd,
	TYPE_QINQ = 0x88a8,
	TYPE_BRIDGE = 0x6558,
	PROTO_HOP_BY_HOP = 0,
	PROTO_ICMP = 1,
	PROTO_TCP = 6,
	PROTO_UDP = 17,
	PROTO_ROUTING = 43,
	PROTO_FRAGMENT = 44,
	PROTO_GRE = 47,
	PROTO_ICMP6 = 58,
	PROTO_OPTIONS = 60,
	PORT_VXLAN = 4789,
};

/* The bytes not yet parsed; `need` answers NULL where they end too early. */
struct cursor {
	const uint8_t *at;
	size_t left;
};

static const uint8_t *
need(struct cursor *c, size_t bytes)
{
	const uint8_t *at = c->at;

	if (c->left < bytes)
		return NULL;
	c->at += bytes;
	c->left -= bytes;
	return at;
}

static uint16_t
be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t
be32(const uint8_t *at)
{
	return (uint32_t)be16(at) << 16 | be16(at + 2);
}

void
vcx_packet_set(union vcx_key *key, unsigned section, unsigned bit, unsigned width, uint32_t value)
{
	for (unsigned i = 0; i < width; i++) {
		unsigned at = section + bit + width - 1 - i;
		uint8_t one = (uint8_t)(0x80 >> at % 8);

		if (value >> i & 1)
			key->bytes[at / 8] |= one;
		else
			key->bytes[at / 8] &= (uint8_t)~one;
	}
}

uint32_t
vcx_packet_get(const union vcx_key *key, unsigned section, unsigned bit, unsigned width)
{
	uint32_t value = 0;

	for (unsigned at = section + bit; at < section + bit + width; at++)
		value = value << 1 | (key->bytes[at / 8] >> (7 - at % 8) & 1);
	return value;
}

/* The Ethernet header and up to two tags. Returns the type behind them, 0 where it is cut off. */
static uint16_t
parse_ethernet(struct vcx_packet *packet, unsigned section, struct cursor *c)
{
	union vcx_key *key = &packet->key;
	const uint8_t *eth = need(c, 14);
	uint16_t type;

	if (eth == NULL)
		return 0;
	memcpy(key->bytes + (section + 0x40) / 8, eth, 6);
	memcpy(key->bytes + section / 8, eth + 6, 6);
	type = be16(eth + 12);
	for (unsigned tags = 0; tags < 2 && (type == TYPE_VLAN || type == TYPE_QINQ); tags++) {
		const uint8_t *tag = need(c, 4);

		if (tag == NULL)
			return 0;
		if (tags == 0) {
			vcx_packet_set(key, section, VCX_VLAN_TCI, be16(tag));
			vcx_packet_set(key, section, VCX_CVLAN, type == TYPE_VLAN);
			vcx_packet_set(key, section, VCX_SVLAN, type == TYPE_QINQ);
			if (section == VCX_OUTER && type == TYPE_VLAN) {
				packet->vlan = true;
				packet->vlan_tci = be16(tag);
			}
		} else if (section == VCX_OUTER) {
			vcx_packet_set(key, VCX_MISC, VCX_SECOND_TCI, be16(tag));
			vcx_packet_set(key, VCX_MISC, VCX_SECOND_CVLAN, type == TYPE_VLAN);
			vcx_packet_set(key, VCX_MISC, VCX_SECOND_SVLAN, type == TYPE_QINQ);
		}
		type = be16(tag + 2);
	}
	vcx_packet_set(key, section, VCX_ETHERTYPE, type);
	return type;
}

/* Each returns the protocol behind the header, or -1 where nothing behind it can be read: it is cut
 * off, or the packet is a later fragment. */
static int
parse_ipv4(struct vcx_packet *packet, unsigned section, struct cursor *c)
{
	union vcx_key *key = &packet->key;
	const uint8_t *ip = need(c, 20);
	unsigned header, fragment;

	if (ip == NULL || ip[0] >> 4 != 4)
		return -1;
	header = 4u * (ip[0] & 0xf);
	fragment = be16(ip + 6) & 0x3fff;
	vcx_packet_set(key, section, VCX_IP_VERSION, 4);
	vcx_packet_set(key, section, VCX_IPV4_IHL, ip[0] & 0xf);
	vcx_packet_set(key, section, VCX_IP_TOS, ip[1]);
	vcx_packet_set(key, section, VCX_IP_TTL, ip[8]);
	vcx_packet_set(key, section, VCX_IP_PROTOCOL, ip[9]);
	vcx_packet_set(key, section, VCX_IP_FRAGMENT, fragment != 0);
	vcx_packet_set(key, section, VCX_L3_OK, 1);
	memcpy(key->bytes + (section + VCX_IP_SRC) / 8 + 12, ip + 12, 4);
	memcpy(key->bytes + (section + VCX_IP_DST) / 8 + 12, ip + 16, 4);
	if (header < 20 || need(c, header - 20) == NULL || (fragment & 0x1fff) != 0)
		return -1;
	return ip[9];
}

static int
parse_ipv6(struct vcx_packet *packet, unsigned section, struct cursor *c)
{
	union vcx_key *key = &packet->key;
	const uint8_t *ip = need(c, 40), *extension;
	uint8_t protocol;

	if (ip == NULL || ip[0] >> 4 != 6)
		return -1;
	vcx_packet_set(key, section, VCX_IP_VERSION, 6);
	vcx_packet_set(key, section, VCX_IP_TOS, be16(ip) >> 4 & 0xff);
	vcx_packet_set(key, section, VCX_IP_TTL, ip[7]);
	vcx_packet_set(key, section, VCX_L3_OK, 1);
	if (section == VCX_OUTER)
		vcx_packet_set(key, VCX_MISC, VCX_FLOW_LABEL, be32(ip) & 0xfffff);
	else
		vcx_packet_set(key, VCX_MISC, VCX_INNER_FLOW_LABEL, be32(ip) & 0xfffff);
	memcpy(key->bytes + (section + VCX_IP_SRC) / 8, ip + 8, 16);
	memcpy(key->bytes + (section + VCX_IP_DST) / 8, ip + 24, 16);
	for (protocol = ip[6];; protocol = extension[0]) {
		vcx_packet_set(key, section, VCX_IP_PROTOCOL, protocol);
		if (protocol != PROTO_HOP_BY_HOP && protocol != PROTO_ROUTING &&
			protocol != PROTO_OPTIONS && protocol != PROTO_FRAGMENT)
			return protocol;
		extension = need(c, 8);
		if (extension == NULL)
			return -1;
		if (protocol == PROTO_FRAGMENT) {
			vcx_packet_set(key, section, VCX_IP_FRAGMENT, 1);
			if ((be16(extension + 2) & 0xfff8) != 0) {
				vcx_packet_set(key, section, VCX_IP_PROTOCOL, extension[0]);
				return -1;
			}
		} else if (need(c, 8u * extension[1]) == NULL) {
			return -1;
		}
	}
}

/* The transport header. Returns the destination port of UDP, which tells a tunnel, otherwise 0. */
static uint16_t
parse_transport(struct vcx_packet *packet, unsigned section, struct cursor *c, int protocol)
{
	union vcx_key *key = &packet->key;
	const uint8_t *l4 = need(c, protocol == PROTO_TCP ? 20 : protocol == PROTO_UDP ? 8 : 4);

	if (l4 == NULL)
		return 0;
	switch (protocol) {
	case PROTO_TCP:
		vcx_packet_set(key, section, VCX_TCP_SPORT, be16(l4));
		vcx_packet_set(key, section, VCX_TCP_DPORT, be16(l4 + 2));
		vcx_packet_set(key, section, VCX_TCP_FLAGS, be16(l4 + 12) & 0x1ff);
		break;
	case PROTO_UDP:
		vcx_packet_set(key, section, VCX_UDP_SPORT, be16(l4));
		vcx_packet_set(key, section, VCX_UDP_DPORT, be16(l4 + 2));
		break;
	case PROTO_ICMP:
		vcx_packet_set(key, VCX_MISC3, VCX_ICMP4_TYPE, l4[0]);
		vcx_packet_set(key, VCX_MISC3, VCX_ICMP4_CODE, l4[1]);
		return 0;
	case PROTO_ICMP6:
		vcx_packet_set(key, VCX_MISC3, VCX_ICMP6_TYPE, l4[0]);
		vcx_packet_set(key, VCX_MISC3, VCX_ICMP6_CODE, l4[1]);
		return 0;
	default:
		return 0;
	}
	vcx_packet_set(key, section, VCX_L4_OK, 1);
	return protocol == PROTO_UDP ? be16(l4 + 2) : 0;
}

static uint16_t
parse_gre(struct vcx_packet *packet, struct cursor *c)
{
	const uint8_t *gre = need(c, 4), *option;

	if (gre == NULL)
		return 0;
	vcx_packet_set(&packet->key, VCX_MISC, VCX_GRE_FLAGS, gre[0] >> 4);
	vcx_packet_set(&packet->key, VCX_MISC, VCX_GRE_PROTOCOL, be16(gre + 2));
	for (uint8_t flag = 0x80; flag >= 0x10; flag >>= 1) {
		if ((gre[0] & flag) == 0 || flag == 0x40)
			continue;
		option = need(c, 4);
		if (option == NULL)
			return 0;
		if (flag == 0x20)
			vcx_packet_set(&packet->key, VCX_MISC, VCX_GRE_KEY, be32(option));
	}
	return be16(gre + 2);
}

static int
parse_ip(struct vcx_packet *packet, unsigned section, struct cursor *c, uint16_t type)
{
	if (type == TYPE_IPV4)
		return parse_ipv4(packet, section, c);
	if (type == TYPE_IPV6)
		return parse_ipv6(packet, section, c);
	return -1;
}

/* What a tunnel carries, one level deep, as the hardware does. */
static void
parse_tunnel(struct vcx_packet *packet, struct cursor *c, int protocol, uint16_t udp_port)
{
	const uint8_t *vxlan;
	uint16_t type = 0;
	int inner;

	if (protocol == PROTO_GRE) {
		type = parse_gre(packet, c);
		if (type == TYPE_BRIDGE)
			type = parse_ethernet(packet, VCX_INNER, c);
	} else if (udp_port == PORT_VXLAN && (vxlan = need(c, 8)) != NULL) {
		vcx_packet_set(&packet->key, VCX_MISC, VCX_VXLAN_VNI, be32(vxlan + 4) >> 8);
		type = parse_ethernet(packet, VCX_INNER, c);
	}
	if (type == 0)
		return;
	packet->tunnel = true;
	inner = parse_ip(packet, VCX_INNER, c, type);
	if (inner >= 0)
		parse_transport(packet, VCX_INNER, c, inner);
}

void
vcx_packet_parse(struct vcx_packet *packet, const void *data, size_t length)
{
	struct cursor c = {data, length};
	uint16_t udp_port = 0;
	int protocol;

	memset(packet, 0, sizeof(*packet));
	packet->data = data;
	packet->length = length;
	protocol = parse_ip(packet, VCX_OUTER, &c, parse_ethernet(packet, VCX_OUTER, &c));
	packet->ip_fragment = vcx_packet_get(&packet->key, VCX_OUTER, VCX_IP_FRAGMENT);
	if (protocol < 0)
		return;
	if (protocol != PROTO_GRE)
		udp_port = parse_transport(packet, VCX_OUTER, &c, protocol);
	parse_tunnel(packet, &c, protocol, udp_port);
}

/* ---- hash --------------------------------------------------------------------------------------
 */

static size_t
append(uint8_t *input, size_t at, const uint8_t *from, size_t bytes, bool wanted)
{
	if (wanted)
		memcpy(input + at, from, bytes);
	return wanted ? at + bytes : at;
}

static size_t
hash_input(const struct vcx_packet *packet, uint64_t fields, uint8_t *input)
{
	unsigned section = fields & IBV_RX_HASH_INNER ? VCX_INNER : VCX_OUTER;
	const uint8_t *header = packet->key.bytes + section / 8;
	uint32_t version = vcx_packet_get(&packet->key, section, VCX_IP_VERSION);
	uint32_t protocol = vcx_packet_get(&packet->key, section, VCX_IP_PROTOCOL);
	bool l4 = vcx_packet_get(&packet->key, section, VCX_L4_OK);
	bool v4 = version == 4, v6 = version == 6;
	bool tcp = l4 && protocol == PROTO_TCP, udp = l4 && protocol == PROTO_UDP;
	const uint8_t *ports = header + (tcp ? 0xa0 : 0xe0) / 8;
	const uint8_t *src = header + VCX_IP_SRC / 8, *dst = header + VCX_IP_DST / 8;
	size_t n = 0;

	n = append(input, n, src + 12, 4, v4 && fields & IBV_RX_HASH_SRC_IPV4);
	n = append(input, n, src, 16, v6 && fields & IBV_RX_HASH_SRC_IPV6);
	n = append(input, n, dst + 12, 4, v4 && fields & IBV_RX_HASH_DST_IPV4);
	n = append(input, n, dst, 16, v6 && fields & IBV_RX_HASH_DST_IPV6);
	n = append(input, n, ports, 2,
		(tcp && fields & IBV_RX_HASH_SRC_PORT_TCP) ||
			(udp && fields & IBV_RX_HASH_SRC_PORT_UDP));
	n = append(input, n, ports + 2, 2,
		(tcp && fields & IBV_RX_HASH_DST_PORT_TCP) ||
			(udp && fields & IBV_RX_HASH_DST_PORT_UDP));
	return n;
}

uint32_t
vcx_packet_hash(const struct vcx_packet *packet, uint64_t fields, const uint8_t *key)
{
	uint8_t input[36];
	size_t length = hash_input(packet, fields, input);
	uint32_t window = be32(key), hash = 0;

	for (size_t bit = 0; bit < 8 * length; bit++) {
		size_t next = bit + 32;

		if (input[bit / 8] >> (7 - bit % 8) & 1)
			hash ^= window;
		window = window << 1 | (next < 320 ? key[next / 8] >> (7 - next % 8) & 1 : 0);
	}
	return hash;
}
