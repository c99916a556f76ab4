/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements that count by keys, in an attached process: the primary says which it is, and keeps it
 * while we have it; what is read of it is in shared memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/protocol.h"
#include "domain/domain.h"
#include "domain/error.h"
#include "flow/each.h"
#include "secondary/link.h"
#include "each_hand.h"
#include "each_help.h"

static int
refuse_open(struct trip_each *each)
{
	return trip_error_set(ENOTSUP,
		"each \"%s\": the primary of domain \"%s\" opens it; others find it",
		each->statement.name, each->domain->name);
}

static bool
trips_are_whole(const struct trip_each_statement *statement)
{
	const uint32_t kept = statement->kept;

	if (!trip_each_tells_trips(statement))
		return statement->ring_lines == 0;
	return statement->n_whens <= TRIP_EACH_WHENS_MAX && kept >= TRIP_EACH_RING_MIN &&
	       kept <= TRIP_EACH_RING_MAX && (kept & (kept - 1)) == 0 &&
	       statement->ring_lines == trip_each_statement_ring_lines(statement);
}

static bool
memos_are_whole(const struct trip_each_statement *statement)
{
	for (uint32_t i = 0; i < TRIP_EACH_WHENS_MAX; i++)
		if (statement->next[i] > TRIP_KEYED_MEMOS_MAX)
			return false;
	return statement->window <= TRIP_KEYED_MEMOS_MAX &&
	       statement->members_told <= TRIP_KEYED_MEMOS_MAX &&
	       statement->n_members <= TRIP_EACH_MEMBERS_MAX &&
	       statement->bucket < TRIP_KEYED_MEMOS_MAX &&
	       statement->life <= TRIP_KEYED_MEMOS_MAX + 1 - TRIP_KEYED_ANEW_WORDS;
}

/* Readers go by it: it has been copied once, and what would lead them out of the zone is refused.
 */
static bool
is_whole(const struct trip_each *each)
{
	const struct trip_domain_attr *attr = &each->domain->attr;
	const struct trip_each_statement *statement = &each->statement;
	uint64_t first = trip_each_first_line(attr->max_queues);
	uint64_t last = first + (attr->each_bytes + TRIP_EACH_LINE - 1) / TRIP_EACH_LINE;

	return statement->n_parts <= TRIP_EACH_PARTS_MAX &&
	       statement->key.words <= TRIP_EACH_KEY_WORDS &&
	       statement->key.bytes <= TRIP_EACH_KEY_MAX &&
	       statement->name[sizeof(statement->name) - 1] == 0 && statement->n_tables > 0 &&
	       statement->n_tables <= attr->max_queues && statement->first_line >= first &&
	       trips_are_whole(statement) && memos_are_whole(statement) &&
	       statement->in_hardware <= TRIP_EACH_HARDWARE_MAX &&
	       statement->help_lines == trip_each_help_lines(statement) &&
	       statement->hand_lines == trip_each_hand_lines(statement) &&
	       statement->first_line + trip_each_statement_lines(statement) <= last;
}

static int
give_back(const struct trip_each *each)
{
	const struct trip_protocol_each asked = {.number = each->number, .close = 1};

	return trip_link_call(each->domain, TRIP_PROTOCOL_EACH, &asked, sizeof(asked), NULL, NULL);
}

static int
find(struct trip_each *each)
{
	const struct trip_each_zone *zone = each->domain->engine.eaches;
	struct trip_protocol_each asked = {0};
	union trip_protocol_answer answer;
	int error;

	strcpy(asked.name, each->statement.name);
	error = trip_link_call(
		each->domain, TRIP_PROTOCOL_EACH, &asked, sizeof(asked), &answer, NULL);
	if (error != 0)
		return error;
	each->number = answer.each;
	if (zone != NULL && each->number < TRIP_EACH_MAX) {
		each->statement = zone->statements[each->number];
		if (is_whole(each))
			return 0;
	}
	(void)give_back(each);
	return trip_error_set(EPROTO,
		"each \"%s\": what the domain's memory says of it is not what the primary wrote",
		asked.name);
}

static int
close_found(struct trip_each *each)
{
	int error = give_back(each);

	if (error == 0)
		free(each);
	return error;
}

static int
ask_by_hand(struct trip_each *each, const struct trip_each_asked *asked)
{
	struct trip_protocol_by_hand request = {
		.time_us = asked->time_us, .number = each->number, .op = asked->op};

	memcpy(request.key, asked->key, sizeof(request.key));
	return trip_link_call(
		each->domain, TRIP_PROTOCOL_BY_HAND, &request, sizeof(request), NULL, NULL);
}

const struct trip_each_backend trip_link_each = {
	.open = refuse_open,
	.find = find,
	.close = close_found,
	.by_hand = ask_by_hand,
};
