/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRIPD_QUOTA_H
#define TRIPD_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trip.h>

#include "apply/count.h"
#include "link/losses.h"
#include "period.h"
#include "start/engine.h"
#include "start/plan.h"

struct trip_rules;
struct trip_rules_when;

/* One firing, as the control thread read it. */
struct tripd_trip {
	/* Index of the `when` in the rules. */
	unsigned int when;
	int32_t result;
	/* Of the day, when it was read. */
	uint64_t time_ns;
	uint64_t threshold, value, latency_ns;
	/* What began with the one before has ended. */
	bool ends;
};

/* Deferred work of a `when`: the ids of its items, in the order in which they were queued. */
struct tripd_item {
	uint64_t first, *more;
	unsigned int n;
	/* What the clock was when it was put to work. */
	uint64_t since;
	/* What it has begun has ended. */
	bool ended;
	/* Of a quota, it dropped in a period that is over, and what it dropped has not passed. */
	bool owed;
};

/* Context of what is done at once. */
#define TRIPD_NOW UINT64_MAX

/*
 * The rules, at work in a domain. They change (live.h): what goes stays in its place, where it is
 * `gone`, so that every index stays what it was.
 */
struct tripd_quota {
	struct trip_rules *rules;
	const struct tripd_plan *plan;
	struct trip_domain *domain;
	/* The domain progresses by trip_progress(), which a forwarder calls. */
	bool manual;
	struct trip_port *ports[TRIPD_PORTS_MAX];
	uint16_t port_ids[TRIPD_PORTS_MAX];
	/* Rules count what the port sends. */
	bool egress[TRIPD_PORTS_MAX];
	unsigned int n_ports;
	/* Frames that its ports lost before they could be counted. */
	struct tripd_loss_watch losses;
	/* As in the rules, by index. */
	struct trip_apply_count *counts;
	struct trip_cntr **counters;
	/* Those of them that are quotas. */
	struct tripd_periods periods;
	/* Firings of each `when`, of one on a quota since its period began. */
	uint64_t *fired;
	struct tripd_item *items;
	struct trip_function *log, *exec;
	/* A counter that no rule waits for. */
	struct trip_cntr *idle;
	/* In the order of flows, the last. */
	uint64_t last_born;
	/* Room that the domain has for the rules, others' share included. */
	uint32_t max_flows, max_cntrs, max_works;
	/* All of them are: a change is not given up half way. */
	bool at_work;
	/* What tripd_quota_do() waits for. */
	bool now_done;
	int now_result;
	/* Where each firing goes as it is read; NULL: nowhere. */
	void (*told)(void *arg, const struct tripd_trip *trip);
	void *told_arg;
	/* Likewise, of each period of a quota as it ends. */
	void (*period_told)(void *arg, const struct tripd_period *period);
	/* How many firings are kept for the report; 0: there is none. */
	size_t keep;
	/* The first so many firings in order, then those that are still to be said, up to
	 * TRIPD_TRIPS_MAX. */
	struct tripd_trip *trips;
	size_t n_trips, max_trips;
	/* Firings that the report has not, since it has room for no more. */
	uint64_t n_unkept;
	/* Firings that nobody is told of: there was no room for them, or their events overran. */
	uint64_t n_untold, n_overrun;
	/* Commands that were refused. */
	uint64_t n_refused;
};

/* 48 MiB of them. */
#define TRIPD_TRIPS_MAX ((size_t)1 << 20)

/* Gives the planned ports, which run, to the domain, and opens counters, flows and work as the
 * rules say. Nobody may receive yet. Says what fails on stderr; close in any case. Returns 0, or a
 * negative errno. */
int tripd_quota_open(struct tripd_quota *quota, struct trip_domain *domain,
	struct trip_rules *rules, const struct tripd_plan *plan, struct tripd_link *links);

/* Queues work of the rules, where there is no room as soon as there is some: 0, or the error. */
int tripd_quota_queue_work(void *quota, const struct trip_work *work);
/* Queues a `when`, and says what fails. */
int tripd_quota_queue_when(struct tripd_quota *quota, unsigned int when);

/* Takes the trips that happened since the last call to the end of `trips`. Returns how many
 * happened. */
size_t tripd_quota_read(struct tripd_quota *quota);

/* Keeps of the trips that were read so far only what the report is to have. */
void tripd_quota_forget(struct tripd_quota *quota);

/* Waits until the counters show all that had come by when it was called, but at most three seconds:
 * hardware may be read by way of a cache. */
void tripd_quota_freshen(struct tripd_quota *quota);

/*
 * Waits until everything has fired that is due by what the counters show, which others may have
 * set, or for two seconds in which nothing fires; what is to happen later does not. Only once no
 * packet arrives any more, and the counters are fresh. Returns the `when` that is still due, or -1.
 */
int tripd_quota_settle(struct tripd_quota *quota);

/* What a `when` watches: the sum of value and errors of its counter. */
uint64_t tripd_quota_value(const struct tripd_quota *quota, const struct trip_rules_when *when);

/* Takes it all down, in the order that leaves nothing referred to. The domain stays. */
void tripd_quota_close(struct tripd_quota *quota);

/* Of tripd_quota_open(): gives the planned ports to the domain. */
int tripd_quota_ports(struct tripd_quota *quota, const struct tripd_plan *plan);

/* Where a rule of those that are to be at work counts: 0, or a negative errno and why. */
int tripd_quota_place(const struct tripd_quota *quota, const struct trip_rules *rules,
	const struct trip_rules_count *rule, struct trip_apply_place *place, const char **why);

/* Lets some time pass, or progresses the domain where that is done by hand. */
void tripd_quota_pause(const struct tripd_quota *quota);

struct trip_cntr *tripd_quota_trigger(
	const struct tripd_quota *quota, const struct trip_rules_when *when);

/* Queues the work of a `when`, from where its firings have come to; cancels it, and tells whether
 * it would have fired. */
int tripd_quota_queue(struct tripd_quota *quota, unsigned int i);
bool tripd_quota_cancel(struct tripd_quota *quota, unsigned int i);

/* Returns when what has started has finished, and all firings up to then are read. */
void tripd_quota_settled(struct tripd_quota *quota);

/* Does the operation of a rule, at once: on the flows of a count, or with NULL on its counter.
 * Returns its result. */
int tripd_quota_do(struct tripd_quota *quota, const struct trip_apply_count *count,
	const struct trip_rules_when *rule);
/* Its event has come. */
void tripd_quota_did(struct tripd_quota *quota, const struct trip_work_event *event);

#endif
