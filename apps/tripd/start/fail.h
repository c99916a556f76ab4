/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_FAIL_H
#define TRIPD_FAIL_H

/* Says on stderr, in one line behind tripd's name, what failed. Returns `code`. */
__attribute__((format(printf, 2, 3))) int tripd_fail(int code, const char *format, ...);

#endif
