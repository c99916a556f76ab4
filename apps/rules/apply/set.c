/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads, opens and fills the sets of rules. */
#include <errno.h>
#include <stdlib.h>

#include "set.h"

int
trip_apply_set_load(struct trip_rules_set *rule, FILE *file)
{
	struct trip_rules_errors *errors;
	int error = trip_rules_set_load(rule, &errors);

	if (errors != NULL)
		trip_rules_errors_print(errors, file);
	else if (error != 0)
		fprintf(file, "set %s: no memory for its entries\n", rule->name);
	trip_rules_errors_free(errors);
	return error;
}

int
trip_apply_set_load_all(struct trip_rules *rules, FILE *file)
{
	int error = 0;

	for (unsigned int i = 0; i < rules->n_sets; i++) {
		int one = trip_apply_set_load(&rules->sets[i], file);

		error = one != 0 ? one : error;
	}
	return error;
}

int
trip_apply_set_fill(struct trip_set *set, struct trip_rules_set *rule)
{
	int error = trip_set_replace(set, rule->entries, rule->n_entries);

	if (error != 0)
		return error;
	free(rule->entries);
	rule->entries = NULL;
	return 0;
}

int
trip_apply_set_open(struct trip_domain *domain, struct trip_rules_set *rule, struct trip_set **set)
{
	const struct trip_set_attr attr = {.size = sizeof(attr), .name = rule->name};
	int error = trip_set_open(domain, &attr, set);

	if (error != 0)
		return error;
	error = trip_apply_set_fill(*set, rule);
	if (error != 0) {
		(void)trip_set_close(*set);
		*set = NULL;
	}
	return error;
}
