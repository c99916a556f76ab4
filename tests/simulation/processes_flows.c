/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows in software, of the primary: they feed counters of its own and counters that it has found,
 * for which others wait, and on which they queue work. Homes hear of a burst
 * where it reaches what one waits for.
 */
#include <errno.h>
#include <string.h>

#include <rte_flow.h>
#include <rte_mbuf.h>

#include "domain/domain.h"
#include "processes_items.h"

#define BURST 8
#define BYTES 60

static struct {
	struct rte_mbuf mbufs[BURST];
	char bytes[BURST][BYTES];
} packets;

static struct flow *
find_flow(struct user *user, bool is_open)
{
	for (uint32_t i = 0; i < FLOWS; i++)
		if ((user->flows[i].flow != NULL) == is_open)
			return &user->flows[i];
	return NULL;
}

static bool
open_port(struct user *user)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	int error;

	if (user->port != NULL)
		return true;
	sim_op("opens the port");
	processes_enter(user, "trip_port_open", 0);
	error = trip_port_open(user->domain, 0, &attr, &user->port);
	processes_leave(user);
	sim_expect(
		error == 0 || processes_lacks(user), "the port cannot be opened: error %d", -error);
	if (error != 0)
		user->port = NULL;
	return error == 0;
}

/* Every packet counts on each of them, whatever others there are. */
static void
create_flow(struct user *user, const struct act *act)
{
	static const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH}, {.type = RTE_FLOW_ITEM_TYPE_END}};
	static const struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_COUNT},
		{.type = RTE_FLOW_ACTION_TYPE_PASSTHRU}, {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct handle *handle = processes_find_handle(user, act->handle, true);
	struct flow *flow = find_flow(user, false);
	const struct trip_flow_attr attr = {.size = sizeof(attr),
		.cntrs = handle != NULL ? &handle->cntr : NULL,
		.n_cntrs = 1,
		.engine = TRIP_FLOW_ENGINE_SW};
	int error;

	if (handle == NULL || flow == NULL || !open_port(user))
		return;
	sim_op("creates a flow");
	handle->worked = true;
	flow->ledger = processes_ledger(handle->cntr);
	flow->ledger->fed = true;
	flow->cntr = handle->cntr;
	flow->packets = 0;
	processes_enter(user, "trip_flow_create", 0);
	error = trip_flow_create(user->port, &attr, pattern, actions, &flow->flow, NULL);
	processes_leave(user);
	sim_expect(
		error == 0 || processes_lacks(user), "a flow cannot be created: error %d", -error);
	if (error != 0)
		flow->flow = NULL;
}

static void
check_count(const struct flow *flow)
{
	struct trip_flow_count count = {.size = sizeof(count)};
	int error = trip_flow_query(flow->flow, &count);

	sim_expect(error == 0 && (processes_garbage_is_in(processes.opening) ||
					 (count.packets == flow->packets &&
						 count.bytes == flow->packets * BYTES)),
		"a flow has counted %llu packets, %llu bytes, and %llu packets came",
		(unsigned long long)count.packets, (unsigned long long)count.bytes,
		(unsigned long long)flow->packets);
}

static void
destroy_flow(struct user *user, struct flow *flow)
{
	int error;

	sim_op("destroys a flow");
	check_count(flow);
	processes_enter(user, "trip_flow_destroy", 0);
	error = trip_flow_destroy(flow->flow);
	processes_leave(user);
	sim_expect(error == 0, "a flow is not destroyed: error %d", -error);
	flow->flow = NULL;
}

static void
bring_burst(struct user *user, uint32_t n)
{
	struct rte_mbuf *pkts[BURST];

	for (uint32_t i = 0; i < n; i++) {
		packets.mbufs[i] = (struct rte_mbuf){.buf_addr = packets.bytes[i],
			.data_len = BYTES,
			.pkt_len = BYTES,
			.nb_segs = 1};
		pkts[i] = &packets.mbufs[i];
	}
	sim_op("receives a burst of %u", n);
	for (uint32_t i = 0; i < FLOWS; i++)
		if (user->flows[i].flow != NULL)
			user->flows[i].ledger->high += n;
	sim_expect(trip_port_burst(user->port, 0, pkts, (uint16_t)n) == n ||
			   processes_garbage_is_in(processes.opening),
		"a burst comes back with less, and no rule drops");
	for (uint32_t i = 0; i < FLOWS; i++) {
		if (user->flows[i].flow == NULL)
			continue;
		user->flows[i].packets += n;
		user->flows[i].ledger->low += n;
	}
}

bool
processes_flows_feed(const struct user *user, const struct trip_cntr *cntr)
{
	for (uint32_t i = 0; i < FLOWS; i++)
		if (user->flows[i].flow != NULL && user->flows[i].cntr == cntr)
			return true;
	return false;
}

void
processes_act_on_flow(struct user *user, const struct act *act)
{
	struct flow *flow = find_flow(user, true);

	if (act->kind == ACT_FLOW)
		create_flow(user, act);
	else if (act->kind == ACT_UNFLOW && flow != NULL)
		destroy_flow(user, flow);
	else if (act->kind == ACT_BURST && user->port != NULL)
		bring_burst(user, act->value % BURST + 1);
}

void
processes_end_flows(struct user *user)
{
	struct flow *flow;
	int error;

	while ((flow = find_flow(user, true)) != NULL)
		destroy_flow(user, flow);
	if (user->port == NULL)
		return;
	sim_op("closes the port");
	error = trip_port_close(user->port);
	sim_expect(error == 0, "the port is not closed: error %d", -error);
	user->port = NULL;
}
