/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WAIT-12 under what lasts: the primary is killed, and the next one exits, while their secondaries
 * have flows dropped for a time and within an until, policed, and dropped anew again and again. All
 * that they call returns -ESHUTDOWN, what waits and what is under way included; nothing hangs. The
 * primary that follows starts with nothing of all this, and does the same for those who come back.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_lcore.h>

#include "flows.h"

#define MS UINT64_C(1000000)
#define HOUR (3600000 * MS)
#define SECONDARIES 2
/* Those that last until their primary ends: for a time, within an until, policed within one. */
#define HELD 3
#define FLOWS (HELD + 1)
#define BURST 8
/* Under way, when the primary ends. */
#define THREADS 4

_Static_assert(FLOWS <= FLOWS_EACH, "a process may have so many");

/* ---- a secondary --------------------------------------------------------------------------- */

struct held {
	struct trip_port *port;
	struct trip_cntr *trigger, *completion, *never;
	struct trip_flow *flows[FLOWS];
	uint64_t ids[FLOWS];
};

/* Of a secondary of this lcore id. */
static uint16_t
udp_port(unsigned int lcore, unsigned int flow)
{
	return (uint16_t)(1000 * lcore + flow);
}

static struct trip_condition
within_an_until(void)
{
	return (struct trip_condition){.size = sizeof(struct trip_condition),
		.kind = TRIP_CONDITION_RATE,
		.when.rate = {.count = 1, .time = HOUR, .until_count = 1, .until_time = HOUR}};
}

static int
queue_drop(struct held *held, unsigned int flow, uint64_t time, uint64_t interval,
	const struct trip_condition *condition)
{
	struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = held->trigger,
		.threshold = condition == NULL,
		.interval = interval,
		.condition = condition,
		.completion_cntr = held->completion,
		.flags = TRIP_WORK_COMPLETION,
		.op_type = TRIP_OP_FLOW_DROP,
		.op.drop = {.flow = held->flows[flow], .time = time}};

	if (interval > 1) {
		work.triggering_cntr = trip_clock_cntr(family_domain);
		work.threshold = trip_cntr_read(work.triggering_cntr);
	}
	return trip_work_queue(family_domain, &work, &held->ids[flow]);
}

static int
queue_police(struct held *held, unsigned int flow, const struct trip_condition *condition)
{
	const struct trip_work work = {.size = sizeof(work),
		.triggering_cntr = held->trigger,
		.interval = 1,
		.condition = condition,
		.completion_cntr = held->completion,
		.op_type = TRIP_OP_FLOW_POLICE,
		.op.police = {
			.flow = held->flows[flow], .rate = 1, .unit = TRIP_POLICE_UNIT_PACKETS}};

	return trip_work_queue(family_domain, &work, &held->ids[flow]);
}

static enum trip_flow_fate
fate_of(const struct held *held, unsigned int flow)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(held->flows[flow], &count), 0);
	return count.fate;
}

/* What lasts has begun; one more begins and ends a thousand times a second. */
static void
hold(struct held *held, unsigned int lcore)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr), .engine = flows_engine->engine};
	const struct trip_condition until = within_an_until();

	held->port = flows_find();
	held->trigger = family_cntr(NULL, TRIP_WAIT_NONE);
	held->completion = family_cntr(NULL, TRIP_WAIT_UNSPEC);
	held->never = family_cntr(NULL, TRIP_WAIT_UNSPEC);
	for (unsigned int i = 0; i < FLOWS; i++)
		held->flows[i] = flows_create(held->port, &attr, udp_port(lcore, i));
	assert_int_equal(queue_drop(held, 0, HOUR, 0, NULL), 0);
	assert_int_equal(queue_drop(held, 1, 0, 1, &until), 0);
	assert_int_equal(queue_police(held, 2, &until), 0);
	assert_int_equal(trip_cntr_add(held->trigger, 1), 0);
	assert_int_equal(trip_cntr_wait(held->completion, HELD, -1), 0);
	assert_int_equal(queue_drop(held, HELD, MS / 2, MS, NULL), 0);
	assert_int_equal(trip_cntr_wait(held->completion, HELD + 10, -1), 0);
	assert_int_equal(fate_of(held, 0), TRIP_FLOW_FATE_DROP);
	assert_int_equal(fate_of(held, 1), TRIP_FLOW_FATE_DROP);
	assert_int_equal(fate_of(held, 2), TRIP_FLOW_FATE_POLICE);
}

static void *
wait_for_ever(void *arg)
{
	struct held *held = arg;

	assert_int_equal(trip_cntr_wait(held->never, 1, -1), -ESHUTDOWN);
	return NULL;
}

static void *
ask_for_ever(void *arg)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr), .engine = flows_engine->engine};
	struct held *held = arg;
	struct flows_pattern pattern;
	struct rte_flow_error error;
	struct trip_flow *flow;
	int result;

	flows_make_pattern(&pattern, 1);
	while ((result = trip_flow_create(held->port, &attr, pattern.items, NULL, &flow, &error)) ==
		0)
		if ((result = trip_flow_destroy(flow)) != 0)
			break;
	assert_int_equal(result, -ESHUTDOWN);
	return NULL;
}

static void *
read_for_ever(void *arg)
{
	struct trip_work_event events[16];
	int n;

	while ((n = trip_work_read(family_domain, events, sizeof(events[0]), 16)) >= 0)
		usleep(100);
	assert_int_equal(n, -ESHUTDOWN);
	return NULL;
}

/* Drops that last are queued, begin, and are canceled in all their states. */
static void *
drop_for_ever(void *arg)
{
	struct held *held = arg, own = *held;
	int error;

	do {
		error = queue_drop(&own, HELD, HOUR, 0, NULL);
		if (error == 0)
			error = trip_work_cancel(family_domain, own.ids[HELD]);
	} while (error == 0 || error == -EAGAIN || error == -ENOENT);
	assert_int_equal(error, -ESHUTDOWN);
	return NULL;
}

static void
expect_refused(struct held *held)
{
	struct trip_flow_count count = {.size = sizeof(count)};
	struct trip_flow *flow;
	struct flows_pattern pattern;
	struct rte_flow_error error;

	flows_make_pattern(&pattern, 1);
	for (unsigned int i = 0; i < FLOWS; i++) {
		assert_int_equal(trip_work_cancel(family_domain, held->ids[i]), -ESHUTDOWN);
		assert_int_equal(trip_flow_query(held->flows[i], &count), -ESHUTDOWN);
		assert_int_equal(trip_flow_retire(held->flows[i]), -ESHUTDOWN);
		assert_int_equal(trip_flow_destroy(held->flows[i]), -ESHUTDOWN);
	}
	assert_int_equal(queue_drop(held, 0, HOUR, 0, NULL), -ESHUTDOWN);
	assert_int_equal(trip_work_flush(family_domain, held->trigger), -ESHUTDOWN);
	assert_int_equal(trip_work_flush(family_domain, NULL), -ESHUTDOWN);
	assert_int_equal(
		trip_flow_create(held->port, NULL, pattern.items, NULL, &flow, &error), -ESHUTDOWN);
	assert_int_equal(trip_port_close(held->port), -ESHUTDOWN);
	assert_int_equal(trip_cntr_close(held->completion), -ESHUTDOWN);
	assert_int_equal(family_try_close(), -ESHUTDOWN);
	/* Reads keep the last value. */
	assert_true(trip_cntr_read(held->completion) >= HELD + 10);
}

/* Until its primary has ended. */
static void
outlive(void)
{
	void *(*const calls[THREADS])(void *) = {
		wait_for_ever, ask_for_ever, read_for_ever, drop_for_ever};
	pthread_t threads[THREADS];
	struct held held;

	prctl(PR_SET_PDEATHSIG, 0);
	alarm(100);
	family_attach();
	hold(&held, rte_get_main_lcore());
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, calls[i], &held), 0);
	family_say('a');
	family_outlive();
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	expect_refused(&held);
}

/* ---- a primary ----------------------------------------------------------------------------- */

static void
expect_fate(unsigned int lcore, unsigned int flow, uint16_t left)
{
	assert_int_equal(flows_engine->receive(udp_port(lcore, flow), BURST), left);
}

/* Packets find what lasts. */
static void
expect_held(unsigned int lcore)
{
	expect_fate(lcore, 0, 0);
	expect_fate(lcore, 1, 0);
	/* At one a second; a machine may take one. */
	assert_true(flows_engine->receive(udp_port(lcore, 2), BURST) < BURST);
}

static void
open_generation(void)
{
	struct trip_domain_stats stats = {.size = sizeof(stats)};
	struct trip_port_stats port = {.size = sizeof(port)};

	flows_open(TRIP_PROGRESS_LCORE);
	assert_int_equal(trip_domain_stats_read(family_domain, &stats), 0);
	assert_int_equal(stats.pending, 0);
	assert_int_equal(trip_port_stats_read(flows_port, &port), 0);
	assert_int_equal(port.rules, 0);
	for (unsigned int lcore = 8; lcore < 8 + SECONDARIES; lcore++)
		for (unsigned int i = 0; i < FLOWS; i++)
			expect_fate(lcore, i, BURST);
}

static void
start_generation(struct family_child *children, const char *heir)
{
	open_generation();
	for (unsigned int i = 0; i < SECONDARIES; i++)
		children[i] = family_start(i == 0 ? heir : "holder", 8 + i, NULL);
	for (unsigned int i = 0; i < SECONDARIES; i++)
		assert_int_equal(family_hear(&children[i]), 'a');
	for (unsigned int i = 0; i < SECONDARIES; i++)
		expect_held(8 + i);
}

/* The last: those that it has are killed beside what lasts, and it closes. */
static void
end_generations(void)
{
	struct family_child children[SECONDARIES];
	struct trip_domain_stats stats = {.size = sizeof(stats)};

	start_generation(children, "holder");
	for (unsigned int i = 0; i < SECONDARIES; i++) {
		kill(children[i].pid, SIGKILL);
		assert_int_equal(waitpid(children[i].pid, NULL, 0), children[i].pid);
		family_until(family_attached() == SECONDARIES - 1 - i);
	}
	for (unsigned int i = 0; i < FLOWS; i++)
		expect_fate(8, i, BURST);
	assert_int_equal(trip_domain_stats_read(family_domain, &stats), 0);
	assert_int_equal(stats.pending, 0);
	flows_close();
}

/* ---- parts --------------------------------------------------------------------------------- */

static void
play_holder(const char *arg)
{
	outlive();
	_exit(0);
}

static void
become(const char *part, const char *generation)
{
	char next[80];

	snprintf(next, sizeof(next), "%.64s", family_prefix());
	*strchrnul(next, '@') = 0;
	strcat(next, generation);
	family_become(part, next, 0);
}

static void
play_heir(const char *arg)
{
	outlive();
	become("second", "@2");
}

static void
play_second(const char *arg)
{
	struct family_child children[SECONDARIES];

	alarm(100);
	start_generation(children, "last heir");
	/* As a program does that knows nothing of a domain. */
	exit(EXIT_SUCCESS);
}

static void
play_last_heir(const char *arg)
{
	outlive();
	become("third", "@3");
}

static void
play_third(const char *arg)
{
	alarm(100);
	end_generations();
}

static const struct family_part parts[] = {
	{"holder", play_holder},
	{"heir", play_heir},
	{"second", play_second, .primary = true},
	{"last heir", play_last_heir},
	{"third", play_third, .primary = true},
	{NULL, NULL},
};

static void
wait_12_a_primary_ends_under_what_lasts(void **state)
{
	struct family_child children[SECONDARIES];

	start_generation(children, "heir");
	kill(getpid(), SIGKILL);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wait_12_a_primary_ends_under_what_lasts),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	static const struct flows_engine software = {
		.engine = TRIP_FLOW_ENGINE_SW, .receive = flows_receive_burst};

	flows_engine = &software;
	family_device = FLOWS_DEVICE;
	return family_main(argc, argv, parts, run);
}
