/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client is told of statements that count by keys. To find the keys with most, all entries
 * are looked at, under the control lock: the statement stays then, and whoever would close it
 * waits. A look at millions of entries takes a while, and anybody whom the socket lets in may ask
 * for one after the other. So the next look begins after nine times what the last one took, and who
 * asks before that is told what it has found.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trip_each.h>

#include "domain/domain.h"
#include "domain/error.h"
#include "domain/thread.h"
#include "flow/each.h"
#include "primary/list.h"
#include "primary/server.h"

_Static_assert(TRIP_CLIENT_KEY_MAX >= TRIP_EACH_TEXT_MAX, "any key");
_Static_assert(TRIP_CLIENT_TOP_MAX * sizeof(struct trip_client_key) <= TRIP_PROTOCOL_RECORDS,
	"they are one answer");

#define PAUSE 9

/* Under the control lock; NULL: there is none, or it is not counted yet, or any more. */
static const struct trip_each *
each_at(const struct trip_domain *domain, uint64_t number)
{
	const struct trip_each *each = domain->eaches[number];

	return each != NULL && each->shown && !each->held ? each : NULL;
}

static void
write_fields(const struct trip_each_statement *statement, char *text, size_t size)
{
	size_t n = 0;

	for (uint32_t i = 0; i < statement->n_parts && n < size; i++) {
		enum trip_each_field field = (enum trip_each_field)statement->parts[i].field;
		uint32_t length = statement->parts[i].length;

		n += (size_t)snprintf(
			text + n, size - n, "%s%s", i > 0 ? "," : "", trip_each_key_word(field));
		if (n < size && length != 0 && length < trip_each_key_bits(field))
			n += (size_t)snprintf(text + n, size - n, "/%" PRIu32, length);
	}
}

/* Under the control lock. */
static bool
fill_each(const struct trip_server *server, uint64_t at, void *record)
{
	const struct trip_each *each = each_at(server->domain, at);
	struct trip_each_info info = {.size = sizeof(info)};
	struct trip_client_each *out = record;

	if (each == NULL || trip_each_query(each, &info) != 0)
		return false;
	*out = (struct trip_client_each){.packets = info.packets,
		.bytes = info.bytes,
		.remainder_packets = info.remainder_packets,
		.remainder_bytes = info.remainder_bytes,
		.refused_packets = info.refused_packets,
		.refused_bytes = info.refused_bytes,
		.admitted = info.admitted,
		.evicted = info.evicted,
		.expired = info.expired,
		.keys = info.keys,
		.floor = info.floor,
		.idle_us = info.idle_us,
		.table_bytes = info.table_bytes,
		.max = info.max,
		.tables = info.tables,
		.rank = info.rank,
		.dropped_packets = info.dropped_packets,
		.dropped_bytes = info.dropped_bytes,
		.held = info.held,
		.full = info.full,
		.hardware = info.hardware,
		.hardware_keys = info.hardware_keys,
		.hardware_waiting = info.hardware_waiting,
		.hardware_packets = info.hardware_packets,
		.hardware_bytes = info.hardware_bytes,
		.coming_packets = info.coming_packets,
		.coming_bytes = info.coming_bytes,
		.rule_changes = info.rule_changes,
		.rules_failed = info.rules_failed,
		.passed_over = info.passed_over,
		.direction = each->direction};
	snprintf(out->name, sizeof(out->name), "%s", info.name);
	write_fields(&each->statement, out->fields, sizeof(out->fields));
	return true;
}

/* Whoever holds it may be waiting for bursts, for as long as that takes. */
static int
lock(struct trip_domain *domain)
{
	if (pthread_mutex_trylock(&domain->control) == 0)
		return 0;
	return trip_error_set(
		EAGAIN, "domain \"%s\": its statements are being changed", domain->name);
}

int
trip_list_eaches(struct trip_list *list)
{
	struct trip_domain *domain = list->server->domain;
	int error = lock(domain);

	if (error != 0)
		return error;
	trip_list_walk(list, TRIP_EACH_MAX, sizeof(struct trip_client_each), fill_each);
	pthread_mutex_unlock(&domain->control);
	return 0;
}

/* Under the control lock. */
static int
look(struct trip_list_top *top, const struct trip_each *each, enum trip_each_rank rank)
{
	struct trip_each_entry entries[TRIP_CLIENT_TOP_MAX];
	uint64_t began = trip_thread_now_ns();
	int found = trip_each_top(each, rank, entries, sizeof(entries[0]), TRIP_CLIENT_TOP_MAX);

	if (found < 0)
		return found;
	top->opening = each->opening;
	top->count = (uint32_t)found;
	for (int i = 0; i < found; i++) {
		struct trip_client_key *key = &top->keys[i];

		*key = (struct trip_client_key){.packets = entries[i].packets,
			.bytes = entries[i].bytes,
			.error = entries[i].error,
			.op = entries[i].op,
			.by_hand = entries[i].by_hand,
			.hardware_ns = entries[i].hardware_ns,
			.tables = entries[i].tables};
		(void)trip_each_text(each, entries[i].key, key->key, sizeof(key->key));
	}
	top->found_ns = trip_thread_now_ns();
	top->took_ns = top->found_ns - began;
	return 0;
}

/* Under the control lock: what there is of a statement, found now or a short time ago. */
static int
find_top(struct trip_server *server, const struct trip_each *each, enum trip_each_rank rank,
	const struct trip_list_top **found)
{
	struct trip_list_top **top = &server->tops[each->number][rank];
	int error = 0;

	if (*top == NULL && (*top = calloc(1, sizeof(**top))) == NULL)
		return trip_error_set(
			ENOMEM, "each \"%s\": no memory for its keys", each->statement.name);
	if ((*top)->opening != each->opening ||
		trip_thread_now_ns() - (*top)->found_ns >= PAUSE * (*top)->took_ns)
		error = look(*top, each, rank);
	*found = *top;
	return error;
}

static const struct trip_each *
find_name(const struct trip_domain *domain, const char *name)
{
	for (uint32_t i = 0; i < TRIP_EACH_MAX; i++) {
		const struct trip_each *each = each_at(domain, i);

		if (each != NULL && strcmp(each->statement.name, name) == 0)
			return each;
	}
	(void)trip_error_set(ENOENT, "domain \"%s\": it has no each \"%s\"", domain->name, name);
	return NULL;
}

static int
check(const struct trip_protocol_top *asked, char name[sizeof(asked->name)])
{
	snprintf(name, sizeof(asked->name), "%.*s", (int)sizeof(asked->name) - 1, asked->name);
	if (asked->size != sizeof(struct trip_client_key) || asked->count == 0)
		return trip_error_set(EINVAL,
			"top: %" PRIu32 " keys of %" PRIu32 " bytes are not to be had",
			asked->count, asked->size);
	if (asked->rank > TRIP_EACH_BYTES)
		return trip_error_set(EINVAL, "top: rank %" PRIu32 " is unknown", asked->rank);
	return trip_error_check_name("each", name, TRIP_NAME_MAX);
}

int
trip_list_top(struct trip_connection *connection, const union trip_protocol_request *request,
	size_t *size)
{
	struct trip_protocol_records *records = &connection->reply.answer.records;
	const struct trip_protocol_top *asked = &request->top;
	struct trip_server *server = connection->server;
	const struct trip_list_top *top = NULL;
	const struct trip_each *each;
	char name[sizeof(asked->name)];
	int error = check(asked, name);

	if (error == 0)
		error = lock(server->domain);
	if (error != 0)
		return error;
	each = find_name(server->domain, name);
	error = each != NULL ? find_top(server, each, (enum trip_each_rank)asked->rank, &top)
			     : -ENOENT;
	pthread_mutex_unlock(&server->domain->control);
	if (error != 0)
		return error;
	records->cursor = TRIP_PROTOCOL_END;
	records->count = asked->count < top->count ? asked->count : top->count;
	records->reserved = 0;
	memcpy(records->record, top->keys, records->count * sizeof(top->keys[0]));
	*size = offsetof(struct trip_protocol_records, record) +
		records->count * sizeof(top->keys[0]);
	return 0;
}

void
trip_list_top_free(struct trip_server *server)
{
	for (uint32_t i = 0; i < TRIP_EACH_MAX; i++)
		for (uint32_t rank = 0; rank < 2; rank++)
			free(server->tops[i][rank]);
}
