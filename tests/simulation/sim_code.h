/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included first of all by the sources of the library where processes are simulated, beside
 * trip_atomics.h: what the compiler would put into the code itself, and a linker cannot replace.
 * Time and spinning are the simulator's. What is thread-local is a variable of a section, which is
 * exchanged with the actor; memory is of the process's own heap. The product knows nothing of it.
 */
#ifndef SIM_CODE_H
#define SIM_CODE_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "sim_code_memory.h"
#include "trip_atomics.h"

#define rte_rdtsc() sim_tsc()
#define rte_pause() sim_spin()

#define _Thread_local __attribute__((section("sim_thread")))

/* From DPDK 25.11 on its headers name what frees by malloc(), which is an attribute there. */
#undef __rte_dealloc
#define __rte_dealloc(dealloc, argument)
#define malloc(size) sim_malloc(size)
#define calloc(n, size) sim_calloc(n, size)
#define realloc(memory, size) sim_realloc(memory, size)
#define aligned_alloc(alignment, size) sim_aligned_alloc(alignment, size)
#define strndup(text, size) sim_strndup(text, size)
#define free(memory) sim_free(memory)

/* A flag is a byte. */
#undef atomic_flag_test_and_set_explicit
#undef atomic_flag_clear_explicit
static inline bool
sim_flag_test_and_set(volatile uint8_t *flag, memory_order order, struct trip_atomics_here here)
{
	uint8_t set = 1, before;

	trip_atomics_modify(flag, TRIP_ATOMICS_EXCHANGE, &set, &before, sizeof(set), order, here);
	return before != 0;
}

#define atomic_flag_test_and_set_explicit(flag, order) \
	sim_flag_test_and_set((volatile uint8_t *)(flag), order, TRIP_ATOMICS_HERE)
#define atomic_flag_clear_explicit(flag, order) \
	((void)TRIP_ATOMICS_MODIFY((volatile uint8_t *)(flag), STORE, 0, order))

#endif
