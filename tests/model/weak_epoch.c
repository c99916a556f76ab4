/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who changes something and then finds that no iteration is under way, or that the one which was
 * has ended, has changed it for all iterations to come; and has all that those before have done.
 * The home is included for the iteration by itself.
 */
#include "../../lcore/engine/home.c"

#include "trip_test.h"
#include "weak.h"

static struct {
	struct trip_engine engine;
	struct trip_home *home;
	void *memory;
	_Atomic uint64_t epoch;
	/* What is taken away from homes; and what an iteration does with it. */
	_Atomic uint32_t there, used;
	/* It was found that none can have it any more; and what they had done by then. */
	bool quiesced;
	uint32_t used_by_then;
} bed;

static const struct trip_home_shape shape = {.n_cntrs = 8,
	.n_waiters = 4,
	.n_channels = 2,
	.n_slots = 4,
	.n_handler_slots = 4,
	.n_events = 4};

static uint64_t
stands_still(struct trip_home *home)
{
	return home->now;
}

/* In an iteration. */
static void
use(struct trip_home *home, uint32_t arg)
{
	if (atomic_load_explicit(&bed.there, memory_order_relaxed) != 0)
		atomic_fetch_add_explicit(&bed.used, 1, memory_order_relaxed);
}

static void
begin(void *arg)
{
	if (bed.home != NULL)
		trip_home_fini(bed.home);
	bed.engine = (struct trip_engine){.n_homes = 1,
		.cntrs_per_home = shape.n_cntrs,
		.waiters_per_home = shape.n_waiters,
		.tsc_hz = 1000000000};
	bed.home = trip_home_init(bed.memory, &bed.engine, 0, &shape);
	bed.engine.homes[0] = bed.home;
	bed.home->clock = stands_still;
	bed.home->budget = 1;
	bed.home->scrub.next_tsc = UINT64_MAX;
	bed.home->epoch = &bed.epoch;
	atomic_init(&bed.epoch, 0);
	atomic_init(&bed.there, 1);
	atomic_init(&bed.used, 0);
	bed.quiesced = false;
	(void)trip_call_post(bed.home, use, 0);
}

static void
home(void *arg)
{
	(void)iterate_busy(bed.home, true);
}

static void
remover(void *arg)
{
	uint64_t epoch;

	atomic_store_explicit(&bed.there, 0, memory_order_relaxed);
	epoch = trip_home_epoch(bed.home);
	bed.quiesced = trip_home_quiesced(bed.home, epoch);
	if (bed.quiesced)
		bed.used_by_then = atomic_load_explicit(&bed.used, memory_order_relaxed);
}

static bool
is_used_no_more(void *arg)
{
	return !bed.quiesced || bed.used_by_then == atomic_load(&bed.used);
}

static void
weak_iteration_is_waited_for(void **state)
{
	const struct trip_weak weak = {
		.begin = begin, .threads = {home, remover}, .holds = is_used_no_more};

	assert_true(trip_weak_holds(&weak));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(weak_iteration_is_waited_for)};

	bed.memory = aligned_alloc(64, trip_home_size(&shape));
	assert_non_null(bed.memory);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
