/* SPDX-License-Identifier: BSD-3-Clause */
/* What rules that change should count, drop and do: a model, in which nothing is ever replaced. */
#ifndef TRIP_LIVE_MODEL_H
#define TRIP_LIVE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define MODEL_NAMES 6

/* A `count` of UDP to some ports, and the `when` on it; their texts say all that there is. */
struct model_rule {
	bool there;
	unsigned int name, low, high, priority;
	bool also, drops;
	/* 0: there is none; `every`: it adds to the counter, else it drops the rule. */
	uint64_t threshold, every;
	/* 0: there is none; a quota of its packets, which drops it once it is spent. */
	uint64_t limit;
};

struct model_state {
	uint64_t packets;
	bool dropped, deleted;
	uint64_t fired;
	/* Of the quota, and whether what it has dropped in a period that is over is to pass. */
	uint64_t spent;
	bool is_spent, owed;
	/* What has dropped it, and holds it until it passes. */
	bool by_hand, by_rule, by_quota;
};

struct model {
	/* In the order in which they are tried. */
	struct model_rule rules[MODEL_NAMES];
	unsigned int n;
	/* By name. */
	struct model_state states[MODEL_NAMES];
	uint64_t total;
};

/* Whether rules are the same but for what waits for them; whether that is. */
bool model_same(const struct model_rule *a, const struct model_rule *b);
bool model_same_when(const struct model_rule *a, const struct model_rule *b);

struct model_rule *model_find(struct model *model, unsigned int name);

/* The rules are these from now on, in this order; or these are added, behind the others. */
void model_reload(struct model *model, const struct model_rule *rules, unsigned int n);
void model_apply(struct model *model, const struct model_rule *rules, unsigned int n);
void model_remove(struct model *model, unsigned int name);

/* An operation on a name that is there, at once. */
void model_drop(struct model *model, unsigned int name);
void model_pass(struct model *model, unsigned int name);
void model_delete(struct model *model, unsigned int name);
/* The next period of its quota begins. */
void model_reset(struct model *model, unsigned int name);

/* A packet; returns whether it passes. */
bool model_packet(struct model *model, unsigned int port);

#endif
