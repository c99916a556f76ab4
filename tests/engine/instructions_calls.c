/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What instructions.py counts of the calls of the data path, in a process that attached to nothing:
 * each is made from a thread of the application, in a domain that is progressed by hand between two
 * batches of calls, and never inside of what is counted.
 */
#include <stdio.h>
#include <stdlib.h>

#include <trip.h>
#include <trip_eal.h>

#define TIMES 4096u
#define BATCH 32u
#define RANGE 1000000u

struct bed {
	struct trip_domain *domain;
	struct trip_cntr *cntr, *target;
	uint64_t ids[BATCH];
	uint64_t random;
};

static uint64_t
draw(struct bed *bed)
{
	bed->random = bed->random * 6364136223846793005u + 1442695040888963407u;
	return bed->random >> 33;
}

static void
settle(struct bed *bed)
{
	while (trip_progress(bed->domain) > 0)
		;
}

__attribute__((noinline)) static void
count_work_queue(struct bed *bed, const struct trip_work *works)
{
	for (unsigned int i = 0; i < BATCH; i++)
		if (trip_work_queue(bed->domain, &works[i], &bed->ids[i]) != 0)
			abort();
}

__attribute__((noinline)) static void
count_work_cancel(struct bed *bed)
{
	for (unsigned int i = 0; i < BATCH; i++)
		if (trip_work_cancel(bed->domain, bed->ids[i]) != 0)
			abort();
}

__attribute__((noinline)) static void
count_cntr_add(struct bed *bed)
{
	for (unsigned int i = 0; i < BATCH; i++)
		if (trip_cntr_add(bed->target, 1) != 0)
			abort();
}

__attribute__((noinline)) static void
count_cntr_read(struct bed *bed)
{
	for (unsigned int i = 0; i < BATCH; i++)
		if (trip_cntr_read(bed->target) == UINT64_MAX)
			abort();
}

static void
count_batch(struct bed *bed)
{
	struct trip_work works[BATCH];

	for (unsigned int i = 0; i < BATCH; i++)
		works[i] = (struct trip_work){
			.size = sizeof(*works),
			.triggering_cntr = bed->cntr,
			.threshold = 1 + draw(bed) % RANGE,
			.op_type = TRIP_OP_CNTR_ADD,
			.op.cntr = {.cntr = bed->target, .value = 1},
		};
	count_work_queue(bed, works);
	settle(bed);
	count_work_cancel(bed);
	settle(bed);
	count_cntr_add(bed);
	settle(bed);
	count_cntr_read(bed);
}

int
main(void)
{
	const struct trip_domain_attr attr = {
		.size = sizeof(attr), .name = "calls", .progress = TRIP_PROGRESS_MANUAL};
	struct bed bed = {.random = 1};

	if (trip_eal_init(NULL) < 0 || trip_domain_open(&attr, &bed.domain, NULL) != 0 ||
		trip_cntr_open(bed.domain, NULL, &bed.cntr, NULL) != 0 ||
		trip_cntr_open(bed.domain, NULL, &bed.target, NULL) != 0) {
		fprintf(stderr, "%s\n", trip_error_message());
		return 1;
	}
	for (unsigned int i = 0; i < TIMES; i += BATCH)
		count_batch(&bed);
	printf("work_queue %u\nwork_cancel %u\ncntr_add %u\ncntr_read %u\n", TIMES, TIMES, TIMES,
		TIMES);
	return 0;
}
