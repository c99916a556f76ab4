/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shape of a pattern: its items and their masks, without the values. Rules of one shape go into
 * one template table (template.h).
 */
#ifndef TRIP_SHAPE_H
#define TRIP_SHAPE_H

#include <stdalign.h>
#include <stdint.h>

#include <rte_flow.h>

/* mlx5 takes 16, of which one may be its own. */
#define TRIP_SHAPE_ITEMS 15
/* Of the largest item; shape.c checks. */
#define TRIP_SHAPE_BYTES 64

struct trip_shape {
	uint32_t n_items;
	uint32_t types[TRIP_SHAPE_ITEMS];
	/* All zero: any value will do. */
	alignas(8) uint8_t masks[TRIP_SHAPE_ITEMS][TRIP_SHAPE_BYTES];
};

/*
 * A pattern in normal form: VOID left out, default masks filled in, values zero where the mask is.
 * The last matters: mlx5 HWS compares the whole field, so that a bit set in the value and not in
 * the mask never matches. `items` ends with END, and points into the rest: not to be copied.
 */
struct trip_shape_pattern {
	struct rte_flow_item items[TRIP_SHAPE_ITEMS + 1];
	struct trip_shape shape;
	alignas(8) uint8_t values[TRIP_SHAPE_ITEMS][TRIP_SHAPE_BYTES];
};

/* 0, or -ENOTSUP: an item that is not known here, a range, or too many items. */
int trip_shape_of(struct trip_shape_pattern *normal, const struct rte_flow_item *pattern,
	struct rte_flow_error *error);

/* A number for the values of a pattern, not 0; two of one shape and the same number are the same.
 * (Nearly: 2^-64 of them are not, and are then refused as if they were.) */
uint64_t trip_shape_key(const struct trip_shape_pattern *normal);

#endif
