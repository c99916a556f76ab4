/* SPDX-License-Identifier: BSD-3-Clause */
/* The processors that the words for EAL ask for: are they there? */
#ifndef TRIPD_CPUS_H
#define TRIPD_CPUS_H

struct tripd_words;

/* Checks that this process may run on them; says on stderr on which it may not, and which there
 * are. Returns 0, or the exit code. */
int tripd_cpus_check(const struct tripd_words *words);

#endif
