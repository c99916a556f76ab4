/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that are held by hand: each_hand.h says who does what. */
#include <string.h>

#include "each_bench.h"
#include "each_hand.h"

/* Of the mark of an entry that is held by hand, where others have their condition: its end is being
 * told. */
#define MARK_TELLS 0x01u

/* ---- orders -----------------------------------------------------------------------------------
 */

static uint64_t
waiting(const struct trip_each_orders *orders)
{
	uint64_t given = atomic_load_explicit(&orders->given, memory_order_acquire);

	return given - atomic_load_explicit(&orders->taken, memory_order_acquire);
}

/* Whoever polls may have written anything: then nothing is given any more. */
bool
trip_each_hand_has_room(const struct trip_each_orders *orders)
{
	return waiting(orders) < TRIP_EACH_ORDERS;
}

void
trip_each_hand_give(struct trip_each_orders *orders, const struct trip_each_ordered *order)
{
	uint64_t given = atomic_load_explicit(&orders->given, memory_order_relaxed);
	struct trip_each_order *to = &orders->of[given % TRIP_EACH_ORDERS];

	for (uint32_t i = 0; i < TRIP_KEYED_WORDS_MAX; i++)
		atomic_store_explicit(&to->key[i], order->key[i], memory_order_relaxed);
	atomic_store_explicit(&to->until, order->until, memory_order_relaxed);
	atomic_store_explicit(&to->does,
		(uint64_t)order->op | (order->owns ? TRIP_EACH_ORDER_OWNS : 0),
		memory_order_relaxed);
	/* Release: the order. Partner: the acquire in take_all(), and waiting(). */
	atomic_store_explicit(&orders->given, given + 1, memory_order_release);
}

static void
load_order(const struct trip_each_orders *orders, uint64_t number, struct trip_each_ordered *order)
{
	const struct trip_each_order *from = &orders->of[number % TRIP_EACH_ORDERS];
	uint64_t does = atomic_load_explicit(&from->does, memory_order_relaxed);

	for (uint32_t i = 0; i < TRIP_KEYED_WORDS_MAX; i++)
		order->key[i] = atomic_load_explicit(&from->key[i], memory_order_relaxed);
	order->until = atomic_load_explicit(&from->until, memory_order_relaxed);
	order->op = (enum trip_each_op)(does & TRIP_EACH_TOLD_OP);
	order->owns = (does & TRIP_EACH_ORDER_OWNS) != 0;
}

/* What is written meanwhile behind them is not theirs: there is no room for it. */
bool
trip_each_hand_waits(
	const struct trip_each_orders *orders, const uint64_t *key, struct trip_each_ordered *order)
{
	uint64_t n = waiting(orders), given;

	if (n == 0 || n > TRIP_EACH_ORDERS)
		return false;
	given = atomic_load_explicit(&orders->given, memory_order_relaxed);
	for (uint64_t i = 1; i <= n; i++) {
		load_order(orders, given - i, order);
		if (memcmp(order->key, key, sizeof(order->key)) == 0)
			return true;
	}
	return false;
}

/* ---- ends -------------------------------------------------------------------------------------
 */

static void
mark(const struct each_bench *bench, struct each_judged *judged, uint8_t is)
{
	judged->own.mark = is;
	trip_keyed_mark(bench->table, judged->entry, is);
}

static uint32_t
op_of(uint8_t is)
{
	return (is & TRIP_KEYED_PASSES) != 0 ? TRIP_EACH_OP_PASS : TRIP_EACH_OP_DROP;
}

/* By what all tables have just now. False: so much was told meanwhile that it is tried anew. */
static bool
tell_end(const struct each_bench *bench, struct each_judged *judged)
{
	struct trip_each_told told = {.ns = bench->poll->now * 1000,
				      .when = TRIP_EACH_TOLD_HAND | TRIP_EACH_TOLD_END |
					      op_of(judged->own.mark),
				      .table = bench->own,
				      .times = 1},
			      found;
	struct each_judged now = *judged;
	enum trip_each_tells tells;

	trip_each_judge_look(bench, &now);
	told.packets = now.packets;
	told.bytes = now.bytes;
	told.life = (uint32_t)now.life;
	told.anew_packets = now.anew_packets;
	told.anew_bytes = now.anew_bytes;
	memcpy(told.key, now.key, sizeof(told.key));
	trip_each_ring_write(&bench->at, &told);
	/* What is being told is written. Partner: trip_each_hand_recover(). */
	atomic_thread_fence(memory_order_release);
	mark(bench, judged, judged->own.mark | MARK_TELLS);
	tells = trip_each_ring_tell(&bench->at, &told, now.from, &found);
	if (tells == TRIP_EACH_TELLS)
		trip_each_judge_raise(bench, trip_each_ring_trips(&bench->at));
	return tells != TRIP_EACH_MISSED;
}

void
trip_each_hand_end(const struct each_bench *bench, struct each_judged *judged)
{
	bool owns = (judged->own.mark & EACH_MARK_OWNED) != 0;

	for (unsigned int looks = 0; owns && looks < EACH_LOOKS; looks++)
		if (tell_end(bench, judged))
			break;
	trip_each_hold_release(bench, judged);
}

bool
trip_each_hand_recover(const struct each_bench *bench, struct each_judged *judged, bool told)
{
	const uint8_t is = TRIP_KEYED_BY_HAND | MARK_TELLS;

	if ((judged->own.mark & is) != is)
		return false;
	if (told)
		trip_each_hold_release(bench, judged);
	else
		mark(bench, judged, judged->own.mark & (uint8_t)~MARK_TELLS);
	return true;
}

/* ---- doing them -------------------------------------------------------------------------------
 */

static uint8_t
mark_of(const struct trip_each_ordered *order)
{
	return (uint8_t)(EACH_MARK_HELD | TRIP_KEYED_BY_HAND | (order->owns ? EACH_MARK_OWNED : 0) |
			 (order->op == TRIP_EACH_OP_PASS ? TRIP_KEYED_PASSES : 0));
}

/* What has held the key so far ends, unless that is this order, which somebody has begun. */
static void
let_go(const struct each_bench *bench, struct each_judged *judged, bool begun)
{
	if (judged->own.mark == 0)
		return;
	trip_each_judge_look(bench, judged);
	if (!each_is_by_hand(&judged->own))
		trip_each_hold_let_go(bench, judged);
	else if (!begun)
		trip_each_hand_end(bench, judged);
}

/* False: there is no room for the key now. */
static bool
obey(const struct each_bench *bench, struct trip_each_orders *orders, uint64_t number)
{
	bool begun = atomic_load_explicit(&orders->doing, memory_order_relaxed) == (number + 1);
	struct trip_each_ordered order;
	struct each_judged judged;
	uint32_t entry;

	load_order(orders, number, &order);
	entry = order.op == TRIP_EACH_OP_NONE
			? trip_keyed_find(bench->table, order.key)
			: trip_keyed_admit(bench->table, order.key, bench->poll->now);
	if (entry == TRIP_KEYED_NONE)
		return order.op == TRIP_EACH_OP_NONE;
	if (!trip_each_judge_entry(bench, &judged, entry))
		return true;
	let_go(bench, &judged, begun);
	/* Release: what ends has ended. */
	atomic_store_explicit(&orders->doing, number + 1, memory_order_release);
	if (order.op != TRIP_EACH_OP_NONE)
		trip_keyed_hold(bench->table, entry, order.until, mark_of(&order));
	return true;
}

/* False: some of them wait for room. */
static bool
take_all(const struct trip_each_poll *poll, uint32_t which)
{
	const struct each_bench bench = trip_each_judge_bench(poll, which);
	struct trip_each_orders *orders =
		trip_each_hand_orders(poll->zone, bench.statement, bench.own);
	/* Acquire: the orders. Partner: the release in trip_each_hand_give(). */
	uint64_t given = atomic_load_explicit(&orders->given, memory_order_acquire);
	uint64_t taken = atomic_load_explicit(&orders->taken, memory_order_relaxed);

	/* Whoever had the table has written anything. */
	if (given - taken > TRIP_EACH_ORDERS)
		atomic_store_explicit(&orders->taken, taken = given, memory_order_release);
	for (; taken != given; taken++) {
		if (!obey(&bench, orders, taken))
			return false;
		/* Release: it is done. Partner: the acquire in waiting(). */
		atomic_store_explicit(&orders->taken, taken + 1, memory_order_release);
	}
	return true;
}

void
trip_each_hand_take(const struct trip_each_poll *poll, uint64_t which)
{
	uint64_t late = 0;

	/* Acquire: what was given. Whoever gives more behind that sets it again. */
	atomic_fetch_and_explicit(&poll->queue->ordered, ~which, memory_order_acq_rel);
	for (; which != 0; which &= which - 1) {
		uint32_t one = (uint32_t)__builtin_ctzll(which);

		if (poll->zone->statements[one].hands && !take_all(poll, one))
			late |= UINT64_C(1) << one;
	}
	if (late != 0)
		atomic_fetch_or_explicit(&poll->queue->ordered, late, memory_order_relaxed);
}
