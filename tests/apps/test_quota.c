/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules at work, without a forwarder: what is said of trips, kept, and due in the end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <jansson.h>

#include "apply/limit.h"
#include "link/link.h"
#include "link/port.h"
#include "run/quota.h"
#include "run/report.h"
#include "rules.h"
#include "trip_eal.h"
#include "trip_test.h"
#include "run/view.h"

#define KEPT 4
#define TRIPS 10

struct bed {
	struct trip_rules *rules;
	struct tripd_plan plan;
	struct tripd_link links[TRIPD_PORTS_MAX];
	struct trip_domain *domain;
	struct tripd_quota quota;
};

static struct rte_mempool *pool;

static void
open_bed(struct bed *bed, const char *text)
{
	const struct tripd_options options = {.live = {1, 1, 16, 1}};
	struct trip_rules_errors *errors;
	struct trip_domain_attr attr;

	memset(bed, 0, sizeof(*bed));
	assert_int_equal(
		trip_rules_parse_text("test", text, strlen(text), &bed->rules, &errors), 0);
	assert_int_equal(tripd_plan_ports(&bed->plan, &options, bed->rules), 0);
	assert_int_equal(tripd_plan_lcores(&bed->plan, (unsigned int[]){1}, 1), 0);
	tripd_plan_domain(bed->rules, &bed->plan, &attr);
	attr.socket = "";
	assert_int_equal(trip_domain_open(&attr, &bed->domain, NULL), 0);
	assert_int_equal(
		tripd_port_configure(&bed->plan, bed->links, false, attr.max_flows, pool), 0);
	assert_int_equal(tripd_port_start(&bed->plan, bed->links), 0);
	assert_int_equal(
		tripd_quota_open(&bed->quota, bed->domain, bed->rules, &bed->plan, bed->links), 0);
}

static void
close_bed(struct bed *bed)
{
	tripd_quota_close(&bed->quota);
	assert_int_equal(trip_domain_close(bed->domain), 0);
	rte_eth_dev_stop(0);
	trip_rules_free(bed->rules);
}

static void
progress(const struct bed *bed)
{
	while (trip_progress(bed->domain) > 0)
		;
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
say_trips(struct bed *bed, size_t keep)
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
		progress(bed);
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
	struct bed bed;
	json_t *report;

	say_trips(&bed, KEPT);
	report = report_of(&bed.quota, -ENOSPC);
	assert_int_equal(json_array_size(json_object_get(report, "trips")), KEPT);
	assert_int_equal(
		json_integer_value(json_object_get(report, "trips_omitted")), TRIPS - KEPT);
	json_decref(report);
	close_bed(&bed);
}

static void
trips_without_a_report_are_said(void **state)
{
	struct bed bed;

	say_trips(&bed, 0);
	assert_int_equal(bed.quota.n_trips, 0);
	close_bed(&bed);
}

/* Each time of a limit begins with a line; what is left out is told once it is over. */
static void
lines_are_left_out(void **state)
{
	const struct trip_rules_when two = {.most = 2, .per = 100}, any = {.most = 0};
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
	limit = (struct trip_apply_limit){0};
	for (unsigned int i = 0; i < 1000; i++)
		assert_true(trip_apply_limit_take(&limit, &any, 0));
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
	struct bed bed;

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
	close_bed(&bed);
}

static void
count_packets(struct bed *bed, uint16_t n)
{
	struct rte_mbuf *pkts[TRIPS];

	assert_true(n <= TRIPS);
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, pkts, n), 0);
	for (uint16_t i = 0; i < n; i++)
		memset(rte_pktmbuf_append(pkts[i], 60), 0, 60);
	n = trip_port_burst(bed->quota.ports[0], 0, pkts, n);
	rte_pktmbuf_free_bulk(pkts, n);
}

/* 5 packets, what others do to their counter, 5 more: how often 8 has fired in the end. */
static void
settles(uint64_t expected, int (*change)(struct trip_cntr *cntr, uint64_t value), uint64_t value)
{
	struct bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\nwhen all.packets >= 8 log\n");
	count_packets(&bed, 5);
	tripd_quota_freshen(&bed.quota);
	assert_int_equal(change(bed.quota.counts[0].packets, value), 0);
	progress(&bed);
	count_packets(&bed, 5);
	tripd_quota_freshen(&bed.quota);
	assert_int_equal(tripd_quota_settle(&bed.quota), -1);
	assert_int_equal(bed.quota.fired[0], expected);
	close_bed(&bed);
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
	struct bed bed;

	open_bed(&bed, "count all port 0 pattern eth / end\nwhen all.bytes >= 8 log\n");
	tripd_quota_freshen(&bed.quota);
	assert_int_equal(add(bed.quota.counts[0].bytes, 10), 0);
	assert_int_equal(tripd_quota_settle(&bed.quota), -1);
	assert_int_equal(bed.quota.fired[0], 1);
	close_bed(&bed);
}

static void
what_others_add_is_due(void **state)
{
	added_is_due(trip_cntr_add);
	added_is_due(trip_cntr_adderr);
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
	};

	if (trip_eal_init("net_null0") < 0)
		return TRIP_TEST_SKIP;
	pool = rte_pktmbuf_pool_create(
		"test", 4095, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
