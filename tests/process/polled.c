/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <trip_test.h>

#include "polled.h"

/* What a descriptor of this process is of, as the kernel names it; "": it is closed. */
static const char *
what_is(const char *fd)
{
	static char target[64];
	char path[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/self/fd/%.20s", fd);
	size = readlink(path, target, sizeof(target) - 1);
	target[size > 0 ? size : 0] = 0;
	return target;
}

static unsigned int
polled_by(const char *epoll)
{
	char path[64], line[256], fd[24];
	bool sockets = false;
	unsigned int n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.20s", epoll);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "tfd: %20s", fd) != 1)
			continue;
		sockets |= strncmp(what_is(fd), "socket:", 7) == 0;
		n++;
	}
	fclose(file);
	return sockets ? n : 0;
}

unsigned int
polled_count(void)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned int n = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)) != NULL)
		if (strcmp(what_is(entry->d_name), "anon_inode:[eventpoll]") == 0)
			n += polled_by(entry->d_name);
	closedir(folder);
	return n;
}
