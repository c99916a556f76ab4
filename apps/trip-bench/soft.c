/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the software flow engine adds to a burst of 32 packets: parsing, matching, counting and the
 * look at the budget. Beside it, in each round on the same keys in the same order, raw bulk lookups
 * of rte_hash, which parse nothing and count nothing; with M masks, M lookups a burst in M tables.
 *
 * The headers are written before the clock runs, and so is the mempool's cache out of the way.
 * Every packet hits a rule, chosen at random.
 */
#include <inttypes.h>
#include <stdio.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "soft_bed.h"

#define REPETITIONS 21
#define ROUNDS 256

/* The median round: one in which the machine did something else does not count. */
static double
repeat_arm(double *rounds)
{
	double ns = 1e9 / (double)rte_get_tsc_hz() / PACKETS;

	return bench_middle(rounds, ROUNDS) * ns;
}

static void
repeat(struct soft *soft, struct bench_sample *sample)
{
	static double engine[ROUNDS], lookups[ROUNDS];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		soft_bed_choose(soft);
		/* Neither is always the one that comes after the other. */
		if (i % 2 == 0)
			lookups[i] = (double)soft_bed_time_lookups(soft);
		engine[i] = (double)soft_bed_time_engine(soft);
		if (i % 2 != 0)
			lookups[i] = (double)soft_bed_time_lookups(soft);
	}
	sample->value = repeat_arm(engine);
	sample->limit = repeat_arm(lookups);
}

static int
run(const struct bench *bench, struct bench_result *result)
{
	struct bench_sample warm;
	struct soft *soft = soft_bed_open(bench, 0, soft_bed_draw_random);
	int error;

	if (soft == NULL)
		return -1;
	repeat(soft, &warm);
	result->n_samples = REPETITIONS;
	for (unsigned int i = 0; i < REPETITIONS; i++) {
		bench_progress(bench, i, REPETITIONS);
		repeat(soft, &result->samples[i]);
	}
	error = soft_bed_verify(soft, (REPETITIONS + 1ull) * ROUNDS * PACKETS);
	snprintf(result->note, sizeof(result->note),
		"hit ratio 1.00 (lookups: %.2f of %" PRIu32 " a packet), %" PRIu32
		" distinct keys of %u, bursts of %d, mempool cache 0",
		(double)soft->lookup_hits / (double)soft->lookups, bench->masks, soft->distinct,
		bench->size, BURST);
	soft_bed_close(soft);
	return error;
}

/* The engine on hostile keys beside the engine on random ones. */
static void
repeat_hostile(struct soft *hostile, struct soft *normal, struct bench_sample *sample)
{
	static double value[ROUNDS], limit[ROUNDS];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		soft_bed_choose(hostile);
		value[i] = (double)soft_bed_time_engine(hostile);
		soft_bed_choose(normal);
		limit[i] = (double)soft_bed_time_engine(normal);
	}
	sample->value = repeat_arm(value);
	sample->limit = repeat_arm(limit);
}

static int
run_hostile(const struct bench *bench, struct bench_result *result)
{
	struct soft *hostile = soft_bed_open(bench, 0, soft_bed_draw_hostile);
	struct soft *normal =
		hostile != NULL ? soft_bed_open(bench, 1, soft_bed_draw_random) : NULL;
	struct bench_sample warm;
	int error = -1;

	if (normal != NULL) {
		repeat_hostile(hostile, normal, &warm);
		result->n_samples = REPETITIONS;
		for (unsigned int i = 0; i < REPETITIONS; i++)
			repeat_hostile(hostile, normal, &result->samples[i]);
		error = soft_bed_verify(hostile, (REPETITIONS + 1ull) * ROUNDS * PACKETS);
		snprintf(result->note, sizeof(result->note),
			"addresses 2^16 apart, ports such that the low 12 bits of the CRC are 0; "
			"%" PRIu32 " distinct keys of %u, bursts of %d",
			hostile->distinct, bench->size, BURST);
		soft_bed_close(normal);
	}
	if (hostile != NULL)
		soft_bed_close(hostile);
	return error;
}

#define SOFT(n, s, m, most)                                                    \
	{                                                                      \
		.name = n, .unit = "ns a packet",                              \
		.what = "added to a burst by the software engine",             \
		.limit = m == 1 ? "rte_hash_lookup_bulk_data of the same keys" \
				: "eight of them, one for each mask",          \
		.at_most = most, .run = run, .size = s, .masks = m             \
	}

static const struct bench benches[] = {
	SOFT("soft_1", 1, 1, 2.5),
	SOFT("soft_1k", 1000, 1, 2),
	SOFT("soft_64k", 65536, 1, 1.5),
	SOFT("soft_1m", 1000000, 1, 1.25),
	SOFT("soft_8masks", 65536, 8, 1.5),
	{
		.name = "soft_hostile",
		.unit = "ns a packet",
		.what = "added to a burst by the software engine, of keys chosen to collide",
		.limit = "the same of random keys",
		.at_most = 2,
		.run = run_hostile,
		.size = 65536,
		.masks = 1,
	},
};

const struct bench_list bench_soft = {benches, RTE_DIM(benches)};
