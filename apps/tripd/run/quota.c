/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From rules to a domain at work: a `count` is flows and two counters, a `counter` a counter, a
 * `when` a deferred work item whose context is its index, so that the event of a firing says which
 * statement fired. `log` and `exec` call a function that does nothing: the control thread writes
 * the line when it reads the event, since a polling lcore must not wait for a terminal.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>

#include "apply/set.h"
#include "apply/when.h"
#include "now.h"
#include "start/fail.h"
#include "quota.h"
#include "rules.h"
#include "signals.h"

#define SETTLE_NS UINT64_C(2000000000)
/* Rules may feed each other for ever. */
#define SETTLE_ALL_NS UINT64_C(20000000000)
#define QUIET_NS UINT64_C(200000000)
#define FRESHEN_NS UINT64_C(3000000000)

static int
tell_trip(const struct trip_work_event *event, void *arg)
{
	return 0;
}

static int
open_function(struct tripd_quota *quota, const char *name, struct trip_function **function)
{
	int ret = trip_function_register(quota->domain, tell_trip, NULL, function);

	if (ret == 0)
		ret = trip_function_name(*function, name);
	return ret == 0 ? 0 : tripd_fail(ret, "%s: %s", name, trip_error_message());
}

static int
open_set(struct tripd_quota *quota, unsigned int i)
{
	int ret = trip_apply_set_open(quota->domain, &quota->rules->sets[i], &quota->sets[i]);

	return ret == 0 ? 0 : tripd_fail(ret, "%s", trip_error_message());
}

static int
open_counter(struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_quota *rule = quota->rules->counters[i].quota;
	const char *name = quota->rules->counters[i].name;
	int ret = trip_apply_cntr(quota->domain, name, "",
		rule != NULL ? rule->events : TRIP_CNTR_EVENTS_COMP, &quota->counters[i]);

	return ret == 0 ? 0 : tripd_fail(ret, "counter %s: %s", name, trip_error_message());
}

int
tripd_quota_place(const struct tripd_quota *quota, const struct trip_rules *rules,
	const struct trip_rules_count *rule, uint16_t port, struct trip_apply_place *place,
	const char **why)
{
	int engine = tripd_engine_of(rules, rule, port, why);

	*place = (struct trip_apply_place){
		.port = quota->ports[tripd_plan_find(quota->plan, port)],
		.queues = tripd_engine_queues,
		.n_queues = 1,
	};
	if (engine == TRIP_FLOW_ENGINE_SW) {
		place->engine = TRIP_FLOW_ENGINE_SW;
		place->reason = *why;
	}
	return RTE_MIN(engine, 0);
}

static int
open_count(struct tripd_quota *quota, unsigned int i)
{
	struct trip_rules_count *rule = &quota->rules->counts[i];
	struct trip_apply_place place;
	struct trip_cntr *more[TRIP_FLOW_CNTRS_MAX];
	const char *why = NULL;
	int ret;

	if (tripd_signals_came())
		return -EINTR;
	rule->born = ++quota->last_born;
	ret = trip_apply_count_open(&quota->counts[i], quota->domain, rule);
	for (unsigned int k = 0; k < rule->n_ports && ret == 0; k++) {
		ret = tripd_quota_place(quota, quota->rules, rule, rule->ports[k].id, &place, &why);
		place.more = more;
		for (unsigned int q = 0; q < rule->n_quotas; q++)
			more[place.n_more++] = quota->counters[rule->quotas[q]];
		if (ret == 0)
			ret = trip_apply_count_add(&quota->counts[i], rule, &place, &why);
	}
	return ret == 0 ? 0
			: tripd_fail(ret, "line %u of the rules, count %s: %s", rule->line,
				  rule->name, why != NULL ? why : trip_error_message());
}

/* What is allowed is in place then. */
static int
open_each(struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_each *rule = &quota->rules->eaches[i];
	struct trip_each *each;
	int ret;

	if (tripd_signals_came())
		return -EINTR;
	ret = tripd_quota_each_open(quota, rule, &each);
	if (ret != 0)
		return tripd_fail(
			ret, "line %u of the rules, %s", rule->count.line, trip_error_message());
	tripd_quota_each_take(quota, i, each);
	return 0;
}

int
tripd_quota_queue_when(struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_when *rule = &quota->rules->whens[i];
	int ret = tripd_quota_queue(quota, i, tripd_quota_trigger(quota, rule));

	return ret == 0 || ret == -EINTR ? ret
					 : tripd_fail(ret, "line %u of the rules, %s: %s",
						   rule->line, rule->source, trip_error_message());
}

int
tripd_quota_open(struct tripd_quota *quota, struct trip_domain *domain, struct trip_rules *rules,
	const struct tripd_plan *plan, struct tripd_link *links)
{
	struct trip_domain_attr attr;
	uint64_t since;
	int ret;

	tripd_plan_domain(rules, plan, &attr);
	*quota = (struct tripd_quota){.rules = rules,
		.domain = domain,
		.plan = plan,
		.manual = plan->manual,
		.max_flows = attr.max_flows,
		.max_cntrs = attr.max_cntrs,
		.max_works = attr.max_works,
		.max_events = attr.max_events};
	/* One more: calloc of nothing may be NULL. */
	quota->counts = calloc(rules->n_counts + 1, sizeof(*quota->counts));
	quota->counters = calloc(rules->n_counters + 1, sizeof(*quota->counters));
	quota->anew_counts = calloc(2 * (size_t)rules->n_counts + 1, sizeof(*quota->anew_counts));
	quota->anew_counters = calloc(rules->n_counters + 1, sizeof(*quota->anew_counters));
	quota->fired = calloc(rules->n_whens + 1, sizeof(*quota->fired));
	quota->items = calloc(rules->n_whens + 1, sizeof(*quota->items));
	quota->holds = calloc(rules->n_counts + 1, sizeof(*quota->holds));
	quota->sets = calloc(rules->n_sets + 1, sizeof(struct trip_set *));
	quota->eaches = calloc(rules->n_eaches + 1, sizeof(*quota->eaches));
	if (quota->counts == NULL || quota->counters == NULL || quota->fired == NULL ||
		quota->items == NULL || quota->holds == NULL || quota->sets == NULL ||
		quota->eaches == NULL || quota->anew_counts == NULL || quota->anew_counters == NULL)
		return tripd_fail(-ENOMEM, "no memory for %u counts", rules->n_counts);
	ret = tripd_quota_ports(quota, plan);
	if (ret == 0)
		ret = tripd_period_open(quota, tripd_quota_seconds(quota));
	/* Counters of the rules first: their names are the user's. */
	for (unsigned int i = 0; i < rules->n_counters && ret == 0; i++)
		ret = open_counter(quota, i);
	for (unsigned int i = 0; i < rules->n_sets && ret == 0; i++)
		ret = open_set(quota, i);
	for (unsigned int i = 0; i < rules->n_counts && ret == 0; i++)
		ret = open_count(quota, i);
	for (unsigned int i = 0; i < rules->n_eaches && ret == 0; i++)
		ret = open_each(quota, i);
	if (ret == 0)
		ret = tripd_losses_open(&quota->losses, domain, plan, links);
	if (ret == 0)
		ret = open_function(quota, "log", &quota->log);
	if (ret == 0)
		ret = open_function(quota, "exec", &quota->exec);
	/* No rule can name what it counts. */
	quota->idle = quota->losses.cntrs[0];
	/* One beginning for all of them. */
	since = trip_cntr_read(trip_clock_cntr(domain));
	for (unsigned int i = 0; i < rules->n_whens && ret == 0; i++) {
		quota->items[i].since = since;
		ret = tripd_quota_queue_when(quota, i);
	}
	quota->at_work = ret == 0;
	return ret;
}

int64_t
tripd_quota_seconds(const struct tripd_quota *quota)
{
	return (int64_t)((quota->plan->by_packets ? quota->packet_ns : now_ns(CLOCK_REALTIME)) /
			 1000000000);
}

uint64_t
tripd_quota_value(const struct tripd_quota *quota, const struct trip_rules_when *when)
{
	struct trip_cntr *cntr = tripd_quota_trigger(quota, when);
	uint64_t sum;

	/* Of pairs it is none. */
	if (cntr == NULL)
		return 0;
	/* A threshold is at most that. */
	sum = RTE_MIN(trip_cntr_read(cntr) + trip_cntr_readerr(cntr), TRIP_CNTR_MAX);
	return sum - trip_apply_when_offset(when, quota->items[when - quota->rules->whens].since);
}

void
tripd_quota_pause(const struct tripd_quota *quota)
{
	static const struct timespec pause = {.tv_nsec = 500000};

	if (!quota->manual)
		nanosleep(&pause, NULL);
	else
		trip_progress(quota->domain);
}

static uint64_t
ns_since(uint64_t began_tsc)
{
	uint64_t cycles = rte_rdtsc() - began_tsc, hz = rte_get_tsc_hz();

	return cycles / hz * UINT64_C(1000000000) + cycles % hz * UINT64_C(1000000000) / hz;
}

void
tripd_quota_freshen_cntr(
	const struct tripd_quota *quota, struct trip_cntr *cntr, uint64_t began_tsc)
{
	uint64_t since;

	/* By the clock of the age: one that goes slower by a thousandth takes what is a few
	 * microseconds too old for fresh, where this thread has not run for some milliseconds. */
	while ((since = ns_since(began_tsc)) < FRESHEN_NS && trip_cntr_age(cntr) > since)
		tripd_quota_pause(quota);
}

void
tripd_quota_freshen(struct tripd_quota *quota)
{
	uint64_t began = rte_rdtsc();

	for (unsigned int i = 0; i < quota->rules->n_counts; i++) {
		if (quota->rules->counts[i].gone)
			continue;
		tripd_quota_freshen_cntr(quota, quota->counts[i].packets, began);
		tripd_quota_freshen_cntr(quota, quota->counts[i].bytes, began);
	}
}

uint64_t
tripd_quota_due(const struct trip_rules_when *when, uint64_t value)
{
	/* Time alone makes it due, or something beside the value. */
	if (when->ref == TRIP_RULES_REF_CLOCK || when->condition.kind != TRIP_CONDITION_NONE ||
		value < when->threshold)
		return 0;
	return when->every == 0 ? 1 : 1 + (value - when->threshold) / when->every;
}

static bool
is_due(const struct tripd_quota *quota, unsigned int i)
{
	const struct trip_rules_when *when = &quota->rules->whens[i];

	return !when->gone &&
	       quota->fired[i] < tripd_quota_due(when, tripd_quota_value(quota, when));
}

/* `fired` lacks the trips whose events were lost: then it is over when no more come. */
static bool
is_over(const struct tripd_quota *quota, size_t n_new, uint64_t *quiet_ns)
{
	if (n_new != 0)
		*quiet_ns = now_ns(CLOCK_MONOTONIC);
	return quota->n_overrun != 0 && now_ns(CLOCK_MONOTONIC) - *quiet_ns > QUIET_NS;
}

/* Whether nobody is to wait any longer. */
static bool
is_late(uint64_t began_ns, uint64_t fired_ns)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	return now - fired_ns > SETTLE_NS || now - began_ns > SETTLE_ALL_NS ||
	       (now - began_ns > SETTLE_NS && tripd_signals_came());
}

int
tripd_quota_settle(struct tripd_quota *quota)
{
	uint64_t began_ns = now_ns(CLOCK_MONOTONIC), quiet_ns = began_ns, fired_ns = began_ns;
	unsigned int i;
	size_t n_new;

	/* Packets have ended; time never does. */
	trip_work_flush(quota->domain, trip_clock_cntr(quota->domain));
	for (;;) {
		n_new = tripd_quota_read(quota);
		for (i = 0; i < quota->rules->n_whens && !is_due(quota, i); i++)
			;
		if (is_over(quota, n_new, &quiet_ns) || i == quota->rules->n_whens)
			return -1;
		if (n_new != 0)
			fired_ns = now_ns(CLOCK_MONOTONIC);
		if (is_late(began_ns, fired_ns))
			return (int)i;
		tripd_quota_pause(quota);
	}
}

void
tripd_quota_close(struct tripd_quota *quota)
{
	int ret = 0;

	if (quota->domain == NULL)
		return;
	trip_work_flush(quota->domain, NULL);
	if (quota->log != NULL)
		ret |= trip_function_unregister(quota->log);
	if (quota->exec != NULL)
		ret |= trip_function_unregister(quota->exec);
	/* All flows end first: their last counts may take a while to show, and so they wait
	 * together. */
	for (unsigned int i = 0; quota->counts != NULL && i < quota->rules->n_counts; i++)
		trip_apply_count_retire(&quota->counts[i]);
	for (unsigned int i = 0; quota->counts != NULL && i < quota->rules->n_counts; i++)
		ret |= trip_apply_count_close(&quota->counts[i]);
	for (unsigned int i = 0; quota->counters != NULL && i < quota->rules->n_counters; i++)
		ret |= quota->counters[i] != NULL ? trip_cntr_close(quota->counters[i]) : 0;
	for (unsigned int i = 0; quota->items != NULL && i < quota->rules->n_whens; i++)
		ret |= tripd_quota_item_close(&quota->items[i]);
	ret |= quota->late != NULL ? trip_cntr_close(quota->late) : 0;
	for (unsigned int i = 0; quota->sets != NULL && i < quota->rules->n_sets; i++)
		ret |= quota->sets[i] != NULL ? trip_set_close(quota->sets[i]) : 0;
	for (unsigned int i = 0; quota->eaches != NULL && i < quota->rules->n_eaches; i++)
		ret |= tripd_quota_each_close(quota, i);
	tripd_losses_close(&quota->losses);
	for (unsigned int i = 0; i < quota->n_ports; i++)
		ret |= trip_port_close(quota->ports[i]);
	/* EBUSY: attached processes keep what they have, and learn of the end when we exit. */
	if (ret != 0 && ret != -EBUSY)
		tripd_fail(ret, "at the end: %s", trip_error_message());
	free(quota->counts);
	free(quota->counters);
	free(quota->sets);
	free(quota->eaches);
	free(quota->anew_counts);
	free(quota->anew_counters);
	free(quota->fired);
	free(quota->items);
	free(quota->holds);
	free(quota->now.item.more);
	while (quota->n_trips > 0)
		free(quota->trips[--quota->n_trips].key);
	free(quota->trips);
	tripd_period_close(quota);
	memset(quota, 0, sizeof(*quota));
}
