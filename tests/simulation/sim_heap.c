/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heap of each process. No address is given twice, and what was freed is overwritten, so that
 * whoever uses it still does not get far; a block that is freed twice is found at once.
 */
#include <string.h>
#include <sys/mman.h>

#include "sim_code_memory.h"
#include "sim_machine_inside.h"

#define SLOTS 96
#define SLOT_SIZE ((size_t)16 << 20)
#define FREED 0xdd

enum block_state {
	BLOCK_OPEN = 0x6f70656e,
	BLOCK_FREED = 0x66726565,
};

struct block {
	size_t size;
	uint64_t state;
};

static struct {
	char *base;
	struct {
		/* Whose it is just now, and how far it has ever been used. */
		struct sim_process *resident;
		size_t used;
		/* A child of fork() has had it, too. */
		bool is_exchanged;
	} slots[SLOTS];
} heap;

void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);

static char *
slot_of(const struct sim_process *process)
{
	return heap.base + process->heap.slot * SLOT_SIZE;
}

static bool
is_here(const void *memory)
{
	return heap.base != NULL && (const char *)memory >= heap.base &&
	       (const char *)memory < heap.base + SLOTS * SLOT_SIZE;
}

bool
sim_heap_has(const void *memory, bool *is_exchanged)
{
	if (!is_here(memory))
		return false;
	*is_exchanged =
		heap.slots[(size_t)((const char *)memory - heap.base) / SLOT_SIZE].is_exchanged;
	return true;
}

void
sim_heap_begin(void)
{
	if (heap.base == NULL)
		heap.base = __real_mmap64(NULL, SLOTS * SLOT_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (heap.base == MAP_FAILED)
		abort();
}

/* The next history finds zeros. */
void
sim_heap_end(void)
{
	for (unsigned int i = 0; i < SLOTS; i++)
		memset(heap.base + i * SLOT_SIZE, 0, heap.slots[i].used);
	memset(heap.slots, 0, sizeof(heap.slots));
}

void
sim_heap_take(struct sim_process *process)
{
	if (machine.n_slots == SLOTS)
		sim_fail("more heaps than there is room for");
	process->heap = (struct sim_heap){.slot = machine.n_slots++};
}

void
sim_heap_copy(const struct sim_process *from, struct sim_process *to)
{
	to->heap = from->heap;
	heap.slots[from->heap.slot].is_exchanged = true;
	to->heap.image = malloc(from->heap.used + 1);
	if (to->heap.image == NULL)
		abort();
	memcpy(to->heap.image, slot_of(from), from->heap.used);
}

static void
leave(struct sim_process *process)
{
	process->heap.image = malloc(process->heap.used + 1);
	if (process->heap.image == NULL)
		abort();
	memcpy(process->heap.image, slot_of(process), process->heap.used);
}

void
sim_heap_enter(struct sim_process *process)
{
	struct sim_process **resident = &heap.slots[process->heap.slot].resident;

	if (*resident == process)
		return;
	if (*resident != NULL)
		leave(*resident);
	if (process->heap.image != NULL)
		memcpy(slot_of(process), process->heap.image, process->heap.used);
	free(process->heap.image);
	process->heap.image = NULL;
	*resident = process;
}

void
sim_heap_give(struct sim_process *process)
{
	if (heap.slots[process->heap.slot].resident == process)
		heap.slots[process->heap.slot].resident = NULL;
	free(process->heap.image);
	process->heap.image = NULL;
}

unsigned int
sim_blocks_of(const struct sim_process *process)
{
	return process->heap.blocks + sim_mappings_of(process);
}

/* --- blocks --- */

static void *
take(size_t alignment, size_t size)
{
	struct sim_process *self = sim_process_self();
	size_t at, end, *used;
	struct block *block;

	/* Who judges takes nothing of anybody. */
	if (self == NULL || sim.self->looks)
		return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
	at = (self->heap.used + sizeof(*block) + alignment - 1) / alignment * alignment;
	end = at + size;
	if (end > SLOT_SIZE)
		sim_fail("%s has taken more memory than there is", self->name);
	used = &heap.slots[self->heap.slot].used;
	*used = end > *used ? end : *used;
	self->heap.used = end;
	self->heap.blocks++;
	block = (struct block *)(slot_of(self) + at) - 1;
	*block = (struct block){.size = size, .state = BLOCK_OPEN};
	return block + 1;
}

static void
give(void *memory)
{
	struct sim_process *self = sim_process_self();
	struct block *block = (struct block *)memory - 1;

	sim_expect(self != NULL, "memory of a process is freed by nobody");
	sim_expect(block->state == BLOCK_OPEN, "%s frees what %s", self->name,
		block->state == BLOCK_FREED ? "it has freed already" : "is none of its heap");
	block->state = BLOCK_FREED;
	memset(memory, FREED, block->size);
	self->heap.blocks--;
}

void *
sim_malloc(size_t size)
{
	return sim_aligned_alloc(16, size);
}

void *
sim_calloc(size_t n, size_t size)
{
	void *memory = sim_malloc(n * size);

	return memory != NULL ? memset(memory, 0, n * size) : NULL;
}

void *
sim_aligned_alloc(size_t alignment, size_t size)
{
	if (!sim_fault_comes(SIM_FAULT_MEMORY))
		return take(alignment, size);
	errno = ENOMEM;
	return NULL;
}

void
sim_free(void *memory)
{
	if (is_here(memory))
		give(memory);
	else
		free(memory);
}

void *
sim_realloc(void *memory, size_t size)
{
	void *grown;

	if (memory != NULL && !is_here(memory))
		return realloc(memory, size);
	grown = sim_malloc(size);
	if (memory != NULL && grown != NULL) {
		size_t before = ((struct block *)memory - 1)->size;

		memcpy(grown, memory, before < size ? before : size);
		give(memory);
	}
	return grown;
}

char *
sim_strndup(const char *text, size_t size)
{
	size_t length = strnlen(text, size);
	char *copy = sim_malloc(length + 1);

	if (copy == NULL)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}
