/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COND-01: a home that sleeps wakes for its clock. Its lcore runs by itself, sleeps as it does, and
 * for as long as it asks for: what it asks for is written down, and told apart from how long the
 * machine then takes. Nothing but the clock can end a sleep before its time: nobody rings, nothing
 * is scrubbed. A home that goes to sleep while something is to come asks for no longer than until
 * that comes, counted from when its last sleep ended, and fires it never before.
 *
 * Where the CPU cannot monitor memory, a loop plays what does, until the same moment.
 */
#include <trip_test.h>

#include <time.h>

#include <rte_common.h>
#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_power_intrinsics.h>

#include <trip.h>
#include <trip_eal.h>
#include <trip_threads.h>

#define MS UINT64_C(1000000)
#define HOUR (3600000 * MS)
/* As long as it sleeps, and as it keeps awake before, where nothing is to come. */
#define IDLE_MS 40
/* Likewise, where it looks again and again before, some times as long apart. */
#define LOOKS_IDLE_MS 1
#define LOOKS_TIME (200 * MS)
/* A clock rounds. */
#define ROUNDING 1000
#define TIMES 5
#define NOTHING UINT64_MAX

static const unsigned int lcore = 1;
static struct trip_domain *domain;
/* While it is open, and its lcore may ask it for the time: that runs before the call returns. */
static _Atomic(struct trip_domain *) opened;
static uint64_t idle_ms;
static struct trip_cntr *cntr;
static struct trip_function *function;

/* What the home is to do by itself: so many calls. */
static struct {
	/* What is awaited does not change while a sleep is judged. */
	pthread_mutex_t lock;
	_Atomic uint64_t expected, calls;
	/* The first of those that are left comes by then, and each behind it so much later;
	 * NOTHING: nobody knows by when. */
	_Atomic uint64_t due, interval;
	/* Not 0: by so much after the home has seen to what has happened. */
	_Atomic uint64_t after;
	/* The first comes not before then, and each behind it not before so much later. */
	_Atomic uint64_t from, step;
	/* Sleeps that it has to end sooner than others, and those that it does not. */
	_Atomic uint64_t shortened, too_long;
	_Atomic uint64_t early;
} awaited = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t
now(void)
{
	return trip_cntr_read(trip_clock_cntr(domain));
}

static int
come(const struct trip_work_event *event, void *arg)
{
	uint64_t n = atomic_load(&awaited.calls);

	if (now() < atomic_load(&awaited.from) + n * atomic_load(&awaited.step))
		atomic_fetch_add(&awaited.early, 1);
	atomic_store(&awaited.calls, n + 1);
	return 0;
}

/* ---- the home's sleeps, on its lcore ---- */

/* When its last sleep ended, by the clock, and by the tsc right after that; 0: it was none. */
static uint64_t woke, woke_tsc;

/* It is about to sleep, for so long if it is counted from when it woke; what it did since then has
 * seen all that is awaited. */
static void
judge_locked(uint64_t ns)
{
	uint64_t after = atomic_exchange(&awaited.after, 0), due;

	if (after != 0)
		atomic_store(&awaited.due, now() + after);
	due = atomic_load(&awaited.due);
	if (woke == 0 || due == NOTHING ||
		atomic_load(&awaited.calls) >= atomic_load(&awaited.expected))
		return;
	due += atomic_load(&awaited.interval) * atomic_load(&awaited.calls);
	if (woke + ns > due + ROUNDING)
		atomic_fetch_add(&awaited.too_long, 1);
	else if (ns + MS / 50 < idle_ms * MS)
		atomic_fetch_add(&awaited.shortened, 1);
}

static void
judge(uint64_t ns)
{
	pthread_mutex_lock(&awaited.lock);
	judge_locked(ns);
	pthread_mutex_unlock(&awaited.lock);
}

static void
note_woken(void)
{
	woke = atomic_load(&opened) != NULL ? now() : 0;
	woke_tsc = rte_rdtsc();
}

int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int
__wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	int error;

	if (rte_lcore_id() != lcore)
		return __real_nanosleep(time, left);
	judge((uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec);
	error = __real_nanosleep(time, left);
	note_woken();
	return error;
}

void __real_rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *cpu);
void __wrap_rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *cpu);
void
__wrap_rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *cpu)
{
	__real_rte_cpu_get_intrinsics_support(cpu);
	cpu->power_monitor = 1;
}

static void
play_monitor(const struct rte_power_monitor_cond *condition, uint64_t timestamp)
{
	const struct timespec moment = {.tv_nsec = 50000};
	const volatile uint64_t *line = condition->addr;

	while (rte_rdtsc() < timestamp && condition->fn(*line, condition->opaque) == 0)
		(void)__real_nanosleep(&moment, NULL);
}

int __real_rte_power_monitor(const struct rte_power_monitor_cond *condition, uint64_t timestamp);
int __wrap_rte_power_monitor(const struct rte_power_monitor_cond *condition, uint64_t timestamp);
int
__wrap_rte_power_monitor(const struct rte_power_monitor_cond *condition, uint64_t timestamp)
{
	struct rte_cpu_intrinsics cpu;
	uint64_t ticks = timestamp > woke_tsc ? timestamp - woke_tsc : 0;
	int error = 0;

	__real_rte_cpu_get_intrinsics_support(&cpu);
	judge((uint64_t)((double)ticks * NS_PER_S / (double)rte_get_tsc_hz()));
	if (cpu.power_monitor)
		error = __real_rte_power_monitor(condition, timestamp);
	else
		play_monitor(condition, timestamp);
	note_woken();
	return error;
}

/* ---- what is awaited ---- */

static void
open_domain(enum trip_idle idle, uint32_t ms)
{
	struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_LCORE,
		.lcores = &lcore,
		.n_lcores = 1,
		.scrub_us = UINT32_MAX,
		.max_cntrs = 4,
		.max_works = 64,
		.max_functions = 1,
		.idle = &idle,
		.idle_us = ms * 1000};

	idle_ms = ms;
	woke = 0;
	atomic_store(&awaited.due, NOTHING);
	assert_int_equal(trip_domain_open(&attr, &domain, NULL), 0);
	atomic_store(&opened, domain);
	assert_int_equal(trip_cntr_open(domain, NULL, &cntr, NULL), 0);
	assert_int_equal(trip_function_register(domain, come, NULL, &function), 0);
}

static void
close_domain(void)
{
	assert_int_equal(trip_work_flush(domain, NULL), 0);
	assert_int_equal(trip_function_unregister(function), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
	atomic_store(&opened, NULL);
	assert_int_equal(trip_domain_close(domain), 0);
}

/* What is awaited is stored before it can come. */
static void
await(uint64_t expected, uint64_t interval, uint64_t from, uint64_t step)
{
	pthread_mutex_lock(&awaited.lock);
	atomic_store(&awaited.due, NOTHING);
	atomic_store(&awaited.after, 0);
	atomic_store(&awaited.calls, 0);
	atomic_store(&awaited.shortened, 0);
	atomic_store(&awaited.expected, expected);
	atomic_store(&awaited.interval, interval);
	atomic_store(&awaited.from, from);
	atomic_store(&awaited.step, step);
	pthread_mutex_unlock(&awaited.lock);
}

static struct trip_domain_stats
stats(void)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	assert_int_equal(trip_domain_stats_read(domain, &stats), 0);
	return stats;
}

static uint64_t
queue_call(struct trip_cntr *trigger, uint64_t threshold, uint64_t interval,
	const struct trip_condition *condition)
{
	const struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = trigger,
		.threshold = threshold,
		.interval = interval,
		.condition = condition,
		.op_type = TRIP_OP_CALL,
		.op.call = {.function = function}};
	uint64_t accepted = stats().accepted, id, rests = 0;

	assert_int_equal(trip_work_queue(domain, &work, &id), 0);
	while (stats().accepted == accepted)
		trip_thread_rest(&rests);
	return id;
}

static void
until_called(uint64_t n)
{
	uint64_t rests = 0;

	while (atomic_load(&awaited.calls) < n)
		trip_thread_rest(&rests);
	assert_int_equal(atomic_load(&awaited.early), 0);
	assert_int_equal(atomic_load(&awaited.too_long), 0);
}

/* Whether a sleep of it was shortened: on a busy machine the home may have had no time for one. */
static bool
was_shortened(void)
{
	return atomic_load(&awaited.shortened) > 0;
}

/* It has slept for as long as it may by then, and sleeps for less. */
static uint64_t
some_time(void)
{
	return (2 * IDLE_MS + IDLE_MS / 3) * MS;
}

static bool
play_once(void)
{
	uint64_t due = now() + some_time();

	await(1, 0, due, 0);
	(void)queue_call(trip_clock_cntr(domain), due, 0, NULL);
	atomic_store(&awaited.due, due);
	until_called(1);
	return was_shortened();
}

/* More often than it would wake for nothing. */
static bool
play_again_and_again(void)
{
	uint64_t interval = IDLE_MS * MS / 3, due = now() + some_time(), id;

	await(TIMES, interval, due, interval);
	id = queue_call(trip_clock_cntr(domain), due, interval, NULL);
	atomic_store(&awaited.due, due);
	until_called(TIMES);
	assert_int_equal(trip_work_cancel(domain, id), 0);
	assert_int_equal(trip_work_flush(domain, NULL), 0);
	return was_shortened();
}

static bool
play_idle(void)
{
	const struct trip_condition condition = {.size = sizeof(condition),
		.kind = TRIP_CONDITION_IDLE,
		.when.idle.time = some_time()};

	await(1, 0, now() + some_time(), 0);
	(void)queue_call(cntr, 0, 0, &condition);
	atomic_store(&awaited.after, some_time());
	until_called(1);
	return was_shortened();
}

/* What a rate has begun ends when it is over. */
static bool
play_until(void)
{
	const uint64_t time = LOOKS_TIME;
	const struct trip_condition condition = {.size = sizeof(condition),
		.kind = TRIP_CONDITION_RATE,
		.when.rate = {.count = 1, .time = HOUR, .until_count = 1, .until_time = time}};
	uint64_t id;

	await(2, 0, now(), time);
	id = queue_call(cntr, 0, 1, &condition);
	assert_int_equal(trip_cntr_add(cntr, 1), 0);
	until_called(1);
	/* It looks some times before. */
	atomic_store(&awaited.after, time + time / 32);
	until_called(2);
	assert_int_equal(trip_work_cancel(domain, id), 0);
	assert_int_equal(trip_work_flush(domain, NULL), 0);
	return was_shortened();
}

static void
play(enum trip_idle idle, uint32_t ms, bool (*plays)(void))
{
	unsigned int rounds = 0;

	open_domain(idle, ms);
	while (rounds < TIMES)
		rounds += plays();
	close_domain();
}

static void
cond_01_one_that_sleeps_wakes_for_a_time(void **state)
{
	play(TRIP_IDLE_SLEEP, IDLE_MS, play_once);
	play(TRIP_IDLE_SLEEP, IDLE_MS, play_again_and_again);
}

static void
cond_01_one_that_sleeps_wakes_for_a_condition(void **state)
{
	play(TRIP_IDLE_SLEEP, IDLE_MS, play_idle);
	play(TRIP_IDLE_SLEEP, LOOKS_IDLE_MS, play_until);
}

static void
cond_01_one_that_monitors_wakes_for_a_time(void **state)
{
	play(TRIP_IDLE_MONITOR, IDLE_MS, play_once);
	play(TRIP_IDLE_MONITOR, IDLE_MS, play_again_and_again);
}

static void
cond_01_one_that_monitors_wakes_for_a_condition(void **state)
{
	play(TRIP_IDLE_MONITOR, IDLE_MS, play_idle);
	play(TRIP_IDLE_MONITOR, LOOKS_IDLE_MS, play_until);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cond_01_one_that_sleeps_wakes_for_a_time),
		cmocka_unit_test(cond_01_one_that_sleeps_wakes_for_a_condition),
		cmocka_unit_test(cond_01_one_that_monitors_wakes_for_a_time),
		cmocka_unit_test(cond_01_one_that_monitors_wakes_for_a_condition),
	};

	if (trip_eal_init(NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
