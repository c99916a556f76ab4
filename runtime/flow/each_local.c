/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statements in the primary. A statement gets one piece of the domain's memory for all of its
 * tables, by first fit between those that are there. Its tables are made without a lock, then shown
 * to its queues; it ends the other way round (each_queue.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <rte_cycles.h>

#include "domain/error.h"
#include "domain/progress.h"
#include "flow/each.h"
#include "flow/each_helper.h"
#include "flow/each_rule.h"
#include "each_hand.h"
#include "each_help.h"

static struct trip_port_side *
side_of(const struct trip_each *each, uint32_t at)
{
	return &each->ports[at].port->sides[each->direction];
}

static struct trip_each_queue *
queue_of(const struct trip_each *each, const struct trip_port_side *side, uint32_t queue)
{
	return &each->domain->engine.eaches->queues[side->first_queue + queue];
}

struct trip_each_queue *
trip_each_queue_at(const struct trip_each *each, uint32_t table)
{
	uint32_t i = 0;

	for (; table >= side_of(each, i)->n_queues; i++)
		table -= side_of(each, i)->n_queues;
	return queue_of(each, side_of(each, i), table);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static uint32_t
end_of(const struct trip_each *each)
{
	return each->statement.first_line + (uint32_t)trip_each_statement_lines(&each->statement);
}

/* The next that begins at or behind a line; NULL: none. */
static const struct trip_each *
next_from(const struct trip_domain *domain, uint32_t line)
{
	const struct trip_each *next = NULL;

	for (uint32_t i = 0; i < TRIP_EACH_MAX; i++) {
		const struct trip_each *other = domain->eaches[i];

		if (other != NULL && other->statement.first_line >= line &&
			(next == NULL || other->statement.first_line < next->statement.first_line))
			next = other;
	}
	return next;
}

/* The first gap of so many lines; the widest there is goes to *widest. */
static uint32_t
find_gap(const struct trip_domain *domain, uint64_t lines, uint64_t *widest)
{
	const uint32_t first = trip_each_first_line(domain->attr.max_queues);
	const uint32_t last =
		first + (uint32_t)((domain->attr.each_bytes + TRIP_EACH_LINE - 1) / TRIP_EACH_LINE);
	const struct trip_each *next;
	uint32_t at = first;

	*widest = 0;
	do {
		uint64_t room;

		next = next_from(domain, at);
		room = (next != NULL ? next->statement.first_line : last) - at;
		if (room >= lines)
			return at;
		*widest = room > *widest ? room : *widest;
		at = next != NULL ? end_of(next) : last;
	} while (next != NULL);
	return TRIP_NONE;
}

static int
take_lines(struct trip_each *each)
{
	const struct trip_domain *domain = each->domain;
	struct trip_each_statement *statement = &each->statement;
	uint64_t lines, widest;
	uint32_t n_tables = 0;

	for (uint32_t i = 0; i < each->n_ports; i++)
		n_tables += side_of(each, i)->n_queues;
	trip_each_plan_tables(statement, n_tables);
	lines = trip_each_statement_lines(statement);
	statement->first_line = find_gap(domain, lines, &widest);
	return statement->first_line != TRIP_NONE
		       ? 0
		       : trip_error_set(ENOSPC,
				 "each \"%s\": its %" PRIu32 " tables take %" PRIu64
				 " bytes, and of the domain's each_bytes %" PRIu64
				 " at most %" PRIu64 " are free in one piece",
				 statement->name, statement->n_tables, lines * TRIP_EACH_LINE,
				 domain->attr.each_bytes, widest * TRIP_EACH_LINE);
}

/* ---- which there are --------------------------------------------------------------------------
 */

static struct trip_each *
find_name(const struct trip_domain *domain, const char *name)
{
	for (uint32_t i = 0; i < TRIP_EACH_MAX; i++) {
		struct trip_each *each = domain->eaches[i];

		if (each != NULL && !each->held && strcmp(each->statement.name, name) == 0)
			return each;
	}
	return NULL;
}

static void
take_port(const struct trip_each *each, struct trip_port *port)
{
	port->n_eaches++;
	if (each->statement.in_hardware != 0)
		port->helped = each;
}

static void
give_port(const struct trip_each *each, struct trip_port *port)
{
	port->n_eaches--;
	if (port->helped == each)
		port->helped = NULL;
}

/* A number and memory of its own; its ports stay open. Under the control lock. */
static int
enter(struct trip_each *each)
{
	struct trip_domain *domain = each->domain;
	int error;

	trip_each_free_held(domain, NULL);
	if (find_name(domain, each->statement.name) != NULL)
		return trip_error_set(
			EEXIST, "each \"%s\": the domain has one", each->statement.name);
	while (each->number < TRIP_EACH_MAX && domain->eaches[each->number] != NULL)
		each->number++;
	if (each->number == TRIP_EACH_MAX)
		return trip_error_set(ENOSPC, "each \"%s\": the domain has %d of them",
			each->statement.name, TRIP_EACH_MAX);
	error = trip_each_rule_alone(each);
	if (error == 0)
		error = take_lines(each);
	if (error != 0)
		return error;
	domain->eaches[each->number] = each;
	each->opening = ++domain->each_openings;
	if (each->trips != NULL)
		trip_fid_hold(&each->trips->fid);
	for (uint32_t i = 0; i < each->n_ports; i++)
		take_port(each, each->ports[i].port);
	return 0;
}

/* Nobody counts in its tables any more. Under the control lock. */
static void
leave(const struct trip_each *each)
{
	each->domain->eaches[each->number] = NULL;
	if (each->trips != NULL)
		trip_fid_let_go(&each->trips->fid);
}

void
trip_each_free_held(struct trip_domain *domain, const struct trip_port *closed)
{
	for (uint32_t i = 0; i < TRIP_EACH_MAX; i++) {
		struct trip_each *each = domain->eaches[i];
		bool past = true;

		if (each == NULL || !each->held)
			continue;
		for (uint32_t k = 0; k < each->n_ports; k++) {
			struct trip_each_port *on = &each->ports[k];

			on->past = on->past || on->port == closed ||
				   trip_port_is_past(on->port, side_of(each, k), on->stamp);
			past &= on->past;
		}
		if (past) {
			leave(each);
			free(each);
		}
	}
}

/* ---- its queues -------------------------------------------------------------------------------
 */

static void
make_tables(struct trip_each *each)
{
	const struct trip_each_statement *statement = &each->statement;
	struct trip_keyed_attr attr = trip_each_keyed(statement);
	struct trip_each_ring_at at;

	if (trip_each_tells_trips(statement)) {
		at = trip_each_statement_ring(each->domain->engine.eaches, statement);
		trip_each_ring_init(&at);
	}
	if (statement->in_hardware != 0)
		memset(trip_each_help_of(each->domain->engine.eaches, statement), 0,
			(size_t)statement->help_lines * TRIP_EACH_LINE);
	if (statement->hands)
		memset(trip_each_hand_orders(each->domain->engine.eaches, statement, 0), 0,
			(size_t)statement->hand_lines * TRIP_EACH_LINE);
	/* Where the kernel has none yet: the time, and where this is. */
	if (getrandom(attr.secret, sizeof(attr.secret), 0) != sizeof(attr.secret)) {
		attr.secret[0] ^= rte_rdtsc();
		attr.secret[1] ^= (uintptr_t)each;
	}
	for (uint32_t i = 0; i < statement->n_tables; i++) {
		attr.own = i;
		(void)trip_keyed_init(trip_each_table_at(each, i), &attr);
	}
}

static void
show_to(const struct trip_each *each, struct trip_port_side *side, uint32_t q, uint32_t table)
{
	const struct trip_each_statement *statement = &each->statement;
	struct trip_each_queue *queue = queue_of(each, side, q);
	uint64_t bit = UINT64_C(1) << each->number;

	queue->lines[each->number] = trip_each_table_line(statement, table);
	atomic_fetch_and_explicit(&queue->used, ~bit, memory_order_relaxed);
	atomic_fetch_and_explicit(&queue->ordered, ~bit, memory_order_relaxed);
	atomic_fetch_or_explicit(&queue->wants, statement->wants, memory_order_relaxed);
	/* Release: all of it. Partner: R4. */
	atomic_fetch_or_explicit(&queue->open, bit, memory_order_release);
	atomic_fetch_or_explicit(&side->queues[q].soft.each.open, bit, memory_order_release);
}

/* Under the control lock. */
static void
show(struct trip_each *each)
{
	uint32_t table = 0;

	each->domain->engine.eaches->statements[each->number] = each->statement;
	for (uint32_t i = 0; i < each->n_ports; i++)
		for (uint32_t q = 0; q < side_of(each, i)->n_queues; q++)
			show_to(each, side_of(each, i), q, table++);
	each->shown = true;
}

/* W1. */
static void
hide_from(const struct trip_each *each, struct trip_port_side *side, uint32_t q)
{
	uint64_t bit = UINT64_C(1) << each->number;

	atomic_fetch_and_explicit(&queue_of(each, side, q)->open, ~bit, memory_order_relaxed);
	atomic_fetch_and_explicit(&side->queues[q].soft.each.open, ~bit, memory_order_relaxed);
}

/* What those that are left want of packets. */
static void
want_less(const struct trip_each *each, const struct trip_port_side *side, uint32_t q)
{
	struct trip_each_queue *queue = queue_of(each, side, q);
	uint64_t open = atomic_load_explicit(&queue->open, memory_order_relaxed);
	uint32_t wants = 0;

	for (; open != 0; open &= open - 1)
		wants |= each->domain->engine.eaches->statements[__builtin_ctzll(open)].wants;
	atomic_store_explicit(&queue->wants, wants, memory_order_relaxed);
}

/* No burst of this process counts in its tables any more; or of another one: true. */
static bool
outlive_bursts(struct trip_each *each, uint32_t at)
{
	struct trip_port_side *side = side_of(each, at);
	struct trip_each_port *on = &each->ports[at];
	uint64_t began = rte_rdtsc(), era;

	for (uint32_t q = 0; q < side->n_queues; q++)
		hide_from(each, side, q);
	if (side->rules != NULL)
		on->stamp = trip_rulebook_touch(side->rules);
	era = trip_era_retire(&side->table->era);
	while (!trip_era_safe(&side->table->era, era))
		trip_progress_wait_burst(began);
	on->past = side->rules == NULL || trip_port_wait_past(on->port, side, on->stamp);
	for (uint32_t q = 0; q < side->n_queues; q++)
		want_less(each, side, q);
	return on->past;
}

/* ---- calls ------------------------------------------------------------------------------------
 */

/* What no queue has been shown. Under the control lock. */
static void
withdraw(const struct trip_each *each)
{
	for (uint32_t i = 0; i < each->n_ports; i++)
		give_port(each, each->ports[i].port);
	leave(each);
}

/* Whether counters of its port outlive their rules. */
static bool
shares_counters(const struct trip_each *each)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};

	return trip_port_facts(each->ports[0].port->port_id, &facts) == 0 && facts.indirect;
}

static int
open_local(struct trip_each *each)
{
	struct trip_domain *domain = each->domain;
	int error = trip_each_rule_check(each, shares_counters(each));

	if (error != 0)
		return error;
	trip_progress_lock(domain);
	error = enter(each);
	pthread_mutex_unlock(&domain->control);
	if (error != 0)
		return error;
	make_tables(each);
	if (each->statement.in_hardware != 0)
		error = trip_each_helper_start(each);
	trip_progress_lock(domain);
	if (error == 0)
		show(each);
	else
		withdraw(each);
	pthread_mutex_unlock(&domain->control);
	return error;
}

int
trip_each_keep(struct trip_domain *domain, const char *name, uint32_t *number)
{
	struct trip_each *owner = find_name(domain, name);

	if (owner == NULL || !owner->shown || owner->closing)
		return trip_error_set(
			ENOENT, "domain \"%s\": it has no each \"%s\"", domain->name, name);
	owner->n_found++;
	*number = owner->number;
	return 0;
}

void
trip_each_let_go(struct trip_domain *domain, uint32_t number, uint32_t times)
{
	domain->eaches[number]->n_found -= times;
}

static int
find_local(struct trip_each *each)
{
	struct trip_domain *domain = each->domain;
	int error;

	trip_progress_lock(domain);
	error = trip_each_keep(domain, each->statement.name, &each->number);
	if (error == 0)
		each->statement = domain->eaches[each->number]->statement;
	pthread_mutex_unlock(&domain->control);
	return error;
}

/* Nobody finds it from here on. Under the control lock. */
static int
begin_end(struct trip_each *each)
{
	if (each->n_found > 0)
		return trip_error_set(EBUSY, "each \"%s\": %" PRIu32 " handles have found it",
			each->statement.name, each->n_found);
	each->closing = true;
	return 0;
}

/* Under the control lock. */
static void
end(struct trip_each *each)
{
	bool past = true;

	for (uint32_t i = 0; i < each->n_ports; i++) {
		past &= outlive_bursts(each, i);
		give_port(each, each->ports[i].port);
	}
	each->held = true;
	if (past) {
		leave(each);
		free(each);
	}
}

static int
close_local(struct trip_each *each)
{
	struct trip_domain *domain = each->domain;
	bool found = each->found;
	int error = 0;

	trip_progress_lock(domain);
	if (found)
		trip_each_let_go(domain, each->number, 1);
	else
		error = begin_end(each);
	pthread_mutex_unlock(&domain->control);
	if (found)
		free(each);
	if (found || error != 0)
		return error;
	trip_each_helper_stop(each);
	trip_progress_lock(domain);
	end(each);
	pthread_mutex_unlock(&domain->control);
	return 0;
}

/* While it has its handle, the statement is there. */
static int
by_hand_local(struct trip_each *each, const struct trip_each_asked *asked)
{
	struct trip_domain *domain = each->domain;
	int error;

	trip_progress_lock(domain);
	error = trip_each_by_hand(domain->eaches[each->number], asked);
	pthread_mutex_unlock(&domain->control);
	return error;
}

const struct trip_each_backend trip_each_local = {
	.open = open_local,
	.find = find_local,
	.close = close_local,
	.by_hand = by_hand_local,
};
