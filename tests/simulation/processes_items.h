/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of each work item, and of what each counter has to come to: whoever queues, cancels
 * and adds says so here, and what homes claim is seen where they do. A context says which item it
 * is.
 */
#ifndef SIM_PROCESSES_ITEMS_H
#define SIM_PROCESSES_ITEMS_H

#include <trip_work.h>

#include "processes.h"

#define ITEMS 1024
#define LEDGERS 512
/* That a home changes in a batch. */
#define FIRED_RULES 64

enum item_state {
	/* Its call has not returned. */
	ITEM_ASKED,
	ITEM_QUEUED,
	ITEM_REFUSED,
	ITEM_CANCELED,
};

struct item {
	enum item_state state;
	uint64_t id;
	/* Whose, by which attachment, and of which domain; which thread. */
	struct user *user;
	struct sim_process *process;
	uint32_t attachment;
	uint64_t opening;
	unsigned int actor;
	/* Ids of counters; 0: none, or the clock. */
	uint64_t trigger, target, completion;
	uint32_t trigger_index;
	uint64_t threshold, interval, value;
	enum trip_op op;
	uint32_t flags;
	/* NULL: it is about no flow. */
	struct rule *rule;
	/* Its counter is to rest first. */
	bool rests;
	/* A call under way takes it back; everything has rested since its process ended, or since
	 * it had done all. */
	bool canceling, gone, settled;
	/* More than one call did, at one time. */
	bool contested;
	/* Its process has become another program, and has its place still. */
	bool left;
	/* It was queued beside a flush, which may have taken it back, or not. */
	bool doubtful;
	/* Its call queues another one. */
	bool chains;
	/* Steps: its call began, and ended; what its counter had come to then. */
	uint32_t began, ended;
	/* Its function runs. */
	bool calls;
	/* A counter that nothing else of the plan knows; NULL: none. */
	struct trip_cntr *own;
	uint64_t sum;
	/* Firings, intervals that these stood for, and events of it that were read. */
	uint64_t fired, count, events;
};

/* What a counter has been added. Who died adding it may have done so. */
struct ledger {
	uint64_t opening, id, low, high;
	uint32_t index;
	/* It was set, or something else that depends on the order. */
	bool vague;
	/* Who is setting it, or changes its error, or has died in that: the ring is yet to come. */
	unsigned int unrung;
	/* Flows feed it, or have; what those have counted that have ended; and bursts under way on
	 * others. */
	bool fed;
	uint64_t finished;
	unsigned int bursts;
};

struct items {
	struct item all[ITEMS];
	unsigned int n;
	struct ledger ledgers[LEDGERS];
	unsigned int n_ledgers;
	/* The home whose items an actor fires, and its process. */
	struct {
		struct trip_home *home;
		struct sim_process *process;
		/* What it fires is garbage. */
		bool garbage;
		/* What it does to flows. */
		struct {
			struct rule *rule;
			enum trip_op op;
			/* Of its completion, where the flow was there and stays; or NULL. */
			struct ledger *ledger;
		} rules[FIRED_RULES];
		unsigned int n_rules;
	} firing[SIM_ACTORS];
};

extern struct items items;

void processes_items_begin(void);
/* NULL: there have been enough. */
struct item *processes_item_new(struct user *user, const struct trip_work *work);
/* Its call has returned. */
void processes_item_asked(struct item *item, const struct trip_cntr *trigger, int error);
/* Its process lives, and is attached to the domain that is open. */
bool processes_item_is_held(const struct item *item);
/* Its process has it by the attachment that it has, dead or alive. */
static inline bool
processes_item_is_of(const struct item *item, const struct user *user)
{
	return item->user == user && item->attachment == user->attachment;
}

static inline unsigned int
processes_item_number(const struct item *item)
{
	return (unsigned int)(item - items.all);
}

/* Its target is a counter. */
bool processes_op_counts(enum trip_op op);

/* Also in a function: what the call says. */
int processes_cancel_item(struct trip_domain *domain, struct item *item);
/* So often an item of the clock that calls is called. */
#define ITEM_CALLS 3
#define ITEM_CALL_NS 4000
/* Whether the user's work may call, which only the primary's may. */
bool processes_has_function(struct user *user);
/* A counter for an item that is about to be queued, NULL: it has none. */
struct trip_cntr *processes_own_open(struct user *user);
/* Of items that have fired, the first that may be is closed, and another is opened in its place: at
 * once, as operations that are under way may still know its index. */
void processes_own_reopen(struct user *user, bool on_home);
/* Those that may be. */
void processes_own_close(struct user *user);

/* Slots that it takes. */
unsigned int processes_item_slots(const struct item *item);
/* It may still fire. */
bool processes_item_waits(const struct item *item);
/* Any may still hold on to the counter, as far as its process can know. */
bool processes_items_refer(const struct user *user, const struct trip_cntr *cntr);
bool processes_items_refer_to_flow(const struct user *user, const struct rule *rule);
/* The counter is closed, for all of the user's handles, or the rule of a flow, not NULL, is gone:
 * no item that waits refers to it, but for one that a call under way takes back. */
void processes_items_let_go(const struct user *user, uint64_t cntr, const struct rule *rule);

struct ledger *processes_ledger(const struct trip_cntr *cntr);
struct ledger *processes_ledger_of(uint64_t opening, uint64_t id);
/* It may have come to anything. */
static inline bool
processes_ledger_is_vague(const struct ledger *ledger)
{
	return ledger->vague || processes_garbage_is_in(ledger->opening);
}

#endif
