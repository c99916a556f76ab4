/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "live_bed.h"
#include "live_draw.h"

struct trip_random live_draw_random;

unsigned int
live_draw_below(unsigned int n)
{
	return (unsigned int)trip_random_below(&live_draw_random, n);
}

static bool
is_rate(enum model_kind kind)
{
	return kind == MODEL_RATES || kind == MODEL_RATE_DROP || kind == MODEL_RATE_POLICE;
}

/* What is of time, is done by software alone, or when somebody reads of it. */
static bool
is_not_of_hardware(enum model_kind kind)
{
	return kind == MODEL_POLICE || kind == MODEL_IDLE || kind == MODEL_RESET ||
	       kind == MODEL_RESET_TOTAL || is_rate(kind);
}

/* Nothing counts in addition there, and of overlapping rules of one priority it is not known which
 * one counts. A drop for a time lasts longer than the test. */
static void
make_hard(struct model_rule *rule)
{
	rule->also = false;
	rule->priority = rule->name;
	rule->lasts = rule->lasts != 0 ? 10 * MODEL_HOUR : 0;
}

static void
draw_rule(struct model_rule *rule, unsigned int name, const struct model *model)
{
	const struct model_state *state = &model->states[name];
	enum model_kind kind = live_draw_below(MODEL_KINDS);

	while (live_hard != NULL && is_not_of_hardware(kind))
		kind = live_draw_below(MODEL_KINDS);
	*rule = (struct model_rule){.name = name,
		.low = live_draw_below(LIVE_DRAW_PORTS),
		.priority = live_draw_below(2),
		.also = live_draw_below(4) == 0,
		.kind = kind,
		.limit = live_draw_below(3) == 0 ? 1 + state->spent + live_draw_below(10) : 0};
	rule->high = rule->low + live_draw_below(LIVE_DRAW_PORTS - rule->low);
	rule->drops = !rule->also && live_draw_below(6) == 0;
	if (rule->kind != MODEL_NONE && !is_rate(rule->kind) && rule->kind != MODEL_IDLE)
		rule->threshold = 1 + state->value + live_draw_below(10);
	if (rule->kind == MODEL_ADD || rule->kind == MODEL_EXEC || rule->kind == MODEL_RESET ||
		rule->kind == MODEL_RESET_TOTAL ||
		(rule->kind == MODEL_DROP_FOR && live_draw_below(2) == 0))
		rule->every = 1 + live_draw_below(4);
	if (rule->kind == MODEL_DROP_FOR)
		rule->lasts = 1 + live_draw_below(30);
	if (live_hard != NULL)
		make_hard(rule);
}

unsigned int
live_draw_rules(struct model *model, struct model_rule *rules)
{
	unsigned int order[MODEL_NAMES], n = 0;

	for (unsigned int i = 0; i < MODEL_NAMES; i++)
		order[i] = i < model->n ? model->rules[i].name : MODEL_NAMES;
	for (unsigned int i = 0; i < 2 && model->n > 1; i++) {
		unsigned int a = live_draw_below(model->n), b = live_draw_below(model->n),
			     kept = order[a];

		order[a] = order[b];
		order[b] = kept;
	}
	for (unsigned int i = 0; i < model->n; i++)
		if (live_draw_below(5) > 0) {
			rules[n] = *model_find(model, order[i]);
			if (live_draw_below(4) == 0)
				draw_rule(&rules[n], order[i], model);
			n++;
		}
	for (unsigned int name = 0; name < MODEL_NAMES; name++)
		if (model_find(model, name) == NULL && live_draw_below(3) == 0) {
			unsigned int at = live_draw_below(n + 1);

			memmove(&rules[at + 1], &rules[at], (n - at) * sizeof(*rules));
			draw_rule(&rules[at], name, model);
			n++;
		}
	return n;
}

void
live_draw_write_count(FILE *file, const struct model_rule *rule)
{
	fprintf(file,
		"%scount%sc%u port 0 priority %u%s pattern eth / ipv4 / udp dst range %u - %u / "
		"end%s\n",
		rule->also ? "also " : "", live_draw_below(4) == 0 ? "  " : " ", rule->name,
		rule->priority, live_hard != NULL ? " engine hw" : "", rule->low, rule->high,
		rule->drops ? " actions drop / end" : "");
}

void
live_draw_write_when(FILE *file, const struct model_rule *rule)
{
	unsigned int name = rule->name, threshold = (unsigned int)rule->threshold;

	if (rule->limit != 0)
		fprintf(file, "quota q%u %u per hour of c%u.packets\nwhen q%u spent drop c%u\n",
			name, (unsigned int)rule->limit, name, name, name);
	switch (rule->kind) {
	case MODEL_NONE:
		return;
	case MODEL_RATES:
	case MODEL_RATE_DROP:
	case MODEL_RATE_POLICE:
		fprintf(file, "when c%u.packets rate >= 5pps over 1050ms until < 2pps for 1050ms ",
			name);
		if (rule->kind == MODEL_RATES)
			fprintf(file, "add others 1\n");
		else if (rule->kind == MODEL_RATE_DROP)
			fprintf(file, "drop c%u\n", name);
		else
			fprintf(file, "police c%u 2Gbit/s\n", name);
		return;
	case MODEL_IDLE:
		fprintf(file, "when c%u.packets idle 1050ms every 1 add others 1\n", name);
		return;
	case MODEL_ALL:
	case MODEL_ANY:
		fprintf(file, "when %s(c%u.packets >= %u, total >= %u) add others 1\n",
			rule->kind == MODEL_ALL ? "all" : "any", name, threshold, threshold);
		return;
	default:
		fprintf(file, "when c%u.packets >= %u  ", name, threshold);
	}
	if (rule->every != 0)
		fprintf(file, "every %u ", (unsigned int)rule->every);
	if (rule->kind == MODEL_ADD)
		fprintf(file, "add total 1\n");
	else if (rule->kind == MODEL_EXEC)
		fprintf(file, "exec /bin/true\n");
	else if (rule->kind == MODEL_RESET)
		fprintf(file, "reset c%u\n", name);
	else if (rule->kind == MODEL_RESET_TOTAL)
		fprintf(file, "reset total\n");
	else if (rule->kind == MODEL_POLICE)
		fprintf(file, "police c%u 1Gbit/s\n", name);
	else if (rule->kind == MODEL_DROP_FOR)
		fprintf(file, "drop c%u for %ums\n", name, 100 * (unsigned int)rule->lasts - 1);
	else
		fprintf(file, "drop c%u # it is enough\n", name);
}
