/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client that lowers and raises a counter with a million pending items, again and again, and
 * queues a few more each time: no iteration of the home takes long, and every item fires when it is
 * due. The longest iteration is printed; what one call of the pending set may do at most is
 * asserted by tests/property/pending_limits.c.
 */
#include <trip_test.h>

#include <inttypes.h>

#include <trip.h>
#include <trip_eal.h>

#define PENDING 1000000
#define ROUNDS 2000
#define FEW 8
#define HIGH (UINT64_C(1) << 40)

static struct trip_domain *domain;
static struct trip_cntr *trigger, *target;

static void
queue(uint64_t threshold)
{
	struct trip_work work = {
		.size = sizeof(work),
		.triggering_cntr = trigger,
		.threshold = threshold,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.cntr = target, .value = 1},
	};

	assert_int_equal(trip_work_queue(domain, &work, NULL), 0);
}

static uint64_t
settle(void)
{
	struct trip_domain_stats stats;

	while (trip_progress(domain) > 0)
		;
	trip_domain_stats_read(domain, &stats);
	return stats.longest_iteration_ns;
}

/* Raised to `top`, FEW items below that fire; none of the million, which lie above. */
static void
lower_and_raise(struct trip_random *rnd, uint64_t *fired)
{
	uint64_t top = 1 + trip_random_below(rnd, HIGH - 1);

	assert_int_equal(trip_cntr_set(trigger, trip_random_below(rnd, 2)), 0);
	for (unsigned int i = 0; i < FEW; i++)
		queue(1 + trip_random_below(rnd, top));
	if (trip_random_below(rnd, 2) == 0)
		settle();
	assert_int_equal(trip_cntr_set(trigger, top), 0);
	settle();
	*fired += FEW;
	assert_int_equal(trip_cntr_read(target), *fired);
}

static void
work_13_lower_and_raise(void **state)
{
	struct trip_domain_attr attr = {
		.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_works = PENDING + 64,
	};
	struct trip_random rnd = {.state = trip_test_seed("lowering")};
	uint64_t fired = 0, filling, longest;

	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	assert_int_equal(trip_cntr_open(domain, NULL, &trigger, NULL), 0);
	assert_int_equal(trip_cntr_open(domain, NULL, &target, NULL), 0);
	for (unsigned int i = 0; i < PENDING; i++)
		queue(HIGH + trip_random_below(&rnd, HIGH));
	filling = settle();
	for (uint64_t i = 0; i < trip_test_rounds(ROUNDS); i++)
		lower_and_raise(&rnd, &fired);
	longest = settle();
	printf("longest iteration: %" PRIu64 " us while %d items were accepted, %" PRIu64
	       " us over all, at a budget of 256\n",
		filling / 1000, PENDING, longest / 1000);
	assert_int_equal(trip_cntr_set(trigger, 2 * HIGH), 0);
	settle();
	assert_int_equal(trip_cntr_read(target), fired + PENDING);
	assert_int_equal(trip_cntr_close(trigger), 0);
	assert_int_equal(trip_cntr_close(target), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_13_lower_and_raise),
	};

	if (trip_eal_init(NULL) < 0)
		return TRIP_TEST_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
