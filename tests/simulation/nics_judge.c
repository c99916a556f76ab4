/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds at any time, and when everything rests. */
#include <rte_common.h>

#include "nics.h"

/* With what was read of flows, and nobody was told of. */
static uint64_t
sum_of(uint32_t cntr)
{
	bool looks = sim_look(true);
	uint64_t sum = trip_cell_success(&nics.engine.homes[cntr / CNTRS]->cells[cntr % CNTRS]);

	for (uint32_t f = 0; f < NIC_FLOWS; f++)
		if (nics_cntr(f) == cntr)
			sum += atomic_load(&nics.reads[f].count.packets) -
			       atomic_load(&nics.folded[f].of[TRIP_COUNT_KIND_PACKETS]);
	(void)sim_look(looks);
	return sum;
}

static uint64_t
errors_of(uint32_t cntr)
{
	bool looks = sim_look(true);
	uint64_t errors = trip_cell_error(&nics.engine.homes[cntr / CNTRS]->cells[cntr % CNTRS]);

	(void)sim_look(looks);
	return errors;
}

uint64_t
nics_reached(uint32_t cntr)
{
	return sum_of(cntr) + errors_of(cntr);
}

static void
take_events(struct trip_home *home)
{
	struct trip_event event;

	while (trip_event_ring_pop(home->events, &event, 1) > 0) {
		sim_expect(
			event.context < nics.n_items, "an event of an item that nobody has queued");
		nics.items[event.context].events++;
	}
}

/* What was read of the NIC is in the counters, and all that its rules have counted was read. */
static void
judge_counts(void)
{
	uint64_t read[HOMES] = {0};

	for (uint32_t f = 0; f < NIC_FLOWS; f++) {
		struct nic_flow flow = nic_flow_of(f);
		const struct trip_rule *rule = &nics.flows[f].rule;
		const struct rte_flow *handles[] = {rule->entry.flow, rule->jump.flow};

		read[nics_cntr(f) / CNTRS] += flow.read;
		sim_expect(nic_may_forget() || flow.stuck > 0 ||
				   flow.counted == flow.read + flow.unread,
			"of flow %u %llu packets were counted, %llu of them read and %llu lost", f,
			(unsigned long long)flow.counted, (unsigned long long)flow.read,
			(unsigned long long)flow.unread);
		sim_expect(
			flow.unread == 0 || !nics.nic.shared || nic_may_forget() || flow.stuck > 0,
			"of flow %u %llu packets were counted, and never read", f,
			(unsigned long long)flow.unread);
		sim_expect(flow.standing > 0 || nic_may_keep() || nic_is_away() ||
				   (flow.rules <= 1 && flow.jumps <= 1),
			"flow %u has %u rules, %u jumps", f, flow.rules, flow.jumps);
		/* Where it recovers, the engine does not go by them. */
		for (unsigned int i = 0; i < RTE_DIM(handles) && nics.created[f]; i++)
			sim_expect(
				nics.hard->paused || handles[i] == NULL || nic_stands(handles[i]),
				"flow %u is said to have a rule, and has none", f);
	}
	for (uint32_t h = 0; h < nics.engine.n_homes; h++)
		sim_expect(sum_of(h * CNTRS + FED) == read[h],
			"counter %u has come to %llu, and %llu were read", h * CNTRS + FED,
			(unsigned long long)sum_of(h * CNTRS + FED), (unsigned long long)read[h]);
}

/* A flow that is lost is told of by an error, each once. */
static void
judge_lost(void)
{
	uint64_t errors = 0, lost = nics.lost;

	for (uint32_t h = 0; h < nics.engine.n_homes; h++)
		errors += errors_of(h * CNTRS + FED);
	for (uint32_t f = 0; f < NIC_FLOWS; f++)
		lost += nics.created[f] && atomic_load(&nics.slots[f].lost);
	for (uint32_t f = 0; f < NIC_FLOWS && !nic_may_lose(); f++)
		sim_expect(!nics.created[f] || !nics.flows[f].recreate ||
				   !atomic_load(&nics.slots[f].lost),
			"flow %u was to come back, and is lost", f);
	sim_expect(errors == lost, "%llu flows were lost, and %llu errors counted",
		(unsigned long long)lost, (unsigned long long)errors);
}

static void
judge_items(void)
{
	uint64_t fired = 0, done = 0;

	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		take_events(nics.engine.homes[h]);
		done += nics_reached(h * CNTRS + DONE);
	}
	for (unsigned int i = 0; i < nics.n_items; i++) {
		const struct item *item = &nics.items[i];
		bool is_due =
			!item->canceled && item->threshold <= nics_reached(nics_cntr(item->flow));

		fired += is_due;
		sim_expect(item->events == (is_due && item->told),
			"item %u was to be told of %d times, and was %u times", i,
			is_due && item->told, item->events);
	}
	sim_expect(done == fired, "%llu operations were due, and %llu are done",
		(unsigned long long)fired, (unsigned long long)done);
}

static void
judge_desk(void)
{
	const struct trip_errand_desk *desk = &nics.hard->desk;

	sim_expect(atomic_load(&desk->tickets) == atomic_load(&desk->served),
		"%llu tickets were drawn, and %llu served",
		(unsigned long long)atomic_load(&desk->tickets),
		(unsigned long long)atomic_load(&desk->served));
	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		const struct trip_errand_ring *ring = &desk->rings[h];

		sim_expect(atomic_load(&ring->sent) == atomic_load(&ring->done),
			"home %u sent %u errands, and %u are done", h, atomic_load(&ring->sent),
			atomic_load(&ring->done));
		sim_expect(atomic_load(&ring->done) == atomic_load(&ring->settled),
			"%u errands of home %u are done, and it has settled %u",
			atomic_load(&ring->done), h, atomic_load(&ring->settled));
	}
}

/* All that the NIC was asked for was given back. */
static void
judge_closed(void)
{
	for (uint32_t f = 0; f < nics.n_flows; f++) {
		struct nic_flow flow = nic_flow_of(f);

		sim_expect(flow.standing > 0 || flow.rules + flow.jumps == 0,
			"flow %u is gone, and has %u rules", f, flow.rules + flow.jumps);
	}
	sim_expect(nic_counters() == 0, "the port is closed, and has %u counters", nic_counters());
	sim_expect(nic_queue_objects() == 0, "the port is closed, and has %u templates or tables",
		nic_queue_objects());
}

void
nics_judge_ages(void)
{
	bool looks = sim_look(true);

	for (uint32_t f = 0; f < nics.n_flows; f++) {
		uint64_t fresh = atomic_load(&nics.slots[f].fresh_tsc);
		struct nic_flow flow = nic_flow_of(f);

		if (!nics.created[f] || fresh == UINT64_MAX || flow.stuck > 0)
			continue;
		sim_expect(nic_counted_before(f, fresh) <= flow.read + flow.unread,
			"flow %u is said to have all up to %llu, and %llu packets before are not "
			"read",
			f, (unsigned long long)fresh,
			(unsigned long long)(nic_counted_before(f, fresh) - flow.read -
					     flow.unread));
	}
	(void)sim_look(looks);
}

void
nics_judge(void)
{
	unsigned int created = 0;

	if (nic_is_hung())
		return;
	judge_items();
	judge_counts();
	judge_lost();
	nics_judge_ages();
	for (uint32_t f = 0; f < NIC_FLOWS; f++)
		created += nics.created[f];
	sim_expect(nic_may_keep() || nic_counters() <= created,
		"%u flows are there, and %u counters", created, nic_counters());
	if (!nics.closed)
		judge_desk();
	else if (!nic_may_keep())
		judge_closed();
}
