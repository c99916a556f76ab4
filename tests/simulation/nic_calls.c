/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC's driver: rules by calls, counters, and the port. */
#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include "nic_inside.h"

void
nic_enter(const char *what)
{
	sim_expect(atomic_exchange(&nic.inside, 1) == 0, "two threads are in the driver");
	sim_expect(!nic.recovers, "the driver is asked before it has told that it is back");
	if (what != NULL)
		sim_tell("the driver %s", what);
}

int
nic_leave(int error, struct rte_flow_error *told)
{
	/* What it says is as it was. */
	sim_linger();
	atomic_store(&nic.inside, 0);
	if (nic.is_awaited)
		sim_progress();
	nic.is_awaited = false;
	if (error == 0)
		return 0;
	sim_tell("and says no: %d", error);
	return rte_flow_error_set(
		told, error, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL, "the NIC says no");
}

/* --- rules --- */

struct nic_rule *
nic_find_rule(struct rte_flow *handle)
{
	struct nic_rule *rule = (struct nic_rule *)handle;

	sim_expect(nic.removed || nic.surprises || !rule->dead,
		"the handle of a rule that is dead is used");
	return rule;
}

static struct nic_counter *
find_counter(const struct rte_flow_action_handle *handle)
{
	struct nic_counter *counter = (struct nic_counter *)(uintptr_t)handle;

	sim_expect(nic.surprises || !counter->dead, "the handle of a counter that is dead is used");
	return counter;
}

bool
nic_refers_to_dead(const struct rte_flow_action *actions)
{
	for (; actions->type != RTE_FLOW_ACTION_TYPE_END; actions++)
		if (actions->type == RTE_FLOW_ACTION_TYPE_INDIRECT &&
			find_counter(actions->conf)->dead)
			return true;
	return false;
}

struct nic_rule *
nic_make_rule(const struct rte_flow_attr *attr, const struct rte_flow_item *pattern,
	const struct rte_flow_action *actions)
{
	const struct rte_flow_item_udp *udp = pattern[1].spec;
	struct nic_rule *rule = &nic.rules[nic.n_rules++];

	sim_expect(nic.n_rules <= NIC_RULES, "more rules than there is room for");
	*rule = (struct nic_rule){
		.flow = rte_be_to_cpu_16(udp->hdr.dst_port), .priority = attr->priority};
	for (; actions->type != RTE_FLOW_ACTION_TYPE_END; actions++) {
		rule->drop |= actions->type == RTE_FLOW_ACTION_TYPE_DROP;
		rule->jump |= actions->type == RTE_FLOW_ACTION_TYPE_JUMP;
		if (actions->type == RTE_FLOW_ACTION_TYPE_INDIRECT)
			rule->counter = find_counter(actions->conf);
	}
	if (rule->counter == NULL && !rule->jump)
		rule->counter = nic_make_counter(rule->flow, true);
	if (rule->counter != NULL) {
		rule->counter->flow = rule->flow;
		rule->counter->out = 0;
	}
	return rule;
}

struct rte_flow *
rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	struct nic_rule *rule = NULL;
	int why = nic.shape.queue > 0 ? ENOTSUP : nic_refuses(nic.shape.bad_rules);

	nic_enter("puts a rule in");
	/* Meanwhile the port may have. */
	if (why == 0 && (nic.stopped || nic.away || nic_refers_to_dead(actions))) {
		nic.has_refused |= nic.away;
		why = EINVAL;
	}
	if (why == 0) {
		rule = nic_make_rule(attr, pattern, actions);
		rule->stands = true;
	}
	(void)nic_leave(why, error);
	return (struct rte_flow *)rule;
}

/* It was read, or was not to be, right before; and nothing came to it since, where another stands
 * above it. */
static void
expect_read(const struct nic_rule *rule)
{
	const struct nic_counter *counter = rule->counter;
	const struct nic_rule *above = nic_rule_of_flow(rule->flow);

	sim_expect(nic.removed || counter->asked == nic_turn(),
		"a rule goes, and nobody has asked for its last counts");
	sim_expect(above == NULL || above->priority > rule->priority || counter->failed ||
			   nic.removed || counter->read == counter->packets ||
			   nic.flows[rule->flow].stuck > 0,
		"a rule that was replaced goes before its last counts are read");
}

int
rte_flow_destroy(uint16_t port_id, struct rte_flow *flow, struct rte_flow_error *error)
{
	struct nic_rule *rule = nic_find_rule(flow);
	int why = nic.removed ? 0 : nic_refuses(nic.shape.bad_removals);

	nic_enter("takes a rule out");
	if (rule->dead) {
		/* It is taken for one that stands. */
		rule->counter->has_failed = true;
		return nic_leave(EINVAL, error);
	}
	if (why == 0) {
		rule->dead = true;
		rule->stands = false;
		nic_note_out(rule->counter);
	} else if (nic.away) {
		/* It will die, but who asks cannot know that, and a counter may outlive it. */
		rule->counter->has_failed = true;
	} else {
		nic_cannot_take_out(rule);
	}
	if (why == 0 && rule->counter->own && !rule->counter->dead) {
		expect_read(rule);
		nic_bury_counter(rule->counter);
	}
	return nic_leave(why, error);
}

/* --- counters --- */

static int
query(struct nic_counter *counter, struct rte_flow_query_count *count, struct rte_flow_error *error)
{
	int why = nic_refuses(nic.shape.bad_readings);

	nic_enter(NULL);
	counter->asked = nic_turn();
	if (why == 0 && counter->dead)
		why = EINVAL;
	counter->failed = why != 0;
	if (why != 0)
		return nic_leave(why, error);
	if (nic.shape.lag == 0)
		counter->cached = counter->packets;
	if (counter->cached != counter->read)
		sim_tell("the driver reads %llu packets more",
			(unsigned long long)(counter->cached - counter->read));
	*count = (struct rte_flow_query_count){.hits_set = 1,
		.bytes_set = 1,
		.hits = counter->cached,
		.bytes = NIC_BYTES * counter->cached};
	if (counter->flow < NIC_FLOWS)
		nic.flows[counter->flow].read += counter->cached - counter->read;
	nic.has_read |= counter->read != counter->cached;
	counter->read = counter->cached;
	nic_hold_reading(counter);
	return nic_leave(0, error);
}

int
rte_flow_query(uint16_t port_id, struct rte_flow *flow, const struct rte_flow_action *action,
	void *data, struct rte_flow_error *error)
{
	return query(nic_find_rule(flow)->counter, data, error);
}

int
rte_flow_action_handle_query(uint16_t port_id, const struct rte_flow_action_handle *handle,
	void *data, struct rte_flow_error *error)
{
	return query(find_counter(handle), data, error);
}

struct rte_flow_action_handle *
rte_flow_action_handle_create(uint16_t port_id, const struct rte_flow_indir_action_conf *conf,
	const struct rte_flow_action *action, struct rte_flow_error *error)
{
	struct nic_counter *counter = NULL;
	int why = nic.shape.shared ? nic_refuses(0) : ENOTSUP;

	nic_enter("makes a counter");
	if (why == 0)
		counter = nic_make_counter(NIC_FLOWS, false);
	(void)nic_leave(why, error);
	return (struct rte_flow_action_handle *)counter;
}

int
rte_flow_action_handle_destroy(
	uint16_t port_id, struct rte_flow_action_handle *handle, struct rte_flow_error *error)
{
	struct nic_counter *counter = find_counter(handle);

	nic_enter("gives a counter back");
	if (nic.away || counter->dead) {
		/* Whoever gives it back does not read it again. */
		if (!counter->dead)
			nic_bury_counter(counter);
		counter->has_failed = true;
		return nic_leave(EBUSY, error);
	}
	for (unsigned int i = 0; i < nic.n_rules; i++) {
		const struct nic_rule *rule = &nic.rules[i];

		sim_expect(rule->dead || rule->counter != counter,
			"a counter is given back that a rule refers to");
	}
	sim_expect(counter->read == counter->packets || counter->failed || counter->stuck ||
			   nic_note_late(counter) || nic_may_forget(),
		"a counter is given back before its last counts are read");
	nic_bury_counter(counter);
	return nic_leave(0, error);
}

int
rte_flow_validate(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	return 0;
}

/* --- the port --- */

int
rte_eth_dev_is_valid_port(uint16_t port_id)
{
	return port_id == 0;
}

int
rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	*info = (struct rte_eth_dev_info){.driver_name = "simulated", .nb_rx_queues = 1};
	if (nic.shape.keeps_shared)
		info->dev_capa |= RTE_ETH_DEV_CAPA_FLOW_SHARED_OBJECT_KEEP;
	return 0;
}

int
rte_eth_link_get_nowait(uint16_t port_id, struct rte_eth_link *link)
{
	*link = (struct rte_eth_link){.link_speed = 100000};
	return 0;
}

int
rte_eth_stats_get(uint16_t port_id, struct rte_eth_stats *stats)
{
	return -ENOTSUP;
}

int
rte_eth_dev_callback_register(
	uint16_t port_id, enum rte_eth_event_type event, rte_eth_dev_cb_fn function, void *arg)
{
	nic.callbacks[nic.n_callbacks].event = event;
	nic.callbacks[nic.n_callbacks].function = function;
	nic.callbacks[nic.n_callbacks++].arg = arg;
	return 0;
}

int
rte_eth_dev_callback_unregister(
	uint16_t port_id, enum rte_eth_event_type event, rte_eth_dev_cb_fn function, void *arg)
{
	for (unsigned int i = 0; i < nic.n_callbacks; i++)
		if (nic.callbacks[i].event == event && nic.callbacks[i].arg == arg)
			nic.callbacks[i] = nic.callbacks[--nic.n_callbacks];
	return 0;
}
