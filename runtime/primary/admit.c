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
	struct trip_peer *silent;
};

bool
trip_admit_is_other(const struct trip_peer *peer)
{
	return peer->credentials.uid != 0 && peer->credentials.uid != geteuid();
}

/* Those of a peer's user, or with `others` of all but the owner and root. */
static struct crowd
gather(const struct trip_server *server, const struct trip_peer *like, bool others)
{
	struct crowd crowd = {0};

	for (uint32_t i = 0; i < TRIP_SERVER_PEERS; i++) {
		struct trip_peer *peer = server->peers[i];

		if (peer == NULL || peer->place != NULL ||
			(others ? !trip_admit_is_other(peer)
				: peer->credentials.uid != like->credentials.uid))
			continue;
		crowd.n++;
		if (!peer->asked && (crowd.silent == NULL || peer->serial < crowd.silent->serial))
			crowd.silent = peer;
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
	const struct trip_peer *silent = crowd->silent;

	if (crowd->n < limit)
		return true;
	if (silent == NULL)
		return false;
	(void)trip_error_set(EUSERS,
		"domain \"%s\": this connection has said nothing, and user %d has %" PRIu32
		" of at most %" PRIu32 ": another has its place",
		silent->server->domain->name, (int)silent->credentials.uid, crowd->n, limit);
	trip_peer_displace(crowd->silent);
	return true;
}

static int
admit_user(const struct trip_server *server, const struct trip_peer *peer, uint32_t limit)
{
	const struct crowd crowd = gather(server, peer, false);

	if (has_room(&crowd, limit))
		return 0;
	return trip_error_set(EUSERS,
		"domain \"%s\": user %d has %" PRIu32 " connections of at most %" PRIu32,
		server->domain->name, (int)peer->credentials.uid, crowd.n, limit);
}

static int
admit_other(const struct trip_server *server, const struct trip_peer *peer)
{
	uint32_t others = trip_admit_others(TRIP_SERVER_OTHERS);
	int error = admit_user(server, peer, trip_admit_each(others));
	struct crowd crowd;

	if (error != 0)
		return error;
	crowd = gather(server, peer, true);
	if (has_room(&crowd, others))
		return 0;
	return trip_error_set(EUSERS,
		"domain \"%s\": user %d is one of those who have %" PRIu32
		" connections of at most %" PRIu32 " together: all but users 0 and %d",
		server->domain->name, (int)peer->credentials.uid, crowd.n, others, (int)geteuid());
}

/* An attached process that the newcomer is of, and that has a place left. */
static struct trip_process *
find_place(const struct trip_server *server, const struct trip_peer *newcomer)
{
	uint32_t taken[TRIP_CLIENTS_MAX] = {0};

	for (uint32_t i = 0; i < TRIP_SERVER_PEERS; i++)
		if (server->peers[i] != NULL && server->peers[i]->place != NULL)
			taken[server->peers[i]->place->number]++;
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
trip_admit(const struct trip_server *server, struct trip_peer *newcomer)
{
	newcomer->place = find_place(server, newcomer);
	if (newcomer->place != NULL)
		return 0;
	return trip_admit_is_other(newcomer)
		       ? admit_other(server, newcomer)
		       : admit_user(server, newcomer,
				 TRIP_SERVER_OWN + server->domain->attr.max_processes);
}
