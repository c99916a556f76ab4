/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands to tripd, which tripctl(1) sends over the domain's socket. The first line is the
 * command, and what stands behind it is a rules file:
 *   do OPERATION...     an operation of the rules language, at once: "do drop web"
 *   do drop NAME KEY [for TIME], do pass likewise, do release NAME KEY
 *                       a key of an `each` is held by hand, or let go
 *   reset NAME          of a quota, begins a period; of a count or counter, begins it at 0
 *   apply NAME          adds to the rules at work, and changes, by the file that is called NAME
 *   remove NAME         a count, counter, quota or set, and each `when` that speaks of it
 *   diff [NAME]         what a reload by that file, or by tripd's own, would change
 *   reload [NAME]       has the rules of that file, or of tripd's own, and no others
 *   reread NAME         reads the file of that set again
 *   quotas              what they have come to, as the report has them; changes nothing
 */
#ifndef TRIPD_COMMAND_H
#define TRIPD_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct tripd_quota;

struct tripd_commands {
	struct tripd_quota *quota;
	/* Path of tripd's own file; NULL: it has none. */
	const char *rules;
	/* The user who gives the command that is being done. */
	uid_t asker;
	/* Statements that have come in, changed or gone, for whoever tells of it. */
	uint64_t n_changes;
	/* Where each command goes as it is done, by first line and result; not what only looks.
	 * NULL: nowhere. */
	void (*told)(void *arg, const char *line, size_t length, int result);
	void *told_arg;
};

/* Its result goes back to who asks. `commands` is a struct tripd_commands; the control thread's. */
int tripd_command(const char *text, size_t length, FILE *answer, void *commands);

#endif
