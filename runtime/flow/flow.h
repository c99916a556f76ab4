/* SPDX-License-Identifier: BSD-3-Clause */
/* What a counted flow is in each engine, and what both need to make one. */
#ifndef TRIP_RUNTIME_FLOW_H
#define TRIP_RUNTIME_FLOW_H

#include <rte_flow.h>

#include <trip_client.h>

#include "flow/port.h"

/* What a caller of trip_flow_create() asks for; only `actions` may be NULL. */
struct trip_flow_order {
	/* Our copy, in which engine and direction are known; and what was given, which errors are
	 * about. */
	const struct trip_flow_attr *attr, *given;
	const struct rte_flow_item *pattern;
	const struct rte_flow_action *actions;
	/* Where to say what is wrong; may be NULL. */
	struct rte_flow_error *error;
	/* It is of a statement that has the port for itself. */
	bool of_each;
};

/* An engine. */
struct trip_flow_ops {
	enum trip_flow_engine engine;
	/* Whether it would take such a rule on a port: 0, or the error. Changes nothing. */
	int (*validate)(uint16_t port_id, const struct trip_flow_order *order);
	/* Makes a rule for a flow, which counts from then on, or leaves nothing behind. Under the
	 * domain's control lock. */
	int (*create)(struct trip_flow *flow, const struct trip_flow_order *order);
	/* The flow matches no more, and keeps its value. */
	void (*retire)(struct trip_flow *flow);
	/* Brings what can be read of it up to date. */
	void (*query)(struct trip_flow *flow);
	/* When it returns, nobody counts on the flow any more. */
	void (*quit)(struct trip_flow *flow);
	/* After that, under the control lock. */
	void (*destroy)(struct trip_flow *flow);
};

extern const struct trip_flow_ops trip_flow_soft, trip_flow_hard;

/* Flows of this process, or of the primary. */
struct trip_flow_backend {
	/* The engine, or the error, as trip_flow_validate() has it; *reason is good until the
	 * thread's next call. */
	int (*validate)(uint16_t port_id, const struct trip_flow_order *order, const char **reason);
	/* 0, or the error, also as rte_flow has it. */
	int (*create)(struct trip_port *port, const struct trip_flow_order *order,
		struct trip_flow **out);
	int (*retire)(struct trip_flow *flow);
	int (*query)(struct trip_flow *flow, struct trip_flow_count *count);
	int (*destroy)(struct trip_flow *flow);
	struct trip_flow_more *(*more)(const struct trip_flow *flow);
};

extern const struct trip_flow_backend trip_flow_local;

/* Says what is wrong: in `error`, until the thread's next refusal, and as the library's sentence;
 * returns -number. */
__attribute__((format(printf, 5, 6))) int trip_flow_refuse(struct rte_flow_error *error, int number,
	enum rte_flow_error_type type, const void *cause, const char *format, ...);

/* What rte_flow calls an item or action; "unknown": it knows no such type. */
const char *trip_flow_name(enum rte_flow_conv_op op, unsigned int type);

_Static_assert(TRIP_FLOW_CNTRS_MAX == TRIP_FLOW_FEEDS, "homes know all of its counters");

/* What only some flows have, beside the handle. Its pages appear as they are touched. */
struct trip_flow_more {
	struct trip_cntr *cntrs[TRIP_FLOW_CNTRS_MAX];
	/* Counters objects that collect from it. Under the control lock. */
	LIST_HEAD(, trip_binding) bindings;
	/* In hardware. */
	struct trip_hard_flow *hard;
	/* Why it is where it is, unless that is one of the domain's reasons. */
	char *reason;
	/* In an attached process, what the primary calls it. */
	uint64_t id;
	/* Process that it was created for; 0: this one. */
	_Atomic uint32_t pid;
	/* Its index is held back for a burst of another process. Stamp of its removal (claim.h),
	 * and the next flow that is held back, as index + 1. */
	bool held_back;
	const struct trip_port *port;
	uint64_t stamp;
	uint32_t next_held;
};

/* Takes a handle in the primary, with an index, or gives it back. Under the control lock. */
struct trip_flow *trip_flow_take(struct trip_port *port);
void trip_flow_give(struct trip_flow *flow);

/* In the primary: the domain's backend says what it returns. */
int trip_flow_police(struct trip_flow *flow, struct trip_flow *with);

/* The index of a flow that ends is given back when no burst of another process can count on it any
 * more; or when its port is closed. Under the control lock. */
void trip_flow_hold_back(struct trip_flow *flow, uint64_t stamp);
void trip_flow_free_held(struct trip_domain *domain, const struct trip_port *closed);

struct trip_flow_more *trip_flow_more(const struct trip_flow *flow);
const struct trip_flow_ops *trip_flow_ops(const struct trip_flow *flow);
/* In software. */
struct trip_port_side *trip_flow_side(const struct trip_flow *flow);

/* Notes why a flow is in its engine: 0 or -ENOMEM. And forgets it. Under the control lock. */
int trip_flow_explain(struct trip_flow *flow, const char *reason, struct rte_flow_error *error);
void trip_flow_unexplain(struct trip_flow *flow);

/* What is told of a flow; of one in software it is read from its rule. Under the control lock. */
struct trip_flow_words {
	uint32_t group, priority;
	char pattern[TRIP_CLIENT_PATTERN_MAX];
};

void trip_flow_describe(const struct trip_flow *flow, struct trip_flow_words *words);

/* What is known of a flow without asking its source: in hardware, its last reading. */
void trip_flow_read(const struct trip_flow *flow, struct trip_flow_count *count);

/* Writes a pattern as testpmd has it; cut where there is no room. */
void trip_flow_text(const struct rte_flow_item *pattern, char *out, size_t size);

/* The queues of the domain that count a flow: from *first on, so many. */
uint16_t trip_flow_queues(const struct trip_flow *flow, uint32_t *first);

/*
 * Gives a flow fresh counts on its queues, and its counters; and takes them away again, when nobody
 * counts any more: what was counted is folded first. Under the control lock.
 */
int trip_flow_attach(struct trip_flow *flow, const struct trip_flow_attr *attr);
void trip_flow_detach(struct trip_flow *flow);

#endif
