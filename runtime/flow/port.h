/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIP_RUNTIME_PORT_H
#define TRIP_RUNTIME_PORT_H

#include "domain/domain.h"
#include "soft.h"
#include "table.h"

struct rte_eth_rxtx_callback;
struct trip_hard;
struct trip_hard_call;
struct trip_each;

struct trip_port_queue {
	/* This handle's bursts have it. */
	bool claimed;
	/* In an attached process: whether it has been cut off from its primary. NULL: not asked. */
	const _Atomic bool *ended;
	/* Start stamp + 1 of another process's burst that we gave up waiting for; 0: none. */
	uint64_t stuck;
	struct trip_soft_queue soft;
	const struct rte_eth_rxtx_callback *callback;
	/* Of profiles; and where what its bursts have seen is. */
	struct trip_fid fid;
	const struct trip_traffic *traffic;
};

/* What a port receives, or what it sends. */
struct trip_port_side {
	/* Queues of the domain that stand for this port's. */
	uint32_t first_queue;
	uint16_t n_queues;
	/* Written under the domain's control lock; NULL where there are no queues. */
	struct trip_table *table;
	struct trip_port_queue *queues;
	/* In the primary: its rules as others find them; NULL: nobody has asked yet. */
	struct trip_rulebook *rules;
	/* In an attached process: what keeps the table. */
	struct trip_follow follow;
};

#define TRIP_PORT_SIDES 2

struct trip_port {
	struct trip_domain *domain;
	/* Of profiles. */
	struct trip_fid fid;
	uint16_t port_id;
	enum trip_port_mode mode;
	uint32_t n_flows;
	/* Handles that attached processes have of it. Under the control lock. */
	uint32_t n_found;
	/* Statements that count on it by keys. Likewise. */
	uint32_t n_eaches;
	/* One that has keys in hardware, and so the port for itself; or NULL. Likewise. */
	const struct trip_each *helped;
	/* It is being closed: no process finds it any more. Likewise. */
	bool closing;
	uint64_t next_sequence;
	uint32_t query_us;
	uint32_t flow_queue;
	trip_port_notify_t notify;
	void *notify_arg;
	/* Once a flow in hardware has been asked for. Under the control lock. */
	struct trip_hard *hard;
	/* Where other processes find its rules, or NULL; in the primary, its descriptor. */
	void *rules_memory;
	int rules_fd;
	struct trip_port_side sides[TRIP_PORT_SIDES]; /* by enum trip_flow_direction */
};

_Static_assert(offsetof(struct trip_port, domain) == 0, "a flow finds its domain there");

/* Ports of this process, or of the primary. */
struct trip_port_backend {
	int (*open)(struct trip_domain *domain, uint16_t port_id, const struct trip_port_attr *attr,
		struct trip_port **out);
	int (*find)(struct trip_domain *domain, uint16_t port_id, struct trip_port **out);
	int (*close)(struct trip_port *port);
	/* Whether the port is open or not. */
	int (*facts)(uint16_t port_id, struct trip_port_facts *facts);
	int (*facts_read)(struct trip_port *port, struct trip_port_facts *facts);
	int (*stats_read)(struct trip_port *port, struct trip_port_stats *stats);
	/* Runs something on the port's worker, where it has one. */
	int (*run)(struct trip_port *port,
		int (*run)(struct trip_hard *hard, struct trip_hard_call *call));
};

extern const struct trip_port_backend trip_port_local;

/* It has its queues: there can be profiles of it and them; and whether there are. */
void trip_port_fids(struct trip_port *port);
int trip_port_check_fids(struct trip_port *port);

/* A queue of a side that has a table. */
void trip_port_queue_open(
	struct trip_port *port, enum trip_flow_direction direction, uint32_t queue);

/* This handle's bursts are to have a queue; false: others have it. */
bool trip_port_queue_claim(
	struct trip_port *port, enum trip_flow_direction direction, uint32_t queue);

/* In the primary. Its rules as data, from now on: a descriptor for another process, or the error;
 * and no more. Under the control lock. */
int trip_port_share(struct trip_port *port);
void trip_port_unshare(struct trip_port *port);

/* Whether no other process can count any more on a rule whose removal has that stamp (claim.h); and
 * the same after waiting for the bursts that may, unless one of them takes too long. */
bool trip_port_is_past(
	const struct trip_port *port, const struct trip_port_side *side, uint64_t stamp);
bool trip_port_wait_past(
	const struct trip_port *port, const struct trip_port_side *side, uint64_t stamp);

/* The queues that this handle's bursts have are nobody's. */
void trip_port_let_go(struct trip_port *port);

/* For ports with TRIP_PORT_CALLBACK. */
int trip_port_callback_add(struct trip_port *port);
void trip_port_callback_remove(struct trip_port *port);

/* Starts the port's hardware engine, if need be: 0, or the error. Under the control lock. */
int trip_port_hard_start(struct trip_port *port);

/* Takes it away. After the last flow, without the control lock. */
void trip_port_hard_stop(struct trip_port *port);

/* Returns when what homes have started on ports of the domain has finished, and was told of. At
 * once from a worker. 0, or -ESHUTDOWN: the primary has ended meanwhile. */
int trip_port_hard_quiesce(struct trip_domain *domain);

/* As trip_port_backend has them. */
int trip_port_hard_facts(uint16_t port_id, struct trip_port_facts *facts);
int trip_port_hard_facts_read(struct trip_port *port, struct trip_port_facts *facts);
int trip_port_hard_stats_read(struct trip_port *port, struct trip_port_stats *stats);
int trip_port_hard_run(
	struct trip_port *port, int (*run)(struct trip_hard *hard, struct trip_hard_call *call));

#endif
