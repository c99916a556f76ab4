/* SPDX-License-Identifier: BSD-3-Clause */
/* What has keys of a statement in hardware; for each_helper.c, which keys, and each_helper_rule.c,
 * their rules. */
#ifndef TRIP_RUNTIME_EACH_HELPER_PRIV_H
#define TRIP_RUNTIME_EACH_HELPER_PRIV_H

#include "compat.h"
#include "flow/each_helper.h"
#include "each_help.h"

#define TICK_US 10000u
#define RETRY_US 1000000u
/* Beside what counters lag: what a rule takes to go, and its last sum to come. */
#define MARGIN_US 200000u

enum key_state { FREE, WAITING, IN, OUT };

struct helped_key {
	enum key_state state;
	uint32_t table, place;
	uint64_t words[TRIP_EACH_KEY_WORDS];
	/* Packets of its entry at the last look, and how many came since the one before. */
	uint64_t had, came;
	uint64_t seen_us; /* when something came of it */
	struct trip_flow *flow;
	struct trip_flow *above; /* passes its packets to software while its rule ends, or NULL */
	uint64_t packets, bytes; /* by the last reading of its rule */
	uint64_t handed_packets, handed_bytes;
	/* When the last reading was made that was handed over. */
	uint64_t read_us;
};

struct trip_each_helper {
	struct trip_each *each;
	struct trip_port *port;
	struct trip_each_help *help;
	trip_compat_thread thread;
	_Atomic bool stop, settling, settled, done;
	uint64_t now, lag, lead;
	bool shares; /* counters outlive their rules */
	uint64_t next_trip, change_us, retry_us, look_us;
	uint32_t n_flows, n_keys;
	struct helped_key keys[];
};

static inline void
trip_each_helper_grow(_Atomic uint64_t *word, uint64_t by)
{
	atomic_store_explicit(
		word, atomic_load_explicit(word, memory_order_relaxed) + by, memory_order_relaxed);
}

/* For how long it is dropped yet, in microseconds; 0: it is not. */
uint64_t trip_each_helper_lasts(
	const struct trip_each_helper *helper, const struct trip_each_entry *entry);

/* Where there may be one more rule now: one for that of which most came; false: there is none. */
bool trip_each_helper_put_in(struct trip_each_helper *helper);

/* A key that is in hardware, or was: what its rule has counted goes to its table, and whether that
 * is to go on. */
void trip_each_helper_watch(struct trip_each_helper *helper, struct helped_key *key);
void trip_each_helper_finish(struct trip_each_helper *helper, struct helped_key *key);

#endif
