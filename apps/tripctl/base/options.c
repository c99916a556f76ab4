/* SPDX-License-Identifier: BSD-3-Clause */
/* The options that all commands have, those before a command, and words that several take. */
#include <errno.h>
#include <stdlib.h>

#include <rules.h>

#include "options.h"
#include "text.h"
#include "tripctl.h"

enum {
	KEY_SOCKET = 0x100,
	KEY_PREFIX,
	KEY_DOMAIN,
	KEY_JSON,
	KEY_VERBOSE,
};

/* A number below 0, which would be said to be an option that does not exist. */
#define DIGIT(digit)                                       \
	{                                                  \
		NULL, digit, NULL, OPTION_HIDDEN, NULL, 11 \
	}

static const struct argp_option shared_options[] = {
	{NULL, 0, NULL, 0, "Which domain; where there is only one, none of these is needed:", 10},
	{"socket", KEY_SOCKET, "PATH", 0, "the one that is served on this socket", 10},
	{"file-prefix", KEY_PREFIX, "NAME", 0, "that of the primary with this EAL file prefix", 10},
	{"domain", KEY_DOMAIN, "NAME", 0, "the one of this name", 10},
	{NULL, 0, NULL, 0, "Other:", 11},
	{"json", KEY_JSON, NULL, 0, "write JSON", 11},
	DIGIT('0'),
	DIGIT('1'),
	DIGIT('2'),
	DIGIT('3'),
	DIGIT('4'),
	DIGIT('5'),
	DIGIT('6'),
	DIGIT('7'),
	DIGIT('8'),
	DIGIT('9'),
	{"verbose", KEY_VERBOSE, NULL, 0, "show what EAL says where a command attaches", 11},
	{NULL, 0, NULL, 0, NULL, 0},
};

static error_t
parse_shared(int key, char *arg, struct argp_state *state)
{
	struct tripctl *ctl = state->input;

	switch (key) {
	case KEY_SOCKET:
		ctl->socket = arg;
		return 0;
	case KEY_PREFIX:
		ctl->prefix = arg;
		return 0;
	case KEY_DOMAIN:
		ctl->domain = arg;
		return 0;
	case KEY_JSON:
		ctl->json = true;
		return 0;
	case KEY_VERBOSE:
		ctl->verbose = true;
		return 0;
	case '0' ... '9':
		argp_error(state, "-%c...: values are from 0 to 9223372036854775807 (2^63-1)", key);
		return 0;
	case ARGP_KEY_END:
		if (ctl->socket != NULL && (ctl->prefix != NULL || ctl->domain != NULL))
			argp_error(state, "--socket says all that --file-prefix and --domain do");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp shared = {.options = shared_options, .parser = parse_shared};

const struct argp_child tripctl_options_shared[] = {{&shared, 0, NULL, 0}, {NULL, 0, NULL, 0}};

struct global {
	struct tripctl *ctl;
	int command;
};

static error_t
parse_global(int key, char *arg, struct argp_state *state)
{
	struct global *global = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = global->ctl;
		return 0;
	case ARGP_KEY_ARG:
		/* The rest is the command's. */
		global->command = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

uint64_t
tripctl_options_time(struct argp_state *state, const char *option, const char *text)
{
	char escaped[64];
	uint64_t ns = 0;

	if (tripctl_text_parse_time(text, &ns) != 0)
		argp_error(state, "--%s: \"%s\" is no time such as 0.5, 500ms, 10s or 5m", option,
			tripctl_text_escape(text, escaped, sizeof(escaped)));
	return ns;
}

void
tripctl_options_word(struct argp_state *state, struct tripctl_words *words, const char *word)
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
tripctl_options_check_words(struct argp_state *state, const struct tripctl_words *words)
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

uint64_t
tripctl_options_number(struct argp_state *state, const char *option, const char *what, uint64_t max,
	const char *text)
{
	char *end, escaped[64];
	uint64_t number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != 0 || errno != 0 || number == 0 ||
		number > max)
		argp_error(state, "--%s: \"%s\" is no %s", option,
			tripctl_text_escape(text, escaped, sizeof(escaped)), what);
	return number;
}

int
tripctl_options_global(struct tripctl *ctl, int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_global,
		.args_doc = "COMMAND [WORD...]",
		.doc = "Looks at a Tripline domain from outside, and changes it."
		       "\v"
		       "Commands:\n"
		       "  list [KIND...]     counters, works, flows, processes, lcores, domain\n"
		       "  wait NAME VALUE    until a counter has reached a value\n"
		       "  top                live: values, rates, what is to go\n"
		       "  add NAME VALUE     adds to a counter\n"
		       "  set NAME VALUE     sets a counter\n"
		       "  count STATEMENT    counts packets as the rules say\n"
		       "  also STATEMENT     likewise, what others count, too\n"
		       "  when STATEMENT     acts at a value or a time, as the rules say\n"
		       "\n"
		       "tripctl COMMAND --help has the words of each. list, wait and top ask over "
		       "the "
		       "domain's socket and need neither hugepages nor privilege; add, set, "
		       "count, also and when attach as a secondary process. See tripctl(1).",
		.children = tripctl_options_shared,
	};
	struct global global = {.ctl = ctl};

	argp_program_version = "tripctl " TRIPCTL_VERSION;
	argp_err_exit_status = TRIPCTL_EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &global);
	return global.command;
}
