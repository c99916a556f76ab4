/* SPDX-License-Identifier: BSD-3-Clause */
/* What fuzzers of rules have in common. */
#ifndef TEST_FUZZED_RULES_H
#define TEST_FUZZED_RULES_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "rules.h"

static inline void
must(bool holds)
{
	if (!holds)
		abort();
}

/* Bytes are rules, or mistakes that are told; NULL then. */
static inline struct trip_rules *
fuzzed_rules(const char *text, size_t length)
{
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	char *said = NULL;
	size_t size;
	FILE *file = open_memstream(&said, &size);
	int rc = trip_rules_parse_text("fuzz", text, length, &rules, &errors);

	must(rc == 0 || rc == -EINVAL);
	must((rc == 0) == (rules != NULL) && (rc == 0) == (errors == NULL));
	trip_rules_errors_print(errors, file);
	fclose(file);
	must((rc == 0) == (size == 0));
	for (unsigned int i = 0; errors != NULL && i < errors->n_list; i++)
		must(errors->list[i].line > 0 &&
			errors->list[i].offset + errors->list[i].length <= errors->length);
	free(said);
	trip_rules_errors_free(errors);
	return rules;
}

/* Rules that tripd made itself: a mistake in them is one of tripd. */
static inline struct trip_rules *
own_rules(const char *text, size_t length)
{
	struct trip_rules *rules = fuzzed_rules(text, length);

	if (rules == NULL)
		fprintf(stderr, "not rules:\n%.*s\n", (int)length, text);
	must(rules != NULL);
	return rules;
}

#endif
