/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPCTL_SCREEN_H
#define TRIPCTL_SCREEN_H

#include <stdbool.h>

#include "hitters.h"
#include "view.h"

struct tripctl_screen {
	/* Counters; or with these, the keys of an `each`. */
	struct tripctl_view *view;
	struct tripctl_hitters *hitters;
	/* The first row that is shown, and how many there is room for. */
	size_t first, room;
	bool paused;
	/* Time between readings where it had to be made longer, as one takes long; 0: as
	 * asked for. */
	uint64_t slowed_ns;
	/* A filter is being typed. */
	bool typing;
	char typed[TRIPCTL_VIEW_FILTER];
};

/* 0, or -1: the terminal cannot. Afterwards it is to be closed before anything else is written. */
int tripctl_screen_open(
	struct tripctl_screen *screen, struct tripctl_view *view, struct tripctl_hitters *hitters);
void tripctl_screen_close(void);

void tripctl_screen_draw(struct tripctl_screen *screen);

/* Takes the keys that were pressed, and the terminal's new size. True: it is to end. */
bool tripctl_screen_keys(struct tripctl_screen *screen);

#endif
