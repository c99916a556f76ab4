/* SPDX-License-Identifier: BSD-3-Clause */
/* Random rules for live_random.c: of the model, and in words. Where live_hard is set, such as a
 * device can count. */
#ifndef TRIP_LIVE_DRAW_H
#define TRIP_LIVE_DRAW_H

#include <stdio.h>

#include "live_model.h"
#include "trip_test.h"

/* Rules are about these, from 0 on. */
#define LIVE_DRAW_PORTS 16

extern struct trip_random live_draw_random;

unsigned int live_draw_below(unsigned int n);

/* New ones, and mostly those that are there, in their order or another one. How many. */
unsigned int live_draw_rules(struct model *model, struct model_rule *rules);

/* A rule's `count`; what waits for it. */
void live_draw_write_count(FILE *file, const struct model_rule *rule);
void live_draw_write_when(FILE *file, const struct model_rule *rule);

#endif
