/* SPDX-License-Identifier: BSD-3-Clause */
/* What happened, step by step, for who reads it; and what places have held. */
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "sim_inside.h"
#include "trip_atomics_memory.h"

#define ENTRIES 65536
#define TEXT 256
/* Steps of a story that are printed: more do not help. */
#define PRINTED 400
#define NAMES 64
#define WATCHES 64
#define VALUES 16384

enum entry_kind {
	ENTRY_OP,
	ENTRY_TELL,
	ENTRY_MARK,
	ENTRY_PAUSE,
	ENTRY_ACCESS,
};

struct entry {
	uint32_t step, op;
	uint8_t actor, kind;
	/* Of an operation: the text; of an access: what it does. */
	const char *what;
	const volatile void *where;
	uint64_t value;
	struct trip_atomics_here here;
	/* Of its operation: the number of the entry that began it; UINT64_MAX: none has. */
	uint64_t began;
};

struct sim_watch {
	const volatile void *where;
	unsigned int n;
	struct sim_value values[VALUES];
};

static struct {
	/* The last of them: of a history that goes on for long, the end. */
	struct entry entries[ENTRIES];
	uint64_t n;
	/* Of each entry. */
	char texts[ENTRIES][TEXT];
	/* Of each actor: the entry that began its operation. */
	uint64_t began[SIM_ACTORS];
	struct {
		const char *base, *name;
		size_t size;
		unsigned int n;
	} names[NAMES];
	unsigned int n_names;
	struct sim_watch watches[WATCHES];
	unsigned int n_watches;
} story;

void
sim_story_begin(void)
{
	story.n = story.n_names = 0;
	for (unsigned int i = 0; i < SIM_ACTORS; i++)
		story.began[i] = UINT64_MAX;
}

void
sim_name(const void *base, size_t size, unsigned int n, const char *name)
{
	if (story.n_names == NAMES)
		return;
	story.names[story.n_names].base = base;
	story.names[story.n_names].size = size;
	story.names[story.n_names].n = n;
	story.names[story.n_names++].name = name;
}

static struct entry *
add(enum entry_kind kind, const char *what)
{
	struct entry *entry = &story.entries[story.n % ENTRIES];
	uint8_t actor = (uint8_t)sim_number(sim.self);

	if (kind == ENTRY_OP)
		story.began[actor] = story.n;
	*entry = (struct entry){
		.step = sim.steps,
		.op = sim.self->op,
		.actor = actor,
		.kind = (uint8_t)kind,
		.what = what,
		.began = story.began[actor],
	};
	story.n++;
	return entry;
}

static void
add_text(enum entry_kind kind, const char *format, va_list args)
{
	char *text = story.texts[story.n % ENTRIES];

	if (sim.self == NULL)
		return;
	vsnprintf(text, TEXT, format, args);
	add(kind, text);
}

void
sim_op(const char *format, ...)
{
	va_list args;

	if (++sim.self->op < sim.phase)
		sim.self->op = sim.phase;
	sim.self->step = 0;
	if (!sim.history->told)
		return;
	va_start(args, format);
	add_text(ENTRY_OP, format, args);
	va_end(args);
}

void
sim_tell(const char *format, ...)
{
	va_list args;

	if (!sim.history->told)
		return;
	va_start(args, format);
	add_text(ENTRY_TELL, format, args);
	va_end(args);
}

void
sim_story_mark(const char *what)
{
	if (sim.history->told && sim.self != NULL)
		add(what != NULL ? ENTRY_MARK : ENTRY_PAUSE, what);
}

void
sim_story_access(
	const char *what, const volatile void *where, uint64_t value, struct trip_atomics_here here)
{
	struct entry *entry;

	sim.self->here = here;
	if (!sim.history->told)
		return;
	entry = add(ENTRY_ACCESS, what);
	entry->where = where;
	entry->value = value;
	entry->here = here;
}

/* --- printed --- */

static const struct entry *
entry_at(uint64_t i)
{
	return &story.entries[i % ENTRIES];
}

const char *
sim_story_base_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash != NULL ? slash + 1 : file;
}

static void
print_place(const volatile void *where)
{
	for (unsigned int i = 0; i < story.n_names; i++) {
		size_t at = (size_t)((const char *)(uintptr_t)where - story.names[i].base);
		size_t size = story.names[i].size;

		const char *name = story.names[i].name;

		if (at >= size * story.names[i].n || name == NULL)
			continue;
		printf(" ");
		printf(name, (unsigned int)(at / size));
		if (at % size != 0)
			printf("+%zu", at % size);
		return;
	}
	printf(" %p", (const void *)(uintptr_t)where);
}

static void
print_access(const struct entry *entry)
{
	printf("%s:%d  %s", sim_story_base_of(entry->here.file), entry->here.line, entry->what);
	if (entry->where == NULL)
		return;
	print_place(entry->where);
	printf(": 0x%llx", (unsigned long long)entry->value);
}

/* From one entry on, those of the same operation of the same actor that follow each other. */
struct part {
	uint64_t first, end;
	/* Its operation began before; or goes on after, or would, had the history not ended. */
	bool goes_on, is_cut, has_marks, pauses;
	unsigned int n_accesses;
	const struct entry *last_access;
};

/* Its actor is in the middle of it, in the end. */
static bool
stands(const struct entry *entry, const struct part *part)
{
	const struct sim_actor *actor = &sim.actors[entry->actor];

	return !part->pauses && actor->state != SIM_ENDED && actor->state != SIM_DEAD;
}

static void
find_part(struct part *part, uint64_t first)
{
	const struct entry *entry = entry_at(first);
	uint64_t i;

	*part = (struct part){.first = first, .goes_on = entry->kind != ENTRY_OP};
	for (i = first; i < story.n; i++) {
		const struct entry *at = entry_at(i);

		/* Others who only wait are not told of. */
		if (at->kind == ENTRY_PAUSE && i > first && at->actor != entry->actor)
			continue;
		if (at->actor != entry->actor || at->op != entry->op)
			break;
		if (at->kind == ENTRY_ACCESS) {
			part->last_access = at;
			part->n_accesses++;
		} else if (at->kind == ENTRY_PAUSE)
			part->pauses = true;
		else
			part->has_marks |= i > first;
	}
	part->end = i;
	while (i < story.n && entry_at(i)->actor != entry->actor)
		i++;
	part->is_cut = i < story.n ? entry_at(i)->op == entry->op : stands(entry, part);
}

static const char *
text_of(const struct entry *entry)
{
	if (entry->began == UINT64_MAX)
		return "begins";
	return story.n - entry->began <= ENTRIES ? entry_at(entry->began)->what
						 : "what it began long before";
}

static void
print_part(const struct part *part, unsigned int number, bool whole)
{
	const struct entry *first = entry_at(part->first);

	printf("%3u  step %-6u %-10s %s%s", number, first->step, sim.actors[first->actor].name,
		part->goes_on ? "goes on: " : "", text_of(first));
	if (part->is_cut && part->last_access != NULL) {
		printf(", and has come to  ");
		print_access(part->last_access);
	}
	putchar('\n');
	for (uint64_t i = part->first; i < part->end; i++) {
		const struct entry *entry = entry_at(i);

		if (entry->kind == ENTRY_ACCESS && whole) {
			printf("\t\t\t%6u  ", entry->step);
			print_access(entry);
			putchar('\n');
		} else if (entry->kind == ENTRY_TELL || entry->kind == ENTRY_MARK)
			printf("\t\t\t%s\n", entry->what);
	}
}

/* A look for something to do that found nothing. */
static bool
is_idle(const struct part *part)
{
	if (!part->pauses || part->has_marks)
		return false;
	/* Or one more of those in which somebody waits for something. */
	return part->goes_on ? part->last_access == NULL : !part->is_cut;
}

/* It looks again, as in the part before, and finds the same. */
static bool
looks_again(const struct part *part, const struct part *before)
{
	const struct entry *now = part->last_access, *then = before->last_access;

	return part->goes_on && part->pauses && !part->has_marks && before->pauses && now != NULL &&
	       then != NULL && now->op == then->op && now->where == then->where &&
	       now->value == then->value && now->here.line == then->here.line &&
	       part->n_accesses == before->n_accesses;
}

static uint64_t
first_entry(void)
{
	return story.n > ENTRIES ? story.n - ENTRIES : 0;
}

/* How many there are; those behind the `before` first ones are printed. */
static unsigned int
go_through(unsigned int before, bool whole)
{
	struct part part, lasts[SIM_ACTORS] = {0};
	unsigned int steps = 0;

	for (uint64_t i = first_entry(); i < story.n; i = part.end) {
		struct part *last = &lasts[entry_at(i)->actor];
		bool again;

		find_part(&part, i);
		again = looks_again(&part, last);
		*last = part;
		if (is_idle(&part) || again)
			continue;
		steps++;
		if (steps > before)
			print_part(&part, steps, whole);
	}
	return steps;
}

unsigned int
sim_story_print(bool whole)
{
	unsigned int steps = sim_story_length();
	unsigned int before = !whole && steps > PRINTED ? steps - PRINTED : 0;

	if (story.n > ENTRIES)
		printf("(what was before step %u is not kept)\n", entry_at(first_entry())->step);
	if (before > 0)
		printf("(the first %u are left out)\n", before);
	return go_through(before, whole);
}

unsigned int
sim_story_length(void)
{
	return go_through(UINT_MAX, false);
}

/* --- watched --- */

void
sim_watch_begin(void)
{
	story.n_watches = 0;
}

static void
note_value(struct sim_watch *watch, uint64_t value)
{
	if (watch->n == VALUES)
		sim_fail("a place that is watched is written more than %d times", VALUES);
	watch->values[watch->n++] = (struct sim_value){
		.value = value, .now = sim.now, .step = sim.steps, .actor = sim_self()};
}

struct sim_watch *
sim_watch(const volatile void *where, size_t size)
{
	struct sim_watch *watch = &story.watches[story.n_watches++];

	if (story.n_watches > WATCHES)
		sim_fail("more than %d places are watched", WATCHES);
	watch->where = where;
	watch->n = 0;
	note_value(watch, trip_atomics_get(where, size));
	return watch;
}

const struct sim_value *
sim_watched(const struct sim_watch *watch, unsigned int *n)
{
	*n = watch->n;
	return watch->values;
}

void
sim_watch_note(const volatile void *where, uint64_t value)
{
	for (unsigned int i = 0; i < story.n_watches; i++)
		if (story.watches[i].where == where)
			note_value(&story.watches[i], value);
}
