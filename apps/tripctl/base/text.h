/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPCTL_TEXT_H
#define TRIPCTL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies a text, every byte that is not printable ASCII as \xNN, and a backslash as two; cut where
 * there is no room. Returns `out`. */
const char *tripctl_text_escape(const char *text, char *out, size_t size);

#define TRIPCTL_TEXT_NUMBER 24

/* Whether a filter leaves a name in: a pattern of the shell, or a part of it; "" and NULL: all. */
bool tripctl_text_is_wanted(const char *filter, const char *name);

/* A number with all its digits, and one in six columns: 987654, 9.877M. Each returns `out`. */
const char *tripctl_text_exact(uint64_t number, char out[TRIPCTL_TEXT_NUMBER]);
const char *tripctl_text_short(double number, char out[TRIPCTL_TEXT_NUMBER]);

/* A time in at most seven columns: 12.3 ms, 130 ms, 1h02. Returns `out`. */
const char *tripctl_text_time(uint64_t ns, char out[TRIPCTL_TEXT_NUMBER]);

/* A time with nothing left out, as the rules language has it: 500ms, 90s. Returns `out`. */
const char *tripctl_text_whole_time(uint64_t ns, char out[TRIPCTL_TEXT_NUMBER]);

/* Reads a time: a number with one of ns us ms s m h d behind it, or without, of seconds; whole or
 * with a fraction. Returns 0, -EINVAL: it is none, -ERANGE: above 10 000 days. */
int tripctl_text_parse_time(const char *text, uint64_t *ns);

#endif
