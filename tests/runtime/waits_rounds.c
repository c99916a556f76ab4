/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of one update and one wait for it, by each wait object, by wait sets of each and by
 * arming, while every core is busy. The update that ends a round is the only one of it, so a wake
 * that is lost is made good by nothing: no later update comes, the scrub is off, and nobody waits
 * with a timeout. Then its pair stays where it is, and an alarm tells where everything stands.
 *
 * What may go wrong does so between two instructions of the waiter. So in every other round a timer
 * of its own stops it, a few instructions on, until the update is made and the homes have had their
 * time. Sixteen pairs play at once: while one sleeps, others are woken, so rounds are not spent on
 * switching threads alone.
 *
 *	stress-waits MODE [NAME]	all objects, or those whose name matches, as in 'set_*'
 *
 * TRIP_ROUNDS sets the rounds of each object. The last line is the sum of what was shown.
 */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "waits_pair.h"

/* Most of them where the homes have lcores of their own: what is shared races there. */
#define ROUNDS (TRIP_TEST_TSAN ? 10000 : 20000)
#define ROUNDS_OTHERWISE (ROUNDS / 5)

/* Seconds without 1024 rounds, or of one pair without one, after which a wake is called lost. */
#define PATIENCE_S 60

static struct pair pairs[PAIRS_MAX];

/* Of all objects that were played. */
static struct {
	unsigned int objects;
	uint64_t rounds, waits, slept, repairs, wall_us, cpu_us;
} sum;

static void
tell_pair(struct pair *pair)
{
	for (unsigned int i = 0; i < pair->object->n_waiters; i++)
		dprintf(STDERR_FILENO, "  waiter %u: has seen round %" PRIu64 ", waits in way %u\n",
			i, atomic_load(&pair->waiters[i].round),
			atomic_load(&pair->waiters[i].way));
	for (unsigned int i = 0; i < pair->n_cntrs; i++)
		dprintf(STDERR_FILENO,
			"  counter %u: success %" PRIu64 ", error %" PRIu64 ", errgen %" PRIu64
			"\n",
			i, trip_cntr_read(pair->cntr[i]), trip_cntr_readerr(pair->cntr[i]),
			trip_cntr_errgen(pair->cntr[i]));
}

static void
tell_lost_wake(int number)
{
	dprintf(STDERR_FILENO, "%s: no wake in %d s\n", pairs[0].object->name, PATIENCE_S);
	for (unsigned int i = 0; i < PAIRS_MAX; i++) {
		dprintf(STDERR_FILENO, "pair %u: round %" PRIu64 " of %" PRIu64 "\n", i,
			atomic_load(&pairs[i].round), pairs[i].rounds);
		tell_pair(&pairs[i]);
	}
	_exit(EXIT_FAILURE);
}

static void
spin(struct trip_random *random)
{
	uint64_t delay = trip_random_below(random, 4) == 0 ? trip_random_below(random, 10000)
							   : trip_random_below(random, 100);

	for (uint64_t i = 0; i < delay; i++)
		__asm__ volatile("");
}

static void
update(struct pair *pair)
{
	uint64_t at = trip_random_below(&pair->random, pair->n_cntrs);
	struct trip_cntr *cntr = pair->cntr[at];

	switch (trip_random_below(&pair->random, 8)) {
	case 0:
		pair->error[at]++;
		trip_cntr_adderr(cntr, 1);
		break;
	case 1:
		trip_cntr_seterr(cntr, ++pair->error[at]);
		break;
	case 2:
		trip_cntr_set(cntr, ++pair->success[at]);
		break;
	default:
		pair->success[at]++;
		trip_cntr_add(cntr, 1);
	}
}

/* Begins the next round; false where there is none. */
static bool
begin_round(struct pair *pair)
{
	uint64_t round = atomic_load(&pair->round) + 1;

	if (round > pair->rounds)
		return false;
	atomic_store(&pair->round, round);
	/* Before the waiter arms, while it does, or when it sleeps. */
	spin(&pair->random);
	if (waits_pair_stops(round))
		pair->state = PAIR_STOPS;
	else
		update(pair);
	return true;
}

static bool
all_stopped(struct pair *pair)
{
	bool all = true;

	for (unsigned int i = 0; i < pair->object->n_waiters; i++)
		all &= atomic_load(&pair->waiters[i].stopped) >= atomic_load(&pair->round);
	return all;
}

/* Does what can be done now; true where the pair has ended. `began` counts the rounds begun. */
static bool
step_pair(struct pair *pair, uint64_t *began)
{
	switch (pair->state) {
	case PAIR_PLAYS:
		if (!waits_pair_have_seen(pair, atomic_load(&pair->round)))
			return false;
		if (!begin_round(pair))
			return true;
		++*began;
		return false;
	case PAIR_STOPS:
		/* Wherever they were stopped, or asleep already. */
		if (!all_stopped(pair))
			return false;
		update(pair);
		pair->steps = trip_random_below(
			&pair->random, trip_random_below(&pair->random, 4) == 0 ? 30 : 3);
		pair->state = PAIR_IS_STOPPED;
		return false;
	case PAIR_IS_STOPPED:
		if (pair->steps-- > 0)
			return false;
		waits_pair_release(pair, atomic_load(&pair->round));
		pair->state = PAIR_PLAYS;
	}
	return false;
}

static void
update_all(void)
{
	uint64_t began = 0, patient = 0;
	unsigned int ended;

	alarm(PATIENCE_S);
	do {
		ended = 0;
		for (unsigned int i = 0; i < PAIRS_MAX; i++)
			ended += step_pair(&pairs[i], &began);
		if (began - patient >= 1024) {
			patient = began;
			alarm(PATIENCE_S);
		}
		harness_step();
	} while (ended < PAIRS_MAX);
	alarm(0);
}

static void
retrieve(struct pair *pair)
{
	enum trip_wait_obj wait_obj = pair->object->wait_obj;
	void *arg = wait_obj == TRIP_WAIT_FD ? (void *)&pair->fd : (void *)&pair->cond;
	pair->cond.size = sizeof(pair->cond);

	if (wait_obj != TRIP_WAIT_FD && wait_obj != TRIP_WAIT_MUTEX_COND)
		return;
	if (pair->set != NULL)
		assert_int_equal(trip_wait_control(pair->set, TRIP_GETWAIT, arg), 0);
	else
		assert_int_equal(trip_cntr_control(pair->cntr[0], TRIP_GETWAIT, arg), 0);
}

static void
open_pair(struct pair *pair, const struct object *object, unsigned int index, uint64_t rounds)
{
	*pair = (struct pair){.object = object,
		.rounds = rounds,
		.random = {harness_seed + index * UINT64_C(1000)}};
	if (object->n_members > 0) {
		pair->set = waits_set(object->wait_obj);
		pair->fid = trip_wait_fid(pair->set);
		for (; pair->n_cntrs < object->n_members; pair->n_cntrs++)
			pair->cntr[pair->n_cntrs] = waits_member(pair->set);
	} else {
		pair->cntr[pair->n_cntrs++] = harness_cntr(object->wait_obj);
		pair->fid = trip_cntr_fid(pair->cntr[0]);
	}
	retrieve(pair);
}

static void
start_waiters(struct pair *pair)
{
	for (unsigned int i = 0; i < pair->object->n_waiters; i++) {
		struct waiter *waiter = &pair->waiters[i];

		waiter->pair = pair;
		waiter->random.state = trip_random_u64(&pair->random);
		assert_int_equal(pthread_create(&waiter->thread, NULL, waits_pair_wait, waiter), 0);
	}
}

static void
end_waiters(struct pair *pair, uint64_t *blocked, uint64_t *slept)
{
	for (unsigned int i = 0; i < pair->object->n_waiters; i++) {
		pthread_join(pair->waiters[i].thread, NULL);
		*blocked += pair->waiters[i].blocked;
		*slept += pair->waiters[i].slept;
	}
}

static void
close_pair(struct pair *pair)
{
	for (unsigned int i = 0; i < pair->n_cntrs; i++) {
		harness_expect(pair->cntr[i], pair->success[i], pair->error[i]);
		harness_cntr_close(pair->cntr[i]);
	}
	if (pair->set != NULL)
		assert_int_equal(trip_wait_close(pair->set), 0);
}

static uint64_t
wall_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t
cpu_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void
tell(const struct object *object, uint64_t rounds, uint64_t blocked, uint64_t slept, uint64_t us)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	assert_int_equal(trip_domain_stats_read(harness_domain, &stats), 0);
	printf("%s: %" PRIu64 " rounds, %u waiters a round; blocked %" PRIu64
	       " times, slept %" PRIu64 " times, woken by %" PRIu64 " signals; 0 lost, %" PRIu64
	       " repairs; %.2f us a round\n",
		object->name, rounds, object->n_waiters, blocked, slept, stats.wakes,
		stats.scrub_repairs, (double)us / (double)rounds);
	fflush(stdout);
	assert_int_equal(stats.scrub_repairs, 0);
	sum.objects++;
	sum.rounds += rounds;
	sum.waits += rounds * object->n_waiters;
	sum.slept += slept;
	sum.wall_us += us;
}

static void
play(void **state)
{
	const struct object *object = *state;
	uint64_t rounds =
		trip_test_rounds(harness_mode == TRIP_PROGRESS_LCORE ? ROUNDS : ROUNDS_OTHERWISE);
	uint64_t began = wall_us(), cpu = cpu_us(), blocked = 0, slept = 0;
	const struct trip_domain_attr tune = {.max_waiters = WAITERS_MAX * PAIRS_MAX * MEMBERS_MAX};

	/* The members of a set have two homes. */
	harness_open(object->n_members > 0 ? 2 : 1, &tune);
	rounds = (rounds + PAIRS_MAX - 1) / PAIRS_MAX;
	for (unsigned int i = 0; i < PAIRS_MAX; i++)
		open_pair(&pairs[i], object, i, rounds);
	for (unsigned int i = 0; i < PAIRS_MAX; i++)
		start_waiters(&pairs[i]);
	update_all();
	for (unsigned int i = 0; i < PAIRS_MAX; i++)
		end_waiters(&pairs[i], &blocked, &slept);
	tell(object, rounds * PAIRS_MAX, blocked, slept, wall_us() - began);
	sum.cpu_us += cpu_us() - cpu;
	for (unsigned int i = 0; i < PAIRS_MAX; i++)
		close_pair(&pairs[i]);
}

#define CNTR(name, obj, ways, waiters)                               \
	{                                                            \
		name, play, NULL, harness_teardown, &(struct object) \
		{                                                    \
			name, TRIP_WAIT_##obj, ways, waiters, 0      \
		}                                                    \
	}
#define SET(name, obj, ways)                                         \
	{                                                            \
		name, play, NULL, harness_teardown, &(struct object) \
		{                                                    \
			name, TRIP_WAIT_##obj, ways, 1, MEMBERS_MAX  \
		}                                                    \
	}

static const struct CMUnitTest tests[] = {
	CNTR("unspec", UNSPEC, BY_CALL, 2),
	CNTR("fd", FD, BY_CALL | BY_TRYWAIT, 1),
	CNTR("fd_armed", FD, BY_ARM, 1),
	CNTR("mutex_cond", MUTEX_COND, BY_CALL | BY_TRYWAIT, 1),
	CNTR("mutex_cond_armed", MUTEX_COND, BY_ARM, 1),
	CNTR("yield", YIELD, BY_CALL, 2),
	SET("set_unspec", UNSPEC, BY_CALL),
	SET("set_fd", FD, BY_CALL | BY_TRYWAIT),
	SET("set_mutex_cond", MUTEX_COND, BY_CALL | BY_TRYWAIT),
	SET("set_yield", YIELD, BY_CALL),
};

int
main(int argc, char **argv)
{
	int result;

	signal(SIGALRM, tell_lost_wake);
	signal(SIGUSR1, waits_pair_stay);
	result = harness_main(argc, argv, NULL, tests, sizeof(tests) / sizeof(*tests));
	if (sum.objects > 0)
		printf("%u wait objects: %" PRIu64 " rounds, %" PRIu64 " waits, %" PRIu64
		       " of them asleep; no wake lost, no scrub repair; %.0f s, %.2f CPUs busy\n",
			sum.objects, sum.rounds, sum.waits, sum.slept, (double)sum.wall_us / 1e6,
			(double)sum.cpu_us / (double)sum.wall_us);
	return result;
}
