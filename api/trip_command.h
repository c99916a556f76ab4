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
 *   0, or -ENOENT: there is no such group; -EALREADY: the socket takes commands already; -ENOTSUP:
 *   this process serves no socket of the domain; -ESHUTDOWN (WAIT-12).
 */
int trip_command_open(struct trip_domain *domain, const char *group);

/** A command, and who gave it, as the kernel said when that process connected. */
struct trip_command {
	/** Bytes of it that the library has filled in. */
	size_t size;
	/** The command, with a zero behind it. It may have any bytes, also zeros: its sender may be
	 * hostile. */
	const char *text;
	/** Bytes of `text`, at most TRIP_CLIENT_COMMAND_MAX. */
	size_t length;
	/** 0: not in this process's namespace. Once the sender has ended, another may have it. */
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

/**
 * The application's function that does a command.
 *
 * @param command
 *   Valid until it returns.
 * @param answer
 *   What is written there goes back to the sender.
 * @return
 *   Status for the sender: 0, or a negative errno.
 */
typedef int (*trip_command_t)(const struct trip_command *command, FILE *answer, void *arg);

/**
 * Does the commands that wait, on the calling thread, one after the other, in the order in which
 * they were complete. It may take its time: nobody else at the socket waits for it. One thread at a
 * time, and not a polling lcore of the domain.
 *
 * @return
 *   The number of commands done, or -ESHUTDOWN (WAIT-12).
 */
int trip_command_serve(struct trip_domain *domain, trip_command_t command, void *arg);

/**
 * Tells who was refused last, of those that `commands_refused` counts. Any thread of the primary.
 *
 * @param[in,out] refused
 *   Its `size` is set by the caller; pid, uid and gid by the call; its text is NULL.
 * @return
 *   0, or -ENOENT: nobody was refused; -EINVAL: an unknown `size`; -ESHUTDOWN (WAIT-12).
 */
int trip_command_refused(struct trip_domain *domain, struct trip_command *refused);

/**
 * Takes no more commands; those that wait are answered -ESHUTDOWN. trip_domain_close() does the
 * same. Called by the thread that serves commands, or while no thread does.
 */
void trip_command_close(struct trip_domain *domain);

#ifdef __cplusplus
}
#endif

#endif
