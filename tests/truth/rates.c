/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plays a capture to rules whose work waits for rates, by the times of its packets: the home is
 * polled by hand, on a clock that shows these. Packets of one time are a burst. Tells as JSON, a
 * line each, what fired when:
 *
 *	rates RULES PCAP QUEUES [NS]...
 *
 * At these times of the capture all counters are set to 0.
 *
 * Each `when` is noted, whatever its operation.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rules.h>
#include <trip.h>

#include "clock.h"
#include "domain/domain.h"
#include "home.h"
#include "replay.h"
#include "soft_test.h"
#include "trip_eal.h"

#define CNTRS_MAX 64
#define FRAME_BYTES_MAX 2048
/* When the capture begins, by the clock: far behind what opening takes. */
#define BEGIN_NS UINT64_C(1000000000000)

/* As struct pcap_pkthdr in a file, of nanoseconds. */
struct record {
	uint32_t seconds, nanoseconds, captured, length;
};

static struct trip_domain *domain;
static struct trip_port *port;
static struct trip_cntr *cntrs[CNTRS_MAX][2], *sink;
static struct trip_flow *flows[CNTRS_MAX];
/* What the clock of the home is polled with. */
static uint64_t now;

static void
need(int error, const char *what)
{
	if (error == 0)
		return;
	fprintf(stderr, "rates: %s: %s\n", what, trip_error_message());
	exit(EXIT_FAILURE);
}

uint16_t
replay_count(struct replay *replay, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	return trip_port_burst(port, queue, pkts, n);
}

static uint64_t
clock_of(struct trip_home *home)
{
	return now;
}

static void
poll_home(struct trip_home *home)
{
	struct trip_work_event event;

	while (trip_home_iterate(home, now) > 0)
		;
	while (trip_work_read(domain, &event, sizeof(event), 1) == 1)
		printf("{\"when\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"value\": %" PRIu64 "}\n",
			event.context, trip_clock_ns(&domain->engine, now) - BEGIN_NS, event.value);
}

/* The first moment at which the clock shows so much, and on the way each at which the home wants to
 * look at it. */
static void
go_to(uint64_t ns)
{
	struct trip_home *home = domain->engine.homes[0];

	while (trip_clock_ns(&domain->engine, now) < ns) {
		uint64_t step = (ns - trip_clock_ns(&domain->engine, now)) *
				(domain->engine.tsc_hz / 1000000) / 2000;

		now += RTE_MAX(step, UINT64_C(1));
		if (now >= home->clock_tsc) {
			now = home->clock_tsc;
			poll_home(home);
		}
	}
	poll_home(home);
}

static void
set_all(uint64_t ns)
{
	struct trip_home *home = domain->engine.homes[0];

	go_to(BEGIN_NS + ns);
	/* All that flows have counted is in the counters. */
	home->fed.next_tsc = now;
	trip_home_timers(home);
	poll_home(home);
	for (unsigned int i = 0; i < CNTRS_MAX; i++)
		for (unsigned int kind = 0; kind < 2 && cntrs[i][kind] != NULL; kind++)
			need(trip_cntr_set(cntrs[i][kind], 0), "set");
	poll_home(home);
}

static void
open_count(const struct trip_rules_count *rule, unsigned int index)
{
	const struct rte_flow_action actions[] = {
		{.type = RTE_FLOW_ACTION_TYPE_COUNT}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	const struct trip_flow_attr attr = {
		.size = sizeof(attr), .cntrs = cntrs[index], .n_cntrs = 2};
	struct rte_flow_error error;

	for (unsigned int i = 0; i < 2; i++) {
		const struct trip_cntr_attr cntr = {.size = sizeof(cntr),
			.events = i == 0 ? TRIP_CNTR_EVENTS_COMP : TRIP_CNTR_EVENTS_BYTES};

		need(trip_cntr_open(domain, &cntr, &cntrs[index][i], NULL), rule->name);
	}
	need(trip_flow_create(port, &attr, rule->patterns[0], actions, &flows[index], &error),
		rule->name);
}

static void
queue_when(const struct trip_rules_when *rule, unsigned int index)
{
	struct trip_work work = {
		.size = sizeof(work),
		.triggering_cntr = cntrs[rule->index][rule->ref == TRIP_RULES_REF_BYTES],
		.threshold = rule->threshold,
		.interval = rule->every,
		.context = index,
		.op_type = TRIP_OP_CNTR_ADD,
		.flags = TRIP_WORK_COMPLETION,
		.condition = &rule->condition,
	};

	work.op.cntr.cntr = sink;
	need(trip_work_queue(domain, &work, NULL), rule->source);
}

static void
play(FILE *file, uint16_t queues, char **sets)
{
	static uint8_t bytes[FRAME_BYTES_MAX];
	struct trip_home *home = domain->engine.homes[0];
	struct rte_mbuf *pkts[REPLAY_BURST_MAX], *mine[REPLAY_BURST_MAX];
	struct record record = {0};
	uint64_t ns, bursts = 0;
	bool more = fread(&record, sizeof(record), 1, file) == 1;

	while (more) {
		uint16_t n = 0;

		ns = record.seconds * UINT64_C(1000000000) + record.nanoseconds;
		do {
			if (record.captured > FRAME_BYTES_MAX ||
				fread(bytes, record.captured, 1, file) != 1)
				exit(EXIT_FAILURE);
			mine[n] = pkts[n] = mbuf_segment(bytes, record.captured);
			n++;
			more = fread(&record, sizeof(record), 1, file) == 1;
		} while (more && n < REPLAY_BURST_MAX &&
			 record.seconds * UINT64_C(1000000000) + record.nanoseconds == ns);
		for (; *sets != NULL && strtoull(*sets, NULL, 0) <= ns; sets++)
			set_all(strtoull(*sets, NULL, 0));
		go_to(BEGIN_NS + ns);
		(void)trip_port_burst(port, (uint16_t)(bursts++ % queues), pkts, n);
		poll_home(home);
		while (n > 0)
			mbuf_release(mine[--n]);
	}
}

static void
open_all(const struct trip_rules *rules, uint16_t queues)
{
	const struct trip_domain_attr attr = {
		.size = sizeof(attr), .progress = TRIP_PROGRESS_MANUAL, .max_queues = queues};
	const struct trip_port_attr port_attr = {
		.size = sizeof(port_attr), .mode = TRIP_PORT_BURST};
	const struct trip_cntr_attr cntr = {.size = sizeof(cntr)};
	struct trip_home *home;

	need(trip_domain_open(&attr, &domain, NULL), "domain");
	need(trip_port_open(domain, REPLAY_PORT, &port_attr, &port), "port");
	need(trip_cntr_open(domain, &cntr, &sink, NULL), "sink");
	for (unsigned int i = 0; i < rules->n_counts && i < CNTRS_MAX; i++)
		open_count(&rules->counts[i], i);
	home = domain->engine.homes[0];
	now = rte_rdtsc();
	home->clock = clock_of;
	/* Counters are refreshed, so that all windows begin there. */
	go_to(BEGIN_NS);
	for (unsigned int i = 0; i < rules->n_whens; i++)
		queue_when(&rules->whens[i], i);
	poll_home(home);
}

int
main(int argc, char **argv)
{
	struct replay replay = {
		.queues = argc >= 4 ? (uint16_t)strtoul(argv[3], NULL, 0) : 0, .room = 2048};
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	uint32_t header[6];
	FILE *file = argc >= 4 ? fopen(argv[2], "rb") : NULL;

	if (file == NULL || fread(header, sizeof(header), 1, file) != 1 || header[0] != 0xa1b23c4d)
		return 2;
	if (trip_rules_parse_file(argv[1], false, &rules, &errors) != 0) {
		trip_rules_errors_print(errors, stderr);
		return 2;
	}
	if (trip_eal_init("net_null0") < 0 || replay_device_start(&replay) != 0)
		return EXIT_FAILURE;
	open_all(rules, replay.queues);
	play(file, replay.queues, &argv[4]);
	fclose(file);
	/* Its clock is ahead of the machine's: nothing is closed any more. */
	fflush(stdout);
	_Exit(EXIT_SUCCESS);
}
