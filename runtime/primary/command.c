/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands to the application: who may give them, how they come in, and how they are answered. */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>

#include <trip_command.h>

#include "domain/detach.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "domain/sized.h"
#include "primary/command.h"
#include "primary/server.h"

/* Room of a text at first. */
#define ROOM_MIN ((size_t)TRIP_PROTOCOL_PIECE)

void
trip_command_init(struct trip_server *server)
{
	pthread_mutex_init(&server->commands.lock, NULL);
	TAILQ_INIT(&server->commands.waiting);
	server->commands.last_refused.pid = -1;
}

void
trip_command_fini(struct trip_server *server)
{
	pthread_mutex_destroy(&server->commands.lock);
}

void
trip_command_stats(const struct trip_domain *domain, uint64_t *commands, uint64_t *refused)
{
	const struct trip_server *server = domain->server;

	*commands = *refused = 0;
	if (server == NULL)
		return;
	*commands = atomic_load_explicit(&server->commands.commands, memory_order_relaxed);
	*refused = atomic_load_explicit(&server->commands.refused, memory_order_relaxed);
}

/* ---- who may ------------------------------------------------------------------------------------
 */

/* A supplementary group of the peer, as it was when it connected. */
static bool
has_group(const struct trip_connection *connection, gid_t group)
{
	socklen_t size = 0;
	gid_t *groups;
	bool found = false;

	if (connection->credentials.gid == group)
		return true;
	/* Without room it says how much that takes. */
	if (getsockopt(connection->socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0 ||
		errno != ERANGE)
		return false;
	groups = malloc(size);
	if (groups != NULL &&
		getsockopt(connection->socket, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0)
		for (size_t i = 0; i < size / sizeof(*groups) && !found; i++)
			found = groups[i] == group;
	free(groups);
	return found;
}

static int
refuse_closed(const struct trip_connection *connection)
{
	return trip_error_set(ENOTSUP, "domain \"%s\": its application takes no commands",
		connection->server->domain->name);
}

struct terms {
	bool open, has_group;
	gid_t group;
	/* Written once, before it is open. */
	const char *group_name;
};

static struct terms
terms_of(struct trip_server *server)
{
	struct trip_commands *commands = &server->commands;
	struct terms terms;

	pthread_mutex_lock(&commands->lock);
	terms = (struct terms){
		commands->open, commands->has_group, commands->group, commands->group_name};
	pthread_mutex_unlock(&commands->lock);
	return terms;
}

static bool
is_allowed(const struct trip_connection *connection, const struct terms *terms)
{
	return !trip_admit_is_other(connection) ||
	       (terms->has_group && has_group(connection, terms->group));
}

bool
trip_command_may(const struct trip_connection *connection)
{
	struct terms terms = terms_of(connection->server);

	return terms.open && is_allowed(connection, &terms);
}

static int
judge(struct trip_connection *connection)
{
	struct trip_commands *commands = &connection->server->commands;
	const char *name = connection->server->domain->name;
	struct terms terms = terms_of(connection->server);
	char user[32] = "", members[64] = "";

	if (!terms.open)
		return refuse_closed(connection);
	if (is_allowed(connection, &terms))
		return 0;
	pthread_mutex_lock(&commands->lock);
	commands->last_refused = connection->credentials;
	pthread_mutex_unlock(&commands->lock);
	atomic_fetch_add_explicit(&commands->refused, 1, memory_order_relaxed);
	if (geteuid() != 0)
		snprintf(user, sizeof(user), "%s user %u", terms.has_group ? "," : " and",
			(unsigned int)geteuid());
	if (terms.has_group)
		snprintf(members, sizeof(members), " and group %u %s", (unsigned int)terms.group,
			terms.group_name);
	(void)trip_error_set(EACCES,
		"domain \"%s\": user %u may give no commands: only root%s%s may", name,
		(unsigned int)connection->credentials.uid, user, members);
	trip_server_forbid(connection->server, &connection->credentials);
	return -EACCES;
}

int
trip_command_open(struct trip_domain *domain, const char *group)
{
	const struct group *entry = NULL;
	struct trip_commands *commands;
	bool was_open;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (domain->server == NULL)
		return trip_error_set(ENOTSUP,
			"domain \"%s\": no socket of it is served here, by which commands could "
			"come",
			domain->name);
	if (group != NULL && (entry = getgrnam(group)) == NULL)
		return trip_error_set(
			ENOENT, "domain \"%s\": there is no group \"%s\"", domain->name, group);
	commands = &domain->server->commands;
	pthread_mutex_lock(&commands->lock);
	was_open = commands->open;
	if (!was_open) {
		commands->open = true;
		commands->has_group = entry != NULL;
		commands->group = entry != NULL ? entry->gr_gid : 0;
		snprintf(commands->group_name, sizeof(commands->group_name), "%s",
			entry != NULL ? entry->gr_name : "");
	}
	pthread_mutex_unlock(&commands->lock);
	return was_open ? trip_error_set(EALREADY, "domain \"%s\": it takes commands already",
				  domain->name)
			: 0;
}

int
trip_command_refused(struct trip_domain *domain, struct trip_command *refused)
{
	struct trip_server *server = domain->server;
	struct ucred last = {.pid = -1};
	struct trip_command own;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (server != NULL) {
		pthread_mutex_lock(&server->commands.lock);
		last = server->commands.last_refused;
		pthread_mutex_unlock(&server->commands.lock);
	}
	if (last.pid < 0)
		return -ENOENT;
	own = (struct trip_command){.pid = last.pid, .uid = last.uid, .gid = last.gid};
	return TRIP_SIZED_GIVE(trip_command, refused, &own);
}

/* ---- the text ---------------------------------------------------------------------------------
 */

static void
free_text(struct trip_server *server, struct trip_command_text *command)
{
	atomic_fetch_sub_explicit(&server->commands.bytes, command->room, memory_order_relaxed);
	free(command->text);
	command->text = NULL;
	command->total = command->length = command->room = 0;
}

void
trip_command_forget(struct trip_connection *connection)
{
	free_text(connection->server, &connection->command);
	free(connection->command.answer);
	connection->command = (struct trip_command_text){0};
}

/* Of those that are not whole, the one that has not gone on for longest; NULL: there is none. Whole
 * ones are the application's. */
static struct trip_connection *
slowest(const struct trip_connection *but)
{
	struct trip_connection *slowest = NULL;

	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++) {
		struct trip_connection *connection = but->server->connections[i];

		if (connection == NULL || connection == but || connection->busy ||
			connection->command.text == NULL)
			continue;
		if (slowest == NULL || connection->command.went_on < slowest->command.went_on)
			slowest = connection;
	}
	return slowest;
}

/*
 * Takes so many bytes more of what all may have. Whoever sends half a command, and goes on no more,
 * loses it to those who do: else a few such would keep all others out for as long as they like.
 */
static bool
take_bytes(struct trip_connection *connection, size_t more)
{
	struct trip_server *server = connection->server;
	struct trip_commands *commands = &server->commands;
	struct trip_connection *other;

	while (atomic_fetch_add_explicit(&commands->bytes, more, memory_order_relaxed) + more >
		TRIP_COMMAND_BYTES_MAX) {
		atomic_fetch_sub_explicit(&commands->bytes, more, memory_order_relaxed);
		other = slowest(connection);
		if (other == NULL)
			return false;
		free_text(server, &other->command);
		other->command.lost = true;
	}
	return true;
}

static int
refuse_bytes(const struct trip_connection *connection)
{
	return trip_error_set(ENOBUFS,
		"domain \"%s\": more than %zu bytes of commands are on their way",
		connection->server->domain->name, TRIP_COMMAND_BYTES_MAX);
}

/* Room for `size` bytes more and a zero behind: as much as comes, not as much as is announced. */
static int
make_room(struct trip_connection *connection, size_t size)
{
	struct trip_commands *commands = &connection->server->commands;
	struct trip_command_text *command = &connection->command;
	size_t room = RTE_MAX(ROOM_MIN, 2 * command->room), more;
	char *text;

	if (command->text != NULL && command->length + size <= command->room)
		return 0;
	more = room - command->room;
	if (!take_bytes(connection, more))
		return refuse_bytes(connection);
	text = realloc(command->text, room + 1);
	if (text == NULL) {
		atomic_fetch_sub_explicit(&commands->bytes, more, memory_order_relaxed);
		return trip_error_set(ENOMEM, "domain \"%s\": no memory for a command",
			connection->server->domain->name);
	}
	command->text = text;
	command->room = room;
	return 0;
}

static int
take_piece(struct trip_connection *connection, const struct trip_protocol_command *piece)
{
	struct trip_command_text *command = &connection->command;
	size_t size;
	int error;

	if (piece->at == 0) {
		trip_command_forget(connection);
		command->total = piece->total;
	}
	if (command->lost)
		return refuse_bytes(connection);
	if (piece->total > TRIP_CLIENT_COMMAND_MAX)
		return trip_error_set(EMSGSIZE, "command: its %" PRIu32 " bytes are above %zu",
			piece->total, TRIP_CLIENT_COMMAND_MAX);
	if (piece->total != command->total || piece->at != command->length ||
		(piece->at > 0 && piece->at == piece->total))
		return trip_error_set(EPROTO,
			"command: a piece from byte %" PRIu32 " of %" PRIu32
			" came where that from %zu of %zu was to come",
			piece->at, piece->total, command->length, command->total);
	size = RTE_MIN((size_t)piece->total - piece->at, sizeof(piece->text));
	error = make_room(connection, size);
	if (error != 0)
		return error;
	memcpy(command->text + command->length, piece->text, size);
	command->length += size;
	command->went_on = ++connection->server->commands.n_pieces;
	command->text[command->length] = 0;
	return 0;
}

/* ---- the answer -------------------------------------------------------------------------------
 */

/* Bytes of the answer from `at` on become the reply's; its size. */
static size_t
tell(struct trip_connection *connection, size_t at)
{
	const struct trip_command_text *command = &connection->command;
	struct trip_protocol_told *told = &connection->reply.answer.told;
	size_t size = RTE_MIN(command->answer_length - at, sizeof(told->text));

	told->status = command->status;
	told->total = (uint32_t)command->answer_length;
	told->at = (uint32_t)at;
	if (size > 0)
		memcpy(told->text, command->answer + at, size);
	return offsetof(struct trip_protocol_told, text) + size;
}

int
trip_command_more(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	uint32_t at = request->command_more.at;

	if (at >= connection->command.answer_length)
		return trip_error_set(EPROTO, "command: the answer has no byte %" PRIu32, at);
	*size = tell(connection, at);
	return 0;
}

/* Not where the application has closed meanwhile: nobody would come for it. */
static int
wait_for_application(struct trip_connection *connection)
{
	struct trip_commands *commands = &connection->server->commands;
	bool open;

	connection->job.connection = connection;
	connection->job.type = connection->type;
	pthread_mutex_lock(&commands->lock);
	open = commands->open;
	if (open) {
		TAILQ_INSERT_TAIL(&commands->waiting, &connection->job, next);
		atomic_fetch_add_explicit(&commands->commands, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&commands->lock);
	return open ? TRIP_REQUEST_LATER : refuse_closed(connection);
}

int
trip_command_answer(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	int error = judge(connection);

	if (error == 0)
		error = take_piece(connection, &request->command);
	if (error != 0) {
		trip_command_forget(connection);
		return error;
	}
	if (connection->command.length < connection->command.total) {
		*size = tell(connection, 0);
		return 0;
	}
	error = trip_proxy_start(connection->server);
	return error != 0 ? error : wait_for_application(connection);
}

static struct trip_proxy_job *
take_waiting(struct trip_commands *commands)
{
	return trip_proxy_take(&commands->lock, &commands->waiting);
}

static int
run(struct trip_connection *connection, trip_command_t function, void *arg)
{
	struct trip_command_text *command = &connection->command;
	const struct trip_command given = {
		.size = sizeof(given),
		.text = command->text,
		.length = command->length,
		.pid = connection->credentials.pid,
		.uid = connection->credentials.uid,
		.gid = connection->credentials.gid,
	};
	FILE *answer = open_memstream(&command->answer, &command->answer_length);

	if (answer == NULL)
		return trip_error_set(ENOMEM, "command: no memory for its answer");
	command->status = function(&given, answer, arg);
	if (fclose(answer) != 0)
		return trip_error_set(ENOMEM, "command: it is done; no memory for its answer");
	/* A part of it tells what there is of it. */
	command->answer_length = RTE_MIN(command->answer_length, TRIP_CLIENT_COMMAND_MAX);
	return 0;
}

int
trip_command_serve(struct trip_domain *domain, trip_command_t command, void *arg)
{
	struct trip_server *server = domain->server;
	struct trip_proxy_job *job;
	int n = 0;

	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	for (; server != NULL && (job = take_waiting(&server->commands)) != NULL; n++) {
		job->error = run(job->connection, command, arg);
		free_text(server, &job->connection->command);
		if (job->error == 0)
			job->size = tell(job->connection, 0);
		else
			trip_reply_explain(job->connection);
		trip_proxy_finish(&server->proxy, job);
	}
	return n;
}

void
trip_command_stop(struct trip_server *server)
{
	struct trip_proxy_job *job;

	pthread_mutex_lock(&server->commands.lock);
	server->commands.open = false;
	pthread_mutex_unlock(&server->commands.lock);
	while ((job = take_waiting(&server->commands)) != NULL) {
		job->error = trip_error_set(ESHUTDOWN,
			"domain \"%s\": its application takes no more commands",
			server->domain->name);
		trip_reply_explain(job->connection);
		trip_proxy_finish(&server->proxy, job);
	}
}

void
trip_command_close(struct trip_domain *domain)
{
	if (trip_detach_check(domain) == 0 && domain->server != NULL)
		trip_command_stop(domain->server);
}
