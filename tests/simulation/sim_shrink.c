/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a history that fails shorter: leaves out operations of its plan, and decisions that need
 * not have been made, half of them, a quarter, ... one, as long as it fails for the same reason.
 * What is left is such that nothing of it can be left out.
 */
#include <ctype.h>
#include <string.h>

#include "sim_inside.h"

/* Histories that are tried. */
#define TRIES 20000

struct shrink {
	struct sim_history *best;
	char sentence[256];
	unsigned int tries;
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
	strip(sentence, history->sentence);
	return history->failed && strcmp(sentence, shrink->sentence) == 0;
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

/* Without some of the operations that are still in. */
static bool
without_ops(struct shrink *shrink, unsigned int first, unsigned int n)
{
	struct sim_history less = *shrink->best;
	bool any = false;

	for (unsigned int i = first; i < first + n && i < less.n_ops; i++) {
		any |= !less.left_out[i];
		less.left_out[i] = true;
	}
	if (!any || !fails(shrink, &less))
		return false;
	*shrink->best = less;
	return true;
}

static bool
shrink_ops(struct shrink *shrink)
{
	bool shrunk = false;

	for (unsigned int n = shrink->best->n_ops / 2 + 1; n > 0; n /= 2)
		for (unsigned int i = 0; i < shrink->best->n_ops && shrink->tries < TRIES; i += n)
			shrunk |= without_ops(shrink, i, n);
	return shrunk;
}

static bool
shrink_decisions(struct shrink *shrink)
{
	bool shrunk = false;

	for (unsigned int n = shrink->best->n_decisions / 2 + 1; n > 0; n /= 2)
		for (unsigned int i = 0;
			i + n <= shrink->best->n_decisions && shrink->tries < TRIES;) {
			if (without_decisions(shrink, i, n))
				shrunk = true;
			else
				i += n;
		}
	return shrunk;
}

void
sim_shrink(struct sim_history *history)
{
	struct shrink shrink = {.best = history};

	strip(shrink.sentence, history->sentence);
	history->replays = true;
	if (!fails(&shrink, history)) {
		printf("it does not fail again when its decisions are repeated: %s\n",
			history->failed ? history->sentence : "nothing is wrong");
		return;
	}
	while (shrink_ops(&shrink) | shrink_decisions(&shrink))
		if (shrink.tries >= TRIES)
			break;
	printf("shrunk by %u histories, to %u decisions\n", shrink.tries, history->n_decisions);
}
