/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client that lowers and raises a counter with a million pending items, again and again, and
 * queues a few more each time; and one that lowers it while a crowd of items is firing, queues
 * another crowd, and cancels that from its end. No iteration of the home does more than with a
 * thousand items, and every item fires when it is due.
 *
 * Steps, which are counted, decide: items that the pending set moved or looked at in one iteration.
 * What nobody counts is bounded by the processor time of the iteration, far above what it takes.
 * Both are printed.
 */
#include <trip_test.h>

#include <inttypes.h>

#include <trip.h>
#include <trip_eal.h>

#include "domain/domain.h"

#define ROUNDS 2000
#define FEW 8
#define HIGH (UINT64_C(1) << 40)
#define CROWD 100000
#define BUDGET 256
/* In one iteration, which accepts, cancels and fires a budget of items each, whatever is pending.
 */
#define STEPS_MAX (UINT64_C(128) * BUDGET)
#define CPU_MAX_NS 100000000

static struct trip_domain *domain;
static struct trip_cntr *trigger, *target;

/* Of any iteration. */
static struct longest {
	uint64_t steps, cpu_ns;
	unsigned int items;
} longest;

static uint64_t
queue(uint64_t threshold)
{
	struct trip_work work = {
		.size = sizeof(work),
		.triggering_cntr = trigger,
		.threshold = threshold,
		.op_type = TRIP_OP_CNTR_ADD,
		.op.cntr = {.cntr = target, .value = 1},
	};
	uint64_t id;

	assert_int_equal(trip_work_queue(domain, &work, &id), 0);
	return id;
}

static uint64_t
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static unsigned int
iterate(void)
{
	const struct trip_pending_pool *pool = &domain->engine.homes[0]->pool;
	uint64_t steps = pool->steps, cpu = cpu_ns();
	int items = trip_progress(domain);

	assert_true(items >= 0);
	cpu = cpu_ns() - cpu;
	steps = pool->steps - steps;
	longest.items = RTE_MAX(longest.items, (unsigned int)items);
	longest.steps = RTE_MAX(longest.steps, steps);
	longest.cpu_ns = RTE_MAX(longest.cpu_ns, cpu);
	return (unsigned int)items;
}

static void
settle(void)
{
	while (iterate() > 0)
		;
}

static void
tell(const char *what, uint32_t pending)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	trip_domain_stats_read(domain, &stats);
	printf("%s, %" PRIu32 " items: longest iteration %u items, %" PRIu64
	       " steps (of at most %" PRIu64 "), %" PRIu64 " us of processor time, %" PRIu64
	       " us in all\n",
		what, pending, longest.items, longest.steps, STEPS_MAX, longest.cpu_ns / 1000,
		stats.longest_iteration_ns / 1000);
	fflush(stdout);
	assert_true(longest.steps <= STEPS_MAX);
	assert_true(longest.cpu_ns <= CPU_MAX_NS);
}

static void
open_domain(uint32_t works)
{
	struct trip_domain_attr attr = {
		.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_works = works,
	};

	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	assert_int_equal(trip_cntr_open(domain, NULL, &trigger, NULL), 0);
	assert_int_equal(trip_cntr_open(domain, NULL, &target, NULL), 0);
	longest = (struct longest){0};
}

static void
close_domain(void)
{
	assert_int_equal(trip_domain_check(domain, stdout), 0);
	assert_int_equal(trip_cntr_close(trigger), 0);
	assert_int_equal(trip_cntr_close(target), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

/* Raised to `top`, FEW items below that fire; none of the others, which lie above. */
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
lower_and_raise_with(uint32_t pending, uint64_t seed)
{
	struct trip_random rnd = {.state = seed};
	uint64_t fired = 0;

	open_domain(pending + 64);
	for (uint32_t i = 0; i < pending; i++)
		queue(HIGH + trip_random_below(&rnd, HIGH));
	settle();
	tell("accepted", pending);
	for (uint64_t i = 0; i < trip_test_rounds(ROUNDS); i++)
		lower_and_raise(&rnd, &fired);
	tell("lowered and raised", pending);
	assert_int_equal(trip_cntr_set(trigger, 2 * HIGH), 0);
	settle();
	tell("fired", pending);
	assert_int_equal(trip_cntr_read(target), fired + pending);
	close_domain();
}

static void
work_13_lower_and_raise(void **state)
{
	uint64_t seed = trip_test_seed("lowering");

	lower_and_raise_with(1000, seed);
	lower_and_raise_with(1000000, seed);
}

/* Above the counter, which is low. */
static void
queue_crowd(struct trip_random *rnd, uint64_t *ids)
{
	assert_int_equal(trip_cntr_set(trigger, 0), 0);
	for (uint32_t i = 0; i < CROWD; i++)
		ids[i] = queue(1 + trip_random_below(rnd, CROWD));
}

/* What is accepted below the sample that is firing waits for its end, and meanwhile is canceled. */
static void
work_12_lower_while_firing(void **state)
{
	struct trip_random rnd = {.state = trip_test_seed("lowering while firing")};
	uint64_t *ids = calloc(CROWD, sizeof(*ids)), canceled = 0;

	assert_non_null(ids);
	open_domain(2 * CROWD);
	/* Slots come back in the order of firing: from now on they have none. */
	for (unsigned int i = 0; i < 2; i++) {
		queue_crowd(&rnd, ids);
		settle();
		assert_int_equal(trip_cntr_set(trigger, CROWD), 0);
		settle();
	}
	queue_crowd(&rnd, ids);
	settle();
	assert_int_equal(trip_cntr_set(trigger, CROWD), 0);
	iterate();
	queue_crowd(&rnd, ids);
	for (uint32_t i = 0; i < CROWD / BUDGET / 2; i++)
		iterate();
	for (uint32_t i = 0; i < CROWD; i++)
		canceled += trip_work_cancel(domain, ids[i]) == 0;
	iterate();
	assert_int_equal(trip_domain_check(domain, stdout), 0);
	settle();
	tell("lowered while firing, and canceled", CROWD);
	assert_int_equal(canceled, CROWD);
	assert_int_equal(trip_cntr_read(target), 3 * CROWD);
	free(ids);
	close_domain();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_13_lower_and_raise),
		cmocka_unit_test(work_12_lower_while_firing),
	};

	if (trip_eal_init(NULL) < 0)
		return TRIP_TEST_SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
