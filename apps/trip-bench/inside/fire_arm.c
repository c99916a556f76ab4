/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues counter-add works and fires them, all in one thread; see arm.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "arm.h"
#include "bench.h"

struct arm_fire_bed {
	struct arm_fire_shape shape;
	struct trip_domain *domain;
	struct trip_cntr *target;
	struct trip_cntr **cntrs;
	uint64_t fired;
};

static void
settle(struct arm_fire_bed *bed)
{
	while (trip_progress(bed->domain) > 0)
		;
}

static void
fire_close(struct arm_fire_bed *bed)
{
	if (bed->domain != NULL)
		trip_work_flush(bed->domain, NULL);
	for (uint32_t i = 0; bed->cntrs != NULL && i < bed->shape.cntrs; i++)
		if (bed->cntrs[i] != NULL)
			trip_cntr_close(bed->cntrs[i]);
	if (bed->target != NULL)
		trip_cntr_close(bed->target);
	if (bed->domain != NULL)
		trip_domain_close(bed->domain);
	free(bed->cntrs);
	free(bed);
}

static struct arm_fire_bed *
fire_open(const struct arm_fire_shape *shape)
{
	struct trip_domain_attr attr = {
		.size = sizeof(attr),
		.name = shape->name,
		.progress = TRIP_PROGRESS_MANUAL,
		.max_works = shape->items < 64 ? 64 : shape->items,
		.max_cntrs = shape->cntrs + 1,
		.max_flows = 1,
	};
	struct arm_fire_bed *bed = calloc(1, sizeof(*bed));
	bool opened;

	if (bed == NULL)
		return NULL;
	bed->shape = *shape;
	bed->cntrs = calloc(shape->cntrs, sizeof(struct trip_cntr *));
	opened = bed->cntrs != NULL && trip_domain_open(&attr, &bed->domain, NULL) == 0 &&
		 trip_cntr_open(bed->domain, NULL, &bed->target, NULL) == 0;
	for (uint32_t i = 0; opened && i < shape->cntrs; i++)
		opened = trip_cntr_open(bed->domain, NULL, &bed->cntrs[i], NULL) == 0;
	if (opened)
		return bed;
	bench_fail("fire");
	/* The message is of the library that this is compiled with. */
	fprintf(stderr, "trip-bench: %s\n", trip_error_message());
	fire_close(bed);
	return NULL;
}

static int
fire_fill(struct arm_fire_bed *bed, uint64_t seed)
{
	struct bench_random random = {seed};

	for (uint32_t i = 0; i < bed->shape.cntrs; i++)
		trip_cntr_set(bed->cntrs[i], 0);
	settle(bed);
	for (uint32_t i = 0; i < bed->shape.items; i++) {
		struct trip_work work = {
			.size = sizeof(work),
			.triggering_cntr = bed->cntrs[i % bed->shape.cntrs],
			.threshold = 1 + bench_random_u64(&random) % bed->shape.range,
			.op_type = TRIP_OP_CNTR_ADD,
			.op.cntr = {.cntr = bed->target, .value = 1},
		};

		if (trip_work_queue(bed->domain, &work, NULL) != 0)
			return fprintf(stderr, "trip-bench: %s\n", trip_error_message()), -1;
		if (i % 128 == 127)
			trip_progress(bed->domain);
	}
	settle(bed);
	return 0;
}

static int
fire(struct arm_fire_bed *bed, uint64_t *ns)
{
	uint64_t began = bench_cpu_ns(), at = 0;

	for (uint32_t step = 1; step <= bed->shape.steps; step++) {
		uint64_t to = bed->shape.range / bed->shape.steps * step;

		if (step == bed->shape.steps)
			to = bed->shape.range;
		for (uint32_t i = 0; i < bed->shape.cntrs; i++)
			trip_cntr_add(bed->cntrs[i], to - at);
		settle(bed);
		at = to;
	}
	*ns = bench_cpu_ns() - began;
	bed->fired += bed->shape.items;
	if (trip_cntr_read(bed->target) == bed->fired)
		return 0;
	fprintf(stderr, "trip-bench: %" PRIu64 " fired of %" PRIu64 "\n",
		trip_cntr_read(bed->target), bed->fired);
	return -1;
}

const struct arm ARM_FIRE = {fire_open, fire_fill, fire, fire_close};
