/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a history that fails shorter: leaves out operations of its plan, and decisions that need
 * not have been made, half of them, a quarter, ... one, as long as it fails for the same reason.
 * What is left is such that nothing of it can be left out.
 */
#include <ctype.h>
#include <string.h>

#include "sim_inside.h"

/* Steps of all histories that are tried; of those with other turns for one plan; and how many. */
#define STEPS UINT64_C(150000000)
#define OTHER_STEPS 400000
#define OTHER_TURNS 400
/* Without a step, as it may be that each of them spins; and as many steps take as long. */
#define SPIN_MS 100
#define SPIN_STEPS 500000

/* Plans that are remembered. */
#define PLANS 16384

struct shrink {
	struct sim_history *best;
	char sentence[256];
	unsigned int tries;
	uint64_t steps;
	/* A story of so many steps is short enough, 0: none is; and it is. */
	unsigned int enough;
	bool is_short;
};

/* Of plans that fail with no other turns: what they leave out, hashed. */
static uint64_t plans[PLANS];

/* Numbers are others in another history. */
static void
strip(char *to, const char *from)
{
	for (; *from != '\0'; from++)
		if (!isdigit((unsigned char)*from))
			*to++ = *from;
	*to = '\0';
}

static bool
fails(struct shrink *shrink, struct sim_history *history)
{
	char sentence[sizeof(history->sentence)];

	shrink->tries++;
	sim_run(history);
	shrink->steps += history->steps + (history->spun ? SPIN_STEPS : 0);
	strip(sentence, history->sentence);
	if (!history->failed || strcmp(sentence, shrink->sentence) != 0)
		return false;
	sim_decision_prune(history);
	return true;
}

static bool
goes_on(const struct shrink *shrink)
{
	return !shrink->is_short && shrink->steps < STEPS;
}

/* Whoever loses the turn begins another step of the story. */
static bool
may_be_short(const struct shrink *shrink)
{
	unsigned int switches = 0;

	for (unsigned int i = 0; i < shrink->best->n_decisions; i++)
		switches += shrink->best->decisions[i].kind == SIM_SWITCH;
	return switches <= shrink->enough;
}

static void
look_how_short(struct shrink *shrink)
{
	if (shrink->enough == 0 || !may_be_short(shrink))
		return;
	shrink->best->told = true;
	sim_run(shrink->best);
	shrink->best->told = false;
	shrink->is_short = sim_story_length() <= shrink->enough;
}

/* A copy without some of the decisions. */
static bool
without_decisions(struct shrink *shrink, unsigned int first, unsigned int n)
{
	struct sim_history *best = shrink->best, less = *best;

	less.decisions = malloc((best->n_decisions + 1) * sizeof(*less.decisions));
	memcpy(less.decisions, best->decisions, first * sizeof(*less.decisions));
	memcpy(&less.decisions[first], &best->decisions[first + n],
		(best->n_decisions - first - n) * sizeof(*less.decisions));
	less.n_decisions = best->n_decisions - n;
	if (!fails(shrink, &less)) {
		free(less.decisions);
		return false;
	}
	free(best->decisions);
	*best = less;
	look_how_short(shrink);
	return true;
}

/* The same plan with other turns, the nth: whether that fails as well. */
static bool
turns_fail(struct shrink *shrink, const struct sim_history *history, unsigned int n,
	struct sim_history *other)
{
	*other = *history;
	other->replays = false;
	other->decisions = NULL;
	other->max_decisions = 0;
	other->turns = history->turns + n;
	if (fails(shrink, other)) {
		other->replays = true;
		return true;
	}
	free(other->decisions);
	return false;
}

/* Never 0. */
static uint64_t
hash_plan(const struct sim_history *history)
{
	uint64_t hash = history->turns | 1;

	for (unsigned int i = 0; i < SIM_OPS; i++)
		hash = (hash ^ history->left_out[i]) * UINT64_C(0x100000001b3);
	return hash | 1;
}

/* Other turns of a plan are always the same ones. */
static bool
fails_otherwise(struct shrink *shrink, struct sim_history *history)
{
	uint64_t end = shrink->steps + OTHER_STEPS, hash = hash_plan(history);
	struct sim_history other;

	if (plans[hash >> 1 & (PLANS - 1)] == hash)
		return false;
	for (unsigned int i = 0; i < OTHER_TURNS && shrink->steps < end; i++) {
		if (!turns_fail(shrink, history, i, &other))
			continue;
		free(history->decisions);
		*history = other;
		return true;
	}
	plans[hash >> 1 & (PLANS - 1)] = hash;
	return false;
}

/* Without n of the operations that are still in, from one on. */
static bool
without_ops(struct shrink *shrink, const unsigned int *ops, unsigned int n)
{
	struct sim_history less = *shrink->best;

	for (unsigned int i = 0; i < n; i++)
		less.left_out[ops[i]] = true;
	if (!fails(shrink, &less) && !fails_otherwise(shrink, &less))
		return false;
	*shrink->best = less;
	look_how_short(shrink);
	return true;
}

static unsigned int
list_ops(const struct sim_history *history, unsigned int *ops)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < history->n_ops; i++)
		if (!history->left_out[i])
			ops[n++] = i;
	return n;
}

static bool
shrink_ops(struct shrink *shrink)
{
	static unsigned int ops[SIM_OPS];
	unsigned int n = list_ops(shrink->best, ops);
	bool shrunk = false;

	for (unsigned int size = n / 2 + 1; size > 0; size /= 2) {
		for (unsigned int i = 0; i < n && goes_on(shrink);) {
			if (!without_ops(shrink, &ops[i], i + size < n ? size : n - i)) {
				i += size;
				continue;
			}
			shrunk = true;
			n = list_ops(shrink->best, ops);
		}
	}
	return shrunk;
}

static bool
shrink_decisions(struct shrink *shrink)
{
	bool shrunk = false;

	for (unsigned int n = shrink->best->n_decisions / 2 + 1; n > 0; n /= 2)
		for (unsigned int i = 0; i + n <= shrink->best->n_decisions && goes_on(shrink);) {
			if (without_decisions(shrink, i, n))
				shrunk = true;
			else
				i += n;
		}
	return shrunk;
}

/* Other turns for the same plan, of which fewer need to be told. */
static bool
turn_otherwise(struct shrink *shrink)
{
	struct sim_history *best = shrink->best, other;

	for (unsigned int i = 1; i < OTHER_TURNS && goes_on(shrink); i++) {
		if (!turns_fail(shrink, best, i, &other))
			continue;
		shrink->best = &other;
		while (shrink_decisions(shrink))
			;
		shrink->best = best;
		if (shrink->is_short || other.n_decisions < best->n_decisions) {
			free(best->decisions);
			*best = other;
			return true;
		}
		free(other.decisions);
	}
	return false;
}

static bool
shrink_more(struct shrink *shrink)
{
	bool ops = shrink_ops(shrink), decisions = shrink_decisions(shrink);

	return ops || decisions || turn_otherwise(shrink);
}

void
sim_shrink(struct sim_history *history, unsigned int enough)
{
	struct shrink shrink = {.best = history, .enough = enough};
	bool repeats;

	strip(shrink.sentence, history->sentence);
	history->replays = true;
	sim_watchdog_limit(SPIN_MS);
	repeats = fails(&shrink, history);
	memset(plans, 0, sizeof(plans));
	if (repeats)
		look_how_short(&shrink);
	while (repeats && goes_on(&shrink) && shrink_more(&shrink))
		;
	sim_watchdog_limit(0);
	if (repeats)
		printf("shrunk by %u histories, to %u decisions\n", shrink.tries,
			history->n_decisions);
	else
		printf("it does not fail again when its decisions are repeated: %s\n",
			history->failed ? history->sentence : "nothing is wrong");
}
