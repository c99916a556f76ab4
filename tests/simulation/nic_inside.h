/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the files of the NIC: nic.c, the device; nic_calls.c, its driver by calls; nic_queue.c,
 * by templates and a flow queue; nic_interrupt.c, EAL's interrupt thread, which refreshes the
 * driver's cache; nic_system.c, what the hardware engine asks the system for.
 */
#ifndef SIM_NIC_INSIDE_H
#define SIM_NIC_INSIDE_H

#include <stdatomic.h>

#include "nic.h"
#include "sim.h"

#define NIC_RULES 1024
#define NIC_COUNTERS 2048
#define NIC_CALLBACKS 8
#define NIC_ARRIVALS 64
/* Of a shared counter whose rule went nobody waits for longer, in lags. */
#define NIC_WAITED 8

struct nic_counter {
	bool dead, own;
	uint32_t flow;
	uint64_t packets, read;
	/* What the cache has, and what the device has answered, which is still to come there. */
	uint64_t cached, answer;
	/* When the last rule went that counts in it; 0: one does. */
	uint64_t out;
	/* When it was asked last: nic_turn(). */
	uint64_t asked;
	/* Nobody could read it; or give it back; or take out a rule that counts in it. */
	bool failed, has_failed, stuck;
};

struct nic_rule {
	bool dead, drop;
	/* Packets come to it. */
	bool stands;
	/* Brings the packets of group 0 to the flow's rule. */
	bool jump;
	/* Its handle is gone, and it stands; or so does the jump that leads to it. */
	bool has_failed, stuck;
	uint32_t flow, priority;
	struct nic_counter *counter;
	struct rte_flow_template_table *table;
};

/* When packets came, and into the cache; how many of the flow there were before; what counts. */
struct nic_arrival {
	uint64_t now, shown, before;
	const struct nic_counter *counter;
};

struct nic {
	struct nic_shape shape;
	struct nic_rule rules[NIC_RULES];
	struct nic_counter counters[NIC_COUNTERS];
	unsigned int n_rules, n_counters;
	struct nic_flow flows[NIC_FLOWS];
	struct nic_arrival arrivals[NIC_FLOWS][NIC_ARRIVALS];
	unsigned int n_arrivals[NIC_FLOWS];
	bool removed, stopped, away;
	/* It has told so, and is not asked. */
	bool recovers;
	/* A call was refused by it before it told. */
	bool was_away, has_refused;
	/* Nobody could know that handles are dead. */
	bool surprises;
	/* That was so once. */
	bool was_surprising;
	/* The chance of a failure goes by the number of the call: a plan's number, not a turn's. */
	uint32_t calls;
	struct {
		enum rte_eth_event_type event;
		rte_eth_dev_cb_fn function;
		void *arg;
	} callbacks[NIC_CALLBACKS];
	unsigned int n_callbacks;
	/* Somebody is in the driver, and somebody waits until that one has left it. */
	_Atomic uint32_t inside;
	bool is_awaited;
	/* Somebody waits for a lock; and how much progress there was when the worker last gave one
	 * back. */
	bool is_lock_wanted;
	uint32_t noted;
	/* The eventfd. */
	_Atomic uint64_t wakes;
	/* Tickets served and flows lost, when the worker last went to sleep; and whether it has
	 * read anything since. */
	uint64_t done;
	bool has_read;
	/* Which of its turns it was in then; and whether the driver tells of an event, and may wait
	 * until that turn is over. */
	uint64_t turn;
	bool tells;
	unsigned int worker;
	/* Signals come in one of so many sleeps of it, 0: in none; how many there were. */
	uint32_t interrupts_every, n_sleeps;
};

extern struct nic nic;

/* A number that goes by how many calls there were, in [0, of). */
uint32_t nic_chance(uint32_t of);
/* Whether this call fails: an errno, or 0; a removed device, or one that is away, answers none. */
int nic_refuses(uint32_t one_of);

/* A call takes its time, in which others go on. Rules are changed by one thread at a time. */
void nic_enter(const char *what);
int nic_leave(int error, struct rte_flow_error *told);

struct nic_counter *nic_make_counter(uint32_t flow, bool own);
/* A rule is gone that counted in it. */
void nic_note_out(struct nic_counter *counter);
/* What comes out of it now, after so long, may be in no count; notes that, if so. */
bool nic_note_late(const struct nic_counter *counter);
/* The counter was read, and whoever asked is yet to be told. */
void nic_hold_reading(const struct nic_counter *counter);
/* A rule stands that was to go. */
void nic_cannot_take_out(struct nic_rule *rule);
void nic_bury_counter(struct nic_counter *counter);
/* The one that packets of a flow come to. */
struct nic_rule *nic_rule_of_flow(uint32_t flow);
struct nic_rule *nic_make_rule(const struct rte_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions);
bool nic_refers_to_dead(const struct rte_flow_action *actions);
struct nic_rule *nic_find_rule(struct rte_flow *handle);

/* Nobody will know what becomes of operations that are under way. */
void nic_queue_doubt(void);
/* Nothing is left of templates, tables and operations; or of operations. */
void nic_queue_begin(void);
void nic_queue_drain(void);
/* Nor of rules. */
void nic_queue_flush(void);
/* The worker has done what others are to find. */
void nic_note_progress(void);
/* Which of its turns with the driver it is in, from 1. */
uint64_t nic_turn(void);

#endif
