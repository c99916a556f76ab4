/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "home_bed.h"

/* The context of an item is its counter, and behind that a number. */
static int
note(const struct trip_work_event *event, void *arg)
{
	struct bed *bed = arg;
	struct log *log = &bed->logs[event->context % CNTRS];

	assert_true(log->n < LOG);
	log->fired[log->n].context = event->context;
	log->fired[log->n].threshold = event->threshold;
	log->fired[log->n].value = event->value;
	log->fired[log->n].latency = event->latency_ns;
	log->fired[log->n++].count = event->count;
	bed->fired++;
	bed->now += bed->takes;
	return 0;
}

static uint64_t
now_of(struct trip_home *home)
{
	const struct bed *bed = home->engine->functions[0].arg;

	return bed->now;
}

struct bed *
bed_open(uint8_t hot_log2)
{
	static const struct trip_home_shape shape = {.n_cntrs = CNTRS,
		.n_waiters = WAITERS,
		.n_channels = 3 + 2 * CLIENTS,
		.n_clients = CLIENTS,
		.n_threads = 1,
		.n_slots = SLOTS,
		.n_handler_slots = SLOTS,
		.n_client_slots = SLOTS,
		.n_thread_slots = THREAD_SLOTS,
		.n_events = SLOTS};
	struct bed *bed = calloc(1, sizeof(*bed));

	assert_non_null(bed);
	bed->read = aligned_alloc(64, RTE_ALIGN(sizeof(*bed->read), 64));
	assert_non_null(bed->read);
	memset(bed->read, 0, sizeof(*bed->read));
	bed->flow.n_queues = 1;
	bed->flow.cntr[1] = TRIP_NONE;
	bed->engine = (struct trip_engine){.n_homes = 1,
		.cntrs_per_home = CNTRS,
		.waiters_per_home = WAITERS,
		.n_flows = 1,
		.flows = &bed->flow,
		.changed = &bed->changed,
		.reads = bed->read,
		.folded = &bed->folded,
		.functions = &bed->function,
		.n_functions = 1,
		.tsc_hz = 1000000000};
	bed->function.arg = bed;
	atomic_init(&bed->function.function, note);
	bed->memory = aligned_alloc(64, trip_home_size(&shape));
	assert_non_null(bed->memory);
	bed->home = trip_home_init(bed->memory, &bed->engine, 0, &shape);
	assert_non_null(bed->home);
	bed->engine.homes[0] = bed->home;
	bed->home->budget = 256;
	bed->home->hot.log2 = hot_log2;
	bed->home->scrub.period_tsc = TICK / 4;
	bed->home->clock = now_of;
	/* Long after a counter fired that never has. */
	bed->now = 100 * TICK;
	return bed;
}

static void
report(void *arg, const char *sentence)
{
	fail_msg("%s", sentence);
}

void
bed_check(struct bed *bed)
{
	assert_int_equal(trip_home_check(bed->home, report, NULL), 0);
}

void
bed_settle(struct bed *bed)
{
	while (trip_home_iterate(bed->home, bed->now) > 0)
		;
	bed_check(bed);
}

void
bed_close(struct bed *bed)
{
	bed_settle(bed);
	assert_int_equal(atomic_load(&bed->home->stats.scrub_repairs), bed->repairs);
	trip_home_fini(bed->home);
	free(bed->memory);
	free(bed->read);
	free(bed);
}

uint64_t
bed_submit_by(struct bed *bed, uint32_t channel, uint32_t cntr, uint64_t threshold,
	uint64_t interval, uint64_t number)
{
	struct trip_channel_client *client = &bed->home->clients[channel];
	int slot = trip_channel_alloc(client, trip_channel_returned(client));
	uint64_t id;

	if (slot == -EAGAIN)
		return TRIP_WORK_NONE;
	assert_true(slot >= 0);
	*trip_channel_desc(client, (uint32_t)slot) = (struct trip_work_desc){
		.threshold = threshold,
		.interval = interval,
		.context = number * CNTRS + cntr,
		.trigger = cntr,
		.completion = SINK,
		.op = TRIP_OP_CALL,
	};
	assert_int_equal(trip_channel_submit(client, (uint32_t)slot, &id), 0);
	return id;
}

void
bed_ring_channel(struct bed *bed, uint32_t channel)
{
	trip_doorbell_ring(&bed->home->doorbell, TRIP_BELL_CHANNEL, channel);
}

uint64_t
bed_submit(struct bed *bed, uint32_t cntr, uint64_t threshold, uint64_t interval, uint64_t number)
{
	uint64_t id = bed_submit_by(bed, 0, cntr, threshold, interval, number);

	assert_true(id != TRIP_WORK_NONE);
	bed_ring_channel(bed, 0);
	return id;
}

void
bed_ring_if(struct bed *bed, uint32_t cntr, bool ring)
{
	if (ring)
		trip_doorbell_ring(&bed->home->doorbell, TRIP_BELL_CNTR, cntr);
}

bool
bed_add(struct bed *bed, uint32_t cntr, uint64_t value)
{
	bool ring = trip_cell_add(&bed->home->cells[cntr], value);

	bed_ring_if(bed, cntr, ring);
	return ring;
}
