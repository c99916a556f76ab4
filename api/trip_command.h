/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands to the application that has a domain: text that comes over the domain's socket, by
 * trip_client_command(), from whoever may give commands. What a command means is the application's
 * to say; the library judges who may, and brings text and answer.
 */
#ifndef TRIP_COMMAND_H
#define TRIP_COMMAND_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_domain;

/**
 * Has the domain's socket take commands: from the user of this process, from root, and from who is
 * in a group, also by a supplementary one. The socket's own mode says who gets so far. All others
 * are answered -EACCES, told in the log, some lines a second at most, and counted
 * (`commands_refused` of struct trip_domain_stats). Commands wait until trip_command_serve() takes
 * them. Any thread of the primary.
 *
 * @param group
 *   Name of the group; NULL: none.
 * @return
 *   0, or -ENOENT: there is no such group; -EALREADY: it takes commands; -ENOTSUP: no socket of the
 *   domain is served by this process; -ESHUTDOWN (WAIT-12).
 */
int trip_command_open(struct trip_domain *domain, const char *group);

/** A command, and who gives it: as the kernel had it when that process connected. */
struct trip_command {
	/** Bytes of it that the library has filled in. */
	size_t size;
	/** What came, with a zero behind it; any bytes, zeros too: whoever sends it may be hostile.
	 */
	const char *text;
	/** Bytes of it, at most TRIP_CLIENT_COMMAND_MAX. */
	size_t length;
	/** 0: in no namespace of this process; one that has ended may be another's by now. */
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

/**
 * Does a command.
 *
 * @param command
 *   Until it returns.
 * @param answer
 *   What is written there goes back to the sender.
 * @return
 *   Status for the sender: 0, or a negative errno.
 */
typedef int (*trip_command_t)(const struct trip_command *command, FILE *answer, void *arg);

/**
 * Does the commands that wait, one after the other, in the order in which they came to be whole; on
 * the calling thread, which may take its time: nobody else at the socket waits for it. One thread
 * at a time, and not a polling lcore of the domain.
 *
 * @return
 *   How many they were; or -ESHUTDOWN (WAIT-12).
 */
int trip_command_serve(struct trip_domain *domain, trip_command_t command, void *arg);

/**
 * Who was refused last, of those that `commands_refused` counts. Any thread of the primary.
 *
 * @param refused
 *   Its `size` is set by the caller, who it was by the call; its text is NULL.
 * @return
 *   0, or -ENOENT: nobody was; -EINVAL: there is no such size; -ESHUTDOWN (WAIT-12).
 */
int trip_command_refused(struct trip_domain *domain, struct trip_command *refused);

/**
 * Takes no more commands; those that wait are answered -ESHUTDOWN. trip_domain_close() does the
 * same. The thread that serves them, or none does.
 */
void trip_command_close(struct trip_domain *domain);

#ifdef __cplusplus
}
#endif

#endif
