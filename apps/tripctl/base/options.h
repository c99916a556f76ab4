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

/* A number from 1 to max; `what` it is to be where it is none. */
uint64_t tripctl_options_number(struct argp_state *state, const char *option, const char *what,
	uint64_t max, const char *text);

/* The words NAME VALUE, which several commands take. */
struct tripctl_words {
	const char *name;
	uint64_t value;
	unsigned int n;
};

/* Takes the next of the two words; what is wrong with it ends the program. */
void tripctl_options_word(struct argp_state *state, struct tripctl_words *words, const char *word);

/* At the end: both are there. */
void tripctl_options_check_words(struct argp_state *state, const struct tripctl_words *words);

/* Parses what stands before a command; returns the index of that in argv. */
int tripctl_options_global(struct tripctl *ctl, int argc, char **argv);

#endif
