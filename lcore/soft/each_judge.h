/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Judges whether keys of a queue's table have reached what the conditions of their statement say,
 * right behind the chunk that was counted, and tells of those that have (each_ring.h).
 *
 * On one queue its table knows all. On several a key trips by its sum, in the burst of any queue
 * that takes it there, and once:
 *
 * - As long as no table has its part of a condition, ceil(N / Q), the sum is below N. Who finds
 *   that its own has, says that the key is close (keyed.h), in a bit that stays as long as that is
 *   so (each_close.c); from then on whoever counts it sums up all tables. That is a look into Q - 1
 *   lines for each chunk that has the key, from the first part to the trip, and nothing for all
 *   other keys, but for those that share its bit.
 * - Of two that take a key there at once each has a fence between its own count and its look, so
 *   one of them sees both.
 * - Who trips says in its own entry that it is telling, tells, and says that it has told. Who finds
 *   in an entry of another table that it has told leaves it at that; that it is telling, looks
 *   among the trips; and both read the number of trips before they looked into other tables, so
 *   that who told since is in the way. Who is killed in between leaves that it is telling, and
 *   its follower puts it right, and judges what was counted and not judged.
 *
 * A trip that has its key dropped is so in the chunk that is judged, too: what is behind the packet
 * that reached the condition is dropped, which is known by taking packets off the sum from the last
 * one on. Each table holds the key by itself (keyed.h), until the same time:
 *
 * - Who trips holds its entry before it tells; so it does when it is killed in between, and the
 *   follower finds a key that has reached the condition, and is not told.
 * - Whoever else gets a packet of the key finds by the bit that there is something to be looked at,
 *   and holds its entry until then as well. As long as it does, it looks no further.
 * - A rate that is exceeded meanwhile prolongs the hold of the entry that finds that. So an entry
 *   whose hold is over looks into the others once more: it goes on as long as one of them does.
 * - Who has told the trip owns its end, which it tells as it told that, in a record of its own.
 *
 * What a rate with `until < N in T` began lasts by a window: a word of the entry counts what came
 * of the key since the hold was prolonged last, and with the N-th of these it lasts T from now on.
 * So it ends when fewer came in T, at the latest where fewer came in 2 T; each queue knows its own.
 *
 * A key that is policed takes from one bucket over all queues: that in the entry of who tripped,
 * whose place the others have written down. It is used by compare-exchange, as police.h has it; who
 * holds the key looks it up in the burst.
 *
 * Who is quiet is so on all queues: the queue that had its last packet finds that, looks into the
 * others, and tells it as any other trip. If one of these has had a packet since, it is that one's
 * to find. A packet that is counted meanwhile is one that came later.
 *
 * Members of a condition hold for good, until the key begins anew: each entry has bits of them, and
 * those of all tables are true. Who finds one that holds writes that down before it looks into the
 * others, once more if it had done so before. So where two queues find one member of a pair each,
 * one of them sees both: as it is with counts, and by the same fences.
 *
 * A condition may be told again and again: each entry has from which count on it is (keyed.h), and
 * the highest of all tables is true. A trip of it says how much was counted, and so what it has
 * told. Who finds it in his way, or that another is telling it, takes that over from it and looks
 * again, as there may be more by then. So each crossing is in one trip. A rate that is told again
 * has how often it was in the place of a count; who finds that it was since begins with an empty
 * bucket, as who tells it does: so what any of them tells next came behind that.
 *
 * A key that begins anew has another life, on all queues from one trip on: what all tables had by
 * then, which is in that trip, is taken off their sum. Nobody counts anything else, so no packet is
 * lost, or in two lives, whatever comes meanwhile.
 *
 * - Who tells that trip writes the next life and those sums to its own entry, and then that it has
 *   told. Who looks at the key takes them over from the entry of the latest life, or, where that is
 *   still being told, from the trip. What tables of earlier lives say of conditions and holds is
 *   past; what was done to the key by one of these ends there when that looks.
 * - In one life nothing is told behind that trip: it is in the way of all others.
 * - Entries of a key that has begun anew are not evicted as long as they are not idle: a table that
 *   had no packet of the key since still has to find out.
 *
 * While the lines of a table are made anew, which takes a second for eight million keys, or was
 * broken off by a kill, others see of its keys those that are in them again. Of the rest they judge
 * what they have without that table: a trip of its may come late, or twice, and never early; and
 * nobody waits for whoever makes them.
 *
 * What is judged is what was counted since a key came to each table. Where it goes from one and
 * comes again, it begins there anew, so its sum may fall: never early.
 */
#ifndef TRIP_EACH_JUDGE_H
#define TRIP_EACH_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "each_queue.h"

/* Packets of a chunk that may have taken their keys to a limit, a bit each; returns which of them
 * are to be dropped; of those that counting has found to be, some may not be any more. */
uint32_t trip_each_judge(const struct trip_each_poll *poll, uint32_t which,
	const struct trip_keyed_chunk *chunk, uint32_t over);

/* Of keys that are held the ends of those that are due, and those that are quiet, some at each
 * call. True: more may be. */
bool trip_each_judge_behind(const struct trip_each_poll *poll, uint32_t which);

/* A key of which something was added to the table, where it still has one. */
void trip_each_judge_added(const struct trip_each_poll *poll, uint32_t which, const uint64_t *key);

/* A step of clearing the bits of close keys, where there are several tables: behind a chunk, or
 * where none came. True: there are more to be done. */
bool trip_each_close_step(const struct trip_each_poll *poll, uint32_t which, uint32_t looks);

/* What the last one to poll the queue has left, in a table that has been recovered. */
void trip_each_judge_recover(const struct trip_each_poll *poll, uint32_t which);

#endif
