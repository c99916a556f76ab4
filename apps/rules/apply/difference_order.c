/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose flows are made anew, and in which order.
 *
 * Of counts that overlap at one priority the first counts, and in the engine that is the one whose
 * flows were created first. So a count that stays is made anew where one that overlaps it is to
 * stand before it, and would be created after it. The order is that of a file, where all rules are
 * of one; else what is at work stays in its own, and what is added or changed is behind it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "difference.h"

/* Pairs of counts that are compared; beyond it, each is taken to overlap. */
#define PAIRS_MAX (UINT64_C(1) << 22)

/* Whether the flows of one that stays feed other quotas than they are to. */
static bool
feeds_others(const struct trip_apply_difference *difference, unsigned int i)
{
	const struct trip_rules_count *next = &difference->next->counts[i];
	const struct trip_rules_count *work = &difference->work->counts[difference->counts[i].at];

	if (next->n_quotas != work->n_quotas)
		return true;
	for (unsigned int k = 0; k < next->n_quotas; k++) {
		const struct trip_apply_step *step = &difference->counters[next->quotas[k]];
		unsigned int at = 0;

		while (at < work->n_quotas && work->quotas[at] != step->at)
			at++;
		if (step->what == TRIP_APPLY_ADD || at == work->n_quotas)
			return true;
	}
	return false;
}

struct place {
	uint64_t born;
	unsigned int index;
};

static int
by_place(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->born != b->born)
		return a->born < b->born ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Where it is to be among all of them. */
static uint64_t
place_of(const struct trip_apply_difference *difference, unsigned int i)
{
	const struct trip_apply_step *step = &difference->counts[i];

	if (difference->mode == TRIP_APPLY_WHOLE)
		return 0;
	return step->what == TRIP_APPLY_KEEP || step->what == TRIP_APPLY_RENEW
		       ? difference->work->counts[step->at].born
		       : UINT64_MAX;
}

/* In the order of flows: what is created is behind all that are there. */
static uint64_t
born(const struct trip_apply_difference *difference, unsigned int i)
{
	const struct trip_apply_step *step = &difference->counts[i];

	return step->what == TRIP_APPLY_KEEP ? difference->work->counts[step->at].born : UINT64_MAX;
}

/* Whether one that stays has to be created anew: at this place of the order. */
static bool
is_overtaken(const struct trip_apply_difference *difference, unsigned int place, uint64_t *pairs)
{
	const struct trip_rules *next = difference->next;
	unsigned int i = difference->order[place];
	uint64_t own = born(difference, i);

	for (unsigned int k = 0; k < place; k++) {
		unsigned int j = difference->order[k];

		if (difference->counts[j].what == TRIP_APPLY_LEAVE || born(difference, j) <= own)
			continue;
		if (++*pairs > PAIRS_MAX || trip_rules_overlap(&next->counts[j], &next->counts[i]))
			return true;
	}
	return false;
}

static void
find_renewed(struct trip_apply_difference *difference)
{
	uint64_t latest = 0, pairs = 0;

	for (unsigned int k = 0; k < difference->next->n_counts; k++) {
		unsigned int i = difference->order[k];
		struct trip_apply_step *step = &difference->counts[i];

		if (step->what == TRIP_APPLY_LEAVE)
			continue;
		if (step->what == TRIP_APPLY_KEEP && latest > born(difference, i) &&
			is_overtaken(difference, k, &pairs))
			step->what = TRIP_APPLY_RENEW;
		if (born(difference, i) > latest)
			latest = born(difference, i);
	}
}

static unsigned int
count_steps(const struct trip_apply_step *steps, unsigned int n)
{
	unsigned int changes = 0;

	for (unsigned int i = 0; i < n; i++)
		changes += steps[i].what != TRIP_APPLY_KEEP && steps[i].what != TRIP_APPLY_LEAVE;
	return changes;
}

static unsigned int
count_gone(const bool *go, unsigned int n)
{
	unsigned int changes = 0;

	for (unsigned int i = 0; i < n; i++)
		changes += go[i];
	return changes;
}

static void
count_changes(struct trip_apply_difference *difference)
{
	const struct trip_rules *work = difference->work, *next = difference->next;

	difference->n_changes = count_steps(difference->counts, next->n_counts) +
				count_steps(difference->counters, next->n_counters) +
				count_steps(difference->whens, next->n_whens) +
				count_steps(difference->sets, next->n_sets) +
				count_steps(difference->eaches, next->n_eaches) +
				count_gone(difference->eaches_go, work->n_eaches) +
				count_gone(difference->sets_go, work->n_sets) +
				count_gone(difference->counts_go, work->n_counts) +
				count_gone(difference->counters_go, work->n_counters) +
				count_gone(difference->whens_go, work->n_whens);
}

int
trip_apply_difference_order(struct trip_apply_difference *difference)
{
	unsigned int n = difference->next->n_counts;
	struct place *places = calloc(n + 1, sizeof(*places));

	if (places == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < n; i++) {
		struct trip_apply_step *step = &difference->counts[i];

		if (step->what == TRIP_APPLY_KEEP && feeds_others(difference, i))
			step->what = TRIP_APPLY_RENEW;
		places[i] = (struct place){place_of(difference, i), i};
	}
	if (n > 1)
		qsort(places, n, sizeof(*places), by_place);
	for (unsigned int k = 0; k < n; k++)
		difference->order[k] = places[k].index;
	free(places);
	find_renewed(difference);
	count_changes(difference);
	return 0;
}
