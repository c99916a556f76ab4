/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "start/option_samples.h"
#include "write_all.h"

/* In front of a name until all of the file is there. */
#define PART "."
#define ROOM_MIN 64

static bool
is_ours(const char *name)
{
	const size_t front = strlen(TRIPD_FOLDER_FRONT), end = strlen(TRIPD_FOLDER_END),
		     length = strlen(name);

	return length > front + end && strncmp(name, TRIPD_FOLDER_FRONT, front) == 0 &&
	       strcmp(name + length - end, TRIPD_FOLDER_END) == 0;
}

/* ---- what is there ----------------------------------------------------------------------------
 */

static int
add(struct tripd_folder *folder, const char *name, uint64_t bytes, struct timespec time)
{
	struct tripd_folder_file *files = folder->files;
	size_t room = folder->room;

	if (folder->n == room) {
		room = room == 0 ? ROOM_MIN : 2 * room;
		files = reallocarray(files, room, sizeof(*files));
		if (files == NULL)
			return -ENOMEM;
		folder->files = files;
		folder->room = room;
	}
	files[folder->n] = (struct tripd_folder_file){strdup(name), bytes, time};
	if (files[folder->n].name == NULL)
		return -ENOMEM;
	folder->n++;
	folder->bytes += bytes;
	return 0;
}

static int
by_time(const void *left, const void *right)
{
	const struct tripd_folder_file *a = left, *b = right;

	if (a->time.tv_sec != b->time.tv_sec)
		return a->time.tv_sec < b->time.tv_sec ? -1 : 1;
	if (a->time.tv_nsec != b->time.tv_nsec)
		return a->time.tv_nsec < b->time.tv_nsec ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* What a run was writing when it was killed goes. */
static int
note(struct tripd_folder *folder, const char *name)
{
	struct stat status;

	if (strncmp(name, PART, strlen(PART)) == 0 && is_ours(name + strlen(PART)))
		unlinkat(folder->fd, name, 0);
	if (!is_ours(name) || fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		!S_ISREG(status.st_mode))
		return 0;
	return add(folder, name, (uint64_t)status.st_size, status.st_mtim);
}

static int
look(struct tripd_folder *folder)
{
	int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), ret = 0;
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (dir == NULL) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	while (ret == 0 && (entry = readdir(dir)) != NULL)
		ret = note(folder, entry->d_name);
	closedir(dir);
	if (folder->n > 0)
		qsort(folder->files, folder->n, sizeof(*folder->files), by_time);
	return ret;
}

int
tripd_folder_open(
	struct tripd_folder *folder, const char *path, size_t files_max, uint64_t bytes_max)
{
	*folder = (struct tripd_folder){.fd = -1, .files_max = files_max, .bytes_max = bytes_max};
	if (realpath(path, folder->path) == NULL)
		return -errno;
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->fd < 0)
		return -errno;
	if (flock(folder->fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (faccessat(folder->fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
		return -errno;
	return look(folder);
}

void
tripd_folder_close(struct tripd_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	folder->fd = -1;
	for (size_t i = 0; i < folder->n; i++)
		free(folder->files[i].name);
	free(folder->files);
	folder->files = NULL;
	folder->n = folder->room = 0;
}

/* ---- one more ---------------------------------------------------------------------------------
 */

/* What somebody else has taken away is gone as well. */
static void
delete_oldest(struct tripd_folder *folder)
{
	struct tripd_folder_file *oldest = &folder->files[0];

	if (unlinkat(folder->fd, oldest->name, 0) == 0)
		folder->deleted++;
	folder->bytes -= oldest->bytes;
	free(oldest->name);
	memmove(oldest, oldest + 1, --folder->n * sizeof(*oldest));
}

/* Nanoseconds; version 2.4; no time zone; any length; Ethernet. */
static int
write_capture(int fd, const void *records, size_t size)
{
	static const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, accuracy, length, link;
	} header = {0xa1b23c4d, 2, 4, 0, 0, 262144, 1};
	int ret;

	_Static_assert(sizeof(header) == TRIPD_SAMPLE_HEADER, "as a file of capture has it");
	ret = write_all(fd, &header, sizeof(header));
	return ret == 0 ? write_all(fd, records, size) : ret;
}

/* By another name first, so that nobody finds a part of it. */
static int
write_file(const struct tripd_folder *folder, const char *name, const void *records, size_t size)
{
	char part[NAME_MAX + 1];
	int fd, ret;

	if (snprintf(part, sizeof(part), PART "%s", name) >= (int)sizeof(part))
		return -ENAMETOOLONG;
	fd = openat(folder->fd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		return -errno;
	ret = write_capture(fd, records, size);
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && renameat(folder->fd, part, folder->fd, name) != 0)
		ret = -errno;
	if (ret != 0)
		unlinkat(folder->fd, part, 0);
	return ret;
}

int
tripd_folder_write(struct tripd_folder *folder, const char *name, const void *records, size_t size)
{
	const uint64_t bytes = TRIPD_SAMPLE_HEADER + size;
	int ret;

	while (folder->n > 0 &&
		(folder->n >= folder->files_max || folder->bytes + bytes > folder->bytes_max))
		delete_oldest(folder);
	ret = write_file(folder, name, records, size);
	if (ret != 0)
		return ret;
	ret = add(folder, name, bytes, (struct timespec){0});
	if (ret != 0)
		unlinkat(folder->fd, name, 0);
	return ret;
}
