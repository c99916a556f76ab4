/* SPDX-License-Identifier: BSD-3-Clause */
/* What fake_nic.c and fake_hws.c share. */
#ifndef TRIP_FAKE_NIC_INSIDE_H
#define TRIP_FAKE_NIC_INSIDE_H

#include <pthread.h>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_flow.h>

#include "fake_nic.h"

#define FAKE_NIC_RULES_MAX 16384
#define FAKE_NIC_MAGIC_RULE 0x72756c65u
#define FAKE_NIC_MAGIC_COUNTER 0x636f756eu

/* What is dead stays, so that its use is seen. */
struct grave {
	void *dead;
	struct grave *next;
};

struct fake_nic_counter {
	uint32_t magic;
	bool dead;
	uint64_t packets, bytes, seen_packets, seen_bytes;
};

struct fake_nic_rule {
	uint32_t magic;
	bool dead;
	/* It matches nothing. */
	bool never;
	uint16_t udp_port, udp_mask;
	uint32_t group, priority;
	bool drop;
	/* 0: none. */
	uint32_t jump;
	struct fake_nic_counter own, *counter;
};

extern struct fake_nic_state {
	struct fake_nic made;
	pthread_mutex_t lock;
	pthread_cond_t let_go;
	struct fake_nic_rule *rules[FAKE_NIC_RULES_MAX];
	unsigned int n_rules;
	struct fake_nic_counter *counters[FAKE_NIC_RULES_MAX];
	unsigned int n_counters;
	/* With templates: how many there are; and how many are given back and not refreshed since.
	 */
	unsigned int max_counters, n_stale_counters;
	unsigned int fails[FAKE_NIC_CALLS];
	int errors[FAKE_NIC_CALLS];
	bool hold[FAKE_NIC_CALLS];
	uint64_t called[FAKE_NIC_CALLS];
	unsigned int held, inside;
	uint16_t created[FAKE_NIC_RULES_MAX];
	unsigned int n_created;
	struct grave *graves;
	void (*at[FAKE_NIC_CALLS])(void);
	uint64_t ipackets, missed;
	struct {
		rte_eth_dev_cb_fn function;
		void *arg;
	} callbacks[RTE_ETH_EVENT_MAX];
	struct rte_devargs devargs;
	char args[256];
} fake_nic_state;

void fake_nic_die(const char *what);
void fake_nic_bury(void *dead);

/* Begins a call: with the lock held, and what it is to answer; and ends it. */
int fake_nic_enter(enum fake_nic_call call);
int fake_nic_leave(enum fake_nic_call call, int error, struct rte_flow_error *told);

/* With the lock held, which is let go meanwhile: what the test has for the middle of such a call.
 */
void fake_nic_run_at(enum fake_nic_call call);

struct fake_nic_counter *fake_nic_counter_of(const void *handle);
void fake_nic_fill(struct fake_nic_rule *rule, const struct rte_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions);

/* It matches from now on; it does not any more. */
void fake_nic_rule_in(struct fake_nic_rule *rule);
void fake_nic_rule_out(struct fake_nic_rule *rule);

#endif
