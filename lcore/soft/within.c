/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of a table: whose they are, and what packets answer. */
#include <errno.h>

#include "within.h"

#define KIND_SHIFT 16
#define SET_SHIFT 24
#define WORD (TRIP_PLACE_TESTS / 8)

static uint32_t
place_of(uint32_t test)
{
	return test & 0xffff;
}

static uint32_t
set_of(uint32_t test)
{
	return test >> SET_SHIFT;
}

static uint32_t
load_test(const struct trip_within *within, uint32_t test)
{
	/* Relaxed: whole in itself. What it leads to is read by an acquire. */
	return atomic_load_explicit(&within->tests[test], memory_order_relaxed);
}

void
trip_within_init(struct trip_within *within)
{
	for (uint32_t i = 0; i < TRIP_SET_TESTS_MAX; i++)
		atomic_init(&within->members[i], &trip_members_none);
}

/* Release: what they consist of. Partner: the acquire in take(). */
static void
publish(struct trip_within *within, uint32_t number, const struct trip_members *members)
{
	atomic_store_explicit(&within->members[number], members, memory_order_release);
}

/* The number of a set, which may be new: there are as many as tests, and one is free. */
static uint32_t
number_of(struct trip_within *within, const void *set, const struct trip_members *members)
{
	uint32_t free = TRIP_SET_TESTS_MAX;

	for (uint32_t i = 0; i < TRIP_SET_TESTS_MAX; i++) {
		if (within->sets[i] == set)
			return i;
		if (within->sets[i] == NULL && free == TRIP_SET_TESTS_MAX)
			free = i;
	}
	within->sets[free] = set;
	publish(within, free, members);
	return free;
}

int
trip_within_take(struct trip_within *within, const void *set, const struct trip_members *members,
	uint32_t place, enum trip_set_kind kind)
{
	uint32_t free = TRIP_SET_TESTS_MAX, test;

	for (uint32_t i = TRIP_SET_TESTS_MAX; i-- > 0;) {
		test = load_test(within, i);
		if (within->rules[i] == 0)
			free = i;
		else if (place_of(test) == place && within->sets[set_of(test)] == set) {
			within->rules[i]++;
			return (int)i;
		}
	}
	if (free == TRIP_SET_TESTS_MAX)
		return -ENOSPC;
	test = place | (uint32_t)kind << KIND_SHIFT | number_of(within, set, members) << SET_SHIFT;
	/* Relaxed: it is asked for by a view that is published behind it (table_masks.c). */
	atomic_store_explicit(&within->tests[free], test, memory_order_relaxed);
	within->rules[free] = 1;
	return (int)free;
}

void
trip_within_give(struct trip_within *within, uint32_t test)
{
	uint32_t number = set_of(load_test(within, test));

	if (--within->rules[test] > 0)
		return;
	for (uint32_t i = 0; i < TRIP_SET_TESTS_MAX; i++)
		if (within->rules[i] > 0 && set_of(load_test(within, i)) == number)
			return;
	within->sets[number] = NULL;
	/* Its members may go now, and an empty mask may still look at the bit. */
	publish(within, number, &trip_members_none);
}

bool
trip_within_replace(struct trip_within *within, const void *set, const struct trip_members *members)
{
	for (uint32_t i = 0; i < TRIP_SET_TESTS_MAX; i++)
		if (within->sets[i] == set) {
			publish(within, i, members);
			return true;
		}
	return false;
}

const void *
trip_within_set(const struct trip_within *within, uint32_t test, uint32_t *place)
{
	*place = place_of(load_test(within, test));
	return within->sets[set_of(load_test(within, test))];
}

bool
trip_within_is_used(const struct trip_within *within)
{
	bool used = false;

	for (uint32_t i = 0; i < TRIP_SET_TESTS_MAX; i++)
		used |= within->rules[i] > 0;
	return used;
}

static const struct trip_members *
take(const struct trip_within *within, struct trip_within_burst *burst, uint32_t number)
{
	if ((burst->taken >> number & 1) == 0) {
		/* Partner: the release in publish(). */
		burst->members[number] =
			atomic_load_explicit(&within->members[number], memory_order_acquire);
		burst->taken |= UINT64_C(1) << number;
	}
	return burst->members[number];
}

/* Of a packet of the other version, an address is what an earlier one left: it is not asked for. */
static bool
has_kind(const struct trip_packet_fields *fields, uint32_t place, uint32_t kind)
{
	return kind != TRIP_SET_IPV6 || place >= TRIP_PLACE_INNER ||
	       (fields->halves[0] & TRIP_HAS_IPV6) != 0;
}

static void
ask_one(const struct trip_within *within, struct trip_within_burst *burst, uint32_t bit,
	struct trip_packet_fields *fields, uint32_t count)
{
	uint32_t test = load_test(within, bit), kind = test >> KIND_SHIFT & 0xff, n = 0, in;
	const uint8_t *values[TRIP_MEMBERS_ASK];
	uint8_t packets[TRIP_MEMBERS_ASK];

	for (uint32_t i = 0; i < count; i++) {
		fields[i].words[WORD] &= ~(UINT64_C(1) << bit);
		if (!has_kind(&fields[i], place_of(test), kind))
			continue;
		packets[n] = (uint8_t)i;
		values[n++] = fields[i].bytes + place_of(test);
	}
	in = trip_members_ask(take(within, burst, set_of(test)), kind, values, n);
	for (; in != 0; in &= in - 1)
		fields[packets[__builtin_ctz(in)]].words[WORD] |= UINT64_C(1) << bit;
}

void
trip_within_ask(const struct trip_within *within, struct trip_within_burst *burst, uint64_t tests,
	struct trip_packet_fields *fields, uint32_t count)
{
	for (; tests != 0; tests &= tests - 1)
		ask_one(within, burst, (uint32_t)__builtin_ctzll(tests), fields, count);
}
