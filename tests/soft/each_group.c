/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conditions of keys that are several others together, on a clock of the test: beside a model, over
 * several queues, and behind kills; and which of all conditions are refused.
 */
#include <errno.h>
#include <string.h>

#include <trip_error.h>
#include "each_bed.h"

#define IDLE (60 * SECOND)
#define QUIET (5 * SECOND)
#define ROUNDS 20000

static const struct trip_each_when all = {.group = TRIP_EACH_ALL};
static const struct trip_each_when any = {.group = TRIP_EACH_ANY};

static struct trip_each_attr
attr_of(const struct trip_each_when *when, const struct trip_each_member *members, uint32_t n)
{
	return (struct trip_each_attr){.max = 100,
		.idle_us = IDLE,
		.whens = when,
		.n_whens = 1,
		.members = members,
		.n_members = n,
		.trips_kept = 32768};
}

/* A count, a rate and a time, each of which holds when it has: the last of them trips it. */
static const struct trip_each_member three[] = {{.when = {.count = 20}},
	{.when = {.rate = 1000, .burst = 5}}, {.when = {.quiet_us = QUIET}}};

static void
cond_07_all_of_a_key_have_held(void **state)
{
	const struct trip_each_attr attr = attr_of(&all, three, 3);

	for (uint32_t n_tables = 1; n_tables <= TABLES_MAX; n_tables++) {
		struct trip_each_bed bed;

		trip_each_bed_open(&bed, &attr, n_tables);
		/* The rate, then that it is quiet, then the count, on whatever queue. */
		(void)trip_each_bed_count(&bed, 0, 7, 6);
		bed_be_silent(&bed, 2 * QUIET, 1000);
		(void)trip_each_bed_count(&bed, n_tables - 1, 7, 5);
		bed_be_silent(&bed, SECOND, 1000);
		(void)trip_each_bed_count(&bed, n_tables - 1, 7, 5);
		bed_be_silent(&bed, SECOND, 1000);
		(void)trip_each_bed_count(&bed, 0, 7, 3);
		assert_int_equal(bed_trips(&bed), 0);
		(void)trip_each_bed_count(&bed, n_tables - 1, 7, 1);
		assert_int_equal(bed_trips(&bed), 1);
		assert_int_equal(bed_last_trip(&bed).packets, 20);
		/* Once. */
		(void)trip_each_bed_count(&bed, 0, 7, 32);
		bed_be_silent(&bed, 2 * QUIET, 1000);
		assert_int_equal(bed_trips(&bed), 1);
		/* The count before, and the rate: that it is quiet is the last. */
		(void)trip_each_bed_count(&bed, 0, 8, 20);
		assert_int_equal(bed_trips(&bed), 1);
		bed_be_silent(&bed, QUIET + QUIET / 50, 1000);
		assert_int_equal(bed_trips(&bed), 2);
		trip_each_bed_close(&bed);
	}
}

static void
cond_07_any_of_a_key_has_held(void **state)
{
	const struct trip_each_attr attr = attr_of(&any, three, 3);
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	(void)trip_each_bed_count(&bed, 0, 7, 5);
	assert_int_equal(bed_trips(&bed), 0);
	(void)trip_each_bed_count(&bed, 0, 7, 1);
	assert_int_equal(bed_trips(&bed), 1);
	(void)trip_each_bed_count(&bed, 1, 8, 1);
	bed_be_silent(&bed, QUIET + QUIET / 50, 1000);
	assert_int_equal(bed_trips(&bed), 2);
	for (unsigned int i = 0; i < 4; i++) {
		(void)trip_each_bed_count(&bed, i % 2, 9, 5);
		assert_int_equal(bed_trips(&bed), 2 + (i == 3));
		bed_be_silent(&bed, SECOND, 1000);
	}
	trip_each_bed_close(&bed);
}

/* One of which the others know holds for good, and is not looked for again. */
static void
cond_07_a_member_of_another_queue_counts(void **state)
{
	const struct trip_each_member members[] = {
		{.when = {.rate = 1000, .burst = 10}}, {.when = {.count = 40}}};
	const struct trip_each_attr attr = attr_of(&all, members, 2);
	struct trip_keyed_entry reading;
	struct trip_each_bed bed;

	trip_each_bed_open(&bed, &attr, 2);
	(void)trip_each_bed_count(&bed, 0, 7, 11);
	bed_be_silent(&bed, SECOND, 1000);
	for (unsigned int i = 0; i < 4; i++) {
		(void)trip_each_bed_count(&bed, 1, 7, 7);
		assert_int_equal(bed_trips(&bed), 0);
		bed_be_silent(&bed, SECOND, 1000);
	}
	(void)trip_each_bed_count(&bed, 1, 7, 1);
	assert_int_equal(bed_trips(&bed), 1);
	assert_int_equal(bed_last_trip(&bed).table, 1);
	assert_int_equal(bed_last_trip(&bed).packets, 40);
	assert_true(trip_keyed_read(bed.tables[1], bed_entry_of(&bed, 1, 7), &reading));
	assert_int_equal(reading.memos[bed.statement->members_told - 1], 3);
	trip_each_bed_close(&bed);
}

/* all(count, any(count, bytes)), and a plain condition beside it, as a model has them. */
static void
cond_07_is_as_in_a_model(void **state)
{
	enum { KEYS = 200 };
	struct trip_random random = {trip_test_seed("cond_07_is_as_in_a_model")};
	const struct trip_each_when whens[] = {{.count = 60}, all};
	const struct trip_each_member members[] = {{.when = {.count = 50}, .of = 1},
		{.when = {.group = TRIP_EACH_ANY}, .of = 1},
		{.when = {.count = 90}, .of = 1, .within = 2},
		{.when = {.of = TRIP_EACH_BYTES, .count = 70 * LENGTH}, .of = 1, .within = 2}};
	struct trip_each_attr attr = attr_of(whens, members, 4);
	uint64_t sent[KEYS] = {0}, rounds = trip_test_rounds(ROUNDS), expected = 0;
	struct trip_each_bed bed;

	attr.n_whens = 2;
	attr.max = KEYS;
	trip_each_bed_open(&bed, &attr, 2);
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t key = trip_random_below(&random, KEYS);
		uint32_t n = 1 + (uint32_t)trip_random_below(&random, 12);
		uint64_t before = sent[key];

		(void)trip_each_bed_count(
			&bed, (uint32_t)trip_random_below(&random, 2), key + 1, n);
		sent[key] += n;
		expected += before < 60 && sent[key] >= 60;
		expected += before < 70 && sent[key] >= 70;
		assert_int_equal(bed_trips(&bed), expected);
	}
	assert_true(expected > KEYS / 2);
	trip_each_bed_close(&bed);
}

/* The packets behind the one with which the last of them holds. */
static void
cond_07_drops_what_comes_behind(void **state)
{
	const struct trip_each_act act = {.op = TRIP_EACH_OP_DROP, .time_us = SECOND};
	const struct trip_each_member members[] = {
		{.when = {.count = 10}}, {.when = {.of = TRIP_EACH_BYTES, .count = 20 * LENGTH}}};
	struct trip_each_attr attr = attr_of(&all, members, 2);
	struct trip_each_bed bed;

	attr.acts = &act;
	trip_each_bed_open(&bed, &attr, 2);
	assert_int_equal(trip_each_bed_count(&bed, 0, 7, 15), 0);
	assert_int_equal(trip_each_bed_count(&bed, 1, 7, 8), 0x7u << 5);
	assert_int_equal(trip_each_bed_count(&bed, 0, 7, 2), 3);
	assert_int_equal(bed_trips(&bed), 1);
	/* One after the other within a chunk. */
	assert_int_equal(trip_each_bed_count(&bed, 1, 8, 32), UINT32_MAX << 20);
	trip_each_bed_close(&bed);
}

/* In each life all of them have to hold again. */
static void
cond_07_holds_in_each_life(void **state)
{
	const struct trip_each_act act = {.op = TRIP_EACH_OP_RESET};
	struct trip_each_attr attr = attr_of(&all, three, 3);
	struct trip_each_bed bed;

	attr.acts = &act;
	trip_each_bed_open(&bed, &attr, 2);
	for (uint64_t life = 0; life < 6; life++) {
		uint32_t queue = (uint32_t)life % 2;

		(void)trip_each_bed_count(&bed, queue, 7, 6);
		bed_be_silent(&bed, QUIET + QUIET / 50, 1000);
		(void)trip_each_bed_count(&bed, 1 - queue, 7, 13);
		assert_int_equal(bed_trips(&bed), life);
		(void)trip_each_bed_count(&bed, queue, 7, 1);
		assert_int_equal(bed_trips(&bed), life + 1);
		assert_int_equal(bed_last_trip(&bed).life, life);
		assert_int_equal(bed_last_trip(&bed).packets, 20 * (life + 1));
	}
	trip_each_bed_close(&bed);
}

/* Who found one was killed before he told what it made true; or behind that. */
static void
cond_07_what_was_found_behind_a_kill_is_told_once(void **state)
{
	const struct trip_each_member members[] = {
		{.when = {.count = 10}}, {.when = {.of = TRIP_EACH_BYTES, .count = 20 * LENGTH}}};
	const struct trip_each_attr attr = attr_of(&all, members, 2);

	for (unsigned int is_told = 0; is_told < 2; is_told++) {
		struct trip_each_told told = {.packets = 15, .times = 1, .key = {7}}, found;
		struct trip_each_bed bed;

		trip_each_bed_open(&bed, &attr, 2);
		(void)trip_each_bed_count(&bed, 0, 7, 15);
		/* He has seen another queue's, which is there no more. */
		trip_keyed_write(bed.tables[0], bed_entry_of(&bed, 0, 7),
			bed.statement->members_told - 1u, 3);
		trip_each_ring_write(&bed.at, &told);
		trip_keyed_tell(bed.tables[0], bed_entry_of(&bed, 0, 7), 0, 1);
		if (is_told != 0)
			assert_int_equal(
				trip_each_ring_tell(&bed.at, &told, 0, &found), TRIP_EACH_TELLS);
		trip_each_queue_recover(&bed.polls[0], bed.now);
		assert_int_equal(bed_trips(&bed), 1);
		(void)trip_each_bed_count(&bed, 1, 7, 32);
		(void)trip_each_bed_count(&bed, 0, 7, 32);
		assert_int_equal(bed_trips(&bed), 1);
		trip_each_bed_close(&bed);
	}
}

/* ---- what is refused --------------------------------------------------------------------------
 */

static void
check_refused(const struct trip_each_when *when, const struct trip_each_member *members, uint32_t n,
	int error, const char *message)
{
	static const struct trip_each_part part = {TRIP_EACH_IPV4_SRC, 0};
	struct trip_each_attr attr = attr_of(when, members, n);
	struct trip_each_statement statement = {0};

	attr.size = sizeof(attr);
	attr.name = "keys";
	attr.parts = &part;
	attr.n_parts = 1;
	assert_int_equal(trip_each_plan(&attr, &statement), -error);
	assert_string_equal(trip_error_message(), message);
}

static void
conditions_are_refused_by_what_is_wrong(void **state)
{
	const struct trip_each_when count = {.count = 1};
	const struct {
		struct trip_each_when when;
		int error;
		const char *message;
	} whens[] = {
		{{.quiet_us = IDLE}, EINVAL,
			"each \"keys\": condition 0: quiet_us 60000000 is not below the "
			"statement's idle_us 60000000, at which the key goes"},
		{{.quiet_us = 1, .count = 1}, EINVAL,
			"each \"keys\": condition 0 has a count and a time for which it is quiet"},
		{{.quiet_us = 1, .rate = 1}, EINVAL,
			"each \"keys\": condition 0 has a rate and a time for which it is quiet"},
		{{.count = 1, .again = 1}, EINVAL,
			"each \"keys\": condition 0 has an until, seconds or again, and no rate"},
		{{.rate = 1, .burst = 5, .until = 2, .again = 1}, EINVAL,
			"each \"keys\": condition 0: until 2 of a rate that is told again, whose "
			"bucket is empty"},
		{{.group = 3}, EINVAL, "each \"keys\": condition 0 is group 3, which is unknown"},
		{{.group = TRIP_EACH_ALL, .count = 1}, EINVAL,
			"each \"keys\": condition 0 has members, and something else"},
		{{.group = TRIP_EACH_ALL}, EINVAL, "each \"keys\": condition 0 has no members"},
	};
	const struct {
		struct trip_each_member members[2];
		uint32_t n;
		int error;
		const char *message;
	} members[] = {
		{{{.when = count, .of = 1}}, 1, EINVAL,
			"each \"keys\": member 0 is of condition 1 of 1"},
		{{{.when = count, .within = 1}}, 1, EINVAL,
			"each \"keys\": member 0 is of member 0, which is not before it"},
		{{{.when = count}, {.when = count, .within = 1}}, 2, EINVAL,
			"each \"keys\": member 1 is of what has no members"},
		{{{.when = all}}, 1, EINVAL,
			"each \"keys\": member 0 is a group within one of its kind"},
		{{{.when = any}, {.when = all, .within = 1}}, 2, EINVAL,
			"each \"keys\": member 1 is a group, and nested twice"},
		{{{.when = any}}, 1, EINVAL, "each \"keys\": member 0 has no members"},
		{{{.when = {.count = 1, .every = 1}}}, 1, EINVAL,
			"each \"keys\": member 0 holds once, and has an until, every or again"},
		{{{.when = {.rate = 1}}, {.when = {.rate = 1}}}, 2, ENOTSUP,
			"each \"keys\": member 1 is a second rate, and a key has one bucket"},
		{{{.when = {.quiet_us = IDLE + 1}}}, 1, EINVAL,
			"each \"keys\": member 0: quiet_us 60000001 is not below the statement's "
			"idle_us 60000000, at which the key goes"},
	};
	struct trip_each_member many[TRIP_EACH_MEMBERS_MAX + 1] = {{.when = count}};

	for (unsigned int i = 0; i < RTE_DIM(whens); i++)
		check_refused(&whens[i].when, NULL, 0, whens[i].error, whens[i].message);
	for (unsigned int i = 0; i < RTE_DIM(members); i++)
		check_refused(&all, members[i].members, members[i].n, members[i].error,
			members[i].message);
	check_refused(&count, many, 1, EINVAL, "each \"keys\": member 0 is of what has no members");
	check_refused(&all, many, RTE_DIM(many), EINVAL,
		"each \"keys\": 17 members are none, or more than 16");
	for (unsigned int i = 0; i < RTE_DIM(many); i++)
		many[i].when = (struct trip_each_when){.quiet_us = i + 1};
	check_refused(&all, many, 5, ENOTSUP,
		"each \"keys\": member 4: quiet_us 5 is another one than 4, which is the limit");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cond_07_all_of_a_key_have_held),
		cmocka_unit_test(cond_07_any_of_a_key_has_held),
		cmocka_unit_test(cond_07_a_member_of_another_queue_counts),
		cmocka_unit_test(cond_07_is_as_in_a_model),
		cmocka_unit_test(cond_07_drops_what_comes_behind),
		cmocka_unit_test(cond_07_holds_in_each_life),
		cmocka_unit_test(cond_07_what_was_found_behind_a_kill_is_told_once),
		cmocka_unit_test(conditions_are_refused_by_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
