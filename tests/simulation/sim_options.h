/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program of a world is asked for. */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

#include "sim_inside.h"

struct sim_options {
	uint64_t first, n;
	/* That was said. */
	bool seeded;
	enum sim_memory memory;
	/* Goes by what was reached; what is kept of that is in a folder, NULL: in none. */
	bool steers;
	const char *corpus;
	/* Plays what this file has. */
	const char *file;
	/* Only counts, up to so many that fail; 0: what fails is told. */
	uint64_t counts;
	/* Tells histories apart. */
	bool digests;
	/* One history, each access of it. */
	bool traces;
	/* A defect is planted: it must be found, and told in at most so many steps; 0: none. Or it
	 * must be found, and that is all. */
	uint64_t within;
	bool finds;
	bool helps;
};

void sim_options_usage(const char *program);
/* False: one of them is wrong, and that was said. */
bool sim_options_parse(int argc, char **argv, struct sim_options *options);
/* The last seed of those that are to be played. */
uint64_t sim_options_last(const struct sim_options *options);
/* Without it each history that is kept would say so. */
bool sim_options_have_corpus(const struct sim_options *options);

#endif
