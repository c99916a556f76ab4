/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "condition_bed.h"
#include "condition.h"
#include "drop.h"

void
condition_step(struct bed *bed)
{
	bed->now += CONDITION_STEP;
	(void)trip_home_iterate(bed->home, bed->now);
	/* It walks through all there is. */
	if (bed->now / CONDITION_STEP % 16 == 0)
		bed_check(bed);
}

void
condition_go_to(struct bed *bed, uint64_t now)
{
	while (bed->now < now)
		condition_step(bed);
}

struct bed *
condition_open(void)
{
	struct bed *bed = bed_open(10);

	bed->home->scrub.period_tsc = UINT64_MAX / 2;
	bed->now = 1000;
	bed_settle(bed);
	return bed;
}

static void
fill_condition(const struct bed *bed, const struct condition_wanted *wanted, const uint32_t *slots,
	struct trip_work_desc *desc)
{
	struct trip_channel_client *client = &bed->home->clients[wanted->channel];
	uint64_t *parameters = trip_channel_operands(client, slots[0]);

	desc->condition = 1 + slots[0];
	desc->condition_kind = wanted->count == 0 ? TRIP_CONDITION_IDLE : TRIP_CONDITION_RATE;
	if (wanted->count == 0) {
		parameters[0] = wanted->time;
		return;
	}
	parameters[0] = wanted->count;
	parameters[1] = wanted->time;
	parameters[2] = wanted->until_count;
	parameters[3] = wanted->until_time;
	trip_condition_note_queued(
		bed->home->engine, wanted->cntr, trip_channel_operands(client, slots[1]));
	trip_channel_chain(client, &slots[1], TRIP_CHANNEL_MEMORY);
	desc->memory = 1 + slots[1];
}

struct trip_work_desc *
condition_submit_desc(struct bed *bed, const struct condition_wanted *wanted, uint64_t *id)
{
	struct trip_channel_client *client = &bed->home->clients[wanted->channel];
	unsigned int operands = wanted->limit != 0;
	unsigned int beside = operands + wanted->drops;
	unsigned int n = beside + (wanted->count == 0 ? 1 : 1 + TRIP_CHANNEL_MEMORY);
	uint32_t more[TRIP_CHANNEL_MORE];
	int slot = trip_channel_alloc_more(client, trip_channel_returned(client), more, n);
	struct trip_work_desc *desc;

	if (slot == -EAGAIN)
		return NULL;
	assert_true(slot >= 0);
	desc = trip_channel_desc(client, (uint32_t)slot);
	*desc = (struct trip_work_desc){
		.threshold = wanted->threshold,
		.interval = wanted->interval,
		.context = wanted->number * CNTRS + wanted->cntr,
		.value = !wanted->drops,
		.trigger = wanted->cntr,
		.target = operands ? CONDITION_TARGET : 0,
		.completion = operands ? TRIP_NONE : SINK,
		.op = wanted->drops ? TRIP_OP_FLOW_DROP
		      : operands    ? TRIP_OP_CNTR_FILL
				    : TRIP_OP_CALL,
		.end = wanted->drops ? 1 + more[operands] : 0,
		.operands = operands ? 1 + more[0] : 0,
		.flags = wanted->begun ? TRIP_WORK_BEGUN : 0,
	};
	if (operands)
		memcpy(trip_channel_operands(client, more[0]), &wanted->limit,
			sizeof(wanted->limit));
	fill_condition(bed, wanted, &more[beside], desc);
	assert_int_equal(trip_channel_submit(client, (uint32_t)slot, id), 0);
	return desc;
}

bool
condition_submit_add(struct bed *bed, uint32_t channel)
{
	struct trip_channel_client *client = &bed->home->clients[channel];
	int slot = trip_channel_alloc(client, trip_channel_returned(client));
	uint64_t id;

	if (slot == -EAGAIN)
		return false;
	assert_true(slot >= 0);
	*trip_channel_desc(client, (uint32_t)slot) = (struct trip_work_desc){
		.value = 1,
		.trigger = CONDITION_TRIGGER,
		.target = CONDITION_TARGET,
		.completion = TRIP_NONE,
		.op = TRIP_OP_CNTR_ADD,
	};
	assert_int_equal(trip_channel_submit(client, (uint32_t)slot, &id), 0);
	return true;
}

uint64_t
condition_submit(struct bed *bed, const struct condition_wanted *wanted)
{
	uint64_t id;

	assert_non_null(condition_submit_desc(bed, wanted, &id));
	bed_ring_channel(bed, wanted->channel);
	return id;
}

void
condition_link_flow(struct bed *bed, bool hard)
{
	bed->flow.cntr[0] = CONDITION_FED;
	atomic_store(&bed->flow.hard, hard ? 1 : 0);
	atomic_store(&bed->flow.fresh_tsc, bed->now);
	bed->home->fed.period_tsc = UINT64_C(1) << 40;
	trip_source_link(bed->home, 0);
}

bool
condition_count(struct bed *bed, uint32_t packets)
{
	bool reached;

	trip_count_add(&bed->read->count, packets, 64 * packets);
	trip_count_fence();
	reached = (trip_count_reached(&bed->read->count) & TRIP_COUNT_PACKETS) != 0;
	bed_ring_if(bed, CONDITION_FED, reached);
	return reached;
}

uint64_t
idle_watch(struct bed *bed, uint64_t interval)
{
	uint64_t id = condition_submit(
		bed, &(const struct condition_wanted){
			     .cntr = CONDITION_TRIGGER, .interval = interval, .time = IDLE_TIME});

	bed_settle(bed);
	return id;
}

void
rate_watch(struct bed *bed, uint64_t threshold, uint64_t count, uint64_t interval)
{
	condition_submit(bed, &(const struct condition_wanted){.cntr = CONDITION_TRIGGER,
				      .threshold = threshold,
				      .count = count,
				      .time = RATE_TIME,
				      .interval = interval});
	bed_settle(bed);
}

void
rate_expect_fired_behind(struct bed *bed, uint64_t count, uint64_t fired)
{
	bed_add(bed, CONDITION_TRIGGER, count);
	condition_step(bed);
	condition_step(bed);
	assert_int_equal(bed->fired, fired);
}

void
condition_set(struct bed *bed, uint64_t value)
{
	bed_ring_if(
		bed, CONDITION_TRIGGER, trip_cell_set(&bed->home->cells[CONDITION_TRIGGER], value));
}

void
condition_set_error(struct bed *bed, uint64_t value)
{
	bed_ring_if(bed, CONDITION_TRIGGER,
		trip_cell_seterr(&bed->home->cells[CONDITION_TRIGGER], value));
}

void
condition_add_error(struct bed *bed, uint64_t value)
{
	bed_ring_if(bed, CONDITION_TRIGGER,
		trip_cell_adderr(&bed->home->cells[CONDITION_TRIGGER], value));
}

void
condition_cancel(struct bed *bed, uint32_t channel, uint64_t id)
{
	assert_int_equal(trip_channel_cancel(&bed->home->clients[channel], id), 0);
	bed_ring_channel(bed, channel);
}

void
condition_expect_none(struct bed *bed)
{
	assert_int_equal(atomic_load(&bed->home->stats.pending), 0);
	bed_settle(bed);
	assert_int_equal(bed->home->cntrs[CONDITION_TRIGGER].conditions, TRIP_NONE);
	assert_int_equal(bed->home->looks, TRIP_NONE);
}

void
condition_expect_dropped(struct bed *bed, uint32_t cntr, uint64_t errors, uint64_t time)
{
	trip_drop_ask(bed->home, 0);
	bed->home->budget = 4;
	while (!trip_drop_done(bed->home, 0))
		condition_step(bed);
	bed->home->budget = 256;
	assert_int_equal(trip_cell_error(&bed->home->cells[cntr]), errors);
	assert_int_equal(trip_drop_garbage(bed->home, 0), 0);
	condition_expect_none(bed);
	condition_go_to(bed, bed->now + time);
	condition_expect_none(bed);
	assert_true(bed->home->clock_tsc == UINT64_MAX);
	condition_expect_all_back(bed, CONDITION_CLIENT);
}

void
condition_expect_all_back(struct bed *bed, uint32_t channel)
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

	condition_go_to(bed, advanced + IDLE_TIME - CONDITION_STEP);
	assert_int_equal(bed->fired, before);
	while (bed->fired == before && bed->now < advanced + 2 * IDLE_TIME)
		condition_step(bed);
	assert_true(bed->now >= advanced + IDLE_TIME);
	assert_true(bed->now <= advanced + IDLE_LATEST + 4 * CONDITION_STEP);
	condition_go_to(bed, bed->now + 3 * IDLE_TIME);
	assert_int_equal(bed->fired, before + 1);
}
