/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes huge pages from the kernel, and frees what nobody reads any more. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memory.h"

#define HUGE_PAGE ((size_t)2 << 20)

/* In front of each piece of memory, a cache line of its own. */
struct trip_memory_block {
	_Alignas(64) struct trip_memory_block *next;
	uint64_t stamp;
	void *mapping; /* NULL: from malloc */
	size_t mapped;
};

static struct trip_memory_block *
block_of(void *memory)
{
	return (struct trip_memory_block *)memory - 1;
}

/* A mapping whose memory starts on a huge page; the block before it touches a small page. */
static void *
map(size_t size)
{
	size_t mapped = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE + HUGE_PAGE;
	void *mapping = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t memory;

	if (mapping == MAP_FAILED)
		return NULL;
	memory = ((uintptr_t)mapping + sizeof(struct trip_memory_block) + HUGE_PAGE - 1) /
		 HUGE_PAGE * HUGE_PAGE;
	/* Only a wish: where the kernel has none to give, pages of 4 KiB do. */
	(void)madvise((void *)memory, mapped - HUGE_PAGE, MADV_HUGEPAGE);
	block_of((void *)memory)->mapping = mapping;
	block_of((void *)memory)->mapped = mapped;
	return (void *)memory;
}

static void *
take(size_t size, int touch)
{
	size_t total = size + sizeof(struct trip_memory_block);
	struct trip_memory_block *block;
	void *memory;

	if (total < size)
		return NULL;
	if (total >= HUGE_PAGE) {
		memory = map(size);
		if (memory != NULL && touch)
			memset(memory, 0, size);
		return memory;
	}
	total = (total + 63) / 64 * 64;
	block = aligned_alloc(64, total);
	if (block == NULL)
		return NULL;
	memset(block, 0, total);
	return block + 1;
}

void *
trip_memory_take(size_t size)
{
	return take(size, 1);
}

void *
trip_memory_reserve(size_t size)
{
	return take(size, 0);
}

void
trip_memory_give(void *memory)
{
	struct trip_memory_block *block;

	if (memory == NULL)
		return;
	block = block_of(memory);
	if (block->mapping != NULL)
		munmap(block->mapping, block->mapped);
	else
		free(block);
}

void
trip_memory_retire(struct trip_memory_retired *retired, void *memory, struct trip_era *era)
{
	struct trip_memory_block *block = block_of(memory);

	block->stamp = trip_era_retire(era);
	block->next = retired->first;
	retired->first = block;
}

void
trip_memory_reclaim(struct trip_memory_retired *retired, struct trip_era *era)
{
	struct trip_memory_block **link = &retired->first;

	while (*link != NULL) {
		struct trip_memory_block *block = *link;

		if (!trip_era_safe(era, block->stamp)) {
			link = &block->next;
			continue;
		}
		*link = block->next;
		trip_memory_give(block + 1);
	}
}

void
trip_memory_drain(struct trip_memory_retired *retired)
{
	while (retired->first != NULL) {
		struct trip_memory_block *block = retired->first;

		retired->first = block->next;
		trip_memory_give(block + 1);
	}
}
