/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations: what a work item does when it fires. An operation is one row, and whoever has to know
 * anything of it reads that: how it is called, what it works on, how it fires, and whether it is
 * over when that returns. To add one: lcore/README.md.
 */
#ifndef TRIP_OP_H
#define TRIP_OP_H

#include <stdbool.h>
#include <stdint.h>

#include <trip_work.h>

#include "engine.h"
#include "errand.h"
#include "node.h"
#include "op_rows.h"

/* Above every kind of target. */
#define TRIP_OP_TARGETS_END (TRIP_OP_ON_FUNCTION + 1)

/* What firing an operation comes to. */
enum trip_op_outcome {
	/* It has ended: `result` of the event says how. */
	TRIP_OP_ENDED,
	/* It is under way elsewhere, where its completion will be counted; its home tells of it
	 * when it settles the errand (trip_fire_settle()). */
	TRIP_OP_SENT,
};

/* Why operands are refused: one of them is below the lowest, or above its limit. */
struct trip_op_refusal {
	const char *operand;
	uint64_t value, low, limit;
};

/* Operands of TRIP_OP_FLOW_POLICE: an index, the others as the application has them. */
struct trip_op_police {
	uint64_t with;
	uint32_t unit;
	uint32_t burst_ms;
};

struct trip_op_row {
	const char *name;
	enum trip_op_target target;
	/* It has a value, which is at most TRIP_CNTR_MAX. */
	bool has_value;
	/* A flow in hardware does not do it. */
	bool in_software;
	/* Its effect is a count of its own: it has no completion counter, and one that will never
	 * fire adds 1 to its target's error (WORK-06, WORK-07). */
	bool counts;
	/* Bytes of operands that it has beside target and value, at most TRIP_OPERANDS_MAX; it
	 * finds them by trip_node_operands(). */
	uint8_t operands;
	/* Where it has some, whether it takes these: asked where it is queued, and by the home
	 * again, of its own copy. */
	bool (*takes)(const struct trip_engine *engine, const struct trip_work_desc *desc,
		const void *operands, struct trip_op_refusal *refusal);
	/* Its value is a time for which what it does lasts, at most TRIP_CNTR_MAX; 0: for ever. */
	bool has_time;
	/*
	 * NULL, or undoes what firing has begun, where the item says that it lasts: lasting.h.
	 * `begun` is what firing has left in the item's end (trip_node_end()). Where it tells of an
	 * error, it is undone all the same, if later.
	 */
	enum trip_op_outcome (*end)(struct trip_home *home, const struct trip_node *item,
		uint64_t begun, struct trip_event *event);
	/* It shows the event to somebody, who may look at the latency. */
	bool shows_event;
	/* On the home, between two bursts of work: must not block, and may change anything. */
	enum trip_op_outcome (*fire)(
		struct trip_home *home, const struct trip_node *item, struct trip_event *event);
	/*
	 * NULL, or fires many one-shot items of one channel, without operands, of which nobody is
	 * told, in a row. They are claimed, and their slots given back, before the first fires: so
	 * none of them may call what could look.
	 */
	void (*fire_many)(struct trip_home *home, const uint32_t *nodes, unsigned int n);
};

#define TRIP_OP_DECLARE(number, name) extern const struct trip_op_row trip_op_##name;
TRIP_OP_ROWS(TRIP_OP_DECLARE)

#define TRIP_OP_COUNT(number, name) +1
/* Behind the last operation. */
enum { TRIP_OPS_END = 1 TRIP_OP_ROWS(TRIP_OP_COUNT) };

/* The first is the row of those that are unknown: it has no name, and answers -ENOSYS. */
extern const struct trip_op_row *const trip_op_rows[TRIP_OPS_END];

/* The row of an operation: never NULL. */
static inline const struct trip_op_row *
trip_op_of(unsigned int op)
{
	return trip_op_rows[op < TRIP_OPS_END ? op : 0];
}

/*
 * Of flows in hardware, whose fate moves when their rule has: on the port's worker, what an errand
 * is to make of its flow, when its turn comes; and that it has. On the home: a drop that lasts has
 * begun, which its end is to know, where it still waits for that (NULL: it does not).
 */
enum trip_op trip_op_flow_now(const struct trip_engine *engine, const struct trip_errand *errand);
void trip_op_flow_done(struct trip_engine *engine, struct trip_errand *errand);
void trip_op_flow_begun(struct trip_engine *engine, const struct trip_errand *errand, uint32_t port,
	uint64_t *begun);

/* How many objects of a kind there may be. */
static inline uint32_t
trip_op_targets(const struct trip_engine *engine, enum trip_op_target target)
{
	switch (target) {
	case TRIP_OP_ON_CNTR:
		return engine->n_homes * engine->cntrs_per_home;
	case TRIP_OP_ON_FLOW:
		return engine->n_flows;
	case TRIP_OP_ON_FUNCTION:
		return engine->n_functions;
	}
	return 0;
}

#endif
