/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated NIC, of port 0: rules that match one flow each and count what comes, counters of
 * their own or shared ones, a cache of what they have counted that is as old as the NIC likes, and
 * calls that fail. Handles are never used twice, and whoever uses one that is dead is found out.
 */
#ifndef SIM_NIC_H
#define SIM_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_flow.h>

#define NIC_FLOWS 4

struct nic_shape {
	/* Rules share counters, which outlive a stop. */
	bool shared, keeps_shared;
	/* What is read is at most so old, in ticks; 0: it is asked. */
	uint64_t lag;
	/* One of so many creations, or readings, fails; 0: none. */
	uint32_t bad_rules, bad_readings;
};

/* What has come of one flow. */
struct nic_flow {
	/* That a rule has counted, and that was read of it. */
	uint64_t counted, read;
	/* What its dead counters had counted and nobody had read. */
	uint64_t unread;
	/* Of its rules that stand, how many; whether the one that packets come to drops them. */
	unsigned int rules;
	bool drops;
};

void nic_begin(const struct nic_shape *shape);
/* The pattern of a flow. */
const struct rte_flow_item *nic_pattern(uint32_t flow);
/* Packets come. */
void nic_receive(uint32_t flow, uint64_t n);
/* The driver tells that the device is gone, in the thread that calls. */
void nic_remove(void);
bool nic_is_removed(void);
/* Counts that nobody can read: the device was gone, or did not answer, or it forgets with a stop
 * what was not in the cache yet. */
bool nic_may_forget(void);
/* The application stops and starts the port. */
void nic_stop(void);
void nic_start(void);
struct nic_flow nic_flow_of(uint32_t flow);
/* Shared counters that have not been given back. */
unsigned int nic_counters(void);

#endif
