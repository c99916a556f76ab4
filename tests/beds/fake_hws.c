/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "fake_hws_inside.h"

struct fake_hws_state fake_hws_state;

static struct fake_nic_state *const nic = &fake_nic_state;
static struct fake_hws_state *const hws = &fake_hws_state;

/* --- the test's side --- */

void
fake_hws_open(uint64_t seed)
{
	memset(hws, 0, sizeof(*hws));
	hws->random = seed;
	hws->counters = 1u << 20;
}

void
fake_hws_close(void)
{
	if (hws->n_ops != 0)
		fake_nic_die("operations are left");
	if (hws->n_handles != 0)
		fake_nic_die("handles of rules are left");
	if (hws->n_tables != 0 || hws->n_templates != 0)
		fake_nic_die("tables or templates are left");
}

void
fake_hws_counters(uint32_t n)
{
	hws->counters = n;
}

void
fake_hws_hold(bool hold)
{
	pthread_mutex_lock(&nic->lock);
	hws->hold = hold;
	pthread_mutex_unlock(&nic->lock);
}

void
fake_hws_at_pull(unsigned int left, void (*function)(void))
{
	pthread_mutex_lock(&nic->lock);
	hws->at_left = left;
	hws->at_pull = function;
	pthread_mutex_unlock(&nic->lock);
}

bool
fake_hws_is_waiting(void)
{
	bool waiting = false;

	pthread_mutex_lock(&nic->lock);
	for (unsigned int i = 0; i < hws->n_ops; i++)
		waiting |= hws->ops[i].pushed;
	pthread_mutex_unlock(&nic->lock);
	return waiting;
}

unsigned int
fake_hws_tables(void)
{
	unsigned int n;

	pthread_mutex_lock(&nic->lock);
	n = hws->n_tables;
	pthread_mutex_unlock(&nic->lock);
	return n;
}

unsigned int
fake_hws_rules(uint32_t group)
{
	unsigned int n = 0;

	pthread_mutex_lock(&nic->lock);
	for (unsigned int i = 0; i < nic->n_rules; i++)
		n += nic->rules[i]->group == group;
	pthread_mutex_unlock(&nic->lock);
	return n;
}

uint64_t
fake_hws_full(void)
{
	uint64_t n;

	pthread_mutex_lock(&nic->lock);
	n = hws->full;
	pthread_mutex_unlock(&nic->lock);
	return n;
}

unsigned int
fake_hws_longest_push(void)
{
	unsigned int n;

	pthread_mutex_lock(&nic->lock);
	n = hws->longest_push;
	pthread_mutex_unlock(&nic->lock);
	return n;
}

uint64_t
fake_hws_missed(void)
{
	uint64_t n;

	pthread_mutex_lock(&nic->lock);
	n = nic->missed;
	pthread_mutex_unlock(&nic->lock);
	return n;
}

void
fake_hws_forget(struct fake_hws_handle *handle)
{
	unsigned int i = hws->n_handles;

	while (i-- > 0 && hws->handles[i] != handle)
		;
	hws->handles[i] = hws->handles[--hws->n_handles];
	handle->table->n_rules--;
}

void
fake_hws_take_out(struct fake_hws_handle *handle)
{
	if (handle->state == FAKE_HWS_STANDING)
		fake_nic_rule_out(&handle->rule);
	else if (!handle->rule.dead)
		fake_nic_bury(handle);
	handle->rule.dead = true;
	handle->state = FAKE_HWS_DESTROYING;
}

void
fake_hws_drain(void)
{
	pthread_mutex_lock(&nic->lock);
	hws->n_ops = 0;
	pthread_mutex_unlock(&nic->lock);
}

/* As a driver does when its port stops: rules go, tables stay. */
void
fake_hws_flush(void)
{
	pthread_mutex_lock(&nic->lock);
	if (hws->n_ops != 0)
		fake_nic_die("the port is stopped while the queue is in use");
	while (hws->n_handles > 0) {
		struct fake_hws_handle *handle = hws->handles[0];

		fake_hws_take_out(handle);
		fake_hws_forget(handle);
	}
	/* Those that could not be taken out, too. */
	while (nic->n_rules > 0) {
		nic->rules[--nic->n_rules]->dead = true;
		fake_nic_bury(nic->rules[nic->n_rules]);
	}
	pthread_mutex_unlock(&nic->lock);
}

void
fake_hws_abandon(void)
{
	hws->n_ops = 0;
	fake_hws_flush();
	nic->made.keeps_shared = false;
	fake_nic_flush();
	while (hws->n_tables > 0) {
		struct rte_flow_template_table *table = hws->tables[--hws->n_tables];

		free(table->pattern);
		free(table->actions);
		free(table);
	}
	hws->n_templates = 0;
}

/* --- configuration --- */

static bool
is_started(uint16_t port_id)
{
	return rte_eth_fp_ops[port_id].rx_pkt_burst !=
	       rte_eth_fp_ops[RTE_MAX_ETHPORTS - 1].rx_pkt_burst;
}

int
rte_flow_info_get(uint16_t port_id, struct rte_flow_port_info *port_info,
	struct rte_flow_queue_info *queue_info, struct rte_flow_error *error)
{
	if (!nic->made.templates)
		return rte_flow_error_set(error, ENOTSUP, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"info get with incorrect steering mode");
	*port_info = (struct rte_flow_port_info){
		.max_nb_queues = UINT32_MAX, .max_nb_counters = hws->counters};
	queue_info->max_size = UINT32_MAX;
	return 0;
}

int
rte_flow_configure(uint16_t port_id, const struct rte_flow_port_attr *port_attr, uint16_t nb_queue,
	const struct rte_flow_queue_attr *queue_attr[], struct rte_flow_error *error)
{
	if (is_started(port_id) || nb_queue == 0 || queue_attr[0]->size > FAKE_HWS_QUEUE_MAX)
		return rte_flow_error_set(
			error, EINVAL, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL, rte_strerror(EINVAL));
	if (port_attr->nb_counters > hws->counters)
		return rte_flow_error_set(error, EINVAL, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, NULL,
			"fail to configure port");
	hws->configured = true;
	hws->size = queue_attr[0]->size;
	hws->queue = nb_queue - 1u;
	nic->max_counters = port_attr->nb_counters;
	return 0;
}

void
fake_hws_configure(uint16_t port_id, uint32_t queue, uint32_t size, uint32_t n_counters)
{
	const struct rte_flow_port_attr attr = {.nb_counters = n_counters};
	const struct rte_flow_queue_attr one = {.size = size}, *all[] = {&one, &one, &one, &one};

	if (rte_flow_configure(port_id, &attr, (uint16_t)(queue + 1), all, NULL) != 0)
		fake_nic_die("the application configures it wrongly");
}

/* --- templates and tables --- */

static bool
refuse_unconfigured(struct rte_flow_error *error)
{
	if (!hws->configured)
		rte_flow_error_set(
			error, EINVAL, RTE_FLOW_ERROR_TYPE_STATE, NULL, rte_strerror(EINVAL));
	return !hws->configured;
}

size_t
fake_hws_size_of(enum rte_flow_item_type type)
{
	switch (type) {
	case RTE_FLOW_ITEM_TYPE_ETH:
		return sizeof(struct rte_flow_item_eth);
	case RTE_FLOW_ITEM_TYPE_IPV4:
		return sizeof(struct rte_flow_item_ipv4);
	case RTE_FLOW_ITEM_TYPE_UDP:
		return sizeof(struct rte_flow_item_udp);
	default:
		return 0;
	}
}

struct rte_flow_pattern_template *
rte_flow_pattern_template_create(uint16_t port_id,
	const struct rte_flow_pattern_template_attr *attr, const struct rte_flow_item pattern[],
	struct rte_flow_error *error)
{
	struct rte_flow_pattern_template *template;

	if (refuse_unconfigured(error))
		return NULL;
	if (!attr->ingress || attr->relaxed_matching)
		fake_nic_die("a pattern template of no direction, or one that matches loosely");
	template = calloc(1, sizeof(*template));
	for (unsigned int i = 0; pattern[i].type != RTE_FLOW_ITEM_TYPE_END; i++) {
		template->types[i] = pattern[i].type;
		template->n_items++;
		if (pattern[i].mask != NULL)
			memcpy(template->masks[i], pattern[i].mask,
				fake_hws_size_of(pattern[i].type));
		template->any[i] = pattern[i].mask == NULL;
	}
	hws->n_templates++;
	return template;
}

int
rte_flow_pattern_template_destroy(
	uint16_t port_id, struct rte_flow_pattern_template *template, struct rte_flow_error *error)
{
	if (template->uses != 0)
		fake_nic_die("a pattern template is destroyed that a table uses");
	free(template);
	hws->n_templates--;
	return 0;
}

/* Where an action has to stand. */
static unsigned int
place_of(const struct rte_flow_action *action, const struct rte_flow_action *mask)
{
	switch (action->type) {
	case RTE_FLOW_ACTION_TYPE_MARK:
		return 1;
	case RTE_FLOW_ACTION_TYPE_INDIRECT:
		return mask->type == RTE_FLOW_ACTION_TYPE_COUNT ? 2 : 0;
	case RTE_FLOW_ACTION_TYPE_JUMP:
		return mask->conf != NULL ? 3 : 0;
	case RTE_FLOW_ACTION_TYPE_DROP:
	case RTE_FLOW_ACTION_TYPE_QUEUE:
	case RTE_FLOW_ACTION_TYPE_RSS:
		return 3;
	default:
		return 0;
	}
}

struct rte_flow_actions_template *
rte_flow_actions_template_create(uint16_t port_id,
	const struct rte_flow_actions_template_attr *attr, const struct rte_flow_action actions[],
	const struct rte_flow_action masks[], struct rte_flow_error *error)
{
	struct rte_flow_actions_template *template;
	unsigned int last = 0;

	if (refuse_unconfigured(error))
		return NULL;
	template = calloc(1, sizeof(*template));
	for (unsigned int i = 0; actions[i].type != RTE_FLOW_ACTION_TYPE_END; i++) {
		unsigned int place = place_of(&actions[i], &masks[i]);

		if (place <= last)
			fake_nic_die("actions of a template that are none, or out of order");
		last = place;
		template->counts |= place == 2;
		template->types[template->n_actions++] = actions[i].type;
	}
	hws->n_templates++;
	return template;
}

int
rte_flow_actions_template_destroy(
	uint16_t port_id, struct rte_flow_actions_template *template, struct rte_flow_error *error)
{
	if (template->uses != 0)
		fake_nic_die("an actions template is destroyed that a table uses");
	free(template);
	hws->n_templates--;
	return 0;
}

struct rte_flow_template_table *
rte_flow_template_table_create(uint16_t port_id, const struct rte_flow_template_table_attr *attr,
	struct rte_flow_pattern_template *patterns[], uint8_t nb_patterns,
	struct rte_flow_actions_template *actions[], uint8_t nb_actions,
	struct rte_flow_error *error)
{
	struct rte_flow_template_table *table = NULL;
	int result = fake_nic_enter(FAKE_NIC_TABLE);

	if (!is_started(port_id))
		fake_nic_die("a table of a stopped port, which would not start any more");
	if (result == 0 && attr->flow_attr.group == 0 && actions[0]->counts)
		result = ENOTSUP;
	if (result == 0) {
		table = calloc(1, sizeof(*table));
		*table = (struct rte_flow_template_table){
			.attr = *attr, .pattern = patterns[0], .actions = actions[0]};
		patterns[0]->uses++;
		actions[0]->uses++;
		hws->tables[hws->n_tables++] = table;
	}
	fake_nic_leave(FAKE_NIC_TABLE, result, error);
	return table;
}

int
rte_flow_template_table_destroy(
	uint16_t port_id, struct rte_flow_template_table *table, struct rte_flow_error *error)
{
	unsigned int i = 0;

	pthread_mutex_lock(&nic->lock);
	if (table->n_rules != 0)
		fake_nic_die("a table is destroyed that has rules");
	while (hws->tables[i] != table)
		i++;
	hws->tables[i] = hws->tables[--hws->n_tables];
	table->pattern->uses--;
	table->actions->uses--;
	pthread_mutex_unlock(&nic->lock);
	free(table);
	return 0;
}
