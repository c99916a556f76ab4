/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A world: queues that count by keys (../../lcore/soft/each_judge.h), each in a process that may be
 * killed, whose place another takes; and who reads meanwhile. Their packets are known, so what each
 * key has is, too: whose condition was reached is told once in each of its lives, and no packet is
 * in two. Where the tables are crowded, or keys become idle, their errors bound what is not known
 * any more. each.c draws it, each_queues.c does it, and each_judge.c looks at it in the end.
 */
#ifndef SIM_EACH_H
#define SIM_EACH_H

#include "sim.h"
#include "trip_each_bed.h"

#define QUEUES TRIP_EACH_BED_TABLES
#define KEYS 2
#define BURSTS 6
#define PACKETS 6
#define LENGTH 60
#define KEPT 512
/* Processes that poll a queue, one behind the other; the last one is not killed. */
#define POLLERS 3
/* Microseconds: of a hold, of a pause after which none is left, and of one that none notices. */
#define HOLD 1000
#define LONG (16 * HOLD)
#define SWEEPS 128
/* Of other keys: so many that some have to go, and all that come have. */
#define CROWD 800

enum { RESETS, EVERY, ONCE, RATE, WHENS };

struct each_world {
	struct trip_each_bed bed;
	struct trip_each_when whens[WHENS];
	struct trip_each_act acts[WHENS];
	/* What each is; the one that has keys dropped; WHENS: none does. */
	unsigned int kinds[WHENS], n_whens, drops;
	bool is_gated, is_crowded, expires, holds_end;
	/* Packets that any is at; keys that packets have. */
	uint64_t most;
	unsigned int n_keys;
	/* Lines were made anew beside others who judge: what is told may be late, or told twice. */
	bool vague;
	uint32_t strangers;
	/* Nobody holds a key by a trip before that; of which packets were dropped since. */
	uint64_t calm;
	bool dropped[KEYS + 1];
	/* Whose turn it is to recover, and 1. */
	unsigned int recovers;
	struct queue {
		unsigned int pollers[POLLERS], next;
		bool counts;
		struct burst {
			uint32_t pause, n;
			bool rests, wanted;
			uint8_t keys[PACKETS];
		} bursts[BURSTS];
		/* Packets of keys: counted, being counted, and of those who were killed. */
		uint64_t counted[KEYS], counting[KEYS], lost[KEYS];
	} queues[QUEUES];
	/* The last: what it may have behind it has no size here. */
	struct trip_each each;
};

extern struct each_world world;

/* As a word of tables, and the number of one that is told. */
uint64_t each_word_of(unsigned int key);

/* What came of a key, at the least. */
uint64_t each_least_of(unsigned int key);

/* What is counted of a key is no less than that, but for what is not known, nor more than came. */
void each_expect_counted(unsigned int key, uint64_t least);

/* Who polls queue arg / POLLERS as its process number arg % POLLERS; and who reads so often. */
void each_run_poller(void *arg);
void each_run_reader(void *readings);

/* Everything rests. */
void each_judge(void);

#endif
