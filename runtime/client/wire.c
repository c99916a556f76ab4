/* SPDX-License-Identifier: BSD-3-Clause */
/* The other end of a domain's socket: what is asked and answered over it, within a deadline. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <trip_client.h>

#include "client/protocol.h"
#include "client/wire.h"
#include "domain/error.h"

/* Linux has none above. */
#define ERRNO_MAX 4095

static int
lost(const struct trip_client *client)
{
	return trip_error_set(
		EPIPE, "client: the primary has ended, or has closed this connection");
}

static int64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
trip_wire_begin(struct trip_client *client)
{
	client->deadline_ms = client->limit_ms < 0 ? INT64_MAX : now_ms() + client->limit_ms;
}

/* As poll() has it. */
static int
left_ms(const struct trip_client *client)
{
	int64_t now;

	if (client->deadline_ms == INT64_MAX)
		return -1;
	now = now_ms();
	return now < client->deadline_ms ? (int)(client->deadline_ms - now) : 0;
}

/* Whether to try again; false: the deadline has passed, and errno is EAGAIN. */
static bool
await(const struct trip_client *client, short events)
{
	struct pollfd ready = {.fd = client->socket, .events = events};
	int n;

	do
		n = poll(&ready, 1, left_ms(client));
	while (n < 0 && errno == EINTR);
	errno = EAGAIN;
	return n != 0;
}

/* The primary's side of the connection ends, too, and whoever polls ours is told. */
static int
give_up(struct trip_client *client)
{
	struct ucred primary = {0};
	socklen_t length = sizeof(primary);
	char who[32] = "the primary";

	/* 0: it has not accepted us, or has no number here. */
	if (getsockopt(client->socket, SOL_SOCKET, SO_PEERCRED, &primary, &length) == 0 &&
		primary.pid > 0)
		snprintf(who, sizeof(who), "process %d", (int)primary.pid);
	client->given_up = true;
	shutdown(client->socket, SHUT_RDWR);
	return trip_error_set(ETIMEDOUT, "client: socket %s: %s has not answered for %g s",
		client->path, who, client->limit_ms / 1e3);
}

/* What could not be sent is, once there is room for it, or the kernel has memory; false: it cannot
 * be, or the deadline has passed, and errno is EAGAIN. */
static bool
may_send_again(struct trip_client *client)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (errno == EINTR)
		return true;
	if (errno == EAGAIN)
		return await(client, POLLOUT);
	if (errno != ENOBUFS && errno != ENOMEM)
		return false;
	nanosleep(&pause, NULL);
	errno = EAGAIN;
	return left_ms(client) != 0;
}

int
trip_client_ask(
	struct trip_client *client, enum trip_protocol_type type, const void *body, size_t size)
{
	struct trip_protocol_head head = {
		.magic = TRIP_PROTOCOL_MAGIC,
		.version = TRIP_PROTOCOL_VERSION,
		.type = (uint16_t)type,
		.size = (uint32_t)(sizeof(head) + size),
	};
	struct iovec parts[] = {
		{.iov_base = &head, .iov_len = sizeof(head)},
		{.iov_base = (void *)(uintptr_t)body, .iov_len = size},
	};
	struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t sent;

	if (client->given_up)
		return trip_error_set(EPIPE,
			"client: the connection by socket %s was closed, for want of an answer",
			client->path);
	if (left_ms(client) == 0)
		return give_up(client);
	do
		sent = sendmsg(client->socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && may_send_again(client));
	if (sent < 0 && errno == EAGAIN)
		return give_up(client);
	/* A server that refused the connection has said why before it closed it. */
	return sent == (ssize_t)head.size || errno == EPIPE || errno == ECONNRESET ? 0
										   : lost(client);
}

/* The descriptor that came along, or -1. */
static int
take_fd(struct msghdr *msg)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (control != NULL && control->cmsg_level == SOL_SOCKET &&
		control->cmsg_type == SCM_RIGHTS && control->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(control), sizeof(fd));
	return fd;
}

static int
check_reply(struct trip_client *client, enum trip_protocol_type type, size_t size)
{
	const struct trip_protocol_head *head = &client->reply.head;

	/* What is no negative errno would be taken for a number of records, or for none at all. */
	if (size < sizeof(*head) || head->magic != TRIP_PROTOCOL_MAGIC || head->size != size ||
		head->error > 0 || head->error < -ERRNO_MAX)
		return trip_error_set(EPROTO, "client: the socket is none of Tripline's");
	if (head->error != 0) {
		client->reply.answer.sentence[sizeof(client->reply.answer.sentence) - 1] = 0;
		return trip_error_set(-head->error, "%s", client->reply.answer.sentence);
	}
	if (head->version != TRIP_PROTOCOL_VERSION || head->type != type)
		return trip_error_set(EPROTO,
			"client: the reply is of version %u and type %u, not %u and %u",
			head->version, head->type, TRIP_PROTOCOL_VERSION, (unsigned int)type);
	return 0;
}

/* The reply is in the client then, and a descriptor that came along in *fd. */
static int
receive(struct trip_client *client, enum trip_protocol_type type, bool wait, int *fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {.iov_base = &client->reply, .iov_len = sizeof(client->reply)};
	struct msghdr msg = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		/* Without the padding, which has room for a second one. */
		.msg_controllen = CMSG_LEN(sizeof(int))};
	bool reset = false;
	ssize_t size;
	int error;

	/* A reset is told before what came ahead of it, once. */
	do
		size = recvmsg(client->socket, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (size < 0 && (errno == EINTR || (errno == ECONNRESET && !reset && (reset = true)) ||
				   (errno == EAGAIN && wait && await(client, POLLIN))));
	if (size < 0 && errno == EAGAIN)
		return wait ? give_up(client) : TRIP_CLIENT_YET;
	if (size <= 0)
		return lost(client);
	*fd = take_fd(&msg);
	error = check_reply(client, type, (size_t)size);
	if (error != 0 && *fd >= 0)
		close(*fd);
	return error;
}

int
trip_client_answer(struct trip_client *client, enum trip_protocol_type type, bool wait,
	union trip_protocol_answer *answer, int *fd)
{
	int came = -1, error = receive(client, type, wait, &came);

	if (error != 0)
		return error;
	if (answer != NULL)
		*answer = client->reply.answer;
	if (fd != NULL)
		*fd = came;
	else if (came >= 0)
		close(came);
	return 0;
}

int
trip_wire_exchange(struct trip_client *client, enum trip_protocol_type type, const void *body,
	size_t size, union trip_protocol_answer *answer, int *fd)
{
	int error = trip_client_ask(client, type, body, size);

	return error == 0 ? trip_client_answer(client, type, true, answer, fd) : error;
}

int
trip_client_call(struct trip_client *client, enum trip_protocol_type type, const void *body,
	size_t size, union trip_protocol_answer *answer, int *fd)
{
	trip_wire_begin(client);
	return trip_wire_exchange(client, type, body, size, answer, fd);
}

/* It blocks while so many others wait to be accepted that there is no place for another. */
static int
connect_in_time(struct trip_client *client, const struct sockaddr_un *address)
{
	int error, ms;

	do {
		ms = left_ms(client);
		/* None of 0: that would be none at all. */
		if (ms >= 0)
			(void)setsockopt(client->socket, SOL_SOCKET, SO_SNDTIMEO,
				&(struct timeval){.tv_sec = ms / 1000,
					.tv_usec = ms > 0 ? ms % 1000 * 1000 : 1},
				sizeof(struct timeval));
		error = connect(client->socket, (const struct sockaddr *)address, sizeof(*address));
	} while (error != 0 && (errno == EINTR || errno == EAGAIN) && ms != 0);
	if (error != 0 && (errno == EINTR || errno == EAGAIN))
		return give_up(client);
	return error == 0 ? 0 : trip_error_system(errno, "client: socket %s", client->path);
}

int
trip_wire_connect(struct trip_client *client, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return trip_error_set(ENAMETOOLONG, "client: the path %s is too long", path);
	strcpy(address.sun_path, path);
	strcpy(client->path, path);
	client->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	return client->socket >= 0 ? connect_in_time(client, &address)
				   : trip_error_system(errno, "client: socket %s", path);
}
