/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait sets. */
#include <inttypes.h>
#include <unistd.h>

#include <trip_step.h>

#include "waits.h"

#define MEMBERS 20

static const enum trip_wait_obj kinds[] = {
	TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND, TRIP_WAIT_YIELD};
#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

static int
fd_of(struct trip_wait_set *set)
{
	int fd = -1;

	assert_int_equal(trip_wait_control(set, TRIP_GETWAIT, &fd), 0);
	return fd;
}

static void
close_all(struct trip_wait_set *set, struct trip_cntr **cntr, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		harness_cntr_close(cntr[i]);
	assert_int_equal(trip_wait_close(set), 0);
}

static void
wait_01_kinds_of_sets(void **state)
{
	struct trip_wait_attr attr = {.size = sizeof(attr)};
	struct trip_wait_set *set = NULL;

	for (int i = -1; i <= TRIP_WAIT_YIELD + 1; i++) {
		bool good = i == TRIP_WAIT_UNSPEC || i >= TRIP_WAIT_FD;

		if (i > TRIP_WAIT_YIELD)
			good = false;
		attr.wait_obj = (enum trip_wait_obj)i;
		assert_int_equal(trip_wait_open(harness_domain, &attr, &set), good ? 0 : -EINVAL);
		if (good)
			assert_int_equal(trip_wait_close(set), 0);
	}
	attr.wait_obj = TRIP_WAIT_FD;
	attr.flags = 1;
	assert_int_equal(trip_wait_open(harness_domain, &attr, &set), -EINVAL);
	attr.flags = 0;
	attr.size++;
	assert_int_equal(trip_wait_open(harness_domain, &attr, &set), -EINVAL);
	assert_int_equal(trip_wait_open(harness_domain, NULL, &set), -EINVAL);
}

/* However many members there are. */
static void
wait_01_one_descriptor(void **state)
{
	struct trip_wait_set *set = waits_set(TRIP_WAIT_FD);
	unsigned int descriptors = waits_open_descriptors();
	struct trip_cntr *cntr[MEMBERS];
	int fd = fd_of(set);

	for (unsigned int i = 0; i < MEMBERS; i++)
		cntr[i] = waits_member(set);
	assert_int_equal(waits_open_descriptors(), descriptors);
	assert_int_equal(fd_of(set), fd);
	for (unsigned int i = 0; i < MEMBERS; i++) {
		assert_int_equal(waits_try(trip_wait_fid(set)), 0);
		harness_settle();
		assert_false(waits_readable(fd));
		trip_cntr_add(cntr[i], 1);
		harness_until(waits_readable(fd));
		trip_cntr_read(cntr[i]);
	}
	close_all(set, cntr, MEMBERS);
}

static void
wait_02_members_refuse_close(void **state)
{
	for (unsigned int i = 0; i < N_KINDS; i++) {
		struct trip_wait_set *set = waits_set(kinds[i]);
		struct trip_cntr *cntr[2] = {waits_member(set), waits_member(set)};

		assert_int_equal(trip_wait_close(set), -EBUSY);
		harness_cntr_close(cntr[1]);
		assert_int_equal(trip_wait_close(set), -EBUSY);
		/* It still does all it did. */
		trip_cntr_add(cntr[0], 1);
		assert_int_equal(trip_wait(set, -1), 0);
		trip_cntr_read(cntr[0]);
		assert_int_equal(trip_wait(set, 0), -ETIMEDOUT);
		cntr[1] = waits_member(set);
		trip_cntr_adderr(cntr[1], 1);
		assert_int_equal(trip_wait(set, -1), 0);
		assert_int_equal(waits_try(trip_wait_fid(set)), -EAGAIN);
		close_all(set, cntr, 2);
	}
}

/* Members 0 and 1. */
static void
update(struct trip_cntr *const *cntr, unsigned int i)
{
	if (i % 3 == 0)
		trip_cntr_adderr(cntr[i % 2], 1);
	else if (i % 3 == 1)
		trip_cntr_add(cntr[i % 2], 1);
	else
		trip_cntr_set(cntr[i % 2], trip_cntr_read(cntr[i % 2]) + 1);
}

static void
read_all(struct trip_cntr *const *cntr, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		trip_cntr_read(cntr[i]);
		trip_cntr_readerr(cntr[i]);
	}
}

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void
wait_03_due_or_in_time(void **state)
{
	for (unsigned int i = 0; i < N_KINDS; i++) {
		struct trip_wait_set *set = waits_set(kinds[i]);
		struct trip_cntr *cntr[3] = {
			waits_member(set), waits_member(set), waits_member(set)};

		for (int ms = 0; ms < 20; ms += 9) {
			uint64_t began = now_ms();

			assert_int_equal(trip_wait(set, ms), -ETIMEDOUT);
			assert_true(now_ms() + 1 >= began + (uint64_t)ms);
		}
		trip_cntr_add(cntr[2], 1);
		for (int again = 0; again < 3; again++)
			assert_int_equal(trip_wait(set, again - 1), 0);
		trip_cntr_readerr(cntr[2]);
		assert_int_equal(trip_wait(set, -1), 0);
		trip_cntr_read(cntr[2]);
		trip_cntr_adderr(cntr[0], 1);
		assert_int_equal(trip_wait(set, -1), 0);
		trip_cntr_readerr(cntr[0]);
		assert_int_equal(trip_wait(set, 1), -ETIMEDOUT);
		close_all(set, cntr, 3);
	}
}

struct blocked {
	struct trip_wait_set *set;
	int timeout, result;
	_Atomic pid_t id;
	_Atomic bool done;
	pthread_t thread;
};

static void *
block(void *arg)
{
	struct blocked *blocked = arg;

	atomic_store(&blocked->id, gettid());
	blocked->result = trip_wait(blocked->set, blocked->timeout);
	atomic_store(&blocked->done, true);
	return NULL;
}

static void
start(struct blocked *blocked, struct trip_wait_set *set)
{
	*blocked = (struct blocked){.set = set, .timeout = -1};
	assert_int_equal(pthread_create(&blocked->thread, NULL, block, blocked), 0);
	harness_until(atomic_load(&blocked->id) != 0);
}

static void
finish(struct blocked *blocked)
{
	harness_until(atomic_load(&blocked->done));
	pthread_join(blocked->thread, NULL);
	assert_int_equal(blocked->result, 0);
}

/* Threads that block while members come, leave and change: all wake when one is due. */
static void
wait_03_members_come_and_go(void **state)
{
	struct trip_random random = {harness_seed};

	for (unsigned int i = 0; i < N_KINDS; i++) {
		struct trip_wait_set *set = waits_set(kinds[i]);
		struct trip_cntr *cntr[3] = {waits_member(set), waits_member(set), NULL};

		for (unsigned int round = 0; round < 60; round++) {
			struct blocked blocked[3];
			uint64_t updated;

			for (unsigned int k = 0; k < 3; k++)
				start(&blocked[k], set);
			if (trip_random_below(&random, 2) == 0)
				harness_step();
			cntr[2] = waits_member(set);
			harness_cntr_close(cntr[round % 2]);
			if (trip_random_below(&random, 2) == 0)
				harness_step();
			cntr[round % 2] = cntr[2];
			for (unsigned int k = 0; k < 3; k++)
				assert_false(atomic_load(&blocked[k].done));
			updated = trip_random_below(&random, 2);
			if (trip_random_below(&random, 2) == 0)
				trip_cntr_add(cntr[updated], 1);
			else
				trip_cntr_adderr(cntr[updated], 1);
			for (unsigned int k = 0; k < 3; k++)
				finish(&blocked[k]);
			trip_cntr_read(cntr[updated]);
			trip_cntr_readerr(cntr[updated]);
		}
		close_all(set, cntr, 2);
	}
}

/* How many calls wait on it. */
static unsigned int
calls_on(struct trip_wait_set *set)
{
	unsigned int members = 0, calls = 0;

	assert_int_equal(trip_wait_close(set), -EBUSY);
	assert_int_equal(
		sscanf(trip_error_message(), "wait set: it has %u members, and %u calls wait on it",
			&members, &calls),
		2);
	return calls;
}

/* Also where they wait for nothing any more, since all members have left. */
static void
wait_02_blocked_threads_refuse_close(void **state)
{
	for (unsigned int i = 0; i < N_KINDS; i++) {
		struct trip_wait_set *set = waits_set(kinds[i]);
		struct trip_cntr *cntr = waits_member(set);
		struct blocked blocked[2];

		for (unsigned int k = 0; k < 2; k++)
			start(&blocked[k], set);
		harness_until(calls_on(set) == 2);
		harness_cntr_close(cntr);
		assert_int_equal(calls_on(set), 2);
		/* Nothing has changed by that. */
		cntr = waits_member(set);
		for (unsigned int k = 0; k < 2; k++)
			assert_false(atomic_load(&blocked[k].done));
		trip_cntr_add(cntr, 1);
		for (unsigned int k = 0; k < 2; k++)
			finish(&blocked[k]);
		close_all(set, &cntr, 1);
	}
}

static int
close_set(const struct trip_work_event *event, void *arg)
{
	return trip_wait_close(arg) == -EBUSY ? 0 : -EPROTO;
}

/* Nor does a function that the call itself progresses to. */
static void
wait_02_calls_that_progress_refuse_close(void **state)
{
	struct trip_cntr *trigger = harness_cntr(TRIP_WAIT_UNSPEC);
	struct trip_cntr *closed = harness_cntr(TRIP_WAIT_UNSPEC);
	struct trip_work work = harness_work(trigger, 0, TRIP_OP_CALL);
	struct trip_wait_set *set = waits_set(TRIP_WAIT_FD);

	assert_int_equal(
		trip_function_register(harness_domain, close_set, set, &work.op.call.function), 0);
	work.completion_cntr = closed;
	if (harness_mode == TRIP_PROGRESS_MANUAL) {
		harness_queue(&work);
		assert_int_equal(trip_wait(set, 5), -ETIMEDOUT);
		harness_queue(&work);
		for (unsigned int i = 0; i < 10; i++)
			assert_int_equal(waits_try(trip_wait_fid(set)), 0);
		harness_expect(closed, 2, 0);
	}
	assert_int_equal(trip_function_unregister(work.op.call.function), 0);
	harness_cntr_close(closed);
	harness_cntr_close(trigger);
	assert_int_equal(trip_wait_close(set), 0);
}

static uint64_t
wakes(void)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	assert_int_equal(trip_domain_stats_read(harness_domain, &stats), 0);
	return stats.wakes;
}

/* Whoever has stopped waiting, for whatever reason, is not signalled any more. */
static void
wait_03_nothing_stays_armed(void **state)
{
	for (unsigned int i = 0; i < N_KINDS; i++) {
		struct trip_wait_set *set = waits_set(kinds[i]);
		struct trip_cntr *cntr[2] = {waits_member(set), waits_member(set)};
		struct blocked blocked;
		uint64_t before;

		assert_int_equal(trip_wait(set, 2), -ETIMEDOUT);
		harness_settle();
		before = wakes();
		update(cntr, 0);
		harness_settle();
		assert_int_equal(wakes(), before);
		read_all(cntr, 2);
		/* One that comes later has armed them, too, and goes earlier. */
		start(&blocked, set);
		assert_int_equal(trip_wait(set, 2), -ETIMEDOUT);
		update(cntr, 1);
		finish(&blocked);
		read_all(cntr, 2);
		harness_settle();
		before = wakes();
		update(cntr, 0);
		update(cntr, 1);
		harness_settle();
		assert_int_equal(wakes(), before);
		close_all(set, cntr, 2);
	}
}

/* Whoever was told to block natively stays armed when others stop waiting. */
static void
wait_04_sets_stay_armed_beside_waits(void **state)
{
	struct trip_wait_set *set = waits_set(TRIP_WAIT_FD);
	struct trip_cntr *cntr[2] = {waits_member(set), waits_member(set)};

	for (unsigned int i = 0; i < 20; i++) {
		assert_int_equal(waits_try(trip_wait_fid(set)), 0);
		assert_int_equal(trip_wait(set, 1), -ETIMEDOUT);
		harness_settle();
		assert_false(waits_readable(fd_of(set)));
		update(cntr, i);
		harness_until(waits_readable(fd_of(set)));
		read_all(cntr, 2);
	}
	close_all(set, cntr, 2);
}

static void
try_set(void *arg)
{
	(void)waits_try(trip_wait_fid(arg));
}

/* A thread asleep is woken by an update that comes between any two instructions of a trywait, which
 * shares its requests. */
static void
wait_04_trywait_takes_nobodys_wake(void **state)
{
	struct trip_random random = {harness_seed};
	struct trip_wait_set *set = waits_set(TRIP_WAIT_FD);
	struct trip_cntr *cntr[2] = {waits_member(set), waits_member(set)};
	/* In the primary nearly everywhere; the same instructions are those of a secondary. */
	uint64_t stride = harness_away != NULL ? 32 : 4;
	struct trip_step step = {0};
	struct blocked blocked;
	unsigned int stops = 0;
	bool stopped;

	/* By hand nobody sleeps. */
	if (!TRIP_STEP_POSSIBLE || harness_mode == TRIP_PROGRESS_MANUAL) {
		close_all(set, cntr, 2);
		harness_close();
		skip();
	}
	for (uint64_t k = 1;; k += 1 + trip_random_below(&random, stride)) {
		start(&blocked, set);
		harness_until(waits_asleep(atomic_load(&blocked.id)));
		harness_settle();
		stopped = trip_step_start(&step, try_set, set, k);
		update(cntr, (unsigned int)k % 4);
		harness_settle();
		trip_step_finish(&step);
		finish(&blocked);
		read_all(cntr, 2);
		if (!stopped)
			break;
		stops++;
	}
	printf("stopped %u times in %" PRIu64 " instructions\n", stops, step.executed);
	close_all(set, cntr, 2);
}

/* Of two homes, one of which never signals the slot of its own. */
static void
wait_03_members_of_two_homes(void **state)
{
	harness_open(2, NULL);
	for (unsigned int i = 0; i < N_KINDS; i++) {
		struct trip_wait_set *set = waits_set(kinds[i]);
		struct trip_cntr *cntr[4];

		for (unsigned int k = 0; k < 4; k++)
			cntr[k] = waits_member(set);
		for (unsigned int round = 0; round < 40; round++) {
			struct blocked blocked;

			start(&blocked, set);
			trip_cntr_add(cntr[round % 4], 1);
			finish(&blocked);
			trip_cntr_read(cntr[round % 4]);
		}
		close_all(set, cntr, 4);
	}
}

/* After trywait, any update of any member makes the native object ready. */
static void
wait_04_sets_become_ready(void **state)
{
	struct trip_wait_set *fds = waits_set(TRIP_WAIT_FD);
	struct trip_wait_set *conds = waits_set(TRIP_WAIT_MUTEX_COND);
	struct trip_cntr *of_fds[4], *of_conds[4];
	struct trip_mutex_cond object = {.size = sizeof(object)};

	assert_int_equal(trip_wait_control(conds, TRIP_GETWAIT, &object), 0);
	for (unsigned int i = 0; i < 4; i++) {
		of_fds[i] = waits_member(fds);
		of_conds[i] = waits_member(conds);
	}
	for (unsigned int i = 0; i < 200; i++) {
		read_all(of_fds, 4);
		assert_int_equal(waits_try(trip_wait_fid(fds)), 0);
		update(of_fds + 2 * (i % 2), i / 2);
		harness_until(waits_readable(fd_of(fds)));
		read_all(of_conds, 4);
		pthread_mutex_lock(object.mutex);
		assert_int_equal(waits_try(trip_wait_fid(conds)), 0);
		update(of_conds + 2 * (i % 2), i / 2);
		if (harness_mode == TRIP_PROGRESS_MANUAL)
			harness_settle();
		assert_int_equal(waits_cond(&object), 0);
		pthread_mutex_unlock(object.mutex);
	}
	close_all(fds, of_fds, 4);
	close_all(conds, of_conds, 4);
}

/* Until every member that is due has been read. */
static void
wait_05_sets_stay_due(void **state)
{
	struct trip_wait_set *set = waits_set(TRIP_WAIT_FD);
	struct trip_cntr *cntr[2] = {waits_member(set), waits_member(set)};

	trip_cntr_add(cntr[0], 1);
	trip_cntr_adderr(cntr[1], 1);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(waits_try(trip_wait_fid(set)), -EAGAIN);
	trip_cntr_read(cntr[0]);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(waits_try(trip_wait_fid(set)), -EAGAIN);
	trip_cntr_readerr(cntr[1]);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(waits_try(trip_wait_fid(set)), 0);
	close_all(set, cntr, 2);
}

/* A set and a counter of one type go together; a member that closes takes nothing along. */
static void
wait_06_sets_beside_counters(void **state)
{
	struct trip_wait_set *set = waits_set(TRIP_WAIT_FD);
	struct trip_cntr *member = waits_member(set), *cntr = harness_cntr(TRIP_WAIT_FD);
	struct trip_cntr *unspec = harness_cntr(TRIP_WAIT_UNSPEC);
	struct trip_fid *fids[] = {trip_wait_fid(set), trip_cntr_fid(cntr), trip_cntr_fid(unspec)};

	assert_int_equal(trip_trywait(harness_domain, fids, 2), 0);
	trip_cntr_add(member, 1);
	harness_until(waits_readable(fd_of(set)));
	assert_int_equal(trip_trywait(harness_domain, fids, 2), -EAGAIN);
	assert_int_equal(trip_trywait(harness_domain, fids, 3), -EINVAL);
	harness_cntr_close(member);
	assert_int_equal(trip_trywait(harness_domain, fids, 2), 0);
	harness_cntr_close(cntr);
	harness_cntr_close(unspec);
	close_all(set, NULL, 0);
}

/* What it did there is done with: neither is the set due for it, nor is it signalled any more. */
static void
cntr_11_a_member_leaves_its_set(void **state)
{
	struct trip_wait_set *set = waits_set(TRIP_WAIT_FD);
	struct trip_cntr *stays = waits_member(set);

	for (unsigned int i = 0; i < 100; i++) {
		struct trip_cntr *other, *member = waits_member(set);

		assert_int_equal(waits_try(trip_wait_fid(set)), 0);
		if (i % 2 == 0)
			trip_cntr_add(member, 1);
		harness_cntr_close(member);
		assert_int_equal(trip_wait(set, 0), -ETIMEDOUT);
		assert_int_equal(waits_try(trip_wait_fid(set)), 0);
		/* Whoever has its place is no member. */
		other = harness_cntr(TRIP_WAIT_NONE);
		trip_cntr_add(other, 1);
		harness_settle();
		assert_false(waits_readable(fd_of(set)));
		assert_int_equal(trip_wait(set, 0), -ETIMEDOUT);
		harness_cntr_close(other);
	}
	close_all(set, &stays, 1);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(cntr_11_a_member_leaves_its_set),
	HARNESS_TEST(wait_01_kinds_of_sets),
	HARNESS_TEST(wait_01_one_descriptor),
	HARNESS_TEST(wait_02_members_refuse_close),
	HARNESS_TEST(wait_02_blocked_threads_refuse_close),
	HARNESS_TEST(wait_02_calls_that_progress_refuse_close),
	HARNESS_TEST(wait_03_due_or_in_time),
	HARNESS_TEST(wait_03_nothing_stays_armed),
	HARNESS_TEST(wait_03_members_come_and_go),
	HARNESS_TEST_OWN(wait_03_members_of_two_homes),
	HARNESS_TEST(wait_04_sets_become_ready),
	HARNESS_TEST(wait_04_sets_stay_armed_beside_waits),
	HARNESS_TEST(wait_04_trywait_takes_nobodys_wake),
	HARNESS_TEST(wait_05_sets_stay_due),
	HARNESS_TEST(wait_06_sets_beside_counters),
};

HARNESS_MAIN(NULL, tests)
