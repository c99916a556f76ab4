/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world: one or two homes, attached processes that queue, cancel, count and wait, of which some
 * die and others come in their place, queues that count flows, and the control thread that clears
 * away. homes.c makes it; homes_plan.c draws what is done, homes_client.c does it, and waits in
 * homes_wait.c; homes_items.c knows what may become of each item; homes_judge.c looks at all of it
 * in the end. What else there is are parts: homes_feeds.c, homes_idle.c,
 * homes_lasting.c, homes_quota.c, homes_rate.c, homes_until.c.
 */
#ifndef SIM_HOMES_H
#define SIM_HOMES_H

#include "home.h"
#include "sim.h"

#define HOMES 2
/* Of a home, and what they are for. The last ones only count: completions of calls, and adds. */
#define CNTRS 6
#define FED 0
#define CALLED (CNTRS - 2)
#define ADDED (CNTRS - 1)
/* Attached processes, and behind them the primary itself. */
#define CLIENTS 3
#define PRIMARY CLIENTS
#define USERS (CLIENTS + 1)
#define QUEUES 2
#define ITEMS 4000
#define ACTS 128
#define SLOTS_MAX 32
/* Of one act that have numbers of their own. */
#define ROUNDS 64
/* The longest that a counter is to rest. */
#define REST_MAX 8192
/* A million steps, of 1025 ticks at most; and what goes by while nobody has anything to do, again
 * and again: homes_rate.c. */
#define HOMES_BUSTLE (UINT64_C(1) << 31)
#define HOMES_SKIP (UINT64_C(1) << 46)

enum act_kind {
	ACT_ADD,
	ACT_SET,
	ACT_ADDERR,
	ACT_QUEUE,
	ACT_SWING,
	ACT_TIMER,
	ACT_CANCEL,
	ACT_WAIT,
	ACT_WATCH,
	ACT_GIVE_UP,
	ACT_READ,
	ACT_REST,
	ACT_KINDS,
};

/* What a user does next. */
struct act {
	enum act_kind kind;
	/* How often; of a cancel: how many items back. One of so many times an item is queued. */
	uint32_t n, every;
	uint32_t cntr, target;
	/* The one of its process, or of its thread. */
	uint32_t channel;
	uint64_t value, threshold, interval;
	/* Whose it is; NULL: no part's. Of its items: the parameters of the condition. */
	const struct homes_part *part;
	uint64_t parameters[4];
	uint8_t op, flags;
	/* A swing goes on when its home has seen the last set. */
	bool awaits;
	/* Of it, a bit each: what is to be done. */
	uint64_t rounds;
	/* Of its plan, the first of ROUNDS. */
	uint32_t number;
	/* Its call queues another one. */
	bool chains;
	/* Of its round. */
	bool is_last;
	/* Of an add: it comes when somebody waits for it. */
	bool meets;
	/* Of a quota: its counter. */
	uint32_t quota;
};

struct item {
	uint64_t id;
	/* What was asked for. */
	struct trip_work_desc desc;
	uint32_t user, actor, home, channel;
	/* By a part, which has it; NULL: by none. */
	const struct act *act;
	/* When it was queued, or what it began last ended; what it last fired at, and when. */
	uint64_t queued, last, fired_at;
	/* Steps: it began to be queued, and had rung; 0: it has not. */
	uint32_t began, rung;
	/* The store of its counter that its user had made last, as the watch counts them. */
	unsigned int set;
	bool chains, canceling, canceled, gone;
	/* What began when it fired has not ended: it stands nowhere, in the end. */
	bool lasts;
	/* Times that it fired, intervals that these stand for, events of it that were read. */
	uint64_t fired, count, events;
};

struct user {
	uint32_t number;
	/* Which actor it is now. */
	unsigned int actor;
	char name[16];
	struct act acts[ACTS];
	unsigned int n_acts, next_act;
	/* Its own views. */
	struct trip_engine engine;
	struct trip_home *homes[HOMES];
	/* One-shot items whose event is to come. */
	uint32_t credits[HOMES];
	/* The last store of each counter that it has set, in its watch. */
	unsigned int set[HOMES * CNTRS];
	/* It waits for this, and sleeps, or is about to. */
	bool waits, sleeps;
	uint32_t cntr;
	uint64_t threshold;
	struct trip_cell_sample seen;
	bool dropping;
};

/*
 * One thing more that this world does, in a file of its own: an act that users do, a condition of
 * items, who acts beside them. It is a row of homes_parts; nobody else knows of it. What it has not
 * is NULL.
 */
struct homes_part {
	/* Behind all else that is drawn: whether it is in this history. Then each act that is no
	 * part's yet may become its own. */
	bool (*plan)(void);
	void (*plan_act)(struct act *act);
	/* The flow is made, and homes are to be. */
	void (*make)(void);
	/* An actor, and what it is called; `arg` is a number that is drawn. */
	const char *actor;
	void (*run)(void *arg);
	/* A timer of its own has one more turn before it is taken back. */
	void (*turn)(struct user *user, const struct act *act);
	/* Of its items: the condition (enum trip_condition_kind), whose parameters the act has. One
	 * fires, and is right; what began with that ends; everything rests, and it has to wait.
	 * Without these it is judged as any other is. */
	uint8_t condition;
	void (*check_firing)(const struct item *item, const struct trip_work_event *event);
	void (*check_end)(const struct item *item);
	void (*check_waiting)(const struct item *item);
	/* Any item has fired; everything rests. */
	void (*fired)(struct item *item);
	void (*judge)(void);
};

extern const struct homes_part homes_feeds, homes_idle, homes_lasting, homes_quota, homes_rate,
	homes_sleepers, homes_until;
#define HOMES_PARTS 7
extern const struct homes_part *const homes_parts[HOMES_PARTS];

/* Of all parts that are in the history. */
#define homes_tell_parts(what, ...)                                               \
	do {                                                                      \
		for (unsigned int part_ = 0; part_ < HOMES_PARTS; part_++)        \
			if (homes.has[part_] && homes_parts[part_]->what != NULL) \
				homes_parts[part_]->what(__VA_ARGS__);            \
	} while (0)

struct homes {
	struct trip_engine engine;
	struct trip_home_shape shape;
	void *memory[HOMES];
	struct trip_function_slot function;
	struct trip_flow_slot flow;
	struct trip_flow_feed feed;
	struct trip_count *counts;
	struct trip_count_moments moments[QUEUES];
	struct trip_flow_read *read;
	struct trip_count_folded folded[QUEUES + 1];
	struct user users[USERS];
	struct item items[ITEMS];
	unsigned int n_items;
	struct sim_watch *watches[HOMES * CNTRS];
	/* What may be done with which. */
	bool sets[HOMES * CNTRS], errs[HOMES * CNTRS];
	/* When users have set a counter, last, and more than a bustle before. */
	uint64_t set_at[HOMES * CNTRS][2];
	bool feeds, kills, idles;
	/* By part. */
	bool has[HOMES_PARTS];
	/* Of each home. */
	unsigned int budgets[HOMES];
	uint8_t hot_log2[HOMES];
	/* All do a few acts, or a burst, and wait until everything rests, again and again. */
	bool in_rounds;
	uint32_t bursts[QUEUES];
	/* Homes that have found nothing to do. */
	bool pauses[HOMES];
	/* Views that the dead have left. */
	struct trip_home *left[SIM_ACTORS * HOMES];
	unsigned int n_left;
};

extern struct homes homes;

static inline uint32_t
homes_cntrs(void)
{
	return homes.engine.n_homes * CNTRS;
}

/* A counter, or the clock of a home. */
static inline bool
homes_is_clock(uint32_t cntr)
{
	return cntr >= homes_cntrs();
}

static inline struct trip_home *
homes_of(uint32_t cntr)
{
	return homes.engine.homes[homes_is_clock(cntr) ? cntr - homes_cntrs() : cntr / CNTRS];
}

/* As a user sees the home of a counter, and its cell. */
static inline struct trip_home *
homes_view(const struct user *user, uint32_t cntr)
{
	return user->engine.homes[cntr / CNTRS];
}

static inline struct trip_cell *
homes_cell(const struct user *user, uint32_t cntr)
{
	return &homes_view(user, cntr)->cells[cntr % CNTRS];
}

/* The clock of a home, and of each view of it. */
uint64_t homes_now(struct trip_home *home);

/* Lets time go by while nobody has anything to do, from alarm to alarm, until then. Homes look just
 * before each of these moments, too. */
void homes_skip_to(uint64_t moment);

/* What a counter has come to, with what queues have counted and nobody was told of; the present.
 * Quietly. */
uint64_t homes_sum(uint32_t cntr);

/* --- homes_plan.c --- */

void homes_plan(void);

/* --- homes_client.c --- */

/* A process attaches, and does what is left of its plan. */
void homes_user(void *user);
/* Makes the views of it; the primary has its own. */
void homes_attach(struct user *user);

/* --- homes_wait.c --- */

void homes_wait(struct user *user, const struct act *act);
/* Arms its slot, and takes the request back. */
void homes_give_up(struct user *user, const struct act *act);
bool homes_wait_is_over(const struct user *user);

/* --- homes_items.c --- */

/* For those who read of it. */
static inline unsigned int
homes_number(const struct item *item)
{
	return (unsigned int)(item - homes.items);
}

/* Queues one; NULL: there is no room in its channel. */
struct item *homes_queue(struct user *user, const struct act *act);
/* In a function of a home, on a counter of any; NULL: likewise. */
struct item *homes_chain(const struct trip_home *from, uint32_t cntr, uint64_t threshold);
int homes_called(const struct trip_work_event *event, void *arg);
void homes_read_events(struct user *user);
/* Its counter has been at the threshold since its user set it last (WORK-13). */
bool homes_was_reached(const struct item *item, uint64_t threshold);
/* All homes have dropped what a user had queued. */
void homes_items_gone(const struct user *user);

/* --- homes_judge.c --- */

void homes_check(struct trip_home *home, bool rests);
/* Whoever runs has just rung there. */
void homes_rung(uint32_t home, unsigned int section, uint32_t index);
void homes_judge(void);

#endif
