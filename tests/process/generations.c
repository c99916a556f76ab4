/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A primary is killed, and another starts while those who were attached still live: it names them,
 * and has them back once they are executed anew.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "family.h"
#include "polled.h"

static unsigned int
count(struct trip_client *client, enum trip_client_state state, uint32_t *pid)
{
	struct trip_client_process seen[16];
	uint64_t cursor = 0;
	unsigned int n = 0;
	int got;

	while ((got = trip_client_list(
			client, TRIP_CLIENT_PROCESS, &cursor, seen, sizeof(*seen), 16)) > 0)
		for (int i = 0; i < got; i++)
			if (seen[i].state == state) {
				*pid = seen[i].pid;
				n++;
			}
	assert_int_equal(got, 0);
	return n;
}

static bool
find_domain(struct trip_client_domain *found)
{
	struct trip_client *client;
	uint64_t cursor = 0;
	char path[108];
	int got;

	assert_int_equal(trip_client_path(family_prefix(), NULL, path, sizeof(path)), 0);
	if (trip_client_open(path, &client) != 0)
		return false;
	got = trip_client_list(client, TRIP_CLIENT_DOMAIN, &cursor, found, sizeof(*found), 1);
	trip_client_close(client);
	return got == 1;
}

/* ---- the first generation's ------------------------------------------------------------------ */

static void
outlive(void)
{
	/* It is to outlive the primary. */
	prctl(PR_SET_PDEATHSIG, 0);
	alarm(100);
	family_attach();
	family_say('a');
	family_outlive();
	while (trip_cntr_open(family_domain, NULL, &(struct trip_cntr *){NULL}, NULL) != -ESHUTDOWN)
		usleep(1000);
}

/* It becomes the next primary. */
static void
play_heir(const char *arg)
{
	char next[80];

	outlive();
	snprintf(next, sizeof(next), "%s@2", family_prefix());
	family_become("successor", next, 0);
}

/* It looks for the next primary, and is executed anew to attach to that. */
static void
play_survivor(const char *arg)
{
	struct trip_client_domain domain = {0};

	outlive();
	while (!find_domain(&domain) || domain.generation != 2)
		usleep(1000);
	family_become("again", domain.prefix, 8);
}

/* It ends, instead. */
static void
play_mortal(const char *arg)
{
	struct trip_client_domain domain = {0};

	outlive();
	while (!find_domain(&domain) || domain.generation != 2 || domain.cntrs < 1)
		usleep(1000);
	_exit(0);
}

/* ---- the second generation's ----------------------------------------------------------------- */

static void
play_again(const char *arg)
{
	struct trip_cntr *seen;

	family_attach();
	seen = family_find("seen", TRIP_WAIT_UNSPEC);
	assert_int_equal(trip_cntr_add(seen, 1), 0);
	/* The primary has looked. */
	assert_int_equal(trip_cntr_wait(seen, 2, -1), 0);
	assert_int_equal(trip_cntr_close(seen), 0);
	assert_int_equal(family_try_close(), 0);
}

/* A child that does not exec. */
static pid_t
fork_idler(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void
play_successor(const char *arg)
{
	uint32_t survivor, attached, none;
	struct trip_client *client;
	struct trip_cntr *seen;
	pid_t forked;

	alarm(100);
	family_open(TRIP_PROGRESS_MANUAL, NULL);
	assert_int_equal(trip_client_open(family_socket(), &client), 0);
	/* Two of the three: the heir is this process. */
	assert_int_equal(count(client, TRIP_CLIENT_ORPHAN, &survivor), 2);
	forked = fork_idler();
	seen = family_cntr("seen", TRIP_WAIT_NONE);
	family_until(trip_cntr_read(seen) == 1);
	assert_int_equal(count(client, TRIP_CLIENT_ATTACHED, &attached), 1);
	assert_int_not_equal(attached, 0);
	/* Who has ended is an orphan no more, nor is who has attached. */
	family_until(count(client, TRIP_CLIENT_ORPHAN, &none) == 0);
	assert_int_equal(trip_cntr_add(seen, 1), 0);
	family_until(family_attached() == 0);
	/* Nor are the two waited for, though a child has what they were waited for by: but the
	 * socket, the end of its thread, and two clients. */
	family_until(polled_count() == 4);
	kill(forked, SIGKILL);
	assert_int_equal(waitpid(forked, NULL, 0), forked);
	assert_int_equal(trip_cntr_close(seen), 0);
	trip_client_close(client);
	family_close();
}

static const struct family_part parts[] = {
	{"heir", play_heir, false},
	{"survivor", play_survivor, false},
	{"mortal", play_mortal, false},
	{"again", play_again, false},
	{"successor", play_successor, true},
	{NULL, NULL, false},
};

static void
a_new_primary_names_the_orphans_of_the_old_one(void **state)
{
	static const char *const names[] = {"heir", "survivor", "mortal"};
	struct family_child child;

	family_open(TRIP_PROGRESS_LCORE, NULL);
	for (unsigned int i = 0; i < 3; i++) {
		child = family_start(names[i], 8 + i, NULL);
		assert_int_equal(family_hear(&child), 'a');
	}
	kill(getpid(), SIGKILL);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_primary_names_the_orphans_of_the_old_one),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return family_main(argc, argv, parts, run);
}
