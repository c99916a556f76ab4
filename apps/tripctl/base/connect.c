/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the socket of a domain, and what is said where that fails. */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"
#include "tripctl.h"

#define SYSTEM_FOLDER "/run/tripline"
#define FOUND_MAX 16
/* A primary that works answers in this time, even if its command has less. */
#define LIMIT_MIN_MS 1000
/* Whether anybody listens is known before he answers. */
#define LOOK_MS 1

struct paths {
	char path[FOUND_MAX][108];
	unsigned int n;
};

/* What there is to connect to. */
struct search {
	char folder[2][108];
	unsigned int n_folders;
	/* Served by somebody; likewise, and do not let us in; and of these, how many nobody serves.
	 */
	struct paths found, shut;
	unsigned int n_dead;
};

int
tripctl_complain(int code, const char *format, ...)
{
	char text[1024], escaped[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "tripctl: %s\n", tripctl_text_escape(text, escaped, sizeof(escaped)));
	return code;
}

int
tripctl_fail(int error)
{
	const char *message = trip_error_message();

	/* Which part of a program says it is the program's affair. */
	if (strncmp(message, "client: ", 8) == 0)
		message += 8;
	return tripctl_complain(error == -ENOENT || error == -ECONNREFUSED ? TRIPCTL_EXIT_NONE
				: error == -EPIPE                          ? TRIPCTL_EXIT_ENDED
				: error == -ETIMEDOUT                      ? TRIPCTL_EXIT_SILENT
									   : TRIPCTL_EXIT_RUN,
		"%s", message);
}

static void
find_folders(struct search *search)
{
	char *slash;

	if (trip_client_path(NULL, NULL, search->folder[0], sizeof(search->folder[0])) == 0) {
		slash = strrchr(search->folder[0], '/');
		*slash = 0;
		search->n_folders = 1;
	}
	/* Root's domains, for users whom their sockets let in. */
	if (search->n_folders == 0 || strcmp(search->folder[0], SYSTEM_FOLDER) != 0)
		strcpy(search->folder[search->n_folders++], SYSTEM_FOLDER);
}

/* Anybody may have made a folder in /tmp, and sockets in it. */
static bool
is_trusted(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && (status.st_uid == 0 || status.st_uid == geteuid());
}

/* Whether anybody listens on a socket that cannot be connected to: the kernel lists those, by the
 * paths that they were given; but of this network namespace alone. */
static bool
is_listed(const char *path)
{
	FILE *file = fopen("/proc/net/unix", "re");
	char line[512];
	bool found = file == NULL;

	while (!found && fgets(line, sizeof(line), file) != NULL) {
		char *at = strchr(line, '/');

		line[strcspn(line, "\n")] = 0;
		found = at != NULL && strcmp(at, path) == 0;
	}
	if (file != NULL)
		fclose(file);
	return found;
}

static void
keep(struct paths *paths, const char *path)
{
	if (paths->n < FOUND_MAX)
		strcpy(paths->path[paths->n++], path);
}

static void
try_socket(struct search *search, const char *path)
{
	struct trip_client *client;
	int error;

	if (!is_trusted(path))
		return;
	error = trip_client_open_within(path, LOOK_MS, &client);
	if (error == 0)
		trip_client_close(client);
	if (error == -EACCES && is_listed(path))
		keep(&search->shut, path);
	else if (error == -EACCES)
		search->n_dead++;
	/* Somebody serves it, even if not us. */
	else if (error != -ENOENT && error != -ECONNREFUSED)
		keep(&search->found, path);
}

/* Sockets are called PREFIX.DOMAIN.sock. */
static bool
is_asked_for(const struct tripctl *ctl, const char *name)
{
	static const char tail[] = ".sock";
	size_t length = strlen(name), prefix = ctl->prefix != NULL ? strlen(ctl->prefix) : 0;
	size_t domain = ctl->domain != NULL ? strlen(ctl->domain) : 0;

	if (length < prefix + 1 + domain + strlen(tail) || name[0] == '.' ||
		strcmp(name + length - strlen(tail), tail) != 0)
		return false;
	if (prefix > 0 && (strncmp(name, ctl->prefix, prefix) != 0 || name[prefix] != '.'))
		return false;
	name += length - strlen(tail) - domain;
	return domain == 0 || (strncmp(name, ctl->domain, domain) == 0 && name[-1] == '.');
}

static void
search_folder(struct search *search, const struct tripctl *ctl, const char *folder)
{
	DIR *entries = is_trusted(folder) ? opendir(folder) : NULL;
	const struct dirent *entry;

	while (entries != NULL && (entry = readdir(entries)) != NULL) {
		char path[108];

		if (is_asked_for(ctl, entry->d_name) &&
			(size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) <
				sizeof(path))
			try_socket(search, path);
	}
	if (entries != NULL)
		closedir(entries);
}

static int
complain_none(const struct tripctl *ctl, const struct search *search)
{
	char dead[128] = "";

	if (search->n_dead > 0)
		snprintf(dead, sizeof(dead),
			" (%u there let%s user %u not in, and nobody of this network namespace "
			"serves %s)",
			search->n_dead, search->n_dead == 1 ? "s" : "", (unsigned int)geteuid(),
			search->n_dead == 1 ? "it" : "them");
	return tripctl_complain(TRIPCTL_EXIT_NONE,
		"no domain%s%s%s%s has a socket in %s%s%s%s; --socket says where else",
		ctl->domain != NULL ? " " : "", ctl->domain != NULL ? ctl->domain : "",
		ctl->prefix != NULL ? " of the file prefix " : "",
		ctl->prefix != NULL ? ctl->prefix : "", search->folder[0],
		search->n_folders > 1 ? " or " : "", search->n_folders > 1 ? search->folder[1] : "",
		dead);
}

/* Says whom a socket lets in that does not let us in. */
static int
complain_shut(const char *path)
{
	struct stat status;
	const struct passwd *user;
	const struct group *group;
	char owner[64], members[64];

	if (stat(path, &status) != 0)
		return tripctl_complain(TRIPCTL_EXIT_RUN, "the socket %s cannot be looked at: %s",
			path, strerror(errno));
	user = getpwuid(status.st_uid);
	group = getgrgid(status.st_gid);
	snprintf(owner, sizeof(owner), "%u%s%s", (unsigned int)status.st_uid,
		user != NULL ? " " : "", user != NULL ? user->pw_name : "");
	snprintf(members, sizeof(members), "%u%s%s", (unsigned int)status.st_gid,
		group != NULL ? " " : "", group != NULL ? group->gr_name : "");
	return tripctl_complain(TRIPCTL_EXIT_RUN,
		"the socket %s does not let user %u in: it is of user %s and group %s, with mode "
		"%04o (--socket-group and --socket-mode of tripd)",
		path, (unsigned int)geteuid(), owner, members, (unsigned int)status.st_mode & 0777);
}

static int
choose_only(struct tripctl *ctl)
{
	struct search search = {0};
	int code;

	find_folders(&search);
	for (unsigned int i = 0; i < search.n_folders; i++)
		search_folder(&search, ctl, search.folder[i]);
	if (search.found.n == 1) {
		strcpy(ctl->path, search.found.path[0]);
		return 0;
	}
	if (search.found.n > 1) {
		code = tripctl_complain(
			TRIPCTL_EXIT_USAGE, "there are several domains; --socket says which:");
		for (unsigned int i = 0; i < search.found.n; i++)
			tripctl_complain(code, "  --socket %s", search.found.path[i]);
		return code;
	}
	for (unsigned int i = 0; i < search.shut.n; i++)
		complain_shut(search.shut.path[i]);
	return search.shut.n > 0 ? TRIPCTL_EXIT_RUN : complain_none(ctl, &search);
}

static int
choose(struct tripctl *ctl)
{
	if (ctl->socket == NULL)
		return choose_only(ctl);
	if (strlen(ctl->socket) >= sizeof(ctl->path))
		return tripctl_complain(TRIPCTL_EXIT_USAGE, "--socket: the path is longer than %zu",
			sizeof(ctl->path) - 1);
	strcpy(ctl->path, ctl->socket);
	return 0;
}

int
tripctl_limit_ms(uint64_t timeout_ns)
{
	uint64_t ms = timeout_ns / 1000000;

	return ms < LIMIT_MIN_MS           ? LIMIT_MIN_MS
	       : ms > TRIP_CLIENT_LIMIT_MS ? TRIP_CLIENT_LIMIT_MS
					   : (int)ms;
}

int
tripctl_connect(struct tripctl *ctl, uint64_t timeout_ns)
{
	uint64_t cursor = 0;
	int error = choose(ctl);

	if (error != 0)
		return error;
	error = trip_client_open_within(ctl->path, tripctl_limit_ms(timeout_ns), &ctl->client);
	if (error == -EACCES)
		return complain_shut(ctl->path);
	if (error == 0)
		error = trip_client_list(ctl->client, TRIP_CLIENT_DOMAIN, &cursor, &ctl->about,
			sizeof(ctl->about), 1);
	return error < 0 ? tripctl_fail(error) : 0;
}
