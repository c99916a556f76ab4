/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests of the socket, and what is answered to those who only look. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <rte_common.h>

#include "cntr/registry.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "primary/command.h"
#include "primary/list.h"
#include "primary/process.h"
#include "primary/proxy_held.h"
#include "primary/request.h"
#include "primary/server.h"

/* Under the domain's lock; NULL: there is none. */
static int
answer_cntr(struct trip_connection *connection, const struct trip_entry *entry, size_t *size)
{
	if (entry == NULL)
		return -ENOENT;
	trip_list_cntr(connection->server->domain, entry, &connection->reply.answer.cntr);
	*size = sizeof(connection->reply.answer.cntr);
	return 0;
}

static int
answer_find(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	struct trip_domain *domain = connection->server->domain;
	char name[sizeof(request->find.name)];
	int error;

	snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, request->find.name);
	error = trip_error_check_name("cntr", name, TRIP_NAME_MAX);
	if (error != 0)
		return error;
	pthread_mutex_lock(&domain->lock);
	error = answer_cntr(connection, trip_registry_of_name(domain, name), size);
	pthread_mutex_unlock(&domain->lock);
	return error;
}

static int
answer_read(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	struct trip_domain *domain = connection->server->domain;
	int error;

	pthread_mutex_lock(&domain->lock);
	error = answer_cntr(connection, trip_registry_of_id(domain, request->read.cntr), size);
	pthread_mutex_unlock(&domain->lock);
	return error;
}

#define BODY(member) sizeof(((union trip_protocol_request *)NULL)->member)

enum {
	ANYBODY = false,
	ATTACHED = true,
};

static const struct trip_request requests[TRIP_PROTOCOL_TYPES] = {
	[TRIP_PROTOCOL_LIST] = {"list", BODY(list), ANYBODY, .answer = trip_list_answer},
	[TRIP_PROTOCOL_FIND] = {"find", BODY(find), ANYBODY, .answer = answer_find},
	[TRIP_PROTOCOL_READ] = {"read", BODY(read), ANYBODY, .answer = answer_read},
	[TRIP_PROTOCOL_WATCH] = {"watch", BODY(read), ANYBODY, .answer = trip_watch_open,
		.undo = trip_watch_undo},
	[TRIP_PROTOCOL_ARM] = {"arm", BODY(arm), ANYBODY, .answer = trip_watch_arm},
	[TRIP_PROTOCOL_UNWATCH] = {"unwatch", BODY(unwatch), ANYBODY, .answer = trip_watch_close},
	[TRIP_PROTOCOL_ATTACH] = {"attach", BODY(attach), ANYBODY, .answer = trip_process_attach},
	[TRIP_PROTOCOL_JOIN] = {"join", BODY(join), ANYBODY, .answer = trip_process_join},
	[TRIP_PROTOCOL_DETACH] = {"detach", 0, ATTACHED, .answer = trip_process_detach},
	[TRIP_PROTOCOL_OPEN] = {"open", BODY(open), ATTACHED, .answer = trip_process_open},
	[TRIP_PROTOCOL_FOUND] = {"found", BODY(find), ATTACHED, .answer = trip_process_found},
	[TRIP_PROTOCOL_CLOSE] = {"close", BODY(close), ATTACHED, .answer = trip_process_close},
	[TRIP_PROTOCOL_SLOTS] = {"slots", BODY(slots), ATTACHED, .answer = trip_process_slots},
	[TRIP_PROTOCOL_SIGNAL] = {"signal", BODY(signal), ATTACHED, .answer = trip_process_signal,
		.undo = trip_process_unsignal},
	[TRIP_PROTOCOL_PORT] = {"port", BODY(port), ATTACHED, .run = trip_proxy_port_run},
	[TRIP_PROTOCOL_PORT_FACTS] = {"port facts", BODY(port_ask), ATTACHED,
		.run = trip_proxy_port_facts},
	[TRIP_PROTOCOL_PORT_STATS] = {"port stats", BODY(port_ask), ATTACHED,
		.run = trip_proxy_port_stats},
	[TRIP_PROTOCOL_QUIESCE] = {"quiesce", 0, ATTACHED, .run = trip_proxy_port_quiesce},
	[TRIP_PROTOCOL_FLOW] = {"flow", BODY(flow), ATTACHED, .run = trip_proxy_flow_create},
	[TRIP_PROTOCOL_VALIDATE] = {"validate", BODY(flow), ATTACHED,
		.run = trip_proxy_flow_validate},
	[TRIP_PROTOCOL_FLOW_DO] = {"flow do", BODY(flow_do), ATTACHED, .run = trip_proxy_flow_do},
	[TRIP_PROTOCOL_COUNTERS] = {"counters", BODY(counters), ATTACHED,
		.run = trip_proxy_counters_create},
	[TRIP_PROTOCOL_POINT] = {"point", BODY(point), ATTACHED, .run = trip_proxy_counters_point},
	[TRIP_PROTOCOL_COUNTERS_READ] = {"counters read", BODY(counters_read), ATTACHED,
		.run = trip_proxy_counters_read},
	[TRIP_PROTOCOL_COUNTERS_CLOSE] = {"counters close", BODY(closed), ATTACHED,
		.run = trip_proxy_counters_close},
	[TRIP_PROTOCOL_EACH] = {"each", BODY(each), ATTACHED, .run = trip_proxy_each_run},
	[TRIP_PROTOCOL_BY_HAND] = {"by hand", BODY(by_hand), ATTACHED,
		.run = trip_proxy_each_by_hand},
	[TRIP_PROTOCOL_TOP] = {"top", BODY(top), ANYBODY, .answer = trip_list_top},
	[TRIP_PROTOCOL_COMMAND] = {"command", BODY(command), ANYBODY,
		.answer = trip_command_answer},
	[TRIP_PROTOCOL_COMMAND_MORE] = {"command more", BODY(command_more), ANYBODY,
		.answer = trip_command_more},
};

const struct trip_request *
trip_request_of(unsigned int type)
{
	return type < RTE_DIM(requests) && requests[type].name != NULL ? &requests[type] : NULL;
}

int
trip_request_answer(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	const struct trip_request *row = &requests[connection->type];

	*size = 0;
	if (row->attached && connection->process == NULL)
		return trip_error_set(EPERM,
			"domain \"%s\": request \"%s\" is for processes that attach",
			connection->server->domain->name, row->name);
	return row->run != NULL ? trip_proxy_ask(connection, request)
				: row->answer(connection, request, size);
}
