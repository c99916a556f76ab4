/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of keys that nobody knew beforehand: what is added to a burst of 32 packets by parsing
 * them, taking their keys and counting by these. Beside it, on the same keys in the same order, raw
 * bulk lookups of rte_hash, which parse nothing and count nothing. And a table that is full while
 * each packet has a new key, beside one of which all keys are known.
 *
 * Headers are written before the clock runs. Keys are of both addresses, protocol and both ports.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_malloc.h>

#include "arm.h"
#include "soft_bed.h"

#define REPETITIONS 21
#define ROUNDS 256
#define FRAME 60
#define UDP 17
/* Keys through a table of 65,536, whose memory is looked at before and behind. */
#define FLAT_KEYS 10000000u
#define FLAT_ROOM 65536u

/* As they stand in a table. */
struct each_key {
	_Alignas(16) uint8_t bytes[16];
};

struct each {
	const struct bench *bench;
	struct bench_random random;
	struct each_key *keys;
	struct arm_each *arm;
	enum arm_each_kind kind;
	struct rte_hash *hash;
	struct rte_mempool *pool;
	struct rte_mbuf *ring[PACKETS];
	/* What the lookups are given. */
	struct each_key packet_keys[PACKETS];
	const void *pointers[PACKETS];
	uint64_t sent, hits, lookups;
};

static struct each_key
draw_key(struct each *each)
{
	uint64_t addresses = bench_random_u64(&each->random);
	uint32_t ports = (uint32_t)bench_random_u64(&each->random);
	struct each_key key = {.bytes = {[8] = UDP}};

	memcpy(key.bytes, &addresses, sizeof(addresses));
	memcpy(key.bytes + 9, &ports, sizeof(ports));
	return key;
}

static void
write_packet(struct each *each, unsigned int i, const struct each_key *key)
{
	struct rte_mbuf *mbuf = each->ring[i];
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);

	memset(frame, 0, FRAME);
	frame[12] = 0x08;
	frame[14] = 0x45;
	frame[17] = FRAME - 14;
	frame[22] = 64;
	frame[23] = key->bytes[8];
	memcpy(frame + 26, key->bytes, 8);
	memcpy(frame + 34, key->bytes + 9, 4);
	mbuf->data_len = FRAME;
	mbuf->pkt_len = FRAME;
}

/* Known keys, at random; or new ones. */
static void
choose(struct each *each, bool known)
{
	for (unsigned int i = 0; i < PACKETS; i++) {
		each->packet_keys[i] =
			known ? each->keys[bench_random_u64(&each->random) % each->bench->size]
			      : draw_key(each);
		each->pointers[i] = &each->packet_keys[i];
		write_packet(each, i, &each->packet_keys[i]);
	}
}

static uint64_t
time_each(struct each *each)
{
	uint64_t began = rte_rdtsc();

	for (unsigned int i = 0; i < PACKETS; i += BURST)
		(void)arm_each_burst(each->arm, &each->ring[i], BURST);
	each->sent += PACKETS;
	return rte_rdtsc() - began;
}

static uint64_t
time_lookups(struct each *each)
{
	uint64_t hits, began = rte_rdtsc();
	void *data[BURST];

	for (unsigned int i = 0; i < PACKETS; i += BURST) {
		rte_hash_lookup_bulk_data(each->hash, &each->pointers[i], BURST, &hits, data);
		each->hits += (uint64_t)__builtin_popcountll(hits);
	}
	each->lookups += PACKETS;
	return rte_rdtsc() - began;
}

/* ---- bed --------------------------------------------------------------------------------------
 */

static void
close_each(struct each *each)
{
	if (each->arm != NULL)
		arm_each_close(each->arm);
	rte_hash_free(each->hash);
	rte_mempool_free(each->pool);
	free(each->keys);
}

static int
open_packets(struct each *each, const char *name)
{
	each->random.state = 42;
	each->pool = rte_pktmbuf_pool_create(
		name, 2 * PACKETS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (each->pool == NULL || rte_pktmbuf_alloc_bulk(each->pool, each->ring, PACKETS) != 0)
		return bench_fail("mempool");
	return 0;
}

/* All keys that there is room for, once. */
static int
fill_table(struct each *each)
{
	uint32_t size = each->bench->size;

	each->keys = aligned_alloc(64, (size * sizeof(*each->keys) + 63) / 64 * 64);
	each->arm = arm_each_open(size, each->kind);
	if (each->keys == NULL || each->arm == NULL)
		return bench_fail("table of keys");
	for (uint32_t i = 0; i < size; i++)
		each->keys[i] = draw_key(each);
	for (uint32_t i = 0; i < size; i += BURST) {
		uint32_t n = size - i < BURST ? size - i : BURST;

		for (uint32_t k = 0; k < n; k++)
			write_packet(each, k, &each->keys[i + k]);
		(void)arm_each_burst(each->arm, each->ring, n);
		each->sent += n;
	}
	if (each->kind == ARM_EACH_DROP)
		arm_each_hold(each->arm);
	return 0;
}

static int
fill_hash(struct each *each)
{
	const struct rte_hash_parameters parameters = {
		.name = "bench_each",
		/* Room, so that no bucket overflows. */
		.entries = each->bench->size + each->bench->size / 8,
		.key_len = sizeof(struct each_key),
		.hash_func = rte_hash_crc,
	};

	each->hash = rte_hash_create(&parameters);
	if (each->hash == NULL)
		return bench_fail("rte_hash");
	for (uint32_t i = 0; i < each->bench->size; i++)
		if (rte_hash_add_key_data(each->hash, &each->keys[i], &each->keys[i]) != 0)
			return bench_fail("rte_hash");
	return 0;
}

/* Each packet was counted, and what holds of a table does, or the figure means nothing. */
static int
verify(const struct each *each, struct arm_each_totals *totals)
{
	*totals = arm_each_totals(each->arm);
	if (totals->whole && totals->packets == each->sent)
		return 0;
	fprintf(stderr, "trip-bench: %" PRIu64 " packets sent, %" PRIu64 " counted\n", each->sent,
		totals->packets);
	return -1;
}

/* ---- known keys -------------------------------------------------------------------------------
 */

static int
repeat(void *arg, struct bench_sample *sample)
{
	static double ours[ROUNDS], lookups[ROUNDS];
	double ns = 1e9 / (double)rte_get_tsc_hz() / PACKETS;
	struct each *each = arg;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		choose(each, true);
		/* They take turns in going first. */
		if (i % 2 == 0)
			lookups[i] = (double)time_lookups(each);
		ours[i] = (double)time_each(each);
		if (i % 2 != 0)
			lookups[i] = (double)time_lookups(each);
	}
	sample->value = bench_middle(ours, ROUNDS) * ns;
	sample->limit = bench_middle(lookups, ROUNDS) * ns;
	sample->peer = each->bench->second;
	return 0;
}

static int
bench_kind(const struct bench *bench, struct bench_result *result, enum arm_each_kind kind)
{
	struct each each = {.bench = bench, .kind = kind};
	struct arm_each_totals totals;
	int error = open_packets(&each, "each0");

	if (error == 0)
		error = fill_table(&each);
	if (error == 0)
		error = fill_hash(&each);
	if (error == 0) {
		bench_repeat(bench, result, REPETITIONS, repeat, &each);
		error = verify(&each, &totals);
	}
	if (error == 0)
		snprintf(result->note, sizeof(result->note),
			"keys of 13 bytes in 16, %" PRIu32 " of %u in the table, lookups hit %.2f, "
			"bursts of %d",
			totals.keys, bench->size, (double)each.hits / (double)each.lookups, BURST);
	close_each(&each);
	return error;
}

int
bench_each(const struct bench *bench, struct bench_result *result)
{
	return bench_kind(bench, result, ARM_EACH_PLAIN);
}

int
bench_each_rate(const struct bench *bench, struct bench_result *result)
{
	return bench_kind(bench, result, ARM_EACH_RATE);
}

int
bench_each_drop(const struct bench *bench, struct bench_result *result)
{
	return bench_kind(bench, result, ARM_EACH_DROP);
}

/* ---- flood ------------------------------------------------------------------------------------
 */

static int
repeat_flood(void *arg, struct bench_sample *sample)
{
	static double flood[ROUNDS], known[ROUNDS];
	double ns = 1e9 / (double)rte_get_tsc_hz() / PACKETS;
	struct each *each = arg;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		choose(&each[0], false);
		choose(&each[1], true);
		if (i % 2 == 0)
			known[i] = (double)time_each(&each[1]);
		flood[i] = (double)time_each(&each[0]);
		if (i % 2 != 0)
			known[i] = (double)time_each(&each[1]);
	}
	sample->value = bench_middle(flood, ROUNDS) * ns;
	sample->peer = bench_middle(known, ROUNDS) * ns;
	return 0;
}

/* Bytes of both heaps. */
static uint64_t
allocated(void)
{
	struct rte_malloc_socket_stats stats = {0};
	struct mallinfo2 heap = mallinfo2();

	(void)rte_malloc_get_socket_stats(0, &stats);
	return heap.uordblks + heap.hblkhd + stats.heap_allocsz_bytes;
}

/* Ten million keys through a small table take no byte. */
static int
check_flat(struct each *packets, int64_t *grown)
{
	struct arm_each *arm = arm_each_open(FLAT_ROOM, ARM_EACH_PLAIN);
	struct arm_each_totals totals;
	uint64_t before;

	if (arm == NULL)
		return bench_fail("table of keys");
	before = allocated();
	for (uint32_t i = 0; i < FLAT_KEYS; i += PACKETS) {
		choose(packets, false);
		for (unsigned int k = 0; k < PACKETS; k += BURST)
			(void)arm_each_burst(arm, &packets->ring[k], BURST);
	}
	*grown = (int64_t)(allocated() - before);
	totals = arm_each_totals(arm);
	arm_each_close(arm);
	if (*grown == 0 && totals.whole && totals.admitted >= FLAT_KEYS && totals.refused == 0)
		return 0;
	fprintf(stderr,
		"trip-bench: %" PRIu64 " keys took %" PRId64 " bytes, %" PRIu64 " refused\n",
		totals.admitted, *grown, totals.refused);
	return -1;
}

int
bench_each_flood(const struct bench *bench, struct bench_result *result)
{
	struct each each[2] = {{.bench = bench}, {.bench = bench}};
	struct arm_each_totals totals[2];
	int64_t grown = 0;
	int error = 0;

	for (unsigned int i = 0; i < 2 && error == 0; i++) {
		error = open_packets(&each[i], i == 0 ? "each0" : "each1");
		if (error == 0)
			error = fill_table(&each[i]);
	}
	if (error == 0) {
		bench_repeat(bench, result, REPETITIONS, repeat_flood, each);
		error = verify(&each[0], &totals[0]) | verify(&each[1], &totals[1]);
	}
	if (error == 0)
		error = check_flat(&each[0], &grown);
	if (error == 0)
		snprintf(result->note, sizeof(result->note),
			"%" PRIu64 " keys of %" PRIu64 " packets admitted, %" PRIu64
			" refused; ten million keys through 65,536 entries: %" PRId64 " bytes more",
			totals[0].admitted, totals[0].packets, totals[0].refused, grown);
	for (unsigned int i = 0; i < 2; i++)
		close_each(&each[i]);
	return error;
}
