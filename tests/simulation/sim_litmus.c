/* SPDX-License-Identifier: BSD-3-Clause */
/* Of the simulator itself: what each memory allows, who is killed and stopped, that a history comes
 * to rest or is ended, that a seed is always the same one, and that steering pays. weak_litmus.c
 * and sim_weak.c have the views. */
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

/* --- whoever can go on does so in the end, also when its turn is not decided --- */

static void
spin_on_x(void *arg)
{
	while (atomic_load(&litmus.x) == 0)
		;
}

static void
fair_begin(void)
{
	begin(spin_on_x, store_last);
}

static void
fair_judge(void)
{
}

static void
everybody_has_a_turn(void **state)
{
	static const struct sim_world world = WORLD(fair);
	struct sim_history history = {.world = &world, .replays = true};

	for (uint64_t seed = 0; seed < 100; seed++)
		assert_null(sim_play(&world, seed, SIM_MEMORIES));
	/* Nothing is decided. */
	sim_run(&history);
	assert_false(history.failed);
	assert_true(history.steps > 1000);
}

/* --- a seed is a history --- */

static uint64_t trail;

static void
leave_trail(void *arg)
{
	for (uint64_t i = 0; i < 16; i++) {
		uint32_t found = atomic_fetch_add(&litmus.x, (uint32_t)(uintptr_t)arg);

		trail = trail * 31 + found + sim_now();
	}
}

static void
trail_begin(void)
{
	memset(&litmus, 0, sizeof(litmus));
	trail = sim_draw(1000);
	for (uintptr_t i = 1; i < 5; i++)
		(void)sim_spawn("walker", true, leave_trail, (void *)i);
}

static void
trail_judge(void)
{
}

static void
seeds_repeat(void **state)
{
	static const struct sim_world world = WORLD(trail);
	uint64_t last = 0, same = 0;

	for (uint64_t seed = 0; seed < 500; seed++) {
		uint64_t first;

		assert_null(sim_play(&world, seed, SIM_MEMORIES));
		first = trail;
		assert_null(sim_play(&world, seed, SIM_MEMORIES));
		assert_int_equal(trail, first);
		same += first == last;
		last = first;
	}
	assert_int_equal(same, 0);
}

/* --- who goes on without a step is ended --- */

static struct link {
	struct link *next;
} *volatile links;

static void
make_circle(void *arg)
{
	static struct link circle = {&circle};

	if (atomic_fetch_add(&litmus.x, 1) == 0)
		links = &circle;
}

static void
go_along(void *arg)
{
	(void)atomic_fetch_add(&litmus.x, 1);
	while (links != NULL)
		links = links->next;
}

static void
circle_begin(void)
{
	links = NULL;
	begin(make_circle, go_along);
}

static void
circle_judge(void)
{
}

static void
spinning_ends(void **state)
{
	static const struct sim_world world = WORLD(circle);
	unsigned int spun = 0, seeds = 0;

	sim_watchdog_limit(50);
	for (uint64_t seed = 0; spun < 4 && seed < HISTORIES; seed++, seeds++) {
		const char *sentence = sim_play(&world, seed, SIM_MEMORY_STRONG);

		if (sentence == NULL)
			continue;
		spun++;
		assert_non_null(strstr(sentence, "b goes on without a step behind sim_litmus.c:"));
		/* Again, and whoever comes next is well. */
		assert_string_equal(sim_play(&world, seed, SIM_MEMORY_STRONG), sentence);
	}
	sim_watchdog_limit(0);
	assert_int_equal(spun, 4);
	assert_true(seeds > spun);
}

/* --- seven doors, each with a key of eight: by chance nobody comes to the last one --- */

#define DOORS 7
#define TRIES 20000

static struct {
	uint64_t keys[DOORS];
	/* Of all histories, how far one has come. */
	uint32_t deepest;
} doors;

/* Each has code of its own. */
#define OPEN(n)                           \
	if (doors.keys[n] != (n))         \
		return;                   \
	atomic_store(&litmus.x, (n) + 1); \
	if (doors.deepest < (n) + 1)      \
	doors.deepest = (n) + 1

static void
open_doors(void *arg)
{
	OPEN(0);
	OPEN(1);
	OPEN(2);
	OPEN(3);
	OPEN(4);
	OPEN(5);
	OPEN(6);
}

static void
doors_begin(void)
{
	memset(&litmus, 0, sizeof(litmus));
	for (unsigned int i = 0; i < DOORS; i++)
		doors.keys[i] = sim_draw(8);
	(void)sim_spawn("guest", false, open_doors, NULL);
}

static void
doors_judge(void)
{
}

/* What was kept brings the next run there at once. */
static void
kept_histories_are_played(const struct sim_world *world)
{
	char folder[] = "/tmp/sim-litmus-XXXXXX", command[64];

	assert_non_null(mkdtemp(folder));
	doors.deepest = 0;
	sim_play_steered(world, 1, TRIES, folder);
	assert_int_equal(doors.deepest, DOORS);
	doors.deepest = 0;
	sim_play_steered(world, 1, 0, folder);
	assert_int_equal(doors.deepest, DOORS);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static void
steering_comes_further(void **state)
{
	static const struct sim_world world = WORLD(doors);

	doors.deepest = 0;
	for (uint64_t seed = 1; seed <= TRIES; seed++)
		assert_null(sim_play(&world, seed, SIM_MEMORIES));
	assert_true(doors.deepest < DOORS);
	doors.deepest = 0;
	sim_play_steered(&world, 1, TRIES, NULL);
	assert_int_equal(doors.deepest, DOORS);
	kept_histories_are_played(&world);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_are_seen),
		cmocka_unit_test(buffers_are_in_order),
		cmocka_unit_test(death_comes_anywhere),
		cmocka_unit_test(sleepers_are_woken),
		cmocka_unit_test(stores_are_seen_at_last),
		cmocka_unit_test(everybody_has_a_turn),
		cmocka_unit_test(seeds_repeat),
		cmocka_unit_test(spinning_ends),
		cmocka_unit_test(steering_comes_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
