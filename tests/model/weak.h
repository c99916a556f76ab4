/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs functions of the product in every order, on a memory as weak as C11 allows. What a model
 * shows of a protocol, this shows of its source.
 *
 * A source that is compiled with `-include weak.h` makes its atomic accesses here. Before each of
 * them, and each fence, the other threads may have their turns. A place keeps all that was stored
 * in it. A read-modify-write takes the newest. A load gives any store, but none older than
 *
 *	what the thread has itself stored there, or loaded from there;
 *	what was known to who made a store that releases, when a load that acquires has given that;
 *	what was known at any seq_cst fence, when the thread has made one since;
 *	for a seq_cst load: what was known at any seq_cst fence, or was stored there by a seq_cst
 *	store, or loaded by a seq_cst load.
 *
 * The store buffers of x86 are a case of this: as long as a store is in one, others load older
 * ones.
 *
 * C11 allows two things that are not done here: that a load gives what is stored later, and that a
 * store is put before one that was made earlier. So what fails here is broken; what holds here
 * holds wherever these two do not matter. Plain accesses are no steps: all see them at once.
 */
#ifndef TRIP_WEAK_H
#define TRIP_WEAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIP_WEAK_THREADS 4

struct trip_weak {
	/* Makes the state anew, before each execution. */
	void (*begin)(void *arg);
	/* They end by themselves, so none of them waits for another. */
	void (*threads[TRIP_WEAK_THREADS])(void *arg);
	/* Of all that has happened: is it right? */
	bool (*holds)(void *arg);
	void *arg;
};

/* Whether it holds in every execution. Prints how many there are, or the first that is wrong. */
bool trip_weak_holds(const struct trip_weak *weak);

/* Of a thread: which one it is, from 0; outside of them -1. */
int trip_weak_self(void);

enum trip_weak_change {
	TRIP_WEAK_STORE,
	TRIP_WEAK_EXCHANGE,
	TRIP_WEAK_ADD,
	TRIP_WEAK_SUB,
	TRIP_WEAK_OR,
	TRIP_WEAK_AND,
};

/* Where an access stands, for who reads what went wrong. */
struct trip_weak_here {
	const char *file;
	int line;
};

void trip_weak_load(const volatile void *where, void *value, size_t size, memory_order order,
	struct trip_weak_here here);
void trip_weak_modify(volatile void *where, enum trip_weak_change change, const void *operand,
	void *old, size_t size, memory_order order, struct trip_weak_here here);
bool trip_weak_compare_exchange(volatile void *where, void *expected, const void *wanted,
	size_t size, memory_order order, memory_order otherwise, struct trip_weak_here here);
void trip_weak_fence(memory_order order, struct trip_weak_here here);

#define TRIP_WEAK_HERE ((struct trip_weak_here){__FILE__, __LINE__})
/* The comma takes the qualifiers off. */
#define TRIP_WEAK_TYPE(p) __typeof__((void)0, *(p))
#define TRIP_WEAK_MODIFY(p, change, v, o)                                           \
	__extension__({                                                             \
		TRIP_WEAK_TYPE(p) weak_old, weak_operand = (TRIP_WEAK_TYPE(p))(v);  \
		trip_weak_modify((p), TRIP_WEAK_##change, &weak_operand, &weak_old, \
			sizeof(weak_old), (o), TRIP_WEAK_HERE);                     \
		weak_old;                                                           \
	})
#define TRIP_WEAK_COMPARE_EXCHANGE(p, e, v, o, otherwise)                                    \
	__extension__({                                                                      \
		TRIP_WEAK_TYPE(p) weak_wanted = (v);                                         \
		trip_weak_compare_exchange((p), (e), &weak_wanted, sizeof(weak_wanted), (o), \
			(otherwise), TRIP_WEAK_HERE);                                        \
	})

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

#define atomic_load_explicit(p, o)                                                         \
	__extension__({                                                                    \
		TRIP_WEAK_TYPE(p) weak_value;                                              \
		trip_weak_load((p), &weak_value, sizeof(weak_value), (o), TRIP_WEAK_HERE); \
		weak_value;                                                                \
	})
#define atomic_store_explicit(p, v, o) ((void)TRIP_WEAK_MODIFY(p, STORE, v, o))
#define atomic_exchange_explicit(p, v, o) TRIP_WEAK_MODIFY(p, EXCHANGE, v, o)
#define atomic_fetch_add_explicit(p, v, o) TRIP_WEAK_MODIFY(p, ADD, v, o)
#define atomic_fetch_sub_explicit(p, v, o) TRIP_WEAK_MODIFY(p, SUB, v, o)
#define atomic_fetch_or_explicit(p, v, o) TRIP_WEAK_MODIFY(p, OR, v, o)
#define atomic_fetch_and_explicit(p, v, o) TRIP_WEAK_MODIFY(p, AND, v, o)
#define atomic_load(p) atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_exchange(p, v) atomic_exchange_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_add(p, v) atomic_fetch_add_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_sub(p, v) atomic_fetch_sub_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_or(p, v) atomic_fetch_or_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_and(p, v) atomic_fetch_and_explicit(p, v, memory_order_seq_cst)
#define atomic_compare_exchange_strong_explicit TRIP_WEAK_COMPARE_EXCHANGE
#define atomic_compare_exchange_weak_explicit TRIP_WEAK_COMPARE_EXCHANGE
#define atomic_compare_exchange_strong(p, e, v) \
	TRIP_WEAK_COMPARE_EXCHANGE(p, e, v, memory_order_seq_cst, memory_order_seq_cst)
#define atomic_compare_exchange_weak(p, e, v) \
	TRIP_WEAK_COMPARE_EXCHANGE(p, e, v, memory_order_seq_cst, memory_order_seq_cst)
#define atomic_thread_fence(o) trip_weak_fence((o), TRIP_WEAK_HERE)
#endif
