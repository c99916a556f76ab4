/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_flow.h>
#include <rules_flow.h>

#include "attach.h"
#include "count.h"
#include "lookup.h"
#include "record.h"
#include "tripctl.h"

int
tripctl_count_check(const struct trip_rules_count *rule)
{
	if ((rule->actions & TRIP_RULES_ACTION_RSS) != 0) {
		tripctl_complain("count %s: the action rss takes the port's queues, which the "
				 "primary knows; without it packets go there too",
			rule->name);
		return TRIPCTL_EXIT_USAGE;
	}
	return 0;
}

/* Under the name that the rules have for it, where a counter's can be that long. */
static int
open_cntr(struct trip_domain *domain, const char *name, const char *tail,
	enum trip_cntr_events events, struct trip_cntr **cntr)
{
	char full[TRIP_RULES_NAME_MAX + 16];
	struct trip_cntr_attr attr = {.size = sizeof(attr), .events = events};
	int error;

	snprintf(full, sizeof(full), "%s%s", name, tail);
	if (strlen(full) <= TRIP_NAME_MAX)
		attr.name = full;
	error = trip_cntr_open(domain, &attr, cntr, NULL);
	return error != 0 ? tripctl_attach_fail(error) : 0;
}

static int
open_flows(struct tripctl_count *count, const struct trip_rules_count *rule)
{
	struct trip_cntr *cntrs[] = {count->packets, count->bytes};
	struct rte_flow_error flow_error = {0};
	struct trip_flow_attr attr;
	struct trip_rules_actions actions;
	int error;

	trip_rules_flow_attr(rule, &attr);
	trip_rules_flow_actions(rule, NULL, 0, &actions);
	attr.cntrs = cntrs;
	attr.n_cntrs = 2;
	count->flows = calloc(rule->n_patterns, sizeof(struct trip_flow *));
	if (count->flows == NULL) {
		tripctl_complain("count %s: no memory", rule->name);
		return TRIPCTL_EXIT_RUN;
	}
	for (; count->n_flows < rule->n_patterns; count->n_flows++) {
		error = trip_flow_create(count->port, &attr, rule->patterns[count->n_flows],
			actions.list, &count->flows[count->n_flows], &flow_error);
		if (error == 0)
			continue;
		if (error == -ESHUTDOWN || flow_error.message == NULL)
			return tripctl_attach_fail(error);
		tripctl_complain("count %s: %s", rule->name, flow_error.message);
		return TRIPCTL_EXIT_RUN;
	}
	return 0;
}

int
tripctl_count_open(struct tripctl_count *count, struct trip_domain *domain,
	const struct trip_rules_count *rule)
{
	uint16_t port;
	int error;

	/* Of PCI devices only the primary has the driver. */
	if (!tripd_lookup_port(rule, &port)) {
		tripctl_complain("count %s: which port that is, is not known here: it may be "
				 "called by its number",
			rule->name);
		return TRIPCTL_EXIT_USAGE;
	}
	error = trip_port_find(domain, port, &count->port);
	if (error != 0)
		return tripctl_attach_fail(error);
	error = open_cntr(domain, rule->name, ".packets", TRIP_CNTR_EVENTS_COMP, &count->packets);
	if (error == 0)
		error = open_cntr(
			domain, rule->name, ".bytes", TRIP_CNTR_EVENTS_BYTES, &count->bytes);
	return error == 0 ? open_flows(count, rule) : error;
}

void
tripctl_count_tell(
	const struct tripctl_count *count, const struct trip_rules_count *rule, bool json)
{
	struct trip_flow_count sum = {0}, one;
	json_t *object;

	for (unsigned int i = 0; i < count->n_flows; i++) {
		if (trip_flow_query(count->flows[i], &one) != 0)
			return;
		sum.packets += one.packets;
		sum.bytes += one.bytes;
		sum.fate = one.fate;
		sum.engine = one.engine;
	}
	if (!json) {
		printf("%s: %" PRIu64 " packets, %" PRIu64 " bytes\n", rule->name, sum.packets,
			sum.bytes);
		return;
	}
	object = json_object();
	tripctl_record_put_text(object, "count", rule->name);
	tripctl_record_put_number(object, "packets", sum.packets);
	tripctl_record_put_number(object, "bytes", sum.bytes);
	tripctl_record_put_text(object, "engine", sum.engine == TRIP_ENGINE_HW ? "hw" : "sw");
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

void
tripctl_count_close(struct tripctl_count *count)
{
	for (unsigned int i = 0; i < count->n_flows; i++)
		(void)trip_flow_destroy(count->flows[i]);
	free(count->flows);
	if (count->packets != NULL)
		(void)trip_cntr_close(count->packets);
	if (count->bytes != NULL)
		(void)trip_cntr_close(count->bytes);
	if (count->port != NULL)
		(void)trip_port_close(count->port);
}
