/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the socket's path, replaces what a dead primary left there, and listens. */
#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <trip_client.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "domain/thread.h"
#include "primary/server.h"
#include "primary/socket.h"

/* How long a socket may outlive its primary's lock. */
#define DYING_TIMES 50
#define DYING_PAUSE_NS 10000000
/* What separates EAL's file prefix from its generation. */
#define GENERATION_MARK '@'

int
trip_socket_fail(const struct trip_server *server, const char *what)
{
	return trip_error_system(
		errno, "domain \"%s\": %s %s", server->domain->name, what, server->path);
}

/* Where clients look for it by themselves, in a folder of our own. */
static int
usual_path(struct trip_server *server)
{
	char prefix[sizeof(server->prefix)], folder[sizeof(server->path)];
	struct stat status;
	int error;

	strcpy(prefix, server->prefix);
	*strchrnul(prefix, GENERATION_MARK) = 0;
	error = trip_client_path(prefix, server->domain->name, server->path, sizeof(server->path));
	if (error != 0)
		return error;
	strcpy(folder, server->path);
	*strrchr(folder, '/') = 0;
	if (mkdir(folder, 0755) != 0 && errno != EEXIST)
		return trip_socket_fail(server, "no folder for its socket");
	if (lstat(folder, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid())
		return trip_error_set(EACCES, "domain \"%s\": %s is no folder of this user's",
			server->domain->name, folder);
	return 0;
}

int
trip_socket_choose_path(struct trip_server *server)
{
	const char *given = server->domain->attr.socket;

	if (given == NULL)
		return usual_path(server);
	if (strlen(given) >= sizeof(server->path))
		return trip_error_set(ENAMETOOLONG,
			"domain \"%s\": the path of its socket is longer than %zu",
			server->domain->name, sizeof(server->path) - 1);
	strcpy(server->path, given);
	return 0;
}

static int
give_access(struct trip_server *server)
{
	const struct trip_domain_attr *attr = &server->domain->attr;
	const struct group *group = NULL;

	if (attr->socket_group != NULL) {
		group = getgrnam(attr->socket_group);
		if (group == NULL)
			return trip_error_set(EINVAL, "domain \"%s\": there is no group \"%s\"",
				server->domain->name, attr->socket_group);
		if (chown(server->path, (uid_t)-1, group->gr_gid) != 0)
			return trip_socket_fail(server, "cannot give its group");
	}
	/* Nobody connects before it listens. */
	return chmod(server->path, attr->socket_mode) == 0
		       ? 0
		       : trip_socket_fail(server, "cannot give its mode");
}

/* Whether somebody listens there, whoever: one who does not has left it behind. */
static bool
is_served(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool served =
		fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
				   (errno != ECONNREFUSED && errno != ENOENT));

	if (fd >= 0)
		close(fd);
	return served;
}

/* A dead primary's; that of a live one is locked. Whatever else is there is not ours to remove. */
static int
remove_stale(const struct trip_server *server, const struct sockaddr_un *address)
{
	struct stat status;

	if (lstat(server->path, &status) != 0)
		return errno == ENOENT ? 0 : trip_socket_fail(server, "cannot look at");
	if (!S_ISSOCK(status.st_mode))
		return trip_error_set(EEXIST,
			"domain \"%s\": %s is there already, and is no socket",
			server->domain->name, server->path);
	/* The kernel takes a dying primary's lock before its socket. */
	for (unsigned int i = 0; i < DYING_TIMES && is_served(address); i++)
		trip_thread_pause(DYING_PAUSE_NS);
	if (is_served(address))
		return trip_error_set(EEXIST, "domain \"%s\": another program listens on %s",
			server->domain->name, server->path);
	return unlink(server->path) == 0 || errno == ENOENT
		       ? 0
		       : trip_socket_fail(server, "cannot replace");
}

int
trip_socket_listen(struct trip_server *server)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int error;

	strcpy(address.sun_path, server->path);
	error = remove_stale(server, &address);
	if (error != 0)
		return error;
	server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->listener < 0 ||
		bind(server->listener, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return trip_socket_fail(server, "cannot make socket");
	error = give_access(server);
	if (error == 0 && listen(server->listener, SOMAXCONN) != 0)
		error = trip_socket_fail(server, "cannot listen on");
	return error;
}
