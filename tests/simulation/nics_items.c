/* SPDX-License-Identifier: BSD-3-Clause */
/* What has become of operations, and what they have made of their flows; drops for a time, which
 * end (DATA-10). */
#include "lasting.h"
#include "node.h"
#include "nics.h"

/* More ticks than a home needs for two looks. */
#define LOOKS 4096
/* Acts, of which a third are drops that something else may fail to end: few, as what fails goes by
 * all calls of the driver before, and no story leaves these out. */
#define FAILURES 7
#define CALLS 1024
/* Longer than any history. */
#define EVER (UINT64_C(1) << 40)

void __real_trip_lasting_fired(
	struct trip_home *home, uint32_t index, struct trip_event *event, bool more);
void __wrap_trip_lasting_fired(
	struct trip_home *home, uint32_t index, struct trip_event *event, bool more);

/* Nothing rests before it has ended: who has had nothing to do for half of the patience is done. */
void
__wrap_trip_lasting_fired(
	struct trip_home *home, uint32_t index, struct trip_event *event, bool more)
{
	struct item *item = &nics.items[home->nodes[index].context];
	uint64_t patience = nics_patience() / 2;

	sim_tell("a drop of flow %u begins, for %llu", item->flow, (unsigned long long)item->time);
	__real_trip_lasting_fired(home, index, event, more);
	/* A clock rounds down. */
	item->late = sim_now() + item->time + 1;
	if (item->time != EVER)
		sim_until(item->late + patience + LOOKS);
}

/* One flow, which drops for a time, again and again, and what may end that, and fail, comes
 * meanwhile. */
static void
plan_failures(void)
{
	nics.n_acts = 0;
	nic_count_calls((uint32_t)sim_draw(CALLS));
	for (uint32_t i = 0; i < FAILURES; i++) {
		struct act act = {.number = i,
			.kind = i == 0       ? ACT_CREATE
				: i % 3 == 0 ? ACT_REST
					     : ACT_QUEUE,
			.n = 1 + (uint32_t)sim_draw(3),
			.op = i % 3 == 1 ? TRIP_OP_FLOW_DROP : TRIP_OP_FLOW_PASS};

		if (i == FAILURES - 2 && sim_draw(2) == 0)
			act.op = TRIP_OP_FLOW_DELETE;
		if (sim_wants())
			nics.acts[nics.n_acts++] = act;
	}
}

static uint64_t
draw_time(void)
{
	uint64_t scale = 9 + sim_draw(5);

	return (1 + sim_draw(16)) << scale;
}

void
nics_lasting_begin(void)
{
	if (sim_draw(3) != 0)
		return;
	if (nics.nic.bad_rules != 0)
		plan_failures();
	for (unsigned int i = 0; i < nics.n_acts; i++) {
		uint64_t time = draw_time();

		nics.acts[i].time = sim_draw(4) == 0 ? EVER : time;
	}
}

static void
note_done(struct nics_fate *fate, struct item *item, uint8_t op)
{
	fate->deleted |= op == TRIP_OP_FLOW_DELETE;
	item->lasts = item->time != 0;
	item->began = fate->passes;
	if (op == TRIP_OP_FLOW_DROP) {
		fate->drops |= !item->lasts;
	} else {
		fate->drops = false;
		fate->passes++;
	}
}

/* Operations on a flow are told of by one home, in their order. */
static void
take_event(const struct trip_event *event)
{
	struct item *item = &nics.items[event->context];
	struct nics_fate *fate = &nics.fates[item->flow];

	item->events++;
	if ((event->flags & TRIP_WORK_END) != 0) {
		sim_expect(item->has_end, "the drop of item %u ends, and had not begun",
			(unsigned int)(item - nics.items));
		item->has_end = item->lasts = false;
		return;
	}
	item->has_end = (event->flags & TRIP_WORK_MORE) != 0;
	if (event->op_type == TRIP_OP_FLOW_DELETE && event->result != 0)
		fate->refused = item->creation;
	if (item->creation != fate->creation || event->result != 0)
		return;
	sim_expect(!fate->deleted, "item %u is said to be done to flow %u, which was deleted",
		(unsigned int)(item - nics.items), item->flow);
	note_done(fate, item, event->op_type);
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

/* What was canceled may have begun before. */
static void
judge_lasting(unsigned int number, bool due)
{
	struct item *item = &nics.items[number];

	item->over = item->canceled || (item->events > 0 && !item->has_end);
	sim_expect(item->canceled || (item->events > 0) == due,
		"item %u, a drop for a time, was to be told of %d times, and was %u times", number,
		due, item->events);
	/* A home may have been stopped since. */
	sim_expect(item->canceled || item->time == EVER || !item->has_end ||
			   nics.engine.homes[item->home]->now < item->late + LOOKS,
		"the drop of item %u does not end", number);
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

		if (item->time != 0) {
			judge_lasting(i, due);
			due = item->events > 0;
		} else {
			sim_expect(item->events == (due && item->told),
				"item %u was to be told of %d times, and was %u times", i,
				due && item->told, item->events);
		}
		fired[item->completion] += due && item->opening == nics.openings[item->completion];
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

/* For ever, or as something lasts that began behind the last pass. */
static bool
is_to_drop(uint32_t flow)
{
	const struct nics_fate *fate = &nics.fates[flow];

	for (unsigned int i = 0; i < nics.n_items; i++) {
		const struct item *item = &nics.items[i];

		if (item->flow == flow && item->creation == fate->creation && item->lasts &&
			!item->canceled && item->began == fate->passes)
			return true;
	}
	return fate->drops;
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

		/* The worker is to try again what has failed at the end of a drop. */
		if (!nics.created[f] || fate->meddled == fate->creation || nics_is_lost(f) ||
			flow.stuck > 0 || !is_all_told(f) || atomic_load(&nics.slots[f].owed))
			continue;
		sim_expect(!gone || flow.rules == 0,
			"flow %u is said to be deleted, and has %u rules", f, flow.rules);
		sim_expect(gone || flow.drops == is_to_drop(f),
			"flow %u is said to %s, and does not", f, is_to_drop(f) ? "drop" : "pass");
	}
}
