/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_PREFLIGHT_H
#define TRIPD_PREFLIGHT_H

#include <stdbool.h>
#include <stdint.h>

struct tripd_options;
struct tripd_plan;
struct tripd_words;
struct trip_rules;

/* What a run takes of EAL's memory. */
struct tripd_need {
	/* Of the packet buffers. */
	uint64_t pool_bytes;
	/* Packet buffers. */
	uint32_t n_mbufs;
	/* By --mbufs, not by what the ports can hold. */
	bool mbufs_given;
	/* All of it, with what EAL and the drivers take. */
	uint64_t total_bytes;
};

/* Rx and Tx descriptors of each port. */
#define TRIPD_DESCRIPTORS 512
/* Rx descriptors of each queue of an XDP socket: its fill ring's. */
#define TRIPD_XDP_DESCRIPTORS 2048
/* Packets of a burst. */
#define TRIPD_BURST 32
/* Packets that each lcore holds back for its next allocations. */
#define TRIPD_MBUF_CACHE 128

/* Computes what the rules will take. Before and after rte_eal_init(). Returns 0, or a negative
 * errno: the rules are too many for a domain (said on stderr). */
int tripd_preflight_need(
	const struct trip_rules *rules, const struct tripd_plan *plan, struct tripd_need *need);

/*
 * Adds what the devices among EAL's words take beyond that; with --mbufs, there are as many packet
 * buffers as that says.
 */
void tripd_preflight_devices(const struct tripd_words *words, const struct tripd_options *options,
	struct tripd_need *need);

/* Reads the rules file, and those of its sets, and looks for its programs. Returns 0, or
 * TRIPD_EXIT_USAGE, all mistakes said on stderr. */
int tripd_preflight_rules(const char *path, struct trip_rules **rules);

/* Checks what can be known before rte_eal_init(), whose own errors are pages long: interfaces and
 * files that devices need, privileges, another process on the same prefix, memory. Says what is
 * wrong in one sentence on stderr. Returns 0, or the exit code. */
int tripd_preflight_check(const struct tripd_words *words, const struct tripd_need *need);

/* Whether as many hugepages as that are free. */
bool tripd_preflight_has_hugepages(const struct tripd_words *words, const struct tripd_need *need);

#endif
