/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements on several flows that are taken back in the midst of their firing: either all of it
 * is done, and told, or nothing. */
#include <stdlib.h>
#include <string.h>

#include "live_bed.h"
#include "rules.h"
#include "trip_test.h"

/* 48 flows each, of which a home fires so many in one iteration that it is in the midst of some. */
#define COUNT(name, from, to)                                                                      \
	"count " name " port 0 pattern eth / ipv4 / udp src range 1 - 14 dst range " from " - " to \
	" / end\n"
#define COUNTS                                                                                \
	"counter n\ncount web port 0 pattern eth / ipv4 / udp dst range 0 - 7 / end\n" COUNT( \
		"a", "33", "62") COUNT("b", "65", "94") COUNT("c", "97", "126")               \
		COUNT("d", "129", "158") COUNT("e", "161", "190") COUNT("f", "193", "222")
#define WHENS(condition)              \
	"when " condition " drop a\n" \
	"when " condition " drop b\n" \
	"when " condition " drop c\n" \
	"when " condition " drop d\n" \
	"when " condition " drop e\n" \
	"when " condition " drop f\n"
#define N_WHENS 6
/* By then, all have fired. */
#define STEPS 12

static bool
is_all(const struct trip_apply_count *count, enum trip_flow_fate fate)
{
	struct trip_flow_count one = {.size = sizeof(one)};

	for (unsigned int i = 0; i < count->n_flows; i++) {
		assert_int_equal(trip_flow_query(count->flows[i], &one), 0);
		if (one.fate != fate)
			return false;
	}
	return count->n_flows == 48;
}

static struct trip_apply_count *
count_of(unsigned int when)
{
	const struct tripd_quota *quota = &live_bed.quota;

	return &quota->counts[quota->rules->whens[when].target];
}

static void
expect_dropped(void *arg, const struct tripd_trip *trip)
{
	assert_true(is_all(count_of(trip->when), TRIP_FLOW_FATE_DROP));
}

/* It comes true, and the home goes on by so many steps. */
static void
begin(unsigned int steps)
{
	live_bed.quota.told = expect_dropped;
	for (unsigned int i = 0; i < 4; i++)
		live_burst(1);
	trip_cntr_add(live_bed.quota.counters[0], 1);
	for (unsigned int i = 0; i < steps; i++)
		trip_progress(live_bed.domain);
}

/* Nothing is left of what a count that has begun anew has dropped. */
static void
expect_nothing_left(const char *rules)
{
	for (unsigned int steps = 0; steps < STEPS; steps++) {
		tripd_bed_open(&live_bed, rules, (struct tripd_live){400, 16, 4096, 1});
		begin(steps);
		live_command("reset web", 0);
		for (unsigned int i = 0; i < N_WHENS; i++)
			assert_true(is_all(count_of(i), TRIP_FLOW_FATE_PASS));
		assert_true(steps + 1 < STEPS || live_bed.quota.n_trips == N_WHENS);
		tripd_bed_close(&live_bed);
	}
}

/* What a statement that goes has done to some, it has to all, and that is told. */
static void
expect_whole(const char *rules)
{
	for (unsigned int steps = 0; steps < STEPS; steps++) {
		bool told[N_WHENS] = {false};

		tripd_bed_open(&live_bed, rules, (struct tripd_live){400, 16, 4096, 1});
		begin(steps);
		live_command("reload f\n" COUNTS, 0);
		for (size_t i = 0; i < live_bed.quota.n_trips; i++)
			told[live_bed.quota.trips[i].when] = true;
		for (unsigned int i = 0; i < N_WHENS; i++)
			assert_true(is_all(
				count_of(i), told[i] ? TRIP_FLOW_FATE_DROP : TRIP_FLOW_FATE_PASS));
		tripd_bed_close(&live_bed);
	}
}

#define RATE COUNTS WHENS("web.packets rate >= 60/h over 4m")
#define ALL COUNTS WHENS("all(web.packets >= 3, n >= 1)")
#define ANY COUNTS WHENS("any(web.packets >= 3, n >= 2)")
#define PLAIN COUNTS WHENS("web.packets >= 3")

static void
of_what_a_reset_takes_back_nothing_is_left(void **state)
{
	expect_nothing_left(PLAIN);
	expect_nothing_left(RATE);
	expect_nothing_left(ALL);
	expect_nothing_left(ANY);
}

static void
what_goes_is_done_to_all_or_none(void **state)
{
	expect_whole(PLAIN);
	expect_whole(RATE);
	expect_whole(ALL);
	expect_whole(ANY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_what_a_reset_takes_back_nothing_is_left),
		cmocka_unit_test(what_goes_is_done_to_all_or_none),
	};
	int ret = live_init();

	return ret != 0 ? ret : cmocka_run_group_tests(tests, NULL, NULL);
}
