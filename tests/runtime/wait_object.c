/* SPDX-License-Identifier: BSD-3-Clause */
/* The wait objects of counters: what each is, whom it wakes, and what it costs who updates. */
#include <dlfcn.h>
#include <inttypes.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "waits.h"

/* The library finds these before libc's: how many condition variables there are, and whether
 * threads are to be had. */
static _Atomic int conds;
static _Atomic bool no_threads;

int
pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	int (*init)(pthread_cond_t * cond, const pthread_condattr_t *attr);

	*(void **)&init = dlsym(RTLD_NEXT, "pthread_cond_init");
	atomic_fetch_add(&conds, 1);
	return init(cond, attr);
}

int
pthread_cond_destroy(pthread_cond_t *cond)
{
	int (*destroy)(pthread_cond_t * cond);

	*(void **)&destroy = dlsym(RTLD_NEXT, "pthread_cond_destroy");
	atomic_fetch_sub(&conds, 1);
	return destroy(cond);
}

int
pthread_create(
	pthread_t *thread, const pthread_attr_t *attr, void *(*start_routine)(void *), void *arg)
{
	int (*create)(pthread_t * thread, const pthread_attr_t *attr,
		void *(*start_routine)(void *), void *arg);

	*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	return atomic_load(&no_threads) ? EAGAIN : create(thread, attr, start_routine, arg);
}

static int
open_with(enum trip_wait_obj wait_obj, struct trip_wait_set *set, struct trip_cntr **cntr)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = wait_obj, .wait_set = set};

	return trip_cntr_open(harness_domain, &attr, cntr, NULL);
}

/* What of each wait object is to be had. */
static void
cntr_04_six_wait_objects(void **state)
{
	static const struct {
		enum trip_wait_obj wait_obj;
		int wait, arm;
	} expected[] = {
		{TRIP_WAIT_NONE, -EINVAL, -EINVAL},
		{TRIP_WAIT_UNSPEC, 0, -EINVAL},
		{TRIP_WAIT_SET, -EINVAL, -EINVAL},
		{TRIP_WAIT_FD, 0, 0},
		{TRIP_WAIT_MUTEX_COND, 0, 0},
		{TRIP_WAIT_YIELD, 0, -EINVAL},
	};
	struct trip_wait_set *set = waits_set(TRIP_WAIT_UNSPEC);

	for (unsigned int i = 0; i < 6; i++) {
		struct trip_cntr *cntr;

		assert_int_equal(open_with(expected[i].wait_obj, set, &cntr), 0);
		assert_int_equal(trip_cntr_wait(cntr, 0, 0), expected[i].wait);
		assert_int_equal(trip_cntr_arm(cntr, 1), expected[i].arm);
		harness_cntr_close(cntr);
	}
	assert_int_equal(trip_wait_close(set), 0);
}

static void
cntr_05_unspec_is_not_retrievable(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_UNSPEC);
	struct trip_mutex_cond object = {.size = sizeof(object)};

	assert_int_equal(trip_cntr_control(cntr, TRIP_GETWAIT, &object), -ENOSYS);
	assert_int_equal(trip_cntr_control(cntr, TRIP_GETWAIT, NULL), -EINVAL);
	assert_int_equal(trip_cntr_control(cntr, 77, &object), -EINVAL);
	assert_int_equal(trip_cntr_wait(cntr, 1, 0), -ETIMEDOUT);
	trip_cntr_add(cntr, 1);
	assert_int_equal(trip_cntr_wait(cntr, 1, -1), 0);
	harness_cntr_close(cntr);
}

static void
cntr_06_an_open_set_of_the_domain(void **state)
{
	struct trip_wait_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_FD};
	struct trip_wait_set *set, *const nonsense = (struct trip_wait_set *)(uintptr_t)1;
	struct trip_domain *domain = harness_open_other();
	struct trip_cntr *cntr = NULL;

	assert_int_equal(trip_wait_open(domain, &attr, &set), 0);
	assert_int_equal(open_with(TRIP_WAIT_SET, NULL, &cntr), -EINVAL);
	assert_int_equal(open_with(TRIP_WAIT_SET, set, &cntr), -EINVAL);
	assert_null(cntr);
	assert_int_equal(trip_wait_close(set), 0);
	harness_close_other(domain);
	/* Nobody else looks at it. */
	for (int i = TRIP_WAIT_NONE; i <= TRIP_WAIT_YIELD; i++) {
		if (i == TRIP_WAIT_SET)
			continue;
		assert_int_equal(open_with((enum trip_wait_obj)i, nonsense, &cntr), 0);
		harness_cntr_close(cntr);
	}
}

static struct trip_mutex_cond
cond_of(struct trip_cntr *cntr)
{
	struct trip_mutex_cond object = {.size = sizeof(object)};

	assert_int_equal(trip_cntr_control(cntr, TRIP_GETWAIT, &object), 0);
	return object;
}

static uint64_t
iterations(void)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	assert_int_equal(trip_domain_stats_read(harness_domain, &stats), 0);
	return stats.iterations;
}

/*
 * An application that holds its mutex keeps nobody but its own waiters: the home goes on, and the
 * helper tells the others meanwhile.
 */
static void
cntr_08_a_held_mutex_stalls_nobody(void **state)
{
	struct trip_cntr *held = harness_cntr(TRIP_WAIT_MUTEX_COND);
	struct trip_cntr *other = harness_cntr(TRIP_WAIT_MUTEX_COND);
	struct trip_cntr *plain = harness_cntr(TRIP_WAIT_UNSPEC);
	struct trip_mutex_cond objects[2] = {cond_of(held), cond_of(other)};
	uint64_t before, rounds = harness_rounds(50);

	assert_ptr_not_equal(objects[0].mutex, objects[1].mutex);
	assert_ptr_not_equal(objects[0].cond, objects[1].cond);
	for (uint64_t i = 1; i <= rounds; i++) {
		pthread_mutex_lock(objects[0].mutex);
		trip_cntr_read(held);
		assert_int_equal(waits_try(trip_cntr_fid(held)), 0);
		trip_cntr_add(held, 1);
		harness_settle();
		before = iterations();
		harness_until(iterations() > before + 100);
		trip_cntr_add(plain, 1);
		assert_int_equal(trip_cntr_wait(plain, i, WAITS_LOST_MS), 0);
		pthread_mutex_lock(objects[1].mutex);
		trip_cntr_read(other);
		assert_int_equal(waits_try(trip_cntr_fid(other)), 0);
		trip_cntr_add(other, 1);
		harness_settle();
		assert_int_equal(waits_cond(&objects[1]), 0);
		pthread_mutex_unlock(objects[1].mutex);
		/* What came while the mutex was held is told as soon as it is not. */
		assert_int_equal(waits_cond(&objects[0]), 0);
		pthread_mutex_unlock(objects[0].mutex);
	}
	harness_cntr_close(held);
	harness_cntr_close(other);
	harness_cntr_close(plain);
}

/* All of them refuse the object, and leave nothing behind. */
static void
refuse_all(const enum trip_wait_obj *kinds, unsigned int n, int error)
{
	struct trip_wait_attr attr = {.size = sizeof(attr)};

	for (unsigned int round = 0; round < 5; round++)
		for (unsigned int i = 0; i < n; i++) {
			struct trip_wait_set *set;
			struct trip_cntr *cntr;

			attr.wait_obj = kinds[i];
			assert_int_equal(open_with(kinds[i], NULL, &cntr), error);
			assert_int_equal(trip_wait_open(harness_domain, &attr, &set), error);
		}
	assert_int_equal(atomic_load(&conds), 0);
}

/* No more than any other open that fails does one without a helper thread, or a descriptor, use
 * anything up. */
static void
cntr_08_what_is_not_to_be_had(void **state)
{
	static const enum trip_wait_obj kinds[] = {TRIP_WAIT_MUTEX_COND, TRIP_WAIT_FD};
	const struct trip_domain_attr attr = {.max_waiters = 2};
	struct rlimit before, limit;
	unsigned int descriptors;
	struct trip_cntr *cntr[2];

	harness_open(1, &attr);
	descriptors = waits_open_descriptors();
	atomic_store(&conds, 0);
	atomic_store(&no_threads, true);
	refuse_all(kinds, 1, -EAGAIN);
	atomic_store(&no_threads, false);
	/* The lowest that is free is above the limit. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = (rlim_t)dup(0);
	assert_int_equal(close((int)limit.rlim_cur), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	refuse_all(kinds, 2, -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(waits_open_descriptors(), descriptors);
	for (unsigned int i = 0; i < 2; i++)
		cntr[i] = harness_cntr(kinds[i]);
	assert_int_equal(atomic_load(&conds), 1);
	for (unsigned int i = 0; i < 2; i++)
		harness_cntr_close(cntr[i]);
	assert_int_equal(atomic_load(&conds), 0);
}

static _Atomic int waits_in;

struct sleeper {
	struct trip_cntr *cntr;
	uint64_t threshold, saw, errgen;
	int timeout, result;
	bool from;
	_Atomic bool done;
	pthread_t thread;
};

static void *
sleep_on(void *arg)
{
	struct sleeper *sleeper = arg;

	atomic_fetch_add(&waits_in, 1);
	sleeper->result =
		sleeper->from ? trip_cntr_wait_from(sleeper->cntr, sleeper->threshold,
					sleeper->errgen, sleeper->timeout)
			      : trip_cntr_wait(sleeper->cntr, sleeper->threshold, sleeper->timeout);
	sleeper->saw = trip_cntr_read(sleeper->cntr);
	atomic_store(&sleeper->done, true);
	return NULL;
}

static void
start(struct sleeper *sleeper)
{
	sleeper->timeout = -1;
	atomic_store(&sleeper->done, false);
	assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_on, sleeper), 0);
}

static void
finish(struct sleeper *sleeper, int result)
{
	harness_until(atomic_load(&sleeper->done));
	pthread_join(sleeper->thread, NULL);
	assert_int_equal(sleeper->result, result);
}

static const enum trip_wait_obj waitable[] = {
	TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND, TRIP_WAIT_YIELD};
#define N_WAITABLE (sizeof(waitable) / sizeof(*waitable))

/* And nothing has changed when it says so. */
static void
cntr_11_a_poll_set_refuses_close(void **state)
{
	for (unsigned int i = 0; i < N_WAITABLE; i++) {
		struct trip_cntr *cntr = harness_cntr(waitable[i]);
		struct trip_poll_set *set;
		void *context;

		assert_int_equal(trip_poll_open(harness_domain, NULL, &set), 0);
		assert_int_equal(trip_poll_add(set, trip_cntr_fid(cntr), 0), 0);
		assert_int_equal(trip_cntr_close(cntr), -EBUSY);
		trip_cntr_adderr(cntr, 1);
		trip_cntr_add(cntr, 3);
		assert_int_equal(trip_cntr_wait(cntr, 3, WAITS_LOST_MS), 0);
		assert_int_equal(trip_poll(set, &context, 1), 1);
		assert_int_equal(trip_cntr_close(cntr), -EBUSY);
		assert_int_equal(trip_poll_del(set, trip_cntr_fid(cntr), 0), 0);
		harness_cntr_close(cntr);
		assert_int_equal(trip_poll_close(set), 0);
	}
}

/* What holds on to it: refuses with this in the message, and changes nothing. */
static unsigned int
refs_of(struct trip_cntr *cntr)
{
	unsigned int refs = 0;

	assert_int_equal(trip_cntr_close(cntr), -EBUSY);
	assert_int_equal(sscanf(trip_error_message(), "cntr %*[^:]: %u flows,", &refs), 1);
	return refs;
}

/* Any of them, until the last has gone. */
static void
cntr_11_blocked_waiters_refuse_close(void **state)
{
	for (unsigned int i = 0; i < N_WAITABLE; i++) {
		struct trip_cntr *cntr = harness_cntr(waitable[i]);
		struct sleeper sleepers[3];
		struct trip_poll_set *set;

		/* So that it is refused while they are about to block. */
		assert_int_equal(trip_poll_open(harness_domain, NULL, &set), 0);
		assert_int_equal(trip_poll_add(set, trip_cntr_fid(cntr), 0), 0);
		for (uint64_t k = 0; k < 3; k++) {
			sleepers[k] = (struct sleeper){.cntr = cntr, .threshold = 1 + k};
			start(&sleepers[k]);
		}
		harness_until(refs_of(cntr) == 4);
		assert_int_equal(trip_poll_del(set, trip_cntr_fid(cntr), 0), 0);
		for (unsigned int k = 0; k < 3; k++) {
			assert_int_equal(refs_of(cntr), 3 - k);
			for (unsigned int asleep = k; asleep < 3; asleep++)
				assert_false(atomic_load(&sleepers[asleep].done));
			trip_cntr_add(cntr, 1);
			finish(&sleepers[k], 0);
		}
		harness_cntr_close(cntr);
		assert_int_equal(trip_poll_close(set), 0);
	}
}

/* Name, descriptor, what it was armed for, work and values: all are as they were. */
static void
cntr_11_a_refused_close_changes_nothing(void **state)
{
	struct trip_cntr_attr attr = {
		.size = sizeof(attr), .wait_obj = TRIP_WAIT_FD, .name = "dns"};
	static struct harness_notes notes;
	struct trip_cntr *cntr, *other;
	int fd, again;

	assert_int_equal(trip_cntr_open(harness_domain, &attr, &cntr, NULL), 0);
	assert_int_equal(trip_cntr_control(cntr, TRIP_GETWAIT, &fd), 0);
	harness_notes_open(&notes);
	trip_cntr_adderr(cntr, 2);
	trip_cntr_readerr(cntr);
	harness_note(&notes, cntr, 12, 7);
	assert_int_equal(trip_cntr_arm(cntr, 10), 0);
	harness_settle();
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(trip_cntr_close(cntr), -EBUSY);
	assert_int_equal(trip_cntr_open(harness_domain, &attr, &other, NULL), -EEXIST);
	assert_int_equal(trip_cntr_control(cntr, TRIP_GETWAIT, &again), 0);
	assert_int_equal(again, fd);
	harness_expect(cntr, 0, 2);
	trip_cntr_add(cntr, 9);
	harness_settle();
	assert_false(waits_readable(fd));
	assert_int_equal(harness_notes_count(&notes), 0);
	trip_cntr_add(cntr, 1);
	harness_until(waits_readable(fd));
	harness_until(harness_notes_count(&notes) == 1);
	assert_int_equal(notes.event[0].context, 7);
	harness_settle();
	harness_cntr_close(cntr);
	harness_notes_close(&notes);
}

static int
close_cntr(const struct trip_work_event *event, void *arg)
{
	return trip_cntr_close(arg) == -EBUSY ? 0 : -EPROTO;
}

/* By hand, a call that progresses may come to a function that closes what the call was given. */
static void
cntr_11_calls_that_progress_refuse_close(void **state)
{
	struct trip_cntr *trigger = harness_cntr(TRIP_WAIT_NONE);
	struct trip_cntr *refused = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(trigger, 0, TRIP_OP_CALL);
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_FD);

	work.completion_cntr = refused;
	assert_int_equal(
		trip_function_register(harness_domain, close_cntr, cntr, &work.op.call.function),
		0);
	for (uint64_t i = 1; harness_mode == TRIP_PROGRESS_MANUAL && i <= 10; i++) {
		harness_queue(&work);
		while (trip_cntr_read(refused) + trip_cntr_readerr(refused) < i)
			assert_int_equal(waits_try(trip_cntr_fid(cntr)), 0);
		harness_expect(refused, i, 0);
	}
	assert_int_equal(trip_function_unregister(work.op.call.function), 0);
	harness_cntr_close(cntr);
	harness_cntr_close(refused);
	harness_cntr_close(trigger);
}

/* In every order of reading, error and waiting. */
static void
cntr_14_an_error_before_the_call_counts(void **state)
{
	for (unsigned int i = 0; i < N_WAITABLE; i++) {
		struct trip_cntr *cntr = harness_cntr(waitable[i]);
		struct sleeper sleeper = {.cntr = cntr, .threshold = 1, .from = true};
		uint64_t errgen = trip_cntr_errgen(cntr);

		assert_int_equal(trip_cntr_wait_from(cntr, 1, errgen, 0), -ETIMEDOUT);
		trip_cntr_adderr(cntr, 1);
		assert_int_equal(trip_cntr_wait(cntr, 1, 0), -ETIMEDOUT);
		assert_int_equal(trip_cntr_wait_from(cntr, 1, errgen, -1), -EIO);
		assert_int_equal(trip_cntr_wait_from(cntr, 1, errgen, 0), -EIO);
		/* Also one that has been taken back. */
		trip_cntr_seterr(cntr, 0);
		assert_int_equal(trip_cntr_wait_from(cntr, 1, errgen, -1), -EIO);
		/* A threshold that is met wins. */
		assert_int_equal(trip_cntr_wait_from(cntr, 0, errgen, -1), 0);
		errgen = trip_cntr_errgen(cntr);
		assert_int_equal(trip_cntr_wait_from(cntr, 1, errgen, 1), -ETIMEDOUT);
		for (unsigned int round = 0; round < 50; round++) {
			sleeper.errgen = trip_cntr_errgen(cntr);
			start(&sleeper);
			if (round % 2 == 0)
				harness_step();
			trip_cntr_adderr(cntr, 1);
			finish(&sleeper, -EIO);
		}
		assert_int_equal(trip_cntr_wait_from(cntr, TRIP_CNTR_MAX + 1, errgen, 0), -EINVAL);
		harness_cntr_close(cntr);
	}
}

static void
cntr_16_none_and_set_are_not_waited_for(void **state)
{
	struct trip_wait_set *set = waits_set(TRIP_WAIT_YIELD);
	struct trip_cntr *cntrs[2] = {harness_cntr(TRIP_WAIT_NONE), waits_member(set)};

	for (unsigned int i = 0; i < 2; i++) {
		trip_cntr_add(cntrs[i], 5);
		assert_int_equal(trip_cntr_wait(cntrs[i], 1, -1), -EINVAL);
		assert_int_equal(trip_cntr_wait(cntrs[i], 9, -1), -EINVAL);
		assert_int_equal(trip_cntr_wait(cntrs[i], 0, 0), -EINVAL);
		assert_int_equal(trip_cntr_wait_from(cntrs[i], 1, 0, -1), -EINVAL);
		harness_cntr_close(cntrs[i]);
	}
	assert_int_equal(trip_wait_close(set), 0);
}

#define CROWD 64

/*
 * As many threads as thresholds: none returns before its own is reached, whether the counter
 * creeps up to it or not; one jump over what is left wakes all the rest.
 */
static void
crowd(enum trip_wait_obj wait_obj, uint64_t creep)
{
	static struct sleeper sleepers[CROWD];
	struct trip_cntr *cntr = harness_cntr(wait_obj);

	atomic_store(&waits_in, 0);
	trip_cntr_add(cntr, 999);
	for (uint64_t i = 0; i < CROWD; i++) {
		sleepers[i] = (struct sleeper){.cntr = cntr, .threshold = 1000 + i};
		start(&sleepers[i]);
	}
	harness_until(atomic_load(&waits_in) == CROWD);
	for (uint64_t i = 0; i <= creep; i++) {
		if (i > 0) {
			trip_cntr_add(cntr, 1);
			finish(&sleepers[i - 1], 0);
		}
		harness_settle();
		for (uint64_t k = i; k < CROWD; k++)
			assert_false(atomic_load(&sleepers[k].done));
	}
	trip_cntr_add(cntr, CROWD - creep);
	for (uint64_t i = creep; i < CROWD; i++) {
		finish(&sleepers[i], 0);
		assert_true(sleepers[i].saw >= sleepers[i].threshold);
	}
	harness_cntr_close(cntr);
	printf("wait object %d: %d threads at %d thresholds, %" PRIu64
	       " of them crossed by one jump: all woke, none before its own\n",
		(int)wait_obj, CROWD, CROWD, CROWD - creep);
}

static void
cntr_17_a_crowd_of_thresholds(void **state)
{
	const struct trip_domain_attr attr = {.max_waiters = CROWD + 1};

	harness_open(2, &attr);
	for (unsigned int i = 0; i < N_WAITABLE; i++) {
		crowd(waitable[i], 0);
		crowd(waitable[i], 5);
	}
}

/* More of them than there are slots, so that some sleep and some yield. */
static void
cntr_17_a_crowd_without_slots(void **state)
{
	const struct trip_domain_attr attr = {.max_waiters = CROWD / 2};

	harness_open(1, &attr);
	crowd(TRIP_WAIT_UNSPEC, 3);
	crowd(TRIP_WAIT_FD, 3);
}

/* Nor does it need any: each slot is there for work, however many wait, asleep or yielding. */
static void
cntr_17_waiters_take_no_work_slots(void **state)
{
	const struct trip_domain_attr attr = {.max_waiters = 4, .max_works = 16};
	static struct harness_notes notes;
	struct sleeper sleepers[8];
	struct trip_poll_set *set;
	struct trip_work work;
	struct trip_cntr *cntr;

	harness_open(1, &attr);
	cntr = harness_cntr(TRIP_WAIT_UNSPEC);
	harness_notes_open(&notes);
	assert_int_equal(trip_poll_open(harness_domain, NULL, &set), 0);
	assert_int_equal(trip_poll_add(set, trip_cntr_fid(cntr), 0), 0);
	for (unsigned int i = 0; i < 8; i++) {
		sleepers[i] = (struct sleeper){.cntr = cntr, .threshold = 100};
		start(&sleepers[i]);
	}
	harness_until(refs_of(cntr) == 9);
	harness_settle();
	for (uint64_t i = 0; i < 16; i++)
		harness_note(&notes, cntr, 100, i);
	work = harness_noted(&notes, cntr, 100, NULL);
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EAGAIN);
	trip_cntr_add(cntr, 100);
	for (unsigned int i = 0; i < 8; i++)
		finish(&sleepers[i], 0);
	harness_until(harness_notes_count(&notes) == 16);
	harness_notes_close(&notes);
	assert_int_equal(trip_poll_del(set, trip_cntr_fid(cntr), 0), 0);
	assert_int_equal(trip_poll_close(set), 0);
	harness_cntr_close(cntr);
}

static void
wait_07_the_set_is_passed(void **state)
{
	static const enum trip_wait_obj kinds[] = {
		TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND, TRIP_WAIT_YIELD};

	for (unsigned int i = 0; i < 4; i++) {
		struct trip_wait_set *set = waits_set(kinds[i]);
		struct trip_cntr *member = waits_member(set);
		struct trip_fid *fids[2] = {trip_wait_fid(set), trip_cntr_fid(member)};

		assert_int_equal(waits_try(fids[1]), -EINVAL);
		assert_int_equal(trip_trywait(harness_domain, fids, 2), -EINVAL);
		assert_int_equal(waits_try(fids[0]), 0);
		trip_cntr_add(member, 1);
		assert_int_equal(waits_try(fids[1]), -EINVAL);
		assert_int_equal(waits_try(fids[0]), -EAGAIN);
		harness_cntr_close(member);
		assert_int_equal(trip_wait_close(set), 0);
	}
}

/* A thread that does what fi_poll(3) tells: asks, sleeps in epoll, reads; over and over. */
struct looper {
	struct trip_fid *fid;
	struct trip_cntr *cntr[2];
	unsigned int n;
	int fd, stop;
	_Atomic uint64_t sum, wakes;
	pthread_t thread;
};

static void *
loop(void *arg)
{
	struct looper *looper = arg;
	struct epoll_event event = {.events = EPOLLIN}, stop = {.events = EPOLLIN, .data.u64 = 1};
	int epoll = epoll_create1(0), n = 0;

	epoll_ctl(epoll, EPOLL_CTL_ADD, looper->fd, &event);
	epoll_ctl(epoll, EPOLL_CTL_ADD, looper->stop, &stop);
	do {
		uint64_t sum = 0;

		for (unsigned int i = 0; i < looper->n; i++)
			sum += trip_cntr_read(looper->cntr[i]) + trip_cntr_readerr(looper->cntr[i]);
		atomic_store(&looper->sum, sum);
		event.data.u64 = 0;
		if (waits_try(looper->fid) != 0)
			continue;
		/* Nothing, where the process was stopped and goes on. */
		n = epoll_wait(epoll, &event, 1, -1);
		atomic_fetch_add(&looper->wakes, n == 1);
	} while (event.data.u64 == 0);
	close(epoll);
	return n == 1 ? NULL : looper;
}

/*
 * A wake-up for each update: whoever is idle sleeps. Counted after each update that was seen, and
 * while nothing happens.
 */
static void
idle_loop(struct looper *looper)
{
	const uint64_t updates = harness_rounds(300);
	/* The home may see an error value before its generation, and so see two changes. */
	uint64_t signals = 0;
	void *result;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	looper->stop = ends[0];
	assert_int_equal(pthread_create(&looper->thread, NULL, loop, looper), 0);
	for (uint64_t i = 1; i <= updates; i++) {
		if (i % 3 == 0)
			trip_cntr_adderr(looper->cntr[i % looper->n], 1);
		else
			trip_cntr_add(looper->cntr[i % looper->n], 1);
		harness_until(atomic_load(&looper->sum) == i);
		harness_settle();
		signals += i % 3 == 0 ? 2 : 1;
		assert_true(atomic_load(&looper->wakes) <= signals);
	}
	for (unsigned int i = 0; i < 100; i++)
		harness_settle();
	assert_true(atomic_load(&looper->wakes) <= signals);
	assert_int_equal(write(ends[1], "", 1), 1);
	pthread_join(looper->thread, &result);
	assert_null(result);
	close(ends[0]);
	close(ends[1]);
}

static void
wait_08_an_epoll_loop_stays_idle(void **state)
{
	struct trip_wait_set *set = waits_set(TRIP_WAIT_FD);
	struct looper of_cntr = {.cntr = {harness_cntr(TRIP_WAIT_FD)}, .n = 1};
	struct looper of_set = {.cntr = {waits_member(set), waits_member(set)}, .n = 2};

	of_cntr.fid = trip_cntr_fid(of_cntr.cntr[0]);
	assert_int_equal(trip_cntr_control(of_cntr.cntr[0], TRIP_GETWAIT, &of_cntr.fd), 0);
	idle_loop(&of_cntr);
	of_set.fid = trip_wait_fid(set);
	assert_int_equal(trip_wait_control(set, TRIP_GETWAIT, &of_set.fd), 0);
	idle_loop(&of_set);
	harness_cntr_close(of_cntr.cntr[0]);
	for (unsigned int i = 0; i < 2; i++)
		harness_cntr_close(of_set.cntr[i]);
	assert_int_equal(trip_wait_close(set), 0);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(cntr_04_six_wait_objects),
	HARNESS_TEST(cntr_05_unspec_is_not_retrievable),
	HARNESS_TEST(cntr_06_an_open_set_of_the_domain),
	HARNESS_TEST(cntr_08_a_held_mutex_stalls_nobody),
	HARNESS_TEST_OWN(cntr_08_what_is_not_to_be_had),
	HARNESS_TEST(cntr_11_a_poll_set_refuses_close),
	HARNESS_TEST(cntr_11_blocked_waiters_refuse_close),
	HARNESS_TEST(cntr_11_a_refused_close_changes_nothing),
	HARNESS_TEST(cntr_11_calls_that_progress_refuse_close),
	HARNESS_TEST(cntr_14_an_error_before_the_call_counts),
	HARNESS_TEST(cntr_16_none_and_set_are_not_waited_for),
	HARNESS_TEST_OWN(cntr_17_a_crowd_of_thresholds),
	HARNESS_TEST_OWN(cntr_17_a_crowd_without_slots),
	HARNESS_TEST_OWN(cntr_17_waiters_take_no_work_slots),
	HARNESS_TEST(wait_07_the_set_is_passed),
	HARNESS_TEST(wait_08_an_epoll_loop_stays_idle),
};

HARNESS_MAIN(NULL, tests)
