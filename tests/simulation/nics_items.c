/* SPDX-License-Identifier: BSD-3-Clause */
/* What has become of operations, and what they have made of their flows. */
#include "nics.h"

/* Operations on a flow are told of by one home, in their order. */
static void
take_event(const struct trip_event *event)
{
	struct item *item = &nics.items[event->context];
	struct nics_fate *fate = &nics.fates[item->flow];

	item->events++;
	if (event->op_type == TRIP_OP_FLOW_DELETE && event->result != 0)
		fate->refused = item->creation;
	if (item->creation != fate->creation || event->result != 0)
		return;
	sim_expect(!fate->deleted, "item %u is said to be done to flow %u, which was deleted",
		(unsigned int)(item - nics.items), item->flow);
	fate->deleted |= event->op_type == TRIP_OP_FLOW_DELETE;
	fate->drops = event->op_type == TRIP_OP_FLOW_DROP;
}

static void
take_events(struct trip_home *home)
{
	struct trip_event event;

	while (trip_event_ring_pop(home->events, &event, 1) > 0) {
		sim_expect(
			event.context < nics.n_items, "an event of an item that nobody has queued");
		take_event(&event);
	}
}

static bool
is_due(const struct item *item)
{
	return !item->canceled && item->threshold <= nics_reached(nics_cntr(item->flow));
}

void
nics_judge_items(void)
{
	uint64_t fired[HOMES] = {0};

	for (uint32_t h = 0; h < nics.engine.n_homes; h++)
		take_events(nics.engine.homes[h]);
	for (unsigned int i = 0; i < nics.n_items; i++) {
		const struct item *item = &nics.items[i];
		bool due = is_due(item);

		fired[item->completion] += due && item->opening == nics.openings[item->completion];
		sim_expect(item->events == (due && item->told),
			"item %u was to be told of %d times, and was %u times", i,
			due && item->told, item->events);
	}
	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		uint64_t done = nics_reached(h * CNTRS + DONE);

		sim_expect(nics.is_closed[h] || done == fired[h],
			"%llu operations were due that home %u counts, and %llu are done",
			(unsigned long long)fired[h], h, (unsigned long long)done);
	}
}

static bool
is_all_told(uint32_t flow)
{
	for (unsigned int i = 0; i < nics.n_items; i++) {
		const struct item *item = &nics.items[i];

		if (item->flow == flow && item->creation == nics.fates[flow].creation &&
			!item->told && is_due(item))
			return false;
	}
	return true;
}

/* A flow is what operations are said to have made of it, also where it has come back since. */
void
nics_judge_fates(void)
{
	if (nics.in_event || nics.closed || nics.hard->paused || nic_is_removed())
		return;
	for (uint32_t f = 0; f < nics.n_flows; f++) {
		const struct nics_fate *fate = &nics.fates[f];
		struct nic_flow flow = nic_flow_of(f);
		bool gone =
			fate->deleted || (fate->refused == fate->creation && nics.flows[f].ended);

		if (!nics.created[f] || fate->meddled == fate->creation || nics_is_lost(f) ||
			flow.stuck > 0 || !is_all_told(f))
			continue;
		sim_expect(!gone || flow.rules == 0,
			"flow %u is said to be deleted, and has %u rules", f, flow.rules);
		sim_expect(gone || flow.drops == fate->drops, "flow %u is said to %s, and does not",
			f, fate->drops ? "drop" : "pass");
	}
}
