/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages over sockets, with the descriptors and credentials that go along. */
#include <string.h>

#include "sim_socket.h"

ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __real_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t __real_recv(int fd, void *bytes, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t size, int flags);

struct sim_message *
sim_message_take(struct sim_file *file)
{
	struct sim_socket *socket = file->socket;
	struct sim_message *message = socket->first;

	socket->first = message->next;
	if (socket->first == NULL)
		socket->last = NULL;
	socket->n_messages--;
	if (socket->peer != NULL) {
		socket->peer->socket->unread--;
		sim_file_changed(socket->peer);
	}
	return message;
}

void
sim_message_free(struct sim_message *message)
{
	for (unsigned int i = 0; i < message->n_files; i++)
		sim_file_drop(message->files[i]);
	free(message);
}

/* --- sending --- */

/* Told once. */
static int
take_error(struct sim_socket *socket)
{
	int error = socket->error;

	socket->error = 0;
	return error;
}

static int
why_not_sent(struct sim_file *file)
{
	struct sim_socket *socket = file->socket;
	int error = take_error(socket);

	if (error != 0)
		return error;
	if (!socket->connected)
		return ENOTCONN;
	return (socket->shut & SIM_SHUT_SEND) != 0 || socket->peer == NULL ? EPIPE : 0;
}

static bool
can_send(void *arg)
{
	const struct sim_file *file = arg;

	return file->socket->error != 0 || (file->socket->shut & SIM_SHUT_SEND) != 0 ||
	       file->socket->peer == NULL || file->socket->unread < SIM_QUEUE;
}

static void
take_rights(struct sim_message *message, const struct msghdr *msg)
{
	struct cmsghdr *head = CMSG_FIRSTHDR(msg);
	const int *fds;

	if (head == NULL || head->cmsg_type != SCM_RIGHTS)
		return;
	fds = (const int *)CMSG_DATA(head);
	message->n_files = (unsigned int)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	sim_expect(message->n_files <= SIM_RIGHTS, "more descriptors than there is room for");
	for (unsigned int i = 0; i < message->n_files; i++) {
		message->files[i] = sim_fd_of(sim_process_self(), fds[i]);
		sim_expect(message->files[i] != NULL, "descriptor %d is sent, and is not open",
			fds[i]);
		sim_file_hold(message->files[i]);
	}
}

static struct sim_message *
make(const struct msghdr *msg)
{
	struct sim_message *message;
	size_t size = 0;

	for (size_t i = 0; i < msg->msg_iovlen; i++)
		size += msg->msg_iov[i].iov_len;
	message = calloc(1, sizeof(*message) + size);
	if (message == NULL)
		abort();
	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		/* An empty body may be nowhere. */
		if (msg->msg_iov[i].iov_len > 0)
			memcpy(message->bytes + message->size, msg->msg_iov[i].iov_base,
				msg->msg_iov[i].iov_len);
		message->size += msg->msg_iov[i].iov_len;
	}
	message->sender = sim_credentials(sim_process_self());
	take_rights(message, msg);
	return message;
}

static void
put(struct sim_file *file, struct sim_message *message)
{
	struct sim_socket *to = file->socket->peer->socket;

	if (to->last != NULL)
		to->last->next = message;
	else
		to->first = message;
	to->last = message;
	to->n_messages++;
	file->socket->unread++;
	sim_file_changed(file->socket->peer);
}

static ssize_t
send_message(struct sim_file *file, const struct msghdr *msg, int flags)
{
	int error = why_not_sent(file);
	struct sim_message *message;
	ssize_t size;

	if (error != 0)
		return sim_refuse(error);
	if (!can_send(file) && ((flags & MSG_DONTWAIT) != 0 || file->nonblocking))
		return sim_refuse(EAGAIN);
	if (sim_wait_ends(can_send, file, 0))
		return sim_refuse(EINTR);
	error = why_not_sent(file);
	if (error == 0 && msg->msg_controllen > 0 && sim_fault_comes(SIM_FAULT_RIGHTS))
		error = ETOOMANYREFS;
	if (error == 0 && sim_fault_comes(SIM_FAULT_MESSAGE))
		error = ENOBUFS;
	if (error != 0)
		return sim_refuse(error);
	message = make(msg);
	size = (ssize_t)message->size;
	put(file, message);
	return size;
}

ssize_t
__wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct sim_file *file;
	ssize_t sent;

	if (sim_process_self() == NULL)
		return __real_sendmsg(fd, msg, flags);
	file = sim_fd_enter(fd, "sendmsg");
	sim_file_keep(file);
	sent = send_message(file, msg, flags);
	sim_file_keep_none(sim_self());
	sim_tell("sends to %d: %s", fd, sent >= 0 ? "sent" : strerrorname_np(errno));
	return sent;
}

ssize_t
__wrap_send(int fd, const void *bytes, size_t size, int flags)
{
	struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
	const struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

	return sim_process_self() == NULL ? __real_send(fd, bytes, size, flags)
					  : __wrap_sendmsg(fd, &msg, flags);
}

/* --- receiving --- */

static bool
can_receive(void *arg)
{
	const struct sim_socket *socket = ((const struct sim_file *)arg)->socket;

	return socket->error != 0 || socket->first != NULL ||
	       (socket->shut & SIM_SHUT_RECEIVE) != 0;
}

/* A part of the control data; false: there is no room. */
static bool
give_control(struct msghdr *msg, size_t *used, int type, const void *data, size_t size)
{
	struct cmsghdr head = {
		.cmsg_len = CMSG_LEN(size), .cmsg_level = SOL_SOCKET, .cmsg_type = type};
	char *to = (char *)msg->msg_control + *used;

	if (*used + CMSG_LEN(size) > msg->msg_controllen) {
		msg->msg_flags |= MSG_CTRUNC;
		return false;
	}
	memcpy(to, &head, sizeof(head));
	memcpy(to + CMSG_LEN(0), data, size);
	*used += CMSG_SPACE(size);
	return true;
}

/* As many as there is room for, in the buffer and among the process's descriptors. */
static void
give_rights(const struct sim_message *message, struct msghdr *msg, size_t *used, bool cloexec)
{
	size_t room = *used + CMSG_LEN(0) < msg->msg_controllen
			      ? (msg->msg_controllen - *used - CMSG_LEN(0)) / sizeof(int)
			      : 0;
	int fds[SIM_RIGHTS];
	unsigned int n = 0;

	while (n < message->n_files && n < room && sim_fd_is_free()) {
		fds[n] = sim_fd_open(message->files[n], cloexec);
		n++;
	}
	if (n > 0)
		(void)give_control(msg, used, SCM_RIGHTS, fds, n * sizeof(int));
	if (n < message->n_files)
		msg->msg_flags |= MSG_CTRUNC;
}

static size_t
give_bytes(const struct sim_message *message, const struct msghdr *msg)
{
	size_t given = 0;

	for (size_t i = 0; i < msg->msg_iovlen && given < message->size; i++) {
		size_t part = message->size - given;

		part = part < msg->msg_iov[i].iov_len ? part : msg->msg_iov[i].iov_len;
		if (part > 0)
			memcpy(msg->msg_iov[i].iov_base, message->bytes + given, part);
		given += part;
	}
	return given;
}

static ssize_t
give(struct sim_file *file, struct msghdr *msg, int flags)
{
	struct sim_message *message = file->socket->first;
	size_t given = give_bytes(message, msg), used = 0;
	ssize_t size;

	msg->msg_flags = given < message->size ? MSG_TRUNC : 0;
	size = (ssize_t)((flags & MSG_TRUNC) != 0 ? message->size : given);
	if (file->socket->credentials)
		(void)give_control(
			msg, &used, SCM_CREDENTIALS, &message->sender, sizeof(message->sender));
	give_rights(message, msg, &used, (flags & MSG_CMSG_CLOEXEC) != 0);
	msg->msg_controllen = used < msg->msg_controllen ? used : msg->msg_controllen;
	if ((flags & MSG_PEEK) == 0)
		sim_message_free(sim_message_take(file));
	return size;
}

static ssize_t
receive(struct sim_file *file, struct msghdr *msg, int flags)
{
	bool waits = (flags & MSG_DONTWAIT) == 0 && !file->nonblocking;
	int error;

	if (!file->socket->connected)
		return sim_refuse(ENOTCONN);
	if (waits && sim_wait_ends(can_receive, file, 0))
		return sim_refuse(EINTR);
	error = take_error(file->socket);
	if (error != 0)
		return sim_refuse(error);
	if (file->socket->first != NULL)
		return give(file, msg, flags);
	if ((file->socket->shut & SIM_SHUT_RECEIVE) == 0)
		return sim_refuse(EAGAIN);
	msg->msg_controllen = 0;
	msg->msg_flags = 0;
	return 0;
}

ssize_t
sim_socket_read(struct sim_file *file, void *bytes, size_t size, bool waits)
{
	struct iovec part = {.iov_base = bytes, .iov_len = size};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

	return receive(file, &msg, waits ? 0 : MSG_DONTWAIT);
}

ssize_t
__wrap_recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct sim_file *file;
	ssize_t got;

	if (sim_process_self() == NULL)
		return __real_recvmsg(fd, msg, flags);
	file = sim_fd_enter(fd, "recvmsg");
	sim_file_keep(file);
	got = receive(file, msg, flags);
	sim_file_keep_none(sim_self());
	sim_tell("receives from %d: %zd bytes%s", fd, got, got >= 0 ? "" : strerrorname_np(errno));
	return got;
}

ssize_t
__wrap_recv(int fd, void *bytes, size_t size, int flags)
{
	struct iovec part = {.iov_base = bytes, .iov_len = size};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

	return sim_process_self() == NULL ? __real_recv(fd, bytes, size, flags)
					  : __wrap_recvmsg(fd, &msg, flags);
}
