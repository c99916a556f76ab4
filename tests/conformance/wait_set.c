/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait sets. */
#include <dirent.h>

#include "waits.h"

#define MEMBERS 20

static const enum trip_wait_obj kinds[] = {
	TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND, TRIP_WAIT_YIELD};
#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

static unsigned int
open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(directory);
	while (readdir(directory) != NULL)
		n++;
	closedir(directory);
	return n;
}

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
	unsigned int descriptors = open_descriptors();
	struct trip_cntr *cntr[MEMBERS];
	int fd = fd_of(set);

	for (unsigned int i = 0; i < MEMBERS; i++)
		cntr[i] = waits_member(set);
	assert_int_equal(open_descriptors(), descriptors);
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
	_Atomic bool entered, done;
	pthread_t thread;
};

static void *
block(void *arg)
{
	struct blocked *blocked = arg;

	atomic_store(&blocked->entered, true);
	blocked->result = trip_wait(blocked->set, blocked->timeout);
	atomic_store(&blocked->done, true);
	return NULL;
}

static void
start(struct blocked *blocked, struct trip_wait_set *set)
{
	*blocked = (struct blocked){.set = set, .timeout = -1};
	assert_int_equal(pthread_create(&blocked->thread, NULL, block, blocked), 0);
	harness_until(atomic_load(&blocked->entered));
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

static void
update(struct trip_cntr *const *cntr, unsigned int i)
{
	if (i % 3 == 0)
		trip_cntr_adderr(cntr[i % 4], 1);
	else if (i % 3 == 1)
		trip_cntr_add(cntr[i % 4], 1);
	else
		trip_cntr_set(cntr[i % 4], trip_cntr_read(cntr[i % 4]) + 1);
}

static void
read_all(struct trip_cntr *const *cntr)
{
	for (unsigned int i = 0; i < 4; i++) {
		trip_cntr_read(cntr[i]);
		trip_cntr_readerr(cntr[i]);
	}
}

/* After trywait, any update of any member makes the native object ready. */
static void
wait_04_sets_become_ready(void **state)
{
	struct trip_wait_set *fds = waits_set(TRIP_WAIT_FD);
	struct trip_wait_set *conds = waits_set(TRIP_WAIT_MUTEX_COND);
	struct trip_cntr *of_fds[4], *of_conds[4];
	struct trip_mutex_cond object;

	assert_int_equal(trip_wait_control(conds, TRIP_GETWAIT, &object), 0);
	for (unsigned int i = 0; i < 4; i++) {
		of_fds[i] = waits_member(fds);
		of_conds[i] = waits_member(conds);
	}
	for (unsigned int i = 0; i < 200; i++) {
		read_all(of_fds);
		assert_int_equal(waits_try(trip_wait_fid(fds)), 0);
		update(of_fds, i);
		harness_until(waits_readable(fd_of(fds)));
		read_all(of_conds);
		pthread_mutex_lock(object.mutex);
		assert_int_equal(waits_try(trip_wait_fid(conds)), 0);
		update(of_conds, i);
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
		harness_settle();
		/* One signal of before may have been late. */
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
	HARNESS_TEST(wait_03_due_or_in_time),
	HARNESS_TEST(wait_03_members_come_and_go),
	HARNESS_TEST_OWN(wait_03_members_of_two_homes),
	HARNESS_TEST(wait_04_sets_become_ready),
	HARNESS_TEST(wait_05_sets_stay_due),
	HARNESS_TEST(wait_06_sets_beside_counters),
};

HARNESS_MAIN(NULL, tests)
