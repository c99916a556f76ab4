/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes attach while their primary opens and closes the domain. Whichever comes first: who is
 * let in has a domain that stays, who is not is told why, and nobody touches the memory of a domain
 * that is gone.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rte_memzone.h>

#include "detach.h"
#include "doors.h"
#include "domain.h"
#include "home.h"
#include "process.h"
#include "progress.h"
#include "server.h"
#include "share.h"

/* ---- the visitor ------------------------------------------------------------------------------
 */

/* It says so once in each attach where it is told to come again. */
static bool attaching;

int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int
__wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	if (attaching)
		family_say('w');
	attaching = false;
	return __real_nanosleep(time, left);
}

void
doors_report(int error)
{
	family_say('r');
	assert_true(family_send(FAMILY_SAID, &error, sizeof(error)));
}

/* Attaches and closes as it hears, until it hears that it may end. */
static void
play_visitor(const char *arg)
{
	char heard;

	while ((heard = family_listen()) != 'q') {
		attaching = heard == 'a';
		if (heard == 'a')
			doors_report(trip_domain_attach(NULL, &family_domain, NULL));
		else if (heard == 'c')
			doors_report(trip_domain_close(family_domain));
		else
			doors_report(0);
	}
}

/* ---- the primary ------------------------------------------------------------------------------
 */

bool doors_open;

/* The next byte that it says, without progress where the domain is just coming or going. */
static char
hear(const struct family_child *child)
{
	struct pollfd entry = {.fd = child->from, .events = POLLIN};
	char byte;

	while (poll(&entry, 1, 1) != 1)
		if (doors_open)
			(void)trip_progress(family_domain);
	if (read(child->from, &byte, 1) != 1)
		fail_msg("the visitor has ended");
	return byte;
}

int
doors_hear(const struct family_child *child)
{
	int error;

	while (hear(child) != 'r')
		;
	assert_true(family_receive(child->from, &error, sizeof(error)));
	return error;
}

static int
tell(const struct family_child *child, char what)
{
	family_tell(child, what);
	return doors_hear(child);
}

void
doors_open_domain(void)
{
	family_open(TRIP_PROGRESS_MANUAL, NULL);
	family_look_away();
	doors_open = true;
}

int
doors_try_close(void)
{
	int error;

	doors_open = false;
	error = trip_domain_close(family_domain);
	doors_open = error != 0;
	return error;
}

void
doors_close_domain(void)
{
	family_until(doors_try_close() == 0);
}

/* ---- what was the domain's is somebody else's -------------------------------------------------
 */

#define FILLER 0xa5

/* Of what is free, the largest come first: as many as the visitors have left holes. */
#define HOLES 8

static const struct rte_memzone *grave;

static bool
is_within(const struct rte_memzone *zone, const void *there)
{
	const char *begin = zone->addr, *at = there;

	return at >= begin && at < begin + zone->len;
}

void
doors_fill_memory(const void *was_there)
{
	const struct rte_memzone *larger[HOLES];
	unsigned int n = 0;
	char name[32];

	do {
		snprintf(name, sizeof(name), "trip_test_grave%u", n);
		grave = larger[n] = rte_memzone_reserve(name, 0, SOCKET_ID_ANY, 0);
		assert_non_null(grave);
	} while (!is_within(grave, was_there) && ++n < HOLES);
	assert_true(n < HOLES);
	while (n > 0)
		rte_memzone_free(larger[--n]);
	memset(grave->addr, FILLER, grave->len);
}

void
doors_expect_memory(void)
{
	const unsigned char *bytes = grave->addr;

	assert_int_equal(bytes[0], FILLER);
	assert_memory_equal(bytes, bytes + 1, grave->len - 1);
	assert_int_equal(rte_memzone_free(grave), 0);
}

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
	said = hear(visitor);
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
WRAP(trip_progress_start, int, (struct trip_domain * domain), (domain), BEFORE_HOMES_START, POINTS)
WRAP(trip_server_start, int, (struct trip_domain * domain), (domain), BEFORE_SERVER_STARTS,
	BEHIND_SERVER_STARTS)
WRAP(trip_detach_watch, int, (struct trip_domain * domain), (domain), BEFORE_WATCHING, POINTS)
WRAP_VOID(trip_server_stop, BEFORE_SERVER_STOPS, BEHIND_SERVER_STOPS)
WRAP_VOID(trip_progress_stop, BEFORE_HOMES_STOP, POINTS)

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

static struct family_child
invite(unsigned int lcore)
{
	return family_start("visitor", lcore, NULL);
}

static void
say_goodbye(struct family_child *child)
{
	family_tell(child, 'q');
	family_join(child);
}

static void
attached_behind_each_step_of_a_close(void **state)
{
	struct family_child child = invite(8);

	for (enum point p = BEFORE_COUNTING; p <= BEFORE_HOMES_STOP; p++) {
		const void *there;
		int closed, attached;

		doors_open_domain();
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
		assert_int_equal(tell(&child, 'c'), 0);
		doors_close_domain();
	}
	say_goodbye(&child);
}

/* A close that is refused has changed nothing, not even for who comes meanwhile. */
static void
a_close_that_is_refused_keeps_nobody_out(void **state)
{
	struct family_child first = invite(8), second = invite(9);

	for (enum point p = BEFORE_COUNTING; p <= BEHIND_COUNTING; p++) {
		doors_open_domain();
		assert_int_equal(tell(&first, 'a'), 0);
		visitor = &second;
		point = p;
		assert_int_equal(doors_try_close(), -EBUSY);
		assert_int_equal(outcome(), 0);
		assert_int_equal(tell(&second, 'c'), 0);
		assert_int_equal(tell(&first, 'c'), 0);
		doors_close_domain();
	}
	say_goodbye(&second);
	say_goodbye(&first);
}

/* It is there when it is there as a whole. */
static void
attached_behind_each_step_of_an_open(void **state)
{
	struct family_child child = invite(8);

	for (enum point p = BEFORE_HOMES_START; p <= BEFORE_WATCHING; p++) {
		visitor = &child;
		point = p;
		doors_open_domain();
		assert_int_equal(point, NOWHERE);
		assert_int_equal(outcome(), 0);
		assert_int_equal(tell(&child, 'c'), 0);
		doors_close_domain();
	}
	say_goodbye(&child);
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

static void
play_leaver(const char *arg)
{
	family_attach();
	leaving = true;
	doors_report(trip_domain_close(family_domain));
}

static void
closed_while_a_process_leaves(void **state)
{
	struct family_child child;
	const void *there;

	doors_open_domain();
	there = family_domain->engine.homes[0]->waiters;
	child = family_start("leaver", 8, NULL);
	assert_int_equal(hear(&child), 'd');
	doors_close_domain();
	doors_fill_memory(there);
	family_tell(&child, 'g');
	assert_int_equal(doors_hear(&child), 0);
	doors_expect_memory();
	family_join(&child);
}

/* ---- a header of garbage ----------------------------------------------------------------------
 */

static void
attach_by(const struct family_child *child, const char *what, size_t at)
{
	int error = tell(child, 'a');

	switch (error) {
	case 0:
		/* What is garbage there is nothing to it, as behind the end of the path. */
		assert_int_equal(tell(child, 'c'), 0);
		family_until(trip_progress(family_domain) == 0);
		break;
	case -EPROTO:
	case -EAGAIN:
	case -ENOTSUP:
	/* What the path then leads to. */
	case -ENOENT:
	case -ENOTDIR:
	case -ECONNREFUSED:
		break;
	default:
		fail_msg("a header with %s at %zu is told of by %d", what, at, error);
	}
}

static void
a_header_of_garbage_is_refused(void **state)
{
	static const struct {
		const char *name;
		uint32_t word;
	} garbage[] = {{"zeros", 0}, {"a one", 1}, {"ones", UINT32_MAX}, {"text", 0x74656d2f}};
	struct trip_random random = {.state = trip_test_seed("doors")};
	struct family_child child;
	struct trip_share before;
	uint32_t *words;

	doors_open_domain();
	child = invite(8);
	words = (uint32_t *)family_domain->share;
	memcpy(&before, words, sizeof(before));
	for (size_t w = 0; w < sizeof(before) / sizeof(*words); w++)
		for (unsigned int g = 0; g < sizeof(garbage) / sizeof(*garbage); g++) {
			words[w] = garbage[g].word;
			attach_by(&child, garbage[g].name, w * sizeof(*words));
			memcpy(words, &before, sizeof(before));
		}
	for (unsigned int i = 0; i < 20; i++) {
		for (size_t w = i % 2 * 2; w < sizeof(before) / sizeof(*words); w++)
			words[w] = (uint32_t)trip_random_u64(&random);
		attach_by(&child, "a random number from", i % 2 * 8);
		memcpy(words, &before, sizeof(before));
	}
	assert_int_equal(tell(&child, 'a'), 0);
	assert_int_equal(tell(&child, 'c'), 0);
	say_goodbye(&child);
	assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	doors_close_domain();
}

static const struct family_part parts[] = {
	{"visitor", play_visitor, false},
	{"leaver", play_leaver, false},
	{NULL, NULL, false},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attached_behind_each_step_of_a_close),
		cmocka_unit_test(a_close_that_is_refused_keeps_nobody_out),
		cmocka_unit_test(attached_behind_each_step_of_an_open),
		cmocka_unit_test(closed_behind_each_step_of_an_attach),
		cmocka_unit_test(closed_while_a_process_leaves),
		cmocka_unit_test(a_header_of_garbage_is_refused),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}
