/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of a pcap as mbufs. Each segment is a heap block of exactly its bytes, so that what is
 * read past one is seen by AddressSanitizer, and is not the packet's own next byte without it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "replay.h"
#include "soft_test.h"

#define FRAME_BYTES_MAX 65535

struct pcap_record {
	uint32_t seconds;
	uint32_t microseconds;
	uint32_t captured;
	uint32_t length;
};

struct packet {
	uint8_t bytes[FRAME_BYTES_MAX];
	uint32_t length;
	uint64_t flags;
	uint16_t outer;
	uint16_t inner;
};

static uint16_t
be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void
cut_tag(struct packet *packet, uint32_t at)
{
	memmove(packet->bytes + at, packet->bytes + at + 4, packet->length - at - 4);
	packet->length -= 4;
}

/*
 * As a NIC does it. The mbuf has no room for TPIDs, so only tags are taken whose TPID an engine can
 * know: 802.1Q, and 802.1ad outside of 802.1Q. Of the latter, in turn: both, or the outer one alone
 * with the inner one's TCI told as well.
 */
static void
strip(struct packet *packet, uint64_t number)
{
	const uint8_t *bytes = packet->bytes;

	if (packet->length >= 22 && be16(bytes + 12) == 0x88a8 && be16(bytes + 16) == 0x8100) {
		packet->outer = be16(bytes + 14);
		packet->inner = be16(bytes + 18);
		packet->flags =
			RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_QINQ | RTE_MBUF_F_RX_QINQ_STRIPPED;
		if (number % 2 == 0) {
			packet->flags |= RTE_MBUF_F_RX_VLAN_STRIPPED;
			cut_tag(packet, 16);
		}
		cut_tag(packet, 12);
	} else if (packet->length >= 18 && be16(bytes + 12) == 0x8100) {
		packet->inner = be16(bytes + 14);
		packet->flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		cut_tag(packet, 12);
	}
}

static uint32_t
next_segment(const struct replay *replay, struct trip_random *random, uint32_t left)
{
	uint32_t length = replay->segments == REPLAY_WHOLE ? left : replay->segment;

	if (replay->segments == REPLAY_RANDOM)
		length = (uint32_t)trip_random_below(random, replay->segment + 1);
	return length < left ? length : left;
}

static struct rte_mbuf *
make(const struct replay *replay, struct trip_random *random, const struct packet *packet)
{
	uint32_t at = next_segment(replay, random, packet->length);
	struct rte_mbuf *mbuf = mbuf_segment(packet->bytes, at), *last = mbuf;

	while (at < packet->length) {
		uint32_t length = next_segment(replay, random, packet->length - at);

		last->next = mbuf_segment(packet->bytes + at, length);
		last = last->next;
		mbuf->nb_segs++;
		at += length;
	}
	mbuf->pkt_len = packet->length;
	mbuf->ol_flags = packet->flags;
	mbuf->vlan_tci = packet->inner;
	mbuf->vlan_tci_outer = packet->outer;
	return mbuf;
}

/* 1, 0 at the end of the file, or -1. */
static int
read_packet(FILE *file, struct packet *packet)
{
	struct pcap_record record;

	if (fread(&record, sizeof(record), 1, file) != 1)
		return feof(file) ? 0 : -1;
	if (record.captured > sizeof(packet->bytes))
		return -1;
	packet->length = record.captured;
	packet->flags = 0;
	if (fread(packet->bytes, 1, record.captured, file) != record.captured)
		return -1;
	return 1;
}

static void
count(struct replay *replay, uint64_t bursts, struct rte_mbuf **pkts, uint16_t n)
{
	struct rte_mbuf *mine[REPLAY_BURST_MAX];
	uint16_t i;

	/* The burst reorders pkts and frees what is dropped, which leaves mbuf_segment()'s alive.
	 */
	memcpy(mine, pkts, n * sizeof(*pkts));
	replay->left += replay_count(replay, (uint16_t)(bursts % replay->queues), pkts, n);
	for (i = 0; i < n; i++)
		mbuf_release(mine[i]);
}

/* Bursts go to the queues in turn. */
static int
count_all(struct replay *replay, FILE *file)
{
	struct trip_random random = {.state = replay->seed};
	struct rte_mbuf *pkts[REPLAY_BURST_MAX];
	static struct packet packet;
	uint64_t bursts = 0;
	uint16_t n = 0;
	int found;

	while ((found = read_packet(file, &packet)) == 1) {
		if (replay->strip)
			strip(&packet, replay->received);
		pkts[n++] = make(replay, &random, &packet);
		replay->received++;
		if (n == replay->burst) {
			count(replay, bursts++, pkts, n);
			n = 0;
		}
	}
	if (n > 0)
		count(replay, bursts, pkts, n);
	return found;
}

int
replay_file(struct replay *replay)
{
	FILE *file = fopen(replay->pcap, "rb");
	uint32_t header[6];
	int result = -1;

	if (file == NULL) {
		fprintf(stderr, "replay: %s: %s\n", replay->pcap, strerror(errno));
		return -1;
	}
	if (fread(header, sizeof(header), 1, file) == 1 && header[0] == 0xa1b2c3d4)
		result = count_all(replay, file);
	if (result != 0)
		fprintf(stderr, "replay: %s: no pcap of this byte order, or cut off after %llu\n",
			replay->pcap, (unsigned long long)replay->received);
	fclose(file);
	return result;
}
