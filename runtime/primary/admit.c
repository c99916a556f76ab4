/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may connect. Each attached process has places of its own, from its attachment on: so many
 * that it always gets the connections that it needs. All others count for their user: the owner,
 * which is the primary's user, and root have as many each as nobody else can take from them; other
 * users have a number each and another together, and fewer where the primary may have few files.
 *
 * Where a user has all that it may, and one of these has said nothing yet, the newcomer takes the
 * place of the one that has been silent longest. Clients of this library ask at once.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "primary/process.h"
#include "primary/server.h"

/* Other users' connections take no more than one in so many of the files that the primary may have
 * open, and their watches as many again; a user of them alone no more than a third of either. */
#define FILES_SHARE 4
#define USER_SHARE 3

/* Connections that count towards a limit, and the one of them that has been silent longest. */
struct crowd {
	uint32_t n;
	struct trip_connection *silent;
};

bool
trip_admit_is_other(const struct trip_connection *connection)
{
	return connection->credentials.uid != 0 && connection->credentials.uid != geteuid();
}

/* Those of a connection's user, or with `others` of all but the owner and root. */
static struct crowd
gather(const struct trip_server *server, const struct trip_connection *like, bool others)
{
	struct crowd crowd = {0};

	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++) {
		struct trip_connection *connection = server->connections[i];

		if (connection == NULL || connection->place != NULL ||
			(others ? !trip_admit_is_other(connection)
				: connection->credentials.uid != like->credentials.uid))
			continue;
		crowd.n++;
		if (!connection->asked &&
			(crowd.silent == NULL || connection->serial < crowd.silent->serial))
			crowd.silent = connection;
	}
	return crowd;
}

uint32_t
trip_admit_others(uint32_t most)
{
	struct rlimit files;

	return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / FILES_SHARE < most
		       ? (uint32_t)(files.rlim_cur / FILES_SHARE)
		       : most;
}

uint32_t
trip_admit_each(uint32_t others)
{
	return (others + USER_SHARE - 1) / USER_SHARE;
}

/* Whether there is room below a limit, or is made. */
static bool
has_room(const struct crowd *crowd, uint32_t limit)
{
	const struct trip_connection *silent = crowd->silent;

	if (crowd->n < limit)
		return true;
	if (silent == NULL)
		return false;
	(void)trip_error_set(EUSERS,
		"domain \"%s\": this connection has said nothing, and user %d has %" PRIu32
		" of at most %" PRIu32 ": another has its place",
		silent->server->domain->name, (int)silent->credentials.uid, crowd->n, limit);
	trip_connection_displace(crowd->silent);
	return true;
}

static int
admit_user(
	const struct trip_server *server, const struct trip_connection *connection, uint32_t limit)
{
	const struct crowd crowd = gather(server, connection, false);

	if (has_room(&crowd, limit))
		return 0;
	return trip_error_set(EUSERS,
		"domain \"%s\": user %d has %" PRIu32 " connections of at most %" PRIu32,
		server->domain->name, (int)connection->credentials.uid, crowd.n, limit);
}

static int
admit_other(const struct trip_server *server, const struct trip_connection *connection)
{
	uint32_t others = trip_admit_others(TRIP_SERVER_OTHERS);
	int error = admit_user(server, connection, trip_admit_each(others));
	struct crowd crowd;

	if (error != 0)
		return error;
	crowd = gather(server, connection, true);
	if (has_room(&crowd, others))
		return 0;
	return trip_error_set(EUSERS,
		"domain \"%s\": user %d is one of those who have %" PRIu32
		" connections of at most %" PRIu32 " together: all but users 0 and %d",
		server->domain->name, (int)connection->credentials.uid, crowd.n, others,
		(int)geteuid());
}

/* An attached process that the newcomer is of, and that has a place left. */
static struct trip_process *
find_place(const struct trip_server *server, const struct trip_connection *newcomer)
{
	uint32_t taken[TRIP_CLIENTS_MAX] = {0};

	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++)
		if (server->connections[i] != NULL && server->connections[i]->place != NULL)
			taken[server->connections[i]->place->number]++;
	for (uint32_t i = 0; i < server->domain->attr.max_processes; i++) {
		struct trip_process *process = &server->processes[i];

		if (process->used && process->state != TRIP_CLIENT_DROPPING &&
			process->credentials.pid == newcomer->credentials.pid &&
			taken[i] < TRIP_SERVER_EACH)
			return process;
	}
	return NULL;
}

int
trip_admit(const struct trip_server *server, struct trip_connection *newcomer)
{
	newcomer->place = find_place(server, newcomer);
	if (newcomer->place != NULL)
		return 0;
	return trip_admit_is_other(newcomer)
		       ? admit_other(server, newcomer)
		       : admit_user(server, newcomer,
				 TRIP_SERVER_OWN + server->domain->attr.max_processes);
}
