/* SPDX-License-Identifier: BSD-3-Clause */
/* What all memories need that answer the calls of trip_atomics.h. */
#ifndef TRIP_ATOMICS_MEMORY_H
#define TRIP_ATOMICS_MEMORY_H

#include <string.h>

#include "trip_atomics.h"

static inline uint64_t
trip_atomics_get(const volatile void *where, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)(uintptr_t)where, size);
	return value;
}

static inline uint64_t
trip_atomics_changed(enum trip_atomics_change change, uint64_t value, uint64_t operand)
{
	switch (change) {
	case TRIP_ATOMICS_ADD:
		return value + operand;
	case TRIP_ATOMICS_SUB:
		return value - operand;
	case TRIP_ATOMICS_OR:
		return value | operand;
	case TRIP_ATOMICS_AND:
		return value & operand;
	case TRIP_ATOMICS_STORE:
	case TRIP_ATOMICS_EXCHANGE:
		break;
	}
	return operand;
}

static inline bool
trip_atomics_acquires(memory_order order)
{
	return order != memory_order_relaxed && order != memory_order_release;
}

static inline bool
trip_atomics_releases(memory_order order)
{
	return order == memory_order_release || order == memory_order_acq_rel ||
	       order == memory_order_seq_cst;
}

#endif
