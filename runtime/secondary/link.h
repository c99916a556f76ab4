/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an attached process asks of the primary: every call that changes more than its own channel
 * and its own waiters. One request at a time; any thread.
 */
#ifndef TRIP_RUNTIME_LINK_H
#define TRIP_RUNTIME_LINK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <trip_domain.h>

#include "client/protocol.h"

struct trip_client;
struct trip_domain;

struct trip_link {
	struct trip_client *client;
	pthread_mutex_t lock;
	/* The home whose waiter slots were asked for by a thread that does not wait for the answer;
	 * TRIP_NONE: none. The answer comes ahead of that to any other request. */
	uint32_t asked;
	/* For calls that take their time, so that others go on meanwhile; NULL: there has been
	 * none. Under a lock of its own. */
	struct trip_client *slow;
	pthread_mutex_t slow_lock;
	/* Its socket, for the watcher; -1: none. */
	_Atomic int slow_socket;
	char path[108];
	/* What the primary calls this process. */
	uint32_t number;
	/* The thread that waits for the primary's end (WAIT-12), what tells of that beside the end
	 * of the connection, which a child of the primary may hold open, and what ends it before.
	 */
	pthread_t watcher;
	bool watching;
	/* It is being detached: nothing of it waits, and its memory may be gone. */
	_Atomic bool leaving;
	int pidfd;
	int stop;
};

/* Connects and is let in: 0, or why not. `nonce` is the domain's; from now on it does not end as
 * long as this process lives and has not detached, and its attributes are known. */
int trip_link_open(struct trip_domain *domain, const char *path, uint64_t nonce);

/* The homes are mapped: from now on, the primary's end ends all waiting. 0 or the error. */
int trip_link_watch(struct trip_domain *domain);

/* Lets go of the domain: what is left of this process there is cleared away. */
int trip_link_detach(struct trip_domain *domain);

/* The primary has ended: returns when neither the watcher nor the helper is in the domain's memory.
 */
void trip_link_rest(struct trip_domain *domain);

/* Ends the connection. */
void trip_link_close(struct trip_domain *domain);

/* Under the lock. Takes the answer to what was asked for and not waited for: 0, what the primary
 * says, or TRIP_CLIENT_YET. One slot goes to `mine`, where that is not NULL. */
int trip_link_settle(struct trip_domain *domain, bool wait, int *mine);

/* What a call over the connection says becomes the error of this library. The end of the primary
 * comes first: another connection is not to be had then, or is to another primary. */
int trip_link_fail(const struct trip_domain *domain, int error);

/* A request, by the connection for such; `answer` and `fd` may be NULL. */
int trip_link_call(struct trip_domain *domain, enum trip_protocol_type type, const void *body,
	size_t size, union trip_protocol_answer *answer, int *fd);

/* A request about no domain, by way of any that is attached; -ENOTSUP: there is none. */
int trip_link_call_once(enum trip_protocol_type type, const void *body, size_t size,
	union trip_protocol_answer *answer);

/* As backend.h has it. */
int trip_link_homes(struct trip_domain *domain, struct trip_client_home *homes);
int trip_link_quiesce(struct trip_domain *domain);
extern const struct trip_cntr_backend trip_link_cntr;
extern const struct trip_native_backend trip_link_native;
extern const struct trip_port_backend trip_link_port;
extern const struct trip_flow_backend trip_link_flow;
/* As the primary: trip_flow_police() of the flow that it has for us. */
int trip_link_flow_police(struct trip_flow *flow, struct trip_flow *with);
extern const struct trip_counters_backend trip_link_counters;
extern const struct trip_each_backend trip_link_each;

#endif
