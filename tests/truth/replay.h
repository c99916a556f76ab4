/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces of replay: where frames come from, and what is done with a burst of them. */
#ifndef REPLAY_H
#define REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#define REPLAY_BURST_MAX 256
#define REPLAY_PORT 0

/* Of a packet made from a file: how its bytes lie in segments. */
enum replay_segments {
	REPLAY_WHOLE,  /* one */
	REPLAY_FIXED,  /* of `segment` bytes, the last one of what is left */
	REPLAY_RANDOM, /* of any length up to `segment`, 0 as well */
};

struct replay {
	/* As asked for. */
	const char *rules;
	const char *pcap; /* frames of a file, in buffers of exactly their segments */
	const char *vdev; /* or what arrives at this device */
	uint64_t frames;  /* from the device: how many are waited for */
	uint16_t queues;
	uint16_t burst;
	enum replay_segments segments;
	uint32_t segment;
	uint64_t seed;
	bool strip;    /* a tag, or two, are taken out of a frame as Rx does it */
	bool by_frame; /* tell of each rule which frames it counted; bursts of one */
	bool callback; /* from the device: count in Rx callbacks */
	uint16_t room; /* from the device: bytes of an mbuf */
	/* What came of it. */
	uint64_t received;
	uint64_t left; /* after drops */
};

/* Counts a burst of one queue; returns how many packets are left in front. */
uint16_t replay_count(struct replay *replay, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);

/* Both return 0, or -1 with the reason on stderr. */
int replay_file(struct replay *replay);
int replay_device_start(struct replay *replay);
void replay_device_receive(struct replay *replay);
void replay_device_stop(struct replay *replay);

#endif
