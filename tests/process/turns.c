/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread of the primary makes the calls about flows of all attached processes: what one of them
 * does, or does not, holds up no other. It asks over many connections at once; it is stopped in a
 * burst; it says that it is in one, and in another all the time.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "flow/flow.h"
#include "flow/flow_wire.h"
#include "flows.h"
#include "secondary/link.h"
#include "flow/port.h"
#include "domain/progress.h"
#include "primary/process.h"
#include "primary/server.h"

#define QUEUES 2
/* Connections of one process, each with a request. */
#define FLOOD 10
/* Flows of one that others are to hold up. */
#define MADE 8

static void
open_all(void)
{
	family_open(
		TRIP_PROGRESS_MANUAL, &(struct trip_domain_attr){.max_process_flows = FLOOD + 1});
	flows_open_port(QUEUES);
}

static void
close_all(void)
{
	flows_close_port();
	family_close();
}

static struct family_child
start(const char *part, unsigned int lcore, const char *arg)
{
	struct family_child child = family_start(part, lcore, arg);

	assert_int_equal(family_hear(&child), 'r');
	return child;
}

/* ---- many connections -------------------------------------------------------------------------
 */

/* Asks, and does not wait for the answer. */
static void
send_request(int fd, enum trip_protocol_type type, const void *body, size_t size)
{
	static struct {
		struct trip_protocol_head head;
		union trip_protocol_request request;
	} message;

	message.head = (struct trip_protocol_head){.magic = TRIP_PROTOCOL_MAGIC,
		.version = TRIP_PROTOCOL_VERSION,
		.type = (uint16_t)type,
		.size = (uint32_t)(sizeof(message.head) + size)};
	memcpy(&message.request, body, size);
	assert_int_equal(send(fd, &message, message.head.size, MSG_NOSIGNAL), message.head.size);
}

static int
connect_once_more(void)
{
	const struct trip_protocol_join join = {.number = family_domain->link->number};
	static struct trip_protocol_reply reply;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, family_domain->link->path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	send_request(fd, TRIP_PROTOCOL_JOIN, &join, sizeof(join));
	assert_true(recv(fd, &reply, sizeof(reply), 0) > 0);
	assert_int_equal(reply.head.error, 0);
	return fd;
}

static void
play_flood(const char *arg)
{
	static struct trip_protocol_flow asked;
	struct trip_flow_wire wire;
	struct flows_pattern pattern;
	int fds[FLOOD];

	family_attach();
	(void)flows_find();
	flows_make_pattern(&pattern, FLOWS_DNS);
	memset(&wire, 0, sizeof(wire));
	assert_int_equal(trip_flow_wire_pack(&wire, pattern.items, NULL, NULL), 0);
	asked.engine = TRIP_FLOW_ENGINE_SW;
	memcpy(asked.rule, &wire, sizeof(asked.rule));
	for (unsigned int i = 0; i < FLOOD; i++)
		fds[i] = connect_once_more();
	family_say('r');
	assert_int_equal(family_listen(), 'g');
	for (unsigned int i = 0; i < FLOOD; i++)
		send_request(fds[i], TRIP_PROTOCOL_FLOW, &asked, sizeof(asked));
	family_outlive();
}

static void
play_patient(const char *arg)
{
	struct trip_flow_attr attr = {.size = sizeof(attr), .engine = TRIP_FLOW_ENGINE_SW};
	struct trip_port *found;

	family_attach();
	found = flows_find();
	family_say('r');
	assert_int_equal(family_listen(), 'g');
	(void)flows_create(found, &attr, FLOWS_DNS);
	family_say('d');
	family_outlive();
}

/* Requests of a process that the proxy has not taken yet. */
static unsigned int
waiting(pid_t pid)
{
	struct trip_proxy *proxy = &family_domain->server->proxy;
	const struct trip_proxy_job *job;
	unsigned int n = 0;

	pthread_mutex_lock(&proxy->lock);
	TAILQ_FOREACH (job, &proxy->waiting, next)
		n += job->process->credentials.pid == pid;
	pthread_mutex_unlock(&proxy->lock);
	return n;
}

static unsigned int
n_flows_of(pid_t pid, uint32_t *last)
{
	unsigned int n = 0;

	trip_progress_lock(family_domain);
	for (uint32_t i = 0; i < family_domain->attr.max_flows; i++) {
		if (family_domain->flow[i].port == NULL ||
			atomic_load(&family_domain->more[i].pid) != (uint32_t)pid)
			continue;
		*last = i;
		n++;
	}
	pthread_mutex_unlock(&family_domain->control);
	return n;
}

/* Who asks for one thing is next, behind what is being done. */
static void
processes_are_served_by_turns(void **state)
{
	struct family_child flood, patient;
	uint32_t last;

	open_all();
	flood = start("flood", 8, NULL);
	patient = start("patient", 9, NULL);
	/* The proxy is held up in the first. */
	trip_progress_lock(family_domain);
	family_tell(&flood, 'g');
	family_until(waiting(flood.pid) == FLOOD - 1);
	family_tell(&patient, 'g');
	/* By name: one of the flood may be late, and the proxy may not have taken its first yet. */
	family_until(waiting(patient.pid) == 1);
	pthread_mutex_unlock(&family_domain->control);
	assert_int_equal(family_hear(&patient), 'd');
	family_until(n_flows_of(flood.pid, &last) == FLOOD);
	assert_int_equal(n_flows_of(patient.pid, &last), 1);
	/* Indices are given in their order. */
	assert_int_equal(last, 1);
	kill(flood.pid, SIGKILL);
	family_kill(&patient);
	close_all();
}

/* ---- bursts that do not end -------------------------------------------------------------------
 */

/* As one does that is stopped in a burst, but for what it does there; or it is in another one all
 * the time, each of which began before whatever others do. */
static void
play_burst(const char *arg)
{
	struct trip_port *found;
	struct trip_claim *claim;

	family_attach();
	found = flows_find();
	assert_int_equal(trip_port_claim(found, TRIP_FLOW_INGRESS, 0), 0);
	claim = &family_domain->engine.claims[found->sides[TRIP_FLOW_INGRESS].first_queue];
	atomic_store(&claim->since, 0);
	family_say('r');
	if (strcmp(arg, "stopped") == 0)
		raise(SIGSTOP);
	for (uint64_t n = 0;; n++)
		atomic_store(&claim->since, n & 1);
}

static void
play_maker(const char *arg)
{
	struct trip_flow *flows[MADE];
	uint64_t longest = 0;
	struct trip_port *found;

	family_attach();
	found = flows_find();
	for (unsigned int i = 0; i < MADE; i++)
		flows[i] = flows_create(found, NULL, (uint16_t)(FLOWS_DNS + i));
	for (unsigned int i = 0; i < MADE; i++) {
		uint64_t began = rte_rdtsc();

		assert_int_equal(trip_flow_destroy(flows[i]), 0);
		longest = RTE_MAX(longest, rte_rdtsc() - began);
	}
	printf("beside one that is %s: %d flows end, each in %" PRIu64 " ms at most\n", arg, MADE,
		longest * 1000 / rte_get_tsc_hz());
	fflush(stdout);
	assert_int_equal(trip_port_close(found), 0);
	family_say('r');
}

static void
make_beside(const char *how)
{
	struct family_child in_burst, maker;
	struct trip_flow *flows[2 * MADE];

	open_all();
	in_burst = start("in_burst", 8, how);
	maker = start("maker", 9, how);
	family_join(&maker);
	/* Indices are held up, as long as it lives. */
	assert_int_not_equal(family_domain->held_flows, 0);
	family_kill(&in_burst);
	assert_int_equal(family_domain->attr.max_flows, 2 * MADE);
	for (unsigned int i = 0; i < 2 * MADE; i++)
		flows[i] = flows_create(flows_port, NULL, (uint16_t)(FLOWS_DNS + i));
	for (unsigned int i = 0; i < 2 * MADE; i++)
		assert_int_equal(trip_flow_destroy(flows[i]), 0);
	close_all();
}

static void
a_stopped_burst_holds_up_no_other(void **state)
{
	make_beside("stopped");
}

static void
bursts_without_an_end_hold_up_no_other(void **state)
{
	make_beside("restless");
}

static const struct family_part parts[] = {
	{"flood", play_flood},
	{"patient", play_patient},
	{"in_burst", play_burst},
	{"maker", play_maker},
	{NULL, NULL},
};

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_served_by_turns),
		cmocka_unit_test(a_stopped_burst_holds_up_no_other),
		cmocka_unit_test(bursts_without_an_end_hold_up_no_other),
	};

	return family_run(tests);
}

int
main(int argc, char **argv)
{
	return flows_main(argc, argv, parts, run);
}
