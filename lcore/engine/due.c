/* SPDX-License-Identifier: BSD-3-Clause */
#include "due.h"

void
trip_due_push(struct trip_home *home, struct trip_due_list *list, uint32_t index, enum trip_due due)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];

	cntr->due = due;
	cntr->next_due = TRIP_NONE;
	if (list->count++ == 0)
		list->head = index;
	else
		home->cntrs[list->tail].next_due = index;
	list->tail = index;
}

uint32_t
trip_due_pop(struct trip_home *home, struct trip_due_list *list)
{
	uint32_t index = list->head;

	list->head = home->cntrs[index].next_due;
	list->count--;
	return index;
}

void
trip_due_touch(struct trip_home *home, uint32_t index)
{
	/* Fires against the old sample, so at most what was late already, and then settles. */
	if (home->cntrs[index].due == TRIP_DUE_NONE)
		trip_due_push(home, &home->firing, index, TRIP_DUE_FIRING);
}

/*
 * What lies above the counter's present value is not due, even if the last sample was higher: the
 * counter has been lowered since, and the node is measured against the new value (WORK-13). While
 * older ones are still to fire against the higher sample, it must wait.
 */
bool
trip_due_queue(struct trip_home *home, uint32_t index, uint64_t threshold, uint32_t node)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];
	uint64_t sum, sample = cntr->pending.sample;

	if (cntr->due != TRIP_DUE_NONE && cntr->sample > sample)
		sample = cntr->sample;
	if (threshold <= sample) {
		sum = trip_cell_sum(&home->cells[index]);
		if (sum < threshold && cntr->due != TRIP_DUE_NONE)
			return false;
		if (sum < threshold)
			trip_pending_sample(&home->pool, &cntr->pending, sum);
	}
	trip_pending_insert(&home->pool, &cntr->pending, threshold, node);
	return true;
}

void
trip_due_ring(const struct trip_engine *engine, uint32_t cntr)
{
	uint32_t local;
	struct trip_home *home = trip_engine_home(engine, cntr, &local);

	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CNTR, local);
}

void
trip_due_ring_self(struct trip_home *home, uint32_t index)
{
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CNTR, index);
}
