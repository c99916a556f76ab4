/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counted flows: rules in the terms of rte_flow whose packets and bytes feed counters.
 */
#ifndef TRIP_FLOW_H
#define TRIP_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trip_port.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_flow_action;
struct rte_flow_error;
struct rte_flow_item;
struct trip_cntr;
struct trip_counters;
struct trip_flow;

/** Where a rule is matched and counted. */
enum trip_flow_engine {
	/**
	 * In hardware where the port can and matches the same packets as software does, else in
	 * software; trip_flow_reason() has the reason.
	 */
	TRIP_FLOW_ENGINE_AUTO = 0,
	/**
	 * In hardware, by rte_flow COUNT. The port must be started, and before that, with mlx5's
	 * `dv_flow_en=2`, prepared (trip_port_prepare()). Packets that a rule passes go on over all
	 * queues of the port, by its hash, unless `actions` has QUEUE or RSS. Rules in software see
	 * only what reaches the host: what a rule in hardware has dropped does not count there, and
	 * what it has passed may count there again.
	 */
	TRIP_FLOW_ENGINE_HW,
	/** In software, by Tripline. */
	TRIP_FLOW_ENGINE_SW,
};

/** Attributes of a flow. A field that is zero has its default. */
struct trip_flow_attr {
	/** sizeof(struct trip_flow_attr). */
	size_t size;
	/**
	 * Counters that the flow feeds, each with what its `events` say, such as its own and those
	 * of quotas. Those with the same events must have one home. A counter that several flows
	 * feed counts their sum. Default: none; trip_flow_query() tells what the flow counts all
	 * the same.
	 */
	struct trip_cntr *const *cntrs;
	uint32_t n_cntrs;
	/** Counters object whose static points the flow gets (PNT-02). Default: none. */
	struct trip_counters *counters;
	/** Lower matches first, as rte_flow has it; at equal priority the rule created first. */
	uint32_t priority;
	/**
	 * Lower is looked at first. A packet counts in the first group in which a rule matches it,
	 * and in no later one; rules do not jump between groups.
	 */
	uint32_t group;
	enum trip_flow_engine engine;
	enum trip_flow_direction direction;
	/** In hardware: when its port has been stopped or reset, the rule is created again as soon
	 * as the port runs again, and the flow's value goes on. Otherwise the flow is lost. */
	bool recreate;
	/**
	 * Matches before all other rules, whatever their groups and priorities. Packets that match
	 * count here, and no rule or operation drops or polices them; PASSTHRU rules count them,
	 * too. In software only, and created by the primary only. It does not see what a rule in
	 * hardware has dropped or counted: a port with allowed flows should have no such rules.
	 */
	bool allow;
	/** 0. */
	uint8_t reserved[6];
	/** Why the caller chose `engine`: trip_flow_reason() says it, cut to 127 bytes. Ignored
	 * with TRIP_FLOW_ENGINE_AUTO. Default: "the rule asks for it". */
	const char *reason;
};

/** At most this many counters to a flow: half of them of packets, and half of bytes. */
#define TRIP_FLOW_CNTRS_MAX 8

/** What becomes of the packets of a flow. */
enum trip_flow_fate {
	TRIP_FLOW_FATE_PASS = 0,
	TRIP_FLOW_FATE_DROP,
	/** TRIP_OP_FLOW_DELETE or trip_flow_retire() has ended the flow. */
	TRIP_FLOW_FATE_DELETED,
	/**
	 * The rule is gone, though nobody asked for that: its port was stopped, reset or removed.
	 * The error value of its counters has grown by 1 (CNTR-03); its own value stays.
	 */
	TRIP_FLOW_FATE_LOST,
	/** Passes within a rate (TRIP_OP_FLOW_POLICE). */
	TRIP_FLOW_FATE_POLICE,
};

/** What a flow has counted. */
struct trip_flow_count {
	/** sizeof(struct trip_flow_count), set by the caller. */
	size_t size;
	uint64_t packets;
	/** L2 bytes without FCS. */
	uint64_t bytes;
	enum trip_flow_fate fate;
	/** TRIP_FLOW_ENGINE_SW or TRIP_FLOW_ENGINE_HW. */
	enum trip_flow_engine engine;
	/** How many of them were above a rate, and dropped (TRIP_OP_FLOW_POLICE). */
	uint64_t policed_packets, policed_bytes;
	/** The rate within which it passes, also where it drops beside that; 0: there is none. */
	uint64_t police_rate;
	uint32_t police_unit, police_burst_ms;
};

/**
 * Creates a counted flow for the packets that a port receives, or sends, which feeds the counters
 * in `attr` (CNTR-21). Rules may be created and destroyed while packets are counted: none is lost
 * or counted twice. Any thread.
 *
 * A packet counts in the matching rule of the first group and, there, of the highest priority only;
 * rules with a PASSTHRU action count in addition, whatever else matches and in whichever group they
 * are. A field that is not in the packet does not match.
 *
 * In hardware a rule matches what rte_flow says, which for the items that software knows is the
 * same wherever trip_flow_validate() says so.
 *
 * @param pattern
 *   In software, the items of the catalogue (trip_flow_item.h), TRIP_FLOW_ITEM_TYPE_SET
 *   (trip_set.h) and VOID, with spec and mask, up to END. `eth / ipv4` matches at any VLAN depth,
 *   one VLAN item packets with exactly one tag, two with exactly two. Items behind a tunnel match
 *   the inner packet. An item without fields matches by the number that announces it, later
 *   fragments included.
 * @param actions
 *   COUNT, DROP, MARK, PASSTHRU, VOID up to END, or NULL: COUNT; in hardware also QUEUE and RSS,
 *   and no PASSTHRU. COUNT is implied. MARK puts its id into `hash.fdir.hi` of the mbuf and sets
 *   RTE_MBUF_F_RX_FDIR and _FDIR_ID. The mark of the rule in which the packet counts prevails over
 *   those of PASSTHRU rules, and of these the last one does.
 * @param[out] error
 *   What was wrong and where, as rte_flow has it; may be NULL.
 * @return
 *   0, or
 *   -EINVAL: a malformed pattern or attribute (CNTR-10), more counters than TRIP_FLOW_CNTRS_MAX,
 *   or one of them twice;
 *   -ENOTSUP: an item, field, `last` or action that the engine does not have, egress on a port with
 *   `n_tx_queues` 0, or counters of the same events that are of different homes; `error` says
 *   which, in words that are good until the calling thread's next call;
 *   -EXDEV: a counter or a counters object of another domain;
 *   -ENOSPC: the domain's `max_flows` are open, or the `max_process_flows` of an attached process;
 *   -E2BIG: in an attached process, a rule that is too long to be sent to the primary: more than 32
 *   items, 16 actions or 2048 bytes;
 *   -ENOMEM; -EBUSY: a statement with `hardware` has the port for itself (trip_each.h);
 *   -EDEADLK: called from a registered function or a polling lcore of the domain, or from a port's
 *   notification;
 *   with TRIP_FLOW_ENGINE_HW, whatever the driver says, and -ENOTSUP where it would match other
 *   packets than software does.
 */
int trip_flow_create(struct trip_port *port, const struct trip_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	struct trip_flow **flow, struct rte_flow_error *error);

/**
 * Tells whether trip_flow_create() would take such a rule on a port, and in which engine it would
 * be matched and counted, without changing anything (rte_flow_validate(); where rules go in by
 * templates the driver is not asked, and may refuse it yet). Needs no domain; counters in `attr`
 * are not looked at. A secondary process has the primary asked, by a domain that it is attached to.
 * Any thread.
 *
 * @param[out] reason
 *   Why that engine; good until the calling thread's next call. May be NULL.
 * @return
 *   An enum trip_flow_engine, never TRIP_FLOW_ENGINE_AUTO; or -EINVAL, -ENOTSUP as
 *   trip_flow_create(); -ENODEV: there is no such port; in a secondary process also -ENOTSUP: it is
 *   attached to no domain, -E2BIG as trip_flow_create(), -ESHUTDOWN: the primary has ended
 *   (WAIT-12).
 */
int trip_flow_validate(uint16_t port_id, const struct trip_flow_attr *attr,
	const struct rte_flow_item *pattern, const struct rte_flow_action *actions,
	const char **reason, struct rte_flow_error *error);

/**
 * Destroys a flow. Its last counts are in its counters and counters objects when this returns
 * (PNT-07). Waits for bursts that are under way, and with a flow in hardware also for the homes; in
 * a domain with manual progress it progresses them. A burst of another process may be stopped, so
 * this waits for such a burst a tenth of a second, once. What that burst counts on the flow
 * afterwards is in no counter, and the flow's place among the domain's `max_flows` becomes free
 * when the burst ends.
 *
 * Where a cache stands between the hardware and its counters, this waits until what the rule has
 * counted is in it: up to 1.5 times the engine's refresh lag, with mlx5 HWS twice. Where EAL's
 * interrupt thread refreshes the cache, it waits for that, too, while it does not run, but no
 * longer than eight times the lag: what is not in the cache by then is in no counter. As long as a
 * domain gets more flows than ever, 2.5 times; from 65,000 on all of these grow with their number.
 *
 * @return
 *   0, or -EBUSY while pending work refers to it; nothing has changed then. -EDEADLK: called from a
 *   registered function or a polling lcore of the domain.
 */
int trip_flow_destroy(struct trip_flow *flow);

/**
 * Ends a flow: its rule is gone when this returns. The flow keeps its value, and stays open. Where
 * a cache stands between the hardware and its counters, the last counts show some time later.
 * trip_flow_query() and trip_flow_destroy() wait for them, the latter tells how long; so retire
 * many flows first, then query or destroy them. Any thread.
 *
 * @return
 *   0; -EDEADLK: called from a registered function or a polling lcore of the domain.
 */
int trip_flow_retire(struct trip_flow *flow);

/** Why a flow is in the engine that it is in; good until the flow is destroyed. */
const char *trip_flow_reason(const struct trip_flow *flow);

/**
 * Reads what a flow has counted so far, from the source, exactly. In software it is lock-free
 * (CNTR-18); in hardware it waits for the port's worker to ask the device, and the value is as old
 * as the engine's refresh lag (CNTR-23), or its last value where the device does not answer. Of a
 * flow that trip_flow_retire() has ended it waits until that is all that it has counted. Called
 * from a registered function or a polling lcore of the domain it waits for nothing, and returns the
 * last reading. Any thread.
 *
 * @return
 *   0, or -EINVAL: an unknown `size`; -ESHUTDOWN (WAIT-12).
 */
int trip_flow_query(struct trip_flow *flow, struct trip_flow_count *count);

#ifdef __cplusplus
}
#endif

#endif
