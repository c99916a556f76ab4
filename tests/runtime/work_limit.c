/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots that have used up their generations, which takes 2^36 items: they are made so. */
#include <trip_test.h>

#include <errno.h>

#include <trip.h>

#include <trip_eal.h>

#include "domain/domain.h"

#define SLOTS 64

static struct trip_domain *domain;
static struct trip_cntr *trigger, *target;

static void
open_domain(void)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = 3,
		.max_works = 16};

	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	assert_int_equal(trip_cntr_open(domain, NULL, &trigger, NULL), 0);
	assert_int_equal(trip_cntr_open(domain, NULL, &target, NULL), 0);
}

/* Fills, where it has operands. */
static int
queue(struct trip_cntr *on, uint64_t threshold, bool operands)
{
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = trigger,
		.threshold = threshold,
		.op_type = operands ? TRIP_OP_CNTR_FILL : TRIP_OP_CNTR_ADD};

	work.op.cntr.cntr = on;
	work.op.cntr.value = 1;
	if (operands)
		work.op.fill.limit = 1;
	return trip_work_queue(domain, &work, NULL);
}

static void
settle(void)
{
	while (trip_progress(domain) > 0)
		;
}

/* Those that are free. */
static void
retire_free(struct trip_channel_client *channel)
{
	uint32_t slots[SLOTS];
	int n = trip_ring_peek(
		&channel->returned, trip_ring_tail(&channel->returned), slots, SLOTS);

	for (int i = 0; i < n; i++)
		atomic_store(&channel->map.state[slots[i]],
			trip_channel_word(TRIP_CHANNEL_GENERATION_MAX, TRIP_CHANNEL_FREE));
}

static void
lets_go(bool operands)
{
	uint32_t slots, takes = operands ? 2 : 1;

	open_domain();
	slots = domain->submitters[0][0].channel->map.slots;
	assert_true(slots <= SLOTS);
	/* The one that fires, and others that wait: they leave as many slots as it has. */
	assert_int_equal(queue(target, 1, operands), 0);
	for (uint32_t n = 2 * takes; n < slots; n++)
		assert_int_equal(queue(trigger, TRIP_CNTR_MAX, false), 0);
	settle();
	retire_free(domain->submitters[0][0].channel);
	assert_int_equal(trip_cntr_add(trigger, 1), 0);
	settle();
	/* In its slots, which came back behind those that are retired. */
	assert_int_equal(queue(trigger, TRIP_CNTR_MAX, operands), 0);
	/* For operands one that is retired will do. */
	assert_int_equal(queue(trigger, TRIP_CNTR_MAX, false), operands ? 0 : -EAGAIN);
	assert_int_equal(trip_cntr_close(target), 0);
	assert_int_equal(trip_work_flush(domain, NULL), 0);
	assert_int_equal(trip_cntr_close(trigger), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

static void
what_comes_back_behind_a_retired_slot_has_let_go(void **state)
{
	lets_go(false);
	lets_go(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_back_behind_a_retired_slot_has_let_go),
	};

	if (trip_eal_init(NULL) < 0) {
		printf("EAL does not start here\n");
		return TRIP_TEST_SKIP;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
