/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_LIST_H
#define TRIP_RUNTIME_LIST_H

#include <stddef.h>

struct trip_client_cntr;
struct trip_domain;
struct trip_entry;
struct trip_connection;
union trip_protocol_request;

/* Answers TRIP_PROTOCOL_LIST: 0 and the bytes of the answer, or the error. */
int trip_list(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size);

/* Under the domain's lock. */
void trip_list_cntr(
	struct trip_domain *domain, const struct trip_entry *entry, struct trip_client_cntr *out);

#endif
