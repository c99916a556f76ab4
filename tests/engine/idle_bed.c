/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "idle_bed.h"

void
idle_step(struct bed *bed)
{
	bed->now += IDLE_STEP;
	(void)trip_home_iterate(bed->home, bed->now);
	/* It walks through all there is. */
	if (bed->now / IDLE_STEP % 16 == 0)
		bed_check(bed);
}

void
idle_go_to(struct bed *bed, uint64_t now)
{
	while (bed->now < now)
		idle_step(bed);
}

struct bed *
idle_open(void)
{
	struct bed *bed = bed_open(10);

	bed->home->scrub.period_tsc = UINT64_MAX / 2;
	bed->now = 1000;
	bed_settle(bed);
	return bed;
}

struct trip_work_desc *
idle_submit_desc(struct bed *bed, const struct idle_wanted *wanted, uint64_t *id)
{
	struct trip_channel_client *client = &bed->home->clients[wanted->channel];
	unsigned int n = wanted->limit != 0 ? 2 : 1;
	struct trip_work_desc *desc;
	uint32_t more[2];
	int slot = trip_channel_alloc_more(client, trip_channel_returned(client), more, n);

	if (slot == -EAGAIN)
		return NULL;
	assert_true(slot >= 0);
	memcpy(trip_channel_operands(client, more[0]), &wanted->time, sizeof(wanted->time));
	if (n == 2)
		memcpy(trip_channel_operands(client, more[1]), &wanted->limit,
			sizeof(wanted->limit));
	desc = trip_channel_desc(client, (uint32_t)slot);
	*desc = (struct trip_work_desc){
		.threshold = wanted->threshold,
		.interval = wanted->interval,
		.context = wanted->cntr,
		.value = 1,
		.trigger = wanted->cntr,
		.target = n == 2 ? IDLE_TARGET : 0,
		.completion = n == 2 ? TRIP_NONE : SINK,
		.op = n == 2 ? TRIP_OP_CNTR_FILL : TRIP_OP_CALL,
		.condition_kind = TRIP_CONDITION_IDLE,
		.condition = 1 + more[0],
		.operands = n == 2 ? 1 + more[1] : 0,
	};
	assert_int_equal(trip_channel_submit(client, (uint32_t)slot, id), 0);
	return desc;
}

bool
idle_submit_add(struct bed *bed, uint32_t channel)
{
	struct trip_channel_client *client = &bed->home->clients[channel];
	int slot = trip_channel_alloc(client, trip_channel_returned(client));
	uint64_t id;

	if (slot == -EAGAIN)
		return false;
	assert_true(slot >= 0);
	*trip_channel_desc(client, (uint32_t)slot) = (struct trip_work_desc){
		.value = 1,
		.trigger = IDLE_TRIGGER,
		.target = IDLE_TARGET,
		.completion = TRIP_NONE,
		.op = TRIP_OP_CNTR_ADD,
	};
	assert_int_equal(trip_channel_submit(client, (uint32_t)slot, &id), 0);
	return true;
}

uint64_t
idle_submit(struct bed *bed, const struct idle_wanted *wanted)
{
	uint64_t id;

	assert_non_null(idle_submit_desc(bed, wanted, &id));
	bed_ring_channel(bed, wanted->channel);
	return id;
}

uint64_t
idle_watch(struct bed *bed, uint64_t interval)
{
	uint64_t id = idle_submit(
		bed, &(const struct idle_wanted){
			     .cntr = IDLE_TRIGGER, .interval = interval, .time = IDLE_TIME});

	bed_settle(bed);
	return id;
}

void
idle_set(struct bed *bed, uint64_t value)
{
	bed_ring_if(bed, IDLE_TRIGGER, trip_cell_set(&bed->home->cells[IDLE_TRIGGER], value));
}

void
idle_cancel(struct bed *bed, uint32_t channel, uint64_t id)
{
	assert_int_equal(trip_channel_cancel(&bed->home->clients[channel], id), 0);
	bed_ring_channel(bed, channel);
}

void
idle_expect_all_back(struct bed *bed, uint32_t channel)
{
	struct trip_channel_client *client = &bed->home->clients[channel];

	assert_int_equal(bed->home->channels[channel].held, 0);
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_true(trip_channel_alloc(client, trip_channel_returned(client)) >= 0);
	assert_int_equal(trip_channel_alloc(client, trip_channel_returned(client)), -EAGAIN);
}

void
idle_expect_fires(struct bed *bed, uint64_t advanced)
{
	uint64_t before = bed->fired;

	idle_go_to(bed, advanced + IDLE_TIME - IDLE_STEP);
	assert_int_equal(bed->fired, before);
	while (bed->fired == before && bed->now < advanced + 2 * IDLE_TIME)
		idle_step(bed);
	assert_true(bed->now >= advanced + IDLE_TIME);
	assert_true(bed->now <= advanced + IDLE_LATEST + 4 * IDLE_STEP);
	idle_go_to(bed, bed->now + 3 * IDLE_TIME);
	assert_int_equal(bed->fired, before + 1);
}
