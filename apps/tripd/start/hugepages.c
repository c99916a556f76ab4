/* SPDX-License-Identifier: BSD-3-Clause */
/* How many hugepages EAL could take, from /proc and /sys, before it is asked to. */
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hugepages.h"

static uint64_t
read_number(const char *directory, const char *entry, const char *name)
{
	char path[PATH_MAX * 2];
	uint64_t value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/%s", directory, entry, name);
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	if (fscanf(file, "%" SCNu64, &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

static uint64_t
default_page_bytes(const char *root)
{
	char path[PATH_MAX], line[256];
	uint64_t kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "Hugepagesize: %" SCNu64, &kib) == 1)
			break;
	fclose(file);
	return kib << 10;
}

static uint64_t
mount_page_bytes(const struct mntent *entry, uint64_t default_bytes)
{
	const char *option = hasmntopt(entry, "pagesize");
	uint64_t bytes;
	char *end;

	if (option == NULL || option[strlen("pagesize")] != '=')
		return default_bytes;
	bytes = strtoull(option + strlen("pagesize="), &end, 10);
	switch (*end) {
	case 'G':
		return bytes << 30;
	case 'M':
		return bytes << 20;
	case 'K':
		return bytes << 10;
	default:
		return bytes;
	}
}

/* The mount of this page size that EAL would take: the first, or the one that holds huge_dir. */
static bool
find_mount(const char *root, const char *huge_dir, uint64_t page_bytes, uint64_t default_bytes,
	char directory[PATH_MAX])
{
	char path[PATH_MAX];
	struct mntent *entry;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/mounts", root);
	file = setmntent(path, "r");
	if (file == NULL)
		return false;
	while (!found && (entry = getmntent(file)) != NULL) {
		if (strcmp(entry->mnt_type, "hugetlbfs") != 0 ||
			mount_page_bytes(entry, default_bytes) != page_bytes)
			continue;
		if (huge_dir != NULL &&
			strncmp(huge_dir, entry->mnt_dir, strlen(entry->mnt_dir)) != 0)
			continue;
		snprintf(directory, PATH_MAX, "%s%s", huge_dir != NULL ? "" : root,
			huge_dir != NULL ? huge_dir : entry->mnt_dir);
		found = true;
	}
	endmntent(file);
	return found;
}

/*
 * Bytes in files of such names that no process holds: every DPDK process keeps its own locked, and
 * removes the rest when it starts. The lock is let go at once, by close.
 */
static uint64_t
stale_bytes(const char *directory, const char *names, bool remove)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	uint64_t bytes = 0;
	struct stat status;
	int fd;

	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL) {
		if (fnmatch(names, entry->d_name, 0) != 0)
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &status) == 0) {
			bytes += (uint64_t)status.st_blocks * 512;
			if (remove)
				unlinkat(dirfd(dir), entry->d_name, 0);
		}
		close(fd);
	}
	closedir(dir);
	return bytes;
}

void
tripd_hugepages_read(
	const char *root, const char *huge_dir, bool mounted, struct tripd_hugepages *hugepages)
{
	char path[PATH_MAX], directory[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	memset(hugepages, 0, sizeof(*hugepages));
	hugepages->page_bytes = default_page_bytes(root);
	snprintf(path, sizeof(path), "%s/sys/kernel/mm/hugepages", root);
	dir = opendir(path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		uint64_t kib;
		bool found;

		if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB", &kib) != 1)
			continue;
		if (kib << 10 == hugepages->page_bytes)
			hugepages->total = read_number(path, entry->d_name, "nr_hugepages");
		found = find_mount(root, huge_dir, kib << 10, hugepages->page_bytes, directory);
		if (found && kib << 10 == hugepages->page_bytes)
			memcpy(hugepages->directory, directory, sizeof(directory));
		if (!found && mounted)
			continue;
		hugepages->free_bytes +=
			read_number(path, entry->d_name, "free_hugepages") * (kib << 10);
		if (found)
			hugepages->free_bytes += stale_bytes(directory, "*map_*", false);
	}
	closedir(dir);
}

void
tripd_hugepages_sweep(const char *huge_dir, const char *prefix)
{
	FILE *file = huge_dir == NULL ? setmntent("/proc/mounts", "r") : NULL;
	struct mntent *entry;
	char names[PATH_MAX];

	snprintf(names, sizeof(names), "%smap_*", prefix);
	if (huge_dir != NULL)
		stale_bytes(huge_dir, names, true);
	while (file != NULL && (entry = getmntent(file)) != NULL)
		if (strcmp(entry->mnt_type, "hugetlbfs") == 0)
			stale_bytes(entry->mnt_dir, names, true);
	if (file != NULL)
		endmntent(file);
}
