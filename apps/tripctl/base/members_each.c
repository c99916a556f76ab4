/* SPDX-License-Identifier: BSD-3-Clause */
/* What a statement has that counts by keys. */
#include <stdio.h>

#include <trip_each.h>

#include "record.h"
#include "text.h"

void
tripctl_members_each(struct tripctl_sheet *sheet, const void *record)
{
	const struct trip_client_each *each = record;
	char name[4 * sizeof(each->name)], fields[4 * sizeof(each->fields)];

	tripctl_sheet_text(sheet, NULL, "name", each->name);
	tripctl_sheet_text(sheet, NULL, "fields", each->fields);
	tripctl_sheet_text(sheet, NULL, "direction",
		each->direction == TRIP_FLOW_EGRESS ? "egress" : "ingress");
	tripctl_sheet_text(
		sheet, NULL, "rank", each->rank == TRIP_EACH_BYTES ? "bytes" : "packets");
	tripctl_sheet_number(sheet, "KEYS", "keys", each->keys);
	tripctl_sheet_number(sheet, "MAX", "max", each->max);
	tripctl_sheet_number(sheet, "QUEUES", "queues", each->tables);
	tripctl_sheet_number(sheet, NULL, "idle_us", each->idle_us);
	tripctl_sheet_number(sheet, "PACKETS", "packets", each->packets);
	tripctl_sheet_number(sheet, "BYTES", "bytes", each->bytes);
	tripctl_sheet_number(sheet, "REMAINDER", "remainder_packets", each->remainder_packets);
	tripctl_sheet_number(sheet, NULL, "remainder_bytes", each->remainder_bytes);
	tripctl_sheet_number(sheet, "REFUSED", "refused_packets", each->refused_packets);
	tripctl_sheet_number(sheet, NULL, "refused_bytes", each->refused_bytes);
	tripctl_sheet_text(sheet, NULL, "full", each->full == TRIP_EACH_CLOSED ? "closed" : "open");
	tripctl_sheet_number(sheet, "HELD", "held", each->held);
	tripctl_sheet_number(sheet, "DROPPED", "dropped_packets", each->dropped_packets);
	tripctl_sheet_number(sheet, NULL, "dropped_bytes", each->dropped_bytes);
	tripctl_sheet_number(sheet, NULL, "hardware", each->hardware);
	tripctl_sheet_number(sheet, NULL, "hardware_keys", each->hardware_keys);
	tripctl_sheet_number(sheet, NULL, "hardware_waiting", each->hardware_waiting);
	tripctl_sheet_number(sheet, NULL, "hardware_packets", each->hardware_packets);
	tripctl_sheet_number(sheet, NULL, "hardware_bytes", each->hardware_bytes);
	tripctl_sheet_number(sheet, NULL, "coming_packets", each->coming_packets);
	tripctl_sheet_number(sheet, NULL, "rule_changes", each->rule_changes);
	tripctl_sheet_number(sheet, NULL, "rules_failed", each->rules_failed);
	tripctl_sheet_number(sheet, NULL, "passed_over", each->passed_over);
	tripctl_sheet_number(sheet, NULL, "admitted", each->admitted);
	tripctl_sheet_number(sheet, "EVICTED", "evicted", each->evicted);
	tripctl_sheet_number(sheet, "EXPIRED", "expired", each->expired);
	tripctl_sheet_number(sheet, NULL, "floor", each->floor);
	tripctl_sheet_number(sheet, NULL, "memory", each->table_bytes);
	tripctl_sheet_cell(
		sheet, "<NAME", "%s", tripctl_text_escape(each->name, name, sizeof(name)));
	tripctl_sheet_cell(
		sheet, "<KEY", "%s", tripctl_text_escape(each->fields, fields, sizeof(fields)));
}
