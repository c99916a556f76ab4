/* SPDX-License-Identifier: BSD-3-Clause */
/* A `count` rule in a domain: a flow for each of its patterns on each of its ports, all on its two
 * counters. */
#ifndef TRIP_APPLY_COUNT_H
#define TRIP_APPLY_COUNT_H

#include <stdint.h>

#include <trip.h>

#include "rules.h"

struct trip_apply_count {
	struct trip_cntr *packets, *bytes;
	struct trip_flow **flows;
	unsigned int n_flows;
	/* What flows before these have counted. */
	uint64_t earlier_packets, earlier_bytes, earlier_policed_packets, earlier_policed_bytes;
};

/* Where a rule counts, of one port. */
struct trip_apply_place {
	struct trip_port *port;
	/* TRIP_FLOW_ENGINE_AUTO: as the rule says. */
	enum trip_flow_engine engine;
	/* Why it is another one than the rule says. */
	const char *reason;
	/* All Rx queues that the port is configured with, for the action rss. */
	const uint16_t *queues;
	uint32_t n_queues;
	/* Counters that its flows feed beside its own: those of quotas, at most
	 * 2 * TRIP_RULES_QUOTAS_MAX. */
	struct trip_cntr *const *more;
	uint32_t n_more;
};

/*
 * Opens a counter under the name that rules have for it; nameless where a counter's cannot be that
 * long. Returns what trip_cntr_open() does.
 */
int trip_apply_cntr(struct trip_domain *domain, const char *name, const char *tail,
	enum trip_cntr_events events, struct trip_cntr **cntr);

/* Opens the counters of a rule. Returns 0, or a negative errno, which trip_error_message() says;
 * close in any case. */
int trip_apply_count_open(struct trip_apply_count *count, struct trip_domain *domain,
	const struct trip_rules_count *rule);

/* For flows that take the place of those of `count`, on the same counters: while both are there, a
 * packet counts once, where none of them counts in addition. trip_apply_count_end(). */
void trip_apply_count_renew(struct trip_apply_count *next, const struct trip_apply_count *count);

/*
 * Creates the rule's flows on one of its ports; on no counters where `count` has none.
 *
 * @param why
 *   Where this fails: what the flow's engine has against it, good until the thread's next call;
 *   NULL: trip_error_message() says it.
 * @return
 *   0, or a negative errno; close in any case.
 */
int trip_apply_count_add(struct trip_apply_count *count, const struct trip_rules_count *rule,
	const struct trip_apply_place *place, const char **why);

/* Ends the flows of a count and closes them, once no work refers to them; it keeps its counters and
 * what it has counted. Returns the last error, or 0. */
int trip_apply_count_end(struct trip_apply_count *count);

/* The flows of `next` become those of `count`, whose own become those of `next`. */
void trip_apply_count_swap(struct trip_apply_count *count, struct trip_apply_count *next);

/* Sums what the rule's flows have counted. Its fate is that of one which is not over, if any is;
 * its engine AUTO where there are both. 0, or a negative errno. */
int trip_apply_count_query(const struct trip_apply_count *count, struct trip_flow_count *sum);

/* Ends the flows; they stay open. */
void trip_apply_count_retire(const struct trip_apply_count *count);

/* Closes as many as were opened, once no work refers to them. Returns the last error, or 0. */
int trip_apply_count_close(struct trip_apply_count *count);

#endif
