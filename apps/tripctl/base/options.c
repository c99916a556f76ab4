/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines: the options of a command, those that all commands have, and words. */
#include <errno.h>
#include <stdlib.h>

#include <rules.h>

#include "options.h"
#include "text.h"
#include "tripctl.h"

/* Of the first option of a command, and of the first that all have. */
#define KEY_OWN 0x100
#define KEY_SHARED 0x200
#define OPTIONS_MAX 32

#define AT(member) TRIPCTL_OPTION_TEXT, offsetof(struct tripctl, member)

static const struct tripctl_option shared[] = {
	{.doc = "Which domain; where there is only one, none of these is needed:"},
	{"socket", "PATH", "the one that is served on this socket", AT(socket)},
	{"file-prefix", "NAME", "that of the primary with this EAL file prefix", AT(prefix)},
	{"domain", "NAME", "the one of this name", AT(domain)},
	{.doc = "Other:"},
	{"json", NULL, "write JSON", AT(json)},
	{"verbose", NULL, "show what EAL says where a command attaches", AT(verbose)},
	{NULL},
};

struct parsing {
	struct tripctl *ctl;
	const struct tripctl_line *line;
	void *into;
};

static uint64_t
parse_time(struct argp_state *state, const char *option, const char *text)
{
	char escaped[64];
	uint64_t ns = 0;
	int error = tripctl_text_parse_time(text, &ns);

	tripctl_text_escape(text, escaped, sizeof(escaped));
	if (error == -ERANGE)
		argp_error(state, "--%s: %s is above 10000d", option, escaped);
	else if (error != 0)
		argp_error(state, "--%s: \"%s\" is no time such as 0.5, 500ms, 10s or 5m", option,
			escaped);
	return ns;
}

static uint64_t
parse_number(struct argp_state *state, const struct tripctl_option *option, const char *text)
{
	char *end, escaped[64];
	uint64_t number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != 0 || errno != 0 || number == 0 ||
		number > option->max)
		argp_error(state, "--%s: \"%s\" is no %s", option->name,
			tripctl_text_escape(text, escaped, sizeof(escaped)), option->what);
	return number;
}

static void
put(struct argp_state *state, const struct tripctl_option *option, void *into, const char *text)
{
	void *at = (char *)into + option->offset;

	if (option->arg == NULL)
		*(bool *)at = true;
	else if (option->type == TRIPCTL_OPTION_TIME)
		*(uint64_t *)at = parse_time(state, option->name, text);
	else if (option->type == TRIPCTL_OPTION_NUMBER)
		*(uint64_t *)at = parse_number(state, option, text);
	else
		*(const char **)at = text;
}

static void
take_word(struct argp_state *state, struct tripctl_words *words, const char *word)
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

static void
check_words(struct argp_state *state, const struct tripctl_words *words)
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

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	const struct parsing *parsing = state->input;
	const struct tripctl_line *line = parsing->line;
	struct tripctl *ctl = parsing->ctl;
	void *words = (char *)parsing->into + line->words;

	switch (key) {
	case KEY_OWN ... KEY_SHARED - 1:
		put(state, &line->options[key - KEY_OWN], parsing->into, arg);
		return 0;
	case KEY_SHARED ... KEY_SHARED + OPTIONS_MAX:
		put(state, &shared[key - KEY_SHARED], ctl, arg);
		return 0;
	case '0' ... '9':
		argp_error(state, "values are from 0 to 9223372036854775807 (2^63-1)");
		return 0;
	case ARGP_KEY_ARG:
		if (line->words != 0)
			take_word(state, words, arg);
		else if (line->word != NULL)
			line->word(state, parsing->into, arg);
		else
			argp_error(state, "unexpected word");
		return 0;
	case ARGP_KEY_END:
		if (line->words != 0)
			check_words(state, words);
		if (line->end != NULL)
			line->end(state, parsing->into);
		if (ctl->socket != NULL && (ctl->prefix != NULL || ctl->domain != NULL))
			argp_error(state, "--socket says all that --file-prefix and --domain do");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Appends options as argp shows them; returns where the next one goes. */
static struct argp_option *
show(struct argp_option *to, const struct tripctl_option *options, int key)
{
	for (; options != NULL && options->doc != NULL; options++, key++)
		*to++ = (struct argp_option){
			.name = options->name,
			.key = options->name != NULL ? key : 0,
			.arg = options->arg,
			.doc = options->doc,
		};
	return to;
}

void
tripctl_options_parse(
	struct tripctl *ctl, const struct tripctl_line *line, int argc, char **argv, void *into)
{
	struct argp_option options[OPTIONS_MAX] = {0}, *next = options;
	const struct argp argp = {options, parse, line->args_doc, line->doc};
	struct parsing parsing = {ctl, line, into};

	next = show(next, line->options, KEY_OWN);
	next = show(next, shared, KEY_SHARED);
	/* A number below 0, which would be said to be an option that does not exist. */
	for (int digit = '0'; digit <= '9'; digit++)
		*next++ = (struct argp_option){.key = digit, .flags = OPTION_HIDDEN};
	argp_parse(&argp, argc, argv, line->in_order ? ARGP_IN_ORDER : 0, NULL, &parsing);
}

/* The rest is the command's. */
static void
take_command(struct argp_state *state, void *into, char *word)
{
	*(int *)into = state->next - 1;
	state->next = state->argc;
}

static void
check_command(struct argp_state *state, void *into)
{
	if (*(int *)into == 0)
		argp_usage(state);
}

int
tripctl_options_global(struct tripctl *ctl, int argc, char **argv)
{
	static const struct tripctl_line line = {
		.args_doc = "COMMAND [WORD...]",
		.doc = "Looks at a Tripline domain from outside, and changes it."
		       "\v"
		       "Commands:\n"
		       "  list [KIND...]     counters, works, flows, each, quotas, processes, "
		       "lcores,\n"
		       "                     domain\n"
		       "  wait NAME VALUE    until a counter has reached a value\n"
		       "  top [EACH]         live: values, rates, what is to go; or keys, their "
		       "share\n"
		       "  add NAME VALUE     adds to a counter\n"
		       "  set NAME VALUE     sets a counter\n"
		       "  reset NAME         begins a counter, count, quota or all keys of an each "
		       "anew\n"
		       "  count STATEMENT    counts packets as the rules say\n"
		       "  also STATEMENT     likewise, what others count, too\n"
		       "  when STATEMENT     acts at a value or a time, as the rules say\n"
		       "  drop|pass|delete NAME   what becomes of a count of tripd\n"
		       "  apply FILE         adds to tripd's rules, and changes them\n"
		       "  remove NAME        removes a statement of tripd's rules\n"
		       "  diff [FILE]        what a reload would change\n"
		       "  reload [SET]       tripd reads its rules again, or the file of a set\n"
		       "\n"
		       "tripctl COMMAND --help has the words of each. list, wait and top ask over "
		       "the "
		       "domain's socket and need neither hugepages nor privilege; add, set, "
		       "reset, count, also and when attach as a secondary process. See tripctl(1).",
		.word = take_command,
		.end = check_command,
		.in_order = true,
	};
	int command = 0;

	argp_program_version = "tripctl " TRIPCTL_VERSION;
	argp_err_exit_status = TRIPCTL_EXIT_USAGE;
	tripctl_options_parse(ctl, &line, argc, argv, &command);
	return command;
}
