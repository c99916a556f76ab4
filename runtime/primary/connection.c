/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection. Whatever it sends is hostile: a message of another size, version or type than a
 * client of this library would send ends it, and so does one that comes before the answer to the
 * last was read. So no answer ever waits for room (reply.c), and at most one descriptor of a
 * connection is on its way.
 *
 * The kernel counts those by the user that has sent them, and sends no more when there are as many
 * as this process may have files. Since each connection takes one of these, its clients alone never
 * get that far.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <trip_error.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "primary/process.h"
#include "primary/request.h"
#include "primary/server.h"

struct message {
	struct trip_protocol_head head;
	union trip_protocol_request request;
};

void
trip_connection_wait_for(struct trip_connection *connection, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = &connection->source};

	epoll_ctl(connection->server->epoll, EPOLL_CTL_MOD, connection->socket, &event);
}

/* It has not read its last answer. When the kernel frees that, it lowers the count to 1, tells
 * epoll, and lowers it to 0. */
static bool
has_unread(const struct trip_connection *connection)
{
	int bytes = 0;

	return ioctl(connection->socket, SIOCOUTQ, &bytes) == 0 && bytes > 1;
}

/* Bytes of the next message, 0: it has closed, negative: nothing is there. One that has descriptors
 * is left there. */
static ssize_t
receive(struct trip_connection *connection, struct message *message, bool *has_descriptors)
{
	ssize_t size =
		trip_hangup_peek(connection->socket, message, sizeof(*message), has_descriptors);

	if (size >= 0 && !*has_descriptors)
		size = recv(
			connection->socket, message, sizeof(*message), MSG_DONTWAIT | MSG_TRUNC);
	if (size < 0 && errno != EAGAIN && errno != EINTR)
		return 0;
	return size;
}

/* NULL, or what is wrong. */
static const char *
check(const struct message *message, size_t size)
{
	const struct trip_protocol_head *head = &message->head;
	const struct trip_request *request;

	if (size < sizeof(*head) || head->magic != TRIP_PROTOCOL_MAGIC || head->size != size)
		return "a message that is none of this protocol";
	if (head->version != TRIP_PROTOCOL_VERSION)
		return NULL;
	request = trip_request_of(head->type);
	if (request == NULL)
		return "a request of unknown type";
	return size == sizeof(*head) + request->size ? NULL : "a request of the wrong size";
}

/* Answers the next message. False: the connection is to end. */
static bool
serve_one(struct trip_connection *connection)
{
	struct message message = {0};
	bool has_descriptors;
	const char *wrong = NULL;
	ssize_t received;
	size_t size = 0;
	int error;

	received = receive(connection, &message, &has_descriptors);
	if (received < 0)
		return true;
	if (received > 0 && has_descriptors)
		wrong = "descriptors, for which nobody has asked";
	else if (received > 0 && has_unread(connection))
		wrong = "a request before it has read the answer to the last";
	else if (received > 0)
		wrong = check(&message, (size_t)received);
	if (wrong != NULL)
		trip_server_complain(connection->server, &connection->credentials, wrong);
	if (received == 0 || wrong != NULL)
		return false;
	connection->asked = true;
	connection->type = message.head.type;
	if (message.head.version != TRIP_PROTOCOL_VERSION)
		error = trip_error_set(EPROTO,
			"domain \"%s\" speaks version %u of the protocol, the client version %u",
			connection->server->domain->name, TRIP_PROTOCOL_VERSION,
			message.head.version);
	else
		error = trip_request_answer(connection, &message.request, &size);
	if (error == TRIP_REQUEST_LATER) {
		connection->busy = true;
		trip_connection_wait_for(connection, 0);
		return true;
	}
	if (error != 0)
		trip_reply_explain(connection);
	return trip_reply_answer(connection, &message.request, error, size) &&
	       (!connection->detached || connection->unsent);
}

/* Its process has this connection no more; it goes on where it lives. */
static void
lose_process(const struct trip_connection *connection)
{
	if (connection->process != NULL && connection->process->connection == connection)
		trip_process_lost(connection->process);
}

/*
 * It is served no more. Descriptors that go along with answers that it has not read stay on their
 * way for as long as it has its end open, so it keeps its place until it has read them, or closes.
 * One that has detached has none on their way, and reads its answer also when this end is closed.
 * That is not left to it: where it dies first, its end may be a child's.
 */
void
trip_connection_end(struct trip_connection *connection)
{
	if (connection->detached || !has_unread(connection)) {
		trip_connection_close(connection);
		return;
	}
	lose_process(connection);
	if (!connection->ending)
		shutdown(connection->socket, SHUT_WR);
	connection->ending = true;
	/* By edges: it may have shut down its side, which is told for ever. */
	trip_connection_wait_for(connection, EPOLLOUT | EPOLLET);
}

/* Its socket can be read, or has changed. */
static void
serve(void *owner)
{
	struct trip_connection *connection = owner;

	/* One that waits for us is heard of only when it has gone. */
	if (connection->busy || connection->unsent)
		trip_connection_close(connection);
	else if (connection->ending ? !has_unread(connection) : !serve_one(connection))
		trip_connection_end(connection);
}

static uint32_t
free_index(const struct trip_server *server)
{
	uint32_t i = 0;

	while (i < TRIP_SERVER_CONNECTIONS && server->connections[i] != NULL)
		i++;
	return i;
}

/* Tells why before it is closed; a client asks first, so the reply stands in for the answer. */
static void
refuse(int socket, int error)
{
	struct {
		struct trip_protocol_head head;
		char sentence[256];
	} message = {.head = {
			     .magic = TRIP_PROTOCOL_MAGIC,
			     .version = TRIP_PROTOCOL_VERSION,
			     .size = sizeof(message),
			     .error = error,
		     }};

	strncpy(message.sentence, trip_error_message(), sizeof(message.sentence) - 1);
	(void)send(socket, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL);
	trip_hangup(socket);
}

static int
begin_connection(struct trip_server *server, struct trip_connection *connection)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connection->source};
	socklen_t length = sizeof(connection->credentials);
	int error;

	if (getsockopt(connection->socket, SOL_SOCKET, SO_PEERCRED, &connection->credentials,
		    &length) != 0)
		return trip_error_system(errno, "domain \"%s\": no telling whose a connection is",
			server->domain->name);
	error = trip_admit(server, connection);
	if (error != 0) {
		trip_server_refuse(server, &connection->credentials);
		return error;
	}
	connection->index = free_index(server);
	if (connection->index == TRIP_SERVER_CONNECTIONS)
		return trip_error_set(EUSERS, "domain \"%s\": its socket serves %u clients already",
			server->domain->name, TRIP_SERVER_CONNECTIONS);
	if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, connection->socket, &event) == 0)
		return 0;
	return trip_error_system(
		errno, "domain \"%s\": a connection cannot be waited on", server->domain->name);
}

void
trip_connection_open(struct trip_server *server, int socket)
{
	struct trip_connection *connection = calloc(1, sizeof(*connection));
	int error;

	if (connection == NULL) {
		refuse(socket, trip_error_set(ENOMEM, "domain \"%s\": no memory for a client",
				       server->domain->name));
		return;
	}
	*connection = (struct trip_connection){.source = {.ready = serve, .owner = connection},
		.server = server,
		.socket = socket,
		.reply_fd = -1,
		.serial = ++server->n_accepted};
	error = begin_connection(server, connection);
	if (error == 0) {
		server->connections[connection->index] = connection;
		return;
	}
	refuse(socket, error);
	free(connection);
}

void
trip_connection_displace(struct trip_connection *connection)
{
	trip_server_refuse(connection->server, &connection->credentials);
	connection->server->connections[connection->index] = NULL;
	trip_server_unpoll(connection->server, connection->socket);
	refuse(connection->socket, -EUSERS);
	free(connection);
}

/* It is freed when the proxy is done with it. */
static void
close_busy(struct trip_connection *connection)
{
	if (!connection->gone)
		trip_server_unpoll(connection->server, connection->socket);
	connection->gone = true;
}

void
trip_connection_answered(struct trip_connection *connection)
{
	if (!connection->gone && trip_reply_answer(connection, &connection->job.request,
					 connection->job.error, connection->job.size))
		return;
	connection->busy = false;
	trip_connection_close(connection);
}

void
trip_connection_leave(struct trip_server *server, const struct trip_process *process,
	const struct trip_connection *asking)
{
	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++) {
		struct trip_connection *connection = server->connections[i];

		if (connection == NULL)
			continue;
		if (connection->place == process)
			connection->place = NULL;
		if (connection->process != process)
			continue;
		connection->process = NULL;
		if (connection != asking)
			trip_connection_close(connection);
	}
}

void
trip_connection_close(struct trip_connection *connection)
{
	lose_process(connection);
	if (connection->busy) {
		close_busy(connection);
		return;
	}
	trip_watch_close_all(connection);
	trip_command_forget(connection);
	trip_reply_forget(connection);
	pthread_mutex_lock(&connection->server->domain->lock);
	connection->server->connections[connection->index] = NULL;
	/* A thread may have the socket for longer. */
	if (!connection->gone)
		trip_server_unpoll(connection->server, connection->socket);
	trip_hangup(connection->socket);
	pthread_mutex_unlock(&connection->server->domain->lock);
	free(connection);
}
