/* SPDX-License-Identifier: BSD-3-Clause */
/* Attached processes: who there is, and how one is cleared away that has detached or died.
 * process_attach.c lets them in, process_requests.c answers what they ask. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cntr/registry.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "primary/generation.h"
#include "primary/process.h"
#include "drop.h"
#include "waiter.h"

int
trip_process_init(struct trip_server *server)
{
	struct trip_domain *domain = server->domain;

	server->processes = calloc(trip_process_count(server), sizeof(*server->processes));
	if (server->processes == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for processes");
	for (uint32_t i = 0; i < trip_process_count(server); i++) {
		server->processes[i].number = i;
		server->processes[i].server = server;
		server->processes[i].pidfd = -1;
		server->processes[i].common = -1;
		server->processes[i].common_before = -1;
	}
	/* What has failed half-way closes the descriptors of all. */
	for (uint32_t i = 0; i < trip_process_count(server); i++) {
		server->processes[i].found =
			calloc(domain->attr.max_process_cntrs, sizeof(uint32_t));
		if (server->processes[i].found == NULL)
			return trip_error_set(ENOMEM, "domain: no memory for processes");
	}
	return 0;
}

static void
close_common(struct trip_process *process)
{
	if (process->common >= 0)
		close(process->common);
	if (process->common_before >= 0)
		close(process->common_before);
	process->common = -1;
	process->common_before = -1;
}

void
trip_process_fini(struct trip_server *server)
{
	for (uint32_t i = 0; server->processes != NULL && i < trip_process_count(server); i++) {
		trip_server_close(server, &server->processes[i].pidfd);
		close_common(&server->processes[i]);
		free(server->processes[i].found);
	}
	free(server->processes);
}

bool
trip_process_is_going(const struct trip_process *process)
{
	struct pollfd end = {.fd = process->pidfd, .events = POLLIN};

	return process->state == TRIP_CLIENT_DROPPING || poll(&end, 1, 0) == 1;
}

bool
trip_process_any(struct trip_server *server, uint32_t *pid, enum trip_client_state *state)
{
	bool any = false;

	/* The control thread may be changing them. */
	pthread_mutex_lock(&server->domain->lock);
	for (uint32_t i = 0; i < trip_process_count(server) && !any; i++) {
		const struct trip_process *process = &server->processes[i];

		any = process->used;
		*pid = (uint32_t)process->credentials.pid;
		*state = any && trip_process_is_going(process) ? TRIP_CLIENT_DROPPING
							       : process->state;
	}
	pthread_mutex_unlock(&server->domain->lock);
	return any;
}

uint32_t
trip_process_pid(const struct trip_server *server, uint32_t owner)
{
	if (owner == TRIP_REGISTRY_PRIMARY)
		return (uint32_t)getpid();
	if (owner > trip_process_count(server))
		return 0;
	return (uint32_t)server->processes[owner - 1].credentials.pid;
}

void
trip_process_set_state(struct trip_process *process, bool used, enum trip_client_state state)
{
	pthread_mutex_lock(&process->server->domain->lock);
	process->used = used;
	process->state = state;
	pthread_mutex_unlock(&process->server->domain->lock);
}

/* The slot signals nobody any more, and waits for nothing. */
static void
silence_slot(struct trip_server *server, struct trip_home *home, uint32_t slot)
{
	int fd = atomic_exchange(&home->waiter_fds[slot], -1);

	if (fd >= 0)
		trip_watch_retire(server, fd);
	trip_waiter_disarm(home, slot);
	/* It may have died between taking a request back and ringing. */
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_WAITER, slot);
	/* Asleep, it died without counting itself off. */
	atomic_store(&home->waiters[slot].sleepers, 0);
}

static void
each_slot(struct trip_process *process,
	void (*what)(struct trip_server *server, struct trip_home *home, uint32_t slot))
{
	struct trip_server *server = process->server;
	struct trip_engine *engine = &server->domain->engine;

	for (uint32_t i = 0; i < engine->n_homes; i++)
		for (uint32_t slot = 0; slot < engine->waiters_per_home; slot++)
			if (atomic_load_explicit(&engine->homes[i]->waiter_owners[slot],
				    memory_order_relaxed) == process->number + 1)
				what(server, engine->homes[i], slot);
}

/* `asking` asks for it; NULL: it has died. */
static void
begin_dropping(struct trip_process *process, struct trip_connection *asking)
{
	struct trip_engine *engine = &process->server->domain->engine;

	trip_process_set_state(process, true, TRIP_CLIENT_DROPPING);
	trip_generation_note(process->server);
	process->cleaning = TRIP_PROCESS_UNCLEAN;
	process->connection = NULL;
	trip_connection_leave(process->server, process, asking);
	trip_server_close(process->server, &process->pidfd);
	each_slot(process, silence_slot);
	for (uint32_t i = 0; i < engine->n_homes; i++)
		trip_drop_ask(engine->homes[i], process->number);
}

void
trip_process_lost(struct trip_process *process)
{
	process->connection = NULL;
	if (process->state == TRIP_CLIENT_ATTACHED)
		trip_process_set_state(process, true, TRIP_CLIENT_LOST);
}

void
trip_process_died(void *owner)
{
	begin_dropping(owner, NULL);
}

static void
give_slot(struct trip_server *server, struct trip_home *home, uint32_t slot)
{
	atomic_store_explicit(&home->waiter_owners[slot], 0, memory_order_relaxed);
	trip_slots_give(&server->domain->waiters[home->index], slot);
}

/* Counters that it owned are told of it, and live on while others have found them (WORK-07). */
static void
orphan_cntrs(struct trip_process *process)
{
	struct trip_domain *domain = process->server->domain;
	uint32_t count = domain->engine.n_homes * domain->engine.cntrs_per_home;

	for (uint32_t i = 0; i < count && process->n_cntrs > 0; i++) {
		struct trip_entry *entry = &domain->entries[i];

		if (entry->id == 0 || entry->owner != process->number + 1)
			continue;
		process->n_cntrs--;
		trip_registry_orphan(domain, entry);
	}
}

static void
tell_garbage(const struct trip_process *process)
{
	const struct trip_engine *engine = &process->server->domain->engine;
	uint64_t garbage = 0;
	char what[80];

	for (uint32_t i = 0; i < engine->n_homes; i++)
		garbage += trip_drop_garbage(engine->homes[i], process->number);
	if (garbage == 0)
		return;
	snprintf(what, sizeof(what), "%" PRIu64 " times in its channels, which homes ignored",
		garbage);
	trip_server_complain(process->server, &process->credentials, what);
}

/* All homes have dropped it, so that nothing of it writes any counter. */
static void
finish(struct trip_process *process)
{
	struct trip_domain *domain = process->server->domain;

	tell_garbage(process);
	while (process->n_found > 0)
		trip_registry_drop(domain, &domain->entries[process->found[--process->n_found]]);
	orphan_cntrs(process);
	each_slot(process, give_slot);
	memset(process->n_waiters, 0, sizeof(process->n_waiters));
	close_common(process);
	trip_process_set_state(process, false, TRIP_CLIENT_DROPPING);
}

static bool
all_dropped(const struct trip_process *process)
{
	struct trip_engine *engine = &process->server->domain->engine;

	for (uint32_t i = 0; i < engine->n_homes; i++)
		if (!trip_drop_done(engine->homes[i], process->number))
			return false;
	return true;
}

bool
trip_process_reap(struct trip_server *server)
{
	bool left = false;

	for (uint32_t i = 0; i < trip_process_count(server); i++) {
		struct trip_process *process = &server->processes[i];

		if (!process->used || process->state != TRIP_CLIENT_DROPPING)
			continue;
		/* No home operates on its flows any more, but on its counters these may. */
		if (process->cleaning == TRIP_PROCESS_UNCLEAN && all_dropped(process))
			process->cleaning = trip_proxy_clean(process) ? TRIP_PROCESS_CLEANING
								      : TRIP_PROCESS_CLEAN;
		if (process->cleaning == TRIP_PROCESS_CLEAN)
			finish(process);
		else
			left = true;
	}
	return left;
}

int
trip_process_detach(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	begin_dropping(connection->process, connection);
	connection->detached = true;
	return 0;
}

int
trip_process_join(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	struct trip_server *server = connection->server;
	uint32_t number = request->join.number;
	struct trip_process *process =
		number < trip_process_count(server) ? &server->processes[number] : NULL;
	int pidfd = trip_process_pidfd(connection);

	/* While it lives, nobody else has its pid. */
	if (pidfd < 0)
		return pidfd;
	close(pidfd);
	if (process == NULL || !process->used || process->state != TRIP_CLIENT_ATTACHED ||
		process->credentials.pid != connection->credentials.pid ||
		connection->process != NULL)
		return trip_error_set(EPERM,
			"domain \"%s\": process %d is not attached as number %" PRIu32,
			server->domain->name, (int)connection->credentials.pid, number);
	connection->process = process;
	return 0;
}
