/* SPDX-License-Identifier: BSD-3-Clause */
/* The flow queue: operations, and what comes of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "fake_hws_inside.h"

/* Completions of one pull, at most. */
#define PULL_MAX 7

static struct fake_nic_state *const nic = &fake_nic_state;
static struct fake_hws_state *const hws = &fake_hws_state;

static unsigned int
draw(unsigned int n)
{
	hws->random = hws->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned int)(hws->random >> 33) % n;
}

static void
check_queue(uint32_t queue)
{
	if (!hws->configured || queue != hws->queue)
		fake_nic_die("a flow queue that is not the caller's");
	if (hws->has_thread && !pthread_equal(hws->thread, pthread_self()))
		fake_nic_die("two threads use a flow queue");
	hws->has_thread = true;
	hws->thread = pthread_self();
}

/* Whether the values of a rule are such as its template says; copies them. */
static void
take_values(struct fake_hws_handle *handle, const struct rte_flow_item *pattern)
{
	const struct rte_flow_pattern_template *template = handle->table->pattern;

	for (unsigned int i = 0; i < template->n_items; i++) {
		size_t size = fake_hws_size_of(template->types[i]);

		if (pattern[i].type != template->types[i])
			fake_nic_die("items that are not those of the template");
		if (template->any[i])
			continue;
		if (pattern[i].spec == NULL)
			fake_nic_die("no value where the template has a mask");
		memcpy(handle->values[i], pattern[i].spec, size);
		for (size_t k = 0; k < size; k++)
			handle->rule.never |= (handle->values[i][k] & ~template->masks[i][k]) != 0;
	}
}

static void
check_actions(const struct rte_flow_template_table *table, const struct rte_flow_action *actions)
{
	const struct rte_flow_actions_template *template = table->actions;

	for (unsigned int i = 0; i < template->n_actions; i++)
		if (actions[i].type != template->types[i])
			fake_nic_die("actions that are not those of the template");
	if (actions[template->n_actions].type != RTE_FLOW_ACTION_TYPE_END)
		fake_nic_die("more actions than the template has");
}

static void
check_alone(const struct fake_hws_handle *handle)
{
	for (unsigned int i = 0; i < hws->n_handles; i++)
		if (hws->handles[i]->table == handle->table &&
			memcmp(hws->handles[i]->values, handle->values, sizeof(handle->values)) ==
				0)
			fake_nic_die("two rules of a table that match the same");
}

static void
come_true(struct fake_hws_op *op)
{
	struct fake_hws_handle *handle = op->handle;

	if (op->destroys || handle->state != FAKE_HWS_CREATING)
		return;
	handle->state = op->failed ? FAKE_HWS_FAILED : FAKE_HWS_STANDING;
	if (!op->failed)
		fake_nic_rule_in(&handle->rule);
}

static int
enqueue(struct fake_hws_handle *handle, bool destroys, void *user_data, enum fake_nic_call call)
{
	struct fake_hws_op *op = &hws->ops[hws->n_ops];

	if (user_data == NULL)
		return EINVAL;
	if (hws->n_ops == hws->size) {
		hws->full++;
		return ENOMEM;
	}
	nic->called[call]++;
	*op = (struct fake_hws_op){.handle = handle, .destroys = destroys, .user_data = user_data};
	if (nic->fails[call] > 0) {
		nic->fails[call]--;
		op->failed = true;
	}
	hws->n_ops++;
	/* The kernel's table: a system call. */
	if (handle->table->attr.flow_attr.group == 0)
		come_true(op);
	return 0;
}

struct rte_flow *
rte_flow_async_create(uint16_t port_id, uint32_t queue_id, const struct rte_flow_op_attr *op_attr,
	struct rte_flow_template_table *table, const struct rte_flow_item pattern[],
	uint8_t pattern_template_index, const struct rte_flow_action actions[],
	uint8_t actions_template_index, void *user_data, struct rte_flow_error *error)
{
	bool jump = table->attr.flow_attr.group == 0;
	int result = fake_nic_enter(FAKE_NIC_ENQUEUE);
	struct fake_hws_handle *handle = calloc(1, sizeof(*handle));

	check_queue(queue_id);
	check_actions(table, actions);
	fake_nic_run_at(jump ? FAKE_NIC_JUMP : FAKE_NIC_CREATE);
	fake_nic_fill(&handle->rule, &table->attr.flow_attr, pattern, actions);
	handle->table = table;
	handle->state = FAKE_HWS_CREATING;
	take_values(handle, pattern);
	check_alone(handle);
	if (result == 0 && table->n_rules == table->attr.nb_flows)
		result = ENOMEM;
	if (result == 0)
		result = enqueue(handle, false, user_data, jump ? FAKE_NIC_JUMP : FAKE_NIC_CREATE);
	if (result == 0) {
		hws->handles[hws->n_handles++] = handle;
		table->n_rules++;
	} else {
		free(handle);
		handle = NULL;
	}
	fake_nic_leave(FAKE_NIC_ENQUEUE, result, error);
	return (struct rte_flow *)handle;
}

int
rte_flow_async_destroy(uint16_t port_id, uint32_t queue_id, const struct rte_flow_op_attr *op_attr,
	struct rte_flow *flow, void *user_data, struct rte_flow_error *error)
{
	struct fake_hws_handle *handle = (struct fake_hws_handle *)flow;
	bool jump = handle->table->attr.flow_attr.group == 0;
	int result = fake_nic_enter(FAKE_NIC_ENQUEUE_DESTROY);

	check_queue(queue_id);
	if (handle->state == FAKE_HWS_DESTROYING || handle->rule.dead)
		fake_nic_die("the handle of a rule that is dead");
	if (handle->state == FAKE_HWS_CREATING)
		fake_nic_die("a rule is destroyed whose creation has not completed");
	fake_nic_run_at(jump ? FAKE_NIC_JUMP_DESTROY : FAKE_NIC_DESTROY);
	if (result == 0)
		result = enqueue(
			handle, true, user_data, jump ? FAKE_NIC_JUMP_DESTROY : FAKE_NIC_DESTROY);
	return fake_nic_leave(FAKE_NIC_ENQUEUE_DESTROY, result, error);
}

int
rte_flow_push(uint16_t port_id, uint32_t queue_id, struct rte_flow_error *error)
{
	unsigned int n = 0;

	pthread_mutex_lock(&nic->lock);
	check_queue(queue_id);
	for (unsigned int i = 0; i < hws->n_ops; i++) {
		n += !hws->ops[i].pushed;
		hws->ops[i].pushed = true;
	}
	if (n > hws->longest_push)
		hws->longest_push = n;
	pthread_mutex_unlock(&nic->lock);
	return 0;
}

/* A rule that cannot be taken out stands, and has no handle. */
static void
complete(struct fake_hws_op *op, struct rte_flow_op_result *result)
{
	struct fake_hws_handle *handle = op->handle;

	come_true(op);
	result->user_data = op->user_data;
	result->status = op->failed ? RTE_FLOW_OP_ERROR : RTE_FLOW_OP_SUCCESS;
	if (!op->destroys)
		return;
	if (op->failed)
		handle->state = FAKE_HWS_DESTROYING;
	else
		fake_hws_take_out(handle);
	fake_hws_forget(handle);
}

int
rte_flow_pull(uint16_t port_id, uint32_t queue_id, struct rte_flow_op_result res[], uint16_t n_res,
	struct rte_flow_error *error)
{
	unsigned int n = 0, most;
	void (*function)(void) = NULL;

	pthread_mutex_lock(&nic->lock);
	check_queue(queue_id);
	most = 1 + draw(PULL_MAX);
	/* Every other time there is nothing yet. */
	if (hws->hold || draw(2) == 0)
		most = 0;
	if (hws->eager)
		most = n_res;
	if (hws->at_pull != NULL && hws->n_ops > 0 && hws->n_ops <= hws->at_left &&
		hws->ops[0].pushed) {
		function = hws->at_pull;
		hws->at_pull = NULL;
		hws->eager = true;
		most = 0;
	}
	while (n < most && n < n_res && hws->n_ops > 0) {
		unsigned int which = draw(hws->n_ops);

		if (!hws->ops[which].pushed)
			break;
		complete(&hws->ops[which], &res[n++]);
		hws->ops[which] = hws->ops[--hws->n_ops];
	}
	pthread_mutex_unlock(&nic->lock);
	if (function != NULL)
		function();
	return (int)n;
}
