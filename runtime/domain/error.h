/* SPDX-License-Identifier: BSD-3-Clause */
/* How the calls of this library fail: an errno, and the sentence behind it. */
#ifndef TRIP_RUNTIME_ERROR_H
#define TRIP_RUNTIME_ERROR_H

/* Keeps the sentence for trip_error_message() of this thread and returns -error. */
__attribute__((format(printf, 2, 3))) int trip_error_set(int error, const char *format, ...);

/* The same with the system's words for the error behind the sentence: `SENTENCE: WORDS`. */
__attribute__((format(printf, 2, 3))) int trip_error_system(int error, const char *format, ...);

/* Whether a name is well formed and at most `max` long; else the error. `what` names the object.
 * NULL is no name. */
int trip_error_check_name(const char *what, const char *name, unsigned int max);

#endif
