/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A domain in an application that owns its ports, lcores and service cores already, and uses them
 * meanwhile: nothing is taken that was not given, nothing grows EAL's heap while the domain is
 * open, and all is as it was when it is closed.
 */
#include <sched.h>

#include <rte_flow.h>
#include <rte_mbuf.h>

#include <trip.h>
#include <trip_test.h>

#include "embedding_application.h"
#include "embedding_state.h"

#define GIVEN_QUEUES 2
#define CYCLES 50

enum kind { LCORE, SERVICE, MANUAL, KINDS };

static const unsigned int polling[] = {POLLING}, serving[] = {SERVING, STOPPED};

static const struct rte_flow_item every_packet[] = {
	{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};

/* --- domains --- */

static struct trip_domain *
open_named(enum kind kind, const char *name)
{
	struct trip_domain_attr attr = {.size = sizeof(attr),
		.name = name,
		.max_cntrs = 64,
		.max_works = 256,
		.max_flows = 64,
		.max_events = 64,
		.max_queues = 2 * STATE_QUEUES};
	struct trip_domain *domain;

	attr.progress = kind == LCORE     ? TRIP_PROGRESS_LCORE
			: kind == SERVICE ? TRIP_PROGRESS_SERVICE
					  : TRIP_PROGRESS_MANUAL;
	attr.lcores = kind == LCORE ? polling : kind == SERVICE ? serving : NULL;
	attr.n_lcores = kind == LCORE ? RTE_DIM(polling) : kind == SERVICE ? RTE_DIM(serving) : 1;
	if (trip_domain_open(&attr, &domain, NULL) != 0)
		fail_msg("%s", trip_error_message());
	return domain;
}

static struct trip_domain *
open_domain(enum kind kind)
{
	return open_named(kind, NULL);
}

static struct trip_port *
open_port(struct trip_domain *domain, uint16_t id, enum trip_port_mode mode)
{
	const struct trip_port_attr attr = {sizeof(attr), mode, GIVEN_QUEUES};
	struct trip_port *port;

	if (trip_port_open(domain, id, &attr, &port) != 0)
		fail_msg("%s", trip_error_message());
	return port;
}

static void
close_domain(struct trip_domain *domain)
{
	if (trip_domain_close(domain) != 0)
		fail_msg("%s", trip_error_message());
}

/* What a domain of this kind was given, and only that, is different from before. */
static void
check_taken(const struct state *now, const struct state *before, enum kind kind)
{
	state_equal_ports(now, before);
	assert_int_equal(now->threads, before->threads);
	for (unsigned int i = 0; i < STATE_LCORES; i++)
		if (!(kind == LCORE && i == POLLING) &&
			!(kind == SERVICE && (i == SERVING || i == STOPPED)))
			state_equal_lcore(now, before, i);
	assert_int_equal(
		now->services, before->services + (kind == SERVICE ? RTE_DIM(serving) : 0));
	if (kind == LCORE)
		assert_int_equal(now->lcores[POLLING].state, RUNNING);
	for (unsigned int i = 0; kind == SERVICE && i < RTE_DIM(serving); i++) {
		uint64_t is = now->lcores[serving[i]].services;
		uint64_t was = before->lcores[serving[i]].services;

		assert_int_equal(is & was, was);
		assert_int_equal(__builtin_popcountll(is & ~was), 1);
	}
}

static void
test_a_domain_takes_what_it_is_given(void **state)
{
	for (enum kind kind = 0; kind < KINDS; kind++) {
		struct state before, open, after;
		struct trip_domain *domain;

		state_take(&before);
		domain = open_domain(kind);
		state_take(&open);
		check_taken(&open, &before, kind);
		application_check();
		close_domain(domain);
		state_take(&after);
		state_equal(&after, &before);
	}
}

/* A lcore that was stopped before the first domain is stopped after the last, whichever that is. */
static void
test_domains_share_service_lcores(void **state)
{
	struct state before, after;

	state_take(&before);
	for (int first = 0; first < 2; first++) {
		struct trip_domain *domains[] = {
			open_domain(SERVICE), open_named(SERVICE, "second")};

		close_domain(domains[first]);
		application_check();
		close_domain(domains[1 - first]);
		state_take(&after);
		state_equal(&after, &before);
	}
}

static void
test_a_port_has_callbacks_on_the_queues_given(void **state)
{
	struct trip_domain *domain = open_domain(MANUAL);
	struct state before, open, after;
	struct trip_port *port;

	state_take(&before);
	port = open_port(domain, 1, TRIP_PORT_CALLBACK);
	state_take(&open);
	for (uint16_t q = 0; q < GIVEN_QUEUES; q++) {
		assert_non_null(open.ports[1].rx_callback[q]);
		open.ports[1].rx_callback[q] = NULL;
	}
	state_equal_ports(&open, &before);
	assert_int_equal(trip_port_close(port), 0);
	state_take(&after);
	state_equal(&after, &before);

	port = open_port(domain, 1, TRIP_PORT_BURST);
	state_take(&open);
	state_equal(&open, &before);
	assert_int_equal(trip_port_close(port), 0);
	close_domain(domain);
}

/* --- what the calls take from EAL's heap: nothing --- */

static void
use_counters(struct trip_domain *domain, struct trip_port *port)
{
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .name = "named"};
	struct trip_cntr *cntr;

	assert_int_equal(trip_cntr_open(domain, &attr, &cntr, NULL), 0);
	trip_cntr_add(cntr, 5);
	trip_cntr_adderr(cntr, 1);
	trip_cntr_set(cntr, 3);
	assert_int_equal(trip_cntr_read(cntr), 3);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static int
call(const struct trip_work_event *event, void *arg)
{
	return 0;
}

static void
use_works(struct trip_domain *domain, struct trip_port *port)
{
	struct trip_work work = {.size = sizeof(work),
		.threshold = 1,
		.op_type = TRIP_OP_CALL,
		.flags = TRIP_WORK_COMPLETION};
	const struct trip_cntr_attr waits = {.size = sizeof(waits), .wait_obj = TRIP_WAIT_YIELD};
	struct trip_work_event event;
	uint64_t id;

	assert_int_equal(trip_cntr_open(domain, NULL, &work.triggering_cntr, NULL), 0);
	assert_int_equal(trip_cntr_open(domain, &waits, &work.completion_cntr, NULL), 0);
	assert_int_equal(trip_function_register(domain, call, NULL, &work.op.call.function), 0);
	assert_int_equal(trip_work_queue(domain, &work, NULL), 0);
	work.threshold = 2;
	assert_int_equal(trip_work_queue(domain, &work, &id), 0);
	assert_int_equal(trip_work_queue(domain, &work, NULL), 0);
	trip_cntr_add(work.triggering_cntr, 1);
	assert_int_equal(trip_cntr_wait(work.completion_cntr, 1, -1), 0);
	assert_int_equal(trip_work_cancel(domain, id), 0);
	assert_int_equal(trip_work_flush(domain, NULL), 0);
	while (trip_work_read(domain, &event, sizeof(struct trip_work_event), 1) == 0)
		sched_yield();
	assert_int_equal(trip_function_unregister(work.op.call.function), 0);
	assert_int_equal(trip_cntr_close(work.triggering_cntr), 0);
	assert_int_equal(trip_cntr_close(work.completion_cntr), 0);
}

static void
use_waits(struct trip_domain *domain, struct trip_port *port)
{
	static const enum trip_wait_obj objects[] = {
		TRIP_WAIT_UNSPEC, TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND, TRIP_WAIT_YIELD};

	for (unsigned int i = 0; i < RTE_DIM(objects); i++) {
		const struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = objects[i]};
		struct trip_cntr *cntr;
		struct trip_fid *fid;

		assert_int_equal(trip_cntr_open(domain, &attr, &cntr, NULL), 0);
		fid = trip_cntr_fid(cntr);
		assert_int_equal(trip_cntr_wait(cntr, 1, 1), -ETIMEDOUT);
		if (objects[i] == TRIP_WAIT_FD) {
			assert_int_equal(trip_trywait(domain, &fid, 1), 0);
			assert_int_equal(trip_cntr_arm(cntr, 1), 0);
		}
		trip_cntr_add(cntr, 1);
		assert_int_equal(trip_cntr_wait(cntr, 1, -1), 0);
		assert_int_equal(trip_cntr_close(cntr), 0);
	}
}

static void
use_flows(struct trip_domain *domain, struct trip_port *port)
{
	struct trip_flow_attr attr = {.size = sizeof(attr), .n_cntrs = 1};
	struct trip_flow_count count = {.size = sizeof(count)};
	struct trip_cntr *cntr;
	struct rte_mbuf *pkts[32];
	struct trip_flow *flow;

	assert_int_equal(trip_cntr_open(domain, NULL, &cntr, NULL), 0);
	attr.cntrs = &cntr;
	assert_int_equal(trip_flow_create(port, &attr, every_packet, NULL, &flow, NULL), 0);
	rte_pktmbuf_free_bulk(
		pkts, trip_port_burst(port, 0, pkts, rte_eth_rx_burst(1, 0, pkts, 32)));
	assert_int_equal(trip_flow_query(flow, &count), 0);
	assert_int_equal(count.packets, 32);
	assert_int_equal(trip_flow_destroy(flow), 0);
	assert_int_equal(trip_cntr_read(cntr), 32);
	assert_int_equal(trip_cntr_close(cntr), 0);
}

static void
test_no_call_takes_memory_from_eal(void **state)
{
	static const struct {
		const char *name;
		void (*use)(struct trip_domain *domain, struct trip_port *port);
	} classes[] = {{"counters", use_counters}, {"deferred work", use_works},
		{"waits", use_waits}, {"flows", use_flows}};

	for (enum kind kind = 0; kind < KINDS; kind++) {
		struct trip_domain *domain = open_domain(kind);
		struct trip_port *port = open_port(domain, 1, TRIP_PORT_BURST);

		for (unsigned int i = 0; i < RTE_DIM(classes); i++) {
			struct state_heap before, after;

			state_take_heap(&before);
			for (int times = 0; times < 3; times++)
				classes[i].use(domain, port);
			state_take_heap(&after);
			state_equal_heap(&after, &before, classes[i].name);
		}
		assert_int_equal(trip_port_close(port), 0);
		close_domain(domain);
	}
}

static void
test_closing_gives_all_back(void **state)
{
	struct state before, after;

	state_take(&before);
	for (int i = 0; i < CYCLES; i++) {
		struct trip_domain *domain = open_domain((enum kind)(i % KINDS));
		/* On port 0 bursts are under way all the time. */
		struct trip_port *busy = open_port(domain, 0, TRIP_PORT_CALLBACK);
		struct trip_port *port = open_port(domain, 1, TRIP_PORT_BURST);

		use_counters(domain, port);
		use_works(domain, port);
		use_waits(domain, port);
		use_flows(domain, port);
		assert_int_equal(trip_port_close(busy), 0);
		assert_int_equal(trip_port_close(port), 0);
		close_domain(domain);
	}
	state_take(&after);
	state_equal(&after, &before);
	application_check();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_domain_takes_what_it_is_given),
		cmocka_unit_test(test_domains_share_service_lcores),
		cmocka_unit_test(test_a_port_has_callbacks_on_the_queues_given),
		cmocka_unit_test(test_no_call_takes_memory_from_eal),
		cmocka_unit_test(test_closing_gives_all_back),
	};

	if (!application_has_eal()) {
		printf("EAL does not start here\n");
		return TRIP_TEST_SKIP;
	}
	return cmocka_run_group_tests(tests, application_start, application_stop) == 0
		       ? EXIT_SUCCESS
		       : EXIT_FAILURE;
}
