/* SPDX-License-Identifier: BSD-3-Clause */
/* What the control thread does with flows, as runtime/flow/ does it. */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "fate.h"
#include "nics.h"

/* So often it looks whether any packet has come. */
#define LOOKS 8

/* --- flows --- */

static void
have_run(struct trip_home *home, uint32_t flow,
	void (*function)(struct trip_home *home, uint32_t arg))
{
	uint32_t mark;

	sim_expect(trip_call_post(home, function, flow), "a home is behind by all calls");
	mark = trip_call_mark(home);
	sim_progress();
	while (!trip_call_ran(home, mark))
		sim_pause();
}

/* Those of its counters. */
static void
each_home(uint32_t flow, void (*function)(struct trip_home *home, uint32_t arg))
{
	uint32_t last = HOMES;

	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++) {
		uint32_t home = nics_fed(flow, kind) / CNTRS;

		if (home != last)
			have_run(nics.engine.homes[home], flow, function);
		last = home;
	}
}

static void
quiesce(void)
{
	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		uint64_t epoch = trip_home_epoch(nics.engine.homes[h]);

		while (!trip_home_quiesced(nics.engine.homes[h], epoch))
			sim_pause();
	}
}

static void
attach(uint32_t flow)
{
	struct trip_flow_slot *slot = &nics.slots[flow];

	trip_count_init(&nics.reads[flow].count);
	nics.reads[flow].moments = (struct trip_count_moments){0};
	nics.folded[flow] = (struct trip_count_folded){0};
	slot->first_queue = 0;
	slot->n_queues = 1;
	nics.fates[flow].creation++;
	nics.fates[flow].before = nic_flow_of(flow).read;
	nics.fates[flow].drops = nics.fates[flow].deleted = false;
	trip_fate_begin(&slot->fate, false);
	atomic_store_explicit(&slot->hard, 1, memory_order_relaxed);
	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++) {
		slot->cntr[kind] = nics_fed(flow, kind);
		atomic_store_explicit(
			&nics.feeds[flow].cntr[kind], slot->cntr[kind], memory_order_release);
	}
	each_home(flow, trip_source_link);
}

static void
detach(uint32_t flow)
{
	struct trip_flow_slot *slot = &nics.slots[flow];

	each_home(flow, trip_source_unlink);
	for (unsigned int kind = 0; kind < TRIP_COUNT_KINDS; kind++)
		atomic_store_explicit(
			&nics.feeds[flow].cntr[kind], TRIP_NONE, memory_order_relaxed);
	atomic_store_explicit(&slot->hard, 0, memory_order_relaxed);
	nics.fates[flow].lost += atomic_load_explicit(&slot->lost, memory_order_relaxed);
	atomic_store_explicit(&slot->lost, false, memory_order_relaxed);
	atomic_store_explicit(&slot->failed, 0, memory_order_relaxed);
	atomic_store_explicit(&nics.actions[flow], 0, memory_order_relaxed);
	trip_rule_fini(&nics.flows[flow].rule);
}

static void
create(const struct act *act)
{
	struct trip_hard_flow *flow = &nics.flows[act->flow];

	if (nics.created[act->flow])
		return;
	/* Between a start and the word of it, whether a rule is of before a stop of which there was
	 * none is not to be known. */
	while (nics.untold)
		sim_pause();
	nics.creates = true;
	sim_op("creates flow %u", act->flow);
	*flow = (struct trip_hard_flow){.index = act->flow, .final = true, .recreate = act->flag};
	sim_expect(trip_rule_init(&flow->rule, 0, 0, nic_pattern(act->flow), NULL) == 0,
		"no memory for a rule");
	attach(act->flow);
	nics.created[act->flow] = nics_try(trip_hard_add, flow) == 0;
	if (!nics.created[act->flow]) {
		sim_tell("which fails");
		detach(act->flow);
	}
	nics.creates = false;
	/* Whoever stops the port without a word waits for that. */
	sim_progress();
}

static void
cancel_all(uint32_t flow)
{
	for (unsigned int i = 0; i < nics.n_items; i++) {
		struct item *item = &nics.items[i];
		struct trip_home *home = nics.engine.homes[item->home];

		if (item->flow != flow || item->canceled)
			continue;
		item->canceled = trip_channel_cancel(&home->clients[0], item->id) == 0;
		if (item->canceled)
			trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, 0);
	}
	sim_progress();
}

static void
await_packets(uint32_t flow)
{
	uint64_t before = nic_flow_of(flow).counted;

	sim_op("waits for packets of flow %u", flow);
	for (unsigned int i = 0; i < LOOKS && nic_flow_of(flow).counted == before; i++)
		sim_pause();
}

/* It is as long as can be until they are in the cache. */
static void
await_round(uint32_t flow)
{
	uint64_t until = sim_now() + 2 * nics.nic.lag;

	sim_op("waits until the pool of flow %u has been asked", flow);
	while (!nic_is_asked_last(flow) && sim_now() < until)
		sim_pause();
	nic_receive(flow, 1);
	sim_tell("a packet of it comes");
}

static void
destroy(uint32_t flow)
{
	if (!nics.created[flow])
		return;
	if (nics.nic.pools > 1)
		await_round(flow);
	else if (nics.comes_late)
		await_packets(flow);
	/* Before the look: from here on nobody queues more. */
	nics.destroys[flow] = true;
	if (nics_client_refers(flow)) {
		nics.destroys[flow] = false;
		return;
	}
	sim_op("destroys flow %u", flow);
	cancel_all(flow);
	quiesce();
	(void)nics_call(trip_hard_retire, &nics.flows[flow]);
	(void)nics_call(trip_hard_remove, &nics.flows[flow]);
	detach(flow);
	nics.created[flow] = nics.destroys[flow] = false;
}

/* As the runtime does: nobody sends to the port any more, and what was sent is settled. */
static void
close_port(void)
{
	uint32_t marks[TRIP_HOMES_MAX];

	while (nics.in_event)
		sim_pause();
	nics.closes = true;
	sim_op("closes the port");
	trip_hard_marks(nics.hard, marks);
	while (!trip_hard_settled(nics.hard, marks))
		sim_pause();
	atomic_store(&nics.engine.desks[0], NULL);
	nics_openings_end();
	quiesce();
	trip_hard_close(nics.hard);
	nics.closed = true;
	sim_expect(nic_alarms() == 0, "the port is closed, and an alarm of it is still to come");
	sim_progress();
}

/* --- work --- */

/* Events that are still to come, or were not taken yet. */
static unsigned int
flagged(uint32_t home)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nics.n_items; i++) {
		const struct item *item = &nics.items[i];

		if (item->home != home)
			continue;
		if (item->time != 0)
			n += item->over ? 0 : 2;
		else
			n += item->told && !item->canceled && item->events == 0;
	}
	return n;
}

/* Room for what tells of its end, too. */
static int
take_slot(struct trip_channel_client *channel, const struct item *item, uint32_t *end)
{
	uint32_t returned = trip_channel_returned(channel);

	return item->time != 0 ? trip_channel_alloc_more(channel, returned, end, 1)
			       : trip_channel_alloc(channel, returned);
}

static struct item
make_item(const struct act *act, uint32_t home)
{
	bool has_room = flagged(home) + 1 < SLOTS;

	return (struct item){.threshold = nics_reached(nics_cntr(act->flow)) + act->threshold,
		.flow = act->flow,
		.creation = nics.fates[act->flow].creation,
		.home = home,
		.completion = act->home,
		.opening = nics.openings[act->home],
		.time = act->op == TRIP_OP_FLOW_DROP && has_room ? act->time : 0,
		.told = (act->flag || act->time != 0 || nics.tells_all) && has_room};
}

static void
queue(const struct act *act)
{
	struct trip_home *home = nics.engine.homes[nics_cntr(act->flow) / CNTRS];
	struct item *item = &nics.items[nics.n_items];
	uint32_t end = TRIP_NONE;
	int slot;

	/* Work on a flow that is none is refused where it is queued. */
	if (!nics.created[act->flow] || nics.n_items == ITEMS)
		return;
	sim_op("queues an operation on flow %u", act->flow);
	*item = make_item(act, home->index);
	slot = take_slot(&home->clients[0], item, &end);
	if (slot < 0)
		return;
	*trip_channel_desc(&home->clients[0], (uint32_t)slot) =
		(struct trip_work_desc){.threshold = item->threshold,
			.context = nics.n_items++,
			.trigger = nics_cntr(act->flow),
			.target = act->flow,
			.completion = act->home * CNTRS + DONE,
			.op = act->op,
			.value = item->time,
			.end = end + 1,
			.flags = item->told ? TRIP_WORK_COMPLETION : 0};
	sim_expect(trip_channel_submit(&home->clients[0], (uint32_t)slot, &item->id) == 0,
		"the channel is garbage");
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, 0);
	sim_tell("%s, at %llu",
		act->op == TRIP_OP_FLOW_DELETE ? "delete"
		: act->op == TRIP_OP_FLOW_DROP ? "drop"
					       : "pass",
		(unsigned long long)item->threshold);
	sim_progress();
}

void
nics_control(void *arg)
{
	for (unsigned int i = 0; i < nics.n_acts; i++) {
		const struct act *act = &nics.acts[i];

		sim_phase(1 + act->number);
		switch (act->kind) {
		case ACT_CREATE:
			create(act);
			break;
		case ACT_DESTROY:
			destroy(act->flow);
			break;
		case ACT_QUERY:
			sim_op("reads flow %u", act->flow);
			if (nics.created[act->flow])
				(void)nics_call(trip_hard_query, &nics.flows[act->flow]);
			break;
		case ACT_QUEUE:
			for (uint32_t n = 0; n < act->n; n++)
				queue(act);
			nics_reopen(act->home);
			break;
		default:
			sim_op("rests");
			sim_rest();
		}
	}
	sim_phase(1 + ACTS);
	if (nics.ends)
		nics_client_await();
	for (uint32_t f = 0; f < nics.n_flows && nics.ends; f++)
		destroy(f);
	if (nics.ends)
		close_port();
}
