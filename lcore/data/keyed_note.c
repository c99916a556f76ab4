/* SPDX-License-Identifier: BSD-3-Clause */
/* What came and went, where that is asked for: keyed.h says how it is told once. */
#include "keyed_priv.h"

static _Atomic uint64_t *
note_at(const struct trip_keyed *table, uint64_t number)
{
	return keyed_entry(table, 0) + table->notes_at +
	       (number & (table->notes - 1)) * (KEYED_NOTE_KEY + table->words);
}

void
trip_keyed_note_write(struct trip_keyed *table, uint32_t entry, enum trip_keyed_noted kind)
{
	const _Atomic uint64_t *of = keyed_entry(table, entry);
	uint64_t number = keyed_load(&table->noted);
	_Atomic uint64_t *at = note_at(table, number);

	keyed_store(&at[KEYED_NOTE_NUMBER], 0);
	/* Partner: the fence in trip_keyed_note(). */
	atomic_thread_fence(memory_order_release);
	keyed_store(&at[KEYED_NOTE_WHEN], table->now << KEYED_NOTE_SHIFT | (uint64_t)kind);
	keyed_store(&at[KEYED_NOTE_PACKETS], keyed_packets(keyed_load(&of[KEYED_PACKETS])));
	keyed_store(&at[KEYED_NOTE_BYTES], keyed_bytes(keyed_load(&of[KEYED_BYTES])));
	keyed_store(&at[KEYED_NOTE_ERROR], keyed_error(table, entry));
	for (uint32_t i = 0; i < table->words; i++)
		keyed_store(&at[KEYED_NOTE_KEY + i], keyed_load(&of[KEYED_KEY + i]));
	/* Release: all of it. Partner: the acquire in trip_keyed_note(). */
	keyed_publish(&at[KEYED_NOTE_NUMBER], number + 1);
}

void
trip_keyed_note_show(struct trip_keyed *table)
{
	/* Release: the note. Partner: the acquire in trip_keyed_notes(). */
	keyed_publish(&table->noted, keyed_load(&table->noted) + 1);
}

uint64_t
trip_keyed_notes(const struct trip_keyed *table)
{
	return atomic_load_explicit(&table->noted, memory_order_acquire);
}

bool
trip_keyed_note(const struct trip_keyed *table, uint64_t number, struct trip_keyed_note *note)
{
	const _Atomic uint64_t *at;
	uint64_t when;

	if (table->notes == 0)
		return false;
	at = note_at(table, number);
	if (atomic_load_explicit(&at[KEYED_NOTE_NUMBER], memory_order_acquire) != number + 1)
		return false;
	when = keyed_load(&at[KEYED_NOTE_WHEN]);
	*note = (struct trip_keyed_note){.now = when >> KEYED_NOTE_SHIFT,
		.packets = keyed_load(&at[KEYED_NOTE_PACKETS]),
		.bytes = keyed_load(&at[KEYED_NOTE_BYTES]),
		.error = keyed_load(&at[KEYED_NOTE_ERROR]),
		.kind = (enum trip_keyed_noted)(when & ((1u << KEYED_NOTE_SHIFT) - 1))};
	for (uint32_t i = 0; i < table->words; i++)
		note->key[i] = keyed_load(&at[KEYED_NOTE_KEY + i]);
	/* What is written over it comes behind a number of 0. Partner: the fence in
	 * trip_keyed_note_write(). */
	atomic_thread_fence(memory_order_acquire);
	return keyed_load(&at[KEYED_NOTE_NUMBER]) == number + 1;
}

/* Of who goes the note is made with the rest of that; who was about to come does so by living. */
void
trip_keyed_note_recover(struct trip_keyed *table)
{
	struct trip_keyed_note note;

	if (trip_keyed_note(table, keyed_load(&table->noted), &note) &&
		note.kind == TRIP_KEYED_CAME && trip_keyed_find(table, note.key) != TRIP_KEYED_NONE)
		trip_keyed_note_show(table);
}
