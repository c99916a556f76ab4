/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fields of packets that are in sets: what a table asks of each packet beside its words.
 *
 * A test is a field and a set, and has a bit. Before a packet is looked up, the bits of the tests
 * that some mask looks at become one more of its words, so to the tuples a test is a bit as any
 * other, and rules that share a test share its cost.
 *
 * A set's members are replaced whole, at once for all of a table's tests. A burst takes the members
 * of a set when it first needs them, and keeps them to its end, so all of its packets are judged
 * by the same. What was replaced goes when no burst is left that began before (era.h): its pointer
 * was unpublished, and then the table's era retired.
 *
 * A test whose last rule has gone may become another. A burst under way may ask that in place of
 * the old one, and no rule is left to which it would matter: a rule's bit is given back when the
 * rule is quiet.
 */
#ifndef TRIP_WITHIN_H
#define TRIP_WITHIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "members.h"
#include "packet.h"

struct trip_within {
	/* Of each test: the place of its field, its kind and its set's number. */
	_Atomic uint32_t tests[TRIP_SET_TESTS_MAX];
	const struct trip_members *_Atomic members[TRIP_SET_TESTS_MAX]; /* by a set's number */
	/* The writers': rules with each test, and whose a number is; NULL: nobody's. */
	uint32_t rules[TRIP_SET_TESTS_MAX];
	const void *sets[TRIP_SET_TESTS_MAX];
};

/* Of a queue: members that its burst has taken, by number. */
struct trip_within_burst {
	uint64_t taken;
	const struct trip_members *members[TRIP_SET_TESTS_MAX];
};

void trip_within_init(struct trip_within *within);

/* A rule's test: the field at `place` is in a set, which has these members now. Its bit, or
 * -ENOSPC. And the rule's no more. */
int trip_within_take(struct trip_within *within, const void *set,
	const struct trip_members *members, uint32_t place, enum trip_set_kind kind);
void trip_within_give(struct trip_within *within, uint32_t test);

/* Other members of a set; false: no test asks for it. What was there may be in bursts' hands until
 * the table's era has been retired behind this. */
bool trip_within_replace(
	struct trip_within *within, const void *set, const struct trip_members *members);

/* Of a test that a rule has: its set; and its place. */
const void *trip_within_set(const struct trip_within *within, uint32_t test, uint32_t *place);

/* Whether any rule has a test. */
bool trip_within_is_used(const struct trip_within *within);

/* The bits of these tests into each packet's word; others of that stay. Within an era. */
void trip_within_ask(const struct trip_within *within, struct trip_within_burst *burst,
	uint64_t tests, struct trip_packet_fields *fields, uint32_t count);

#endif
