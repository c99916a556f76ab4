/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a domain's socket: where it is, whose it is, and who may connect to it. */
#ifndef TRIP_RUNTIME_SOCKET_H
#define TRIP_RUNTIME_SOCKET_H

struct trip_server;

/* Where the socket is to be, which nothing is done to yet. */
int trip_socket_choose_path(struct trip_server *server);

/* Makes it, replacing a dead primary's. The path's lock is held: trip_generation_take(). */
int trip_socket_listen(struct trip_server *server);

/* The thread's errno, with a sentence: what cannot be done with the socket. */
int trip_socket_fail(const struct trip_server *server, const char *what);

#endif
