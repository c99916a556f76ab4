/* SPDX-License-Identifier: BSD-3-Clause */
/* Errands between a sender and a runner on threads of their own: each is done once and in order,
 * comes back in order with its result, and a full ring refuses without losing one. */
#include <pthread.h>
#include <sched.h>

#include "errand.h"
#include "trip_test.h"

#define SIZE 8
#define ERRANDS 20000

static struct trip_errand errands[SIZE];
static struct trip_errand_ring ring;
static uint64_t n_errands;

static void *
run(void *arg)
{
	for (uint64_t next = 0; next < n_errands;) {
		struct trip_errand *errand = trip_errand_peek(&ring, 0);

		if (errand == NULL) {
			sched_yield();
			continue;
		}
		if (errand->ticket != next || errand->event.context != 3 * next)
			return errand;
		errand->event.result = -(int32_t)(next % 1000);
		trip_errand_done(&ring);
		next++;
	}
	return NULL;
}

static uint64_t
settle(uint64_t settled)
{
	struct trip_errand *errand;

	while ((errand = trip_errand_back(&ring)) != NULL) {
		assert_int_equal(errand->ticket, settled);
		assert_int_equal(errand->event.result, -(int32_t)(settled % 1000));
		trip_errand_settle(&ring);
		settled++;
	}
	return settled;
}

static void
errand_goes_and_comes_back(void **state)
{
	struct trip_random random = {trip_test_seed("errand")};
	uint64_t sent = 0, settled = 0, refused = 0;
	pthread_t runner;
	void *failed;

	n_errands = trip_test_rounds(ERRANDS);
	trip_errand_init(&ring, errands, SIZE);
	assert_int_equal(pthread_create(&runner, NULL, run, NULL), 0);
	while (settled < n_errands) {
		struct trip_errand *errand = sent < n_errands ? trip_errand_next(&ring) : NULL;

		assert_true(sent - settled <= SIZE);
		if (errand != NULL) {
			*errand = (struct trip_errand){
				.ticket = sent, .event = {.context = 3 * sent}};
			trip_errand_send(&ring);
			sent++;
			assert_false(trip_errand_settled(&ring, trip_errand_mark(&ring)));
		} else {
			refused++;
			sched_yield();
		}
		if (errand == NULL || trip_random_below(&random, 4) == 0)
			settled = settle(settled);
	}
	assert_true(trip_errand_settled(&ring, trip_errand_mark(&ring)));
	assert_int_equal(pthread_join(runner, &failed), 0);
	assert_null(failed);
	assert_int_equal(sent, n_errands);
	assert_true(refused > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(errand_goes_and_comes_back)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
