/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the atomic accesses and fences of a source that is compiled with `-include` of this calls,
 * which a memory of the test's answers: model/weak_memory.c, simulation/sim_memory.c. The product
 * knows nothing of it. Plain accesses stay what they are. atomic_init() is a store like any other,
 * by whatever compiler: of what has been there before others may know.
 */
#ifndef TRIP_ATOMICS_H
#define TRIP_ATOMICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trip_atomics_change {
	TRIP_ATOMICS_STORE,
	TRIP_ATOMICS_EXCHANGE,
	TRIP_ATOMICS_ADD,
	TRIP_ATOMICS_SUB,
	TRIP_ATOMICS_OR,
	TRIP_ATOMICS_AND,
};

/* Where an access stands, for who reads what went wrong. */
struct trip_atomics_here {
	const char *file;
	int line;
};

void trip_atomics_load(const volatile void *where, void *value, size_t size, memory_order order,
	struct trip_atomics_here here);
void trip_atomics_modify(volatile void *where, enum trip_atomics_change change, const void *operand,
	void *old, size_t size, memory_order order, struct trip_atomics_here here);
/* The weak form may fail for nothing. */
bool trip_atomics_compare_exchange(volatile void *where, void *expected, const void *wanted,
	size_t size, bool weak, memory_order order, memory_order otherwise,
	struct trip_atomics_here here);
void trip_atomics_fence(memory_order order, struct trip_atomics_here here);

#define TRIP_ATOMICS_HERE ((struct trip_atomics_here){__FILE__, __LINE__})
/* The comma takes the qualifiers off. */
#define TRIP_ATOMICS_TYPE(p) __typeof__((void)0, *(p))
#define TRIP_ATOMICS_MODIFY(p, change, v, o)                                                    \
	__extension__({                                                                         \
		TRIP_ATOMICS_TYPE(p) atomics_old, atomics_operand = (TRIP_ATOMICS_TYPE(p))(v);  \
		trip_atomics_modify((p), TRIP_ATOMICS_##change, &atomics_operand, &atomics_old, \
			sizeof(atomics_old), (o), TRIP_ATOMICS_HERE);                           \
		atomics_old;                                                                    \
	})
#define TRIP_ATOMICS_COMPARE_EXCHANGE(p, e, v, weak, o, otherwise)                               \
	__extension__({                                                                          \
		TRIP_ATOMICS_TYPE(p) atomics_wanted = (v);                                       \
		trip_atomics_compare_exchange((p), (e), &atomics_wanted, sizeof(atomics_wanted), \
			(weak), (o), (otherwise), TRIP_ATOMICS_HERE);                            \
	})

#undef atomic_init
#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_exchange
#undef atomic_exchange_explicit
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and
#undef atomic_fetch_and_explicit
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak
#undef atomic_compare_exchange_weak_explicit
#undef atomic_thread_fence

#define atomic_load_explicit(p, o)                                                           \
	__extension__({                                                                      \
		TRIP_ATOMICS_TYPE(p) atomics_value;                                          \
		trip_atomics_load(                                                           \
			(p), &atomics_value, sizeof(atomics_value), (o), TRIP_ATOMICS_HERE); \
		atomics_value;                                                               \
	})
#define atomic_store_explicit(p, v, o) ((void)TRIP_ATOMICS_MODIFY(p, STORE, v, o))
#define atomic_init(p, v) atomic_store_explicit(p, v, memory_order_relaxed)
#define atomic_exchange_explicit(p, v, o) TRIP_ATOMICS_MODIFY(p, EXCHANGE, v, o)
#define atomic_fetch_add_explicit(p, v, o) TRIP_ATOMICS_MODIFY(p, ADD, v, o)
#define atomic_fetch_sub_explicit(p, v, o) TRIP_ATOMICS_MODIFY(p, SUB, v, o)
#define atomic_fetch_or_explicit(p, v, o) TRIP_ATOMICS_MODIFY(p, OR, v, o)
#define atomic_fetch_and_explicit(p, v, o) TRIP_ATOMICS_MODIFY(p, AND, v, o)
#define atomic_load(p) atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_exchange(p, v) atomic_exchange_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_add(p, v) atomic_fetch_add_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_sub(p, v) atomic_fetch_sub_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_or(p, v) atomic_fetch_or_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_and(p, v) atomic_fetch_and_explicit(p, v, memory_order_seq_cst)
#define atomic_compare_exchange_strong_explicit(p, e, v, o, otherwise) \
	TRIP_ATOMICS_COMPARE_EXCHANGE(p, e, v, false, o, otherwise)
#define atomic_compare_exchange_weak_explicit(p, e, v, o, otherwise) \
	TRIP_ATOMICS_COMPARE_EXCHANGE(p, e, v, true, o, otherwise)
#define atomic_compare_exchange_strong(p, e, v) \
	TRIP_ATOMICS_COMPARE_EXCHANGE(p, e, v, false, memory_order_seq_cst, memory_order_seq_cst)
#define atomic_compare_exchange_weak(p, e, v) \
	TRIP_ATOMICS_COMPARE_EXCHANGE(p, e, v, true, memory_order_seq_cst, memory_order_seq_cst)
#define atomic_thread_fence(o) trip_atomics_fence((o), TRIP_ATOMICS_HERE)

#endif
