/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports: how a domain gets one, whose bursts are counted, what its hardware can do and has done,
 * and how its life is told. trip_flow.h creates flows on them.
 */
#ifndef TRIP_PORT_H
#define TRIP_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_mbuf;
struct trip_domain;
struct trip_fid;
struct trip_port;

/** What happens to a port. */
enum trip_port_event {
	/** Its rules are gone: it is about to be stopped, or was, or is to be reset. */
	TRIP_PORT_STOPPED = 1,
	/** It is up again; flows with `recreate` have rules again. */
	TRIP_PORT_STARTED,
	/** The device is gone for good. */
	TRIP_PORT_REMOVED,
	/**
	 * It receives packets, but no counter of its rules has moved for three refresh periods (at
	 * least 0.3 s), though one had moved before. Either the traffic no longer matches any rule,
	 * or the device has stopped answering and the driver returns old values. On an isolated
	 * port, where nothing else arrives, it is the latter.
	 */
	TRIP_PORT_STALE,
	/** A counter has moved again. */
	TRIP_PORT_FRESH,
};

/** Called by the port's flow worker. It may read, but not create or destroy flows, nor call what
 * would wait for that worker (-EDEADLK); trip_flow_query() tells of this port's what was read last.
 * It should be quick: while it runs, the port's counters are not read. So trip_cntr_wait() for what
 * this port's flows count, and calls of trip_client.h that ask this process's own domain, may last
 * there as long as their limits. */
typedef void (*trip_port_notify_t)(struct trip_port *port, enum trip_port_event event, void *arg);

/** How the software engine gets to see the packets of a port. */
enum trip_port_mode {
	/**
	 * By a callback on each queue, which trip_port_open() adds. rte_eth_rx_burst() returns the
	 * packets that the rules pass. rte_eth_tx_burst() sends those, and returns how many it
	 * sent; packets that a rule drops stand behind these, like those that a full queue did not
	 * take, and are the caller's. Each attempt to send a packet counts it, so an application
	 * that sends again what did not fit should call trip_port_burst_tx() once instead.
	 */
	TRIP_PORT_CALLBACK = 0,
	/** By trip_port_burst() and trip_port_burst_tx(), which the application calls with what it
	 * received, and with what it is about to send. */
	TRIP_PORT_BURST,
};

/** Attributes of a port. A field that is zero has its default. */
struct trip_port_attr {
	/** sizeof(struct trip_port_attr). */
	size_t size;
	enum trip_port_mode mode;
	/** Rx queues to count on, from 0; default: all that the port is configured with. */
	uint32_t n_queues;
	/** Tx queues to count on, from 0; default: none, and the port takes no flows for egress. */
	uint32_t n_tx_queues;
	/**
	 * Microseconds within which each counter in hardware is asked, where asking takes little
	 * enough; default 1000. Where the driver keeps a cache, its refresh period if that is
	 * longer.
	 */
	uint32_t query_us;
	/** Called when something happens to a port that has flows in hardware; may be NULL. */
	trip_port_notify_t notify;
	void *notify_arg;
	/** Where the application has configured the port's flow engine (see trip_port_prepare()):
	 * the flow queue that it leaves to the domain. No check of it is possible. Default: 0. */
	uint32_t flow_queue;
	/** 0. */
	uint32_t reserved;
};

/**
 * Gives a configured ethdev port to the domain. Nothing of the port is changed but, with
 * TRIP_PORT_CALLBACK, its callbacks. Any thread.
 *
 * @return
 *   0, or
 *   -EINVAL: unknown mode or attribute size (CNTR-10), or more queues than the port has;
 *   -ENODEV: no such port, or not configured;
 *   -EEXIST: the domain has this port already;
 *   -ENOSPC: the domain's `max_queues` are in use;
 *   -ENOTSUP: callbacks, in a DPDK built without them; called in an attached process, which finds
 *     ports (trip_port_find());
 *   -EDEADLK: called from a registered function;
 *   -ENOMEM.
 */
int trip_port_open(struct trip_domain *domain, uint16_t port_id, const struct trip_port_attr *attr,
	struct trip_port **port);

/**
 * Finds a port that the primary has given to the domain, in a process that has attached. From then
 * on this process can create flows on it, queue work on them, and poll its queues
 * (trip_port_burst()). The primary makes the calls about flows, in a thread of its own, one after
 * the other. When this process ends, its flows end, and other processes may claim its queues. Any
 * thread.
 *
 * @param[out] port
 *   To be closed by trip_port_close(), which leaves the port itself alone. It has the queues that
 *   the primary has opened it with. This process builds a table of its own of all rules in
 *   software, so the call takes a millisecond for some thousand rules.
 * @return
 *   0, or
 *   -ENOENT: the domain has no such port;
 *   -ENOTSUP: called in the primary, which has opened it;
 *   -EMFILE: the process has no descriptor left; -ETOOMANYREFS: the primary can send none now, as
 *     trip_cntr_open(); -ENOMEM;
 *   -ESHUTDOWN: this process is not attached (WAIT-12).
 */
int trip_port_find(struct trip_domain *domain, uint16_t port_id, struct trip_port **port);

/**
 * Takes a port out of the domain. With TRIP_PORT_CALLBACK bursts may go on: this waits up to a
 * tenth of a second for those that may be in a callback, and frees what the callbacks took of EAL's
 * heap. With TRIP_PORT_BURST nobody may be in trip_port_burst() or trip_port_burst_tx(), or call
 * them from then on.
 *
 * @return
 *   0, or -EBUSY while flows are open on it, or processes have found it; -EDEADLK: called from a
 *   registered function.
 */
int trip_port_close(struct trip_port *port);

/**
 * Counts a burst of received packets on the rules of a TRIP_PORT_BURST port, and frees those that a
 * rule drops. One thread at a time for each queue, in the primary or in a process that has found
 * the port; the first burst of a queue claims it for its process (trip_port_claim()). Each packet
 * counts as 1 in its flow, and its bytes are L2 bytes (CNTR-21). A threshold that is reached rings
 * within the burst, whichever process polls; no further packet is needed (CNTR-19, WORK-01).
 * Statements that count by keys (trip_each.h) see the packets, too; a burst of none lets idle keys
 * go (EACH-05), so where there are statements the call is to be made with whatever was received.
 *
 * In a process other than the primary, a burst sees every rule that was created before the burst
 * began, unless more than 64 rules have changed since the last burst: each burst brings at most 64
 * changes into the process's table. Now and then one takes longer, by a millisecond for some ten
 * thousand rules. Where the process has no memory for a rule, the next burst tries again. A rule
 * that was destroyed before a burst began counts nothing in it.
 *
 * @param queue
 *   Rx queue, below the port's `n_queues`. Packets of any other queue are left as they are, and so
 *   are those of a queue that another process has claimed, or that this one had when the domain
 *   ended (WAIT-12).
 * @param[in,out] pkts
 *   Packets; those left stand in front, in order.
 * @return
 *   How many are left.
 */
uint16_t trip_port_burst(
	struct trip_port *port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);

/**
 * Counts a burst that is about to be sent on the egress rules of a TRIP_PORT_BURST port, and frees
 * the packets that a rule drops; send what is left. VLAN tags that Tx is asked to insert count as
 * tags of the packet. One thread at a time for each queue; otherwise as trip_port_burst() (CNTR-19,
 * CNTR-21, WORK-01).
 *
 * @param queue
 *   Tx queue, below the port's `n_tx_queues`. Packets of any other queue are left as they are, and
 *   so are those of a queue that another process has claimed.
 * @param[in,out] pkts
 *   Packets; those left stand in front, in order.
 * @return
 *   How many are left.
 */
uint16_t trip_port_burst_tx(
	struct trip_port *port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n);

/** Which packets of a port a rule is about. */
enum trip_flow_direction {
	/** Those that it receives. */
	TRIP_FLOW_INGRESS = 0,
	/** Those that it sends. */
	TRIP_FLOW_EGRESS,
};

/**
 * Claims a queue of a TRIP_PORT_BURST port for the bursts of this handle, in the primary or in a
 * process that has found the port. The first burst claims its queue by itself; this call tells why
 * it cannot. The counts of a queue have one writer, so one process at a time has the queue, until
 * it releases it, closes its handle of the port, or ends; after its end the queue is free a moment
 * later. What the process has counted stays counted. Any thread, but not beside a burst of the
 * queue.
 *
 * @return
 *   0, also where the handle has it already, or
 *   -EBUSY: another process has it, or another handle of this one, or the primary's callbacks
 *   (TRIP_PORT_CALLBACK);
 *   -EINVAL: the port has no such queue;
 *   -ESHUTDOWN: this process is not attached (WAIT-12).
 */
int trip_port_claim(struct trip_port *port, enum trip_flow_direction direction, uint16_t queue);

/**
 * Releases a queue, so that another process can claim it. Any thread, but not beside a burst of the
 * queue.
 *
 * @return
 *   0, or -EINVAL: the port has no such queue, or this handle has not claimed it;
 *   -ESHUTDOWN: this process is not attached (WAIT-12).
 */
int trip_port_release(struct trip_port *port, enum trip_flow_direction direction, uint16_t queue);

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
	/** sizeof(struct trip_port_facts), set by the caller. */
	size_t size;
	/** Driver of the port. */
	char driver[64];
	/**
	 * "mlx5 verbs" (`dv_flow_en=0`), "mlx5 DV" (1, the default), "mlx5 HWS" (2), "rte_flow" of
	 * any other driver, or "none": the driver has no rte_flow.
	 */
	char engine[32];
	/**
	 * Nanoseconds by which a counter may lag behind the wire when it is asked: 0 where asking
	 * goes to the device, the period of the cache where the driver keeps one.
	 */
	uint64_t refresh_lag_ns;
	/** Nanoseconds that asking for one counter takes, on average; 0: not asked yet. */
	uint64_t query_ns;
	enum trip_port_fact refresh_lag_from, query_from, indirect_from, templates_from;
	/** Rules can share a counter, which outlives them (an indirect COUNT action). */
	bool indirect;
	/** The driver's rte_flow calls may be made by several threads at once; here only one makes
	 * them. */
	bool thread_safe;
	/** Rules, and shared counters, stay when the port is stopped. */
	bool keeps_rules, keeps_shared;
	/** Rules go in by template tables and a flow queue; before the port is started it needs
	 * trip_port_prepare(). */
	bool templates;
	/** 0. */
	uint8_t reserved[3];
};

/** Rules in hardware that trip_port_prepare() readies a port for by default. */
#define TRIP_PORT_RULES 8192

/**
 * Readies a port for rules in hardware where its driver needs its flow engine configured before the
 * port is started: mlx5 with `dv_flow_en=2`. The port gets one flow queue and the counters. Call it
 * between rte_eth_dev_configure() and rte_eth_dev_start(); it stays in force over stop and start.
 * It does nothing on other ports, and on a port whose flow engine is configured already.
 *
 * An application that has flow templates of its own calls rte_flow_configure() itself instead. It
 * asks for one flow queue more than it needs, which it names to the domain
 * (trip_port_attr::flow_queue), and for a counter for each flow that the domain is to have in
 * hardware, with some to spare: a counter that is given back is free only after the next refresh.
 *
 * Needs no domain; no thread may use the port's rte_flow meanwhile.
 *
 * @param max_rules
 *   Most flows in hardware at a time; 0: TRIP_PORT_RULES, or as many as the port has counters where
 *   these are fewer.
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
 *   0, or -EINVAL: an unknown `size`; -ENODEV: there is no such port; in a secondary process also
 *   -ENOTSUP: it is attached to no domain, -ESHUTDOWN: the primary has ended (WAIT-12).
 */
int trip_port_facts(uint16_t port_id, struct trip_port_facts *facts);

/**
 * The same for an open port, and what has been measured on it: measuring begins with its first flow
 * in hardware, and what was measured is measured again from time to time. Any thread.
 *
 * @return
 *   0, or -EINVAL: an unknown `size`; -ESHUTDOWN: the primary of an attached process has ended
 *   (WAIT-12).
 */
int trip_port_facts_read(struct trip_port *port, struct trip_port_facts *facts);

/** What a port's hardware engine has done since the port was opened. */
struct trip_port_stats {
	/** sizeof(struct trip_port_stats), set by the caller. */
	size_t size;
	/** Rules in hardware now. */
	uint64_t rules;
	/** Readings of counters; those that came more than a period late, since the period was too
	 * short for the time that asking takes; and those that failed. */
	uint64_t readings, late_readings, failed_readings;
	/** The longest time between two readings of one counter, in nanoseconds. */
	uint64_t longest_gap_ns;
	/**
	 * How far past an awaited threshold readings have found flows: how many readings were past
	 * it by more than the tolerance (what the line carries in one period and the refresh lag),
	 * and the most, in packets and in bytes. Where several flows feed one counter, each is
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
	/** 0. */
	uint8_t reserved[7];
};

/**
 * Reads these. Any thread, lock-free; each is exact, together they are not one snapshot. In an
 * attached process it asks the primary.
 *
 * @return
 *   0, or -EINVAL: an unknown `size`; -ESHUTDOWN: the primary of an attached process has ended
 *   (WAIT-12).
 */
int trip_port_stats_read(struct trip_port *port, struct trip_port_stats *stats);

/**
 * Tells that the port is about to be stopped, reset or reconfigured: its counters are read for the
 * last time and its rules are taken out, before the driver throws them away. A flow without
 * `recreate` is lost then: its counters' error value grows by 1 (CNTR-03), and its value stays.
 * Call it before rte_eth_dev_stop(). Until trip_port_started() no flow is created in hardware
 * (-EBUSY), since nobody could tell whether the stop has taken its rule. Without flows in hardware
 * it does nothing else.
 *
 * A stop without this call is noticed some 10 milliseconds later. Where the port runs again by then
 * it is not noticed, for ethdev keeps no trace of it; then trip_port_started() has to tell. What
 * was counted since the last reading is lost, and the driver may be asked for rules that it has
 * thrown away.
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

/** A port, and one of its queues on which software counts, as objects of which trip_profile_open()
 * opens a profile; of a handle of whichever process, which is not closed while there is one
 * (-EBUSY). NULL: the domain has no such queue. */
struct trip_fid *trip_port_fid(struct trip_port *port);
struct trip_fid *trip_port_queue_fid(
	struct trip_port *port, enum trip_flow_direction direction, uint16_t queue);

#ifdef __cplusplus
}
#endif

#endif
