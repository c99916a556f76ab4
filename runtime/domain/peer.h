/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is at the other end of a socket. Its credentials have the pid of whoever connected; where
 * that process has ended and a child of it has the socket open, the pid may be another's by now.
 * Linux 6.5 and later have a pidfd beside them, which is nobody else's ever.
 */
#ifndef TRIP_RUNTIME_PEER_H
#define TRIP_RUNTIME_PEER_H

#include <sys/types.h>

/* A pidfd of the process at the other end, whose pid the credentials say: negative: the error, of
 * which -ESRCH says that it has ended. On an older kernel it is that of whoever has the pid. */
int trip_peer_pidfd(int socket, pid_t pid);

#endif
