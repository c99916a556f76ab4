/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_OPTION_PORTS_H
#define TRIPD_OPTION_PORTS_H

#include <argp.h>

struct tripd_options;

/* Read the value of --ports, and of --pair. What is wrong with it ends the process. */
void tripd_option_ports_list(
	struct argp_state *state, struct tripd_options *options, const char *text);
void tripd_option_ports_pair(
	struct argp_state *state, struct tripd_options *options, const char *text);

#endif
