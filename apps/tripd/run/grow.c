/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "grow.h"

#define FIRST ((size_t)64)

int
tripd_grow(void *array, size_t *room, size_t n, size_t most, size_t size)
{
	size_t more = RTE_MIN(RTE_MAX(RTE_MAX(2 * *room, FIRST), n), most);
	void *entries;

	if (n > most)
		return -ENOSPC;
	if (n <= *room)
		return 0;
	memcpy(&entries, array, sizeof(entries));
	entries = reallocarray(entries, more, size);
	if (entries == NULL)
		return -ENOMEM;
	memcpy(array, &entries, sizeof(entries));
	*room = more;
	return 0;
}
