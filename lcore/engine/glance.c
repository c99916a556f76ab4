/* SPDX-License-Identifier: BSD-3-Clause */
#include "condition.h"
#include "glance.h"

/* Where it remembers. Operands, which would come before, its item has none; and that is not over,
 * or there were no alarm. */
static uint32_t
first_of(const struct trip_home *home, const struct trip_node *condition)
{
	const struct trip_node *more = &home->nodes[condition->more];

	return trip_node_is_end(more) ? more->more : condition->more;
}

bool
trip_glance_at(struct trip_home *home, uint32_t index)
{
	const struct trip_node *node = &home->nodes[index];
	struct trip_pending *clock = &home->cntrs[node->cntr].pending;
	uint32_t cntr = (uint32_t)node->generation;
	const struct trip_cell *cell = &home->cells[cntr];
	/* What came before the clock was sampled is in the sum that is read now. */
	struct trip_glance glance = {
		.home = home, .first = first_of(home, node), .known = clock->sample};
	uint64_t next;

	/* The generation before the sum: a set in between is found at the next look. */
	if (atomic_load(&cell->setgen) != node->condition.setgen ||
		(home->fed.n > 0 && home->cntrs[cntr].sources != TRIP_NONE))
		return false;
	glance.sum = trip_cell_sum(cell);
	next = trip_condition_of(node->flags)->glance(&glance);
	/* What is due would have to wait for what is on its way. */
	if (next <= clock->sample || next == TRIP_PENDING_NONE)
		return false;
	trip_pending_insert(&home->pool, clock, next, index);
	return true;
}
