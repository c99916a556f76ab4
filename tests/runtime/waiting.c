/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting on counters, by call and by descriptor. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include <rte_common.h>

#include <trip_step.h>

#include "harness.h"

/* Milliseconds after which a wake that has not come is called lost. */
#define LOST_MS 20000

static const enum trip_wait_obj waitable[] = {
	TRIP_WAIT_FD, TRIP_WAIT_YIELD, TRIP_WAIT_UNSPEC, TRIP_WAIT_MUTEX_COND};
#define N_WAITABLE (sizeof(waitable) / sizeof(*waitable))

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int
fd_of(struct trip_cntr *cntr)
{
	int fd = -1;

	assert_int_equal(trip_cntr_control(cntr, TRIP_GETWAIT, &fd), 0);
	assert_true(fd >= 0);
	return fd;
}

static int
try_one(struct trip_cntr *cntr)
{
	struct trip_fid *fid = trip_cntr_fid(cntr);

	return trip_trywait(harness_domain, &fid, 1);
}

static bool
readable(int fd)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};

	return poll(&entry, 1, 0) == 1;
}

/* Reads and asks until it is safe to block. */
static void
consume(struct trip_cntr *cntr)
{
	do {
		trip_cntr_read(cntr);
		trip_cntr_readerr(cntr);
	} while (try_one(cntr) != 0);
}

static void
cntr_07_descriptors_in_select_poll_and_epoll(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_FD);
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 7};
	int fd = fd_of(cntr), epoll = epoll_create1(0);
	struct timeval no_time = {0};
	fd_set set;

	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
	for (unsigned int i = 0; i < 3; i++) {
		consume(cntr);
		harness_settle();
		assert_false(readable(fd));
		assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
		trip_cntr_add(cntr, 1);
		harness_until(readable(fd));
		FD_ZERO(&set);
		FD_SET(fd, &set);
		assert_int_equal(select(fd + 1, &set, NULL, NULL, &no_time), 1);
		/* The kernel tells epoll a moment after poll() can see it. */
		assert_int_equal(epoll_wait(epoll, &event, 1, -1), 1);
		assert_int_equal(event.data.u64, 7);
	}
	close(epoll);
	harness_cntr_close(cntr);
}

enum { BY_SELECT, BY_POLL, BY_EPOLL, BY_WAYS };

/* Blocks until the descriptor is readable. */
static bool
block_on(int fd, int way)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};
	struct epoll_event event = {.events = EPOLLIN};
	int epoll, n;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	if (way == BY_SELECT)
		return select(fd + 1, &set, NULL, NULL, NULL) == 1;
	if (way == BY_POLL)
		return poll(&entry, 1, -1) == 1;
	epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	n = epoll_wait(epoll, &event, 1, -1);
	close(epoll);
	return n == 1;
}

struct native {
	struct trip_cntr *cntr;
	int way;
	_Atomic uint64_t seen;
	bool failed;
};

static void *
see_ten(void *arg)
{
	struct native *native = arg;

	for (uint64_t sum = 0; sum < 10 && !native->failed;) {
		sum = trip_cntr_read(native->cntr) + trip_cntr_readerr(native->cntr);
		atomic_store(&native->seen, sum);
		if (try_one(native->cntr) == 0 && sum < 10)
			native->failed = !block_on(fd_of(native->cntr), native->way);
	}
	return NULL;
}

/* Each wakes a thread that is blocked in it. */
static void
cntr_07_select_poll_and_epoll_wake(void **state)
{
	for (int way = 0; way < BY_WAYS; way++) {
		struct native native = {.cntr = harness_cntr(TRIP_WAIT_FD), .way = way};
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, see_ten, &native), 0);
		for (uint64_t i = 1; i <= 10; i++) {
			if (i % 2 == 0)
				trip_cntr_add(native.cntr, 1);
			else
				trip_cntr_adderr(native.cntr, 1);
			harness_until(atomic_load(&native.seen) == i);
		}
		pthread_join(thread, NULL);
		assert_false(native.failed);
		harness_cntr_close(native.cntr);
	}
}

/* An epoll instance forgets a counter that is closed, whoever gets the number of its descriptor. */
static void
cntr_07_a_closed_descriptor_is_gone(void **state)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);

	for (unsigned int i = 0; i < 10; i++) {
		struct trip_cntr *old = harness_cntr(TRIP_WAIT_FD), *cntr;
		int fd = fd_of(old);

		assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
		harness_cntr_close(old);
		cntr = harness_cntr(TRIP_WAIT_FD);
		consume(cntr);
		trip_cntr_add(cntr, 1);
		harness_until(readable(fd_of(cntr)));
		assert_int_equal(epoll_wait(epoll, &event, 1, 0), 0);
		harness_cntr_close(cntr);
		assert_int_equal(write(fd, &event, sizeof(event)), -1);
	}
	close(epoll);
}

struct waiter {
	struct trip_cntr *cntr;
	uint64_t threshold, saw;
	int timeout, result;
	_Atomic bool done;
	pthread_t thread;
};

static void *
wait_on(void *arg)
{
	struct waiter *waiter = arg;

	waiter->result = trip_cntr_wait(waiter->cntr, waiter->threshold, waiter->timeout);
	waiter->saw = trip_cntr_read(waiter->cntr);
	atomic_store(&waiter->done, true);
	return NULL;
}

static void
start(struct waiter *waiter, struct trip_cntr *cntr, uint64_t threshold)
{
	*waiter = (struct waiter){.cntr = cntr, .threshold = threshold, .timeout = -1};
	assert_int_equal(pthread_create(&waiter->thread, NULL, wait_on, waiter), 0);
}

/* Nobody need wake who spins: no home does anything for them. */
static void
cntr_09_yield_spins(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_YIELD);
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	struct waiter waiter;

	for (uint64_t i = 1; i <= 200; i++) {
		uint64_t began = now_ms();

		start(&waiter, cntr, i);
		if (i % 50 == 0) {
			assert_int_equal(trip_cntr_wait(cntr, i, 5), -ETIMEDOUT);
			assert_true(now_ms() + 1 >= began + 5);
		}
		trip_cntr_add(cntr, 1);
		harness_until(atomic_load(&waiter.done));
		pthread_join(waiter.thread, NULL);
		assert_int_equal(waiter.result, 0);
	}
	trip_domain_stats_read(harness_domain, &stats);
	assert_int_equal(stats.wakes, 0);
	harness_cntr_close(cntr);
}

/* By threads with thresholds of their own, while the counter counts. */
static void
cntr_12_success_means_reached(void **state)
{
	uint64_t rounds = harness_rounds(20);
	struct waiter waiters[6];

	for (unsigned int obj = 0; obj < N_WAITABLE; obj++) {
		struct trip_cntr *cntr = harness_cntr(waitable[obj]);

		for (uint64_t round = 0; round < rounds; round++) {
			uint64_t base = trip_cntr_read(cntr);

			for (uint64_t i = 0; i < 6; i++)
				start(&waiters[i], cntr, base + 1 + 20 * i);
			for (unsigned int i = 0; i < 120; i++) {
				trip_cntr_add(cntr, 1);
				harness_step();
			}
			for (unsigned int i = 0; i < 6; i++) {
				harness_until(atomic_load(&waiters[i].done));
				pthread_join(waiters[i].thread, NULL);
				assert_int_equal(waiters[i].result, 0);
				assert_true(waiters[i].saw >= waiters[i].threshold);
			}
		}
		assert_int_equal(trip_cntr_wait(cntr, trip_cntr_read(cntr), 0), 0);
		assert_int_equal(trip_cntr_wait(cntr, trip_cntr_read(cntr) + 1, 0), -ETIMEDOUT);
		assert_int_equal(trip_cntr_wait(cntr, TRIP_CNTR_MAX + 1, 0), -EINVAL);
		harness_cntr_close(cntr);
	}
}

/* Every one of them, whether the error value goes up or down. */
static void
cntr_13_an_error_unblocks_every_waiter(void **state)
{
	struct waiter waiters[5];

	for (unsigned int obj = 0; obj < N_WAITABLE; obj++) {
		struct trip_cntr *cntr = harness_cntr(waitable[obj]);

		for (unsigned int round = 0; round < 20; round++) {
			unsigned int done = 0;

			trip_cntr_seterr(cntr, UINT64_C(1) << 40);
			for (uint64_t i = 0; i < 5; i++)
				start(&waiters[i], cntr, 1000 + i);
			/* Whoever enters the call after one change is unblocked by a later one. */
			while (done < 5) {
				if (round % 2 == 0)
					trip_cntr_adderr(cntr, 1);
				else
					trip_cntr_seterr(cntr, trip_cntr_readerr(cntr) - 1);
				harness_step();
				done = 0;
				for (unsigned int i = 0; i < 5; i++)
					done += atomic_load(&waiters[i].done);
			}
			for (unsigned int i = 0; i < 5; i++) {
				pthread_join(waiters[i].thread, NULL);
				assert_int_equal(waiters[i].result, -EIO);
			}
			harness_settle();
		}
		harness_cntr_close(cntr);
	}
}

static void
cntr_13_a_reached_threshold_wins(void **state)
{
	for (unsigned int obj = 0; obj < N_WAITABLE; obj++) {
		struct trip_cntr *cntr = harness_cntr(waitable[obj]);

		for (uint64_t i = 1; i <= 200; i++) {
			struct waiter waiter;

			start(&waiter, cntr, i);
			if (i % 2 == 0)
				harness_step();
			trip_cntr_add(cntr, 1);
			trip_cntr_adderr(cntr, 1);
			harness_until(atomic_load(&waiter.done));
			pthread_join(waiter.thread, NULL);
			assert_int_equal(waiter.result, 0);
		}
		harness_cntr_close(cntr);
	}
}

static void
cntr_15_timeouts(void **state)
{
	for (unsigned int obj = 0; obj < N_WAITABLE; obj++) {
		struct trip_cntr *cntr = harness_cntr(waitable[obj]);
		uint64_t began;

		trip_cntr_adderr(cntr, 3);
		harness_settle();
		for (unsigned int i = 0; i < 1000; i++)
			assert_int_equal(trip_cntr_wait(cntr, 1, 0), -ETIMEDOUT);
		for (int ms = 1; ms < 30; ms += 9) {
			began = now_ms();
			assert_int_equal(trip_cntr_wait(cntr, 1, ms), -ETIMEDOUT);
			assert_true(now_ms() + 1 >= began + (uint64_t)ms);
		}
		harness_expect(cntr, 0, 3);
		/* A time that is not over does not matter. */
		trip_cntr_add(cntr, 1);
		assert_int_equal(trip_cntr_wait(cntr, 1, LOST_MS), 0);
		harness_cntr_close(cntr);
	}
}

/* More threads than waiter slots, while all work slots are taken. */
static void
cntr_17_waiters_are_never_refused(void **state)
{
	const struct trip_domain_attr attr = {.max_waiters = 2, .max_works = 16};
	static struct harness_notes notes;
	struct waiter waiters[8];
	struct trip_cntr *cntr;

	harness_open(1, &attr);
	cntr = harness_cntr(TRIP_WAIT_FD);
	harness_notes_open(&notes);
	for (uint64_t i = 0; i < 16; i++)
		harness_note(&notes, cntr, 1000, i);
	for (uint64_t i = 0; i < 8; i++)
		start(&waiters[i], cntr, 1 + i);
	for (unsigned int i = 0; i < 8; i++) {
		trip_cntr_add(cntr, 1);
		harness_until(atomic_load(&waiters[i].done));
		pthread_join(waiters[i].thread, NULL);
		assert_int_equal(waiters[i].result, 0);
	}
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* --- the native protocol --- */

struct pingpong {
	struct trip_cntr *cntr;
	_Atomic uint64_t round, ack;
	uint64_t rounds;
	bool lost;
};

static void *
wait_natively(void *arg)
{
	struct pingpong *game = arg;
	struct pollfd entry = {.fd = fd_of(game->cntr), .events = POLLIN};

	for (uint64_t i = 1; i <= game->rounds; i++) {
		while (trip_cntr_read(game->cntr) + trip_cntr_readerr(game->cntr) < i)
			if (try_one(game->cntr) == 0 && poll(&entry, 1, LOST_MS) != 1) {
				game->lost = true;
				return NULL;
			}
		atomic_store(&game->ack, i);
	}
	return NULL;
}

static void
update(struct trip_cntr *cntr, uint64_t i)
{
	if (i % 5 == 4)
		trip_cntr_adderr(cntr, 1);
	else if (i % 5 == 3)
		trip_cntr_set(cntr, trip_cntr_read(cntr) + 1);
	else
		trip_cntr_add(cntr, 1);
}

/*
 * Each update is the last one for whoever waits for it, so none that is lost is made good by
 * another. They come at random moments after the former one was seen: before trywait, in it, or
 * after.
 */
static void
wait_04_no_wake_is_lost(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_FD);
	struct pingpong game = {.cntr = cntr, .rounds = harness_rounds(20000)};
	struct trip_random random = {harness_seed};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, wait_natively, &game), 0);
	for (uint64_t i = 1; i <= game.rounds; i++) {
		uint64_t delay =
			trip_random_below(&random, 4) == 0 ? 0 : trip_random_below(&random, 3000);

		for (uint64_t k = 0; k < delay; k++)
			__asm__ volatile("");
		if (trip_random_below(&random, 4) == 0)
			harness_step();
		update(cntr, i);
		harness_until(atomic_load(&game.ack) == i);
	}
	pthread_join(thread, NULL);
	assert_false(game.lost);
	harness_cntr_close(cntr);
}

/* Blocking calls between two threads, each of which waits for the other. */
static void *
answer(void *arg)
{
	struct pingpong *game = arg;

	for (uint64_t i = 1; i <= game->rounds; i++) {
		if (trip_cntr_wait(game->cntr, i, LOST_MS) != 0) {
			game->lost = true;
			return NULL;
		}
		atomic_store(&game->ack, i);
	}
	return NULL;
}

static void
cntr_12_no_wake_is_lost(void **state)
{
	for (unsigned int obj = 0; obj < N_WAITABLE; obj++) {
		struct trip_cntr *cntr = harness_cntr(waitable[obj]);
		struct pingpong game = {.cntr = cntr, .rounds = harness_rounds(5000)};
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, answer, &game), 0);
		for (uint64_t i = 1; i <= game.rounds; i++) {
			trip_cntr_add(cntr, 1);
			harness_until(atomic_load(&game.ack) == i);
		}
		pthread_join(thread, NULL);
		assert_false(game.lost);
		harness_cntr_close(cntr);
	}
}

static void
wait_05_trywait_stays_due_until_read(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_FD);

	consume(cntr);
	trip_cntr_add(cntr, 1);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(try_one(cntr), -EAGAIN);
	trip_cntr_adderr(cntr, 1);
	trip_cntr_read(cntr);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(try_one(cntr), -EAGAIN);
	trip_cntr_readerr(cntr);
	assert_int_equal(try_one(cntr), 0);
	assert_int_equal(try_one(cntr), 0);
	harness_cntr_close(cntr);
}

static void
wait_06_objects_of_one_type(void **state)
{
	struct trip_cntr *none = harness_cntr(TRIP_WAIT_NONE);
	struct trip_cntr *yield = harness_cntr(TRIP_WAIT_YIELD);
	struct trip_cntr *cntr[2] = {harness_cntr(TRIP_WAIT_FD), harness_cntr(TRIP_WAIT_FD)};
	struct trip_fid *fids[2] = {trip_cntr_fid(cntr[0]), trip_cntr_fid(cntr[1])};

	assert_int_equal(trip_trywait(harness_domain, fids, 2), 0);
	trip_cntr_add(cntr[1], 1);
	assert_int_equal(trip_trywait(harness_domain, fids, 2), -EAGAIN);
	assert_int_equal(trip_trywait(harness_domain, fids, 1), 0);
	fids[1] = trip_cntr_fid(yield);
	assert_int_equal(trip_trywait(harness_domain, fids, 2), -EINVAL);
	fids[1] = trip_cntr_fid(none);
	assert_int_equal(trip_trywait(harness_domain, fids, 2), -EINVAL);
	assert_int_equal(trip_trywait(harness_domain, &fids[1], 1), -EINVAL);
	assert_int_equal(trip_trywait(harness_domain, fids, 0), -EINVAL);
	assert_int_equal(trip_trywait(harness_domain, NULL, 1), -EINVAL);
	harness_cntr_close(none);
	harness_cntr_close(yield);
	for (unsigned int i = 0; i < 2; i++)
		harness_cntr_close(cntr[i]);
}

static void
wait_08_idle_descriptors_are_not_readable(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_FD);
	int fd = fd_of(cntr);

	for (uint64_t i = 0; i < 200; i++) {
		consume(cntr);
		harness_settle();
		assert_false(readable(fd));
		update(cntr, i);
		harness_until(readable(fd));
	}
	harness_cntr_close(cntr);
}

struct asker {
	struct trip_cntr *cntr;
	struct trip_fid *fid;
	int result;
	sem_t done;
};

static void *
ask(void *arg)
{
	struct asker *asker = arg;

	trip_cntr_read(asker->cntr);
	asker->result = trip_trywait(harness_domain, &asker->fid, 1);
	if (asker->fid == trip_cntr_fid(asker->cntr))
		trip_cntr_arm(asker->cntr, TRIP_CNTR_MAX);
	sem_post(&asker->done);
	return NULL;
}

static void
progress_on(void *arg)
{
	while (trip_progress(harness_domain) > 0)
		;
}

/* Asks while the home is stopped somewhere on its way to the signal of one update. False where it
 * was not stopped any more. */
static bool
ask_between(struct asker *asker, int fd, uint64_t k)
{
	struct timespec soon;
	struct trip_step step;
	pthread_t thread;
	bool stopped;

	trip_cntr_read(asker->cntr);
	assert_int_equal(trip_trywait(harness_domain, &asker->fid, 1), 0);
	harness_settle();
	assert_false(readable(fd));
	trip_cntr_add(asker->cntr, 1);
	sem_init(&asker->done, 0, 0);
	stopped = trip_step_start(&step, progress_on, NULL, k);
	assert_int_equal(pthread_create(&thread, NULL, ask, asker), 0);
	/* It may wait for the home; if it does not, and is late, this shows less. */
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 10000000;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	sem_timedwait(&asker->done, &soon);
	trip_step_finish(&step);
	pthread_join(thread, NULL);
	sem_destroy(&asker->done);
	assert_int_equal(asker->result, 0);
	harness_settle();
	assert_false(readable(fd));
	return stopped;
}

/* An update that was read before signals nobody afterwards, wherever the home was just then. */
static void
wait_08_no_late_signal(void **state)
{
	struct trip_wait_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_FD};
	struct trip_cntr_attr of_set = {.size = sizeof(of_set), .wait_obj = TRIP_WAIT_SET};
	struct trip_random random = {harness_seed};
	/* Each round is stepped from its begin, which takes the longest by far. */
	uint64_t stride = trip_test_scale() > 1 ? 16 : 64;
	struct asker asker[2];
	int fds[2];

	if (!TRIP_STEP_POSSIBLE || harness_mode != TRIP_PROGRESS_MANUAL)
		skip();
	harness_open(1, NULL);
	asker[0].cntr = harness_cntr(TRIP_WAIT_FD);
	asker[0].fid = trip_cntr_fid(asker[0].cntr);
	fds[0] = fd_of(asker[0].cntr);
	assert_int_equal(trip_wait_open(harness_domain, &attr, &of_set.wait_set), 0);
	assert_int_equal(trip_cntr_open(harness_domain, &of_set, &asker[1].cntr, NULL), 0);
	asker[1].fid = trip_wait_fid(of_set.wait_set);
	assert_int_equal(trip_wait_control(of_set.wait_set, TRIP_GETWAIT, &fds[1]), 0);
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t k = 1, stops = 0;

		while (ask_between(&asker[i], fds[i], k)) {
			k += 1 + trip_random_below(&random, stride);
			stops++;
		}
		printf("stopped %" PRIu64 " times in %" PRIu64 " instructions\n", stops, k);
		harness_cntr_close(asker[i].cntr);
	}
	assert_int_equal(trip_wait_close(of_set.wait_set), 0);
}

static void
wait_09_armed_for_a_crossing_only(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_FD);
	int fd = fd_of(cntr);

	consume(cntr);
	assert_int_equal(trip_cntr_arm(cntr, 10), 0);
	for (unsigned int i = 1; i < 10; i++) {
		trip_cntr_add(cntr, 1);
		harness_settle();
		assert_false(readable(fd));
	}
	trip_cntr_add(cntr, 1);
	harness_until(readable(fd));
	/* A change of the error value, too. */
	consume(cntr);
	assert_int_equal(trip_cntr_arm(cntr, 20), 0);
	harness_settle();
	assert_false(readable(fd));
	trip_cntr_adderr(cntr, 1);
	harness_until(readable(fd));
	/* Errors do not count towards the threshold. */
	consume(cntr);
	assert_int_equal(trip_cntr_arm(cntr, 11), 0);
	harness_settle();
	assert_false(readable(fd));
	/* The new threshold takes the place of the old one, also where that was lower. */
	assert_int_equal(trip_cntr_arm(cntr, 15), 0);
	trip_cntr_add(cntr, 3);
	harness_settle();
	assert_false(readable(fd));
	trip_cntr_add(cntr, 2);
	harness_until(readable(fd));
	/* What is reached already is ready at once; what was and is no more, is not. */
	consume(cntr);
	assert_int_equal(trip_cntr_arm(cntr, 15), 0);
	harness_until(readable(fd));
	trip_cntr_set(cntr, 3);
	consume(cntr);
	assert_int_equal(trip_cntr_arm(cntr, 12), 0);
	trip_cntr_set(cntr, 4);
	harness_settle();
	assert_false(readable(fd));
	trip_cntr_add(cntr, 8);
	harness_until(readable(fd));
	assert_int_equal(trip_cntr_arm(cntr, TRIP_CNTR_MAX + 1), -EINVAL);
	harness_cntr_close(cntr);
}

/* Whoever waits for thresholds alone need not catch the counter at rest. */
static void
wait_09_a_due_counter_is_drained(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_FD);
	int fd = fd_of(cntr);

	for (uint64_t i = 1; i <= 20; i++) {
		assert_int_equal(trip_cntr_arm(cntr, 5 * i), 0);
		harness_settle();
		assert_false(readable(fd));
		trip_cntr_add(cntr, 5);
		harness_until(readable(fd));
		assert_int_equal(try_one(cntr), -EAGAIN);
	}
	harness_cntr_close(cntr);
}

/* Errors do not count there either, where the sum is above the largest value. */
static void
wait_09_armed_for_the_largest(void **state)
{
	static const uint64_t errors[] = {5, 10, TRIP_CNTR_MAX};
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_FD);
	int fd = fd_of(cntr);

	for (unsigned int i = 0; i < RTE_DIM(errors); i++) {
		trip_cntr_set(cntr, TRIP_CNTR_MAX - 5);
		trip_cntr_seterr(cntr, errors[i]);
		consume(cntr);
		assert_int_equal(trip_cntr_arm(cntr, TRIP_CNTR_MAX), 0);
		harness_settle();
		assert_false(readable(fd));
		trip_cntr_add(cntr, 4);
		harness_settle();
		assert_false(readable(fd));
		trip_cntr_add(cntr, 1);
		harness_until(readable(fd));
		/* An error that changes is one. */
		trip_cntr_set(cntr, TRIP_CNTR_MAX - 5);
		consume(cntr);
		assert_int_equal(trip_cntr_arm(cntr, TRIP_CNTR_MAX), 0);
		trip_cntr_seterr(cntr, errors[i] - 5);
		harness_until(readable(fd));
	}
	harness_cntr_close(cntr);
}

static struct trip_cntr *blocked_on;

static int
close_it(const struct trip_work_event *event, void *arg)
{
	int result = trip_cntr_close(blocked_on);

	trip_cntr_add(blocked_on, 5);
	return result == -EBUSY ? 0 : -EPROTO;
}

/* A wait in the primary progresses by itself; a counter that is waited for cannot be closed. */
static void
wait_11_waits_progress_by_themselves(void **state)
{
	struct trip_cntr *trigger, *completion;
	struct trip_function *function;
	struct trip_work work;

	if (harness_mode != TRIP_PROGRESS_MANUAL)
		skip();
	harness_open(1, NULL);
	trigger = harness_cntr(TRIP_WAIT_NONE);
	completion = harness_cntr(TRIP_WAIT_NONE);
	work = harness_work(trigger, 1, TRIP_OP_CALL);
	assert_int_equal(trip_function_register(harness_domain, close_it, NULL, &function), 0);
	for (unsigned int obj = 0; obj < N_WAITABLE; obj++) {
		blocked_on = harness_cntr(waitable[obj]);
		work.op.call.function = function;
		work.completion_cntr = completion;
		work.threshold = 1 + obj;
		harness_queue(&work);
		trip_cntr_add(trigger, 1);
		/* Fires within this call, and not before. */
		assert_int_equal(trip_cntr_wait(blocked_on, 5, LOST_MS), 0);
		harness_settle();
		harness_expect(completion, 1 + obj, 0);
		harness_cntr_close(blocked_on);
	}
	/* trywait progresses before it answers. */
	blocked_on = harness_cntr(TRIP_WAIT_FD);
	consume(blocked_on);
	work = harness_work(trigger, 10, TRIP_OP_CNTR_ADD);
	work.op.cntr.cntr = blocked_on;
	work.op.cntr.value = 1;
	harness_queue(&work);
	trip_cntr_add(trigger, 10);
	harness_until(try_one(blocked_on) == -EAGAIN);
	harness_cntr_close(blocked_on);
	assert_int_equal(trip_function_unregister(function), 0);
	harness_cntr_close(completion);
	harness_cntr_close(trigger);
}

/* Who waits on what, and how many of them were in the function at once. */
static struct crew {
	struct trip_cntr *cntr;
	struct trip_wait_set *set;
	_Atomic uint32_t inside, most, calls;
} crew;

static int
call_alone(const struct trip_work_event *event, void *arg)
{
	uint32_t inside = atomic_fetch_add(&crew.inside, 1) + 1, most = atomic_load(&crew.most);

	while (inside > most && !atomic_compare_exchange_weak(&crew.most, &most, inside))
		;
	sched_yield();
	atomic_fetch_add(&crew.calls, 1);
	atomic_fetch_sub(&crew.inside, 1);
	return 0;
}

static void *
wait_on_cntr(void *arg)
{
	return trip_cntr_wait(crew.cntr, 1000, -1) == 0 ? NULL : arg;
}

static void *
wait_on_set(void *arg)
{
	return trip_wait(crew.set, -1) == 0 ? NULL : arg;
}

/* Threads that block, on a counter and on a set, are all that progresses the domain: the calls that
 * they come to, a chain of 1000, are made one at a time, and wake them in the end. */
static void
wait_11_one_thread_at_a_time(void **state)
{
	void *(*const waits[])(void *) = {wait_on_cntr, wait_on_set, wait_on_cntr, wait_on_set};
	struct trip_wait_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_MUTEX_COND};
	struct trip_cntr_attr of_set = {.size = sizeof(of_set), .wait_obj = TRIP_WAIT_SET};
	struct trip_cntr *trigger, *member;
	struct trip_function *function;
	struct trip_work work;
	pthread_t threads[4];
	void *failed;

	if (harness_mode != TRIP_PROGRESS_MANUAL)
		skip();
	harness_open(1, NULL);
	atomic_store(&crew.most, 0);
	atomic_store(&crew.calls, 0);
	assert_int_equal(trip_wait_open(harness_domain, &attr, &crew.set), 0);
	of_set.wait_set = crew.set;
	assert_int_equal(trip_cntr_open(harness_domain, &of_set, &member, NULL), 0);
	trigger = harness_cntr(TRIP_WAIT_NONE);
	crew.cntr = harness_cntr(TRIP_WAIT_UNSPEC);
	assert_int_equal(trip_function_register(harness_domain, call_alone, NULL, &function), 0);
	/* Each call adds 1 to what triggers the next; so does it to the counter waited for. */
	work = harness_work(trigger, 0, TRIP_OP_CALL);
	work.interval = 1;
	work.op.call.function = function;
	work.completion_cntr = crew.cntr;
	harness_queue(&work);
	work = harness_work(crew.cntr, 1, TRIP_OP_CNTR_ADD);
	work.interval = 1;
	work.op.cntr.cntr = trigger;
	work.op.cntr.value = 1;
	harness_queue(&work);
	work = harness_work(crew.cntr, 1000, TRIP_OP_CNTR_ADD);
	work.op.cntr.cntr = member;
	work.op.cntr.value = 1;
	harness_queue(&work);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, waits[i], &crew), 0);
	for (unsigned int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(atomic_load(&crew.most), 1);
	assert_true(atomic_load(&crew.calls) >= 1000);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	assert_int_equal(trip_function_unregister(function), 0);
	harness_cntr_close(crew.cntr);
	harness_cntr_close(trigger);
	harness_cntr_close(member);
	assert_int_equal(trip_wait_close(crew.set), 0);
}

/* By every kind of set: what makes a member due happens within the call, and not before. */
static void
wait_11_sets_progress_by_themselves(void **state)
{
	struct trip_cntr_attr of_set = {.size = sizeof(of_set), .wait_obj = TRIP_WAIT_SET};
	struct trip_wait_attr attr = {.size = sizeof(attr)};
	struct trip_cntr *trigger, *member;
	struct trip_work work;
	struct trip_fid *fid;

	if (harness_mode != TRIP_PROGRESS_MANUAL)
		skip();
	harness_open(2, NULL);
	for (unsigned int obj = 0; obj < N_WAITABLE; obj++) {
		attr.wait_obj = waitable[obj];
		assert_int_equal(trip_wait_open(harness_domain, &attr, &of_set.wait_set), 0);
		assert_int_equal(trip_cntr_open(harness_domain, &of_set, &member, NULL), 0);
		trigger = harness_cntr(TRIP_WAIT_NONE);
		work = harness_work(trigger, 1, TRIP_OP_CNTR_ADD);
		work.op.cntr.cntr = member;
		work.op.cntr.value = 1;
		harness_queue(&work);
		trip_cntr_add(trigger, 1);
		assert_int_equal(trip_wait(of_set.wait_set, 0), -ETIMEDOUT);
		harness_expect(member, 0, 0);
		assert_int_equal(trip_wait(of_set.wait_set, LOST_MS), 0);
		harness_expect(member, 1, 0);
		/* A trywait progresses before it answers. */
		fid = trip_wait_fid(of_set.wait_set);
		work.threshold = 2;
		harness_queue(&work);
		trip_cntr_add(trigger, 1);
		harness_until(trip_trywait(harness_domain, &fid, 1) == -EAGAIN);
		harness_expect(member, 2, 0);
		assert_int_equal(trip_wait(of_set.wait_set, 1), -ETIMEDOUT);
		harness_cntr_close(member);
		harness_cntr_close(trigger);
		assert_int_equal(trip_wait_close(of_set.wait_set), 0);
	}
}

/* Where the homes run by themselves nobody else progresses them. */
static void
wait_11_not_by_hand(void **state)
{
	int expected = harness_mode == TRIP_PROGRESS_MANUAL ? 0 : -EINVAL;
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_UNSPEC);

	harness_settle();
	assert_int_equal(trip_progress(harness_domain), expected);
	trip_cntr_add(cntr, 1);
	assert_int_equal(trip_cntr_wait(cntr, 1, -1), 0);
	harness_cntr_close(cntr);
}

static int
wait_here(const struct trip_work_event *event, void *arg)
{
	return trip_cntr_wait(arg, TRIP_CNTR_MAX, -1);
}

static void
cntr_12_a_home_does_not_wait_for_itself(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_YIELD);
	struct trip_work work = harness_work(cntr, 0, TRIP_OP_CALL);
	struct trip_work_event event;
	struct trip_function *function;

	assert_int_equal(trip_function_register(harness_domain, wait_here, cntr, &function), 0);
	work.op.call.function = function;
	work.flags = TRIP_WORK_COMPLETION;
	harness_queue(&work);
	event = harness_event();
	assert_int_equal(event.result, -EDEADLK);
	assert_int_equal(trip_function_unregister(function), 0);
	harness_cntr_close(cntr);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(cntr_07_descriptors_in_select_poll_and_epoll),
	HARNESS_TEST(cntr_07_select_poll_and_epoll_wake),
	HARNESS_TEST(cntr_07_a_closed_descriptor_is_gone),
	HARNESS_TEST(cntr_09_yield_spins),
	HARNESS_TEST(cntr_12_success_means_reached),
	HARNESS_TEST(cntr_12_no_wake_is_lost),
	HARNESS_TEST(cntr_12_a_home_does_not_wait_for_itself),
	HARNESS_TEST(cntr_13_an_error_unblocks_every_waiter),
	HARNESS_TEST(cntr_13_a_reached_threshold_wins),
	HARNESS_TEST(cntr_15_timeouts),
	HARNESS_TEST_OWN(cntr_17_waiters_are_never_refused),
	HARNESS_TEST(wait_04_no_wake_is_lost),
	HARNESS_TEST(wait_05_trywait_stays_due_until_read),
	HARNESS_TEST(wait_06_objects_of_one_type),
	HARNESS_TEST(wait_08_idle_descriptors_are_not_readable),
	HARNESS_TEST_OWN(wait_08_no_late_signal),
	HARNESS_TEST(wait_09_armed_for_a_crossing_only),
	HARNESS_TEST(wait_09_a_due_counter_is_drained),
	HARNESS_TEST(wait_09_armed_for_the_largest),
	HARNESS_TEST_OWN(wait_11_waits_progress_by_themselves),
	HARNESS_TEST_OWN(wait_11_sets_progress_by_themselves),
	HARNESS_TEST_OWN(wait_11_one_thread_at_a_time),
	HARNESS_TEST(wait_11_not_by_hand),
};

HARNESS_MAIN(NULL, tests)
