/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that have names: sockets, the locks beside them, and what /proc tells of processes. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim_machine_inside.h"

#define INODES 64
#define BYTES 8192

struct sim_inode {
	char path[128];
	/* It has that name still. */
	bool linked;
	mode_t mode;
	uid_t uid;
	char bytes[BYTES];
	size_t size;
	/* Who has it locked; who listens there. */
	const struct sim_file *lock;
	struct sim_file *listener;
	uint32_t word;
};

static struct sim_inode *inodes;
static unsigned int n_inodes;

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __real_chmod(const char *path, mode_t mode);
int __wrap_chmod(const char *path, mode_t mode);
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __real_lstat64(const char *path, struct stat64 *status);
int __wrap_lstat64(const char *path, struct stat64 *status);
int __real_stat64(const char *path, struct stat64 *status);
int __wrap_stat64(const char *path, struct stat64 *status);
int __real_fstat64(int fd, struct stat64 *status);
int __wrap_fstat64(int fd, struct stat64 *status);
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
ssize_t __real_pread64(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_pread64(int fd, void *bytes, size_t size, off_t offset);
ssize_t __real_pwrite64(int fd, const void *bytes, size_t size, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t size, off_t offset);
int __real_ftruncate64(int fd, off_t size);
int __wrap_ftruncate64(int fd, off_t size);
FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);

void
sim_folder_begin(void)
{
	inodes = calloc(INODES, sizeof(*inodes));
	if (inodes == NULL)
		abort();
	n_inodes = 0;
}

void
sim_folder_end(void)
{
	free(inodes);
	inodes = NULL;
}

struct sim_inode *
sim_inode_of(const char *path)
{
	for (unsigned int i = 0; i < n_inodes; i++)
		if (inodes[i].linked && strcmp(inodes[i].path, path) == 0)
			return &inodes[i];
	return NULL;
}

struct sim_inode *
sim_inode_make(const char *path, mode_t mode)
{
	struct sim_inode *inode = &inodes[n_inodes++];

	if (n_inodes == INODES)
		sim_fail("more files than there is room for");
	snprintf(inode->path, sizeof(inode->path), "%s", path);
	inode->linked = true;
	inode->mode = mode;
	inode->uid = sim_process_self()->uid;
	return inode;
}

struct sim_file *
sim_inode_listener(const struct sim_inode *inode)
{
	return inode->listener;
}

void
sim_inode_listen(struct sim_inode *inode, struct sim_file *listener)
{
	inode->listener = listener;
}

/* --- by name --- */

int
__wrap_mkdir(const char *path, mode_t mode)
{
	if (sim_process_self() == NULL)
		return __real_mkdir(path, mode);
	sim_call(&machine.word, "mkdir", 0);
	if (sim_inode_of(path) != NULL)
		return sim_refuse(EEXIST);
	(void)sim_inode_make(path, S_IFDIR | mode);
	return 0;
}

int
__wrap_chmod(const char *path, mode_t mode)
{
	if (sim_process_self() == NULL)
		return __real_chmod(path, mode);
	sim_call(&machine.word, "chmod", 0);
	return sim_inode_of(path) != NULL ? 0 : sim_refuse(ENOENT);
}

int
__wrap_unlink(const char *path)
{
	struct sim_inode *inode;

	if (sim_process_self() == NULL)
		return __real_unlink(path);
	sim_call(&machine.word, "unlink", 0);
	inode = sim_inode_of(path);
	if (inode == NULL)
		return sim_refuse(ENOENT);
	sim_tell("unlinks %s", path);
	inode->linked = false;
	return 0;
}

/* /proc/PID: whose process that is. */
static const struct sim_process *
process_of(const char *path)
{
	int pid;

	if (sscanf(path, "/proc/%d", &pid) != 1)
		return NULL;
	for (unsigned int i = 0; i < machine.n_processes; i++)
		if (machine.processes[i].pid == pid && machine.processes[i].lives)
			return &machine.processes[i];
	return NULL;
}

static int
tell_status(const struct sim_inode *inode, struct stat64 *status)
{
	*status = (struct stat64){.st_mode = inode->mode,
		.st_uid = inode->uid,
		.st_ino = (ino_t)(inode - inodes) + 1,
		.st_dev = 1};
	return 0;
}

int
__wrap_lstat64(const char *path, struct stat64 *status)
{
	const struct sim_inode *inode;

	if (sim_process_self() == NULL)
		return __real_lstat64(path, status);
	sim_call(&machine.word, "lstat", 0);
	inode = sim_inode_of(path);
	return inode != NULL ? tell_status(inode, status) : sim_refuse(ENOENT);
}

int
__wrap_stat64(const char *path, struct stat64 *status)
{
	const struct sim_process *process;
	const struct sim_inode *inode;

	if (sim_process_self() == NULL)
		return __real_stat64(path, status);
	sim_call(&machine.word, "stat", 0);
	inode = sim_inode_of(path);
	if (inode != NULL)
		return tell_status(inode, status);
	process = process_of(path);
	if (process == NULL)
		return sim_refuse(ENOENT);
	*status = (struct stat64){.st_mode = S_IFDIR | 0555, .st_uid = process->uid};
	return 0;
}

/* What the library reads of /proc/PID/stat: its state, and when it has started. */
FILE *
__wrap_fopen64(const char *path, const char *mode)
{
	const struct sim_process *process;
	char text[256];
	FILE *file;
	int length;

	if (sim_process_self() == NULL)
		return __real_fopen64(path, mode);
	sim_call(&machine.word, "open", 0);
	process = process_of(path);
	if (process == NULL) {
		errno = ENOENT;
		return NULL;
	}
	length = snprintf(text, sizeof(text),
		"%d (%s) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0\n", (int)process->pid,
		process->name, (unsigned long long)process->started);
	file = fmemopen(NULL, sizeof(text), "w+");
	if (file == NULL)
		abort();
	fwrite(text, 1, (size_t)length, file);
	rewind(file);
	return file;
}

/* --- by descriptor --- */

static short
regular_ready(const struct sim_file *file)
{
	return POLLIN | POLLOUT;
}

static void
regular_end(struct sim_file *file)
{
	if (file->inode->lock == file)
		file->inode->lock = NULL;
}

static const struct sim_file_kind regular_kind = {
	.name = "file", .ready = regular_ready, .end = regular_end};

int
__wrap_open64(const char *path, int flags, ...)
{
	struct sim_inode *inode;
	struct sim_file *file;

	if (sim_process_self() == NULL)
		return __real_open64(path, flags, 0600);
	sim_call(&machine.word, "open", 0);
	inode = sim_inode_of(path);
	if (!sim_fd_is_free())
		return sim_refuse(EMFILE);
	if (inode == NULL && (flags & O_CREAT) == 0)
		return sim_refuse(ENOENT);
	if (inode == NULL)
		inode = sim_inode_make(path, S_IFREG | 0644);
	file = sim_file_make(&regular_kind);
	file->inode = inode;
	file->word = &inode->word;
	return sim_fd_open(file, (flags & O_CLOEXEC) != 0);
}

int
__wrap_fstat64(int fd, struct stat64 *status)
{
	if (sim_process_self() == NULL)
		return __real_fstat64(fd, status);
	return tell_status(sim_fd_enter(fd, "fstat")->inode, status);
}

int
__wrap_flock(int fd, int operation)
{
	struct sim_file *file;

	if (sim_process_self() == NULL)
		return __real_flock(fd, operation);
	file = sim_fd_enter(fd, "flock");
	if (file->inode->lock != NULL && file->inode->lock != file)
		return sim_refuse(EWOULDBLOCK);
	file->inode->lock = file;
	return 0;
}

ssize_t
__wrap_pread64(int fd, void *bytes, size_t size, off_t offset)
{
	const struct sim_inode *inode;
	size_t left;

	if (sim_process_self() == NULL)
		return __real_pread64(fd, bytes, size, offset);
	inode = sim_fd_enter(fd, "pread")->inode;
	left = (size_t)offset < inode->size ? inode->size - (size_t)offset : 0;
	left = left < size ? left : size;
	memcpy(bytes, inode->bytes + offset, left);
	return (ssize_t)left;
}

ssize_t
__wrap_pwrite64(int fd, const void *bytes, size_t size, off_t offset)
{
	struct sim_inode *inode;

	if (sim_process_self() == NULL)
		return __real_pwrite64(fd, bytes, size, offset);
	inode = sim_fd_enter(fd, "pwrite")->inode;
	if ((size_t)offset + size > BYTES)
		return sim_refuse(ENOSPC);
	memcpy(inode->bytes + offset, bytes, size);
	if (inode->size < (size_t)offset + size)
		inode->size = (size_t)offset + size;
	return (ssize_t)size;
}

int
__wrap_ftruncate64(int fd, off_t size)
{
	struct sim_file *file;

	if (sim_process_self() == NULL)
		return __real_ftruncate64(fd, size);
	file = sim_fd_enter(fd, "ftruncate");
	if (!sim_memory_resize(file, (size_t)size))
		file->inode->size = (size_t)size;
	return 0;
}
