/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the block that is drawn in place. */
#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>

#include "rules.h"
#include "screen.h"
#include "start/describe.h"
#include "view_row.h"

static const struct {
	const char *title;
	int width;
	unsigned int from_width;
} columns[] = {
	[TRIPD_VIEW_PACKETS] = {"packets", 12, 0},
	[TRIPD_VIEW_BYTES] = {"bytes", 14, TRIPD_VIEW_BYTES_WIDTH},
	[TRIPD_VIEW_PACKET_RATE] = {"packet/s", 12, 65},
	[TRIPD_VIEW_BIT_RATE] = {"bit/s", 14, 79},
	[TRIPD_VIEW_FATE] = {"  fate", -9, 39},
};

void
tripd_view_count(struct tripd_view_count *count, uint64_t packets, uint64_t bytes, double per_s)
{
	bool anew = packets < count->packets || bytes < count->bytes;

	*count = (struct tripd_view_count){
		.packets = packets,
		.bytes = bytes,
		.packet_rate = (double)(anew ? packets : packets - count->packets) * per_s,
		.byte_rate = (double)(anew ? bytes : bytes - count->bytes) * per_s,
	};
}

void
tripd_view_row(struct tripd_screen *screen, const char *colour, const char *name,
	const char *fate_colour, const char *const cells[TRIPD_VIEW_COLUMNS])
{
	int taken = 0, room;
	char line[256];
	int n = 0;

	for (unsigned int i = 0; i < TRIPD_VIEW_COLUMNS; i++)
		if (screen->width >= columns[i].from_width)
			taken += abs(columns[i].width);
	room = (int)RTE_MIN(screen->width, TRIP_RULES_NAME_MAX + (unsigned int)taken) - taken;
	for (unsigned int i = 0; i < TRIPD_VIEW_COLUMNS; i++)
		if (screen->width >= columns[i].from_width)
			n += snprintf(line + n, sizeof(line) - (size_t)n, "%s%*s",
				i == TRIPD_VIEW_FATE ? fate_colour : "", columns[i].width,
				cells[i]);
	tripd_screen_say(screen, "%s%-*.*s%s%s", colour, room, room, name, line,
		tripd_screen_colour(screen, TRIPD_PLAIN));
}

void
tripd_view_count_row(struct tripd_screen *screen, const char *name,
	const struct tripd_view_count *count, const char *fate_colour, const char *fate)
{
	char packets[16], bytes[16], packet_rate[16], bit_rate[16], indented[16];

	tripd_describe_number(count->packets, packets);
	tripd_describe_number(count->bytes, bytes);
	tripd_describe_number((uint64_t)count->packet_rate, packet_rate);
	tripd_describe_number((uint64_t)(count->byte_rate * 8), bit_rate);
	snprintf(indented, sizeof(indented), "  %s", fate);
	tripd_view_row(screen, "", name, fate_colour,
		(const char *[]){packets, bytes, packet_rate, bit_rate, indented});
}

void
tripd_view_titles(struct tripd_screen *screen, bool rates)
{
	const char *bold = tripd_screen_colour(screen, TRIPD_BOLD);
	const char *cells[TRIPD_VIEW_COLUMNS];

	for (unsigned int i = 0; i < TRIPD_VIEW_COLUMNS; i++)
		cells[i] = columns[i].title;
	if (rates)
		tripd_view_row(screen, bold, "count", "", cells);
	else
		tripd_screen_say(screen, "%s%-32s %12s %14s  %s%s", bold, "count", "packets",
			"bytes", "fate", tripd_screen_colour(screen, TRIPD_PLAIN));
}
