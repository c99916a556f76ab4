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

static int
repeat(void *arg, struct bench_sample *sample)
{
	struct soft *soft = arg;
	static double engine[ROUNDS], lookups[ROUNDS];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		soft_bed_choose(soft);
		/* The arms take turns in going first. */
		if (i % 2 == 0)
			lookups[i] = (double)soft_bed_time_lookups(soft);
		engine[i] = (double)soft_bed_time_engine(soft);
		if (i % 2 != 0)
			lookups[i] = (double)soft_bed_time_lookups(soft);
	}
	sample->value = repeat_arm(engine);
	sample->limit = repeat_arm(lookups);
	return 0;
}

int
bench_soft(const struct bench *bench, struct bench_result *result)
{
	struct soft *soft = soft_bed_open(bench, 0, soft_bed_draw_random);
	int error;

	if (soft == NULL)
		return -1;
	bench_repeat(bench, result, REPETITIONS, repeat, soft);
	error = soft_bed_verify(soft, (REPETITIONS + 1ull) * ROUNDS * PACKETS);
	snprintf(result->note, sizeof(result->note),
		"hit ratio 1.00 (lookups: %.2f of %" PRIu32 " a packet), %" PRIu32
		" distinct keys of %u, bursts of %d, mempool cache 0",
		(double)soft->lookup_hits / (double)soft->lookups, bench->second, soft->distinct,
		bench->size, BURST);
	soft_bed_close(soft);
	return error;
}

/* The engine on hostile keys beside the engine on random ones. */
static int
repeat_hostile(void *arg, struct bench_sample *sample)
{
	struct soft **beds = arg, *hostile = beds[0], *normal = beds[1];
	static double value[ROUNDS], limit[ROUNDS];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		soft_bed_choose(hostile);
		value[i] = (double)soft_bed_time_engine(hostile);
		soft_bed_choose(normal);
		limit[i] = (double)soft_bed_time_engine(normal);
	}
	sample->value = repeat_arm(value);
	sample->limit = repeat_arm(limit);
	return 0;
}

int
bench_soft_hostile(const struct bench *bench, struct bench_result *result)
{
	struct soft *hostile = soft_bed_open(bench, 0, soft_bed_draw_hostile);
	struct soft *normal =
		hostile != NULL ? soft_bed_open(bench, 1, soft_bed_draw_random) : NULL;
	struct soft *beds[] = {hostile, normal};
	int error = -1;

	if (normal != NULL) {
		bench_repeat(bench, result, REPETITIONS, repeat_hostile, beds);
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
