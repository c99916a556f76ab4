/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which tests show nothing, or something else, where the calls are made in secondary processes.
 * claims.sh tells what that leaves of each id.
 */
#include <string.h>

#include <rte_common.h>

#include "layout.h"

static const char function[] = "it calls a function, which only the primary has";
static const char ports[] = "it opens ports, or sends by them, which only the primary does";
static const char by_hand[] =
	"it is about calls that progress the homes by hand, as the primary's do";
static const char step[] = "it stops the caller between two instructions, who talks to nobody then";

static const struct {
	const char *test;
	/* The first of the layouts in which it does not run; nor does it in those behind. */
	enum layout from;
	const char *why;
} tests[] = {
	{"cntr_03_a_failure_changes_the_error_only", LAYOUT_SECONDARY, function},
	{"cntr_11_calls_that_progress_refuse_close", LAYOUT_SECONDARY, by_hand},
	{"cntr_11_others_that_found_it_hold_it_open", LAYOUT_SPLIT,
		"every counter has been found by another there"},
	{"cntr_12_a_home_does_not_wait_for_itself", LAYOUT_SECONDARY, function},
	{"cntr_14_an_error_is_there_before_its_generation", LAYOUT_SPLIT, step},
	{"cntr_18_adders_are_stopped_at_the_maximum", LAYOUT_SPLIT, step},
	{"cntr_18_callers_are_stopped", LAYOUT_SPLIT, step},
	{"cntr_18_the_home_is_held", LAYOUT_SECONDARY, function},
	{"cntr_18_the_home_is_stopped", LAYOUT_SECONDARY, by_hand},
	{"cntr_21_an_error_is_one", LAYOUT_SECONDARY, function},
	{"cond_01_each_home_has_one", LAYOUT_SECONDARY, function},
	{"cond_02_a_function_does_not_feed_it", LAYOUT_SECONDARY, function},
	{"cond_02_who_may_feed_it", LAYOUT_SECONDARY, by_hand},
	{"each_memory_comes_back", LAYOUT_SECONDARY, ports},
	{"each_says_what_is_wrong", LAYOUT_SECONDARY, ports},
	{"flow_egress_in_callbacks", LAYOUT_SECONDARY, ports},
	{"flow_egress_is_asked_for", LAYOUT_SECONDARY, ports},
	{"pnt_05_as_many_points_as_there_may_be", LAYOUT_SPLIT,
		"each point is a request, and the same one by a single secondary"},
	{"pnt_08_a_function_reads", LAYOUT_SECONDARY, function},
	{"poll_02_polls_refuse_close", LAYOUT_SECONDARY, by_hand},
	{"poll_04_progress_by_hand_only", LAYOUT_SECONDARY, function},
	{"wait_02_calls_that_progress_refuse_close", LAYOUT_SECONDARY, by_hand},
	{"wait_08_no_late_signal", LAYOUT_SECONDARY, by_hand},
	{"wait_10_a_million_adds", LAYOUT_SPLIT, "the thread that updates is another process's"},
	{"wait_10_firing_makes_no_system_call", LAYOUT_SPLIT,
		"the thread that updates is another process's"},
	{"wait_10_updates_make_no_system_call", LAYOUT_SPLIT,
		"the thread that updates is another process's"},
	{"wait_11_one_thread_at_a_time", LAYOUT_SECONDARY, by_hand},
	{"wait_11_sets_progress_by_themselves", LAYOUT_SECONDARY, by_hand},
	{"wait_11_waits_progress_by_themselves", LAYOUT_SECONDARY, by_hand},
	{"port_limits_are_checked", LAYOUT_SECONDARY, ports},
	{"prof_06_nobody_waits_for_an_lcore_that_is_stopped", LAYOUT_SECONDARY, function},
	{"work_12_functions_may_open_objects", LAYOUT_SECONDARY, function},
	{"work_04_no_overtaking_of_what_is_ready", LAYOUT_SECONDARY, function},
	{"work_05_completions_are_counted", LAYOUT_SECONDARY, function},
	{"work_09_flush_from_a_function_does_not_wait", LAYOUT_SECONDARY, function},
	{"work_09_flush_waits_for_what_has_started", LAYOUT_SECONDARY, function},
	{"work_11_homes_have_channels_of_their_own", LAYOUT_SECONDARY, function},
	{"work_11_functions_of_another_domain_are_refused", LAYOUT_SECONDARY, function},
	{"work_13_queued_after_lowering_waits", LAYOUT_SECONDARY, function},
	{"work_14_cancel_from_its_function", LAYOUT_SECONDARY, function},
	{"work_15_events_tell_the_result", LAYOUT_SECONDARY, function},
};

const char *
elsewhere_why(const char *test, enum layout layout)
{
	for (unsigned int i = 0; i < RTE_DIM(tests); i++)
		if (strcmp(tests[i].test, test) == 0)
			return layout >= tests[i].from ? tests[i].why : NULL;
	return NULL;
}
