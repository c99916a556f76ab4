/* SPDX-License-Identifier: BSD-3-Clause */
/* --check and --dry-run: what is wrong with the rules, and what they would take. Nothing starts. */
#include <inttypes.h>
#include <net/if.h>
#include <string.h>

#include "apply/each.h"
#include "link/port.h"
#include "rules.h"
#include "run.h"
#include "signals.h"
#include "start/describe.h"
#include "start/engine.h"
#include "start/partner.h"
#include "start/resolve.h"

#define MIB 1048576.0

static void
say_number(unsigned int n, const char *what, const char *behind)
{
	printf("%u %s%s%s", n, what, n == 1 ? "" : "s", behind);
}

static void
say_good(const char *path, const struct trip_rules *rules)
{
	unsigned int quotas = 0;

	for (unsigned int i = 0; i < rules->n_counters; i++)
		quotas += rules->counters[i].quota != NULL;
	printf("%s: ", path);
	say_number(rules->n_counts, "count", ", ");
	say_number(rules->n_counters - quotas, "counter", ", ");
	say_number(quotas, "quota", ", ");
	if (rules->n_sets > 0)
		say_number(rules->n_sets, "set", ", ");
	if (rules->n_eaches > 0)
		say_number(rules->n_eaches, "each statement", ", ");
	say_number(rules->n_whens, "when", ": nothing is wrong with them\n");
}

/* Of rules and --iface. This need not be the machine on which they are to run. */
static void
warn_of_interfaces(const struct tripd_options *options, const struct trip_rules *rules)
{
	const struct trip_rules_count *rule;

	for (unsigned int i = 0; i < options->n_ifaces; i++)
		if (if_nametoindex(options->ifaces[i]) == 0)
			fprintf(stderr, "tripd: warning: there is no network interface %s here\n",
				options->ifaces[i]);
	for (unsigned int i = 0; (rule = trip_rules_placed(rules, i)) != NULL; i++)
		for (unsigned int k = 0; k < rule->n_ports; k++) {
			const struct trip_rules_port *port = &rule->ports[k];

			if (port->by == TRIP_RULES_PORT_INTERFACE &&
				if_nametoindex(port->name) == 0)
				fprintf(stderr,
					"tripd: warning: line %u of the rules: there is no network "
					"interface %s here\n",
					rule->line, port->name);
		}
}

/* Ports by their interfaces are known where tripd chooses its words, by the order of --iface. */
static void
find_ifaces(const struct tripd_options *options, struct trip_rules_count *count)
{
	for (unsigned int k = 0; k < count->n_ports && options->eal_words == NULL; k++)
		for (unsigned int i = 0; i < options->n_ifaces; i++)
			if (count->ports[k].by == TRIP_RULES_PORT_INTERFACE &&
				strcmp(count->ports[k].name, options->ifaces[i]) == 0) {
				count->ports[k].by = TRIP_RULES_PORT_ID;
				count->ports[k].id = (uint16_t)i;
			}
}

/* What is in vain on the ports that are known. */
static void
warn_of_ports(const struct tripd_options *options, struct trip_rules *rules)
{
	struct trip_rules_count *rule;
	struct tripd_plan plan;

	for (unsigned int i = 0; (rule = trip_rules_placed(rules, i)) != NULL; i++)
		find_ifaces(options, rule);
	if (tripd_plan_ports(&plan, options, rules) != 0)
		return;
	for (unsigned int i = 0; (rule = trip_rules_placed(rules, i)) != NULL; i++)
		(void)tripd_plan_any(&plan, rule);
	tripd_partner_warn(rules, &plan, options);
}

int
tripd_dry_run_check(const struct tripd_options *options)
{
	struct trip_rules *rules;
	int ret = tripd_preflight_rules(options->rules, &rules);

	if (ret != 0)
		return ret;
	/* Not said before, in case two of the ports are one. */
	if (tripd_resolve_unknown(rules))
		trip_rules_errors_print(rules->warnings, stderr);
	warn_of_interfaces(options, rules);
	warn_of_ports(options, rules);
	say_good(options->rules, rules);
	trip_rules_free(rules);
	return 0;
}

static void
say_memory(struct tripd_run *run)
{
	struct trip_domain_footprint footprint = {.size = sizeof(footprint)};
	struct trip_domain_attr attr;

	tripd_plan_domain(run->rules, &run->plan, &attr);
	if (trip_domain_footprint(&attr, &footprint) != 0)
		return;
	for (unsigned int node = 0; node < TRIP_DOMAIN_NODES_MAX; node++)
		if (footprint.node_bytes[node] != 0)
			fprintf(run->out, "node %u: domain %.1f MiB\n", node,
				(double)footprint.node_bytes[node] / MIB);
	fprintf(run->out, "packet buffers: %.1f MiB, where EAL has room\n",
		(double)run->need.pool_bytes / MIB);
	if (footprint.hugepage_bytes != 0)
		fprintf(run->out,
			"hugepages: %" PRIu64 " of %" PRIu64
			" kB, with what EAL and drivers take\n",
			(run->need.total_bytes + footprint.hugepage_bytes - 1) /
				footprint.hugepage_bytes,
			footprint.hugepage_bytes / 1024);
}

/* What hardware there is to count with. */
static void
say_ports(struct tripd_run *run)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};

	for (unsigned int i = 0; i < run->plan.n_ports; i++) {
		uint16_t port = run->plan.ports[i].id;

		if (trip_port_facts(port, &facts) == 0 && strcmp(facts.engine, "none") != 0)
			fprintf(run->out,
				"port %u: %s by %s: counters lag %" PRIu64 " ms (%s)%s%s\n", port,
				facts.engine, facts.driver, facts.refresh_lag_ns / 1000000,
				tripd_describe_fact(facts.refresh_lag_from),
				facts.indirect ? ", rules can share them" : "",
				facts.templates ? ", rules go in by templates" : "");
	}
}

/* On each port. */
static int
say_engines(struct tripd_run *run, const struct trip_rules_count *rule)
{
	const char *reason;
	int ret = 0;

	for (unsigned int i = 0; i < rule->n_ports; i++) {
		int engine = tripd_engine_of(run->rules, rule, rule->ports[i].id, &reason);

		fprintf(run->out, "line %u: %s on port %u: %s: %s\n", rule->line, rule->name,
			rule->ports[i].id,
			engine < 0 ? "refused"
				   : tripd_describe_engine((enum trip_flow_engine)engine),
			reason);
		ret = RTE_MIN(ret, engine);
	}
	return ret;
}

static bool
shares_port(const struct trip_rules_count *a, const struct trip_rules_count *b)
{
	for (unsigned int i = 0; i < a->n_ports; i++)
		for (unsigned int k = 0; k < b->n_ports; k++)
			if (a->ports[i].id == b->ports[k].id)
				return true;
	return false;
}

/* What stands against keys in hardware, or NULL. */
static const char *
refuse_keys(const struct trip_rules *rules, const struct trip_rules_each *each)
{
	struct trip_port_facts facts = {.size = sizeof(facts)};
	const struct trip_rules_count *rule;

	if (each->count.n_ports > 1)
		return "keys in hardware are of one port";
	if (trip_port_facts(each->count.ports[0].id, &facts) != 0 ||
		strcmp(facts.engine, "none") == 0)
		return "the port counts no rules of hardware";
	for (unsigned int i = 0; (rule = trip_rules_placed(rules, i)) != NULL; i++)
		if (rule != &each->count && shares_port(rule, &each->count))
			return "its rules of hardware would drop what others on the port count";
	return NULL;
}

static int
say_each(const struct tripd_run *run, const struct trip_rules_each *each)
{
	uint32_t queues = tripd_plan_queues_of(&run->plan, &each->count);
	const char *refused = each->hardware != 0 ? refuse_keys(run->rules, each) : NULL;

	fprintf(run->out, "line %u: each %s: %" PRIu32 " keys on %" PRIu32 " queue%s: %.1f MiB\n",
		each->count.line, each->count.name, each->max, queues, queues == 1 ? "" : "s",
		(double)trip_apply_each_bytes(each, queues, run->plan.event_keys) / MIB);
	if (refused != NULL)
		fprintf(run->out, "line %u: each %s: hardware %" PRIu32 ": refused: %s\n",
			each->count.line, each->count.name, each->hardware, refused);
	return refused != NULL ? TRIPD_EXIT_USAGE : 0;
}

int
tripd_dry_run(struct tripd_run *run)
{
	int ret = tripd_run_begin(run);

	if (ret != 0)
		return ret;
	say_memory(run);
	say_ports(run);
	for (unsigned int i = 0; i < run->rules->n_counts; i++) {
		if (tripd_signals_came())
			return TRIPD_EXIT_RUN;
		if (say_engines(run, &run->rules->counts[i]) != 0)
			ret = TRIPD_EXIT_USAGE;
	}
	for (unsigned int i = 0; i < run->rules->n_eaches; i++)
		ret = RTE_MAX(ret, say_each(run, &run->rules->eaches[i]));
	return ret;
}
