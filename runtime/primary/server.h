/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread of a domain. It serves the domain's socket, one request of a client at a time,
 * and never waits for a client. server.c has the thread, socket.c the socket, connection.c each
 * connection, request.c what is asked, reply.c what is answered, admit.c who may connect, watch.c
 * the descriptors that are watched.
 */
#ifndef TRIP_RUNTIME_SERVER_H
#define TRIP_RUNTIME_SERVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <trip_each.h>

#include "client/protocol.h"
#include "primary/command.h"
#include "primary/proxy.h"
#include "primary/request.h"
#include "engine.h"

/*
 * Connections. An attached process needs three: for what is answered at once, for what takes its
 * time, and for what is asked once; a fourth while one of them ends. The owner and root have
 * TRIP_SERVER_OWN each beside those, and one for each process that is about to attach. All other
 * users have TRIP_SERVER_OTHERS together.
 */
#define TRIP_SERVER_EACH 4
#define TRIP_SERVER_OWN 128
#define TRIP_SERVER_OTHERS 96
#define TRIP_SERVER_CONNECTIONS                                                           \
	(TRIP_CLIENTS_MAX * TRIP_SERVER_EACH + 2 * (TRIP_SERVER_OWN + TRIP_CLIENTS_MAX) + \
		TRIP_SERVER_OTHERS)
#define TRIP_SERVER_WATCHES 64

struct trip_domain;
struct trip_server;

/* A descriptor that some home may still be about to write: the members of a set are on any home. */
struct trip_watch_retired {
	int fd;
	uint64_t epoch[TRIP_HOMES_MAX];
};

/* The waiter slot of a watch. */
struct trip_watch {
	/* NULL: unused. */
	struct trip_home *home;
	uint32_t slot;
	uint64_t cntr;
	int fd;
};

struct trip_list_top;
struct trip_orphan;
struct trip_process;

extern int trip_server_logtype;

/* What the control thread waits for. */
struct trip_server_source {
	/* NULL: it ends. */
	void (*ready)(void *owner);
	void *owner;
};

struct trip_connection {
	struct trip_server_source source;
	struct trip_server *server;
	/* NULL: it has not attached. */
	struct trip_process *process;
	/* The attached process whose place it has; NULL: it counts for its user. */
	struct trip_process *place;
	/* It has asked for something. */
	bool asked;
	/* Number in the order in which connections were accepted. */
	uint64_t serial;
	uint32_t index;
	int socket;
	struct ucred credentials;
	struct trip_watch watches[TRIP_SERVER_WATCHES];
	uint32_t n_watches;
	struct trip_protocol_reply reply;
	/* To go along with the reply, or -1; closed then. */
	int reply_fd;
	/* Of the request that is answered. */
	enum trip_protocol_type type;
	/* The proxy has it; and the connection has ended meanwhile. */
	bool busy, gone;
	/* The kernel has had no memory for its answer, which is sent again. */
	bool unsent;
	/* It is served no more, and has not read its last answer. */
	bool ending;
	/* Its process has detached over it, and has nothing more to ask. */
	bool detached;
	struct trip_proxy_job job;
	struct trip_command_text command;
};

/* What is told of in the log, and some lines a second at most. */
struct trip_server_telling {
	uint64_t count;
	uint64_t since_ns;
	uint32_t lines;
	uint64_t untold;
};

struct trip_server {
	struct trip_server_source stopping, listening, proxied;
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
	struct trip_connection *connections[TRIP_SERVER_CONNECTIONS];
	uint64_t n_accepted;
	uint32_t n_watches, n_unsent;
	/* process.h; as many as may attach. */
	struct trip_process *processes;
	/* Other processes can find the domain's memory. */
	bool attachable;
	/* generation.h. */
	struct trip_orphan *orphans;
	uint32_t n_orphans;
	/* Descriptors that are to be closed, and room for as many more as slots have. */
	struct trip_watch_retired *retired;
	uint32_t n_retired, room_retired, n_written;
	/* list_each.c: what was found last of each statement, by either measure, or NULL. */
	struct trip_list_top *tops[TRIP_EACH_MAX][2];
	struct trip_proxy proxy;
	struct trip_commands commands;
	/* What no client of this library sends or leaves, processes that were not let in, and
	 * commands of those who may not give any. */
	struct trip_server_telling garbage, refusals, forbidden;
};

int trip_server_start(struct trip_domain *domain);
void trip_server_stop(struct trip_domain *domain);

/* In a child of fork(), which serves nobody: whoever waits for the end of this process must not
 * wait for the child's, too. The domain's lock was held when it was forked. */
void trip_server_forget(struct trip_domain *domain);

/* Tells of a process's garbage. */
void trip_server_complain(
	struct trip_server *server, const struct ucred *credentials, const char *what);
/* Tells why a process is not let in, or may give no command: what trip_error_message() says. */
void trip_server_refuse(struct trip_server *server, const struct ucred *credentials);
void trip_server_forbid(struct trip_server *server, const struct ucred *credentials);

/* Has the control thread wait for a descriptor: 0, or the error. */
int trip_server_poll(struct trip_server *server, int fd, struct trip_server_source *source);
/*
 * Has it wait no more. To close the descriptor is not enough: epoll goes on to report the file for
 * as long as anybody has it open, as a child of fork() that did not exec.
 */
void trip_server_unpoll(struct trip_server *server, int fd);
/* The same, and closes it; -1 is none, and what it is then. */
void trip_server_close(struct trip_server *server, int *fd);

/* A new connection; takes the socket over in any case. Under the domain's lock. */
void trip_connection_open(struct trip_server *server, int socket);
void trip_connection_close(struct trip_connection *connection);
/* Serves it no more, and closes it when it has read what it was sent. */
void trip_connection_end(struct trip_connection *connection);
/* What epoll is to tell of it. */
void trip_connection_wait_for(struct trip_connection *connection, uint32_t events);
/* Ends one that has said nothing, for the reason that the thread's error is. Under the lock. */
void trip_connection_displace(struct trip_connection *connection);

/* Gives a newcomer a place, if need be that of one that has said nothing: 0, or why not. Under the
 * domain's lock. */
int trip_admit(const struct trip_server *server, struct trip_connection *newcomer);
/* Whether its user is neither the owner nor root. */
bool trip_admit_is_other(const struct trip_connection *connection);
/* How many such users together may have of something of which there are so many for them, each of
 * which takes a file; and how many of these one of them may have. */
uint32_t trip_admit_others(uint32_t most);
uint32_t trip_admit_each(uint32_t others);

/* Ends a connection, and waits for nothing of what has come over it: hangup.c. */
void trip_hangup(int socket);
/* How many are being closed by threads of their own. */
uint32_t trip_hangup_count(void);
/* As many as may be have such as linger; nobody is to connect meanwhile. */
bool trip_hangup_is_busy(void);
/* The next message, which stays: its size, 0: there will be none, or negative: there is none yet.
 * Whoever reads one that has descriptors closes those. */
ssize_t trip_hangup_peek(int socket, void *message, size_t size, bool *has_descriptors);
/* The proxy is done with its job. */
void trip_connection_answered(struct trip_connection *connection);
/* The process that connections are of is going: they end, also where a child of it has them open,
 * but for the one over which it asked for that, or NULL. */
void trip_connection_leave(struct trip_server *server, const struct trip_process *process,
	const struct trip_connection *asking);

/* The sentence of the calling thread's error becomes the reply's. */
void trip_reply_explain(struct trip_connection *connection);
/* Answers a request, by what is in the reply; false: the connection has ended. */
bool trip_reply_answer(struct trip_connection *connection,
	const union trip_protocol_request *request, int error, size_t size);
/* Sends the answers again for which there was no memory; true: some are left. */
bool trip_reply_send_again(struct trip_server *server);
/* The connection has no answer to send any more. */
void trip_reply_forget(struct trip_connection *connection);

trip_request_quick trip_watch_open, trip_watch_arm, trip_watch_close;
/* Undoes trip_watch_open(). */
void trip_watch_undo(
	struct trip_connection *connection, const union trip_protocol_request *request);
void trip_watch_close_all(struct trip_connection *connection);
/* Closes the retired descriptors that no home can write any more; true: some are left. */
bool trip_watch_reap(struct trip_server *server);
/* Before a slot is given one more: 0 or the error. */
int trip_watch_make_room(struct trip_server *server);
/* Closes a descriptor that slots had as soon as no iteration can be writing it. */
void trip_watch_retire(struct trip_server *server, int fd);
/* The two ends of what a slot is signalled by: one that homes write, as waiter.h has it, and one
 * that goes along with the reply to a client. 0 or the error. */
int trip_watch_pair(struct trip_connection *connection, int *fd);

#endif
