/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPCTL_OPTIONS_H
#define TRIPCTL_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tripctl;

/* An option, and where its value goes. */
struct tripctl_option {
	/* NULL: `doc` is the title of those that follow. */
	const char *name;
	/* What its value is called; NULL: it has none, and sets a bool. */
	const char *arg;
	const char *doc;
	enum {
		TRIPCTL_OPTION_TEXT,
		TRIPCTL_OPTION_TIME,   /* nanoseconds, a uint64_t */
		TRIPCTL_OPTION_NUMBER, /* from 1 to max, a uint64_t */
	} type;
	size_t offset;
	uint64_t max;
	/* What a number is to be. */
	const char *what;
};

/* The words NAME VALUE, which several commands take. */
struct tripctl_words {
	const char *name;
	uint64_t value;
	unsigned int n;
};

/* The command line of a command, parsed into a struct of its own. */
struct tripctl_line {
	/* Ended by one without a doc; NULL: it has none of its own. */
	const struct tripctl_option *options;
	const char *args_doc, *doc;
	/* Where a struct tripctl_words is, not at the beginning; 0: it does not take these. */
	size_t words;
	/* Takes any other word; NULL: there is to be none. */
	void (*word)(struct argp_state *state, void *into, char *word);
	/* Checks what is there at the end, or NULL. */
	void (*end)(struct argp_state *state, void *into);
	/* No option stands behind a word. */
	bool in_order;
};

/* Parses it, and into ctl the options that every command has. What is wrong ends the program. */
void tripctl_options_parse(
	struct tripctl *ctl, const struct tripctl_line *line, int argc, char **argv, void *into);

/* Parses what stands before a command; returns the index of that in argv. */
int tripctl_options_global(struct tripctl *ctl, int argc, char **argv);

#endif
