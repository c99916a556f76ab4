/* SPDX-License-Identifier: BSD-3-Clause */
/* Poll sets. */
#include <string.h>

#include "waits.h"

#define MEMBERS 10

/* A set, and members whose contexts are their numbers. */
struct polled {
	struct trip_poll_set *set;
	struct trip_cntr *cntr[MEMBERS];
};

static struct trip_poll_set *
open_set(void)
{
	struct trip_poll_set *set;

	assert_int_equal(trip_poll_open(harness_domain, NULL, &set), 0);
	return set;
}

static int
add(struct trip_poll_set *set, struct trip_cntr *cntr)
{
	return trip_poll_add(set, trip_cntr_fid(cntr), 0);
}

static int
del(struct trip_poll_set *set, struct trip_cntr *cntr)
{
	return trip_poll_del(set, trip_cntr_fid(cntr), 0);
}

static void
polled_open(struct polled *polled)
{
	polled->set = open_set();
	for (uintptr_t i = 0; i < MEMBERS; i++) {
		assert_int_equal(
			trip_cntr_open(harness_domain, NULL, &polled->cntr[i], (void *)i), 0);
		assert_int_equal(add(polled->set, polled->cntr[i]), 0);
	}
}

static void
polled_close(struct polled *polled)
{
	for (unsigned int i = 0; i < MEMBERS; i++) {
		assert_int_equal(del(polled->set, polled->cntr[i]), 0);
		harness_cntr_close(polled->cntr[i]);
	}
	assert_int_equal(trip_poll_close(polled->set), 0);
}

/* Polls once, with room for all: the members reported, as bits. */
static unsigned int
poll_all(struct trip_poll_set *set)
{
	void *contexts[MEMBERS];
	int n = trip_poll(set, contexts, MEMBERS);
	unsigned int reported = 0;

	trip_assert_range(n, 0, MEMBERS);
	for (int i = 0; i < n; i++)
		reported |= 1u << (uintptr_t)contexts[i];
	return reported;
}

static void
poll_01_flags_are_zero(void **state)
{
	struct trip_poll_attr attr = {.size = sizeof(attr), .flags = 1};
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_poll_set *set = NULL;

	assert_int_equal(trip_poll_open(harness_domain, &attr, &set), -EINVAL);
	attr.flags = UINT64_C(1) << 63;
	assert_int_equal(trip_poll_open(harness_domain, &attr, &set), -EINVAL);
	attr.flags = 0;
	attr.size--;
	assert_int_equal(trip_poll_open(harness_domain, &attr, &set), -EINVAL);
	assert_null(set);
	attr.size++;
	assert_int_equal(trip_poll_open(harness_domain, &attr, &set), 0);
	assert_int_equal(trip_poll_add(set, trip_cntr_fid(cntr), 1), -EINVAL);
	assert_int_equal(trip_poll_add(set, NULL, 0), -EINVAL);
	assert_int_equal(add(set, cntr), 0);
	assert_int_equal(trip_poll_del(set, trip_cntr_fid(cntr), 1), -EINVAL);
	assert_int_equal(del(set, cntr), 0);
	assert_int_equal(trip_poll_close(set), 0);
	harness_cntr_close(cntr);
}

/* And has changed nothing. */
static void
poll_02_members_refuse_close(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_poll_set *set = open_set();
	void *context = set;

	assert_int_equal(add(set, cntr), 0);
	assert_int_equal(trip_poll_close(set), -EBUSY);
	trip_cntr_adderr(cntr, 1);
	assert_int_equal(trip_poll(set, &context, 1), 1);
	assert_null(context);
	assert_int_equal(trip_poll_close(set), -EBUSY);
	assert_int_equal(del(set, cntr), 0);
	assert_int_equal(trip_poll_close(set), 0);
	harness_cntr_close(cntr);
}

static int
close_set(const struct trip_work_event *event, void *arg)
{
	return trip_poll_close(arg) == -EBUSY ? 0 : -EPROTO;
}

/* By hand, a poll may come to a function that closes the set. */
static void
poll_02_polls_refuse_close(void **state)
{
	struct trip_cntr *trigger = harness_cntr(TRIP_WAIT_NONE);
	struct trip_cntr *refused = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(trigger, 0, TRIP_OP_CALL);
	struct trip_poll_set *set = open_set();
	void *context;

	work.completion_cntr = refused;
	assert_int_equal(
		trip_function_register(harness_domain, close_set, set, &work.op.call.function), 0);
	for (uint64_t i = 1; harness_mode == TRIP_PROGRESS_MANUAL && i <= 10; i++) {
		harness_queue(&work);
		while (trip_cntr_read(refused) + trip_cntr_readerr(refused) < i)
			assert_int_equal(trip_poll(set, &context, 1), 0);
		harness_expect(refused, i, 0);
	}
	assert_int_equal(trip_function_unregister(work.op.call.function), 0);
	assert_int_equal(trip_poll_close(set), 0);
	harness_cntr_close(refused);
	harness_cntr_close(trigger);
}

static void
poll_03_members_come_and_go(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_poll_set *set = open_set(), *other = open_set();
	void *context;

	assert_int_equal(del(set, cntr), -ENOENT);
	assert_int_equal(add(set, cntr), 0);
	assert_int_equal(add(set, cntr), -EEXIST);
	assert_int_equal(del(other, cntr), -ENOENT);
	assert_int_equal(add(other, cntr), 0);
	trip_cntr_adderr(cntr, 1);
	assert_int_equal(del(set, cntr), 0);
	assert_int_equal(del(set, cntr), -ENOENT);
	assert_int_equal(trip_poll(set, &context, 1), 0);
	/* What it is when it comes back is nothing new. */
	assert_int_equal(add(set, cntr), 0);
	assert_int_equal(trip_poll(set, &context, 1), 0);
	trip_cntr_adderr(cntr, 1);
	assert_int_equal(trip_poll(set, &context, 1), 1);
	assert_int_equal(del(set, cntr), 0);
	assert_int_equal(del(other, cntr), 0);
	assert_int_equal(trip_poll_close(set), 0);
	assert_int_equal(trip_poll_close(other), 0);
	harness_cntr_close(cntr);
}

/* By many, in any order, against what a plain array says. */
static void
poll_03_random_members(void **state)
{
	struct trip_random random = {harness_seed};
	struct trip_poll_set *set = open_set();
	bool member[MEMBERS] = {false};
	struct trip_cntr *cntr[MEMBERS];

	for (uintptr_t i = 0; i < MEMBERS; i++)
		assert_int_equal(trip_cntr_open(harness_domain, NULL, &cntr[i], (void *)i), 0);
	for (unsigned int round = 0; round < 2000; round++) {
		uint64_t i = trip_random_below(&random, MEMBERS);
		unsigned int expected = 0;

		if (trip_random_below(&random, 2) == 0)
			assert_int_equal(add(set, cntr[i]), member[i] ? -EEXIST : 0);
		else
			assert_int_equal(del(set, cntr[i]), member[i] ? 0 : -ENOENT);
		member[i] = add(set, cntr[i]) == -EEXIST || trip_random_below(&random, 2) == 0;
		if (!member[i])
			assert_int_equal(del(set, cntr[i]), 0);
		poll_all(set);
		for (unsigned int k = 0; k < MEMBERS; k++) {
			trip_cntr_adderr(cntr[k], 1);
			expected |= (unsigned int)member[k] << k;
		}
		assert_int_equal(poll_all(set), expected);
	}
	for (unsigned int i = 0; i < MEMBERS; i++) {
		if (member[i])
			assert_int_equal(del(set, cntr[i]), 0);
		harness_cntr_close(cntr[i]);
	}
	assert_int_equal(trip_poll_close(set), 0);
}

static _Atomic bool held, release;

static int
hold(const struct trip_work_event *event, void *arg)
{
	atomic_store(&held, true);
	while (harness_mode != TRIP_PROGRESS_MANUAL && !atomic_load(&release))
		;
	return 0;
}

/* By hand a poll makes the member change; else it looks only, and does so while the home is
 * kept busy. */
static void
poll_04_progress_by_hand_only(void **state)
{
	struct trip_cntr *trigger = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(trigger, 1, TRIP_OP_CALL);
	struct trip_function *function;
	struct polled polled;
	unsigned int polls = 0;

	atomic_store(&held, false);
	atomic_store(&release, false);
	polled_open(&polled);
	assert_int_equal(trip_function_register(harness_domain, hold, NULL, &function), 0);
	work.op.call.function = function;
	work.completion_cntr = polled.cntr[3];
	harness_queue(&work);
	trip_cntr_add(trigger, 1);
	if (harness_mode == TRIP_PROGRESS_MANUAL) {
		/* Nobody else does. */
		while (poll_all(polled.set) != 1u << 3)
			assert_true(++polls < 100);
	} else {
		harness_until(atomic_load(&held));
		for (polls = 0; polls < 1000; polls++)
			assert_int_equal(poll_all(polled.set), 0);
		trip_cntr_adderr(polled.cntr[5], 1);
		assert_int_equal(poll_all(polled.set), 1u << 5);
		atomic_store(&release, true);
		harness_until(poll_all(polled.set) == 1u << 3);
	}
	harness_expect(polled.cntr[3], 1, 0);
	assert_int_equal(poll_all(polled.set), 0);
	assert_int_equal(trip_function_unregister(function), 0);
	polled_close(&polled);
	harness_cntr_close(trigger);
}

static void
poll_05_either_value(void **state)
{
	struct trip_cntr *trigger = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(trigger, 0, TRIP_OP_CNTR_ADD);
	struct polled polled;

	polled_open(&polled);
	assert_int_equal(poll_all(polled.set), 0);
	trip_cntr_adderr(polled.cntr[1], 1);
	trip_cntr_seterr(polled.cntr[4], 7);
	assert_int_equal(poll_all(polled.set), 1u << 1 | 1u << 4);
	assert_int_equal(poll_all(polled.set), 0);
	trip_cntr_seterr(polled.cntr[4], 0);
	assert_int_equal(poll_all(polled.set), 1u << 4);
	/* Reading is not reporting. */
	trip_cntr_adderr(polled.cntr[1], 1);
	trip_cntr_read(polled.cntr[1]);
	trip_cntr_readerr(polled.cntr[1]);
	assert_int_equal(poll_all(polled.set), 1u << 1);
	/* A value that has changed, and changed back, has changed. */
	trip_cntr_seterr(polled.cntr[1], 9);
	trip_cntr_seterr(polled.cntr[1], 2);
	assert_int_equal(poll_all(polled.set), 1u << 1);
	/* The home's changes; this process's own by set and add, before and after, hide nothing. */
	for (uint64_t i = 0; i < 30; i++) {
		work.op.cntr.cntr = polled.cntr[6];
		work.op.cntr.value = 1 + i;
		work.op_type = i % 2 == 0 ? TRIP_OP_CNTR_ADD : TRIP_OP_CNTR_SET;
		if (i % 3 == 0)
			trip_cntr_add(polled.cntr[6], 1);
		harness_queue(&work);
		harness_settle();
		if (i % 3 == 1)
			trip_cntr_set(polled.cntr[6], i % 2);
		assert_int_equal(poll_all(polled.set), 1u << 6);
		assert_int_equal(poll_all(polled.set), 0);
	}
	polled_close(&polled);
	harness_cntr_close(trigger);
}

static void
poll_06_at_most_count(void **state)
{
	void *contexts[MEMBERS + 2], *const untouched = &contexts;
	struct polled polled;

	polled_open(&polled);
	for (int count = 0; count <= MEMBERS + 1; count++) {
		int expected = count < MEMBERS ? count : MEMBERS;

		for (unsigned int i = 0; i < MEMBERS; i++)
			trip_cntr_adderr(polled.cntr[i], 1);
		for (unsigned int i = 0; i < MEMBERS + 2; i++)
			contexts[i] = untouched;
		assert_int_equal(trip_poll(polled.set, contexts, count), expected);
		for (int i = 0; i < MEMBERS + 2; i++)
			assert_true((contexts[i] == untouched) == (i >= expected));
	}
	assert_int_equal(trip_poll(polled.set, NULL, 1), -EINVAL);
	assert_int_equal(trip_poll(polled.set, NULL, 0), 0);
	poll_all(polled.set);
	polled_close(&polled);
}

/* What does not fit stays due; and members that change all the time have their turns alike, also
 * while others come and go. */
static void
poll_07_nobody_starves(void **state)
{
	unsigned int turns[MEMBERS] = {0}, seen = 0;
	struct polled polled;
	void *contexts[3];

	polled_open(&polled);
	for (unsigned int i = 0; i < MEMBERS; i++)
		trip_cntr_adderr(polled.cntr[i], 1);
	for (int n; (n = trip_poll(polled.set, contexts, 3)) > 0;)
		for (int i = 0; i < n; i++) {
			assert_int_equal(seen & 1u << (uintptr_t)contexts[i], 0);
			seen |= 1u << (uintptr_t)contexts[i];
		}
	assert_int_equal(seen, (1u << MEMBERS) - 1);
	for (unsigned int round = 0; round < 10 * MEMBERS; round++) {
		for (unsigned int i = 0; i < MEMBERS; i++)
			trip_cntr_adderr(polled.cntr[i], 1);
		assert_int_equal(trip_poll(polled.set, contexts, 3), 3);
		for (unsigned int i = 0; i < 3; i++)
			turns[(uintptr_t)contexts[i]]++;
	}
	for (unsigned int i = 0; i < MEMBERS; i++)
		assert_int_equal(turns[i], 30);
	memset(turns, 0, sizeof(turns));
	for (unsigned int round = 0; round < 10 * MEMBERS; round++) {
		for (unsigned int i = 0; i < MEMBERS; i++)
			trip_cntr_adderr(polled.cntr[i], 1);
		assert_int_equal(trip_poll(polled.set, contexts, 1), 1);
		turns[(uintptr_t)contexts[0]]++;
		assert_int_equal(del(polled.set, polled.cntr[round % 2]), 0);
		assert_int_equal(add(polled.set, polled.cntr[round % 2]), 0);
	}
	for (unsigned int i = 2; i < MEMBERS; i++)
		assert_true(turns[i] >= 5);
	polled_close(&polled);
}

struct updater {
	struct polled *polled;
	uint64_t seed, rounds;
	_Atomic bool done;
};

static void *
update_on(void *arg)
{
	struct updater *updater = arg;
	struct trip_random random = {updater->seed};

	for (uint64_t i = 0; i < updater->rounds; i++) {
		struct trip_cntr *cntr = updater->polled->cntr[trip_random_below(&random, MEMBERS)];

		if (trip_random_below(&random, 3) == 0)
			trip_cntr_adderr(cntr, 1);
		else
			trip_cntr_add(cntr, 1 + trip_random_below(&random, 9));
	}
	atomic_store(&updater->done, true);
	return NULL;
}

/* Whoever reads what is reported, and nothing else, has seen every last value in the end. */
static void
poll_07_no_false_negatives(void **state)
{
	uint64_t success[MEMBERS] = {0}, error[MEMBERS] = {0};
	struct updater updaters[2];
	pthread_t threads[2];
	struct polled polled;
	void *contexts[3];
	int n;

	polled_open(&polled);
	for (unsigned int i = 0; i < 2; i++) {
		updaters[i] = (struct updater){.polled = &polled,
			.seed = harness_seed + i,
			.rounds = harness_rounds(50000)};
		assert_int_equal(pthread_create(&threads[i], NULL, update_on, &updaters[i]), 0);
	}
	do {
		bool last = atomic_load(&updaters[0].done) && atomic_load(&updaters[1].done);

		n = trip_poll(polled.set, contexts, 3);
		for (int i = 0; i < n; i++) {
			uintptr_t at = (uintptr_t)contexts[i];

			success[at] = trip_cntr_read(polled.cntr[at]);
			error[at] = trip_cntr_readerr(polled.cntr[at]);
		}
		if (n == 0 && last)
			break;
	} while (true);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < MEMBERS; i++)
		harness_expect(polled.cntr[i], success[i], error[i]);
	polled_close(&polled);
}

static void
poll_08_sets_do_not_steal(void **state)
{
	struct trip_wait_set *waited = waits_set(TRIP_WAIT_FD);
	struct trip_cntr *cntr = waits_member(waited);
	struct trip_poll_set *set[2] = {open_set(), open_set()};
	void *context;
	int fd;

	assert_int_equal(trip_wait_control(waited, TRIP_GETWAIT, &fd), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(add(set[i], cntr), 0);
	for (unsigned int round = 0; round < 20; round++) {
		trip_cntr_readerr(cntr);
		assert_int_equal(waits_try(trip_wait_fid(waited)), 0);
		trip_cntr_adderr(cntr, 1);
		for (unsigned int i = 0; i < 2; i++) {
			assert_int_equal(trip_poll(set[(i + round) % 2], &context, 1), 1);
			assert_int_equal(trip_poll(set[(i + round) % 2], &context, 1), 0);
		}
		/* The wait set has it still, and whoever consumes that takes nothing either. */
		harness_until(waits_readable(fd));
		assert_int_equal(trip_wait(waited, 0), 0);
		trip_cntr_adderr(cntr, 1);
		trip_cntr_readerr(cntr);
		assert_int_equal(trip_wait(waited, 0), -ETIMEDOUT);
		for (unsigned int i = 0; i < 2; i++)
			assert_int_equal(trip_poll(set[i], &context, 1), 1);
	}
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(del(set[i], cntr), 0);
		assert_int_equal(trip_poll_close(set[i]), 0);
	}
	harness_cntr_close(cntr);
	assert_int_equal(trip_wait_close(waited), 0);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(poll_01_flags_are_zero),
	HARNESS_TEST(poll_02_members_refuse_close),
	HARNESS_TEST(poll_02_polls_refuse_close),
	HARNESS_TEST(poll_03_members_come_and_go),
	HARNESS_TEST(poll_03_random_members),
	HARNESS_TEST(poll_04_progress_by_hand_only),
	HARNESS_TEST(poll_05_either_value),
	HARNESS_TEST(poll_06_at_most_count),
	HARNESS_TEST(poll_07_nobody_starves),
	HARNESS_TEST(poll_07_no_false_negatives),
	HARNESS_TEST(poll_08_sets_do_not_steal),
};

HARNESS_MAIN(NULL, tests)
