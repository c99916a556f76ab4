/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counter cell: the one hot cache line of a counter, in memory shared between processes.
 *
 * Anyone adds; one thread, the counter's home, arms. An add is one atomic read-modify-write and one
 * load of the same line, trip_at: the success value at which the home wants to be told. The home
 * waits for a sum, and trip_at is that bound less the error as it was when the home armed.
 *
 * No crossing is lost. All accesses named here are seq_cst, so they have one order:
 *	adder:	A1 success += v		home:	H0 load error
 *		A2 load trip_at			H1 armed, trip_at = bound - error
 *						H2 load success, error
 * If A1 comes before H2, the home sees the add. Otherwise H1 < H2 < A1 < A2, and the adder sees
 * the bound and rings. Adds to success are ordered among themselves by A1, so the one that reaches
 * the bound sees all earlier ones.
 *	error:	E1 change error
 *		E2 load armed
 * An error that is changed makes trip_at wrong, so the home has to arm anew. adderr, seterr and set
 * ring whenever armed is non-zero: if E1 comes after H2, so does E2, and it rings. If E1 comes
 * between H0 and H2, the home sees at H2 that the error is another, and looks again. Until it has
 * armed anew adders may go by a trip_at that is too high; what they have added by then the home
 * sees at its next H2.
 *
 * A home that polls the cell itself arms it for nobody meanwhile. To unarm loses nothing, as long
 * as a look comes after it; to stop polling is to arm, H0 to H2.
 *
 * No value wraps (CNTR-22). error only ever changes by compare-exchange or exchange to a value
 * within TRIP_CNTR_MAX. success may pass TRIP_CNTR_MAX = 2^63-1 for a moment: a fast add is below
 * 2^32, and whoever finds the result above the maximum does not leave before it has seen the value
 * at or below it, having clamped it by compare-exchange where nobody else did. So between two
 * moments at which the value is within the maximum, a thread adds at most once, and so does one
 * that was killed before clamping: 2^31 threads were needed to travel the 2^63 from the maximum to
 * the wrap. Adds of 2^32 and more, fills, and all adds to error, go by a saturating
 * compare-exchange, which never leaves the maximum behind. Readers clamp, so an overshoot is never
 * seen, and an adder that finds the maximum reached has added nothing that anyone can read.
 *
 * The sum of two clamped values is at most 2^64-2. As trip_at never exceeds TRIP_CNTR_MAX, also
 * while nobody cares, every overshoot takes the slow path: saturation costs no branch of its own.
 *
 * Generations are bumped after the value they speak of. A reader that takes the generation first
 * and the value second (trip_cell_sample does) sees a new generation for every change that its
 * value does not contain. A process killed between the two leaves a value without a generation:
 * whoever compares both with what it saw last (trip_cell_stale does, and trip_cell_error_mark() is
 * made of both) still notices, and the home's scrub calls it for armed cells, which also finds
 * adders killed before they rang.
 */
#ifndef TRIP_CELL_H
#define TRIP_CELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trip_cntr.h"

/* What trip_cell_arm() takes where no sum is waited for. */
#define TRIP_CELL_IDLE UINT64_MAX

struct trip_cell {
	_Alignas(64) _Atomic uint64_t success;
	_Atomic uint64_t error;
	_Atomic uint64_t trip_at; /* at most TRIP_CNTR_MAX; written by the home alone */
	_Atomic uint32_t errgen;  /* changes of the error value */
	_Atomic uint32_t setgen;  /* sets of either value */
	_Atomic uint32_t armed; /* somebody cares, if only for errors; written by the home alone */
	_Atomic uint32_t flows; /* that feed it, for those who look; written by control threads */
	_Atomic uint64_t
		next; /* the lowest threshold that waits, for those who look; home's, too */
	_Atomic uint64_t refreshed_tsc; /* of the flows that feed it, for its age; likewise */
	_Atomic uint64_t set_to;        /* the sum, when either was set last */
};

_Static_assert(sizeof(struct trip_cell) == 64, "a cell is one cache line");
_Static_assert(
	offsetof(struct trip_cell, success) == offsetof(struct trip_cntr_cell, success) &&
		offsetof(struct trip_cell, error) == offsetof(struct trip_cntr_cell, error) &&
		offsetof(struct trip_cell, trip_at) == offsetof(struct trip_cntr_cell, trip_at),
	"the beginning of a cell is public: trip_cntr_add() is compiled into its callers");

/* What a home or a waiter remembers of a cell. */
struct trip_cell_sample {
	uint64_t success;
	uint64_t error;
	uint32_t errgen;
	uint32_t setgen;
};

void trip_cell_init(struct trip_cell *cell);

/* These return true where the caller must ring the doorbell of the counter's home. */
static inline bool trip_cell_add(struct trip_cell *cell, uint64_t value);
/* Adds as far as limit, which is at most TRIP_CNTR_MAX; nothing where it is passed already. */
bool trip_cell_fill(struct trip_cell *cell, uint64_t value, uint64_t limit);
bool trip_cell_set(struct trip_cell *cell, uint64_t value);
/* Sets success to 0, and takes out what it was: each addition is in that, or in what follows. */
bool trip_cell_reset(struct trip_cell *cell, uint64_t *was);
bool trip_cell_adderr(struct trip_cell *cell, uint64_t value);
bool trip_cell_seterr(struct trip_cell *cell, uint64_t value);

/*
 * The home says at which sum, up to twice TRIP_CNTR_MAX, it wants to hear of the cell
 * (TRIP_CELL_IDLE: none), and whether anybody waits for errors or sets (a bound implies it). True
 * where the sum is there already, or the error has changed meanwhile: the home then looks at the
 * counter again by itself. Errors and sets that came before are told by trip_cell_stale(), which a
 * home asks after arming.
 */
bool trip_cell_arm(struct trip_cell *cell, uint64_t bound, bool armed);

void trip_cell_sample(const struct trip_cell *cell, struct trip_cell_sample *sample);

/*
 * One number that stands for an error value and its generation. While the generation stays it is
 * another for each value, so that it also tells of a change whose process was killed before the
 * generation; and when that moves, the odd factor keeps it from being the same again.
 */
static inline uint64_t
trip_cell_error_mark(const struct trip_cell_sample *sample)
{
	return sample->error + sample->errgen * UINT64_C(0x9e3779b97f4a7c15);
}

/* Whether an error or a set, or a crossing of trip_at, has happened that the sample has not. */
bool trip_cell_stale(const struct trip_cell *cell, const struct trip_cell_sample *sample);

/* NULL, or which invariant does not hold; for a cell that nobody changes meanwhile. */
const char *trip_cell_check(const struct trip_cell *cell);

/* The slow ends of trip_cell_add(). */
bool trip_cell_add_reached(struct trip_cell *cell, uint64_t reached);
bool trip_cell_add_large(struct trip_cell *cell, uint64_t value);

static inline uint64_t
trip_cell_clamp(uint64_t value)
{
	return value > TRIP_CNTR_MAX ? TRIP_CNTR_MAX : value;
}

static inline uint64_t
trip_cell_success(const struct trip_cell *cell)
{
	return trip_cell_clamp(atomic_load(&cell->success)); /* pairs with every add and set */
}

static inline uint64_t
trip_cell_error(const struct trip_cell *cell)
{
	return trip_cell_clamp(atomic_load(&cell->error)); /* pairs with adderr and seterr */
}

static inline uint64_t
trip_cell_sum(const struct trip_cell *cell)
{
	return trip_cell_success(cell) + trip_cell_error(cell);
}

/* The quick end, of a value below 2^32: true where trip_cell_add_reached() has to be asked. */
static inline bool
trip_cell_add_quickly(struct trip_cell *cell, uint64_t value, uint64_t *reached)
{
	*reached = atomic_fetch_add(&cell->success, value) + value;          /* pairs with H2 */
	return __builtin_expect(*reached >= atomic_load(&cell->trip_at), 0); /* pairs with H1 */
}

static inline bool
trip_cell_add(struct trip_cell *cell, uint64_t value)
{
	uint64_t reached;

	if (__builtin_expect((value >> 32) != 0, 0))
		return trip_cell_add_large(cell, value);
	return trip_cell_add_quickly(cell, value, &reached) && trip_cell_add_reached(cell, reached);
}

#endif
