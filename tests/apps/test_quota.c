/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules at work, without a forwarder: what is said of trips, kept, and due in the end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "apply/limit.h"
#include "apply/period.h"
#include "run/report.h"
#include "rules.h"
#include "run/view.h"
#include "trip_test.h"
#include "tripd_bed.h"

#define KEPT 4
#define TRIPS 10
/* Of a place whose clocks move; no table of zones is needed for it. */
#define ZONE "CET-1CEST,M3.5.0,M10.5.0/3"

static void
open_bed(struct tripd_bed *bed, const char *text)
{
	tripd_bed_open(bed, text, (struct tripd_live){1, 1, 16, 1});
}

static json_t *
report_of(const struct tripd_quota *quota, int expected)
{
	char path[] = "/tmp/test-quota-XXXXXX";
	int fd = mkstemp(path);
	json_t *report;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(tripd_report_write(path, quota), expected);
	report = json_load_file(path, 0, NULL);
	unlink(path);
	assert_non_null(report);
	return report;
}

static unsigned int
count_lines(const char *text, const char *start)
{
	unsigned int n = 0;

	for (; text != NULL && *text != 0; text = strchr(text, '\n'), text += text != NULL)
		n += strncmp(text, start, strlen(start)) == 0;
	return n;
}

/* However few of them are kept. */
static void
say_trips(struct tripd_bed *bed, size_t keep)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	struct tripd_view view;

	open_bed(bed, "count all port 0 pattern eth / end\ncounter n\nwhen n >= 1 every 1 log\n");
	bed->quota.keep = keep;
	assert_int_equal(tripd_view_open(&view, &bed->quota, file), 0);
	for (unsigned int i = 0; i < TRIPS; i++) {
		trip_cntr_add(bed->quota.counters[0], 1);
		tripd_bed_progress(bed);
		assert_int_equal(tripd_quota_read(&bed->quota), 1);
		tripd_view_update(&view);
		tripd_view_forget(&view, &bed->quota);
	}
	fclose(file);
	assert_int_equal(count_lines(text, "n                  >= "), TRIPS);
	tripd_view_close(&view);
	free(text);
}

static void
trips_beyond_the_report_are_said(void **state)
{
	struct tripd_bed bed;
	json_t *report;

	say_trips(&bed, KEPT);
	report = report_of(&bed.quota, -ENOSPC);
	assert_int_equal(json_array_size(json_object_get(report, "trips")), KEPT);
	assert_int_equal(
		json_integer_value(json_object_get(report, "trips_omitted")), TRIPS - KEPT);
	json_decref(report);
	tripd_bed_close(&bed);
}

static void
trips_without_a_report_are_said(void **state)
{
	struct tripd_bed bed;

	say_trips(&bed, 0);
	assert_int_equal(bed.quota.n_trips, 0);
	tripd_bed_close(&bed);
}

/* Each time of a limit begins with a line; what is left out is told once it is over. */
static void
lines_are_left_out(void **state)
{
	const struct trip_rules_when two = {.most = 2, .per = 100};
	struct trip_apply_limit limit = {0};
	static const struct {
		uint64_t now, told;
		bool taken;
	} steps[] = {{5, 0, true}, {104, 0, true}, {104, 0, false}, {104, 0, false}, {105, 2, true},
		{204, 0, true}, {204, 0, false}, {999, 1, true}, {1098, 0, true}, {1098, 0, false}};

	for (size_t i = 0; i < RTE_DIM(steps); i++) {
		assert_int_equal(
			trip_apply_limit_left_out(&limit, &two, steps[i].now), steps[i].told);
		assert_int_equal(trip_apply_limit_take(&limit, &two, steps[i].now), steps[i].taken);
	}
	assert_int_equal(trip_apply_limit_left_out(&limit, &two, UINT64_MAX), 1);
	assert_int_equal(trip_apply_limit_left_out(&limit, &two, UINT64_MAX), 0);
}

/* When they happen, but not each time that there are more. */
static void
losses_are_said_when_they_happen(void **state)
{
	static const char *const lines[] = {"port 0: 3 frames were counted and not sent",
		"port 0: the counts are short of frames: 2 "};
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	struct tripd_view view;
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\n");
	assert_int_equal(tripd_view_open(&view, &bed.quota, file), 0);
	for (unsigned int i = 0; i < TRIPS; i++) {
		tripd_view_update(&view);
		assert_int_equal(ftell(file) > 0, i > 0);
		bed.quota.losses.ports[0].frames[TRIPD_LOSS_REFUSED] = 3 + i;
		bed.quota.losses.ports[0].frames[TRIPD_LOSS_MISSED] = 2 + i;
	}
	fclose(file);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(count_lines(text, lines[i]), 1);
	assert_int_equal(count_lines(text, "port 0: "), 2);
	tripd_view_close(&view);
	free(text);
	tripd_bed_close(&bed);
}

/* 5 packets, what others do to their counter, 5 more: how often 8 has fired in the end. */
static void
settles(uint64_t expected, int (*change)(struct trip_cntr *cntr, uint64_t value), uint64_t value)
{
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\nwhen all.packets >= 8 log\n");
	tripd_bed_count(&bed, 5);
	tripd_quota_freshen(&bed.quota);
	assert_int_equal(change(bed.quota.counts[0].packets, value), 0);
	tripd_bed_progress(&bed);
	tripd_bed_count(&bed, 5);
	tripd_quota_freshen(&bed.quota);
	assert_int_equal(tripd_quota_settle(&bed.quota), -1);
	assert_int_equal(bed.quota.fired[0], expected);
	tripd_bed_close(&bed);
}

static void
what_others_set_back_is_not_due(void **state)
{
	settles(0, trip_cntr_set, 0);
}

static void
what_others_leave_alone_is_due(void **state)
{
	settles(1, trip_cntr_add, 0);
}

/* By what others add alone, which no flow has counted. */
static void
added_is_due(int (*add)(struct trip_cntr *cntr, uint64_t value))
{
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\nwhen all.bytes >= 8 log\n");
	tripd_quota_freshen(&bed.quota);
	assert_int_equal(add(bed.quota.counts[0].bytes, 10), 0);
	assert_int_equal(tripd_quota_settle(&bed.quota), -1);
	assert_int_equal(bed.quota.fired[0], 1);
	tripd_bed_close(&bed);
}

static void
what_others_add_is_due(void **state)
{
	added_is_due(trip_cntr_add);
	added_is_due(trip_cntr_adderr);
}

/* ---- quotas by period ---- */

static int64_t
utc(const char *text)
{
	struct tm tm = {0};

	assert_non_null(strptime(text, "%Y-%m-%d %H:%M:%S", &tm));
	return timegm(&tm);
}

/* When periods of CET end, told in UTC: by months, over the days on which its clocks move. */
static void
periods_end_by_the_calendar(void **state)
{
	static const struct {
		struct trip_rules_quota quota;
		const char *now, *end;
	} cases[] = {
		{{.per = TRIP_RULES_PERIOD_MINUTE}, "2026-03-01 12:00:00", "2026-03-01 12:01:00"},
		{{.per = TRIP_RULES_PERIOD_MINUTE}, "2026-03-01 12:00:59", "2026-03-01 12:01:00"},
		{{.per = TRIP_RULES_PERIOD_HOUR}, "2026-03-01 12:59:59", "2026-03-01 13:00:00"},
		/* The hour that comes twice is two. */
		{{.per = TRIP_RULES_PERIOD_HOUR}, "2026-10-25 00:30:00", "2026-10-25 01:00:00"},
		{{.per = TRIP_RULES_PERIOD_HOUR}, "2026-10-25 01:00:00", "2026-10-25 02:00:00"},
		{{.per = TRIP_RULES_PERIOD_DAY}, "2026-03-01 22:59:59", "2026-03-01 23:00:00"},
		{{.per = TRIP_RULES_PERIOD_DAY}, "2026-03-01 23:00:00", "2026-03-02 23:00:00"},
		/* Of 23 hours, and of 25. */
		{{.per = TRIP_RULES_PERIOD_DAY}, "2026-03-28 23:00:00", "2026-03-29 22:00:00"},
		{{.per = TRIP_RULES_PERIOD_DAY}, "2026-10-24 22:00:00", "2026-10-25 23:00:00"},
		{{.per = TRIP_RULES_PERIOD_DAY, .second = 4 * 3600}, "2026-03-01 02:59:59",
			"2026-03-01 03:00:00"},
		{{.per = TRIP_RULES_PERIOD_DAY, .second = 4 * 3600}, "2026-03-01 03:00:00",
			"2026-03-02 03:00:00"},
		{{.per = TRIP_RULES_PERIOD_MONTH, .day = 1}, "2026-01-31 22:59:59",
			"2026-01-31 23:00:00"},
		{{.per = TRIP_RULES_PERIOD_MONTH, .day = 1}, "2026-01-31 23:00:00",
			"2026-02-28 23:00:00"},
		{{.per = TRIP_RULES_PERIOD_MONTH, .day = 1}, "2026-12-31 23:00:00",
			"2027-01-31 23:00:00"},
		{{.per = TRIP_RULES_PERIOD_MONTH, .day = 15, .second = 15}, "2026-06-14 21:00:00",
			"2026-06-14 22:00:15"},
	};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++)
		assert_int_equal(trip_apply_period_end(&cases[i].quota, utc(cases[i].now)),
			utc(cases[i].end));
	assert_int_equal(trip_apply_period_end(&(struct trip_rules_quota){0}, 0), INT64_MAX);
}

/* In Ireland the time of winter is the one that is moved. */
static void
periods_end_where_winter_is_moved(void **state)
{
	static const struct trip_rules_quota quota = {
		.per = TRIP_RULES_PERIOD_DAY, .second = 3600 + 1800};
	static const char *const ends[][2] = {{"2026-10-24 12:00:00", "2026-10-25 00:30:00"},
		{"2026-10-25 00:30:00", "2026-10-26 01:30:00"},
		{"2026-03-28 12:00:00", "2026-03-29 01:30:00"},
		{"2026-03-29 01:30:00", "2026-03-30 00:30:00"}};

	setenv("TZ", "IST-1GMT0,M10.5.0,M3.5.0/1", 1);
	tzset();
	for (unsigned int i = 0; i < RTE_DIM(ends); i++)
		assert_int_equal(trip_apply_period_end(&quota, utc(ends[i][0])), utc(ends[i][1]));
	setenv("TZ", ZONE, 1);
	tzset();
}

/* A period ends behind each second of three years, and the one behind that behind it. */
static void
periods_follow_each_other(void **state)
{
	struct trip_random random = {trip_test_seed("periods")};

	for (unsigned int i = 0; i < 20000; i++) {
		const struct trip_rules_quota quota = {
			.per = (enum trip_rules_period)(1 + trip_random_below(&random, 4)),
			.day = 1 + (unsigned int)trip_random_below(&random, 28),
			.second = (unsigned int)trip_random_below(&random, 86400),
		};
		int64_t now = utc("2026-01-01 00:00:00") +
			      (int64_t)trip_random_below(&random, 3 * 365 * 86400);
		int64_t end = trip_apply_period_end(&quota, now);
		int64_t next = trip_apply_period_end(&quota, end);

		assert_true(end > now && next > end);
		/* All of a period ends at one moment. */
		assert_int_equal(trip_apply_period_end(&quota, end - 1), end);
		assert_int_equal(
			trip_apply_period_end(&quota,
				end + (int64_t)trip_random_below(&random, (uint32_t)(next - end))),
			next);
	}
}

/* The rate within which its packets pass, where no drop is above that. */
static uint64_t
police_of(const struct tripd_bed *bed, unsigned int count)
{
	struct trip_flow_count sum;

	assert_int_equal(trip_apply_count_query(&bed->quota.counts[count], &sum), 0);
	return sum.police_rate;
}

/* So many packets, of which all that is due by now fires. */
static void
send_some(struct tripd_bed *bed, uint16_t n)
{
	tripd_bed_count(bed, n);
	tripd_bed_progress(bed);
	tripd_quota_read(&bed->quota);
}

static void
set_time(struct tripd_bed *bed, int64_t now)
{
	/* What a home has not read of a queue yet is of the next period. */
	tripd_quota_freshen(&bed->quota);
	assert_int_equal(tripd_period_update(&bed->quota, now), 0);
	tripd_bed_progress(bed);
	tripd_quota_read(&bed->quota);
}

static void
pass_time(struct tripd_bed *bed, int64_t seconds)
{
	static int64_t now;

	now = seconds == 0 ? bed->quota.periods.all[0].began : now + seconds;
	set_time(bed, now);
}

static void
expect_period(const struct tripd_bed *bed, uint64_t n_ended, uint64_t spent)
{
	assert_int_equal(bed->quota.periods.all[0].n_ended, n_ended);
	assert_int_equal(bed->quota.periods.all[0].spent, spent);
}

/* What it dropped passes, and its work is armed again; however far the clock has jumped. */
static void
a_quota_begins_anew(void **state)
{
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\n"
		       "quota q 8 per minute of all.packets\n"
		       "when q spent drop all\nwhen q >= 50 % every 2 log\n");
	pass_time(&bed, 0);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
		send_some(&bed, 7);
		assert_int_equal(bed.quota.fired[0], 0);
		assert_int_equal(bed.quota.fired[1], 2);
		send_some(&bed, 1);
		assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
		send_some(&bed, (uint16_t)(1 + i));
		assert_int_equal(bed.quota.fired[0], 1);
		pass_time(&bed, i == 0 ? 60 : 7 * 86400);
		expect_period(&bed, i + 1, 9 + i);
	}
	/* One that was not spent: nothing of it is left. */
	send_some(&bed, 5);
	pass_time(&bed, 60);
	expect_period(&bed, 4, 5);
	send_some(&bed, 7);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	tripd_bed_close(&bed);
}

/* So much of the first quota, which no statement has its home hurry to read. */
static void
spend(struct tripd_bed *bed, uint16_t n)
{
	uint64_t spent = trip_cntr_read(bed->quota.counters[0]) + n;

	tripd_bed_count(bed, n);
	while (trip_cntr_read(bed->quota.counters[0]) < spent)
		tripd_quota_pause(&bed->quota);
}

/* Set back to the period before, it goes on until it would have ended; by more, until one ends by
 * the clock as it is then, and so do those that follow. */
static void
a_clock_is_set_back(void **state)
{
	const struct tripd_period *period;
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\n"
		       "quota q 8 per minute of all.packets\n");
	pass_time(&bed, 0);
	period = &bed.quota.periods.all[0];
	spend(&bed, 5);
	set_time(&bed, period->ends);
	expect_period(&bed, 1, 5);
	spend(&bed, 7);
	set_time(&bed, period->began - 60);
	set_time(&bed, period->ends - 1);
	expect_period(&bed, 1, 5);
	set_time(&bed, period->ends);
	expect_period(&bed, 2, 7);
	spend(&bed, 3);
	set_time(&bed, period->began - 86400 + 5);
	assert_int_equal(period->ends - period->began, 55);
	set_time(&bed, period->ends - 1);
	expect_period(&bed, 2, 7);
	set_time(&bed, period->ends);
	expect_period(&bed, 3, 3);
	assert_int_equal(period->ended - period->ended_began, 55);
	spend(&bed, 4);
	set_time(&bed, period->began + 60);
	expect_period(&bed, 4, 4);
	tripd_bed_close(&bed);
}

/* Counts with a rule of their own that has dropped them stay dropped. */
static void
a_quota_passes_what_it_dropped(void **state)
{
	struct tripd_bed bed;

	open_bed(&bed,
		"count all port 0 pattern eth / end\n"
		"quota q 2 per day of all.packets\nquota w 3 per hour of all.bytes\n"
		"when q spent drop all\nwhen all.packets >= 10 drop all\nwhen w spent reset w\n");
	pass_time(&bed, 0);
	send_some(&bed, 2);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	/* The other one begins anew without its time. */
	pass_time(&bed, 1);
	assert_int_equal(bed.quota.periods.all[1].n_ended, 1);
	assert_int_equal(trip_cntr_read(bed.quota.counters[1]), 0);
	/* With all that it was. */
	assert_int_equal(bed.quota.periods.all[1].spent, trip_cntr_read(bed.quota.counts[0].bytes));
	pass_time(&bed, 86400);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	send_some(&bed, 8);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	pass_time(&bed, 86400);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	expect_period(&bed, 2, 8);
	tripd_bed_close(&bed);
}

/* Likewise what it policed. */
static void
a_quota_passes_what_it_policed(void **state)
{
	json_t *report, *count;
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\n"
		       "quota q 2 per day of all.packets\n"
		       "when q spent police all 8bit/s\n");
	pass_time(&bed, 0);
	send_some(&bed, 2);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_POLICE);
	send_some(&bed, 5);
	bed.quota.keep = KEPT;
	report = report_of(&bed.quota, 0);
	count = json_array_get(json_object_get(report, "counters"), 0);
	assert_int_equal(json_integer_value(json_object_get(count, "packets")), 7);
	/* The first is larger than the bucket, which is full. */
	assert_int_equal(json_integer_value(json_object_get(count, "policed_packets")), 4);
	json_decref(report);
	pass_time(&bed, 86400);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	tripd_bed_close(&bed);
}

/* What another statement polices is within its rate again, period by period; a wider police that
 * began before that of a quota is in force behind it. */
static void
a_quota_gives_way_to_a_police(void **state)
{
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\n"
		       "quota q 4 per day of all.packets\n"
		       "when all.packets >= 1 police all 800bit/s\n"
		       "when q >= 50 % police all 8bit/s\n"
		       "when q spent drop all\n");
	pass_time(&bed, 0);
	send_some(&bed, 1);
	assert_int_equal(police_of(&bed, 0), 800);
	for (unsigned int day = 0; day < 2; day++) {
		send_some(&bed, 2);
		assert_int_equal(police_of(&bed, 0), 8);
		assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_POLICE);
		pass_time(&bed, 86400);
		assert_int_equal(police_of(&bed, 0), 800);
		send_some(&bed, 4);
		assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
		pass_time(&bed, 86400);
		assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_POLICE);
		assert_int_equal(police_of(&bed, 0), 800);
	}
	tripd_bed_close(&bed);
}

/* The drop of another statement was for a time, which is over. */
static void
what_has_ended_holds_nothing(void **state)
{
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\n"
		       "quota q 8 per day of all.packets\n"
		       "when all.packets >= 4 drop all for 1ms\nwhen q spent drop all\n");
	pass_time(&bed, 0);
	send_some(&bed, 5);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	while (tripd_bed_fate(&bed, 0) == TRIP_FLOW_FATE_DROP)
		tripd_bed_progress(&bed);
	send_some(&bed, 3);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	pass_time(&bed, 86400);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	tripd_bed_close(&bed);
}

/* Nor longer than that: what it held when the period began passes then. */
static void
what_was_held_passes_later(void **state)
{
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\n"
		       "quota q 8 per day of all.packets\n"
		       "when all.packets >= 8 drop all for 500ms\nwhen q spent drop all\n");
	pass_time(&bed, 0);
	send_some(&bed, 8);
	pass_time(&bed, 86400);
	while (!bed.quota.items[0].ended) {
		tripd_bed_progress(&bed);
		tripd_quota_read(&bed.quota);
	}
	pass_time(&bed, 1);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	/* It drops again by the counts of its own period alone. */
	send_some(&bed, 7);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	send_some(&bed, 1);
	pass_time(&bed, 1);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	tripd_bed_close(&bed);
}

/* The operator's own word, by a command. */
static void
give(struct tripd_bed *bed, const char *text, int expected)
{
	char *answer = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&answer, &size);
	int status = tripd_command(text, strlen(text), file, &bed->commands);

	fclose(file);
	if (status != expected)
		fail_msg("%s: %d: %s", text, status, answer);
	free(answer);
}

/* A new period passes what quotas have dropped, not what was dropped by hand; and what has passed
 * by hand is held by nothing. */
static void
what_is_done_by_hand_stays(void **state)
{
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\n		       "
		       "quota q 2 per day of all.packets\n		       "
		       "when q spent drop all\nwhen all.packets >= 3 drop all\n");
	pass_time(&bed, 0);
	send_some(&bed, 2);
	give(&bed, "do drop all", 0);
	pass_time(&bed, 86400);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	send_some(&bed, 2);
	give(&bed, "do pass all", 0);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	/* By the second period's quota; not by the statement, whose drop has passed. */
	pass_time(&bed, 86400);
	send_some(&bed, 2);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_DROP);
	pass_time(&bed, 86400);
	assert_int_equal(tripd_bed_fate(&bed, 0), TRIP_FLOW_FATE_PASS);
	tripd_bed_close(&bed);
}

/* The packets of the next call's firing; and then no more. */
static void
count_between(void *arg, const struct tripd_trip *trip)
{
	struct tripd_bed *bed = arg;

	bed->quota.told = NULL;
	tripd_bed_count(bed, 6);
	tripd_quota_freshen(&bed->quota);
}

/* What is counted while the period ends, after its work was taken back, fires what it has crossed:
 * as that period's. */
static void
what_is_crossed_at_the_end_fires(void **state)
{
	const struct tripd_trip *trips;
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\ncounter n\n"
		       "quota q 8 per minute of all.packets\n"
		       "when q >= 3 log\nwhen q spent add n 1\nwhen q >= 2 every 3 log\n");
	pass_time(&bed, 0);
	tripd_bed_count(&bed, 3);
	tripd_bed_progress(&bed);
	/* It is read when the period ends. */
	bed.quota.told = count_between;
	bed.quota.told_arg = &bed;
	assert_int_equal(tripd_period_update(&bed.quota, bed.quota.periods.all[0].ends), 0);
	expect_period(&bed, 1, 9);
	assert_int_equal(trip_cntr_read(bed.quota.counters[0]), 1);
	trips = bed.quota.trips;
	assert_int_equal(bed.quota.n_trips, 5);
	for (unsigned int i = 0; i < 5; i++) {
		static const struct {
			unsigned int when;
			uint64_t threshold, value;
		} expected[] = {{2, 2, 3}, {0, 3, 3}, {2, 5, 9}, {1, 8, 9}, {2, 8, 9}};

		assert_int_equal(trips[i].when, expected[i].when);
		assert_int_equal(trips[i].threshold, expected[i].threshold);
		assert_int_equal(trips[i].value, expected[i].value);
	}
	/* And not once more. */
	send_some(&bed, 1);
	assert_int_equal(bed.quota.n_trips, 5);
	tripd_bed_close(&bed);
}

static void
add_spent(void *arg, const struct tripd_period *period)
{
	*(uint64_t *)arg += period->spent;
}

/* What periods came to, while packets come, is what came: to the packet. */
static void
no_packet_is_lost_between_periods(void **state)
{
	struct tripd_bed_sender sender;
	uint64_t spent = 0, before = 0;
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\n"
		       "quota q 10 per minute of all.packets\n"
		       "when q spent drop all\nwhen q >= 1 every 5 log\n");
	bed.quota.period_told = add_spent;
	bed.quota.told_arg = &spent;
	pass_time(&bed, 0);
	tripd_bed_send(&sender, &bed);
	for (unsigned int i = 0; i < 200; i++) {
		/* Something of it is of this period. */
		while (trip_cntr_read(bed.quota.counts[0].packets) == before)
			pass_time(&bed, 1);
		before = trip_cntr_read(bed.quota.counts[0].packets);
		pass_time(&bed, 60);
		tripd_quota_forget(&bed.quota);
	}
	(void)tripd_bed_stop(&sender);
	tripd_quota_freshen(&bed.quota);
	assert_true(spent > 0);
	assert_int_equal(trip_cntr_read(bed.quota.counts[0].packets), sender.sent);
	assert_int_equal(spent + trip_cntr_read(bed.quota.counters[0]), sender.sent);
	tripd_bed_close(&bed);
}

/* Of periods that nobody has said yet so many are kept; for how many there was no room is known. */
static void
lines_of_periods_are_bounded(void **state)
{
	const struct tripd_periods *periods;
	struct tripd_bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\nquota q 9 per day of all.packets\n");
	periods = &bed.quota.periods;
	for (size_t i = 0; i < TRIPD_PERIOD_LINES_MAX + 3; i++) {
		assert_int_equal(tripd_period_is_full(&bed.quota), i >= TRIPD_PERIOD_LINES_MAX / 2);
		tripd_period_put(&bed.quota, &periods->all[0]);
	}
	assert_int_equal(periods->n_lines, TRIPD_PERIOD_LINES_MAX);
	assert_int_equal(periods->n_unsaid, 3);
	tripd_period_forget(&bed.quota);
	assert_false(tripd_period_is_full(&bed.quota));
	tripd_period_put(&bed.quota, &periods->all[0]);
	assert_int_equal(periods->n_lines, 1);
	assert_int_equal(periods->lines[0].limit, 9);
	assert_int_equal(periods->n_unsaid, 3);
	tripd_bed_close(&bed);
}

static void
quotas_are_reported(void **state)
{
	struct tripd_bed bed;
	json_t *report, *quota;

	open_bed(&bed, "count all port 0 pattern eth / end\nquota q 9 per day of all.packets\n"
		       "counter c\n");
	send_some(&bed, 4);
	report = report_of(&bed.quota, 0);
	assert_int_equal(json_array_size(json_object_get(report, "counters")), 2);
	quota = json_array_get(json_object_get(report, "quotas"), 0);
	assert_string_equal(json_string_value(json_object_get(quota, "name")), "q");
	assert_string_equal(json_string_value(json_object_get(quota, "of")), "packets");
	assert_int_equal(json_integer_value(json_object_get(quota, "limit")), 9);
	assert_int_equal(json_integer_value(json_object_get(quota, "spent")), 4);
	assert_int_equal(json_integer_value(json_object_get(quota, "ended")), 0);
	assert_true(json_integer_value(json_object_get(quota, "ends")) >
		    json_integer_value(json_object_get(quota, "began")));
	json_decref(report);
	tripd_bed_close(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trips_beyond_the_report_are_said),
		cmocka_unit_test(trips_without_a_report_are_said),
		cmocka_unit_test(lines_are_left_out),
		cmocka_unit_test(losses_are_said_when_they_happen),
		cmocka_unit_test(what_others_set_back_is_not_due),
		cmocka_unit_test(what_others_leave_alone_is_due),
		cmocka_unit_test(what_others_add_is_due),
		cmocka_unit_test(periods_end_by_the_calendar),
		cmocka_unit_test(periods_end_where_winter_is_moved),
		cmocka_unit_test(periods_follow_each_other),
		cmocka_unit_test(a_quota_begins_anew),
		cmocka_unit_test(a_clock_is_set_back),
		cmocka_unit_test(a_quota_passes_what_it_dropped),
		cmocka_unit_test(a_quota_passes_what_it_policed),
		cmocka_unit_test(a_quota_gives_way_to_a_police),
		cmocka_unit_test(what_has_ended_holds_nothing),
		cmocka_unit_test(what_was_held_passes_later),
		cmocka_unit_test(what_is_done_by_hand_stays),
		cmocka_unit_test(what_is_crossed_at_the_end_fires),
		cmocka_unit_test(no_packet_is_lost_between_periods),
		cmocka_unit_test(lines_of_periods_are_bounded),
		cmocka_unit_test(quotas_are_reported),
	};

	int ret;

	setenv("TZ", ZONE, 1);
	tzset();
	ret = tripd_bed_init();
	return ret != 0 ? ret : cmocka_run_group_tests(tests, NULL, NULL);
}
