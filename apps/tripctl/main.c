/* SPDX-License-Identifier: BSD-3-Clause */
/* tripctl: looks at a Tripline domain from outside, and changes it. See tripctl.1. */
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/tripctl.h"
#include "whole_output.h"

static const struct {
	const char *name;
	int (*run)(struct tripctl *ctl, int argc, char **argv);
} commands[] = {
	{"list", tripctl_list},
	{"wait", tripctl_wait},
	{"top", tripctl_top},
	{"add", tripctl_add},
	{"set", tripctl_set},
	{"reset", tripctl_reset},
	{"count", tripctl_count},
	{"also", tripctl_also},
	{"when", tripctl_when},
	{"drop", tripctl_command},
	{"pass", tripctl_command},
	{"release", tripctl_command},
	{"delete", tripctl_command},
	{"apply", tripctl_command},
	{"remove", tripctl_command},
	{"diff", tripctl_command},
	{"reload", tripctl_command},
};

int
main(int argc, char **argv)
{
	struct tripctl ctl = {0};
	char name[64];
	int first, code;

	whole_output_watch("tripctl");
	first = tripctl_options_global(&ctl, argc, argv);
	for (unsigned int i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[first], commands[i].name) != 0)
			continue;
		/* For messages. */
		snprintf(name, sizeof(name), "tripctl %s", commands[i].name);
		argv[first] = name;
		code = commands[i].run(&ctl, argc - first, argv + first);
		if (ctl.client != NULL)
			trip_client_close(ctl.client);
		return code;
	}
	return tripctl_complain(TRIPCTL_EXIT_USAGE,
		"there is no command \"%s\"; tripctl --help has them", argv[first]);
}
