/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SOFT_BED_H
#define SOFT_BED_H

#include <stdint.h>

#include <rte_hash.h>
#include <rte_mbuf.h>

#include "bench.h"

#define BURST 32
#define PACKETS 1024
#define MASKS_MAX 8

/* What a rule of the widest mask is about; the others leave parts of it out. */
struct key {
	uint32_t src;
	uint32_t dst;
	uint16_t src_port;
	uint16_t dst_port;
	uint32_t mask;
};

struct soft {
	const struct bench *bench;
	/* Two may be open at once, and then differ in their names. */
	unsigned int instance;
	/* Draws the key of the next rule. */
	void (*draw)(struct soft *soft, uint32_t i, struct key *key);
	struct key *keys;
	struct bench_random random;
	/* The engine's arm. */
	struct trip_domain *domain;
	struct trip_port *port;
	struct trip_flow **flows;
	uint32_t n_flows;
	struct rte_mempool *pool;
	struct rte_mbuf *ring[PACKETS];
	/* The limit's arm: a table a mask, of the packets' keys under that mask. */
	struct rte_hash *tables[MASKS_MAX];
	struct key packet_keys[MASKS_MAX][PACKETS];
	const void *key_pointers[MASKS_MAX][PACKETS];
	uint8_t *seen;
	uint32_t distinct;
	uint64_t lookup_hits, lookups;
};

/* Draw the key of rule i: at random; so that keys collide wherever the hash is public; at random,
 * with the engine alone, without the tables of the limit's arm. */
void soft_bed_draw_random(struct soft *soft, uint32_t i, struct key *key);
void soft_bed_draw_hostile(struct soft *soft, uint32_t i, struct key *key);
void soft_bed_draw_bare(struct soft *soft, uint32_t i, struct key *key);

/* Opens a bed with bench->size rules in bench->second masks; NULL with a message on stderr. */
struct soft *soft_bed_open(const struct bench *bench, unsigned int instance,
	void (*draw)(struct soft *soft, uint32_t i, struct key *key));
void soft_bed_close(struct soft *soft);

/* Chooses the packets of a round and writes what both arms will read. */
void soft_bed_choose(struct soft *soft);

/* Writes the headers of one packet: an Ethernet, an IPv4 and a UDP header in front of zeros. */
void soft_bed_write(struct soft *soft, uint32_t packet, const struct key *key);

/* Tsc ticks that a round takes: of raw lookups, and of the engine. */
uint64_t soft_bed_time_lookups(struct soft *soft);
uint64_t soft_bed_time_engine(struct soft *soft);

/* 0 where all `sent` packets were counted; else -1, with a message: the figure means nothing. */
int soft_bed_verify(const struct soft *soft, uint64_t sent);

#endif
