/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds at any time, and when everything rests. */
#include <rte_common.h>

#include "count.h"
#include "nics.h"

static struct trip_cell *
cell_of(uint32_t cntr)
{
	return &nics.engine.homes[cntr / CNTRS]->cells[cntr % CNTRS];
}

/* With what was read of flows, and nobody was told of. */
static uint64_t
sum_of(uint32_t cntr)
{
	bool looks = sim_look(true);
	uint64_t sum = trip_cell_success(cell_of(cntr));
	unsigned int kind = cntr % CNTRS;

	for (uint32_t f = 0; f < NIC_FLOWS; f++)
		if (kind < DONE && nics_fed(f, kind) == cntr)
			sum += trip_count_read(&nics.reads[f].count, kind) -
			       atomic_load(&nics.folded[f].of[kind]);
	(void)sim_look(looks);
	return sum;
}

/* Of a packet. */
static uint64_t
size_of(unsigned int kind)
{
	return kind == TRIP_COUNT_KIND_BYTES ? NIC_BYTES : 1;
}

bool
nics_is_lost(uint32_t flow)
{
	bool looks = sim_look(true), lost;

	lost = nics.created[flow] && atomic_load(&nics.slots[flow].lost);
	(void)sim_look(looks);
	return lost;
}

static uint64_t
errors_of(uint32_t cntr)
{
	bool looks = sim_look(true);
	uint64_t errors = trip_cell_error(cell_of(cntr));

	(void)sim_look(looks);
	return errors;
}

uint64_t
nics_reached(uint32_t cntr)
{
	return sum_of(cntr) + errors_of(cntr);
}

/* What was read of the NIC is in the counters. */
static void
judge_sums(void)
{
	uint64_t read[HOMES * CNTRS] = {0};

	for (uint32_t f = 0; f < NIC_FLOWS; f++)
		for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
			read[nics_fed(f, kind)] += nic_flow_of(f).read * size_of(kind);
	for (uint32_t i = 0; i < nics.engine.n_homes * CNTRS; i++)
		sim_expect(i % CNTRS >= DONE || sum_of(i) == read[i],
			"counter %u has come to %llu, and %llu were read", i,
			(unsigned long long)sum_of(i), (unsigned long long)read[i]);
}

/* And all that its rules have counted was read. */
static void
judge_counts(void)
{
	for (uint32_t f = 0; f < NIC_FLOWS; f++) {
		struct nic_flow flow = nic_flow_of(f);
		const struct trip_rule *rule = &nics.flows[f].rule;
		const struct rte_flow *handles[] = {rule->entry.flow, rule->jump.flow};

		sim_expect(nic_may_forget() || nic_is_vague(&flow) ||
				   flow.counted == flow.read + flow.unread,
			"of flow %u %llu packets were counted, %llu of them read and %llu lost", f,
			(unsigned long long)flow.counted, (unsigned long long)flow.read,
			(unsigned long long)flow.unread);
		sim_expect(flow.unread == 0 || !nics.nic.shared || nic_may_forget() ||
				   nic_is_vague(&flow),
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
}

/* Of those that feed it; they are told of by an error, each once. */
static uint64_t
lost_of(uint32_t cntr)
{
	uint64_t lost = 0;

	for (uint32_t f = 0; f < NIC_FLOWS; f++)
		if (nics_fed(f, cntr % CNTRS) == cntr)
			lost += nics.fates[f].lost + nics_is_lost(f);
	return lost;
}

/* That they have ended, behind their last counts; those of a shared counter may come later. */
static bool
tells_all(uint32_t cntr, uint64_t errors)
{
	return errors == lost_of(cntr) && !nics.nic.shared;
}

static void
judge_lost(void)
{
	for (uint32_t f = 0; f < NIC_FLOWS && !nic_may_lose(); f++)
		sim_expect(!nics.flows[f].recreate || !nics_is_lost(f),
			"flow %u was to come back, and is lost", f);
	for (uint32_t i = 0; i < nics.engine.n_homes * CNTRS; i++)
		sim_expect(i % CNTRS >= DONE || errors_of(i) == lost_of(i),
			"counter %u: %llu flows were lost, and %llu errors counted", i,
			(unsigned long long)lost_of(i), (unsigned long long)errors_of(i));
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
	sim_expect(atomic_load(&nics.hard->notices) == 0,
		"the driver has told of %#x, and nobody has taken it up",
		atomic_load(&nics.hard->notices));
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

/* --- how old they are --- */

static void
judge_age(uint32_t flow)
{
	uint64_t fresh = atomic_load(&nics.slots[flow].fresh_tsc);
	struct nic_flow of = nic_flow_of(flow);

	if (!nics.created[flow] || fresh == UINT64_MAX || nic_is_vague(&of))
		return;
	sim_expect(nic_counted_before(flow, fresh) <= of.read + of.unread,
		"flow %u is said to have all up to %llu, and %llu packets before are not read",
		flow, (unsigned long long)fresh,
		(unsigned long long)(nic_counted_before(flow, fresh) - of.read - of.unread));
}

/* It has ended, or is lost, and its last counts may be where nobody can read them. */
static bool
may_lack(uint32_t flow)
{
	return nic_may_forget() && atomic_load(&nics.slots[flow].fresh_tsc) == UINT64_MAX;
}

/* Of what a flow feeds a counter with: that has all that it is said to have (CNTR-23), or all there
 * was, where it tells that the flow has ended. */
static void
judge_source(uint32_t flow, unsigned int kind)
{
	const struct trip_cell *cell = cell_of(nics_fed(flow, kind));
	uint64_t refreshed = atomic_load(&cell->refreshed_tsc);
	uint64_t folded = atomic_load(&nics.folded[flow].of[kind]);
	struct nic_flow of = nic_flow_of(flow);

	if (!nics.created[flow] || nic_is_vague(&of) || may_lack(flow))
		return;
	if (!nics_is_lost(flow))
		sim_expect(nic_counted_before(flow, refreshed) <=
				   nics.fates[flow].before + folded / size_of(kind) + of.unread,
			"counter %u is said to have all up to %llu, and has not all of flow %u",
			nics_fed(flow, kind), (unsigned long long)refreshed, flow);
	else
		sim_expect(!tells_all(nics_fed(flow, kind), errors_of(nics_fed(flow, kind))) ||
				   folded == trip_count_read(&nics.reads[flow].count, kind),
			"counter %u tells that flow %u is lost, and has %llu of %llu",
			nics_fed(flow, kind), flow, (unsigned long long)folded,
			(unsigned long long)trip_count_read(&nics.reads[flow].count, kind));
}

void
nics_judge_home(uint32_t home)
{
	bool looks = sim_look(true);

	for (uint32_t f = 0; f < nics.n_flows; f++) {
		judge_age(f);
		for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
			if (nics_fed(f, kind) / CNTRS == home)
				judge_source(f, kind);
	}
	(void)sim_look(looks);
}

/* Packets that are in a counter which is so old, and tells of all flows that were lost, or not. */
static uint64_t
sure_of(uint32_t flow, uint64_t refreshed, bool is_told)
{
	uint64_t before = nics.fates[flow].before, known = nic_counted_before(flow, refreshed);
	struct nic_flow of = nic_flow_of(flow);
	bool looks = sim_look(true), is_vague = may_lack(flow);

	(void)sim_look(looks);
	if (!nics.created[flow])
		return nics.creates ? before : of.read;
	if (nics_is_lost(flow) && is_told)
		return of.read;
	if (nic_is_vague(&of) || nics_is_lost(flow) || is_vague || known < before + of.unread)
		return before;
	return known - of.unread;
}

/* Which flows there are. */
static uint32_t
count_changes(void)
{
	uint32_t n = nics.creates;

	for (uint32_t f = 0; f < nics.n_flows; f++)
		n += 2 * nics.fates[f].creation - nics.created[f];
	return n;
}

static void
read_cntr(uint32_t cntr)
{
	const struct trip_cell *cell = cell_of(cntr);
	uint32_t changes = count_changes(), kind = cntr % CNTRS;
	uint64_t refreshed = atomic_load_explicit(&cell->refreshed_tsc, memory_order_acquire);
	uint64_t errors = trip_cell_error(cell), value = trip_cell_success(cell), least = 0;

	for (uint32_t f = 0; f < nics.n_flows; f++)
		if (nics_fed(f, kind) == cntr)
			least += size_of(kind) * sure_of(f, refreshed, tells_all(cntr, errors));
	sim_expect(value >= least || changes != count_changes(),
		"counter %u is said to have all up to %llu, and %llu ends, and has %llu of %llu",
		cntr, (unsigned long long)refreshed, (unsigned long long)errors,
		(unsigned long long)value, (unsigned long long)least);
}

void
nics_read(uint32_t flow)
{
	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
		read_cntr(nics_fed(flow, kind));
}

bool __real_trip_cell_adderr(struct trip_cell *cell, uint64_t value);
bool __wrap_trip_cell_adderr(struct trip_cell *cell, uint64_t value);

/* Somebody always reads a counter right when that has told of an end. */
bool
__wrap_trip_cell_adderr(struct trip_cell *cell, uint64_t value)
{
	bool rings = __real_trip_cell_adderr(cell, value), looks = sim_look(true);

	for (uint32_t i = 0; i < nics.engine.n_homes * CNTRS; i++)
		if (i % CNTRS < DONE && cell_of(i) == cell)
			read_cntr(i);
	(void)sim_look(looks);
	return rings;
}

void
nics_judge(void)
{
	unsigned int created = 0;

	if (nic_is_hung())
		return;
	sim_expect(!nics.in_event, "everything rests, and the port is in the middle of an event");
	nics_judge_items();
	nics_client_judge();
	nics_judge_fates();
	judge_sums();
	judge_counts();
	judge_lost();
	for (uint32_t h = 0; h < nics.engine.n_homes; h++)
		nics_judge_home(h);
	for (uint32_t f = 0; f < NIC_FLOWS; f++)
		created += nics.created[f];
	sim_expect(nics.creates || atomic_load(&nics.engine.n_counted) == created,
		"%u flows are there, and %u are counted", created,
		atomic_load(&nics.engine.n_counted));
	/* Those of a device that is away go when it comes back, and not before. */
	sim_expect(nic_may_keep() || nic_is_away() || nic_counters() <= created,
		"%u flows are there, and %u counters", created, nic_counters());
	if (!nics.closed)
		judge_desk();
	else if (!nic_may_keep())
		judge_closed();
}
