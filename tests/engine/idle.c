/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An idle lcore of each kind: what is queued and counted while it idles fires, and it ends when its
 * domain is closed. That it sleeps at all is told by how often it looks.
 */
#include <trip_test.h>

#include <errno.h>
#include <time.h>

#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_pause.h>

#include <trip.h>
#include <trip_eal.h>
#include <trip_threads.h>

#define ROUNDS 200
#define IDLE_US 20000

static const unsigned int lcore = 1;

static int
domain_open(enum trip_idle idle, uint32_t idle_us, struct trip_domain **domain)
{
	struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_LCORE,
		.lcores = &lcore,
		.n_lcores = 1,
		.max_cntrs = 4,
		.max_works = 64,
		.idle = &idle,
		.idle_us = idle_us};

	return trip_domain_open(&attr, domain, NULL);
}

static void
fires_while_it_idles(enum trip_idle idle)
{
	struct trip_domain *domain;
	struct trip_cntr *cntr, *target;

	assert_int_equal(domain_open(idle, 100, &domain), 0);
	assert_int_equal(trip_cntr_open(domain, NULL, &cntr, NULL), 0);
	assert_int_equal(trip_cntr_open(domain, NULL, &target, NULL), 0);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		struct trip_work work = {.size = sizeof(work),
			.triggering_cntr = cntr,
			.threshold = i,
			.op_type = TRIP_OP_CNTR_ADD,
			.op.cntr = {.cntr = target, .value = 1}};

		assert_int_equal(trip_work_queue(domain, &work, NULL), 0);
		trip_cntr_add(cntr, 1);
		/* Only a lost ring never ends. */
		for (uint64_t rests = 0; trip_cntr_read(target) < i;)
			trip_thread_rest(&rests);
	}
	assert_int_equal(trip_work_flush(domain, NULL), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_int_equal(trip_cntr_close(target), 0);
	assert_int_equal(trip_domain_close(domain), 0);
}

static void
pause_fires(void **state)
{
	fires_while_it_idles(TRIP_IDLE_PAUSE);
}

static void
spin_fires(void **state)
{
	fires_while_it_idles(TRIP_IDLE_SPIN);
}

static void
sleep_fires(void **state)
{
	fires_while_it_idles(TRIP_IDLE_SLEEP);
}

static void
monitor_fires_or_is_refused(void **state)
{
	struct rte_cpu_intrinsics intrinsics;
	struct trip_domain *domain;

	rte_cpu_get_intrinsics_support(&intrinsics);
	if (intrinsics.power_monitor)
		fires_while_it_idles(TRIP_IDLE_MONITOR);
	else
		assert_int_equal(domain_open(TRIP_IDLE_MONITOR, 0, &domain), -ENOTSUP);
}

/* Each iteration of a sleeper comes a sleep after the last, however fast or busy the machine. */
static void
sleep_looks_seldom(void **state)
{
	struct trip_domain_stats before = {.size = sizeof(before)}, after = {.size = sizeof(after)};
	const struct timespec some = {.tv_nsec = 5 * IDLE_US * 1000};
	struct trip_domain *domain;
	uint64_t began, most;

	assert_int_equal(domain_open(TRIP_IDLE_SLEEP, IDLE_US, &domain), 0);
	/* It has slept once it looks so slowly that its own pace shows. */
	do {
		trip_domain_stats_read(domain, &before);
		began = rte_get_tsc_cycles();
		nanosleep(&some, NULL);
		trip_domain_stats_read(domain, &after);
		most = (rte_get_tsc_cycles() - began) * 1000000 / rte_get_tsc_hz() / IDLE_US + 2;
	} while (after.iterations - before.iterations > most);
	assert_int_equal(trip_domain_close(domain), 0);
}

static void
what_is_unknown_is_refused(void **state)
{
	enum trip_idle idle = TRIP_IDLE_SPIN;
	struct trip_domain_attr manual = {
		.size = sizeof(manual), .progress = TRIP_PROGRESS_MANUAL, .idle = &idle};
	struct trip_domain *domain;

	assert_int_equal(domain_open((enum trip_idle)9, 0, &domain), -EINVAL);
	assert_int_equal(domain_open(TRIP_IDLE_SLEEP, 1000001, &domain), -EINVAL);
	assert_int_equal(trip_domain_open(&manual, &domain, NULL), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pause_fires),
		cmocka_unit_test(spin_fires),
		cmocka_unit_test(sleep_fires),
		cmocka_unit_test(monitor_fires_or_is_refused),
		cmocka_unit_test(sleep_looks_seldom),
		cmocka_unit_test(what_is_unknown_is_refused),
	};

	if (trip_eal_init(NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
