/* SPDX-License-Identifier: BSD-3-Clause */
/* What an attached process does works as in the primary. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "family.h"

/* ---- who is let in ----------------------------------------------------------------------------
 */

static void
play_refused(const char *arg)
{
	struct trip_domain *domain;
	const char *name = strcmp(arg, "name") == 0 ? "other" : NULL;
	const int expected = strcmp(arg, "name") == 0    ? -ENOENT
			     : strcmp(arg, "lcore") == 0 ? -EINVAL
							 : -EUSERS;

	assert_int_equal(
		trip_domain_attach(
			&(struct trip_domain_attach_attr){
				.size = sizeof(struct trip_domain_attach_attr), .name = name},
			&domain, NULL),
		expected);
	if (expected == -EINVAL)
		assert_non_null(strstr(trip_error_message(), "lcore id 1 is the primary's"));
	if (expected == -EUSERS)
		assert_non_null(strstr(trip_error_message(), "all 2 processes"));
	assert_int_equal(trip_domain_open(NULL, &domain, NULL), -ENOTSUP);
}

static void
play_idle(const char *arg)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	struct trip_function *function;

	family_attach();
	assert_int_equal(trip_domain_stats_read(family_domain, &stats), 0);
	assert_int_equal(trip_function_register(family_domain,
				 (trip_function_t)(uintptr_t)play_idle, NULL, &function),
		-ENOTSUP);
	assert_int_equal(trip_progress(family_domain), -EINVAL);
	assert_int_equal(trip_domain_check(family_domain, stdout), -EBUSY);
	family_say('a');
	if (family_listen() == 'c')
		assert_int_equal(family_try_close(), 0);
}

static void
admission(void **state)
{
	const struct trip_domain_attr attr = {.max_processes = 2};
	struct family_child child, others[2];

	family_open(TRIP_PROGRESS_MANUAL, &attr);
	child = family_start("refused", 8, "name");
	family_end(&child);
	child = family_start("refused", 1, "lcore");
	family_end(&child);
	for (unsigned int i = 0; i < 2; i++) {
		others[i] = family_start("idle", 8 + i, NULL);
		assert_int_equal(family_hear(&others[i]), 'a');
	}
	assert_int_equal(family_attached(), 2);
	assert_int_equal(family_try_close(), -EBUSY);
	child = family_start("refused", 12, "full");
	assert_int_equal(family_hear(&child), 0);
	family_tell(&others[0], 'c');
	family_tell(&others[1], 'x');
	family_end(&others[0]);
	family_end(&others[1]);
	family_end(&child);
	assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	family_close();
}

/* ---- counters ---------------------------------------------------------------------------------
 */

static void
play_counters(const char *arg)
{
	struct trip_cntr *theirs, *ours, *nameless;

	family_attach();
	theirs = family_find("theirs", TRIP_WAIT_NONE);
	assert_string_equal(trip_cntr_name(theirs), "theirs");
	assert_int_equal(trip_cntr_read(theirs), (UINT64_C(1) << 32) + 5);
	trip_cntr_add(theirs, 2);
	trip_cntr_adderr(theirs, 3);
	ours = family_cntr("ours", TRIP_WAIT_NONE);
	nameless = family_cntr(NULL, TRIP_WAIT_NONE);
	assert_int_equal(trip_cntr_set(ours, 40), 0);
	assert_int_equal(trip_cntr_seterr(ours, 1), 0);
	assert_int_equal(trip_cntr_age(ours), 0);
	family_say('o');
	assert_int_equal(family_listen(), 'f');
	assert_int_equal(trip_cntr_read(ours), 41);
	/* The primary has found it. */
	assert_int_equal(trip_cntr_close(ours), -EBUSY);
	assert_int_equal(trip_cntr_read(ours), 41);
	assert_int_equal(family_try_close(), -EBUSY);
	family_say('b');
	assert_int_equal(family_listen(), 'c');
	assert_int_equal(trip_cntr_close(ours), 0);
	assert_int_equal(trip_cntr_close(nameless), 0);
	assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(family_try_close(), 0);
}

static void
cntr_24_names_hold_between_processes(void **state)
{
	const struct trip_cntr_attr named = {.size = sizeof(named), .name = "ours"};
	struct trip_cntr *theirs, *ours, *none;
	struct family_child child;

	family_open(TRIP_PROGRESS_MANUAL, NULL);
	theirs = family_cntr("theirs", TRIP_WAIT_NONE);
	trip_cntr_add(theirs, (UINT64_C(1) << 32) + 5);
	child = family_start("counters", 8, NULL);
	assert_int_equal(family_hear(&child), 'o');
	assert_int_equal(trip_cntr_read(theirs), (UINT64_C(1) << 32) + 7);
	assert_int_equal(trip_cntr_readerr(theirs), 3);
	assert_int_equal(trip_cntr_open(family_domain, &named, &none, NULL), -EEXIST);
	ours = family_find("ours", TRIP_WAIT_NONE);
	assert_int_equal(trip_cntr_read(ours), 40);
	assert_int_equal(trip_cntr_readerr(ours), 1);
	trip_cntr_add(ours, 1);
	assert_int_equal(trip_cntr_close(theirs), -EBUSY);
	family_tell(&child, 'f');
	assert_int_equal(family_hear(&child), 'b');
	assert_int_equal(trip_cntr_close(ours), 0);
	family_tell(&child, 'c');
	family_end(&child);
	assert_int_equal(trip_cntr_find(family_domain, &named, &none, NULL), -ENOENT);
	assert_int_equal(trip_cntr_close(theirs), 0);
	assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	family_close();
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

static void
wait_by_fd(struct trip_cntr *cntr)
{
	struct trip_fid *fid = trip_cntr_fid(cntr);
	struct pollfd entry = {.events = POLLIN};

	(void)trip_cntr_readerr(cntr);
	assert_int_equal(trip_cntr_control(cntr, TRIP_GETWAIT, &entry.fd), 0);
	(void)trip_cntr_read(cntr);
	assert_int_equal(trip_trywait(family_domain, &fid, 1), 0);
	family_say('w');
	assert_int_equal(poll(&entry, 1, 60000), 1);
	assert_int_equal(trip_trywait(family_domain, &fid, 1), -EAGAIN);
}

static void
wait_by_cond(struct trip_cntr *cntr)
{
	struct trip_fid *fid = trip_cntr_fid(cntr);
	struct trip_mutex_cond wait = {.size = sizeof(wait)};

	(void)trip_cntr_readerr(cntr);
	assert_int_equal(trip_cntr_control(cntr, TRIP_GETWAIT, &wait), 0);
	(void)trip_cntr_read(cntr);
	pthread_mutex_lock(wait.mutex);
	while (trip_trywait(family_domain, &fid, 1) == 0) {
		family_say('w');
		pthread_cond_wait(wait.cond, wait.mutex);
	}
	pthread_mutex_unlock(wait.mutex);
}

static void
wait_by_set(const char *name, enum trip_wait_obj wait_obj)
{
	const struct trip_wait_attr set_attr = {.size = sizeof(set_attr), .wait_obj = wait_obj};
	struct trip_cntr_attr attr = {
		.size = sizeof(attr), .name = name, .wait_obj = TRIP_WAIT_SET};
	struct trip_cntr *cntr;

	assert_int_equal(trip_wait_open(family_domain, &set_attr, &attr.wait_set), 0);
	assert_int_equal(trip_cntr_find(family_domain, &attr, &cntr, NULL), 0);
	(void)trip_cntr_read(cntr);
	(void)trip_cntr_readerr(cntr);
	family_say('w');
	assert_int_equal(trip_wait(attr.wait_set, 60000), 0);
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_int_equal(trip_wait_close(attr.wait_set), 0);
}

static void
play_waits(const char *arg)
{
	static const enum trip_wait_obj objects[] = {
		TRIP_WAIT_YIELD, TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND};

	family_attach();
	for (unsigned int i = 0; i < 4; i++) {
		struct trip_cntr *cntr = family_find("waited", objects[i]);
		uint64_t now = trip_cntr_read(cntr), errgen;

		family_say('w');
		assert_int_equal(trip_cntr_wait(cntr, now + 1, 60000), 0);
		assert_int_equal(trip_cntr_wait(cntr, now + 2, 1), -ETIMEDOUT);
		/* The error may come before the wait has begun. */
		errgen = trip_cntr_errgen(cntr);
		family_say('x');
		assert_int_equal(trip_cntr_wait_from(cntr, TRIP_CNTR_MAX, errgen, 60000), -EIO);
		if (objects[i] == TRIP_WAIT_FD)
			wait_by_fd(cntr);
		if (objects[i] == TRIP_WAIT_MUTEX_COND)
			wait_by_cond(cntr);
		assert_int_equal(trip_cntr_close(cntr), 0);
	}
	wait_by_set("waited", TRIP_WAIT_YIELD);
	wait_by_set("waited", TRIP_WAIT_UNSPEC);
	family_say('e');
	assert_int_equal(family_try_close(), 0);
}

static void
every_wait_object_wakes(enum trip_progress mode)
{
	struct trip_cntr *waited;
	struct family_child child;
	char said;

	family_open(mode, NULL);
	waited = family_cntr("waited", TRIP_WAIT_NONE);
	child = family_start("waits", 8, NULL);
	while ((said = family_hear(&child)) == 'w' || said == 'x')
		(said == 'w' ? trip_cntr_add : trip_cntr_adderr)(waited, 1);
	assert_int_equal(said, 'e');
	family_end(&child);
	assert_int_equal(trip_cntr_close(waited), 0);
	family_close();
}

static void
cntr_17_waits_with_homes_that_run(void **state)
{
	every_wait_object_wakes(TRIP_PROGRESS_LCORE);
}

static void
wait_11_waits_while_the_primary_progresses(void **state)
{
	every_wait_object_wakes(TRIP_PROGRESS_MANUAL);
}

static void
play_polls(const char *arg)
{
	struct trip_cntr *cntrs[3];
	struct trip_poll_set *set;
	void *contexts[3];
	int n, got = 0;

	family_attach();
	assert_int_equal(trip_poll_open(family_domain, NULL, &set), 0);
	for (unsigned int i = 0; i < 3; i++) {
		const char *names[] = {"p0", "p1", "p2"};
		struct trip_cntr_attr attr = {.size = sizeof(attr), .name = names[i]};

		assert_int_equal(trip_cntr_find(family_domain, &attr, &cntrs[i], &cntrs[i]), 0);
		assert_int_equal(trip_poll_add(set, trip_cntr_fid(cntrs[i]), 0), 0);
	}
	assert_int_equal(trip_poll(set, contexts, 3), 0);
	family_say('p');
	while ((n = trip_poll(set, contexts, 3)) == 0)
		;
	for (; n > 0; n = trip_poll(set, contexts, 3))
		for (int i = 0; i < n; i++) {
			assert_ptr_equal(contexts[i], &cntrs[1]);
			got++;
		}
	assert_true(got > 0);
	assert_int_equal(trip_cntr_close(cntrs[0]), -EBUSY);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(trip_poll_del(set, trip_cntr_fid(cntrs[i]), 0), 0);
		assert_int_equal(trip_cntr_close(cntrs[i]), 0);
	}
	assert_int_equal(trip_poll_close(set), 0);
	assert_int_equal(family_try_close(), 0);
}

static void
poll_05_sets_see_the_primary(void **state)
{
	struct trip_cntr *cntrs[3];
	struct family_child child;

	family_open(TRIP_PROGRESS_LCORE, NULL);
	cntrs[0] = family_cntr("p0", TRIP_WAIT_NONE);
	cntrs[1] = family_cntr("p1", TRIP_WAIT_NONE);
	cntrs[2] = family_cntr("p2", TRIP_WAIT_NONE);
	child = family_start("polls", 8, NULL);
	assert_int_equal(family_hear(&child), 'p');
	trip_cntr_add(cntrs[1], 1);
	family_end(&child);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(trip_cntr_close(cntrs[i]), 0);
	family_close();
}

/* ---- work -------------------------------------------------------------------------------------
 */

static void
read_event(struct trip_work_event *event)
{
	family_until(trip_work_read(family_domain, event, sizeof(struct trip_work_event), 1) == 1);
}

static void
play_works(const char *arg)
{
	struct trip_cntr *trigger, *target, *other;
	struct trip_work work = {.size = sizeof(work), .flags = TRIP_WORK_COMPLETION};
	struct trip_work_event event;
	uint64_t ids[8];

	family_attach();
	trigger = family_find("trigger", TRIP_WAIT_UNSPEC);
	target = family_cntr("target", TRIP_WAIT_UNSPEC);
	other = family_cntr(NULL, TRIP_WAIT_NONE);
	work.triggering_cntr = trigger;
	work.op_type = TRIP_OP_CNTR_ADD;
	work.op.cntr.cntr = target;
	for (unsigned int i = 0; i < 8; i++) {
		work.threshold = 80 - 10 * i;
		work.op.cntr.value = UINT64_C(1) << 4 * i;
		work.context = i;
		if (trip_work_queue(family_domain, &work, &ids[i]) != 0)
			fail_msg("%s", trip_error_message());
	}
	assert_int_equal(trip_cntr_close(target), -EBUSY);
	assert_int_equal(trip_work_cancel(family_domain, ids[2]), 0);
	assert_int_equal(trip_work_cancel(family_domain, ids[2]), -ENOENT);
	family_say('q');
	/* The primary adds 55: 10 ... 50 of the thresholds, in their order. */
	assert_int_equal(trip_cntr_wait(target, 0x11111000, 60000), 0);
	for (unsigned int i = 7; i > 2; i--) {
		read_event(&event);
		assert_int_equal(event.id, ids[i]);
		assert_int_equal(event.context, i);
		assert_int_equal(event.threshold, 80 - 10 * i);
		assert_int_equal(event.result, 0);
		assert_int_equal(event.reserved, 0);
	}
	assert_int_equal(trip_work_flush(family_domain, NULL), 0);
	assert_int_equal(
		trip_work_read(family_domain, &event, sizeof(struct trip_work_event), 1), 0);
	family_say('f');
	assert_int_equal(family_listen(), 'a');
	/* One that fires again and again, on a counter of our own. */
	work.triggering_cntr = other;
	work.threshold = 10;
	work.interval = 10;
	work.op.cntr.value = 1;
	assert_int_equal(trip_cntr_set(target, 0), 0);
	assert_int_equal(trip_work_queue(family_domain, &work, &ids[0]), 0);
	trip_cntr_add(other, 95);
	assert_int_equal(trip_cntr_wait(target, 9, 60000), 0);
	assert_int_equal(trip_work_cancel(family_domain, ids[0]), 0);
	for (unsigned int i = 1; i <= 9; i++) {
		read_event(&event);
		assert_int_equal(event.threshold, 10 * i);
		assert_int_equal(event.flags, TRIP_WORK_MORE);
	}
	assert_int_equal(trip_work_flush(family_domain, NULL), 0);
	assert_int_equal(trip_cntr_close(other), 0);
	assert_int_equal(trip_cntr_close(target), 0);
	assert_int_equal(trip_cntr_close(trigger), 0);
	assert_int_equal(family_try_close(), 0);
}

static void
work_02_items_fire_in_order(enum trip_progress mode)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	struct family_child child;
	struct trip_cntr *trigger;
	struct trip_work_event event;

	family_open(mode, NULL);
	trigger = family_cntr("trigger", TRIP_WAIT_NONE);
	child = family_start("works", 8, NULL);
	assert_int_equal(family_hear(&child), 'q');
	trip_cntr_add(trigger, 55);
	assert_int_equal(family_hear(&child), 'f');
	/* What was flushed fires no more; its events were the child's. */
	trip_cntr_add(trigger, 1000);
	assert_int_equal(
		trip_work_read(family_domain, &event, sizeof(struct trip_work_event), 1), 0);
	family_tell(&child, 'a');
	family_end(&child);
	assert_int_equal(trip_domain_stats_read(family_domain, &stats), 0);
	assert_int_equal(stats.fired, 5 + 9);
	assert_int_equal(stats.pending, 0);
	assert_int_equal(stats.refused, 0);
	assert_int_equal(trip_cntr_close(trigger), 0);
	if (mode == TRIP_PROGRESS_MANUAL)
		assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	family_close();
}

static void
work_02_with_homes_that_run(void **state)
{
	work_02_items_fire_in_order(TRIP_PROGRESS_LCORE);
}

static void
work_02_by_hand(void **state)
{
	work_02_items_fire_in_order(TRIP_PROGRESS_MANUAL);
}

/* ---- on two processors ------------------------------------------------------------------------
 */

#define TURNS 300

/* By turns with the other one, each spinning till it is its turn. */
static void
play_by_turns(const char *arg)
{
	struct trip_cntr *ball, *other;
	uint64_t n;

	family_attach();
	ball = family_find(arg[0] == 'a' ? "a" : "b", TRIP_WAIT_YIELD);
	other = family_find(arg[0] == 'a' ? "b" : "a", TRIP_WAIT_NONE);
	family_say('r');
	family_listen();
	for (n = 1; n <= TURNS; n++) {
		if (arg[0] == 'b')
			assert_int_equal(trip_cntr_wait(ball, n, -1), 0);
		assert_int_equal(trip_cntr_add(other, 1), 0);
		if (arg[0] == 'a')
			assert_int_equal(trip_cntr_wait(ball, n, -1), 0);
	}
	assert_int_equal(trip_cntr_close(ball), 0);
	assert_int_equal(trip_cntr_close(other), 0);
	assert_int_equal(family_try_close(), 0);
}

/* Five lcores are on two processors then, and each gives its own up while it waits. */
static void
cntr_09_yield_where_lcores_share_processors(void **state)
{
	struct family_child children[2];
	struct trip_cntr *a, *b, *fired;
	struct trip_work work = {
		.size = sizeof(work), .threshold = 1, .interval = 1, .op_type = TRIP_OP_CNTR_ADD};

	family_open(TRIP_PROGRESS_LCORE, NULL);
	a = family_cntr("a", TRIP_WAIT_YIELD);
	b = family_cntr("b", TRIP_WAIT_NONE);
	fired = family_cntr("fired", TRIP_WAIT_YIELD);
	work.triggering_cntr = b;
	work.op.cntr.cntr = fired;
	work.op.cntr.value = 1;
	assert_int_equal(trip_work_queue(family_domain, &work, NULL), 0);
	children[0] = family_start("by_turns", 8, "a");
	children[1] = family_start("by_turns", 9, "b");
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(family_hear(&children[i]), 'r');
	for (unsigned int i = 0; i < 2; i++)
		family_tell(&children[i], 'g');
	assert_int_equal(trip_cntr_wait(a, TURNS, -1), 0);
	/* What a home fires comes, too. */
	assert_int_equal(trip_cntr_wait(fired, TURNS, -1), 0);
	for (unsigned int i = 0; i < 2; i++)
		family_join(&children[i]);
	family_until(family_attached() == 0);
	assert_int_equal(trip_work_flush(family_domain, NULL), 0);
	assert_int_equal(trip_cntr_close(a), 0);
	assert_int_equal(trip_cntr_close(b), 0);
	assert_int_equal(trip_cntr_close(fired), 0);
	family_close();
}

static const struct family_part parts[] = {
	{"by_turns", play_by_turns, false},
	{"refused", play_refused},
	{"idle", play_idle},
	{"counters", play_counters},
	{"waits", play_waits},
	{"polls", play_polls},
	{"works", play_works},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(admission),
		cmocka_unit_test(cntr_24_names_hold_between_processes),
		cmocka_unit_test(cntr_17_waits_with_homes_that_run),
		cmocka_unit_test(wait_11_waits_while_the_primary_progresses),
		cmocka_unit_test(poll_05_sets_see_the_primary),
		cmocka_unit_test(work_02_with_homes_that_run),
		cmocka_unit_test(work_02_by_hand),
		cmocka_unit_test(cntr_09_yield_where_lcores_share_processors),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}
