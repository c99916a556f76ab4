/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_PLAN_H
#define TRIPD_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

#define TRIPD_LCORES_MAX 128

struct trip_domain_attr;
struct trip_rules;
struct trip_rules_count;

struct tripd_plan_port {
	uint16_t id;
	/* Index of the port that it forwards to; -1: what it receives is freed. */
	int partner;
	/* Rx queues; one until EAL has made the port. */
	uint16_t n_queues;
	/* Index of the forwarding lcore that polls it. */
	unsigned int forwarder;
};

/* Which ports, which lcores, and who does what. */
struct tripd_plan {
	struct tripd_plan_port ports[TRIPD_PORTS_MAX];
	unsigned int n_ports;
	/* Rules whose port is not known before EAL runs: each may be one more. */
	unsigned int n_unknown;
	unsigned int forwarders[TRIPD_LCORES_MAX];
	unsigned int n_forwarders;
	/* The lcore that counts and fires; where `manual`, the only forwarder does that between its
	 * bursts, and this is its id. */
	unsigned int poller;
	bool manual;
	/* The control thread does all of that, at the times of the packets (run/replay.h). */
	bool by_packets;
	/* Events tell which keys of an `each` come and go. */
	bool event_keys;
	struct tripd_live live;
};

/*
 * Plans the ports: those that rules, --iface, --pair and --ports name, in the order of their ids; 0
 * and 1, 2 and 3 ... are partners unless --pair says otherwise. A port that the rules call by name
 * or MAC is planned once they have its number (tripd_resolve_ports), and a mere number of unknown
 * ones until then.
 *
 * @return
 *   0, -ENOENT: no port is named, or -ENOSPC: more than TRIPD_PORTS_MAX.
 */
int tripd_plan_ports(struct tripd_plan *plan, const struct tripd_options *options,
	const struct trip_rules *rules);

/* On how many ports a rule counts. */
unsigned int tripd_plan_ports_of(
	const struct tripd_plan *plan, const struct trip_rules_count *count);

/* On how many queues; of a port that is not known yet, one. */
uint32_t tripd_plan_queues_of(const struct tripd_plan *plan, const struct trip_rules_count *count);

/* A rule of any port is one of all that are planned. Returns 0 or -ENOMEM. */
int tripd_plan_any(const struct tripd_plan *plan, struct trip_rules_count *count);

/* The index of a planned port, or -1. */
int tripd_plan_find(const struct tripd_plan *plan, unsigned int id);

/* Plans the lcores: the last worker polls, the others forward, as many as there are ports; with one
 * worker it does both; by the times of packets they do nothing. Returns 0, or -ENOSPC: there is no
 * worker. */
int tripd_plan_lcores(struct tripd_plan *plan, const unsigned int *workers, unsigned int n);

/* The domain that these rules need; its lcore is the plan's. */
void tripd_plan_domain(const struct trip_rules *rules, const struct tripd_plan *plan,
	struct trip_domain_attr *attr);

#endif
