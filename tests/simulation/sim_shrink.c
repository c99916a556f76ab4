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

struct shrink {
	struct sim_history *best;
	char sentence[256];
	unsigned int tries;
	uint64_t steps;
};

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

static bool
fails_otherwise(struct shrink *shrink, struct sim_history *history)
{
	uint64_t end = shrink->steps + OTHER_STEPS;
	struct sim_history other;

	for (unsigned int i = 0; i < OTHER_TURNS && shrink->steps < end; i++) {
		if (!turns_fail(shrink, history, i, &other))
			continue;
		free(history->decisions);
		*history = other;
		return true;
	}
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
		for (unsigned int i = 0; i < n && shrink->steps < STEPS;) {
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
		for (unsigned int i = 0;
			i + n <= shrink->best->n_decisions && shrink->steps < STEPS;) {
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

	for (unsigned int i = 1; i < OTHER_TURNS && shrink->steps < STEPS; i++) {
		if (!turns_fail(shrink, best, i, &other))
			continue;
		shrink->best = &other;
		while (shrink_decisions(shrink))
			;
		shrink->best = best;
		if (other.n_decisions < best->n_decisions) {
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

static bool
is_enough(struct sim_history *history, unsigned int enough)
{
	if (enough == 0)
		return false;
	history->told = true;
	sim_run(history);
	history->told = false;
	return sim_story_length() <= enough;
}

void
sim_shrink(struct sim_history *history, unsigned int enough)
{
	struct shrink shrink = {.best = history};
	bool repeats;

	strip(shrink.sentence, history->sentence);
	history->replays = true;
	sim_watchdog_limit(SPIN_MS);
	repeats = fails(&shrink, history);
	while (repeats && shrink.steps < STEPS && !is_enough(history, enough) &&
		shrink_more(&shrink))
		;
	sim_watchdog_limit(0);
	if (repeats)
		printf("shrunk by %u histories, to %u decisions\n", shrink.tries,
			history->n_decisions);
	else
		printf("it does not fail again when its decisions are repeated: %s\n",
			history->failed ? history->sentence : "nothing is wrong");
}
