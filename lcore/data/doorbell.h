/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doorbell: a two-level bitmap in memory shared between processes, by which anyone tells one thread
 * (the consumer) which of many things to look at. The summary is one cache line of eight words, so
 * that idling costs one line however many things there are. It is divided among up to eight
 * sections, each with its own index space and consecutive summary words; a summary bit stands for a
 * span of 2^shift leaf words of 64 indices each.
 *
 * A ringer has changed something that the consumer reads (V, by any store). Then it rings:
 *	R0 fence
 *	R1 load the leaf; where its bit is clear, set it by fetch_or
 *	R2 load the summary; where the span's bit is clear, set it by fetch_or
 * The consumer, for a span whose summary bit it finds set:
 *	C1 clear the summary bit
 *	C2 load the leaves of the span, clear what it reports
 *	C3 set the summary bit again where it left something in the span
 *	C4 load what was changed
 * All of R0..R2 and C1..C4 are seq_cst and thus have one order; C4 is the consumer's to make so.
 *
 * No ring is lost. At R1 the leaf bit is set, and only C2 clears it. At R2 the summary bit is set,
 * and only C1 clears it. If nobody cleared the leaf bit before R2, the next C1 of that span comes
 * after R2, hence after R1, and its C2 finds the leaf bit set, so that it is either reported, or C3
 * leaves the summary set for the next time. Whichever C2 clears the bit comes after R1, hence after
 * R0, so the C4 that follows it sees V. This holds for a ringer that skipped both
 * read-modify-writes, since nothing above asks whether R1 or R2 loaded or stored. The skip costs
 * the fence and two loads.
 *
 * R0 is what orders V before a skip: else V is still in the ringer's store buffer when R1 finds the
 * bit of somebody else's ring, the consumer clears that and sees the old value, and nobody rings
 * again. A ringer whose V is a barrier itself could do without, on x86; it pays some nanoseconds,
 * so that none has to know.
 *
 * A ringer killed between R1 and R2 leaves a leaf bit without a summary bit. It hides nothing from
 * later ringers: each looks at the summary for itself, also where it found the leaf bit set, and a
 * ringer that went by the leaf alone would be silent for ever. Where nobody rings that span again,
 * the scrub finds it.
 *
 * Fairness: a consumer goes on where it stopped last time, in one lap around the section, so busy
 * indices never starve others. A span that is entered in the middle is left at its end, with C3 if
 * its beginning holds anything, and entered for that beginning at the end of the lap.
 */
#ifndef TRIP_DOORBELL_H
#define TRIP_DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIP_DOORBELL_WORDS 8
#define TRIP_DOORBELL_SECTIONS TRIP_DOORBELL_WORDS
#define TRIP_DOORBELL_INDICES (1u << 24)
/* Leaf words that one take looks at, one span more at the most. */
#define TRIP_DOORBELL_SCAN 4096

/* Every process takes the shape from where it trusts it, never from the doorbell's memory. */
struct trip_doorbell_shape {
	uint32_t count[TRIP_DOORBELL_SECTIONS]; /* indices of each section, 0: no such section */
	uint8_t words[TRIP_DOORBELL_SECTIONS];  /* summary words of each, all in all at most 8 */
};

struct trip_doorbell_section {
	_Atomic uint64_t *leaf;
	uint32_t count;  /* indices */
	uint32_t leaves; /* leaf words */
	uint32_t spans;  /* summary bits */
	uint32_t cursor; /* of the consumer: the index that it looks at next */
	uint8_t first;   /* summary word */
	uint8_t shift;   /* log2 of the leaf words of a span */
};

/* A process's own handle; ringers may share one, the consumer's cursors are its own. */
struct trip_doorbell {
	_Atomic uint64_t *summary;
	struct trip_doorbell_section section[TRIP_DOORBELL_SECTIONS];
};

/* Where a scrub goes on; zero at first. */
struct trip_doorbell_scrub {
	uint64_t suspect;
	uint32_t leaf;
};

/* Bytes of the memory, which must lie on a cache line; 0 where the shape is impossible. */
size_t trip_doorbell_size(const struct trip_doorbell_shape *shape);
void trip_doorbell_init(void *memory, const struct trip_doorbell_shape *shape);
void trip_doorbell_map(
	struct trip_doorbell *db, void *memory, const struct trip_doorbell_shape *shape);

/*
 * Takes up to max rung indices of a section, none of them twice, in no particular order. Nothing is
 * lost: what was not taken stays rung. Where the section has at most 64 * TRIP_DOORBELL_SCAN
 * indices, and the call returns fewer than max or max is the number of indices, it took all that
 * was rung before it. The consumer alone.
 */
static inline unsigned trip_doorbell_take(
	struct trip_doorbell *db, unsigned section, uint32_t *indices, unsigned max);

/*
 * Looks at the next n leaf words for bits without their summary bit and sets that; returns how many
 * it had to. A ringer that is merely between R1 and R2 looks the same as one that died there, so a
 * suspect is only repaired when the next call still finds it. The consumer alone.
 */
unsigned trip_doorbell_scrub(
	struct trip_doorbell *db, unsigned section, struct trip_doorbell_scrub *scrub, unsigned n);

/* NULL, or which invariant does not hold; while nobody rings. */
const char *trip_doorbell_check(const struct trip_doorbell *db);

/* The second looks of trip_doorbell_idle() and trip_doorbell_take(), at what is not all zero. */
bool trip_doorbell_idle_masked(const struct trip_doorbell *db);
unsigned trip_doorbell_take_rung(
	struct trip_doorbell *db, unsigned section, uint32_t *indices, unsigned max);

static inline void
trip_doorbell_ring(const struct trip_doorbell *db, unsigned section, uint32_t index)
{
	const struct trip_doorbell_section *s = &db->section[section];
	uint32_t word = index >> 6, span = word >> s->shift;
	_Atomic uint64_t *leaf, *summary;
	uint64_t bit;

	if (__builtin_expect(index >= s->count, 0))
		return;
	leaf = &s->leaf[word];
	bit = UINT64_C(1) << (index & 63);
	atomic_thread_fence(memory_order_seq_cst); /* R0, pairs with C2 */
	if ((atomic_load(leaf) & bit) == 0)        /* R1, pairs with C2 */
		atomic_fetch_or(leaf, bit);
	summary = &db->summary[s->first + (span >> 6)];
	bit = UINT64_C(1) << (span & 63);
	if ((atomic_load(summary) & bit) == 0) /* R2, pairs with C1 */
		atomic_fetch_or(summary, bit);
}

/* Whether a ring for the index has yet to be taken. */
static inline bool
trip_doorbell_rung(const struct trip_doorbell *db, unsigned section, uint32_t index)
{
	return (atomic_load(&db->section[section].leaf[index >> 6]) >> (index & 63) & 1) != 0;
}

_Static_assert(TRIP_DOORBELL_WORDS == 8, "trip_doorbell_silent() looks at as many");

/*
 * Whether all of the summary is zero: what is mostly so of one that is idle.
 *
 * A loop that asks again and again could do with relaxed loads. These are seq_cst for one that asks
 * once, because another doorbell told it to: the canceled slots of a channel.
 */
static inline bool
trip_doorbell_silent(const struct trip_doorbell *db)
{
	const _Atomic uint64_t *word = db->summary;

	/* Written out: compilers leave the loop a loop. */
	return (atomic_load(&word[0]) | atomic_load(&word[1]) | atomic_load(&word[2]) |
		       atomic_load(&word[3]) | atomic_load(&word[4]) | atomic_load(&word[5]) |
		       atomic_load(&word[6]) | atomic_load(&word[7])) == 0;
}

static inline bool
trip_doorbell_idle(const struct trip_doorbell *db)
{
	return trip_doorbell_silent(db) || trip_doorbell_idle_masked(db);
}

static inline unsigned
trip_doorbell_take(struct trip_doorbell *db, unsigned section, uint32_t *indices, unsigned max)
{
	const struct trip_doorbell_section *s = &db->section[section];

	/* Mostly one section has rung, and a round asks them all, which have one word each. */
	if (s->spans - 1 < 64 && atomic_load(&db->summary[s->first]) == 0)
		return 0;
	return trip_doorbell_take_rung(db, section, indices, max);
}

#endif
