/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a connection ends. Messages that nobody has read may have descriptors with them, and the
 * kernel closes those in the thread that reads the message, or closes the socket: a TCP socket that
 * is told to linger keeps that thread for as long as its owner likes. To peek at a message closes
 * nothing, and tells whether it has any.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "domain/thread.h"
#include "primary/server.h"

#define LINGERING_MAX 128

/* Of all domains: a thread each, and a socket. */
static _Atomic uint32_t lingering;

ssize_t
trip_hangup_peek(int socket, void *message, size_t size, bool *has_descriptors)
{
	struct iovec part = {.iov_base = message, .iov_len = size};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t got = recvmsg(socket, &msg, MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC);

	/* There is no room for them. */
	*has_descriptors = got >= 0 && (msg.msg_flags & MSG_CTRUNC) != 0;
	return got;
}

/* Reads what is left, up to a message with descriptors; true: there was none, and none comes. */
static bool
drain(int socket)
{
	const int on = 1;

	/* The sender's credentials are with each message then, also with one of no bytes, which
	 * looks like the end otherwise. */
	if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
		return false;
	for (;;) {
		char control[CMSG_SPACE(sizeof(struct ucred))];
		struct msghdr msg = {.msg_control = control, .msg_controllen = sizeof(control)};

		if (recvmsg(socket, &msg, MSG_PEEK | MSG_DONTWAIT) < 0) {
			/* Told once, before what is left. */
			if (errno == ECONNRESET || errno == EINTR)
				continue;
			return false;
		}
		if ((msg.msg_flags & MSG_CTRUNC) != 0)
			return false;
		if (msg.msg_controllen == 0)
			return true;
		(void)recv(socket, NULL, 0, MSG_DONTWAIT);
	}
}

static void *
linger(void *arg)
{
	close((int)(intptr_t)arg);
	atomic_fetch_sub_explicit(&lingering, 1, memory_order_relaxed);
	return NULL;
}

void
trip_hangup(int socket)
{
	pthread_t thread;

	/* Nothing can be sent to it from here on, and its other end sees it. */
	shutdown(socket, SHUT_RDWR);
	if (drain(socket)) {
		close(socket);
		return;
	}
	atomic_fetch_add_explicit(&lingering, 1, memory_order_relaxed);
	/* Nobody waits for the thread; a process, and a domain, can end without it. */
	if (trip_thread_start(&thread, "trip-hangup", linger, (void *)(intptr_t)socket) == 0)
		pthread_detach(thread);
	else
		(void)linger((void *)(intptr_t)socket);
}

uint32_t
trip_hangup_count(void)
{
	return atomic_load_explicit(&lingering, memory_order_relaxed);
}

bool
trip_hangup_is_busy(void)
{
	return trip_hangup_count() >= LINGERING_MAX;
}
