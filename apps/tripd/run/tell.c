/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run says of itself, beside its trips and counts. */
#include <inttypes.h>

#include <rte_lcore.h>

#include <trip.h>

#include "removal.h"
#include "rules.h"
#include "run.h"
#include "screen.h"
#include "start/partner.h"

void
tripd_tell_plan(const struct tripd_run *run, const struct trip_domain_attr *attr)
{
	const struct tripd_plan *plan = &run->plan;
	struct trip_domain_footprint footprint = {.size = sizeof(footprint)};
	char text[TRIPD_PARTNER_TEXT_MAX];

	if (trip_domain_footprint(attr, &footprint) == 0) {
		fprintf(run->out, "domain: %.1f MiB", (double)footprint.bytes / 1048576);
		if (footprint.hugepage_bytes != 0)
			fprintf(run->out, " in %" PRIu64 " hugepages of %" PRIu64 " kB",
				footprint.hugepages, footprint.hugepage_bytes / 1024);
		fprintf(run->out, "; %" PRIu32 " packet buffers: %.1f MiB\n", run->need.n_mbufs,
			(double)run->need.pool_bytes / 1048576);
	}
	fprintf(run->out, "lcores: %u control%s", rte_get_main_lcore(),
		plan->by_packets ? ", forwards and counts, by the times of the packets" : "");
	for (unsigned int i = 0; i < plan->n_forwarders; i++)
		fprintf(run->out, ", %u forwards%s", plan->forwarders[i],
			plan->manual ? " and counts" : "");
	if (!plan->manual)
		fprintf(run->out, ", %u counts", plan->poller);
	fprintf(run->out, "\n");
	for (unsigned int i = 0; i < plan->n_ports; i++) {
		const struct tripd_plan_port *port = &plan->ports[i];

		if (port->partner >= 0)
			fprintf(run->out, "port %u: forwarded to port %u\n", port->id,
				plan->ports[port->partner].id);
		else
			fprintf(run->out,
				"port %u: packets are counted and freed; they are forwarded %s\n",
				port->id, tripd_partner_advice(plan, run->options, port->id, text));
	}
	fflush(run->out);
}

void
tripd_tell_engines(const struct tripd_run *run)
{
	unsigned int n[TRIP_FLOW_ENGINE_SW + 1] = {0};

	for (unsigned int i = 0; i < run->rules->n_counts; i++) {
		const struct trip_apply_count *count = &run->quota.counts[i];
		struct trip_flow_count one = {.size = sizeof(one)};

		for (unsigned int k = 0; k < count->n_flows; k++) {
			(void)trip_flow_query(count->flows[k], &one);
			n[one.engine]++;
		}
	}
	fprintf(run->out, "%u flows are counted in hardware, %u in software",
		n[TRIP_FLOW_ENGINE_HW], n[TRIP_FLOW_ENGINE_SW]);
	if (run->rules->n_eaches > 0)
		fprintf(run->out, "; keys of %u each statement%s", run->rules->n_eaches,
			run->rules->n_eaches == 1 ? "" : "s");
	fputc('\n', run->out);
	fflush(run->out);
}

void
tripd_tell_news(struct tripd_run *run, struct tripd_screen *screen)
{
	bool of_ports = tripd_removal_check(&run->plan);
	bool of_events;
	bool of_programs = tripd_exec_update(&run->exec);
	bool of_export = tripd_exporting_update(&run->exporting, &run->quota);
	bool of_samples = tripd_samples_update(&run->samples);
	bool of_keys = tripd_quota_eaches_are_full(&run->quota);

	tripd_quota_keys_read(&run->quota);
	of_events = tripd_events_update(&run->events, &run->quota);
	if (!of_ports && !of_events && !of_programs && !of_export && !of_samples && !of_keys)
		return;
	tripd_screen_begin(screen);
	if (of_ports)
		tripd_removal_say(&run->plan);
	if (of_events)
		tripd_events_say(&run->events);
	if (of_programs)
		tripd_exec_say(&run->exec);
	if (of_export)
		tripd_exporting_say(&run->exporting);
	if (of_samples)
		tripd_samples_say(&run->samples);
	if (of_keys)
		tripd_quota_eaches_say(&run->quota);
	tripd_screen_end(screen);
}
