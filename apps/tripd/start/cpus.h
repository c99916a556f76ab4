/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_CPUS_H
#define TRIPD_CPUS_H

struct tripd_words;

/* Checks that this process may run on the processors that the words for EAL ask for; says on stderr
 * on which it may not, and which there are. Returns 0, or the exit code. */
int tripd_cpus_check(const struct tripd_words *words);

#endif
