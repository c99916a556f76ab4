/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops that trip_wait.h shows, as they stand there, on a counter that hardly ever rests. */
#include <inttypes.h>

#include "waits.h"

/* Times that they were about to block: a loop that never rests shows. */
static _Atomic uint64_t blocks;

static int
counted_poll(struct pollfd *entries, nfds_t n, int timeout)
{
	atomic_fetch_add(&blocks, 1);
	return poll(entries, n, timeout);
}

#define poll counted_poll
#include "wait_loops.h"
#undef poll

#define ADDS 200000
#define ERRORS 7
#define STEPS 20

static struct trip_cntr *cntr;
static uint64_t adds;
static _Atomic uint64_t told, told_success, told_error;

static bool
tell(uint64_t success, uint64_t error)
{
	atomic_fetch_add(&told, 1);
	atomic_store(&told_success, success);
	atomic_store(&told_error, error);
	return success < adds || error < ERRORS;
}

static void *
see_changes(void *arg)
{
	for_each_change(harness_domain, cntr, tell);
	return NULL;
}

static void *
see_multiples(void *arg)
{
	for_each_multiple(harness_domain, cntr, adds / STEPS, tell);
	return NULL;
}

/* Runs one of the loops beside the updates; it ends when it has been told of the last. */
static void
run(void *(*loop)(void *arg))
{
	pthread_t thread;

	adds = harness_rounds(ADDS / STEPS) * STEPS;
	cntr = harness_cntr(TRIP_WAIT_FD);
	atomic_store(&blocks, 0);
	atomic_store(&told, 0);
	atomic_store(&told_error, 0);
	assert_int_equal(pthread_create(&thread, NULL, loop, NULL), 0);
	for (uint64_t i = 1; i <= adds; i++) {
		trip_cntr_add(cntr, 1);
		if (i % 64 == 0)
			harness_step();
	}
	for (uint64_t i = 1; i <= ERRORS; i++) {
		trip_cntr_adderr(cntr, 1);
		harness_until(atomic_load(&told_error) == i);
	}
	harness_until(atomic_load(&told_success) == adds);
	pthread_join(thread, NULL);
	harness_cntr_close(cntr);
	printf("%" PRIu64 " updates: told %" PRIu64 " times, blocked %" PRIu64 " times\n",
		adds + ERRORS, atomic_load(&told), atomic_load(&blocks));
}

static void
wait_04_the_loop_for_changes(void **state)
{
	run(see_changes);
	assert_true(atomic_load(&blocks) <= atomic_load(&told));
}

/* Once for each multiple that it saw, for each error, and for what was armed between the two calls.
 */
static void
wait_09_the_loop_for_thresholds(void **state)
{
	run(see_multiples);
	trip_assert_range(atomic_load(&told), ERRORS, STEPS + ERRORS);
	assert_true(atomic_load(&blocks) <= 3 * (STEPS + ERRORS));
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(wait_04_the_loop_for_changes),
	HARNESS_TEST(wait_09_the_loop_for_thresholds),
};

HARNESS_MAIN(NULL, tests)
