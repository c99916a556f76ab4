/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warnings: of two rules of one port, direction, group and priority, neither of which counts in
 * addition, a packet that both match counts in the earlier one only, which is seldom what somebody
 * meant.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules_priv.h"

/* By what two rules must have in common to overlap. */
static int
compare_place(const struct trip_rules_count *a, const struct trip_rules_count *b)
{
	bool a_out = a->direction == TRIP_RULES_EGRESS, b_out = b->direction == TRIP_RULES_EGRESS;

	if (a->port_by != b->port_by)
		return a->port_by < b->port_by ? -1 : 1;
	if (a->port_by == TRIP_RULES_PORT_ID && a->port != b->port)
		return a->port < b->port ? -1 : 1;
	if ((a->port_by == TRIP_RULES_PORT_NAME || a->port_by == TRIP_RULES_PORT_INTERFACE) &&
		strcmp(a->port_name, b->port_name) != 0)
		return strcmp(a->port_name, b->port_name);
	if (a->port_by == TRIP_RULES_PORT_MAC &&
		memcmp(a->port_mac, b->port_mac, sizeof(a->port_mac)) != 0)
		return memcmp(a->port_mac, b->port_mac, sizeof(a->port_mac));
	if (a_out != b_out)
		return a_out ? 1 : -1;
	/* What is allowed is meant to overlap what is not. */
	if (a->allow != b->allow)
		return a->allow ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->priority < b->priority ? -1 : a->priority > b->priority;
}

static bool
counts_alone(const struct trip_rules_count *count)
{
	return !count->also && (count->actions & TRIP_RULES_ACTION_PASSTHRU) == 0;
}

bool
trip_rules_overlap(const struct trip_rules_count *a, const struct trip_rules_count *b)
{
	struct trip_rules_match one, other;

	if (!counts_alone(a) || !counts_alone(b) || compare_place(a, b) != 0)
		return false;
	for (unsigned int i = 0; i < a->n_patterns; i++) {
		if (!trip_rules_match_compile(a->patterns[i], &one))
			continue;
		for (unsigned int j = 0; j < b->n_patterns; j++)
			if (trip_rules_match_compile(b->patterns[j], &other) &&
				trip_rules_match_meets(&one, &other))
				return true;
	}
	return false;
}

static int
by_place(const void *left, const void *right, void *arg)
{
	const unsigned int *a = left, *b = right;
	const struct trip_rules_count *counts = arg;
	int order = compare_place(&counts[*a], &counts[*b]);

	return order != 0 ? order : *a < *b ? -1 : *a > *b;
}

static int
compare_rules(const struct trip_rules *rules, struct trip_rules_hits *hits, uint64_t *work)
{
	unsigned int *order = calloc(rules->n_counts, sizeof(*order));
	unsigned int n = 0, from = 0;
	int rc = order == NULL ? -ENOMEM : 0;

	for (unsigned int i = 0; i < rules->n_counts && rc == 0; i++) {
		if (counts_alone(&rules->counts[i]))
			order[n++] = i;
	}
	if (n > 0)
		qsort_r(order, n, sizeof(*order), by_place, rules->counts);
	for (unsigned int i = 1; i <= n && rc == 0; i++) {
		if (i < n &&
			compare_place(&rules->counts[order[from]], &rules->counts[order[i]]) == 0)
			continue;
		if (i - from > 1)
			rc = trip_rules_overlap_find(rules, order + from, i - from, hits, work);
		from = i;
	}
	free(order);
	return rc;
}

static char *
describe(const struct trip_rules *rules, const struct trip_rules_count *count,
	const struct trip_rules_hits *hits)
{
	unsigned int named = RTE_MIN(hits->n, TRIP_RULES_HITS_MAX - 1u);
	char *message = NULL;
	size_t length;
	FILE *file = open_memstream(&message, &length);

	if (file == NULL)
		return NULL;
	fprintf(file, "warning: '%s' overlaps", count->name);
	for (unsigned int i = 0; i < named; i++)
		fprintf(file, "%s '%s' on line %u",
			i == 0                               ? ""
			: i + 1 == named && hits->n == named ? " and"
							     : ",",
			rules->counts[hits->rules[i]].name, rules->counts[hits->rules[i]].line);
	fprintf(file,
		"%s at the same priority, %u: a packet that both match counts in the earlier line "
		"only",
		hits->n > named ? " and others" : "", count->priority);
	if (fclose(file) == 0)
		return message;
	free(message);
	return NULL;
}

static int
warn(struct trip_rules *rules, const struct trip_rules_hits *hits, uint64_t work)
{
	struct trip_rules_span span = {0};

	for (unsigned int i = 0; i < rules->n_counts; i++) {
		const struct trip_rules_count *count = &rules->counts[i];

		if (hits[i].n == 0)
			continue;
		span = (struct trip_rules_span){
			.text = rules->warnings->text + count->name_offset,
			.length = strlen(count->name),
			.line = count->name_line,
			.column = count->name_column,
		};
		if (!trip_rules_error_append(
			    rules->warnings, &span, describe(rules, count, &hits[i])))
			return -ENOMEM;
	}
	if (work < TRIP_RULES_OVERLAP_WORK)
		return 0;
	span = (struct trip_rules_span){.text = rules->warnings->text};
	if (!trip_rules_error_append(rules->warnings, &span,
		    strdup("warning: the patterns are too many and too different to compare all of "
			   "them: there may be more overlaps")))
		return -ENOMEM;
	return 0;
}

static int
warn_of_notes(struct trip_rules *rules)
{
	for (unsigned int i = 0; i < rules->n_notes; i++)
		if (!trip_rules_error_append(rules->warnings, &rules->notes[i].span,
			    strdup(rules->notes[i].message)))
			return -ENOMEM;
	return 0;
}

static int
warn_of_overlaps(struct trip_rules *rules)
{
	struct trip_rules_hits *hits;
	uint64_t work = 0;
	int rc;

	if (rules->n_counts < 2)
		return 0;
	hits = calloc(rules->n_counts, sizeof(*hits));
	if (hits == NULL)
		return -ENOMEM;
	rc = compare_rules(rules, hits, &work);
	if (rc == 0)
		rc = warn(rules, hits, work);
	free(hits);
	return rc;
}

int
trip_rules_warn(struct trip_rules *rules)
{
	int rc;

	trip_rules_error_clear(rules->warnings);
	rc = warn_of_overlaps(rules);
	if (rc == 0 && rules->n_notes > 0) {
		rc = warn_of_notes(rules);
		trip_rules_error_sort(rules->warnings);
	}
	return rc;
}
