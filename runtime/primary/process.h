/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attached processes, as the primary's control thread knows them: who they are, what each holds,
 * and how that comes back when one dies.
 *
 * A process lives as long as its pidfd says so. One that has died, or detached, is cleared away in
 * two steps: each home drops it (drop.h); when all have, its counters, handles and waiter slots are
 * given back, and its number may be another's. One whose connection ended while it lives keeps
 * everything, for it may still write its channel.
 */
#ifndef TRIP_RUNTIME_PROCESS_H
#define TRIP_RUNTIME_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "primary/request.h"
#include "primary/server.h"
#include "engine.h"

/* What the proxy does for one that is being cleared away. */
enum trip_process_cleaning {
	TRIP_PROCESS_UNCLEAN,
	TRIP_PROCESS_CLEANING,
	TRIP_PROCESS_CLEAN,
};

struct trip_process {
	struct trip_server_source source;
	struct trip_server *server;
	bool used;
	enum trip_client_state state;
	uint32_t number;
	struct ucred credentials;
	int pidfd;
	/* As trip_generation_started() has it. */
	uint64_t started;
	/* NULL: its connection has ended. */
	struct trip_connection *connection;
	uint64_t lcores[TRIP_PROTOCOL_LCORES / 64];
	uint64_t since_ns;
	/* How many counters it owns. Indices of those that it has found; one that it has found
	 * twice stands there twice. */
	uint32_t n_cntrs;
	uint32_t *found;
	uint32_t n_found;
	/* Waiter slots of each home. */
	uint32_t n_waiters[TRIP_HOMES_MAX];
	/* Our end of the descriptor that its slots share; -1: none. And the one before, which
	 * stays where the other end of the new one cannot be sent. */
	int common, common_before;
	/* Ports, flows, counters objects, which the proxy gives back. */
	struct trip_held held;
	struct trip_proxy_job clean;
	enum trip_process_cleaning cleaning;
};

int trip_process_init(struct trip_server *server);
void trip_process_fini(struct trip_server *server);

/* How many there may be. */
static inline uint32_t
trip_process_count(const struct trip_server *server)
{
	return server->domain->attr.max_processes;
}

/* Changes them under the domain's lock, as other threads read them. */
void trip_process_set_state(struct trip_process *process, bool used, enum trip_client_state state);

/* It is being cleared away, or has ended and the control thread has not come to that yet. */
bool trip_process_is_going(const struct trip_process *process);

/* Of the process that has connected: negative: the error, -ESRCH: it has ended. */
int trip_process_pidfd(const struct trip_connection *connection);

/* Its pidfd says so: clears it away. */
void trip_process_died(void *process);

/* Its connection has ended. */
void trip_process_lost(struct trip_process *process);

/* Goes on clearing away those that have died; true: some are left. */
bool trip_process_reap(struct trip_server *server);

/* Whether any is attached or being cleared away; the process that it says, for a message. */
bool trip_process_any(struct trip_server *server, uint32_t *pid, enum trip_client_state *state);

/* Its pid: of an owner as the registry has it; 0: it has died. */
uint32_t trip_process_pid(const struct trip_server *server, uint32_t owner);

/* What they ask. */
trip_request_quick trip_process_attach, trip_process_join, trip_process_detach, trip_process_open,
	trip_process_found, trip_process_close, trip_process_slots, trip_process_signal;
/* Undoes trip_process_signal(): nobody has the descriptor, and the slot is signalled by none. */
void trip_process_unsignal(
	struct trip_connection *connection, const union trip_protocol_request *request);

#endif
