/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows of this process on a port of the primary, which makes the calls for it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "apply/port.h"
#include "attach.h"
#include "base/record.h"
#include "base/tripctl.h"
#include "count.h"

int
tripctl_count_check(const struct trip_rules_count *rule)
{
	if ((rule->actions & TRIP_RULES_ACTION_RSS) != 0)
		return tripctl_complain(TRIPCTL_EXIT_USAGE,
			"count %s: the action rss takes the port's queues, which the primary "
			"knows; without it packets go there too",
			rule->name);
	return 0;
}

int
tripctl_count_open(struct tripctl_count *count, struct trip_domain *domain,
	const struct trip_rules_count *rule)
{
	struct trip_apply_place place = {0};
	const char *why;
	uint16_t port;
	int error;

	/* Of PCI devices only the primary has the driver. */
	if (!trip_apply_port(rule, &port))
		return tripctl_complain(TRIPCTL_EXIT_USAGE,
			"count %s: which port that is, is not known here: it may be called by its "
			"number",
			rule->name);
	error = trip_port_find(domain, port, &count->port);
	if (error != 0)
		return tripctl_attach_fail(error);
	place.port = count->port;
	error = trip_apply_count_open(&count->applied, domain, rule, &place, &why);
	if (error == 0)
		return 0;
	if (error == -ESHUTDOWN || why == NULL)
		return tripctl_attach_fail(error);
	return tripctl_complain(TRIPCTL_EXIT_RUN, "count %s: %s", rule->name, why);
}

void
tripctl_count_tell(
	const struct tripctl_count *count, const struct trip_rules_count *rule, bool json)
{
	struct trip_flow_count sum = {.size = sizeof(sum)};
	json_t *object;

	if (count->applied.n_flows == 0 || trip_apply_count_query(&count->applied, &sum) != 0)
		return;
	if (!json) {
		printf("%s: %" PRIu64 " packets, %" PRIu64 " bytes\n", rule->name, sum.packets,
			sum.bytes);
		return;
	}
	object = json_object();
	tripctl_record_put_text(object, "count", rule->name);
	tripctl_record_put_number(object, "packets", sum.packets);
	tripctl_record_put_number(object, "bytes", sum.bytes);
	tripctl_record_put_text(object, "engine", sum.engine == TRIP_FLOW_ENGINE_HW ? "hw" : "sw");
	tripctl_record_write(object);
}

void
tripctl_count_close(struct tripctl_count *count)
{
	(void)trip_apply_count_close(&count->applied);
	if (count->port != NULL)
		(void)trip_port_close(count->port);
}
