/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why a flow drops, in one word of each flow: for ever, or for as long as something lasts that has
 * begun it, which is a hold. Each hold ends for itself, and the flow passes behind the last one,
 * unless it drops for ever. A pass ends all of that: what began before it and ends behind it
 * changes nothing (DATA-10).
 *
 * In software, homes change the word, each by one step, and then the action word, which obeys it.
 * Of two that do so at once, the one that obeys last may have changed the word first. So whoever
 * has obeyed looks at the word again, until it says the same.
 *
 * In hardware the port's worker changes the word, when it has changed the rule: what fails leaves
 * both as they were. Homes take back holds alone, and the worker makes the rule what is left.
 */
#ifndef TRIP_FATE_H
#define TRIP_FATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Passes so far in the upper half; below it whether it drops for ever, and how many hold it. */
#define TRIP_FATE_PASS (UINT64_C(1) << 32)
#define TRIP_FATE_EVER (UINT64_C(1) << 31)

static inline bool
trip_fate_drops(const _Atomic uint64_t *fate)
{
	return (uint32_t)atomic_load(fate) != 0;
}

/* For ever. */
static inline void
trip_fate_drop(_Atomic uint64_t *fate)
{
	atomic_fetch_or(fate, TRIP_FATE_EVER);
}

static inline void
trip_fate_pass(_Atomic uint64_t *fate)
{
	uint64_t old = atomic_load(fate);

	while (!atomic_compare_exchange_weak(
		fate, &old, (old & ~(TRIP_FATE_PASS - 1)) + TRIP_FATE_PASS))
		;
}

/* A flow begins: nothing holds it that has held another one. */
static inline void
trip_fate_begin(_Atomic uint64_t *fate, bool drops)
{
	trip_fate_pass(fate);
	if (drops)
		trip_fate_drop(fate);
}

/* Whether what began it still holds the flow. */
static inline bool
trip_fate_holds(const _Atomic uint64_t *fate, uint64_t hold)
{
	return hold != 0 && hold == (atomic_load(fate) / TRIP_FATE_PASS | TRIP_FATE_PASS);
}

/* Holds it: what the hold is known by, which is not 0. */
static inline uint64_t
trip_fate_hold(_Atomic uint64_t *fate)
{
	return atomic_fetch_add(fate, 1) / TRIP_FATE_PASS | TRIP_FATE_PASS;
}

/* The hold ends, once. */
static inline void
trip_fate_release(_Atomic uint64_t *fate, uint64_t hold)
{
	uint64_t old = atomic_load(fate);

	while (hold == (old / TRIP_FATE_PASS | TRIP_FATE_PASS) &&
		!atomic_compare_exchange_weak(fate, &old, old - 1))
		;
}

/* Makes the bit of an action word what the fate says, and returns what the word was before. */
static inline uint8_t
trip_fate_obey(const _Atomic uint64_t *fate, _Atomic uint8_t *action, uint8_t bit)
{
	uint8_t old;
	bool drops;

	do {
		drops = trip_fate_drops(fate);
		old = drops ? atomic_fetch_or(action, bit)
			    : atomic_fetch_and(action, (uint8_t)~bit);
	} while (trip_fate_drops(fate) != drops);
	return old;
}

#endif
