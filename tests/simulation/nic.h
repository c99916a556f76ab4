/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated NIC, of port 0: rules that match one flow each and count what comes, counters of
 * their own or shared ones, a cache of what they have counted that EAL's interrupt thread refreshes
 * when it comes to that, and calls that fail. Rules go in by calls, or by templates and a flow
 * queue whose operations complete late and in any order. Handles are never used twice, and whoever
 * uses one that is dead is found out.
 */
#ifndef SIM_NIC_H
#define SIM_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_flow.h>

#define NIC_FLOWS 4
/* Of shared counters, at most. */
#define NIC_POOLS 16
/* Bytes of each packet. */
#define NIC_BYTES 64

struct nic_shape {
	/* Rules share counters, which outlive a stop. */
	bool shared, keeps_shared;
	/* What is read is at most so old, in ticks, unless whoever refreshes it is late, as often
	 * each time, or not. 0: it is asked. */
	uint64_t lag;
	bool lag_changes;
	/* Of so many pools of counters one after the other is refreshed; not 0. */
	uint32_t pools;
	/* One of so many creations, removals, or readings, fails; 0: none. */
	uint32_t bad_rules, bad_removals, bad_readings;
	/* Operations that its flow queue takes; 0: it has none, and no templates. */
	uint32_t queue;
	/* They complete together, or each after some looks. */
	bool together;
	/* It answers no operation any more after so many of them; 0: it does. */
	uint32_t hangs;
};

/* Of EAL's interrupt thread, beside what turns make of it. */
struct nic_lateness {
	/* It asks the device, and the answer takes some time; or the cache is refreshed at once. */
	bool asks;
	/* Of so many refreshes that bring anything one is held up, 0: none; in lags, at most so
	 * long. */
	uint32_t held_every, held_lags;
	/* Of so many alarms that somebody sets there is no memory for one; 0: none. */
	uint32_t bad_alarms;
	/* While the library has an alarm the thread has a turn only when that is due. */
	bool seldom;
};

/* What has come of one flow. */
struct nic_flow {
	/* That a rule has counted, and that was read of it. */
	uint64_t counted, read;
	/* What its dead counters had counted and nobody had read. */
	uint64_t unread;
	/* How often the driver would not take out a rule of it, which then may stand until the port
	 * stops, and count for nobody; and how many such stand. */
	unsigned int stuck, standing;
	/* Last counts of it came into the cache when nobody had to wait for them any more. */
	bool late;
	/* Its rules, how many; of those that bring it packets; whether
	 * the one that packets come to drops them. */
	unsigned int rules, jumps;
	bool drops;
};

void nic_begin(const struct nic_shape *shape);
/* So many calls of the driver were made before: by that goes which of the next ones fail. */
void nic_count_calls(uint32_t n);
/* The pattern of a flow. */
const struct rte_flow_item *nic_pattern(uint32_t flow);
/* Packets come. */
void nic_receive(uint32_t flow, uint64_t n);
/* The driver tells of an event, in the thread that calls. */
void nic_tell(enum rte_eth_event_type event);
/* The device is gone, and the driver tells so. */
void nic_remove(enum rte_eth_event_type event);
bool nic_is_removed(void);
/* It recovers, or is to be reset, or is about to say so: rules of it are left that nobody can take
 * out, and die. */
bool nic_is_away(void);
/* Its queue does not answer. */
bool nic_is_hung(void);
/* A stop that nobody tells of: until it is over nobody can know which handles are dead, and they
 * are refused. */
void nic_surprise(bool begins);
/* It answers nothing any more. */
void nic_go_away(void);
/* It tells that it begins to recover, or is to be reset: nobody asks it from then on until it is
 * back, and all rules, or all there was, is gone. */
void nic_begin_anew(enum rte_eth_event_type event);
void nic_come_back(bool with_counters);
/* Counts that nobody can read: the device was gone, or did not answer, or it forgets with a stop
 * what was not in the cache yet. */
bool nic_may_forget(void);
/* In templates and tables, and counters of rules in them: what the driver had when it was gone, or
 * refused as dead, nobody gives back; nor anything where it was gone after an error. */
bool nic_may_keep(void);
/* It may refuse what a flow needs to come back after a stop. */
bool nic_may_lose(void);
/* The application stops and starts the port. */
void nic_stop(void);
void nic_start(void);
struct nic_flow nic_flow_of(uint32_t flow);
/* What it has counted need not be read. */
static inline bool
nic_is_vague(const struct nic_flow *flow)
{
	return flow->stuck > 0 || flow->late;
}
/* Whether a handle is of a rule that stands; or nobody can know. */
bool nic_stands(const struct rte_flow *handle);
/* How many packets of a flow were counted before a moment, and could be read within the lag. */
uint64_t nic_counted_before(uint32_t flow, uint64_t moment);
/* Shared counters that have not been given back, but those of rules that are stuck. */
unsigned int nic_counters(void);
/* Operations under way; templates and tables that no rule needs. */
unsigned int nic_queue_objects(void);
/* A signal ends one of so many sleeps of the worker; 0: none. */
void nic_interrupt(uint32_t every);
/* EAL's interrupt thread begins, where there is a cache. */
void nic_begin_interrupt(const struct nic_lateness *lateness);
/* Of so many readings of what the cache does not have yet one takes up to four lags; 0: none. */
void nic_hold_readings(uint32_t one_of);
/* Of all pools that of a flow's counter is the last to be asked again. */
bool nic_is_asked_last(uint32_t flow);
/* Of the library, that are still to come. */
unsigned int nic_alarms(void);

#endif
