/* SPDX-License-Identifier: BSD-3-Clause */
/* Closes beside attaches: a domain is opened and closed over and over, while another process
 * attaches to it. Whoever is let in has a domain that stays, and does its work in it. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "family.h"
#include "storm.h"

#define DOOR "door"
#define OPEN_US 10000

/* Whether it was let in; then it has worked and left. */
static bool
visit(void)
{
	struct trip_domain *door;
	struct trip_cntr *cntr = NULL;
	int error = trip_domain_attach(
		&(struct trip_domain_attach_attr){
			.size = sizeof(struct trip_domain_attach_attr), .name = DOOR},
		&door, NULL);

	if (error == -ENOENT || error == -ECONNREFUSED || error == -EAGAIN)
		return false;
	if (error != 0 || trip_cntr_open(door, NULL, &cntr, NULL) != 0 ||
		trip_cntr_add(cntr, 1) != 0)
		fail_msg("%s", trip_error_message());
	assert_int_equal(trip_cntr_read(cntr), 1);
	if (trip_cntr_close(cntr) != 0 || trip_domain_close(door) != 0)
		fail_msg("%s", trip_error_message());
	return true;
}

void
storm_play_visitor(const char *arg)
{
	struct pollfd told = {.fd = FAMILY_HEARD, .events = POLLIN};
	unsigned int n = 0, in = 0;

	family_say('v');
	for (; poll(&told, 1, 0) == 0; n++)
		in += visit();
	printf("%u of %u attaches were let in\n", in, n);
	fflush(stdout);
	/* The door stays open. */
	assert_true(visit());
}

static struct trip_domain *
open_door(void)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.n_lcores = 1,
		.name = DOOR,
		.max_cntrs = 64,
		.max_works = 64,
		.max_process_works = 64,
		.max_waiters = 64,
		.max_flows = 16,
		.max_events = 64};
	struct trip_domain *door;

	if (trip_domain_open(&attr, &door, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return door;
}

static void
close_door(struct trip_domain *door)
{
	int error;

	while ((error = trip_domain_close(door)) == -EBUSY)
		(void)trip_progress(door);
	if (error != 0)
		fail_msg("%s", trip_error_message());
}

/* For a while. */
static void
serve_door(struct trip_domain *door, uint64_t us)
{
	uint64_t until = rte_rdtsc() + us * rte_get_tsc_hz() / US_PER_S;

	do {
		(void)trip_progress(door);
		sched_yield();
	} while (rte_rdtsc() < until);
}

void
storm_of_closes(void **state)
{
	struct trip_random random = {.state = trip_test_seed("doors")};
	struct family_child visitor;
	struct trip_domain *door;
	int status = 0;

	family_open(TRIP_PROGRESS_MANUAL, NULL);
	visitor = family_start("visitor", 8, NULL);
	assert_int_equal(family_hear(&visitor), 'v');
	for (uint64_t i = trip_test_rounds(50); i > 0; i--) {
		door = open_door();
		serve_door(door, trip_random_below(&random, OPEN_US));
		close_door(door);
		/* It has not failed by itself. */
		assert_int_equal(waitpid(visitor.pid, &status, WNOHANG), 0);
	}
	door = open_door();
	family_tell(&visitor, 'e');
	while (waitpid(visitor.pid, &status, WNOHANG) == 0)
		serve_door(door, 1);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(visitor.to);
	close(visitor.from);
	close_door(door);
	family_close();
}
