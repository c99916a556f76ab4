/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer on the rules language. Any bytes are rules or mistakes; of rules, each statement's
 * source must be that statement again when it is parsed by itself, names being all defined.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzzed_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The rules written again from what was kept of them. */
static char *
sources(const struct trip_rules *rules, size_t *length)
{
	char *text = NULL;
	FILE *file = open_memstream(&text, length);

	for (unsigned int i = 0; i < rules->n_whens; i++)
		fprintf(file, "%s\n", rules->whens[i].source);
	for (unsigned int i = 0; i < rules->n_counts; i++)
		fprintf(file, "%s\n", rules->counts[i].source);
	for (unsigned int i = 0; i < rules->n_sets; i++)
		fprintf(file, "%s\n", rules->sets[i].source);
	for (unsigned int i = 0; i < rules->n_counters; i++)
		fprintf(file, "%s\n", rules->counters[i].source);
	for (unsigned int i = 0; i < rules->n_eaches; i++)
		fprintf(file, "%s\n", rules->eaches[i].count.source);
	fclose(file);
	return text;
}

static void
compare(const struct trip_rules *a, const struct trip_rules *b)
{
	must(b != NULL && a->n_counts == b->n_counts && a->n_counters == b->n_counters &&
		a->n_whens == b->n_whens && a->n_sets == b->n_sets && a->n_eaches == b->n_eaches);
	for (unsigned int i = 0; i < a->n_eaches; i++)
		must(a->eaches[i].n_parts == b->eaches[i].n_parts && a->eaches[i].n_parts > 0 &&
			memcmp(a->eaches[i].parts, b->eaches[i].parts,
				sizeof(a->eaches[i].parts)) == 0 &&
			a->eaches[i].max == b->eaches[i].max && a->eaches[i].max > 0 &&
			a->eaches[i].idle_us == b->eaches[i].idle_us &&
			a->eaches[i].count.n_patterns == b->eaches[i].count.n_patterns &&
			a->eaches[i].count.n_patterns <= 1 &&
			a->eaches[i].count.direction == b->eaches[i].count.direction);
	for (unsigned int i = 0; i < a->n_sets; i++)
		must(a->sets[i].n_entries == b->sets[i].n_entries &&
			(a->sets[i].path == NULL) == (b->sets[i].path == NULL) &&
			(a->sets[i].n_entries == 0 ||
				memcmp(a->sets[i].entries, b->sets[i].entries,
					a->sets[i].n_entries * sizeof(*a->sets[i].entries)) == 0));
	for (unsigned int i = 0; i < a->n_counts; i++)
		must(a->counts[i].n_items == b->counts[i].n_items &&
			a->counts[i].n_patterns == b->counts[i].n_patterns &&
			a->counts[i].actions == b->counts[i].actions &&
			a->counts[i].priority == b->counts[i].priority &&
			a->counts[i].n_ports == b->counts[i].n_ports &&
			trip_rules_port_compare(a->counts[i].ports, b->counts[i].ports) == 0);
	for (unsigned int i = 0; i < a->n_whens; i++)
		must(a->whens[i].ref == b->whens[i].ref && a->whens[i].index == b->whens[i].index &&
			a->whens[i].target == b->whens[i].target &&
			a->whens[i].threshold == b->whens[i].threshold &&
			a->whens[i].every == b->whens[i].every);
}

/* The same bytes as the file of a set: what is an entry is one of a statement, too. */
static void
parse_set(const char *text, size_t length)
{
	static const uint8_t widths[] = {32, 128, 16};
	struct trip_rules_errors *errors;
	struct trip_rules_set set = {0};
	int rc = trip_rules_set_parse(&set, "fuzz", text, length, &errors);

	must(rc == 0 || rc == -EINVAL);
	must((rc == 0) == (errors == NULL) && (rc == 0 || set.n_entries == 0));
	must(errors == NULL || (errors->n_list > 0 && errors->n_list <= TRIP_RULES_SET_ERRORS_MAX));
	for (size_t i = 0; i < set.n_entries; i++)
		must(set.entries[i].kind <= TRIP_SET_PORT &&
			set.entries[i].length <= widths[set.entries[i].kind]);
	trip_rules_errors_free(errors);
	free(set.entries);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trip_rules *rules = fuzzed_rules((const char *)data, size), *again;
	unsigned int n_warnings;
	size_t length;
	char *text;

	parse_set((const char *)data, size);
	if (rules == NULL)
		return 0;
	text = sources(rules, &length);
	n_warnings = rules->warnings->n_list;
	must(trip_rules_warn(rules) == 0 && rules->warnings->n_list == n_warnings);
	again = fuzzed_rules(text, length);
	compare(rules, again);
	free(text);
	trip_rules_free(again);
	trip_rules_free(rules);
	return 0;
}
