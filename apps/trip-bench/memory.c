/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes, of everything that is shared and private, per object: exact, so once is enough. */
#include <malloc.h>

#include <rte_eal.h>

#include "arm.h"
#include "bench.h"
#include "soft_bed.h"

#define MANY (1u << 20)
#define PROMISED_CNTR 192
#define PROMISED_WORK 192
#define PROMISED_RULE 128
#define PROMISED_EACH 64
#define PROMISED_EACH_LONG 96

/* What the process has from the system: its heap and its mappings. */
static double
resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (file != NULL && fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	if (file != NULL)
		fclose(file);
	return (double)pages * 4096;
}

/* Shared bytes of a domain with so many counters, works and flows. */
static double
footprint(uint32_t cntrs, uint32_t works, uint32_t flows)
{
	struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = cntrs,
		.max_works = works,
		.max_flows = flows,
		.max_queues = 1};
	struct trip_domain_footprint print = {.size = sizeof(print)};

	trip_domain_footprint(&attr, &print);
	return (double)print.bytes;
}

/* What opening a domain with so many works takes of the heap, beside its memzones. */
static double
private_bytes(uint32_t works)
{
	struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = 1,
		.max_works = works};
	struct mallinfo2 before = mallinfo2(), after;
	struct trip_domain *domain;

	if (trip_domain_open(&attr, &domain, NULL) != 0)
		return 0;
	after = mallinfo2();
	trip_domain_close(domain);
	return (double)(after.uordblks + after.hblkhd) - (double)(before.uordblks + before.hblkhd);
}

static int
exact(struct bench_result *result, double value, double promised)
{
	result->n_samples = 1;
	result->samples[0] = (struct bench_sample){.value = value, .limit = promised};
	return 0;
}

int
bench_memory_cntr(const struct bench *bench, struct bench_result *result)
{
	return exact(result, (footprint(2 * MANY, 64, 1) - footprint(MANY, 64, 1)) / MANY,
		PROMISED_CNTR);
}

int
bench_memory_work(const struct bench *bench, struct bench_result *result)
{
	double shared = (footprint(1, 2 * MANY, 1) - footprint(1, MANY, 1)) / MANY;
	double own = (private_bytes(MANY) - private_bytes(MANY / 2)) / (MANY / 2.0);

	snprintf(result->note, sizeof(result->note),
		"%.1f in memzones, %.1f in the process that submits", shared, own);
	return exact(result, shared + own, PROMISED_WORK);
}

/* Resident while a bed of so many rules is open, less what the bed itself keeps of each. */
static double
resident_with(const struct bench *bench, uint32_t rules)
{
	struct bench sized = *bench;
	struct soft *soft;
	double bytes;

	sized.size = rules;
	soft = soft_bed_open(&sized, 0, soft_bed_draw_bare);
	if (soft == NULL)
		return 0;
	bytes = resident() -
		rules * (double)(sizeof(*soft->keys) + sizeof(*soft->flows) + sizeof(*soft->seen));
	soft_bed_close(soft);
	malloc_trim(0);
	return bytes;
}

int
bench_memory_rule(const struct bench *bench, struct bench_result *result)
{
	double few = resident_with(bench, 1), many = resident_with(bench, bench->size);
	double in_zones = (footprint(64, 64, 2 * MANY) - footprint(64, 64, MANY)) / MANY;
	/* Hugepages are not among the resident ones: what lies there is reckoned. */
	double shared = rte_eal_has_hugepages() ? in_zones : 0;

	if (few == 0 || many == 0)
		return -1;
	snprintf(result->note, sizeof(result->note),
		"%.1f of them in memzones; one that feeds a counter takes 256 more", in_zones);
	return exact(result, shared + (many - few) / bench->size, PROMISED_RULE);
}

int
bench_memory_each(const struct bench *bench, struct bench_result *result)
{
	return exact(result, (double)arm_each_bytes(bench->size, bench->second / 8) / bench->size,
		bench->second > 16 ? PROMISED_EACH_LONG : PROMISED_EACH);
}
