/* SPDX-License-Identifier: BSD-3-Clause */
/* The words NAME VALUE, which several commands take. */
#include <errno.h>

#include <rules.h>

#include "cntr.h"
#include "text.h"

void
tripctl_cntr_word(struct argp_state *state, struct tripctl_cntr_words *words, const char *word)
{
	char escaped[128];
	int error;

	if (words->n++ == 0) {
		words->name = word;
		return;
	}
	tripctl_text_escape(word, escaped, sizeof(escaped));
	if (words->n > 2)
		argp_error(state, "unexpected word \"%s\" behind a name and a value", escaped);
	error = trip_rules_parse_value(word, &words->value);
	if (error == -ERANGE)
		argp_error(state, "value %s is above 9223372036854775807 (2^63-1)", escaped);
	else if (error != 0)
		argp_error(state,
			"\"%s\" is no value such as 500, 0x1f4, 10k or 2GiB, as in: %s "
			"dns.packets 500",
			escaped, state->name);
}

void
tripctl_cntr_check(struct argp_state *state, const struct tripctl_cntr_words *words)
{
	char escaped[128];

	if (words->n == 0)
		argp_error(state,
			"a counter's name and a value are wanted, as in: %s dns.packets 500",
			state->name);
	if (words->n == 1)
		argp_error(state, "a value is wanted behind %s, such as 500, 0x1f4, 10k or 2GiB",
			tripctl_text_escape(words->name, escaped, sizeof(escaped)));
}
