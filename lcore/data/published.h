/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record of words that one thread publishes, and anybody copies, in memory shared between
 * processes: all words of a copy are of one publication.
 *
 * Nobody waits. There are several copies in turn, and each publication is written into the one that
 * was written longest ago: so a writer that is stopped, or has died, in the middle of one leaves
 * the last one whole. A reader that finds that what it has copied was written over meanwhile copies
 * again: for that the writer has published twice and begun a third time, so readers that copy again
 * and again see what goes on. The writer stores each word and the number, by plain stores: no
 * read-modify-write, and no fence that a processor with x86's memory has to heed.
 *
 *	writer, publication m			reader
 *	P1 fence (release)			R1 load number n (acquire)
 *	P2 store words into copy m		R2 load words of copy n
 *	P3 store number m (release)		R3 fence (acquire)
 *						R4 load number
 *
 * R1 sees P3 of n, so R2 sees P2 of n, or of a later one in the same copy: n + COPIES at the
 * earliest. Where R2 sees a word of that, P1 of it and R3 have R4 see the P3 before it, which is
 * n + COPIES - 1. So if R4 sees less, R2 has seen n alone.
 */
#ifndef TRIP_PUBLISHED_H
#define TRIP_PUBLISHED_H

#include <stdatomic.h>
#include <stdint.h>

#define TRIP_PUBLISHED_WORDS 27
#define TRIP_PUBLISHED_COPIES 4

struct trip_published_copy {
	_Alignas(64) _Atomic uint64_t words[TRIP_PUBLISHED_WORDS];
};

struct trip_published {
	/* Of the last publication, which is in copy number % COPIES. 0: all words are 0. */
	_Alignas(64) _Atomic uint64_t number;
	struct trip_published_copy copies[TRIP_PUBLISHED_COPIES];
};

/* Zero memory is a record whose words are 0. */

/* The one writer: these words, which it alone writes. */
static inline void
trip_published_put(struct trip_published *published, const _Atomic uint64_t *words)
{
	/* Others may have written over it: it chooses a copy, whatever it is. */
	uint64_t number = atomic_load_explicit(&published->number, memory_order_relaxed) + 1;
	_Atomic uint64_t *copy = published->copies[number % TRIP_PUBLISHED_COPIES].words;

	atomic_thread_fence(memory_order_release); /* P1; partner: R3 */
#if defined(__clang__)
#pragma clang loop unroll(full)
#else
#pragma GCC unroll 32
#endif
	for (unsigned int i = 0; i < TRIP_PUBLISHED_WORDS; i++)
		atomic_store_explicit(&copy[i],
			atomic_load_explicit(&words[i], memory_order_relaxed),
			memory_order_relaxed);
	atomic_store_explicit(&published->number, number, memory_order_release); /* P3 */
}

/* Any thread: copies the words of the last publication, or of one since; its number. */
static inline uint64_t
trip_published_get(const struct trip_published *published, uint64_t *words)
{
	uint64_t number, now;

	do {
		const _Atomic uint64_t *copy;

		number = atomic_load_explicit(&published->number, memory_order_acquire); /* R1 */
		copy = published->copies[number % TRIP_PUBLISHED_COPIES].words;
		for (unsigned int i = 0; i < TRIP_PUBLISHED_WORDS; i++)
			words[i] = atomic_load_explicit(&copy[i], memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire); /* R3; partner: P1 */
		now = atomic_load_explicit(&published->number, memory_order_relaxed);
	} while (now - number >= TRIP_PUBLISHED_COPIES - 1);
	return number;
}

#endif
