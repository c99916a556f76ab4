/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts frames of a file, or of a device, by the rules of a file, and tells as JSON what each rule
 * has counted. It is what the truth tests compare other tools with: any number of queues, any
 * layout of a packet in segments, and of each frame, which rules took it.
 *
 *	replay --rules FILE --pcap FILE [--queues N] [--burst N] [--segment N [--random]] [--strip]
 *		[--by-frame]
 *	replay --rules FILE --vdev DEVICE --frames N [--queues N] [--burst N] [--room N]
 *		[--callback]
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rules.h>
#include <trip.h>

#include "replay.h"
#include "trip_eal.h"

#define EVENTS 2
#define VISIBLE_SECONDS 10

/* What a rule counts: a flow for each of its patterns, all on its counters. */
struct flow {
	const struct trip_rules_count *rule;
	struct trip_flow **patterns;
	unsigned int n_patterns; /* that are open */
	struct trip_cntr *cntrs[EVENTS];
	uint64_t last;
	uint64_t *frames; /* that it counted, from 1 */
	size_t n_frames;
};

static struct trip_domain *domain;
static struct trip_port *port;
static struct flow *flows;
static unsigned int n_flows;

static int
fail(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, trip_error_message());
	return -1;
}

/* --- the rules --- */

static int
open_flow(struct flow *flow)
{
	const struct trip_rules_count *rule = flow->rule;
	struct rte_flow_action actions[4] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT}};
	struct trip_cntr_attr cntr = {.size = sizeof(cntr)};
	struct trip_flow_attr attr = {.size = sizeof(attr),
		.cntrs = flow->cntrs,
		.n_cntrs = EVENTS,
		.priority = rule->priority};
	struct rte_flow_error error = {0};
	unsigned int i, n = 1;

	for (i = 0; i < EVENTS; i++) {
		cntr.events = i == 0 ? TRIP_CNTR_EVENTS_COMP : TRIP_CNTR_EVENTS_BYTES;
		if (trip_cntr_open(domain, &cntr, &flow->cntrs[i], NULL) != 0)
			return fail(rule->name);
	}
	if (rule->actions & TRIP_RULES_ACTION_DROP)
		actions[n++].type = RTE_FLOW_ACTION_TYPE_DROP;
	if (rule->also || rule->actions & TRIP_RULES_ACTION_PASSTHRU)
		actions[n++].type = RTE_FLOW_ACTION_TYPE_PASSTHRU;
	actions[n].type = RTE_FLOW_ACTION_TYPE_END;
	flow->patterns = calloc(rule->n_patterns, sizeof(struct trip_flow *));
	if (flow->patterns == NULL)
		return -1;
	for (; flow->n_patterns < rule->n_patterns; flow->n_patterns++)
		if (trip_flow_create(port, &attr, rule->patterns[flow->n_patterns], actions,
			    &flow->patterns[flow->n_patterns], &error) != 0)
			return fail(rule->name);
	return 0;
}

static uint32_t
count_patterns(const struct trip_rules *rules)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < rules->n_counts; i++)
		n += rules->counts[i].n_patterns;
	return n;
}

static int
open_domain(const struct replay *replay, const struct trip_rules *rules)
{
	const struct trip_domain_attr attr = {.size = sizeof(attr),
		.progress = TRIP_PROGRESS_MANUAL,
		.max_flows = count_patterns(rules) + 1,
		.max_cntrs = EVENTS * rules->n_counts + 16,
		.max_queues = replay->queues};
	const struct trip_port_attr port_attr = {.size = sizeof(port_attr),
		.mode = replay->callback ? TRIP_PORT_CALLBACK : TRIP_PORT_BURST};

	if (trip_domain_open(&attr, &domain, NULL) != 0)
		return fail("domain");
	if (trip_port_open(domain, REPLAY_PORT, &port_attr, &port) != 0)
		return fail("port");
	flows = calloc(rules->n_counts + 1, sizeof(*flows));
	if (flows == NULL)
		return -1;
	for (; n_flows < rules->n_counts; n_flows++) {
		flows[n_flows].rule = &rules->counts[n_flows];
		if (open_flow(&flows[n_flows]) != 0)
			return -1;
	}
	return 0;
}

/* Everything is given back: what stays behind is a leak that AddressSanitizer tells. */
static int
close_domain(void)
{
	int ret = 0;

	for (unsigned int i = 0; i < n_flows; i++) {
		while (flows[i].n_patterns > 0)
			ret |= trip_flow_destroy(flows[i].patterns[--flows[i].n_patterns]);
		free(flows[i].patterns);
		for (unsigned int k = 0; k < EVENTS; k++)
			ret |= trip_cntr_close(flows[i].cntrs[k]);
		free(flows[i].frames);
	}
	free(flows);
	ret |= trip_port_close(port);
	ret |= trip_domain_close(domain);
	return ret == 0 ? 0 : fail("closing");
}

/* --- counting --- */

static struct trip_flow_count
query(const struct flow *flow)
{
	struct trip_flow_count sum = {.size = sizeof(sum)}, count = {.size = sizeof(count)};

	for (unsigned int i = 0; i < flow->n_patterns; i++) {
		trip_flow_query(flow->patterns[i], &count);
		sum.packets += count.packets;
		sum.bytes += count.bytes;
	}
	return sum;
}

static void
note(struct flow *flow, uint64_t frame)
{
	struct trip_flow_count count = query(flow);

	if (count.packets == flow->last)
		return;
	if (count.packets != flow->last + 1) {
		fprintf(stderr, "replay: %s counted frame %" PRIu64 " %" PRIu64 " times\n",
			flow->rule->name, frame, count.packets - flow->last);
		exit(EXIT_FAILURE);
	}
	flow->last = count.packets;
	/* Doubled whenever full: at the powers of two. */
	if ((flow->n_frames & (flow->n_frames - 1)) == 0)
		flow->frames =
			realloc(flow->frames, (2 * flow->n_frames + 1) * sizeof(flow->frames[0]));
	if (flow->frames == NULL)
		abort();
	flow->frames[flow->n_frames++] = frame;
}

uint16_t
replay_count(struct replay *replay, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t left = trip_port_burst(port, queue, pkts, n);

	for (unsigned int i = 0; replay->by_frame && i < n_flows; i++)
		note(&flows[i], replay->received);
	return left;
}

/* --- telling --- */

static int
tell_flow(const struct flow *flow, const char *separator)
{
	uint64_t deadline = rte_rdtsc() + VISIBLE_SECONDS * rte_get_tsc_hz();
	struct trip_flow_count count = query(flow);

	/* It becomes visible with no further update, within the domain's refresh period. */
	while (trip_cntr_read(flow->cntrs[0]) != count.packets ||
		trip_cntr_read(flow->cntrs[1]) != count.bytes) {
		trip_progress(domain);
		if (rte_rdtsc() > deadline) {
			fprintf(stderr,
				"replay: %s: its counters are not what the flow has counted\n",
				flow->rule->name);
			return -1;
		}
	}
	printf("%s\n{\"name\": \"%s\", \"packets\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"frames\": [",
		separator, flow->rule->name, count.packets, count.bytes);
	for (size_t i = 0; i < flow->n_frames; i++)
		printf("%s%" PRIu64, i > 0 ? ", " : "", flow->frames[i]);
	printf("]}");
	return 0;
}

static int
tell(const struct replay *replay)
{
	int ret = 0;

	printf("{\"received\": %" PRIu64 ", \"left\": %" PRIu64 ", \"rules\": [", replay->received,
		replay->left);
	for (unsigned int i = 0; i < n_flows && ret == 0; i++)
		ret = tell_flow(&flows[i], i > 0 ? "," : "");
	printf("]}\n");
	return ret;
}

/* --- the run --- */

static int
run(struct replay *replay, const struct trip_rules *rules)
{
	int ret = replay_device_start(replay);

	if (ret != 0)
		return ret;
	ret = open_domain(replay, rules);
	if (ret == 0 && replay->pcap != NULL)
		ret = replay_file(replay);
	else if (ret == 0)
		replay_device_receive(replay);
	if (ret == 0)
		ret = tell(replay);
	if (ret == 0)
		ret = close_domain();
	replay_device_stop(replay);
	return ret;
}

static int
read_options(struct replay *replay, int argc, char **argv)
{
	static const struct option words[] = {{"rules", 1, NULL, 'r'}, {"pcap", 1, NULL, 'p'},
		{"vdev", 1, NULL, 'v'}, {"frames", 1, NULL, 'f'}, {"queues", 1, NULL, 'q'},
		{"burst", 1, NULL, 'b'}, {"segment", 1, NULL, 's'}, {"random", 0, NULL, 'R'},
		{"strip", 0, NULL, 'S'}, {"by-frame", 0, NULL, 'F'}, {"callback", 0, NULL, 'c'},
		{"room", 1, NULL, 'o'}, {"seed", 1, NULL, 'e'}, {0}};
	int word;

	while ((word = getopt_long(argc, argv, "", words, NULL)) != -1) {
		uint64_t number = optarg != NULL ? strtoull(optarg, NULL, 0) : 0;

		switch (word) {
		case 'r':
			replay->rules = optarg;
			break;
		case 'p':
			replay->pcap = optarg;
			break;
		case 'v':
			replay->vdev = optarg;
			break;
		case 'f':
			replay->frames = number;
			break;
		case 'q':
			replay->queues = (uint16_t)number;
			break;
		case 'b':
			replay->burst = (uint16_t)number;
			break;
		case 's':
			replay->segment = (uint32_t)number;
			replay->segments = REPLAY_FIXED;
			break;
		case 'R':
			replay->segments = REPLAY_RANDOM;
			break;
		case 'S':
			replay->strip = true;
			break;
		case 'F':
			replay->by_frame = true;
			replay->burst = 1;
			break;
		case 'c':
			replay->callback = true;
			break;
		case 'o':
			replay->room = (uint16_t)number;
			break;
		case 'e':
			replay->seed = number;
			break;
		default:
			return -1;
		}
	}
	return replay->rules != NULL && (replay->pcap != NULL) != (replay->vdev != NULL) &&
			       replay->queues > 0 && replay->burst > 0 &&
			       replay->burst <= REPLAY_BURST_MAX &&
			       (replay->segments == REPLAY_WHOLE || replay->segment > 0)
		       ? 0
		       : -1;
}

int
main(int argc, char **argv)
{
	struct replay replay = {.queues = 1, .burst = 32, .room = 2048, .seed = 1};
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	int ret;

	if (read_options(&replay, argc, argv) != 0) {
		fprintf(stderr, "replay: wrong options; replay.c says which there are\n");
		return 2;
	}
	if (trip_rules_parse_file(replay.rules, false, &rules, &errors) != 0) {
		trip_rules_errors_print(errors, stderr);
		trip_rules_errors_free(errors);
		return 2;
	}
	if (trip_eal_init(replay.vdev != NULL ? replay.vdev : "net_null0") < 0) {
		fprintf(stderr, "replay: EAL does not start\n");
		return EXIT_FAILURE;
	}
	ret = run(&replay, rules);
	trip_rules_free(rules);
	rte_eal_cleanup();
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
