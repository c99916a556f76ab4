/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_service.h>

#include <trip_eal.h>
#include <trip_threads.h>

#include "harness.h"
#include "layout.h"

#define PATIENCE_S 60

struct trip_domain *harness_domain;
enum trip_progress harness_mode;
uint64_t harness_seed;
const struct harness_away *harness_away;

/* Where a note is an event: those that are open. */
static struct harness_notes *noting;

static const unsigned int lcores[HARNESS_HOMES_MAX] = {1, 2};
static unsigned int n_homes;

/* In each home a counter that triggers, one that counts what that did, and how often: see
 * harness_settle(). */
static struct trip_cntr *pings[HARNESS_HOMES_MAX], *pongs[HARNESS_HOMES_MAX];
static uint64_t n_pings;
static struct trip_function *ping_function;

/* EAL is not compiled for ThreadSanitizer, which sees what it allocates for an alarm and not the
 * lock that orders it. */
const char *__tsan_default_suppressions(void);

const char *
__tsan_default_suppressions(void)
{
	return "race:rte_eal_alarm_set\nrace:rte_eal_alarm_cancel\n";
}

static int
do_nothing(const struct trip_work_event *event, void *arg)
{
	return 0;
}

static void
open_pings(void)
{
	/* Counters go to the homes by turns. */
	for (unsigned int i = 0; i < n_homes; i++)
		pings[i] = harness_cntr(TRIP_WAIT_NONE);
	for (unsigned int i = 0; i < n_homes; i++)
		pongs[i] = harness_cntr(TRIP_WAIT_NONE);
	n_pings = 0;
	assert_int_equal(
		trip_function_register(harness_domain, do_nothing, NULL, &ping_function), 0);
}

static void
close_pings(void)
{
	assert_int_equal(trip_function_unregister(ping_function), 0);
	for (unsigned int i = 0; i < n_homes; i++) {
		harness_cntr_close(pings[i]);
		harness_cntr_close(pongs[i]);
	}
}

static void
fill(uint32_t *field, uint32_t value)
{
	if (*field == 0)
		*field = value;
}

/* An idle lcore leaves the CPU to the other tests; what has work never sleeps. */
static const enum trip_idle idle[HARNESS_HOMES_MAX] = {TRIP_IDLE_SLEEP, TRIP_IDLE_SLEEP};

void
harness_open(unsigned int homes, const struct trip_domain_attr *tune)
{
	struct trip_domain_attr attr = {0};

	if (tune != NULL)
		attr = *tune;
	attr.size = sizeof(attr);
	attr.progress = harness_mode;
	attr.lcores = harness_mode == TRIP_PROGRESS_MANUAL ? NULL : lcores;
	attr.n_lcores = homes;
	attr.scrub_us = UINT32_MAX;
	fill(&attr.max_cntrs, 64);
	fill(&attr.max_works, 4096);
	fill(&attr.max_waiters, 64);
	fill(&attr.max_flows, 64);
	fill(&attr.max_functions, 16);
	fill(&attr.max_events, 4096);
	assert_true(homes >= 1 && homes <= HARNESS_HOMES_MAX);
	n_homes = homes;
	if (harness_mode == TRIP_PROGRESS_LCORE && harness_away == NULL && attr.idle == NULL)
		attr.idle = idle;
	if (harness_away != NULL) {
		harness_away->open(homes, &attr);
		return;
	}
	if (trip_domain_open(&attr, &harness_domain, NULL) != 0)
		fail_msg("%s", trip_error_message());
	open_pings();
}

void
harness_close(void)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	if (harness_away != NULL) {
		harness_away->close();
		return;
	}
	close_pings();
	if (harness_mode == TRIP_PROGRESS_MANUAL) {
		harness_settle();
		assert_int_equal(trip_domain_check(harness_domain, stdout), 0);
	}
	assert_int_equal(trip_domain_stats_read(harness_domain, &stats), 0);
	assert_int_equal(stats.scrub_repairs, 0);
	assert_int_equal(stats.refused, 0);
	if (trip_domain_close(harness_domain) != 0)
		fail_msg("%s", trip_error_message());
	harness_domain = NULL;
}

struct trip_domain *
harness_open_other(void)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.name = "other",
		.progress = TRIP_PROGRESS_MANUAL,
		.max_cntrs = 16,
		.max_works = 16,
		.max_flows = 16};
	struct trip_domain *other;

	if (harness_away != NULL)
		return harness_away->open_other();
	if (trip_domain_open(&attr, &other, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return other;
}

void
harness_close_other(struct trip_domain *other)
{
	if (harness_away != NULL)
		harness_away->close_other(other);
	else
		assert_int_equal(trip_domain_close(other), 0);
}

int
harness_setup(void **state)
{
	harness_open(1, NULL);
	return 0;
}

int
harness_teardown(void **state)
{
	if (harness_domain != NULL)
		harness_close();
	return 0;
}

uint64_t
harness_rounds(uint64_t rounds)
{
	return trip_test_rounds(harness_away != NULL ? (rounds + 7) / 8 : rounds);
}

/* What has been completed is noted. */
static void
take_events(struct harness_notes *notes)
{
	uint32_t n = atomic_load_explicit(&notes->n, memory_order_relaxed);
	struct trip_work_event event;

	while (trip_work_read(harness_domain, &event, sizeof(struct trip_work_event), 1) == 1) {
		if (n < HARNESS_NOTES)
			notes->event[n] = event;
		atomic_store_explicit(&notes->n, ++n, memory_order_release);
	}
}

/* Whether something was done here. */
static bool
step(void)
{
	if (noting != NULL)
		take_events(noting);
	return harness_mode == TRIP_PROGRESS_MANUAL && trip_progress(harness_domain) > 0;
}

void
harness_step(void)
{
	/* Other threads of the test may share our CPU. */
	if (!step())
		sched_yield();
}

void
harness_watch_step(struct harness_watch *watch)
{
	if (!step())
		trip_thread_rest(&watch->rests);
	if (++watch->steps % 1024 != 0)
		return;
	if (watch->deadline == 0)
		watch->deadline = rte_rdtsc() + PATIENCE_S * rte_get_tsc_hz();
	else if (rte_rdtsc() > watch->deadline)
		fail_msg("%s:%d: %s has not come true in %d s", watch->file, watch->line,
			watch->condition, PATIENCE_S);
}

/* What a test has canceled is in flight until its home comes by. */
static void
queue_when_there_is_room(const struct trip_work *work)
{
	uint64_t id;
	int error = -EAGAIN;

	harness_until((error = trip_work_queue(harness_domain, work, &id)) != -EAGAIN);
	if (error != 0)
		fail_msg("%s", trip_error_message());
}

/* One item on each home, to be fired at once: what was due before on that home goes first. */
static void
ping(void)
{
	n_pings++;
	for (unsigned int i = 0; i < n_homes; i++) {
		struct trip_work work = harness_work(pings[i], 0, TRIP_OP_CALL);

		work.op.call.function = ping_function;
		work.completion_cntr = pongs[i];
		queue_when_there_is_room(&work);
		harness_until(trip_cntr_read(pongs[i]) == n_pings);
	}
}

/* The home counts an item as fired before it counts its completion. */
static uint64_t
events_but_pings(void)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	trip_domain_stats_read(harness_domain, &stats);
	return stats.accepted + stats.fired + stats.canceled + stats.wakes - 2 * n_pings * n_homes;
}

/*
 * By hand, until an iteration does nothing. A live home has taken up, by the time that a ping
 * fires, what had rung before, and fires at least something of it first; so homes that have done
 * nothing but two pings each have nothing left to do.
 */
void
harness_settle(void)
{
	uint64_t before;

	if (harness_away != NULL) {
		harness_away->settle();
		return;
	}
	if (harness_mode == TRIP_PROGRESS_MANUAL) {
		while (trip_progress(harness_domain) > 0)
			;
		return;
	}
	do {
		before = events_but_pings();
		ping();
		ping();
	} while (events_but_pings() != before);
}

void
harness_advance(uint64_t ns)
{
	if (harness_away != NULL) {
		harness_away->advance(ns);
		return;
	}
	while (trip_clock_advance(harness_domain, ns) > 0)
		;
}

struct trip_cntr *
harness_cntr(enum trip_wait_obj wait_obj)
{
	struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = wait_obj};
	struct trip_cntr *cntr;

	if (trip_cntr_open(harness_domain, &attr, &cntr, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return cntr;
}

void
harness_cntr_close(struct trip_cntr *cntr)
{
	if (trip_cntr_close(cntr) != 0)
		fail_msg("%s", trip_error_message());
}

void
harness_expect(struct trip_cntr *cntr, uint64_t success, uint64_t error)
{
	assert_int_equal(trip_cntr_read(cntr), success);
	assert_int_equal(trip_cntr_readerr(cntr), error);
}

static int
note(const struct trip_work_event *event, void *arg)
{
	struct harness_notes *notes = arg;
	uint32_t n = atomic_load_explicit(&notes->n, memory_order_relaxed);

	if (n < HARNESS_NOTES)
		notes->event[n] = *event;
	/* Release: whoever has read the number may read the notes. */
	atomic_store_explicit(&notes->n, n + 1, memory_order_release);
	return notes->result;
}

void
harness_notes_open(struct harness_notes *notes)
{
	atomic_store(&notes->n, 0);
	notes->result = 0;
	if (harness_away != NULL) {
		notes->sink = harness_cntr(TRIP_WAIT_NONE);
		noting = notes;
		return;
	}
	assert_int_equal(trip_function_register(harness_domain, note, notes, &notes->function), 0);
}

void
harness_notes_close(struct harness_notes *notes)
{
	if (harness_away != NULL) {
		noting = NULL;
		harness_cntr_close(notes->sink);
		return;
	}
	if (trip_function_unregister(notes->function) != 0)
		fail_msg("%s", trip_error_message());
}

uint32_t
harness_notes_count(struct harness_notes *notes)
{
	if (noting != NULL)
		take_events(notes);
	return atomic_load_explicit(&notes->n, memory_order_acquire);
}

struct trip_work
harness_work(struct trip_cntr *cntr, uint64_t threshold, enum trip_op op)
{
	return (struct trip_work){
		.size = sizeof(struct trip_work),
		.triggering_cntr = cntr,
		.threshold = threshold,
		.op_type = op,
	};
}

uint64_t
harness_queue(const struct trip_work *work)
{
	uint64_t id = TRIP_WORK_NONE;

	if (trip_work_queue(harness_domain, work, &id) != 0)
		fail_msg("%s", trip_error_message());
	assert_int_not_equal(id, TRIP_WORK_NONE);
	return id;
}

struct trip_work_event
harness_event(void)
{
	struct trip_work_event event;

	harness_until(trip_work_read(harness_domain, &event, sizeof(event), 1) == 1);
	return event;
}

struct trip_work
harness_noted(struct harness_notes *notes, struct trip_cntr *cntr, uint64_t threshold,
	struct trip_cntr *completion)
{
	struct trip_work work = harness_work(cntr, threshold, TRIP_OP_CALL);

	if (harness_away == NULL) {
		work.op.call.function = notes->function;
		work.completion_cntr = completion;
		return work;
	}
	work.op_type = TRIP_OP_CNTR_ADD;
	work.op.cntr.cntr = completion != NULL ? completion : notes->sink;
	work.op.cntr.value = 1;
	work.flags = TRIP_WORK_COMPLETION;
	return work;
}

uint64_t
harness_note(
	struct harness_notes *notes, struct trip_cntr *cntr, uint64_t threshold, uint64_t context)
{
	struct trip_work work = harness_noted(notes, cntr, threshold, NULL);

	work.context = context;
	return harness_queue(&work);
}

static int
cannot_run(const char *reason)
{
	printf("%s\n", reason);
	return TRIP_TEST_SKIP;
}

static int
take_service_lcores(void)
{
	int error = 0;

	for (unsigned int i = 0; i < HARNESS_HOMES_MAX && error == 0; i++)
		error = rte_service_lcore_add(lcores[i]);
	return error;
}

int
harness_start(const char *vdev)
{
	return trip_eal_init(vdev) < 0 ? cannot_run("EAL does not start here") : 0;
}

int
harness_run(const char *word, const char *name, const struct CMUnitTest *tests, size_t n)
{
	if (name != NULL)
		cmocka_set_test_filter(name);
	/* What a failed test leaves open would make all others fail, too. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	harness_seed = trip_test_seed(word);
	return _cmocka_run_group_tests("conformance", tests, n, NULL, NULL) == 0 ? EXIT_SUCCESS
										 : EXIT_FAILURE;
}

int
harness_main(int argc, char **argv, int (*start)(void), const struct CMUnitTest *tests, size_t n)
{
	static const char *const modes[] = {
		[TRIP_PROGRESS_LCORE] = "lcore",
		[TRIP_PROGRESS_SERVICE] = "service",
		[TRIP_PROGRESS_MANUAL] = "manual",
	};
	const char *word = argc == 2 || argc == 3 ? argv[1] : "";
	unsigned int mode = 0;
	int result;

	/* Programs without layout.c run in the primary alone. */
	if (layout_main != NULL && layout_main(argc, argv, tests, n, &result))
		return result;
	if (strcmp(word, "list") == 0) {
		for (size_t i = 0; argc == 2 && i < n; i++)
			printf("%s\n", tests[i].name);
		return EXIT_SUCCESS;
	}
	while (mode < RTE_DIM(modes) && strcmp(word, modes[mode]) != 0)
		mode++;
	if (mode == RTE_DIM(modes)) {
		fprintf(stderr, "usage: %s manual|lcore|service [NAME]\n       %s list\n", argv[0],
			argv[0]);
		return 2;
	}
	harness_mode = (enum trip_progress)mode;
	result = start != NULL ? start() : harness_start(NULL);
	if (result != 0)
		return result;
	if (harness_mode == TRIP_PROGRESS_SERVICE && take_service_lcores() != 0)
		return cannot_run("EAL gives no service lcores here");
	return harness_run(word, argc == 3 ? argv[2] : NULL, tests, n);
}
