/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow as more is to be kept. */
#ifndef TRIPD_GROW_H
#define TRIPD_GROW_H

#include <stddef.h>

/*
 * Array `array`, a pointer to its entries or to NULL, has room for `*room` of them, each of `size`:
 * it gets room for `n`, twice what it had where that is more, but never for more than `most`. 0;
 * -ENOSPC: that is more; -ENOMEM: it is as it was.
 */
int tripd_grow(void *array, size_t *room, size_t n, size_t most, size_t size);

#endif
