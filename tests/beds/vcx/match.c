/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include "match.h"

enum {
	FIRST_BUCKETS = 16,
};

void
vcx_match_table_init(struct vcx_table *table)
{
	TAILQ_INIT(&table->matchers);
}

static struct vcx_matcher *
find_matcher(struct vcx_table *table, const union vcx_key *mask, uint16_t priority)
{
	struct vcx_matcher *matcher;

	TAILQ_FOREACH (matcher, &table->matchers, next) {
		union vcx_key same = {.words = {0}};

		for (unsigned i = 0; i < matcher->words; i++)
			same.words[matcher->word[i]] = matcher->mask[i];
		if (matcher->priority == priority && memcmp(&same, mask, sizeof(same)) == 0)
			return matcher;
	}
	return NULL;
}

static void
insert_by_priority(struct vcx_table *table, struct vcx_matcher *matcher)
{
	struct vcx_matcher *other;

	TAILQ_FOREACH (other, &table->matchers, next) {
		if (other->priority > matcher->priority) {
			TAILQ_INSERT_BEFORE(other, matcher, next);
			return;
		}
	}
	TAILQ_INSERT_TAIL(&table->matchers, matcher, next);
}

struct vcx_matcher *
vcx_match_matcher(
	struct vcx_table *table, const union vcx_key *mask, uint16_t priority, bool shared)
{
	struct vcx_matcher *matcher = shared ? find_matcher(table, mask, priority) : NULL;

	if (matcher != NULL)
		return matcher;
	matcher = calloc(1, sizeof(*matcher));
	if (matcher == NULL)
		return NULL;
	matcher->bucket_count = FIRST_BUCKETS;
	matcher->buckets = calloc(matcher->bucket_count, sizeof(struct vcx_rule *));
	if (matcher->buckets == NULL) {
		free(matcher);
		return NULL;
	}
	matcher->table = table;
	matcher->priority = priority;
	for (unsigned i = 0; i < VCX_KEY_WORDS; i++) {
		if (mask->words[i] == 0)
			continue;
		matcher->word[matcher->words] = (uint8_t)i;
		matcher->mask[matcher->words++] = mask->words[i];
	}
	insert_by_priority(table, matcher);
	return matcher;
}

void
vcx_match_matcher_free(struct vcx_matcher *matcher)
{
	TAILQ_REMOVE(&matcher->table->matchers, matcher, next);
	free(matcher->buckets);
	free(matcher);
}

/* The low bits choose the bucket, and must depend on all bits: an address's last byte is a word's
 * first. */
static uint64_t
mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	hash = (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9u;
	return hash ^ hash >> 29;
}

/* The masked value, one word for each of the matcher's, and its hash. */
static uint64_t
masked(const struct vcx_matcher *matcher, const union vcx_key *key, uint64_t *value)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < matcher->words; i++) {
		value[i] = key->words[matcher->word[i]] & matcher->mask[i];
		hash = mix(hash, value[i]);
	}
	return hash;
}

static struct vcx_rule **
bucket(const struct vcx_matcher *matcher, uint64_t hash)
{
	return &matcher->buckets[hash & (matcher->bucket_count - 1)];
}

static void
append(const struct vcx_matcher *matcher, struct vcx_rule *rule)
{
	struct vcx_rule **at = bucket(matcher, rule->hash);

	while (*at != NULL)
		at = &(*at)->next;
	rule->next = NULL;
	*at = rule;
}

/* Without memory the chains only grow longer. Rules of one value keep their order: each old bucket
 * is walked from its head. */
static void
grow(struct vcx_matcher *matcher)
{
	size_t old_count = matcher->bucket_count;
	struct vcx_rule **old = matcher->buckets, **wider = calloc(2 * old_count, sizeof(*wider));

	if (wider == NULL)
		return;
	matcher->buckets = wider;
	matcher->bucket_count = 2 * old_count;
	for (size_t i = 0; i < old_count; i++) {
		for (struct vcx_rule *rule = old[i], *next; rule != NULL; rule = next) {
			next = rule->next;
			append(matcher, rule);
		}
	}
	free(old);
}

struct vcx_rule *
vcx_match_add(
	struct vcx_matcher *matcher, const union vcx_key *value, const struct vcx_actions *actions)
{
	struct vcx_rule *rule = calloc(1, sizeof(*rule) + matcher->words * sizeof(uint64_t));

	if (rule == NULL)
		return NULL;
	rule->matcher = matcher;
	rule->actions = *actions;
	rule->hash = masked(matcher, value, rule->value);
	if (++matcher->rules > matcher->bucket_count)
		grow(matcher);
	append(matcher, rule);
	return rule;
}

void
vcx_match_remove(struct vcx_rule *rule)
{
	struct vcx_rule **at = bucket(rule->matcher, rule->hash);

	while (*at != rule)
		at = &(*at)->next;
	*at = rule->next;
	rule->matcher->rules--;
	free(rule);
}

static const struct vcx_rule *
find_rule(const struct vcx_matcher *matcher, const union vcx_key *key)
{
	uint64_t value[VCX_KEY_WORDS];
	uint64_t hash = masked(matcher, key, value);

	for (const struct vcx_rule *rule = *bucket(matcher, hash); rule != NULL;
		rule = rule->next) {
		if (rule->hash == hash &&
			memcmp(rule->value, value, matcher->words * sizeof(uint64_t)) == 0)
			return rule;
	}
	return NULL;
}

bool
vcx_match_has(const struct vcx_matcher *matcher, const union vcx_key *value)
{
	return find_rule(matcher, value) != NULL;
}

const struct vcx_rule *
vcx_match_find(const struct vcx_table *table, const union vcx_key *key)
{
	const struct vcx_matcher *matcher;

	TAILQ_FOREACH (matcher, &table->matchers, next) {
		const struct vcx_rule *rule = find_rule(matcher, key);

		if (rule != NULL)
			return rule;
	}
	return NULL;
}
