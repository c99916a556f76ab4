/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a port's notification, which runs on the port's worker, may call. Each call of the library
 * is either tried in one, at a time when whatever it might wait for needs the worker, or is named
 * as one that needs not be.
 */
#include <stdio.h>
#include <string.h>

#include "notice_calls.h"

static const struct trip_domain_attr tune = {.max_policed = 1,
	.max_functions = NOTICE_FUNCTIONS,
	.max_cntrs = NOTICE_CNTRS,
	.each_bytes = 1 << 20,
	.max_process_threads = 1};

/* Nothing in them waits for a worker, or for who may be waiting for one; with a _ at its end all
 * that begin so. */
static const char *const others[] = {
	"trip_client_",
	"trip_clock_advance",
	"trip_clock_cntr",
	"trip_cntr_add",
	"trip_cntr_add_reached",
	"trip_cntr_add_slowly",
	"trip_cntr_adderr",
	"trip_cntr_age",
	"trip_cntr_arm",
	"trip_cntr_context",
	"trip_cntr_control",
	"trip_cntr_errgen",
	"trip_cntr_fid",
	"trip_cntr_find",
	"trip_cntr_name",
	"trip_cntr_read",
	"trip_cntr_readerr",
	"trip_cntr_reset",
	"trip_cntr_set",
	"trip_cntr_seterr",
	"trip_cntr_wait_from",
	"trip_command_",
	"trip_condition_describe",
	"trip_domain_attach",
	"trip_domain_check",
	"trip_domain_context",
	"trip_domain_fid",
	"trip_domain_footprint",
	"trip_domain_open",
	"trip_domain_stats_read",
	"trip_each_events",
	"trip_each_fid",
	"trip_each_footprint",
	"trip_each_key",
	"trip_each_parse",
	"trip_each_project",
	"trip_each_query",
	"trip_each_read",
	"trip_each_text",
	"trip_each_top",
	"trip_each_trips",
	"trip_each_walk",
	"trip_error_message",
	"trip_flow_item_",
	"trip_flow_reason",
	"trip_flow_validate",
	"trip_lcore_fid",
	"trip_metrics_",
	"trip_op_describe",
	"trip_poll",
	"trip_poll_add",
	"trip_poll_close",
	"trip_poll_del",
	"trip_poll_open",
	"trip_port_burst",
	"trip_port_burst_tx",
	"trip_port_claim",
	"trip_port_facts",
	"trip_port_fid",
	"trip_port_find",
	"trip_port_prepare",
	"trip_port_queue_fid",
	"trip_port_release",
	"trip_profile_",
	"trip_progress",
	"trip_strerror",
	"trip_trywait",
	"trip_version",
	"trip_wait",
	"trip_wait_close",
	"trip_wait_control",
	"trip_wait_fid",
	"trip_wait_open",
};

/* --- the test --- */

static int results[64];

/* On the worker. */
static void
run_calls(enum trip_port_event event)
{
	if (event != TRIP_PORT_STOPPED)
		return;
	atomic_store(&notice_bed.waits, true);
	while (!atomic_load(&notice_bed.goes))
		;
	for (unsigned int i = 0; i < n_notice_calls; i++)
		results[i] = notice_calls[i].call();
	atomic_store(&notice_bed.is_over, true);
}

/* In a handler, of itself. */
static int
unregister(const struct trip_work_event *event, void *arg)
{
	int error = trip_function_unregister(notice_bed.functions[notice_bed.n_functions - 1]);

	atomic_store(&notice_bed.has_gone, true);
	return error;
}

/* All that there may be, or will not be had for a while. */
static void
open_bed(void)
{
	const struct trip_set_attr set = {.size = sizeof(set), .name = "set"};
	const struct trip_cntr_attr attr = {.size = sizeof(attr), .wait_obj = TRIP_WAIT_YIELD};

	memset(&notice_bed, 0, sizeof(notice_bed));
	hard_open_homes(1, &hard_direct, &tune);
	notice_bed.hard = hard_create(1000, true);
	notice_bed.soft = hard_create_soft(1001);
	notice_bed.policed = hard_create_soft(1002);
	assert_int_equal(notice_police(notice_bed.policed), 0);
	assert_int_equal(trip_counters_create(harness_domain, NULL, &notice_bed.counters), 0);
	assert_int_equal(trip_set_open(harness_domain, &set, &notice_bed.set), 0);
	assert_int_equal(notice_open_each("each", &notice_bed.each), 0);
	while (trip_function_register(harness_domain,
		       notice_bed.n_functions == 0 ? notice_function : unregister, NULL,
		       &notice_bed.functions[notice_bed.n_functions]) == 0)
		notice_bed.n_functions++;
	while (trip_cntr_open(harness_domain, &attr, &notice_bed.cntrs[notice_bed.n_cntrs], NULL) ==
		0)
		notice_bed.n_cntrs++;
	assert_true(notice_bed.n_functions >= 2 && notice_bed.n_cntrs >= 3);
	harness_settle();
}

/* While the worker is in its notification: nothing of it can be had before that is over. */
static void
leave_nothing(void)
{
	struct trip_work work = harness_work(hard_bed.packets, 0, TRIP_OP_CALL);

	hard_queue_op(notice_bed.hard, 0, TRIP_OP_FLOW_DROP);
	work.op.call.function = notice_bed.functions[notice_bed.n_functions - 1];
	harness_queue(&work);
	harness_until(atomic_load(&notice_bed.has_gone));
	hard_destroy(notice_bed.policed);
	harness_cntr_close(notice_bed.cntrs[--notice_bed.n_cntrs]);
}

static void
close_bed(void)
{
	hard_destroy(notice_bed.hard);
	hard_destroy(notice_bed.soft);
	assert_int_equal(trip_counters_destroy(notice_bed.counters), 0);
	assert_int_equal(trip_set_close(notice_bed.set), 0);
	assert_int_equal(trip_each_close(notice_bed.each), 0);
	for (unsigned int i = 1; i < notice_bed.n_functions - 1; i++)
		assert_int_equal(trip_function_unregister(notice_bed.functions[i]), 0);
	while (notice_bed.n_cntrs > 0)
		harness_cntr_close(notice_bed.cntrs[--notice_bed.n_cntrs]);
	hard_close();
}

static void
hard_notifications_do_not_wait_for_their_worker(void **state)
{
	assert_true(n_notice_calls <= RTE_DIM(results));
	open_bed();
	atomic_store(&hard_bed.on_event, run_calls);
	fake_nic_event(RTE_ETH_EVENT_INTR_RESET);
	harness_until(atomic_load(&notice_bed.waits));
	leave_nothing();
	atomic_store(&notice_bed.goes, true);
	harness_until(atomic_load(&notice_bed.is_over));
	for (unsigned int i = 0; i < n_notice_calls; i++)
		if (results[i] != notice_calls[i].result)
			fail_msg("%s() is %d, not %d", notice_calls[i].name, results[i],
				notice_calls[i].result);
	fake_nic_flush();
	assert_int_equal(trip_port_started(hard_bed.port), 0);
	/* Who may wait, does. */
	assert_int_equal(notice_police(notice_bed.soft), 0);
	harness_settle();
	close_bed();
}

static bool
is_known(const char *name)
{
	for (unsigned int i = 0; i < n_notice_calls; i++)
		if (strcmp(notice_calls[i].name, name) == 0)
			return true;
	for (unsigned int i = 0; i < RTE_DIM(others); i++) {
		size_t length = strlen(others[i]);
		bool family = others[i][length - 1] == '_';

		if (strncmp(others[i], name, family ? length : length + 1) == 0)
			return true;
	}
	return false;
}

/* None is new that nobody has thought of. */
static void
hard_each_call_is_tried_in_a_notification(void **state)
{
	FILE *map = fopen(TRIP_MAP, "r");
	char line[128], name[64];
	unsigned int n = 0;

	assert_non_null(map);
	while (fgets(line, sizeof(line), map) != NULL) {
		if (sscanf(line, " %63[a-z_]", name) != 1 || strncmp(name, "trip_", 5) != 0)
			continue;
		n++;
		if (!is_known(name))
			fail_msg("%s() is not tried in a port's notification", name);
	}
	fclose(map);
	assert_true(n > n_notice_calls);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(hard_notifications_do_not_wait_for_their_worker),
	cmocka_unit_test(hard_each_call_is_tried_in_a_notification),
};

HARNESS_MAIN(TRAFFIC_VDEV, tests)
