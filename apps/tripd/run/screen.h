/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_SCREEN_H
#define TRIPD_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Where people look. On a terminal the last lines are a block that is drawn again in place, and
 * what is said meanwhile scrolls by above it; elsewhere there is no block, and lines follow each
 * other.
 */
struct tripd_screen {
	/* Where lines go; and what they are for, in the end. */
	FILE *out;
	int fd;
	/* What has been said waits for its reader: nothing is drawn meanwhile. */
	bool waits;
	bool terminal;
	bool colours;
	unsigned int width;
	unsigned int height;
	/* Lines of the block as it stands. */
	unsigned int block;
	/* Lines now go to the block. */
	bool in_block;
};

enum tripd_colour {
	TRIPD_PLAIN,
	TRIPD_BOLD,
	TRIPD_DIM,
	TRIPD_RED,
	TRIPD_GREEN,
	TRIPD_YELLOW,
};

void tripd_screen_init(struct tripd_screen *screen, FILE *out);

/* Takes the block away, so that lines can be said. */
void tripd_screen_begin(struct tripd_screen *screen);

/* What follows is the block. */
void tripd_screen_block(struct tripd_screen *screen);

/* Shows what was said since begin. */
void tripd_screen_end(struct tripd_screen *screen);

/* Says a line, without its newline; in the block it is cut at the right edge. */
__attribute__((format(printf, 2, 3))) void tripd_screen_say(
	struct tripd_screen *screen, const char *format, ...);

/* How many lines the block still takes; what is said beyond is not shown. */
unsigned int tripd_screen_room(const struct tripd_screen *screen);

/* The escape sequence of a colour, or "" where there are none. */
const char *tripd_screen_colour(const struct tripd_screen *screen, enum tripd_colour colour);

/* Copies `line`, cut after `width` visible characters; escape sequences take none, and all are
 * kept. */
void tripd_screen_cut(const char *line, unsigned int width, char *cut, size_t size);

#endif
