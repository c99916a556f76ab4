/* SPDX-License-Identifier: BSD-3-Clause */
/* What an item has beside its own slot, in others of its channel: node.h. */
#ifndef TRIP_MORE_H
#define TRIP_MORE_H

#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "op.h"

struct trip_home;

/* Takes a condition, operands, the item's end, and what the condition remembers in. *first: the
 * first of their nodes, TRIP_NONE where there is none. False: no correct client has made them, and
 * nothing was taken. */
bool trip_more_take(struct trip_home *home, uint32_t channel, const struct trip_op_row *op,
	const struct trip_work_desc *desc, uint32_t *first);

#endif
