/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements of the rules language on a command line. Names of the domain's counters may be used in
 * them as if they had been defined: `x` as a counter, and `x.packets` or `x.bytes` as the values of
 * a count, which then is another process's.
 */
#ifndef TRIPCTL_STATEMENT_H
#define TRIPCTL_STATEMENT_H

#include <rules.h>

#include "base/names.h"

struct tripctl_statement {
	/* With what is of other processes behind it. */
	struct trip_rules *rules;
	/* Lines of the command's own; what is defined on later ones is another process's. */
	unsigned int lines;
};

/*
 * Parses the words of a command; the word ";" begins another statement. Mistakes are said on
 * stderr.
 *
 * @param names
 *   The domain's counters.
 * @return
 *   0, or the exit code.
 */
int tripctl_statement_parse(struct tripctl_statement *statement, const struct tripctl_names *names,
	char *const *words, unsigned int n);

void tripctl_statement_free(struct tripctl_statement *statement);

#endif
