/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_LOSSES_H
#define TRIPD_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "start/options.h"

#define TRIPD_LOSSES_TEXT_MAX 256

struct trip_cntr;
struct trip_domain;
struct tripd_link;
struct tripd_plan;

enum tripd_loss {
	/* Dropped before they were read: a queue, a ring or a socket was full. */
	TRIPD_LOSS_MISSED,
	/* No packet buffer was left for them. */
	TRIPD_LOSS_NO_BUFFER,
	/* The device or the kernel could not hand them over. */
	TRIPD_LOSS_ERRORS,
	/* Counted, but shorter than they were. */
	TRIPD_LOSS_CUT,
	/* Counted as one, and are several on the wire. */
	TRIPD_LOSS_UNDIVIDED,
	/* Counted as they were, from here on; and then not sent by this port: longer than its MTU,
	 * or it was down. */
	TRIPD_LOSS_REFUSED,
	/* Likewise, as its queue was full: it was slower than what came, or down. */
	TRIPD_LOSS_UNSENT,
	/* With a checksum that stays wrong: their sender left it, and where is unknown. */
	TRIPD_LOSS_UNFINISHED,
	TRIPD_LOSSES,
};

/* What a port did not bring to be counted, or brought otherwise than it was on the wire. */
struct tripd_losses {
	uint64_t frames[TRIPD_LOSSES];
};

/* What the report calls them. */
extern const char *const tripd_losses_names[TRIPD_LOSSES];

/* The losses of a run, by port as in its plan. */
struct tripd_loss_watch {
	unsigned int n_ports;
	uint16_t ids[TRIPD_PORTS_MAX];
	struct tripd_link *links;
	/* As they were read last. */
	struct tripd_losses ports[TRIPD_PORTS_MAX];
	/* What tripctl sees of them: port0.uncounted, ... */
	struct trip_cntr *cntrs[TRIPD_PORTS_MAX];
	uint64_t read_ns;
};

/* Opens the counters that show the losses of planned ports, whose links are open. Says what fails
 * on stderr; close in any case. Returns 0, or a negative errno. */
int tripd_losses_open(struct tripd_loss_watch *watch, struct trip_domain *domain,
	const struct tripd_plan *plan, struct tripd_link *links);

/* Reads the losses again, where that is some time ago or `now`. */
void tripd_losses_update(struct tripd_loss_watch *watch, bool now);

void tripd_losses_close(struct tripd_loss_watch *watch);

/* Frames that are in no count, or are counted otherwise than they were on the wire. */
uint64_t tripd_losses_uncounted(const struct tripd_losses *losses);

/* What there is of them, in words. */
void tripd_losses_describe(const struct tripd_losses *losses, char text[TRIPD_LOSSES_TEXT_MAX]);

#endif
