/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bucket of police.h. Alone: never more than rate, burst and one packet, in any window, and as
 * much but for a tick a packet. By threads whose clock is one: the same, together.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "police.h"
#include "trip_test.h"

#define PACKETS 20000
#define THREADS 4
#define BIG UINT32_C(9000)

/* Time stands at `arg`. */
static uint64_t
read_time(void *arg)
{
	return *(const uint64_t *)arg;
}

static bool
takes(struct trip_police *police, uint64_t word, uint32_t bytes, uint64_t now)
{
	struct trip_police_clock clock = {now, read_time, &now};

	return trip_police_takes(police, word, bytes, &clock);
}

static bool
passes(struct trip_police *police, uint32_t bytes, uint64_t now)
{
	struct trip_police_clock clock = {now, read_time, &now};

	return trip_police_passes(police, 1, 0, bytes, &clock);
}

static void
turn(struct trip_police *police, uint64_t old, uint64_t word, uint64_t now)
{
	struct trip_police_clock clock = {now, read_time, &now};

	trip_police_turn(police, old, word, &clock);
}

static uint64_t
draw_rate(struct trip_random *random)
{
	uint64_t rate = trip_random_u64(random) & TRIP_POLICE_MAX;

	return 1 + ((rate - (rate == TRIP_POLICE_MAX)) >> trip_random_below(random, 40));
}

/* What passes in a time that begins anywhere, against the bound of police.h: it is enough to look
 * at the most that is ahead of the rate. */
static void
one_flow(struct trip_random *random)
{
	const bool of_packets = trip_random_below(random, 2);
	const uint64_t rate = draw_rate(random);
	const uint32_t burst_ms = 1 + (uint32_t)trip_random_below(random, TRIP_POLICE_BURST_MAX);
	const uint64_t word = trip_police_word(rate, of_packets, burst_ms);
	const long double burst = (long double)rate * burst_ms / 1000;
	long double ahead = 0;
	/* It may go round. */
	uint64_t now = trip_random_u64(random);
	struct trip_police police;
	bool refused = false;

	trip_police_init(&police, 0);
	atomic_store(&police.full, now);
	for (unsigned int i = 0; i < PACKETS; i++) {
		uint32_t bytes = 60 + (uint32_t)trip_random_below(random, BIG - 60);
		long double units = of_packets ? 1 : 8 * (long double)bytes;
		/* In ticks: around what it costs. */
		uint64_t step = trip_random_below(
			random, 3 + (uint64_t)(units / (long double)rate * TRIP_POLICE_SECOND));

		now += step;
		ahead -= (long double)step * (long double)rate / TRIP_POLICE_SECOND;
		ahead = ahead > 0 ? ahead : 0;
		if (takes(&police, word, bytes, now)) {
			ahead += units;
			assert_true(ahead <= fmaxl(burst, units) * (1 + 1e-9L));
		} else {
			/* There was hardly room; what is rounded adds up. */
			assert_true(ahead + units >
				    burst - (i + 2) * ((long double)rate / TRIP_POLICE_SECOND) -
					    burst * 1e-9L);
			refused = true;
		}
	}
	/* One of these did not pass in a row that comes twice as fast, unless the burst is long. */
	assert_true(refused || burst > PACKETS);
}

static void
a_rate_is_kept(void **state)
{
	struct trip_random random = {trip_test_seed("a_rate_is_kept")};
	uint64_t rounds = trip_test_rounds(50);

	for (uint64_t i = 0; i < rounds; i++)
		one_flow(&random);
}

/* The end of one that something else has replaced changes nothing. */
static void
what_began_last_prevails(void **state)
{
	const uint64_t a = trip_police_word(1000, false, 1), b = trip_police_word(2000, true, 2);
	struct trip_police police;
	uint64_t first, second;

	trip_police_init(&police, 0);
	first = trip_police_begin(&police, a, 0);
	second = trip_police_begin(&police, a, 0);
	assert_int_not_equal(first, second);
	assert_false(trip_police_end(&police, first, 0, 0));
	assert_int_equal(trip_police_rate(atomic_load(&police.word)), 1000);
	assert_true(trip_police_end(&police, second, b, 0));
	assert_int_equal(trip_police_rate(atomic_load(&police.word)), 2000);
	assert_int_equal(trip_police_burst_ms(atomic_load(&police.word)), 2);
	/* As often as there are generations, and beyond. */
	for (unsigned int i = 0; i < 20000; i++)
		second = trip_police_begin(&police, a, 0);
	assert_true(trip_police_end(&police, second, 0, 0));
	assert_int_equal(trip_police_rate(atomic_load(&police.word)), 0);
}

/* A clock of packets does: the first may be of 1970, and the next of today. */
static void
a_clock_that_jumps_keeps_nobody_waiting(void **state)
{
	const uint64_t word = trip_police_word(1000, true, 1),
		       year = 366 * 86400 * TRIP_POLICE_SECOND;
	struct trip_police police;

	for (uint64_t years = 0; years <= 200; years++) {
		uint64_t now = 1000 + years * year;

		trip_police_init(&police, 0);
		atomic_store(&police.full, 1000 + TRIP_POLICE_SECOND / 2000);
		assert_int_equal(takes(&police, word, 60, now), years != 0);
	}
}

/* At a lower rate one packet takes hours; by a word that says the same it still does. */
static void
a_lower_rate_keeps_no_higher_one_waiting(void **state)
{
	const uint64_t low = trip_police_word(1, false, 100),
		       high = trip_police_word(1000000, false, 1);
	const uint64_t now = UINT64_MAX / 2;
	struct trip_police police;

	trip_police_init(&police, 0);
	atomic_store(&police.full, now);
	assert_true(takes(&police, low, 1500, now));
	turn(&police, low | TRIP_POLICE_GENERATION, low, now);
	assert_false(takes(&police, low, 1500, now + 11999 * TRIP_POLICE_SECOND));
	turn(&police, low, high, now);
	assert_false(takes(&police, high, 125, now));
	assert_true(takes(&police, high, 125, now + TRIP_POLICE_SECOND / 1000));
}

/* Whoever takes by the lower rate is killed before it looks at the word again. */
static void
what_the_dead_took_keeps_nobody_waiting(void **state)
{
	const uint64_t low = trip_police_word(1, false, 1),
		       high = trip_police_word(8000000, false, 1), now = TRIP_POLICE_SECOND;
	const uint64_t largest = trip_police_cost(high, TRIP_POLICE_BYTES_MAX);
	struct trip_police police;

	trip_police_init(&police, 0);
	assert_true(takes(&police, low, 1500, now));
	(void)trip_police_begin(&police, high, 0);
	assert_false(passes(&police, 1000, now));
	assert_true(passes(&police, 1000, now + trip_police_burst(high)));
	/* What a packet may have taken at this rate is kept. */
	atomic_store(&police.full, now + largest);
	assert_false(passes(&police, 1, now));
	assert_int_equal(atomic_load(&police.full), now + largest);
}

/* Others have taken meanwhile, by a later time: what they left is not set back. */
static void
who_comes_late_gives_nothing_back(void **state)
{
	const uint64_t word = trip_police_word(1000, true, 1), cost = trip_police_cost(word, 1),
		       before = TRIP_POLICE_SECOND, after = 2 * TRIP_POLICE_SECOND;
	uint64_t now = after;
	struct trip_police_clock late = {before, read_time, &now};
	struct trip_police police;

	trip_police_init(&police, 0);
	assert_true(takes(&police, word, 1, after));
	assert_int_equal(atomic_load(&police.full), after + cost);
	assert_false(trip_police_takes(&police, word, 1, &late));
	assert_int_equal(atomic_load(&police.full), after + cost);
	assert_false(takes(&police, word, 1, after));
	/* Nor where the rate has changed. */
	late.now = before;
	trip_police_turn(&police, word, trip_police_word(999, true, 1), &late);
	assert_int_equal(atomic_load(&police.full), after + cost);
}

struct shared {
	struct trip_police police;
	_Atomic uint64_t now;
	uint64_t word;
};

static uint64_t
read_shared(void *arg)
{
	struct shared *shared = arg;

	return atomic_load(&shared->now);
}

static void *
take(void *arg)
{
	struct shared *shared = arg;
	struct trip_police_clock clock = {.read = read_shared, .arg = shared};
	uintptr_t passed = 0;

	for (unsigned int i = 0; i < PACKETS; i++) {
		/* Each packet's cost is 1,600 ticks: all together there are four times as many. */
		clock.now = atomic_fetch_add(&shared->now, 100);
		passed += trip_police_takes(&shared->police, shared->word, 100, &clock);
	}
	return (void *)passed;
}

static void
queues_share_it(void **state)
{
	struct shared shared = {.now = 1, .word = trip_police_word(10000000, true, 1)};
	pthread_t threads[THREADS];
	uint64_t passed = 0, room;
	void *one;

	trip_police_init(&shared.police, 0);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take, &shared), 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &one), 0);
		passed += (uintptr_t)one;
	}
	/* What the time yields, and the burst: no more, and not one less than that allows. */
	room = THREADS * (uint64_t)PACKETS * 100 / 1600 + 10000;
	assert_true(passed <= room);
	assert_true(passed + THREADS + 1 >= room);
}

/* ---- rates that change meanwhile ---- */

#define TURNS 200000

/* Two flows' buckets; the first flow takes from either, at a rate that goes with it. */
struct turning {
	struct trip_police flows[2];
	_Atomic uint64_t chunks;
	_Atomic bool over;
};

static const uint64_t turning_rates[] = {1, TRIP_POLICE_MAX};

static void *
read_pairs(void *arg)
{
	struct turning *turning = arg;
	uint32_t bucket;

	while (!atomic_load(&turning->over)) {
		uint64_t word = trip_police_read(&turning->flows[0], &bucket);

		assert_int_equal(trip_police_rate(word), turning_rates[bucket]);
	}
	return NULL;
}

static void
a_rate_and_its_bucket_are_read_together(void **state)
{
	struct turning turning = {0};
	pthread_t threads[THREADS];

	trip_police_init(&turning.flows[0], 0);
	(void)trip_police_begin(&turning.flows[0], trip_police_word(1, true, 1), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_pairs, &turning), 0);
	for (uint64_t i = 0; i < trip_test_rounds(TURNS); i++)
		(void)trip_police_begin(&turning.flows[0],
			trip_police_word(turning_rates[i % 2], true, 1), (uint32_t)(i % 2));
	atomic_store(&turning.over, true);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void *
take_on(void *arg)
{
	struct turning *turning = arg;

	while (!atomic_load(&turning->over)) {
		(void)passes(turning->flows, 1500, TURNS);
		atomic_fetch_add(&turning->chunks, 1);
	}
	return NULL;
}

/* A packet that is judged by the lower rate while that ends takes hours, too. */
static void
what_is_taken_meanwhile_keeps_nobody_waiting(void **state)
{
	const uint64_t low = trip_police_word(1, false, 1),
		       high = trip_police_word(TRIP_POLICE_MAX, false, 1);
	struct turning turning = {0};
	pthread_t thread;

	trip_police_init(&turning.flows[0], 0);
	assert_int_equal(pthread_create(&thread, NULL, take_on, &turning), 0);
	for (uint64_t i = 0; i < trip_test_rounds(TURNS / 10); i++) {
		uint64_t old = trip_police_begin(&turning.flows[0], low, 0), chunks;

		atomic_store(&turning.flows[0].full, TURNS);
		for (uint64_t spin = i % 64; spin > 0; spin--)
			atomic_thread_fence(memory_order_seq_cst);
		turn(&turning.flows[0], old, trip_police_begin(&turning.flows[0], high, 0), TURNS);
		chunks = atomic_load(&turning.chunks);
		while (atomic_load(&turning.chunks) < chunks + 2)
			sched_yield();
		/* No further ahead than the burst, and one packet. */
		assert_true(trip_police_ahead(atomic_load(&turning.flows[0].full), TURNS) <=
			    trip_police_burst(high) + trip_police_cost(high, 1500));
	}
	atomic_store(&turning.over, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_is_kept),
		cmocka_unit_test(what_began_last_prevails),
		cmocka_unit_test(a_clock_that_jumps_keeps_nobody_waiting),
		cmocka_unit_test(a_lower_rate_keeps_no_higher_one_waiting),
		cmocka_unit_test(what_the_dead_took_keeps_nobody_waiting),
		cmocka_unit_test(who_comes_late_gives_nothing_back),
		cmocka_unit_test(queues_share_it),
		cmocka_unit_test(a_rate_and_its_bucket_are_read_together),
		cmocka_unit_test(what_is_taken_meanwhile_keeps_nobody_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
