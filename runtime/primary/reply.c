/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes out over a connection. No answer ever waits for room: a client that has not read the
 * last one is not served. One for which the kernel has no memory is kept, and sent again and again
 * for as long as the client is there: what was asked for is done, and nobody else has the answer.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <trip_error.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "primary/request.h"
#include "primary/server.h"

static void
close_reply_fd(struct trip_connection *connection)
{
	if (connection->reply_fd >= 0)
		close(connection->reply_fd);
	connection->reply_fd = -1;
}

void
trip_reply_explain(struct trip_connection *connection)
{
	char *sentence = connection->reply.answer.sentence;

	memset(sentence, 0, sizeof(connection->reply.answer.sentence));
	strncpy(sentence, trip_error_message(), sizeof(connection->reply.answer.sentence) - 1);
}

/* 0, or errno. */
static int
send_reply(struct trip_connection *connection)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {
		.iov_base = &connection->reply, .iov_len = connection->reply.head.size};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

	if (connection->reply_fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control.bytes);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &connection->reply_fd, sizeof(int));
	}
	return sendmsg(connection->socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? 0 : errno;
}

static void
set_unsent(struct trip_connection *connection, bool unsent)
{
	connection->server->n_unsent += unsent;
	connection->server->n_unsent -= connection->unsent;
	connection->unsent = unsent;
}

/* Nothing more is read before it is sent. 0, also where it is yet to be sent, or errno. */
static int
send_or_keep(struct trip_connection *connection)
{
	int failed = send_reply(connection);
	bool waits = connection->busy || connection->unsent;

	if (failed == ENOBUFS || failed == ENOMEM) {
		connection->busy = false;
		set_unsent(connection, true);
		if (!waits)
			trip_connection_wait_for(connection, 0);
		return 0;
	}
	if (failed != 0)
		return failed;
	close_reply_fd(connection);
	if (waits)
		trip_connection_wait_for(connection, EPOLLIN);
	connection->busy = false;
	set_unsent(connection, false);
	return 0;
}

/* The sentence of an error is in the reply. 0, or errno. */
static int
reply(struct trip_connection *connection, int error, size_t size)
{
	struct trip_protocol_reply *out = &connection->reply;

	if (error != 0) {
		size = sizeof(out->answer.sentence);
		close_reply_fd(connection);
	}
	out->head = (struct trip_protocol_head){
		.magic = TRIP_PROTOCOL_MAGIC,
		.version = TRIP_PROTOCOL_VERSION,
		.type = (uint16_t)connection->type,
		.size = (uint32_t)(sizeof(out->head) + size),
		.error = error,
	};
	return send_or_keep(connection);
}

/* Why a descriptor does not go along with the answer; not that the connection has ended. */
static int
explain_unsent(const struct trip_connection *connection, int why)
{
	const char *name = connection->server->domain->name;
	struct rlimit files = {0};

	if (why != ETOOMANYREFS)
		return trip_error_system(why, "domain \"%s\": no descriptor goes along", name);
	getrlimit(RLIMIT_NOFILE, &files);
	return trip_error_set(why,
		"domain \"%s\": no descriptor goes along: those on their way from user %d, yet to "
		"be "
		"received, are more than the %llu open files that the primary may have",
		name, (int)geteuid(), (unsigned long long)files.rlim_cur);
}

/*
 * What has become of an answer: errno. Where a descriptor cannot go along, undoes what was asked
 * for and says why: others have to do with that, this client has not. False: the connection has
 * ended.
 */
static bool
settle(struct trip_connection *connection, int why)
{
	const struct trip_request *request = trip_request_of(connection->type);
	int error;

	if (why == 0)
		return true;
	if (connection->reply_fd < 0 || why == EPIPE || why == ECONNRESET)
		return false;
	error = explain_unsent(connection, why);
	if (request->run != NULL) {
		connection->busy = true;
		set_unsent(connection, false);
		trip_reply_explain(connection);
		trip_proxy_undo(connection, error);
		return true;
	}
	request->undo(connection, &connection->job.request);
	trip_reply_explain(connection);
	return reply(connection, error, 0) == 0;
}

bool
trip_reply_answer(struct trip_connection *connection, const union trip_protocol_request *request,
	int error, size_t size)
{
	/* For whoever undoes it, if need be later. */
	if (connection->reply_fd >= 0 && request != &connection->job.request)
		connection->job.request = *request;
	return settle(connection, reply(connection, error, size));
}

bool
trip_reply_send_again(struct trip_server *server)
{
	for (uint32_t i = 0; server->n_unsent > 0 && i < TRIP_SERVER_CONNECTIONS; i++) {
		struct trip_connection *connection = server->connections[i];

		if (connection == NULL || !connection->unsent)
			continue;
		if (!settle(connection, send_or_keep(connection)) ||
			(connection->detached && !connection->unsent))
			trip_connection_end(connection);
	}
	return server->n_unsent > 0;
}

void
trip_reply_forget(struct trip_connection *connection)
{
	set_unsent(connection, false);
	close_reply_fd(connection);
}
