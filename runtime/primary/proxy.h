/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of ports, flows and counters objects that attached processes have the primary make. Those
 * take the time of a device, and wait for homes and bursts; so a thread of its own makes them, one
 * after the other and processes by turns, and the control thread goes on meanwhile: proxy.c. What
 * the calls are is in proxy_held.c.
 *
 * A connection has one request at a time. While that is with the proxy, the connection is busy: its
 * job and its reply are the proxy's, and it is neither read nor freed.
 *
 * What a process holds is touched by the proxy alone, from its first request until the proxy has
 * given everything back.
 */
#ifndef TRIP_RUNTIME_PROXY_H
#define TRIP_RUNTIME_PROXY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <trip_each.h>

#include "client/protocol.h"
#include "domain/indices.h"
#include "engine.h"

struct trip_connection;
struct trip_process;
struct trip_server;

struct trip_proxy_job {
	TAILQ_ENTRY(trip_proxy_job) next;
	/* NULL: all that the process has left is to be given back. */
	struct trip_connection *connection;
	struct trip_process *process;
	enum trip_protocol_type type;
	union trip_protocol_request request;
	/* A request that is being undone: why. */
	int refused;
	/* As trip_request_answer() returns it; the sentence of an error is in the reply. */
	int error;
	size_t size;
};

TAILQ_HEAD(trip_proxy_jobs, trip_proxy_job);

struct trip_proxy {
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t asked;
	/* Under the lock. */
	bool stop;
	struct trip_proxy_jobs waiting, done;
	/* The control thread is told by it. */
	int told;
};

struct trip_held_place;

/* What a process holds of the primary's. */
struct trip_held {
	/* Flows and counters objects, each at its place; NULL: it has had none yet. */
	struct trip_held_place *places;
	struct trip_indices free_places;
	uint32_t n;
	/* Handles of each port. */
	uint32_t ports[TRIP_PORTS_MAX];
	/* And of what is counted by keys. */
	uint32_t eaches[TRIP_EACH_MAX];
};

/* Hands a request to the proxy: TRIP_REQUEST_LATER, or the error. */
int trip_proxy_ask(struct trip_connection *connection, const union trip_protocol_request *request);

/* Starts it where it does not run yet: 0, or the error. On the control thread. */
int trip_proxy_start(struct trip_server *server);

/* The first of these jobs, which leaves them; NULL: there is none. */
struct trip_proxy_job *trip_proxy_take(pthread_mutex_t *lock, struct trip_proxy_jobs *jobs);

/* A job is done, by whomever: its error and size, and the reply, are set. */
void trip_proxy_finish(struct trip_proxy *proxy, struct trip_proxy_job *job);

/* Undoes the request that the connection's job is, whose descriptor did not go along; then that is
 * answered with the error, whose sentence is in the reply. */
void trip_proxy_undo(struct trip_connection *connection, int error);

/* Has it give back all that a process has left; false: it never had anything. */
bool trip_proxy_clean(struct trip_process *process);

/* Ends the thread. No process is attached. */
void trip_proxy_stop(struct trip_server *server);

/* Makes the call, on the proxy's thread. */
void trip_proxy_run(struct trip_proxy_job *job);

#endif
