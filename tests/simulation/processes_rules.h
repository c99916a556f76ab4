/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of each flow, whoever has it: the primary makes and ends them all, so it is seen
 * there, by --wrap. Each burst says how many packets come by; what homes do to a flow is seen where
 * they claim the item.
 */
#ifndef SIM_PROCESSES_RULES_H
#define SIM_PROCESSES_RULES_H

#include "processes_items.h"

struct trip_engine;

#define RULES 256

struct rule {
	uint64_t opening;
	uint32_t index;
	/* The primary has it. */
	bool alive;
	/* Of the counter that it feeds. */
	struct ledger *ledger;
	/* Whose call has returned with it; NULL: none yet. */
	const struct sim_process *process;
	/* Its end may have come, by its process. */
	bool ending;
	/* Packets that it has counted. */
	uint64_t low, high;
	/* Operations that homes have under way on it, and have begun so far; of two homes at a
	 * time. */
	unsigned int firing, n_fired, firer;
	bool contested;
	/* What the last has left. */
	bool drops, deleted;
};

/* A burst, from its beginning to its end, or for ever where its process is killed in it. */
struct burst {
	/* NULL: it has ended. */
	const struct sim_process *process;
	uint64_t opening;
	uint32_t n;
	/* So often something was not to be had: what it needs for a new rule, it may lack. */
	unsigned int faults;
	/* Rules that it may meet; those that were there when it began, and operations on each till
	 * then. */
	bool met[RULES], sure[RULES];
	unsigned int n_fired[RULES];
};

void processes_rules_begin(void);

/* A process has created that flow. */
struct rule *processes_rule_made(const struct user *user, uint32_t index);
/* It becomes another program: the flows that it leaves end some time. */
void processes_rules_leave(const struct user *user);
/* Those that are there; most at a time since the caller has set its own number to it. */
unsigned int processes_rules_alive(uint64_t opening);

void processes_burst_begin(const struct user *user, uint32_t n);
/* `counts`: the queue was its process's; otherwise nothing has happened. So many are left. */
void processes_burst_end(const struct user *user, bool counts, uint32_t kept);

/* It is there, and stays, as far as is known. */
bool processes_rule_is_sure(const struct rule *rule);

/* A home is about to do it, and has; then whether the flow was there all the time, where it was
 * sure before. */
void processes_rule_claimed(struct rule *rule);
bool processes_rule_fired(const struct trip_engine *engine, struct rule *rule, enum trip_op op);

/* What it has counted. */
uint64_t processes_rule_counted(const struct trip_engine *engine, const struct rule *rule);
/* What flows have fed a counter, and of that what homes have yet to read. */
uint64_t processes_rules_fed(const struct trip_engine *engine, const struct ledger *ledger);
uint64_t processes_rules_unread(const struct trip_engine *engine, uint32_t cntr);
/* A burst that feeds it has begun and has not ended: it may have yet to ring. */
bool processes_rules_is_half_fed(const struct ledger *ledger);

/* Everything rests. */
void processes_judge_rules(struct user *primary);

#endif
