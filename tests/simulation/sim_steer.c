/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which history comes next. One that has reached what none had before is kept, with all that its
 * plan drew and all that was decided. The next one is a new seed, or one of these with another plan
 * or with other turns. Most turns are kept up to the step where it found something new, or nearly;
 * what follows is drawn: that goes on from a state that is hard to come to.
 */
#include <dirent.h>
#include <string.h>

#include "sim_inside.h"

#define ENTRIES 4096
/* One of so many histories is a new seed. */
#define FRESH 3
/* Those that came last are changed more often. */
#define RECENT 16

struct entry {
	struct sim_history history;
	/* Where it reached something new. */
	uint32_t step;
};

static struct {
	struct entry entries[ENTRIES];
	unsigned int n;
	struct trip_random random;
	uint64_t seed;
	const char *folder;
	/* The plan of the one that is played, where it is a changed one. */
	struct sim_plan *changed;
} steer;

static uint32_t
below(uint32_t bound)
{
	return (uint32_t)trip_random_below(&steer.random, bound);
}

static bool
once_in(uint32_t times)
{
	return below(times) == 0;
}

static const struct entry *
choose(void)
{
	uint32_t recent = steer.n < RECENT ? steer.n : RECENT;

	return &steer.entries[once_in(2) ? steer.n - 1 - below(recent) : below(steer.n)];
}

/* --- the plan --- */

/* A few of its numbers are others; where that draws more than was drawn, a seed gives it. */
static void
change_plan(struct sim_history *history)
{
	const struct sim_plan *plan = history->plan;

	history->seed = trip_random_u64(&steer.random);
	if (once_in(8) || plan->n == 0) {
		history->plan = NULL;
		return;
	}
	steer.changed->n = plan->n;
	memcpy(steer.changed->draws, plan->draws, plan->n * sizeof(*plan->draws));
	for (uint32_t n = 1u << below(5); n > 0; n--) {
		uint64_t drawn = trip_random_u64(&steer.random) >> 1;

		steer.changed->draws[below(plan->n)] = drawn;
	}
	history->plan = steer.changed;
}

/* --- the turns --- */

static void
add_decisions(struct sim_history *history, const struct sim_decision *decisions, unsigned int n)
{
	unsigned int first = history->n_decisions, all = first + n;

	if (all > history->max_decisions) {
		history->max_decisions = all;
		history->decisions = realloc(history->decisions, all * sizeof(*history->decisions));
	}
	memcpy(&history->decisions[first], decisions, n * sizeof(*decisions));
	history->n_decisions = all;
}

/* Before its last news, or anywhere. */
static uint32_t
choose_step(const struct entry *entry)
{
	uint32_t before = 1u << below(10);

	if (once_in(4) || entry->step <= before)
		return 1 + below(entry->history.steps + 1);
	return entry->step - below(before);
}

/* One is not decided, or elsewhere, or otherwise; or there is one more. */
static void
edit_decision(struct sim_history *history)
{
	uint32_t at = below(history->n_decisions);
	struct sim_decision decision = history->decisions[at];

	switch (below(4)) {
	case 0:
		history->decisions[at] = history->decisions[--history->n_decisions];
		break;
	case 1:
		history->decisions[at].step += 1 + below(8);
		break;
	case 2:
		history->decisions[at].arg = below(decision.arg + 4);
		break;
	default:
		decision.step += 1 + below(16);
		add_decisions(history, &decision, 1);
	}
}

/* Those of some actors are of another history. */
static void
splice(struct sim_history *history, const struct sim_history *other)
{
	uint32_t actors = (uint32_t)trip_random_u64(&steer.random);
	unsigned int n = 0;

	for (unsigned int i = 0; i < history->n_decisions; i++)
		if ((actors >> history->decisions[i].actor % 32 & 1) == 0)
			history->decisions[n++] = history->decisions[i];
	history->n_decisions = n;
	for (unsigned int i = 0; i < other->n_decisions; i++)
		if ((actors >> other->decisions[i].actor % 32 & 1) != 0)
			add_decisions(history, &other->decisions[i], 1);
}

static void
change_turns(struct sim_history *history, const struct entry *entry)
{
	uint32_t way = below(8);

	history->turns = trip_random_u64(&steer.random);
	if (way == 0)
		return;
	history->replays = true;
	history->memory = entry->history.memory;
	add_decisions(history, entry->history.decisions, entry->history.n_decisions);
	if (way == 1)
		splice(history, &choose()->history);
	for (uint32_t n = way < 4 ? 1u << below(5) : 0; n > 0 && history->n_decisions > 0; n--)
		edit_decision(history);
	if (way >= 2)
		history->drawn_from = choose_step(entry);
}

/* --- one after the other --- */

static void
make_next(struct sim_history *history)
{
	const struct entry *entry;

	memset(history->left_out, 0, sizeof(history->left_out));
	history->plan = NULL;
	history->replays = false;
	history->drawn_from = 0;
	history->n_decisions = 0;
	history->seed = history->turns = steer.seed++;
	if (steer.n == 0 || once_in(FRESH))
		return;
	entry = choose();
	history->seed = entry->history.seed;
	history->plan = entry->history.plan;
	if (once_in(2))
		change_plan(history);
	change_turns(history, entry);
}

/* Where it is full, in the place of any. */
static void
keep(const struct sim_history *history)
{
	struct entry *entry = &steer.entries[steer.n < ENTRIES ? steer.n : below(ENTRIES)];

	if (steer.n < ENTRIES)
		steer.n++;
	else
		sim_corpus_free(&entry->history);
	entry->step = sim_edge_step();
	sim_corpus_copy(&entry->history, history);
}

static bool
play(struct sim_history *history)
{
	unsigned int news;

	sim_edge_begin();
	sim_run(history);
	news = sim_edge_end();
	if (history->replays)
		sim_decision_prune(history);
	if (news == 0 || history->failed)
		return false;
	keep(history);
	return true;
}

void
sim_steer_play(struct sim_history *history)
{
	enum sim_memory memory = history->memory;
	struct entry *entry;

	make_next(history);
	if (play(history) && steer.folder != NULL) {
		entry = &steer.entries[steer.n - 1];
		if (!sim_corpus_write(&entry->history, steer.folder, "kept"))
			fprintf(stderr, "%s: %m\n", steer.folder);
	}
	history->memory = memory;
}

/* In the order of their names, so that it is the same one every time. */
static void
play_folder(const struct sim_history *like)
{
	struct dirent **files;
	int n = scandir(steer.folder, &files, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		struct sim_history history = {.world = like->world, .memory = like->memory};
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", steer.folder, files[i]->d_name);
		if (sim_corpus_read(&history, path))
			(void)play(&history);
		sim_corpus_free(&history);
		free(files[i]);
	}
	if (n >= 0)
		free(files);
}

void
sim_steer_begin(const struct sim_history *like, uint64_t seed, const char *folder)
{
	steer.seed = seed;
	steer.random.state = seed;
	steer.folder = folder;
	steer.changed = sim_corpus_plan(SIM_DRAWS);
	sim_edge_forget();
	if (folder != NULL)
		play_folder(like);
}

unsigned int
sim_steer_kept(void)
{
	return steer.n;
}

void
sim_steer_end(void)
{
	for (unsigned int i = 0; i < steer.n; i++)
		sim_corpus_free(&steer.entries[i].history);
	steer.n = 0;
	free(steer.changed);
}
