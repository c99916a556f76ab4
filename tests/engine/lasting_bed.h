/* SPDX-License-Identifier: BSD-3-Clause */
/* A flow, a counter that triggers what is done to it, and a home that is driven by hand on a clock
 * of the test's own. */
#ifndef TRIP_LASTING_BED_H
#define TRIP_LASTING_BED_H

#include "home_bed.h"
#include "soft.h"

/* Channels: this process's, and the first client's. */
#define OWN 0
#define CLIENT 3
#define TRIGGER 0
/* Where operations are completed that are not drops. */
#define OTHER 1
#define TIME 5000

struct scene {
	struct bed *bed;
	_Atomic uint8_t action;
	struct trip_police police;
};

struct scene *scene_open(void);
/* Nothing is pending. */
void scene_close(struct scene *scene);
void scene_go_to(struct scene *scene, uint64_t now);

/* Of an operation on the flow; not rung for. NULL: there is no slot left. */
struct trip_work_desc *scene_submit_desc(
	struct scene *scene, uint32_t channel, enum trip_op op, uint64_t time, uint64_t *id);
/* A drop, accepted; its id. */
uint64_t scene_submit(struct scene *scene, uint32_t channel, uint64_t threshold, uint64_t interval,
	uint64_t time);
/* At once. */
void scene_operate(struct scene *scene, enum trip_op op);
void scene_add(struct scene *scene, uint64_t n);
void scene_cancel(struct scene *scene, uint32_t channel, uint64_t id);
/* All slots of the channel can be had. */
void scene_expect_all_back(struct scene *scene, uint32_t channel);

#endif
