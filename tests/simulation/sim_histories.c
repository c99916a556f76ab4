/* SPDX-License-Identifier: BSD-3-Clause */
/* Of the simulator itself: everybody has a turn in the end, a seed is always the same history, who
 * goes on without a step is ended, and steering pays. */
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <trip_test.h>

#include "sim_inside.h"

#define HISTORIES 4000

static _Atomic uint32_t place;

static void
nothing(void)
{
}

static void
begin(void (*a)(void *arg), void (*b)(void *arg))
{
	atomic_init(&place, 0);
	(void)sim_spawn("a", false, a, NULL);
	(void)sim_spawn("b", false, b, NULL);
}

#define WORLD(NAME)                                                                   \
	{                                                                             \
		.name = #NAME, .length = 16, .begin = NAME##_begin, .judge = nothing, \
		.forget = nothing,                                                    \
	}

/* --- whoever can go on does so in the end, also when its turn is not decided --- */

static void
spin(void *arg)
{
	while (atomic_load(&place) == 0)
		;
}

static void
store(void *arg)
{
	atomic_store_explicit(&place, 1, memory_order_relaxed);
}

static void
fair_begin(void)
{
	begin(spin, store);
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
		uint32_t found = atomic_fetch_add(&place, (uint32_t)(uintptr_t)arg);

		trail = trail * 31 + found + sim_now();
	}
}

static void
trail_begin(void)
{
	atomic_init(&place, 0);
	trail = sim_draw(1000);
	for (uintptr_t i = 1; i < 5; i++)
		(void)sim_spawn("walker", true, leave_trail, (void *)i);
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

/* --- whoever compiles it: what draws and moves stays in the order of the source --- */

#define WORDS 4
/* It changes when the simulator draws otherwise: then a seed is another history, for all worlds. */
#define DIGEST UINT64_C(0x17e6364005aaae12)

static void
change_words(void *arg)
{
	_Atomic uint32_t *words = arg;
	uint32_t found = 0;

	atomic_init(&words[0], 1);
	for (uint32_t i = 0; i < WORDS; i++) {
		atomic_store_explicit(&words[i], i, memory_order_release);
		atomic_thread_fence(memory_order_seq_cst);
		found += atomic_load_explicit(&words[(i + 1) % WORDS], memory_order_relaxed);
		(void)atomic_compare_exchange_weak(&words[i], &found, i + 1);
	}
	sim_pause();
	(void)atomic_exchange(&words[0], found);
}

static void
words_begin(void)
{
	static _Atomic uint32_t words[WORDS];

	memset(words, 0, sizeof(words));
	for (uint64_t n = 2 + sim_draw(3); n > 0; n--)
		(void)sim_spawn("changer", true, change_words, words);
}

static void
seeds_stay(void **state)
{
	static const struct sim_world world = WORLD(words);
	struct sim_history history = {.world = &world, .memory = SIM_MEMORIES};
	uint64_t digest = 0;

	for (uint64_t seed = 0; seed < 500; seed++) {
		history.seed = history.turns = seed;
		sim_run(&history);
		assert_false(history.failed);
		digest = digest * 31 + history.digest;
	}
	free(history.decisions);
	assert_int_equal(digest, DIGEST);
}

/* --- nothing rests before all laps have ended, however slow --- */

#define LAPS 3
#define PAUSES_A_LAP 40

static unsigned int lapped;

static void
go_round(void *arg)
{
	sim_laps(LAPS);
	for (unsigned int n = 1;; n++) {
		sim_pause();
		if (n % PAUSES_A_LAP != 0)
			continue;
		lapped++;
		sim_lap();
	}
}

static void
move(void *arg)
{
	for (unsigned int n = 0; n < 100; n++) {
		(void)atomic_fetch_add(&place, 1);
		sim_pause();
	}
	sim_progress();
	lapped = 0;
}

static void
laps_begin(void)
{
	lapped = 0;
	begin(go_round, move);
}

static void
judge_laps(void)
{
	sim_expect(lapped >= LAPS, "it rests after %u laps", lapped);
}

static void
laps_end(void **state)
{
	static const struct sim_world world = {.name = "laps",
		.length = 16,
		.begin = laps_begin,
		.judge = judge_laps,
		.forget = nothing};

	for (uint64_t seed = 0; seed < 500; seed++)
		assert_null(sim_play(&world, seed, SIM_MEMORIES));
}

/* --- who goes on without a step is ended --- */

static struct link {
	struct link *next;
} *volatile links;

static void
make_circle(void *arg)
{
	static struct link circle = {&circle};

	if (atomic_fetch_add(&place, 1) == 0)
		links = &circle;
}

static void
go_along(void *arg)
{
	(void)atomic_fetch_add(&place, 1);
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
		assert_non_null(
			strstr(sentence, "b goes on without a step behind sim_histories.c:"));
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
#define OPEN(n)                        \
	if (doors.keys[n] != (n))      \
		return;                \
	atomic_store(&place, (n) + 1); \
	if (doors.deepest < (n) + 1)   \
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
	atomic_init(&place, 0);
	for (unsigned int i = 0; i < DOORS; i++)
		doors.keys[i] = sim_draw(8);
	(void)sim_spawn("guest", false, open_doors, NULL);
}

/* What was kept brings the next run there at once. */
static void
kept_histories_are_played(const struct sim_world *world)
{
	char folder[] = "/tmp/sim-histories-XXXXXX", command[64];

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

/* --- whoever sleeps may wake for nothing, and does so again when that is repeated --- */

static unsigned int n_early;

static void
sleep_once(void *arg)
{
	syscall(SYS_futex, &place, FUTEX_WAIT, 0, NULL, NULL, 0);
	n_early += atomic_load(&place) == 0;
}

static void
wake_after_a_rest(void *arg)
{
	sim_rest();
	atomic_store(&place, 1);
	syscall(SYS_futex, &place, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void
naps_begin(void)
{
	begin(sleep_once, wake_after_a_rest);
}

static void
sleeps_end_early(void **state)
{
	static const struct sim_world world = WORLD(naps);
	struct sim_history history = {.world = &world, .memory = SIM_MEMORIES};

	for (n_early = 0; n_early == 0; history.seed = ++history.turns) {
		assert_true(history.turns < 100);
		sim_run(&history);
		assert_false(history.failed);
	}
	history.seed--;
	history.turns--;
	history.replays = true;
	sim_run(&history);
	assert_int_equal(n_early, 2);
	/* Otherwise nobody wakes before it is woken. */
	history.n_decisions = 0;
	sim_run(&history);
	assert_int_equal(n_early, 2);
	free(history.decisions);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_has_a_turn),
		cmocka_unit_test(seeds_repeat),
		cmocka_unit_test(seeds_stay),
		cmocka_unit_test(laps_end),
		cmocka_unit_test(spinning_ends),
		cmocka_unit_test(steering_comes_further),
		cmocka_unit_test(sleeps_end_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
