/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of an attached process; process_requests.c answers what it asks. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_lcore.h>

#include <trip_error.h>

#include "cntr/registry.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/share.h"
#include "primary/generation.h"
#include "primary/process.h"
#include "drop.h"
#include "waiter.h"

static uint32_t
process_count(const struct trip_server *server)
{
	return server->domain->attr.max_processes;
}

int
trip_process_init(struct trip_server *server)
{
	struct trip_domain *domain = server->domain;

	server->processes = calloc(process_count(server), sizeof(*server->processes));
	if (server->processes == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for processes");
	for (uint32_t i = 0; i < process_count(server); i++) {
		server->processes[i].number = i;
		server->processes[i].server = server;
		server->processes[i].pidfd = -1;
		server->processes[i].common = -1;
		server->processes[i].common_before = -1;
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
	for (uint32_t i = 0; server->processes != NULL && i < process_count(server); i++) {
		trip_server_close(server, &server->processes[i].pidfd);
		close_common(&server->processes[i]);
		free(server->processes[i].found);
	}
	free(server->processes);
}

/* It is being cleared away, or has ended and the control thread has not come to that yet. */
static bool
is_going(const struct trip_process *process)
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
	for (uint32_t i = 0; i < process_count(server) && !any; i++) {
		const struct trip_process *process = &server->processes[i];

		any = process->used;
		*pid = (uint32_t)process->credentials.pid;
		*state = any && is_going(process) ? TRIP_CLIENT_DROPPING : process->state;
	}
	pthread_mutex_unlock(&server->domain->lock);
	return any;
}

uint32_t
trip_process_pid(const struct trip_server *server, uint32_t owner)
{
	if (owner == TRIP_REGISTRY_PRIMARY)
		return (uint32_t)getpid();
	if (owner > process_count(server))
		return 0;
	return (uint32_t)server->processes[owner - 1].credentials.pid;
}

static void
set_state(struct trip_process *process, bool used, enum trip_client_state state)
{
	pthread_mutex_lock(&process->server->domain->lock);
	process->used = used;
	process->state = state;
	pthread_mutex_unlock(&process->server->domain->lock);
}

/* ---- the end ----------------------------------------------------------------------------------
 */

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

	set_state(process, true, TRIP_CLIENT_DROPPING);
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
		set_state(process, true, TRIP_CLIENT_LOST);
}

/* Its pidfd says so. */
static void
died(void *owner)
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
		if (trip_registry_orphan(domain, entry))
			trip_registry_free(domain, entry);
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
	while (process->n_found > 0) {
		struct trip_entry *entry = &domain->entries[process->found[--process->n_found]];

		if (trip_registry_drop(domain, entry))
			trip_registry_free(domain, entry);
	}
	orphan_cntrs(process);
	each_slot(process, give_slot);
	memset(process->n_waiters, 0, sizeof(process->n_waiters));
	close_common(process);
	set_state(process, false, TRIP_CLIENT_DROPPING);
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

	for (uint32_t i = 0; i < process_count(server); i++) {
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
	return 0;
}

int
trip_process_join(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	struct trip_server *server = connection->server;
	uint32_t number = request->join.number;
	struct trip_process *process =
		number < process_count(server) ? &server->processes[number] : NULL;

	if (process == NULL || !process->used || process->state != TRIP_CLIENT_ATTACHED ||
		process->credentials.pid != connection->credentials.pid ||
		connection->process != NULL)
		return trip_error_set(EPERM,
			"domain \"%s\": process %d is not attached as number %" PRIu32,
			server->domain->name, (int)connection->credentials.pid, number);
	connection->process = process;
	return 0;
}

/* ---- the beginning ----------------------------------------------------------------------------
 */

static int
refuse_lcore(const struct trip_process *owner, unsigned int lcore)
{
	bool going = is_going(owner);

	return trip_error_set(going ? EAGAIN : EINVAL,
		"domain \"%s\": lcore id %u is that of process %d%s", owner->server->domain->name,
		lcore, (int)owner->credentials.pid, going ? ", which is being cleared away" : "");
}

/* Lcore ids name mempool caches: no two processes may have one in common. */
static int
check_lcores(const struct trip_server *server, const uint64_t *lcores)
{
	for (unsigned int i = 0; i < TRIP_PROTOCOL_LCORES; i++) {
		const struct trip_domain *domain = server->domain;
		bool ours = i < RTE_MAX_LCORE && rte_eal_lcore_role(i) != ROLE_OFF;

		if ((lcores[i / 64] >> i % 64 & 1) == 0)
			continue;
		if (ours)
			return trip_error_set(EINVAL,
				"domain \"%s\": lcore id %u is the primary's: give the process "
				"others, as by --lcores 8@0",
				domain->name, i);
		for (uint32_t p = 0; p < process_count(server); p++)
			if (server->processes[p].used &&
				(server->processes[p].lcores[i / 64] >> i % 64 & 1) != 0)
				return refuse_lcore(&server->processes[p], i);
	}
	return 0;
}

static int
check_admission(const struct trip_connection *connection, const struct trip_protocol_attach *attach)
{
	const struct trip_server *server = connection->server;
	const char *name = server->domain->name;

	if (!server->attachable)
		return trip_error_set(ENOTSUP,
			"domain \"%s\": the primary runs with --no-huge, --no-shconf or "
			"--in-memory, so that no other process can map its memory",
			name);
	if (connection->credentials.uid != geteuid() && connection->credentials.uid != 0)
		return trip_error_set(EACCES,
			"domain \"%s\": user %d may not attach, only user %d and root", name,
			(int)connection->credentials.uid, (int)geteuid());
	if (attach->layout != trip_share_layout() || attach->nonce != server->domain->nonce)
		return trip_error_set(EPROTO,
			"domain \"%s\": the process has mapped another domain, or has another "
			"version of the library than " TRIP_VERSION,
			name);
	if (connection->process != NULL)
		return trip_error_set(EALREADY, "domain \"%s\": attached already", name);
	return check_lcores(server, attach->lcores);
}

/*
 * The socket's credentials are those of the process that connected. Where that has died since, its
 * pid may be another's by now; but then its end of the connection is closed.
 */
static int
open_pidfd(const struct trip_connection *connection)
{
	struct pollfd end = {.fd = connection->socket, .events = POLLRDHUP};
	int fd = (int)syscall(SYS_pidfd_open, connection->credentials.pid, 0), error = errno;

	if (fd < 0)
		return trip_error_set(error, "domain \"%s\": no pidfd of process %d: %s",
			connection->server->domain->name, (int)connection->credentials.pid,
			trip_strerror(error));
	if (poll(&end, 1, 0) != 0) {
		close(fd);
		return trip_error_set(ESRCH, "domain \"%s\": process %d has ended",
			connection->server->domain->name, (int)connection->credentials.pid);
	}
	return fd;
}

static int
free_process(struct trip_server *server, struct trip_process **process)
{
	bool going = false;

	for (uint32_t i = 0; i < process_count(server); i++) {
		*process = &server->processes[i];
		if (!(*process)->used)
			return 0;
		going |= is_going(*process);
	}
	return trip_error_set(going ? EAGAIN : EUSERS,
		"domain \"%s\": all %" PRIu32 " processes are attached, or being cleared away",
		server->domain->name, process_count(server));
}

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Either whoever closes the domain finds it, or it finds the domain closed: set_open() of open.c.
 */
static int
let_in(struct trip_process *process)
{
	struct trip_domain *domain = process->server->domain;
	bool open;

	pthread_mutex_lock(&domain->lock);
	open = domain->open;
	process->used = open;
	process->state = TRIP_CLIENT_ATTACHED;
	pthread_mutex_unlock(&domain->lock);
	return open ? 0
		    : trip_error_set(
			      EAGAIN, "domain \"%s\": it is being opened or closed", domain->name);
}

static int
enter(struct trip_process *process)
{
	int error = let_in(process);

	if (error != 0)
		return error;
	process->source = (struct trip_server_source){.ready = died, .owner = process};
	error = trip_server_poll(process->server, process->pidfd, &process->source);
	if (error != 0)
		set_state(process, false, TRIP_CLIENT_ATTACHED);
	return error;
}

static int
attach(struct trip_connection *connection, const struct trip_protocol_attach *request)
{
	int error = check_admission(connection, request), pidfd;
	struct trip_process *process = NULL;

	if (error == 0)
		error = free_process(connection->server, &process);
	if (error != 0)
		return error;
	pidfd = open_pidfd(connection);
	if (pidfd < 0)
		return pidfd;
	process->pidfd = pidfd;
	process->credentials = connection->credentials;
	process->since_ns = now_ns();
	memcpy(process->lcores, request->lcores, sizeof(process->lcores));
	process->started = trip_generation_started((uint32_t)connection->credentials.pid);
	error = enter(process);
	if (error != 0) {
		close(pidfd);
		process->pidfd = -1;
		return error;
	}
	process->connection = connection;
	connection->process = process;
	if (connection->place == NULL)
		connection->place = process;
	trip_generation_adopt(connection->server, (uint32_t)connection->credentials.pid);
	trip_generation_note(connection->server);
	return 0;
}

static void
answer_attached(const struct trip_process *process, struct trip_protocol_attached *attached)
{
	const struct trip_domain *domain = process->server->domain;

	*attached = (struct trip_protocol_attached){
		.number = process->number,
		.tsc_hz = domain->engine.tsc_hz,
		.base_tsc = domain->engine.base_tsc,
		.attr = domain->attr,
	};
	attached->attr.name = NULL;
	attached->attr.lcores = NULL;
	attached->attr.idle = NULL;
	attached->attr.socket = NULL;
	attached->attr.socket_group = NULL;
}

int
trip_process_attach(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	int error = attach(connection, &request->attach);

	if (error != 0) {
		/* What will be otherwise in a moment is no news. */
		if (error != -EAGAIN)
			trip_server_refuse(connection->server, &connection->credentials);
		return error;
	}
	answer_attached(connection->process, &connection->reply.answer.attached);
	*size = sizeof(connection->reply.answer.attached);
	return 0;
}
