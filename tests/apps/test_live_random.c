/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules that change while they are at work: random changes, with packets in between, against a
 * model. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live_bed.h"
#include "live_model.h"
#include "rules.h"
#include "trip_test.h"

/* A thousand in a long run. */
#define SEQUENCES 50
#define STEPS 5
#define PACKETS 10
#define PORTS 16

static struct trip_random random_state;

/* The place at work of a name, or -1. */
static int
place_of(unsigned int name)
{
	for (unsigned int i = 0; i < live_bed.quota.rules->n_counts; i++)
		if (!live_bed.quota.rules->counts[i].gone &&
			live_bed.quota.rules->counts[i].name[1] == (char)('0' + name))
			return (int)i;
	return -1;
}

/* ---- random rules -----------------------------------------------------------------------------
 */

static unsigned int
below(unsigned int n)
{
	return (unsigned int)trip_random_below(&random_state, n);
}

static bool
is_rate(enum model_kind kind)
{
	return kind == MODEL_RATES || kind == MODEL_RATE_DROP || kind == MODEL_RATE_POLICE;
}

static void
draw_rule(struct model_rule *rule, unsigned int name, const struct model *model)
{
	const struct model_state *state = &model->states[name];

	*rule = (struct model_rule){.name = name,
		.low = below(PORTS),
		.priority = below(2),
		.also = below(4) == 0,
		.kind = below(MODEL_KINDS),
		.limit = below(3) == 0 ? 1 + state->spent + below(10) : 0};
	rule->high = rule->low + below(PORTS - rule->low);
	rule->drops = !rule->also && below(6) == 0;
	if (rule->kind != MODEL_NONE && !is_rate(rule->kind) && rule->kind != MODEL_IDLE)
		rule->threshold = 1 + state->packets + below(10);
	if (rule->kind == MODEL_ADD || rule->kind == MODEL_EXEC ||
		(rule->kind == MODEL_DROP_FOR && below(2) == 0))
		rule->every = 1 + below(4);
	if (rule->kind == MODEL_DROP_FOR)
		rule->lasts = 1 + below(30);
}

/* New ones, and mostly those that are there, in their order or another one. */
static unsigned int
draw_rules(struct model *model, struct model_rule *rules)
{
	unsigned int order[MODEL_NAMES], n = 0;

	for (unsigned int i = 0; i < MODEL_NAMES; i++)
		order[i] = i < model->n ? model->rules[i].name : MODEL_NAMES;
	for (unsigned int i = 0; i < 2 && model->n > 1; i++) {
		unsigned int a = below(model->n), b = below(model->n), kept = order[a];

		order[a] = order[b];
		order[b] = kept;
	}
	for (unsigned int i = 0; i < model->n; i++)
		if (below(5) > 0) {
			rules[n] = *model_find(model, order[i]);
			if (below(4) == 0)
				draw_rule(&rules[n], order[i], model);
			n++;
		}
	for (unsigned int name = 0; name < MODEL_NAMES; name++)
		if (model_find(model, name) == NULL && below(3) == 0) {
			unsigned int at = below(n + 1);

			memmove(&rules[at + 1], &rules[at], (n - at) * sizeof(*rules));
			draw_rule(&rules[at], name, model);
			n++;
		}
	return n;
}

static void
write_count(FILE *file, const struct model_rule *rule)
{
	fprintf(file,
		"%scount%sc%u port 0 priority %u pattern eth / ipv4 / udp dst range %u - %u / "
		"end%s\n",
		rule->also ? "also " : "", below(4) == 0 ? "  " : " ", rule->name, rule->priority,
		rule->low, rule->high, rule->drops ? " actions drop / end" : "");
}

static void
write_when(FILE *file, const struct model_rule *rule)
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
	else if (rule->kind == MODEL_POLICE)
		fprintf(file, "police c%u 1Gbit/s\n", name);
	else if (rule->kind == MODEL_DROP_FOR)
		fprintf(file, "drop c%u for %ums\n", name, 100 * (unsigned int)rule->lasts - 1);
	else
		fprintf(file, "drop c%u # it is enough\n", name);
}

/* A command with these rules; `first` is its first line. Of those that `has` has, no `when`. */
static void
command_with(const char *first, const struct model_rule *rules, unsigned int n, struct model *has)
{
	bool whens_first = below(2) == 0;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	fprintf(file, "%s\n%s", first, has == NULL ? "counter total\ncounter others\n" : "");
	for (unsigned int round = 0; round < 2; round++)
		for (unsigned int i = 0; i < n; i++)
			if ((round == 0) != whens_first)
				write_count(file, &rules[i]);
			else if (has == NULL || model_find(has, rules[i].name) == NULL)
				write_when(file, &rules[i]);
	fclose(file);
	free(live_command_of(text, size, 0));
	if (has == NULL) {
		/* It is what that file says: nothing is left to change. */
		char *answer;

		memcpy(text, "diff   ", 7);
		answer = live_command_of(text, size, 0);
		for (const char *line = answer; line != NULL && *line != 0;
			line = strchr(line, '\n'), line += line != NULL)
			if (strchr("+-~", line[0]) != NULL && line[1] == ' ')
				fail_msg("it is yet to be changed: %s", line);
		free(answer);
	}
	free(text);
}

/* ---- one sequence -----------------------------------------------------------------------------
 */

/* Those at work, by their names: each of a count. */
static void
check_quotas(const struct model *model)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < model->n; i++)
		n += model->rules[i].limit != 0;
	for (unsigned int i = 2; i < live_bed.quota.rules->n_counters; i++) {
		const struct trip_rules_counter *counter = &live_bed.quota.rules->counters[i];

		if (counter->gone)
			continue;
		live_check_cntr(live_bed.quota.counters[i],
			model->states[(unsigned int)(counter->name[1] - '0')].spent);
		n--;
	}
	assert_int_equal(n, 0);
}

/* What they are told, of statements that have gone, too. */
static void
check_programs(const struct model *model)
{
	const struct trip_rules *rules = live_bed.quota.rules;
	uint64_t told = 0;

	for (unsigned int i = 0; i < rules->n_whens; i++)
		told += rules->whens[i].op == TRIP_RULES_OP_EXEC ? live_bed.quota.fired[i] : 0;
	assert_int_equal(told, model->execs);
}

static void
check(struct model *model)
{
	check_quotas(model);
	live_progress();
	for (unsigned int name = 0; name < MODEL_NAMES; name++) {
		const struct model_state *state = &model->states[name];
		int at = place_of(name);
		struct trip_flow_count sum;

		assert_int_equal(at >= 0, model_find(model, name) != NULL);
		if (at < 0)
			continue;
		live_check_cntr(live_bed.quota.counts[at].packets, state->packets);
		assert_int_equal(trip_apply_count_query(&live_bed.quota.counts[at], &sum), 0);
		assert_int_equal(sum.packets, state->packets);
		assert_int_equal(sum.bytes, LIVE_BYTES * state->packets);
		assert_int_equal(sum.fate, state->deleted               ? TRIP_FLOW_FATE_DELETED
					   : model_drops(model, name)   ? TRIP_FLOW_FATE_DROP
					   : model_polices(model, name) ? TRIP_FLOW_FATE_POLICE
									: TRIP_FLOW_FATE_PASS);
		live_check_cntr(live_bed.quota.counts[at].packets, state->packets);
		live_check_cntr(live_bed.quota.counts[at].bytes, LIVE_BYTES * state->packets);
	}
	live_check_cntr(live_bed.quota.counters[0], model->total);
	live_check_cntr(live_bed.quota.counters[1], model->others);
	check_programs(model);
}

static void
do_op(struct model *model)
{
	static const struct {
		const char *word;
		void (*done)(struct model *model, unsigned int name);
		const char *tail;
	} ops[] = {{"drop", model_drop, ""}, {"pass", model_pass, ""}, {"delete", model_delete, ""},
		{"police", model_police, " 1Mpps"}};
	unsigned int name = below(MODEL_NAMES), op = below(7) % 4;
	char text[32];

	snprintf(text, sizeof(text), "do %s c%u%s", ops[op].word, name, ops[op].tail);
	if (model_find(model, name) == NULL) {
		live_command(text, -EINVAL);
		return;
	}
	/* What has ended stays so. */
	if (model->states[name].deleted)
		return;
	live_command(text, 0);
	ops[op].done(model, name);
}

static void
reset(struct model *model)
{
	unsigned int name = below(MODEL_NAMES);
	const struct model_rule *rule = model_find(model, name);
	char text[32];

	snprintf(text, sizeof(text), "reset q%u", name);
	live_command(text, rule != NULL && rule->limit != 0 ? 0 : -ENOENT);
	if (rule != NULL && rule->limit != 0)
		model_reset(model, name);
}

/* Those whose flows are not what they were. */
static void
note_renewed(struct model *model, struct trip_flow **const *before)
{
	for (unsigned int name = 0; name < MODEL_NAMES; name++) {
		int at = place_of(name);

		if (at >= 0 && before[name] != NULL &&
			before[name] != live_bed.quota.counts[at].flows)
			model_renewed(model, name);
	}
}

static void
step(struct model *model)
{
	struct trip_flow **flows[MODEL_NAMES] = {0};
	struct model_rule rules[MODEL_NAMES];
	unsigned int n = draw_rules(model, rules), name = below(MODEL_NAMES);
	char text[32];

	for (unsigned int i = 0; i < MODEL_NAMES; i++)
		if (place_of(i) >= 0)
			flows[i] = live_bed.quota.counts[place_of(i)].flows;
	switch (below(5)) {
	case 0:
		command_with("reload t", rules, n, NULL);
		model_reload(model, rules, n);
		break;
	case 1:
		n = RTE_MIN(n, 2u);
		command_with("apply test", rules, n, model);
		model_apply(model, rules, n);
		break;
	case 2:
		snprintf(text, sizeof(text), "remove c%u", name);
		live_command(text, model_find(model, name) != NULL ? 0 : -ENOENT);
		if (model_find(model, name) != NULL)
			model_remove(model, name);
		break;
	case 3:
		reset(model);
		break;
	default:
		do_op(model);
	}
	note_renewed(model, flows);
}

static void
advance(struct model *model)
{
	uint64_t moments = below(20) == 0  ? below(MODEL_HOUR / 2)
			   : below(4) == 0 ? below(40)
					   : below(4);

	tripd_bed_advance(&live_bed, moments * 100000000);
	model_advance(model, moments);
}

static void
changes_count_and_do_what_the_model_says(void **state)
{
	uint64_t sequences = trip_test_rounds(SEQUENCES);
	struct model model = {0};

	random_state.state = trip_test_seed("changes");
	tripd_bed_open_by_packets(&live_bed,
		"counter total\ncounter others\ncount keep port 0 priority 9 pattern eth / end\n",
		(struct tripd_live){4096, 4096, 4096, 1});
	live_bed.quota.programs = &live_programs;
	live_command("remove keep", 0);
	for (uint64_t i = 0; i < sequences; i++)
		for (unsigned int k = 0; k < STEPS; k++) {
			step(&model);
			check(&model);
			for (unsigned int p = 0; p < PACKETS; p++) {
				unsigned int port = below(PORTS);

				assert_int_equal(live_packet(port), model_packet(&model, port));
			}
			check(&model);
			advance(&model);
			check(&model);
		}
	tripd_bed_close(&live_bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_count_and_do_what_the_model_says),
	};
	int ret = live_init();

	return ret != 0 ? ret : cmocka_run_group_tests(tests, NULL, NULL);
}
