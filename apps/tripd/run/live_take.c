/* SPDX-License-Identifier: BSD-3-Clause */
/* A change of rules at work: statements move to those at work. */
#include <string.h>

#include <trip.h>

#include "live_change.h"

/* The statement moves to the rules at work. */
static void
take_count(struct tripd_change *change, unsigned int i)
{
	const struct trip_apply_step *step = &change->difference->counts[i];
	struct trip_rules *work = change->quota->rules;
	struct trip_rules_count *from = &change->next->counts[i], *to, none = {0};

	change->counts_at[i] = step->what == TRIP_APPLY_ADD ? work->n_counts++ : step->at;
	to = &work->counts[change->counts_at[i]];
	if (step->what == TRIP_APPLY_ADD)
		change->quota->counts[change->counts_at[i]] = change->flows[i];
	if (step->what == TRIP_APPLY_LEAVE)
		return;
	if (!tripd_change_is_new(change, i)) {
		/* Where it is no file, lines are none of it. */
		if (change->difference->mode == TRIP_APPLY_WHOLE)
			to->line = from->line;
		if (change->dead[i])
			to->born = from->born;
		memcpy(to->quotas, from->quotas, sizeof(to->quotas));
		to->n_quotas = from->n_quotas;
		return;
	}
	/* What is replaced goes with the new rules. */
	none = *to;
	*to = *from;
	*from = none;
	/* Names of those that are left out are looked up no more. */
	memcpy(from->name, to->name, sizeof(from->name));
}

/* A quota in other words goes on with what is spent, and ends as they say. */
static void
change_quota(struct tripd_change *change, unsigned int i)
{
	struct trip_rules_counter *from = &change->next->counters[i];
	unsigned int at = change->counters_at[i];
	struct trip_rules_counter *to = &change->quota->rules->counters[at], old = *to;

	to->quota = from->quota;
	to->source = from->source;
	from->quota = old.quota;
	from->source = old.source;
	if (change->difference->counters[i].what == TRIP_APPLY_CHANGE)
		tripd_period_change(change->quota, at);
}

static void
take_counter(struct tripd_change *change, unsigned int i)
{
	const struct trip_apply_step *step = &change->difference->counters[i];
	struct trip_rules_counter *from = &change->next->counters[i];
	struct trip_rules *work = change->quota->rules;
	unsigned int at = step->at;

	if (step->what == TRIP_APPLY_ADD) {
		at = work->n_counters++;
		work->counters[at] = *from;
		change->quota->counters[at] = change->cntrs[i];
		from->quota = NULL;
		from->source = NULL;
	}
	change->counters_at[i] = at;
	if (step->what == TRIP_APPLY_ADD && work->counters[at].quota != NULL)
		tripd_period_begin(change->quota, at, tripd_quota_seconds(change->quota));
	else if (from->quota != NULL && step->what != TRIP_APPLY_LEAVE)
		change_quota(change, i);
}

/* Of which counts quotas are, and which quotas of counts: by their places at work. */
static void
place_quotas(struct tripd_change *change)
{
	const struct trip_apply_difference *difference = change->difference;
	struct trip_rules *work = change->quota->rules;

	for (unsigned int i = 0; i < change->next->n_counts; i++) {
		struct trip_rules_count *count = &work->counts[change->counts_at[i]];

		for (unsigned int k = 0;
			difference->counts[i].what != TRIP_APPLY_LEAVE && k < count->n_quotas; k++)
			count->quotas[k] = change->counters_at[count->quotas[k]];
	}
	for (unsigned int i = 0; i < change->next->n_counters; i++) {
		struct trip_rules_quota *quota = work->counters[change->counters_at[i]].quota;

		for (unsigned int k = 0; difference->counters[i].what != TRIP_APPLY_LEAVE &&
					 quota != NULL && k < quota->n_counts;
			k++)
			quota->counts[k] = change->counts_at[quota->counts[k]];
	}
}

static void
take_set(struct tripd_change *change, unsigned int i)
{
	const struct trip_apply_step *step = &change->difference->sets[i];
	struct trip_rules *work = change->quota->rules;
	struct trip_rules_set *from = &change->next->sets[i], *to, old;

	if (step->what == TRIP_APPLY_KEEP && change->difference->mode == TRIP_APPLY_WHOLE)
		work->sets[step->at].line = from->line;
	if (step->what == TRIP_APPLY_KEEP || step->what == TRIP_APPLY_LEAVE)
		return;
	to = &work->sets[step->what == TRIP_APPLY_ADD ? work->n_sets : step->at];
	if (step->what == TRIP_APPLY_ADD)
		change->quota->sets[work->n_sets++] = change->sets[i];
	/* What is replaced goes with the new rules. */
	old = *to;
	*to = *from;
	*from = old;
}

static void
take_each(struct tripd_change *change, unsigned int i)
{
	const struct trip_apply_step *step = &change->difference->eaches[i];
	struct trip_rules *work = change->quota->rules;
	struct trip_rules_each *from = &change->next->eaches[i], *to, old;
	unsigned int at = step->what == TRIP_APPLY_ADD ? work->n_eaches++ : step->at;

	change->eaches_at[i] = at;
	to = &work->eaches[at];
	if (step->what == TRIP_APPLY_KEEP && change->difference->mode == TRIP_APPLY_WHOLE)
		to->count.line = from->count.line;
	if (step->what == TRIP_APPLY_KEEP || step->what == TRIP_APPLY_LEAVE)
		return;
	tripd_quota_each_take(change->quota, at, change->eaches[i]);
	/* What is replaced goes with the new rules. */
	old = *to;
	*to = *from;
	*from = old;
}

/* From the index in the new rules to that in those at work. */
static void
move_ref(const struct tripd_change *change, enum trip_rules_ref ref, unsigned int *index)
{
	if (ref == TRIP_RULES_REF_COUNTER)
		*index = change->counters_at[*index];
	else if (ref == TRIP_RULES_REF_PACKETS || ref == TRIP_RULES_REF_BYTES)
		*index = change->counts_at[*index];
	else if (ref == TRIP_RULES_REF_KEY_PACKETS || ref == TRIP_RULES_REF_KEY_BYTES ||
		 ref == TRIP_RULES_REF_KEY_PAIRS)
		*index = change->eaches_at[*index];
}

static void
move_pair(void *arg, struct trip_rules_pair *pair)
{
	move_ref(arg, pair->ref, &pair->index);
}

static unsigned int
take_when(struct tripd_change *change, unsigned int i)
{
	struct tripd_quota *quota = change->quota;
	struct trip_rules *work = quota->rules;
	struct trip_rules_when *when = &work->whens[work->n_whens];

	*when = change->next->whens[i];
	change->next->whens[i] = (struct trip_rules_when){0};
	move_ref(change, when->ref, &when->index);
	trip_rules_pairs_walk(when->pairs, move_pair, change);
	if (trip_rules_op_of(when->op)->target == TRIP_OP_ON_FLOW || when->on_count)
		when->target = change->counts_at[when->target];
	else if (trip_rules_op_of(when->op)->target == TRIP_OP_ON_CNTR)
		when->target = change->counters_at[when->target];
	quota->items[work->n_whens].since = trip_cntr_read(trip_clock_cntr(quota->domain));
	return work->n_whens++;
}

static void
take_whens(struct tripd_change *change)
{
	for (unsigned int i = 0; i < change->next->n_whens; i++) {
		const struct trip_apply_step *step = &change->difference->whens[i];

		change->whens_at[i] =
			step->what == TRIP_APPLY_ADD ? take_when(change, i) : step->at;
		if (step->what == TRIP_APPLY_ADD)
			tripd_change_queue(change, change->whens_at[i]);
		else if (change->difference->mode == TRIP_APPLY_WHOLE)
			change->quota->rules->whens[step->at].line = change->next->whens[i].line;
	}
}

/* Whose conditions those of its keys are, by their places at work. */
static void
place_conditions(struct tripd_change *change)
{
	for (unsigned int i = 0; i < change->next->n_eaches; i++) {
		enum trip_apply_what what = change->difference->eaches[i].what;
		struct trip_rules_each *each = &change->quota->rules->eaches[change->eaches_at[i]];

		for (unsigned int k = 0; k < each->n_whens; k++)
			if (what == TRIP_APPLY_ADD || what == TRIP_APPLY_CHANGE)
				each->whens[k] = change->whens_at[each->whens[k]];
	}
}

void
tripd_change_take(struct tripd_change *change)
{
	for (unsigned int i = 0; i < change->next->n_counters; i++)
		take_counter(change, i);
	for (unsigned int i = 0; i < change->next->n_counts; i++)
		take_count(change, i);
	for (unsigned int i = 0; i < change->next->n_sets; i++)
		take_set(change, i);
	for (unsigned int i = 0; i < change->next->n_eaches; i++)
		take_each(change, i);
	place_quotas(change);
	take_whens(change);
	place_conditions(change);
}
