/* SPDX-License-Identifier: BSD-3-Clause */
/* Which key a frame has, by packet_reference.h: each field is asked for by an item. */
#ifndef EACH_KEY_REFERENCE_H
#define EACH_KEY_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "each_key.h"
#include "packet_draw.h"

/* Of the frame as it is on the wire. False: it has none. */
bool reference_key(const struct trip_each_part *parts, uint32_t n, const uint8_t *frame,
	uint32_t length, uint8_t key[TRIP_EACH_KEY_BYTES]);

/* One that the compiler takes; returns how many parts. */
uint32_t draw_key(struct draw *draw, struct trip_each_part parts[TRIP_EACH_FIELDS]);

#endif
