/* SPDX-License-Identifier: BSD-3-Clause */
/* What attached processes ask of the control thread. Each is held to its limits, and none is waited
 * for: what has to wait for homes is -EAGAIN, and asked again. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cntr/registry.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "primary/process.h"
#include "waiter.h"

static int
check_room(const struct trip_process *process)
{
	const struct trip_domain *domain = process->server->domain;

	if (process->n_cntrs + process->n_found < domain->attr.max_process_cntrs)
		return 0;
	return trip_error_set(ENOSPC,
		"domain \"%s\": process %d has all %" PRIu32 " counters open that a process may",
		domain->name, (int)process->credentials.pid, domain->attr.max_process_cntrs);
}

static void
answer_opened(struct trip_connection *connection, const struct trip_entry *entry, size_t *size)
{
	struct trip_protocol_opened *opened = &connection->reply.answer.opened;

	*opened = (struct trip_protocol_opened){.cntr = entry->id, .events = entry->events};
	memcpy(opened->name, entry->name, sizeof(entry->name));
	*size = sizeof(*opened);
}

/* The name in a request, checked; "" is none. */
static int
take_name(const char *given, char *name)
{
	memcpy(name, given, TRIP_NAME_MAX + 1);
	name[TRIP_NAME_MAX] = 0;
	return name[0] == 0 ? 0 : trip_error_check_name("cntr", name, TRIP_NAME_MAX);
}

int
trip_process_open(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	struct trip_process *process = connection->process;
	struct trip_entry *entry;
	char name[TRIP_NAME_MAX + 1];
	int error = take_name(request->open.name, name);

	if (error == 0 && request->open.events > TRIP_CNTR_EVENTS_BYTES)
		error = trip_error_set(
			EINVAL, "cntr: events %" PRIu32 " are unknown", request->open.events);
	if (error == 0)
		error = check_room(process);
	if (error == 0)
		error = trip_registry_try_enter(process->server->domain, name[0] != 0 ? name : NULL,
			(enum trip_cntr_events)request->open.events, process->number + 1, &entry);
	if (error != 0)
		return error;
	process->n_cntrs++;
	answer_opened(connection, entry, size);
	return 0;
}

int
trip_process_found(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	struct trip_process *process = connection->process;
	struct trip_entry *entry;
	char name[TRIP_NAME_MAX + 1];
	int error = take_name(request->found.name, name);

	if (error == 0)
		error = check_room(process);
	if (error == 0)
		error = trip_registry_find(process->server->domain, name, &entry);
	if (error != 0)
		return error;
	process->found[process->n_found++] = entry->global;
	answer_opened(connection, entry, size);
	return 0;
}

static int
drop_found(struct trip_process *process, struct trip_entry *entry)
{
	uint32_t i = 0;

	while (i < process->n_found && process->found[i] != entry->global)
		i++;
	if (i == process->n_found)
		return trip_error_set(EINVAL, "cntr %" PRIu32 ": process %d has not found it",
			entry->global, (int)process->credentials.pid);
	process->found[i] = process->found[--process->n_found];
	/* The process has no item on it any more, and nobody else has a handle. */
	trip_registry_drop(process->server->domain, entry);
	return 0;
}

int
trip_process_close(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	struct trip_process *process = connection->process;
	struct trip_domain *domain = process->server->domain;
	struct trip_entry *entry;
	int error;

	pthread_mutex_lock(&domain->lock);
	entry = trip_registry_of_id(domain, request->close.cntr);
	pthread_mutex_unlock(&domain->lock);
	if (entry == NULL)
		return -ENOENT;
	if (request->close.found != 0)
		return drop_found(process, entry);
	if (entry->owner != process->number + 1)
		return trip_error_set(EINVAL, "cntr %" PRIu32 ": process %d does not own it",
			entry->global, (int)process->credentials.pid);
	if (request->close.abandoned != 0) {
		trip_registry_orphan(domain, entry);
	} else {
		error = trip_registry_retire(domain, entry);
		if (error != 0)
			return error;
		trip_registry_free(domain, entry);
	}
	process->n_cntrs--;
	return 0;
}

static bool
is_slot_of(const struct trip_process *process, uint32_t home, uint32_t slot)
{
	const struct trip_engine *engine = &process->server->domain->engine;

	return home < engine->n_homes && slot < engine->waiters_per_home &&
	       atomic_load_explicit(&engine->homes[home]->waiter_owners[slot],
		       memory_order_relaxed) == process->number + 1;
}

static int
no_slots(const struct trip_process *process, uint32_t home)
{
	const struct trip_domain *domain = process->server->domain;

	if (process->n_waiters[home] < domain->attr.max_process_waiters)
		return trip_error_set(ENOSPC,
			"domain \"%s\": all %" PRIu32 " waiters of home %" PRIu32 " are in use",
			domain->name, domain->attr.max_waiters, home);
	return trip_error_set(ENOSPC,
		"domain \"%s\": process %d has all %" PRIu32 " waiters of home %" PRIu32
		" that a process may",
		domain->name, (int)process->credentials.pid, domain->attr.max_process_waiters,
		home);
}

int
trip_process_slots(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	struct trip_process *process = connection->process;
	struct trip_domain *domain = process->server->domain;
	struct trip_protocol_slots_given *given = &connection->reply.answer.slots;
	uint32_t home = request->slots.home, most = request->slots.count;

	if (home >= domain->engine.n_homes || most == 0 || most > TRIP_PROTOCOL_SLOTS_MAX)
		return trip_error_set(EINVAL,
			"waiters: %" PRIu32 " of home %" PRIu32 " are not to be had", most, home);
	given->count = 0;
	while (given->count < most && process->n_waiters[home] < domain->attr.max_process_waiters) {
		uint32_t slot = trip_slots_take(&domain->waiters[home]);

		if (slot == TRIP_SLOTS_NONE)
			break;
		atomic_store_explicit(&domain->engine.homes[home]->waiter_owners[slot],
			(uint8_t)(process->number + 1), memory_order_relaxed);
		given->slot[given->count++] = slot;
		process->n_waiters[home]++;
	}
	*size = sizeof(*given);
	return given->count > 0 ? 0 : no_slots(process, home);
}

/* Another descriptor for the same socket: each slot closes its own. */
static int
share(struct trip_process *process, int *fd)
{
	*fd = fcntl(process->common, F_DUPFD_CLOEXEC, 0);
	if (*fd < 0)
		return trip_error_system(errno, "domain \"%s\": no descriptor to be signalled by",
			process->server->domain->name);
	*fd |= TRIP_WAITER_SOCKET;
	return 0;
}

static int
share_new(struct trip_connection *connection, int *fd)
{
	struct trip_process *process = connection->process;
	int error = trip_watch_pair(connection, fd);

	if (error != 0)
		return error;
	if (process->common_before >= 0)
		close(process->common_before);
	process->common_before = process->common;
	process->common = *fd & ~TRIP_WAITER_SOCKET;
	return share(process, fd);
}

/* What homes are to write, or -1. */
static int
open_signal(struct trip_connection *connection, uint32_t by, int *fd)
{
	int error;

	*fd = -1;
	if (by == TRIP_PROTOCOL_SIGNAL_OFF)
		return 0;
	error = trip_watch_make_room(connection->server);
	if (error != 0)
		return error;
	switch (by) {
	case TRIP_PROTOCOL_SIGNAL_OWN:
		return trip_watch_pair(connection, fd);
	case TRIP_PROTOCOL_SIGNAL_COMMON:
		return share_new(connection, fd);
	case TRIP_PROTOCOL_SIGNAL_SAME:
		if (connection->process->common >= 0)
			return share(connection->process, fd);
	}
	return trip_error_set(
		EINVAL, "waiter: there is no descriptor to signal it by as %" PRIu32 " says", by);
}

/* Homes write `fd` from now on, or nothing for -1. */
static void
signal_by(struct trip_connection *connection, const struct trip_protocol_signal *asked, int fd)
{
	struct trip_home *home = connection->server->domain->engine.homes[asked->home];
	/* Partner: the acquire load in waiter.c's signal_slot(). */
	int before = atomic_exchange(&home->waiter_fds[asked->slot], fd);

	connection->server->n_written += fd >= 0;
	if (before >= 0)
		trip_watch_retire(connection->server, before);
}

int
trip_process_signal(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	uint32_t home = request->signal.home, slot = request->signal.slot;
	int error, fd;

	if (!is_slot_of(connection->process, home, slot))
		return trip_error_set(EINVAL,
			"waiter %" PRIu32 " of home %" PRIu32 " is none of process %d", slot, home,
			(int)connection->credentials.pid);
	error = open_signal(connection, request->signal.by, &fd);
	if (error != 0)
		return error;
	signal_by(connection, &request->signal, fd);
	return 0;
}

void
trip_process_unsignal(
	struct trip_connection *connection, const union trip_protocol_request *request)
{
	struct trip_process *process = connection->process;

	signal_by(connection, &request->signal, -1);
	if (request->signal.by != TRIP_PROTOCOL_SIGNAL_COMMON)
		return;
	close(process->common);
	process->common = process->common_before;
	process->common_before = -1;
}
