/* SPDX-License-Identifier: BSD-3-Clause */
/* What the control thread does with flows, as runtime/flow/ does it, and what holds when everything
 * rests. */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "nics.h"

/* --- flows --- */

static void
have_run(uint32_t flow, void (*function)(struct trip_home *home, uint32_t arg))
{
	struct trip_home *home = nics.engine.homes[nics_cntr(flow) / CNTRS];
	uint32_t mark;

	sim_expect(trip_call_post(home, function, flow), "a home is behind by all calls");
	mark = trip_call_mark(home);
	sim_progress();
	while (!trip_call_ran(home, mark))
		sim_pause();
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

static int
call(int (*run)(struct trip_hard *hard, struct trip_hard_call *call), uint32_t flow)
{
	struct rte_flow_error error = {0};
	struct trip_hard_call call = {.run = run, .flow = &nics.flows[flow], .error = &error};
	int result;

	sim_progress();
	do
		result = trip_hard_call(nics.hard, &call);
	while (result == -EAGAIN);
	sim_progress();
	return result;
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
	slot->cntr[TRIP_COUNT_KIND_PACKETS] = nics_cntr(flow);
	slot->cntr[TRIP_COUNT_KIND_BYTES] = TRIP_NONE;
	atomic_store_explicit(&slot->hard, 1, memory_order_relaxed);
	atomic_store_explicit(&nics.feeds[flow].cntr[TRIP_COUNT_KIND_PACKETS], nics_cntr(flow),
		memory_order_release);
	atomic_store_explicit(
		&nics.feeds[flow].cntr[TRIP_COUNT_KIND_BYTES], TRIP_NONE, memory_order_release);
	have_run(flow, trip_source_link);
}

static void
detach(uint32_t flow)
{
	struct trip_flow_slot *slot = &nics.slots[flow];

	have_run(flow, trip_source_unlink);
	atomic_store_explicit(
		&nics.feeds[flow].cntr[TRIP_COUNT_KIND_PACKETS], TRIP_NONE, memory_order_relaxed);
	atomic_store_explicit(&slot->hard, 0, memory_order_relaxed);
	nics.lost += atomic_load_explicit(&slot->lost, memory_order_relaxed);
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
	sim_op("creates flow %u", act->flow);
	*flow = (struct trip_hard_flow){.index = act->flow, .final = true, .recreate = act->flag};
	sim_expect(trip_rule_init(&flow->rule, 0, 0, nic_pattern(act->flow), NULL) == 0,
		"no memory for a rule");
	attach(act->flow);
	nics.created[act->flow] = call(trip_hard_add, act->flow) == 0;
	if (!nics.created[act->flow]) {
		sim_tell("which fails");
		detach(act->flow);
	}
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
destroy(const struct act *act)
{
	if (!nics.created[act->flow])
		return;
	sim_op("destroys flow %u", act->flow);
	cancel_all(act->flow);
	quiesce();
	(void)call(trip_hard_retire, act->flow);
	(void)call(trip_hard_remove, act->flow);
	detach(act->flow);
	nics.created[act->flow] = false;
}

/* --- work --- */

static unsigned int
flagged(uint32_t home)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nics.n_items; i++)
		n += nics.items[i].home == home && nics.items[i].told && !nics.items[i].canceled &&
		     nics.items[i].events == 0;
	return n;
}

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

static uint64_t
reached_of(uint32_t cntr)
{
	return sum_of(cntr) + errors_of(cntr);
}

static void
queue(const struct act *act)
{
	struct trip_home *home = nics.engine.homes[nics_cntr(act->flow) / CNTRS];
	struct item *item = &nics.items[nics.n_items];
	int slot;

	/* Work on a flow that is none is refused where it is queued. */
	if (!nics.created[act->flow] || nics.n_items == ITEMS)
		return;
	sim_op("queues an operation on flow %u", act->flow);
	slot = trip_channel_alloc(&home->clients[0]);
	if (slot < 0)
		return;
	*item = (struct item){.threshold = reached_of(nics_cntr(act->flow)) + act->threshold,
		.flow = act->flow,
		.home = home->index,
		.told = act->flag && flagged(home->index) < SLOTS};
	*trip_channel_desc(&home->clients[0], (uint32_t)slot) =
		(struct trip_work_desc){.threshold = item->threshold,
			.context = nics.n_items++,
			.trigger = nics_cntr(act->flow),
			.target = act->flow,
			.completion = (act->n % nics.engine.n_homes) * CNTRS + DONE,
			.op = act->op,
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

static void
restart(void)
{
	sim_op("stops the port");
	(void)call(trip_hard_stopping, 0);
	nic_stop();
	sim_op("starts the port");
	nic_start();
	(void)call(trip_hard_started, 0);
}

void
nics_control(void *arg)
{
	for (unsigned int i = 0; i < nics.n_acts; i++) {
		const struct act *act = &nics.acts[i];

		sim_act(1 + act->number);
		switch (act->kind) {
		case ACT_CREATE:
			create(act);
			break;
		case ACT_DESTROY:
			destroy(act);
			break;
		case ACT_QUERY:
			sim_op("reads flow %u", act->flow);
			if (nics.created[act->flow])
				(void)call(trip_hard_query, act->flow);
			break;
		case ACT_QUEUE:
			for (uint32_t n = 0; n < act->n; n++)
				queue(act);
			break;
		case ACT_RESTART:
			restart();
			break;
		default:
			sim_op("rests");
			sim_rest();
		}
	}
}

/* --- when everything rests --- */

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

		read[nics_cntr(f) / CNTRS] += flow.read;
		sim_expect(nic_may_forget() || flow.counted == flow.read + flow.unread,
			"of flow %u %llu packets were counted, %llu of them read and %llu lost", f,
			(unsigned long long)flow.counted, (unsigned long long)flow.read,
			(unsigned long long)flow.unread);
		sim_expect(flow.unread == 0 || !nics.nic.shared || nic_may_forget(),
			"of flow %u %llu packets were counted, and never read", f,
			(unsigned long long)flow.unread);
		sim_expect(flow.rules <= 1, "flow %u has %u rules", f, flow.rules);
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
	sim_expect(errors == lost, "%llu flows were lost, and %llu errors counted",
		(unsigned long long)lost, (unsigned long long)errors);
}

static void
judge_items(void)
{
	uint64_t fired = 0, done = 0;

	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		take_events(nics.engine.homes[h]);
		done += reached_of(h * CNTRS + DONE);
	}
	for (unsigned int i = 0; i < nics.n_items; i++) {
		const struct item *item = &nics.items[i];
		bool is_due =
			!item->canceled && item->threshold <= reached_of(nics_cntr(item->flow));

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

void
nics_judge(void)
{
	unsigned int created = 0;

	judge_desk();
	judge_items();
	judge_counts();
	judge_lost();
	for (uint32_t f = 0; f < NIC_FLOWS; f++)
		created += nics.created[f];
	sim_expect(nic_counters() <= created, "%u flows are there, and %u counters", created,
		nic_counters());
}
