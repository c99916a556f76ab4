/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a domain's attributes, and makes the sizes of its parts of them. */
#include <errno.h>
#include <inttypes.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_memory.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "domain/idle.h"
#include "domain/layout.h"
#include "domain/sized.h"
#include "each_queue.h"
#include "group.h"

/* Slots of the channels by which a home's functions queue work. */
#define HANDLER_SLOTS 4096u
/* The most work items of which a part may be of pairs where nobody has said how many. */
#define GROUPS_BY_DEFAULT 65536u
/* Flows that may be policed where nobody has said how many. */
#define POLICED_LEAST 1024u
#define MI (1024u * 1024u)
#define HUGEPAGE_2M (2u * MI)
/* So that lines of it are counted in 32 bits. */
#define EACH_BYTES_MAX (UINT64_C(1) << 37)

static int
default_u32(const char *name, uint32_t *value, uint32_t fallback, uint32_t min, uint32_t max)
{
	if (*value == 0)
		*value = fallback;
	if (*value < min || *value > max)
		return trip_error_set(EINVAL,
			"domain: %s %" PRIu32 " is not in %" PRIu32 " to %" PRIu32, name, *value,
			min, max);
	return 0;
}

static int
check_lcores(struct trip_domain_attr *attr)
{
	if ((unsigned int)attr->progress > TRIP_PROGRESS_MANUAL)
		return trip_error_set(
			EINVAL, "domain: progress %d is unknown", (int)attr->progress);
	if ((unsigned int)attr->clock > TRIP_CLOCK_PACKET)
		return trip_error_set(EINVAL, "domain: clock %d is unknown", (int)attr->clock);
	if (attr->progress == TRIP_PROGRESS_MANUAL && attr->lcores != NULL)
		return trip_error_set(EINVAL, "domain: lcores are given, but progress is manual");
	if (attr->progress != TRIP_PROGRESS_MANUAL && attr->n_lcores > 0 && attr->lcores == NULL)
		return trip_error_set(
			EINVAL, "domain: n_lcores is %u, but lcores is NULL", attr->n_lcores);
	if (attr->clock == TRIP_CLOCK_PACKET && attr->progress != TRIP_PROGRESS_MANUAL)
		return trip_error_set(EINVAL, "domain: by the clock of packets it progresses as it "
					      "is fed: choose TRIP_PROGRESS_MANUAL");
	if (attr->progress == TRIP_PROGRESS_LCORE && attr->n_lcores == 0)
		return trip_error_set(EINVAL, "domain: no lcore is given to poll on; give one, or "
					      "choose TRIP_PROGRESS_MANUAL");
	return default_u32("n_lcores", &attr->n_lcores, 1, 1, TRIP_HOMES_MAX);
}

/* Each counter has a number of its own, in its id too; most of those that nobody opens are of
 * max_groups. */
static int
check_cntrs(const struct trip_domain_attr *attr, const struct trip_home_shape *shape)
{
	uint64_t cntrs = (uint64_t)attr->n_lcores * shape->n_cntrs;

	return cntrs <= UINT64_C(1) << TRIP_LAYOUT_CNTR_BITS
		       ? 0
		       : trip_error_set(EINVAL,
				 "domain: max_cntrs %" PRIu32
				 " and, on each of %u homes, max_groups "
				 "%" PRIu32 " and those of processes take %" PRIu64
				 " counters, more than %" PRIu64,
				 attr->max_cntrs, attr->n_lcores, attr->max_groups, cntrs,
				 UINT64_C(1) << TRIP_LAYOUT_CNTR_BITS);
}

/* Each slot has a number of its own in the ids of work items. */
static int
check_shape(const struct trip_domain_attr *attr)
{
	struct trip_home_shape shape;
	uint64_t slots = 0;

	trip_layout_home(attr, &shape);
	if (shape.n_channels > TRIP_CHANNELS_MAX)
		return trip_error_set(EINVAL,
			"domain: %u homes, %" PRIu32 " processes and %" PRIu32
			" threads of each take %" PRIu32 " channels to each home, more than %u",
			attr->n_lcores, attr->max_processes, attr->max_process_threads,
			shape.n_channels, TRIP_CHANNELS_MAX);
	for (uint32_t i = 0; i < shape.n_channels; i++)
		slots += trip_home_channel_slots(&shape, i);
	slots *= attr->n_lcores;
	return slots <= UINT64_C(1) << TRIP_CHANNEL_SLOT_BITS
		       ? check_cntrs(attr, &shape)
		       : trip_error_set(EINVAL,
				 "domain: %u homes have %" PRIu64
				 " work items in all, their own and those of processes: more than "
				 "%" PRIu64,
				 attr->n_lcores, slots, UINT64_C(1) << TRIP_CHANNEL_SLOT_BITS);
}

int
trip_layout_attr(const struct trip_domain_attr *given, struct trip_domain_attr *attr)
{
	struct {
		const char *name;
		uint32_t *value;
		uint32_t fallback, min, max;
	} fields[] = {
		{"max_cntrs", &attr->max_cntrs, 4096, 1, 4 * MI},
		{"max_works", &attr->max_works, 65536, 16, 4 * MI},
		{"max_waiters", &attr->max_waiters, 1024, 1, 65536},
		{"max_flows", &attr->max_flows, 4096, 1, 4 * MI},
		{"max_queues", &attr->max_queues, 4, 1, 1024},
		{"max_functions", &attr->max_functions, 64, 1, 4096},
		{"max_events", &attr->max_events, 4096, 1, MI},
		{"budget_log2", &attr->budget_log2, 8, 4, 16},
		{"refresh_us", &attr->refresh_us, 1000, 1, UINT32_MAX},
		{"scrub_us", &attr->scrub_us, 100000, 1, UINT32_MAX},
		{"max_processes", &attr->max_processes, 4, 1, TRIP_CLIENTS_MAX},
		{"max_process_works", &attr->max_process_works, 1024, 16, 65536},
		{"max_process_threads", &attr->max_process_threads, 0, 0, TRIP_CHANNELS_MAX},
		{"max_thread_works", &attr->max_thread_works, 256, 16, 65536},
		{"idle_us", &attr->idle_us, 50, 1, 1000000},
		{"socket_mode", &attr->socket_mode, 0600, 1, 0777},
	};
	int error;

	if (TRIP_SIZED_TAKE(trip_domain_attr, attr, given) != 0)
		return -EINVAL;
	if (given == NULL)
		attr->progress = TRIP_PROGRESS_MANUAL;
	if (attr->name == NULL)
		attr->name = "trip";
	error = trip_error_check_name("domain", attr->name, TRIP_DOMAIN_NAME_MAX);
	if (error == 0)
		error = check_lcores(attr);
	if (error == 0)
		error = trip_idle_check(attr);
	for (unsigned int i = 0; i < RTE_DIM(fields) && error == 0; i++)
		error = default_u32(fields[i].name, fields[i].value, fields[i].fallback,
			fields[i].min, fields[i].max);
	if (error == 0)
		error = default_u32("max_groups", &attr->max_groups,
			trip_group_share(RTE_MIN(attr->max_works, GROUPS_BY_DEFAULT)), 1,
			RTE_MAX(attr->max_works, TRIP_GROUPS_LEAST));
	if (error == 0)
		error = default_u32("max_policed", &attr->max_policed,
			RTE_MIN(attr->max_flows, POLICED_LEAST + attr->max_flows / 64), 1,
			attr->max_flows);
	if (error == 0 && attr->each_bytes > EACH_BYTES_MAX)
		error = trip_error_set(EINVAL, "domain: each_bytes %" PRIu64 " is above %" PRIu64,
			attr->each_bytes, EACH_BYTES_MAX);
	if (error == 0 && attr->max_process_cntrs == 0)
		attr->max_process_cntrs = (attr->max_cntrs + 1) / 2;
	if (error == 0 && attr->max_process_waiters == 0)
		attr->max_process_waiters = (attr->max_waiters + 3) / 4;
	if (error == 0 && attr->max_process_flows == 0)
		attr->max_process_flows = (attr->max_flows + 1) / 2;
	return error == 0 ? check_shape(attr) : error;
}

void
trip_layout_home(const struct trip_domain_attr *attr, struct trip_home_shape *shape)
{
	*shape = (struct trip_home_shape){
		.n_cntrs = (attr->max_cntrs + attr->n_lcores - 1) / attr->n_lcores,
		.n_waiters = attr->max_waiters,
		.n_channels = attr->n_lcores +
			      (1 + attr->max_processes) * (1 + attr->max_process_threads),
		.n_clients = attr->max_processes,
		.n_threads = attr->max_process_threads,
		.n_client_slots = attr->max_process_works,
		.n_thread_slots = attr->max_thread_works,
		.n_slots = attr->max_works,
		.n_handler_slots = RTE_MIN(attr->max_works, HANDLER_SLOTS),
		.n_groups = attr->max_groups,
		.n_events = attr->max_events,
	};
	shape->n_hidden = trip_home_hidden(shape);
	shape->n_cntrs += shape->n_hidden;
}

static size_t
actions_offset(const struct trip_domain_attr *attr)
{
	return RTE_ALIGN_CEIL(sizeof(struct trip_flow_feed) * attr->max_flows, RTE_CACHE_LINE_SIZE);
}

static size_t
claims_offset(const struct trip_domain_attr *attr)
{
	return RTE_ALIGN_CEIL(actions_offset(attr) + attr->max_flows, RTE_CACHE_LINE_SIZE);
}

static size_t
police_offset(const struct trip_domain_attr *attr)
{
	return claims_offset(attr) + sizeof(struct trip_claim) * attr->max_queues;
}

static size_t
police_of_offset(const struct trip_domain_attr *attr)
{
	return police_offset(attr) + sizeof(struct trip_police) * attr->max_policed;
}

static size_t
done_offset(const struct trip_domain_attr *attr)
{
	return RTE_ALIGN_CEIL(
		police_of_offset(attr) + sizeof(uint32_t) * attr->max_flows, RTE_CACHE_LINE_SIZE);
}

size_t
trip_layout_flows_size(const struct trip_domain_attr *attr)
{
	return done_offset(attr) + sizeof(struct trip_port_done) * TRIP_PORTS_MAX;
}

/* Behind the counts are the moments. */
static size_t
moments_offset(const struct trip_domain_attr *attr)
{
	return RTE_ALIGN_CEIL(sizeof(struct trip_count) * attr->max_queues * attr->max_flows,
		RTE_CACHE_LINE_SIZE);
}

size_t
trip_layout_counts_size(const struct trip_domain_attr *attr)
{
	return moments_offset(attr) +
	       sizeof(struct trip_count_moments) * attr->max_queues * attr->max_flows;
}

size_t
trip_layout_each_size(const struct trip_domain_attr *attr)
{
	if (attr->each_bytes == 0)
		return 0;
	return trip_each_zone_size(
		attr->max_queues, RTE_ALIGN_CEIL(attr->each_bytes, (uint64_t)TRIP_EACH_LINE));
}

void
trip_layout_map_flows(
	const struct trip_domain_attr *attr, void *flows, void *counts, struct trip_engine *engine)
{
	engine->n_flows = attr->max_flows;
	engine->n_queues = attr->max_queues;
	engine->n_functions = attr->max_functions;
	engine->feeds = flows;
	engine->actions = (_Atomic uint8_t *)((char *)flows + actions_offset(attr));
	engine->claims = (void *)((char *)flows + claims_offset(attr));
	engine->police = (void *)((char *)flows + police_offset(attr));
	engine->n_police = attr->max_policed;
	engine->police_of = (void *)((char *)flows + police_of_offset(attr));
	engine->done = (void *)((char *)flows + done_offset(attr));
	engine->counts = counts;
	engine->moments = (void *)((char *)counts + moments_offset(attr));
}

/* EAL's heap grows by the smallest pages, and by larger ones only when those are used up. */
static int
smallest_page(const struct rte_memseg_list *list, void *arg)
{
	uint64_t *bytes = arg;

	if (!list->external && (*bytes == 0 || list->page_sz < *bytes))
		*bytes = list->page_sz;
	return 0;
}

/* The NUMA node on which a home of these attributes lies. */
static unsigned int
home_node(const struct trip_domain_attr *attr, unsigned int home)
{
	unsigned int node = 0;

	if (attr->lcores != NULL && attr->lcores[home] < RTE_MAX_LCORE &&
		rte_lcore_is_enabled(attr->lcores[home]))
		node = rte_lcore_to_socket_id(attr->lcores[home]);
	return RTE_MIN(node, TRIP_DOMAIN_NODES_MAX - 1u);
}

void
trip_layout_footprint(const struct trip_domain_attr *attr, struct trip_domain_footprint *footprint)
{
	struct trip_home_shape shape;
	uint64_t zones[4], n[4] = {attr->n_lcores, 1, 1, 1}, page = 0;

	trip_layout_home(attr, &shape);
	zones[0] = trip_home_size(&shape);
	zones[1] = trip_layout_flows_size(attr);
	zones[2] = trip_layout_counts_size(attr);
	zones[3] = trip_layout_each_size(attr);
	*footprint = (struct trip_domain_footprint){.home_bytes = zones[0]};
	if (rte_eal_has_hugepages())
		rte_memseg_list_walk(smallest_page, &page);
	if (page == 0)
		page = HUGEPAGE_2M;
	footprint->hugepage_bytes = rte_eal_has_hugepages() ? page : 0;
	for (unsigned int i = 0; i < RTE_DIM(zones); i++) {
		footprint->bytes += n[i] * zones[i];
		footprint->hugepages += n[i] * ((zones[i] + page - 1) / page);
	}
	for (unsigned int home = 0; home < attr->n_lcores; home++)
		footprint->node_bytes[home_node(attr, home)] += zones[0];
	/* What the homes share is with the first. */
	footprint->node_bytes[home_node(attr, 0)] += zones[1] + zones[2] + zones[3];
}
