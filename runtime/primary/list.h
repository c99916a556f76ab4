/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_LIST_H
#define TRIP_RUNTIME_LIST_H

#include "primary/request.h"
#include "each_queue.h"

/* The keys with most, as they were found. */
struct trip_list_top {
	/* Of which opening (flow/each.h): one of the same words may have taken its place. */
	uint64_t opening;
	uint64_t found_ns, took_ns;
	uint32_t count;
	struct trip_client_key keys[TRIP_CLIENT_TOP_MAX];
};

struct trip_connection;
struct trip_domain;
struct trip_entry;
struct trip_server;

/* Slots or indices that one request looks at; a client goes on behind them. */
#define TRIP_LIST_SCAN 8192

/* A list that is being written. */
struct trip_list {
	struct trip_server *server;
	/* Who asks. */
	const struct trip_connection *connection;
	uint64_t cursor;
	/* How many it has looked at for this request. */
	uint32_t scanned;
	uint32_t count, room;
	void *records;
};

/* Answers TRIP_PROTOCOL_LIST. */
trip_request_quick trip_list_answer;

/* Works: its cursor is the number of a slot among those of all channels of all homes. */
int trip_list_works(struct trip_list *list);

/* Statements that count by keys, by their numbers; and answers TRIP_PROTOCOL_TOP. */
int trip_list_eaches(struct trip_list *list);
trip_request_quick trip_list_top;
void trip_list_top_free(struct trip_server *server);

/* Lists what there is at each place below an end, as `fill` has it; false: nothing. */
void trip_list_walk(struct trip_list *list, uint64_t end, size_t size,
	bool (*fill)(const struct trip_server *server, uint64_t at, void *out));

/* The id of a counter; 0: there is none, or it is a clock. Under the domain's lock. */
uint64_t trip_list_id(const struct trip_domain *domain, uint32_t global);

/* Under the domain's lock. */
void trip_list_cntr(
	struct trip_domain *domain, const struct trip_entry *entry, struct trip_client_cntr *out);

#endif
