/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain accesses of the code: compiled with -fsanitize=thread, each calls. They are seen by all at
 * once; so it is not what they find that shows a release or an acquire that is missing, but that
 * nothing orders two of them, of which one writes. What orders them the views know (sim_view.c): on
 * the other memories nothing is looked at.
 */
#include "sim_inside.h"

#define BYTES 4
#define WORDS (1u << 18)

/* Four bytes. When each has read it since it was written, and who wrote it, by their own counts
 * of accesses; one more each, 0: not in this history. */
struct word {
	uintptr_t number;
	uint32_t history;
	uint32_t read[SIM_ACTORS];
	uint32_t written, writer;
};

static struct {
	struct word *words;
	uint32_t history, n;
} plain;

void
sim_plain_begin(void)
{
	if (plain.words == NULL)
		plain.words = calloc(WORDS, sizeof(*plain.words));
	plain.history++;
	plain.n = 0;
}

static struct word *
word_of(uintptr_t number)
{
	uint32_t at = (uint32_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 40);

	for (;; at++) {
		struct word *word = &plain.words[at % WORDS];

		if (word->history == plain.history && word->number == number)
			return word;
		if (word->history == plain.history)
			continue;
		if (++plain.n > WORDS / 2)
			sim_fail("more plain accesses than there is room for");
		*word = (struct word){.number = number, .history = plain.history};
		return word;
	}
}

static void
tell_race(const char *does, unsigned int other, const char *did)
{
	const struct trip_atomics_here *here = &sim.self->here;

	sim_fail("%s %s behind %s:%d what %s %s, and nothing orders the two", sim.self->name, does,
		here->file != NULL ? here->file : "its beginning", here->line,
		sim.actors[other].name, did);
}

static void
visit_word(uintptr_t number, bool writes)
{
	struct word *word = word_of(number);
	unsigned int self = sim_self();

	if (word->written != 0 && word->writer != self &&
		!sim_view_knows(word->writer, word->written))
		tell_race(writes ? "writes" : "reads", word->writer, "has written");
	if (!writes) {
		word->read[self] = sim_view_count() + 1;
		return;
	}
	for (unsigned int i = 0; i < sim.n_actors; i++) {
		if (i != self && word->read[i] != 0 && !sim_view_knows(i, word->read[i]))
			tell_race("writes", i, "has read");
		word->read[i] = 0;
	}
	word->written = sim_view_count() + 1;
	word->writer = self;
}

/* What each actor has of its own. */
static bool
is_own(const void *where)
{
	for (unsigned int i = 0; i < sim.n_locals; i++)
		if (sim.locals[i] == where)
			return true;
	return sim_fiber_has(where);
}

static void
visit(const void *where, size_t size, bool writes)
{
	uintptr_t at = (uintptr_t)where / BYTES, end = (uintptr_t)where + size;

	if (sim.self == NULL || sim.self->looks || sim.memory != SIM_MEMORY_VIEWS || is_own(where))
		return;
	for (; at * BYTES < end; at++)
		visit_word(at, writes);
}

void
sim_wrote(const void *where, size_t size)
{
	visit(where, size, true);
}

/* What the compiler calls. */
#define ACCESS(size)                                    \
	void __tsan_read##size(void *where);            \
	void __tsan_read##size(void *where)             \
	{                                               \
		visit(where, size, false);              \
	}                                               \
	void __tsan_write##size(void *where);           \
	void __tsan_write##size(void *where)            \
	{                                               \
		visit(where, size, true);               \
	}                                               \
	void __tsan_unaligned_read##size(void *where);  \
	void __tsan_unaligned_read##size(void *where)   \
	{                                               \
		visit(where, size, false);              \
	}                                               \
	void __tsan_unaligned_write##size(void *where); \
	void __tsan_unaligned_write##size(void *where)  \
	{                                               \
		visit(where, size, true);               \
	}
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_read_range(void *where, size_t size);
void __tsan_write_range(void *where, size_t size);
void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);

void
__tsan_read_range(void *where, size_t size)
{
	visit(where, size, false);
}

void
__tsan_write_range(void *where, size_t size)
{
	visit(where, size, true);
}

void
__tsan_init(void)
{
}

void
__tsan_func_entry(void *caller)
{
}

void
__tsan_func_exit(void)
{
}

/* Those that the header of trip_atomics.h leaves alone: what is made, and what is none of an atomic
 * object. */
#define ATOMIC(bits)                                                                               \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *, int);           \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *where, int order) \
	{                                                                                          \
		return *where;                                                                     \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *, uint##bits##_t, int);          \
	void __tsan_atomic##bits##_store(                                                          \
		volatile uint##bits##_t *where, uint##bits##_t value, int order)                   \
	{                                                                                          \
		*where = value;                                                                    \
	}
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
