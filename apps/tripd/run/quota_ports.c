/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports of a quota: how the domain gets them, and what it tells of them. */
#include <stdatomic.h>
#include <stdio.h>

#include "quota.h"
#include "removal.h"
#include "rules.h"
#include "start/fail.h"

static bool
has_egress(const struct trip_rules *rules, uint16_t port)
{
	const struct trip_rules_count *rule;

	for (unsigned int i = 0; (rule = trip_rules_placed(rules, i)) != NULL; i++)
		if (trip_rules_has_port(rule, port) && rule->direction == TRIP_RULES_EGRESS)
			return true;
	return false;
}

/* On the port's worker. */
static void
say_event(struct trip_port *port, enum trip_port_event event, void *arg)
{
	static const char *const sentences[] = {
		[TRIP_PORT_STOPPED] = "it has been stopped, and its rules in hardware are gone",
		[TRIP_PORT_STARTED] = "it runs again",
		[TRIP_PORT_STALE] = "it receives packets, but no counter in hardware moves any "
				    "more: none matches, or the device has stopped answering",
	};
	static atomic_bool said_stale;
	const struct tripd_plan_port *planned = arg;

	/* The control thread says so, of whatever device. */
	if (event == TRIP_PORT_REMOVED) {
		tripd_removal_note(planned->id);
		return;
	}
	/* STALE is said once: mostly traffic has paused. The report counts each. */
	if (event == TRIP_PORT_FRESH ||
		(event == TRIP_PORT_STALE && atomic_exchange(&said_stale, true)))
		return;
	fprintf(stderr, "tripd: port %u: %s\n", planned->id, sentences[event]);
}

int
tripd_quota_ports(struct tripd_quota *quota, const struct tripd_plan *plan)
{
	struct trip_port_attr attr = {
		.size = sizeof(attr),
		/* What a callback drops, the caller of rte_eth_rx_burst() does not see: it could
		 * not tell a quiet port from one whose traffic is dropped. */
		.mode = TRIP_PORT_BURST,
	};
	int ret;

	for (unsigned int i = 0; i < plan->n_ports; i++) {
		quota->egress[i] = has_egress(quota->rules, plan->ports[i].id);
		attr.n_tx_queues = quota->egress[i];
		attr.notify = say_event;
		attr.notify_arg = (void *)(uintptr_t)&plan->ports[i];
		ret = trip_port_open(quota->domain, plan->ports[i].id, &attr, &quota->ports[i]);
		if (ret != 0)
			return tripd_fail(
				ret, "port %u: %s", plan->ports[i].id, trip_error_message());
		quota->port_ids[i] = plan->ports[i].id;
		quota->n_ports++;
	}
	return 0;
}
