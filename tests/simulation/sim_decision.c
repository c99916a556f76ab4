/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of what a history does that it need not. */
#include "sim_inside.h"

/* By actor, and of each in its order. */
static int
compare(const void *a, const void *b)
{
	const struct sim_decision *x = a, *y = b;

	if (x->actor != y->actor)
		return x->actor < y->actor ? -1 : 1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return x->step < y->step ? -1 : x->step > y->step;
}

void
sim_decision_sort(struct sim_history *history)
{
	for (unsigned int i = 0; i < history->n_decisions; i++)
		history->decisions[i].happened = false;
	qsort(history->decisions, history->n_decisions, sizeof(*history->decisions), compare);
}

void
sim_decision_prune(struct sim_history *history)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < history->n_decisions; i++)
		if (history->decisions[i].happened)
			history->decisions[n++] = history->decisions[i];
	history->n_decisions = n;
}

void
sim_decision_note(enum sim_kind kind, uint32_t arg)
{
	struct sim_history *history = sim.history;

	if (history->n_decisions == history->max_decisions) {
		history->max_decisions = history->max_decisions * 2 + 1024;
		history->decisions = realloc(
			history->decisions, history->max_decisions * sizeof(*history->decisions));
	}
	history->decisions[history->n_decisions++] = (struct sim_decision){
		.op = sim.self->op,
		.step = sim.self->step,
		.arg = arg,
		.actor = (uint8_t)sim_number(sim.self),
		.kind = (uint8_t)kind,
		.happened = true,
	};
}

static uint64_t
moment(uint32_t op, uint32_t step)
{
	return (uint64_t)op << 32 | step;
}

bool
sim_decision_was(enum sim_kind kind, uint32_t *arg)
{
	struct sim_history *history = sim.history;
	struct sim_actor *self = sim.self;
	uint64_t now = moment(self->op, self->step);

	for (unsigned int i = self->decision; i < history->n_decisions; i++) {
		struct sim_decision *decision = &history->decisions[i];
		uint64_t then = moment(decision->op, decision->step);

		if (decision->actor != sim_number(self) || then > now)
			break;
		if (then < now)
			self->decision = i + 1;
		else if (decision->kind == kind) {
			*arg = decision->arg;
			decision->happened = true;
			return true;
		}
	}
	return false;
}
