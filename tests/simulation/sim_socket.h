/* SPDX-License-Identifier: BSD-3-Clause */
/* AF_UNIX, SOCK_SEQPACKET: sim_socket.c has how it is connected and ends, sim_message.c what goes
 * over it. */
#ifndef SIM_SOCKET_H
#define SIM_SOCKET_H

#include "sim_machine_inside.h"

#define SIM_BACKLOG 16
/* Of messages that nobody has read; and of files that go along with one. */
#define SIM_QUEUE 16
#define SIM_RIGHTS 8

/* A side of it is shut. */
#define SIM_SHUT_RECEIVE 1
#define SIM_SHUT_SEND 2
#define SIM_SHUT_BOTH 3

struct sim_message {
	struct sim_message *next;
	struct ucred sender;
	struct sim_file *files[SIM_RIGHTS];
	unsigned int n_files;
	size_t size;
	char bytes[];
};

struct sim_socket {
	/* The other end; NULL: there is none, or none any more. */
	struct sim_file *peer;
	bool connected, listens, unaccepted, credentials;
	unsigned int shut;
	/* Told once, by the next call. */
	int error;
	/* Of who made it; and of who is at the other end. */
	struct ucred owner, other;
	const struct sim_process *owner_process, *other_process;
	struct sim_inode *inode;
	struct sim_message *first, *last;
	unsigned int n_messages;
	/* What it has sent and nobody has read: messages. */
	unsigned int unread;
	struct sim_file *backlog[SIM_BACKLOG];
	unsigned int n_backlog;
};

struct ucred sim_credentials(const struct sim_process *process);
/* The first message, which is freed then; what it carries is not. */
struct sim_message *sim_message_take(struct sim_file *file);
void sim_message_free(struct sim_message *message);
ssize_t sim_socket_read(struct sim_file *file, void *bytes, size_t size, bool waits);

#endif
