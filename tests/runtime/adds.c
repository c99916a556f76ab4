/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WAIT-10 for strace to watch: a million adds to counters of every wait object that nobody waits
 * for, between two calls that are seen in the trace. adds.sh counts what comes between them.
 */
#include <unistd.h>

#include "waits.h"

#define ADDS 1000000

/* A system call that no library makes: a write of this to no file. */
static void
mark(const char *what)
{
	assert_int_equal(write(-1, what, strlen(what)), -1);
}

static void
wait_10_a_million_adds(void **state)
{
	struct trip_wait_set *set = waits_set(TRIP_WAIT_FD);
	struct trip_cntr *cntr[] = {harness_cntr(TRIP_WAIT_NONE), harness_cntr(TRIP_WAIT_UNSPEC),
		waits_member(set), harness_cntr(TRIP_WAIT_FD), harness_cntr(TRIP_WAIT_MUTEX_COND),
		harness_cntr(TRIP_WAIT_YIELD)};
	const unsigned int n = sizeof(cntr) / sizeof(*cntr);

	/* They have been waited for, and are not any more. */
	assert_int_equal(trip_wait(set, 1), -ETIMEDOUT);
	assert_int_equal(trip_cntr_wait(cntr[1], 1, 1), -ETIMEDOUT);
	assert_int_equal(trip_cntr_arm(cntr[3], 1), 0);
	trip_cntr_add(cntr[3], 1);
	harness_settle();
	mark("adds begin");
	for (unsigned int i = 0; i < ADDS; i++)
		trip_cntr_add(cntr[i % n], 1);
	mark("adds end");
	for (unsigned int i = 0; i < n; i++) {
		assert_true(trip_cntr_read(cntr[i]) >= ADDS / n);
		harness_cntr_close(cntr[i]);
	}
	assert_int_equal(trip_wait_close(set), 0);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(wait_10_a_million_adds),
};

HARNESS_MAIN(NULL, tests)
