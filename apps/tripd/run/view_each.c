/* SPDX-License-Identifier: BSD-3-Clause */
/* What a person sees of what is counted by keys: a row of each statement in place, its keys at the
 * end. */
#include <inttypes.h>
#include <stdio.h>

#include <rte_common.h>

#include "quota.h"
#include "rules.h"
#include "start/describe.h"
#include "view.h"

/* Keys of a statement, and characters of one beside its counts. */
#define TOP 5
#define KEY_WIDTH 30

static void
say_line(struct tripd_screen *screen, const char *indent, const char *name, uint64_t packets,
	uint64_t bytes, const char *state)
{
	char packets_text[16], bytes_text[16];

	tripd_describe_number(packets, packets_text);
	tripd_describe_number(bytes, bytes_text);
	tripd_screen_say(screen, "%s%-*s %12s %14s%s%s%s%s", indent,
		indent[0] != 0 ? KEY_WIDTH : TRIP_RULES_NAME_MAX, name, packets_text, bytes_text,
		state != NULL ? "  " : "",
		tripd_screen_colour(screen, state != NULL ? TRIPD_YELLOW : TRIPD_PLAIN),
		state != NULL ? state : "", tripd_screen_colour(screen, TRIPD_PLAIN));
}

/* Of several tables, one of which may have what another one has, their entries say how many others
 * there are at most. */
static void
say_keys(struct tripd_screen *screen, const struct tripd_each *each,
	const struct trip_each_info *info)
{
	struct trip_each_entry entries[TOP];
	int n = trip_each_top(each->each, TRIP_EACH_PACKETS, entries, sizeof(entries[0]), TOP);
	uint64_t told = 0;

	for (int i = 0; i < n; i++) {
		char text[TRIP_EACH_TEXT_MAX];

		told += entries[i].tables;
		if (trip_each_text(each->each, entries[i].key, text, sizeof(text)) == 0)
			say_line(screen, "  ", text, entries[i].packets, entries[i].bytes,
				tripd_quota_key_state(entries[i].op));
	}
	if (n == TOP && info->keys > told)
		tripd_screen_say(screen, "  %s%" PRIu64 " more keys",
			info->tables > 1 ? "at most " : "", info->keys - told);
}

/* A statement does one thing that lasts, if it does any. */
static const char *
state_of(const struct trip_each_info *info)
{
	const char *state = NULL;

	for (unsigned int i = 0; i < info->n_whens && info->held > 0 && state == NULL; i++)
		state = tripd_quota_key_state(info->acts[i].op);
	return state;
}

void
tripd_view_eaches_measure(struct tripd_view *view, double per_s)
{
	const struct tripd_quota *quota = view->quota;

	for (unsigned int i = 0; i < quota->rules->n_eaches; i++) {
		struct tripd_view_each *each = &view->eaches[i];
		struct trip_each_info info = {0};

		tripd_quota_each_info(&quota->eaches[i], &info);
		tripd_view_count(&each->count, info.packets, info.bytes, per_s);
		each->keys = info.keys;
		each->state = state_of(&info);
	}
}

/* The keys themselves would take a walk through the tables for each picture. */
void
tripd_view_each_row(struct tripd_view *view, unsigned int i)
{
	const struct tripd_view_each *each = &view->eaches[i];
	const struct tripd_screen *screen = &view->screen;
	char name[TRIP_RULES_NAME_MAX + 32], keys[16];

	tripd_describe_number(each->keys, keys);
	snprintf(name, sizeof(name), "%s: %s key%s", view->quota->rules->eaches[i].count.name, keys,
		each->keys == 1 ? "" : "s");
	tripd_view_count_row(&view->screen, name, &each->count,
		tripd_screen_colour(screen, each->state != NULL ? TRIPD_YELLOW : TRIPD_GREEN),
		each->state != NULL ? each->state : "pass");
}

void
tripd_view_eaches(struct tripd_view *view)
{
	const struct tripd_quota *quota = view->quota;

	for (unsigned int i = 0; i < quota->rules->n_eaches; i++) {
		const struct trip_rules_count *rule = &quota->rules->eaches[i].count;
		const struct tripd_each *each = &quota->eaches[i];
		struct trip_each_info info = {0};

		if (rule->gone || each->each == NULL)
			continue;
		tripd_quota_each_info(each, &info);
		say_line(&view->screen, "", rule->name, info.packets, info.bytes, NULL);
		say_keys(&view->screen, each, &info);
		if (info.remainder_packets != 0)
			say_line(&view->screen, "  ", "keys that went", info.remainder_packets,
				info.remainder_bytes, NULL);
		if (info.dropped_packets != 0)
			say_line(&view->screen, "  ", "dropped", info.dropped_packets,
				info.dropped_bytes, NULL);
		if (info.hardware_packets != 0)
			say_line(&view->screen, "  ", "of these in hardware", info.hardware_packets,
				info.hardware_bytes, NULL);
	}
}
