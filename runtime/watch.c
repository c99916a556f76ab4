/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches of clients that do not attach: a waiter slot and a descriptor each, which the client gets
 * too. The descriptor is the client's alone, so it is closed with the watch, once no home can be
 * about to write it: homes take it from the slot within one iteration.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <trip_error.h>

#include "domain.h"
#include "error.h"
#include "registry.h"
#include "server.h"
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
	if (home == NULL)
		(void)trip_error_set(ENOENT, "cntr 0x%" PRIx64 ": it is closed, or never was", id);
	return home;
}

static int
open_slot(struct trip_domain *domain, struct trip_home *home, struct trip_watch *watch)
{
	int slot = trip_native_take_slot(domain, home), error;

	if (slot < 0)
		return slot;
	watch->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	error = errno;
	if (watch->fd < 0) {
		trip_native_give_slot(domain, home, (uint32_t)slot);
		return trip_error_set(error, "domain \"%s\": no descriptor to watch by: %s",
			domain->name, trip_strerror(error));
	}
	watch->home = home;
	watch->slot = (uint32_t)slot;
	/* Partner: the acquire load in waiter.c's signal_slot(). */
	atomic_store_explicit(&home->waiter_fds[slot], watch->fd, memory_order_release);
	return 0;
}

int
trip_watch_open(struct trip_peer *peer, uint64_t cntr, uint32_t *watch)
{
	struct trip_domain *domain = peer->server->domain;
	uint32_t i = 0, local;
	struct trip_home *home = place_of(domain, cntr, &local);
	int error;

	if (home == NULL)
		return -ENOENT;
	while (i < TRIP_SERVER_WATCHES && peer->watches[i].home != NULL)
		i++;
	if (i == TRIP_SERVER_WATCHES)
		return trip_error_set(ENOSPC, "domain \"%s\": a client has at most %u watches",
			domain->name, TRIP_SERVER_WATCHES);
	if (peer->server->n_watches >= limit(domain))
		return trip_error_set(ENOSPC,
			"domain \"%s\": all %" PRIu32 " watches of its socket are in use",
			domain->name, limit(domain));
	error = open_slot(domain, home, &peer->watches[i]);
	if (error != 0)
		return error;
	peer->watches[i].cntr = cntr;
	peer->server->n_watches++;
	peer->reply_fd = peer->watches[i].fd;
	*watch = i;
	return 0;
}

static struct trip_watch *
watch_at(struct trip_peer *peer, uint32_t watch)
{
	if (watch < TRIP_SERVER_WATCHES && peer->watches[watch].home != NULL)
		return &peer->watches[watch];
	(void)trip_error_set(ENOENT, "watch %" PRIu32 ": there is none", watch);
	return NULL;
}

int
trip_watch_arm(struct trip_peer *peer, const struct trip_protocol_arm *arm)
{
	struct trip_domain *domain = peer->server->domain;
	const struct trip_cell_sample seen = {
		.success = arm->success,
		.error = arm->error,
		.errgen = arm->errgen,
		.setgen = arm->setgen,
	};
	struct trip_watch *watch = watch_at(peer, arm->watch);
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

void
trip_watch_retire(struct trip_server *server, struct trip_home *home, int fd)
{
	struct trip_watch_retired retired = {
		.home = home, .epoch = trip_home_epoch(home), .fd = fd};

	if (trip_home_quiesced(home, retired.epoch)) {
		close(fd);
		return;
	}
	if (server->n_retired == server->room_retired) {
		uint32_t room = 2 * server->room_retired + 16;
		void *grown = realloc(server->retired, room * sizeof(*server->retired));

		/* Kept for good: closing it now could hand its number to another file. */
		if (grown == NULL)
			return;
		server->retired = grown;
		server->room_retired = room;
	}
	server->retired[server->n_retired++] = retired;
}

static void
close_watch(struct trip_server *server, struct trip_watch *watch)
{
	atomic_store_explicit(&watch->home->waiter_fds[watch->slot], -1, memory_order_release);
	trip_native_give_slot(server->domain, watch->home, watch->slot);
	trip_watch_retire(server, watch->home, watch->fd);
	server->n_watches--;
	watch->home = NULL;
}

int
trip_watch_close(struct trip_peer *peer, uint32_t index)
{
	struct trip_watch *watch = watch_at(peer, index);

	if (watch == NULL)
		return -ENOENT;
	close_watch(peer->server, watch);
	return 0;
}

void
trip_watch_close_all(struct trip_peer *peer)
{
	for (uint32_t i = 0; i < TRIP_SERVER_WATCHES; i++)
		if (peer->watches[i].home != NULL)
			close_watch(peer->server, &peer->watches[i]);
}

bool
trip_watch_reap(struct trip_server *server)
{
	for (uint32_t i = server->n_retired; i > 0; i--) {
		struct trip_watch_retired *retired = &server->retired[i - 1];

		if (!trip_home_quiesced(retired->home, retired->epoch))
			continue;
		close(retired->fd);
		*retired = server->retired[--server->n_retired];
	}
	return server->n_retired > 0;
}
