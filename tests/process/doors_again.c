/* SPDX-License-Identifier: BSD-3-Clause */
/* Who attaches is told what keeps it out, and whether that is for long. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "domain/domain.h"
#include "doors.h"
#include "home.h"
#include "primary/process.h"
#include "primary/server.h"
#include "domain/share.h"

/* ---- what a process takes is still that of one before it --------------------------------------
 */

/* It is told to come again, and is let in when homes have gone on. */
static void
attach_when_cleared(const struct family_child *child)
{
	family_tell(child, 'a');
	assert_int_equal(doors_hear_byte(child), 'w');
	doors_open = true;
	assert_int_equal(doors_hear(child), 0);
}

void
attached_again_at_once(void **state)
{
	struct family_child child = doors_invite(8);

	doors_open_domain(NULL);
	assert_int_equal(doors_tell(&child, 'a'), 0);
	/* Homes stand still: nothing of it is cleared away. */
	doors_open = false;
	assert_int_equal(doors_tell(&child, 'c'), 0);
	attach_when_cleared(&child);
	assert_int_equal(doors_tell(&child, 'c'), 0);
	doors_close_domain();
	doors_say_goodbye(&child);
}

void
attached_in_place_of_one_that_was_killed(void **state)
{
	for (unsigned int lcore = 8; lcore <= 9; lcore++) {
		struct family_child killed = doors_invite(8), next = doors_invite(lcore);

		/* With another lcore, it is the place that is taken. */
		doors_open_domain(&(struct trip_domain_attr){.max_processes = lcore == 8 ? 2 : 1});
		assert_int_equal(doors_tell(&killed, 'a'), 0);
		doors_open = false;
		kill(killed.pid, SIGKILL);
		assert_int_equal(waitpid(killed.pid, NULL, 0), killed.pid);
		attach_when_cleared(&next);
		assert_int_equal(doors_tell(&next, 'c'), 0);
		doors_close_domain();
		doors_say_goodbye(&next);
		close(killed.to);
		close(killed.from);
	}
}

/* ---- all at once ------------------------------------------------------------------------------
 */

#define GUESTS 3
#define ROUNDS 40

static void
expect_works(void)
{
	struct trip_cntr *cntr = family_cntr(NULL, TRIP_WAIT_NONE);

	assert_int_equal(trip_cntr_add(cntr, 5), 0);
	assert_int_equal(trip_cntr_read(cntr), 5);
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_int_equal(family_try_close(), 0);
}

/* As long as it hears nothing. */
void
doors_play_restless(const char *arg)
{
	struct pollfd heard = {.fd = FAMILY_HEARD, .events = POLLIN};
	unsigned int let_in = 0, errors = 0;

	family_say('s');
	while (poll(&heard, 1, 0) == 0) {
		int error = trip_domain_attach(NULL, &family_domain, NULL);

		if (error == 0)
			expect_works();
		else if (error != -ENOENT && error != -EAGAIN)
			fail_msg("%d: %s", error, trip_error_message());
		let_in += error == 0;
		errors += error != 0;
		sched_yield();
	}
	printf("attached %u times, %u times not\n", let_in, errors);
}

void
many_attach_while_it_comes_and_goes(void **state)
{
	struct trip_random random = {.state = trip_test_seed("doors")};
	struct family_child guests[GUESTS];

	for (unsigned int i = 0; i < GUESTS; i++)
		guests[i] = family_start("restless", 8 + i, NULL);
	for (unsigned int i = 0; i < GUESTS; i++)
		assert_int_equal(doors_hear_byte(&guests[i]), 's');
	for (uint64_t round = trip_test_rounds(ROUNDS); round > 0; round--) {
		const void *there;

		doors_open_domain(NULL);
		there = family_domain->engine.homes[0]->waiters;
		for (uint64_t n = trip_random_below(&random, 1000); n > 0; n--)
			family_step();
		doors_close_domain();
		doors_fill_memory(there);
		for (uint64_t n = trip_random_below(&random, 100); n > 0; n--)
			sched_yield();
		doors_expect_memory();
	}
	for (unsigned int i = 0; i < GUESTS; i++)
		family_tell(&guests[i], 'q');
	/* One may be attached, or about to be. */
	doors_open_domain(NULL);
	for (unsigned int i = 0; i < GUESTS; i++)
		family_join(&guests[i]);
	doors_close_domain();
}

/* ---- a header of garbage ----------------------------------------------------------------------
 */

static void
attach_by(const struct family_child *child, const char *what, size_t at)
{
	int error = doors_tell(child, 'a');

	switch (error) {
	case 0:
		/* What is garbage there is nothing to it, as behind the end of the path. */
		assert_int_equal(doors_tell(child, 'c'), 0);
		family_until(!family_domain->server->processes[0].used);
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

void
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

	doors_open_domain(NULL);
	child = doors_invite(8);
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
	assert_int_equal(doors_tell(&child, 'a'), 0);
	assert_int_equal(doors_tell(&child, 'c'), 0);
	doors_say_goodbye(&child);
	assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	doors_close_domain();
}
