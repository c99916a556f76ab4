/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines for somebody who may be slow, stopped or gone: a file on a full disk, a pipe, a program.
 * What is not taken waits in a buffer of one size, and what finds that full is left out whole and
 * counted. How much that was is a line of the stream itself, once it goes on:
 * {"event": "left_out", "count": N, "time": ...}.
 */
#ifndef TRIPD_OUTLET_H
#define TRIPD_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct tripd_outlet {
	/* -1: there is nobody; lines wait. */
	int fd;
	char *buffer;
	/* What waits is from `begin` to `end`; its first line begins at `first`, and has been
	 * written in part where that is before `begin`. */
	size_t size, first, begin, end;
	/* Lines that were left out: those that the stream has not told of yet, and all. */
	uint64_t untold, left_out;
};

/* Without a descriptor. Returns 0 or -ENOMEM; close in any case. */
int tripd_outlet_open(struct tripd_outlet *outlet, size_t size);

/* Gives it a descriptor, -1 for none, and closes the one before. The rest of a line of which that
 * one got a part is left out. */
void tripd_outlet_connect(struct tripd_outlet *outlet, int fd);

/* Takes an object as a line, and its reference. NULL, no memory for it, is left out, too. */
void tripd_outlet_put(struct tripd_outlet *outlet, json_t *object);

/* Counts whole lines of the stream that nobody has read. */
void tripd_outlet_lose(struct tripd_outlet *outlet, const char *text, size_t length);

/* Counts lines that were left out before they came here. */
void tripd_outlet_leave_out(struct tripd_outlet *outlet, uint64_t n);

/* Writes what the descriptor takes within `ms` milliseconds. Returns 0: all; or a negative errno:
 * -EAGAIN: no more for now, -ENOTCONN: there is none. */
int tripd_outlet_flush(struct tripd_outlet *outlet, int ms);

/* What waits is left out. */
void tripd_outlet_close(struct tripd_outlet *outlet);

#endif
