/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules at work on a port of net_null, without a forwarder: the test is what receives and what
 * polls. */
#ifndef TRIPD_BED_H
#define TRIPD_BED_H

#include <pthread.h>
#include <stdatomic.h>

#include "link/link.h"
#include "run/command.h"
#include "run/quota.h"
#include "start/plan.h"

struct tripd_bed {
	struct trip_rules *rules;
	struct tripd_plan plan;
	struct tripd_link links[TRIPD_PORTS_MAX];
	struct trip_domain *domain;
	struct tripd_quota quota;
	struct tripd_commands commands;
};

extern struct rte_mempool *tripd_bed_pool;

/* Starts EAL, with a pool. Returns 0, or what main() is to return. */
int tripd_bed_init(void);

void tripd_bed_open(struct tripd_bed *bed, const char *text, struct tripd_live live);
/* Likewise; its clock goes by the times of packets, as tripd_bed_advance() says them. */
void tripd_bed_open_by_packets(struct tripd_bed *bed, const char *text, struct tripd_live live);
void tripd_bed_close(struct tripd_bed *bed);

#define TRIPD_BED_BYTES 60
#define TRIPD_BED_BURST 16

/* So many frames come, of zeros, and pass or not. */
void tripd_bed_count(const struct tripd_bed *bed, uint16_t n);

/* What becomes of packets of a count. */
enum trip_flow_fate tripd_bed_fate(const struct tripd_bed *bed, unsigned int count);

/* A thread to which they come, 3 at a time, until it is stopped: how many they were. */
struct tripd_bed_sender {
	const struct tripd_bed *bed;
	pthread_t thread;
	atomic_bool stop;
	uint64_t sent;
};
void tripd_bed_send(struct tripd_bed_sender *sender, const struct tripd_bed *bed);
uint64_t tripd_bed_stop(struct tripd_bed_sender *sender);

/* Nanoseconds go by, and all that is due on the way fires; what is over begins anew. */
void tripd_bed_advance(struct tripd_bed *bed, uint64_t ns);

/* All that is due by now fires, and is not read yet. */
void tripd_bed_progress(const struct tripd_bed *bed);

#endif
