/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements that count by keys (trip_each.h), as ports and requests see them. */
#ifndef TRIP_RUNTIME_EACH_H
#define TRIP_RUNTIME_EACH_H

#include "flow/port.h"
#include "each_queue.h"

/* A port that one counts on. */
struct trip_each_port {
	struct trip_port *port;
	/* It has ended: when (claim.h), and no burst of another process can count any more. */
	uint64_t stamp;
	bool past;
};

struct trip_each_helper;

/* A handle. In the primary the one that has opened a statement is among the domain's. */
struct trip_each {
	struct trip_domain *domain;
	/* Of profiles. */
	struct trip_fid fid;
	uint32_t number;
	/* It was found. */
	bool found;
	/* A copy of ours: what it is, and where its tables are. */
	struct trip_each_statement statement;

	/* Of who has opened it, under the control lock: which of all openings it is; handles that
	 * have found it. */
	uint64_t opening;
	uint32_t n_found;
	/* Queues count it; it has ended, and its tables are held back for bursts under way. */
	bool shown, held;
	/* It is being closed: nobody finds it any more. */
	bool closing;
	/* What has its keys in hardware; NULL: nothing does. */
	struct trip_each_helper *helper;
	enum trip_flow_direction direction;
	struct trip_cntr *trips;
	uint32_t n_ports;
	struct trip_each_port ports[];
};

/* Statements of this process, or of the primary. */
/* What is to be done to a key by hand, and by which process. */
struct trip_each_asked {
	uint64_t key[TRIP_EACH_KEY_WORDS];
	uint64_t time_us;
	uint32_t op, pid;
};

struct trip_each_backend {
	/* The compiled attributes are in `each`, which becomes the domain's: 0 or the error. */
	int (*open)(struct trip_each *each);
	/* What is found goes into `each`, whose name is known. */
	int (*find)(struct trip_each *each);
	int (*close)(struct trip_each *each);
	int (*by_hand)(struct trip_each *each, const struct trip_each_asked *asked);
};

extern const struct trip_each_backend trip_each_local;

/* In the primary, for a process: finds one of that name, and lets go of it; *number: among the
 * domain's. 0, or -ENOENT. Under the control lock. */
int trip_each_keep(struct trip_domain *domain, const char *name, uint32_t *number);
void trip_each_let_go(struct trip_domain *domain, uint32_t number, uint32_t times);

/* In the primary: 0 or the error of trip_each_hold(). `each` has opened the statement. Under the
 * control lock. */
int trip_each_by_hand(const struct trip_each *each, const struct trip_each_asked *asked);

/* Of who has opened it: the queue that counts in a table. */
struct trip_each_queue *trip_each_queue_at(const struct trip_each *each, uint32_t table);

/* Tables that were held back are free where no burst can count in them any more; as none can on a
 * port that is being closed. Under the control lock. */
void trip_each_free_held(struct trip_domain *domain, const struct trip_port *closed);

/* What is asked for, without its tables: 0, or the error of trip_each_footprint(). */
int trip_each_plan(const struct trip_each_attr *attr, struct trip_each_statement *statement);

/* Of packets or bytes, what a condition may ask for. */
#define TRIP_EACH_COUNT_MAX ((UINT64_C(1) << 48) - 1)

/* Parts of that: what it is called in a message, its conditions, and, behind these and what they
 * do, words of an entry. */
const char *trip_each_plan_name(const struct trip_each_attr *attr);
int trip_each_plan_whens(const struct trip_each_attr *attr, struct trip_each_statement *statement);
void trip_each_plan_memos(struct trip_each_statement *statement);

/* That it has so many tables; and what they are made of. */
void trip_each_plan_tables(struct trip_each_statement *statement, uint32_t n_tables);
struct trip_keyed_attr trip_each_keyed(const struct trip_each_statement *statement);

/* What hardware has of a key that is dropped, and of the statement. */
void trip_each_hardware_entry(const struct trip_each *each, struct trip_each_entry *entry);
void trip_each_hardware_info(const struct trip_each *each, struct trip_each_info *info);

/* A key over all tables; in none: `tables` is 0. */
struct trip_each_entry trip_each_sum(const struct trip_each *each, const uint64_t *key);

/* One of its tables. */
static inline struct trip_keyed *
trip_each_table_at(const struct trip_each *each, uint32_t at)
{
	return trip_each_table(
		each->domain->engine.eaches, trip_each_table_line(&each->statement, at));
}

#endif
