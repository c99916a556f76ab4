/* SPDX-License-Identifier: BSD-3-Clause */
/* RATE: how its items end, and which never begin. */
#include "condition_bed.h"

/* Not accepted, before its threshold, resting, counting, when it has fired, and with both its sum
 * and its alarm on their way. */
#define PHASES 6

static void
bring_to(struct bed *bed, unsigned int phase)
{
	if (phase == 0)
		return;
	bed_settle(bed);
	if (phase >= 2)
		bed_add(bed, CONDITION_TRIGGER, 1);
	if (phase >= 2)
		condition_go_to(bed, bed->now + RATE_TIME / 20);
	if (phase >= 3)
		bed_add(bed, CONDITION_TRIGGER, 3);
	if (phase >= 3)
		condition_go_to(bed, bed->now + 2 * CONDITION_STEP);
	if (phase == 4)
		bed_add(bed, CONDITION_TRIGGER, 9);
	if (phase == 4)
		condition_go_to(bed, bed->now + 2 * CONDITION_STEP);
	if (phase == 5) {
		bed->now += RATE_TIME;
		(void)trip_home_iterate(bed->home, bed->now);
		bed_add(bed, CONDITION_TRIGGER, 9);
	}
}

/* Each phase comes without operands, then with; every other item has an until. */
static struct condition_wanted
wanted_of(uint32_t channel, unsigned int i)
{
	return (struct condition_wanted){.channel = channel,
		.cntr = CONDITION_TRIGGER,
		.threshold = 1,
		.interval = 1,
		.count = 5,
		.time = RATE_TIME,
		.until_count = i % 2,
		.until_time = i % 2 * RATE_TIME,
		.limit = i < PHASES ? 0 : 9};
}

static void
it_is_canceled_at_any_time(void **state)
{
	for (unsigned int i = 0; i < 2 * PHASES; i++) {
		const struct condition_wanted wanted = wanted_of(CONDITION_OWN, i);
		struct bed *bed = condition_open();
		uint64_t id = condition_submit(bed, &wanted), fired;

		bring_to(bed, i % PHASES);
		fired = bed->fired + trip_cell_success(&bed->home->cells[CONDITION_TARGET]);
		assert_int_equal(fired, i % PHASES == 4);
		condition_cancel(bed, CONDITION_OWN, id);
		bed_settle(bed);
		bed_add(bed, CONDITION_TRIGGER, 9);
		condition_go_to(bed, bed->now + 3 * RATE_TIME);
		condition_expect_none(bed);
		assert_true(bed->home->clock_tsc == UINT64_MAX);
		assert_int_equal(
			bed->fired + trip_cell_success(&bed->home->cells[CONDITION_TARGET]), fired);
		condition_expect_all_back(bed, CONDITION_OWN);
		bed_close(bed);
	}
}

/* Its process is gone: the counter that it would have changed, or completed on, says so. */
static void
a_dropped_client_leaves_none(void **state)
{
	for (unsigned int i = 0; i < 2 * PHASES; i++) {
		const struct condition_wanted wanted = wanted_of(CONDITION_CLIENT, i);
		struct bed *bed = condition_open();

		for (unsigned int n = 0; n < 5; n++)
			condition_submit(bed, &wanted);
		bring_to(bed, i % PHASES);
		condition_expect_dropped(
			bed, i < PHASES ? SINK : CONDITION_TARGET, 5, 3 * RATE_TIME);
		bed_close(bed);
	}
}

/* No correct client submits these: what it remembers in is cut short, a circle, somebody else's. */
static void
what_is_wrong_is_refused(void **state)
{
	const struct condition_wanted wanted = {.channel = CONDITION_CLIENT,
		.cntr = CONDITION_TRIGGER,
		.count = 5,
		.time = RATE_TIME};
	struct bed *bed = condition_open();
	struct trip_channel_home *channel = &bed->home->channels[CONDITION_CLIENT];
	struct trip_channel_client *client = &bed->home->clients[CONDITION_CLIENT];
	struct trip_work_desc *good;
	uint64_t id, *parameters;
	uint32_t held;

	good = condition_submit_desc(bed, &wanted, &id);
	bed_ring_channel(bed, CONDITION_CLIENT);
	bed_settle(bed);
	held = channel->held;
	for (unsigned int i = 0; i < 8; i++) {
		struct trip_work_desc *bad = condition_submit_desc(bed, &wanted, &id), *third;

		third = trip_channel_desc(
			client, trip_channel_desc(client, bad->memory - 1)->memory - 1);
		parameters = trip_channel_operands(client, bad->condition - 1);
		switch (i) {
		case 0:
			bad->memory = 0;
			break;
		case 1:
			bad->memory = UINT32_MAX;
			break;
		case 2:
			third->memory = 0;
			break;
		case 3:
			third->memory = bad->memory;
			break;
		case 4:
			third->memory = good->memory;
			break;
		case 5:
			third->memory = bad->condition;
			break;
		case 6:
			parameters[0] = 0;
			break;
		case 7:
			bad->interval = 2;
			break;
		}
		bed_ring_channel(bed, CONDITION_CLIENT);
		bed_settle(bed);
		assert_int_equal(atomic_load(&bed->home->stats.refused), i + 1);
		assert_int_equal(channel->held, held);
	}
	bed_add(bed, CONDITION_TRIGGER, 5);
	bed_settle(bed);
	assert_int_equal(bed->fired, 1);
	assert_int_equal(channel->held, 0);
	bed_close(bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_canceled_at_any_time),
		cmocka_unit_test(a_dropped_client_leaves_none),
		cmocka_unit_test(what_is_wrong_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
