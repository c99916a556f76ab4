/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes the lock beside the socket, and writes down who serves it and who is attached. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_log.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "primary/generation.h"
#include "primary/process.h"

/* Processes that the file tells of: those of this generation, and as many orphans. */
#define PROCESSES_MAX (2 * TRIP_CLIENTS_MAX)
#define LINE_MAX_BYTES 40
#define TEXT_MAX (160 + PROCESSES_MAX * LINE_MAX_BYTES)

static void
lock_path(const struct trip_server *server, char *path, size_t size)
{
	snprintf(path, size, "%s.lock", server->path);
}

static int
fail(const struct trip_server *server, const char *what)
{
	return trip_error_system(errno, "domain \"%s\": %s the lock beside its socket %s",
		server->domain->name, what, server->path);
}

/* -EAGAIN: its former holder has removed it meanwhile, and somebody may have made another. */
static int
lock_file(struct trip_server *server)
{
	char path[sizeof(server->path) + 8];
	struct stat locked, named;

	lock_path(server, path, sizeof(path));
	server->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (server->lock < 0)
		return fail(server, "cannot open");
	if (flock(server->lock, LOCK_EX | LOCK_NB) != 0)
		return trip_error_set(EEXIST, "domain \"%s\": another process serves %s",
			server->domain->name, server->path);
	if (fstat(server->lock, &locked) == 0 && stat(path, &named) == 0 &&
		locked.st_ino == named.st_ino && locked.st_dev == named.st_dev)
		return 0;
	close(server->lock);
	server->lock = -1;
	return -EAGAIN;
}

uint64_t
trip_generation_started(uint32_t pid)
{
	char path[32], text[512] = "", state = 0, *end;
	unsigned long long ticks = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	/* Behind its name, which may be anything. */
	end = fgets(text, sizeof(text), file) != NULL ? strrchr(text, ')') : NULL;
	fclose(file);
	if (end == NULL ||
		sscanf(end + 1,
			" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
			"%*d %llu",
			&state, &ticks) != 2)
		return 0;
	return state != 'Z' && state != 'X' ? ticks : 0;
}

static void
add_orphan(struct trip_server *server, uint32_t pid, uint64_t when)
{
	struct trip_orphan *orphan = &server->orphans[server->n_orphans];
	char path[32];
	struct stat status;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	/* The start says whether the pid is still that process's. It may be ours by now. */
	if (pidfd < 0 || pid == (uint32_t)getpid() || trip_generation_started(pid) != when ||
		stat(path, &status) != 0) {
		if (pidfd >= 0)
			close(pidfd);
		return;
	}
	*orphan = (struct trip_orphan){.server = server,
		.pid = pid,
		.uid = status.st_uid,
		.started = when,
		.pidfd = pidfd};
	server->n_orphans++;
}

/* What the generation before has left. */
static int
read_file(struct trip_server *server, char *text)
{
	ssize_t length = pread(server->lock, text, TEXT_MAX - 1, 0);
	unsigned long long generation = 0;
	char *line, first;
	int pid;

	text[length > 0 ? length : 0] = 0;
	/* Nothing yet, or what write_file() writes. */
	if (length != 0 && sscanf(text, "%llu %d %c", &generation, &pid, &first) != 3)
		return trip_error_set(EEXIST,
			"domain \"%s\": %s.lock is there already, and is no lock of a domain",
			server->domain->name, server->path);
	server->orphans = calloc(PROCESSES_MAX, sizeof(*server->orphans));
	if (server->orphans == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for processes");
	server->generation = generation + 1;
	for (line = strchr(text, '\n'); line != NULL && server->n_orphans < PROCESSES_MAX;
		line = strchr(line + 1, '\n')) {
		unsigned long long when;
		unsigned int orphan;

		if (sscanf(line + 1, "%u %llu\n", &orphan, &when) == 2 && when != 0)
			add_orphan(server, orphan, when);
	}
	return 0;
}

static size_t
add_line(char *text, size_t length, uint32_t pid, uint64_t when)
{
	return length + (size_t)snprintf(text + length, LINE_MAX_BYTES, "%" PRIu32 " %" PRIu64 "\n",
				pid, when);
}

/* The first line, which is always the same, comes first: it is there at any moment. */
static int
write_file(struct trip_server *server, char *text)
{
	size_t length = (size_t)snprintf(text, 160, "%" PRIu64 " %d %s\n", server->generation,
		(int)getpid(), server->prefix);

	for (uint32_t i = 0; i < server->n_orphans; i++)
		if (server->orphans[i].pid != 0)
			length = add_line(
				text, length, server->orphans[i].pid, server->orphans[i].started);
	for (uint32_t i = 0; i < server->domain->attr.max_processes; i++)
		if (server->processes[i].used && server->processes[i].state != TRIP_CLIENT_DROPPING)
			length = add_line(text, length,
				(uint32_t)server->processes[i].credentials.pid,
				server->processes[i].started);
	if (pwrite(server->lock, text, length, 0) != (ssize_t)length ||
		ftruncate(server->lock, (off_t)length) != 0)
		return fail(server, "cannot write");
	return 0;
}

int
trip_generation_take(struct trip_server *server)
{
	char *text = malloc(TEXT_MAX);
	int error;

	if (text == NULL)
		return trip_error_set(ENOMEM, "domain: no memory for its lock");
	do
		error = lock_file(server);
	while (error == -EAGAIN);
	if (error == 0)
		error = read_file(server, text);
	if (error == 0)
		error = write_file(server, text);
	free(text);
	return error;
}

void
trip_generation_note(struct trip_server *server)
{
	char *text = malloc(TEXT_MAX);

	/* Whoever is not written down is missed in a message, and no more. */
	if (text == NULL || write_file(server, text) != 0)
		rte_log(RTE_LOG_WARNING, (uint32_t)trip_server_logtype,
			"tripline: domain \"%s\": who is attached is not written down\n",
			server->domain->name);
	free(text);
}

static void
remove_orphan(struct trip_orphan *orphan)
{
	trip_server_close(orphan->server, &orphan->pidfd);
	orphan->pid = 0;
}

/* Its pidfd says so. */
static void
ended(void *owner)
{
	struct trip_orphan *orphan = owner;

	remove_orphan(orphan);
	trip_generation_note(orphan->server);
}

void
trip_generation_watch(struct trip_server *server)
{
	for (uint32_t i = 0; i < server->n_orphans; i++) {
		struct trip_orphan *orphan = &server->orphans[i];

		orphan->source = (struct trip_server_source){.ready = ended, .owner = orphan};
		(void)trip_server_poll(server, orphan->pidfd, &orphan->source);
		rte_log(RTE_LOG_WARNING, (uint32_t)trip_server_logtype,
			"tripline: domain \"%s\": process %" PRIu32
			" was attached to a primary that has ended; executed anew with "
			"--file-prefix=%s, it attaches to this one\n",
			server->domain->name, orphan->pid, server->prefix);
	}
}

void
trip_generation_adopt(struct trip_server *server, uint32_t pid)
{
	for (uint32_t i = 0; i < server->n_orphans; i++)
		if (server->orphans[i].pid == pid)
			remove_orphan(&server->orphans[i]);
}

void
trip_generation_remove(struct trip_server *server)
{
	char path[sizeof(server->path) + 8];

	lock_path(server, path, sizeof(path));
	unlink(path);
}

void
trip_generation_fini(struct trip_server *server)
{
	for (uint32_t i = 0; i < server->n_orphans; i++)
		trip_server_close(server, &server->orphans[i].pidfd);
	free(server->orphans);
}
