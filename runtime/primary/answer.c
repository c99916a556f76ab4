/* SPDX-License-Identifier: BSD-3-Clause */
/* What the control thread answers. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <rte_common.h>

#include "cntr/registry.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "primary/list.h"
#include "primary/process.h"
#include "primary/server.h"

static int
answer_find(struct trip_peer *peer, const union trip_protocol_request *request, size_t *size)
{
	struct trip_domain *domain = peer->server->domain;
	const struct trip_entry *entry;
	char name[sizeof(request->find.name)];
	int error;

	snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, request->find.name);
	error = trip_error_check_name("cntr", name, TRIP_NAME_MAX);
	if (error != 0)
		return error;
	pthread_mutex_lock(&domain->lock);
	entry = trip_registry_of_name(domain, name);
	if (entry != NULL)
		trip_list_cntr(domain, entry, &peer->reply.answer.cntr);
	pthread_mutex_unlock(&domain->lock);
	*size = sizeof(peer->reply.answer.cntr);
	return entry != NULL ? 0
			     : trip_error_set(ENOENT, "cntr \"%s\": no counter of domain \"%s\"",
				       name, domain->name);
}

static int
answer_read(struct trip_peer *peer, const union trip_protocol_request *request, size_t *size)
{
	struct trip_domain *domain = peer->server->domain;
	const struct trip_entry *entry;

	pthread_mutex_lock(&domain->lock);
	entry = trip_registry_of_id(domain, request->read.cntr);
	if (entry != NULL)
		trip_list_cntr(domain, entry, &peer->reply.answer.cntr);
	pthread_mutex_unlock(&domain->lock);
	*size = sizeof(peer->reply.answer.cntr);
	return entry != NULL
		       ? 0
		       : trip_error_set(ENOENT, "cntr 0x%" PRIx64 ": it is closed, or never was",
				 request->read.cntr);
}

static int
answer_watch(struct trip_peer *peer, const union trip_protocol_request *request, size_t *size)
{
	*size = sizeof(peer->reply.answer.watching);
	return trip_watch_open(peer, request->read.cntr, &peer->reply.answer.watching.watch);
}

static int
answer_arm(struct trip_peer *peer, const union trip_protocol_request *request, size_t *size)
{
	return trip_watch_arm(peer, &request->arm);
}

static int
answer_unwatch(struct trip_peer *peer, const union trip_protocol_request *request, size_t *size)
{
	return trip_watch_close(peer, request->unwatch.watch);
}

static void
undo_watch(struct trip_peer *peer, const union trip_protocol_request *request)
{
	(void)trip_watch_close(peer, peer->reply.answer.watching.watch);
}

static const struct {
	size_t size;
	int (*answer)(
		struct trip_peer *peer, const union trip_protocol_request *request, size_t *size);
	/* Only of processes that have attached. */
	bool attached;
	/* Of an answer that has a descriptor, unless the proxy gives it. */
	void (*undo)(struct trip_peer *peer, const union trip_protocol_request *request);
} requests[TRIP_PROTOCOL_TYPES] = {
	[TRIP_PROTOCOL_LIST] = {sizeof(struct trip_protocol_list), trip_list},
	[TRIP_PROTOCOL_FIND] = {sizeof(struct trip_protocol_find), answer_find},
	[TRIP_PROTOCOL_READ] = {sizeof(struct trip_protocol_read), answer_read},
	[TRIP_PROTOCOL_WATCH] = {sizeof(struct trip_protocol_read), answer_watch,
		.undo = undo_watch},
	[TRIP_PROTOCOL_ARM] = {sizeof(struct trip_protocol_arm), answer_arm},
	[TRIP_PROTOCOL_UNWATCH] = {sizeof(struct trip_protocol_unwatch), answer_unwatch},
	[TRIP_PROTOCOL_ATTACH] = {sizeof(struct trip_protocol_attach), trip_process_attach},
	[TRIP_PROTOCOL_DETACH] = {0, trip_process_detach, true},
	[TRIP_PROTOCOL_OPEN] = {sizeof(struct trip_protocol_open), trip_process_open, true},
	[TRIP_PROTOCOL_FOUND] = {sizeof(struct trip_protocol_find), trip_process_found, true},
	[TRIP_PROTOCOL_CLOSE] = {sizeof(struct trip_protocol_close), trip_process_close, true},
	[TRIP_PROTOCOL_SLOTS] = {sizeof(struct trip_protocol_slots), trip_process_slots, true},
	[TRIP_PROTOCOL_SIGNAL] = {sizeof(struct trip_protocol_signal), trip_process_signal, true,
		trip_process_unsignal},
	[TRIP_PROTOCOL_JOIN] = {sizeof(struct trip_protocol_join), trip_process_join},
	[TRIP_PROTOCOL_PORT] = {sizeof(struct trip_protocol_port), trip_proxy_ask, true},
	[TRIP_PROTOCOL_FLOW] = {sizeof(struct trip_protocol_flow), trip_proxy_ask, true},
	[TRIP_PROTOCOL_FLOW_DO] = {sizeof(struct trip_protocol_flow_do), trip_proxy_ask, true},
	[TRIP_PROTOCOL_COUNTERS] = {sizeof(struct trip_protocol_counters), trip_proxy_ask, true},
	[TRIP_PROTOCOL_POINT] = {sizeof(struct trip_protocol_point), trip_proxy_ask, true},
	[TRIP_PROTOCOL_COUNTERS_READ] = {sizeof(struct trip_protocol_counters_read), trip_proxy_ask,
		true},
	[TRIP_PROTOCOL_COUNTERS_CLOSE] = {sizeof(uint64_t), trip_proxy_ask, true},
	[TRIP_PROTOCOL_QUIESCE] = {0, trip_proxy_ask, true},
	[TRIP_PROTOCOL_VALIDATE] = {sizeof(struct trip_protocol_flow), trip_proxy_ask, true},
	[TRIP_PROTOCOL_PORT_FACTS] = {sizeof(struct trip_protocol_port_ask), trip_proxy_ask, true},
	[TRIP_PROTOCOL_PORT_STATS] = {sizeof(struct trip_protocol_port_ask), trip_proxy_ask, true},
};

bool
trip_answer_has(unsigned int type, size_t *size)
{
	if (type >= RTE_DIM(requests) || requests[type].answer == NULL)
		return false;
	*size = requests[type].size;
	return true;
}

int
trip_answer(struct trip_peer *peer, enum trip_protocol_type type,
	const union trip_protocol_request *request, size_t *size)
{
	*size = 0;
	if (requests[type].attached && peer->process == NULL)
		return trip_error_set(EPERM,
			"domain \"%s\": request %d is for processes that attach",
			peer->server->domain->name, (int)type);
	return requests[type].answer(peer, request, size);
}

void
trip_answer_undo(struct trip_peer *peer, const union trip_protocol_request *request)
{
	requests[peer->type].undo(peer, request);
}
