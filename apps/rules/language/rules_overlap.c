/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rules of a set overlap: have a packet in common.
 *
 * Comparing each pattern with each other one is out of the question for a million of them. Patterns
 * with the same mask are a group. Between a pattern and a group, only the bits that both look at
 * can tell them apart: with the group hashed by those bits, the patterns that may meet are found by
 * one look-up, and rules_match.c says whether they do. That is one hash table at a time, for each
 * pair of groups and each of both directions, and groups are few where rules are many. Where they
 * are not, there is a limit to the work, and reaching it is said.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

#define SMALL 64 /* pairs that are not worth a hash table */
#define BUCKETS_MAX (1u << 16)
#define NONE UINT32_MAX
#define LAST (TRIP_RULES_HITS_MAX - 1)

struct entry {
	unsigned int rule;
	uint32_t group;
	uint32_t value; /* index of its words in values */
};

struct group {
	uint64_t mask[TRIP_RULES_MATCH_WORDS];
	unsigned int from; /* its entries */
	unsigned int n;
	uint32_t next; /* of the same bucket */
};

/* The patterns of the rules that may overlap each other. */
struct set {
	const struct trip_rules *rules;
	struct trip_rules_hits *hits; /* of each rule */
	uint64_t work;

	struct entry *entries; /* by group, and in it by rule */
	unsigned int n_entries;
	struct group *groups;
	unsigned int n_groups;
	uint32_t *buckets; /* of groups, by mask */
	uint32_t n_buckets;

	/* Of the words of a match, those that some pattern looks at: values have only these. */
	unsigned int words[TRIP_RULES_MATCH_WORDS];
	unsigned int n_words;
	uint64_t *values;

	/* The one hash table. */
	uint32_t *heads;
	uint32_t *nexts;
};

/* Every bit of the word reaches the low bits, which choose a bucket: an address may stand in the
 * high ones, and a product alone only carries upwards. */
static uint64_t
mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
	return hash ^ hash >> 29;
}

/* Would this rule, or a later one, change nothing? */
static bool
is_late(const struct trip_rules_hits *hits, unsigned int rule)
{
	return hits->n > LAST && hits->rules[LAST] <= rule;
}

/* Keeps the least of them. */
static void
hit(struct trip_rules_hits *hits, unsigned int rule)
{
	unsigned int i = hits->n;

	for (unsigned int k = 0; k < hits->n; k++) {
		if (hits->rules[k] == rule)
			return;
	}
	if (i > LAST)
		i = LAST;
	else
		hits->n++;
	for (; i > 0 && hits->rules[i - 1] > rule; i--)
		hits->rules[i] = hits->rules[i - 1];
	hits->rules[i] = rule;
}

static const uint64_t *
value_of(const struct set *set, unsigned int entry)
{
	return &set->values[(size_t)set->entries[entry].value * set->n_words];
}

static void
unpack(const struct set *set, unsigned int entry, struct trip_rules_match *match)
{
	const uint64_t *value = value_of(set, entry);

	memcpy(match->mask, set->groups[set->entries[entry].group].mask, sizeof(match->mask));
	memset(match->value, 0, sizeof(match->value));
	for (unsigned int i = 0; i < set->n_words; i++)
		match->value[set->words[i]] = value[i];
}

static bool
same_bits(const struct set *set, unsigned int x, unsigned int y, const uint64_t *common)
{
	const uint64_t *a = value_of(set, x), *b = value_of(set, y);

	for (unsigned int i = 0; i < set->n_words; i++) {
		if (((a[i] ^ b[i]) & common[i]) != 0)
			return false;
	}
	return true;
}

/* Notes it if x, the earlier rule, and y meet. False when later ones than x need not be tried. */
static bool
try_pair(struct set *set, unsigned int x, unsigned int y, const uint64_t *common)
{
	struct trip_rules_hits *hits = &set->hits[set->entries[y].rule];
	struct trip_rules_match a, b;

	set->work++;
	if (is_late(hits, set->entries[x].rule))
		return false;
	if (!same_bits(set, x, y, common))
		return true;
	unpack(set, x, &a);
	unpack(set, y, &b);
	if (trip_rules_match_meets(&a, &b))
		hit(hits, set->entries[x].rule);
	return true;
}

static uint32_t
hash_of(const struct set *set, unsigned int entry, const uint64_t *common)
{
	const uint64_t *value = value_of(set, entry);
	uint64_t hash = 0;

	for (unsigned int i = 0; i < set->n_words; i++)
		hash = mix(hash, value[i] & common[i]);
	return (uint32_t)hash;
}

/* All of g with the later ones of h. Chains are in the order of the rules, which ends a search. */
static void
probe(struct set *set, const struct group *g, const struct group *h, const uint64_t *common)
{
	uint32_t size = 1;

	while (size < g->n)
		size *= 2;
	memset(set->heads, 0xff, size * sizeof(*set->heads));
	for (unsigned int i = g->n; i-- > 0;) {
		uint32_t *head = &set->heads[hash_of(set, g->from + i, common) & (size - 1)];

		set->nexts[i] = *head;
		*head = i;
	}
	set->work += g->n + h->n;
	for (unsigned int y = h->from; y < h->from + h->n && set->work < TRIP_RULES_OVERLAP_WORK;
		y++) {
		uint32_t i = set->heads[hash_of(set, y, common) & (size - 1)];

		for (; i != NONE && set->work < TRIP_RULES_OVERLAP_WORK; i = set->nexts[i]) {
			if (set->entries[g->from + i].rule >= set->entries[y].rule ||
				!try_pair(set, g->from + i, y, common))
				break;
		}
	}
}

static void
compare_all(struct set *set, const struct group *g, const struct group *h, const uint64_t *common)
{
	for (unsigned int x = g->from; x < g->from + g->n; x++) {
		for (unsigned int y = h->from; y < h->from + h->n; y++) {
			if (set->entries[x].rule < set->entries[y].rule)
				try_pair(set, x, y, common);
			else if (g != h && set->entries[x].rule > set->entries[y].rule)
				try_pair(set, y, x, common);
		}
	}
}

static void
compare_groups(struct set *set)
{
	uint64_t common[TRIP_RULES_MATCH_WORDS];

	for (unsigned int i = 0; i < set->n_groups; i++) {
		for (unsigned int k = i; k < set->n_groups && set->work < TRIP_RULES_OVERLAP_WORK;
			k++) {
			const struct group *g = &set->groups[i], *h = &set->groups[k];

			set->work++;
			for (unsigned int w = 0; w < set->n_words; w++)
				common[w] = g->mask[set->words[w]] & h->mask[set->words[w]];
			if ((uint64_t)g->n * h->n <= SMALL) {
				compare_all(set, g, h, common);
				continue;
			}
			probe(set, g, h, common);
			if (g != h)
				probe(set, h, g, common);
		}
	}
}

/* The group with this mask, made where there is none; NONE without memory. */
static uint32_t
group_of(struct set *set, const uint64_t mask[TRIP_RULES_MATCH_WORDS])
{
	uint64_t hash = 0;
	uint32_t *bucket, i;

	for (unsigned int w = 0; w < TRIP_RULES_MATCH_WORDS; w++)
		hash = mix(hash, mask[w]);
	bucket = &set->buckets[hash & (set->n_buckets - 1)];
	for (i = *bucket; i != NONE; i = set->groups[i].next) {
		if (memcmp(set->groups[i].mask, mask, sizeof(set->groups[i].mask)) == 0)
			return i;
	}
	if (!trip_rules_grow(&set->groups, set->n_groups, sizeof(*set->groups)))
		return NONE;
	i = set->n_groups++;
	set->groups[i] = (struct group){.next = *bucket};
	memcpy(set->groups[i].mask, mask, sizeof(set->groups[i].mask));
	*bucket = i;
	return i;
}

/* Which groups there are, and how many entries each has; entries are in the order of the rules. */
static int
gather(struct set *set, const unsigned int *order, unsigned int n)
{
	struct trip_rules_match match;

	memset(set->buckets, 0xff, set->n_buckets * sizeof(*set->buckets));
	for (unsigned int i = 0; i < n; i++) {
		const struct trip_rules_count *count = &set->rules->counts[order[i]];

		for (unsigned int k = 0; k < count->n_patterns; k++) {
			struct entry *entry = &set->entries[set->n_entries];

			if (!trip_rules_match_compile(count->patterns[k], &match))
				continue;
			entry->rule = order[i];
			entry->value = k;
			entry->group = group_of(set, match.mask);
			if (entry->group == NONE)
				return -ENOMEM;
			set->groups[entry->group].n++;
			set->n_entries++;
		}
	}
	return 0;
}

/* A stable sort by group, and the values of the entries. */
static int
sort_entries(struct set *set)
{
	struct entry *sorted = calloc(set->n_entries, sizeof(*sorted));
	uint64_t used[TRIP_RULES_MATCH_WORDS] = {0};
	struct trip_rules_match match;
	unsigned int from = 0;

	for (unsigned int i = 0; i < set->n_groups; i++) {
		for (unsigned int w = 0; w < TRIP_RULES_MATCH_WORDS; w++)
			used[w] |= set->groups[i].mask[w];
		set->groups[i].from = from;
		from += set->groups[i].n;
		set->groups[i].n = 0;
	}
	set->n_words = 0;
	for (unsigned int w = 0; w < TRIP_RULES_MATCH_WORDS; w++) {
		if (used[w] != 0)
			set->words[set->n_words++] = w;
	}
	set->values = calloc((size_t)set->n_entries * set->n_words + 1, sizeof(*set->values));
	if (sorted == NULL || set->values == NULL) {
		free(sorted);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < set->n_entries; i++) {
		const struct entry *entry = &set->entries[i];
		struct group *group = &set->groups[entry->group];

		trip_rules_match_compile(
			set->rules->counts[entry->rule].patterns[entry->value], &match);
		for (unsigned int w = 0; w < set->n_words; w++)
			set->values[(size_t)i * set->n_words + w] = match.value[set->words[w]];
		sorted[group->from + group->n] = *entry;
		sorted[group->from + group->n++].value = i;
	}
	memcpy(set->entries, sorted, set->n_entries * sizeof(*sorted));
	free(sorted);
	return 0;
}

/*
 * Adds to hits, which are by rule, what those of the n rules in `order` that come later have in
 * common with earlier ones. *work counts what it took, over all calls; past TRIP_RULES_OVERLAP_WORK
 * nothing is compared any more.
 */
int
trip_rules_overlap_find(const struct trip_rules *rules, const unsigned int *order, unsigned int n,
	struct trip_rules_hits *hits, uint64_t *work)
{
	struct set set = {.rules = rules, .hits = hits, .work = *work};
	size_t n_patterns = 1;
	int rc = -ENOMEM;

	for (unsigned int i = 0; i < n; i++)
		n_patterns += rules->counts[order[i]].n_patterns;
	set.entries = calloc(n_patterns, sizeof(*set.entries));
	set.n_buckets = 1;
	while (set.n_buckets < n_patterns && set.n_buckets < BUCKETS_MAX)
		set.n_buckets *= 2;
	set.buckets = calloc(set.n_buckets, sizeof(*set.buckets));
	set.heads = calloc(2 * n_patterns, sizeof(*set.heads));
	set.nexts = calloc(n_patterns, sizeof(*set.nexts));
	if (set.entries != NULL && set.buckets != NULL && set.heads != NULL && set.nexts != NULL)
		rc = gather(&set, order, n);
	if (rc == 0 && set.n_entries > 1)
		rc = sort_entries(&set);
	if (rc == 0 && set.n_entries > 1)
		compare_groups(&set);
	*work = set.work;
	free(set.entries);
	free(set.buckets);
	free(set.heads);
	free(set.nexts);
	free(set.groups);
	free(set.values);
	return rc;
}
