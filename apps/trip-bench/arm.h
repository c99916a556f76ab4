/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arms that look inside the library. Their sources are compiled twice: for the library as it is,
 * and for its same objects once more, with those of the pending set replaced by a heap. So the two
 * differ in nothing else.
 */
#ifndef ARM_H
#define ARM_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

struct arm_fire_shape {
	/* Of the domain. */
	const char *name;
	uint32_t items;
	uint32_t cntrs;
	/* Thresholds lie in 1 ... range, which the counters pass in so many steps. */
	uint64_t range;
	uint32_t steps;
};

struct arm_fire_bed;

/* What both pending sets can be asked. Times are nanoseconds of the thread, over all items. */
struct arm {
	/* NULL with a message on stderr. */
	struct arm_fire_bed *(*fire_open)(const struct arm_fire_shape *shape);
	/* Queues all items anew; fires them. 0, or -1 with a message. */
	int (*fire_fill)(struct arm_fire_bed *bed, uint64_t seed);
	int (*fire)(struct arm_fire_bed *bed, uint64_t *ns);
	void (*fire_close)(struct arm_fire_bed *bed);
};

struct arm_cancel {
	/* Inserts so many items of random thresholds and cancels them all, in random order; then
	 * forgets them, as whoever needs their nodes again does. */
	int (*cancel)(uint32_t items, uint64_t seed, uint64_t *ns, uint64_t *forget_ns);
};

extern const struct arm arm_wheel, arm_heap;
extern const struct arm_cancel arm_cancel_wheel, arm_cancel_heap;

/* Nanoseconds that so many idle iterations take of a home with so many counters and channels. */
struct arm_idle;
struct arm_idle *arm_idle_open(uint32_t cntrs, uint32_t channels);
uint64_t arm_idle_iterate(struct arm_idle *idle, uint32_t iterations);
void arm_idle_close(struct arm_idle *idle);

/* What waits on each counter beside the work that fires: nothing, a rate, or other work that is as
 * far off. */
enum arm_rate_beside { ARM_RATE_NONE, ARM_RATE, ARM_RATE_WORK };

/* The same of a home with so many counters and that; busy: counters are added to before each
 * iteration. */
struct arm_rate;
struct arm_rate *arm_rate_open(uint32_t cntrs, enum arm_rate_beside beside);
uint64_t arm_rate_iterate(struct arm_rate *rate, uint32_t iterations, bool busy);
void arm_rate_close(struct arm_rate *rate);

/* A table of that many keys (both addresses, protocol, both ports), and all that is done to a
 * packet for it: parse, take the key, count. With a rate that no key exceeds; or of keys that may
 * be dropped. NULL: there is no memory. */
enum arm_each_kind { ARM_EACH_PLAIN, ARM_EACH_RATE, ARM_EACH_DROP };
struct arm_each;
struct arm_each *arm_each_open(uint32_t max, enum arm_each_kind kind);
/* All keys that are there are dropped from here on: ARM_EACH_DROP. */
void arm_each_hold(struct arm_each *each);
/* Up to 32 packets. Which of them belong to a key that is over a limit: none. */
uint32_t arm_each_burst(struct arm_each *each, struct rte_mbuf **pkts, uint32_t n);
void arm_each_close(struct arm_each *each);

struct arm_each_totals {
	bool whole; /* else a message says what does not hold of it */
	uint64_t packets, admitted, refused;
	uint32_t keys;
};

struct arm_each_totals arm_each_totals(const struct arm_each *each);
/* Bytes of a table of so many keys, of so many words of 8 bytes each. */
uint64_t arm_each_bytes(uint32_t max, uint32_t words);

#endif
