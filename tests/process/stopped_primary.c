/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CNTR-15: the primary is stopped, and each call of an attached process that has a time, or should
 * take none, ends by itself: before the primary goes on, which it does only when all have. A call
 * that changes what the primary has, has no time: it waits for that, and nothing is half done.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "domain/domain.h"
#include "family.h"
#include "home.h"
#include "waiter.h"

#define TIMEOUT_MS 20
#define THREADS 40
/* When whoever hangs is found out. */
#define WATCHDOG_S 30

/* ---- the secondary ----------------------------------------------------------------------------
 */

static char
primary_state(void)
{
	char path[64], text[512], *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	end = strrchr(text, ')');
	assert_non_null(end);
	return end[2];
}

static void *
watch_over(void *arg)
{
	struct timespec time = {.tv_sec = WATCHDOG_S};

	nanosleep(&time, NULL);
	kill(getppid(), SIGCONT);
	_exit(9);
}

/* All of its threads, at whatever they are about. */
static void
stop_primary(void)
{
	assert_int_equal(kill(getppid(), SIGSTOP), 0);
	while (primary_state() != 'T')
		usleep(1000);
}

struct scene {
	struct trip_cntr *unspec, *fd, *yield, *member;
	struct trip_wait_set *set;
	struct trip_poll_set *polls;
};

static struct trip_cntr *
member_of(struct trip_wait_set *set)
{
	const struct trip_cntr_attr attr = {
		.size = sizeof(attr), .wait_obj = TRIP_WAIT_SET, .wait_set = set};
	struct trip_cntr *cntr;

	assert_int_equal(trip_cntr_open(family_domain, &attr, &cntr, NULL), 0);
	return cntr;
}

static void
open_scene(struct scene *scene)
{
	const struct trip_wait_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_FD};

	family_attach();
	scene->unspec = family_cntr(NULL, TRIP_WAIT_UNSPEC);
	scene->fd = family_cntr(NULL, TRIP_WAIT_FD);
	scene->yield = family_cntr(NULL, TRIP_WAIT_YIELD);
	assert_int_equal(trip_wait_open(family_domain, &attr, &scene->set), 0);
	scene->member = member_of(scene->set);
	assert_int_equal(trip_poll_open(family_domain, NULL, &scene->polls), 0);
	assert_int_equal(trip_poll_add(scene->polls, trip_cntr_fid(scene->unspec), 0), 0);
}

static void
close_scene(struct scene *scene)
{
	assert_int_equal(trip_poll_del(scene->polls, trip_cntr_fid(scene->unspec), 0), 0);
	assert_int_equal(trip_poll_close(scene->polls), 0);
	assert_int_equal(trip_cntr_close(scene->member), 0);
	assert_int_equal(trip_wait_close(scene->set), 0);
	assert_int_equal(trip_cntr_close(scene->yield), 0);
	assert_int_equal(trip_cntr_close(scene->fd), 0);
	assert_int_equal(trip_cntr_close(scene->unspec), 0);
	assert_int_equal(family_try_close(), 0);
}

/* More than have slots. */
static void *
wait_beside(void *arg)
{
	struct trip_cntr *cntr = arg;

	assert_int_equal(trip_cntr_wait(cntr, 100, TIMEOUT_MS), -ETIMEDOUT);
	return NULL;
}

static void
wait_by_many(struct trip_cntr *cntr)
{
	pthread_t threads[THREADS];

	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_beside, cntr), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void
make_calls(struct scene *scene)
{
	struct trip_fid *fids[] = {trip_cntr_fid(scene->fd), trip_wait_fid(scene->set)};
	uint64_t errgen = trip_cntr_errgen(scene->unspec);
	void *context;

	assert_int_equal(trip_cntr_wait(scene->unspec, 100, TIMEOUT_MS), -ETIMEDOUT);
	assert_int_equal(trip_cntr_wait(scene->unspec, 100, 0), -ETIMEDOUT);
	assert_int_equal(trip_cntr_wait_from(scene->unspec, 100, errgen, TIMEOUT_MS), -ETIMEDOUT);
	assert_int_equal(trip_cntr_wait(scene->fd, 100, TIMEOUT_MS), -ETIMEDOUT);
	assert_int_equal(trip_cntr_wait(scene->yield, 100, TIMEOUT_MS), -ETIMEDOUT);
	assert_int_equal(trip_wait(scene->set, TIMEOUT_MS), -ETIMEDOUT);
	assert_true(trip_poll(scene->polls, &context, 1) >= 0);
	(void)trip_trywait(family_domain, fids, 2);
	(void)trip_cntr_arm(scene->fd, 100);
	wait_by_many(scene->unspec);
	/* What is reached is found, whoever is asleep. */
	assert_int_equal(trip_cntr_add(scene->unspec, 100), 0);
	assert_int_equal(trip_cntr_wait(scene->unspec, 100, TIMEOUT_MS), 0);
	assert_int_equal(trip_cntr_wait(scene->unspec, 100, -1), 0);
	assert_int_equal(trip_cntr_set(scene->unspec, 0), 0);
}

static void
play_caller(const char *arg)
{
	struct scene scene;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, watch_over, NULL), 0);
	open_scene(&scene);
	stop_primary();
	make_calls(&scene);
	assert_int_equal(kill(getppid(), SIGCONT), 0);
	/* The answer that nobody has waited for serves the next. */
	wait_by_many(scene.unspec);
	close_scene(&scene);
}

/*
 * As if the primary were stopped between the two ends of a signal of each slot that this process
 * has: in an iteration, with each of them signalled for a request before.
 */
static void
leave_signalling(bool signalling)
{
	for (uint32_t h = 0; h < family_domain->engine.n_homes; h++) {
		struct trip_home *home = family_domain->engine.homes[h];

		if (signalling)
			atomic_fetch_or(home->epoch, 1);
		for (uint32_t i = 0; i < home->shape.n_waiters; i++) {
			uint32_t word = atomic_load(&home->waiters[i].word);

			word &= ~TRIP_WAITER_STATE_MASK;
			word |= signalling ? TRIP_WAITER_SIGNALING : TRIP_WAITER_SIGNALED;
			atomic_store(&home->waiters[i].word, word);
		}
		if (!signalling)
			atomic_fetch_and(home->epoch, ~UINT64_C(1));
	}
}

static void
play_signalled(const char *arg)
{
	struct scene scene;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, watch_over, NULL), 0);
	open_scene(&scene);
	/* It has slots, so that nothing is asked for. */
	assert_int_equal(trip_cntr_wait(scene.unspec, 100, TIMEOUT_MS), -ETIMEDOUT);
	family_say('s');
	family_listen();
	stop_primary();
	leave_signalling(true);
	make_calls(&scene);
	leave_signalling(false);
	assert_int_equal(kill(getppid(), SIGCONT), 0);
	close_scene(&scene);
}

/* What the primary has to do, it does once, and when it goes on. */
struct change {
	pthread_t thread;
	struct trip_cntr *opened, *closed;
	_Atomic bool done;
};

static void *
change_counters(void *arg)
{
	const struct trip_cntr_attr attr = {
		.size = sizeof(attr), .wait_obj = TRIP_WAIT_FD, .name = "changed"};
	struct change *change = arg;

	assert_int_equal(trip_cntr_close(change->closed), 0);
	assert_int_equal(trip_cntr_open(family_domain, &attr, &change->opened, NULL), 0);
	atomic_store(&change->done, true);
	return NULL;
}

static void
play_changer(const char *arg)
{
	struct change change = {0};
	struct scene scene;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, watch_over, NULL), 0);
	open_scene(&scene);
	change.closed = family_cntr("changed", TRIP_WAIT_FD);
	stop_primary();
	assert_int_equal(pthread_create(&change.thread, NULL, change_counters, &change), 0);
	make_calls(&scene);
	assert_false(atomic_load(&change.done));
	assert_int_equal(kill(getppid(), SIGCONT), 0);
	assert_int_equal(pthread_join(change.thread, NULL), 0);
	assert_int_equal(trip_cntr_add(change.opened, 7), 0);
	assert_int_equal(trip_cntr_wait(change.opened, 7, -1), 0);
	assert_int_equal(trip_cntr_close(change.opened), 0);
	close_scene(&scene);
}

/* ---- the primary ------------------------------------------------------------------------------
 */

static void
cntr_15_no_call_outlasts_its_time(void **state)
{
	struct family_child child;

	family_open(TRIP_PROGRESS_LCORE, NULL);
	child = family_start("caller", 8, NULL);
	family_end(&child);
	family_close();
}

/* By hand: nobody is in an iteration when it is stopped. */
static void
cntr_15_nor_where_a_signal_is_under_way(void **state)
{
	struct family_child child;
	char byte;

	family_open(TRIP_PROGRESS_MANUAL, NULL);
	child = family_start("signalled", 8, NULL);
	assert_int_equal(family_hear(&child), 's');
	while (trip_progress(family_domain) > 0)
		;
	family_tell(&child, 'g');
	/* Here it stands when it is stopped; and goes on when all calls have returned. */
	while (read(child.from, &byte, 1) < 0 && errno == EINTR)
		;
	family_end(&child);
	family_close();
}

static void
what_is_asked_of_the_primary_waits_for_it(void **state)
{
	struct family_child child;

	family_open(TRIP_PROGRESS_LCORE, NULL);
	child = family_start("changer", 8, NULL);
	family_end(&child);
	family_close();
}

static const struct family_part parts[] = {
	{"caller", play_caller, false},
	{"signalled", play_signalled, false},
	{"changer", play_changer, false},
	{NULL, NULL, false},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cntr_15_no_call_outlasts_its_time),
		cmocka_unit_test(cntr_15_nor_where_a_signal_is_under_way),
		cmocka_unit_test(what_is_asked_of_the_primary_waits_for_it),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}
