/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"

/* What may be spoken of, and whether it has been. */
struct spoken {
	bool count;
	unsigned int index;
	bool found;
};

static void
find_spoken(void *arg, struct trip_rules_pair *pair)
{
	struct spoken *spoken = arg;
	bool on_count = pair->ref == TRIP_RULES_REF_PACKETS || pair->ref == TRIP_RULES_REF_BYTES;

	spoken->found |= (spoken->count ? on_count : pair->ref == TRIP_RULES_REF_COUNTER) &&
			 pair->index == spoken->index;
}

/* Whether a `when` speaks of the count, or the counter, of an index. */
static bool
speaks_of(const struct trip_rules_when *when, bool count, unsigned int index)
{
	enum trip_op_target target = trip_rules_op_of(when->op)->target;
	struct trip_rules_pair own = {.ref = when->ref, .index = when->index};
	struct spoken spoken = {.count = count, .index = index};

	find_spoken(&spoken, &own);
	trip_rules_pairs_walk(when->pairs, find_spoken, &spoken);
	if (spoken.found)
		return true;
	return (target == TRIP_OP_ON_FLOW || target == TRIP_OP_ON_CNTR) && when->target == index &&
	       count == (target == TRIP_OP_ON_FLOW || when->on_count);
}

static void
skip_whens(struct trip_apply_skip *skip, const struct trip_rules *rules, bool count,
	unsigned int index)
{
	for (unsigned int i = 0; i < rules->n_whens; i++)
		skip->whens[i] |=
			!rules->whens[i].gone && speaks_of(&rules->whens[i], count, index);
}

static void
skip_counter(struct trip_apply_skip *skip, const struct trip_rules *rules, unsigned int index)
{
	skip->counters[index] = true;
	skip_whens(skip, rules, false, index);
}

static int
skip_count(struct trip_apply_skip *skip, const struct trip_rules *rules, unsigned int index,
	FILE *answer)
{
	const struct trip_rules_count *count = &rules->counts[index];

	for (unsigned int k = 0; k < count->n_quotas; k++) {
		const struct trip_rules_counter *counter = &rules->counters[count->quotas[k]];

		if (counter->quota->n_counts > 1) {
			fprintf(answer,
				"quota %s is of %s and of others: that has to change first\n",
				counter->name, count->name);
			return -EBUSY;
		}
		skip_counter(skip, rules, count->quotas[k]);
	}
	skip->counts[index] = true;
	skip_whens(skip, rules, true, index);
	return 0;
}

/* A set stays as long as a count asks for it. */
static int
skip_set(struct trip_apply_skip *skip, const struct trip_rules *rules, unsigned int index,
	FILE *answer)
{
	const char *name = rules->sets[index].name;

	for (unsigned int i = 0; i < rules->n_counts; i++)
		if (!rules->counts[i].gone && trip_rules_set_is_asked(&rules->counts[i], name)) {
			fprintf(answer, "count %s asks for the set %s\n", rules->counts[i].name,
				name);
			return -EBUSY;
		}
	skip->sets[index] = true;
	return 0;
}

static int
skip_each(struct trip_apply_skip *skip, const struct trip_rules *rules, unsigned int index)
{
	skip->eaches[index] = true;
	for (unsigned int i = 0; i < rules->n_whens; i++)
		skip->whens[i] |= !rules->whens[i].gone &&
				  trip_rules_is_of_keys(&rules->whens[i]) &&
				  rules->whens[i].index == index;
	return 0;
}

int
trip_apply_skip_find(struct trip_apply_skip *skip, const struct trip_rules *rules, const char *name,
	FILE *answer)
{
	*skip = (struct trip_apply_skip){
		/* One more: calloc of nothing may be NULL. */
		.counts = calloc(rules->n_counts + 1, sizeof(bool)),
		.counters = calloc(rules->n_counters + 1, sizeof(bool)),
		.whens = calloc(rules->n_whens + 1, sizeof(bool)),
		.sets = calloc(rules->n_sets + 1, sizeof(bool)),
		.eaches = calloc(rules->n_eaches + 1, sizeof(bool)),
	};
	if (skip->counts == NULL || skip->counters == NULL || skip->whens == NULL ||
		skip->sets == NULL || skip->eaches == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < rules->n_counts; i++)
		if (!rules->counts[i].gone && strcmp(rules->counts[i].name, name) == 0)
			return skip_count(skip, rules, i, answer);
	for (unsigned int i = 0; i < rules->n_counters; i++)
		if (!rules->counters[i].gone && strcmp(rules->counters[i].name, name) == 0) {
			skip_counter(skip, rules, i);
			return 0;
		}
	for (unsigned int i = 0; i < rules->n_sets; i++)
		if (!rules->sets[i].gone && strcmp(rules->sets[i].name, name) == 0)
			return skip_set(skip, rules, i, answer);
	for (unsigned int i = 0; i < rules->n_eaches; i++)
		if (!rules->eaches[i].count.gone && strcmp(rules->eaches[i].count.name, name) == 0)
			return skip_each(skip, rules, i);
	return -ENOENT;
}

void
trip_apply_skip_free(struct trip_apply_skip *skip)
{
	free(skip->counts);
	free(skip->counters);
	free(skip->whens);
	free(skip->sets);
	free(skip->eaches);
}

int
trip_apply_source(const struct trip_rules *rules, bool whens, const struct trip_apply_skip *skip,
	char **text, size_t *length)
{
	FILE *file = open_memstream(text, length);

	if (file == NULL)
		return -ENOMEM;
	for (unsigned int i = 0; i < rules->n_counters; i++)
		if (!rules->counters[i].gone && (skip == NULL || !skip->counters[i]))
			fprintf(file, "%s\n", rules->counters[i].source);
	for (unsigned int i = 0; i < rules->n_sets; i++)
		if (!rules->sets[i].gone && (skip == NULL || !skip->sets[i]))
			fprintf(file, "%s\n", rules->sets[i].source);
	for (unsigned int i = 0; i < rules->n_counts; i++)
		if (!rules->counts[i].gone && (skip == NULL || !skip->counts[i]))
			fprintf(file, "%s\n", rules->counts[i].source);
	for (unsigned int i = 0; i < rules->n_eaches; i++)
		if (!rules->eaches[i].count.gone && (skip == NULL || !skip->eaches[i]))
			fprintf(file, "%s\n", rules->eaches[i].count.source);
	for (unsigned int i = 0; i < rules->n_whens; i++)
		if (whens && !rules->whens[i].gone && (skip == NULL || !skip->whens[i]))
			fprintf(file, "%s\n", rules->whens[i].source);
	if (fclose(file) == 0)
		return 0;
	free(*text);
	return -ENOMEM;
}
