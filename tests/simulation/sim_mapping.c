/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that processes map: of their own, or that of a file which has no name and goes along with
 * a message. It is there for as long as anybody has it open or mapped.
 */
#include <string.h>
#include <sys/mman.h>

#include "sim_code_memory.h"
#include "sim_machine_inside.h"

int __real_memfd_create(const char *name, unsigned int flags);
int __wrap_memfd_create(const char *name, unsigned int flags);
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *memory, size_t size);
int __wrap_munmap(void *memory, size_t size);

/* --- files --- */

static short
memory_ready(const struct sim_file *file)
{
	return POLLIN | POLLOUT;
}

static void
memory_end(struct sim_file *file)
{
	if (file->memory != NULL)
		sim_piece_give(file->memory);
	file->memory = NULL;
}

static const struct sim_file_kind memory_kind = {
	.name = "memory file", .ready = memory_ready, .end = memory_end};

int
__wrap_memfd_create(const char *name, unsigned int flags)
{
	if (sim_process_self() == NULL)
		return __real_memfd_create(name, flags);
	sim_call(&machine.word, "memfd_create", 0);
	if (!sim_fd_is_free())
		return sim_refuse(EMFILE);
	return sim_fd_open(sim_file_make(&memory_kind), (flags & MFD_CLOEXEC) != 0);
}

bool
sim_memory_resize(struct sim_file *file, size_t size)
{
	if (file->kind != &memory_kind)
		return false;
	sim_expect(file->memory == NULL, "a memory file changes its size");
	file->memory = sim_piece_take(size);
	file->size = size;
	return true;
}

/* --- mappings --- */

static void *
map(struct sim_process *self, struct sim_file *file, size_t size)
{
	sim_expect(file->memory != NULL && size <= file->size,
		"%s maps more of a file than there is", self->name);
	if (sim_fault_comes(SIM_FAULT_MEMORY)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	for (unsigned int i = 0; i < SIM_MAPPINGS; i++)
		if (self->mappings[i] == NULL) {
			self->mappings[i] = file;
			sim_file_hold(file);
			return file->memory;
		}
	sim_fail("more mappings than there is room for");
}

unsigned int
sim_mappings_of(const struct sim_process *process)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < SIM_MAPPINGS; i++)
		n += process->mappings[i] != NULL;
	return n;
}

void
sim_mappings_copy(const struct sim_process *from, struct sim_process *to)
{
	memcpy(to->mappings, from->mappings, sizeof(to->mappings));
	for (unsigned int i = 0; i < SIM_MAPPINGS; i++)
		if (to->mappings[i] != NULL)
			sim_file_hold(to->mappings[i]);
}

void
sim_mappings_end(struct sim_process *process)
{
	for (unsigned int i = 0; i < SIM_MAPPINGS; i++) {
		struct sim_file *file = process->mappings[i];

		process->mappings[i] = NULL;
		if (file != NULL)
			sim_file_drop(file);
	}
}

void *
__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	struct sim_process *self = sim_process_self();
	void *memory;

	if (self == NULL)
		return __real_mmap64(at, size, protection, flags, fd, offset);
	if (fd >= 0)
		return map(self, sim_fd_enter(fd, "mmap"), size);
	memory = sim_aligned_alloc(4096, size);
	return memory != NULL ? memory : MAP_FAILED;
}

int
__wrap_munmap(void *memory, size_t size)
{
	struct sim_process *self = sim_process_self();
	bool is_exchanged;

	if (sim_heap_has(memory, &is_exchanged)) {
		sim_free(memory);
		return 0;
	}
	for (unsigned int i = 0; self != NULL && i < SIM_MAPPINGS; i++) {
		struct sim_file *file = self->mappings[i];

		if (file == NULL || file->memory != memory)
			continue;
		self->mappings[i] = NULL;
		sim_file_drop(file);
		return 0;
	}
	sim_expect(self == NULL, "%s unmaps what it has not mapped", self->name);
	return __real_munmap(memory, size);
}
