/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol and its labels R1, R2, C1..C4 are in doorbell.h. */
#include <string.h>

#include "doorbell.h"

/* One call of trip_doorbell_take(). */
struct sweep {
	uint32_t *indices;
	unsigned taken;
	unsigned max;
	uint32_t budget; /* leaf words that may still be looked at */
};

static uint32_t
leaves_of(uint32_t count)
{
	return (count + 63) / 64;
}

/* Leaf arrays start on lines of their own, so that sections do not share one. */
static size_t
leaf_bytes(uint32_t count)
{
	return ((size_t)leaves_of(count) * 8 + 63) & ~(size_t)63;
}

size_t
trip_doorbell_size(const struct trip_doorbell_shape *shape)
{
	size_t size = TRIP_DOORBELL_WORDS * 8;
	unsigned words = 0;

	for (unsigned i = 0; i < TRIP_DOORBELL_SECTIONS; i++) {
		if (shape->count[i] > TRIP_DOORBELL_INDICES)
			return 0;
		if ((shape->count[i] == 0) != (shape->words[i] == 0))
			return 0;
		words += shape->words[i];
		size += leaf_bytes(shape->count[i]);
	}
	return words > TRIP_DOORBELL_WORDS ? 0 : size;
}

void
trip_doorbell_init(void *memory, const struct trip_doorbell_shape *shape)
{
	_Atomic uint64_t *word = memory;
	size_t i, words = trip_doorbell_size(shape) / 8;

	for (i = 0; i < words; i++)
		atomic_init(&word[i], 0);
}

void
trip_doorbell_map(struct trip_doorbell *db, void *memory, const struct trip_doorbell_shape *shape)
{
	uint8_t *leaf = (uint8_t *)memory + TRIP_DOORBELL_WORDS * 8;
	unsigned first = 0;

	memset(db, 0, sizeof(*db));
	db->summary = memory;
	for (unsigned i = 0; i < TRIP_DOORBELL_SECTIONS; i++) {
		struct trip_doorbell_section *s = &db->section[i];

		s->leaf = (void *)leaf;
		s->count = shape->count[i];
		s->leaves = leaves_of(s->count);
		s->first = (uint8_t)first;
		while (((uint64_t)shape->words[i] * 64) << s->shift < s->leaves)
			s->shift++;
		s->spans = (s->leaves + (1u << s->shift) - 1) >> s->shift;
		first += shape->words[i];
		leaf += leaf_bytes(s->count);
	}
}

/* Bits of a word that stand for one of `count` things: in memory that others can write there may be
 * bits beyond them. */
static uint64_t
valid(uint32_t count, uint32_t word)
{
	uint32_t left = count - word * 64;

	return left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
}

static uint64_t
leaf_valid(const struct trip_doorbell_section *s, uint32_t leaf)
{
	return valid(s->count, leaf);
}

/* The spans of a summary word that have rung. */
static uint64_t
rung_spans(const struct trip_doorbell *db, const struct trip_doorbell_section *s, uint32_t word)
{
	return atomic_load(&db->summary[s->first + word]) & valid(s->spans, word);
}

static uint32_t
summary_words(const struct trip_doorbell_section *s)
{
	return (s->spans + 63) / 64;
}

static bool
none_rung(const struct trip_doorbell *db, const struct trip_doorbell_section *s)
{
	for (uint32_t word = 0; word < summary_words(s); word++)
		if (rung_spans(db, s, word) != 0)
			return false;
	return true;
}

bool
trip_doorbell_idle_masked(const struct trip_doorbell *db)
{
	for (unsigned i = 0; i < TRIP_DOORBELL_SECTIONS; i++)
		if (!none_rung(db, &db->section[i]))
			return false;
	return true;
}

static _Atomic uint64_t *
summary_of(const struct trip_doorbell *db, const struct trip_doorbell_section *s, uint32_t span)
{
	return &db->summary[s->first + (span >> 6)];
}

static uint64_t
summary_bit(uint32_t span)
{
	return UINT64_C(1) << (span & 63);
}

/* The index behind the last one of a span. */
static uint32_t
span_end(const struct trip_doorbell_section *s, uint32_t span)
{
	uint64_t end = ((uint64_t)span + 1) << s->shift << 6;

	return end < s->count ? (uint32_t)end : s->count;
}

/* How many spans after the given one, cyclically, the next rung one is; s->spans where none is. */
static uint32_t
distance_to_rung(
	const struct trip_doorbell *db, const struct trip_doorbell_section *s, uint32_t from)
{
	uint32_t words = summary_words(s), word = from >> 6, span, i;

	for (i = 0; i <= words; i++, word = word + 1 == words ? 0 : word + 1) {
		uint64_t rung = rung_spans(db, s, word);

		if (i == 0)
			rung &= UINT64_MAX << (from & 63);
		if (i == words)
			rung &= ~(UINT64_MAX << (from & 63));
		if (rung == 0)
			continue;
		span = word * 64 + (uint32_t)__builtin_ctzll(rung);
		return span >= from ? span - from : span + s->spans - from;
	}
	return s->spans;
}

/* Reports bits of one leaf while there is room; returns those that are left. */
static uint64_t
take_leaf(struct trip_doorbell_section *s, struct sweep *sweep, uint32_t leaf, uint64_t mask)
{
	uint64_t rung = atomic_load(&s->leaf[leaf]) & mask & leaf_valid(s, leaf), left = rung;

	while (left != 0 && sweep->taken < sweep->max) {
		sweep->indices[sweep->taken++] = leaf * 64 + (uint32_t)__builtin_ctzll(left);
		left &= left - 1;
	}
	if (rung != left)
		atomic_fetch_and(&s->leaf[leaf], ~(rung ^ left)); /* C2, pairs with R1 */
	return left;
}

/* Whether any index from `first` up to, not including, `end` is rung. */
static bool
rung_between(const struct trip_doorbell_section *s, uint32_t first, uint32_t end)
{
	uint32_t leaf;

	for (leaf = first >> 6; leaf < (end + 63) >> 6; leaf++) {
		uint64_t mask = leaf_valid(s, leaf);

		if (leaf == first >> 6)
			mask &= UINT64_MAX << (first & 63);
		if (leaf == end >> 6)
			mask &= ~(UINT64_MAX << (end & 63));
		if ((atomic_load(&s->leaf[leaf]) & mask) != 0)
			return true;
	}
	return false;
}

/* From the cursor up to `stop` in the same span; false where it had to stop before. */
static bool
take_span(struct trip_doorbell *db, struct trip_doorbell_section *s, struct sweep *sweep,
	uint32_t stop)
{
	uint32_t entered = s->cursor, leaf = entered >> 6, span = leaf >> s->shift;
	uint32_t first = (span << s->shift) * 64, end = span_end(s, span);
	_Atomic uint64_t *summary = summary_of(db, s, span);
	uint64_t mask = UINT64_MAX << (entered & 63), left = 0;

	/* On its way while the summary is. */
	__builtin_prefetch(&s->leaf[leaf], 1);
	atomic_fetch_and(summary, ~summary_bit(span)); /* C1, pairs with R2 */
	while (s->cursor < stop && sweep->taken < sweep->max && sweep->budget > 0) {
		if (leaf == stop >> 6)
			mask &= ~(UINT64_MAX << (stop & 63));
		sweep->budget--;
		left = take_leaf(s, sweep, leaf, mask);
		if (left != 0) {
			s->cursor = leaf * 64 + (uint32_t)__builtin_ctzll(left);
			break;
		}
		s->cursor = ++leaf * 64 < stop ? leaf * 64 : stop;
		mask = UINT64_MAX;
	}
	/* What it did not look at may hold something. */
	if (rung_between(s, s->cursor, end) || rung_between(s, first, entered))
		atomic_fetch_or(summary, summary_bit(span)); /* C3 */
	return s->cursor == stop;
}

unsigned
trip_doorbell_take_rung(struct trip_doorbell *db, unsigned section, uint32_t *indices, unsigned max)
{
	struct trip_doorbell_section *s = &db->section[section];
	struct sweep sweep = {.indices = indices, .max = max};
	uint32_t span_bits = 6u + s->shift, begun = s->cursor, gone = 0, lap;

	if (none_rung(db, s))
		return 0;
	sweep.budget = TRIP_DOORBELL_SCAN + (1u << s->shift);
	/* Once around; a span that is entered in the middle is entered again for its beginning. */
	lap = (begun & ((1u << span_bits) - 1)) != 0 ? s->spans : s->spans - 1;
	while (sweep.taken < max) {
		uint32_t span = s->cursor >> span_bits;
		uint32_t ahead = distance_to_rung(db, s, span), end;

		gone += ahead;
		if (ahead == s->spans || gone > lap)
			break;
		span += ahead;
		if (span >= s->spans)
			span -= s->spans;
		if (ahead != 0)
			s->cursor = span << span_bits;
		end = span_end(s, span);
		if (!take_span(db, s, &sweep, gone == s->spans ? begun : end))
			break;
		if (s->cursor == end)
			s->cursor = span + 1 == s->spans ? 0 : (span + 1) << span_bits;
		gone++;
	}
	return sweep.taken;
}

unsigned
trip_doorbell_scrub(
	struct trip_doorbell *db, unsigned section, struct trip_doorbell_scrub *scrub, unsigned n)
{
	const struct trip_doorbell_section *s = &db->section[section];
	unsigned repaired = 0;

	for (unsigned i = 0; i < n && i < s->leaves; i++) {
		uint32_t leaf = scrub->leaf, span = leaf >> s->shift;
		uint64_t rung = atomic_load(&s->leaf[leaf]) & leaf_valid(s, leaf);

		/* The leaf first: a ringer sets the summary after it, and we alone clear either. */
		if (rung != 0 && (atomic_load(summary_of(db, s, span)) & summary_bit(span)) == 0) {
			if ((rung & scrub->suspect) == 0) {
				scrub->suspect = rung;
				break;
			}
			atomic_fetch_or(summary_of(db, s, span), summary_bit(span));
			repaired++;
		}
		scrub->suspect = 0;
		scrub->leaf = leaf + 1 == s->leaves ? 0 : leaf + 1;
	}
	return repaired;
}

static const char *
check_section(const struct trip_doorbell *db, const struct trip_doorbell_section *s)
{
	if (s->cursor >= s->count)
		return "doorbell: the cursor is beyond the last index";
	for (uint32_t i = 0; i < summary_words(s); i++)
		if ((atomic_load(&db->summary[s->first + i]) & ~valid(s->spans, i)) != 0)
			return "doorbell: a summary bit stands for no span";
	for (uint32_t i = 0; i < s->leaves; i++) {
		uint64_t rung = atomic_load(&s->leaf[i]);
		uint32_t span = i >> s->shift;

		if ((rung & ~leaf_valid(s, i)) != 0)
			return "doorbell: a leaf bit stands for no index";
		if (rung != 0 && (atomic_load(summary_of(db, s, span)) & summary_bit(span)) == 0)
			return "doorbell: a leaf bit is set without its summary bit";
	}
	return NULL;
}

const char *
trip_doorbell_check(const struct trip_doorbell *db)
{
	const char *wrong = NULL;

	for (unsigned i = 0; i < TRIP_DOORBELL_SECTIONS && wrong == NULL; i++)
		if (db->section[i].count != 0)
			wrong = check_section(db, &db->section[i]);
	return wrong;
}
