/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain/error.h"
#include "metrics/listen.h"

#define BACKLOG 64

static int
fail(const char *where, int error)
{
	return trip_error_set(error, "metrics: %s: %s", where, strerror(error));
}

/* A socket of a process that has ended is in the way, and nobody listens on it. */
static void
remove_dead(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat at;

	if (fd < 0)
		return;
	if (lstat(address->sun_path, &at) == 0 && S_ISSOCK(at.st_mode) &&
		connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
		errno == ECONNREFUSED)
		unlink(address->sun_path);
	close(fd);
}

static int
listen_at(const char *where, int family, const struct sockaddr *address, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, error;

	if (fd < 0)
		return fail(where, errno);
	/* Over connections of before that linger. */
	if (family != AF_UNIX)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address, size) == 0 &&
		(family != AF_UNIX ||
			chmod(((const struct sockaddr_un *)address)->sun_path, 0600) == 0) &&
		listen(fd, BACKLOG) == 0)
		return fd;
	error = errno;
	close(fd);
	return fail(where, error);
}

static int
listen_unix(const char *where, const char *path, struct trip_listen *at)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (path[0] == 0 || strlen(path) >= sizeof(address.sun_path))
		return trip_error_set(EINVAL, "metrics: %s: a path has 1 to %zu bytes", where,
			sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	remove_dead(&address);
	at->fd = listen_at(where, AF_UNIX, (const struct sockaddr *)&address, sizeof(address));
	if (at->fd >= 0)
		strcpy(at->path, path);
	return at->fd >= 0 ? 0 : at->fd;
}

/* Host and port without brackets; false: they are not there. */
static bool
split(const char *where, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(where, ':'), *end = colon;

	if (colon == NULL || colon == where || colon[1] == 0)
		return false;
	if (where[0] == '[' && colon[-1] == ']') {
		where++;
		end--;
	}
	if ((size_t)(end - where) >= size || end == where)
		return false;
	memcpy(host, where, (size_t)(end - where));
	host[end - where] = 0;
	*port = colon + 1;
	return true;
}

int
trip_listen_open(const char *where, struct trip_listen *at)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
	struct addrinfo *found = NULL;
	const char *port;
	char host[64];

	*at = (struct trip_listen){.fd = -1};
	if (strncmp(where, "unix:", 5) == 0)
		return listen_unix(where, where + 5, at);
	if (!split(where, host, sizeof(host), &port) ||
		getaddrinfo(host, port, &hints, &found) != 0)
		return trip_error_set(EINVAL,
			"metrics: \"%s\" is no ADDRESS:PORT of numbers, nor unix:PATH", where);
	at->fd = listen_at(where, found->ai_family, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return at->fd >= 0 ? 0 : at->fd;
}

void
trip_listen_close(struct trip_listen *at)
{
	if (at->path[0] != 0)
		unlink(at->path);
}
