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
#include "clock.h"
#include "op.h"

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
		.next = atomic_load_explicit(&home->cells[local].next, memory_order_relaxed),
	};
	refreshed = atomic_load_explicit(&home->cells[local].refreshed_tsc, memory_order_relaxed);
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
		.max_processes = domain->attr.max_processes,
		.processes = 1,
		.pid = (uint32_t)getpid(),
		.progress = domain->attr.progress,
		.version = TRIP_VERSION_STRING,
	};
	pthread_mutex_lock(&domain->lock);
	out->cntrs = domain->n_cntrs;
	pthread_mutex_unlock(&domain->lock);
	for (uint32_t i = 0; i < domain->attr.max_processes; i++)
		out->processes += list->server->processes[i].used;
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

/* Under the domain's lock. 0: there is none, or it is a clock. */
static uint64_t
id_of(struct trip_domain *domain, uint32_t global)
{
	return trip_engine_has_cntr(&domain->engine, global) ? domain->entries[global].id : 0;
}

/* What triggers an item has come to so much, all clocks to the same; false: it is no counter. */
static bool
read_trigger(const struct trip_engine *engine, uint32_t trigger, uint64_t *sum)
{
	if (trip_engine_has_cntr(engine, trigger))
		*sum = trip_cell_clamp(trip_cell_sum(trip_home_cell(engine, trigger)));
	else if (trigger - trip_clock_global(engine->homes[0]) < engine->n_homes)
		*sum = trip_clock_ns(engine, rte_rdtsc());
	else
		return false;
	return true;
}

/* An interval item fires at each interval that the sum passes, so the next one is above the sum; or
 * it is about to fire for the last time. */
static uint64_t
next_threshold(const struct trip_work_desc *desc, uint64_t sum)
{
	uint64_t passed;

	/* A condition begins anew at one that its home alone knows. */
	if (desc->interval == 0 || sum < desc->threshold || desc->condition != 0)
		return desc->threshold;
	passed = sum - (sum - desc->threshold) % desc->interval;
	return passed <= TRIP_CNTR_MAX - desc->interval ? passed + desc->interval : passed;
}

static void
fill_work(struct trip_domain *domain, const struct trip_work_desc *desc, uint64_t sum,
	struct trip_client_work *out)
{
	enum trip_op_target target = trip_op_of(desc->op)->target;

	*out = (struct trip_client_work){
		.context = desc->context,
		.threshold = next_threshold(desc, sum),
		.interval = desc->interval,
		.value = desc->value,
		.index = desc->target,
		.op = desc->op,
		.flags = desc->flags,
		.sum = sum,
		.condition = desc->condition != 0 ? desc->condition_kind : TRIP_CONDITION_NONE,
	};
	pthread_mutex_lock(&domain->lock);
	out->cntr = id_of(domain, desc->trigger);
	out->completion = id_of(domain, desc->completion);
	out->target = target == TRIP_OP_ON_CNTR ? id_of(domain, desc->target) : 0;
	/* Another process writes what it likes into its descriptors. */
	if (target == TRIP_OP_ON_FUNCTION && desc->target < domain->attr.max_functions)
		strcpy(out->function, domain->function_names[desc->target]);
	pthread_mutex_unlock(&domain->lock);
}

/* A channel that is listed, and whose it is. */
struct lister_channel {
	const struct trip_channel_map *map;
	/* NULL: another process's. */
	struct trip_lock *lock;
	uint32_t pid;
};

/* Those of this process come first, then one for each process that may be attached. */
static struct lister_channel
channel_of(const struct trip_server *server, uint32_t home, uint32_t channel)
{
	struct trip_domain *domain = server->domain;
	const struct trip_process *process;

	if (channel < domain->n_channels) {
		struct trip_submitter *submitter = &domain->submitters[home][channel];

		return (struct lister_channel){.map = &submitter->channel->map,
			.lock = &submitter->lock,
			.pid = (uint32_t)getpid()};
	}
	process = &server->processes[(channel - domain->n_channels) /
				     (domain->attr.max_process_threads + 1)];
	return (struct lister_channel){
		.map = &domain->engine.homes[home]->clients[channel].map,
		.pid = process->used ? (uint32_t)process->credentials.pid : 0,
	};
}

/* False: the slot is not queued. */
static bool
read_slot(const struct lister_channel *channel, uint32_t slot, struct trip_work_desc *desc,
	uint64_t *word)
{
	const struct trip_channel_map *map = channel->map;
	bool steady;

	/* Of a slot that is free or queued, the descriptor moves under this lock only. What another
	 * process writes meanwhile shows in the generation, where it is a correct one. */
	if (channel->lock != NULL)
		trip_domain_lock(channel->lock);
	*word = atomic_load(&map->state[slot]);
	*desc = map->desc[slot];
	atomic_thread_fence(memory_order_acquire);
	steady = atomic_load_explicit(&map->state[slot], memory_order_relaxed) == *word;
	if (channel->lock != NULL)
		trip_domain_unlock(channel->lock);
	return steady && trip_channel_word_state(*word) == TRIP_CHANNEL_QUEUED;
}

static bool
list_slot(struct trip_domain *domain, const struct lister_channel *channel, uint32_t slot,
	struct trip_client_work *out)
{
	struct trip_work_desc desc;
	uint64_t word, sum;

	if (!read_slot(channel, slot, &desc, &word) || desc.threshold > TRIP_CNTR_MAX ||
		desc.interval > TRIP_CNTR_MAX || !read_trigger(&domain->engine, desc.trigger, &sum))
		return false;
	fill_work(domain, &desc, sum, out);
	out->id = trip_channel_id(channel->map, slot, trip_channel_word_generation(word));
	out->pid = channel->pid;
	return true;
}

/* The cursor is the number of a slot among those of all channels of all homes. */
static int
list_works(struct lister *list)
{
	struct trip_domain *domain = list->server->domain;
	uint32_t channels = domain->engine.homes[0]->shape.n_channels;
	struct trip_client_work *out = list->records;
	uint64_t first = 0;

	for (uint32_t at = 0; at < domain->engine.n_homes * channels; at++) {
		const struct lister_channel channel =
			channel_of(list->server, at / channels, at % channels);
		uint32_t slots = channel.pid != 0 ? channel.map->slots : 0;

		/* A process may come between two requests. */
		for (; list->cursor < first + slots; list->cursor++) {
			if (list->count == list->room || list->scanned++ == SCAN)
				return 0;
			list->count += list_slot(domain, &channel, (uint32_t)(list->cursor - first),
				&out[list->count]);
		}
		first += channel.map->slots;
		list->cursor = RTE_MAX(list->cursor, first);
	}
	list->cursor = TRIP_PROTOCOL_END;
	return 0;
}

/* Under the domain's lock. */
static uint64_t
fed_by(struct trip_domain *domain, uint32_t flow, enum trip_count_kind kind)
{
	return id_of(domain,
		atomic_load_explicit(&domain->engine.feeds[flow].cntr[kind], memory_order_relaxed));
}

/* Under the control lock. */
static void
fill_flow(const struct trip_flow *flow, struct trip_client_flow *out)
{
	struct trip_domain *domain = flow->port->domain;
	struct trip_flow_count count;
	struct trip_flow_words words;
	uint32_t first_queue;

	trip_flow_describe(flow, &words);
	trip_flow_read(flow, &count);
	*out = (struct trip_client_flow){
		.packets = count.packets,
		.bytes = count.bytes,
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
	if (count.fate == TRIP_FLOW_FATE_PASS || count.fate == TRIP_FLOW_FATE_DROP)
		out->flags = TRIP_CLIENT_FLOW_ACTIVE;
	if (count.fate == TRIP_FLOW_FATE_DROP)
		out->flags |= TRIP_CLIENT_FLOW_DROP;
	memcpy(out->pattern, words.pattern, sizeof(out->pattern));
	snprintf(out->reason, sizeof(out->reason), "%s", trip_flow_reason(flow));
	pthread_mutex_lock(&domain->lock);
	out->packets_cntr = fed_by(domain, flow->index, TRIP_COUNT_KIND_PACKETS);
	out->bytes_cntr = fed_by(domain, flow->index, TRIP_COUNT_KIND_BYTES);
	pthread_mutex_unlock(&domain->lock);
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
	for (; list->count < list->room && list->scanned++ < SCAN &&
		list->cursor < domain->engine.n_flows;
		list->cursor++)
		if (domain->flow[list->cursor].port != NULL)
			fill_flow(&domain->flow[list->cursor], &out[list->count++]);
	pthread_mutex_unlock(&domain->control);
	if (list->cursor >= domain->engine.n_flows)
		list->cursor = TRIP_PROTOCOL_END;
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

/* The cursor is 0 for the primary, and 1 more than the number of a process; then come orphans. */
static int
list_processes(struct lister *list)
{
	const struct trip_server *server = list->server;
	uint64_t first = 1 + server->domain->attr.max_processes, end = first + server->n_orphans;
	struct trip_client_process *out = list->records;

	for (; list->count < list->room && list->cursor < end; list->cursor++) {
		uint64_t at = list->cursor;

		if (at == 0)
			fill_primary(server, &out[list->count++]);
		else if (at >= first && server->orphans[at - first].pid != 0)
			fill_orphan(&server->orphans[at - first], &out[list->count++]);
		else if (at < first && server->processes[at - 1].used)
			fill_process(&server->processes[at - 1], &out[list->count++]);
	}
	if (list->cursor >= end)
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
trip_list(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	const struct trip_protocol_list *asked = &request->list;
	struct trip_protocol_records *records = &connection->reply.answer.records;
	struct lister list = {
		.server = connection->server, .cursor = asked->cursor, .records = records->record};
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
