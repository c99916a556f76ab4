/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITE_ALL_H
#define WRITE_ALL_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* Writes all of it, however often a signal comes in between. Returns 0 or a negative errno. */
static inline int
write_all(int fd, const void *data, size_t size)
{
	const char *from = data;

	while (size > 0) {
		ssize_t n = write(fd, from, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		from += n;
		size -= (size_t)n;
	}
	return 0;
}

#endif
