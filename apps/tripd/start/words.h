/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_WORDS_H
#define TRIPD_WORDS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct tripd_options;

#define TRIPD_WORDS_MAX 256

/* The words for rte_eal_init(), and what the checks before it need to know of them. */
struct tripd_words {
	int argc;
	/* Terminated by NULL; one more for that. EAL permutes it. */
	char *argv[TRIPD_WORDS_MAX + 1];
	const char *file_prefix;
	/* NULL: not given. */
	const char *huge_dir;
	const char *vdevs[TRIPD_WORDS_MAX];
	unsigned int n_vdevs;
	/* Of -m or --socket-mem, in MiB; 0: not given. */
	uint64_t memory_mib;
	/* Of -l or --lcores, or of -c, which is a mask; NULL: not given. */
	const char *lcores;
	const char *lcores_option;
	bool no_huge;
	bool in_memory;
	bool no_shconf;
	/* Its pages are to stay, for the next one: --huge-unlink=never. */
	bool keeps_pages;
	bool secondary;
	bool help;
	/* tripd chose them. */
	bool chosen;
	/* What the chosen words are made of. */
	char text[4096];
};

/*
 * Takes the words of the command line, or chooses some where there are none.
 *
 * @param memory_mib
 *   What EAL is told to take where it may not use hugepages; 0: hugepages are used.
 * @return
 *   0, or -E2BIG: too many words.
 */
int tripd_words_init(
	struct tripd_words *words, const struct tripd_options *options, uint64_t memory_mib);

/* Starts EAL with them. What it and the drivers say is kept back, unless `verbose`; where it fails,
 * the line that says why is shown on stderr. Returns 0, or the exit code. */
int tripd_words_start_eal(struct tripd_words *words, bool verbose);

/* Writes the folder in which EAL has one for each prefix. */
void tripd_words_runtime_path(char path[PATH_MAX]);

/* Whether this word, as it is written on a command line, is one of EAL's options. */
bool tripd_words_is_eal(const char *word);

/* Writes the file that the primary of this prefix holds locked. */
void tripd_words_config_path(const struct tripd_words *words, char path[PATH_MAX]);

#endif
