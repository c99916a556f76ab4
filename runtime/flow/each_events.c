/* SPDX-License-Identifier: BSD-3-Clause */
/* Which keys came and went, as anybody reads it while it is written (../../lcore/data/keyed.h). */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_common.h>

#include "domain/detach.h"
#include "domain/error.h"
#include "domain/sized.h"
#include "flow/each.h"

static uint32_t
change_of(enum trip_keyed_noted kind)
{
	switch (kind) {
	case TRIP_KEYED_CAME:
		return TRIP_EACH_ADMITTED;
	case TRIP_KEYED_EVICTED:
		return TRIP_EACH_EVICTED;
	default:
		return TRIP_EACH_EXPIRED;
	}
}

/* To the caller's size. */
static void
give(const struct trip_each *each, const struct trip_keyed_note *note, uint64_t number,
	uint32_t table, void *out, size_t size)
{
	struct trip_each_event event = {.size = size,
		.number = number,
		.packets = note->packets,
		.bytes = note->bytes,
		.error = note->error,
		.ns = note->now * 1000,
		.change = change_of(note->kind),
		.table = table,
		.key_size = each->statement.key.bytes};

	memcpy(event.key, note->key, each->statement.key.words * sizeof(note->key[0]));
	memcpy(out, &event, size);
}

static int
check(const struct trip_each *each, uint32_t table, size_t size)
{
	const struct trip_each_statement *statement = &each->statement;
	int error = trip_detach_check(each->domain);

	if (error == 0)
		error = TRIP_SIZED_CHECK(trip_each_event, size);
	if (error == 0 && table >= statement->n_tables)
		error = trip_error_set(EINVAL,
			"each \"%s\": table %" PRIu32 " is none of its %" PRIu32, statement->name,
			table, statement->n_tables);
	return error;
}

int
trip_each_events(const struct trip_each *each, uint32_t table, uint64_t from,
	struct trip_each_event *events, size_t size, uint32_t count)
{
	const uint64_t kept = each->statement.events_kept;
	const uint32_t room = RTE_MIN(count, (uint32_t)INT32_MAX);
	int error = check(each, table, size);
	const struct trip_keyed *keyed;
	struct trip_keyed_note note;
	uint32_t n = 0;
	uint64_t end;

	if (error != 0 || kept == 0)
		return error;
	keyed = trip_each_table_at(each, table);
	end = trip_keyed_notes(keyed);
	if (end > kept && from < end - kept)
		from = end - kept;
	for (; from < end && n < room; from++)
		if (trip_keyed_note(keyed, from, &note))
			give(each, &note, from, table, (char *)events + n++ * size, size);
	return (int)n;
}
