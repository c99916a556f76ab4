/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors and what they are of: each is of a file description, which other descriptors, of
 * children of fork() too, and messages on their way may be of as well. It ends with the last.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim_machine_inside.h"

int __real_close(int fd);
int __wrap_close(int fd);
ssize_t __real_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __real_eventfd(unsigned int count, int flags);
int __wrap_eventfd(unsigned int count, int flags);
int __real_getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit);
int __wrap_getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit);

int
sim_refuse(int error)
{
	errno = error;
	return -1;
}

/* --- files --- */

struct sim_file *
sim_file_make(const struct sim_file_kind *kind)
{
	struct sim_file *file = calloc(1, sizeof(*file));

	if (file == NULL)
		abort();
	file->kind = kind;
	file->word = &file->own_word;
	file->next = machine.files;
	machine.files = file;
	return file;
}

void
sim_file_hold(struct sim_file *file)
{
	file->refs++;
}

void
sim_file_drop(struct sim_file *file)
{
	if (--file->refs > 0)
		return;
	sim_epoll_gone(file);
	if (file->kind->end != NULL)
		file->kind->end(file);
	sim_changed();
}

void
sim_file_changed(struct sim_file *file)
{
	sim_epoll_changed(file);
	sim_changed();
}

void
sim_file_keep(struct sim_file *file)
{
	struct sim_file **held = machine.held[sim_self()];

	for (unsigned int i = 0; i < SIM_HELD; i++)
		if (held[i] == NULL) {
			held[i] = file;
			sim_file_hold(file);
			return;
		}
	sim_fail("a call keeps more files than there is room for");
}

void
sim_file_keep_none(unsigned int actor)
{
	for (unsigned int i = 0; i < SIM_HELD; i++) {
		struct sim_file *file = machine.held[actor][i];

		machine.held[actor][i] = NULL;
		if (file != NULL)
			sim_file_drop(file);
	}
}

/* Their memory is no other file's before the history has ended. */
void
sim_files_end(void)
{
	while (machine.files != NULL) {
		struct sim_file *file = machine.files;

		machine.files = file->next;
		free(file->socket);
		free(file->epoll);
		free(file);
	}
}

/* --- descriptors --- */

/* 0 to 2 are nobody's. */
#define FIRST 3

static int
free_fd(const struct sim_process *process)
{
	for (unsigned int fd = FIRST; fd < process->files; fd++)
		if (process->fds[fd].file == NULL)
			return (int)fd;
	return sim_refuse(EMFILE);
}

bool
sim_fd_is_free(void)
{
	return !sim_fault_comes(SIM_FAULT_FILES) && free_fd(sim_process_self()) >= 0;
}

int
sim_fd_open(struct sim_file *file, bool cloexec)
{
	struct sim_process *self = sim_process_self();
	int fd = free_fd(self);

	if (fd < 0)
		return fd;
	self->fds[fd] = (struct sim_fd){file, cloexec};
	sim_file_hold(file);
	return fd;
}

struct sim_file *
sim_fd_of(const struct sim_process *process, int fd)
{
	return fd >= 0 && fd < SIM_FILES ? process->fds[fd].file : NULL;
}

struct sim_file *
sim_fd_enter(int fd, const char *call)
{
	struct sim_process *self = sim_process_self();
	struct sim_file *file = sim_fd_of(self, fd);

	if (file != NULL)
		sim_call(file->word, call, fd);
	file = sim_fd_of(self, fd);
	sim_expect(file != NULL, "%s calls %s() of descriptor %d, which is not open", self->name,
		call, fd);
	return file;
}

void
sim_fds_copy(const struct sim_process *from, struct sim_process *to)
{
	memcpy(to->fds, from->fds, sizeof(to->fds));
	for (unsigned int fd = 0; fd < SIM_FILES; fd++)
		if (to->fds[fd].file != NULL)
			sim_file_hold(to->fds[fd].file);
}

void
sim_fds_close(struct sim_process *process, bool on_exec)
{
	for (unsigned int fd = 0; fd < SIM_FILES; fd++) {
		struct sim_file *file = process->fds[fd].file;

		if (file == NULL || (on_exec && !process->fds[fd].cloexec))
			continue;
		process->fds[fd].file = NULL;
		sim_file_drop(file);
	}
}

unsigned int
sim_files_of(const struct sim_process *process)
{
	unsigned int n = 0;

	for (unsigned int fd = 0; fd < SIM_FILES; fd++)
		n += process->fds[fd].file != NULL;
	return n;
}

int
__wrap_close(int fd)
{
	struct sim_file *file;

	if (sim_process_self() == NULL)
		return __real_close(fd);
	file = sim_fd_enter(fd, "close");
	sim_process_self()->fds[fd].file = NULL;
	sim_tell("closes %s %d", file->kind->name, fd);
	sim_file_drop(file);
	return 0;
}

ssize_t
__wrap_read(int fd, void *bytes, size_t size)
{
	struct sim_file *file;
	ssize_t got;

	if (sim_process_self() == NULL)
		return __real_read(fd, bytes, size);
	file = sim_fd_enter(fd, "read");
	sim_expect(file->kind->read != NULL, "a %s is not read in here", file->kind->name);
	sim_file_keep(file);
	got = file->kind->read(file, bytes, size, !file->nonblocking);
	sim_file_keep_none(sim_self());
	return got;
}

ssize_t
__wrap_write(int fd, const void *bytes, size_t size)
{
	struct sim_file *file;

	if (sim_process_self() == NULL)
		return __real_write(fd, bytes, size);
	file = sim_fd_enter(fd, "write");
	sim_expect(file->kind->write != NULL, "a %s is not written in here", file->kind->name);
	return file->kind->write(file, bytes, size);
}

int
__wrap_fcntl64(int fd, int command, ...)
{
	struct sim_file *file;
	va_list args;
	long arg;

	va_start(args, command);
	arg = va_arg(args, long);
	va_end(args);
	if (sim_process_self() == NULL)
		return __real_fcntl64(fd, command, arg);
	file = sim_fd_enter(fd, "fcntl");
	switch (command) {
	case F_DUPFD_CLOEXEC:
		return sim_fd_is_free() ? sim_fd_open(file, true) : sim_refuse(EMFILE);
	case F_SETFL:
		file->nonblocking = (arg & O_NONBLOCK) != 0;
		return 0;
	case F_ADD_SEALS:
		return 0;
	}
	sim_fail("fcntl() %d is not simulated", command);
}

int
__wrap_getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit)
{
	if (sim_process_self() == NULL)
		return __real_getrlimit64(resource, limit);
	limit->rlim_cur = limit->rlim_max = sim_process_self()->files;
	return 0;
}

/* --- eventfd --- */

static short
eventfd_ready(const struct sim_file *file)
{
	return file->count > 0 ? POLLIN | POLLOUT : POLLOUT;
}

static bool
has_count(void *arg)
{
	return ((const struct sim_file *)arg)->count > 0;
}

static ssize_t
read_count(struct sim_file *file, void *bytes, size_t size, bool waits)
{
	if (!waits && file->count == 0)
		return sim_refuse(EAGAIN);
	if (sim_wait_ends(has_count, file, 0))
		return sim_refuse(EINTR);
	memcpy(bytes, &file->count, sizeof(file->count));
	file->count = 0;
	return sizeof(file->count);
}

static ssize_t
write_count(struct sim_file *file, const void *bytes, size_t size)
{
	uint64_t more;

	memcpy(&more, bytes, sizeof(more));
	file->count += more;
	sim_file_changed(file);
	return sizeof(more);
}

static const struct sim_file_kind eventfd_kind = {
	.name = "eventfd", .ready = eventfd_ready, .read = read_count, .write = write_count};

int
__wrap_eventfd(unsigned int count, int flags)
{
	struct sim_file *file;

	if (sim_process_self() == NULL)
		return __real_eventfd(count, flags);
	sim_call(&machine.word, "eventfd", 0);
	if (!sim_fd_is_free())
		return sim_refuse(EMFILE);
	file = sim_file_make(&eventfd_kind);
	file->count = count;
	file->nonblocking = (flags & EFD_NONBLOCK) != 0;
	return sim_fd_open(file, (flags & EFD_CLOEXEC) != 0);
}

/* --- pidfd --- */

static short
pidfd_ready(const struct sim_file *file)
{
	return file->process->lives ? 0 : POLLIN;
}

static const struct sim_file_kind pidfd_kind = {.name = "pidfd", .ready = pidfd_ready};

const struct sim_process *
sim_process_of_pidfd(const struct sim_process *process, int fd)
{
	const struct sim_file *file = sim_fd_of(process, fd);

	return file != NULL ? file->process : NULL;
}

int
sim_pidfd_of(const struct sim_process *process)
{
	struct sim_file *file;

	if (!sim_fd_is_free())
		return sim_refuse(EMFILE);
	file = sim_file_make(&pidfd_kind);
	file->process = process;
	return sim_fd_open(file, true);
}

/* Whoever has ended is known to nobody by his pid: its parent has waited for it. */
long
sim_pidfd_open(int pid)
{
	sim_call(&machine.word, "pidfd_open", pid);
	for (unsigned int i = 0; i < machine.n_processes; i++) {
		const struct sim_process *process = &machine.processes[i];

		if (process->pid == pid && process->lives)
			return sim_pidfd_of(process);
	}
	return sim_refuse(ESRCH);
}
