/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The primary ends while a secondary closes a handle that is waited on by a descriptor. The watcher
 * shuts that down only while it is open: its number can become any other file of the application.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "family.h"
#include "waiter.h"

/* Which the watcher leaves the other one for its close: enough, where nothing keeps that back. */
#define CLOSE_MS 300

/* What is being closed; -1: nothing yet. */
static _Atomic int closing = -1;
static sem_t in_hand;
/* The watcher had it in hand, and it was closed meanwhile. */
static _Atomic bool closed;

void __real_trip_waiter_quiesce(struct trip_home *home, uint32_t waiter);
void __wrap_trip_waiter_quiesce(struct trip_home *home, uint32_t waiter);
int __real_shutdown(int fd, int how);
int __wrap_shutdown(int fd, int how);

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* The first step of a close behind which nobody asks whether the primary lives. */
void
__wrap_trip_waiter_quiesce(struct trip_home *home, uint32_t waiter)
{
	__real_trip_waiter_quiesce(home, waiter);
	if (atomic_load(&closing) < 0)
		return;
	family_say('o');
	sem_wait(&in_hand);
}

int
__wrap_shutdown(int fd, int how)
{
	if (fd != atomic_load(&closing))
		return __real_shutdown(fd, how);
	sem_post(&in_hand);
	for (unsigned int ms = 0; ms < CLOSE_MS && is_open(fd); ms++)
		usleep(1000);
	atomic_store(&closed, !is_open(fd));
	return __real_shutdown(fd, how);
}

static void
play_closer(const char *arg)
{
	struct trip_cntr *cntr;
	int fd;

	/* It is to outlive the primary. */
	prctl(PR_SET_PDEATHSIG, 0);
	alarm(100);
	sem_init(&in_hand, 0, 0);
	family_attach();
	cntr = family_cntr(NULL, TRIP_WAIT_FD);
	assert_int_equal(trip_cntr_control(cntr, TRIP_GETWAIT, &fd), 0);
	atomic_store(&closing, fd);
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_false(is_open(fd));
	/* Behind this the watcher has ended. */
	assert_int_equal(family_try_close(), -ESHUTDOWN);
	assert_false(atomic_load(&closed));
	_exit(0);
}

static const struct family_part parts[] = {
	{"closer", play_closer},
	{NULL, NULL},
};

static void
wait_12_what_is_closed_is_not_shut_down(void **state)
{
	struct family_child child;

	family_open(TRIP_PROGRESS_LCORE, NULL);
	child = family_start("closer", 8, NULL);
	assert_int_equal(family_hear(&child), 'o');
	kill(getpid(), SIGKILL);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wait_12_what_is_closed_is_not_shut_down),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}
