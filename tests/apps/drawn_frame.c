/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>

#include "drawn_frame.h"
#include "link/segment.h"

static size_t
put_ethernet(struct trip_random *rng, struct drawn *drawn)
{
	uint16_t type = htons(drawn->ipv6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
	uint16_t vlan[2] = {htons(RTE_ETHER_TYPE_VLAN), htons(7)};
	unsigned int tags = (unsigned int)trip_random_below(rng, 3);
	size_t at = 12;

	for (; tags > 0; tags--, at += sizeof(vlan))
		memcpy(drawn->bytes + at, vlan, sizeof(vlan));
	memcpy(drawn->bytes + at, &type, sizeof(type));
	return at + sizeof(type);
}

static size_t
put_ip(struct trip_random *rng, struct drawn *drawn, uint8_t protocol)
{
	uint8_t *at = drawn->bytes + drawn->l3;
	size_t options;

	for (size_t i = 0; i < 60; i++)
		at[i] = (uint8_t)trip_random_u64(rng);
	if (!drawn->ipv6) {
		options = 4 * (size_t)trip_random_below(rng, 3);
		at[0] = (uint8_t)(0x45 + options / 4);
		/* Don't fragment. */
		at[6] = 0x40;
		at[7] = 0;
		at[9] = protocol;
		/* No options. */
		memset(at + 20, 1, options);
		return drawn->l3 + 20 + options;
	}
	options = 8 * (size_t)trip_random_below(rng, 2);
	at[0] = 0x60;
	/* Its length is not zero, as in one that has no room for it. */
	at[4] |= 1;
	at[6] = options > 0 ? IPPROTO_DSTOPTS : protocol;
	if (options > 0)
		memcpy(at + 40, (uint8_t[]){protocol, 0, 1, 4, 0, 0, 0, 0}, 8);
	return drawn->l3 + 40 + options;
}

void
frame_draw(struct trip_random *rng, struct drawn *drawn)
{
	static const uint16_t sizes[] = {1, 8, 536, 1000, 1448, 8948};

	memset(drawn, 0, sizeof(*drawn));
	drawn->ipv6 = trip_random_below(rng, 2) != 0;
	drawn->tcp = trip_random_below(rng, 2) != 0;
	drawn->l3 = put_ethernet(rng, drawn);
	drawn->l4 = put_ip(rng, drawn, drawn->tcp ? IPPROTO_TCP : IPPROTO_UDP);
	drawn->payload = drawn->l4 + (drawn->tcp ? 20 + 4 * trip_random_below(rng, 11) : 8);
	drawn->header.gso_size = sizes[trip_random_below(rng, 6)];
	drawn->length = drawn->payload + 1 + trip_random_below(rng, 40 * drawn->header.gso_size);
	if (drawn->length > 65000)
		drawn->length = 65000;
	for (size_t i = drawn->l4; i < drawn->length; i++)
		drawn->bytes[i] = (uint8_t)trip_random_u64(rng);
	if (drawn->tcp)
		drawn->bytes[drawn->l4 + 12] = (uint8_t)((drawn->payload - drawn->l4) / 4 << 4);
	drawn->header.gso_type = !drawn->tcp   ? 5
				 : drawn->ipv6 ? VIRTIO_NET_HDR_GSO_TCPV6
					       : VIRTIO_NET_HDR_GSO_TCPV4;
	if (drawn->tcp && trip_random_below(rng, 2) != 0)
		drawn->header.gso_type |= VIRTIO_NET_HDR_GSO_ECN;
	drawn->header.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	drawn->header.csum_start = (uint16_t)drawn->l4;
}

static void
draw_inner(struct trip_random *rng, struct drawn *inner)
{
	uint16_t length, sum = 0;

	do
		frame_draw(rng, inner);
	while ((inner->ipv6 && inner->l4 - inner->l3 != 40) || inner->length > 60000);
	if (inner->ipv6) {
		length = htons((uint16_t)(inner->length - inner->l4));
		memcpy(inner->bytes + inner->l3 + 4, &length, sizeof(length));
		return;
	}
	length = htons((uint16_t)(inner->length - inner->l3));
	memcpy(inner->bytes + inner->l3 + 2, &length, sizeof(length));
	memcpy(inner->bytes + inner->l3 + 10, &sum, sizeof(sum));
	sum = (uint16_t)~rte_raw_cksum(inner->bytes + inner->l3, inner->l4 - inner->l3);
	memcpy(inner->bytes + inner->l3 + 10, &sum, sizeof(sum));
}

/* Returns where the inner frame begins. */
static size_t
put_tunnel(struct trip_random *rng, struct drawn *outer, uint8_t protocol)
{
	static const uint16_t flags[] = {0, 0x8000, 0x2000, 0xa000};
	size_t at = outer->l4;
	uint16_t word;

	for (size_t i = 0; i < 40; i++)
		outer->bytes[at + i] = (uint8_t)trip_random_u64(rng);
	if (protocol == IPPROTO_UDP) {
		word = (uint16_t)trip_random_below(rng, 2);
		memcpy(outer->bytes + at + 6, &word, sizeof(word));
		return at + 8 + 4 * trip_random_below(rng, 8);
	}
	if (protocol != IPPROTO_GRE)
		return at;
	word = htons(flags[trip_random_below(rng, 4)]);
	memcpy(outer->bytes + at, &word, sizeof(word));
	return at + 4 + ((word & htons(0x8000)) != 0 ? 4u : 0) +
	       ((word & htons(0x2000)) != 0 ? 4u : 0);
}

void
frame_draw_tunnelled(struct trip_random *rng, struct tunnelled *drawn)
{
	static const uint8_t protocols[] = {IPPROTO_UDP, IPPROTO_GRE, IPPROTO_IPIP, IPPROTO_IPV6};
	struct drawn *outer = &drawn->outer, *inner = &drawn->inner;
	size_t skipped;

	draw_inner(rng, inner);
	memset(outer, 0, sizeof(*outer));
	drawn->protocol = protocols[trip_random_below(rng, 4)];
	outer->ipv6 = trip_random_below(rng, 2) != 0;
	outer->l3 = put_ethernet(rng, outer);
	outer->l4 = put_ip(rng, outer, drawn->protocol);
	drawn->at = put_tunnel(rng, outer, drawn->protocol);
	skipped = drawn->protocol == IPPROTO_IPIP || drawn->protocol == IPPROTO_IPV6 ||
				  trip_random_below(rng, 2) != 0
			  ? inner->l3
			  : 0;
	drawn->shift = drawn->at - skipped;
	outer->length = drawn->shift + inner->length;
	memcpy(outer->bytes + drawn->at, inner->bytes + skipped, inner->length - skipped);
	drawn->header = inner->header;
	drawn->header.csum_start = (uint16_t)(drawn->shift + inner->l4);
}

size_t
frame_draw_right(struct trip_random *rng, struct drawn *drawn, uint8_t *frame)
{
	static struct tripd_segment segment;
	struct tripd_joined joined;

	frame_draw(rng, drawn);
	drawn->header.gso_size = 1000;
	assert_true(tripd_joined_begin(&joined, drawn->bytes, drawn->length, &drawn->header));
	assert_true(tripd_joined_next(&joined, &segment));
	memcpy(frame, segment.headers, segment.n_headers);
	memcpy(frame + segment.n_headers, segment.payload, segment.n_payload);
	return segment.n_headers + segment.n_payload;
}

/* By DPDK's helpers, which know no extension headers. */
uint16_t
frame_pseudo(const struct drawn *drawn, const uint8_t *frame, size_t length)
{
	struct rte_ipv6_hdr ipv6;

	if (!drawn->ipv6)
		return rte_ipv4_phdr_cksum((const struct rte_ipv4_hdr *)(frame + drawn->l3), 0);
	memcpy(&ipv6, frame + drawn->l3, sizeof(ipv6));
	ipv6.proto = drawn->tcp ? IPPROTO_TCP : IPPROTO_UDP;
	ipv6.payload_len = htons((uint16_t)(length - drawn->l4));
	return rte_ipv6_phdr_cksum(&ipv6, 0);
}
