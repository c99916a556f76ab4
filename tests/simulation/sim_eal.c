/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that processes share by EAL. What the primary gives back is gone for all, and whoever
 * looks at it fails; or it is the next one's, as the history has it.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_memzone.h>

#include "sim_machine_inside.h"

#define ZONES 32
#define PIECES 512
#define ARENA ((size_t)256 << 20)
#define PAGE ((size_t)4096)

struct sim_eal {
	struct sim_eal *next;
	struct rte_memzone zones[ZONES];
	bool used[ZONES];
	uint32_t word;
};

static struct {
	char *base;
	size_t used;
	bool unmaps;
	struct {
		char *base;
		size_t size;
		bool taken;
	} pieces[PIECES];
	unsigned int n_pieces;
	uint64_t random;
	struct sigaction before;
} arena;

#define WRAP(type, name, args)   \
	type __real_##name args; \
	type __wrap_##name args
WRAP(const struct rte_memzone *, rte_memzone_reserve_aligned,
	(const char *name, size_t size, int socket, unsigned int flags, unsigned int align));
WRAP(int, rte_memzone_free, (const struct rte_memzone *zone));
WRAP(const struct rte_memzone *, rte_memzone_lookup, (const char *name));
WRAP(ssize_t, process_vm_readv,
	(pid_t pid, const struct iovec *here, unsigned long n_here, const struct iovec *there,
		unsigned long n_there, unsigned long flags));
WRAP(ssize_t, getrandom, (void *bytes, size_t size, unsigned int flags));
#undef WRAP

/* --- the memory that is shared --- */

static bool
is_in_arena(const void *memory)
{
	return (const char *)memory >= arena.base && (const char *)memory < arena.base + ARENA;
}

bool
sim_zone_is_there(const void *memory, size_t size)
{
	for (unsigned int i = 0; i < arena.n_pieces; i++)
		if (arena.pieces[i].taken && (const char *)memory >= arena.pieces[i].base &&
			(const char *)memory + size <= arena.pieces[i].base + arena.pieces[i].size)
			return true;
	return false;
}

/* A process ends by it; otherwise it is the simulator's. */
static void
fault(int number, siginfo_t *info, void *context)
{
	if (sim_process_self() != NULL)
		sim_fail("%s touches %s", sim.self->name,
			is_in_arena(info->si_addr) ? "shared memory that has been given back"
						   : "memory that it has not");
	sigaction(SIGSEGV, &arena.before, NULL);
}

void
sim_eal_begin(bool unmaps)
{
	const struct sigaction action = {
		.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

	if (arena.base == NULL) {
		arena.base = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (arena.base == MAP_FAILED)
			abort();
		sigaction(SIGSEGV, &action, &arena.before);
	}
	arena.unmaps = unmaps;
	arena.random = 0;
}

void
sim_eal_end(void)
{
	while (machine.eals != NULL) {
		struct sim_eal *eal = machine.eals;

		machine.eals = eal->next;
		free(eal);
	}
	mprotect(arena.base, arena.used, PROT_READ | PROT_WRITE);
	memset(arena.base, 0, arena.used);
	arena.used = 0;
	arena.n_pieces = 0;
}

void
sim_eal_start(struct sim_process *process)
{
	if (process->primary) {
		process->eal = calloc(1, sizeof(*process->eal));
		if (process->eal == NULL)
			abort();
		process->eal->next = machine.eals;
		machine.eals = process->eal;
		machine.last_eal = process->eal;
	}
	process->eal = machine.last_eal;
}

unsigned int
sim_zones_of(const struct sim_process *process)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ZONES; i++)
		n += process->eal->used[i];
	return n;
}

void *
sim_piece_take(size_t size)
{
	size = (size + PAGE - 1) / PAGE * PAGE;
	for (unsigned int i = 0; !arena.unmaps && i < arena.n_pieces; i++)
		if (!arena.pieces[i].taken && arena.pieces[i].size == size) {
			arena.pieces[i].taken = true;
			return arena.pieces[i].base;
		}
	if (arena.n_pieces == PIECES || arena.used + size > ARENA)
		sim_fail("more shared memory than there is room for");
	arena.pieces[arena.n_pieces].base = arena.base + arena.used;
	arena.pieces[arena.n_pieces].size = size;
	arena.pieces[arena.n_pieces].taken = true;
	arena.used += size;
	return arena.pieces[arena.n_pieces++].base;
}

void
sim_piece_give(const void *memory)
{
	for (unsigned int i = 0; i < arena.n_pieces; i++) {
		char *base = arena.pieces[i].base;

		if (base != memory)
			continue;
		arena.pieces[i].taken = false;
		memset(base, 0, arena.pieces[i].size);
		if (arena.unmaps)
			mprotect(base, arena.pieces[i].size, PROT_NONE);
	}
}

static struct rte_memzone *
find(struct sim_eal *eal, const char *name)
{
	for (unsigned int i = 0; i < ZONES; i++)
		if (eal->used[i] && strcmp(eal->zones[i].name, name) == 0)
			return &eal->zones[i];
	return NULL;
}

const struct rte_memzone *
__wrap_rte_memzone_reserve_aligned(
	const char *name, size_t size, int socket, unsigned int flags, unsigned int align)
{
	struct sim_eal *eal;
	unsigned int i = 0;

	if (sim_process_self() == NULL)
		return __real_rte_memzone_reserve_aligned(name, size, socket, flags, align);
	eal = sim_process_self()->eal;
	sim_call(&eal->word, "rte_memzone_reserve", 0);
	while (i < ZONES && eal->used[i])
		i++;
	if (find(eal, name) != NULL) {
		rte_errno = EEXIST;
		return NULL;
	}
	if (i == ZONES || sim_fault_comes(SIM_FAULT_MEMORY)) {
		rte_errno = ENOMEM;
		return NULL;
	}
	eal->used[i] = true;
	eal->zones[i] = (struct rte_memzone){.len = RTE_ALIGN_CEIL(size, align)};
	eal->zones[i].addr = sim_piece_take(eal->zones[i].len);
	snprintf(eal->zones[i].name, sizeof(eal->zones[i].name), "%s", name);
	return &eal->zones[i];
}

int
__wrap_rte_memzone_free(const struct rte_memzone *zone)
{
	struct sim_eal *eal;

	if (sim_process_self() == NULL)
		return __real_rte_memzone_free(zone);
	eal = sim_process_self()->eal;
	sim_call(&eal->word, "rte_memzone_free", 0);
	sim_expect(eal->used[zone - eal->zones], "a memzone is freed that is free");
	eal->used[zone - eal->zones] = false;
	sim_piece_give(zone->addr);
	memset(&eal->zones[zone - eal->zones], 0, sizeof(*zone));
	sim_changed();
	return 0;
}

const struct rte_memzone *
__wrap_rte_memzone_lookup(const char *name)
{
	struct sim_eal *eal;

	if (sim_process_self() == NULL)
		return __real_rte_memzone_lookup(name);
	eal = sim_process_self()->eal;
	if (eal == NULL)
		return NULL;
	sim_call(&eal->word, "rte_memzone_lookup", 0);
	return find(eal, name);
}

/* Of itself, where a load might fault. */
ssize_t
__wrap_process_vm_readv(pid_t pid, const struct iovec *here, unsigned long n_here,
	const struct iovec *there, unsigned long n_there, unsigned long flags)
{
	if (sim_process_self() == NULL)
		return __real_process_vm_readv(pid, here, n_here, there, n_there, flags);
	sim_call(&machine.word, "process_vm_readv", 0);
	if (is_in_arena(there->iov_base) && arena.unmaps &&
		!sim_zone_is_there(there->iov_base, there->iov_len))
		return sim_refuse(EFAULT);
	memcpy(here->iov_base, there->iov_base, there->iov_len);
	return (ssize_t)there->iov_len;
}

ssize_t
__wrap_getrandom(void *bytes, size_t size, unsigned int flags)
{
	uint64_t value;

	if (sim_process_self() == NULL)
		return __real_getrandom(bytes, size, flags);
	value = ++arena.random * UINT64_C(0x9e3779b97f4a7c15);
	memcpy(bytes, &value, size < sizeof(value) ? size : sizeof(value));
	return (ssize_t)size;
}
