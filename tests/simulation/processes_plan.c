/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws who does what. */
#include <rte_common.h>

#include "processes.h"

/* Counters that each opens before it waits. */
#define OPENED 2
/* As long as that, at least: nanoseconds. */
#define RESENDS_AFTER 1200000
/* Where that is all, each takes longer. */
#define DOOR_ACTS 24
/* Acts of a process that leaves garbage, where many do. */
#define GARBAGE_EVERY 10
/* The longest that a counter is to rest, in nanoseconds. */
#define RESTS_MAX 4096
/* Of a loop that spins before it sleeps: trip_progress_wait_burst(). */
#define SPINS_MAX 20000

static uint32_t
draw(uint32_t bound)
{
	return (uint32_t)sim_draw(bound);
}

/* Of each kind so many, in the order of enum act_kind. */
static const uint8_t client_weights[ACT_KINDS] = {[ACT_ATTACH] = 8,
	[ACT_DETACH] = 3,
	[ACT_EXIT] = 1,
	[ACT_EXEC] = 1,
	[ACT_COUNTERS] = 1,
	[ACT_HOSTILE] = 1,
	[ACT_SCRIBBLE] = 1,
	[ACT_OPEN] = 8,
	[ACT_FIND] = 3,
	[ACT_ADD] = 8,
	[ACT_WAIT] = 6,
	[ACT_CLOSE] = 3,
	[ACT_QUEUE] = 8,
	[ACT_CANCEL] = 3,
	[ACT_FLUSH] = 1,
	[ACT_READ] = 2,
	[ACT_THREAD] = 1,
	[ACT_FORK] = 1,
	[ACT_FLOW] = 4,
	[ACT_UNFLOW] = 1,
	[ACT_BURST] = 4,
	[ACT_RELEASE] = 1,
	[ACT_REST] = 2,
	[ACT_LACK] = 2};
static const uint8_t primary_weights[ACT_KINDS] = {[ACT_OPEN] = 3,
	[ACT_FIND] = 1,
	[ACT_ADD] = 3,
	[ACT_WAIT] = 1,
	[ACT_CLOSE] = 2,
	[ACT_QUEUE] = 4,
	[ACT_CANCEL] = 1,
	[ACT_FLUSH] = 1,
	[ACT_READ] = 1,
	[ACT_THREAD] = 1,
	[ACT_FORK] = 1,
	[ACT_REST] = 3,
	[ACT_LACK] = 3,
	[ACT_OPEN_DOMAIN] = 5,
	[ACT_FLOW] = 3,
	[ACT_UNFLOW] = 1,
	[ACT_BURST] = 6,
	[ACT_RELEASE] = 1,
	[ACT_CLOSE_DOMAIN] = 2};
static const uint8_t operator_weights[ACT_KINDS] = {[ACT_KILL] = 2, [ACT_STOP] = 2, [ACT_REST] = 2};

/* Some histories are about who comes and goes, and no more. Those who have waited for a rest go on
 * at the same time. */
static const uint8_t coming_weights[ACT_KINDS] = {
	[ACT_ATTACH] = 6, [ACT_DETACH] = 6, [ACT_EXIT] = 1, [ACT_FORK] = 1, [ACT_REST] = 4};
static const uint8_t door_weights[ACT_KINDS] = {
	[ACT_OPEN_DOMAIN] = 6, [ACT_CLOSE_DOMAIN] = 4, [ACT_FORK] = 1, [ACT_REST] = 4};
/* And some are about flows, and what processes leave of them. */
static const uint8_t counting_weights[ACT_KINDS] = {[ACT_ATTACH] = 4,
	[ACT_DETACH] = 1,
	[ACT_EXIT] = 1,
	[ACT_EXEC] = 1,
	[ACT_OPEN] = 4,
	[ACT_FIND] = 2,
	[ACT_WAIT] = 1,
	[ACT_CLOSE] = 1,
	[ACT_QUEUE] = 6,
	[ACT_CANCEL] = 1,
	[ACT_FORK] = 1,
	[ACT_FLOW] = 8,
	[ACT_UNFLOW] = 3,
	[ACT_BURST] = 12,
	[ACT_RELEASE] = 1,
	[ACT_REST] = 2,
	[ACT_LACK] = 1};
static const uint8_t port_weights[ACT_KINDS] = {[ACT_OPEN] = 4,
	[ACT_ADD] = 1,
	[ACT_QUEUE] = 2,
	[ACT_FORK] = 1,
	[ACT_FLOW] = 4,
	[ACT_UNFLOW] = 1,
	[ACT_BURST] = 3,
	[ACT_RELEASE] = 2,
	[ACT_REST] = 6,
	[ACT_LACK] = 1,
	[ACT_OPEN_DOMAIN] = 2,
	[ACT_CLOSE_DOMAIN] = 1};

/* And some about who waits, and by what. */
static const uint8_t waiting_weights[ACT_KINDS] = {[ACT_ATTACH] = 2,
	[ACT_DETACH] = 1,
	[ACT_EXIT] = 1,
	[ACT_EXEC] = 1,
	[ACT_OPEN] = 16,
	[ACT_FIND] = 12,
	[ACT_ADD] = 32,
	[ACT_WAIT] = 4,
	[ACT_CLOSE] = 10,
	[ACT_QUEUE] = 4,
	[ACT_REST] = 16,
	[ACT_LACK] = 3,
	[ACT_CHANGE] = 12,
	[ACT_WAITER] = 32,
	[ACT_UNWAIT] = 8,
	[ACT_SET] = 12,
	[ACT_ASK] = 8,
	[ACT_POLLS] = 12,
	[ACT_POLL] = 24};
static const uint8_t waited_weights[ACT_KINDS] = {[ACT_OPEN] = 16,
	[ACT_FIND] = 8,
	[ACT_ADD] = 32,
	[ACT_WAIT] = 2,
	[ACT_CLOSE] = 4,
	[ACT_QUEUE] = 4,
	[ACT_REST] = 20,
	[ACT_CHANGE] = 8,
	[ACT_WAITER] = 24,
	[ACT_UNWAIT] = 6,
	[ACT_SET] = 8,
	[ACT_ASK] = 4,
	[ACT_POLLS] = 8,
	[ACT_POLL] = 16,
	[ACT_OPEN_DOMAIN] = 2,
	[ACT_CLOSE_DOMAIN] = 1};

static enum act_kind
draw_kind(const uint8_t *weights)
{
	uint32_t sum = 0, at, kind;

	for (kind = 0; kind < ACT_KINDS; kind++)
		sum += weights[kind];
	at = draw(sum);
	for (kind = 0; at >= weights[kind]; kind++)
		at -= weights[kind];
	return (enum act_kind)kind;
}

static struct act_work
draw_work(void)
{
	static const enum trip_op ops[] = {TRIP_OP_CNTR_ADD, TRIP_OP_CNTR_ADD, TRIP_OP_CNTR_ADD,
		TRIP_OP_CNTR_SET, TRIP_OP_CNTR_FILL, TRIP_OP_CNTR_RAISE, TRIP_OP_CALL, TRIP_OP_CALL,
		TRIP_OP_FLOW_DROP, TRIP_OP_FLOW_DROP, TRIP_OP_FLOW_PASS, TRIP_OP_FLOW_DELETE};
	/* The last are about flows. */
	uint32_t among = processes.flows ? 6 : RTE_DIM(ops);
	struct act_work work = {.op = ops[RTE_DIM(ops) - 1 - draw(among)]};

	work.flags = draw(3) == 0 ? TRIP_WORK_COMPLETION : 0;
	work.flags |= draw(2) == 0 ? TRIP_WORK_COALESCE : 0;
	work.target = draw(HANDLES);
	work.completion = draw(HANDLES);
	work.by_clock = draw(8) == 0;
	work.completes = draw(2) == 0;
	work.threshold = draw(2 + draw(10));
	work.interval = draw(4) == 0 ? 1 + draw(4) : 0;
	work.value = 1 + draw(4);
	work.rests = draw(8) == 0 ? 1 + draw(RESTS_MAX) : 0;
	work.n = 1 + draw(draw(4) == 0 ? 20 : 3);
	work.chains = draw(4) == 0;
	return work;
}

static void
draw_plan(struct plan *plan, const uint8_t *weights, uint32_t most)
{
	static const int objects[] = {TRIP_WAIT_NONE, TRIP_WAIT_UNSPEC, TRIP_WAIT_YIELD,
		TRIP_WAIT_FD, TRIP_WAIT_MUTEX_COND};
	uint32_t n = draw(most + 1);

	for (uint32_t i = 0; i < n; i++) {
		struct act act = {.kind = draw_kind(weights), .number = i};

		/* Now and then it is the primary. */
		act.who = draw(act.kind == ACT_STOP ? 2 : 8) == 0 ? PRIMARY : draw(CLIENTS);
		act.handle = draw(HANDLES);
		act.value = 1 + draw(8);
		act.ms = draw(3);
		act.seed = draw(1u << 16);
		act.delay = draw(64);
		act.delay <<= draw(10);
		act.name = draw(2) == 0 ? 0 : 1 + draw(NAMES);
		act.wait_obj = objects[draw(RTE_DIM(objects))];
		act.work = draw_work();
		/* Nobody attaches before the first has done so. */
		if (i == 0 && weights[ACT_ATTACH] > 0)
			act.kind = ACT_ATTACH;
		if (i <= 1 && weights[ACT_OPEN_DOMAIN] > 0)
			act.kind = i == 0 && draw(2) == 0 ? ACT_LACK : ACT_OPEN_DOMAIN;
		/* Nobody finds a port that is not there. */
		if (i >= 2 && i <= 4 && weights == port_weights)
			act.kind = i == 2 ? ACT_OPEN : i == 3 ? ACT_FLOW : ACT_REST;
		if (sim_wants())
			plan->acts[plan->n++] = act;
	}
}

/* The primary's completion events are soon more than there is room for. */
static void
fill_events(void)
{
	struct plan *plan = &processes.users[PRIMARY].plan;

	processes.attr.max_events = 1 + draw(3);
	for (unsigned int i = 0; i < plan->n; i++)
		plan->acts[i].work.flags |= TRIP_WORK_COMPLETION;
}

/* In some, processes leave garbage again and again, and others come in their places. */
static void
plan_garbage(struct plan *plan, uint32_t which)
{
	for (unsigned int i = 0; i < plan->n; i++) {
		struct act *act = &plan->acts[i];

		if (act->number > 2 && act->number % GARBAGE_EVERY == which)
			act->kind = ACT_SCRIBBLE;
		else if (act->number > 2 && (act->number - 1) % GARBAGE_EVERY == which)
			act->kind = ACT_ATTACH;
	}
}

/* What others find is what is waited for. */
static void
wait_instead(struct act *act, enum act_kind kind)
{
	static const enum trip_wait_obj objects[] = {TRIP_WAIT_FD, TRIP_WAIT_SET, TRIP_WAIT_FD,
		TRIP_WAIT_MUTEX_COND, TRIP_WAIT_SET, TRIP_WAIT_FD, TRIP_WAIT_YIELD,
		TRIP_WAIT_UNSPEC};

	act->kind = kind;
	act->wait_obj = objects[act->seed / 2 % RTE_DIM(objects)];
	/* Such a counter may jump: not for each of so many intervals. */
	act->work.op = TRIP_OP_CNTR_ADD;
	act->work.interval = 0;
	if (act->seed % 4 > 0)
		act->name = 1 + act->seed % NAMES;
}

/* The first attach, or open the domain, and then counters. */
static void
plan_waits(struct plan *plan, const uint8_t *weights, uint32_t first)
{
	enum act_kind kinds[ACTS];

	for (uint32_t i = 0; i < ACTS; i++) {
		kinds[i] = draw_kind(weights);
		if (i < first + OPENED)
			kinds[i] = ACT_OPEN;
	}
	for (unsigned int i = 0; i < plan->n; i++)
		if (plan->acts[i].number >= first)
			wait_instead(&plan->acts[i], kinds[plan->acts[i].number]);
}

/* In some of these one has a set and a thread that waits by its descriptor, while a member changes
 * a few times and everything rests, again and again. */
static void
plan_set(struct plan *plan, uint32_t first)
{
	static const enum act_kind kinds[] = {
		ACT_ADD, ACT_ADD, ACT_ADD, ACT_REST, ACT_ADD, ACT_CHANGE, ACT_ADD, ACT_REST};

	for (unsigned int i = 0; i < plan->n; i++) {
		struct act *act = &plan->acts[i];

		if (act->number < first)
			continue;
		act->kind = kinds[act->number % RTE_DIM(kinds)];
		if (act->number > first + 1)
			continue;
		/* By these bits the set is chosen, its descriptor, and that it is waited for. */
		act->kind = act->number == first ? ACT_OPEN : ACT_WAITER;
		act->wait_obj = TRIP_WAIT_SET;
		act->value |= 1;
		act->seed = (act->seed & ~11u) | 2;
	}
}

static void
plan_one_set(bool of_client)
{
	for (uint32_t i = of_client; i < CLIENTS; i++)
		processes.users[i].plan.n = 0;
	plan_set(&processes.users[0].plan, 1);
	plan_set(&processes.users[PRIMARY].plan, 2);
	processes.operator.n = 0;
	processes.lets_go_on = true;
}

/* In some each has a poll set, and asks it before and behind each change of a member. */
static void
plan_polls(struct plan *plan, uint32_t first)
{
	static const enum act_kind kinds[] = {
		ACT_CHANGE, ACT_POLL, ACT_CHANGE, ACT_POLL, ACT_ADD, ACT_POLL};

	for (unsigned int i = 0; i < plan->n; i++) {
		struct act *act = &plan->acts[i];

		if (act->number < first + OPENED)
			continue;
		act->kind = kinds[act->number % RTE_DIM(kinds)];
		/* By these bits it is always one set, and all are members. */
		act->value &= ~1u;
		if (act->number > first + OPENED)
			continue;
		act->kind = ACT_POLLS;
		act->seed |= 2;
	}
}

static void
plan_all_polls(void)
{
	for (uint32_t i = 0; i < CLIENTS; i++)
		plan_polls(&processes.users[i].plan, 1);
	plan_polls(&processes.users[PRIMARY].plan, 2);
}

static void
plan_all_waits(void)
{
	processes.waits = true;
	/* A home has a timer for what it could not signal. */
	sim_machine_tries_again(RESENDS_AFTER);
	processes.reopens = processes.flows = false;
	processes.attr.max_cntrs = 8;
	processes.attr.max_waiters = 16;
	for (uint32_t i = 0; i < CLIENTS; i++)
		plan_waits(&processes.users[i].plan, waiting_weights, 1);
	plan_waits(&processes.users[PRIMARY].plan, waited_weights, 2);
	if (draw(3) == 0)
		plan_one_set(draw(3) == 0);
}

/* Some processes have signals, now and then or nearly all the time. */
static void
draw_signals(void)
{
	for (uint32_t i = 0; i <= CLIENTS; i++) {
		uint32_t every = draw(4) == 0 ? 2 + draw(1u << draw(6)) : 0;

		if (every != 0 && sim_wants())
			processes.users[i].interrupts_every = every;
	}
}

void
processes_plan(void)
{
	uint32_t clients = 1 + draw(CLIENTS);
	uint32_t about = draw(7);
	bool dangerous = draw(2) == 0, doors = about < 2, reuses = draw(3) == 0;
	const uint8_t *ours = doors       ? coming_weights
			      : about < 4 ? counting_weights
					  : client_weights,
		      *primary = doors       ? door_weights
				 : about < 4 ? port_weights
					     : primary_weights;

	if (reuses && sim_wants())
		sim_machine_reuse_pids();
	processes.doors = doors;
	processes.flows = !doors && about < 4;
	processes.lcores[0] = 1;
	processes.lcores[1] = 2;
	processes.attr = (struct trip_domain_attr){
		.size = sizeof(processes.attr),
		.progress = TRIP_PROGRESS_LCORE,
		.lcores = processes.lcores,
		.max_cntrs = 8,
		.max_works = 16,
		.max_waiters = 8,
		.max_flows = 3,
		.max_queues = QUEUES,
		.max_functions = 1,
		.max_events = 16,
		.max_process_works = 16,
		.max_thread_works = 16,
		/* Passes of the scrub are told apart from what it repairs. */
		.scrub_us = UINT32_MAX,
		.refresh_us = UINT32_MAX,
	};
	processes.attr.n_lcores = 1 + draw(2);
	processes.attr.max_processes = draw(3) == 0 ? 1 + draw(CLIENTS) : CLIENTS;
	processes.attr.max_process_threads = draw(2);
	processes.files = draw(4) == 0 ? 6 + draw(8) : 0;
	for (uint32_t i = 0; i < clients; i++)
		draw_plan(&processes.users[i].plan, ours, doors ? DOOR_ACTS : ACTS);
	draw_plan(&processes.users[PRIMARY].plan, primary, doors ? DOOR_ACTS : ACTS);
	/* What is to rest has, and who spins sleeps. */
	sim_patience(RTE_MAX(4 * RESTS_MAX, 2 * SPINS_MAX));
	if (dangerous || reuses)
		draw_plan(&processes.operator, operator_weights, 8);
	if (draw(4) == 0)
		fill_events();
	processes.reopens = !doors && draw(3) == 0;
	/* So that indices are used again soon. */
	if (processes.reopens)
		processes.attr.max_cntrs = 2 + draw(7);
	if (!doors && draw(6) == 0)
		for (uint32_t i = 0; i < clients; i++)
			plan_garbage(&processes.users[i].plan, draw(GARBAGE_EVERY));
	draw_signals();
	if (!doors && draw(3) == 0)
		plan_all_waits();
	processes.closes = draw(2) == 0 && sim_wants();
	if (processes.waits && draw(4) == 0)
		plan_all_polls();
}
