/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands of tripctl share. */
#ifndef TRIPCTL_H
#define TRIPCTL_H

#include <stdbool.h>

#include <trip_client.h>

/* Exit codes; tripctl.1 has them for users. */
#define TRIPCTL_EXIT_RUN 1
#define TRIPCTL_EXIT_USAGE 2
#define TRIPCTL_EXIT_NONE 3    /* no such domain or counter */
#define TRIPCTL_EXIT_TIMEOUT 4 /* the time is over */
#define TRIPCTL_EXIT_ENDED 5   /* the primary has ended */
#define TRIPCTL_EXIT_ERROR 6   /* the counter's error value changed */
#define TRIPCTL_EXIT_SILENT 7  /* the primary does not answer */

/* What stands before a command, or behind it. */
struct tripctl {
	/* NULL: not given. */
	const char *socket;
	const char *prefix;
	const char *domain;
	bool json;
	bool verbose;
	/* Once it is connected. */
	struct trip_client *client;
	struct trip_client_domain about;
	char path[108];
};

/* Says an error on stderr, control characters escaped. Returns `code`. */
__attribute__((format(printf, 2, 3))) int tripctl_complain(int code, const char *format, ...);

/* Says what a call of the client library has to say; returns the exit code. */
int tripctl_fail(int error);

/* Connects to the domain that the options name, or the only one there is: 0, or the exit code. The
 * command has so much time; UINT64_MAX: any. */
int tripctl_connect(struct tripctl *ctl, uint64_t timeout_ns);

/* For how long the primary is waited for, in milliseconds, where a command has so much time. */
int tripctl_limit_ms(uint64_t timeout_ns);

/*
 * The commands. Each parses its words, argv[0] among them, and returns the exit code; --help, and
 * what is wrong with the words, end the process.
 */
int tripctl_list(struct tripctl *ctl, int argc, char **argv);
int tripctl_top(struct tripctl *ctl, int argc, char **argv);
int tripctl_wait(struct tripctl *ctl, int argc, char **argv);
int tripctl_add(struct tripctl *ctl, int argc, char **argv);
int tripctl_set(struct tripctl *ctl, int argc, char **argv);
int tripctl_reset(struct tripctl *ctl, int argc, char **argv);
int tripctl_count(struct tripctl *ctl, int argc, char **argv);
int tripctl_also(struct tripctl *ctl, int argc, char **argv);
int tripctl_when(struct tripctl *ctl, int argc, char **argv);
/* drop, pass, delete, apply, remove, diff, reload. */
int tripctl_command(struct tripctl *ctl, int argc, char **argv);

#endif
