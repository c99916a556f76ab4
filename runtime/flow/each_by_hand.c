/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that are held by hand: in the primary an order for each of the statement's tables, whose
 * pollers do the rest (each_hand.h). All that can be refused is so before the first of them is
 * given.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "clock.h"
#include "domain/backend.h"
#include "domain/detach.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "flow/each.h"
#include "each_hand.h"
#include "source.h"

static struct trip_each_orders *
orders_of(const struct trip_each *each, uint32_t table)
{
	return trip_each_hand_orders(each->domain->engine.eaches, &each->statement, table);
}

/* ---- what can be refused ----------------------------------------------------------------------
 */

static int
check_asked(const struct trip_each *each, const struct trip_each_asked *asked)
{
	const char *name = each->statement.name;

	if (!each->statement.hands)
		return trip_error_set(ENOTSUP,
			"each \"%s\": it was opened without by_hand, so its keys are not held by "
			"hand",
			name);
	if (asked->op != TRIP_EACH_OP_NONE && asked->op != TRIP_EACH_OP_DROP &&
		asked->op != TRIP_EACH_OP_PASS)
		return trip_error_set(EINVAL,
			"each \"%s\": by hand a key is dropped, passes or is let go, and not "
			"%" PRIu32,
			name, asked->op);
	if (asked->time_us > TRIP_KEYED_IDLE_MAX ||
		(asked->op == TRIP_EACH_OP_NONE && asked->time_us != 0))
		return trip_error_set(EINVAL,
			"each \"%s\": time_us %" PRIu64 " is above 2^48, or of what is let go",
			name, asked->time_us);
	return 0;
}

/* Its queues may not have taken an order yet: the last says what is done to it. */
static bool
is_held(const struct trip_each *each, const uint64_t *key)
{
	struct trip_each_ordered order;
	struct trip_each_entry sum;

	for (uint32_t i = 0; i < each->statement.n_tables; i++)
		if (trip_each_hand_waits(orders_of(each, i), key, &order))
			return order.op != TRIP_EACH_OP_NONE;
	sum = trip_each_sum(each, key);
	return sum.until_ns != 0;
}

static int
check_room(const struct trip_each *each, const uint64_t *key, uint32_t at)
{
	const struct trip_keyed *table = trip_each_table_at(each, at);
	struct trip_keyed_entry reading;
	struct trip_keyed_totals totals;

	trip_keyed_totals(table, &totals);
	if (totals.held < each->statement.max || trip_keyed_seek(table, key, &reading))
		return 0;
	return trip_error_set(ENOSPC,
		"each \"%s\": all of its max %" PRIu32 " keys are held in table %" PRIu32
		", and this is none of them: let one go before",
		each->statement.name, each->statement.max, at);
}

static int
check_tables(const struct trip_each *each, const struct trip_each_asked *asked)
{
	char text[TRIP_EACH_TEXT_MAX];
	int error = 0;

	if (asked->op == TRIP_EACH_OP_NONE && !is_held(each, asked->key)) {
		(void)trip_each_key_text(each->statement.parts, each->statement.n_parts,
			(const uint8_t *)asked->key, text, sizeof(text));
		return trip_error_set(ENOENT, "each \"%s\": nothing is done to the key %s",
			each->statement.name, text);
	}
	for (uint32_t i = 0; i < each->statement.n_tables && error == 0; i++) {
		if (!trip_each_hand_has_room(orders_of(each, i)))
			error = trip_error_set(EAGAIN,
				"each \"%s\": who polls queue %" PRIu32
				" of its ports? %u keys wait to be held there",
				each->statement.name, i, TRIP_EACH_ORDERS);
		else if (asked->op != TRIP_EACH_OP_NONE)
			error = check_room(each, asked->key, i);
	}
	return error;
}

/* ---- giving it --------------------------------------------------------------------------------
 */

/* The one that has most of it tells its end; else the first. */
static uint32_t
owner_of(const struct trip_each *each, const uint64_t *key)
{
	struct trip_keyed_entry reading;
	uint64_t most = 0;
	uint32_t owner = 0;

	for (uint32_t i = 0; i < each->statement.n_tables; i++)
		if (trip_keyed_seek(trip_each_table_at(each, i), key, &reading) &&
			reading.packets > most) {
			most = reading.packets;
			owner = i;
		}
	return owner;
}

/* By the log behind those of the tables. */
static void
tell(const struct trip_each *each, const struct trip_each_asked *asked, uint32_t owner, uint64_t ns)
{
	const struct trip_each_ring_at at =
		trip_each_statement_ring(each->domain->engine.eaches, &each->statement);
	const struct trip_each_entry sum = trip_each_sum(each, asked->key);
	struct trip_each_told told = {.packets = sum.packets,
				      .bytes = sum.bytes,
				      .ns = ns,
				      .when = TRIP_EACH_TOLD_HAND | asked->op |
					      owner << TRIP_EACH_TOLD_OWNER_SHIFT,
				      .nth = asked->pid,
				      .table = each->statement.n_tables,
				      .times = 1},
			      found;

	memcpy(told.key, asked->key, sizeof(told.key));
	do
		trip_each_ring_write(&at, &told);
	while (trip_each_ring_tell(&at, &told, trip_each_ring_trips(&at), &found) ==
		TRIP_EACH_MISSED);
	if (each->statement.cntr != 0)
		trip_source_raise(
			&each->domain->engine, each->statement.cntr - 1, trip_each_ring_trips(&at));
}

int
trip_each_by_hand(const struct trip_each *each, const struct trip_each_asked *asked)
{
	const uint64_t ns = trip_clock_at(each->domain->engine.homes[0], rte_rdtsc());
	struct trip_each_ordered order = {.op = (enum trip_each_op)asked->op,
		.until = asked->time_us != 0 ? ns / 1000 + asked->time_us : TRIP_KEYED_EVER};
	int error = check_asked(each, asked);
	uint32_t owner;

	if (error == 0)
		error = check_tables(each, asked);
	if (error != 0)
		return error;
	owner = owner_of(each, asked->key);
	tell(each, asked, owner, ns);
	memcpy(order.key, asked->key, sizeof(order.key));
	for (uint32_t i = 0; i < each->statement.n_tables; i++) {
		order.owns = i == owner;
		trip_each_hand_give(orders_of(each, i), &order);
		/* Release: the order. Partner: the acquire in trip_each_hand_take(). */
		atomic_fetch_or_explicit(&trip_each_queue_at(each, i)->ordered,
			UINT64_C(1) << each->number, memory_order_release);
	}
	return 0;
}

/* ---- calls ------------------------------------------------------------------------------------
 */

int
trip_each_hold(struct trip_each *each, const void *key, enum trip_each_op op, uint64_t time_us)
{
	struct trip_domain *domain = each->domain;
	struct trip_each_asked asked = {
		.time_us = time_us, .op = (uint32_t)op, .pid = (uint32_t)getpid()};
	int error =
		trip_progress_check_named(domain, "each", each->statement.name, "hold a key of it");

	if (error != 0)
		return error;
	memcpy(asked.key, key, each->statement.key.bytes);
	return domain->backend->each->by_hand(each, &asked);
}

int
trip_each_parse(const struct trip_each *each, const char *text, void *key)
{
	const struct trip_each_statement *statement = &each->statement;
	char wrong[TRIP_EACH_WRONG_MAX];
	uint8_t parsed[TRIP_EACH_KEY_MAX];
	int error = trip_detach_check(each->domain);

	if (error != 0)
		return error;
	if (trip_each_key_parse(
		    statement->parts, statement->n_parts, text, parsed, wrong, sizeof(wrong)) != 0)
		return trip_error_set(EINVAL, "each \"%s\": '%.64s' is no key of it: %s",
			statement->name, text, wrong);
	memcpy(key, parsed, statement->key.bytes);
	return 0;
}
