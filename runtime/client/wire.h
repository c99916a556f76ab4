/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection to a primary. Libc only, because programs without DPDK link it. */
#ifndef TRIP_RUNTIME_WIRE_H
#define TRIP_RUNTIME_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "client/protocol.h"

#define TRIP_WIRE_WATCHES_MAX 64

struct trip_client {
	int socket;
	/* Of each call, in milliseconds; negative: none. */
	int limit_ms;
	/* Of the call under way, by CLOCK_MONOTONIC; INT64_MAX: none. */
	int64_t deadline_ms;
	/* An answer has not come in time: nobody may take it for another's. */
	bool given_up;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	/* Descriptor of each watch, -1: none. */
	int fds[TRIP_WIRE_WATCHES_MAX];
	struct trip_protocol_reply reply;
};

/* Each call begins so: it has one deadline, however many answers it takes. */
void trip_wire_begin(struct trip_client *client);

int trip_wire_connect(struct trip_client *client, const char *path);

/* A request with its reply, within the call that has begun; trip_client_call() is such a call. */
int trip_wire_exchange(struct trip_client *client, enum trip_protocol_type type, const void *body,
	size_t size, union trip_protocol_answer *answer, int *fd);

#endif
