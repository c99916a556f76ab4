/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process that starts programs for `exec`, since nothing forks from one that DPDK runs in. It
 * is forked before EAL, has no file but its socket, and does as that says: a message with a path
 * and a descriptor starts a program that reads from it; one without says that it is to end, as its
 * stdin has; one comes back when it has ended.
 *
 * The other end of the socket is tripd. When that is closed, however tripd ended, all programs are
 * to end. They have two seconds to do so by themselves; then they get SIGTERM, and a second later
 * SIGKILL. Where this process itself is killed, they are, too.
 */
#ifndef TRIPD_EXEC_HELPER_H
#define TRIPD_EXEC_HELPER_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "start/program.h"

struct tripd_exec_start {
	/* Below TRIPD_EXEC_MAX. */
	uint32_t program;
	/* As long as the message. */
	char path[PATH_MAX];
};

struct tripd_exec_ended {
	uint32_t program;
	/* Why it could not be started, or 0 ... */
	int32_t error;
	/* ... and what waitpid() said of it. */
	int32_t status;
};

/* Forks it, while the process has one thread. Returns the socket, or a negative errno. */
int tripd_exec_helper_fork(pid_t *pid);

#endif
