/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes attach while their primary opens and closes the domain. Whichever comes first: who is
 * let in has a domain that stays, who is not is told why, and nobody touches the memory of a domain
 * that is gone.
 */
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_memzone.h>

#include "doors.h"

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
		else
			doors_report(heard == 'c' ? family_try_close() : 0);
	}
}

/* ---- the primary ------------------------------------------------------------------------------
 */

bool doors_open;

/* The next byte that it says, without progress where the domain is just coming or going. */
char
doors_hear_byte(const struct family_child *child)
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

	while (doors_hear_byte(child) != 'r')
		;
	assert_true(family_receive(child->from, &error, sizeof(error)));
	return error;
}

int
doors_tell(const struct family_child *child, char what)
{
	family_tell(child, what);
	return doors_hear(child);
}

void
doors_open_domain(const struct trip_domain_attr *tune)
{
	family_open(TRIP_PROGRESS_MANUAL, tune);
	family_look_away();
	doors_open = true;
}

int
doors_try_close(void)
{
	int error;

	doors_open = false;
	error = family_try_close();
	doors_open = error != 0;
	return error;
}

void
doors_close_domain(void)
{
	family_until(doors_try_close() == 0);
}

struct family_child
doors_invite(unsigned int lcore)
{
	return family_start("visitor", lcore, NULL);
}

void
doors_say_goodbye(struct family_child *child)
{
	family_tell(child, 'q');
	family_join(child);
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

/* ---- all of them ------------------------------------------------------------------------------
 */

static const struct family_part parts[] = {
	{"visitor", play_visitor, false},
	{"restless", doors_play_restless, false},
	{"leaver", doors_play_leaver, false},
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
		cmocka_unit_test(attached_again_at_once),
		cmocka_unit_test(attached_in_place_of_one_that_was_killed),
		cmocka_unit_test(many_attach_while_it_comes_and_goes),
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
