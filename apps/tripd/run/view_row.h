/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_VIEW_ROW_H
#define TRIPD_VIEW_ROW_H

#include <stdbool.h>
#include <stdint.h>

struct tripd_screen;

/* Behind a name that is drawn in place; the narrower the terminal, the fewer, for part of a number
 * would be another one. */
enum tripd_view_column {
	TRIPD_VIEW_PACKETS,
	TRIPD_VIEW_BYTES,
	TRIPD_VIEW_PACKET_RATE,
	TRIPD_VIEW_BIT_RATE,
	TRIPD_VIEW_FATE,
	TRIPD_VIEW_COLUMNS,
};

/* Characters of a terminal on which there are bytes. */
#define TRIPD_VIEW_BYTES_WIDTH 53

/* What had been counted when it was drawn, and what came since the time before that, each second.
 */
struct tripd_view_count {
	uint64_t packets, bytes;
	double packet_rate, byte_rate;
};

/* Notes what has been counted by now. What has begun anew meanwhile has a rate from then on. */
void tripd_view_count(
	struct tripd_view_count *count, uint64_t packets, uint64_t bytes, double per_s);

/* The titles of rows in place, or of what is said at the end. */
void tripd_view_titles(struct tripd_screen *screen, bool rates);

/* A row in place: a name, cut where there is no room for it, and its cells. */
void tripd_view_row(struct tripd_screen *screen, const char *colour, const char *name,
	const char *fate_colour, const char *const cells[TRIPD_VIEW_COLUMNS]);

/* The same of something that counts. `fate` is a word. */
void tripd_view_count_row(struct tripd_screen *screen, const char *name,
	const struct tripd_view_count *count, const char *fate_colour, const char *fate);

#endif
