/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "live_model.h"

bool
model_same(const struct model_rule *a, const struct model_rule *b)
{
	return a->low == b->low && a->high == b->high && a->priority == b->priority &&
	       a->also == b->also && a->drops == b->drops;
}

bool
model_same_when(const struct model_rule *a, const struct model_rule *b)
{
	return a->kind == b->kind && a->threshold == b->threshold && a->every == b->every &&
	       a->lasts == b->lasts;
}

struct model_rule *
model_find(struct model *model, unsigned int name)
{
	for (unsigned int i = 0; i < model->n; i++)
		if (model->rules[i].name == name)
			return &model->rules[i];
	return NULL;
}

static void
drop(struct model_state *state)
{
	state->dropped |= !state->deleted;
	state->forced |= !state->deleted;
}

static void
fire_once(struct model *model, const struct model_rule *rule)
{
	struct model_state *state = &model->states[rule->name];

	state->fired++;
	switch (rule->kind) {
	case MODEL_DROP:
		drop(state);
		state->by_rule = true;
		break;
	case MODEL_POLICE:
		state->policed |= !state->deleted;
		state->by_rule = true;
		break;
	case MODEL_RATE_DROP:
	case MODEL_RATE_POLICE:
		state->rate_holds = !state->deleted;
		break;
	case MODEL_DROP_FOR:
		if (!state->deleted)
			state->dropped_until = model->now + rule->lasts;
		break;
	case MODEL_ADD:
		model->total++;
		break;
	case MODEL_EXEC:
		model->execs++;
		break;
	case MODEL_RESET:
		state->resets = true;
		break;
	case MODEL_RESET_TOTAL:
		model->total_resets = true;
		break;
	default:
		model->others++;
	}
}

static bool
is_rate(const struct model_rule *rule)
{
	return rule->kind == MODEL_RATES || rule->kind == MODEL_RATE_DROP ||
	       rule->kind == MODEL_RATE_POLICE;
}

/* Whether its value, or both of its values, are there. */
static bool
is_due(struct model *model, const struct model_rule *rule)
{
	struct model_state *state = &model->states[rule->name];
	uint64_t threshold = rule->threshold + state->fired * rule->every;

	if (rule->kind == MODEL_NONE || is_rate(rule) || rule->kind == MODEL_IDLE ||
		(rule->every == 0 && state->fired > 0))
		return false;
	state->held |= state->value >= threshold;
	state->total_held |= model->total >= threshold;
	if (rule->kind == MODEL_ALL)
		return state->held && state->total_held;
	return state->value >= threshold || (rule->kind == MODEL_ANY && state->total_held);
}

/* What waits for a rule happens as often as it is due. */
static void
fire(struct model *model, const struct model_rule *rule)
{
	struct model_state *state = &model->states[rule->name];

	if (rule->limit != 0 && !state->is_spent && state->spent >= rule->limit) {
		drop(state);
		state->is_spent = state->by_quota = true;
		state->owed = false;
	}
	while (is_due(model, rule))
		fire_once(model, rule);
}

static uint64_t
came_since(const struct model_state *state, unsigned int first)
{
	uint64_t n = 0;

	for (unsigned int i = first; i <= MODEL_SPAN; i++)
		n += state->came[i];
	return n;
}

/* What waits for all rules; the first counter may be what others wait for. */
static void
fire_due(struct model *model)
{
	for (unsigned int i = 0; i < model->n; i++)
		fire(model, &model->rules[i]);
	for (unsigned int i = 0; i < model->n; i++)
		fire(model, &model->rules[i]);
}

static void
begin_to_measure(struct model *model, struct model_state *state)
{
	memset(state->came, 0, sizeof(state->came));
	state->begun = state->idle_told = false;
	state->came_at = model->now;
}

static void
pass(struct model_state *state)
{
	state->dropped &= state->deleted;
	state->dropped_until = 0;
	state->policed = state->rate_holds = false;
	state->forced = state->by_hand = state->by_rule = state->by_quota = state->owed = false;
}

/* What was dropped before something began anew, or by a quota that has gone, passes: within the
 * rate of a rule that polices it. */
static void
pass_owed(struct model *model)
{
	for (unsigned int i = 0; i < model->n; i++) {
		struct model_state *state = &model->states[model->rules[i].name];
		bool polices = state->by_rule && model->rules[i].kind == MODEL_POLICE;

		if (!state->owed || state->by_hand || (state->by_rule && !polices) ||
			state->by_quota || state->dropped_until != 0 || state->rate_holds)
			continue;
		pass(state);
		state->policed = state->by_rule = polices;
	}
}

/* Which has fired by one of its values, and holds on by the other. */
static bool
holds_on(struct model *model, unsigned int name)
{
	const struct model_rule *rule = model_find(model, name);
	struct model_state *state = &model->states[name];

	return rule->kind == MODEL_ANY && state->fired > 0 &&
	       (state->value >= rule->threshold || model->total >= rule->threshold);
}

/* What stands on it is armed again, and what that has dropped is to pass; what ends by itself has
 * ended. */
static void
arm_again(struct model *model, unsigned int name)
{
	struct model_state *state = &model->states[name];

	if (holds_on(model, name))
		return;
	state->owed |= state->by_rule;
	state->by_rule = state->rate_holds = false;
	state->held = state->total_held = false;
	state->dropped_until = 0;
	state->fired = 0;
	begin_to_measure(model, state);
}

static void
begin_count(struct model *model, unsigned int name)
{
	model->states[name].value = 0;
	model->states[name].resets = false;
	arm_again(model, name);
}

static void
begin_total(struct model *model)
{
	model->total = 0;
	model->total_resets = false;
	for (unsigned int i = 0; i < model->n; i++)
		if (model->rules[i].kind == MODEL_ALL || model->rules[i].kind == MODEL_ANY)
			arm_again(model, model->rules[i].name);
}

/* And what that resets begins anew, all of it together, by which more may be due. */
static void
fire_all(struct model *model)
{
	bool resets;

	do {
		fire_due(model);
		resets = model->total_resets;
		for (unsigned int i = 0; i < model->n; i++) {
			unsigned int name = model->rules[i].name;

			resets |= model->states[name].resets;
			if (model->states[name].resets)
				begin_count(model, name);
		}
		if (model->total_resets)
			begin_total(model);
		if (resets)
			pass_owed(model);
	} while (resets);
}

/* The quota drops no more by what it was. */
static void
begin_anew(struct model_state *state)
{
	state->owed |= state->by_quota;
	state->is_spent = state->by_quota = false;
}

static void
become_quota(struct model_state *state, uint64_t before, uint64_t now)
{
	if (before == now)
		return;
	if (before == 0 || now == 0 || state->spent < now)
		begin_anew(state);
	if (before == 0 || now == 0)
		state->spent = 0;
}

/* One that was there, or not, becomes another. */
static void
become(struct model *model, const struct model_rule *before, const struct model_rule *now)
{
	struct model_state *state = &model->states[now->name];

	if (before == NULL)
		*state = (struct model_state){.dropped = now->drops};
	else if (!model_same(before, now)) {
		/* What an operation has made of it stays, but for its end. */
		if (state->deleted || (!state->forced && state->dropped == before->drops))
			state->dropped = now->drops;
		state->deleted = false;
	}
	if (before == NULL || !model_same_when(before, now)) {
		state->fired = 0;
		state->held = state->total_held = false;
		state->by_rule = false;
		state->dropped_until = 0;
		state->rate_holds = false;
		begin_to_measure(model, state);
	}
	if (before != NULL)
		become_quota(state, before->limit, now->limit);
}

void
model_reload(struct model *model, const struct model_rule *rules, unsigned int n)
{
	struct model before = *model;

	memcpy(model->rules, rules, n * sizeof(*rules));
	model->n = n;
	for (unsigned int i = 0; i < n; i++)
		become(model, model_find(&before, rules[i].name), &rules[i]);
	fire_all(model);
	pass_owed(model);
}

static void
take_out(struct model *model, unsigned int name)
{
	struct model_rule *rule = model_find(model, name);
	unsigned int at = (unsigned int)(rule - model->rules);

	model->n--;
	memmove(rule, rule + 1, (model->n - at) * sizeof(*rule));
}

void
model_apply(struct model *model, const struct model_rule *rules, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct model_rule *at = model_find(model, rules[i].name);
		struct model_rule before = {0}, now = rules[i];

		if (at == NULL) {
			become(model, NULL, &now);
			model->rules[model->n++] = now;
			continue;
		}
		before = *at;
		/* What waits for it stays; another such is not added here. */
		now.kind = before.kind;
		now.threshold = before.threshold;
		now.every = before.every;
		now.lasts = before.lasts;
		now.limit = before.limit;
		become(model, &before, &now);
		if (model_same(&before, &now))
			continue;
		take_out(model, now.name);
		model->rules[model->n++] = now;
	}
	fire_all(model);
	pass_owed(model);
}

void
model_remove(struct model *model, unsigned int name)
{
	take_out(model, name);
	pass_owed(model);
}

void
model_renewed(struct model *model, unsigned int name)
{
	const struct model_rule *rule = model_find(model, name);
	struct model_state *state = &model->states[name];
	bool goes_on = state->rate_holds;

	if (rule->kind != MODEL_RATE_DROP && rule->kind != MODEL_RATE_POLICE)
		return;
	begin_to_measure(model, state);
	state->begun = goes_on;
	state->begun_at = model->now;
}

bool
model_drops(const struct model *model, unsigned int name)
{
	const struct model_state *state = &model->states[name];

	for (unsigned int i = 0; i < model->n; i++)
		if (model->rules[i].name == name && model->rules[i].kind == MODEL_RATE_DROP &&
			state->rate_holds)
			return true;
	return state->dropped || state->dropped_until != 0;
}

bool
model_polices(const struct model *model, unsigned int name)
{
	const struct model_state *state = &model->states[name];

	return state->policed || state->rate_holds;
}

void
model_police(struct model *model, unsigned int name)
{
	model->states[name].policed |= !model->states[name].deleted;
	model->states[name].by_hand = true;
}

void
model_drop(struct model *model, unsigned int name)
{
	drop(&model->states[name]);
	model->states[name].by_hand = true;
}

void
model_pass(struct model *model, unsigned int name)
{
	pass(&model->states[name]);
}

void
model_delete(struct model *model, unsigned int name)
{
	pass(&model->states[name]);
	model->states[name].deleted = true;
}

void
model_reset(struct model *model, unsigned int name)
{
	model->states[name].spent = 0;
	begin_anew(&model->states[name]);
	pass_owed(model);
}

void
model_reset_count(struct model *model, unsigned int name)
{
	model->states[name].resets = true;
	fire_all(model);
}

void
model_reset_total(struct model *model)
{
	model->total_resets = true;
	fire_all(model);
}

/* Before anything comes at this moment. */
static void
measure(struct model *model, const struct model_rule *rule)
{
	struct model_state *state = &model->states[rule->name];

	memmove(&state->came[1], &state->came[0], MODEL_SPAN * sizeof(state->came[0]));
	state->came[0] = 0;
	if (state->dropped_until != 0 && state->dropped_until <= model->now)
		state->dropped_until = 0;
	if (rule->kind == MODEL_IDLE && !state->idle_told &&
		model->now - state->came_at > MODEL_SPAN) {
		state->idle_told = true;
		fire_once(model, rule);
	}
	if (state->begun && model->now - state->begun_at > MODEL_SPAN &&
		came_since(state, 1) < MODEL_UNTIL) {
		begin_to_measure(model, state);
		state->rate_holds = false;
	}
}

void
model_advance(struct model *model, uint64_t moments)
{
	for (; moments > 0; moments--) {
		model->now++;
		for (unsigned int i = 0; i < model->n; i++)
			measure(model, &model->rules[i]);
		for (unsigned int i = 0; i < model->n; i++)
			if (model->now % MODEL_HOUR == 0 && model->rules[i].limit != 0) {
				model->states[model->rules[i].name].spent = 0;
				begin_anew(&model->states[model->rules[i].name]);
			}
		fire_all(model);
		pass_owed(model);
	}
}

/* It counts in a rule; returns whether that lets it pass. */
static bool
count(struct model *model, const struct model_rule *rule)
{
	struct model_state *state = &model->states[rule->name];
	bool passes = !model_drops(model, rule->name);

	state->packets++;
	state->value++;
	state->spent += rule->limit != 0;
	state->came[0]++;
	state->came_at = model->now;
	state->idle_told = false;
	if (is_rate(rule) && !state->begun && came_since(state, 0) >= MODEL_RATE) {
		state->begun = true;
		state->begun_at = model->now;
		memset(state->came, 0, sizeof(state->came));
		fire_once(model, rule);
	}
	return passes;
}

bool
model_packet(struct model *model, unsigned int port)
{
	const struct model_rule *first = NULL;
	bool passes = true;

	for (unsigned int i = 0; i < model->n; i++) {
		const struct model_rule *rule = &model->rules[i];

		if (port < rule->low || port > rule->high || model->states[rule->name].deleted)
			continue;
		if (rule->also)
			passes &= count(model, rule);
		else if (first == NULL || rule->priority < first->priority)
			first = rule;
	}
	if (first != NULL)
		passes &= count(model, first);
	fire_all(model);
	return passes;
}
