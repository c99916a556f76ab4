/* SPDX-License-Identifier: BSD-3-Clause */
#include "harness.h"
#include "traffic.h"

#define FLOWS_MAX 512
/* A threshold may be on what an operation completes, and that again. */
#define CHAIN 3

/* Those of the running test. */
static struct trip_flow *flows[FLOWS_MAX];
static unsigned int n_flows;

struct trip_port *
traffic_open(uint16_t n_queues, const struct trip_port_attr *attr)
{
	struct trip_port *port;

	if (harness_away != NULL)
		return harness_away->open_port(n_queues, attr);
	if (trip_port_open(harness_domain, traffic_start(n_queues), attr, &port) != 0)
		fail_msg("%s", trip_error_message());
	return port;
}

void
traffic_close(struct trip_port *port)
{
	if (harness_away != NULL) {
		harness_away->close_port(port);
		return;
	}
	if (trip_port_close(port) != 0)
		fail_msg("%s", trip_error_message());
	traffic_stop();
}

const struct rte_flow_item *
traffic_pattern(uint16_t udp_port)
{
	static struct rte_flow_item_udp spec, mask;
	static const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH},
		{.type = RTE_FLOW_ITEM_TYPE_IPV4},
		{.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &spec, .mask = &mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};

	spec.hdr.dst_port = rte_cpu_to_be_16(udp_port);
	mask.hdr.dst_port = RTE_BE16(0xffff);
	return pattern;
}

struct trip_flow *
traffic_flow(struct trip_port *port, const struct trip_flow_attr *given, uint16_t udp_port)
{
	struct trip_flow_attr attr = {0};
	struct rte_flow_error error;
	struct trip_flow *flow;

	if (given != NULL)
		attr = *given;
	attr.size = sizeof(attr);
	attr.engine = traffic_engine();
	if (trip_flow_create(port, &attr, traffic_pattern(udp_port), NULL, &flow, &error) != 0)
		fail_msg("%s", error.message);
	assert_true(n_flows < FLOWS_MAX);
	flows[n_flows++] = flow;
	return flow;
}

void
traffic_flow_destroy(struct trip_flow *flow)
{
	unsigned int at = 0;

	if (trip_flow_destroy(flow) != 0)
		fail_msg("%s", trip_error_message());
	while (at < n_flows && flows[at] != flow)
		at++;
	assert_true(at < n_flows);
	flows[at] = flows[--n_flows];
}

/* A port's worker answers after it has done what was fired before, so the homes are told of both.
 */
void
traffic_settle(void)
{
	struct trip_flow_count count = {.size = sizeof(count)};

	traffic_wait();
	for (unsigned int i = 0; i < CHAIN; i++) {
		for (unsigned int f = 0; f < n_flows; f++)
			assert_int_equal(trip_flow_query(flows[f], &count), 0);
		harness_settle();
	}
}

void
traffic_only_soft(const char *reason)
{
	if (traffic_engine() == TRIP_FLOW_ENGINE_SW)
		return;
	print_message("in software only: %s\n", reason);
	skip();
}

struct trip_each *
traffic_each(struct trip_port *port, const struct trip_each_attr *given, uint16_t udp_port)
{
	struct trip_each_attr attr = *given;
	struct trip_each *each;

	if (harness_away != NULL)
		return harness_away->open_each(given, udp_port);
	attr.ports = &port;
	attr.n_ports = 1;
	attr.pattern = udp_port != 0 ? traffic_pattern(udp_port) : NULL;
	if (trip_each_open(harness_domain, &attr, &each) != 0)
		fail_msg("%s", trip_error_message());
	return each;
}

void
traffic_each_close(struct trip_each *each)
{
	if (harness_away != NULL)
		harness_away->close_each(each);
	else if (trip_each_close(each) != 0)
		fail_msg("%s", trip_error_message());
}

struct trip_each_info
traffic_each_query(const struct trip_each *each)
{
	struct trip_each_info info = {.size = sizeof(info)};

	assert_int_equal(trip_each_query(each, &info), 0);
	return info;
}
