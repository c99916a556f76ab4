/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals for which the kernel has no memory: each is given again until it is there, or until its
 * owner has taken the request back. The scrub is off: nobody rings for them. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "home_bed.h"
#include "waiter.h"

/* Longer than a home leaves a signal that failed. */
#define WHILE UINT64_C(2000000)

ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);

/* How often sends are still to fail, with what, and how many have. */
static unsigned int failures, failed;
static int failure = ENOBUFS;

ssize_t
__wrap_send(int fd, const void *bytes, size_t size, int flags)
{
	if (failures == 0)
		return __real_send(fd, bytes, size, flags);
	failures--;
	failed++;
	errno = failure;
	return -1;
}

static struct bed *
open_bed(int *end)
{
	struct bed *bed = bed_open(0);
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	atomic_store(&bed->home->waiter_fds[1], ends[0] | TRIP_WAITER_SOCKET);
	*end = ends[1];
	bed->home->scrub.next_tsc = UINT64_MAX;
	failures = 0;
	failed = 0;
	failure = ENOBUFS;
	return bed;
}

static void
close_bed(struct bed *bed, int end)
{
	close(atomic_load(&bed->home->waiter_fds[1]) & ~TRIP_WAITER_SOCKET);
	close(end);
	bed_close(bed);
}

static void
let_pass(struct bed *bed)
{
	bed->now += WHILE;
	bed_settle(bed);
}

/* Takes them. */
static unsigned int
signals(int end)
{
	uint64_t signal;
	unsigned int n = 0;

	while (recv(end, &signal, sizeof(signal), 0) == sizeof(signal))
		n++;
	return n;
}

/* Slot `waiter` waits for counter 0, and signals slot 1. */
static void
arm(struct bed *bed, uint32_t waiter, uint64_t threshold)
{
	struct trip_cell_sample seen;

	trip_cell_sample(&bed->home->cells[0], &seen);
	trip_waiter_arm(bed->home, waiter, 1, 0, threshold, &seen);
	bed_settle(bed);
}

static uint32_t
state_of(const struct bed *bed, uint32_t waiter)
{
	return atomic_load(&bed->home->waiters[waiter].word) & TRIP_WAITER_STATE_MASK;
}

static void
is_signalled_later(uint64_t threshold, int error)
{
	int end;
	struct bed *bed = open_bed(&end);

	failure = error;
	arm(bed, 1, threshold);
	failures = 3;
	bed_add(bed, 0, 5);
	bed_settle(bed);
	assert_int_equal(signals(end), 0);
	/* Not again and again in the same moment. */
	assert_int_equal(failed, 1);
	/* It was reached, whatever has become of it since. */
	bed_ring_if(bed, 0, trip_cell_set(&bed->home->cells[0], 0));
	for (unsigned int i = 0; i < 4; i++)
		let_pass(bed);
	assert_int_equal(failed, 3);
	assert_int_equal(signals(end), 1);
	assert_int_equal(state_of(bed, 1), TRIP_WAITER_SIGNALED);
	assert_int_equal(atomic_load(&bed->home->stats.wakes), 1);
	/* Once. */
	let_pass(bed);
	assert_int_equal(signals(end), 0);
	close_bed(bed, end);
}

static void
any_change_is_signalled_later(void **state)
{
	is_signalled_later(TRIP_WAITER_ANY, ENOBUFS);
}

static void
a_threshold_is_signalled_later(void **state)
{
	is_signalled_later(5, ENOMEM);
}

/* Five more come, and the next signal fails. */
static void
reach_in_vain(struct bed *bed)
{
	failures = 1;
	bed_add(bed, 0, 5);
	bed_settle(bed);
}

/* As those of a set: each has a slot of its own, and one is signalled. More than a budget. */
static void
many_are_signalled_later(void **state)
{
	int end;
	struct bed *bed = open_bed(&end);

	for (uint32_t i = 0; i < WAITERS; i++)
		arm(bed, i, 1 + i % 2 * (TRIP_WAITER_ANY - 1));
	failures = WAITERS;
	bed_add(bed, 0, 5);
	bed_settle(bed);
	assert_int_equal(failed, WAITERS);
	assert_int_equal(signals(end), 0);
	bed->home->budget = 3;
	let_pass(bed);
	let_pass(bed);
	assert_int_equal(signals(end), WAITERS);
	for (uint32_t i = 0; i < WAITERS; i++)
		assert_int_equal(state_of(bed, i), TRIP_WAITER_SIGNALED);
	close_bed(bed, end);
}

static void
what_is_taken_back_is_not_signalled(void **state)
{
	int end;
	struct bed *bed = open_bed(&end);

	arm(bed, 1, 5);
	reach_in_vain(bed);
	assert_int_equal(failed, 1);
	trip_waiter_quiesce(bed->home, 1);
	assert_int_equal(state_of(bed, 1), TRIP_WAITER_IDLE);
	let_pass(bed);
	assert_int_equal(signals(end), 0);
	close_bed(bed, end);
}

/* The request that comes next is signalled by what it waits for, also where its signal fails while
 * the one before is still listed. */
static void
what_is_armed_next_is_signalled_for_itself(void **state)
{
	int end;
	struct bed *bed = open_bed(&end);

	arm(bed, 1, 5);
	reach_in_vain(bed);
	arm(bed, 1, 10);
	let_pass(bed);
	assert_int_equal(signals(end), 0);
	reach_in_vain(bed);
	arm(bed, 1, 15);
	reach_in_vain(bed);
	assert_int_equal(failed, 3);
	let_pass(bed);
	assert_int_equal(signals(end), 1);
	close_bed(bed, end);
}

/* Until it has read, its owner knows. */
static void
a_full_socket_is_signalled(void **state)
{
	int end;
	struct bed *bed = open_bed(&end);

	failure = EAGAIN;
	arm(bed, 1, 5);
	reach_in_vain(bed);
	assert_int_equal(state_of(bed, 1), TRIP_WAITER_SIGNALED);
	let_pass(bed);
	assert_int_equal(signals(end), 0);
	close_bed(bed, end);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_change_is_signalled_later),
		cmocka_unit_test(a_threshold_is_signalled_later),
		cmocka_unit_test(many_are_signalled_later),
		cmocka_unit_test(what_is_taken_back_is_not_signalled),
		cmocka_unit_test(what_is_armed_next_is_signalled_for_itself),
		cmocka_unit_test(a_full_socket_is_signalled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
