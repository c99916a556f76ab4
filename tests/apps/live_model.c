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
	return a->threshold == b->threshold && a->every == b->every;
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
	if (rule->threshold == 0 || state->packets < rule->threshold)
		return;
	if (rule->every == 0 && state->fired == 0) {
		drop(state);
		state->fired = 1;
		state->by_rule = true;
	}
	while (rule->every != 0 && rule->threshold + state->fired * rule->every <= state->packets) {
		state->fired++;
		model->total++;
	}
}

static void
pass(struct model_state *state)
{
	state->dropped &= state->deleted;
	state->by_hand = state->by_rule = state->by_quota = state->owed = false;
}

/* What quotas have dropped in periods that are over, or that have gone, passes. */
static void
pass_owed(struct model *model)
{
	for (unsigned int i = 0; i < model->n; i++) {
		struct model_state *state = &model->states[model->rules[i].name];

		if (state->owed && !state->by_hand && !state->by_rule && !state->by_quota)
			pass(state);
	}
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
		if (state->deleted || state->dropped == before->drops)
			state->dropped = now->drops;
		state->deleted = false;
	}
	if (before != NULL && !model_same_when(before, now)) {
		state->fired = 0;
		state->by_rule = false;
	}
	if (before != NULL)
		become_quota(state, before->limit, now->limit);
	fire(model, now);
}

void
model_reload(struct model *model, const struct model_rule *rules, unsigned int n)
{
	struct model before = *model;

	memcpy(model->rules, rules, n * sizeof(*rules));
	model->n = n;
	for (unsigned int i = 0; i < n; i++)
		become(model, model_find(&before, rules[i].name), &rules[i]);
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
		now.threshold = before.threshold;
		now.every = before.every;
		now.limit = before.limit;
		become(model, &before, &now);
		if (model_same(&before, &now))
			continue;
		take_out(model, now.name);
		model->rules[model->n++] = now;
	}
	pass_owed(model);
}

void
model_remove(struct model *model, unsigned int name)
{
	take_out(model, name);
	pass_owed(model);
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

bool
model_packet(struct model *model, unsigned int port)
{
	const struct model_rule *first = NULL;
	bool passes = true;

	for (unsigned int i = 0; i < model->n; i++) {
		const struct model_rule *rule = &model->rules[i];
		struct model_state *state = &model->states[rule->name];

		if (port < rule->low || port > rule->high || state->deleted)
			continue;
		if (!rule->also) {
			if (first == NULL || rule->priority < first->priority)
				first = rule;
			continue;
		}
		state->packets++;
		state->spent += rule->limit != 0;
		passes &= !state->dropped;
	}
	if (first != NULL) {
		model->states[first->name].packets++;
		model->states[first->name].spent += first->limit != 0;
		passes &= !model->states[first->name].dropped;
	}
	for (unsigned int i = 0; i < model->n; i++)
		fire(model, &model->rules[i]);
	return passes;
}
