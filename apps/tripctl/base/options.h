/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPCTL_OPTIONS_H
#define TRIPCTL_OPTIONS_H

#include <argp.h>
#include <stdint.h>

struct tripctl;

/* The options that every command has, as children of its own; their input is the struct tripctl,
 * which a command's parser hands on by state->child_inputs[0]. */
extern const struct argp_child tripctl_options_shared[];

/* Nanoseconds; what is no time ends the program. */
uint64_t tripctl_options_time(struct argp_state *state, const char *option, const char *text);

/* Parses what stands before a command; returns the index of that in argv. */
int tripctl_options_global(struct tripctl *ctl, int argc, char **argv);

#endif
