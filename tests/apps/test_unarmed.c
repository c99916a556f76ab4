/* SPDX-License-Identifier: BSD-3-Clause */
/* Work of statements that cannot be queued: what is at work beside it stays whole, and it is tried
 * again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"
#include "trip_test.h"
#include "tripd_bed.h"

#define ALL "count all port 0 pattern eth / end\n"

static struct tripd_bed bed;
static int64_t now;

/* ---- what is refused --------------------------------------------------------------------------
 */

static struct {
	/* By statement, a bit for each. */
	uint64_t statements;
	/* A flow that does not pass; NULL: all do. */
	const struct trip_flow *flow;
	/* Comes in between, where one is queued that passes; NULL: nothing. */
	void (*between)(void);
	/* What the next passes that are done at once have come to, the last first. */
	int results[2];
	unsigned int n_results;
	/* Homes that were asked to look at a counter, and items for which there was no room. */
	unsigned int n_looks, n_full;
} refused;

int __real_trip_work_queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id);
int __wrap_trip_work_queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id);
int __real_trip_work_read(
	struct trip_domain *domain, struct trip_work_event *events, size_t size, unsigned int max);
int __wrap_trip_work_read(
	struct trip_domain *domain, struct trip_work_event *events, size_t size, unsigned int max);

int
__wrap_trip_work_queue(struct trip_domain *domain, const struct trip_work *work, uint64_t *id)
{
	bool is_refused = work->context < 64 && (refused.statements >> work->context & 1) != 0;
	int ret;

	if (work->op_type == TRIP_OP_FLOW_PASS && refused.between != NULL)
		refused.between();
	is_refused |= work->op_type == TRIP_OP_FLOW_PASS && refused.flow != NULL &&
		      work->op.drop.flow == refused.flow;
	ret = is_refused ? -ENOSPC : __real_trip_work_queue(domain, work, id);
	refused.n_looks += ret == 0 && work->context >= TRIPD_NOW && work->threshold == 1;
	refused.n_full += ret == -EAGAIN;
	return ret;
}

int
__wrap_trip_work_read(
	struct trip_domain *domain, struct trip_work_event *events, size_t size, unsigned int max)
{
	int n = __real_trip_work_read(domain, events, size, max);

	for (int i = 0; i < n; i++)
		if (events[i].op_type == TRIP_OP_FLOW_PASS && refused.n_results > 0)
			events[i].result = refused.results[--refused.n_results];
	return n;
}

/* ---- rules at work ----------------------------------------------------------------------------
 */

static void
open_bed(const char *text)
{
	memset(&refused, 0, sizeof(refused));
	tripd_bed_open(&bed, text, (struct tripd_live){16, 16, 16, 1});
	now = tripd_quota_seconds(&bed.quota);
}

static int
update(int64_t seconds)
{
	now += seconds;
	return tripd_period_update(&bed.quota, now);
}

static void
turn(void)
{
	do
		tripd_bed_progress(&bed);
	while (tripd_quota_read(&bed.quota) > 0);
}

static void
send_some(uint16_t n)
{
	tripd_bed_count(&bed, n);
	turn();
}

/* The operator's own word, by a command; what it answers has this in it. */
static void
give(const char *text, const char *expected)
{
	char *answer = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&answer, &size);
	int status = tripd_command(text, strlen(text), file, &bed.commands);

	fclose(file);
	if (status != 0 || strstr(answer, expected) == NULL)
		fail_msg("%s: %d: %s", text, status, answer);
	free(answer);
	turn();
}

/* From here on, these statements cannot be queued, as what they stand on begins anew: the last
 * statement has that at 4 packets. */
static void
refuse(uint64_t statements)
{
	refused.statements = statements;
	send_some(4);
	assert_int_equal(update(0), -ENOSPC);
	turn();
	tripd_quota_forget(&bed.quota);
}

/* ---- queued once ------------------------------------------------------------------------------
 */

/* A change that queues it is all that does. */
static void
what_a_change_has_queued_is_queued_once(void **state)
{
	open_bed(ALL "quota q 8 of all.packets\nwhen q >= 75 % every 2 log\n"
		     "when q >= 5 every 3 drop all\nwhen all.packets >= 4 reset q\n");
	refuse(1 | 2);
	refused.statements = 0;
	give("apply f\nquota q 16 of all.packets\n", "");
	give("apply f\ncount all port 0 pattern eth / ipv4 / end\n", "");
	assert_int_equal(update(1), 0);
	trip_cntr_add(bed.quota.counters[0], 15);
	turn();
	/* At 12 and 14; at 5, 8, 11 and 14. */
	assert_int_equal(bed.quota.fired[0], 2);
	assert_int_equal(bed.quota.fired[1], 4);
	assert_int_equal(bed.quota.n_trips, 6);
	tripd_bed_close(&bed);
}

/* One that a change could not queue is, at the next look. */
static void
what_a_change_could_not_queue_is_tried_again(void **state)
{
	open_bed(ALL "quota q 8 of all.packets\nwhen q >= 5 every 2 drop all\n");
	refused.statements = 1 | 2;
	give("apply f\nwhen all.packets >= 2 log\n", "when all.packets >= 2 log: ");
	give("apply f\ncount all port 0 pattern eth / ipv4 / end\n",
		"when q >= 5 every 2 drop all: ");
	assert_int_equal(update(0), -ENOSPC);
	refused.statements = 0;
	assert_int_equal(update(1), 0);
	trip_cntr_add(bed.quota.counters[0], 8);
	trip_cntr_add(bed.quota.counts[0].packets, 2);
	turn();
	assert_int_equal(bed.quota.fired[0], 2);
	assert_int_equal(bed.quota.fired[1], 1);
	assert_int_equal(bed.quota.n_trips, 3);
	tripd_bed_close(&bed);
}

/* ---- nothing else is kept from it -------------------------------------------------------------
 */

/* Neither what is behind it in the rules, nor what begins anew in the same second. */
static void
what_is_not_refused_is_armed(void **state)
{
	open_bed(ALL "quota q 8 of all.packets\nwhen q >= 3 log\nwhen q >= 2 log\n"
		     "when all.packets >= 4 every 4 reset q\n");
	refuse(1);
	for (unsigned int i = 0; i < 3; i++) {
		send_some(3);
		assert_int_equal(bed.quota.n_trips, 1);
		assert_int_equal(bed.quota.trips[0].when, 1);
		send_some(1);
		assert_int_equal(update(0), 0);
		turn();
		tripd_quota_forget(&bed.quota);
		assert_int_equal(trip_cntr_read(bed.quota.counters[0]), 0);
		/* The next second, it is tried again. */
		assert_int_equal(update(1), -ENOSPC);
	}
	refused.statements = 0;
	assert_int_equal(update(1), 0);
	send_some(3);
	assert_int_equal(bed.quota.n_trips, 2);
	tripd_bed_close(&bed);
}

#define TWO                                                                      \
	"count one port 0 pattern eth / end\n"                                   \
	"count two port 0 priority 1 pattern eth / end\n"                        \
	"quota q 8 of one.packets\nwhen q >= 4 drop one\nwhen q >= 2 drop two\n" \
	"when one.packets >= 4 every 4 reset q\n"

static void
expect_fates(enum trip_flow_fate one, enum trip_flow_fate two)
{
	turn();
	assert_int_equal(tripd_bed_fate(&bed, 0), one);
	assert_int_equal(tripd_bed_fate(&bed, 1), two);
}

/* A count that does not pass keeps no other one from it, and no statement from being armed. */
static void
what_is_not_refused_passes(void **state)
{
	open_bed(TWO);
	refused.flow = bed.quota.counts[0].flows[0];
	send_some(4);
	expect_fates(TRIP_FLOW_FATE_DROP, TRIP_FLOW_FATE_DROP);
	assert_int_equal(update(0), -ENOSPC);
	expect_fates(TRIP_FLOW_FATE_DROP, TRIP_FLOW_FATE_PASS);
	send_some(2);
	expect_fates(TRIP_FLOW_FATE_DROP, TRIP_FLOW_FATE_DROP);
	/* Once a second. */
	assert_int_equal(update(0), 0);
	assert_int_equal(update(1), -ENOSPC);
	refused.flow = NULL;
	assert_int_equal(update(0), 0);
	expect_fates(TRIP_FLOW_FATE_DROP, TRIP_FLOW_FATE_DROP);
	assert_int_equal(update(1), 0);
	expect_fates(TRIP_FLOW_FATE_PASS, TRIP_FLOW_FATE_DROP);
	send_some(2);
	expect_fates(TRIP_FLOW_FATE_DROP, TRIP_FLOW_FATE_DROP);
	tripd_bed_close(&bed);
}

/* Each count has its own result: one that is deleted does not hide another. */
static void
each_count_has_its_own_result(void **state)
{
	open_bed(TWO);
	send_some(4);
	refused.results[1] = -ENOENT;
	refused.results[0] = -EIO;
	refused.n_results = 2;
	assert_int_equal(update(0), -EIO);
	/* It is tried again. */
	assert_int_equal(update(1), 0);
	expect_fates(TRIP_FLOW_FATE_PASS, TRIP_FLOW_FATE_PASS);
	tripd_bed_close(&bed);
}

/* ---- what was due as it began anew ------------------------------------------------------------
 */

/* What cannot be queued is said, and holds up nothing else that is due by then; it is armed again,
 * as that is. */
static void
refuse_between(void *arg, const struct tripd_trip *trip)
{
	if (trip->when == 0) {
		refused.statements = 1 << 1 | 1 << 2;
		tripd_bed_count(&bed, 6);
		tripd_quota_freshen(&bed.quota);
	} else if (trip->when == 3) {
		refused.statements = 0;
	}
}

static void
what_is_not_done_by_then_is_said(void **state)
{
	open_bed(ALL "counter n\nwhen all.packets >= 3 log\nwhen all.packets >= 8 add n 1\n"
		     "when all(all.packets >= 7, all.bytes >= 60) log\n"
		     "when all(all.packets >= 8, all.bytes >= 60, after 1ns) log\n");
	tripd_bed_count(&bed, 3);
	tripd_bed_progress(&bed);
	bed.quota.told = refuse_between;
	assert_false(bed.quota.undone);
	give("reset all", "all.packets 9\n");
	assert_true(bed.quota.undone);
	assert_int_equal(bed.quota.n_trips, 2);
	assert_int_equal(trip_cntr_read(bed.quota.counters[0]), 0);
	bed.quota.told = NULL;
	send_some(8);
	assert_int_equal(bed.quota.n_trips, 6);
	assert_int_equal(trip_cntr_read(bed.quota.counters[0]), 1);
	tripd_bed_close(&bed);
}

/* ---- by hand ----------------------------------------------------------------------------------
 */

/* It has begun anew, and that is answered, whatever cannot be armed by then. */
static void
what_is_reset_by_hand_has_begun_anew(void **state)
{
	open_bed(ALL "quota q 8 of all.packets\nwhen q >= 2 log\n");
	for (unsigned int i = 0; i < 3; i++) {
		refused.statements = 1;
		send_some(3);
		give("reset q", "q 3\n");
		assert_int_equal(trip_cntr_read(bed.quota.counters[0]), 0);
		refused.statements = 0;
		now = RTE_MAX(now + 1, tripd_quota_seconds(&bed.quota) + 1);
		assert_int_equal(update(0), 0);
		assert_int_equal(bed.quota.n_trips, i + 1);
	}
	tripd_bed_close(&bed);
}

static void
count_between(void)
{
	refused.between = NULL;
	tripd_bed_count(&bed, 3);
	tripd_bed_progress(&bed);
}

/* What a rule has asked for since is not that: it begins anew once more. */
static void
what_a_rule_resets_meanwhile_begins_anew(void **state)
{
	open_bed(ALL "quota q 8 of all.packets\nwhen q >= 2 drop all\n"
		     "when all.packets >= 5 every 5 reset q\n");
	send_some(2);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	refused.statements = 1;
	refused.between = count_between;
	(void)tripd_anew_reset_now(&bed.quota, false, 0);
	assert_null(refused.between);
	assert_int_equal(trip_cntr_read(bed.quota.counters[0]), 3);
	refused.statements = 0;
	now = tripd_quota_seconds(&bed.quota) + 1;
	assert_int_equal(update(0), 0);
	assert_int_equal(trip_cntr_read(bed.quota.counters[0]), 0);
	/* The drop is due once more, by what it was that time. */
	assert_int_equal(bed.quota.n_trips, 3);
	tripd_bed_close(&bed);
}

/* ---- room -------------------------------------------------------------------------------------
 */

#define MANY 84

/* As many as begin anew at once, homes look at what flows have counted. */
static void
looks_find_room_however_many_there_are(void **state)
{
	char text[MANY * 128];
	size_t n = 0;

	for (unsigned int i = 1; i <= MANY; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
			"count c%u port 0 pattern eth / ipv4 / udp dst is %u / end\n"
			"quota q%u 9 per minute of c%u.packets\n",
			i, i, i, i);
	assert_true(n < sizeof(text));
	open_bed(text);
	assert_int_equal(bed.quota.periods.n, MANY);
	now = bed.quota.periods.all[0].ends;
	assert_int_equal(update(0), 0);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(bed.quota.periods.all[i].n_ended, 1);
	assert_int_equal(refused.n_full, 0);
	assert_int_equal(refused.n_looks, MANY);
	tripd_bed_close(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_change_has_queued_is_queued_once),
		cmocka_unit_test(what_a_change_could_not_queue_is_tried_again),
		cmocka_unit_test(what_is_not_refused_is_armed),
		cmocka_unit_test(what_is_not_refused_passes),
		cmocka_unit_test(each_count_has_its_own_result),
		cmocka_unit_test(what_is_reset_by_hand_has_begun_anew),
		cmocka_unit_test(what_a_rule_resets_meanwhile_begins_anew),
		cmocka_unit_test(looks_find_room_however_many_there_are),
		cmocka_unit_test(what_is_not_done_by_then_is_said),
	};
	int ret = tripd_bed_init();

	return ret != 0 ? ret : cmocka_run_group_tests(tests, NULL, NULL);
}
