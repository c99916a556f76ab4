/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues of a port that attached processes poll: their bursts count, ring and act as the primary's
 * do, follow its rules as they change, and may be stopped or killed at any instruction.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <trip_flow.h>

#include "flows.h"
#include "flow/port.h"

#define QUEUES 3
#define BURST 32
#define MARK 77
#define PACKETS "polls"

/* ---- in any process ---------------------------------------------------------------------------
 */

static struct rte_mempool *pool;

/* Polls a queue once: packets to this UDP port come. Returns how many the rules leave, and the mark
 * of the first. */
static uint16_t
poll_once(struct trip_port *port, uint16_t queue, uint16_t udp_port, uint16_t n, uint32_t *mark)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t left;

	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, pkts, n), 0);
	for (uint16_t i = 0; i < n; i++)
		flows_write(pkts[i], udp_port);
	left = trip_port_burst(port, queue, pkts, n);
	*mark = left > 0 && (pkts[0]->ol_flags & RTE_MBUF_F_RX_FDIR_ID) != 0 ? pkts[0]->hash.fdir.hi
									     : 0;
	rte_pktmbuf_free_bulk(pkts, left);
	return left;
}

/* ---- the part that polls ----------------------------------------------------------------------
 */

enum action {
	POLL,
	CLAIM,
	RELEASE,
	LEAVE,
};

struct order {
	enum action action;
	uint16_t queue, udp_port, n;
};

struct answer {
	int result;
	uint32_t mark;
	char sentence[120];
};

static void
play_poller(const char *arg)
{
	struct trip_port *port;
	struct order order;

	family_attach();
	pool = rte_mempool_lookup(PACKETS);
	assert_non_null(pool);
	port = flows_find();
	family_say('r');
	while (family_receive(FAMILY_HEARD, &order, sizeof(order)) && order.action != LEAVE) {
		struct answer answer = {0};

		switch (order.action) {
		case POLL:
			answer.result =
				poll_once(port, order.queue, order.udp_port, order.n, &answer.mark);
			break;
		case CLAIM:
			answer.result = trip_port_claim(port, TRIP_FLOW_INGRESS, order.queue);
			snprintf(answer.sentence, sizeof(answer.sentence), "%s",
				answer.result != 0 ? trip_error_message() : "");
			break;
		default:
			answer.result = trip_port_release(port, TRIP_FLOW_INGRESS, order.queue);
		}
		assert_true(family_send(FAMILY_SAID, &answer, sizeof(answer)));
	}
	assert_int_equal(trip_port_close(port), 0);
	assert_int_equal(family_try_close(), 0);
}

/* ---- the primary ------------------------------------------------------------------------------
 */

static uint16_t port_id;
static struct trip_port *port;
static struct trip_cntr *cntr;

static void
open_all(void)
{
	/* Nobody looks for counts that did not ring. */
	const struct trip_domain_attr tune = {.refresh_us = 4000000000, .scrub_us = 4000000000};
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	const struct rte_eth_conf conf = {0};

	if (pool == NULL)
		pool = rte_pktmbuf_pool_create(
			PACKETS, 511, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	assert_non_null(pool);
	family_open(TRIP_PROGRESS_MANUAL, &tune);
	assert_int_equal(rte_eth_dev_get_port_by_name(FLOWS_DEVICE, &port_id), 0);
	assert_int_equal(rte_eth_dev_configure(port_id, QUEUES, 1, &conf), 0);
	for (uint16_t q = 0; q < QUEUES; q++)
		assert_int_equal(
			rte_eth_rx_queue_setup(port_id, q, 64, SOCKET_ID_ANY, NULL, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port_id, 0, 64, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(trip_port_open(family_domain, port_id, &attr, &port), 0);
	cntr = family_cntr("polled", TRIP_WAIT_NONE);
}

static void
close_all(void)
{
	assert_int_equal(trip_cntr_close(cntr), 0);
	assert_int_equal(trip_port_close(port), 0);
	family_close();
}

static struct family_child
start_poller(unsigned int lcore)
{
	struct family_child child = family_start("poller", lcore, NULL);

	assert_int_equal(family_hear(&child), 'r');
	return child;
}

static struct answer
hear(const struct family_child *child)
{
	struct answer answer;

	assert_true(family_receive(child->from, &answer, sizeof(answer)));
	return answer;
}

static struct answer
ask(const struct family_child *child, enum action action, uint16_t queue, uint16_t udp_port,
	uint16_t n)
{
	const struct order order = {action, queue, udp_port, n};

	assert_true(family_send(child->to, &order, sizeof(order)));
	return hear(child);
}

/* How many are left of so many packets. */
static int
polls(const struct family_child *child, uint16_t queue, uint16_t udp_port, uint16_t n)
{
	return ask(child, POLL, queue, udp_port, n).result;
}

static void
leave(struct family_child *child)
{
	const struct order order = {.action = LEAVE};

	assert_true(family_send(child->to, &order, sizeof(order)));
	family_join(child);
}

static int
try_flow(uint16_t udp_port, const struct rte_flow_action *actions, struct trip_cntr **cntrs,
	struct trip_flow **flow)
{
	const struct trip_flow_attr attr = {.size = sizeof(attr),
		.engine = TRIP_FLOW_ENGINE_SW,
		.cntrs = cntrs,
		.n_cntrs = cntrs != NULL};
	struct flows_pattern pattern;

	flows_make_pattern(&pattern, udp_port);
	return trip_flow_create(port, &attr, pattern.items, actions, flow, NULL);
}

static struct trip_flow *
make_flow(uint16_t udp_port, const struct rte_flow_action *actions, struct trip_cntr **cntrs)
{
	struct trip_flow *flow;

	if (try_flow(udp_port, actions, cntrs, &flow) != 0)
		fail_msg("%s", trip_error_message());
	return flow;
}

static uint64_t
counted(struct trip_flow *flow)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	assert_int_equal(count.bytes, count.packets * FLOWS_PACKET);
	return count.packets;
}

static enum trip_flow_fate
fate_of(struct trip_flow *flow)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	assert_int_equal(trip_flow_query(flow, &count), 0);
	return count.fate;
}

static const struct trip_claim *
claim_of(uint16_t queue)
{
	return &family_domain->engine.claims[port->sides[0].first_queue + queue];
}

static bool
is_in_burst(uint16_t queue)
{
	return atomic_load(&claim_of(queue)->since) != TRIP_ERA_IDLE;
}

/* Its bursts count, drop, mark and let pass, and a threshold fires within the burst that reaches
 * it. */
static void
a_poller_counts_and_rings(void **state)
{
	static const struct rte_flow_action_mark mark = {.id = MARK};
	static const struct rte_flow_action marks[] = {{.type = RTE_FLOW_ACTION_TYPE_MARK,
							       .conf = &mark},
		{.type = RTE_FLOW_ACTION_TYPE_END}},
					    passes[] = {{.type = RTE_FLOW_ACTION_TYPE_PASSTHRU},
						    {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct trip_flow *dns, *marked, *also;
	struct family_child poller;
	struct trip_work work;

	open_all();
	dns = make_flow(FLOWS_DNS, NULL, &cntr);
	poller = start_poller(8);
	marked = make_flow(54, marks, NULL);
	also = make_flow(FLOWS_DNS, passes, NULL);
	work = (struct trip_work){.size = sizeof(work),
		.triggering_cntr = cntr,
		.threshold = 10,
		.op_type = TRIP_OP_FLOW_DROP,
		.op.flow = dns};
	assert_int_equal(trip_work_queue(family_domain, &work, NULL), 0);
	while (trip_progress(family_domain) > 0)
		;
	assert_int_equal(polls(&poller, 0, FLOWS_DNS, 9), 9);
	while (trip_progress(family_domain) > 0)
		;
	assert_int_equal(counted(dns), 9);
	assert_int_equal(polls(&poller, 0, FLOWS_DNS, 5), 5);
	/* It has rung; nobody asks. */
	family_until(trip_cntr_read(cntr) == 14);
	family_until(fate_of(dns) == TRIP_FLOW_FATE_DROP);
	assert_int_equal(polls(&poller, 0, FLOWS_DNS, 4), 0);
	assert_int_equal(counted(dns), 18);
	assert_int_equal(counted(also), 18);
	assert_int_equal(ask(&poller, POLL, 0, 54, 2).mark, MARK);
	assert_int_equal(polls(&poller, 0, 55, 3), 3);
	assert_int_equal(counted(marked), 2);
	leave(&poller);
	assert_int_equal(counted(dns), 18);
	assert_int_equal(trip_flow_destroy(dns), 0);
	assert_int_equal(trip_cntr_read(cntr), 18);
	assert_int_equal(trip_flow_destroy(marked), 0);
	assert_int_equal(trip_flow_destroy(also), 0);
	close_all();
}

/* Rules come and go between its bursts, on the same indices again and again. */
static void
a_poller_follows_the_rules(void **state)
{
	uint64_t rounds = trip_test_rounds(50);
	struct trip_flow *flows[8];
	struct family_child poller;

	open_all();
	poller = start_poller(8);
	for (uint64_t round = 0; round < rounds; round++) {
		uint16_t base = (uint16_t)(round * 3);

		for (uint16_t i = 0; i < 8; i++)
			flows[i] = make_flow((uint16_t)(base + i), NULL, NULL);
		for (uint16_t i = 0; i < 8; i++)
			assert_int_equal(
				polls(&poller, 1, (uint16_t)(base + i), (uint16_t)(i + 1)), i + 1);
		for (uint16_t i = 0; i < 8; i++) {
			assert_int_equal(counted(flows[i]), i + 1);
			assert_int_equal(trip_flow_destroy(flows[i]), 0);
		}
		assert_int_equal(polls(&poller, 1, base, 3), 3);
	}
	/* More changes than a burst takes in: what is gone counts nothing in the first one. */
	for (uint16_t i = 0; i < 100; i++) {
		flows[0] = make_flow(1000, NULL, NULL);
		assert_int_equal(trip_flow_destroy(flows[0]), 0);
	}
	flows[0] = make_flow(1000, NULL, NULL);
	flows[1] = make_flow(1001, NULL, NULL);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(polls(&poller, 1, 999, 1), 1);
	assert_int_equal(counted(flows[0]), 0);
	assert_int_equal(polls(&poller, 1, 1000, 7), 7);
	assert_int_equal(polls(&poller, 1, 1001, 1), 1);
	assert_int_equal(counted(flows[0]), 7);
	assert_int_equal(counted(flows[1]), 1);
	leave(&poller);
	assert_int_equal(trip_flow_destroy(flows[0]), 0);
	assert_int_equal(trip_flow_destroy(flows[1]), 0);
	close_all();
}

/* A queue each, and no queue has two. */
static void
three_processes_poll_a_port(void **state)
{
	struct family_child pollers[2];
	struct trip_flow *dns;
	struct answer answer;
	uint32_t mark;

	open_all();
	dns = make_flow(FLOWS_DNS, NULL, &cntr);
	pollers[0] = start_poller(8);
	pollers[1] = start_poller(9);
	for (uint16_t i = 1; i <= 20; i++) {
		assert_int_equal(poll_once(port, 0, FLOWS_DNS, i, &mark), i);
		assert_int_equal(polls(&pollers[0], 1, FLOWS_DNS, i), i);
		assert_int_equal(polls(&pollers[1], 2, FLOWS_DNS, i), i);
	}
	assert_int_equal(counted(dns), 3 * 210);
	answer = ask(&pollers[1], CLAIM, 1, 0, 0);
	assert_int_equal(answer.result, -EBUSY);
	assert_non_null(
		strstr(answer.sentence, "Rx queue 1 is polled by another attached process"));
	answer = ask(&pollers[1], CLAIM, 0, 0, 0);
	assert_int_equal(answer.result, -EBUSY);
	assert_non_null(strstr(answer.sentence, "Rx queue 0 is polled by the primary"));
	assert_int_equal(ask(&pollers[1], CLAIM, QUEUES, 0, 0).result, -EINVAL);
	assert_int_equal(ask(&pollers[1], CLAIM, 2, 0, 0).result, 0);
	assert_int_equal(trip_port_claim(port, TRIP_FLOW_INGRESS, 2), -EBUSY);
	/* What a process polls that has not the queue stays as it is. */
	assert_int_equal(polls(&pollers[1], 1, FLOWS_DNS, 4), 4);
	assert_int_equal(poll_once(port, 2, FLOWS_DNS, 4, &mark), 4);
	assert_int_equal(counted(dns), 3 * 210);
	/* Given back, a queue is whoever's is next, and its counts go on. */
	assert_int_equal(ask(&pollers[0], RELEASE, 1, 0, 0).result, 0);
	assert_int_equal(ask(&pollers[0], RELEASE, 1, 0, 0).result, -EINVAL);
	assert_int_equal(polls(&pollers[1], 1, FLOWS_DNS, 4), 4);
	assert_int_equal(counted(dns), 3 * 210 + 4);
	leave(&pollers[0]);
	leave(&pollers[1]);
	/* Nobody's again, a moment later. */
	family_until(trip_port_claim(port, TRIP_FLOW_INGRESS, 2) == 0);
	assert_int_equal(poll_once(port, 2, FLOWS_DNS, 1, &mark), 1);
	assert_int_equal(trip_flow_destroy(dns), 0);
	assert_int_equal(trip_cntr_read(cntr), 3 * 210 + 5);
	close_all();
}

static void
step(pid_t pid, enum __ptrace_request request)
{
	int status;

	assert_int_equal(ptrace(request, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
}

/* Stops a poller some instructions into a burst, or behind it. */
static void
step_into_burst(const struct family_child *child, uint16_t queue, uint16_t n, uint64_t steps)
{
	const struct order order = {POLL, queue, FLOWS_DNS, n};

	assert_int_equal(ptrace(PTRACE_SEIZE, child->pid, NULL, NULL), 0);
	step(child->pid, PTRACE_INTERRUPT);
	assert_true(family_send(child->to, &order, sizeof(order)));
	while (!is_in_burst(queue))
		step(child->pid, PTRACE_SINGLESTEP);
	for (uint64_t s = 0; s < steps && is_in_burst(queue); s++)
		step(child->pid, PTRACE_SINGLESTEP);
}

/* Instructions of a burst of five packets, about. */
#define BURST_LENGTH 1500

/* Whatever it has counted stays, the rest is as if it had not come, and the queue is nobody's. */
static void
killed_in_a_burst(void **state)
{
	struct trip_random random = {.state = trip_test_seed("killed_in_a_burst")};
	uint64_t rounds = trip_test_rounds(10), before, after;
	struct family_child poller;
	struct trip_flow *dns;

	open_all();
	dns = make_flow(FLOWS_DNS, NULL, &cntr);
	for (uint64_t round = 0; round < rounds; round++) {
		struct trip_flow_count count = {.size = sizeof(count)};

		poller = start_poller(8);
		assert_int_equal(trip_flow_query(dns, &count), 0);
		before = count.packets;
		step_into_burst(&poller, 0, 5, trip_random_below(&random, BURST_LENGTH));
		family_kill(&poller);
		assert_int_equal(atomic_load(&claim_of(0)->owner), TRIP_CLAIM_NONE);
		assert_false(is_in_burst(0));
		/* Of the last one perhaps the packet, and not yet its bytes. */
		assert_int_equal(trip_flow_query(dns, &count), 0);
		after = count.packets;
		trip_assert_range(after, before, before + 5);
		poller = start_poller(9);
		assert_int_equal(polls(&poller, 0, FLOWS_DNS, 3), 3);
		assert_int_equal(trip_flow_query(dns, &count), 0);
		assert_int_equal(count.packets, after + 3);
		leave(&poller);
		family_until(family_attached() == 0);
	}
	assert_int_equal(trip_flow_query(dns,
				 &(struct trip_flow_count){.size = sizeof(struct trip_flow_count)}),
		0);
	assert_int_equal(trip_domain_check(family_domain, stdout), 0);
	assert_int_equal(trip_flow_destroy(dns), 0);
	close_all();
}

#define MAX_FLOWS 16

/* It holds up an index, and nobody: the flow ends, others come and count what is theirs. */
static void
stopped_in_a_burst(void **state)
{
	struct trip_flow *dns, *flows[MAX_FLOWS];
	struct family_child poller;
	uint32_t index, mark, n = 0;
	uint64_t before;

	open_all();
	dns = make_flow(FLOWS_DNS, NULL, &cntr);
	index = dns->index;
	poller = start_poller(8);
	step_into_burst(&poller, 0, 5, 1);
	assert_int_equal(ptrace(PTRACE_DETACH, poller.pid, NULL, SIGSTOP), 0);
	before = rte_rdtsc();
	assert_int_equal(trip_flow_destroy(dns), 0);
	assert_true(rte_rdtsc() - before < 10 * rte_get_tsc_hz());
	assert_int_equal(trip_cntr_read(cntr), 0);
	while (try_flow(FLOWS_DNS, NULL, &cntr, &flows[n]) == 0) {
		assert_true(n < MAX_FLOWS - 1);
		assert_int_not_equal(flows[n++]->index, index);
	}
	assert_int_equal(n, MAX_FLOWS - 1);
	assert_non_null(strstr(trip_error_message(), "burst of another process"));
	assert_int_equal(poll_once(port, 1, FLOWS_DNS, 6, &mark), 6);
	assert_int_equal(counted(flows[0]), 6);
	kill(poller.pid, SIGCONT);
	assert_int_equal(hear(&poller).result, 5);
	/* What it counted on the flow that is gone is nobody's, and the index is free. */
	flows[n++] = make_flow(FLOWS_DNS, NULL, &cntr);
	assert_int_equal(flows[MAX_FLOWS - 1]->index, index);
	assert_int_equal(counted(flows[MAX_FLOWS - 1]), 0);
	assert_int_equal(counted(flows[0]), 6);
	assert_int_equal(polls(&poller, 0, FLOWS_DNS, 2), 2);
	assert_int_equal(counted(flows[0]), 8);
	/* Stopped, and killed: then the index is free as well. */
	index = flows[0]->index;
	step_into_burst(&poller, 0, 5, 1);
	assert_int_equal(ptrace(PTRACE_DETACH, poller.pid, NULL, SIGSTOP), 0);
	assert_int_equal(trip_flow_destroy(flows[0]), 0);
	assert_int_not_equal(try_flow(FLOWS_DNS, NULL, NULL, &flows[0]), 0);
	family_kill(&poller);
	flows[0] = make_flow(FLOWS_DNS, NULL, NULL);
	assert_int_equal(flows[0]->index, index);
	while (n > 0)
		assert_int_equal(trip_flow_destroy(flows[--n]), 0);
	close_all();
}

static struct trip_claim *
writable_claim_of(uint16_t queue)
{
	return &family_domain->engine.claims[port->sides[0].first_queue + queue];
}

/* As a process leaves it that writes where it likes. Nobody's burst holds up no index. */
static void
garbage_in_the_claim_of_nobody_holds_nothing_up(void **state)
{
	struct trip_flow *flows[MAX_FLOWS];
	struct family_child poller;
	struct trip_flow *dns;
	uint32_t n = 0;

	open_all();
	dns = make_flow(FLOWS_DNS, NULL, NULL);
	poller = start_poller(8);
	assert_int_equal(polls(&poller, 0, FLOWS_DNS, 5), 5);
	atomic_store(&writable_claim_of(2)->since, 0);
	assert_int_equal(trip_flow_destroy(dns), 0);
	for (; n < MAX_FLOWS; n++)
		flows[n] = make_flow((uint16_t)(FLOWS_DNS + n), NULL, NULL);
	/* Whoever gets the queue is waited for as ever. */
	assert_int_equal(polls(&poller, 2, FLOWS_DNS, 3), 3);
	assert_int_equal(counted(flows[0]), 3);
	leave(&poller);
	while (n > 0)
		assert_int_equal(trip_flow_destroy(flows[--n]), 0);
	close_all();
}

/* With the next process that is cleared away. Whoever lives keeps what it has. */
static void
claims_of_processes_that_are_not_there_are_given_back(void **state)
{
	struct family_child pollers[2];
	uint32_t owner;

	open_all();
	pollers[0] = start_poller(8);
	pollers[1] = start_poller(9);
	assert_int_equal(ask(&pollers[1], CLAIM, 0, 0, 0).result, 0);
	owner = atomic_load(&claim_of(0)->owner);
	atomic_store(&writable_claim_of(1)->owner, 1000);
	atomic_store(&writable_claim_of(2)->owner, owner + 1);
	atomic_store(&writable_claim_of(2)->since, 0);
	assert_int_equal(ask(&pollers[1], CLAIM, 1, 0, 0).result, -EBUSY);
	leave(&pollers[0]);
	family_until(family_attached() == 1);
	assert_int_equal(atomic_load(&claim_of(0)->owner), owner);
	assert_int_equal(ask(&pollers[1], CLAIM, 1, 0, 0).result, 0);
	assert_int_equal(ask(&pollers[1], CLAIM, 2, 0, 0).result, 0);
	leave(&pollers[1]);
	family_until(family_attached() == 0);
	close_all();
}

static int
play_all(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_poller_counts_and_rings),
		cmocka_unit_test(a_poller_follows_the_rules),
		cmocka_unit_test(three_processes_poll_a_port),
		cmocka_unit_test(killed_in_a_burst),
		cmocka_unit_test(stopped_in_a_burst),
		cmocka_unit_test(garbage_in_the_claim_of_nobody_holds_nothing_up),
		cmocka_unit_test(claims_of_processes_that_are_not_there_are_given_back),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	static const struct family_part parts[] = {{"poller", play_poller}, {0}};

	family_device = FLOWS_DEVICE;
	return family_main(argc, argv, parts, play_all);
}
