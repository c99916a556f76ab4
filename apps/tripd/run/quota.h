/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_QUOTA_H
#define TRIPD_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trip.h>

#include "anew.h"
#include "apply/count.h"
#include "link/losses.h"
#include "period.h"
#include "start/engine.h"
#include "start/plan.h"

struct trip_apply_when;
struct tripd_samples;

/* Keys of a finer `each` that belong to one that has tripped: sources of a destination, hosts of a
 * network; those with most first. */
#define TRIPD_TOP_KEYS 5u
struct tripd_top {
	/* Index in the rules. */
	unsigned int each, n;
	struct trip_each_entry keys[TRIPD_TOP_KEYS];
};

/* Of several. */
#define TRIPD_TOPS 4u
struct tripd_tops {
	unsigned int n;
	struct tripd_top of[TRIPD_TOPS];
};

/* One firing, as the control thread read it. */
struct tripd_trip {
	/* Index of the `when` in the rules. */
	unsigned int when;
	int32_t result;
	/* Of the day, when it was read; and when it happened, by the packets' clock. */
	uint64_t time_ns, packet_ns;
	uint64_t threshold, value, latency_ns;
	/* Firings that it stands for, the last of which was due at its threshold. */
	uint64_t count;
	/* What began with the one before has ended. */
	bool ends;
	/* As text, of one of an `each`; else NULL. */
	char *key;
	/* While it is told; or NULL. The path that packets of its key are to have as a file. */
	const struct tripd_tops *tops;
	const char *sample;
};

/* A key of an `each` that is held by hand, or let go, by a process; or what that began has ended.
 */
struct tripd_by_hand {
	unsigned int each;
	const char *key;
	enum trip_each_op op;
	bool ends;
	uint32_t pid;
	uint64_t packets, bytes, packet_ns;
};

/* Deferred work of a `when`: the ids of its items, in the order in which they were queued. */
struct tripd_item {
	uint64_t first, *more;
	unsigned int n;
	/* Of `more`. */
	unsigned int room;
	/* Of apply/when.h, or NULL. */
	struct trip_cntr *gate;
	/* What the clock was when it was put to work. */
	uint64_t since;
	/* What it has begun has ended. */
	bool ended;
	/* It dropped before its counter began anew, and what it dropped has not passed. */
	bool owed;
	/* It is queued by the counter that stands in for its own. */
	bool late;
	/* It was taken back when some of its flows had done it, and not all. */
	bool torn;
	/* It could not be queued, and is to be; the second in which that failed last, and 1. */
	bool unarmed;
	int64_t refused;
	/* Of what goes on that had begun, firings that are none; and in the order of events, since
	 * when it does. */
	unsigned int goes_on;
	uint64_t goes_on_at;
	/* Likewise of a rate: the id of the item whose first firing is none, or TRIP_WORK_NONE. */
	uint64_t begun;
	/* How many trips had been lost when it was known how often it had fired. */
	uint64_t n_overrun;
	/* In the order of events, the last firing; what the clock was then, and what it said. */
	uint64_t fired_at, fired_ns, last_threshold, last_value;
};

/* An `each` at work. */
struct tripd_each {
	/* NULL: it has gone, and is closed. */
	struct trip_each *each;
	/* Which of all openings it is of. The address of `each` may be that of one before. */
	uint64_t opening;
	/* What it had come to then. */
	struct trip_each_info last;
	/* Number of the next trip of its keys; and of the next event in each of its tables, NULL:
	 * none was read. */
	uint64_t next, *next_events;
	/* Packets of new keys without room that were told of, and when. */
	uint64_t said_refused, said_ns;
};

/* Contexts from this on are of what is done at once: which time it is, and in the lower half whose
 * its result is. */
#define TRIPD_NOW (UINT64_C(1) << 63)
#define TRIPD_NOW_TIME (UINT64_C(1) << 32)

/* What is done at once, and awaited together: its events have this context. */
struct tripd_now {
	uint64_t context;
	unsigned int left;
	int result;
	/* In the order of events, when the last was done. */
	uint64_t done_at;
	struct tripd_item item;
};

/* What holds a count, beside statements. */
struct tripd_hold {
	/* It was dropped or policed by hand, a bit for each operation, and has not passed since. */
	uint32_t by_hand;
	/* An operation has let it pass which its actions drop. */
	bool passed;
	/* In the order of events, when it has passed last: what fired before holds it no more. */
	uint64_t passed_at;
	/* Of tripd_period_pass(): something holds it; else it is to pass. */
	bool held, passes;
	/* Likewise: the statement whose police is in force behind that, and 1; 0: none is. */
	unsigned int police;
	/* Likewise: operations that are not done yet, and the first error of those that are. */
	unsigned int left;
	int error;
	/* The second in which it did not pass last, and 1; 0: it did. */
	int64_t refused;
};

/*
 * The rules, at work in a domain. They change (live.h): what goes stays in its place, where it is
 * `gone`, so that every index stays what it was.
 */
struct tripd_quota {
	struct trip_rules *rules;
	const struct tripd_plan *plan;
	struct trip_domain *domain;
	/* The domain progresses by trip_progress(), which a forwarder calls. */
	bool manual;
	/* By the times of packets, what that is now, and was when the domain's clock was 0:
	 * nanoseconds since the epoch. */
	uint64_t packet_ns, packet_began;
	struct trip_port *ports[TRIPD_PORTS_MAX];
	uint16_t port_ids[TRIPD_PORTS_MAX];
	/* Rules count what the port sends. */
	bool egress[TRIPD_PORTS_MAX];
	unsigned int n_ports;
	/* Frames that its ports lost before they could be counted. */
	struct tripd_loss_watch losses;
	/* As in the rules, by index. */
	struct trip_apply_count *counts;
	struct trip_cntr **counters;
	struct trip_set **sets;
	struct tripd_each *eaches;
	uint64_t n_openings;
	/* Those of them that are quotas. */
	struct tripd_periods periods;
	/* What begins anew: of each counter, and of both values of each count; some are to. */
	struct tripd_anew *anew_counters, *anew_counts;
	bool anew_asked;
	/* What one of them had made due before it did could not be done; that was said. */
	bool undone;
	/* Firings of each `when` since its counter began anew. */
	uint64_t *fired;
	struct tripd_item *items;
	/* Of each count. */
	struct tripd_hold *holds;
	uint64_t n_events;
	struct trip_function *log, *exec;
	/* A counter that no rule waits for. */
	struct trip_cntr *idle;
	/* One that stands in for another that has begun anew; NULL: there has been none. */
	struct trip_cntr *late;
	/* Takes packets of keys that trip; NULL: nobody does. */
	struct tripd_samples *samples;
	/* Where programs of `exec` are started; NULL: nowhere. */
	struct tripd_exec *programs;
	/* In the order of flows, the last. */
	uint64_t last_born;
	/* Room that the domain has for the rules, others' share included. */
	uint32_t max_flows, max_cntrs, max_works;
	/* As many trips of what repeats are there to be read at most, and as many of what fires
	 * once. */
	uint32_t max_events;
	/* All of them are: a change is not given up half way. */
	bool at_work;
	/* Some that were taken back are torn. */
	bool torn;
	/* Until when all that is queued waits for room; 0: each has its own time. */
	uint64_t queue_by;
	struct tripd_now now;
	/* Where each firing goes as it is read; NULL: nowhere. */
	void (*told)(void *arg, const struct tripd_trip *trip);
	void *told_arg;
	/* Likewise, of each period of a quota as it ends. */
	void (*period_told)(void *arg, const struct tripd_period *period);
	/* Likewise, of each key of an `each` that comes or goes; NULL: nobody asks. */
	void (*key_told)(void *arg, unsigned int each, const struct trip_each_event *event);
	/* Likewise, of each key that is held by hand, and let go. */
	void (*hand_told)(void *arg, const struct tripd_by_hand *by_hand);
	/* How many of these were written over before they were read. */
	uint64_t n_keys_unread;
	/* How many firings are kept for the report; 0: there is none. */
	size_t keep;
	/* The first so many firings in order, then those that are still to be said, up to
	 * TRIPD_TRIPS_MAX. */
	struct tripd_trip *trips;
	size_t n_trips, max_trips;
	/* Firings that the report has not, since it has room for no more. */
	uint64_t n_unkept;
	/* Firings that nobody is told of: there was no room for them, or their events overran. */
	uint64_t n_untold, n_overrun;
	/* Trips of keys that were written over before they were read. */
	uint64_t n_unread;
	/* Keys that belong to these are not looked for before. */
	uint64_t tops_ns;
	/* Commands that were refused. */
	uint64_t n_refused;
};

/* 64 MiB of them. */
#define TRIPD_TRIPS_MAX ((size_t)1 << 20)

/* Gives the planned ports, which run, to the domain, and opens counters, flows and work as the
 * rules say. Nobody may receive yet. Says what fails on stderr; close in any case. Returns 0, or a
 * negative errno. */
int tripd_quota_open(struct tripd_quota *quota, struct trip_domain *domain,
	struct trip_rules *rules, const struct tripd_plan *plan, struct tripd_link *links);

/* Queues a `when`, and says what fails. */
int tripd_quota_queue_when(struct tripd_quota *quota, unsigned int when);

/* Seconds since the epoch, as its periods go by. */
int64_t tripd_quota_seconds(const struct tripd_quota *quota);

/* Takes the trips that happened between the last call and this one to the end of `trips`. Returns
 * how many. */
size_t tripd_quota_read(struct tripd_quota *quota);

/* Keeps of the trips that were read so far only what the report is to have. */
void tripd_quota_forget(struct tripd_quota *quota);

/* Waits until the counters show all that had come by when it was called, but at most three seconds:
 * hardware may be read by way of a cache. */
void tripd_quota_freshen(struct tripd_quota *quota);

/* Likewise of one counter, what was counted until `began_tsc`, of rte_rdtsc(). */
void tripd_quota_freshen_cntr(
	const struct tripd_quota *quota, struct trip_cntr *cntr, uint64_t began_tsc);

/*
 * Waits until everything has fired that is due by what the counters show, which others may have
 * set, or for two seconds in which nothing fires; what is to happen later does not. Where rules
 * have each other fire for ever, it waits for 20 seconds, or for two and until a signal asks for
 * the end again. Only once no packet arrives any more, and the counters are fresh. Returns the
 * `when` that is still due, or -1.
 */
int tripd_quota_settle(struct tripd_quota *quota);

/* What a `when` watches: the sum of value and errors of its counter. */
uint64_t tripd_quota_value(const struct tripd_quota *quota, const struct trip_rules_when *when);
/* How often it is due where that is its value, if nothing beside the value decides: else 0. */
uint64_t tripd_quota_due(const struct trip_rules_when *when, uint64_t value);
/* What such an operation has begun is there until it ends, or a pass. */
bool tripd_quota_is_hold(enum trip_rules_op op);
/* Operation `op` has ended what held a count, then in the order of events: it passes, or is
 * deleted. */
void tripd_quota_passed(
	struct tripd_quota *quota, unsigned int count, enum trip_rules_op op, uint64_t at);
/* Whether a `when` has dropped or polices its count, which has not passed since: in a period that
 * is over; in none that is; and is at work. */
bool tripd_quota_owes(const struct tripd_quota *quota, unsigned int when);
bool tripd_quota_has_held(const struct tripd_quota *quota, unsigned int when);
bool tripd_quota_holds(const struct tripd_quota *quota, unsigned int when);

/* Takes it all down, in the order that leaves nothing referred to. The domain stays. */
void tripd_quota_close(struct tripd_quota *quota);

/* Of tripd_quota_open(): gives the planned ports to the domain. */
int tripd_quota_ports(struct tripd_quota *quota, const struct tripd_plan *plan);

/* Where a rule of those that are to be at work counts on a port: 0, or a negative errno and why. */
int tripd_quota_place(const struct tripd_quota *quota, const struct trip_rules *rules,
	const struct trip_rules_count *rule, uint16_t port, struct trip_apply_place *place,
	const char **why);

/* Opens an `each` of rules that are to be at work, whose ports are known. Returns what
 * trip_each_open() does. */
int tripd_quota_each_open(const struct tripd_quota *quota, const struct trip_rules_each *rule,
	struct trip_each **each);

/* Puts one that was opened in the place of statement `i`, which has none. */
void tripd_quota_each_take(struct tripd_quota *quota, unsigned int i, struct trip_each *each);

/* Whether packets of new keys have found no room since that was said; and says it. */
bool tripd_quota_eaches_are_full(struct tripd_quota *quota);
void tripd_quota_eaches_say(struct tripd_quota *quota);

/* Keys that hardware drops come back for good, and their tables have what was counted there: as
 * long as queues are polled. */
void tripd_quota_each_settle(const struct tripd_each *each);
void tripd_quota_eaches_settle(const struct tripd_quota *quota);

/* Closes one; what it has come to is kept. Returns what trip_each_close() does. */
int tripd_quota_each_close(struct tripd_quota *quota, unsigned int i);

/* Tells which keys have come and gone since the last call, some of each; or of one all that are
 * kept. */
void tripd_quota_keys_read(struct tripd_quota *quota);
void tripd_quota_keys_read_all(struct tripd_quota *quota, unsigned int each);

/* Takes the trips of keys that happened since the last call, each by tripd_quota_tell(). Returns
 * how many. */
size_t tripd_quota_each_read(struct tripd_quota *quota, uint64_t time_ns);

/* Whether there are any. */
bool tripd_quota_keys_tripped(const struct tripd_quota *quota);

/* Of up to TRIPD_TOPS_TRIPS trips of an `each`, the keys that belong to these, by all that are
 * finer, as far as these have been gone over by a time of CLOCK_MONOTONIC; freed by the caller.
 * NULL: there is none, or no memory. */
#define TRIPD_TOPS_TRIPS 64u
struct tripd_tops *tripd_quota_tops(const struct tripd_quota *quota, unsigned int each,
	const struct trip_each_trip *trips, unsigned int n, uint64_t until_ns);

/* Notes a trip, whose key it takes over, and tells whoever is to be told. */
void tripd_quota_tell(struct tripd_quota *quota, const struct tripd_trip *trip);

/* A trip of a key; its `key` is NULL without memory for it. */
struct tripd_trip tripd_quota_each_trip(const struct tripd_quota *quota, unsigned int each,
	const struct trip_each_trip *trip, uint64_t time_ns);

/* The number behind the last trip so far. New keys may trip as fast as these are told: who reads up
 * to there comes to an end. */
uint64_t tripd_quota_each_trips(const struct tripd_each *each);

/* Closes an `each` while the others go on: `last` is what it had come to, and what dropped its keys
 * is told to have ended. Returns 0, or a negative errno: it is as it was, and nothing was told. */
int tripd_quota_each_end(struct tripd_quota *quota, unsigned int each);

/* Has one begin anew that ends so. Returns 0, or a negative errno: it is as it was, or closed, and
 * the next call opens it. */
int tripd_quota_each_reset(struct tripd_quota *quota, unsigned int each);

/* What an `each` has come to, or had as it went. */
void tripd_quota_each_info(const struct tripd_each *each, struct trip_each_info *info);

/* What is done to a key, an enum trip_each_op, in the word of the language; NULL: nothing. */
const char *tripd_quota_key_state(uint32_t op);

/* Holds a key by hand, for a time in microseconds or until it is let go, or with TRIP_EACH_OP_NONE
 * lets it go; says what was done, or why not. 0, or a negative errno. */
int tripd_quota_each_hold(struct tripd_quota *quota, unsigned int each, const char *key,
	enum trip_each_op op, uint64_t time_us, FILE *answer);

/* A trip that says so, of a key with that text. */
void tripd_quota_each_told(struct tripd_quota *quota, unsigned int each,
	const struct trip_each_trip *trip, const char *key);

/* Lets some time pass, or progresses the domain where that is done by hand. */
void tripd_quota_pause(const struct tripd_quota *quota);

struct trip_cntr *tripd_quota_trigger(
	const struct tripd_quota *quota, const struct trip_rules_when *when);

/* Makes room for the ids of so many items: up to that, what is queued asks for no memory. */
int tripd_quota_room(struct tripd_item *item, unsigned int n);

/* Opens the gate of a statement that is to have one and has none: 0, or a negative errno. */
int tripd_quota_gate(const struct tripd_quota *quota, struct tripd_item *item,
	const struct trip_rules_when *when);

/* Queues the items of one behind those that it has; cancels them all, and tells whether they would
 * have fired. */
int tripd_quota_item_queue(
	struct tripd_quota *quota, struct tripd_item *item, const struct trip_apply_when *when);
bool tripd_quota_item_cancel(const struct tripd_quota *quota, struct tripd_item *item);

/* What is left of one whose work is canceled. Returns what closing its gate does. */
int tripd_quota_item_close(struct tripd_item *item);

/* Queues the work of a `when`, from where its firings have come to, by its own counter or another:
 * what cannot be queued is unarmed. Cancels it, and tells whether it would have fired. */
int tripd_quota_queue(struct tripd_quota *quota, unsigned int i, struct trip_cntr *trigger);
bool tripd_quota_cancel(struct tripd_quota *quota, unsigned int i);

/* One whose work is canceled is as if it had not fired. */
void tripd_quota_rearm(struct tripd_quota *quota, unsigned int i);

/* What it has begun that ends by itself, if that has not ended yet, has with its work, which was
 * canceled: that is told. */
void tripd_quota_end_lasting(struct tripd_quota *quota, unsigned int i);

/* Takes back what is due every so often; and has it queued again with what periods of quotas have:
 * what was due since it was taken back is one firing. */
void tripd_quota_rest(struct tripd_quota *quota);
void tripd_quota_go_round(struct tripd_quota *quota);

/* Whether a `when` ends by itself what it has begun: behind a time, or by an until. */
bool tripd_quota_lasts(const struct trip_rules_when *when);

/* What a `when` has begun that ends by itself goes on, on the flows of its count: for what is left
 * of its time; or its work is queued as one of a rate that has begun. */
int tripd_quota_go_on(struct tripd_quota *quota, unsigned int i);

/* Returns when what has started has finished, and all firings up to then are read. What was taken
 * back when some of its flows had done it is done to all of them by then, and has fired. */
void tripd_quota_settled(struct tripd_quota *quota);

/*
 * Does operations of rules at once: begins, adds each, on the flows of a count, or with NULL on its
 * counter, and waits until all are done. Returns the first error, of adding or doing; what is not
 * done within two seconds is taken back, and -ETIMEDOUT. Those that are added of a hold have their
 * own error there.
 */
void tripd_quota_now_begin(struct tripd_quota *quota);
int tripd_quota_now_add(struct tripd_quota *quota, const struct trip_apply_count *count,
	const struct trip_rules_when *rule, struct tripd_hold *hold);
int tripd_quota_now_end(struct tripd_quota *quota);
/* Likewise, for the homes of these counters to look at what flows have counted, as far as they can
 * know it. */
void tripd_quota_now_look(struct tripd_quota *quota, struct trip_cntr *cntr);
void tripd_quota_now_looked(struct tripd_quota *quota);
/* Likewise, one. */
int tripd_quota_do(struct tripd_quota *quota, const struct trip_apply_count *count,
	const struct trip_rules_when *rule);
/* An event of that has come. */
void tripd_quota_did(struct tripd_quota *quota, const struct trip_work_event *event);

#endif
