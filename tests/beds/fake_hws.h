/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port's rte_flow by templates, played by the test, on top of fake_nic.h: a stand-in at link time
 * for mlx5 with dv_flow_en=2. No driver is run; this is what the driver of DPDK 22.11 does, as far
 * as reading it tells (drivers/net/mlx5/mlx5_flow_hw.c, mlx5_hws_cnt.c, hws/):
 *
 *  - rte_flow_create() and _destroy() are -ENOTSUP, rte_flow_validate() is fatal;
 *  - nothing works before rte_flow_configure(), which works only before the port is started;
 *  - in group 0 there is no COUNT, and nothing is reached behind priority 12; what matches nothing
 *    in another group is dropped;
 *  - MARK comes before COUNT, COUNT before the fate, INDIRECT says COUNT in its mask;
 *  - values are compared whole: one with a bit outside of its mask never matches;
 *  - an operation takes effect between its push and its pull, in group 0 at once; completions come
 *    late and in any order; a queue that is full says -ENOMEM;
 *  - a rule whose creation has failed has a handle, that must be destroyed;
 *  - counters that are given back are free after the next refresh; one that a rule still refers to
 *    can be given back, which is the caller's ruin.
 *
 * The end of the test: a second thread on the queue, a dead handle, a table with rules destroyed,
 * a counter that a rule refers to given back, two rules in a table that match the same, and
 * whatever is left when it is closed.
 */
#ifndef TRIP_FAKE_HWS_H
#define TRIP_FAKE_HWS_H

#include <stdbool.h>
#include <stdint.h>

#include "fake_nic.h"

/* A new device, after fake_nic_open(); `seed` is for the order of completions. */
void fake_hws_open(uint64_t seed);
/* Nothing is left of templates, tables and operations. */
void fake_hws_close(void);

/* Counters that the device has. */
void fake_hws_counters(uint32_t n);

/* What an application does that has flows of its own: it leaves the domain this queue. */
void fake_hws_configure(uint16_t port_id, uint32_t queue, uint32_t size, uint32_t n_counters);

/* Nothing completes until let go. */
void fake_hws_hold(bool hold);
/* Runs in the next look at operations that have been pushed, of which no more than `left` are left,
 * which completes none; later ones complete all. */
void fake_hws_at_pull(unsigned int left, void (*function)(void));
/* Whether an operation is under way that has been pushed. */
bool fake_hws_is_waiting(void);

/* The port stops: the driver throws the rules away, and keeps tables and counters. Before that it
 * may empty the queue. */
void fake_hws_drain(void);
void fake_hws_flush(void);

/* The application closes a port that is gone: rules, counters, tables, operations. */
void fake_hws_abandon(void);

unsigned int fake_hws_tables(void);
/* Rules in this group. */
unsigned int fake_hws_rules(uint32_t group);
/* Times that a queue was full; the most operations pushed together. */
uint64_t fake_hws_full(void);
unsigned int fake_hws_longest_push(void);
/* Packets that a jump has brought to no rule. */
uint64_t fake_hws_missed(void);

#endif
