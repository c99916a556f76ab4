/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports without a partner: how they get one, and which rules are in vain without. */
#include <stdbool.h>
#include <stdio.h>

#include <rte_ethdev.h>

#include "options.h"
#include "partner.h"
#include "plan.h"
#include "rules.h"

static bool
is_lone(const struct tripd_plan *plan, uint16_t id)
{
	int port = tripd_plan_find(plan, id);

	return port < 0 || plan->ports[port].partner < 0;
}

const char *
tripd_partner_advice(const struct tripd_plan *plan, const struct tripd_options *options,
	uint16_t port, char text[TRIPD_PARTNER_TEXT_MAX])
{
	uint16_t other, neighbour = port ^ 1u;

	if (options->forward == TRIPD_FORWARD_NONE)
		return "without --forward none";
	if (rte_eth_dev_count_avail() == 0) {
		snprintf(text, TRIPD_PARTNER_TEXT_MAX, "with --ports %u,%u, --pair or two --iface",
			port, neighbour);
		return text;
	}
	/* One that is in use has another partner, or would be this one's. */
	if (rte_eth_dev_is_valid_port(neighbour) && tripd_plan_find(plan, neighbour) < 0) {
		snprintf(text, TRIPD_PARTNER_TEXT_MAX, "with --ports %u,%u", port, neighbour);
		return text;
	}
	RTE_ETH_FOREACH_DEV (other) {
		if (other == port || !is_lone(plan, other))
			continue;
		snprintf(text, TRIPD_PARTNER_TEXT_MAX, "with --pair %u,%u", port, other);
		return text;
	}
	snprintf(text, TRIPD_PARTNER_TEXT_MAX, "with one more %s%s",
		options->n_ifaces > 0 ? "--iface" : "device",
		tripd_plan_find(plan, neighbour) >= 0 ? " and --pair" : "");
	return text;
}

/* What a rule does in vain on a port that forwards nothing; NULL: nothing. */
static const char *
need_of(const struct trip_rules_count *rule)
{
	if (rule->direction == TRIP_RULES_EGRESS)
		return "counts nothing";
	return (rule->actions & TRIP_RULES_ACTION_DROP) != 0 ? "drops nothing" : NULL;
}

struct warning {
	const struct tripd_plan *plan;
	const struct tripd_options *options;
	unsigned int n;
};

/* Of each port of the rule that is known. */
static void
warn(struct warning *warning, unsigned int line, const struct trip_rules_count *rule,
	const char *word, const char *vain)
{
	char text[TRIPD_PARTNER_TEXT_MAX];

	for (unsigned int i = 0; i < rule->n_ports; i++) {
		uint16_t port = rule->ports[i].id;

		if (rule->ports[i].by != TRIP_RULES_PORT_ID || !is_lone(warning->plan, port) ||
			warning->n++ >= TRIP_RULES_SHOWN_MAX)
			continue;
		fprintf(stderr,
			"tripd: warning: line %u of the rules: %s %s %s, since port %u has no "
			"partner and forwards nothing; it has one %s\n",
			line, word, rule->name, vain, port,
			tripd_partner_advice(warning->plan, warning->options, port, text));
	}
}

/* What an operation drops packets of; NULL: it drops none. */
static const struct trip_rules_count *
dropped_by(const struct trip_rules *rules, const struct trip_rules_when *when)
{
	switch (when->op) {
	case TRIP_RULES_OP_DROP:
	case TRIP_RULES_OP_POLICE:
		return &rules->counts[when->target];
	case TRIP_RULES_OP_KEY_DROP:
	case TRIP_RULES_OP_KEY_POLICE:
		return &rules->eaches[when->index].count;
	default:
		return NULL;
	}
}

void
tripd_partner_warn(const struct trip_rules *rules, const struct tripd_plan *plan,
	const struct tripd_options *options)
{
	struct warning warning = {.plan = plan, .options = options};

	for (unsigned int i = 0; i < rules->n_counts; i++)
		if (need_of(&rules->counts[i]) != NULL)
			warn(&warning, rules->counts[i].line, &rules->counts[i],
				rules->counts[i].allow ? "allow" : "count",
				need_of(&rules->counts[i]));
	for (unsigned int i = 0; i < rules->n_eaches; i++)
		if (need_of(&rules->eaches[i].count) != NULL)
			warn(&warning, rules->eaches[i].count.line, &rules->eaches[i].count, "each",
				need_of(&rules->eaches[i].count));
	for (unsigned int i = 0; i < rules->n_whens; i++) {
		const struct trip_rules_count *rule = dropped_by(rules, &rules->whens[i]);

		if (rule != NULL)
			warn(&warning, rules->whens[i].line, rule,
				trip_rules_op_of(rules->whens[i].op)->word, "changes nothing");
	}
	if (warning.n > TRIP_RULES_SHOWN_MAX)
		fprintf(stderr, "tripd: and %u more of these warnings\n",
			warning.n - TRIP_RULES_SHOWN_MAX);
}
