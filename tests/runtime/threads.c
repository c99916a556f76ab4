/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that queue by channels of their own: what holds for work, holds for theirs. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include "harness.h"

#define THREADS 3
#define THREAD_WORKS 32

static struct harness_notes notes;

static int
setup(void **state)
{
	const struct trip_domain_attr attr = {
		.max_process_threads = THREADS, .max_thread_works = THREAD_WORKS};

	harness_open(1, &attr);
	return 0;
}

#define THREADS_TEST(f)                              \
	{                                            \
#f, f, setup, harness_teardown, NULL \
	}

/* A thread that stands still between its steps, which the test has it make. */
struct guest {
	struct trip_cntr *cntr;
	void (*step)(struct guest *guest);
	uint64_t number, id;
	int result;
	bool ends;
	sem_t go, done;
	pthread_t thread;
};

static void *
guest_main(void *arg)
{
	struct guest *guest = arg;

	for (;;) {
		sem_wait(&guest->go);
		if (guest->ends)
			return NULL;
		guest->step(guest);
		sem_post(&guest->done);
	}
}

static void
guest_start(struct guest *guest, struct trip_cntr *cntr, uint64_t number)
{
	*guest = (struct guest){.cntr = cntr, .number = number};
	sem_init(&guest->go, 0, 0);
	sem_init(&guest->done, 0, 0);
	assert_int_equal(pthread_create(&guest->thread, NULL, guest_main, guest), 0);
}

static int
guest_make(struct guest *guest, void (*step)(struct guest *guest))
{
	guest->step = step;
	sem_post(&guest->go);
	sem_wait(&guest->done);
	return guest->result;
}

static void
guest_end(struct guest *guest)
{
	guest->ends = true;
	sem_post(&guest->go);
	pthread_join(guest->thread, NULL);
	sem_destroy(&guest->go);
	sem_destroy(&guest->done);
}

static void
attach(struct guest *guest)
{
	guest->result = trip_thread_attach(harness_domain);
}

static void
detach(struct guest *guest)
{
	guest->result = trip_thread_detach(harness_domain);
}

static void
queue(struct guest *guest)
{
	struct trip_work work = harness_noted(&notes, guest->cntr, 1000, NULL);

	work.context = guest->number++;
	guest->result = trip_work_queue(harness_domain, &work, &guest->id);
}

/* ---- order ------------------------------------------------------------------------------------
 */

/* By the process's channels, by its own, and by the process's again. */
static void
work_03_a_thread_keeps_its_order_when_it_changes_channels(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	uint64_t rounds = harness_rounds(200), n = 0;
	struct guest guest;

	harness_notes_open(&notes);
	guest_start(&guest, cntr, 0);
	for (uint64_t i = 0; i < rounds; i++, n = 0) {
		atomic_store(&notes.n, 0);
		trip_cntr_set(cntr, 0);
		guest.number = 0;
		for (unsigned int k = 0; k < 3; k++) {
			for (unsigned int q = 0; q < 5; q++, n++)
				assert_int_equal(guest_make(&guest, queue), 0);
			if (k < 2)
				assert_int_equal(guest_make(&guest, k == 0 ? attach : detach), 0);
		}
		trip_cntr_add(cntr, 1000);
		harness_until(harness_notes_count(&notes) == n);
		for (uint64_t k = 0; k < n; k++)
			assert_int_equal(notes.event[k].context, k);
	}
	guest_end(&guest);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

#define PER_THREAD 300

static void *
queue_many(void *arg)
{
	struct guest *guest = arg;

	attach(guest);
	assert_int_equal(guest->result, 0);
	for (uint64_t i = 0; i < PER_THREAD; i++) {
		struct trip_work work = harness_noted(&notes, guest->cntr, 1, NULL);

		work.context = guest->number << 32 | i;
		while (trip_work_queue(harness_domain, &work, NULL) == -EAGAIN)
			sched_yield();
	}
	/* The end of the thread gives its channels back. */
	return NULL;
}

static void
work_03_threads_keep_their_order(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	uint64_t next[THREADS] = {0};
	struct guest guests[THREADS];

	harness_notes_open(&notes);
	trip_cntr_add(cntr, 1);
	for (uint64_t i = 0; i < THREADS; i++) {
		guests[i] = (struct guest){.cntr = cntr, .number = i};
		assert_int_equal(
			pthread_create(&guests[i].thread, NULL, queue_many, &guests[i]), 0);
	}
	harness_until(harness_notes_count(&notes) == THREADS * PER_THREAD);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(guests[i].thread, NULL);
	for (uint32_t i = 0; i < THREADS * PER_THREAD; i++)
		assert_int_equal(
			(uint32_t)notes.event[i].context, next[notes.event[i].context >> 32]++);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* ---- cancel, flush, close ---------------------------------------------------------------------
 */

static void
work_08_another_thread_cancels(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct guest guest;

	harness_notes_open(&notes);
	guest_start(&guest, cntr, 0);
	assert_int_equal(guest_make(&guest, attach), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(guest_make(&guest, queue), 0);
		/* Once before it is accepted, by hand; then behind that. */
		if (i > 0)
			harness_settle();
		if (i > 1) {
			trip_cntr_add(cntr, 1000);
			harness_until(harness_notes_count(&notes) == 1);
			assert_int_equal(trip_work_cancel(harness_domain, guest.id), -ENOENT);
			continue;
		}
		/* It refers to the counter till then. */
		assert_int_equal(trip_cntr_close(cntr), -EBUSY);
		assert_int_equal(trip_work_cancel(harness_domain, guest.id), 0);
		assert_int_equal(trip_work_cancel(harness_domain, guest.id), -ENOENT);
	}
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 1);
	assert_int_equal(notes.event[0].context, 2);
	guest_end(&guest);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* Of threads that stand still, and of one that has ended, whose channels another has by then. */
static void
work_09_flush_covers_the_channels_of_all_threads(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE),
			 *other = harness_cntr(TRIP_WAIT_NONE);
	struct guest guests[THREADS + 1];

	harness_notes_open(&notes);
	for (unsigned int i = 0; i <= THREADS; i++) {
		guest_start(&guests[i], i == 1 ? other : cntr, i);
		if (i == THREADS)
			guest_end(&guests[0]);
		assert_int_equal(guest_make(&guests[i], attach), 0);
		for (unsigned int k = 0; k < 4; k++)
			assert_int_equal(guest_make(&guests[i], queue), 0);
	}
	harness_note(&notes, cntr, 1000, 99);
	assert_int_equal(trip_work_flush(harness_domain, other), 0);
	trip_cntr_add(other, 1000);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	harness_cntr_close(other);
	assert_int_equal(trip_work_flush(harness_domain, NULL), 0);
	trip_cntr_add(cntr, 1000);
	harness_settle();
	assert_int_equal(harness_notes_count(&notes), 0);
	for (unsigned int i = 1; i <= THREADS; i++)
		guest_end(&guests[i]);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

/* ---- limits -----------------------------------------------------------------------------------
 */

static void
work_11_a_full_channel_is_its_threads_alone(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_NONE);
	struct guest full, other;
	unsigned int n = 0;

	harness_notes_open(&notes);
	guest_start(&full, cntr, 0);
	guest_start(&other, cntr, 1000);
	assert_int_equal(guest_make(&full, attach), 0);
	assert_int_equal(guest_make(&other, attach), 0);
	while (guest_make(&full, queue) == 0)
		n++;
	assert_int_equal(full.result, -EAGAIN);
	assert_int_equal(n, THREAD_WORKS);
	assert_int_equal(guest_make(&other, queue), 0);
	harness_note(&notes, cntr, 1000, 2000);
	/* What it has queued stays with its channel; the process's has room for it. */
	assert_int_equal(guest_make(&full, detach), 0);
	assert_int_equal(guest_make(&full, queue), 0);
	trip_cntr_add(cntr, 1000);
	harness_until(harness_notes_count(&notes) == n + 3);
	assert_int_equal(guest_make(&full, attach), 0);
	harness_until(guest_make(&full, queue) == 0);
	harness_until(harness_notes_count(&notes) == n + 4);
	guest_end(&full);
	guest_end(&other);
	harness_notes_close(&notes);
	harness_cntr_close(cntr);
}

static void
work_11_threads_attach_once_and_so_many(void **state)
{
	struct guest guests[THREADS], late;

	for (unsigned int i = 0; i < THREADS; i++) {
		guest_start(&guests[i], NULL, 0);
		assert_int_equal(guest_make(&guests[i], detach), -ENOENT);
		assert_int_equal(guest_make(&guests[i], attach), 0);
		assert_int_equal(guest_make(&guests[i], attach), -EALREADY);
	}
	guest_start(&late, NULL, 0);
	assert_int_equal(guest_make(&late, attach), -ENOSPC);
	assert_int_equal(trip_domain_close(harness_domain), -EBUSY);
	/* A place is free when a thread detaches, or ends. */
	assert_int_equal(guest_make(&guests[0], detach), 0);
	assert_int_equal(guest_make(&late, attach), 0);
	assert_int_equal(guest_make(&guests[0], attach), -ENOSPC);
	guest_end(&guests[1]);
	assert_int_equal(guest_make(&guests[0], attach), 0);
	guest_end(&guests[0]);
	guest_end(&guests[2]);
	guest_end(&late);
}

static int
attach_home(const struct trip_work_event *event, void *arg)
{
	*(int *)arg = trip_thread_attach(harness_domain);
	return 0;
}

static void
work_11_homes_have_channels_of_their_own(void **state)
{
	struct trip_cntr *cntr = harness_cntr(TRIP_WAIT_UNSPEC);
	struct trip_work work = harness_work(cntr, 0, TRIP_OP_CALL);
	_Atomic int result = 0;

	work.completion_cntr = cntr;
	assert_int_equal(trip_function_register(harness_domain, attach_home, (void *)&result,
				 &work.op.call.function),
		0);
	harness_queue(&work);
	harness_until(trip_cntr_read(cntr) == 1);
	assert_int_equal(result, -EINVAL);
	assert_int_equal(trip_function_unregister(work.op.call.function), 0);
	harness_cntr_close(cntr);
}

/* Two domains know each thread by its own, and one without such channels has none to give. */
static void
work_11_each_domain_for_itself(void **state)
{
	struct trip_domain *other = harness_open_other();

	assert_int_equal(trip_thread_attach(other), -ENOSPC);
	assert_int_equal(trip_thread_detach(other), -ENOENT);
	assert_int_equal(trip_thread_attach(harness_domain), 0);
	assert_int_equal(trip_thread_attach(other), -ENOSPC);
	assert_int_equal(trip_thread_detach(harness_domain), 0);
	harness_close_other(other);
}

static void
work_11_more_channels_than_there_can_be(void **state)
{
	struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.name = "many",
		.max_processes = 4,
		.max_process_threads = 51};
	struct trip_domain *many;

	assert_int_equal(trip_domain_open(&attr, &many, NULL), -EINVAL);
	assert_non_null(strstr(trip_error_message(), "take 261 channels"));
}

static const struct CMUnitTest tests[] = {
	THREADS_TEST(work_03_a_thread_keeps_its_order_when_it_changes_channels),
	THREADS_TEST(work_03_threads_keep_their_order),
	THREADS_TEST(work_08_another_thread_cancels),
	THREADS_TEST(work_09_flush_covers_the_channels_of_all_threads),
	THREADS_TEST(work_11_a_full_channel_is_its_threads_alone),
	THREADS_TEST(work_11_threads_attach_once_and_so_many),
	THREADS_TEST(work_11_homes_have_channels_of_their_own),
	THREADS_TEST(work_11_each_domain_for_itself),
	THREADS_TEST(work_11_more_channels_than_there_can_be),
};

HARNESS_MAIN(NULL, tests)
