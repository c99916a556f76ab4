/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws how large the world is, and what its users do. */
#include <string.h>

#include <rte_common.h>

#include "homes.h"

/* How much there is of everything: little of it finds what much of it repairs. Thresholds are as
 * low as the counters come. */
static struct {
	uint32_t acts, range, used, bursts;
	/* Of so many acts one is the last of its round. */
	uint32_t round;
	/* Kinds that are left out: what is done seldom is done often where others are not. */
	bool without[ACT_KINDS];
	/* Counters are set again and again. */
	bool restless;
} scale;

static uint32_t
draw(uint32_t bound)
{
	return (uint32_t)sim_draw(bound);
}

/* Mostly few. */
static uint32_t
draw_size(unsigned int log2)
{
	return draw(1u << draw(log2 + 1)) + 1;
}

/* Mostly one, at times many. */
static uint32_t
draw_few(uint32_t many)
{
	return draw(4) == 0 ? 1 + draw(many) : 1;
}

/* A few counters, so that whoever is there meets the others. */
static uint32_t
draw_cntr(void)
{
	uint32_t at = draw(scale.used);

	return at % homes.engine.n_homes * CNTRS + at / homes.engine.n_homes % CALLED;
}

/* Above the trigger, so that no chain goes in a circle; or one that only counts, where it would
 * come to much. */
static uint32_t
draw_target(const struct act *act)
{
	uint32_t target = draw_cntr();

	return target > act->cntr && act->interval == 0 && draw(2) == 0
		       ? target
		       : draw(homes.engine.n_homes) * CNTRS + ADDED;
}

static void
draw_op(struct act *act)
{
	act->target = 0;
	act->op = TRIP_OP_CALL;
	switch (draw(8)) {
	case 0:
	case 1:
		act->op = TRIP_OP_CNTR_ADD;
		break;
	case 2:
		act->op = TRIP_OP_CNTR_FILL;
		break;
	case 3:
		act->op = TRIP_OP_CNTR_SET;
		break;
	default:
		act->chains = draw(8) == 0;
		return;
	}
	act->target = draw_target(act);
	if (act->op == TRIP_OP_CNTR_SET && !homes.sets[act->target])
		act->op = TRIP_OP_CNTR_ADD;
	else if (act->op == TRIP_OP_CNTR_SET && act->value % 2 == 0)
		act->op = TRIP_OP_CNTR_RESET;
}

/* It waits until its counter rests. */
static void
draw_rest(struct act *act)
{
	act->part = &homes_idle;
	act->parameters[0] = draw(1u << draw(14));
	if (draw(4) > 0) {
		act->op = TRIP_OP_CALL;
		act->target = 0;
	}
}

/* Of a clock: in a while. */
static void
draw_clock(struct act *act)
{
	act->cntr = homes_cntrs() + draw(homes.engine.n_homes);
	act->threshold = draw(4096);
	act->op = TRIP_OP_CALL;
}

static void
draw_work(struct act *act)
{
	if (draw(8) == 0) {
		draw_clock(act);
	} else {
		act->threshold = draw(3) == 0 ? 0 : draw(scale.range);
		act->interval = draw(4) == 0 ? 3 + draw(scale.range) : 0;
		draw_op(act);
		if (homes.idles && draw(2) == 0)
			draw_rest(act);
	}
	act->n = draw_few(act->interval != 0 ? 4 : SLOTS_MAX);
	act->channel = draw(1 + homes.shape.n_threads);
	if (draw(act->interval != 0 ? 2 : 3) == 0)
		act->flags |= TRIP_WORK_COMPLETION;
	if (act->interval != 0 && draw(2) == 0)
		act->flags |= TRIP_WORK_COALESCE;
}

static enum act_kind
draw_kind(void)
{
	static const uint8_t weights[ACT_KINDS] = {[ACT_ADD] = 8,
		[ACT_SET] = 3,
		[ACT_ADDERR] = 1,
		[ACT_QUEUE] = 8,
		[ACT_SWING] = 1,
		[ACT_TIMER] = 1,
		[ACT_CANCEL] = 4,
		[ACT_WAIT] = 4,
		[ACT_WATCH] = 2,
		[ACT_GIVE_UP] = 2,
		[ACT_READ] = 2,
		[ACT_REST] = 4};
	uint32_t sum = 0, at, kind;

	/* Nothing but sets, and items in between, for a long time. */
	if (scale.restless && draw(4) > 0)
		return ACT_SWING;
	for (kind = 0; kind < ACT_KINDS; kind++)
		sum += scale.without[kind] ? 0 : weights[kind];
	at = draw(sum);
	for (kind = 0; scale.without[kind] || at >= weights[kind]; kind++)
		at -= scale.without[kind] ? 0 : weights[kind];
	return (enum act_kind)kind;
}

static struct act
draw_act(void)
{
	struct act act = {.kind = draw_kind()};

	act.cntr = draw_cntr();
	act.value = 1 + draw(8);
	act.threshold = draw(scale.range);
	switch (act.kind) {
	case ACT_QUEUE:
		draw_work(&act);
		break;
	case ACT_SWING:
		/* Up, down, and an item in between, as long as a home samples it anew. */
		act.n = scale.restless ? 16 + draw(ROUNDS - 16) : 4 + draw(12);
		act.every = 1 + draw(8u >> draw(4));
		act.awaits = !homes.kills && draw(2) == 0;
		act.value = 1 + draw(scale.range);
		act.threshold = 1 + draw((uint32_t)act.value);
		act.op = TRIP_OP_CALL;
		if (!homes.sets[act.cntr])
			act.kind = ACT_ADD;
		break;
	case ACT_TIMER:
		draw_clock(&act);
		act.interval = 256 + draw(4096);
		act.flags = draw(2) == 0 ? TRIP_WORK_COALESCE : 0;
		act.n = 1 + draw(16);
		break;
	case ACT_SET:
		act.value = draw(scale.range);
		act.n = scale.restless ? draw_few(64) : draw_few(4);
		if (!homes.sets[act.cntr])
			act.kind = ACT_ADD;
		break;
	case ACT_ADDERR:
		act.n = 1;
		if (!homes.errs[act.cntr])
			act.kind = ACT_ADD;
		break;
	case ACT_WAIT:
		act.threshold = draw(2) == 0 ? 1 : 1 + draw(RTE_MIN(scale.range, 8u));
		act.n = draw_few(8);
		break;
	case ACT_GIVE_UP:
	case ACT_READ:
		act.n = draw_few(16);
		break;
	case ACT_CANCEL:
		act.op = TRIP_OP_CALL;
		act.n = draw_few(16);
		break;
	case ACT_ADD:
		act.meets = draw(4) == 0;
		/* fall through */
	default:
		act.n = draw_few(4);
	}
	return act;
}

static uint64_t
plan_rounds(const struct act *act)
{
	uint64_t rounds = 0;

	for (uint32_t i = 0; act->kind == ACT_SWING && i < act->n; i++)
		rounds |= (uint64_t)sim_wants() << i;
	return rounds;
}

static void
plan_user(struct user *user)
{
	uint32_t n = draw(scale.acts) + 1;

	for (uint32_t i = 0; i < n; i++) {
		struct act act = draw_act();

		act.number = i * ROUNDS;
		act.rounds = plan_rounds(&act);
		act.is_last = homes.in_rounds && draw(scale.round) == 0 && sim_wants();
		if (sim_wants())
			user->acts[user->n_acts++] = act;
	}
}

static void
plan_shape(void)
{
	struct trip_home_shape *shape = &homes.shape;

	shape->n_cntrs = CNTRS;
	shape->n_waiters = USERS + draw(2);
	shape->n_clients = CLIENTS;
	shape->n_threads = draw(2);
	shape->n_slots = 1 + draw_size(5);
	shape->n_handler_slots = 4 + draw(4);
	/* So few that the ring of their events is used again. */
	shape->n_client_slots = 1 + (draw(4) == 0 ? draw(2) : draw_size(5));
	shape->n_thread_slots = 2 + draw(6);
	/* Likewise. */
	shape->n_events = draw(4) == 0 ? 1 + draw(3) : 4 + draw(SLOTS_MAX);
	shape->n_channels =
		1 + homes.engine.n_homes + shape->n_threads + CLIENTS * (1 + shape->n_threads);
}

/* Short histories, one after the other: all do a few acts, mostly at one counter, and all of that
 * is judged before what they do next repairs it. It takes long until everything rests where the
 * scrub has to come by. */
static void
plan_in_rounds(void)
{
	homes.in_rounds = true;
	homes.idles = false;
	homes.kills = draw(6) == 0;
	homes.engine.n_homes = draw(4) == 0 ? HOMES : 1;
	scale.round = 1 + draw(4);
	scale.acts = homes.kills ? 12 : ACTS;
	scale.bursts = 64;
	scale.range = 1 + draw(6);
	scale.used = draw(4) == 0 ? 2 : 1;
	scale.without[ACT_SWING] = scale.without[ACT_TIMER] = true;
	scale.without[ACT_REST] = true;
	scale.without[ACT_READ] = draw(2) == 0;
}

static void
plan_homes(void)
{
	static const unsigned int budgets[] = {8, 16, 40, 256};

	for (uint32_t h = 0; h < homes.engine.n_homes; h++) {
		homes.budgets[h] = budgets[draw(RTE_DIM(budgets))];
		homes.hot_log2[h] = (uint8_t)draw(2);
		homes.hot_log2[h] *= (uint8_t)(4 + draw(8));
	}
}

static void
plan_part(const struct homes_part *part, bool *is_there)
{
	*is_there = part->plan == NULL || part->plan();
	for (uint32_t u = 0; *is_there && part->plan_act != NULL && u < USERS; u++)
		for (uint32_t i = 0; i < homes.users[u].n_acts; i++)
			if (homes.users[u].acts[i].part == NULL)
				part->plan_act(&homes.users[u].acts[i]);
}

void
homes_plan(void)
{
	uint32_t users = 2 + draw(USERS - 1);

	homes.engine.n_homes = 1 + draw(HOMES);
	scale.restless = draw(4) == 0;
	scale.bursts = 96;
	scale.acts = scale.restless ? 8 : 16u << draw(4);
	scale.without[ACT_REST] = false;
	for (uint32_t kind = ACT_ADD; kind < ACT_REST; kind++)
		scale.without[kind] =
			scale.restless ? kind != ACT_SET && kind != ACT_QUEUE && kind != ACT_SWING
				       : kind != ACT_ADD && draw(2) == 0;
	scale.range = 1 + draw_size(5);
	scale.used = scale.restless ? 1 : draw_size(2);
	/* One counter, and a few who do a few things: whatever happens, happens there. */
	if (draw(3) == 0) {
		scale.acts = 4u << draw(3);
		scale.range = 1 + draw(6);
		scale.used = 1;
		users = 1 + draw(2);
	}
	homes.feeds = draw(2) == 0;
	homes.kills = draw(3) == 0;
	homes.idles = draw(3) == 0;
	if (!scale.restless && draw(3) > 0)
		plan_in_rounds();
	plan_shape();
	/* Where several set it, what one of them has set shows nothing. There is room for all that
	 * it queues. */
	if (scale.restless) {
		users = draw(4) == 0 ? 2 : 1;
		homes.shape.n_client_slots = SLOTS_MAX;
	}
	for (uint32_t i = 0; i < homes_cntrs(); i++) {
		homes.sets[i] = (scale.restless || draw(2) == 0) && i % CNTRS < CALLED;
		homes.errs[i] = draw(4) == 0 && i % CNTRS < CALLED;
	}
	for (uint32_t q = 0; homes.feeds && q < QUEUES; q++)
		for (uint32_t n = draw(scale.bursts); n > 0; n--)
			homes.bursts[q] += sim_wants();
	for (uint32_t i = 0; i < users; i++)
		plan_user(&homes.users[i]);
	plan_homes();
	for (unsigned int i = 0; i < HOMES_PARTS; i++)
		plan_part(homes_parts[i], &homes.has[i]);
}
