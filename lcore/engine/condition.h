/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conditions: what has to hold beside the threshold before an item fires. A condition is one row,
 * and whoever has to know anything of it reads that. To add one: lcore/README.md.
 *
 * An item with a condition has a second slot, and a second node: the condition's, with its
 * parameters and what it remembers. The item's own node stands in the pending set of its counter,
 * at first at the item's threshold. The condition's node may stand in that of the clock: its alarm.
 * When either is reached, or the counter was set, the row looks. It says where each stands next, or
 * that the condition holds; then the item fires as any other does. With an interval it waits for so
 * much more than it fired at, and the row looks again when that is reached.
 *
 * An item that has been made to stand is looked at once more when its counter has settled: a set
 * before that may have rung nobody, one behind it does.
 *
 * Nothing is looked at while nodes are on their way from a pending set to their firing, as only one
 * that is known to be in its set can be moved. So what was reached goes into the list of what is to
 * be looked at, and run_timers() walks that behind the round; but an alarm may need no more than a
 * glance (glance.h). A condition is always in just one
 * list: this, or that of its counter, which a set appends to this one in one step, however long.
 *
 * Each node is in one pending set at most, as any node is: pending_pool.c needs no more.
 */
#ifndef TRIP_CONDITION_H
#define TRIP_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "condition_rows.h"
#include "engine.h"
#include "op.h"

struct trip_home;
struct trip_glance;

enum trip_condition_state {
	/* It is looked at when its item's sum or its alarm is reached, whatever stands. */
	TRIP_CONDITION_WAITS,
	/* The item fires now. */
	TRIP_CONDITION_HOLDS,
	/* What began with that ends: lasting.h. */
	TRIP_CONDITION_ENDS,
};

/* A look at a condition. */
struct trip_condition_look {
	struct trip_home *home;
	/* Their nodes. */
	uint32_t item, condition;
	/* The end of the item, or TRIP_NONE; the first of the nodes that the condition remembers
	 * in, likewise: `more` of each is the next. */
	uint32_t end, first;
	/* The parameters, and behind them what it remembers, at first 0. */
	void *memory;
	/* What the counter shows. */
	uint64_t sum;
	/* By the clock: everything that happened before is in the sum. Only flows in hardware set
	 * it apart from trip_condition_now() by more than looks take. */
	uint64_t known;
	/* Likewise: what has reached where the item stands, since the look before, came behind it.
	 */
	uint64_t since;
	/* Flows in hardware feed the counter, and there is more than they have told. */
	bool behind;
	/* The item stands at a sum that is not reached; the alarm stands at a time. */
	bool stands, alarmed;
	/* The counter was set since the last look. */
	bool set;
	/* If so, to this: what is above came since. Where flows feed it nobody knows what did. */
	uint64_t set_to;
};

/*
 * What the counter showed where an item was queued whose condition remembers: it comes in the first
 * of the slots for that, as the home accepts it later, by other sums. All that is above `sum` came
 * at or behind `known`; where flows feed the counter that is as far back as it is behind. In an
 * attached process anybody may have written it, so a row takes it for no more than it may be.
 */
struct trip_condition_queued {
	uint64_t sum;
	/* By the clock; TRIP_CONDITION_LATER: the home found the item's threshold not reached yet
	 * when it accepted it. */
	uint64_t known;
	/* A set behind it is found at the first look. */
	uint32_t setgen;
};

#define TRIP_CONDITION_LATER UINT64_MAX

/* Parameters: how many, in how many nanoseconds; 0: it has none such. */
struct trip_condition_told {
	uint64_t count, time, until_count, until_time;
};

struct trip_condition_row {
	const char *name;
	/* Bytes of its parameters; with what it remembers, TRIP_CONDITION_MEMORY at most. */
	uint8_t parameters;
	/* Nodes that it has beside its own to remember in, TRIP_CHANNEL_MEMORY at most: the first
	 * has struct trip_condition_queued at first, and 0 behind that. What the others have then
	 * is anything. */
	uint8_t memory;
	/* Whether it takes its parameters, and this interval with them: asked where an item is
	 * queued, and by the home again, of its own copy. */
	bool (*takes)(const void *parameters, uint64_t interval, struct trip_op_refusal *refusal);
	/* Whether these say when what begins with a firing ends; NULL: never. */
	bool (*ends)(const void *parameters);
	/* What they are, for who lists items. */
	void (*tell)(const void *parameters, struct trip_condition_told *told);
	/* The most that an interval of its items may be; 0: they have none. */
	uint64_t interval_max;
	/* NULL; or it is of so many pairs, of which so many have to be reached (group.h). What it
	 * remembers in brings them along, in place of struct trip_condition_queued. */
	uint64_t (*needs)(uint64_t pairs);
	/* On the home. */
	enum trip_condition_state (*look)(struct trip_condition_look *look);
	/* NULL, or of an alarm that was reached: when it is next; 0: it is to be looked at, and
	 * nothing is done. */
	uint64_t (*glance)(const struct trip_glance *glance);
	/* NULL, or its item is given back. */
	void (*end)(const struct trip_condition_look *look);
};

#define TRIP_CONDITION_COUNT(kind, name) +1
/* Behind the last condition. */
enum { TRIP_CONDITIONS_END = 1 TRIP_CONDITION_ROWS(TRIP_CONDITION_COUNT) };

/* The row of a condition: never NULL. That of none, and of those that are unknown, has no name. */
const struct trip_condition_row *trip_condition_of(unsigned int kind);

/* ---- what a row may do when it looks ---- */

/* The item stands at this sum from now on, or at none. */
void trip_condition_stand(struct trip_condition_look *look, uint64_t sum);
void trip_condition_lift(struct trip_condition_look *look);

/* The alarm, which is one at most, stands at this time. */
void trip_condition_alarm(struct trip_condition_look *look, uint64_t ns);

/* A look at where an item with a condition stands. */
struct trip_condition_look trip_condition_look_of(struct trip_home *home, uint32_t item);

/* The time by the clock: nothing that happens from now on is in the sum. It is read each time, as
 * few looks want it. */
uint64_t trip_condition_now(const struct trip_condition_look *look);

/* ---- the home's ---- */

/* Whether the condition is one of an item that repeats or does not, and takes its parameters. */
bool trip_condition_takes(const struct trip_condition_row *row, const void *parameters,
	uint64_t interval, struct trip_op_refusal *refusal);

/* What an item that is queued now brings along. Any thread of any process. */
void trip_condition_note_queued(
	const struct trip_engine *engine, uint32_t cntr, struct trip_condition_queued *queued);

/* An item was accepted that has a condition; its parameters are in the node of that. */
void trip_condition_begin(struct trip_home *home, uint32_t item, uint8_t kind);

/* A node that has more is about to fire, and does where it is an item without a condition, or one
 * whose condition holds. False: it has been reached, and is to be looked at. */
bool trip_condition_fires(struct trip_home *home, uint32_t node);

/* A counter was set. */
void trip_condition_set(struct trip_home *home, uint32_t cntr);

/* Looks at what is to be looked at, at most `budget` of it; returns at how many. */
unsigned int trip_condition_run(struct trip_home *home, unsigned int budget);

/* The item is given back, and stands nowhere. */
void trip_condition_end(struct trip_home *home, uint32_t condition);

#endif
