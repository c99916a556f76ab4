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

/* By what two rules of one port must have in common to overlap. */
static int
compare_table(const struct trip_rules_count *a, const struct trip_rules_count *b)
{
	bool a_out = a->direction == TRIP_RULES_EGRESS, b_out = b->direction == TRIP_RULES_EGRESS;

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
share_port(const struct trip_rules_count *a, const struct trip_rules_count *b)
{
	for (unsigned int i = 0; i < a->n_ports; i++)
		for (unsigned int j = 0; j < b->n_ports; j++)
			if (a->ports[i].by == TRIP_RULES_PORT_ANY ||
				b->ports[j].by == TRIP_RULES_PORT_ANY ||
				trip_rules_port_compare(&a->ports[i], &b->ports[j]) == 0)
				return true;
	return false;
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

	if (!counts_alone(a) || !counts_alone(b) || compare_table(a, b) != 0 || !share_port(a, b))
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

/* A rule on one of its ports. */
struct place {
	unsigned int rule;
	const struct trip_rules_port *port;
	const struct trip_rules_count *count;
};

/* ANY before all others. */
static int
compare_port(const struct place *a, const struct place *b)
{
	bool a_any = a->port->by == TRIP_RULES_PORT_ANY, b_any = b->port->by == TRIP_RULES_PORT_ANY;

	return a_any != b_any ? b_any - a_any : trip_rules_port_compare(a->port, b->port);
}

static int
by_place(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int order = compare_table(a->count, b->count);

	if (order == 0)
		order = compare_port(a, b);
	return order != 0 ? order : a->rule < b->rule ? -1 : a->rule > b->rule;
}

static int
by_rule(const void *left, const void *right)
{
	const unsigned int *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Those of one table: on each of its ports the n_any, which are on all ports, and the port's. */
static int
compare_places(const struct trip_rules *rules, const struct place *places, unsigned int n,
	unsigned int *order, struct trip_rules_hits *hits, uint64_t *work)
{
	unsigned int n_any = 0, from, to, n_order;
	int rc = 0;

	while (n_any < n && places[n_any].port->by == TRIP_RULES_PORT_ANY)
		n_any++;
	to = n_any;
	do {
		from = to;
		while (to < n && compare_port(&places[from], &places[to]) == 0)
			to++;
		n_order = 0;
		for (unsigned int i = 0; i < n_any; i++)
			order[n_order++] = places[i].rule;
		for (unsigned int i = from; i < to; i++)
			order[n_order++] = places[i].rule;
		if (n_any > 0)
			qsort(order, n_order, sizeof(*order), by_rule);
		if (n_order > 1)
			rc = trip_rules_overlap_find(rules, order, n_order, hits, work);
	} while (rc == 0 && to < n);
	return rc;
}

static unsigned int
list_places(const struct trip_rules *rules, struct place *places)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < rules->n_counts; i++)
		for (unsigned int k = 0;
			counts_alone(&rules->counts[i]) && k < rules->counts[i].n_ports; k++)
			places[n++] =
				(struct place){i, &rules->counts[i].ports[k], &rules->counts[i]};
	return n;
}

static int
compare_rules(const struct trip_rules *rules, struct trip_rules_hits *hits, uint64_t *work)
{
	unsigned int n = 0, from = 0, *order = calloc(rules->n_counts, sizeof(*order));
	struct place *places;
	int rc = 0;

	for (unsigned int i = 0; i < rules->n_counts; i++)
		n += rules->counts[i].n_ports;
	places = calloc(n + 1, sizeof(*places));
	if (order == NULL || places == NULL)
		rc = -ENOMEM;
	else if ((n = list_places(rules, places)) > 0)
		qsort(places, n, sizeof(*places), by_place);
	for (unsigned int i = 1; i <= n && rc == 0; i++) {
		if (i < n && compare_table(places[from].count, places[i].count) == 0)
			continue;
		rc = compare_places(rules, places + from, i - from, order, hits, work);
		from = i;
	}
	free(places);
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
