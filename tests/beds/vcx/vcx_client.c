/* SPDX-License-Identifier: BSD-3-Clause */
/* vcx_call() for a program that has no device of its own: through the socket in $VCX_DIR. Each
 * thread has its own connection, because one connection makes one call at a time. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "vcx.h"

static pthread_key_t connection; /* 1 + the socket; no connection is NULL */

static void
disconnect(void *value)
{
	close((int)(intptr_t)value - 1);
}

static void
make_key(void)
{
	pthread_key_create(&connection, disconnect);
}

static int
connected(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *directory = getenv("VCX_DIR");
	int sock;

	pthread_once(&once, make_key);
	if (pthread_getspecific(connection) != NULL)
		return (int)(intptr_t)pthread_getspecific(connection) - 1;
	if (directory == NULL)
		return -1;
	snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/control", directory);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock >= 0 && connect(sock, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		pthread_setspecific(connection, (void *)(intptr_t)(sock + 1)) == 0)
		return sock;
	if (sock >= 0)
		close(sock);
	return -1;
}

int
vcx_call(const struct vcx_request *request, struct vcx_reply *reply)
{
	size_t asked = sizeof(*request) + request->length, fixed = offsetof(struct vcx_reply, data);
	int sock = connected();
	ssize_t got;

	if (sock < 0)
		return -ENOTCONN;
	if (send(sock, request, asked, MSG_NOSIGNAL) != (ssize_t)asked)
		got = -1;
	else
		got = recv(sock, reply, sizeof(*reply), 0);
	if (got < (ssize_t)fixed || (size_t)got != fixed + reply->length) {
		disconnect((void *)(intptr_t)(sock + 1));
		pthread_setspecific(connection, NULL);
		return -ENOTCONN;
	}
	return reply->result;
}
