/* SPDX-License-Identifier: BSD-3-Clause */
/* From a `count` rule to flows of the domain: one for each of its patterns, all on its counters. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_flow.h>

#include "flow.h"
#include "rules_flow.h"

/* All that a port is configured with. */
static const uint16_t queues[] = {0};

static int
fail(const struct trip_rules_count *rule, const char *message, int ret)
{
	fprintf(stderr, "tripd: line %u of the rules, count %s: %s\n", rule->line, rule->name,
		message);
	return ret;
}

/* By itself: all patterns of a rule are in one engine. */
static int
validate_alone(const struct trip_rules_count *rule, const char **reason)
{
	static struct rte_flow_error error;
	static char why[TRIPD_REASON_MAX];
	int ret = TRIP_ENGINE_HW, one;
	struct trip_flow_attr attr;
	struct trip_rules_actions actions;

	trip_rules_flow_attr(rule, &attr);
	trip_rules_flow_actions(rule, queues, RTE_DIM(queues), &actions);
	for (unsigned int i = 0; i < rule->n_patterns && ret == TRIP_ENGINE_HW; i++) {
		one = trip_flow_validate(
			rule->port, &attr, rule->patterns[i], actions.list, reason, &error);
		if (one < 0)
			*reason = error.message != NULL ? error.message : trip_error_message();
		ret = one;
	}
	/* Good for more than the thread's next call. */
	snprintf(why, sizeof(why), "%s", *reason);
	*reason = why;
	return ret;
}

static bool
is_open(const struct trip_rules_count *rule)
{
	return rule->engine == TRIP_RULES_ENGINE_AUTO && rule->direction != TRIP_RULES_EGRESS;
}

/*
 * A packet counts in one rule of its port, and two engines cannot see to that between them: where
 * one of the rules that leave the engine open has to be in software, all of these are. The line of
 * that rule, 0: there is none.
 */
static unsigned int
find_obstacle(const struct trip_rules *rules, uint16_t port)
{
	static struct {
		bool known;
		unsigned int line;
	} ports[RTE_MAX_ETHPORTS];
	const char *reason;

	if (ports[port].known)
		return ports[port].line;
	ports[port].known = true;
	for (unsigned int i = 0; i < rules->n_counts; i++) {
		const struct trip_rules_count *rule = &rules->counts[i];

		if (rule->port == port && is_open(rule) &&
			validate_alone(rule, &reason) != TRIP_ENGINE_HW) {
			ports[port].line = rule->line;
			break;
		}
	}
	return ports[port].line;
}

int
tripd_flow_validate(
	const struct trip_rules *rules, const struct trip_rules_count *rule, const char **reason)
{
	static char why[TRIPD_REASON_MAX];
	int ret = validate_alone(rule, reason);
	unsigned int line;

	if (ret != TRIP_ENGINE_HW || !is_open(rule) ||
		(line = find_obstacle(rules, rule->port)) == 0)
		return ret;
	snprintf(why, sizeof(why),
		"line %u of the rules is in software, and a packet counts in one rule only", line);
	*reason = why;
	return TRIP_ENGINE_SW;
}

int
tripd_flow_open(const struct trip_rules *rules, const struct trip_rules_count *rule,
	struct tripd_quota_count *count, struct trip_port *port)
{
	struct trip_cntr *cntrs[] = {count->packets, count->bytes};
	struct trip_flow_attr attr;
	struct rte_flow_error error = {0};
	struct trip_rules_actions actions;
	const char *reason;
	int engine = tripd_flow_validate(rules, rule, &reason);

	if (engine < 0)
		return fail(rule, reason, engine);
	snprintf(count->reason, sizeof(count->reason), "%s", reason);
	trip_rules_flow_attr(rule, &attr);
	if (engine == TRIP_ENGINE_SW)
		attr.engine = TRIP_ENGINE_SW;
	attr.cntrs = cntrs;
	attr.n_cntrs = RTE_DIM(cntrs);
	count->flows = calloc(rule->n_patterns, sizeof(struct trip_flow *));
	if (count->flows == NULL)
		return fail(rule, "no memory", -ENOMEM);
	trip_rules_flow_actions(rule, queues, RTE_DIM(queues), &actions);
	for (unsigned int i = 0; i < rule->n_patterns; i++) {
		int ret = trip_flow_create(
			port, &attr, rule->patterns[i], actions.list, &count->flows[i], &error);

		if (ret != 0)
			return fail(rule,
				error.message != NULL ? error.message : trip_error_message(), ret);
		count->n_flows++;
		/* The library may have had to think better of it. */
		if (attr.engine != TRIP_ENGINE_SW)
			snprintf(count->reason, sizeof(count->reason), "%s",
				trip_flow_reason(count->flows[i]));
	}
	return 0;
}

void
tripd_flow_query(const struct tripd_quota_count *count, struct trip_flow_count *sum)
{
	struct trip_flow_count one;

	*sum = (struct trip_flow_count){0};
	for (unsigned int i = 0; i < count->n_flows; i++) {
		trip_flow_query(count->flows[i], &one);
		sum->packets += one.packets;
		sum->bytes += one.bytes;
		sum->fate = one.fate;
		sum->engine = one.engine;
	}
}

void
tripd_flow_retire(struct tripd_quota_count *count)
{
	for (unsigned int i = 0; i < count->n_flows; i++)
		trip_flow_retire(count->flows[i]);
}

int
tripd_flow_close(struct tripd_quota_count *count)
{
	int ret = 0;

	for (unsigned int i = 0; i < count->n_flows; i++) {
		int one = trip_flow_destroy(count->flows[i]);

		ret = one != 0 ? one : ret;
	}
	free(count->flows);
	count->flows = NULL;
	count->n_flows = 0;
	return ret;
}
