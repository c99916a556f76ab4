/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of one update and one wait for it, by each wait object and by wait sets of each, while
 * every core is busy. The update that ends a round is the only one of it, so a wake that is lost is
 * made good by nothing: no later update comes, the scrub is off, and nobody waits with a timeout.
 * Then nothing moves any more, and an alarm tells where everything stands.
 *
 * What may go wrong does so between two instructions of the waiter. So in every other round a timer
 * of its own stops it, a few instructions on, until the update is made and the homes have had their
 * time.
 *
 * TRIP_ROUNDS sets the rounds of each object.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "waits.h"

/* Most of them where the homes have lcores of their own: what is shared races there. */
#define ROUNDS 10000
#define ROUNDS_OTHERWISE 2000

#if defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

#define MEMBERS 3
#define THREADS_MAX 2
/* Seconds without 1024 rounds after which a wake is called lost. */
#define PATIENCE_S 60

enum way { BY_CALL, BY_TRYWAIT, BY_ARM, WAYS };

struct waiter {
	struct trip_random random;
	uint64_t success[MEMBERS], error[MEMBERS];
	/* The round that it has seen, and how it waits for the next. */
	_Atomic uint64_t round;
	_Atomic uint32_t way;
	uint64_t wakes;
	/* The round in which it is to stop, or was stopped. */
	uint64_t stop_in;
	_Atomic uint64_t stopped;
	pthread_t thread;
};

static struct game {
	const char *name;
	enum trip_wait_obj wait_obj;
	struct trip_wait_set *set;
	struct trip_cntr *cntr[MEMBERS];
	unsigned int n_cntrs, n_waiters;
	struct trip_fid *fid;
	int fd;
	struct trip_mutex_cond cond;
	uint64_t rounds;
	_Atomic uint64_t round;
	/* Up to which round waiters that were stopped may go on. */
	_Atomic uint64_t released;
	/* What the updater has made of the values: to read them is the waiters' business. */
	uint64_t success[MEMBERS], error[MEMBERS];
	struct waiter waiters[THREADS_MAX];
} game;

static void
tell_lost_wake(int number)
{
	dprintf(STDERR_FILENO, "%s: no wake in %d s, round %" PRIu64 " of %" PRIu64 "\n", game.name,
		PATIENCE_S, atomic_load(&game.round), game.rounds);
	for (unsigned int i = 0; i < game.n_waiters; i++)
		dprintf(STDERR_FILENO, "waiter %u: has seen round %" PRIu64 ", waits in way %u\n",
			i, atomic_load(&game.waiters[i].round), atomic_load(&game.waiters[i].way));
	for (unsigned int i = 0; i < game.n_cntrs; i++)
		dprintf(STDERR_FILENO,
			"counter %u: success %" PRIu64 ", error %" PRIu64 ", errgen %" PRIu64 "\n",
			i, trip_cntr_read(game.cntr[i]), trip_cntr_readerr(game.cntr[i]),
			trip_cntr_errgen(game.cntr[i]));
	_exit(EXIT_FAILURE);
}

static _Thread_local struct waiter *self;

static void
stay(int number)
{
	int error = errno;

	atomic_store(&self->stopped, self->stop_in);
	while (atomic_load(&game.released) < self->stop_in)
		sched_yield();
	errno = error;
}

/* ThreadSanitizer delivers no signal between two instructions. */
static bool
stops(uint64_t round)
{
	struct trip_random random = {harness_seed + round};

	return !SANITIZED && trip_random_below(&random, 2) == 0;
}

static timer_t
open_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	timer_t timer;

	event._sigev_un._tid = gettid();
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	return timer;
}

/* Very soon. */
static void
stop_soon(struct waiter *waiter, timer_t timer, uint64_t round)
{
	struct itimerspec soon = {
		.it_value.tv_nsec = 1 + (long)trip_random_below(&waiter->random, 20000)};

	waiter->stop_in = round;
	timer_settime(timer, 0, &soon, NULL);
}

/* The round that the values show: each of them changes one by one. */
static uint64_t
read_round(struct waiter *waiter)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < game.n_cntrs; i++) {
		waits_read(game.cntr[i], &waiter->success[i], &waiter->error[i]);
		sum += waiter->success[i] + waiter->error[i];
	}
	return sum;
}

static void
block(void)
{
	struct pollfd entry = {.fd = game.fd, .events = POLLIN};

	if (game.wait_obj == TRIP_WAIT_MUTEX_COND)
		pthread_cond_wait(game.cond.cond, game.cond.mutex);
	else
		while (poll(&entry, 1, -1) != 1)
			;
}

/* Only where the counter is to be told from a set of it. */
static void
arm(struct waiter *waiter)
{
	if (game.set == NULL)
		assert_int_equal(trip_cntr_arm(game.cntr[0], waiter->success[0] + 1), 0);
}

static void
wait_natively(struct waiter *waiter, enum way way)
{
	bool locks = game.wait_obj == TRIP_WAIT_MUTEX_COND;

	if (locks)
		pthread_mutex_lock(game.cond.mutex);
	if (waits_try(game.fid) == 0) {
		if (way == BY_ARM)
			arm(waiter);
		block();
	}
	if (locks)
		pthread_mutex_unlock(game.cond.mutex);
}

static void
wait_by_call(struct waiter *waiter, uint64_t errgen)
{
	int result = game.set != NULL ? trip_wait(game.set, -1)
				      : trip_cntr_wait_from(
						game.cntr[0], waiter->success[0] + 1, errgen, -1);

	assert_true(result == 0 || (game.set == NULL && result == -EIO));
}

static void
wait_for_round(struct waiter *waiter, uint64_t round)
{
	bool native = game.wait_obj == TRIP_WAIT_FD || game.wait_obj == TRIP_WAIT_MUTEX_COND;
	enum way way =
		native ? (enum way)trip_random_below(&waiter->random, WAYS) : (enum way)BY_CALL;
	/* Before the values are read, so that no error is missed. */
	uint64_t errgen = trip_cntr_errgen(game.cntr[0]);

	atomic_store(&waiter->way, way);
	while (read_round(waiter) < round) {
		if (way == BY_CALL)
			wait_by_call(waiter, errgen);
		else
			wait_natively(waiter, way);
		waiter->wakes++;
		errgen = trip_cntr_errgen(game.cntr[0]);
	}
}

static void
run_anywhere(void)
{
	cpu_set_t all;

	/* Not on the CPU of the main lcore alone, where it was started. */
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
}

static void
spin(struct trip_random *random)
{
	uint64_t delay = trip_random_below(random, 4) == 0 ? trip_random_below(random, 10000)
							   : trip_random_below(random, 100);

	for (uint64_t i = 0; i < delay; i++)
		__asm__ volatile("");
}

static bool
all_have_seen(uint64_t round)
{
	bool all = true;

	for (unsigned int i = 0; i < game.n_waiters; i++)
		all &= atomic_load(&game.waiters[i].round) >= round;
	return all;
}

static void *
wait_on(void *arg)
{
	struct waiter *waiter = arg;

	timer_t timer = open_timer();

	self = waiter;
	run_anywhere();
	for (uint64_t i = 1; i <= game.rounds; i++) {
		if (stops(i)) {
			/* Whoever is stopped in a lock keeps none of the round before. */
			while (!all_have_seen(i - 1))
				sched_yield();
			stop_soon(waiter, timer, i);
		}
		wait_for_round(waiter, i);
		atomic_store(&waiter->round, i);
	}
	timer_delete(timer);
	return NULL;
}

static void
update(struct trip_random *random)
{
	uint64_t at = trip_random_below(random, game.n_cntrs);
	struct trip_cntr *cntr = game.cntr[at];

	switch (trip_random_below(random, 8)) {
	case 0:
		game.error[at]++;
		trip_cntr_adderr(cntr, 1);
		break;
	case 1:
		trip_cntr_seterr(cntr, ++game.error[at]);
		break;
	case 2:
		trip_cntr_set(cntr, ++game.success[at]);
		break;
	default:
		game.success[at]++;
		trip_cntr_add(cntr, 1);
	}
}

/* Wherever the waiters were stopped, or asleep already. */
static void
update_stopped(struct trip_random *random, uint64_t round)
{
	uint64_t steps = trip_random_below(random, 30);

	for (unsigned int i = 0; i < game.n_waiters; i++)
		while (atomic_load(&game.waiters[i].stopped) < round)
			harness_step();
	update(random);
	for (uint64_t i = 0; i < steps; i++)
		harness_step();
	atomic_store(&game.released, round);
}

static void
update_on(void)
{
	struct trip_random random = {harness_seed};

	for (uint64_t i = 1; i <= game.rounds; i++) {
		if (i % 1024 == 1)
			alarm(PATIENCE_S);
		atomic_store(&game.round, i);
		/* Before the waiter arms, while it does, or when it sleeps. */
		spin(&random);
		if (stops(i))
			update_stopped(&random, i);
		else
			update(&random);
		while (!all_have_seen(i))
			harness_step();
	}
	alarm(0);
}

static uint64_t
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void
play(void)
{
	uint64_t began = now_us(), wakes = 0;
	struct trip_domain_stats stats;

	game.rounds =
		trip_test_rounds(harness_mode == TRIP_PROGRESS_LCORE ? ROUNDS : ROUNDS_OTHERWISE);
	atomic_store(&game.round, 0);
	atomic_store(&game.released, 0);
	memset(game.success, 0, sizeof(game.success));
	memset(game.error, 0, sizeof(game.error));
	for (unsigned int i = 0; i < game.n_waiters; i++) {
		game.waiters[i] = (struct waiter){.random = {harness_seed + i + 1}};
		assert_int_equal(
			pthread_create(&game.waiters[i].thread, NULL, wait_on, &game.waiters[i]),
			0);
	}
	update_on();
	for (unsigned int i = 0; i < game.n_waiters; i++) {
		pthread_join(game.waiters[i].thread, NULL);
		wakes += game.waiters[i].wakes;
	}
	assert_int_equal(trip_domain_stats_read(harness_domain, &stats), 0);
	assert_int_equal(stats.scrub_repairs, 0);
	printf("%s: %" PRIu64 " rounds, %u waiters, %" PRIu64 " times blocked, %" PRIu64
	       " wakes, %.2f us a round\n",
		game.name, game.rounds, game.n_waiters, wakes, stats.wakes,
		(double)(now_us() - began) / (double)game.rounds);
}

static void
retrieve(void)
{
	void *arg = game.wait_obj == TRIP_WAIT_FD ? (void *)&game.fd : (void *)&game.cond;

	if (game.wait_obj != TRIP_WAIT_FD && game.wait_obj != TRIP_WAIT_MUTEX_COND)
		return;
	if (game.set != NULL)
		assert_int_equal(trip_wait_control(game.set, TRIP_GETWAIT, arg), 0);
	else
		assert_int_equal(trip_cntr_control(game.cntr[0], TRIP_GETWAIT, arg), 0);
}

static void
play_cntr(const char *name, enum trip_wait_obj wait_obj, unsigned int waiters)
{
	harness_open(1, NULL);
	game.name = name;
	game.wait_obj = wait_obj;
	game.n_waiters = waiters;
	game.n_cntrs = 1;
	game.set = NULL;
	game.cntr[0] = harness_cntr(wait_obj);
	game.fid = trip_cntr_fid(game.cntr[0]);
	retrieve();
	play();
	harness_cntr_close(game.cntr[0]);
}

/* Its members have two homes. */
static void
play_set(const char *name, enum trip_wait_obj wait_obj)
{
	harness_open(2, NULL);
	game.name = name;
	game.wait_obj = wait_obj;
	game.n_waiters = 1;
	game.n_cntrs = MEMBERS;
	game.set = waits_set(wait_obj);
	game.fid = trip_wait_fid(game.set);
	for (unsigned int i = 0; i < MEMBERS; i++)
		game.cntr[i] = waits_member(game.set);
	retrieve();
	play();
	for (unsigned int i = 0; i < MEMBERS; i++)
		harness_cntr_close(game.cntr[i]);
	assert_int_equal(trip_wait_close(game.set), 0);
}

static void
cntr_unspec(void **state)
{
	play_cntr("UNSPEC", TRIP_WAIT_UNSPEC, 2);
}

static void
cntr_fd(void **state)
{
	play_cntr("FD", TRIP_WAIT_FD, 1);
}

static void
cntr_mutex_cond(void **state)
{
	play_cntr("MUTEX_COND", TRIP_WAIT_MUTEX_COND, 1);
}

static void
cntr_yield(void **state)
{
	play_cntr("YIELD", TRIP_WAIT_YIELD, 2);
}

static void
set_unspec(void **state)
{
	play_set("set of UNSPEC", TRIP_WAIT_UNSPEC);
}

static void
set_fd(void **state)
{
	play_set("set of FD", TRIP_WAIT_FD);
}

static void
set_mutex_cond(void **state)
{
	play_set("set of MUTEX_COND", TRIP_WAIT_MUTEX_COND);
}

static void
set_yield(void **state)
{
	play_set("set of YIELD", TRIP_WAIT_YIELD);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST_OWN(cntr_unspec),
	HARNESS_TEST_OWN(cntr_fd),
	HARNESS_TEST_OWN(cntr_mutex_cond),
	HARNESS_TEST_OWN(cntr_yield),
	HARNESS_TEST_OWN(set_unspec),
	HARNESS_TEST_OWN(set_fd),
	HARNESS_TEST_OWN(set_mutex_cond),
	HARNESS_TEST_OWN(set_yield),
};

int
main(int argc, char **argv)
{
	signal(SIGALRM, tell_lost_wake);
	signal(SIGUSR1, stay);
	return harness_main(argc, argv, NULL, tests, sizeof(tests) / sizeof(*tests));
}
