/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What follows the lookup of a chunk: action words are read, packets counted and dropped; then a
 * fence, and the counts are compared with their limits. A packet that did not plainly hit one
 * active rule is searched for by itself, through all masks. All of that is one file, above 400
 * lines, so that what a packet takes is compiled as one.
 */
#include <string.h>

#include <rte_cycles.h>

#include "soft.h"

/* A search is repeated when the table changed; see table.h on `changes`. */
#define SEARCHES_MAX 64

static __attribute__((noinline)) void
ring_reached(struct trip_soft_queue *queue)
{
	uint64_t tsc = rte_rdtsc();

	for (uint32_t i = 0; i < queue->touched_count; i++) {
		uint32_t rule = queue->touched[i];
		unsigned int reached = trip_count_reached(&queue->lookup.counts[rule]);

		if (reached == 0)
			continue;
		trip_count_cross(&queue->moments[rule], reached, tsc);
		queue->cross(queue->arg, rule, reached);
	}
}

/* All limits of the lines that were counted on, after their counts: Q2 and Q3 of count.h. */
static void
ring(struct trip_soft_queue *queue)
{
	const struct trip_count *counts = queue->lookup.counts;
	uint32_t count = queue->touched_count;
	unsigned int reached = 0;

	trip_count_fence();
	for (uint32_t i = 0; i < count; i++)
		reached |= trip_count_reached(&counts[queue->touched[i]]);
	if (unlikely(reached != 0))
		ring_reached(queue);
	queue->touched_count = 0;
}

static inline void
count_rule(struct trip_soft_queue *queue, uint32_t rule, uint32_t bytes)
{
	trip_count_add(&queue->lookup.counts[rule], 1, bytes);
	queue->touched[queue->touched_count++] = rule;
}

static inline uint8_t
action_of(const _Atomic uint8_t *actions, uint32_t rule)
{
	/* Relaxed: an action word stands for itself, nothing is published by it. */
	return atomic_load_explicit(&actions[rule], memory_order_relaxed);
}

/* What a search of its own found for one packet. */
struct verdict {
	uint32_t best; /* rule + 1 */
	uint8_t best_action;
	uint8_t actions; /* of all `also` rules together; a rate that it exceeds drops, too */
	uint32_t marker; /* the last `also` rule that marks, + 1 */
};

static void
mark(const struct trip_soft_queue *queue, struct rte_mbuf *mbuf, uint32_t rule)
{
	mbuf->hash.fdir.hi = queue->table->marks[rule];
	mbuf->ol_flags |= RTE_MBUF_F_RX_FDIR | RTE_MBUF_F_RX_FDIR_ID;
}

static uint64_t
read_ticks(void *arg)
{
	struct trip_soft_queue *queue = arg;

	queue->ticks = queue->now(queue->arg) * TRIP_POLICE_TICKS;
	return queue->ticks;
}

/* Whether a packet is above the rate of a rule. One time for a chunk. */
static __attribute__((noinline)) bool
exceeds(struct trip_soft_queue *queue, uint32_t rule, uint32_t bytes)
{
	/* Acquire: pairs with trip_flow_police(). */
	uint32_t own = atomic_load_explicit(&queue->police_of[rule], memory_order_acquire) - 1;
	struct trip_police *police = &queue->police[own];
	struct trip_police_clock clock = {.read = read_ticks, .arg = queue};

	/* The bit stays when the rate ends, and another process may have set it. */
	if (own >= queue->n_police ||
		trip_police_rate(atomic_load_explicit(&police->word, memory_order_relaxed)) == 0)
		return false;
	clock.now = queue->ticks != 0 ? queue->ticks : read_ticks(queue);
	if (trip_police_passes(queue->police, queue->n_police, own, bytes, &clock))
		return false;
	trip_police_count(police, bytes);
	return true;
}

/* Whether it is above the rate of one of the `also` rules. */
static __attribute__((noinline)) bool
exceeds_also(struct trip_soft_queue *queue, uint32_t bytes)
{
	for (uint32_t i = 0; i < queue->also_count; i++)
		if ((action_of(queue->lookup.actions, queue->also[i]) & TRIP_ACTION_POLICE) != 0 &&
			exceeds(queue, queue->also[i], bytes))
			return true;
	return false;
}

static void
count_also(struct trip_soft_queue *queue, uint32_t bytes)
{
	for (uint32_t i = 0; i < queue->also_count; i++) {
		if (queue->touched_count == TRIP_SOFT_TOUCHED)
			ring(queue);
		count_rule(queue, queue->also[i], bytes);
	}
	queue->also_count = 0;
}

/* More than fit: they are counted, and asked for their rates, at once. */
static __attribute__((noinline)) void
count_also_early(struct trip_soft_queue *queue, uint32_t bytes, struct verdict *verdict)
{
	const uint8_t rates = TRIP_ACTION_POLICE | TRIP_ACTION_DROP;

	if ((verdict->actions & rates) == TRIP_ACTION_POLICE && exceeds_also(queue, bytes))
		verdict->actions |= TRIP_ACTION_DROP;
	count_also(queue, bytes);
}

/* Whether it is the rule that the primary has at this index. */
static bool
is_current(const struct trip_soft_queue *queue, const struct trip_table_entry *entry, uint32_t rule)
{
	return !queue->careful ||
	       trip_rulebook_sequence(&queue->follow->rules, rule) == trip_table_sequence(entry);
}

/* The rules with one mask and key. Returns false where more than fit had to be counted at once. */
static bool
weigh_chain(struct trip_soft_queue *queue, uint32_t lead, uint32_t bytes, struct verdict *verdict)
{
	const struct trip_table_entry *entry;
	bool fitted = true;
	uint8_t action;
	uint32_t at;

	for (at = lead & TRIP_TUPLE_RULE; at != 0;
		at = atomic_load_explicit(&entry->next, memory_order_acquire)) {
		entry = &queue->lookup.table->entries[at - 1];
		action = action_of(queue->lookup.actions, at - 1);
		if ((action & TRIP_ACTION_ACTIVE) == 0 || !is_current(queue, entry, at - 1))
			continue;
		if (entry->also) {
			if (queue->also_count == TRIP_SOFT_ALSO) {
				count_also_early(queue, bytes, verdict);
				fitted = false;
			}
			queue->also[queue->also_count++] = at - 1;
			verdict->actions |= action;
			if ((action & TRIP_ACTION_MARK) != 0 &&
				(verdict->marker == 0 ||
					trip_lookup_better(queue->lookup.table, verdict->marker,
						at) == verdict->marker))
				verdict->marker = at;
		} else if (verdict->best == 0 ||
			   trip_lookup_better(queue->lookup.table, verdict->best, at) == at) {
			verdict->best = at;
			verdict->best_action = action;
		}
	}
	return fitted;
}

/* A new rule may look where none did when the chunk was parsed. */
static __attribute__((noinline)) void
read_more(struct trip_soft_queue *queue, uint32_t packet, const struct trip_table_view *view)
{
	struct trip_packet_fields *fields = &queue->lookup.fields[packet];
	uint64_t asked = queue->lookup.asked;

	if ((view->wants & ~queue->lookup.parsed) != 0) {
		trip_packet_parse(
			queue->lookup.pkts[packet], view->wants | queue->lookup.sent, fields);
		asked = 0;
	}
	trip_within_ask(&queue->lookup.table->within, &queue->lookup.within, view->tests & ~asked,
		fields, 1);
}

/* One packet against all masks, without shortcuts. */
static void
search(struct trip_soft_queue *queue, uint32_t packet, struct verdict *verdict)
{
	struct trip_packet_fields *fields = &queue->lookup.fields[packet];
	uint32_t bytes = queue->lookup.bytes[packet], tries;
	const struct trip_table_view *view;
	uint64_t changes;
	bool fitted = true;

	for (tries = 0; tries < SEARCHES_MAX; tries++) {
		memset(verdict, 0, sizeof(*verdict));
		queue->also_count = 0;
		changes = trip_lookup_changes(queue->lookup.table);
		view = atomic_load_explicit(&queue->lookup.table->view, memory_order_acquire);
		if (unlikely(((view->wants & ~queue->lookup.parsed) |
				     (view->tests & ~queue->lookup.asked)) != 0))
			read_more(queue, packet, view);
		for (uint32_t i = 0; i < view->count; i++)
			fitted &= weigh_chain(queue, trip_tuple_search(view->at[i].tuple, fields),
				bytes, verdict);
		/* What was counted already cannot be searched for again. */
		if (!fitted || !trip_lookup_has_changed(queue->lookup.table, changes))
			return;
	}
}

/* Where a rule polices or allows: whether the packet is dropped; `dropped`: another one drops it.
 * No rate is asked of what passes, or is dropped, in any case: it takes nothing of that. */
static __attribute__((noinline)) bool
settle_rates(
	struct trip_soft_queue *queue, uint32_t bytes, const struct verdict *verdict, bool dropped)
{
	if ((verdict->best_action & TRIP_ACTION_ALLOW) != 0)
		return false;
	return dropped || exceeds_also(queue, bytes) ||
	       ((verdict->best_action & TRIP_ACTION_POLICE) != 0 &&
		       exceeds(queue, verdict->best - 1, bytes));
}

/* The long way for one packet; returns whether it is dropped. */
static __attribute__((noinline)) bool
settle_one(struct trip_soft_queue *queue, uint32_t packet)
{
	uint32_t bytes = queue->lookup.bytes[packet];
	struct verdict verdict;
	uint8_t actions;
	bool dropped;

	search(queue, packet, &verdict);
	queue->missed += verdict.best == 0 && verdict.actions == 0;
	actions = verdict.actions | verdict.best_action;
	dropped = (actions & TRIP_ACTION_DROP) != 0;
	if (unlikely((actions & (TRIP_ACTION_POLICE | TRIP_ACTION_ALLOW)) != 0)) {
		dropped = settle_rates(queue, bytes, &verdict, dropped);
		queue->each.skipped |= (uint32_t)((verdict.best_action & TRIP_ACTION_ALLOW) != 0)
				       << packet;
	}
	count_also(queue, bytes);
	/* Room for one rule of each packet that is still to come, and for this one. */
	if (queue->touched_count > TRIP_SOFT_TOUCHED - TRIP_LOOKUP_CHUNK)
		ring(queue);
	if (verdict.best != 0)
		count_rule(queue, verdict.best - 1, bytes);
	if ((verdict.best_action & TRIP_ACTION_MARK) != 0)
		verdict.marker = verdict.best;
	if (verdict.marker != 0)
		mark(queue, queue->lookup.pkts[packet], verdict.marker - 1);
	return dropped;
}

/* What few rules do beside dropping. */
#define ACTIONS_RARE (TRIP_ACTION_MARK | TRIP_ACTION_POLICE | TRIP_ACTION_ALLOW)

/* Returns a word in which TRIP_ACTION_DROP says whether the packet is dropped. */
static __attribute__((noinline)) uint8_t
settle_rare(struct trip_soft_queue *queue, uint32_t packet, uint8_t action)
{
	uint32_t rule = queue->lookup.found[packet] - 1;

	if ((action & TRIP_ACTION_MARK) != 0)
		mark(queue, queue->lookup.pkts[packet], rule);
	if ((action & TRIP_ACTION_ALLOW) != 0) {
		queue->each.skipped |= 1u << packet;
		return 0;
	}
	if ((action & (TRIP_ACTION_POLICE | TRIP_ACTION_DROP)) == TRIP_ACTION_POLICE &&
		exceeds(queue, rule, queue->lookup.bytes[packet]))
		action |= TRIP_ACTION_DROP;
	return action;
}

/* Count each packet; returns which of them are dropped, a bit each. */
static inline __attribute__((always_inline)) uint32_t
settle(struct trip_soft_queue *queue)
{
	const _Atomic uint8_t *actions = queue->lookup.actions;
	struct trip_count *counts = queue->lookup.counts;
	uint32_t touched = 0, dropped = 0, count = queue->lookup.count;

	queue->ticks = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t lead = queue->lookup.found[i];
		uint8_t action = 0;

		if (likely((lead & TRIP_TUPLE_CHAIN) == 0 && lead != 0))
			action = action_of(actions, lead - 1);
		if (likely((action & TRIP_ACTION_ACTIVE) != 0)) {
			trip_count_add(&counts[lead - 1], 1, queue->lookup.bytes[i]);
			queue->touched[touched++] = lead - 1;
			if (unlikely((action & ACTIONS_RARE) != 0))
				action = settle_rare(queue, i, action);
			dropped |= (uint32_t)((action & TRIP_ACTION_DROP) != 0) << i;
		} else if (lead != 0) {
			queue->touched_count = touched;
			dropped |= (uint32_t)settle_one(queue, i) << i;
			touched = queue->touched_count;
		} else {
			queue->missed++;
		}
	}
	queue->touched_count = touched;
	ring(queue);
	return dropped;
}

/* Packets that remain go to `to`, and what stood there takes their places, so that all that is
 * dropped is behind them. Returns how many remain. */
static uint32_t
part(struct rte_mbuf **pkts, uint32_t count, uint32_t dropped, struct rte_mbuf **to)
{
	uint32_t kept = 0;

	if (dropped == 0 && to == pkts)
		return count;
	for (uint32_t i = 0; i < count; i++) {
		bool drop = dropped >> i & 1;
		uintptr_t mbuf = (uintptr_t)pkts[i], other = (uintptr_t)to[kept];
		/* No branch: which packets are dropped cannot be predicted. */
		uintptr_t swap = (mbuf ^ other) & ((uintptr_t)drop - 1);

		pkts[i] = (struct rte_mbuf *)(mbuf ^ swap);
		to[kept] = (struct rte_mbuf *)(other ^ swap);
		kept += !drop;
	}
	return kept;
}

static inline void
begin(struct trip_soft_queue *queue)
{
	uint64_t changes = 0;

	if (unlikely(queue->follow != NULL)) {
		changes = trip_follow_begin(queue->follow);
		/* R2 of claim.h, which releases the burst before, as W4 may see it in the place of
		 * R5; the fence in trip_era_enter() is R3. */
		atomic_store_explicit(&queue->claim->since, changes, memory_order_release);
	}
	trip_era_enter(&queue->table->era, &queue->reader);
	queue->lookup.within.taken = 0;
	if (unlikely(queue->follow != NULL)) {
		queue->careful = trip_follow_is_behind(queue->follow, changes);
		trip_each_queue_follow(&queue->each);
	}
}

static inline void
end(struct trip_soft_queue *queue)
{
	struct trip_claim *claim = queue->follow != NULL ? queue->claim : NULL;

	/* From here on the queue may be gone. */
	trip_era_leave(&queue->reader);
	if (unlikely(claim != NULL))
		atomic_store_explicit(&claim->since, TRIP_ERA_IDLE, memory_order_release); /* R5 */
}

/* What hit a rule that may be gone is searched for by itself, past those that are. */
static void
search_for_all(struct trip_soft_queue *queue)
{
	for (uint32_t i = 0; i < queue->lookup.count; i++)
		if (queue->lookup.found[i] != 0)
			queue->lookup.found[i] |= TRIP_TUPLE_CHAIN;
}

/* ---- keys ---- */

static uint64_t
microseconds(const struct trip_soft_queue *queue)
{
	return queue->now(queue->arg) / 1000;
}

/* Which packets that drops. */
static __attribute__((noinline)) uint32_t
count_keys(struct trip_soft_queue *queue)
{
	const struct trip_each_chunk chunk = {.fields = queue->lookup.fields,
		.bytes = queue->lookup.bytes,
		.count = queue->lookup.count};

	return trip_each_queue_count(&queue->each, &chunk);
}

/* A burst without packets: idle keys go all the same. */
static __attribute__((noinline)) uint16_t
sweep_keys(struct trip_soft_queue *queue)
{
	uint64_t now = microseconds(queue);

	if (now >= queue->each.sweep_at) {
		begin(queue);
		trip_each_queue_sweep(&queue->each, now);
		end(queue);
	}
	return 0;
}

void
trip_soft_take_over(struct trip_soft_queue *queue)
{
	if (queue->each.queue == NULL)
		return;
	begin(queue);
	trip_each_queue_recover(&queue->each, microseconds(queue));
	end(queue);
}

static uint32_t
chunk_of(uint32_t n, uint32_t done)
{
	return n - done < TRIP_LOOKUP_CHUNK ? n - done : TRIP_LOOKUP_CHUNK;
}

/* Of the chunk: some may be. */
static __attribute__((noinline)) void
note_broken(struct trip_soft_queue *queue)
{
	queue->lookup.others = 0;
	for (uint32_t i = 0; i < queue->lookup.count; i++)
		queue->broken += (queue->lookup.fields[i].halves[0] & TRIP_HAS_BROKEN) != 0;
}

static inline void
add_traffic(_Atomic uint64_t *of, uint64_t n)
{
	/* Relaxed: each stands for itself, and has one writer. */
	atomic_store_explicit(
		of, atomic_load_explicit(of, memory_order_relaxed) + n, memory_order_relaxed);
}

/* Within the burst: who takes the queue over goes on from there. */
static inline void
note_traffic(struct trip_soft_queue *queue, uint16_t n, uint16_t kept)
{
	struct trip_traffic *traffic = queue->traffic;

	if (unlikely(traffic == NULL))
		return;
	add_traffic(&traffic->packets, n);
	add_traffic(&traffic->matched, n - queue->missed);
	add_traffic(&traffic->dropped, (uint16_t)(n - kept));
	if (unlikely(queue->broken != 0))
		add_traffic(&traffic->broken, queue->broken);
}

/* The chunks of a burst. Code of its own for queues that count by keys, so that all others have no
 * instruction of that. */
static inline __attribute__((always_inline)) uint16_t
sort(struct trip_soft_queue *queue, struct rte_mbuf **pkts, uint16_t n, const bool keys)
{
	uint32_t done = 0, kept = 0, dropped, next;

	queue->missed = 0;
	queue->broken = 0;
	for (; done < n; done += queue->lookup.count) {
		queue->lookup.pkts = pkts + done;
		queue->lookup.count = chunk_of(n, done);
		trip_lookup_chunk(&queue->lookup);
		next = done + queue->lookup.count;
		trip_lookup_prefetch(pkts + next, chunk_of(n, next));
		if (unlikely(queue->careful))
			search_for_all(queue);
		if (unlikely(queue->lookup.others != 0))
			note_broken(queue);
		dropped = settle(queue);
		if (keys)
			dropped |= count_keys(queue);
		kept += part(queue->lookup.pkts, queue->lookup.count, dropped, pkts + kept);
	}
	return (uint16_t)kept;
}

static __attribute__((noinline)) uint16_t
sort_and_count_keys(struct trip_soft_queue *queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t kept;

	queue->lookup.sent |= trip_each_queue_begin(&queue->each, microseconds(queue));
	kept = sort(queue, pkts, n, true);
	queue->lookup.sent &= TRIP_WANT_SENT;
	note_traffic(queue, n, kept);
	end(queue);
	return kept;
}

uint16_t
trip_soft_sort(struct trip_soft_queue *queue, struct rte_mbuf **pkts, uint16_t n)
{
	const struct trip_table_view *view;
	uint16_t kept = n;

	if (n == 0)
		return trip_each_queue_open(&queue->each) == 0 ? 0 : sweep_keys(queue);
	/* Before the fence of begin(), which would hold it up. */
	trip_lookup_prefetch(pkts, chunk_of(n, 0));
	begin(queue);
	if (unlikely(trip_each_queue_open(&queue->each) != 0))
		return sort_and_count_keys(queue, pkts, n);
	view = atomic_load_explicit(&queue->table->view, memory_order_acquire);
	if (view->count > 0) {
		kept = sort(queue, pkts, n, false);
	} else {
		queue->missed = n;
		queue->broken = 0;
	}
	note_traffic(queue, n, kept);
	end(queue);
	return kept;
}

uint16_t
trip_soft_burst(struct trip_soft_queue *queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t kept = trip_soft_sort(queue, pkts, n);

	if (kept < n)
		rte_pktmbuf_free_bulk(pkts + kept, n - kept);
	return kept;
}
