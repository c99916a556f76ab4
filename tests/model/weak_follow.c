/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts of other processes, by the code as it is: what the primary takes out is counted on no more
 * once the claims say so (claim.h), whichever burst brought the table up to date (follow.h), and
 * what is read of the rules is what was written (rulebook.h).
 *
 * The table is one word of the test's, the sequence of the one rule that it may have, and is read
 * and written relaxed: what orders it is `applied`.
 */
#include <errno.h>
#include <pthread.h>

#include "follow.h"
#include "soft.h"
#include "trip_test.h"
#include "weak.h"

#define RULES 8

static struct {
	struct trip_table table;
	_Atomic uint32_t sequence;
	_Atomic uint32_t locked;
	struct trip_follow follow;
	struct trip_rulebook book;
	void *memory;
	struct trip_claim claims[2];
	struct trip_soft_queue *queues;
	/* Of rule 0; and what the primary saw of it when nobody could add any more. */
	_Atomic uint32_t count;
	bool is_past;
	uint32_t final;
	/* What was read of the rules. */
	bool got;
	uint32_t index;
	struct trip_table_rule rule;
} bed;

static int
played_trylock(pthread_mutex_t *lock)
{
	return atomic_exchange_explicit(&bed.locked, 1, memory_order_acquire) == 0 ? 0 : EBUSY;
}

static int
played_unlock(pthread_mutex_t *lock)
{
	atomic_store_explicit(&bed.locked, 0, memory_order_release);
	return 0;
}

static uint64_t
played_sequence_of(const struct trip_table *table, uint32_t index)
{
	return atomic_load_explicit(&bed.sequence, memory_order_relaxed);
}

static bool
played_get(const struct trip_table *table, uint32_t index, struct trip_table_rule *rule,
	struct trip_pattern *pattern)
{
	rule->sequence = played_sequence_of(table, index);
	return rule->sequence != 0;
}

static int
played_add(struct trip_table *table, const struct trip_table_rule *rule,
	const struct trip_pattern *pattern)
{
	atomic_store_explicit(&bed.sequence, (uint32_t)rule->sequence, memory_order_relaxed);
	return 0;
}

static void
played_remove(struct trip_table *table, uint32_t index)
{
	atomic_store_explicit(&bed.sequence, 0, memory_order_relaxed);
}

#define pthread_mutex_trylock played_trylock
#define pthread_mutex_unlock played_unlock
#define trip_table_sequence_of played_sequence_of
#define trip_table_get played_get
#define trip_table_add played_add
#define trip_table_remove played_remove
#include "../../lcore/soft/follow.c"
#undef trip_table_add
#undef trip_table_remove

#include "../../lcore/soft/soft.c"

static void
put(uint32_t index, uint64_t sequence)
{
	static const struct trip_pattern all;
	const struct trip_table_rule rule = {.rule = index,
		.sequence = sequence,
		.group = (uint32_t)sequence,
		.mark = (uint32_t)sequence};

	(void)trip_rulebook_put(&bed.book, &rule, &all);
}

/* Rule 0 is there, and the table has it. */
static void
begin_anew(void *arg)
{
	memset(bed.memory, 0, trip_rulebook_size(RULES));
	trip_rulebook_view(&bed.book, bed.memory, RULES);
	put(1, 1);
	put(0, 2);
	bed.is_past = bed.got = false;
	atomic_init(&bed.count, 0);
	atomic_init(&bed.sequence, 2);
	atomic_init(&bed.locked, 0);
	trip_era_init(&bed.table.era);
	memset(&bed.follow, 0, sizeof(bed.follow));
	bed.follow.table = &bed.table;
	bed.follow.rules = bed.book;
	atomic_init(&bed.follow.applied, trip_rulebook_changes(&bed.book));
	for (unsigned int i = 0; i < 2; i++) {
		trip_claim_init(&bed.claims[i]);
		trip_era_attach(&bed.table.era, &bed.queues[i].reader);
		bed.queues[i].table = &bed.table;
		trip_soft_follow(&bed.queues[i], &bed.follow, &bed.claims[i]);
	}
}

static bool
explore(void (*anew)(void *arg), void (*a)(void *arg), void (*b)(void *arg),
	bool (*holds)(void *arg))
{
	const struct trip_weak weak = {.begin = anew, .threads = {a, b}, .holds = holds};

	return trip_weak_holds(&weak);
}

/* --- a rule is taken out beside bursts that count on it --- */

/* Of a packet that matches rule 0, on a queue. */
static void
burst_of(struct trip_soft_queue *queue)
{
	begin(queue);
	if (atomic_load_explicit(&bed.sequence, memory_order_relaxed) == 2 &&
		(!queue->careful || trip_rulebook_sequence(&bed.follow.rules, 0) == 2))
		atomic_fetch_add_explicit(&bed.count, 1, memory_order_relaxed);
	end(queue);
}

/* Whose queue it is only then. */
static void
burst(void *arg)
{
	(void)trip_claim_take(&bed.claims[0], 1);
	burst_of(&bed.queues[0]);
	(void)trip_claim_give(&bed.claims[0], 1);
}

static void
burst_beside(void *arg)
{
	burst_of(&bed.queues[1]);
}

static void
primary(void *arg)
{
	uint64_t stamp = trip_rulebook_take(&bed.book, 0);

	atomic_thread_fence(memory_order_seq_cst); /* W3 */
	bed.is_past = trip_claim_is_past(&bed.claims[0], stamp);
	if (bed.is_past)
		bed.final = atomic_load_explicit(&bed.count, memory_order_relaxed);
}

static bool
count_is_final(void *arg)
{
	return !bed.is_past || bed.final == atomic_load(&bed.count);
}

static void
weak_burst_that_is_past_counts_no_more(void **state)
{
	assert_true(explore(begin_anew, primary, burst, count_is_final));
}

/* The claims of bursts that begin now say that they are past it. */
static void
begin_without_the_rule(void *arg)
{
	begin_anew(arg);
	(void)trip_rulebook_take(&bed.book, 0);
}

static bool
is_not_counted(void *arg)
{
	return atomic_load(&bed.count) == 0;
}

static void
weak_burst_goes_by_a_table_that_it_has(void **state)
{
	assert_true(explore(begin_without_the_rule, burst, burst_beside, is_not_counted));
}

/* --- what is read of the rules --- */

static void
take_and_put(void *arg)
{
	(void)trip_rulebook_take(&bed.book, 0);
	put(0, 3);
}

static void
get(void *arg)
{
	struct trip_pattern pattern;

	bed.got = trip_rulebook_get(&bed.follow.rules, 0, &bed.rule, &pattern);
}

static bool
is_whole(void *arg)
{
	return !bed.got ||
	       (bed.rule.group == bed.rule.sequence && bed.rule.mark == bed.rule.sequence);
}

static void
weak_rule_is_read_whole(void **state)
{
	assert_true(explore(begin_anew, take_and_put, get, is_whole));
}

/* The log's last place is left, and then the first one is written again. */
static void
put_twice(void *arg)
{
	put(2, 3);
	put(3, 4);
}

static void
look_up_the_oldest(void *arg)
{
	bed.got = trip_rulebook_change(&bed.follow.rules, 0, &bed.index);
}

static void
begin_with_a_full_log(void *arg)
{
	begin_anew(arg);
	atomic_init(&bed.book.head->changes, TRIP_RULEBOOK_LOG - 1);
	assert_int_equal(atomic_load(&bed.book.head->log[0]), 1);
}

static bool
is_oldest(void *arg)
{
	return !bed.got || bed.index == 1;
}

static void
weak_change_is_the_one_asked_for(void **state)
{
	assert_true(explore(begin_with_a_full_log, put_twice, look_up_the_oldest, is_oldest));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weak_burst_that_is_past_counts_no_more),
		cmocka_unit_test(weak_burst_goes_by_a_table_that_it_has),
		cmocka_unit_test(weak_rule_is_read_whole),
		cmocka_unit_test(weak_change_is_the_one_asked_for),
	};

	bed.memory = aligned_alloc(64, trip_rulebook_size(RULES));
	bed.queues = aligned_alloc(64, RTE_ALIGN(2 * sizeof(*bed.queues), 64));
	assert_non_null(bed.memory);
	assert_non_null(bed.queues);
	memset(bed.queues, 0, 2 * sizeof(*bed.queues));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
