/* SPDX-License-Identifier: BSD-3-Clause */
/* Items that are queued again after each firing (WORK-14). */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "harness.h"

#define MAX TRIP_CNTR_MAX

static struct harness_notes notes;

static uint64_t
queue_every(struct trip_cntr *cntr, uint64_t threshold, uint64_t interval, uint32_t flags,
	uint64_t context)
{
	struct trip_work work = harness_noted(&notes, cntr, threshold, NULL);

	work.interval = interval;
	work.flags |= flags;
	work.context = context;
	return harness_queue(&work);
}

static void
expect_note(uint32_t at, uint64_t context, uint64_t threshold, uint64_t count, bool more)
{
	const struct trip_work_event *event = &notes.event[at];

	assert_true(event->context == context && event->threshold == threshold);
	assert_true(event->count == count);
	assert_int_equal((event->flags & TRIP_WORK_MORE) != 0, more);
}

static void
work_14_fires_for_each_interval(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	uint64_t id;

	harness_notes_open(&notes);
	id = queue_every(cntr, 10, 5, 0, 7);
	trip_cntr_add(cntr, 9);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	trip_cntr_add(cntr, 1);
	harness_until(harness_notes_count(&notes) == 1);
	trip_cntr_add(cntr, 4);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 1);
	/* From 14 to 31 it passes 15, 20, 25 and 30. */
	trip_cntr_add(cntr, 17);
	harness_until(harness_notes_count(&notes) == 5);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 5);
	for (uint32_t i = 0; i < 5; i++)
		expect_note(i, 7, 10 + 5 * i, 1, true);
	assert_int_equal(trip_cntr_close(cntr), -EBUSY);
	assert_int_equal(trip_work_cancel(harness_domain, id), 0);
	assert_int_equal(trip_work_cancel(harness_domain, id), -ENOENT);
	trip_cntr_add(cntr, 100);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 5);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

static void
work_14_coalesces(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_cntr *target = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 10, TRIP_OP_CNTR_ADD);

	harness_notes_open(&notes);
	work.interval = 5;
	work.flags = TRIP_WORK_COALESCE;
	work.op.cntr.cntr = target;
	work.op.cntr.value = 3;
	harness_queue(&work);
	queue_every(cntr, 10, 5, TRIP_WORK_COALESCE, 0);
	trip_cntr_add(cntr, 31);
	harness_until(harness_notes_count(&notes) == 1);
	expect_note(0, 0, 30, 5, true);
	harness_until(trip_cntr_read(target) == 15);
	trip_cntr_add(cntr, 4);
	harness_until(harness_notes_count(&notes) == 2);
	expect_note(1, 0, 35, 1, true);
	harness_until(trip_cntr_read(target) == 18);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 2);
	harness_expect(target, 18, 0);
	work.interval = 0;
	assert_int_equal(trip_work_queue(harness_domain, &work, NULL), -EINVAL);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	harness_notes_close(&notes);
	harness_cntr_close(target);
	harness_cntr_close(cntr);
}

static void
end_at_the_maximum(uint32_t flags, uint64_t errors)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	uint32_t n = flags == 0 ? 2 : 1;
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	uint64_t id;

	harness_notes_open(&notes);
	trip_cntr_adderr(cntr, errors);
	id = queue_every(cntr, MAX - 5, 3, flags, 0);
	trip_cntr_set(cntr, MAX);
	harness_until(harness_notes_count(&notes) == n);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), n);
	if (n == 2)
		expect_note(0, 0, MAX - 5, 1, true);
	expect_note(n - 1, 0, MAX - 2, 3 - n, false);
	assert_true(notes.event[n - 1].value == MAX + errors);
	assert_int_equal(trip_work_cancel(harness_domain, id), -ENOENT);
	trip_domain_stats_read(harness_domain, &stats);
	assert_int_equal(stats.pending, 0);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* It ends where threshold + interval would pass the largest value, which the sum may, with errors.
 */
static void
work_14_ends_at_the_maximum(void **state)
{
	for (uint32_t flags = 0; flags <= TRIP_WORK_COALESCE; flags += TRIP_WORK_COALESCE) {
		end_at_the_maximum(flags, 0);
		end_at_the_maximum(flags, 5);
	}
}

/* With the largest interval it fires once or twice. */
static void
work_14_the_largest_interval(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);

	harness_notes_open(&notes);
	queue_every(cntr, 0, MAX, 0, 1);
	queue_every(cntr, 1, MAX, 0, 2);
	harness_until(harness_notes_count(&notes) == 1);
	trip_cntr_set(cntr, MAX);
	harness_until(harness_notes_count(&notes) == 3);
	expect_note(0, 1, 0, 1, true);
	expect_note(1, 2, 1, 1, false);
	expect_note(2, 1, MAX, 1, false);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 3);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* What counts as accepted after a firing does not overtake what was ready before. */
static void
work_14_counts_as_accepted_anew(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	static const uint64_t order[] = {1, 2, 3, 1, 1};

	harness_notes_open(&notes);
	queue_every(cntr, 10, 10, 0, 1);
	harness_note(&notes, cntr, 15, 2);
	harness_note(&notes, cntr, 30, 3);
	trip_cntr_add(cntr, 30);
	harness_until(harness_notes_count(&notes) == 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(notes.event[i].context, order[i]);
	/* Not due yet, it is behind an equal one that was queued before the firing. */
	harness_note(&notes, cntr, 50, 4);
	trip_cntr_add(cntr, 10);
	harness_until(harness_notes_count(&notes) == 6);
	trip_cntr_add(cntr, 10);
	harness_until(harness_notes_count(&notes) == 8);
	assert_int_equal(notes.event[6].context, 4);
	expect_note(7, 1, 50, 1, true);
	assert_int_equal(trip_work_flush(harness_domain, cntr), 0);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

struct self {
	_Atomic uint64_t id;
	_Atomic uint32_t calls, canceled;
};

static int
cancel_self(const struct trip_work_event *event, void *arg)
{
	struct self *self = arg;

	assert_true(event->id == atomic_load(&self->id));
	if (atomic_fetch_add(&self->calls, 1) == 2)
		atomic_store(&self->canceled,
			trip_work_cancel(harness_domain, event->id) == 0 ? 1u : 2u);
	return 0;
}

/* Its own function may cancel it, while further firings are due. */
static void
work_14_cancel_from_its_function(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(cntr, 10, TRIP_OP_CALL);
	static struct self self;
	struct trip_function *function;

	memset(&self, 0, sizeof(self));
	assert_int_equal(trip_function_register(harness_domain, cancel_self, &self, &function), 0);
	work.interval = 1;
	work.op.call.function = function;
	atomic_store(&self.id, harness_queue(&work));
	trip_cntr_add(cntr, 1000);
	harness_until(atomic_load(&self.canceled) != 0);
	harness_settle();
	assert_int_equal(atomic_load(&self.canceled), 1);
	assert_int_equal(atomic_load(&self.calls), 3);
	assert_int_equal(trip_work_cancel(harness_domain, atomic_load(&self.id)), -ENOENT);
	assert_int_equal(trip_function_unregister(function), 0);
	harness_cntr_close(cntr);
}

#define ITEMS 8
#define EPISODES 300

struct every {
	uint64_t id, next, interval, fired;
	bool coalesce, canceled, ended;
};

static void
check_every(struct every *every, uint32_t *seen)
{
	uint32_t n = harness_notes_count(&notes);

	for (; *seen < n; ++*seen) {
		const struct trip_work_event *event = &notes.event[*seen];
		struct every *item = &every[event->context];

		assert_false(item->canceled || item->ended);
		assert_true(event->count == 1 || item->coalesce);
		/* The last of the intervals that it stands for. */
		assert_true(event->threshold == item->next + (event->count - 1) * item->interval);
		assert_true(event->threshold <= MAX && event->value >= event->threshold);
		item->next += event->count * item->interval;
		item->fired += event->count;
		item->ended = item->next > MAX;
		assert_int_equal((event->flags & TRIP_WORK_MORE) == 0, item->ended);
	}
}

static void
run_episode(struct trip_cntr *cntr, struct trip_random *random)
{
	struct every every[ITEMS] = {0};
	/* Below the largest value, which the sum passes on its way, or not. */
	uint64_t base = trip_random_below(random, 2) == 0 ? 0 : MAX - 100;
	uint64_t errors = trip_random_below(random, 2) * 50, sum = base + errors;
	uint32_t seen = 0;

	trip_cntr_set(cntr, base);
	trip_cntr_seterr(cntr, errors);
	atomic_store(&notes.n, 0);
	for (uint32_t i = 0; i < ITEMS; i++) {
		every[i].next = base + errors + 1 + trip_random_below(random, 30);
		every[i].interval = 1 + trip_random_below(random, 20);
		every[i].coalesce = trip_random_below(random, 2) == 0;
		every[i].id = queue_every(cntr, every[i].next, every[i].interval,
			every[i].coalesce ? TRIP_WORK_COALESCE : 0, i);
	}
	for (uint32_t step = 0; step < 10; step++) {
		uint64_t jump = trip_random_below(random, 60);
		struct every *victim = &every[trip_random_below(random, ITEMS)];

		trip_cntr_add(cntr, jump);
		sum = RTE_MIN(sum + jump, MAX + errors);
		harness_settle();
		check_every(every, &seen);
		for (uint32_t i = 0; i < ITEMS; i++)
			assert_true(every[i].canceled || every[i].next > sum || every[i].ended);
		if (step % 4 == 3 && !victim->canceled && !victim->ended) {
			assert_int_equal(trip_work_cancel(harness_domain, victim->id), 0);
			victim->canceled = true;
		}
	}
	assert_int_equal(trip_work_flush(harness_domain, cntr), 0);
}

static void
work_14_random_intervals(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct trip_random random = {harness_seed};
	uint64_t episodes = harness_rounds(EPISODES);

	harness_notes_open(&notes);
	for (uint64_t i = 0; i < episodes; i++)
		run_episode(cntr, &random);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* A jump that was sampled fires for all its intervals, though the first firing lowers the counter.
 */
static void
work_13_a_jump_is_not_undone_half_way(void **state)
{
	struct trip_cntr *lowered = harness_cntr(TRIP_WAIT_NONE);
	struct trip_work work = harness_work(lowered, 1, TRIP_OP_CNTR_SET);

	harness_notes_open(&notes);
	work.op.cntr.cntr = lowered;
	harness_queue(&work);
	queue_every(lowered, 10, 10, 0, 5);
	for (uint64_t i = 0; i < 100; i++)
		harness_note(&notes, lowered, 50, 100 + i);
	trip_cntr_add(lowered, 50);
	harness_until(harness_notes_count(&notes) == 105);
	for (uint32_t i = 0; i < 101; i++)
		assert_int_equal(notes.event[i].context, i == 0 ? 5 : 99 + i);
	for (uint32_t i = 101; i < 105; i++)
		expect_note(i, 5, 10 * (i - 99), 1, true);
	/* What follows is measured against the new value. */
	harness_note(&notes, lowered, 20, 1);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 105);
	harness_expect(lowered, 0, 0);
	trip_cntr_add(lowered, 20);
	harness_until(harness_notes_count(&notes) == 106);
	trip_cntr_add(lowered, 40);
	harness_until(harness_notes_count(&notes) == 107);
	expect_note(106, 5, 60, 1, true);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	harness_notes_close(&notes);
	harness_cntr_close(lowered);
}

static struct trip_cntr *lowered;

/* Queues by a function, while the counter has been lowered and others are still to fire. */
static int
lower_and_queue(const struct trip_work_event *event, void *arg)
{
	struct trip_work work = harness_work(lowered, 30 - event->threshold, TRIP_OP_CALL);

	trip_cntr_set(lowered, 5);
	work.op.call.function = notes.function;
	work.context = 1000 + event->threshold;
	return trip_work_queue(harness_domain, &work, NULL);
}

static void
work_13_queued_after_lowering_waits(void **state)
{
	struct trip_function *function;
	struct trip_work work;

	lowered = harness_cntr(TRIP_WAIT_NONE);
	assert_int_equal(
		trip_function_register(harness_domain, lower_and_queue, NULL, &function), 0);
	harness_notes_open(&notes);
	for (uint64_t i = 1; i <= 10; i++) {
		work = harness_work(lowered, i, TRIP_OP_CALL);
		work.op.call.function = function;
		harness_queue(&work);
	}
	for (uint64_t i = 0; i < 200; i++)
		harness_note(&notes, lowered, 40, i);
	trip_cntr_add(lowered, 50);
	harness_until(harness_notes_count(&notes) == 200);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 200);
	harness_expect(lowered, 5, 0);
	/* Queued at 29, 28 ... 20; not due before the counter gets there again. */
	trip_cntr_add(lowered, 14);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 200);
	trip_cntr_add(lowered, 20);
	harness_until(harness_notes_count(&notes) == 210);
	for (uint32_t i = 0; i < 10; i++)
		expect_note(200 + i, 1010 - i, 20 + i, 1, false);
	assert_int_equal(trip_function_unregister(function), 0);
	harness_notes_close(&notes);
	harness_cntr_close(lowered);
}

static const struct CMUnitTest tests[] = {
	HARNESS_TEST(work_13_a_jump_is_not_undone_half_way),
	HARNESS_TEST(work_13_queued_after_lowering_waits),
	HARNESS_TEST(work_14_fires_for_each_interval),
	HARNESS_TEST(work_14_coalesces),
	HARNESS_TEST(work_14_ends_at_the_maximum),
	HARNESS_TEST(work_14_the_largest_interval),
	HARNESS_TEST(work_14_counts_as_accepted_anew),
	HARNESS_TEST(work_14_cancel_from_its_function),
	HARNESS_TEST(work_14_random_intervals),
};

HARNESS_MAIN(NULL, tests)
