/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client is told of what a domain has: records of a kind, as many as a message holds. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "domain.h"
#include "error.h"
#include "list.h"
#include "port.h"
#include "process.h"
#include "registry.h"
#include "server.h"
#include "source.h"
#include "stats.h"

/* Slots or indices that one request looks at; a client goes on behind them. */
#define SCAN 8192

/* A list that is being written. */
struct lister {
	struct trip_server *server;
	uint64_t cursor;
	/* Where it ends for this request. */
	uint64_t scanned;
	uint32_t count, room;
	void *records;
};

void
trip_list_cntr(
	struct trip_domain *domain, const struct trip_entry *entry, struct trip_client_cntr *out)
{
	struct trip_cell_sample sample;
	struct trip_home *home;
	uint64_t refreshed, now = rte_rdtsc();
	uint32_t local;

	home = trip_engine_home(&domain->engine, entry->global, &local);
	trip_cell_sample(&home->cells[local], &sample);
	*out = (struct trip_client_cntr){
		.id = entry->id,
		.success = sample.success,
		.error = sample.error,
		.errgen = sample.errgen,
		.setgen = sample.setgen,
		.events = entry->events,
		.home = home->index,
		.pid = trip_process_pid(domain->server, entry->owner),
		.users = entry->users,
		.flows = atomic_load_explicit(&entry->flows, memory_order_relaxed),
	};
	refreshed = atomic_load_explicit(&home->cntrs[local].refreshed_tsc, memory_order_relaxed);
	if (out->flows > 0 && now > refreshed)
		out->age_ns = trip_engine_ns(&domain->engine, now - refreshed);
	snprintf(out->name, sizeof(out->name), "%s", entry->name);
}

static int
list_domain(struct lister *list)
{
	struct trip_domain *domain = list->server->domain;
	struct trip_client_domain *out = list->records;

	*out = (struct trip_client_domain){
		.generation = list->server->generation,
		.max_cntrs = domain->attr.max_cntrs,
		.max_works = domain->attr.max_works,
		.max_waiters = domain->attr.max_waiters,
		.max_flows = domain->attr.max_flows,
		.homes = domain->engine.n_homes,
		.processes = 1,
		.pid = (uint32_t)getpid(),
		.progress = domain->attr.progress,
		.version = TRIP_VERSION,
	};
	pthread_mutex_lock(&domain->lock);
	out->cntrs = domain->n_cntrs;
	pthread_mutex_unlock(&domain->lock);
	snprintf(out->name, sizeof(out->name), "%s", domain->name);
	snprintf(out->prefix, sizeof(out->prefix), "%s", list->server->prefix);
	list->count = 1;
	list->cursor = TRIP_PROTOCOL_END;
	return 0;
}

static int
list_cntrs(struct lister *list)
{
	struct trip_domain *domain = list->server->domain;
	struct trip_client_cntr *out = list->records;

	pthread_mutex_lock(&domain->lock);
	while (list->count < list->room && list->cursor != TRIP_PROTOCOL_END) {
		const struct trip_entry *entry =
			list->cursor < UINT32_MAX
				? trip_registry_next(domain, (uint32_t)list->cursor)
				: NULL;

		list->cursor = entry != NULL ? (uint64_t)entry->global + 1 : TRIP_PROTOCOL_END;
		if (entry != NULL)
			trip_list_cntr(domain, entry, &out[list->count++]);
	}
	pthread_mutex_unlock(&domain->lock);
	return 0;
}

/* Under the domain's lock. */
static uint64_t
id_of(struct trip_domain *domain, uint32_t global)
{
	return trip_engine_has_cntr(&domain->engine, global) ? domain->entries[global].id : 0;
}

/* An interval item fires at each interval that the sum passes, so the next one is above the sum. */
static uint64_t
next_threshold(struct trip_domain *domain, const struct trip_work_desc *desc)
{
	uint32_t local;
	struct trip_home *home = trip_engine_home(&domain->engine, desc->trigger, &local);
	uint64_t sum = trip_cell_sum(&home->cells[local]);

	if (desc->interval == 0 || sum < desc->threshold)
		return desc->threshold;
	return desc->threshold + ((sum - desc->threshold) / desc->interval + 1) * desc->interval;
}

static void
fill_work(struct trip_domain *domain, uint64_t id, const struct trip_work_desc *desc,
	struct trip_client_work *out)
{
	bool of_cntr = desc->op == TRIP_OP_CNTR_ADD || desc->op == TRIP_OP_CNTR_SET;

	*out = (struct trip_client_work){
		.id = id,
		.context = desc->context,
		.threshold = next_threshold(domain, desc),
		.interval = desc->interval,
		.value = desc->value,
		.index = desc->target,
		.op = desc->op,
		.flags = desc->flags,
		.pid = (uint32_t)getpid(),
	};
	pthread_mutex_lock(&domain->lock);
	out->cntr = id_of(domain, desc->trigger);
	out->completion = id_of(domain, desc->completion);
	out->target = of_cntr ? id_of(domain, desc->target) : 0;
	pthread_mutex_unlock(&domain->lock);
}

static bool
list_slot(struct trip_domain *domain, struct trip_submitter *submitter, uint32_t slot,
	struct trip_client_work *out)
{
	const struct trip_channel_map *map = &submitter->channel->map;
	struct trip_work_desc desc;
	uint64_t word;

	/* Of a slot that is free or queued, the descriptor moves under this lock only. */
	trip_domain_lock(&submitter->lock);
	word = atomic_load(&map->state[slot]);
	desc = map->desc[slot];
	trip_domain_unlock(&submitter->lock);
	if (trip_channel_word_state(word) != TRIP_CHANNEL_QUEUED ||
		!trip_engine_has_cntr(&domain->engine, desc.trigger))
		return false;
	fill_work(
		domain, trip_channel_id(map, slot, trip_channel_word_generation(word)), &desc, out);
	return true;
}

/* The cursor is the number of a slot among those of all channels of all homes. */
static int
list_works(struct lister *list)
{
	struct trip_domain *domain = list->server->domain;
	struct trip_client_work *out = list->records;
	uint64_t first = 0;

	for (uint32_t at = 0; at < domain->engine.n_homes * domain->n_channels; at++) {
		struct trip_submitter *submitter =
			&domain->submitters[at / domain->n_channels][at % domain->n_channels];
		uint32_t slots = submitter->channel->map.slots;

		for (; list->cursor < first + slots; list->cursor++) {
			if (list->count == list->room || list->scanned++ == SCAN)
				return 0;
			list->count += list_slot(domain, submitter,
				(uint32_t)(list->cursor - first), &out[list->count]);
		}
		first += slots;
	}
	list->cursor = TRIP_PROTOCOL_END;
	return 0;
}

/* Under the control lock. */
static uint32_t
port_of(const struct trip_domain *domain, const struct trip_flow_slot *flow)
{
	for (uint32_t i = 0; i < RTE_DIM(domain->ports); i++)
		for (unsigned int s = 0; domain->ports[i] != NULL && s < TRIP_PORT_SIDES; s++)
			if (domain->ports[i]->sides[s].n_queues > 0 &&
				domain->ports[i]->sides[s].first_queue == flow->first_queue)
				return i;
	return UINT32_MAX;
}

/* Under the control lock. False: no such flow. */
static bool
list_flow(struct trip_domain *domain, uint32_t index, struct trip_client_flow *out)
{
	const struct trip_engine *engine = &domain->engine;
	const struct trip_flow_slot *flow = &engine->flows[index];
	uint8_t action = atomic_load_explicit(&engine->actions[index], memory_order_relaxed);
	uint32_t cntrs[TRIP_COUNT_KINDS];

	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
		cntrs[kind] = atomic_load_explicit(&flow->source[kind].cntr, memory_order_relaxed);
	if (action == 0 && cntrs[TRIP_COUNT_KIND_PACKETS] == TRIP_NONE &&
		cntrs[TRIP_COUNT_KIND_BYTES] == TRIP_NONE)
		return false;
	*out = (struct trip_client_flow){
		.index = index,
		.queues = flow->n_queues,
		.port = port_of(domain, flow),
		.flags = ((action & TRIP_ACTION_ACTIVE) != 0 ? TRIP_CLIENT_FLOW_ACTIVE : 0) |
			 ((action & TRIP_ACTION_DROP) != 0 ? TRIP_CLIENT_FLOW_DROP : 0),
	};
	trip_source_count(engine, index, &out->packets, &out->bytes);
	pthread_mutex_lock(&domain->lock);
	out->packets_cntr = id_of(domain, cntrs[TRIP_COUNT_KIND_PACKETS]);
	out->bytes_cntr = id_of(domain, cntrs[TRIP_COUNT_KIND_BYTES]);
	pthread_mutex_unlock(&domain->lock);
	return true;
}

static int
list_flows(struct lister *list)
{
	struct trip_domain *domain = list->server->domain;
	struct trip_client_flow *out = list->records;

	/* Whoever holds it may be waiting for a home, for as long as that takes. */
	if (pthread_mutex_trylock(&domain->control) != 0)
		return trip_error_set(
			EAGAIN, "domain \"%s\": its flows are being changed", domain->name);
	while (list->count < list->room && list->scanned++ < SCAN &&
		list->cursor < domain->engine.n_flows)
		list->count += list_flow(domain, (uint32_t)list->cursor++, &out[list->count]);
	pthread_mutex_unlock(&domain->control);
	if (list->cursor >= domain->engine.n_flows)
		list->cursor = TRIP_PROTOCOL_END;
	return 0;
}

static uint32_t
queued_works(const struct trip_channel_map *map)
{
	uint32_t n = 0;

	for (uint32_t slot = 0; slot < map->slots; slot++)
		n += trip_channel_word_state(atomic_load_explicit(
			     &map->state[slot], memory_order_relaxed)) == TRIP_CHANNEL_QUEUED;
	return n;
}

/* Its own channels are the first, those of processes the last. */
static void
fill_primary(const struct trip_server *server, struct trip_client_process *out)
{
	const struct trip_domain *domain = server->domain;

	*out = (struct trip_client_process){
		.pid = (uint32_t)getpid(),
		.uid = (uint32_t)getuid(),
		.state = TRIP_CLIENT_PRIMARY,
		.cntrs = domain->n_cntrs,
		.since_ns = server->since_ns,
	};
	for (uint32_t i = 0; i < domain->attr.max_processes; i++)
		out->cntrs -= server->processes[i].used ? server->processes[i].n_cntrs : 0;
	for (uint32_t h = 0; h < domain->engine.n_homes; h++)
		for (uint32_t c = 0; c < domain->n_channels; c++)
			out->works += queued_works(&domain->engine.homes[h]->clients[c].map);
}

static void
fill_process(const struct trip_process *process, struct trip_client_process *out)
{
	const struct trip_domain *domain = process->server->domain;

	*out = (struct trip_client_process){
		.pid = (uint32_t)process->credentials.pid,
		.uid = (uint32_t)process->credentials.uid,
		.state = process->state,
		.cntrs = process->n_cntrs,
		.found = process->n_found,
		.since_ns = process->since_ns,
	};
	for (uint32_t h = 0; h < domain->engine.n_homes; h++) {
		out->waiters += process->n_waiters[h];
		out->works += queued_works(&domain->engine.homes[h]
						    ->clients[domain->n_channels + process->number]
						    .map);
	}
}

/* The cursor is 0 for the primary, and 1 more than the number of a process. */
static int
list_processes(struct lister *list)
{
	struct trip_domain *domain = list->server->domain;
	struct trip_client_process *out = list->records;

	for (; list->count < list->room && list->cursor <= domain->attr.max_processes;
		list->cursor++) {
		if (list->cursor == 0)
			fill_primary(list->server, &out[list->count++]);
		else if (list->server->processes[list->cursor - 1].used)
			fill_process(
				&list->server->processes[list->cursor - 1], &out[list->count++]);
	}
	if (list->cursor > domain->attr.max_processes)
		list->cursor = TRIP_PROTOCOL_END;
	return 0;
}

static int
list_homes(struct lister *list)
{
	const struct trip_engine *engine = &list->server->domain->engine;
	struct trip_client_home *out = list->records;

	while (list->count < list->room && list->cursor < engine->n_homes)
		trip_stats_home(engine->homes[list->cursor++], &out[list->count++]);
	if (list->cursor >= engine->n_homes)
		list->cursor = TRIP_PROTOCOL_END;
	return 0;
}

static const struct {
	size_t size;
	int (*list)(struct lister *list);
} kinds[] = {
	[TRIP_CLIENT_DOMAIN] = {sizeof(struct trip_client_domain), list_domain},
	[TRIP_CLIENT_CNTR] = {sizeof(struct trip_client_cntr), list_cntrs},
	[TRIP_CLIENT_WORK] = {sizeof(struct trip_client_work), list_works},
	[TRIP_CLIENT_FLOW] = {sizeof(struct trip_client_flow), list_flows},
	[TRIP_CLIENT_PROCESS] = {sizeof(struct trip_client_process), list_processes},
	[TRIP_CLIENT_HOME] = {sizeof(struct trip_client_home), list_homes},
};

int
trip_list(struct trip_peer *peer, const union trip_protocol_request *request, size_t *size)
{
	const struct trip_protocol_list *asked = &request->list;
	struct trip_protocol_records *records = &peer->reply.answer.records;
	struct lister list = {
		.server = peer->server, .cursor = asked->cursor, .records = records->record};
	int error;

	if (asked->kind >= RTE_DIM(kinds) || asked->size != kinds[asked->kind].size)
		return trip_error_set(EINVAL,
			"list: kind %" PRIu32 " has no records of %" PRIu32 " bytes", asked->kind,
			asked->size);
	list.room = (uint32_t)RTE_MIN((size_t)asked->count, TRIP_PROTOCOL_RECORDS / asked->size);
	if (list.room == 0)
		return trip_error_set(EINVAL, "list: no records are asked for");
	error = kinds[asked->kind].list(&list);
	if (error != 0)
		return error;
	records->cursor = list.cursor;
	records->count = list.count;
	records->reserved = 0;
	*size = offsetof(struct trip_protocol_records, record) + list.count * (size_t)asked->size;
	return 0;
}
