/* SPDX-License-Identifier: BSD-3-Clause */
/* All benchmarks, in the order in which they run: memory first, as others leave some behind. */
#include "bench.h"

#define RING "the same descriptors through an SPSC rte_ring"
#define FIRED "firing counter adds in 1,000 steps, thresholds up to"
#define HEAP "the same, with a 4-ary heap for a pending set"
#define LINE "reading one shared line and a clock"
#define HASH "rte_hash_lookup_bulk_data of the same keys"
#define FIB "rte_fib_lookup_bulk of the same addresses"
#define ONE_RULE "one rule without a set"
#define ACCEPTED "submit to accepted on another core, thresholds random, with"
#define IDLE "an idle iteration, the scrub included, with"
#define WITHOUT "the same without them"
#define FAR "with other work as far off in their place"
#define SWEEP "a plain sweep with as many queries"
#define KEYED "parsing, taking the key and counting by it, bursts of 32 over all keys of a table of"
/* Parsing, matching, counting and the look at the budget; every packet hits a rule. */
#define ADDED "added to a burst of 32 by the software engine, exact rules of addresses and ports"

#define AS_MANY "libfabric sockets with as many"
#define BY_ONE "libfabric sockets, in steps of one"

/* A size in the plot of cost against size; libfabric takes minutes to fill with more than 10k. */
#define CURVE(n, size, queued, fired, with)                                                        \
	{"curve_queue_" n, "ns an item", "submit to accepted on another core", RING, 0, queued, 0, \
		bench_queue, size, with, .curve = true},                                           \
		{"curve_fire_" n, "ns an item",                                                    \
			"firing counter adds, thresholds up to their number", NULL, 0, fired, 0,   \
			bench_fire, size, 1, .curve = true},                                       \
	{                                                                                          \
		"curve_idle_" n, "ns", "an idle iteration with so many counters", LINE, 0, NULL,   \
			0, bench_idle, size, 2, .curve = true                                      \
	}

const struct bench bench_catalogue[] = {
	{"memory_cntr", "bytes", "per counter of a domain", "what is promised", 1, NULL, 0,
		bench_memory_cntr},
	{"memory_work", "bytes",
		"per work item that may be pending, its place in the pending set included",
		"what is promised", 1, NULL, 0, bench_memory_work},
	{"memory_rule", "bytes",
		"per software rule with one queue, its handle included, as pages resident",
		"what is promised", 1, NULL, 0, bench_memory_rule, 1000000, 1},
	/* Size: keys; second: bytes of one. */
	{"memory_each", "bytes", "per key of 16 bytes that is counted by, of a million",
		"what is promised", 1, NULL, 0, bench_memory_each, 1000000, 16},
	{"memory_each_long", "bytes", "the same of 40 bytes", "what is promised", 1, NULL, 0,
		bench_memory_each, 1000000, 40},
	/* Second: what libfabric has pending; 0: the peer is queue_1k. */
	{"queue_1k", "ns an item", ACCEPTED " 1 thousand pending", RING, 3,
		"libfabric sockets with 10 thousand pending", 0, bench_queue, 1000, 10000},
	{"queue_100k", "ns an item", ACCEPTED " 100 thousand pending", RING, 3,
		"libfabric sockets with 100 thousand pending", 0, bench_queue, 100000, 100000},
	{"queue_1m", "ns an item", ACCEPTED " 1 million pending", RING, 3,
		"the same with 1 thousand pending", 1.5, bench_queue, 1000000, 0},
	/* Second: counters; 0: one, and sparse thresholds. */
	{"fire_1k", "ns an item", FIRED " 1,000", NULL, 0, HEAP, 0.5, bench_fire, 1000, 1},
	{"fire_1m", "ns an item", FIRED " 1 million", NULL, 0, HEAP, 0.2, bench_fire, 1000000, 1},
	{"fire_1m_sparse", "ns an item", FIRED " 2^40", NULL, 0, HEAP, 0.5, bench_fire, 1000000, 0},
	{"fire_1m_64k", "ns an item",
		"firing counter adds spread over 65,536 counters, in 16 steps of all", NULL, 0,
		HEAP, 1, bench_fire, 1000000, 65536},
	{"cancel_1m", "ns an item", "taking an item at random out of a pending set of 1 million",
		NULL, 0, "out of a 4-ary heap with back indices", 0.3, bench_cancel, 1000000},
	{"add", "ns", "trip_cntr_add() of a counter that nobody waits for", "a bare atomic add",
		1.3, "fi_cntr_add()", 0, bench_add},
	{"trip_rtt", "ns",
		"from an add to the completion counter of what it fires on the other core",
		"a bare round trip of two cache lines", 1.5, NULL, 0, bench_trip},
	/* Second: by a descriptor. */
	{"wake_fd", "ns", "from an add until poll() of the counter's descriptor has returned",
		"a spinning thread that writes an eventfd", 1.15, NULL, 0, bench_wake, 0, 1},
	{"wake_futex", "ns", "from an add until a sleeping trip_cntr_wait() has returned",
		"a spinning thread that wakes a futex", 1.15, NULL, 0, bench_wake},
	/* Size: counters; second: channels. */
	{"idle_1", "ns", IDLE " one counter", LINE, 2, NULL, 0, bench_idle, 1, 2},
	{"idle_1m", "ns", IDLE " 1 million counters", LINE, 2, "one counter", 1.2, bench_idle,
		1000000, 2},
	{"idle_64ch", "ns", IDLE " 64 channels", LINE, 2, "2 channels", 1.2, bench_idle, 1, 64},
	/* Size: counters; second: they are added to. */
	{"rate_idle", "ns", "an idle iteration with rates over 5 s of 10,000 counters", WITHOUT,
		1.02, FAR, 0, bench_rate, 10000, 0},
	{"rate_busy", "ns",
		"32 additions and an iteration that fires for 4 of them, with rates over 5 s of "
		"all 10,000 counters",
		WITHOUT, 1.02, FAR, 0, bench_rate, 10000, 1},
	{"profile", "ns",
		"an addition and the iteration that fires for it, while another lcore reads "
		"snapshots of the domain without a pause",
		"the same while nobody reads", 1.03, NULL, 0, bench_profile},
	/* Size: rules; second: masks. */
	{"soft_1", "ns a packet", ADDED, HASH, 2.5, NULL, 0, bench_soft, 1, 1},
	{"soft_1k", "ns a packet", ADDED, HASH, 2, NULL, 0, bench_soft, 1000, 1},
	{"soft_64k", "ns a packet", ADDED, HASH, 1.5, NULL, 0, bench_soft, 65536, 1},
	{"soft_1m", "ns a packet", ADDED, HASH, 1.25, NULL, 0, bench_soft, 1000000, 1},
	{"soft_8masks", "ns a packet", ADDED, "eight of them, one for each mask", 1.5, NULL, 0,
		bench_soft, 65536, 8},
	{"soft_hostile", "ns a packet",
		ADDED ", of keys that an attacker would choose, who knows all but the secret",
		"the same of random keys", 2, NULL, 0, bench_soft_hostile, 65536, 1},
	/* Size: prefixes; second: bits of the shortest. */
	{"set_1m", "ns a packet",
		"of a burst of 32 with one rule, whose source is in a set of 1 million prefixes",
		FIB, 0, ONE_RULE, 0, bench_set, 1000000, 16},
	{"set_1m_hosts", "ns a packet", "the same with a set of 1 million addresses", NULL, 0,
		ONE_RULE, 0, bench_set, 1000000, 32},
	{"set_few", "ns a packet", "the same with a set of ten prefixes", FIB, 0, ONE_RULE, 0,
		bench_set, 10, 16},
	{"set_load", "ms", "trip_set_replace() of 1 million prefixes", NULL, 0,
		"rte_fib_add() of each of them", 0, bench_set_load, 1000000, 16},
	/* Size: keys that there are, and room for; second: nanoseconds that are promised. */
	{"each_64k", "ns a packet", KEYED " 64 thousand", HASH, 1.5, "what is promised", 1,
		bench_each, 65536, 30},
	{"each_64k_rate", "ns a packet", "the same with a rate of each key, which none exceeds",
		HASH, 0, NULL, 0, bench_each_rate, 65536},
	{"each_64k_drop", "ns a packet", "the same where all of these keys are dropped", HASH, 0,
		NULL, 0, bench_each_drop, 65536},
	{"each_1m", "ns a packet", KEYED " a million", HASH, 1.5, NULL, 0, bench_each, 1000000},
	{"each_flood", "ns a packet",
		"the same where all million are taken and each packet has a new key", NULL, 0,
		"the same with known keys", 2, bench_each_flood, 1000000},
	{"forward", "Mpps", "an io forwarder whose packets match 64 thousand random rules",
		"the same with a bare rte_hash_lookup_bulk_data inside", 0.8, NULL, 0,
		bench_forward, 65536, 1, .more_is_better = true},
	/* Second: bursts. */
	{"horizon_sync", "packets",
		"the worst overshoot of a limit, steady flows of Zipf's rates, in virtual time",
		NULL, 0, SWEEP, 0.1, bench_horizon},
	{"horizon_burst", "packets",
		"the same against bursts that begin when a flow has just been asked", NULL, 0,
		SWEEP, 2, bench_horizon, 0, 1},
	{"horizon_cached", "readings",
		"of one counter between two refreshes of a cache, at most; 1 million flows", "one",
		1, NULL, 0, bench_horizon_cached, 1000000},
	CURVE("10", 10, AS_MANY, BY_ONE, 10),
	CURVE("100", 100, AS_MANY, BY_ONE, 100),
	CURVE("1k", 1000, AS_MANY, BY_ONE, 1000),
	CURVE("10k", 10000, AS_MANY, BY_ONE, 10000),
	CURVE("100k", 100000, NULL, NULL, 0),
	CURVE("1m", 1000000, NULL, NULL, 0),
	{NULL},
};
