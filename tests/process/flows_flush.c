/* SPDX-License-Identifier: BSD-3-Clause */
/* What an attached process has started on a port in hardware finishes before its flush returns
 * (WORK-09), unless the primary ends; and is never told to a counter that comes behind the one that
 * it was to be told to. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "domain/domain.h"
#include "flows_device.h"
#include "primary/server.h"

/* Beside what other programs keep its threads from a processor. */
#define LIMIT_NS 100000000

/* The driver keeps what deferred work does to a flow, which has fired. */
static void
start_and_keep(struct trip_cntr *trigger, enum trip_op op, struct trip_flow *flow,
	struct trip_cntr *completion)
{
	family_say('k');
	(void)family_listen();
	flows_operate(trigger, 0, op, flow, completion);
	family_say('s');
	(void)family_listen();
}

static void
play_flush(const char *arg)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr), .engine = TRIP_FLOW_ENGINE_HW};
	struct trip_cntr *trigger, *completion, *next;
	struct trip_port *found;
	struct trip_flow *flow;

	family_attach();
	found = flows_find();
	trigger = family_cntr(NULL, TRIP_WAIT_NONE);
	completion = family_cntr(NULL, TRIP_WAIT_NONE);
	flow = flows_create(found, &attr, FLOWS_DNS);
	start_and_keep(trigger, TRIP_OP_FLOW_DROP, flow, completion);
	family_say('w');
	assert_int_equal(trip_work_flush(family_domain, NULL), 0);
	assert_int_equal(trip_cntr_read(completion), 1);
	start_and_keep(trigger, TRIP_OP_FLOW_PASS, flow, completion);
	family_say('w');
	assert_int_equal(trip_work_flush(family_domain, trigger), 0);
	assert_int_equal(trip_cntr_read(completion), 2);
	/* Closing does not wait, and what is told yet is told to nobody. */
	start_and_keep(trigger, TRIP_OP_FLOW_DROP, flow, completion);
	family_say('w');
	family_until(trip_cntr_close(completion) == 0);
	next = family_cntr(NULL, TRIP_WAIT_NONE);
	family_say('c');
	(void)family_listen();
	assert_int_equal(trip_work_flush(family_domain, NULL), 0);
	assert_int_equal(trip_cntr_read(next), 0);
	assert_int_equal(trip_cntr_close(next), 0);
	family_say('e');
	assert_int_equal(trip_flow_destroy(flow), 0);
	assert_int_equal(trip_cntr_close(trigger), 0);
	assert_int_equal(trip_port_close(found), 0);
	assert_int_equal(trip_work_flush(family_domain, NULL), 0);
	assert_int_equal(family_try_close(), 0);
}

/* One of its connections waits for the answer to a request. */
static bool
asks_for_something(void)
{
	struct trip_server *server = family_domain->server;
	bool busy = false;

	pthread_mutex_lock(&family_domain->lock);
	for (unsigned int i = 0; i < TRIP_SERVER_CONNECTIONS; i++)
		busy |= server->connections[i] != NULL &&
			__atomic_load_n(&server->connections[i]->busy, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&family_domain->lock);
	return busy;
}

static bool
has_gone_on(const struct family_child *child)
{
	struct pollfd entry = {.fd = child->from, .events = POLLIN};

	return poll(&entry, 1, 0) != 0;
}

/* It waits, and not for less than what the driver keeps. */
static void
expect_waiting(const struct family_child *child)
{
	family_until(asks_for_something() || has_gone_on(child));
	assert_false(has_gone_on(child));
}

static void
keep_for(const struct family_child *child)
{
	assert_int_equal(family_hear(child), 'k');
	fake_nic_hold(flows_device->change, true);
	family_tell(child, 'k');
	assert_int_equal(family_hear(child), 's');
	family_until(fake_nic_is_held());
	family_tell(child, 's');
	assert_int_equal(family_hear(child), 'w');
}

static void
flush(enum trip_progress progress)
{
	struct family_child child;

	flows_open(progress);
	child = family_start("flush", 8, NULL);
	for (unsigned int i = 0; i < 2; i++) {
		keep_for(&child);
		expect_waiting(&child);
		fake_nic_hold(flows_device->change, false);
	}
	keep_for(&child);
	assert_int_equal(family_hear(&child), 'c');
	fake_nic_hold(flows_device->change, false);
	family_tell(&child, 'c');
	assert_int_equal(family_hear(&child), 'e');
	family_end(&child);
	flows_close();
}

static void
work_09_flush_waits_for_a_ports_worker(void **state)
{
	flows_each_device(flush, TRIP_PROGRESS_LCORE);
}

static void
work_09_flush_waits_for_a_ports_worker_by_hand(void **state)
{
	flows_each_device(flush, TRIP_PROGRESS_MANUAL);
}

/* ---- the primary ends meanwhile ---------------------------------------------------------------
 */

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *
flush_until_the_end(void *arg)
{
	uint64_t *kept = arg;

	assert_int_equal(trip_work_flush(family_domain, NULL), -ESHUTDOWN);
	*kept = family_kept_ns();
	return NULL;
}

static void
play_orphan(const char *arg)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr), .engine = TRIP_FLOW_ENGINE_HW};
	struct trip_cntr *trigger;
	uint64_t began, took, kept;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, 0);
	/* What the thread that watches the primary is kept is not known. */
	family_hurry();
	family_attach();
	trigger = family_cntr(NULL, TRIP_WAIT_NONE);
	start_and_keep(
		trigger, TRIP_OP_FLOW_DROP, flows_create(flows_find(), &attr, FLOWS_DNS), NULL);
	pthread_create(&thread, NULL, flush_until_the_end, &kept);
	family_say('w');
	family_outlive();
	began = now_ns();
	pthread_join(thread, NULL);
	took = now_ns() - began;
	printf("%.1f ms until the flush had returned; it was kept from a processor for %.1f ms\n",
		(double)took / 1e6, (double)kept / 1e6);
	fflush(stdout);
	_exit(took < LIMIT_NS + kept ? 0 : 6);
}

/* A child of the primary that has all its descriptors, connections too, since it does not come by
 * fork(): they do not end with the primary. */
static void
clone_heir(const struct family_child *child)
{
	char byte;

	if (syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) != 0)
		return;
	close(child->to);
	while (read(child->from, &byte, 1) > 0)
		;
	_exit(0);
}

/* The last test. */
static void
wait_12_a_killed_primary_ends_a_flush(void **state)
{
	struct family_child child;

	flows_device = flows_devices;
	flows_open(TRIP_PROGRESS_LCORE);
	child = family_start("orphan", 8, NULL);
	keep_for(&child);
	expect_waiting(&child);
	clone_heir(&child);
	kill(getpid(), SIGKILL);
}

static const struct family_part parts[] = {
	{"flush", play_flush},
	{"orphan", play_orphan},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_09_flush_waits_for_a_ports_worker),
		cmocka_unit_test(work_09_flush_waits_for_a_ports_worker_by_hand),
		cmocka_unit_test(wait_12_a_killed_primary_ends_a_flush),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	flows_engine = &flows_hardware;
	family_device = FLOWS_DEVICE;
	return family_main(argc, argv, parts, run);
}
