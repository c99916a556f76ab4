/* SPDX-License-Identifier: BSD-3-Clause */
/* The processors that the words for EAL ask for: are they there? */
#ifndef TRIPD_CPUS_H
#define TRIPD_CPUS_H

#include <sched.h>

struct tripd_words;

/*
 * Which processors the words ask for by -l, -c or --lcores: fewer than there are in them where this
 * does not understand them, since EAL has the last word.
 */
void tripd_cpus_asked(const struct tripd_words *words, cpu_set_t *asked);

/*
 * Checks that this process may run on them; says on stderr on which it may not, and which there
 * are.
 *
 * @return
 *   0, or the exit code.
 */
int tripd_cpus_check(const struct tripd_words *words);

/* A set as text: "0-2,5". Returns `text`. */
#define TRIPD_CPUS_TEXT 128
const char *tripd_cpus_text(const cpu_set_t *set, char text[TRIPD_CPUS_TEXT]);

#endif
