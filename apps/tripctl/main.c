/* SPDX-License-Identifier: BSD-3-Clause */
/* tripctl: looks at a Tripline domain from outside, and changes it. See tripctl.1. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "tripctl.h"

static const struct {
	const char *name;
	int (*run)(struct tripctl *ctl, int argc, char **argv);
} commands[] = {
	{"list", tripctl_list},
	{"wait", tripctl_wait},
	{"top", tripctl_top},
	{"add", tripctl_add},
	{"set", tripctl_set},
	{"count", tripctl_count},
	{"when", tripctl_when},
};

/* A full disk is an error, a reader that has left is none. */
static int
close_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	tripctl_complain("what it says cannot be written");
	return code != 0 ? code : TRIPCTL_EXIT_RUN;
}

int
main(int argc, char **argv)
{
	struct tripctl ctl = {0};
	int first = tripctl_options_global(&ctl, argc, argv), code;
	char name[64];

	for (unsigned int i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[first], commands[i].name) != 0)
			continue;
		/* For messages. */
		snprintf(name, sizeof(name), "tripctl %s", commands[i].name);
		argv[first] = name;
		code = commands[i].run(&ctl, argc - first, argv + first);
		if (ctl.client != NULL)
			trip_client_close(ctl.client);
		return close_output(code);
	}
	tripctl_complain("there is no command \"%s\"; tripctl --help has them", argv[first]);
	return TRIPCTL_EXIT_USAGE;
}
