/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "tripctl.h"

enum {
	KEY_SOCKET = 0x100,
	KEY_PREFIX,
	KEY_DOMAIN,
	KEY_JSON,
};

static const struct argp_option shared_options[] = {
	{NULL, 0, NULL, 0, "Which domain; where there is only one, none of these is needed:", 10},
	{"socket", KEY_SOCKET, "PATH", 0, "the one that is served on this socket", 10},
	{"file-prefix", KEY_PREFIX, "NAME", 0, "that of the primary with this EAL file prefix", 10},
	{"domain", KEY_DOMAIN, "NAME", 0, "the one of this name", 10},
	{NULL, 0, NULL, 0, "Other:", 11},
	{"json", KEY_JSON, NULL, 0, "write JSON", 11},
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

void
tripctl_options_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	argp_parse(argp, argc, argv, 0, NULL, input);
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
		       "\n"
		       "tripctl COMMAND --help has the words of each. list asks over "
		       "the domain's socket and needs neither hugepages nor privilege.",
		.children = tripctl_options_shared,
	};
	struct global global = {.ctl = ctl};

	argp_program_version = "tripctl " TRIPCTL_VERSION;
	argp_err_exit_status = TRIPCTL_EXIT_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &global);
	return global.command;
}
