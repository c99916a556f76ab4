/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_HUGEPAGES_H
#define TRIPD_HUGEPAGES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct tripd_hugepages {
	/* The machine's default size; 0: it has none. */
	uint64_t page_bytes;
	/* All there are of that size. */
	uint64_t total;
	/* Those that EAL could take, in bytes and over all sizes; with the pages in files that a
	 * killed process left behind, which EAL removes when it starts. */
	uint64_t free_bytes;
	/* Where those of the default size are mounted; empty: nowhere. */
	char directory[PATH_MAX];
};

/*
 * Reads what the machine has.
 *
 * @param root
 *   "" for this machine, or the directory under which a test has laid out proc and sys.
 * @param huge_dir
 *   The directory that EAL was told to use; NULL: whatever is mounted.
 * @param mounted
 *   Whether pages need a mounted directory to be of use.
 */
void tripd_hugepages_read(
	const char *root, const char *huge_dir, bool mounted, struct tripd_hugepages *hugepages);

/* Removes what an EAL of this prefix has left in its directory, or wherever hugepages are mounted;
 * nothing that a process still holds. */
void tripd_hugepages_sweep(const char *huge_dir, const char *prefix);

#endif
