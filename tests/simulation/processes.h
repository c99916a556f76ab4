/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world: a primary that opens its domain and closes it, and processes that attach, open counters,
 * find those of others, wait for them, queue work, have flows and receive packets, detach, end,
 * fork and become other programs, or say to the primary what they like, while an operator kills
 * them, the primary too, stops them and lets them go on. processes.c makes it; processes_plan.c
 * draws what is done; processes_primary.c, processes_client.c, processes_cntrs.c,
 * processes_work.c, processes_flows.c and processes_hostile.c do it; processes_items.c knows what
 * may become of each work item, processes_rules.c of each flow; processes_judge.c and
 * processes_judge_work.c look at what is left of it.
 */
#ifndef SIM_PROCESSES_H
#define SIM_PROCESSES_H

#include <trip_cntr.h>
#include <trip_domain.h>
#include <trip_flow.h>
#include <trip_port.h>
#include <trip_work.h>

#include "sim_machine.h"

#define CLIENTS 3
#define HANDLES 4
#define NAMES 2
#define FLOWS 2
/* Of the port. */
#define QUEUES 2
#define ACTS 40
/* The primary's, in its place the operator's. */
#define PRIMARY CLIENTS
#define OPERATOR (CLIENTS + 1)
#define PLANS (CLIENTS + 2)

enum act_kind {
	/* Of clients. */
	ACT_ATTACH,
	ACT_DETACH,
	ACT_EXIT,
	ACT_EXEC,
	ACT_COUNTERS,
	ACT_HOSTILE,
	ACT_SCRIBBLE,
	/* Of clients and the primary. */
	ACT_OPEN,
	ACT_FIND,
	ACT_ADD,
	ACT_WAIT,
	ACT_CLOSE,
	ACT_QUEUE,
	ACT_CANCEL,
	ACT_FLUSH,
	ACT_READ,
	ACT_THREAD,
	ACT_FORK,
	ACT_FLOW,
	ACT_UNFLOW,
	ACT_BURST,
	ACT_RELEASE,
	ACT_REST,
	ACT_LACK,
	ACT_CHANGE,
	ACT_WAITER,
	ACT_UNWAIT,
	ACT_SET,
	ACT_ASK,
	ACT_POLLS,
	ACT_POLL,
	/* Of the primary. */
	ACT_OPEN_DOMAIN,
	ACT_CLOSE_DOMAIN,
	/* Of the operator. */
	ACT_KILL,
	ACT_STOP,
	ACT_KINDS,
};

/* A work item, or some. */
struct act_work {
	enum trip_op op;
	uint32_t flags;
	/* Which handles; none: the clock, and no counter. */
	uint32_t target, completion;
	bool by_clock, completes;
	/* Above the sum that there is; how long that is to rest, 0: it need not. */
	uint64_t threshold, interval, value, rests;
	uint32_t n;
	bool chains;
};

struct act {
	enum act_kind kind;
	uint32_t number;
	/* Of whom; which handle; how many; milliseconds; what a hostile one says. */
	uint32_t who, handle, value, ms, seed;
	/* Of the operator: ticks before it. */
	uint32_t delay;
	/* Of a counter: 0: it has no name, or which. */
	uint32_t name;
	int wait_obj;
	struct act_work work;
};

struct plan {
	struct act acts[ACTS];
	unsigned int n, next;
};

struct handle {
	struct trip_cntr *cntr;
	bool found, waitable;
	uint32_t name;
	/* What it has been added; deferred work may change it, too. */
	uint64_t value;
	bool worked;
};

struct rule;

struct flow {
	/* NULL: none. */
	struct trip_flow *flow;
	struct trip_cntr *cntr;
	/* NULL: of a primary that has ended. */
	struct rule *rule;
};

/* A process, or those that come in its place. */
struct user {
	uint32_t number;
	char name[16];
	struct plan plan;
	struct sim_process *process;
	/* NULL: none. */
	struct trip_domain *domain;
	/* It is on its way in, or out; it has been let in, and has not asked to leave; it was
	 * attached, and has become another program meanwhile, so that it still may be. */
	bool moving, attached, executed;
	/* It was told that its primary has ended. */
	bool is_orphan;
	/* It has a connection of its own; it has written garbage into its channels. */
	bool hostile, scribbles;
	/* As many primaries had been started when it was. */
	uint32_t generation;
	/* When the domain was opened: which one it is. */
	uint64_t opening;
	/* A number of its own for each time that it has a domain. */
	uint32_t attachment;
	struct handle handles[HANDLES];
	/* NULL: none. */
	struct trip_port *port;
	struct flow flows[FLOWS];
	/* Queues that it has claimed. */
	bool claims[QUEUES];
	/* It creates a flow, or destroys one; since then there were so many at a time. */
	bool changes_flows;
	unsigned int most_flows;
	/* It closes the port. */
	bool closes;
	/* Its thread has channels of its own. */
	bool has_channels;
	/* What its work may call, NULL: it has none. */
	struct trip_function *function;
	/* The call that it is in, NULL: none; whether that ends by itself; and how often something
	 * was not to be had before it. */
	const char *call;
	bool timed;
	unsigned int faults;
	/* What it had before it attached. */
	unsigned int files, blocks;
	/* sim_interrupt(). */
	unsigned int interrupts_every;
	unsigned int n_children;
};

struct processes {
	struct user users[CLIENTS + 1];
	struct plan operator;
	struct trip_domain_attr attr;
	unsigned int lcores[2];
	/* The history is about who comes and goes, and about no more. */
	bool doors;
	/* Or it is about flows above all. */
	bool flows;
	/* Or about who waits, and by what. */
	bool waits;
	/* Whoever adds again lets others go on, for a while. */
	bool lets_go_on;
	/* Error values that were set. */
	uint64_t n_errors;
	/* Work has counters of its own, which are closed and opened again as soon as may be. */
	bool reopens;
	/* After work is queued, a counter that it refers to is to be closed. */
	bool closes;
	/* Of clients; 0: as many as they like. */
	unsigned int files;
	/* Who may attach, and who may not, has changed so often. */
	uint32_t changes;
	/* As often when everything rested last. */
	uint32_t rested;
	/* Somebody has been killed; or has ended in any way that leaves a ring half done. */
	bool killed, may_be_half_rung;
	/* The domain is open. */
	bool open;
	uint64_t opening;
	/* Processes that come in the place of others; primaries. */
	unsigned int n_started;
	uint32_t generation, n_attachments;
};

extern struct processes processes;

static inline struct user *
processes_primary(void)
{
	return &processes.users[PRIMARY];
}

/* The user's next act, which is told of; NULL: there is none. */
const struct act *processes_next(struct plan *plan);
/* A call that may take its time begins, and ends. */
void processes_enter(struct user *user, const char *call, uint32_t ms);
void processes_leave(struct user *user);
/* Something was not to be had since the call, by whom ever: it may have failed by that. */
bool processes_lacks(const struct user *user);
/* Soon something is not. */
void processes_lack(struct user *user, const struct act *act);

/* It may still be attached by the program that it was. */
static inline bool
processes_executed(const struct user *user)
{
	return user->executed && user->opening == processes.opening;
}

/* --- processes_plan.c --- */

void processes_plan(void);

/* --- processes.c --- */

void processes_start(struct user *user);
/* Another one does the rest of its plan; false: there have been enough. */
bool processes_replace(struct user *user);

/* --- processes_primary.c, processes_client.c --- */

void processes_run_primary(void *user);
void processes_run_client(void *user);
/* It forks a child that has all that it has, does nothing, and stays for a while. */
void processes_fork(struct user *user);

/* --- processes_hostile.c --- */

void processes_be_hostile(struct user *user, const struct act *act);

/* --- processes_scribble.c --- */

/* Does not return where it is attached. */
void processes_scribble(struct user *user, const struct act *act);
void processes_garbage_begin(void);
/* The user's channels are new. */
void processes_garbage_ends(const struct user *user);
/* Somebody has written some in that domain: its counters, functions and flows may have come to
 * anything. */
bool processes_garbage_is_in(uint64_t opening);
/* Somebody has, or had, changed a counter, and has not rung for it. */
bool processes_garbage_is_unrung(void);
/* Somebody has written who has which queue of it. */
bool processes_garbage_is_in_claims(uint64_t opening);
struct trip_home;
/* Who has filled a channel, and nobody has had it since; NULL: nobody. */
const struct sim_process *processes_garbage_writer(const struct trip_home *home, uint32_t channel);
struct trip_channel_home;
/* An item of such a channel fires. */
void processes_garbage_fires(const struct trip_channel_home *channel, uint32_t slot);

/* --- processes_cntrs.c --- */

void processes_act_on_cntr(struct user *user, const struct act *act);
/* What a call may say. Descriptors may run out, and a domain may end with its primary. */
void processes_check_error(struct user *user, const char *call, int error, int other, int another);
void processes_close_cntrs(struct user *user);
/* As far as may be: that of an id, if it has a handle of it. */
void processes_close_of(struct user *user, uint64_t id);

/* From the act's on, the first that is open, or is not; NULL: there is none. */
struct handle *processes_find_handle(struct user *user, uint32_t from, bool is_open);

/* --- processes_waits.c, processes_sets.c --- */

/* False: it is about something else. */
bool processes_act_on_waits(struct user *user, const struct act *act);
/* The user has none, or nothing of them any more. */
void processes_waits_begin(struct user *user);
bool processes_has_waits(const struct user *user);
/* One that a thread waits for, from a number on; otherwise another. */
struct handle *processes_waits_for(struct user *user, struct handle *otherwise, uint32_t from);
/* A counter is to be opened, of a set or of none; and is, or is not. */
void processes_waits_join(struct user *user, const struct act *act, struct trip_cntr_attr *attr);
void processes_waits_joined(struct user *user);
/* It is to be closed, and was asked for that: whether something refers to it. */
bool processes_waits_close(struct user *user, struct handle *handle);
void processes_waits_closed(struct user *user, struct handle *handle, int error);
/* Nobody waits any more, and nothing is in a poll set; wait sets without members are closed. */
void processes_end_waits(struct user *user);
void processes_end_sets(struct user *user);

/* --- processes_judge_waits.c --- */

void processes_judge_waits(void);
struct trip_home;
/* Waiter slots of the primary's on a home: so many, and some that it may have besides. */
unsigned int processes_waits_slots(const struct trip_home *home, unsigned int *unsure);

/* --- processes_called.c --- */

/* Its work has counters of its own that are open. */
bool processes_has_own(const struct user *user);

/* --- processes_work.c --- */

/* False: it is about something else. */
bool processes_act_on_work(struct user *user, const struct act *act);
/* It becomes another program. */
void processes_items_leave(const struct user *user);
/* Nothing of it is pending any more, and nothing calls what it has registered. */
void processes_end_work(struct user *user);

/* --- processes_flows.c --- */

/* False: it is about something else. */
bool processes_act_on_flow(struct user *user, const struct act *act);
/* And the port, as far as may be. */
void processes_end_flows(struct user *user);
bool processes_has_flows(const struct user *user);
/* It becomes another program. */
void processes_flows_leave(struct user *user);
/* From the nth on, the first; NULL: it has none. */
struct flow *processes_find_flow(struct user *user, uint32_t from);
/* One feeds the counter. */
bool processes_flows_feed(const struct user *user, const struct trip_cntr *cntr);

/* --- processes_judge_work.c --- */

void processes_judge_work(struct user *primary);

/* --- processes_judge.c --- */

/* Whoever was may be in the middle of a call. */
bool processes_is_anybody_stopped(void);
/* NULL: it has ended, or is none of them. */
struct user *processes_user_of(const struct sim_process *process);

void processes_judge(void);
/* Where the domain has just been closed. */
void processes_judge_closed(void);

#endif
