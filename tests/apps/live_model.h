/* SPDX-License-Identifier: BSD-3-Clause */
/* What rules that change should count, drop and do: a model, in which nothing is ever replaced. */
#ifndef TRIP_LIVE_MODEL_H
#define TRIP_LIVE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_NAMES 6
/* Time goes by in tenths of a second. What is within 1,050 ms is of 10 moments behind one, in any
 * case, and never of 11, however windows are cut. */
#define MODEL_SPAN 10
#define MODEL_RATE 6
#define MODEL_UNTIL 3

/* What a `when` of a rule does. */
enum model_kind {
	MODEL_NONE,
	/* Drops it at the threshold, or polices it, at a rate that nothing here exceeds; drops it
	 * for a time, and each `every` anew. */
	MODEL_DROP,
	MODEL_POLICE,
	MODEL_DROP_FOR,
	/* Adds to the first counter, and has its program told, each `every`. */
	MODEL_ADD,
	MODEL_EXEC,
	/* Adds to the second one: once MODEL_RATE packets came in a time, until fewer than
	 * MODEL_UNTIL did; each time that none came for that time; once both values, or one of
	 * them, the rule's own and the first counter, are at the threshold. */
	MODEL_RATES,
	/* Drops or polices it for as long. */
	MODEL_RATE_DROP,
	MODEL_RATE_POLICE,
	MODEL_IDLE,
	MODEL_ALL,
	MODEL_ANY,
	/* Has its count, or the first counter, begin anew. */
	MODEL_RESET,
	MODEL_RESET_TOTAL,
	MODEL_KINDS
};

/* A `count` of UDP to some ports, and the `when` on it; their texts say all that there is. */
struct model_rule {
	bool there;
	unsigned int name, low, high, priority;
	bool also, drops;
	enum model_kind kind;
	/* `lasts`: moments. */
	uint64_t threshold, every, lasts;
	/* 0: there is none; a quota of its packets, which drops it once it is spent. */
	uint64_t limit;
};

struct model_state {
	/* All of them, and those since it began anew. */
	uint64_t packets, value;
	/* For ever; by an operation. */
	bool dropped, forced, deleted, policed;
	/* What its rate has begun holds it. */
	bool rate_holds;
	uint64_t fired;
	/* When what dropped it for a time ends; 0: nothing does. */
	uint64_t dropped_until;
	/* Packets of the last moments, this one first, since its `when` began to measure; what it
	 * has begun, and when; when the last came, and whether that it is idle since is told. */
	uint32_t came[MODEL_SPAN + 1];
	bool begun, idle_told;
	uint64_t begun_at, came_at;
	/* Of the quota; and whether what was dropped before something began anew is to pass. */
	uint64_t spent;
	bool is_spent, owed;
	/* Of two values, those that have been at the threshold; it is to begin anew. */
	bool held, total_held, resets;
	/* What has dropped it, and holds it until it passes. */
	bool by_hand, by_rule, by_quota;
};

struct model {
	/* In the order in which they are tried. */
	struct model_rule rules[MODEL_NAMES];
	unsigned int n;
	/* By name. */
	struct model_state states[MODEL_NAMES];
	uint64_t total, others, execs;
	bool total_resets;
	uint64_t now;
};

/* Whether rules are the same but for what waits for them; whether that is. */
bool model_same(const struct model_rule *a, const struct model_rule *b);
bool model_same_when(const struct model_rule *a, const struct model_rule *b);

struct model_rule *model_find(struct model *model, unsigned int name);

/* The rules are these from now on, in this order; or these are added, behind the others. */
void model_reload(struct model *model, const struct model_rule *rules, unsigned int n);
void model_apply(struct model *model, const struct model_rule *rules, unsigned int n);
void model_remove(struct model *model, unsigned int name);

/* Its flows are others now: what acts on them measures from here on. */
void model_renewed(struct model *model, unsigned int name);

/* Whether it drops. */
bool model_drops(const struct model *model, unsigned int name);
bool model_polices(const struct model *model, unsigned int name);

/* An operation on a name that is there, at once. */
void model_police(struct model *model, unsigned int name);
void model_drop(struct model *model, unsigned int name);
void model_pass(struct model *model, unsigned int name);
void model_delete(struct model *model, unsigned int name);
/* The next period of its quota begins; its count, or the first counter, begins anew. */
void model_reset(struct model *model, unsigned int name);
void model_reset_count(struct model *model, unsigned int name);
void model_reset_total(struct model *model);

/* So many moments go by, or an hour ends, in which each quota begins anew. */
void model_advance(struct model *model, uint64_t moments);
#define MODEL_HOUR 36000

/* A packet; returns whether it passes. */
bool model_packet(struct model *model, unsigned int port);

#endif
