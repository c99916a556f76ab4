/* SPDX-License-Identifier: BSD-3-Clause */
/* Steering: tables of rules over the vector of packet.h, as verbs and DV both see them.
 *
 * A table holds matchers, each a mask and a priority; a matcher holds rules, each a value under
 * that mask. A packet takes the matcher of the lowest priority number in which some rule fits, the
 * older one among equals, and in it the oldest of the rules with that value: duplicates stand
 * behind each other, and the next takes effect when the one before is destroyed, as in hardware.
 *
 * Nothing here locks; the device's lock is held by whoever calls. */
#ifndef VCX_MATCH_H
#define VCX_MATCH_H

#include <sys/queue.h>
#include "packet.h"

struct vcx_rss;
struct vcx_table;

struct vcx_counter {
	uint64_t packets, bytes;
	uint64_t told_packets, told_bytes; /* what queries answer while the device is held */
};

struct vcx_actions {
	struct vcx_counter *counter;
	const struct vcx_rss *rss;     /* one of these three ends the way ... */
	const struct vcx_table *table; /* ... or leads on; none: to the kernel */
	bool drop;
	uint32_t tag;
	bool tagged;
};

struct vcx_matcher {
	TAILQ_ENTRY(vcx_matcher) next;
	struct vcx_table *table;
	uint16_t priority;
	unsigned words; /* how many words of the mask are not zero, and which */
	uint8_t word[VCX_KEY_WORDS];
	uint64_t mask[VCX_KEY_WORDS];
	struct vcx_rule **buckets;
	size_t bucket_count; /* a power of two */
	size_t rules;
};

struct vcx_table {
	TAILQ_HEAD(, vcx_matcher) matchers;
};

struct vcx_rule {
	struct vcx_rule *next; /* of the bucket */
	struct vcx_matcher *matcher;
	struct vcx_actions actions;
	uint64_t hash;
	uint64_t value[]; /* one word for each of the matcher's */
};

void vcx_match_table_init(struct vcx_table *table);

/* A matcher of its own, or with `shared` one that has the same mask and priority where there is
 * one. NULL: no memory. */
struct vcx_matcher *vcx_match_matcher(
	struct vcx_table *table, const union vcx_key *mask, uint16_t priority, bool shared);

/* The matcher has no rules. */
void vcx_match_matcher_free(struct vcx_matcher *matcher);

/* NULL: no memory. The value's bits outside the mask do not matter. */
struct vcx_rule *vcx_match_add(
	struct vcx_matcher *matcher, const union vcx_key *value, const struct vcx_actions *actions);

void vcx_match_remove(struct vcx_rule *rule);

/* Is there a rule with this value already? */
bool vcx_match_has(const struct vcx_matcher *matcher, const union vcx_key *value);

/* The rule that the packet takes in this table, or NULL. */
const struct vcx_rule *vcx_match_find(const struct vcx_table *table, const union vcx_key *key);

#endif
