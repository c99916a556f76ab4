/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread's last error and its sentence. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trip_error.h>

#include "domain/error.h"

static _Thread_local char message[256];

int
trip_error_set(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return -error;
}

int
trip_error_system(int error, const char *format, ...)
{
	size_t length;
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	length = strlen(message);
	snprintf(message + length, sizeof(message) - length, ": %s", trip_strerror(error));
	return -error;
}

const char *
trip_error_message(void)
{
	return message;
}

const char *
trip_strerror(int error)
{
	const char *text = strerrordesc_np(abs(error));

	return text != NULL ? text : "Unknown error";
}

int
trip_error_check_name(const char *what, const char *name, unsigned int max)
{
	static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	static const char later[] = "0123456789.-";
	size_t length;

	if (name == NULL)
		name = "";
	length = strnlen(name, max + 1);
	if (length == 0 || length > max)
		return trip_error_set(EINVAL, "%s name \"%.*s\": its length is not 1 to %u", what,
			(int)max, name, max);
	for (size_t i = 0; i < length; i++)
		if (strchr(first, name[i]) == NULL && (i == 0 || strchr(later, name[i]) == NULL))
			return trip_error_set(EINVAL,
				"%s name \"%s\": character %zu is none of [A-Za-z_%s]", what, name,
				i + 1, i == 0 ? "" : "0-9.-");
	return 0;
}
