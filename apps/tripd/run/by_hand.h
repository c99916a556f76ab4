/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of an `each` that are held by hand: what a command says of one. */
#ifndef TRIPD_BY_HAND_H
#define TRIPD_BY_HAND_H

#include <stdbool.h>
#include <stdio.h>

struct tripd_quota;

/* Whether such words, of an operation and what it acts on, name an `each`, or are of keys alone. */
bool tripd_by_hand_is_meant(const struct tripd_quota *quota, const char *words);

/* Does what they say: 0 or a negative errno, and says either. */
int tripd_by_hand(struct tripd_quota *quota, const char *words, FILE *answer);

#endif
