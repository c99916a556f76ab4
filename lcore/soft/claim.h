/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which process polls a queue, and how far it has come: a line of each queue in shared memory.
 *
 * Counts of a queue have one writer (count.h), so one process at a time has it. The owner takes it
 * from nobody and gives it back; of one that has died, the primary gives it back. While the owner
 * is in a burst, `since` is how many changes of the rules it had seen when that began, as in era.h:
 *
 *	owner					primary
 *	R1 load changes (acquire)		W1 take the rule out (rulebook.h)
 *	R2 store since = it (release)		W2 stamp = changes++ (release)
 *	R3 fence seq_cst			W3 fence seq_cst
 *	R4 load changes; differ: look at	W4 load owner, since (acquire): is it
 *	   each rule before counting on it	   nobody's, idle, or above the stamp?
 *	R5 store since = IDLE (release)
 *
 * Where W4 says so, the burst sees W1 or has ended: nothing more is counted on the rule's index,
 * which may be another's. Until then the index is kept back. That holds up an index, and nobody.
 *
 * The owner has taken the claim before R1. So where W4 finds it nobody's, either W4 comes before
 * that, W3 before R3, and R4 sees W2; or it has been given back, after its last burst. What stands
 * in `since` then is garbage.
 */
#ifndef TRIP_CLAIM_H
#define TRIP_CLAIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "era.h"

#define TRIP_CLAIM_NONE 0
#define TRIP_CLAIM_PRIMARY UINT32_MAX

/* What bursts of a queue have seen, which the owner alone writes, by plain stores: packets; those
 * that a rule took; that were dropped; and that end within a header that they begin. */
struct trip_traffic {
	_Atomic uint64_t packets, matched, dropped, broken;
};

struct trip_claim {
	_Alignas(64) _Atomic uint64_t since;
	/* 1 more than the number of an attached process, or one of the two above. */
	_Atomic uint32_t owner;
	struct trip_traffic traffic;
};

_Static_assert(sizeof(struct trip_claim) == 64, "a line of each queue");

static inline void
trip_claim_init(struct trip_claim *claim)
{
	atomic_init(&claim->since, TRIP_ERA_IDLE);
	atomic_init(&claim->owner, TRIP_CLAIM_NONE);
	atomic_init(&claim->traffic.packets, 0);
	atomic_init(&claim->traffic.matched, 0);
	atomic_init(&claim->traffic.dropped, 0);
	atomic_init(&claim->traffic.broken, 0);
}

/* True where it is the caller's now, and was nobody's. */
static inline bool
trip_claim_take(struct trip_claim *claim, uint32_t owner)
{
	uint32_t before = TRIP_CLAIM_NONE;

	/* Acquire: the counts of whoever had it. Partner: the release in trip_claim_give(). */
	return atomic_compare_exchange_strong_explicit(
		&claim->owner, &before, owner, memory_order_acquire, memory_order_relaxed);
}

/* False: it is not the owner's. No burst of the owner is under way, or none ever will be again. */
static inline bool
trip_claim_give(struct trip_claim *claim, uint32_t owner)
{
	if (atomic_load_explicit(&claim->owner, memory_order_relaxed) != owner)
		return false;
	atomic_store_explicit(&claim->since, TRIP_ERA_IDLE, memory_order_release);
	return atomic_compare_exchange_strong_explicit(
		&claim->owner, &owner, TRIP_CLAIM_NONE, memory_order_release, memory_order_relaxed);
}

/* W4, after W3: the least stamp that is not past. */
static inline uint64_t
trip_claim_since(const struct trip_claim *claim)
{
	/* Acquire: the counts of whoever had it. Partner: the release in trip_claim_give(). */
	if (atomic_load_explicit(&claim->owner, memory_order_acquire) == TRIP_CLAIM_NONE)
		return TRIP_ERA_IDLE;
	return atomic_load_explicit(&claim->since, memory_order_acquire);
}

static inline bool
trip_claim_is_past(const struct trip_claim *claim, uint64_t stamp)
{
	/* IDLE is above all stamps. */
	return trip_claim_since(claim) > stamp;
}

#endif
