/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names and words are sorted once; each statement is found by a binary search then.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "difference.h"

struct word {
	const char *text;
	unsigned int index;
	bool taken;
};

struct words {
	struct word *list;
	unsigned int n;
};

static int
by_text(const void *left, const void *right)
{
	const struct word *a = left, *b = right;
	int order = strcmp(a->text, b->text);

	return order != 0 ? order : a->index < b->index ? -1 : a->index > b->index;
}

static void
sort(struct words *words)
{
	if (words->n > 1)
		qsort(words->list, words->n, sizeof(*words->list), by_text);
}

/* The first one of this text, or NULL. */
static struct word *
find(const struct words *words, const char *text)
{
	unsigned int low = 0, high = words->n;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (strcmp(words->list[middle].text, text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < words->n && strcmp(words->list[low].text, text) == 0 ? &words->list[low]
									  : NULL;
}

/* The words of a statement, one character after the other: one blank for many, but for those within
 * quotes, and none at either end. */
struct reader {
	const char *at;
	char last;
	bool quoted;
};

static char
next_char(struct reader *reader)
{
	const char *at = reader->at;

	if (!reader->quoted && (*at == ' ' || *at == '\t')) {
		while (*at == ' ' || *at == '\t')
			at++;
		reader->at = at;
		if (*at != 0 && reader->last != 0)
			return reader->last = ' ';
	}
	if (*at == '"' && (reader->last != '\\' || !reader->quoted))
		reader->quoted = !reader->quoted;
	reader->at = at + (*at != 0);
	return reader->last = *at;
}

/* In place. */
static void
tidy(char *text)
{
	struct reader reader = {.at = text};

	while ((*text = next_char(&reader)) != 0)
		text++;
}

static bool
are_same(const char *a, const char *b)
{
	struct reader of_a = {.at = a}, of_b = {.at = b};
	char one;

	do {
		one = next_char(&of_a);
		if (next_char(&of_b) != one)
			return false;
	} while (one != 0);
	return true;
}

/* What is new, what stays, and what goes, by name. Of a name that is twice in the new
 * rules the first is found. */
static void
match_names(struct words *work, struct words *next, struct trip_apply_step *steps, bool *go)
{
	sort(work);
	sort(next);
	for (unsigned int i = 0; i < next->n; i++) {
		const struct word *own = &next->list[i];
		struct trip_apply_step *step = &steps[own->index];
		struct word *word = find(work, own->text);

		*step = (struct trip_apply_step){TRIP_APPLY_ADD, 0};
		if (word != NULL) {
			word->taken = true;
			*step = (struct trip_apply_step){TRIP_APPLY_KEEP, word->index};
		}
		if (find(next, own->text) != own)
			step->what = TRIP_APPLY_LEAVE;
	}
	for (unsigned int i = 0; i < work->n; i++)
		go[work->list[i].index] = !work->list[i].taken;
}

/* Statements that have a name. */
enum kind {
	COUNT,
	COUNTER,
	SET,
	EACH,
};

struct statement {
	const char *name, *source;
	bool gone;
};

/* False: there are no more. */
static bool
take_statement(
	const struct trip_rules *rules, enum kind kind, unsigned int i, struct statement *statement)
{
	const struct trip_rules_count *count;

	if (kind == COUNTER && i < rules->n_counters) {
		*statement = (struct statement){rules->counters[i].name, rules->counters[i].source,
			rules->counters[i].gone};
		return true;
	}
	if (kind == SET && i < rules->n_sets) {
		*statement = (struct statement){
			rules->sets[i].name, rules->sets[i].source, rules->sets[i].gone};
		return true;
	}
	if (kind == COUNT && i < rules->n_counts)
		count = &rules->counts[i];
	else if (kind == EACH && i < rules->n_eaches)
		count = &rules->eaches[i].count;
	else
		return false;
	*statement = (struct statement){count->name, count->source, count->gone};
	return true;
}

static void
list_statements(const struct trip_rules *rules, enum kind kind, struct words *words)
{
	struct statement statement;

	words->n = 0;
	for (unsigned int i = 0; take_statement(rules, kind, i, &statement); i++)
		if (!statement.gone)
			words->list[words->n++] = (struct word){statement.name, i, false};
}

static struct trip_apply_step *
steps_of(const struct trip_apply_difference *difference, enum kind kind)
{
	return kind == COUNT     ? difference->counts
	       : kind == COUNTER ? difference->counters
	       : kind == SET     ? difference->sets
				 : difference->eaches;
}

static bool *
go_of(const struct trip_apply_difference *difference, enum kind kind)
{
	return kind == COUNT     ? difference->counts_go
	       : kind == COUNTER ? difference->counters_go
	       : kind == SET     ? difference->sets_go
				 : difference->eaches_go;
}

/* Those of a kind. */
static void
find_statements(struct trip_apply_difference *difference, enum kind kind, struct words *words,
	struct words *own)
{
	struct trip_apply_step *steps = steps_of(difference, kind);
	struct statement work, next;

	list_statements(difference->work, kind, words);
	list_statements(difference->next, kind, own);
	match_names(words, own, steps, go_of(difference, kind));
	for (unsigned int i = 0; take_statement(difference->next, kind, i, &next); i++)
		if (steps[i].what == TRIP_APPLY_KEEP &&
			take_statement(difference->work, kind, steps[i].at, &work) &&
			!are_same(work.source, next.source))
			steps[i].what = TRIP_APPLY_CHANGE;
}

/* A set whose statement is the same may have been read from a file that has changed. */
static void
find_read_anew(struct trip_apply_difference *difference)
{
	const struct trip_rules *work = difference->work, *next = difference->next;

	for (unsigned int i = 0; i < next->n_sets; i++) {
		struct trip_apply_step *step = &difference->sets[i];

		if (step->what == TRIP_APPLY_KEEP &&
			work->sets[step->at].digest != next->sets[i].digest)
			step->what = TRIP_APPLY_CHANGE;
	}
}

/* Each of the new ones takes one of the same words; or with `onto`, none takes any. */
static void
match_whens(struct trip_apply_difference *difference, struct words *words, struct words *texts,
	bool onto)
{
	const struct trip_rules *next = difference->next;

	for (unsigned int i = 0; i < next->n_whens; i++) {
		struct word *word = find(words, texts->list[i].text);
		const struct word *end = words->list + words->n;

		while (word != NULL && word->taken && !onto)
			word = word + 1 < end && strcmp(word[1].text, word->text) == 0 ? word + 1
										       : NULL;
		difference->whens[i] = (struct trip_apply_step){TRIP_APPLY_ADD, 0};
		if (word == NULL)
			continue;
		word->taken = true;
		difference->whens[i] = (struct trip_apply_step){TRIP_APPLY_KEEP, word->index};
	}
	for (unsigned int i = 0; i < words->n; i++)
		difference->whens_go[words->list[i].index] = !words->list[i].taken && !onto;
}

/* A copy of the words of each `when`, tidied. */
static int
copy_whens(const struct trip_rules *rules, struct words *words)
{
	for (unsigned int i = 0; i < rules->n_whens; i++) {
		char *text;

		if (rules->whens[i].gone)
			continue;
		text = strdup(rules->whens[i].source);
		if (text == NULL)
			return -ENOMEM;
		tidy(text);
		words->list[words->n++] = (struct word){text, i, false};
	}
	return 0;
}

static void
free_texts(struct words *words)
{
	for (unsigned int i = 0; i < words->n; i++)
		free((char *)(uintptr_t)words->list[i].text);
}

static int
find_whens(struct trip_apply_difference *difference, struct words *words, struct words *texts,
	bool onto)
{
	int error = copy_whens(difference->work, words);

	if (error == 0)
		error = copy_whens(difference->next, texts);
	sort(words);
	if (error == 0)
		match_whens(difference, words, texts, onto);
	free_texts(words);
	free_texts(texts);
	return error;
}

/* One whose keys trip by other conditions than before is opened anew. */
static void
find_changed_keys(struct trip_apply_difference *difference)
{
	const struct trip_rules *work = difference->work, *next = difference->next;
	struct trip_apply_step *steps = difference->eaches;

	for (unsigned int i = 0; i < next->n_whens; i++)
		if (trip_rules_is_of_keys(&next->whens[i]) &&
			difference->whens[i].what == TRIP_APPLY_ADD &&
			steps[next->whens[i].index].what == TRIP_APPLY_KEEP)
			steps[next->whens[i].index].what = TRIP_APPLY_CHANGE;
	for (unsigned int i = 0; i < work->n_whens; i++)
		for (unsigned int k = 0;
			difference->whens_go[i] && trip_rules_is_of_keys(&work->whens[i]) &&
			k < next->n_eaches;
			k++)
			if (steps[k].what == TRIP_APPLY_KEEP && steps[k].at == work->whens[i].index)
				steps[k].what = TRIP_APPLY_CHANGE;
}

static int
begin(struct trip_apply_difference *difference, const struct trip_rules *work,
	const struct trip_rules *next)
{
	*difference = (struct trip_apply_difference){
		.work = work,
		.next = next,
		/* One more: calloc of nothing may be NULL. */
		.counts = calloc(next->n_counts + 1, sizeof(*difference->counts)),
		.counters = calloc(next->n_counters + 1, sizeof(*difference->counters)),
		.whens = calloc(next->n_whens + 1, sizeof(*difference->whens)),
		.sets = calloc(next->n_sets + 1, sizeof(*difference->sets)),
		.eaches = calloc(next->n_eaches + 1, sizeof(*difference->eaches)),
		.order = calloc(next->n_counts + 1, sizeof(*difference->order)),
		.counts_go = calloc(work->n_counts + 1, sizeof(bool)),
		.counters_go = calloc(work->n_counters + 1, sizeof(bool)),
		.whens_go = calloc(work->n_whens + 1, sizeof(bool)),
		.sets_go = calloc(work->n_sets + 1, sizeof(bool)),
		.eaches_go = calloc(work->n_eaches + 1, sizeof(bool)),
	};
	return difference->counts != NULL && difference->counters != NULL &&
			       difference->whens != NULL && difference->order != NULL &&
			       difference->counts_go != NULL && difference->counters_go != NULL &&
			       difference->whens_go != NULL && difference->sets != NULL &&
			       difference->sets_go != NULL && difference->eaches != NULL &&
			       difference->eaches_go != NULL
		       ? 0
		       : -ENOMEM;
}

static unsigned int
most(const struct trip_rules *rules)
{
	unsigned int n = rules->n_counts > rules->n_whens ? rules->n_counts : rules->n_whens;

	n = n > rules->n_sets ? n : rules->n_sets;
	n = n > rules->n_eaches ? n : rules->n_eaches;
	return n > rules->n_counters ? n : rules->n_counters;
}

int
trip_apply_difference_find(struct trip_apply_difference *difference, const struct trip_rules *work,
	const struct trip_rules *next, enum trip_apply_mode mode)
{
	struct words of_work = {0}, of_next = {0};
	int error = begin(difference, work, next);

	difference->mode = mode;
	of_work.list = calloc(most(work) + 1, sizeof(*of_work.list));
	of_next.list = calloc(most(next) + 1, sizeof(*of_next.list));
	if (of_work.list == NULL || of_next.list == NULL)
		error = -ENOMEM;
	if (error == 0) {
		for (int kind = COUNT; kind <= EACH; kind++)
			find_statements(difference, (enum kind)kind, &of_work, &of_next);
		find_read_anew(difference);
		of_work.n = of_next.n = 0;
		error = find_whens(difference, &of_work, &of_next, mode == TRIP_APPLY_ONTO);
	}
	if (error == 0)
		find_changed_keys(difference);
	free(of_work.list);
	free(of_next.list);
	return error;
}

void
trip_apply_difference_free(struct trip_apply_difference *difference)
{
	free(difference->counts);
	free(difference->counters);
	free(difference->whens);
	free(difference->sets);
	free(difference->eaches);
	free(difference->eaches_go);
	free(difference->order);
	free(difference->counts_go);
	free(difference->counters_go);
	free(difference->whens_go);
	free(difference->sets_go);
	*difference = (struct trip_apply_difference){0};
}

static void
print_gone(const struct trip_apply_difference *difference, enum kind kind, FILE *file)
{
	const bool *go = go_of(difference, kind);
	struct statement statement;

	for (unsigned int i = 0; take_statement(difference->work, kind, i, &statement); i++)
		if (go[i])
			fprintf(file, "- %s\n", statement.source);
}

static void
print_steps(const struct trip_apply_difference *difference, enum kind kind,
	enum trip_apply_what what, FILE *file)
{
	const struct trip_apply_step *steps = steps_of(difference, kind);
	struct statement statement;

	for (unsigned int i = 0; take_statement(difference->next, kind, i, &statement); i++)
		if (steps[i].what == what ||
			(what == TRIP_APPLY_CHANGE && steps[i].what == TRIP_APPLY_RENEW))
			fprintf(file, "%c %s\n", what == TRIP_APPLY_ADD ? '+' : '~',
				statement.source);
}

void
trip_apply_difference_print(const struct trip_apply_difference *difference, FILE *file)
{
	static const enum kind kinds[] = {SET, COUNTER, EACH};
	const struct trip_rules *work = difference->work, *next = difference->next;

	print_gone(difference, COUNT, file);
	print_gone(difference, COUNTER, file);
	for (unsigned int i = 0; i < work->n_whens; i++)
		if (difference->whens_go[i])
			fprintf(file, "- %s\n", work->whens[i].source);
	print_gone(difference, SET, file);
	print_gone(difference, EACH, file);
	print_steps(difference, COUNT, TRIP_APPLY_CHANGE, file);
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		print_steps(difference, kinds[i], TRIP_APPLY_CHANGE, file);
		print_steps(difference, kinds[i], TRIP_APPLY_ADD, file);
	}
	print_steps(difference, COUNT, TRIP_APPLY_ADD, file);
	for (unsigned int i = 0; i < next->n_whens; i++)
		if (difference->whens[i].what == TRIP_APPLY_ADD)
			fprintf(file, "+ %s\n", next->whens[i].source);
}
