/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has been counted by keys, as anybody reads it while it is being counted: nothing here waits
 * for a writer, or holds one up. A table that does not have a key has had no more of it than its
 * floor, which is read after the key was looked for, as it only rises.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_common.h>

#include "domain/detach.h"
#include "domain/error.h"
#include "domain/sized.h"
#include "flow/each_sum.h"

struct trip_each_entry
trip_each_sum_begin(const struct trip_each *each, const uint64_t *key)
{
	struct trip_each_entry entry = {
		.size = sizeof(entry), .key_size = each->statement.key.bytes};

	memcpy(entry.key, key, each->statement.key.words * sizeof(*key));
	return entry;
}

/* Held in several tables it is so until the last of them lets go. */
static void
add_hold(struct trip_each_entry *sum, uint8_t mark, uint64_t until)
{
	uint64_t ns = until > UINT64_MAX / 1000 ? UINT64_MAX : until * 1000;

	bool by_hand = (mark & TRIP_KEYED_BY_HAND) != 0;

	/* What is done by hand, in each table, goes before all else. */
	if (mark == 0 || (sum->by_hand != 0 && !by_hand))
		return;
	if (by_hand && sum->by_hand == 0)
		sum->until_ns = 0;
	sum->by_hand = by_hand;
	sum->op = (mark & TRIP_KEYED_POLICED) != 0             ? TRIP_EACH_OP_POLICE
		  : by_hand && (mark & TRIP_KEYED_PASSES) != 0 ? TRIP_EACH_OP_PASS
		  : (mark & TRIP_KEYED_PASSES) != 0            ? TRIP_EACH_OP_NONE
							       : TRIP_EACH_OP_DROP;
	sum->until_ns = RTE_MAX(sum->until_ns, ns);
}

struct trip_each_said
trip_each_said_of(const struct trip_each *each, const struct trip_keyed_entry *reading)
{
	struct trip_each_said said = {
		.hold = reading->hold, .told = reading->told, .mark = reading->mark};
	const uint64_t *anew;

	if (each->statement.life == 0)
		return said;
	anew = &reading->memos[each->statement.life - 1];
	said.life = anew[TRIP_KEYED_LIFE];
	said.packets = anew[TRIP_KEYED_ANEW_PACKETS];
	said.bytes = anew[TRIP_KEYED_ANEW_BYTES];
	return said;
}

void
trip_each_sum_say(struct trip_each_entry *sum, const struct trip_each_said *said)
{
	if (said->life < sum->anew)
		return;
	if (said->life > sum->anew) {
		sum->anew = said->life;
		sum->anew_packets = said->packets;
		sum->anew_bytes = said->bytes;
		sum->tripped = 0;
		sum->op = TRIP_EACH_OP_NONE;
		sum->until_ns = 0;
		sum->by_hand = 0;
	}
	sum->tripped |= said->told;
	add_hold(sum, said->mark, said->hold);
}

void
trip_each_sum_add(const struct trip_each *each, struct trip_each_entry *sum,
	const struct trip_keyed_entry *reading)
{
	const struct trip_each_said said = trip_each_said_of(each, reading);

	sum->packets += reading->packets;
	sum->bytes += reading->bytes;
	sum->error += reading->error;
	sum->tables++;
	trip_each_sum_say(sum, &said);
}

void
trip_each_sum_end(const struct trip_each *each, struct trip_each_entry *sum)
{
	sum->anew_packets = RTE_MIN(sum->anew_packets, sum->packets);
	sum->anew_bytes = RTE_MIN(sum->anew_bytes, sum->bytes);
	sum->packets -= sum->anew_packets;
	sum->bytes -= sum->anew_bytes;
	trip_each_hardware_entry(each, sum);
}

struct trip_each_entry
trip_each_sum(const struct trip_each *each, const uint64_t *key)
{
	struct trip_each_entry sum = trip_each_sum_begin(each, key);
	struct trip_keyed_entry reading;

	for (uint32_t i = 0; i < each->statement.n_tables; i++) {
		const struct trip_keyed *table = trip_each_table_at(each, i);

		if (trip_keyed_seek(table, key, &reading))
			trip_each_sum_add(each, &sum, &reading);
		else
			sum.error += trip_keyed_floor(table);
	}
	trip_each_sum_end(each, &sum);
	return sum;
}

int
trip_each_read(const struct trip_each *each, const void *key, struct trip_each_entry *entry)
{
	uint64_t words[TRIP_EACH_KEY_WORDS] = {0};
	char text[TRIP_EACH_TEXT_MAX];
	struct trip_each_entry sum;
	int error = trip_detach_check(each->domain);

	if (error != 0)
		return error;
	memcpy(words, key, each->statement.key.bytes);
	sum = trip_each_sum(each, words);
	error = TRIP_SIZED_GIVE(trip_each_entry, entry, &sum);
	if (error != 0 || sum.tables > 0)
		return error;
	(void)trip_each_key_text(
		each->statement.parts, each->statement.n_parts, key, text, sizeof(text));
	return trip_error_set(
		ENOENT, "each \"%s\": no table has the key %s", each->statement.name, text);
}

int
trip_each_key(const struct trip_each *each, const struct rte_mbuf *pkt,
	enum trip_flow_direction direction, void *key)
{
	const uint32_t sent = direction == TRIP_FLOW_EGRESS ? TRIP_WANT_SENT : 0;
	uint64_t words[TRIP_EACH_KEY_WORDS];
	int error = trip_detach_check(each->domain);

	if (error != 0)
		return error;
	if (!trip_each_queue_key(&each->statement, pkt, sent, words))
		return -ENOENT;
	memcpy(key, words, each->statement.key.bytes);
	return 0;
}

static void
add_totals(struct trip_each_info *info, const struct trip_keyed *table)
{
	struct trip_keyed_totals totals;

	trip_keyed_totals(table, &totals);
	info->packets += totals.packets;
	info->bytes += totals.bytes;
	info->remainder_packets += totals.remainder_packets;
	info->remainder_bytes += totals.remainder_bytes;
	info->refused_packets += totals.refused_packets;
	info->refused_bytes += totals.refused_bytes;
	info->dropped_packets += totals.dropped_packets;
	info->dropped_bytes += totals.dropped_bytes;
	info->held += totals.held;
	info->admitted += totals.admitted;
	info->evicted += totals.evicted;
	info->expired += totals.expired;
	info->keys += totals.keys;
	info->floor += totals.floor;
	info->events += trip_keyed_notes(table);
}

int
trip_each_query(const struct trip_each *each, struct trip_each_info *info)
{
	const struct trip_each_statement *statement = &each->statement;
	struct trip_each_info own = {.idle_us = statement->idle,
		.max = statement->max,
		.rank = statement->rank,
		.tables = statement->n_tables,
		.n_parts = statement->n_parts,
		.key_size = statement->key.bytes,
		.table_bytes = trip_each_statement_lines(statement) * TRIP_EACH_LINE,
		.n_whens = statement->n_whens,
		.n_members = statement->n_members,
		.full = statement->full,
		.trips_kept = statement->kept,
		.events_kept = statement->events_kept,
		.by_hand = statement->hands};
	struct trip_each_ring_at at;
	int error = trip_detach_check(each->domain);

	if (error != 0)
		return error;
	memcpy(own.parts, statement->parts, sizeof(statement->parts));
	memcpy(own.whens, statement->whens, sizeof(statement->whens));
	memcpy(own.acts, statement->acts, sizeof(statement->acts));
	memcpy(own.members, statement->members, sizeof(statement->members));
	if (trip_each_tells_trips(statement)) {
		at = trip_each_statement_ring(each->domain->engine.eaches, statement);
		own.trips = trip_each_ring_trips(&at);
	}
	strcpy(own.name, statement->name);
	for (uint32_t i = 0; i < statement->n_tables; i++)
		add_totals(&own, trip_each_table_at(each, i));
	trip_each_hardware_info(each, &own);
	return TRIP_SIZED_GIVE(trip_each_info, info, &own);
}

/* Of what was begun by hand that of the table which owns it. */
static uint32_t
table_of(const struct trip_each_statement *statement, const struct trip_each_told *told)
{
	return told->table < statement->n_tables
		       ? told->table
		       : told->when >> TRIP_EACH_TOLD_OWNER_SHIFT & UINT16_MAX;
}

/* As the library keeps them, to the caller's size. */
static void
give_trip(const struct trip_each *each, uint64_t number, const struct trip_each_told *told,
	void *out, size_t size)
{
	const bool by_hand = (told->when & TRIP_EACH_TOLD_HAND) != 0;
	struct trip_each_trip trip = {.size = size,
		.number = number,
		.packets = told->packets - RTE_MIN(told->anew_packets, told->packets),
		.bytes = told->bytes - RTE_MIN(told->anew_bytes, told->bytes),
		.ns = told->ns,
		.when = by_hand ? told->when & TRIP_EACH_TOLD_OP : told->when & ~TRIP_EACH_TOLD_END,
		.flags = ((told->when & TRIP_EACH_TOLD_END) != 0 ? TRIP_EACH_TRIP_END : 0) |
			 (by_hand ? TRIP_EACH_TRIP_HAND : 0),
		.table = table_of(&each->statement, told),
		.pid = by_hand ? told->nth : 0,
		.times = told->times,
		.key_size = each->statement.key.bytes};

	memcpy(trip.key, told->key, sizeof(trip.key));
	memcpy(out, &trip, size);
}

/* Whoever polls a queue may have written anything; readers take it for an index. */
static bool
has_condition(const struct trip_each_statement *statement, const struct trip_each_told *told)
{
	if ((told->when & TRIP_EACH_TOLD_HAND) != 0)
		return (told->when & TRIP_EACH_TOLD_OP) <= TRIP_EACH_OP_PASS;
	return (told->when & ~TRIP_EACH_TOLD_END) < statement->n_whens;
}

int
trip_each_trips(const struct trip_each *each, uint64_t from, struct trip_each_trip *trips,
	size_t size, uint32_t count)
{
	const uint64_t kept = each->statement.kept;
	struct trip_each_ring_at at;
	struct trip_each_told told;
	int error = trip_detach_check(each->domain);
	uint32_t n = 0;
	uint64_t end;

	if (error == 0)
		error = TRIP_SIZED_CHECK(trip_each_trip, size);
	if (error != 0 || !trip_each_tells_trips(&each->statement))
		return error;
	at = trip_each_statement_ring(each->domain->engine.eaches, &each->statement);
	end = trip_each_ring_trips(&at);
	if (end > kept && from < end - kept)
		from = end - kept;
	for (; from < end && n < RTE_MIN(count, (uint32_t)INT32_MAX); from++)
		if (trip_each_ring_read(&at, from, &told) && has_condition(&each->statement, &told))
			give_trip(each, from, &told, (char *)trips + n++ * size, size);
	return (int)n;
}
