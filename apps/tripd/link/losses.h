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

/* What a port did not bring to be counted, or brought otherwise than it was on the wire. */
struct tripd_losses {
	/* Frames that were dropped before they were read: a queue, a ring or a socket was full. */
	uint64_t missed;
	/* No packet buffer was left for them. */
	uint64_t no_buffer;
	/* The device or the kernel could not hand them over. */
	uint64_t errors;
	/* Counted, but shorter than they were. */
	uint64_t cut;
	/* Counted as one, and are several on the wire. */
	uint64_t undivided;
	/* Counted, and then not sent by this port: longer than its MTU, or it was down. */
	uint64_t refused;
	/* Counted, with a checksum that stays wrong: their sender left it, and where is unknown. */
	uint64_t unfinished;
};

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
