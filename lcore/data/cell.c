/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets and arms a counter's cell. What every add runs through is inline in cell.h. */
#include <stddef.h>

#include "cell.h"

static const uint64_t value_max = TRIP_CNTR_MAX;

/* Loaded after the caller's change of a value; pairs with the store in trip_cell_arm(). */
static bool
somebody_cares(struct trip_cell *cell)
{
	return atomic_load(&cell->armed) != 0;
}

/* Adds as far as a limit, by compare-exchange; false where the value did not change. */
static bool
add_up_to(_Atomic uint64_t *value, uint64_t add, uint64_t limit)
{
	uint64_t old = atomic_load(value), sum;

	do {
		if (old >= limit || add == 0)
			return false;
		sum = add > limit - old ? limit : old + add;
	} while (!atomic_compare_exchange_weak(value, &old, sum));
	return true;
}

void
trip_cell_init(struct trip_cell *cell)
{
	atomic_init(&cell->success, 0);
	atomic_init(&cell->error, 0);
	atomic_init(&cell->trip_at, value_max);
	atomic_init(&cell->errgen, 0);
	atomic_init(&cell->setgen, 0);
	atomic_init(&cell->armed, 0);
	atomic_init(&cell->next, TRIP_CELL_IDLE);
	atomic_init(&cell->refreshed_tsc, 0);
	atomic_init(&cell->set_to, 0);
}

bool
trip_cell_add_reached(struct trip_cell *cell, uint64_t reached)
{
	/* A set meanwhile ends the loop as well: what it stored is within the maximum. */
	while (reached > value_max)
		if (atomic_compare_exchange_weak(&cell->success, &reached, value_max))
			break;
	return somebody_cares(cell);
}

bool
trip_cell_fill(struct trip_cell *cell, uint64_t value, uint64_t limit)
{
	uint64_t now;

	add_up_to(&cell->success, value, limit);
	/* A later value is as good: whoever made it larger rings, too, if it is not seen here. */
	now = trip_cell_success(cell);
	return now >= atomic_load(&cell->trip_at) && somebody_cares(cell);
}

bool
trip_cell_add_large(struct trip_cell *cell, uint64_t value)
{
	return trip_cell_fill(cell, value, value_max);
}

/* Before the generation, by which it is looked for; of success and of error as either was set, so
 * that what comes to the other one behind it is above that, too. Of two sets at once it may be
 * either. */
static void
note_set(struct trip_cell *cell, uint64_t success, uint64_t error)
{
	atomic_store(&cell->set_to, success + error);
	atomic_fetch_add(&cell->setgen, 1);
}

bool
trip_cell_set(struct trip_cell *cell, uint64_t value)
{
	value = trip_cell_clamp(value);
	atomic_store(&cell->success, value);
	note_set(cell, value, trip_cell_error(cell));
	return somebody_cares(cell);
}

bool
trip_cell_reset(struct trip_cell *cell, uint64_t *was)
{
	/* An adder that has passed the maximum finds it within, and leaves it so. */
	*was = trip_cell_clamp(atomic_exchange(&cell->success, 0));
	note_set(cell, 0, trip_cell_error(cell));
	return somebody_cares(cell);
}

bool
trip_cell_adderr(struct trip_cell *cell, uint64_t value)
{
	if (!add_up_to(&cell->error, value, value_max))
		return false;
	atomic_fetch_add(&cell->errgen, 1);
	return somebody_cares(cell);
}

bool
trip_cell_seterr(struct trip_cell *cell, uint64_t value)
{
	value = trip_cell_clamp(value);
	if (atomic_exchange(&cell->error, value) != value)
		atomic_fetch_add(&cell->errgen, 1);
	note_set(cell, trip_cell_success(cell), value);
	return somebody_cares(cell);
}

bool
trip_cell_arm(struct trip_cell *cell, uint64_t bound, bool armed)
{
	uint32_t care = armed || bound != TRIP_CELL_IDLE;
	uint64_t error = trip_cell_error(cell), trip_at = value_max, success; /* H0 */

	/* What no success can reach rings at the largest, for nothing. */
	if (bound != TRIP_CELL_IDLE)
		trip_at = bound > error ? trip_cell_clamp(bound - error) : 0;

	/*
	 * H1, in either order. The home alone writes these, so what it finds unchanged needs no
	 * second store: the old one comes before H2 as well.
	 */
	if (atomic_load_explicit(&cell->armed, memory_order_relaxed) != care)
		atomic_store(&cell->armed, care);
	if (atomic_load_explicit(&cell->trip_at, memory_order_relaxed) != trip_at)
		atomic_store(&cell->trip_at, trip_at);
	if (bound == TRIP_CELL_IDLE)
		return false;
	success = trip_cell_success(cell); /* H2, and the error */
	return trip_cell_error(cell) != error || success + error >= bound;
}

void
trip_cell_sample(const struct trip_cell *cell, struct trip_cell_sample *sample)
{
	sample->errgen = atomic_load(&cell->errgen);
	sample->setgen = atomic_load(&cell->setgen);
	sample->error = trip_cell_error(cell);
	sample->success = trip_cell_success(cell);
}

bool
trip_cell_stale(const struct trip_cell *cell, const struct trip_cell_sample *sample)
{
	uint64_t trip_at = atomic_load(&cell->trip_at);
	struct trip_cell_sample now;

	trip_cell_sample(cell, &now);
	if (now.errgen != sample->errgen || now.setgen != sample->setgen)
		return true;
	/* A killed setter left its value without a generation. */
	if (now.error != sample->error || now.success < sample->success)
		return true;
	return now.success >= trip_at && sample->success < trip_at;
}

const char *
trip_cell_check(const struct trip_cell *cell)
{
	uint64_t trip_at = atomic_load(&cell->trip_at);

	if ((uintptr_t)cell % 64 != 0)
		return "cell: not on a cache line of its own";
	if (atomic_load(&cell->success) > value_max)
		return "cell: success is above the maximum";
	if (atomic_load(&cell->error) > value_max)
		return "cell: error is above the maximum";
	if (trip_at > value_max)
		return "cell: trip_at is above the maximum";
	if (trip_at < value_max && atomic_load(&cell->armed) == 0)
		return "cell: trip_at is set and nobody is armed";
	return NULL;
}
