/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A folder with a bounded number of files of capture, and bytes in them. Files appear whole, by
 * their name; where one more is beyond a bound, the oldest go. Whatever else is there stays. What
 * an earlier run has left is known by how names are made, and one run at a time has the folder.
 */
#ifndef TRIPD_FOLDER_H
#define TRIPD_FOLDER_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define TRIPD_FOLDER_FRONT "tripd-"
#define TRIPD_FOLDER_END ".pcap"

/* In order, the oldest first. */
struct tripd_folder_file {
	char *name;
	uint64_t bytes;
	struct timespec time;
};

struct tripd_folder {
	/* -1: none. */
	int fd;
	char path[PATH_MAX];
	size_t files_max;
	uint64_t bytes_max;
	struct tripd_folder_file *files;
	size_t n, room;
	uint64_t bytes;
	/* Files that went for others. */
	_Atomic uint64_t deleted;
};

/* 0, or a negative errno: -EBUSY: another run has it; close in any case. */
int tripd_folder_open(
	struct tripd_folder *folder, const char *path, size_t files_max, uint64_t bytes_max);

/* Writes a file of so many records, of bytes_max together at most. `name` has front and end. 0, or
 * a negative errno: it is not there then. */
int tripd_folder_write(
	struct tripd_folder *folder, const char *name, const void *records, size_t size);

void tripd_folder_close(struct tripd_folder *folder);

#endif
