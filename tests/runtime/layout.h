/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the calls of a conformance program are made, if not in the primary process. The sources of
 * the tests are the same:
 *
 *	secondary	the program is a primary that only has the homes, and itself again as a
 *			secondary, which runs the tests
 *	split		there are two secondaries. The one runs the tests: it waits, polls, reads
 *			and queues work. The other opens every counter, and makes every update of
 * one by the first (split.c); the first finds it by name
 *
 * With "-polls" behind the word, the secondary also polls the queues of ports that count in bursts.
 * The primary's homes are on lcores, or with "-manual" behind that, progressed by hand, all the
 * time. Tests that show something of the primary alone, or cannot be split, are named with the
 * reason in elsewhere.c.
 */
#ifndef TRIP_LAYOUT_H
#define TRIP_LAYOUT_H

#include "harness.h"

enum layout {
	LAYOUT_PRIMARY,
	LAYOUT_SECONDARY,
	LAYOUT_SPLIT,
	LAYOUTS,
};

/* main() of a program in one of these layouts, or in one of its processes. False: it is asked for
 * none. */
bool layout_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n, int *result)
	__attribute__((weak));

/* Why a test does not run in this layout; NULL: it does. */
const char *elsewhere_why(const char *test, enum layout layout);

/* --- the other secondary of LAYOUT_SPLIT --- */

/* Serves until `socket` is closed. */
void split_serve(int socket);
/* From now on counters are opened and updated over there. */
void split_start(int socket);
/* It attaches, and detaches. */
void split_attach(void);
void split_detach(void);

#endif
