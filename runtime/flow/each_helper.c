/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of a statement in hardware, by a thread of their own in the primary. No rule changes on a
 * polling core: the port's worker changes and reads them, as it does all others (hard.h), and this
 * thread waits for it.
 *
 *	WAITING		it is dropped, and may go to hardware
 *	IN		a rule drops it, and what that counts is handed to the key's table
 *	OUT		the rule is out, and its counter is read until it shows all
 *
 * A key stays with the table that told its trip, whose entry is held until the end is told. What is
 * handed over is what the last reading has more than was handed over: so nothing is twice, or lost,
 * however often a key goes and comes, and a table whose ring is full is only late.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "clock.h"
#include "domain/error.h"
#include "domain/progress.h"
#include "flow/each_helper_priv.h"

#define LOOK_US 100000u /* at keys that are waiting */
#define SETTLE_US 10000000u
#define TRIPS_AT_ONCE 256u
/* Keys that are known at once, beside those in hardware. */
#define WAITING_MIN 64u
#define WAITING_OF_EACH 3u

/* By how much counters lag: where it is not known, what is supposed; and what becomes of them. */
static void
ask_facts(struct trip_each_helper *helper)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};

	if (trip_port_hard_facts_read(helper->port, &facts) != 0)
		return;
	helper->lag = facts.refresh_lag_ns / 1000;
	helper->lead = helper->lag * 3 / 2 + MARGIN_US;
	helper->shares = facts.indirect;
}

/* ---- which keys -------------------------------------------------------------------------------
 */

uint64_t
trip_each_helper_lasts(const struct trip_each_helper *helper, const struct trip_each_entry *entry)
{
	uint64_t until = entry->until_ns == UINT64_MAX ? UINT64_MAX : entry->until_ns / 1000;

	if (entry->tables == 0 || entry->op != TRIP_EACH_OP_DROP || until <= helper->now)
		return 0;
	return until - helper->now;
}

/* Long enough for a rule to come and go. */
static bool
is_worth_it(const struct trip_each_helper *helper, const struct trip_each_entry *entry)
{
	return trip_each_helper_lasts(helper, entry) > 3 * helper->lead + helper->lag;
}

/* The key's, or one that may be it: a free one, or one of which nothing came. */
static struct helped_key *
find_key(struct trip_each_helper *helper, const uint64_t *words)
{
	struct helped_key *room = NULL;

	for (uint32_t i = 0; i < helper->n_keys; i++) {
		struct helped_key *key = &helper->keys[i];

		if (key->state == FREE) {
			room = room == NULL || room->state != FREE ? key : room;
			continue;
		}
		if (memcmp(key->words, words, sizeof(key->words)) == 0)
			return key;
		if (room == NULL && key->state == WAITING && key->came == 0 &&
			helper->now - key->seen_us > RETRY_US)
			room = key;
	}
	return room;
}

/* And the table whose entry it is; whoever polls a queue may have written anything. */
static bool
begins_drop(const struct trip_each_statement *statement, const struct trip_each_told *told,
	uint32_t *table)
{
	*table = told->table;
	if (told->table == statement->n_tables) {
		*table = told->when >> TRIP_EACH_TOLD_OWNER_SHIFT & UINT16_MAX;
		return *table < statement->n_tables &&
		       (told->when & TRIP_EACH_TOLD_OP) == TRIP_EACH_OP_DROP;
	}
	return told->when < statement->n_whens && told->table < statement->n_tables &&
	       statement->acts[told->when].op == TRIP_EACH_OP_DROP;
}

static void
take_trip(struct trip_each_helper *helper, const struct trip_each_told *told)
{
	const struct trip_each_statement *statement = &helper->each->statement;
	struct helped_key *key;
	uint32_t table;

	if (!begins_drop(statement, told, &table))
		return;
	key = find_key(helper, told->key);
	if (key == NULL)
		trip_each_helper_grow(&helper->help->passed_over, 1);
	if (key == NULL ||
		(key->state != FREE && memcmp(key->words, told->key, sizeof(key->words)) == 0))
		return;
	*key = (struct helped_key){.state = WAITING, .table = table, .seen_us = helper->now};
	memcpy(key->words, told->key, sizeof(key->words));
	key->had = trip_each_sum(helper->each, key->words).packets;
}

static void
take_trips(struct trip_each_helper *helper)
{
	const struct trip_each_ring_at at = trip_each_statement_ring(
		helper->each->domain->engine.eaches, &helper->each->statement);
	uint64_t end = trip_each_ring_trips(&at);
	struct trip_each_told told;

	if (end - helper->next_trip > at.kept) {
		trip_each_helper_grow(
			&helper->help->passed_over, end - at.kept - helper->next_trip);
		helper->next_trip = end - at.kept;
	}
	for (uint32_t n = 0; n < TRIPS_AT_ONCE && helper->next_trip < end; n++) {
		if (trip_each_ring_read(&at, helper->next_trip, &told))
			take_trip(helper, &told);
		helper->next_trip++;
	}
}

/* Keys that are waiting: what came of them of late, and whether they still are. */
static void
look(struct trip_each_helper *helper)
{
	uint64_t waiting = 0;

	helper->look_us = helper->now + LOOK_US;
	ask_facts(helper);
	for (uint32_t i = 0; i < helper->n_keys; i++) {
		struct helped_key *key = &helper->keys[i];
		struct trip_each_entry entry;

		if (key->state != WAITING)
			continue;
		entry = trip_each_sum(helper->each, key->words);
		if (!is_worth_it(helper, &entry)) {
			/* Its queue may not have done yet what was said by hand. */
			key->came = 0;
			if (helper->now - key->seen_us > RETRY_US)
				key->state = FREE;
			continue;
		}
		key->came = entry.packets > key->had ? entry.packets - key->had : 0;
		key->had = entry.packets;
		if (key->came > 0)
			key->seen_us = helper->now;
		waiting += key->came > 0;
	}
	atomic_store_explicit(&helper->help->waiting, waiting, memory_order_relaxed);
}

/* ---- the thread -------------------------------------------------------------------------------
 */

static bool
are_taken(const struct trip_each_helper *helper)
{
	for (uint32_t i = 0; i < helper->each->statement.n_tables; i++) {
		const struct trip_each_sums *sums = trip_each_help_sums(helper->help, i);

		if (trip_keyed_added(trip_each_table_at(helper->each, i)) !=
			atomic_load_explicit(&sums->given, memory_order_relaxed))
			return false;
	}
	return true;
}

static void
run_once(struct trip_each_helper *helper)
{
	helper->now = trip_clock_ns(&helper->each->domain->engine, rte_rdtsc()) / 1000;
	take_trips(helper);
	if (helper->now >= helper->look_us)
		look(helper);
	for (uint32_t i = 0; i < helper->n_keys; i++) {
		if (helper->keys[i].state == IN)
			trip_each_helper_watch(helper, &helper->keys[i]);
		else if (helper->keys[i].state == OUT)
			trip_each_helper_finish(helper, &helper->keys[i]);
	}
	if (!atomic_load_explicit(&helper->settling, memory_order_relaxed)) {
		while (trip_each_helper_put_in(helper))
			;
		return;
	}
	if (helper->n_flows == 0 && are_taken(helper))
		atomic_store_explicit(&helper->settled, true, memory_order_release);
}

static TRIP_COMPAT_THREAD_RESULT
helper_main(void *arg)
{
	const struct timespec pause = {.tv_nsec = TICK_US * 1000L};
	struct trip_each_helper *helper = arg;

	trip_progress_follow();
	while (!atomic_load_explicit(&helper->stop, memory_order_acquire) || helper->n_flows > 0) {
		run_once(helper);
		nanosleep(&pause, NULL);
	}
	atomic_store_explicit(&helper->done, true, memory_order_release);
	return 0;
}

int
trip_each_helper_start(struct trip_each *each)
{
	uint32_t n_keys = each->statement.in_hardware * (1 + WAITING_OF_EACH) + WAITING_MIN;
	struct trip_each_helper *helper =
		calloc(1, sizeof(*helper) + n_keys * sizeof(helper->keys[0]));

	if (helper == NULL)
		return trip_error_set(ENOMEM, "each \"%s\": no memory for its keys in hardware",
			each->statement.name);
	helper->each = each;
	helper->port = each->ports[0].port;
	helper->help = trip_each_help_of(each->domain->engine.eaches, &each->statement);
	helper->n_keys = n_keys;
	ask_facts(helper);
	if (trip_compat_thread_start(&helper->thread, "trip-keys", helper_main, helper) != 0) {
		free(helper);
		return trip_error_set(EAGAIN,
			"each \"%s\": the thread of its keys in hardware does not start",
			each->statement.name);
	}
	each->helper = helper;
	return 0;
}

/* For its thread, which may wait for homes that are on us. */
static void
wait_a_moment(struct trip_domain *domain)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	trip_progress_wait(domain);
	nanosleep(&pause, NULL);
}

void
trip_each_helper_stop(struct trip_each *each)
{
	struct trip_each_helper *helper = each->helper;

	if (helper == NULL)
		return;
	atomic_store_explicit(&helper->settling, true, memory_order_relaxed);
	atomic_store_explicit(&helper->stop, true, memory_order_release);
	while (!atomic_load_explicit(&helper->done, memory_order_acquire))
		wait_a_moment(each->domain);
	trip_compat_thread_join(helper->thread);
	each->helper = NULL;
	free(helper);
}

int
trip_each_helper_settle(struct trip_each *each)
{
	struct trip_each_helper *helper = each->helper;
	uint64_t began = rte_rdtsc(), limit;

	if (helper == NULL)
		return 0;
	atomic_store_explicit(&helper->settling, true, memory_order_relaxed);
	limit = rte_get_tsc_hz() / US_PER_S * SETTLE_US;
	while (!atomic_load_explicit(&helper->settled, memory_order_acquire)) {
		if (rte_rdtsc() - began > limit)
			return trip_error_set(ETIMEDOUT,
				"each \"%s\": its tables have not taken what hardware has counted: "
				"who polls port %" PRIu16 "?",
				each->statement.name, helper->port->port_id);
		wait_a_moment(each->domain);
	}
	return 0;
}
