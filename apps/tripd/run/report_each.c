/* SPDX-License-Identifier: BSD-3-Clause */
/* Of the report, what has been counted by keys. README.md says what each member is. */
#include <jansson.h>

#include <rte_common.h>

#include "quota.h"
#include "report.h"
#include "rules.h"
#include "start/describe.h"

/* Keys of one statement. */
#define TOP 20

static json_t *
make_entries(const struct trip_each *each, const struct trip_each_entry *entries, unsigned int n)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < n; i++) {
		char text[TRIP_EACH_TEXT_MAX];

		if (trip_each_text(each, entries[i].key, text, sizeof(text)) == 0)
			json_array_append_new(list,
				json_pack("{s:s, s:I, s:I, s:I, s:s?, s:b, s:I, s:I, s:I}", "key",
					text, "packets", (json_int_t)entries[i].packets, "bytes",
					(json_int_t)entries[i].bytes, "error",
					(json_int_t)entries[i].error, "state",
					tripd_quota_key_state(entries[i].op), "hardware",
					entries[i].hardware_ns != 0, "anew",
					(json_int_t)entries[i].anew, "anew_packets",
					(json_int_t)entries[i].anew_packets, "anew_bytes",
					(json_int_t)entries[i].anew_bytes));
	}
	return list;
}

static json_t *
make_top(const struct tripd_each *each)
{
	struct trip_each_entry entries[TOP];
	int n = 0;

	if (each->each != NULL)
		n = trip_each_top(each->each, TRIP_EACH_PACKETS, entries, sizeof(entries[0]), TOP);
	return make_entries(each->each, entries, n > 0 ? (unsigned int)n : 0);
}

json_t *
tripd_report_tops(const struct tripd_quota *quota, const struct tripd_tops *tops)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < tops->n; i++) {
		const struct tripd_top *top = &tops->of[i];

		json_object_set_new(object, quota->rules->eaches[top->each].count.name,
			make_entries(quota->eaches[top->each].each, top->keys, top->n));
	}
	return object;
}

/* NULL: none of its keys goes there. */
static json_t *
make_hardware(const struct trip_each_info *info)
{
	if (info->hardware == 0)
		return NULL;
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "max",
		(json_int_t)info->hardware, "changes_per_s", (json_int_t)info->hardware_changes,
		"keys", (json_int_t)info->hardware_keys, "waiting",
		(json_int_t)info->hardware_waiting, "packets", (json_int_t)info->hardware_packets,
		"bytes", (json_int_t)info->hardware_bytes, "coming_packets",
		(json_int_t)info->coming_packets, "changes", (json_int_t)info->rule_changes,
		"failed", (json_int_t)info->rules_failed, "passed_over",
		(json_int_t)info->passed_over);
}

static json_t *
make_each(const struct trip_rules_each *rule, const struct tripd_each *each)
{
	char words[TRIP_RULES_EACH_KEY_MAX];
	struct trip_each_info info = {0};

	trip_rules_each_words(rule, words);
	tripd_quota_each_info(each, &info);
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			 "s:I, s:I, s:I, s:I, s:s, s:o?, s:b, s:o}",
		"name", rule->count.name, "fields", words, "packets", (json_int_t)info.packets,
		"bytes", (json_int_t)info.bytes, "keys", (json_int_t)info.keys, "max",
		(json_int_t)rule->max, "queues", (json_int_t)info.tables, "remainder_packets",
		(json_int_t)info.remainder_packets, "remainder_bytes",
		(json_int_t)info.remainder_bytes, "refused_packets",
		(json_int_t)info.refused_packets, "refused_bytes", (json_int_t)info.refused_bytes,
		"admitted", (json_int_t)info.admitted, "evicted", (json_int_t)info.evicted,
		"expired", (json_int_t)info.expired, "floor", (json_int_t)info.floor,
		"dropped_packets", (json_int_t)info.dropped_packets, "dropped_bytes",
		(json_int_t)info.dropped_bytes, "held", (json_int_t)info.held, "full",
		rule->full == TRIP_EACH_CLOSED ? "closed" : "open", "hardware",
		make_hardware(&info), "removed", (int)rule->count.gone, "top", make_top(each));
}

json_t *
tripd_report_eaches(const struct tripd_quota *quota)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < quota->rules->n_eaches; i++)
		json_array_append_new(list, make_each(&quota->rules->eaches[i], &quota->eaches[i]));
	return list;
}

json_t *
tripd_report_key(
	const struct tripd_quota *quota, unsigned int i, const struct trip_each_event *event)
{
	static const char *const words[] = {[TRIP_EACH_ADMITTED] = "admission",
		[TRIP_EACH_EVICTED] = "eviction",
		[TRIP_EACH_EXPIRED] = "eviction"};
	char packet_date[TRIPD_DESCRIBE_DATE], key[TRIP_EACH_TEXT_MAX];

	if (event->change >= RTE_DIM(words) ||
		trip_each_text(quota->eaches[i].each, event->key, key, sizeof(key)) != 0)
		return NULL;
	tripd_describe_date(quota->packet_began + event->ns, packet_date);
	return json_pack("{s:s, s:s*, s:s, s:s, s:I, s:I, s:I, s:I, s:b}", "event",
		words[event->change], "packet_time", quota->plan->by_packets ? packet_date : NULL,
		"each", quota->rules->eaches[i].count.name, "key", key, "queue",
		(json_int_t)event->table, "packets", (json_int_t)event->packets, "bytes",
		(json_int_t)event->bytes, "error", (json_int_t)event->error, "idle",
		(int)(event->change == TRIP_EACH_EXPIRED));
}
