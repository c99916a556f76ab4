/* SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include "fake_nic_inside.h"

struct fake_nic_state fake_nic_state = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .let_go = PTHREAD_COND_INITIALIZER};

static struct fake_nic_state *const nic = &fake_nic_state;

void
fake_nic_die(const char *what)
{
	fprintf(stderr, "fake_nic: %s\n", what);
	abort();
}

void
fake_nic_bury(void *dead)
{
	struct grave *grave = malloc(sizeof(*grave));

	*grave = (struct grave){.dead = dead, .next = nic->graves};
	nic->graves = grave;
}

/* Begins a call: with the lock held, and what it is to answer. */
int
fake_nic_enter(enum fake_nic_call call)
{
	pthread_mutex_lock(&nic->lock);
	if (nic->inside > 0 && call != FAKE_NIC_VALIDATE)
		fake_nic_die("two threads change rules at once");
	nic->inside += call != FAKE_NIC_VALIDATE;
	nic->called[call]++;
	nic->held++;
	while (nic->hold[call])
		pthread_cond_wait(&nic->let_go, &nic->lock);
	nic->held--;
	if (nic->fails[call] == 0)
		return 0;
	nic->fails[call]--;
	return nic->errors[call];
}

int
fake_nic_leave(enum fake_nic_call call, int error, struct rte_flow_error *told)
{
	nic->inside -= call != FAKE_NIC_VALIDATE;
	pthread_mutex_unlock(&nic->lock);
	if (error != 0 && told != NULL)
		*told = (struct rte_flow_error){
			.type = RTE_FLOW_ERROR_TYPE_HANDLE, .message = "the fake driver says no"};
	rte_errno = error;
	return -error;
}

void
fake_nic_open(const struct fake_nic *made)
{
	nic->made = *made;
	memset(nic->fails, 0, sizeof(nic->fails));
	memset(nic->hold, 0, sizeof(nic->hold));
	memset(nic->called, 0, sizeof(nic->called));
	nic->ipackets = nic->missed = 0;
	nic->max_counters = nic->n_stale_counters = 0;
	nic->n_created = 0;
	snprintf(nic->args, sizeof(nic->args), "%s", made->devargs != NULL ? made->devargs : "");
	nic->devargs = (struct rte_devargs){.args = nic->args};
}

void
fake_nic_close(void)
{
	if (nic->n_rules != 0)
		fake_nic_die("rules are left");
	if (nic->n_counters != 0)
		fake_nic_die("shared counters are left");
	while (nic->graves != NULL) {
		struct grave *grave = nic->graves;

		nic->graves = grave->next;
		free(grave->dead);
		free(grave);
	}
}

void
fake_nic_fail(enum fake_nic_call call, unsigned int n, int error)
{
	pthread_mutex_lock(&nic->lock);
	nic->fails[call] = n;
	nic->errors[call] = error;
	pthread_mutex_unlock(&nic->lock);
}

void
fake_nic_hold(enum fake_nic_call call, bool hold)
{
	pthread_mutex_lock(&nic->lock);
	nic->hold[call] = hold;
	pthread_cond_broadcast(&nic->let_go);
	pthread_mutex_unlock(&nic->lock);
}

bool
fake_nic_is_held(void)
{
	bool held;

	pthread_mutex_lock(&nic->lock);
	held = nic->held > 0;
	pthread_mutex_unlock(&nic->lock);
	return held;
}

uint64_t
fake_nic_called(enum fake_nic_call call)
{
	uint64_t n;

	pthread_mutex_lock(&nic->lock);
	n = nic->called[call];
	pthread_mutex_unlock(&nic->lock);
	return n;
}

unsigned int
fake_nic_rules(void)
{
	unsigned int n;

	pthread_mutex_lock(&nic->lock);
	n = nic->n_rules;
	pthread_mutex_unlock(&nic->lock);
	return n;
}

uint16_t
fake_nic_created(unsigned int n)
{
	uint16_t udp_port;

	pthread_mutex_lock(&nic->lock);
	udp_port = nic->created[n % FAKE_NIC_RULES_MAX];
	pthread_mutex_unlock(&nic->lock);
	return udp_port;
}

void
fake_nic_at(enum fake_nic_call call, void (*function)(void))
{
	pthread_mutex_lock(&nic->lock);
	nic->at[call] = function;
	pthread_mutex_unlock(&nic->lock);
}

/* With the lock held, which is let go meanwhile. */
void
fake_nic_run_at(enum fake_nic_call call)
{
	void (*function)(void) = nic->at[call];

	nic->at[call] = NULL;
	if (function == NULL)
		return;
	pthread_mutex_unlock(&nic->lock);
	function();
	pthread_mutex_lock(&nic->lock);
}

/* With templates the driver's own rules take all in group 0 from priority 13 on. */
static bool
is_late(const struct fake_nic_rule *rule)
{
	return nic->made.templates && rule->group == 0 && rule->priority > 12;
}

static struct fake_nic_rule *
best_of(uint32_t group, uint16_t udp_port)
{
	struct fake_nic_rule *best = NULL;

	for (unsigned int i = 0; i < nic->n_rules; i++)
		if (nic->rules[i]->group == group &&
			((nic->rules[i]->udp_port ^ udp_port) & nic->rules[i]->udp_mask) == 0 &&
			!nic->rules[i]->never && !is_late(nic->rules[i]) &&
			(best == NULL || nic->rules[i]->priority < best->priority))
			best = nic->rules[i];
	return best;
}

static uint64_t
receive(uint16_t udp_port, uint64_t packets, uint64_t bytes)
{
	struct fake_nic_rule *best = best_of(0, udp_port);

	nic->ipackets += packets;
	if (best == NULL)
		return packets;
	if (best->jump != 0) {
		best = best_of(best->jump, udp_port);
		/* What matches nothing behind a jump is dropped. */
		nic->missed += best == NULL ? packets : 0;
		if (best == NULL)
			return 0;
	}
	best->counter->packets += packets;
	best->counter->bytes += packets * bytes;
	return best->drop ? 0 : packets;
}

uint64_t
fake_nic_receive(uint16_t udp_port, uint64_t packets, uint64_t bytes)
{
	uint64_t left;

	pthread_mutex_lock(&nic->lock);
	left = receive(udp_port, packets, bytes);
	pthread_mutex_unlock(&nic->lock);
	return left;
}

static void
refresh(struct fake_nic_counter *counter)
{
	counter->seen_packets = counter->packets;
	counter->seen_bytes = counter->bytes;
}

void
fake_nic_refresh(void)
{
	pthread_mutex_lock(&nic->lock);
	for (unsigned int i = 0; i < nic->n_rules; i++)
		refresh(&nic->rules[i]->own);
	for (unsigned int i = 0; i < nic->n_counters; i++)
		refresh(nic->counters[i]);
	nic->n_stale_counters = 0;
	pthread_mutex_unlock(&nic->lock);
}

void
fake_nic_flush(void)
{
	pthread_mutex_lock(&nic->lock);
	while (nic->n_rules > 0) {
		nic->rules[--nic->n_rules]->dead = true;
		fake_nic_bury(nic->rules[nic->n_rules]);
	}
	while (nic->n_counters > 0 && !nic->made.keeps_shared) {
		nic->counters[--nic->n_counters]->dead = true;
		fake_nic_bury(nic->counters[nic->n_counters]);
	}
	pthread_mutex_unlock(&nic->lock);
}

void
fake_nic_event(enum rte_eth_event_type event)
{
	if (nic->callbacks[event].function != NULL)
		nic->callbacks[event].function(0, event, nic->callbacks[event].arg, NULL);
}

/* --- DPDK's calls --- */

int
rte_eth_dev_callback_register(
	uint16_t port_id, enum rte_eth_event_type event, rte_eth_dev_cb_fn function, void *arg)
{
	nic->callbacks[event].function = function;
	nic->callbacks[event].arg = arg;
	return 0;
}

int
rte_eth_dev_callback_unregister(
	uint16_t port_id, enum rte_eth_event_type event, rte_eth_dev_cb_fn function, void *arg)
{
	nic->callbacks[event].function = NULL;
	return 0;
}

static struct fake_nic_rule *
rule_of(struct rte_flow *flow)
{
	struct fake_nic_rule *rule = (struct fake_nic_rule *)flow;

	if (rule->magic != FAKE_NIC_MAGIC_RULE || rule->dead)
		fake_nic_die("the handle of a rule that is dead");
	return rule;
}

struct fake_nic_counter *
fake_nic_counter_of(const void *handle)
{
	struct fake_nic_counter *counter = (struct fake_nic_counter *)(uintptr_t)handle;

	if (counter->magic != FAKE_NIC_MAGIC_COUNTER || counter->dead)
		fake_nic_die("the handle of a counter that is dead");
	return counter;
}

static bool
has_fate(const struct rte_flow_action *actions)
{
	for (; actions->type != RTE_FLOW_ACTION_TYPE_END; actions++)
		if (actions->type == RTE_FLOW_ACTION_TYPE_DROP ||
			actions->type == RTE_FLOW_ACTION_TYPE_QUEUE ||
			actions->type == RTE_FLOW_ACTION_TYPE_RSS)
			return true;
	return false;
}

int
rte_flow_validate(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	int result = fake_nic_enter(FAKE_NIC_VALIDATE);

	if (nic->made.templates)
		fake_nic_die("rte_flow_validate(), where mlx5 HWS has a null pointer");
	return fake_nic_leave(
		FAKE_NIC_VALIDATE, result == 0 && !has_fate(actions) ? EINVAL : result, error);
}

void
fake_nic_fill(struct fake_nic_rule *rule, const struct rte_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions)
{
	const struct rte_flow_item_udp *udp, *mask;

	*rule = (struct fake_nic_rule){.magic = FAKE_NIC_MAGIC_RULE,
		.udp_mask = UINT16_MAX,
		.group = attr->group,
		.priority = attr->priority};
	rule->own.magic = FAKE_NIC_MAGIC_COUNTER;
	rule->counter = &rule->own;
	for (; pattern->type != RTE_FLOW_ITEM_TYPE_END; pattern++)
		if (pattern->type == RTE_FLOW_ITEM_TYPE_UDP && (udp = pattern->spec) != NULL) {
			mask = pattern->mask;
			rule->udp_port = rte_be_to_cpu_16(udp->hdr.dst_port);
			if (mask != NULL)
				rule->udp_mask = rte_be_to_cpu_16(mask->hdr.dst_port);
		}
	for (; actions->type != RTE_FLOW_ACTION_TYPE_END; actions++) {
		rule->drop |= actions->type == RTE_FLOW_ACTION_TYPE_DROP;
		if (actions->type == RTE_FLOW_ACTION_TYPE_JUMP)
			rule->jump = ((const struct rte_flow_action_jump *)actions->conf)->group;
		if (actions->type == RTE_FLOW_ACTION_TYPE_INDIRECT)
			rule->counter = fake_nic_counter_of(actions->conf);
	}
}

void
fake_nic_rule_in(struct fake_nic_rule *rule)
{
	if (nic->n_rules == FAKE_NIC_RULES_MAX)
		fake_nic_die("more rules than it can play");
	nic->rules[nic->n_rules++] = rule;
	if (rule->jump == 0)
		nic->created[nic->n_created++ % FAKE_NIC_RULES_MAX] = rule->udp_port;
}

void
fake_nic_rule_out(struct fake_nic_rule *rule)
{
	unsigned int i = nic->n_rules;

	while (i-- > 0 && nic->rules[i] != rule)
		;
	nic->rules[i] = nic->rules[--nic->n_rules];
	rule->dead = true;
	fake_nic_bury(rule);
}

struct rte_flow *
rte_flow_create(uint16_t port_id, const struct rte_flow_attr *attr,
	const struct rte_flow_item pattern[], const struct rte_flow_action actions[],
	struct rte_flow_error *error)
{
	struct fake_nic_rule *rule = NULL;
	int result = fake_nic_enter(FAKE_NIC_CREATE);

	fake_nic_run_at(FAKE_NIC_CREATE);
	if (result == 0 && !has_fate(actions))
		result = EINVAL;
	if (nic->made.templates)
		result = ENOTSUP;
	if (result == 0) {
		rule = malloc(sizeof(*rule));
		fake_nic_fill(rule, attr, pattern, actions);
		fake_nic_rule_in(rule);
	}
	fake_nic_leave(FAKE_NIC_CREATE, result, error);
	return (struct rte_flow *)rule;
}

int
rte_flow_destroy(uint16_t port_id, struct rte_flow *flow, struct rte_flow_error *error)
{
	struct fake_nic_rule *rule = rule_of(flow);
	int result = fake_nic_enter(FAKE_NIC_DESTROY);

	if (nic->made.templates)
		result = ENOTSUP;
	if (result != 0)
		return fake_nic_leave(FAKE_NIC_DESTROY, result, error);
	fake_nic_run_at(FAKE_NIC_DESTROY);
	fake_nic_rule_out(rule);
	return fake_nic_leave(FAKE_NIC_DESTROY, 0, error);
}

static int
query(struct fake_nic_counter *counter, struct rte_flow_query_count *count)
{
	if (!nic->made.cached)
		refresh(counter);
	count->hits_set = count->bytes_set = 1;
	count->hits = counter->seen_packets;
	count->bytes = counter->seen_bytes;
	if (count->reset)
		fake_nic_die("a counter is reset");
	return 0;
}

int
rte_flow_query(uint16_t port_id, struct rte_flow *flow, const struct rte_flow_action *action,
	void *data, struct rte_flow_error *error)
{
	struct fake_nic_rule *rule = rule_of(flow);
	int result = fake_nic_enter(FAKE_NIC_QUERY);

	if (action[0].type != RTE_FLOW_ACTION_TYPE_COUNT ||
		action[1].type != RTE_FLOW_ACTION_TYPE_END)
		fake_nic_die("the list of a query does not end behind COUNT");
	return fake_nic_leave(
		FAKE_NIC_QUERY, result != 0 ? result : query(rule->counter, data), error);
}

struct rte_flow_action_handle *
rte_flow_action_handle_create(uint16_t port_id, const struct rte_flow_indir_action_conf *conf,
	const struct rte_flow_action *action, struct rte_flow_error *error)
{
	struct fake_nic_counter *counter = NULL;
	int error_number = ENOTSUP;

	pthread_mutex_lock(&nic->lock);
	if (nic->fails[FAKE_NIC_COUNTER] > 0) {
		nic->fails[FAKE_NIC_COUNTER]--;
		error_number = nic->errors[FAKE_NIC_COUNTER];
	} else if (nic->made.templates &&
		   nic->n_counters + nic->n_stale_counters >= nic->max_counters) {
		error_number = ENODEV;
	} else if (nic->made.shared) {
		counter = calloc(1, sizeof(*counter));
		counter->magic = FAKE_NIC_MAGIC_COUNTER;
		/* What its former owner has left. */
		counter->packets = counter->seen_packets = 1000;
		counter->bytes = counter->seen_bytes = 64000;
		nic->counters[nic->n_counters++] = counter;
	}
	pthread_mutex_unlock(&nic->lock);
	if (counter == NULL)
		rte_flow_error_set(error, error_number, RTE_FLOW_ERROR_TYPE_ACTION, NULL,
			"counter are not configured!");
	return (struct rte_flow_action_handle *)counter;
}

int
rte_flow_action_handle_destroy(
	uint16_t port_id, struct rte_flow_action_handle *handle, struct rte_flow_error *error)
{
	struct fake_nic_counter *counter = fake_nic_counter_of(handle);
	unsigned int i = 0;

	pthread_mutex_lock(&nic->lock);
	for (unsigned int k = 0; k < nic->n_rules; k++)
		if (nic->rules[k]->counter == counter)
			fake_nic_die("a counter is destroyed that a rule refers to");
	while (nic->counters[i] != counter)
		i++;
	nic->counters[i] = nic->counters[--nic->n_counters];
	counter->dead = true;
	fake_nic_bury(counter);
	nic->n_stale_counters++;
	pthread_mutex_unlock(&nic->lock);
	return 0;
}

int
rte_flow_action_handle_query(uint16_t port_id, const struct rte_flow_action_handle *handle,
	void *data, struct rte_flow_error *error)
{
	struct fake_nic_counter *counter = fake_nic_counter_of(handle);
	int result = fake_nic_enter(FAKE_NIC_QUERY);

	return fake_nic_leave(FAKE_NIC_QUERY, result != 0 ? result : query(counter, data), error);
}

int
rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	int (*real)(uint16_t port, struct rte_eth_dev_info * out) = (int (*)(
		uint16_t, struct rte_eth_dev_info *))dlsym(RTLD_NEXT, "rte_eth_dev_info_get");
	int result = real(port_id, info);

	if (result == 0 && nic->made.driver != NULL)
		info->driver_name = nic->made.driver;
	if (result == 0 && nic->made.keeps_shared)
		info->dev_capa |= RTE_ETH_DEV_CAPA_FLOW_SHARED_OBJECT_KEEP;
	return result;
}

const struct rte_devargs *
rte_dev_devargs(const struct rte_device *dev)
{
	return nic->made.devargs != NULL ? &nic->devargs : NULL;
}

int
rte_eth_stats_get(uint16_t port_id, struct rte_eth_stats *stats)
{
	pthread_mutex_lock(&nic->lock);
	*stats = (struct rte_eth_stats){.ipackets = nic->ipackets};
	pthread_mutex_unlock(&nic->lock);
	return 0;
}
