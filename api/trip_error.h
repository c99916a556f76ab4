/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors. Every call that returns int returns 0, or a negative errno; counts are >= 0.
 * The errno says of what kind an error is, trip_error_message() says what exactly was wrong:
 * which object, which value, which limit.
 */
#ifndef TRIP_ERROR_H
#define TRIP_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Explains an error number.
 *
 * @param error
 *   What a call returned: a negative errno; its absolute value is accepted too.
 * @return
 *   A constant string, never NULL. Any thread may call.
 */
const char *trip_strerror(int error);

/**
 * The sentence behind the last error that a call of this thread returned, for example
 * `cntr 7 "dns": threshold 9223372036854775808 is above the limit 9223372036854775807`.
 *
 * @return
 *   A string that the calling thread's next failing call overwrites; empty where none has failed.
 */
const char *trip_error_message(void);

#ifdef __cplusplus
}
#endif

#endif
