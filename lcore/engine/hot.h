/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hot counters: those that fire again and again, a few microseconds apart, the home polls itself.
 *
 * To ring moves three cache lines from the adder to the home, one after the other: a leaf of the
 * doorbell, its summary, and the cell, whose line the home wrote when it armed. That pays where
 * much is silent. A counter that fired twice within 2^log2 ticks is likely to do so again, so
 * it becomes hot: its cell is not armed any more, nobody rings for it, and each iteration begins
 * with a look at the one line that the adder had to write anyway.
 *
 * A hot counter is looked at while nothing of it is due. It is made due by what would have rung:
 * its sum has reached the bound, or its error or a generation is another than when it settled. It
 * then goes the way of a counter that rang. That way is short where it alone is due and nothing is
 * to be accepted.
 *
 * No crossing is lost. When a counter is masked, its trip_at only goes up, and the home's next look
 * comes after that; what is not there at one look is found at a later one. It cools by settling as
 * any other counter does: it is armed first and looked at afterwards (cell.h, H0 to H2). Changes
 * while a hot counter is due ring nobody; settling finds them. It compares the waiters with the
 * values, and the generation of sets with that of the sample. If the sum has reached the bound by
 * then, the next look finds it.
 *
 * The scrub finds nothing at a hot counter that the next look, which comes before the next scrub,
 * has not made due.
 *
 * A look takes the line from whoever adds, so a counter that is added to often and fires seldom
 * would suffer. It cools when it has not fired for 2^log2 ticks, or when a few looks in a row
 * found it changed for nothing. A home with hot counters does not sleep, and one that shares its
 * CPU has none. Counters that flows feed are never hot, as their queues ring, and clocks are not.
 */
#ifndef TRIP_HOT_H
#define TRIP_HOT_H

#include <stdbool.h>
#include <stdint.h>

struct trip_home;

/* Counters that a home polls. */
#define TRIP_HOT_MAX 4

/* A counter that its home polls. */
struct trip_hot {
	uint32_t cntr;
	/* Polls since it last fired that found it changed for nothing. */
	uint32_t vain;
	/* When it settled: its generation of sets, whether anybody waited, and for which sum. */
	uint32_t setgen;
	bool wanted;
	uint64_t bound;
	/* What the last poll saw. */
	uint64_t success;
	/* When it cools unless it fires; when its cell is to show the next threshold again. */
	uint64_t until_tsc, show_tsc;
};

/* The home's: its counters that are hot, for 2^log2 tsc ticks after they last fired; 0: none. */
struct trip_hot_places {
	struct trip_hot places[TRIP_HOT_MAX];
	uint8_t log2;
};

/* Items of a counter have fired: it becomes hot where it did so a short time ago, and there is a
 * place. It is about to settle. */
void trip_hot_fired(struct trip_home *home, uint32_t cntr);

/* In place of arming a hot one: nobody rings for it. Whether its next threshold is to be shown to
 * those who look: not each time, as that is in the adders' line. */
bool trip_hot_mask(struct trip_home *home, uint32_t cntr);

/* A hot one has settled, with this lowest threshold. Whether it is to be sampled again. */
bool trip_hot_settle(struct trip_home *home, uint32_t cntr, uint64_t bound);

/* It is hot no more. It is about to settle. */
void trip_hot_leave(struct trip_home *home, uint32_t cntr);

/* Samples a hot one of which nothing is due, if it has news: whether it has. */
bool trip_hot_look(struct trip_home *home, uint32_t cntr);

/* Makes those due that have news, and those settle that cool. */
void trip_hot_poll(struct trip_home *home);

#endif
