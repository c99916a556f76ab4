/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules at work that change by the commands that tripctl sends, and packets in between. */
#ifndef TRIP_LIVE_BED_H
#define TRIP_LIVE_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/exec.h"
#include "tripd_bed.h"

extern struct tripd_bed live_bed;

/* Of `exec`, where the bed's quota is given them; none is started. */
extern struct tripd_exec live_programs;

/* Where packets come to a device, one at a time. */
struct live_device {
	/* One to this port; returns whether its rules let it pass. */
	bool (*receive)(unsigned int port);
	/* Likewise, in the midst of the next creation of a rule, before that takes effect. Whether
	 * it passed; -1: it did not come, and does not come any more. */
	void (*receive_within)(unsigned int port);
	int (*received)(void);
};

/* NULL: they go through the software engine. */
extern const struct live_device *live_hard;

/* Starts EAL, and what programs need before that. Returns 0, or what main() is to return. */
int live_init(void);

/* Bytes of a packet. */
#define LIVE_BYTES 60

/* All that is due fires, and is read. */
void live_progress(void);

/* What a command comes to; `answer` is to be freed. */
int live_command_do(const char *text, size_t length, char **answer);

/* One that is to come to this. Of the first, the answer is returned, to be freed. */
char *live_command_of(const char *text, size_t length, int expected);
void live_command(const char *text, int expected);

/* One whose answer is this; one that is refused, and says why. */
void live_answered(const char *text, int expected, const char *answer);
void live_refused(const char *text, size_t length, int error, const char *why);
void live_declined(const char *text, int error, const char *why);

/* Of UDP, from 10.0.0.1 to a port below 256 of 10.0.0.2. Returns whether it passes. */
bool live_packet(unsigned int port);
/* Likewise, and nothing that is due then has fired. */
bool live_burst(unsigned int port);

/* Whether what was waited for since then may come yet. */
bool live_is_patient(uint64_t begun_tsc);

/* What a counter comes to, once its home has read all flows of it. */
void live_check_cntr(struct trip_cntr *cntr, uint64_t expected);

#endif
