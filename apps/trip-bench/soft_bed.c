/* SPDX-License-Identifier: BSD-3-Clause */
/* The bed of the software engine's benchmarks: rules, packets that hit them, and both arms. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_mbuf.h>

#include "soft_bed.h"

#define FRAME 60
#define HOSTILE_BITS 0xfff

/* Mask m leaves out the source where bit 0 is set, the source port with bit 1, the destination port
 * with bit 2. */
static struct key
masked(const struct key *key, uint32_t m)
{
	return (struct key){
		.src = (m & 1) != 0 ? 0 : key->src,
		.dst = key->dst,
		.src_port = (m & 2) != 0 ? 0 : key->src_port,
		.dst_port = (m & 4) != 0 ? 0 : key->dst_port,
		.mask = m,
	};
}

static int
create_flow(struct soft *soft, const struct key *key)
{
	struct key mask = masked(&(struct key){~0u, ~0u, 0xffff, 0xffff, 0}, key->mask);
	struct key value = masked(key, key->mask);
	struct rte_flow_item_ipv4 ip = {.hdr = {.src_addr = value.src, .dst_addr = value.dst}};
	struct rte_flow_item_ipv4 ip_mask = {.hdr = {.src_addr = mask.src, .dst_addr = mask.dst}};
	struct rte_flow_item_udp udp = {
		.hdr = {.src_port = value.src_port, .dst_port = value.dst_port}};
	struct rte_flow_item_udp udp_mask = {
		.hdr = {.src_port = mask.src_port, .dst_port = mask.dst_port}};
	struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4, .spec = &ip, .mask = &ip_mask},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &udp_mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};

	if (trip_flow_create(soft->port, NULL, pattern, NULL, &soft->flows[soft->n_flows], NULL) !=
		0)
		return bench_fail("flow");
	soft->n_flows++;
	return 0;
}

void
soft_bed_draw_random(struct soft *soft, uint32_t i, struct key *key)
{
	*key = (struct key){(uint32_t)bench_random_u64(&soft->random),
		(uint32_t)bench_random_u64(&soft->random),
		(uint16_t)bench_random_u64(&soft->random),
		(uint16_t)bench_random_u64(&soft->random), i % soft->bench->second};
}

/*
 * What an attacker who knows all but the secret would send: addresses that count up in steps of a
 * large power of two, ports chosen so that all keys are alike in the low bits of their CRC, by
 * which a public hash would choose the bucket.
 */
void
soft_bed_draw_hostile(struct soft *soft, uint32_t i, struct key *key)
{
	*key = (struct key){.src = i << 16, .dst = 0x0a000001};
	do {
		uint64_t ports = bench_random_u64(&soft->random);

		key->src_port = (uint16_t)ports;
		key->dst_port = (uint16_t)(ports >> 16);
	} while ((rte_hash_crc(key, sizeof(*key), 0) & HOSTILE_BITS) != 0);
}

void
soft_bed_draw_bare(struct soft *soft, uint32_t i, struct key *key)
{
	soft_bed_draw_random(soft, i, key);
}

/* rte_hash cannot even hold keys that collide, and a bare bed needs no tables. */
static bool
has_tables(const struct soft *soft)
{
	return soft->draw == soft_bed_draw_random;
}

static int
add_rules(struct soft *soft)
{
	for (uint32_t i = 0; i < soft->bench->size; i++) {
		struct key *key = &soft->keys[i];
		struct key value;

		soft->draw(soft, i, key);
		value = masked(key, key->mask);
		if (create_flow(soft, key) != 0)
			return -1;
		if (!has_tables(soft))
			continue;
		if (rte_hash_add_key_data(soft->tables[key->mask], &value, key) != 0)
			return bench_fail("rte_hash");
	}
	return 0;
}

static int
open_tables(struct soft *soft)
{
	uint32_t entries = soft->bench->size / soft->bench->second;

	for (uint32_t m = 0; has_tables(soft) && m < soft->bench->second; m++) {
		char name[32];
		struct rte_hash_parameters parameters = {
			.name = name,
			/* Room, so that no bucket overflows. */
			.entries = RTE_MAX(entries + entries / 8, 8u),
			.key_len = sizeof(struct key),
			.hash_func = rte_hash_crc,
		};

		snprintf(name, sizeof(name), "bench%u_%" PRIu32, soft->instance, m);
		soft->tables[m] = rte_hash_create(&parameters);
		if (soft->tables[m] == NULL)
			return bench_fail("rte_hash");
	}
	return 0;
}

static int
open_engine(struct soft *soft)
{
	struct trip_domain_attr attr = {
		.size = sizeof(attr),
		.name = soft->instance == 0 ? "bench0" : "bench1",
		.progress = TRIP_PROGRESS_MANUAL,
		.max_flows = soft->bench->size,
		.max_queues = 1,
	};
	struct trip_port_attr port_attr = {.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	struct rte_eth_conf conf = {0};
	uint16_t port;

	if (trip_domain_open(&attr, &soft->domain, NULL) != 0)
		return bench_fail("domain");
	if (rte_eth_dev_get_port_by_name(
		    soft->instance == 0 ? "net_null_bench0" : "net_null_bench1", &port) != 0 ||
		rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
		trip_port_open(soft->domain, port, &port_attr, &soft->port) != 0)
		return bench_fail("port");
	return 0;
}

static int
open_packets(struct soft *soft)
{
	soft->pool = rte_pktmbuf_pool_create(soft->instance == 0 ? "bench0" : "bench1", 2 * PACKETS,
		0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (soft->pool == NULL || rte_pktmbuf_alloc_bulk(soft->pool, soft->ring, PACKETS) != 0)
		return bench_fail("mempool");
	return 0;
}

void
soft_bed_close(struct soft *soft)
{
	while (soft->n_flows > 0)
		trip_flow_destroy(soft->flows[--soft->n_flows]);
	if (soft->port != NULL)
		trip_port_close(soft->port);
	if (soft->domain != NULL)
		trip_domain_close(soft->domain);
	for (unsigned int m = 0; m < MASKS_MAX; m++)
		rte_hash_free(soft->tables[m]);
	rte_mempool_free(soft->pool);
	free(soft->flows);
	free(soft->keys);
	free(soft->seen);
	free(soft);
}

struct soft *
soft_bed_open(const struct bench *bench, unsigned int instance,
	void (*draw)(struct soft *soft, uint32_t i, struct key *key))
{
	struct soft *soft = calloc(1, sizeof(*soft));

	if (soft == NULL)
		return NULL;
	soft->bench = bench;
	soft->instance = instance;
	soft->draw = draw;
	soft->random.state = 42;
	soft->keys = calloc(bench->size, sizeof(*soft->keys));
	soft->flows = calloc(bench->size, sizeof(*soft->flows));
	soft->seen = calloc(bench->size, 1);
	if (soft->keys != NULL && soft->flows != NULL && soft->seen != NULL &&
		open_tables(soft) == 0 && open_engine(soft) == 0 && open_packets(soft) == 0 &&
		add_rules(soft) == 0)
		return soft;
	soft_bed_close(soft);
	return NULL;
}

void
soft_bed_write(struct soft *soft, uint32_t packet, const struct key *key)
{
	struct rte_mbuf *mbuf = soft->ring[packet];
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);

	memset(frame, 0, FRAME);
	frame[12] = 0x08;
	frame[14] = 0x45;
	frame[17] = FRAME - 14;
	frame[22] = 64;
	frame[23] = 17;
	memcpy(&frame[26], &key->src, 4);
	memcpy(&frame[30], &key->dst, 4);
	memcpy(&frame[34], &key->src_port, 2);
	memcpy(&frame[36], &key->dst_port, 2);
	mbuf->data_len = FRAME;
	mbuf->pkt_len = FRAME;
}

void
soft_bed_choose(struct soft *soft)
{
	for (unsigned int i = 0; i < PACKETS; i++) {
		uint32_t at = (uint32_t)(bench_random_u64(&soft->random) % soft->bench->size);

		if (soft->seen[at] == 0) {
			soft->seen[at] = 1;
			soft->distinct++;
		}
		soft_bed_write(soft, i, &soft->keys[at]);
		for (uint32_t m = 0; m < soft->bench->second; m++) {
			soft->packet_keys[m][i] = masked(&soft->keys[at], m);
			soft->key_pointers[m][i] = &soft->packet_keys[m][i];
		}
	}
}

uint64_t
soft_bed_time_lookups(struct soft *soft)
{
	uint64_t hits, began = rte_rdtsc();
	void *data[BURST];

	for (unsigned int i = 0; i < PACKETS; i += BURST) {
		for (uint32_t m = 0; m < soft->bench->second; m++) {
			rte_hash_lookup_bulk_data(
				soft->tables[m], &soft->key_pointers[m][i], BURST, &hits, data);
			soft->lookup_hits += (uint64_t)__builtin_popcountll(hits);
		}
	}
	soft->lookups += PACKETS;
	return rte_rdtsc() - began;
}

uint64_t
soft_bed_time_engine(struct soft *soft)
{
	uint64_t began = rte_rdtsc();

	for (unsigned int i = 0; i < PACKETS; i += BURST)
		trip_port_burst(soft->port, 0, &soft->ring[i], BURST);
	return rte_rdtsc() - began;
}

/* Every packet must have been counted, or the figure means nothing. */
int
soft_bed_verify(const struct soft *soft, uint64_t sent)
{
	struct trip_flow_count count = {.size = sizeof(count)};
	uint64_t counted = 0;

	for (uint32_t i = 0; i < soft->n_flows; i++) {
		trip_flow_query(soft->flows[i], &count);
		counted += count.packets;
	}
	if (counted == sent)
		return 0;
	fprintf(stderr, "trip-bench: %" PRIu64 " packets sent, %" PRIu64 " counted\n", sent,
		counted);
	return -1;
}
