/* SPDX-License-Identifier: BSD-3-Clause */
/* A process attaches at each step of a close and of an open; and leaves while it is closed. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "domain/detach.h"
#include "domain/domain.h"
#include "doors.h"
#include "home.h"
#include "primary/process.h"
#include "domain/progress.h"
#include "primary/server.h"

/* ---- an attach comes at any point of a close, or of an open -----------------------------------
 */

/* Calls that those make, and the visitor who comes before or behind one of them. */
enum point {
	NOWHERE,
	BEFORE_COUNTING,
	BEHIND_COUNTING,
	BEFORE_UNWATCHING,
	BEFORE_SERVER_STOPS,
	BEHIND_SERVER_STOPS,
	BEFORE_HOMES_STOP,
	BEFORE_HOMES_START,
	BEFORE_SERVER_STARTS,
	BEHIND_SERVER_STARTS,
	BEFORE_WATCHING,
	POINTS,
};

static enum point point;
static const struct family_child *visitor;
/* What the visitor had said when the call went on. */
static char said;

/* Until it is in, or out, or told to come again. */
static void
pass(enum point here)
{
	if (point != here)
		return;
	point = NOWHERE;
	family_tell(visitor, 'a');
	said = doors_hear_byte(visitor);
}

#define WRAP(name, type, parameters, arguments, before, behind) \
	type __real_##name parameters;                          \
	type __wrap_##name parameters;                          \
	type __wrap_##name parameters                           \
	{                                                       \
		type result;                                    \
                                                                \
		pass(before);                                   \
		result = __real_##name arguments;               \
		pass(behind);                                   \
		return result;                                  \
	}

#define WRAP_VOID(name, before, behind)                 \
	void __real_##name(struct trip_domain *domain); \
	void __wrap_##name(struct trip_domain *domain); \
	void __wrap_##name(struct trip_domain *domain)  \
	{                                               \
		pass(before);                           \
		__real_##name(domain);                  \
		pass(behind);                           \
	}

WRAP(trip_process_any, bool,
	(struct trip_server * server, uint32_t *pid, enum trip_client_state *state),
	(server, pid, state), BEFORE_COUNTING, BEHIND_COUNTING)
WRAP(trip_launch_start, int, (struct trip_domain * domain), (domain), BEFORE_HOMES_START, POINTS)
WRAP(trip_server_start, int, (struct trip_domain * domain), (domain), BEFORE_SERVER_STARTS,
	BEHIND_SERVER_STARTS)
WRAP(trip_detach_watch, int, (struct trip_domain * domain), (domain), BEFORE_WATCHING, POINTS)
WRAP_VOID(trip_server_stop, BEFORE_SERVER_STOPS, BEHIND_SERVER_STOPS)
WRAP_VOID(trip_launch_stop, BEFORE_HOMES_STOP, POINTS)

void __real_trip_detach_unwatch(struct trip_domain *domain);
void __wrap_trip_detach_unwatch(struct trip_domain *domain);

/* What it said first, and what it says at last. */
static int
outcome(void)
{
	int error;

	if (said != 'r')
		return doors_hear(visitor);
	assert_true(family_receive(visitor->from, &error, sizeof(error)));
	return error;
}

void
attached_behind_each_step_of_a_close(void **state)
{
	struct family_child child = doors_invite(8);

	for (enum point p = BEFORE_COUNTING; p <= BEFORE_HOMES_STOP; p++) {
		const void *there;
		int closed, attached;

		doors_open_domain(NULL);
		there = family_domain->engine.homes[0]->waiters;
		visitor = &child;
		point = p;
		closed = doors_try_close();
		assert_int_equal(point, NOWHERE);
		if (closed == 0)
			doors_fill_memory(there);
		attached = outcome();
		printf("point %d: the close says %d, the attach %d\n", (int)p, closed, attached);
		assert_int_equal(closed, attached == 0 ? -EBUSY : 0);
		if (closed == 0) {
			assert_int_equal(attached, -ENOENT);
			doors_expect_memory();
			continue;
		}
		assert_int_equal(doors_tell(&child, 'c'), 0);
		doors_close_domain();
	}
	doors_say_goodbye(&child);
}

/* A close that is refused has changed nothing, not even for who comes meanwhile. */
void
a_close_that_is_refused_keeps_nobody_out(void **state)
{
	struct family_child first = doors_invite(8), second = doors_invite(9);

	for (enum point p = BEFORE_COUNTING; p <= BEHIND_COUNTING; p++) {
		doors_open_domain(NULL);
		assert_int_equal(doors_tell(&first, 'a'), 0);
		visitor = &second;
		point = p;
		assert_int_equal(doors_try_close(), -EBUSY);
		assert_int_equal(outcome(), 0);
		assert_int_equal(doors_tell(&second, 'c'), 0);
		assert_int_equal(doors_tell(&first, 'c'), 0);
		doors_close_domain();
	}
	doors_say_goodbye(&second);
	doors_say_goodbye(&first);
}

/* It is there when it is there as a whole. */
void
attached_behind_each_step_of_an_open(void **state)
{
	struct family_child child = doors_invite(8);

	for (enum point p = BEFORE_HOMES_START; p <= BEFORE_WATCHING; p++) {
		visitor = &child;
		point = p;
		doors_open_domain(NULL);
		assert_int_equal(point, NOWHERE);
		assert_int_equal(outcome(), 0);
		assert_int_equal(doors_tell(&child, 'c'), 0);
		doors_close_domain();
	}
	doors_say_goodbye(&child);
}

/* ---- the domain ends while a process leaves it ------------------------------------------------
 */

/* Whether the one that watches the primary has ended. */
static bool
is_unwatched(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	bool any = false;

	assert_non_null(tasks);
	while (!any && (task = readdir(tasks)) != NULL) {
		char path[300], name[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		file = fopen(path, "r");
		if (file == NULL)
			continue;
		(void)fscanf(file, "%31s", name);
		fclose(file);
		any = strcmp(name, "trip-watcher") == 0;
	}
	closedir(tasks);
	return !any;
}

static bool leaving;

/* As if the process were kept from a processor, having detached: the domain ends, and the thread
 * that watches the primary hears of that. */
void
__wrap_trip_detach_unwatch(struct trip_domain *domain)
{
	pass(BEFORE_UNWATCHING);
	if (leaving) {
		family_say('d');
		family_listen();
		family_until(is_unwatched());
	}
	__real_trip_detach_unwatch(domain);
}

void
doors_play_leaver(const char *arg)
{
	family_attach();
	leaving = true;
	doors_report(family_try_close());
}

void
closed_while_a_process_leaves(void **state)
{
	struct family_child child;
	const void *there;

	doors_open_domain(NULL);
	there = family_domain->engine.homes[0]->waiters;
	child = family_start("leaver", 8, NULL);
	assert_int_equal(doors_hear_byte(&child), 'd');
	doors_close_domain();
	doors_fill_memory(there);
	family_tell(&child, 'g');
	assert_int_equal(doors_hear(&child), 0);
	doors_expect_memory();
	family_join(&child);
}
