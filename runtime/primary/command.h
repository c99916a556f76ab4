/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands to the application (trip_command.h). A command comes in pieces, each of which is judged
 * and collected by the control thread. A whole one is a job that waits until the application's own
 * thread does it; then the proxy's way back brings it to the control thread, which answers. As with
 * a job of the proxy, the connection is busy meanwhile: its command and its reply are the
 * application's thread's, and it is neither read nor freed.
 */
#ifndef TRIP_RUNTIME_COMMAND_H
#define TRIP_RUNTIME_COMMAND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "primary/proxy.h"
#include "primary/request.h"

struct trip_domain;
struct trip_server;

/* Bytes of commands that may be on their way, over all connections. */
#define TRIP_COMMAND_BYTES_MAX (2 * TRIP_CLIENT_COMMAND_MAX)

struct trip_commands {
	pthread_mutex_t lock;
	/* Under the lock: it takes commands, from the group too; those that wait. */
	bool open, has_group;
	gid_t group;
	/* What it is called, cut to fit. */
	char group_name[33];
	/* Likewise, who was refused last; its pid is -1 before. */
	struct ucred last_refused;
	struct trip_proxy_jobs waiting;
	/* Of texts that connections have. */
	atomic_size_t bytes;
	/* Pieces that have come; the control thread's. */
	uint64_t n_pieces;
	/* For statistics: written by the control thread. */
	_Atomic uint64_t commands, refused;
};

/* The last command of a connection. */
struct trip_command_text {
	char *text;
	/* Bytes of the text in all, those that have come, and those there is room for. */
	size_t total, length, room;
	/* In the order of pieces, when its last one came. */
	uint64_t went_on;
	/* Others needed its room: its next piece is told so. */
	bool lost;
	char *answer;
	size_t answer_length;
	int status;
};

void trip_command_init(struct trip_server *server);
void trip_command_fini(struct trip_server *server);
/* Answers those that wait: there will be none who does them. */
void trip_command_stop(struct trip_server *server);

trip_request_quick trip_command_answer, trip_command_more;

/* The connection's command is no more. */
void trip_command_forget(struct trip_connection *connection);

/* Whether its user may give any, and somebody takes them. */
bool trip_command_may(const struct trip_connection *connection);

/* How many there were, in the primary of a domain. */
void trip_command_stats(const struct trip_domain *domain, uint64_t *commands, uint64_t *refused);

#endif
