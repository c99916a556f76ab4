/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bypass with aging. The application has seen enough of a connection after INSPECT packets. The
 * rest goes past it, by a rule that is made on demand, in hardware where the port can, which counts
 * and drops, and goes when it has been idle for IDLE_NS. The application keeps no table: an `each`
 * finds connections, and completion events say which rules have gone.
 *
 *	trip-bypass -l 0 --vdev=net_ring0
 */
#include "example.h"

#define CONNECTIONS 64u
#define PACKETS 100u /* of each connection, at a time */
#define TIMES 2u
#define INSPECT 10u
#define IDLE_NS UINT64_C(200000000)
/* A connection is forgotten before its rule goes, and so is new when it comes again. */
#define FORGET_US (IDLE_NS / 2000)

static struct rte_mempool *pool;
static struct trip_domain *domain;
static struct trip_port *port;
static struct trip_each *connections;
static struct rule {
	struct trip_flow *flow;
	struct trip_cntr *packets;
} rules[4 * CONNECTIONS * TIMES];
static uint64_t sent, inspected, bypassed;
static uint32_t begun, ended;

/* What a key has, in this order, as it is on the wire. */
static const struct trip_each_part parts[] = {{TRIP_EACH_IPV4_SRC, 0}, {TRIP_EACH_IPV4_DST, 0},
	{TRIP_EACH_L4_SRC, 0}, {TRIP_EACH_L4_DST, 0}};

/* A rule for the connection that has tripped, and the item that ends it. */
static void
begin(const struct trip_each_trip *trip)
{
	struct rule *rule = &rules[begun];
	/* Their default masks are of addresses and ports. */
	struct rte_flow_item_ipv4 ip = {0};
	struct rte_flow_item_udp udp = {0};
	const struct rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{RTE_FLOW_ITEM_TYPE_IPV4, &ip, NULL, NULL},
		{RTE_FLOW_ITEM_TYPE_UDP, &udp, NULL, NULL}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	const struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT},
		{.type = RTE_FLOW_ACTION_TYPE_DROP}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	const struct trip_flow_attr attr = {sizeof(attr), .cntrs = &rule->packets, .n_cntrs = 1};
	const struct trip_condition idle = {
		sizeof(idle), TRIP_CONDITION_IDLE, .when.idle.time = IDLE_NS};
	struct trip_work end = {sizeof(end), .condition = &idle, .op_type = TRIP_OP_FLOW_DELETE,
		.flags = TRIP_WORK_COMPLETION, .context = begun++};

	memcpy(&ip.hdr.src_addr, trip->key, 4);
	memcpy(&ip.hdr.dst_addr, trip->key + 4, 4);
	memcpy(&udp.hdr, trip->key + 8, 4);
	must(trip_cntr_open(domain, NULL, &rule->packets, NULL) == 0 &&
			trip_flow_create(port, &attr, pattern, actions, &rule->flow, NULL) == 0,
		"a connection has a rule");
	end.triggering_cntr = rule->packets;
	end.op.flow = rule->flow;
	must(trip_work_queue(domain, &end, NULL) == 0, "the rule ends when it is idle");
}

/* What the rule has counted is all that has gone past the application. */
static void
end(const struct trip_work_event *event)
{
	struct trip_flow_count count = {.size = sizeof(count)};
	struct rule *rule = &rules[event->context];

	must(event->result == 0 && trip_flow_query(rule->flow, &count) == 0 &&
			trip_flow_destroy(rule->flow) == 0 && trip_cntr_close(rule->packets) == 0,
		"a rule that is idle goes");
	bypassed += count.packets;
	ended++;
}

/* The application's loop. What it receives, it looks at. */
static void
turn(void)
{
	struct trip_work_event events[BURST];
	struct trip_each_trip trips[BURST];
	int n;

	inspected += receive_some(port, BURST);
	trip_progress(domain);
	/* Trips have the numbers from 0 on, and rules have those of their trips. */
	n = trip_each_trips(connections, begun, trips, sizeof(trips[0]), BURST);
	must(begun + BURST <= RTE_DIM(rules), "there is room for rules");
	for (int i = 0; i < n; i++)
		begin(&trips[i]);
	n = trip_work_read(domain, events, sizeof(events[0]), BURST);
	for (int i = 0; i < n; i++)
		end(&events[i]);
}

int
main(int argc, char **argv)
{
	const struct trip_domain_attr room = {
		.size = sizeof(room), .progress = TRIP_PROGRESS_MANUAL, .each_bytes = 1 << 20};
	const struct trip_port_attr by_call = {sizeof(by_call), TRIP_PORT_BURST};
	const struct trip_each_when enough = {.of = TRIP_EACH_PACKETS, .count = INSPECT};
	const struct trip_each_attr each = {sizeof(each), .name = "connections", .ports = &port,
		.n_ports = 1, .parts = parts, .n_parts = RTE_DIM(parts), .max = 4 * CONNECTIONS,
		.idle_us = FORGET_US, .whens = &enough, .n_whens = 1};

	pool = start(argc, argv);
	must(trip_domain_open(&room, &domain, NULL) == 0, "a domain opens");
	must(trip_port_open(domain, 0, &by_call, &port) == 0, "port 0 is in the domain");
	must(trip_each_open(domain, &each, &connections) == 0, "connections are counted");
	for (unsigned int time = 1; time <= TIMES; time++) {
		for (unsigned int i = 0; i < PACKETS * CONNECTIONS; i += BURST) {
			sent += send_udp(pool, i % CONNECTIONS);
			turn();
		}
		while (begun < time * CONNECTIONS || ended < begun)
			turn();
	}
	printf("of %" PRIu64 " packets %" PRIu64 " passed by, by %u rules\n", sent, bypassed,
		begun);
	/* More, where this was held up for so long that some were idle. */
	must(begun >= TIMES * CONNECTIONS, "each connection is bypassed each time");
	must(inspected + bypassed == sent, "none is lost");
	must(trip_each_close(connections) == 0 && trip_port_close(port) == 0 &&
			trip_domain_close(domain) == 0,
		"all of it closes");
	return finish();
}
