/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may attach, and how a process comes in. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <rte_lcore.h>

#include <trip_version.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "domain/peer.h"
#include "domain/share.h"
#include "domain/thread.h"
#include "primary/generation.h"
#include "primary/process.h"

static int
refuse_lcore(const struct trip_process *owner, unsigned int lcore)
{
	bool going = trip_process_is_going(owner);

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
		for (uint32_t p = 0; p < trip_process_count(server); p++)
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
			"version of the library than " TRIP_VERSION_STRING,
			name);
	if (connection->process != NULL)
		return trip_error_set(EALREADY, "domain \"%s\": attached already", name);
	return check_lcores(server, attach->lcores);
}

/*
 * The socket's credentials are those of the process that connected. Where that has died since, its
 * pid may be another's by now, which the pidfd is not (peer.h). On an older kernel the pidfd may
 * be: then the connection has been closed with its process, unless a child of that has it open.
 */
int
trip_process_pidfd(const struct trip_connection *connection)
{
	int fd = trip_peer_pidfd(connection->socket, connection->credentials.pid);
	struct pollfd ends[] = {
		{.fd = connection->socket, .events = POLLRDHUP}, {.fd = fd, .events = POLLIN}};

	if (fd < 0 && fd != -ESRCH)
		return trip_error_system(-fd, "domain \"%s\": no pidfd of process %d",
			connection->server->domain->name, (int)connection->credentials.pid);
	if (fd >= 0 && poll(ends, 2, 0) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return trip_error_set(ESRCH, "domain \"%s\": process %d has ended",
		connection->server->domain->name, (int)connection->credentials.pid);
}

static int
free_process(struct trip_server *server, struct trip_process **process)
{
	bool going = false;

	for (uint32_t i = 0; i < trip_process_count(server); i++) {
		*process = &server->processes[i];
		if (!(*process)->used)
			return 0;
		going |= trip_process_is_going(*process);
	}
	return trip_error_set(going ? EAGAIN : EUSERS,
		"domain \"%s\": all %" PRIu32 " processes are attached, or being cleared away",
		server->domain->name, trip_process_count(server));
}

/* Whoever closes the domain finds it, or it finds the domain closed: set_open() of open.c. */
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
	process->source = (struct trip_server_source){.ready = trip_process_died, .owner = process};
	error = trip_server_poll(process->server, process->pidfd, &process->source);
	if (error != 0)
		trip_process_set_state(process, false, TRIP_CLIENT_ATTACHED);
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
	pidfd = trip_process_pidfd(connection);
	if (pidfd < 0)
		return pidfd;
	process->pidfd = pidfd;
	process->credentials = connection->credentials;
	process->since_ns = trip_thread_now_ns();
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
