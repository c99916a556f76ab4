/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `exec`: a program for each statement, which gets its trips on stdin, each a line of JSON. A
 * program that ends is started again, later each time. What it does not read in time is left out,
 * as outlet.h has it.
 */
#ifndef TRIPD_EXEC_H
#define TRIPD_EXEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec_helper.h"
#include "outlet.h"

struct tripd_quota;
struct tripd_trip;
struct trip_rules;

/* The program of a `when`; a place for one, where it is not taken. */
struct tripd_program {
	bool taken;
	/* Its `when` has gone: it is to end, and its place is another's then. */
	bool ends_now;
	unsigned int when, line;
	const char *path;
	struct tripd_outlet outlet;
	/* The end of its stdin, kept to count what it has not read when it ends; or -1. */
	int input;
	bool runs;
	/* When it was started, when it will be, how long it is left alone when it ends, and how
	 * long it is now. */
	uint64_t started_ns, start_ns, delay_ns, waits_ns;
	/* How often it has ended or could not be started, and how at last. */
	uint64_t ends;
	struct tripd_exec_ended last;
	/* What has been said of that, and of lines that were left out, and when. */
	uint64_t said_ends, said_left_out, said_ns;
};

struct tripd_exec {
	/* -1: there is no helper. */
	int socket;
	pid_t helper;
	/* TRIPD_EXEC_MAX places. */
	struct tripd_program *programs;
	/* The program of each `when` that has one, of those that are known. */
	unsigned int *of_when, n_whens;
	/* Trips that programs have not got which have ended since. */
	uint64_t left_out;
};

/* Whether a program can be started beside those that are there: as the `nth` of several that come
 * in. 0, or -ENOSPC, -ECHILD: there is no helper; or what is wrong with the path. */
int tripd_exec_check_one(const struct tripd_exec *exec, const char *path, unsigned int nth);

/* Room for so many statements at work, and for programs of so many that are new. Returns 0, also
 * where no program is started, or -ENOMEM. */
int tripd_exec_room(struct tripd_exec *exec, unsigned int n_whens, unsigned int n);

/* Forks the helper; before EAL, with one thread. Returns 0 or a negative errno, with the reason
 * said; close in any case. */
int tripd_exec_open(struct tripd_exec *exec, const struct trip_rules *rules);

/* Has a program for each `exec` of the rules at work, for which there is room, and ends those of
 * statements that have gone. */
void tripd_exec_follow(struct tripd_exec *exec, const struct trip_rules *rules);

/* Hands a trip to its program, if it has one. */
void tripd_exec_put(
	struct tripd_exec *exec, const struct tripd_quota *quota, const struct tripd_trip *trip);

/* Writes what programs take, and starts those whose time has come. Returns whether there is
 * something to say. */
bool tripd_exec_update(struct tripd_exec *exec);

/* Says on stderr which have ended, and whose lines were left out. */
void tripd_exec_say(struct tripd_exec *exec);

/* Ends all programs: what waits for them is written within a second, then their stdin ends, and the
 * helper waits for them. Returns 0, or -EIO where lines were left out, with that said. */
int tripd_exec_close(struct tripd_exec *exec);

#endif
