/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of `exec`, before any is started. */
#ifndef TRIPD_PROGRAM_H
#define TRIPD_PROGRAM_H

struct trip_rules;

/* Statements with one. */
#define TRIPD_EXEC_MAX 256

/* Whether a program could be started: 0, or a negative errno. */
int tripd_program_check(const char *path);

/* Whether all programs of the rules could; says on stderr which could not. 0, or a negative errno.
 */
int tripd_program_check_all(const struct trip_rules *rules);

#endif
