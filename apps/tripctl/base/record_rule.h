/* SPDX-License-Identifier: BSD-3-Clause */
/* What record.c and record_rule.c share. */
#ifndef TRIPCTL_RECORD_RULE_H
#define TRIPCTL_RECORD_RULE_H

#include "record.h"

extern const char *const tripctl_record_work_titles[], *const tripctl_record_flow_titles[];

void tripctl_record_work_row(
	struct tripctl_table *table, const struct tripctl_names *names, const void *record);
json_t *tripctl_record_work_json(const struct tripctl_names *names, const void *record);
void tripctl_record_flow_row(
	struct tripctl_table *table, const struct tripctl_names *names, const void *record);
json_t *tripctl_record_flow_json(const struct tripctl_names *names, const void *record);

/* The word for a value of an enum, "?" for one that is not known. */
const char *tripctl_record_word(const char *const *words, size_t n, uint32_t value);

#endif
