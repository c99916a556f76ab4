/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "lasting_bed.h"

struct scene *
scene_open(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->bed = bed_open(10);
	scene->bed->home->scrub.period_tsc = UINT64_MAX / 2;
	scene->bed->engine.actions = &scene->action;
	scene->bed->engine.police = &scene->police;
	scene->bed->engine.n_police = 1;
	atomic_store(&trip_engine_change(&scene->bed->engine, 0)->own_police, 1);
	atomic_store(&scene->action, TRIP_ACTION_ACTIVE);
	bed_settle(scene->bed);
	return scene;
}

void
scene_close(struct scene *scene)
{
	assert_int_equal(atomic_load(&scene->bed->home->stats.pending), 0);
	bed_close(scene->bed);
	free(scene);
}

void
scene_go_to(struct scene *scene, uint64_t now)
{
	scene->bed->now = now;
	bed_settle(scene->bed);
}

struct trip_work_desc *
scene_submit_desc(
	struct scene *scene, uint32_t channel, enum trip_op op, uint64_t time, uint64_t *id)
{
	struct trip_channel_client *client = &scene->bed->home->clients[channel];
	struct trip_work_desc *desc;
	uint32_t end = TRIP_NONE;
	int slot = time != 0
			   ? trip_channel_alloc_more(client, trip_channel_returned(client), &end, 1)
			   : trip_channel_alloc(client, trip_channel_returned(client));

	if (slot == -EAGAIN)
		return NULL;
	assert_true(slot >= 0);
	desc = trip_channel_desc(client, (uint32_t)slot);
	*desc = (struct trip_work_desc){
		.threshold = 1,
		.value = time,
		.context = 7,
		.trigger = TRIGGER,
		.completion = OTHER,
		.op = (uint8_t)op,
		.end = 1 + end,
	};
	assert_int_equal(trip_channel_submit(client, (uint32_t)slot, id), 0);
	bed_ring_channel(scene->bed, channel);
	return desc;
}

uint64_t
scene_submit(
	struct scene *scene, uint32_t channel, uint64_t threshold, uint64_t interval, uint64_t time)
{
	uint64_t id;
	struct trip_work_desc *desc =
		scene_submit_desc(scene, channel, TRIP_OP_FLOW_DROP, time, &id);

	assert_non_null(desc);
	desc->threshold = threshold;
	desc->interval = interval;
	desc->flags = TRIP_WORK_COMPLETION;
	bed_settle(scene->bed);
	return id;
}

void
scene_operate(struct scene *scene, enum trip_op op)
{
	uint64_t id;

	scene_submit_desc(scene, OWN, op, 0, &id)->threshold = 0;
	bed_settle(scene->bed);
}

void
scene_add(struct scene *scene, uint64_t n)
{
	bed_add(scene->bed, TRIGGER, n);
	bed_settle(scene->bed);
}

void
scene_cancel(struct scene *scene, uint32_t channel, uint64_t id)
{
	assert_int_equal(trip_channel_cancel(&scene->bed->home->clients[channel], id), 0);
	bed_ring_channel(scene->bed, channel);
	bed_settle(scene->bed);
}

void
scene_expect_all_back(struct scene *scene, uint32_t channel)
{
	struct trip_channel_client *client = &scene->bed->home->clients[channel];

	assert_int_equal(scene->bed->home->channels[channel].held, 0);
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_true(trip_channel_alloc(client, trip_channel_returned(client)) >= 0);
	assert_int_equal(trip_channel_alloc(client, trip_channel_returned(client)), -EAGAIN);
}
