/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread of a domain: it serves the domain's socket, with one request of a client at a
 * time, and never waits for a client. server.c has the thread and the socket, peer.c a connection,
 * answer.c what is answered, watch.c the descriptors that are watched.
 */
#ifndef TRIP_RUNTIME_SERVER_H
#define TRIP_RUNTIME_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "protocol.h"

#define TRIP_SERVER_PEERS 128
#define TRIP_SERVER_WATCHES 64

struct trip_domain;
struct trip_home;
struct trip_server;

/* A descriptor that a home may still be about to write. */
struct trip_watch_retired {
	struct trip_home *home;
	uint64_t epoch;
	int fd;
};

/* The waiter slot of a watch. */
struct trip_watch {
	/* NULL: unused. */
	struct trip_home *home;
	uint32_t slot;
	uint64_t cntr;
	int fd;
};

struct trip_peer {
	struct trip_server *server;
	uint32_t index;
	int socket;
	struct ucred credentials;
	struct trip_watch watches[TRIP_SERVER_WATCHES];
	/* A reply that the socket had no room for; nothing is read until it is gone. */
	bool replying;
	struct trip_protocol_reply reply;
	/* To go along with the reply, or -1; the peer keeps it. */
	int reply_fd;
};

struct trip_server {
	struct trip_domain *domain;
	pthread_t thread;
	bool started;
	int epoll;
	int listener;
	/* Written to end the thread. */
	int stop;
	/* Held as long as the socket is served. */
	int lock;
	char path[108];
	char prefix[64];
	uint64_t generation;
	/* CLOCK_MONOTONIC, when it began to serve. */
	uint64_t since_ns;
	struct trip_peer *peers[TRIP_SERVER_PEERS];
	uint32_t n_watches;
	struct trip_watch_retired *retired;
	uint32_t n_retired, room_retired;
	/* Messages that no client of this library sends, and when that was last told. */
	uint64_t garbage;
	uint64_t told_ns, untold;
};

int trip_server_start(struct trip_domain *domain);
void trip_server_stop(struct trip_domain *domain);

/* Tells of a peer whose message is garbage; at most one line a second. */
void trip_server_complain(
	struct trip_server *server, const struct trip_peer *peer, const char *what);

/* A new connection; takes the socket over in any case. */
void trip_peer_open(struct trip_server *server, int socket);
void trip_peer_close(struct trip_peer *peer);
/* Its socket can be read or written. May close it. */
void trip_peer_serve(struct trip_peer *peer);

/* Answers a request whose size is right: 0 and the bytes of the answer, or the error. */
int trip_answer(struct trip_peer *peer, enum trip_protocol_type type,
	const union trip_protocol_request *request, size_t *size);
/* Bytes of a request of this type, 0: there is none. */
size_t trip_answer_request_size(unsigned int type);

int trip_watch_open(struct trip_peer *peer, uint64_t cntr, uint32_t *watch);
int trip_watch_arm(struct trip_peer *peer, const struct trip_protocol_arm *arm);
int trip_watch_close(struct trip_peer *peer, uint32_t watch);
void trip_watch_close_all(struct trip_peer *peer);
/* Closes the retired descriptors that no home can write any more; true: some are left. */
bool trip_watch_reap(struct trip_server *server);

#endif
