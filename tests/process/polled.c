/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <trip_test.h>

#include "polled.h"

static unsigned int
polled_by(const char *epoll)
{
	char path[64], line[256];
	unsigned int n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%.20s", epoll);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
		n += strncmp(line, "tfd:", 4) == 0;
	fclose(file);
	return n;
}

unsigned int
polled_count(void)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	char target[64] = "";
	unsigned int n = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)) != NULL) {
		ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

		target[size > 0 ? size : 0] = 0;
		if (strcmp(target, "anon_inode:[eventpoll]") == 0)
			n += polled_by(entry->d_name);
	}
	closedir(folder);
	return n;
}
