/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process does with flows in software, attached or the primary: they feed counters of its
 * own and counters that it has found, for which others wait and on which they queue work. It
 * receives bursts on a queue that it has claimed; homes hear of one where it reaches what somebody
 * waits for.
 */
#include <errno.h>
#include <string.h>

#include <rte_flow.h>
#include <rte_mbuf.h>

#include "domain/domain.h"
#include "flow/port.h"
#include "processes_rules.h"

#define BURST 8
#define BYTES 60

static struct packets {
	struct rte_mbuf mbufs[BURST];
	char bytes[BURST][BYTES];
	bool freed[BURST];
} all_packets[CLIENTS + 1];

void __real_rte_pktmbuf_free_bulk(struct rte_mbuf **mbufs, unsigned int count);
void __wrap_rte_pktmbuf_free_bulk(struct rte_mbuf **mbufs, unsigned int count);

/* From the nth on, the first that is there, or is not; NULL: there is none. */
static struct flow *
find_flow(struct user *user, uint32_t from, bool is_open)
{
	for (uint32_t i = 0; i < FLOWS; i++) {
		struct flow *flow = &user->flows[(from + i) % FLOWS];

		if ((flow->flow != NULL) == is_open)
			return flow;
	}
	return NULL;
}

struct flow *
processes_find_flow(struct user *user, uint32_t from)
{
	return find_flow(user, from, true);
}

/* What a call may say, beside what its own reasons are. */
static bool
is_explained(struct user *user, int error)
{
	user->is_orphan |= error == -ESHUTDOWN;
	return error == 0 || (error == -ESHUTDOWN && user->number != PRIMARY) ||
	       (error == -EMFILE && processes.files != 0) || processes_lacks(user);
}

/* --- the port --- */

static int
open_or_find(struct user *user)
{
	const struct trip_port_attr attr = {.size = sizeof(attr), .mode = TRIP_PORT_BURST};
	const struct user *primary = processes_primary();
	const struct trip_port *there = primary->port;
	int error;

	if (user->number == PRIMARY)
		return trip_port_open(user->domain, 0, &attr, &user->port);
	error = trip_port_find(user->domain, 0, &user->port);
	sim_expect(error != -ENOENT || there == NULL || there != primary->port || primary->closes ||
			   processes.opening != user->opening,
		"the primary has a port, and %s does not find it", user->name);
	return error == -ENOENT ? 1 : error;
}

static bool
open_port(struct user *user)
{
	struct trip_port *port = user->port;
	int error;

	if (port != NULL)
		return true;
	sim_op("%s the port", user->number == PRIMARY ? "opens" : "finds");
	processes_enter(user, user->number == PRIMARY ? "trip_port_open" : "trip_port_find", 0);
	error = open_or_find(user);
	processes_leave(user);
	if (error != 0)
		user->port = NULL;
	sim_expect(error == 1 || is_explained(user, error), "%s is not to have the port: error %d",
		user->name, -error);
	return error == 0;
}

static void
close_port(struct user *user)
{
	bool has_flows = find_flow(user, 0, true) != NULL;
	int error;

	if (user->port == NULL)
		return;
	sim_op("closes the port");
	memset(user->claims, 0, sizeof(user->claims));
	user->closes = true;
	processes_enter(user, "trip_port_close", 0);
	error = trip_port_close(user->port);
	processes_leave(user);
	user->closes = false;
	/* Others may have found the primary's. */
	sim_expect(error == -EBUSY ? has_flows || user->number == PRIMARY
				   : is_explained(user, error) && (error != 0 || !has_flows),
		"%s cannot close its port: error %d", user->name, -error);
	if (error == 0)
		user->port = NULL;
}

/* --- flows --- */

/* All that may be are there, or on their way; one whose burst is stopped is kept back. */
static bool
may_be_full(const struct user *user)
{
	unsigned int n = user->most_flows;

	for (uint32_t i = 0; i <= CLIENTS; i++)
		n += processes.users[i].changes_flows && &processes.users[i] != user;
	return n >= processes.attr.max_flows || processes.killed ||
	       processes_is_anybody_stopped() || processes_garbage_is_in_claims(user->opening);
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
	struct flow *flow = find_flow(user, 0, false);
	struct trip_flow_attr attr = {.size = sizeof(attr),
		.cntrs = handle != NULL ? &handle->cntr : NULL,
		.n_cntrs = 1,
		.engine = TRIP_FLOW_ENGINE_SW};
	int error;

	if (handle == NULL || flow == NULL || !open_port(user))
		return;
	sim_op("creates a flow");
	handle->worked = true;
	flow->cntr = handle->cntr;
	user->most_flows = processes_rules_alive(user->opening);
	user->changes_flows = true;
	processes_enter(user, "trip_flow_create", 0);
	error = trip_flow_create(user->port, &attr, pattern, actions, &flow->flow, NULL);
	processes_leave(user);
	user->changes_flows = false;
	if (error != 0)
		flow->flow = NULL;
	sim_expect(error == -ENOSPC ? may_be_full(user) : is_explained(user, error),
		"%s cannot create a flow: error %d", user->name, -error);
	flow->rule = error == 0 ? processes_rule_made(user, flow->flow->index) : NULL;
}

/* What has come before the call has counted, and what comes behind it has not. */
static void
query_flow(struct user *user, const struct flow *flow)
{
	struct trip_flow_count count = {.size = sizeof(count)};
	uint64_t low = flow->rule != NULL ? flow->rule->low : 0;
	bool is_known;
	int error;

	processes_enter(user, "trip_flow_query", 0);
	error = trip_flow_query(flow->flow, &count);
	processes_leave(user);
	is_known = flow->rule != NULL && !processes_garbage_is_in(user->opening);
	sim_expect(is_explained(user, error), "a flow of %s is not to be asked: error %d",
		user->name, -error);
	sim_expect(error != 0 || !is_known ||
			   (count.packets >= low && count.packets <= flow->rule->high),
		"a flow has counted %llu packets, and %llu to %llu came",
		(unsigned long long)count.packets, (unsigned long long)low,
		(unsigned long long)(is_known ? flow->rule->high : 0));
}

static void
retire_flow(struct user *user, const struct flow *flow)
{
	int error;

	sim_op("retires a flow");
	if (flow->rule != NULL)
		flow->rule->ending = true;
	processes_enter(user, "trip_flow_retire", 0);
	error = trip_flow_retire(flow->flow);
	processes_leave(user);
	sim_expect(is_explained(user, error), "a flow is not retired: error %d", -error);
	if (error == 0 && flow->rule != NULL)
		flow->rule->deleted = true;
}

static void
destroy_flow(struct user *user, struct flow *flow)
{
	bool refers = processes_items_refer_to_flow(user, flow->rule);
	int error;

	sim_op("destroys a flow");
	query_flow(user, flow);
	if (flow->rule != NULL)
		flow->rule->ending = true;
	user->changes_flows = true;
	processes_enter(user, "trip_flow_destroy", 0);
	error = trip_flow_destroy(flow->flow);
	processes_leave(user);
	user->changes_flows = false;
	sim_expect(error == -EBUSY ? refers : is_explained(user, error),
		"a flow is not destroyed: error %d", -error);
	if (error != 0)
		return;
	flow->flow = NULL;
	if (flow->rule != NULL)
		processes_items_let_go(user, 0, flow->rule);
}

bool
processes_flows_feed(const struct user *user, const struct trip_cntr *cntr)
{
	for (uint32_t i = 0; i < FLOWS; i++)
		if (user->flows[i].flow != NULL && user->flows[i].cntr == cntr)
			return true;
	return false;
}

/* --- bursts --- */

/* What a rule drops. */
void
__wrap_rte_pktmbuf_free_bulk(struct rte_mbuf **mbufs, unsigned int count)
{
	if (sim_process_self() == NULL) {
		__real_rte_pktmbuf_free_bulk(mbufs, count);
		return;
	}
	for (unsigned int i = 0; i < count; i++) {
		size_t owner =
			(size_t)((char *)mbufs[i] - (char *)all_packets) / sizeof(*all_packets);
		struct packets *packets = &all_packets[owner];
		size_t packet = (size_t)(mbufs[i] - packets->mbufs);

		sim_expect(owner <= CLIENTS && packet < BURST, "a packet is freed that is none");
		sim_expect(!packets->freed[packet], "a packet is freed twice");
		packets->freed[packet] = true;
	}
}

static void
check_packets(
	const struct packets *packets, struct rte_mbuf *const *pkts, uint32_t n, uint32_t kept)
{
	unsigned int n_freed = 0;

	for (uint32_t i = 0; i < n; i++)
		n_freed += packets->freed[i];
	sim_expect(
		n_freed == n - kept, "of %u packets %u are left, and %u freed", n, kept, n_freed);
	for (uint32_t i = 0; i < kept; i++)
		sim_expect(!packets->freed[pkts[i] - packets->mbufs],
			"a packet is left over that has been freed");
}

/* Nobody else has it: counts of a queue have one writer, unless somebody has written who it is. */
static void
note_claim(struct user *user, uint32_t queue)
{
	for (uint32_t i = 0; i <= CLIENTS; i++) {
		const struct user *other = &processes.users[i];

		sim_expect(other == user || !other->claims[queue] || other->process == NULL ||
				   !sim_process_lives(other->process) ||
				   other->opening != user->opening ||
				   processes_garbage_is_in_claims(user->opening),
			"%s has a queue that is %s's", user->name, other->name);
	}
	user->claims[queue] = true;
}

static void
bring_burst(struct user *user, uint32_t queue, uint32_t n)
{
	struct packets *packets = &all_packets[user->number];
	const struct trip_port_queue *polled = &user->port->sides[TRIP_FLOW_INGRESS].queues[queue];
	struct rte_mbuf *pkts[BURST];
	uint32_t kept;

	for (uint32_t i = 0; i < n; i++) {
		packets->freed[i] = false;
		packets->mbufs[i] = (struct rte_mbuf){.buf_addr = packets->bytes[i],
			.data_len = BYTES,
			.pkt_len = BYTES,
			.nb_segs = 1};
		pkts[i] = &packets->mbufs[i];
	}
	sim_op("receives a burst of %u on queue %u", n, queue);
	processes_burst_begin(user, n);
	kept = trip_port_burst(user->port, (uint16_t)queue, pkts, (uint16_t)n);
	if (polled->claimed && user->opening == processes.opening)
		note_claim(user, queue);
	processes_burst_end(user, polled->claimed, kept);
	check_packets(packets, pkts, n, kept);
}

static void
release_queue(struct user *user, uint32_t queue)
{
	int error;

	if (!user->claims[queue])
		return;
	sim_op("gives queue %u back", queue);
	user->claims[queue] = false;
	error = trip_port_release(user->port, TRIP_FLOW_INGRESS, (uint16_t)queue);
	sim_expect(error == 0 || (error == -ESHUTDOWN && user->number != PRIMARY),
		"a queue is not given back: error %d", -error);
}

/* --- all of it --- */

bool
processes_act_on_flow(struct user *user, const struct act *act)
{
	struct flow *flow = find_flow(user, act->handle, true);
	uint32_t queue = act->seed % QUEUES;

	if (act->kind == ACT_FLOW)
		create_flow(user, act);
	else if (act->kind == ACT_BURST && open_port(user))
		bring_burst(user, queue, act->value % BURST + 1);
	else if (act->kind == ACT_RELEASE)
		release_queue(user, queue);
	else if (act->kind == ACT_UNFLOW && flow != NULL && act->value % 4 == 0)
		retire_flow(user, flow);
	else if (act->kind == ACT_UNFLOW && flow != NULL)
		destroy_flow(user, flow);
	return act->kind == ACT_FLOW || act->kind == ACT_BURST || act->kind == ACT_RELEASE ||
	       act->kind == ACT_UNFLOW;
}

void
processes_end_flows(struct user *user)
{
	for (uint32_t i = 0; i < FLOWS; i++)
		if (user->flows[i].flow != NULL)
			destroy_flow(user, &user->flows[i]);
	close_port(user);
}

bool
processes_has_flows(const struct user *user)
{
	return user->port != NULL;
}

void
processes_flows_leave(struct user *user)
{
	processes_rules_leave(user);
	user->port = NULL;
	memset(user->flows, 0, sizeof(user->flows));
	memset(user->claims, 0, sizeof(user->claims));
}
