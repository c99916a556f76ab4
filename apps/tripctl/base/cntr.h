/* SPDX-License-Identifier: BSD-3-Clause */
/* The words NAME VALUE, which several commands take. */
#ifndef TRIPCTL_CNTR_H
#define TRIPCTL_CNTR_H

#include <argp.h>
#include <stdint.h>

struct tripctl_cntr_words {
	const char *name;
	uint64_t value;
	unsigned int n;
};

/* Takes the next of the two words; what is wrong with it ends the program. */
void tripctl_cntr_word(
	struct argp_state *state, struct tripctl_cntr_words *words, const char *word);

/* At the end: both are there. */
void tripctl_cntr_check(struct argp_state *state, const struct tripctl_cntr_words *words);

#endif
