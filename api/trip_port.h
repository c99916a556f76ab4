/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports whose hardware counts: what their engine can do, what it has done, and how their life is
 * told. trip_flow.h opens ports, and creates flows on them.
 */
#ifndef TRIP_PORT_H
#define TRIP_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trip_port;

/** How a fact is known. */
enum trip_port_fact {
	/** Supposed, on the safe side, until it is measured. */
	TRIP_PORT_FACT_ASSUMED = 0,
	/** From the driver and the device arguments. */
	TRIP_PORT_FACT_KNOWN,
	/** Seen on this port. */
	TRIP_PORT_FACT_MEASURED,
};

/** What is known of a port's hardware engine. */
struct trip_port_facts {
	/** Driver of the port; a constant string, as all here. */
	const char *driver;
	/**
	 * "mlx5 verbs" (`dv_flow_en=0`), "mlx5 DV" (1, the default), "mlx5 HWS" (2), "rte_flow" of
	 * any other driver, or "none": the driver has no rte_flow.
	 */
	const char *engine;
	/**
	 * Nanoseconds by which a counter may lag behind the wire when it is asked: 0 where asking
	 * goes to the device, the period of the cache where the driver keeps one.
	 */
	uint64_t refresh_lag_ns;
	/** Nanoseconds that asking for one counter takes, on average; 0: not asked yet. */
	uint64_t query_ns;
	enum trip_port_fact refresh_lag_from, query_from;
	/** Rules can share a counter, which outlives them (an indirect COUNT action). */
	bool indirect;
	enum trip_port_fact indirect_from;
	/** The driver's rte_flow calls may be made by several threads at once; here only one makes
	 * them. */
	bool thread_safe;
	/** Rules, and shared counters, stay when the port is stopped. */
	bool keeps_rules, keeps_shared;
	/** Rules go in by template tables and a flow queue; before the port is started it needs
	 * trip_port_prepare(). */
	bool templates;
	enum trip_port_fact templates_from;
};

/** Rules in hardware that trip_port_prepare() readies a port for where it is not told. */
#define TRIP_PORT_RULES 8192

/**
 * Readies a port for rules in hardware whose driver has its flow engine configured before the port
 * is started: mlx5 with `dv_flow_en=2`. It gets one flow queue and the counters. Call it between
 * rte_eth_dev_configure() and rte_eth_dev_start(); it holds from then on, over stop and start. On
 * other ports, and on one whose flow engine is configured already, it does nothing.
 *
 * An application that has flows of its own by templates calls rte_flow_configure() itself instead,
 * with a queue more than it needs, which it names to the domain (trip_port_attr::flow_queue), and
 * with a counter more for each flow that the domain is to have in hardware, and some to spare: one
 * that is given back is not free before the next refresh.
 *
 * Needs no domain; no thread may use the port's rte_flow meanwhile.
 *
 * @param max_rules
 *   Flows in hardware at a time, at most; 0: TRIP_PORT_RULES, or as many as the port has counters.
 * @return
 *   0, or
 *   -ENODEV: there is no such port;
 *   -ERANGE: the port has fewer counters;
 *   -EINVAL: the port is started, or not configured; or another error of the driver.
 */
int trip_port_prepare(uint16_t port_id, uint32_t max_rules);

/**
 * Tells what is known of a port without asking it: from its driver and device arguments. Needs no
 * domain; a secondary process has the primary asked, by a domain that it is attached to. The
 * refresh lag is part of the age of counters (CNTR-23). Any thread.
 *
 * @return
 *   0, or -ENODEV: there is no such port; in a secondary process also -ENOTSUP: it is attached to
 *   no domain, -ESHUTDOWN: the primary has ended (WAIT-12).
 */
int trip_port_facts(uint16_t port_id, struct trip_port_facts *facts);

/**
 * The same for an open port, and what has been measured on it: measuring begins with its first flow
 * in hardware, and what was measured is measured again from time to time. Any thread.
 *
 * @return
 *   0, or -ESHUTDOWN: the primary of an attached process has ended (WAIT-12).
 */
int trip_port_facts_read(struct trip_port *port, struct trip_port_facts *facts);

/** What a port's hardware engine has done since the port was opened. */
struct trip_port_stats {
	/** Rules in hardware now. */
	uint64_t rules;
	/** Readings of counters; those that came more than a period late, since the period was too
	 * short for the time that asking takes; and those that failed. */
	uint64_t readings, late_readings, failed_readings;
	/** The longest time between two readings of one counter, in nanoseconds. */
	uint64_t longest_gap_ns;
	/**
	 * How far past what somebody waited for a reading has found a flow: how often further than
	 * the tolerance, which is what the line carries in one period and in the refresh lag; and
	 * the most, in packets and in bytes. Of several flows that feed one counter, each is
	 * measured by its share of what was left. Without a link speed there is no tolerance.
	 */
	uint64_t missed, worst_packets, worst_bytes;
	/** Operations of deferred work: done, failed, and refused because too many were waiting. */
	uint64_t operations, failed_operations, refused_operations;
	/** Rules that were lost to a stop, a reset or a removal, and that were created again. */
	uint64_t lost, recreated;
	/** Times that the port received packets while no counter moved for three refresh periods,
	 * and whether that is so now: see TRIP_PORT_STALE. */
	uint64_t stale;
	bool stale_now;
};

/**
 * Reads these. Any thread, lock-free; each is exact, together they are not one snapshot. In an
 * attached process it asks the primary.
 *
 * @return
 *   0, or -ESHUTDOWN: the primary of an attached process has ended (WAIT-12).
 */
int trip_port_stats_read(struct trip_port *port, struct trip_port_stats *stats);

/** What happens to a port. */
enum trip_port_event {
	/** Its rules are gone: it is about to be stopped, or was, or is to be reset. */
	TRIP_PORT_STOPPED = 1,
	/** It is up again; flows with `recreate` have rules again. */
	TRIP_PORT_STARTED,
	/** The device is gone for good. */
	TRIP_PORT_REMOVED,
	/**
	 * It receives packets, but for three refresh periods (0.3 s at least) no counter of its
	 * rules has moved, which had moved before. Either none of the traffic matches a rule any
	 * more, or the device has stopped answering and the driver returns what it had; on an
	 * isolated port, where nothing else arrives, it is the latter.
	 */
	TRIP_PORT_STALE,
	/** A counter has moved again. */
	TRIP_PORT_FRESH,
};

/** Called by the port's flow worker: it may read, but not create, destroy or query flows of this
 * port (-EDEADLK), and what it waits for the counters wait for. */
typedef void (*trip_port_notify_t)(struct trip_port *port, enum trip_port_event event, void *arg);

/**
 * Tells that the port is about to be stopped, reset or reconfigured: its counters are read for the
 * last time and its rules are taken out, before the driver throws them away. A flow without
 * `recreate` is lost then: its counters' error value grows by 1 (CNTR-03), and its value stays.
 * Call it before rte_eth_dev_stop(). Without flows in hardware it does nothing.
 *
 * A stop that is not told is noticed some 10 milliseconds after, unless the port runs again by
 * then: ethdev keeps no trace of it, so trip_port_started() has to tell. What was counted since the
 * last reading is lost, and the driver may be asked for rules that it has thrown away.
 *
 * @return
 *   0, -EDEADLK: called from a registered function or a polling lcore of the domain, or from the
 *   port's own notification; -ENOTSUP: called in an attached process.
 */
int trip_port_stopping(struct trip_port *port);

/**
 * Tells that the port runs again: flows with `recreate` get rules anew, and their values go on. One
 * whose rule cannot be created is lost (CNTR-03). Call it after rte_eth_dev_start(), and not
 * otherwise: where trip_port_stopping() was not called it tells of the stop as well, and the rules
 * that the driver had are taken to be gone.
 *
 * @return
 *   The number of flows that have been lost, or -EDEADLK, -ENOTSUP as trip_port_stopping().
 */
int trip_port_started(struct trip_port *port);

#ifdef __cplusplus
}
#endif

#endif
