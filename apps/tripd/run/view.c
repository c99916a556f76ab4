/* SPDX-License-Identifier: BSD-3-Clause */
/* What a person sees of a run: trips as they happen, counts and rates in place. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <trip.h>

#include "apply/limit.h"
#include "apply/text.h"
#include "now.h"
#include "period.h"
#include "quota.h"
#include "rules.h"
#include "start/describe.h"
#include "view.h"

#define REDRAW_NS UINT64_C(200000000)
#define SECOND_NS UINT64_C(1000000000)
#define CAUSE_MAX 256

/* Room for `n` of `size` where there was some for `had`, which are kept; the others are 0. */
static bool
grow(void *array, unsigned int *had, unsigned int n, size_t size)
{
	char **rows = array, *more = *rows;

	if (*rows == NULL || n > *had)
		more = reallocarray(*rows, n + 1u, size);
	if (more == NULL)
		return false;
	*rows = more;
	if (n > *had)
		memset(more + *had * size, 0, (n - *had) * size);
	*had = RTE_MAX(*had, n);
	return true;
}

/* Has room for all rules, of which there may be more. */
static int
follow(struct tripd_view *view)
{
	const struct trip_rules *rules = view->quota->rules;
	bool is_done =
		grow(&view->counts, &view->n_counts, rules->n_counts, sizeof(*view->counts)) &&
		grow(&view->eaches, &view->n_eaches, rules->n_eaches, sizeof(*view->eaches)) &&
		grow(&view->limits, &view->n_whens, rules->n_whens, sizeof(*view->limits));

	return is_done ? 0 : -ENOMEM;
}

int
tripd_view_open(struct tripd_view *view, const struct tripd_quota *quota, FILE *out)
{
	memset(view, 0, sizeof(*view));
	tripd_screen_init(&view->screen, out);
	view->quota = quota;
	return follow(view);
}

void
tripd_view_close(struct tripd_view *view)
{
	free(view->counts);
	free(view->eaches);
	free(view->limits);
	memset(view, 0, sizeof(*view));
}

/* What has tripped, and where. */
static void
describe_cause(const struct tripd_quota *quota, const struct tripd_trip *trip, char text[CAUSE_MAX])
{
	const struct trip_rules_when *when = &quota->rules->whens[trip->when];
	bool is_time = when->ref == TRIP_RULES_REF_CLOCK;
	char trigger[TRIP_APPLY_TEXT_MAX], threshold[16], over[16], latency[16], reached[96];

	/* One of several counters says so itself. */
	if (trip_rules_is_of_several(when)) {
		snprintf(text, CAUSE_MAX, "%-53s", when->condition_text);
		return;
	}
	trip_apply_text_trigger(quota->rules, when, trigger);
	(is_time ? tripd_describe_time : tripd_describe_number)(trip->threshold, threshold);
	(is_time ? tripd_describe_time : tripd_describe_number)(
		trip->value - trip->threshold, over);
	tripd_describe_time(trip->latency_ns, latency);
	/* A condition holds at a value, which is not above it, nor later than that. */
	if (when->condition_text != NULL)
		snprintf(reached, sizeof(reached), "%s at %s", when->condition_text, threshold);
	else
		snprintf(reached, sizeof(reached), ">= %-11s +%-8s %9s", threshold, over, latency);
	snprintf(text, CAUSE_MAX, "%-18s %-34s", trigger, reached);
}

void
tripd_view_trip(struct tripd_screen *screen, const struct tripd_quota *quota, size_t trip)
{
	const struct tripd_trip *at = &quota->trips[trip];
	const struct trip_rules_when *when = &quota->rules->whens[at->when];
	char cause[CAUSE_MAX], action[TRIP_APPLY_TEXT_MAX];
	char date[TRIPD_DESCRIBE_DATE] = "", number[16], times[32] = "";

	describe_cause(quota, at, cause);
	trip_apply_text_action(quota->rules, when, action);
	if (quota->plan->by_packets)
		tripd_describe_date(at->packet_ns, date);
	if (at->count > 1) {
		tripd_describe_number(at->count, number);
		snprintf(times, sizeof(times), ", %s times", number);
	}
	tripd_screen_say(screen, "%s%s%s  %s%s%s%s%s%s%s%s%s", date, date[0] != 0 ? "  " : "",
		cause,
		tripd_screen_colour(screen, at->result != 0                  ? TRIPD_RED
					    : when->op == TRIP_RULES_OP_DROP ? TRIPD_YELLOW
									     : TRIPD_PLAIN),
		at->ends ? "end of " : "", action, at->key != NULL ? ": " : "",
		at->key != NULL ? at->key : "", times, at->result != 0 ? ": " : "",
		at->result != 0 ? trip_strerror(at->result) : "",
		tripd_screen_colour(screen, TRIPD_PLAIN));
}

static const char *
fate_name(enum trip_flow_fate fate)
{
	return fate == TRIP_FLOW_FATE_PASS     ? "pass"
	       : fate == TRIP_FLOW_FATE_DROP   ? "drop"
	       : fate == TRIP_FLOW_FATE_POLICE ? "police"
					       : "deleted";
}

static void
draw_count(struct tripd_view *view, unsigned int i, bool rates)
{
	const struct tripd_quota *quota = view->quota;
	struct tripd_screen *screen = &view->screen;
	const char *name = quota->rules->counts[i].name, *fate, *colour;
	char packets[16], bytes[16];
	struct trip_flow_count count = {.size = sizeof(count)};

	(void)trip_apply_count_query(&quota->counts[i], &count);
	fate = fate_name(count.fate);
	colour = tripd_screen_colour(
		screen, count.fate == TRIP_FLOW_FATE_PASS ? TRIPD_GREEN
			: count.fate == TRIP_FLOW_FATE_DROP || count.fate == TRIP_FLOW_FATE_POLICE
				? TRIPD_YELLOW
				: TRIPD_DIM);
	if (rates) {
		tripd_view_count_row(screen, name, &view->counts[i], colour, fate);
		return;
	}
	tripd_describe_number(count.packets, packets);
	tripd_describe_number(count.bytes, bytes);
	tripd_screen_say(screen, "%-32s %12s %14s  %s%s%s", name, packets, bytes, colour, fate,
		tripd_screen_colour(screen, TRIPD_PLAIN));
}

/* A quota of bytes is among bytes, where there is room for them. */
static void
draw_counter(struct tripd_view *view, unsigned int i, bool rates)
{
	const struct trip_rules_counter *counter = &view->quota->rules->counters[i];
	bool of_bytes = counter->quota != NULL &&
			counter->quota->events == TRIP_CNTR_EVENTS_BYTES &&
			(!rates || view->screen.width >= TRIPD_VIEW_BYTES_WIDTH);
	const char *cells[TRIPD_VIEW_COLUMNS] = {"", "", "", "", ""};
	char value[16];

	tripd_describe_number(trip_cntr_read(view->quota->counters[i]), value);
	cells[of_bytes ? TRIPD_VIEW_BYTES : TRIPD_VIEW_PACKETS] = value;
	if (rates)
		tripd_view_row(&view->screen, "", counter->name, "", cells);
	else if (of_bytes)
		tripd_screen_say(&view->screen, "%-32s %12s %14s", counter->name, "", value);
	else
		tripd_screen_say(&view->screen, "%-32s %12s", counter->name, value);
}

static void
draw(struct tripd_view *view, bool rates)
{
	const struct trip_rules *rules = view->quota->rules;
	unsigned int n_eaches = rates ? rules->n_eaches : 0, all = 0, room, left;

	tripd_screen_say(&view->screen, "%s", "");
	tripd_view_titles(&view->screen, rates);
	for (unsigned int i = 0; i < rules->n_counts; i++)
		all += !rules->counts[i].gone;
	for (unsigned int i = 0; i < rules->n_counters; i++)
		all += !rules->counters[i].gone;
	for (unsigned int i = 0; i < n_eaches; i++)
		all += !rules->eaches[i].count.gone;
	room = tripd_screen_room(&view->screen);
	left = all <= room ? all : room > 0 ? room - 1 : 0;
	all -= left;
	for (unsigned int i = 0; i < rules->n_counts && left > 0; i++)
		if (!rules->counts[i].gone) {
			draw_count(view, i, rates);
			left--;
		}
	for (unsigned int i = 0; i < rules->n_counters && left > 0; i++)
		if (!rules->counters[i].gone) {
			draw_counter(view, i, rates);
			left--;
		}
	for (unsigned int i = 0; i < n_eaches && left > 0; i++)
		if (!rules->eaches[i].count.gone) {
			tripd_view_each_row(view, i);
			left--;
		}
	if (all > 0)
		tripd_screen_say(&view->screen, "%u more: tripctl top", all);
}

/* By what time lines are too many. */
static uint64_t
time_of_lines(const struct tripd_quota *quota, uint64_t packet_ns)
{
	return quota->plan->by_packets ? packet_ns : now_ns(CLOCK_MONOTONIC);
}

static void
say_left_out(struct tripd_view *view, unsigned int i, uint64_t now)
{
	const struct trip_rules_when *when = &view->quota->rules->whens[i];
	uint64_t n = trip_apply_limit_left_out(&view->limits[i], when, now);
	char trigger[TRIP_APPLY_TEXT_MAX], action[TRIP_APPLY_TEXT_MAX];
	char number[16], left_out[64];

	if (n == 0)
		return;
	view->n_left_out--;
	trip_apply_text_trigger(view->quota->rules, when, trigger);
	trip_apply_text_action(view->quota->rules, when, action);
	tripd_describe_number(n, number);
	snprintf(left_out, sizeof(left_out), "%s more left out", number);
	tripd_screen_say(&view->screen, "%-18s %-34s  %s",
		trip_rules_is_of_several(when) ? when->condition_text : trigger, left_out, action);
}

static void
say_all_left_out(struct tripd_view *view, uint64_t now)
{
	for (unsigned int i = 0; i < view->quota->rules->n_whens && view->n_left_out > 0; i++)
		say_left_out(view, i, now);
}

static void
say_new_trip(struct tripd_view *view)
{
	const struct tripd_quota *quota = view->quota;
	unsigned int when = quota->trips[view->said].when;
	uint64_t now = time_of_lines(quota, quota->trips[view->said].packet_ns);
	struct trip_apply_limit *limit = &view->limits[when];

	say_left_out(view, when, now);
	if (!trip_apply_limit_take(limit, &quota->rules->whens[when], now)) {
		view->n_left_out += limit->left_out == 1;
		return;
	}
	say_all_left_out(view, now);
	tripd_view_trip(&view->screen, quota, view->said);
}

static void
say_new_period(struct tripd_view *view)
{
	const struct tripd_quota *quota = view->quota;
	const struct tripd_period_line *line = &quota->periods.lines[view->said_periods];
	const struct trip_rules_counter *counter = &quota->rules->counters[line->counter];
	uint64_t ended_ns = (uint64_t)line->ended * SECOND_NS;
	char date[TRIPD_DESCRIBE_DATE] = "";

	say_all_left_out(view, time_of_lines(quota, ended_ns));
	if (quota->plan->by_packets)
		tripd_describe_date(ended_ns, date);
	tripd_screen_say(&view->screen,
		"%s%squota %s begins anew: it was %" PRIu64 " of %" PRIu64 " %s", date,
		date[0] != 0 ? "  " : "", counter->name, line->spent, line->limit,
		tripd_period_unit(counter->quota));
}

/* By the times of packets what was left out is told before the next line behind its time, or at the
 * end: when the control thread looks decides nothing. */
static void
say_news(struct tripd_view *view)
{
	const struct tripd_quota *quota = view->quota;
	const struct tripd_periods *periods = &quota->periods;

	while (view->said < quota->n_trips || view->said_periods < periods->n_lines) {
		bool is_period = view->said_periods < periods->n_lines &&
				 (view->said >= quota->n_trips ||
					 periods->lines[view->said_periods].n_trips <= view->said);

		if (is_period) {
			say_new_period(view);
			view->said_periods++;
		} else {
			say_new_trip(view);
			view->said++;
		}
	}
	if (!quota->plan->by_packets)
		say_all_left_out(view, now_ns(CLOCK_MONOTONIC));
}

static void
measure_rates(struct tripd_view *view, uint64_t now)
{
	double per_s = view->drawn_ns != 0 ? 1e9 / (double)(now - view->drawn_ns) : 0;
	struct trip_flow_count count = {.size = sizeof(count)};

	for (unsigned int i = 0; i < view->quota->rules->n_counts; i++) {
		(void)trip_apply_count_query(&view->quota->counts[i], &count);
		tripd_view_count(&view->counts[i], count.packets, count.bytes, per_s);
	}
	tripd_view_eaches_measure(view, per_s);
	view->drawn_ns = now;
}

void
tripd_view_update(struct tripd_view *view)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	bool is_drawn = view->screen.terminal && !view->screen.waits;
	bool redraw = is_drawn && now - view->drawn_ns >= REDRAW_NS;
	bool losses = tripd_view_has_new_losses(view, now);

	if (follow(view) != 0)
		return;
	if (!redraw && !losses && view->n_left_out == 0 && view->said == view->quota->n_trips &&
		view->said_periods == view->quota->periods.n_lines)
		return;
	if (redraw)
		measure_rates(view, now);
	tripd_screen_begin(&view->screen);
	say_news(view);
	if (losses)
		tripd_view_losses(view);
	tripd_screen_block(&view->screen);
	if (is_drawn) {
		tripd_view_losses(view);
		draw(view, true);
	}
	tripd_screen_end(&view->screen);
}

void
tripd_view_forget(struct tripd_view *view, struct tripd_quota *quota)
{
	tripd_quota_forget(quota);
	view->said = quota->n_trips;
	tripd_period_forget(quota);
	view->said_periods = 0;
}

void
tripd_view_end(struct tripd_view *view)
{
	tripd_screen_begin(&view->screen);
	say_news(view);
	say_all_left_out(view, UINT64_MAX);
	draw(view, false);
	tripd_view_eaches(view);
	tripd_screen_end(&view->screen);
}
