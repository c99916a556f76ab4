/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules at work, without a forwarder: what is said of trips, kept, and due in the end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <jansson.h>

#include "link.h"
#include "port.h"
#include "quota.h"
#include "report.h"
#include "rules.h"
#include "trip_eal.h"
#include "trip_test.h"
#include "view.h"

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
	tripd_quota_attr(bed->rules, &bed->plan, &attr);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trips_beyond_the_report_are_said),
		cmocka_unit_test(trips_without_a_report_are_said),
	};

	if (trip_eal_init("net_null0") < 0)
		return TRIP_TEST_SKIP;
	pool = rte_pktmbuf_pool_create(
		"test", 4095, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
