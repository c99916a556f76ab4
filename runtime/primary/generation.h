/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file beside the socket. Whoever serves the socket holds its lock, so a dead primary's socket
 * can be told from a live one's. It says the generation, the primary's process and EAL's file
 * prefix; then, in a line each, the attached processes and when they were started. A primary that
 * was killed leaves it behind, perhaps with live processes: its successor finds these orphans here.
 */
#ifndef TRIP_RUNTIME_GENERATION_H
#define TRIP_RUNTIME_GENERATION_H

#include <stdint.h>

#include "primary/server.h"

/* A process that was attached to a primary before this one, and lives. */
struct trip_orphan {
	struct trip_server_source source;
	struct trip_server *server;
	/* pid 0: it has ended, or attached anew. */
	uint32_t pid, uid;
	/* As the kernel counts it: with the pid, it names a process for ever. */
	uint64_t started;
	int pidfd;
};

/* When a process was started, in the kernel's ticks; 0: there is none, or it has ended and is yet
 * to be waited for. */
uint64_t trip_generation_started(uint32_t pid);

/* Takes the lock and the next generation: 0, -EEXIST: another process serves the path, or why. */
int trip_generation_take(struct trip_server *server);
/* Waits for the orphans to end, and tells of them; when the server can wait. */
void trip_generation_watch(struct trip_server *server);
/* Removes the file, as an end in order does. */
void trip_generation_remove(struct trip_server *server);
void trip_generation_fini(struct trip_server *server);

/* Who is attached has changed: writes it down. */
void trip_generation_note(struct trip_server *server);
/* A process has attached: it is nobody's orphan any more. */
void trip_generation_adopt(struct trip_server *server, uint32_t pid);

#endif
