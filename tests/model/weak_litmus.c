/* SPDX-License-Identifier: BSD-3-Clause */
/* That weak.h is as weak as it says, and no weaker: by the well-known small programs, each with the
 * outcome that C11 allows or forbids. */
#include <string.h>

#include "trip_test.h"
#include "weak.h"

/* Its words, and what was seen of them. */
static struct {
	_Atomic uint32_t x, y;
	uint32_t seen[4];
} litmus;

static void
begin(void *arg)
{
	memset(&litmus, 0, sizeof(litmus));
}

#define THREAD(name, body)          \
	static void name(void *arg) \
	{                           \
		body;               \
	}
#define RELAXED memory_order_relaxed
#define ACQUIRE memory_order_acquire
#define RELEASE memory_order_release
#define SEQ_CST memory_order_seq_cst
#define GET(i, place, order) litmus.seen[i] = atomic_load_explicit(&litmus.place, order)
#define PUT(place, order) atomic_store_explicit(&litmus.place, 1, order)
#define ADD(place, order) (void)atomic_fetch_add_explicit(&litmus.place, 1, order)
#define FENCE(order) atomic_thread_fence(order)

static bool
is(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const uint32_t wanted[4] = {a, b, c, d};

	return memcmp(litmus.seen, wanted, sizeof(wanted)) == 0;
}

static bool
not_neither(void *arg)
{
	return !is(0, 0, 0, 0);
}

static bool
not_flag_alone(void *arg)
{
	return !is(1, 0, 0, 0);
}

static bool
not_apart(void *arg)
{
	return !is(1, 0, 1, 0);
}

static bool
both_counted(void *arg)
{
	return atomic_load(&litmus.x) == 2;
}

static bool
explore(bool (*holds)(void *arg), void (*a)(void *arg), void (*b)(void *arg), void (*c)(void *arg),
	void (*d)(void *arg))
{
	const struct trip_weak weak = {.begin = begin, .threads = {a, b, c, d}, .holds = holds};

	return trip_weak_holds(&weak);
}

/* --- each stores, then loads what the other stores --- */

THREAD(store_x_load_y_release, PUT(x, RELEASE); GET(0, y, ACQUIRE))
THREAD(store_y_load_x_release, PUT(y, RELEASE); GET(1, x, ACQUIRE))
THREAD(store_x_load_y_fence, PUT(x, RELAXED); FENCE(SEQ_CST); GET(0, y, RELAXED))
THREAD(store_y_load_x_fence, PUT(y, RELAXED); FENCE(SEQ_CST); GET(1, x, RELAXED))
THREAD(store_x_load_y_seq_cst, PUT(x, SEQ_CST); GET(0, y, SEQ_CST))
THREAD(store_y_load_x_seq_cst, PUT(y, SEQ_CST); GET(1, x, SEQ_CST))
/* A full barrier on x86, and none that C11 knows of. */
THREAD(add_y_load_x, ADD(y, SEQ_CST); GET(1, x, ACQUIRE))
THREAD(add_y_load_x_seq_cst, ADD(y, SEQ_CST); GET(1, x, SEQ_CST))
THREAD(look_at_x_seq_cst, GET(2, x, SEQ_CST))

static bool
not_neither_of_two(void *arg)
{
	return litmus.seen[0] + litmus.seen[1] > 0;
}

static void
weak_store_buffers(void **state)
{
	assert_false(explore(not_neither, store_x_load_y_release, store_y_load_x_release, 0, 0));
	assert_false(explore(not_neither, store_x_load_y_fence, store_y_load_x_release, 0, 0));
	assert_true(explore(not_neither, store_x_load_y_fence, store_y_load_x_fence, 0, 0));
	assert_true(explore(not_neither, store_x_load_y_seq_cst, store_y_load_x_seq_cst, 0, 0));
	assert_true(explore(not_neither, store_x_load_y_fence, store_y_load_x_seq_cst, 0, 0));
	assert_false(explore(not_neither, store_x_load_y_fence, add_y_load_x, 0, 0));
	assert_true(explore(not_neither, store_x_load_y_fence, add_y_load_x_seq_cst, 0, 0));
	/* Whoever else looks at a store, and when, takes nothing from it. */
	assert_true(explore(not_neither_of_two, store_x_load_y_seq_cst, store_y_load_x_fence,
		look_at_x_seq_cst, 0));
}

/* --- one stores a message and then a flag --- */

THREAD(tell_relaxed, PUT(x, RELAXED); PUT(y, RELAXED))
THREAD(tell_release, PUT(x, RELAXED); PUT(y, RELEASE))
THREAD(tell_fence, PUT(x, RELAXED); FENCE(RELEASE); PUT(y, RELAXED))
THREAD(tell_before_fence, FENCE(RELEASE); PUT(x, RELAXED); PUT(y, RELAXED))
THREAD(look_relaxed, GET(0, y, RELAXED); GET(1, x, RELAXED))
THREAD(look_acquire, GET(0, y, ACQUIRE); GET(1, x, RELAXED))
THREAD(look_fence, GET(0, y, RELAXED); FENCE(ACQUIRE); GET(1, x, RELAXED))
THREAD(look_twice, GET(0, x, RELAXED); GET(1, x, RELAXED))

static void
weak_messages(void **state)
{
	assert_false(explore(not_flag_alone, tell_relaxed, look_acquire, 0, 0));
	assert_false(explore(not_flag_alone, tell_release, look_relaxed, 0, 0));
	assert_false(explore(not_flag_alone, tell_before_fence, look_acquire, 0, 0));
	assert_true(explore(not_flag_alone, tell_release, look_acquire, 0, 0));
	assert_true(explore(not_flag_alone, tell_fence, look_acquire, 0, 0));
	assert_true(explore(not_flag_alone, tell_release, look_fence, 0, 0));
	assert_true(explore(not_flag_alone, tell_fence, look_fence, 0, 0));
	/* Of one place nobody goes back. */
	assert_true(explore(not_flag_alone, tell_relaxed, look_twice, 0, 0));
}

/* --- a read-modify-write in between --- */

THREAD(add_y_relaxed, ADD(y, RELAXED))
THREAD(add_x_relaxed, ADD(x, RELAXED))
THREAD(look_for_two, GET(0, y, ACQUIRE); litmus.seen[0] = litmus.seen[0] == 2; GET(1, x, RELAXED))

static void
exchange_x(void *arg)
{
	uint32_t seen = 0;

	if (!atomic_compare_exchange_strong_explicit(&litmus.x, &seen, 1, RELAXED, RELAXED) &&
		!atomic_compare_exchange_strong_explicit(&litmus.x, &seen, 2, RELAXED, RELAXED))
		litmus.seen[3] = 1;
}

/* One that fails has loaded what a load may have, but not what it expected. */
static void
look_by_failure(void *arg)
{
	uint32_t found = 2;

	GET(0, y, ACQUIRE);
	(void)atomic_compare_exchange_strong_explicit(&litmus.x, &found, 3, RELAXED, RELAXED);
	litmus.seen[1] = found;
}

static void
exchange_behind_flag(void *arg)
{
	uint32_t expected = 0;

	GET(0, y, ACQUIRE);
	(void)atomic_compare_exchange_strong_explicit(&litmus.x, &expected, 3, RELAXED, RELAXED);
	litmus.seen[1] = expected != 0 || atomic_load_explicit(&litmus.x, RELAXED) == 3;
}

static void
weak_failures(void **state)
{
	assert_false(explore(not_flag_alone, tell_relaxed, look_by_failure, 0, 0));
	assert_true(explore(not_flag_alone, tell_release, look_by_failure, 0, 0));
	assert_true(explore(not_flag_alone, tell_relaxed, exchange_behind_flag, 0, 0));
}

static void
weak_changes(void **state)
{
	/* What was released stays so. */
	assert_true(explore(not_flag_alone, tell_release, add_y_relaxed, look_for_two, 0));
	assert_false(explore(not_flag_alone, tell_relaxed, add_y_relaxed, look_for_two, 0));
	assert_true(explore(both_counted, add_x_relaxed, add_x_relaxed, 0, 0));
	assert_true(explore(both_counted, exchange_x, exchange_x, 0, 0));
}

/* --- two that are independent, seen by two --- */

THREAD(store_x_release, PUT(x, RELEASE))
THREAD(store_y_release, PUT(y, RELEASE))
THREAD(store_x_seq_cst, PUT(x, SEQ_CST))
THREAD(store_y_seq_cst, PUT(y, SEQ_CST))
THREAD(x_then_y_acquire, GET(0, x, ACQUIRE); GET(1, y, ACQUIRE))
THREAD(y_then_x_acquire, GET(2, y, ACQUIRE); GET(3, x, ACQUIRE))
THREAD(x_then_y_fence, GET(0, x, RELAXED); FENCE(SEQ_CST); GET(1, y, RELAXED))
THREAD(y_then_x_fence, GET(2, y, RELAXED); FENCE(SEQ_CST); GET(3, x, RELAXED))
THREAD(x_then_y_seq_cst, GET(0, x, SEQ_CST); GET(1, y, SEQ_CST))
THREAD(y_then_x_seq_cst, GET(2, y, SEQ_CST); GET(3, x, SEQ_CST))

static void
weak_independent_stores(void **state)
{
	assert_false(explore(
		not_apart, store_x_release, store_y_release, x_then_y_acquire, y_then_x_acquire));
	assert_true(explore(
		not_apart, store_x_release, store_y_release, x_then_y_fence, y_then_x_fence));
	assert_true(explore(
		not_apart, store_x_seq_cst, store_y_seq_cst, x_then_y_seq_cst, y_then_x_seq_cst));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weak_store_buffers),
		cmocka_unit_test(weak_messages),
		cmocka_unit_test(weak_failures),
		cmocka_unit_test(weak_changes),
		cmocka_unit_test(weak_independent_stores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
