/* SPDX-License-Identifier: BSD-3-Clause */
/* Which engine counts a rule, and why. */
#include <errno.h>
#include <stdio.h>

#include <rte_flow.h>

#include <trip_error.h>

#include "apply/flow.h"
#include "engine.h"
#include "rules.h"

const uint16_t tripd_engine_queues[1] = {0};

static bool
is_open(const struct trip_rules_count *rule)
{
	return rule->engine == TRIP_FLOW_ENGINE_AUTO && rule->direction != TRIP_RULES_EGRESS;
}

/* The engine of a rule, were it the only one; all its patterns are in one engine. */
static int
validate_alone(const struct trip_rules *rules, const struct trip_rules_count *rule, uint16_t port,
	const char **reason)
{
	static struct rte_flow_error error;
	static char why[TRIPD_ENGINE_REASON_MAX];
	int ret = TRIP_FLOW_ENGINE_HW, one;
	struct trip_flow_attr attr;
	struct trip_apply_actions actions;
	const struct trip_rules_when *police = trip_rules_policed(rules, rule);

	if (police != NULL && is_open(rule)) {
		snprintf(why, sizeof(why), "line %u of the rules polices it, as software does",
			police->line);
		*reason = why;
		return TRIP_FLOW_ENGINE_SW;
	}
	trip_apply_flow_attr(rule, &attr);
	trip_apply_flow_actions(rule, tripd_engine_queues, 1, &actions);
	for (unsigned int i = 0; i < rule->n_patterns && ret == TRIP_FLOW_ENGINE_HW; i++) {
		one = trip_flow_validate(
			port, &attr, rule->patterns[i], actions.list, reason, &error);
		if (one < 0)
			*reason = error.message != NULL ? error.message : trip_error_message();
		ret = one;
	}
	/* The library's text is valid until the thread's next call: keep a copy. */
	snprintf(why, sizeof(why), "%s", *reason);
	*reason = why;
	return ret;
}

/*
 * A packet counts in one rule of its port, and two engines cannot see to that between them: where
 * one of the rules that leave the engine open has to be in software, all of these are. The line of
 * that rule, 0: there is none.
 */
static struct {
	bool known;
	unsigned int line;
} ports[RTE_MAX_ETHPORTS];

static unsigned int
find_obstacle(const struct trip_rules *rules, uint16_t port)
{
	const char *reason;

	if (ports[port].known)
		return ports[port].line;
	ports[port].known = true;
	for (unsigned int i = 0; i < rules->n_counts; i++) {
		const struct trip_rules_count *rule = &rules->counts[i];

		if (trip_rules_has_port(rule, port) && is_open(rule) &&
			validate_alone(rules, rule, port, &reason) != TRIP_FLOW_ENGINE_HW) {
			ports[port].line = rule->line;
			break;
		}
	}
	return ports[port].line;
}

/* What hardware drops, software cannot allow: the line of the other one of such two rules, or 0. */
static unsigned int
find_conflict(const struct trip_rules *rules, const struct trip_rules_count *rule, uint16_t port)
{
	bool hard = rule->engine == TRIP_FLOW_ENGINE_HW;

	for (unsigned int i = 0; i < rules->n_counts && (hard || rule->allow); i++) {
		const struct trip_rules_count *other = &rules->counts[i];

		if (!other->gone && trip_rules_has_port(other, port) &&
			(hard ? other->allow : other->engine == TRIP_FLOW_ENGINE_HW))
			return other->line;
	}
	return 0;
}

int
tripd_engine_of(const struct trip_rules *rules, const struct trip_rules_count *rule, uint16_t port,
	const char **reason)
{
	static char why[TRIPD_ENGINE_REASON_MAX];
	int ret = validate_alone(rules, rule, port, reason);
	unsigned int line = find_conflict(rules, rule, port);

	if (line != 0) {
		snprintf(why, sizeof(why),
			"what hardware drops software cannot allow, and line %u of the rules %s",
			line, rule->allow ? "has 'engine hw'" : "is an 'allow'");
		*reason = why;
		return -ENOTSUP;
	}
	if (ret != TRIP_FLOW_ENGINE_HW || !is_open(rule) ||
		(line = find_obstacle(rules, port)) == 0)
		return ret;
	snprintf(why, sizeof(why),
		"line %u of the rules is in software, and a packet counts in one rule only", line);
	*reason = why;
	return TRIP_FLOW_ENGINE_SW;
}

int
tripd_engine_keep(const struct trip_rules *rules, const struct trip_rules_count *rule,
	uint16_t port, const char **reason)
{
	static char why[TRIPD_ENGINE_REASON_MAX];

	if (!is_open(rule) || !ports[port].known || ports[port].line != 0 ||
		validate_alone(rules, rule, port, reason) == TRIP_FLOW_ENGINE_HW)
		return 0;
	snprintf(why, sizeof(why), "the port's rules are in hardware, and this cannot be: %.80s",
		*reason);
	*reason = why;
	return -ENOTSUP;
}
