/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client is told of what a domain has: records of a kind, as many as a message holds. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_lcore.h>

#include <trip_version.h>

#include "cntr/registry.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/stats.h"
#include "flow/flow.h"
#include "primary/generation.h"
#include "primary/list.h"
#include "primary/process.h"
#include "primary/server.h"

void
trip_list_cntr(
	struct trip_domain *domain, const struct trip_entry *entry, struct trip_client_cntr *out)
{
	struct trip_cell_sample sample;
	struct trip_home *home;
	uint64_t refreshed, now = rte_rdtsc();
	uint32_t local;

	home = trip_engine_home(&domain->engine, entry->global, &local);
	/* Before the values, which have all up to then. Partner: trip_source_fold(). */
	refreshed = atomic_load_explicit(&home->cells[local].refreshed_tsc, memory_order_acquire);
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
		.next = atomic_load_explicit(&home->cells[local].next, memory_order_relaxed),
	};
	if (out->flows > 0 && now > refreshed)
		out->age_ns = trip_engine_ns(&domain->engine, now - refreshed);
	snprintf(out->name, sizeof(out->name), "%s", entry->name);
}

void
trip_list_walk(struct trip_list *list, uint64_t end, size_t size,
	bool (*fill)(const struct trip_server *server, uint64_t at, void *out))
{
	for (; list->cursor < end && list->count < list->room && list->scanned < TRIP_LIST_SCAN;
		list->cursor++, list->scanned++)
		list->count += fill(
			list->server, list->cursor, (char *)list->records + list->count * size);
	if (list->cursor >= end)
		list->cursor = TRIP_PROTOCOL_END;
}

static bool
fill_domain(const struct trip_server *server, uint64_t at, void *record)
{
	struct trip_domain *domain = server->domain;
	struct trip_client_domain *out = record;

	*out = (struct trip_client_domain){
		.generation = server->generation,
		.max_cntrs = domain->attr.max_cntrs,
		.max_works = domain->attr.max_works,
		.max_waiters = domain->attr.max_waiters,
		.max_flows = domain->attr.max_flows,
		.homes = domain->engine.n_homes,
		.max_processes = domain->attr.max_processes,
		.processes = 1,
		.pid = (uint32_t)getpid(),
		.progress = domain->attr.progress,
		.version = TRIP_VERSION_STRING,
	};
	trip_command_stats(domain, &out->commands, &out->commands_refused);
	pthread_mutex_lock(&domain->lock);
	out->cntrs = domain->n_cntrs;
	pthread_mutex_unlock(&domain->lock);
	for (uint32_t i = 0; i < domain->attr.max_processes; i++)
		out->processes += server->processes[i].used;
	snprintf(out->name, sizeof(out->name), "%s", domain->name);
	snprintf(out->prefix, sizeof(out->prefix), "%s", server->prefix);
	return true;
}

static int
list_domain(struct trip_list *list)
{
	struct trip_client_domain *out = list->records;

	trip_list_walk(list, 1, sizeof(*out), fill_domain);
	if (list->count > 0)
		out->may_command = trip_command_may(list->connection);
	return 0;
}

/* Under the domain's lock. */
static bool
fill_cntr(const struct trip_server *server, uint64_t at, void *out)
{
	const struct trip_entry *entry = &server->domain->entries[at];

	if (entry->id == 0 || entry->retired)
		return false;
	trip_list_cntr(server->domain, entry, out);
	return true;
}

static int
list_cntrs(struct trip_list *list)
{
	struct trip_domain *domain = list->server->domain;

	pthread_mutex_lock(&domain->lock);
	trip_list_walk(list, trip_op_targets(&domain->engine, TRIP_OP_ON_CNTR),
		sizeof(struct trip_client_cntr), fill_cntr);
	pthread_mutex_unlock(&domain->lock);
	return 0;
}

uint64_t
trip_list_id(const struct trip_domain *domain, uint32_t global)
{
	return trip_engine_has_cntr(&domain->engine, global) ? domain->entries[global].id : 0;
}

/* Under the domain's lock. */
static uint64_t
fed_by(struct trip_domain *domain, uint32_t flow, enum trip_count_kind kind)
{
	return trip_list_id(domain,
		atomic_load_explicit(&domain->engine.feeds[flow].cntr[kind], memory_order_relaxed));
}

/* Under the control lock. */
static bool
fill_flow(const struct trip_server *server, uint64_t at, void *record)
{
	struct trip_domain *domain = server->domain;
	const struct trip_flow *flow = &domain->flow[at];
	struct trip_client_flow *out = record;
	struct trip_flow_count count;
	struct trip_flow_words words;
	uint32_t first_queue;

	if (flow->port == NULL)
		return false;
	trip_flow_describe(flow, &words);
	trip_flow_read(flow, &count);
	*out = (struct trip_client_flow){
		.packets = count.packets,
		.bytes = count.bytes,
		.policed_packets = count.policed_packets,
		.policed_bytes = count.policed_bytes,
		.police_rate = count.police_rate,
		.police_unit = count.police_unit,
		.index = flow->index,
		.queues = trip_flow_queues(flow, &first_queue),
		.port = flow->port->port_id,
		.engine = count.engine,
		.fate = count.fate,
		.direction = flow->direction,
		.group = words.group,
		.priority = words.priority,
		.pid = atomic_load_explicit(&trip_flow_more(flow)->pid, memory_order_relaxed),
	};
	if (out->pid == 0)
		out->pid = (uint32_t)getpid();
	if (count.fate == TRIP_FLOW_FATE_PASS || count.fate == TRIP_FLOW_FATE_DROP ||
		count.fate == TRIP_FLOW_FATE_POLICE)
		out->flags = TRIP_CLIENT_FLOW_ACTIVE;
	if (count.fate == TRIP_FLOW_FATE_DROP)
		out->flags |= TRIP_CLIENT_FLOW_DROP;
	memcpy(out->pattern, words.pattern, sizeof(out->pattern));
	snprintf(out->reason, sizeof(out->reason), "%s", trip_flow_reason(flow));
	pthread_mutex_lock(&domain->lock);
	out->packets_cntr = fed_by(domain, flow->index, TRIP_COUNT_KIND_PACKETS);
	out->bytes_cntr = fed_by(domain, flow->index, TRIP_COUNT_KIND_BYTES);
	pthread_mutex_unlock(&domain->lock);
	return true;
}

static int
list_flows(struct trip_list *list)
{
	struct trip_domain *domain = list->server->domain;

	/* Whoever holds it may be waiting for a home, for as long as that takes. */
	if (pthread_mutex_trylock(&domain->control) != 0)
		return trip_error_set(
			EAGAIN, "domain \"%s\": its flows are being changed", domain->name);
	trip_list_walk(list, domain->engine.n_flows, sizeof(struct trip_client_flow), fill_flow);
	pthread_mutex_unlock(&domain->control);
	return 0;
}

/* Slots that are not in the list of free ones, which is the return ring; each index is its end's,
 * and what an attached process makes of its own is believed only so far. */
static uint32_t
works_of(const struct trip_channel_client *channel)
{
	const struct trip_ring *returned = channel->returned.ring;
	uint32_t head = atomic_load_explicit(&returned->head, memory_order_relaxed);
	uint32_t free = atomic_load_explicit(&returned->tail, memory_order_relaxed) - head;

	return channel->map.slots - RTE_MIN(free, channel->map.slots);
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
			out->works += works_of(&domain->engine.homes[h]->clients[c]);
	for (unsigned int i = 0; i < RTE_MAX_LCORE && i < TRIP_PROTOCOL_LCORES; i++)
		if (rte_eal_lcore_role(i) != ROLE_OFF)
			out->lcores[i / 64] |= UINT64_C(1) << i % 64;
}

static uint32_t
works_of_client(const struct trip_home *home, uint32_t client)
{
	uint32_t works = 0;

	for (uint32_t i = 0; i < trip_home_client_channels(&home->shape); i++)
		works += works_of(
			&home->clients[trip_home_client_channel(&home->shape, client) + i]);
	return works;
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
		out->works += works_of_client(domain->engine.homes[h], process->number);
	}
	memcpy(out->lcores, process->lcores, sizeof(out->lcores));
}

static void
fill_orphan(const struct trip_orphan *orphan, struct trip_client_process *out)
{
	*out = (struct trip_client_process){
		.pid = orphan->pid, .uid = orphan->uid, .state = TRIP_CLIENT_ORPHAN};
}

/* First the primary, then a place for each process that may attach; then come orphans. */
static bool
fill_any_process(const struct trip_server *server, uint64_t at, void *out)
{
	uint64_t first = 1 + server->domain->attr.max_processes;

	if (at == 0)
		fill_primary(server, out);
	else if (at >= first && server->orphans[at - first].pid != 0)
		fill_orphan(&server->orphans[at - first], out);
	else if (at < first && server->processes[at - 1].used)
		fill_process(&server->processes[at - 1], out);
	else
		return false;
	return true;
}

static int
list_processes(struct trip_list *list)
{
	trip_list_walk(list, 1 + list->server->domain->attr.max_processes + list->server->n_orphans,
		sizeof(struct trip_client_process), fill_any_process);
	return 0;
}

static bool
fill_home(const struct trip_server *server, uint64_t at, void *out)
{
	trip_stats_home(server->domain->engine.homes[at], out);
	return true;
}

static int
list_homes(struct trip_list *list)
{
	trip_list_walk(list, list->server->domain->engine.n_homes, sizeof(struct trip_client_home),
		fill_home);
	return 0;
}

static const struct {
	size_t size;
	int (*list)(struct trip_list *list);
} kinds[] = {
	[TRIP_CLIENT_DOMAIN] = {sizeof(struct trip_client_domain), list_domain},
	[TRIP_CLIENT_CNTR] = {sizeof(struct trip_client_cntr), list_cntrs},
	[TRIP_CLIENT_WORK] = {sizeof(struct trip_client_work), trip_list_works},
	[TRIP_CLIENT_FLOW] = {sizeof(struct trip_client_flow), list_flows},
	[TRIP_CLIENT_PROCESS] = {sizeof(struct trip_client_process), list_processes},
	[TRIP_CLIENT_HOME] = {sizeof(struct trip_client_home), list_homes},
	[TRIP_CLIENT_EACH] = {sizeof(struct trip_client_each), trip_list_eaches},
};

int
trip_list_answer(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	const struct trip_protocol_list *asked = &request->list;
	struct trip_protocol_records *records = &connection->reply.answer.records;
	struct trip_list list = {.server = connection->server,
		.connection = connection,
		.cursor = asked->cursor,
		.records = records->record};
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
