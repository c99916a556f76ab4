/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the rules language do with rules that are right. */
#ifndef RULES_GOOD_H
#define RULES_GOOD_H

#include <string.h>

#include "rules.h"
#include "trip_test.h"

static inline struct trip_rules *
good(const char *text)
{
	struct trip_rules_errors *errors;
	struct trip_rules *rules;
	int rc = trip_rules_parse_text("test", text, strlen(text), &rules, &errors);

	trip_rules_errors_print(errors, stderr);
	assert_int_equal(rc, 0);
	assert_non_null(rules);
	assert_non_null(rules->warnings);
	assert_null(errors);
	return rules;
}

/* Is there a warning of these two patterns at one priority? */
static inline bool
overlap(const char *a, const char *b)
{
	struct trip_rules *rules;
	char text[2048];
	bool warned;

	assert_true(snprintf(text, sizeof(text),
			    "count a port 0 pattern %s / end\ncount b port 0 pattern %s / end", a,
			    b) < (int)sizeof(text));
	rules = good(text);
	warned = rules->warnings->n_list > 0;
	assert_true(rules->warnings->n_list <= 1);
	trip_rules_free(rules);
	return warned;
}

#endif
