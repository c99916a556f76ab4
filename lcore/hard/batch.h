/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of rules by operations on a flow queue (template.h), many at a time. On the port's
 * worker.
 *
 * A change is up to four operations, each of which needs the ones before it to have completed:
 *
 *		put			swap			take
 *	1	the rule		the new rule		the jump to it
 *	2	the jump to it		not the old rule	the rule
 *	3	where one failed, its handle and what stands of the change go
 *	4
 *
 * So packets come to a rule that is there already, and leave it before it goes. The operations of
 * all changes of a batch go through a step together: enqueued, pushed once, and pulled until all
 * have completed, in whatever order. Changes of one batch are of different rules.
 *
 * Full queue. Its size is its configurer's business. When it takes no more, what is under way is
 * pushed and one completion waited for; an operation that is refused while none is under way has
 * failed.
 *
 * Handles. One that completes with an error is good for one thing, to be destroyed. One that has
 * been handed to be destroyed is not used again, whatever the completion says; if that is an error,
 * its rule may stand and count for ever, and its counter is not given to anybody else.
 *
 * A device that does not answer keeps the worker in its wait, which reads counters meanwhile and
 * ends when the device is told to be gone, to recover, or to be reset. Then, and when the queue
 * itself fails, nothing that was under way is known and nothing can be done on the queue any more:
 * all changes fail, until the port has been started again, with an empty queue.
 */
#ifndef TRIP_BATCH_H
#define TRIP_BATCH_H

#include <stdbool.h>
#include <stdint.h>

struct trip_rule_change;
struct trip_rule_entry;
struct trip_template;

/* Changes at a time. */
#define TRIP_BATCH_MAX 64

struct trip_batch_op {
	/* What is created or destroyed; NULL: nothing. */
	struct trip_rule_entry *entry;
	bool destroys;
	bool under_way;
	/* Of the last one: 0, or an errno. */
	int error;
};

struct trip_batch {
	struct trip_batch_op ops[TRIP_BATCH_MAX];
	unsigned int n_under_way;
	/* Why nothing can be done any more: an errno; 0: it can. */
	int broken;
	/* Called again and again in a wait: 0, or why nothing more is to be waited for. */
	int (*wait)(void *arg);
	void *arg;
};

/* Does n changes, at most TRIP_BATCH_MAX. */
void trip_batch_run(
	struct trip_template *templates, struct trip_rule_change *changes, unsigned int n);

#endif
