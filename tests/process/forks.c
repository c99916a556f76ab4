/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Children of fork() that do not exec: they have every descriptor of their parent, and keep nothing
 * of it alive that has ended.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baseline.h"
#include "domain/domain.h"
#include "flows.h"
#include "polled.h"
#include "primary/server.h"

/* A child of this process. It ends when the pipe does. */
struct heir {
	pid_t pid;
	int ends[2];
};

static void
heir_prepare(struct heir *heir)
{
	assert_int_equal(pipe(heir->ends), 0);
}

static void
heir_fork(struct heir *heir)
{
	char byte;

	heir->pid = fork();
	assert_true(heir->pid >= 0);
	if (heir->pid != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(heir->ends[1]);
	(void)!read(heir->ends[0], &byte, 1);
	_exit(0);
}

static void
heir_end(struct heir *heir)
{
	assert_int_equal(waitpid(heir->pid, NULL, WNOHANG), 0);
	close(heir->ends[1]);
	assert_int_equal(waitpid(heir->pid, NULL, 0), heir->pid);
	close(heir->ends[0]);
}

/* ---- of the primary ---------------------------------------------------------------------------
 */

static void
play_guest(const char *arg)
{
	struct trip_cntr *cntr;

	family_attach();
	family_say('a');
	while (family_listen() == 'n') {
		cntr = family_cntr(NULL, TRIP_WAIT_FD);
		assert_int_equal(trip_cntr_close(cntr), 0);
		family_say('n');
	}
	assert_int_equal(family_try_close(), 0);
}

static struct family_child
start_guest(void)
{
	struct family_child guest = family_start("guest", 8, NULL);

	assert_int_equal(family_hear(&guest), 'a');
	return guest;
}

/* It comes into the dead one's place, and stays. */
static void
the_dead_leave_whoever_was_forked_meanwhile(void **state)
{
	struct family_child guest;
	struct baseline baseline;
	struct heir heir;

	flows_open(TRIP_PROGRESS_MANUAL);
	heir_prepare(&heir);
	baseline_take(&baseline);
	guest = start_guest();
	heir_fork(&heir);
	family_kill(&guest);
	baseline_expect(&baseline);
	guest = start_guest();
	for (unsigned int i = 0; i < 20; i++) {
		family_tell(&guest, 'n');
		assert_int_equal(family_hear(&guest), 'n');
		assert_int_equal(family_attached(), 1);
	}
	family_tell(&guest, 'e');
	family_end(&guest);
	baseline_expect(&baseline);
	heir_end(&heir);
	flows_close();
}

int __real_trip_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);
int __wrap_trip_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

static struct heir *no_thread;

int
__wrap_trip_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
	if (no_thread == NULL)
		return __real_trip_thread_start(thread, name, run, arg);
	heir_fork(no_thread);
	no_thread = NULL;
	return -EAGAIN;
}

static void
play_asker(const char *arg)
{
	struct trip_port *port;

	family_attach();
	family_say('a');
	family_listen();
	assert_int_equal(trip_port_find(family_domain, 0, &port), -EAGAIN);
	family_say('f');
	family_listen();
	port = flows_find();
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(family_try_close(), 0);
}

/* The proxy's thread cannot start, and what it would have told by is closed. */
static void
no_proxy_leaves_nothing_to_wait_for(void **state)
{
	struct family_child asker;
	unsigned int before;
	struct heir heir;

	flows_open(TRIP_PROGRESS_MANUAL);
	heir_prepare(&heir);
	asker = family_start("asker", 8, NULL);
	assert_int_equal(family_hear(&asker), 'a');
	before = polled_count();
	no_thread = &heir;
	family_tell(&asker, 'f');
	assert_int_equal(family_hear(&asker), 'f');
	/* The connection that it has asked by stays. */
	assert_int_equal(polled_count(), before + 1);
	family_tell(&asker, 'g');
	family_end(&asker);
	heir_end(&heir);
	flows_close();
}

/* ---- of an attached process -------------------------------------------------------------------
 */

static void
play_parent(const char *arg)
{
	struct trip_port *port;
	char byte;

	family_attach();
	/* By a connection of its own. */
	port = flows_find();
	if (fork() == 0) {
		while (read(FAMILY_HEARD, &byte, 1) == 1)
			;
		_exit(0);
	}
	family_say('a');
	if (strcmp(arg, "detaches") == 0) {
		assert_int_equal(trip_port_close(port), 0);
		assert_int_equal(family_try_close(), 0);
	}
	pause();
}

static unsigned int
connections(void)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++)
		n += family_domain->server->connections[i] != NULL;
	return n;
}

static void
expect_no_connection_of(const char *what)
{
	struct family_child parent;
	unsigned int before;

	flows_open(TRIP_PROGRESS_MANUAL);
	before = connections();
	parent = family_start("parent", 8, what);
	assert_int_equal(family_hear(&parent), 'a');
	if (strcmp(what, "dies") == 0)
		kill(parent.pid, SIGKILL);
	family_until(family_attached() == 0 && connections() == before);
	kill(parent.pid, SIGKILL);
	assert_int_equal(waitpid(parent.pid, NULL, 0), parent.pid);
	/* Its child is there still. */
	assert_int_equal(poll(&(struct pollfd){.fd = parent.from, .events = POLLIN}, 1, 0), 0);
	close(parent.to);
	assert_int_equal(family_hear(&parent), 0);
	close(parent.from);
	flows_close();
}

static void
connections_end_with_who_dies(void **state)
{
	expect_no_connection_of("dies");
}

static void
connections_end_with_who_detaches(void **state)
{
	expect_no_connection_of("detaches");
}

static const struct family_part parts[] = {
	{.name = "guest", .play = play_guest},
	{.name = "asker", .play = play_asker},
	{.name = "parent", .play = play_parent},
	{.name = NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_dead_leave_whoever_was_forked_meanwhile),
		cmocka_unit_test(no_proxy_leaves_nothing_to_wait_for),
		cmocka_unit_test(connections_end_with_who_dies),
		cmocka_unit_test(connections_end_with_who_detaches),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return flows_main(argc, argv, parts, run);
}
