/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_APPLY_TEXT_H
#define TRIP_APPLY_TEXT_H

#include "rules.h"

#define TRIP_APPLY_TEXT_MAX 128

/* "dns.packets", the name of a counter, or "time"; of pairs, whose condition has all of it, "". */
void trip_apply_text_trigger(const struct trip_rules *rules, const struct trip_rules_when *when,
	char text[TRIP_APPLY_TEXT_MAX]);

/* "drop dns", "add warnings 1", "log half way"; cut with "..." where it does not fit. */
void trip_apply_text_action(const struct trip_rules *rules, const struct trip_rules_when *when,
	char text[TRIP_APPLY_TEXT_MAX]);

#endif
