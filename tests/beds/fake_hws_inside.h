/* SPDX-License-Identifier: BSD-3-Clause */
/* What fake_hws.c and fake_hws_queue.c share. */
#ifndef TRIP_FAKE_HWS_INSIDE_H
#define TRIP_FAKE_HWS_INSIDE_H

#include "fake_hws.h"
#include "fake_nic_inside.h"

#define FAKE_HWS_QUEUE_MAX 1024
#define FAKE_HWS_ITEMS 8
#define FAKE_HWS_MASK 64

struct rte_flow_pattern_template {
	unsigned int n_items, uses;
	enum rte_flow_item_type types[FAKE_HWS_ITEMS];
	uint8_t masks[FAKE_HWS_ITEMS][FAKE_HWS_MASK];
	bool any[FAKE_HWS_ITEMS];
};

struct rte_flow_actions_template {
	unsigned int n_actions, uses;
	enum rte_flow_action_type types[FAKE_HWS_ITEMS];
	bool counts;
};

struct rte_flow_template_table {
	struct rte_flow_template_table_attr attr;
	struct rte_flow_pattern_template *pattern;
	struct rte_flow_actions_template *actions;
	unsigned int n_rules;
};

enum fake_hws_life {
	FAKE_HWS_CREATING,
	FAKE_HWS_STANDING,
	FAKE_HWS_FAILED,
	FAKE_HWS_DESTROYING,
};

/* A handle. */
struct fake_hws_handle {
	struct fake_nic_rule rule; /* first: fake_nic.c knows it */
	struct rte_flow_template_table *table;
	enum fake_hws_life state;
	uint8_t values[FAKE_HWS_ITEMS][FAKE_HWS_MASK];
};

struct fake_hws_op {
	struct fake_hws_handle *handle;
	void *user_data;
	bool destroys, pushed, failed;
};

extern struct fake_hws_state {
	bool configured, hold, eager, has_thread;
	void (*at_pull)(void);
	unsigned int at_left;
	uint32_t counters, queue, size;
	pthread_t thread;
	struct fake_hws_op ops[FAKE_HWS_QUEUE_MAX];
	unsigned int n_ops;
	struct fake_hws_handle *handles[FAKE_NIC_RULES_MAX];
	unsigned int n_handles, n_tables, n_templates;
	struct rte_flow_template_table *tables[FAKE_NIC_RULES_MAX];
	uint64_t full, random;
	unsigned int longest_push;
} fake_hws_state;

/* The rule of a handle is out, or never was in; the handle is forgotten. */
void fake_hws_take_out(struct fake_hws_handle *handle);
void fake_hws_forget(struct fake_hws_handle *handle);
size_t fake_hws_size_of(enum rte_flow_item_type type);

#endif
