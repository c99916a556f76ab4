/* SPDX-License-Identifier: BSD-3-Clause */
/* What the software flow engine does to a burst of one queue: match, count, drop, ring. */
#ifndef TRIP_SOFT_H
#define TRIP_SOFT_H

#include <stdatomic.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "claim.h"
#include "count.h"
#include "each_queue.h"
#include "era.h"
#include "follow.h"
#include "lookup.h"
#include "police.h"
#include "table.h"

#define TRIP_SOFT_TOUCHED 64
#define TRIP_SOFT_ALSO 64

/* The shared word of a rule, read for every packet that hits it. */
#define TRIP_ACTION_ACTIVE 0x01 /* without it the rule matches nothing */
#define TRIP_ACTION_DROP 0x02   /* count, then free the mbuf */
#define TRIP_ACTION_MARK 0x04   /* count, then put the table's mark into the mbuf */
#define TRIP_ACTION_POLICE 0x08 /* count, then free the mbuf where police.h says so */
#define TRIP_ACTION_ALLOW 0x10  /* count, and let nothing drop it */

/*
 * On the queue's lcore, in the middle of a burst, for a rule whose counts are at or above a limit:
 * ring the home. `which` is a set of trip_count_which. Called in every burst in which that is so.
 * It must not change the table, nor wait for it to be quiet.
 */
typedef void (*trip_soft_cross)(void *arg, uint32_t rule, unsigned int which);

/* Likewise: the time by which packets are policed, in nanoseconds, which hardly ever goes back. */
typedef uint64_t (*trip_soft_now)(void *arg);

/* What of a queue others look at, too; each of as many as the table has rules. */
struct trip_soft_shared {
	struct trip_count *counts;
	struct trip_count_moments *moments;
	const _Atomic uint8_t *actions;
	const _Atomic uint32_t *police_of;
	/* [n_police] */
	struct trip_police *police;
	uint32_t n_police;
	/* What its bursts have seen; NULL: nobody asks. */
	struct trip_traffic *traffic;
	/* What it counts by keys; NULL: nothing ever. */
	struct trip_each_zone *each_zone;
	struct trip_each_queue *each;
	/* As trip_soft_cross, for what is counted by keys. */
	trip_each_raise each_raise;
};

/* One queue of a port, on the lcore that polls it; memory of this process. */
struct trip_soft_queue {
	struct trip_era_reader reader; /* a cache line, read by the table's writers */
	struct trip_table *table;
	trip_soft_cross cross;
	trip_soft_now now;
	void *arg;
	struct trip_count_moments *moments;
	const _Atomic uint32_t *police_of;
	struct trip_police *police;
	uint32_t n_police;
	/* Where the table follows another process's rules; NULL: it has its own. */
	struct trip_follow *follow;
	struct trip_claim *claim;
	struct trip_traffic *traffic;
	/* Of the burst: packets that no rule took, and that are broken. */
	uint32_t missed, broken;
	bool careful; /* of the burst: the table is behind */
	struct trip_each_poll each;
	struct trip_lookup lookup;
	/* Of the chunk. */
	uint32_t touched[TRIP_SOFT_TOUCHED]; /* rules counted on since the last fence */
	uint32_t touched_count;
	uint32_t also[TRIP_SOFT_ALSO]; /* rules that one packet matches in addition */
	uint32_t also_count;
	uint64_t ticks; /* when it is policed, 0: nothing has been */
};

/* `sent`: the queue sees packets that are about to be sent, and not received ones.
 * Fills in *queue and attaches it to the table: a write to the table (table.h). */
void trip_soft_open(struct trip_soft_queue *queue, struct trip_table *table, bool sent,
	const struct trip_soft_shared *shared, trip_soft_cross cross, trip_soft_now now, void *arg);

/* The queue's table follows, and its bursts are told in its claim. */
void trip_soft_follow(
	struct trip_soft_queue *queue, struct trip_follow *follow, struct trip_claim *claim);

/* Before the first burst of whoever has taken the queue over from another one: puts in order what
 * that has left. */
void trip_soft_take_over(struct trip_soft_queue *queue);

/* The queue bursts no more. */
void trip_soft_close(struct trip_soft_queue *queue);

/*
 * Count a burst and drop what is to be dropped. Returns how many packets remain; they are at the
 * front of pkts, in their order. One lcore at a time a queue. Each packet counts once in the rule
 * that takes it (the first active one in the order of table.h) and once in every active `also` rule
 * that it matches; it is dropped when any of these says drop, or has no room for it within its
 * rate: `also` rules are asked first, in any order, and who was asked before that has given room.
 * A rule that allows is asked none of that, and neither are the others: what it takes remains, and
 * counts by no key. All else counts by the keys of the queue's statements, dropped or not. A
 * packet gets the mark of the rule that takes it, else of the last `also` rule that has one.
 */
uint16_t trip_soft_burst(struct trip_soft_queue *queue, struct rte_mbuf **pkts, uint16_t n);

/* The same, but what is to be dropped is not freed: it stands behind what remains. */
uint16_t trip_soft_sort(struct trip_soft_queue *queue, struct rte_mbuf **pkts, uint16_t n);

#endif
