/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When memory that lcores read without a lock may be used again: eras.
 *
 * A writer that has taken something out of every reader's way stamps it with the era, and opens
 * the next one. A reader stores the era in which its burst began, and IDLE when the burst ends. A
 * stamp is safe when every reader is idle or began in a later era.
 *
 *	reader					writer
 *	R1 load now (acquire)			W1 unpublish
 *	R2 store since = it (release)		W2 stamp = now++ (release)
 *	R3 fence seq_cst			W3 fence seq_cst, in trip_era_safe
 *	R4 load what is published		W4 load since (acquire)
 *	R5 store since = IDLE (release)
 *
 * R1 sees W2: then R4 sees W1, and this reader is in a later era. R1 does not: since is at most
 * the stamp, and by the two fences either W4 sees it and waits, or R4 sees W1. W4 sees R5, or the
 * next R2 in its place, only when all reads before R5 are done. No reader ever waits, and a writer
 * that does not find a stamp safe tries again later. A burst that never ends (a lcore that is
 * stopped) holds up memory, not calls.
 */
#ifndef TRIP_ERA_H
#define TRIP_ERA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIP_ERA_IDLE UINT64_MAX

struct trip_era_reader {
	_Alignas(64) _Atomic uint64_t since;
	struct trip_era_reader *next; /* the writers' */
};

struct trip_era {
	_Alignas(64) _Atomic uint64_t now;
	uint64_t safe_below; /* stamps below were safe when last looked; the writers' */
	struct trip_era_reader *readers;
};

static inline void
trip_era_init(struct trip_era *era)
{
	/* From 1, so that the stamp of what was never published, 0, is safe from the start. */
	atomic_init(&era->now, 1);
	era->safe_below = 1;
	era->readers = NULL;
}

static inline void
trip_era_enter(struct trip_era *era, struct trip_era_reader *reader)
{
	/* R1, R2: R3 puts the store before all loads of the burst; partner: W3. Release: as R5, in
	 * whose place W4 may see it. */
	atomic_store_explicit(&reader->since, atomic_load_explicit(&era->now, memory_order_acquire),
		memory_order_release);
	atomic_thread_fence(memory_order_seq_cst); /* R3 */
}

static inline void
trip_era_leave(struct trip_era_reader *reader)
{
	atomic_store_explicit(&reader->since, TRIP_ERA_IDLE, memory_order_release); /* R5 */
}

static inline void
trip_era_attach(struct trip_era *era, struct trip_era_reader *reader)
{
	atomic_init(&reader->since, TRIP_ERA_IDLE);
	reader->next = era->readers;
	era->readers = reader;
}

static inline void
trip_era_detach(struct trip_era *era, struct trip_era_reader *reader)
{
	struct trip_era_reader **link = &era->readers;

	while (*link != NULL && *link != reader)
		link = &(*link)->next;
	if (*link != NULL)
		*link = reader->next;
}

/* W2: the stamp of what was unpublished before this call. */
static inline uint64_t
trip_era_retire(struct trip_era *era)
{
	return atomic_fetch_add_explicit(&era->now, 1, memory_order_acq_rel);
}

/* W3, W4: can no reader see any more what got this stamp? */
static inline bool
trip_era_safe(struct trip_era *era, uint64_t stamp)
{
	const struct trip_era_reader *reader;
	uint64_t below;

	if (stamp < era->safe_below)
		return true;
	atomic_thread_fence(memory_order_seq_cst); /* W3 */
	below = atomic_load_explicit(&era->now, memory_order_relaxed);
	for (reader = era->readers; reader != NULL; reader = reader->next) {
		uint64_t since = atomic_load_explicit(&reader->since, memory_order_acquire);

		if (since < below)
			below = since;
	}
	/* Readers in era `below` began after every stamp below it. */
	era->safe_below = below;
	return stamp < below;
}

/*
 * A stamp of which the lower half was kept. Of all that it may stand for it is taken for the
 * latest, so it is never safe too early; after 2^32 eras it may be so a little later than it could.
 */
static inline bool
trip_era_safe_low(struct trip_era *era, uint32_t stamp)
{
	uint64_t last = atomic_load_explicit(&era->now, memory_order_relaxed) - 1;

	return trip_era_safe(era, last - (uint32_t)((uint32_t)last - stamp));
}

#endif
