/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that were compiled with the headers of another version; libc only, as the client. */
#include <errno.h>
#include <string.h>

#include <trip_version.h>

#include "domain/error.h"
#include "domain/sized.h"

uint32_t
trip_version(void)
{
	return TRIP_VERSION;
}

/* All are aligned as their first member is, so no size ends within a member. */
int
trip_sized_check(const char *name, size_t size, size_t known)
{
	if (size > known)
		return trip_error_set(EINVAL,
			"%s: size %zu is above the limit %zu, all that version " TRIP_VERSION_STRING
			" of the library knows",
			name, size, known);
	if (size < sizeof(size) || size % sizeof(size) != 0)
		return trip_error_set(EINVAL, "%s: size %zu is none of %zu, %zu ... %zu", name,
			size, sizeof(size), 2 * sizeof(size), known);
	return 0;
}

int
trip_sized_take(const char *name, void *own, size_t known, const void *given)
{
	size_t size = sizeof(size);
	int error = 0;

	memset(own, 0, known);
	if (given != NULL) {
		memcpy(&size, given, sizeof(size));
		error = trip_sized_check(name, size, known);
	}
	if (error == 0 && given != NULL)
		memcpy(own, given, size);
	memcpy(own, &known, sizeof(known));
	return error;
}

int
trip_sized_give(const char *name, void *given, size_t known, const void *own)
{
	size_t size;
	int error;

	memcpy(&size, given, sizeof(size));
	error = trip_sized_check(name, size, known);
	if (error == 0)
		memcpy((char *)given + sizeof(size), (const char *)own + sizeof(size),
			size - sizeof(size));
	return error;
}
