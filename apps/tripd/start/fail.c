/* SPDX-License-Identifier: BSD-3-Clause */
/* How a failure is said. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "fail.h"

int
tripd_fail(int code, const char *format, ...)
{
	char text[2 * PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "tripd: %s\n", text);
	return code;
}
