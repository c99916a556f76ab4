/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests of the socket: a row says all that anyone asks of one. */
#ifndef TRIP_RUNTIME_REQUEST_H
#define TRIP_RUNTIME_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "client/protocol.h"

struct trip_connection;
struct trip_proxy_job;

/* What trip_request_answer() returns where the proxy answers, or the application. */
#define TRIP_REQUEST_LATER 1

/* A quick one: the control thread answers; 0, with the size of the answer, the error, or
 * TRIP_REQUEST_LATER: the application does, by command.h. A slow one: the proxy's thread does,
 * likewise. */
typedef int trip_request_quick(struct trip_connection *connection,
	const union trip_protocol_request *request, size_t *size);
typedef int trip_request_slow(struct trip_proxy_job *job);

struct trip_request {
	/* For messages. */
	const char *name;
	/* Bytes behind its head. */
	size_t size;
	/* Only of processes that have attached. */
	bool attached;
	/* One of the two. */
	trip_request_quick *answer;
	trip_request_slow *run;
	/* Undoes a quick one whose answer has a descriptor that did not go along. */
	void (*undo)(
		struct trip_connection *connection, const union trip_protocol_request *request);
};

/* The row of a type, which may be garbage; NULL: there is none. */
const struct trip_request *trip_request_of(unsigned int type);

/* Answers a connection's request, of which there is a row: 0, the error, or TRIP_REQUEST_LATER. */
int trip_request_answer(struct trip_connection *connection,
	const union trip_protocol_request *request, size_t *size);

#endif
