/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches of clients that do not attach: a waiter slot and a pair of sockets each, one for homes to
 * write and one for the client to wait on. Ours is closed with the watch, once no home can be about
 * to write it: homes take it from the slot within one iteration. What a client does with its own,
 * no home notices: a send that would block, fails.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cntr/native.h"
#include "cntr/registry.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "primary/server.h"
#include "waiter.h"

/* Watches take no more of the waiter slots than one in so many. */
#define SHARE 4

static uint32_t
limit(const struct trip_domain *domain)
{
	return domain->attr.max_waiters * domain->engine.n_homes / SHARE;
}

/* The index of a counter within its home, and that home; NULL: it is closed. */
static struct trip_home *
place_of(struct trip_domain *domain, uint64_t id, uint32_t *local)
{
	struct trip_home *home = NULL;
	const struct trip_entry *entry;

	pthread_mutex_lock(&domain->lock);
	entry = trip_registry_of_id(domain, id);
	if (entry != NULL)
		home = trip_engine_home(&domain->engine, entry->global, local);
	pthread_mutex_unlock(&domain->lock);
	return home;
}

/* Closing one takes no memory then: closed at once, while homes may write it, its number could be
 * another file's. */
int
trip_watch_make_room(struct trip_server *server)
{
	uint32_t room = 2 * server->room_retired + 16;
	void *grown;

	if (server->n_written + server->n_retired < server->room_retired)
		return 0;
	grown = realloc(server->retired, room * sizeof(*server->retired));
	if (grown == NULL)
		return trip_error_set(ENOMEM,
			"domain \"%s\": no memory for %" PRIu32 " descriptors to be signalled by",
			server->domain->name, room);
	server->retired = grown;
	server->room_retired = room;
	return 0;
}

int
trip_watch_pair(struct trip_connection *connection, int *fd)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
		return trip_error_system(errno, "domain \"%s\": no descriptor to be signalled by",
			connection->server->domain->name);
	/* Nothing comes back over it, that would have to be closed with it. */
	shutdown(ends[0], SHUT_RD);
	*fd = ends[0] | TRIP_WAITER_SOCKET;
	connection->reply_fd = ends[1];
	return 0;
}

static int
open_slot(struct trip_connection *connection, struct trip_home *home, struct trip_watch *watch)
{
	struct trip_domain *domain = connection->server->domain;
	int error = trip_watch_make_room(connection->server), slot;

	if (error != 0)
		return error;
	slot = trip_native_take_slot(domain, home, true);
	if (slot < 0)
		return slot;
	error = trip_watch_pair(connection, &watch->fd);
	if (error != 0) {
		trip_native_give_slot(domain, home, (uint32_t)slot);
		return error;
	}
	watch->home = home;
	watch->slot = (uint32_t)slot;
	connection->server->n_written++;
	/* Partner: the acquire load in waiter.c's signal_slot(). */
	atomic_store_explicit(&home->waiter_fds[slot], watch->fd, memory_order_release);
	return 0;
}

/* Users other than the owner and root leave half of them to these. */
static int
check_user(const struct trip_connection *connection)
{
	const struct trip_server *server = connection->server;
	uint32_t others = trip_admit_others(limit(server->domain) / 2);
	uint32_t n = 0, n_others = 0;

	if (!trip_admit_is_other(connection))
		return 0;
	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++) {
		const struct trip_connection *each = server->connections[i];

		if (each == NULL || !trip_admit_is_other(each))
			continue;
		n_others += each->n_watches;
		if (each->credentials.uid == connection->credentials.uid)
			n += each->n_watches;
	}
	if (n < trip_admit_each(others) && n_others < others)
		return 0;
	return trip_error_set(ENOSPC,
		"domain \"%s\": user %d has %" PRIu32 " watches of at most %" PRIu32
		", all users but 0 and %d %" PRIu32 " of %" PRIu32,
		server->domain->name, (int)connection->credentials.uid, n, trip_admit_each(others),
		(int)geteuid(), n_others, others);
}

int
trip_watch_open(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	struct trip_domain *domain = connection->server->domain;
	uint32_t i = 0, local;
	struct trip_home *home = place_of(domain, request->read.cntr, &local);
	int error;

	if (home == NULL)
		return -ENOENT;
	while (i < TRIP_SERVER_WATCHES && connection->watches[i].home != NULL)
		i++;
	if (i == TRIP_SERVER_WATCHES)
		return trip_error_set(ENOSPC, "domain \"%s\": a client has at most %u watches",
			domain->name, TRIP_SERVER_WATCHES);
	if (connection->server->n_watches >= limit(domain))
		return trip_error_set(ENOSPC,
			"domain \"%s\": all %" PRIu32 " watches of its socket are in use",
			domain->name, limit(domain));
	error = check_user(connection);
	if (error == 0)
		error = open_slot(connection, home, &connection->watches[i]);
	if (error != 0)
		return error;
	connection->watches[i].cntr = request->read.cntr;
	connection->n_watches++;
	connection->server->n_watches++;
	connection->reply.answer.watching.watch = i;
	*size = sizeof(connection->reply.answer.watching);
	return 0;
}

static struct trip_watch *
watch_at(struct trip_connection *connection, uint32_t watch)
{
	if (watch < TRIP_SERVER_WATCHES && connection->watches[watch].home != NULL)
		return &connection->watches[watch];
	(void)trip_error_set(ENOENT, "watch %" PRIu32 ": there is none", watch);
	return NULL;
}

int
trip_watch_arm(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	const struct trip_protocol_arm *arm = &request->arm;
	struct trip_domain *domain = connection->server->domain;
	const struct trip_cell_sample seen = {
		.success = arm->success,
		.error = arm->error,
		.errgen = arm->errgen,
		.setgen = arm->setgen,
	};
	struct trip_watch *watch = watch_at(connection, arm->watch);
	uint32_t local;

	if (watch == NULL || place_of(domain, watch->cntr, &local) == NULL)
		return -ENOENT;
	if ((arm->threshold > TRIP_CNTR_MAX && arm->threshold != TRIP_CLIENT_ANY) ||
		arm->success > TRIP_CNTR_MAX || arm->error > TRIP_CNTR_MAX)
		return trip_error_set(EINVAL,
			"watch %" PRIu32 ": threshold %" PRIu64 " or what was seen is above the "
			"limit %" PRIu64,
			arm->watch, arm->threshold, (uint64_t)TRIP_CNTR_MAX);
	trip_waiter_arm(watch->home, watch->slot,
		watch->home->index * domain->engine.waiters_per_home + watch->slot, local,
		arm->threshold == TRIP_CLIENT_ANY ? TRIP_WAITER_ANY : arm->threshold, &seen);
	return 0;
}

static bool
is_quiesced(const struct trip_engine *engine, const struct trip_watch_retired *retired)
{
	for (uint32_t i = 0; i < engine->n_homes; i++)
		if (!trip_home_quiesced(engine->homes[i], retired->epoch[i]))
			return false;
	return true;
}

void
trip_watch_retire(struct trip_server *server, int fd)
{
	const struct trip_engine *engine = &server->domain->engine;
	struct trip_watch_retired retired = {.fd = fd & ~TRIP_WAITER_SOCKET};

	/* A process that writes what it likes into the slots of others brings some that nobody has
	 * counted. */
	server->n_written -= server->n_written > 0;
	for (uint32_t i = 0; i < engine->n_homes; i++)
		retired.epoch[i] = trip_home_epoch(engine->homes[i]);
	if (is_quiesced(engine, &retired)) {
		close(retired.fd);
		return;
	}
	/* Room is short for these alone. They are kept for good: closed now, their number could be
	 * another file's. */
	if (server->n_retired == server->room_retired)
		return;
	server->retired[server->n_retired++] = retired;
}

static void
close_watch(struct trip_connection *connection, struct trip_watch *watch)
{
	struct trip_server *server = connection->server;

	atomic_store_explicit(&watch->home->waiter_fds[watch->slot], -1, memory_order_release);
	trip_native_give_slot(server->domain, watch->home, watch->slot);
	trip_watch_retire(server, watch->fd);
	server->n_watches--;
	connection->n_watches--;
	watch->home = NULL;
}

int
trip_watch_close(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	struct trip_watch *watch = watch_at(connection, request->unwatch.watch);

	if (watch == NULL)
		return -ENOENT;
	close_watch(connection, watch);
	return 0;
}

void
trip_watch_undo(struct trip_connection *connection, const union trip_protocol_request *request)
{
	close_watch(connection, &connection->watches[connection->reply.answer.watching.watch]);
}

void
trip_watch_close_all(struct trip_connection *connection)
{
	for (uint32_t i = 0; i < TRIP_SERVER_WATCHES; i++)
		if (connection->watches[i].home != NULL)
			close_watch(connection, &connection->watches[i]);
}

bool
trip_watch_reap(struct trip_server *server)
{
	for (uint32_t i = server->n_retired; i > 0; i--) {
		struct trip_watch_retired *retired = &server->retired[i - 1];

		if (!is_quiesced(&server->domain->engine, retired))
			continue;
		close(retired->fd);
		*retired = server->retired[--server->n_retired];
	}
	return server->n_retired > 0;
}
