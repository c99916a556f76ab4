/* SPDX-License-Identifier: BSD-3-Clause */
/* Stays open until the process ends: with items pending the provider lets go of nothing. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_trigger.h>

#include "bench.h"
#include "fabric.h"

#define ITEMS_MAX 200000u
#define RANGE 1000000000u
/* What filling may take in all: on a busy machine the longest is left out. */
#define FILL_NS_MAX 40e9

/* An item, which must stay as long as it is pending, with what it refers to. */
struct item {
	struct fi_deferred_work work;
	struct fi_op_cntr op;
};

static struct {
	bool tried, usable;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cntr *plain, *trigger, *firing, *target;
	struct item *items;
	uint32_t n_items, pending;
	struct bench_random random;
	double filled_ns;
} fabric;

static bool
open_cntrs(void)
{
	struct fi_cntr_attr attr = {.wait_obj = FI_WAIT_NONE};
	struct fid_cntr **cntrs[] = {
		&fabric.plain, &fabric.trigger, &fabric.firing, &fabric.target};

	for (unsigned int i = 0; i < sizeof(cntrs) / sizeof(*cntrs); i++)
		if (fi_cntr_open(fabric.domain, &attr, cntrs[i], NULL) != 0)
			return false;
	return true;
}

static bool
usable(void)
{
	struct fi_info *hints;
	int error;

	if (fabric.tried)
		return fabric.usable;
	fabric.tried = true;
	hints = fi_allocinfo();
	hints->fabric_attr->prov_name = strdup("sockets");
	error = fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &fabric.info);
	fi_freeinfo(hints);
	fabric.items = calloc(ITEMS_MAX, sizeof(*fabric.items));
	fabric.usable = error == 0 && fabric.items != NULL &&
			fi_fabric(fabric.info->fabric_attr, &fabric.fabric, NULL) == 0 &&
			fi_domain(fabric.fabric, fabric.info, &fabric.domain, NULL) == 0 &&
			open_cntrs();
	return fabric.usable;
}

static bool
queue(struct fid_cntr *trigger, uint64_t threshold)
{
	struct item *item = &fabric.items[fabric.n_items];

	if (fabric.n_items == ITEMS_MAX)
		return false;
	fabric.n_items++;
	item->op = (struct fi_op_cntr){.cntr = fabric.target, .value = 1};
	item->work = (struct fi_deferred_work){
		.threshold = threshold,
		.triggering_cntr = trigger,
		.op_type = FI_OP_CNTR_ADD,
		.op.cntr = &item->op,
	};
	return fi_control(&fabric.domain->fid, FI_QUEUE_WORK, &item->work) == 0;
}

static bool
queue_random(void)
{
	fabric.pending++;
	return queue(fabric.trigger, 1 + bench_random_u64(&fabric.random) % RANGE);
}

double
bench_fabric_add(uint32_t times)
{
	uint64_t began;

	if (!usable())
		return 0;
	began = rte_rdtsc();
	for (uint32_t i = 0; i < times; i++)
		fi_cntr_add(fabric.plain, 1);
	return bench_ns(rte_rdtsc() - began) / times;
}

/* Each takes as long as there are others. */
static bool
fill(uint32_t pending)
{
	uint64_t began = rte_rdtsc();
	double before = fabric.filled_ns;

	while (fabric.pending < pending && fabric.filled_ns < FILL_NS_MAX && queue_random())
		fabric.filled_ns = before + bench_ns(rte_rdtsc() - began);
	return fabric.pending >= pending;
}

double
bench_fabric_queue(uint32_t pending, uint32_t times)
{
	uint64_t began;

	if (!usable() || !fill(pending))
		return 0;
	began = rte_rdtsc();
	for (uint32_t i = 0; i < times; i++)
		if (!queue_random())
			return 0;
	return bench_ns(rte_rdtsc() - began) / times;
}

double
bench_fabric_fire(uint32_t items)
{
	uint64_t began;

	if (!usable())
		return 0;
	fi_cntr_set(fabric.firing, 0);
	for (uint32_t i = 0; i < items; i++)
		if (!queue(fabric.firing, 1 + bench_random_u64(&fabric.random) % items))
			return 0;
	began = rte_rdtsc();
	for (uint32_t i = 0; i < items; i++)
		fi_cntr_add(fabric.firing, 1);
	return bench_ns(rte_rdtsc() - began) / items;
}
