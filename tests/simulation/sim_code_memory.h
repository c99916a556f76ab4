/* SPDX-License-Identifier: BSD-3-Clause */
/* What sim_code.h has the library call, for whoever does it. */
#ifndef SIM_CODE_MEMORY_H
#define SIM_CODE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

uint64_t sim_tsc(void);
void sim_spin(void);

void *sim_malloc(size_t size);
void *sim_calloc(size_t n, size_t size);
void *sim_realloc(void *memory, size_t size);
void *sim_aligned_alloc(size_t alignment, size_t size);
char *sim_strndup(const char *text, size_t size);
void sim_free(void *memory);

#endif
