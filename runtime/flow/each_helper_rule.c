/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of keys in hardware: when they come and go, and what they have counted (each_helper.c). */
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "flow/each_helper_priv.h"
#include "flow/each_rule.h"
#include "flow/flow.h"
#include "hard.h"

static struct trip_each_place *
place_of(const struct trip_each_helper *helper, uint32_t place)
{
	return trip_each_help_place(helper->help, helper->each->statement.n_tables, place);
}

/* ---- what rules have counted ------------------------------------------------------------------
 */

static void
read_rule(struct trip_each_helper *helper, struct helped_key *key, struct trip_flow_count *count)
{
	struct trip_each_place *place = place_of(helper, key->place);

	trip_flow_read(key->flow, count);
	if (count->packets > key->packets)
		key->seen_us = helper->now;
	trip_each_helper_grow(&helper->help->coming_packets, count->packets - key->packets);
	trip_each_helper_grow(&helper->help->coming_bytes, count->bytes - key->bytes);
	trip_each_helper_grow(&helper->help->packets, count->packets - key->packets);
	trip_each_helper_grow(&helper->help->bytes, count->bytes - key->bytes);
	key->packets = count->packets;
	key->bytes = count->bytes;
	atomic_store_explicit(&place->packets, key->packets, memory_order_relaxed);
	atomic_store_explicit(&place->bytes, key->bytes, memory_order_relaxed);
}

/* False: the table has to take others before. */
static bool
hand_over(struct trip_each_helper *helper, struct helped_key *key)
{
	const struct trip_keyed *table = trip_each_table_at(helper->each, key->table);
	uint64_t early = 2 * helper->lag + MARGIN_US;
	struct trip_keyed_sum sum = {.packets = key->packets - key->handed_packets,
		.bytes = key->bytes - key->handed_bytes,
		.since = key->read_us > early ? key->read_us - early : 0};

	if (sum.packets == 0 && sum.bytes == 0)
		return true;
	memcpy(sum.key, key->words, sizeof(sum.key));
	if (!trip_each_help_give(helper->help, key->table, trip_keyed_added(table), &sum))
		return false;
	key->handed_packets = key->packets;
	key->handed_bytes = key->bytes;
	key->read_us = helper->now;
	trip_each_helper_grow(&helper->help->coming_packets, -sum.packets);
	trip_each_helper_grow(&helper->help->coming_bytes, -sum.bytes);
	return true;
}

/* ---- rules ------------------------------------------------------------------------------------
 */

static void
count_change(struct trip_each_helper *helper)
{
	uint64_t from = helper->now > TICK_US ? helper->now - TICK_US : 0;

	/* What is not used of a moment is not kept for the next. */
	helper->change_us = RTE_MAX(helper->change_us, from) +
			    US_PER_S / helper->each->statement.hardware_changes;
	trip_each_helper_grow(&helper->help->changes, 1);
}

static bool
may_change(const struct trip_each_helper *helper)
{
	return helper->change_us <= helper->now && helper->retry_us <= helper->now &&
	       helper->n_flows < helper->each->statement.in_hardware;
}

/* That of which most came. */
static struct helped_key *
choose(struct trip_each_helper *helper)
{
	struct helped_key *best = NULL;

	for (uint32_t i = 0; i < helper->n_keys; i++) {
		struct helped_key *key = &helper->keys[i];

		if (key->state == WAITING && key->came > (best != NULL ? best->came : 0))
			best = key;
	}
	return best;
}

/* A free place; there are as many as there may be rules. Whoever has attached may have written
 * anything. */
static uint32_t
find_place(const struct trip_each_helper *helper)
{
	uint32_t last = helper->each->statement.in_hardware - 1, at = 0;

	while (at < last &&
		atomic_load_explicit(&place_of(helper, at)->since, memory_order_relaxed) != 0)
		at++;
	return at;
}

static void
show(struct trip_each_helper *helper, struct helped_key *key)
{
	struct trip_each_place *place;

	key->place = find_place(helper);
	place = place_of(helper, key->place);
	/* Partner: trip_each_help_read(). */
	atomic_thread_fence(memory_order_release);
	for (uint32_t i = 0; i < TRIP_EACH_KEY_WORDS; i++)
		atomic_store_explicit(&place->key[i], key->words[i], memory_order_relaxed);
	atomic_store_explicit(&place->packets, 0, memory_order_relaxed);
	atomic_store_explicit(&place->bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&place->since, helper->now * 1000, memory_order_release);
}

/* Of a key, a rule that drops it, or one above that does not. */
static int
create(struct trip_each_helper *helper, struct helped_key *key, bool drops, struct trip_flow **flow)
{
	const struct trip_flow_attr attr = {sizeof(attr), .engine = TRIP_FLOW_ENGINE_HW,
		.priority = trip_each_rule_priority(helper->shares, drops),
		.reason = "a key of an each is dropped"};
	struct rte_flow_error error;
	struct trip_each_rule rule;
	const struct trip_flow_order order = {.attr = &attr,
		.given = &attr,
		.pattern = rule.items,
		.actions = drops ? trip_each_rule_actions : NULL,
		.error = &error,
		.of_each = true};

	if (!trip_each_rule_make(&helper->each->statement, (const uint8_t *)key->words, &rule))
		return -ENOTSUP;
	return trip_flow_local.create(helper->port, &order, flow);
}

static void
put_in(struct trip_each_helper *helper, struct helped_key *key)
{
	int result = create(helper, key, true, &key->flow);

	if (result == -ENOTSUP) {
		key->state = FREE;
		trip_each_helper_grow(&helper->help->passed_over, 1);
		return;
	}
	/* A driver that is full, or a port that is stopped, is asked again later. */
	if (result != 0) {
		helper->retry_us = helper->now + RETRY_US;
		trip_each_helper_grow(&helper->help->failed, 1);
		return;
	}
	count_change(helper);
	helper->n_flows++;
	key->state = IN;
	key->packets = key->bytes = key->handed_packets = key->handed_bytes = 0;
	key->read_us = key->seen_us = helper->now;
	show(helper, key);
	trip_each_helper_grow(&helper->help->waiting, -UINT64_C(1));
	trip_each_helper_grow(&helper->help->keys, 1);
}

bool
trip_each_helper_put_in(struct trip_each_helper *helper)
{
	struct helped_key *key = may_change(helper) ? choose(helper) : NULL;

	if (key != NULL)
		put_in(helper, key);
	return key != NULL;
}

/* A counter that goes with its rule is read before, and nothing may come to it then: software drops
 * the key's packets, and counts them. Where that cannot be, `rules_failed` says so. */
static void
take_over(struct trip_each_helper *helper, struct helped_key *key)
{
	if (helper->shares)
		return;
	if (create(helper, key, false, &key->above) == 0) {
		count_change(helper);
		return;
	}
	key->above = NULL;
	trip_each_helper_grow(&helper->help->failed, 1);
}

static void
take_out(struct trip_each_helper *helper, struct helped_key *key, bool drops)
{
	if (drops)
		take_over(helper, key);
	trip_flow_hard.retire(key->flow);
	count_change(helper);
	key->state = OUT;
	trip_each_helper_grow(&helper->help->keys, -UINT64_C(1));
}

/* What a rule drops, and whether it is to go on. */
void
trip_each_helper_watch(struct trip_each_helper *helper, struct helped_key *key)
{
	/* What is read now may be as old as that. */
	const uint64_t idle = helper->each->statement.idle + helper->lag;
	struct trip_flow_count count;
	struct trip_each_entry entry;
	bool drops;

	read_rule(helper, key, &count);
	(void)hand_over(helper, key);
	drops = count.fate == TRIP_FLOW_FATE_DROP;
	entry = trip_each_sum(helper->each, key->words);
	if (!drops || helper->now - key->seen_us >= idle ||
		trip_each_helper_lasts(helper, &entry) <= helper->lead ||
		atomic_load_explicit(&helper->settling, memory_order_relaxed))
		take_out(helper, key, drops);
}

/* Its rule is out: once its counter shows all, that is handed over. */
void
trip_each_helper_finish(struct trip_each_helper *helper, struct helped_key *key)
{
	struct trip_hard_call call = {
		.run = trip_hard_query, .flow = trip_flow_more(key->flow)->hard};
	bool stop = atomic_load_explicit(&helper->stop, memory_order_relaxed);
	struct trip_flow_count count;

	if (trip_hard_call(helper->port->hard, &call) == -EAGAIN)
		return;
	read_rule(helper, key, &count);
	if (!hand_over(helper, key) && !stop)
		return;
	atomic_store_explicit(&place_of(helper, key->place)->since, 0, memory_order_release);
	(void)trip_flow_local.destroy(key->flow);
	key->flow = NULL;
	if (key->above != NULL) {
		(void)trip_flow_local.destroy(key->above);
		count_change(helper);
	}
	key->above = NULL;
	helper->n_flows--;
	/* If it is held yet, and comes again, so does its rule. */
	key->state = WAITING;
	key->came = 0;
	key->had = trip_each_sum(helper->each, key->words).packets;
	key->seen_us = helper->now;
}
