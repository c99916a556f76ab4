/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of the simulator itself: what each memory allows, who is killed, who sleeps and is woken, and
 * that what is stored is seen in the end. weak_litmus.c and sim_weak.c have the views;
 * sim_histories.c has how histories go.
 */
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <trip_test.h>

#include "sim_inside.h"

#define HISTORIES 4000

static struct {
	_Atomic uint32_t x, y, z;
	uint32_t seen[2];
	unsigned int victim;
} litmus;

static void
forget(void)
{
}

static void
begin(void (*a)(void *arg), void (*b)(void *arg))
{
	memset(&litmus, 0, sizeof(litmus));
	litmus.victim = sim_spawn("a", false, a, NULL);
	(void)sim_spawn("b", false, b, NULL);
}

/* Whether it holds in each history. */
static bool
holds(const struct sim_world *world, enum sim_memory memory)
{
	for (uint64_t seed = 0; seed < HISTORIES; seed++)
		if (sim_play(world, seed, memory) != NULL)
			return false;
	return true;
}

#define WORLD(NAME)                                                                        \
	{                                                                                  \
		.name = #NAME, .length = 16, .begin = NAME##_begin, .judge = NAME##_judge, \
		.forget = forget,                                                          \
	}

/* --- each stores, then loads what the other stores --- */

static memory_order store_order;

static void
store_x(void *arg)
{
	atomic_store_explicit(&litmus.x, 1, store_order);
	litmus.seen[0] = atomic_load_explicit(&litmus.y, memory_order_acquire);
}

static void
store_y(void *arg)
{
	atomic_store_explicit(&litmus.y, 1, store_order);
	litmus.seen[1] = atomic_load_explicit(&litmus.x, memory_order_acquire);
}

static void
buffers_begin(void)
{
	begin(store_x, store_y);
}

static void
buffers_judge(void)
{
	sim_expect(litmus.seen[0] + litmus.seen[1] > 0, "neither has seen the other");
}

static void
buffers_are_seen(void **state)
{
	static const struct sim_world world = WORLD(buffers);

	store_order = memory_order_release;
	assert_true(holds(&world, SIM_MEMORY_STRONG));
	assert_false(holds(&world, SIM_MEMORY_BUFFERS));
	assert_false(holds(&world, SIM_MEMORY_VIEWS));
	store_order = memory_order_seq_cst;
	assert_true(holds(&world, SIM_MEMORY_BUFFERS));
	/* A barrier on x86; by C11 the loads would have to be seq_cst, too. */
	assert_false(holds(&world, SIM_MEMORY_VIEWS));
}

/* --- a message and a flag: x86 keeps the order of stores, and of loads --- */

static void
tell_message(void *arg)
{
	atomic_store_explicit(&litmus.x, 1, memory_order_relaxed);
	atomic_store_explicit(&litmus.y, 1, memory_order_relaxed);
}

static void
look_for_message(void *arg)
{
	litmus.seen[0] = atomic_load_explicit(&litmus.y, memory_order_relaxed);
	litmus.seen[1] = atomic_load_explicit(&litmus.x, memory_order_relaxed);
}

static void
message_begin(void)
{
	begin(tell_message, look_for_message);
}

static void
message_judge(void)
{
	sim_expect(litmus.seen[0] <= litmus.seen[1], "the flag without its message");
}

static void
buffers_are_in_order(void **state)
{
	static const struct sim_world world = WORLD(message);

	assert_true(holds(&world, SIM_MEMORY_STRONG));
	assert_true(holds(&world, SIM_MEMORY_BUFFERS));
	assert_false(holds(&world, SIM_MEMORY_VIEWS));
}

/* --- the weak form of a compare-exchange may fail for nothing, where memory is weak --- */

static bool is_weak;

static void
exchange_x(void *arg)
{
	uint32_t expected = 0;

	litmus.seen[0] = is_weak ? atomic_compare_exchange_weak(&litmus.x, &expected, 1)
				 : atomic_compare_exchange_strong(&litmus.x, &expected, 1);
	/* Its loop ends. */
	while (litmus.seen[0] == 0 && litmus.seen[1] == 0)
		litmus.seen[1] = atomic_compare_exchange_weak(&litmus.x, &expected, 1);
}

static void
store_z(void *arg)
{
	atomic_store_explicit(&litmus.z, 1, memory_order_relaxed);
}

static void
failure_begin(void)
{
	begin(exchange_x, store_z);
}

static void
failure_judge(void)
{
	sim_expect(litmus.seen[0] == 1, "it has failed for nothing");
}

static void
weak_exchanges_fail(void **state)
{
	static const struct sim_world world = WORLD(failure);

	for (enum sim_memory memory = 0; memory < SIM_MEMORIES; memory++) {
		is_weak = false;
		assert_true(holds(&world, memory));
		is_weak = true;
		assert_int_equal(holds(&world, memory), memory != SIM_MEMORY_VIEWS);
	}
}

/* --- killed between any two steps; whatever was stored by then is seen --- */

static void
count_up(void *arg)
{
	for (unsigned int i = 0; i < 8; i++)
		(void)atomic_fetch_add_explicit(&litmus.x, 1, memory_order_relaxed);
}

static void
await_death(void *arg)
{
	while (!sim_is_dead(litmus.victim) && !sim_has_ended(litmus.victim))
		sim_pause();
	sim_join(litmus.victim);
	litmus.seen[0] = atomic_load_explicit(&litmus.x, memory_order_relaxed);
}

static uint32_t deaths;

static void
death_begin(void)
{
	memset(&litmus, 0, sizeof(litmus));
	litmus.victim = sim_spawn("victim", true, count_up, NULL);
	(void)sim_spawn("heir", false, await_death, NULL);
}

static void
death_judge(void)
{
	deaths |= UINT32_C(1) << litmus.seen[0];
	sim_expect(litmus.seen[0] == atomic_load(&litmus.x), "the heir has not seen all of it");
	sim_expect(sim_is_dead(litmus.victim) || litmus.seen[0] == 8, "it has ended early");
}

static void
death_comes_anywhere(void **state)
{
	static const struct sim_world world = WORLD(death);

	for (enum sim_memory memory = 0; memory < SIM_MEMORIES; memory++) {
		deaths = 0;
		assert_true(holds(&world, memory));
		assert_int_equal(deaths, 0x1ff);
	}
}

/* --- who sleeps on a word is woken, or has not slept --- */

static void
sleep_on_x(void *arg)
{
	while (atomic_load(&litmus.x) == 0)
		syscall(SYS_futex, &litmus.x, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static bool wakes;

static void
wake_x(void *arg)
{
	atomic_store(&litmus.x, 1);
	if (wakes)
		syscall(SYS_futex, &litmus.x, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void
futex_begin(void)
{
	begin(sleep_on_x, wake_x);
}

static void
futex_judge(void)
{
	sim_expect(!sim_is_asleep(litmus.victim), "it sleeps for ever");
}

static void
sleepers_are_woken(void **state)
{
	static const struct sim_world world = WORLD(futex);

	wakes = true;
	for (enum sim_memory memory = 0; memory < SIM_MEMORIES; memory++)
		assert_true(holds(&world, memory));
	wakes = false;
	assert_false(holds(&world, SIM_MEMORY_STRONG));
}

/* --- what was stored is seen in the end, however late it is --- */

static void
store_last(void *arg)
{
	atomic_store_explicit(&litmus.x, 1, memory_order_relaxed);
}

static void
look_now_and_then(void *arg)
{
	while (atomic_load_explicit(&litmus.x, memory_order_relaxed) == 0)
		sim_pause();
	litmus.seen[0] = 1;
}

static void
late_begin(void)
{
	begin(store_last, look_now_and_then);
	/* It may come between two looks of whoever has nothing to do. */
	sim_patience((uint32_t)sim_draw(2) * 16384);
}

static void
late_judge(void)
{
	sim_expect(litmus.seen[0] == 1, "it rests, and has not seen what was stored");
}

static void
stores_are_seen_at_last(void **state)
{
	static const struct sim_world world = WORLD(late);

	for (enum sim_memory memory = 0; memory < SIM_MEMORIES; memory++)
		assert_true(holds(&world, memory));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_are_seen),
		cmocka_unit_test(buffers_are_in_order),
		cmocka_unit_test(weak_exchanges_fail),
		cmocka_unit_test(death_comes_anywhere),
		cmocka_unit_test(sleepers_are_woken),
		cmocka_unit_test(stores_are_seen_at_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
