/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whoever changes something and rings for it, by the code as it is: the consumer that answers finds
 * the change, or the bell stays rung. From each state that a bell may be in: it is silent, it was
 * rung before by others, or one was killed between leaf and summary.
 *
 * The worker is included for what is its own.
 */
#include "../../lcore/hard/worker.c"

#include <string.h>

#include "accept.h"
#include "home.h"
#include "source.h"
#include "trip_test.h"
#include "weak.h"

#define CNTRS 8

enum before {
	BEFORE_SILENT,
	BEFORE_KILLED,
	BEFORE_RUNG,
	BEFORES,
};

/* A ringer's story. */
struct story {
	unsigned int bell;
	/* It changes and rings; the home takes the bell and looks; has it seen? */
	void (*ringer)(void *arg);
	void (*look)(void);
	bool (*saw)(void);
	enum before before;
};

static struct {
	struct trip_engine engine;
	struct trip_home *home;
	void *memory;
	struct trip_hard hard;
	struct trip_errand_ring ring;
	struct trip_errand errand;
	struct trip_flow_slot flow;
	struct trip_flow_feed feed;
	struct trip_count_folded folded;
	struct trip_flow_read *read;
	_Atomic uint32_t word;
	uint32_t seen;
} bed;

static const struct trip_home_shape shape = {.n_cntrs = CNTRS,
	.n_waiters = 4,
	.n_channels = 2,
	.n_slots = 4,
	.n_handler_slots = 4,
	.n_events = 4};

static void
open_flow(void)
{
	memset(&bed.flow, 0, sizeof(bed.flow));
	memset(bed.read, 0, sizeof(*bed.read));
	memset(&bed.folded, 0, sizeof(bed.folded));
	bed.flow.n_queues = 1;
	bed.flow.cntr[1] = TRIP_NONE;
	atomic_init(&bed.feed.cntr[0], 0);
	atomic_init(&bed.feed.cntr[1], TRIP_NONE);
	trip_count_init(&bed.read->count);
	trip_source_link(bed.home, 0);
}

static void
open_port(void)
{
	bed.errand = (struct trip_errand){.completion = TRIP_NONE};
	trip_errand_init(&bed.ring, &bed.errand, 1);
	bed.hard.engine = &bed.engine;
	bed.hard.desk.rings = &bed.ring;
	atomic_init(&bed.engine.desks[0], &bed.hard.desk);
	(void)trip_errand_next(&bed.ring);
	trip_errand_send(&bed.ring);
}

static void
begin(void *arg)
{
	const struct story *story = arg;
	struct trip_doorbell_section *section;

	if (bed.home != NULL)
		trip_home_fini(bed.home);
	bed.engine = (struct trip_engine){.n_homes = 1,
		.cntrs_per_home = CNTRS,
		.waiters_per_home = shape.n_waiters,
		.n_flows = 1,
		.flows = &bed.flow,
		.feeds = &bed.feed,
		.reads = bed.read,
		.folded = &bed.folded,
		.tsc_hz = 1000000000};
	bed.home = trip_home_init(bed.memory, &bed.engine, 0, &shape);
	bed.engine.homes[0] = bed.home;
	bed.word = bed.seen = 0;
	open_flow();
	open_port();
	section = &bed.home->doorbell.section[story->bell];
	memset(bed.home->doorbell.summary, 0, sizeof(uint64_t) * TRIP_DOORBELL_WORDS);
	for (unsigned int i = 0; i < TRIP_BELLS; i++)
		if (bed.home->doorbell.section[i].leaf != NULL)
			atomic_init(&bed.home->doorbell.section[i].leaf[0], 0);
	if (story->before != BEFORE_SILENT)
		atomic_init(&section->leaf[0], 1);
	if (story->before == BEFORE_RUNG)
		atomic_init(&bed.home->doorbell.summary[section->first], 1);
}

/* What it does each time that it comes by. */
static void
home(void *arg)
{
	const struct story *story = arg;

	story->look();
}

/* Rung so that the home sees it. */
static bool
is_rung(const struct story *story)
{
	const struct trip_doorbell_section *section = &bed.home->doorbell.section[story->bell];

	return (atomic_load(&section->leaf[0]) & 1) != 0 &&
	       (atomic_load(&bed.home->doorbell.summary[section->first]) & 1) != 0;
}

static bool
holds(void *arg)
{
	const struct story *story = arg;

	return is_rung(story) || story->saw();
}

static void
expect(struct story story)
{
	for (story.before = 0; story.before < BEFORES; story.before++) {
		const struct trip_weak weak = {.begin = begin,
			.threads = {story.ringer, home},
			.holds = holds,
			.arg = &story};

		assert_true(trip_weak_holds(&weak));
	}
}

/* --- the bell by itself --- */

static void
store_and_ring(void *arg)
{
	atomic_store_explicit(&bed.word, 1, memory_order_release);
	trip_doorbell_ring(&bed.home->doorbell, TRIP_BELL_CNTR, 0);
}

static void
take_and_load(void)
{
	uint32_t index;

	if (trip_doorbell_take(&bed.home->doorbell, TRIP_BELL_CNTR, &index, 1) > 0)
		bed.seen = atomic_load(&bed.word);
}

static bool
has_seen(void)
{
	return bed.seen == 1;
}

static void
weak_store_is_seen(void **state)
{
	expect((struct story){.bell = TRIP_BELL_CNTR,
		.ringer = store_and_ring,
		.look = take_and_load,
		.saw = has_seen});
}

/* --- an errand that is done --- */

static void
worker(void *arg)
{
	settle_errand(&bed.hard, 0, &bed.errand, 0);
}

static void
settle_errands(void)
{
	(void)trip_fire_settle(bed.home);
}

static bool
is_settled(void)
{
	return trip_errand_settled(&bed.ring, 1);
}

static void
weak_errand_is_settled(void **state)
{
	expect((struct story){.bell = TRIP_BELL_HARD,
		.ringer = worker,
		.look = settle_errands,
		.saw = is_settled});
}

/* --- a work item --- */

static void
client(void *arg)
{
	struct trip_channel_client *channel = &bed.home->clients[0];
	uint64_t id;

	(void)trip_channel_submit(channel, 0, &id);
	trip_doorbell_ring(&bed.home->doorbell, TRIP_BELL_CHANNEL, 0);
}

static void
begin_sweep_of_channels(void)
{
	trip_accept_begin(bed.home);
}

static bool
is_swept(void)
{
	return !trip_accept_done(bed.home);
}

static void
weak_item_is_accepted(void **state)
{
	expect((struct story){.bell = TRIP_BELL_CHANNEL,
		.ringer = client,
		.look = begin_sweep_of_channels,
		.saw = is_swept});
}

/* --- a flow that has ended --- */

static void
loser(void *arg)
{
	trip_source_fail(&bed.engine, 0);
}

static void
fold(void)
{
	uint32_t index;

	if (trip_doorbell_take(&bed.home->doorbell, TRIP_BELL_CNTR, &index, 1) > 0)
		(void)trip_source_fold(bed.home, index);
}

static bool
is_told(void)
{
	return trip_cell_error(&bed.home->cells[0]) == 1;
}

static void
weak_end_of_a_flow_is_told(void **state)
{
	expect((struct story){
		.bell = TRIP_BELL_CNTR, .ringer = loser, .look = fold, .saw = is_told});
}

/* --- a counter that reaches what it is armed for --- */

static void
adder(void *arg)
{
	if (trip_cell_add(&bed.home->cells[0], 1))
		trip_due_ring(&bed.engine, 0);
}

static void
arm(void)
{
	bed.seen = trip_cell_arm(&bed.home->cells[0], 1, true);
}

static void
weak_add_is_noticed(void **state)
{
	expect((struct story){
		.bell = TRIP_BELL_CNTR, .ringer = adder, .look = arm, .saw = has_seen});
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weak_store_is_seen),
		cmocka_unit_test(weak_errand_is_settled),
		cmocka_unit_test(weak_item_is_accepted),
		cmocka_unit_test(weak_end_of_a_flow_is_told),
		cmocka_unit_test(weak_add_is_noticed),
	};

	bed.memory = aligned_alloc(64, trip_home_size(&shape));
	bed.read = aligned_alloc(64, RTE_ALIGN(sizeof(*bed.read), 64));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
