/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric, the peer of counters and deferred work: its "sockets" provider, the only packaged one
 * that has deferred work. Every call answers 0 where libfabric was not there to build with, or does
 * not open here. Times are nanoseconds.
 */
#ifndef BENCH_FABRIC_H
#define BENCH_FABRIC_H

#include <stdint.h>

/* Of one fi_cntr_add(), nobody waiting. */
double bench_fabric_add(uint32_t times);
/* Of queueing one item of random threshold while so many are pending; more each time, as what is
 * queued stays: there is no cancel. */
double bench_fabric_queue(uint32_t pending, uint32_t times);
/* Of firing one of so many items, the counter advancing by one at a time. */
double bench_fabric_fire(uint32_t items);

#endif
