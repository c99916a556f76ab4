/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules that change while they are at work: random changes, with packets in between, against a
 * model: in software by the clock of packets; or, where live_hard is set, in hardware, by the
 * machine's, of which nothing there takes notice. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "live_bed.h"
#include "live_draw.h"
#include "live_model.h"
#include "live_random.h"
#include "rules.h"
#include "trip_test.h"

/* A thousand in a long run. */
#define SEQUENCES 50
#define STEPS 5
#define PACKETS 10

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

/* A command with these rules; `first` is its first line. Of those that `has` has, no `when`. */
static void
command_with(const char *first, const struct model_rule *rules, unsigned int n, struct model *has)
{
	bool whens_first = live_draw_below(2) == 0;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	fprintf(file, "%s\n%s", first, has == NULL ? "counter total\ncounter others\n" : "");
	for (unsigned int round = 0; round < 2; round++)
		for (unsigned int i = 0; i < n; i++)
			if ((round == 0) != whens_first)
				live_draw_write_count(file, &rules[i]);
			else if (has == NULL || model_find(has, rules[i].name) == NULL)
				live_draw_write_when(file, &rules[i]);
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

/* What they are told. */
static uint64_t execs;

static void
count_exec(void *arg, const struct tripd_trip *trip)
{
	execs += live_bed.quota.rules->whens[trip->when].op == TRIP_RULES_OP_EXEC ? trip->count : 0;
}

static enum trip_flow_fate
fate_of(const struct model *model, unsigned int name)
{
	return model->states[name].deleted  ? TRIP_FLOW_FATE_DELETED
	       : model_drops(model, name)   ? TRIP_FLOW_FATE_DROP
	       : model_polices(model, name) ? TRIP_FLOW_FATE_POLICE
					    : TRIP_FLOW_FATE_PASS;
}

/* What it does to rules in hardware, a thread of its own does, in order. */
static void
await_fate(const struct model *model, unsigned int name, int at)
{
	uint64_t begun = rte_rdtsc();
	struct trip_flow_count sum;

	while (live_hard != NULL && live_is_patient(begun)) {
		assert_int_equal(trip_apply_count_query(&live_bed.quota.counts[at], &sum), 0);
		if (sum.fate == fate_of(model, name))
			return;
		live_progress();
	}
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
		live_check_cntr(live_bed.quota.counts[at].packets, state->value);
		await_fate(model, name, at);
		assert_int_equal(trip_apply_count_query(&live_bed.quota.counts[at], &sum), 0);
		assert_int_equal(sum.packets, state->packets);
		assert_int_equal(sum.bytes, LIVE_BYTES * state->packets);
		assert_int_equal(sum.fate, fate_of(model, name));
		live_check_cntr(live_bed.quota.counts[at].packets, state->value);
		live_check_cntr(live_bed.quota.counts[at].bytes, LIVE_BYTES * state->value);
	}
	live_check_cntr(live_bed.quota.counters[0], model->total);
	live_check_cntr(live_bed.quota.counters[1], model->others);
	live_progress();
	assert_int_equal(execs, model->execs);
}

static void
reset_quota(struct model *model, unsigned int name)
{
	const struct model_rule *rule = model_find(model, name);
	char text[32];

	snprintf(text, sizeof(text), "reset q%u", name);
	live_command(text, rule != NULL && rule->limit != 0 ? 0 : -ENOENT);
	if (rule != NULL && rule->limit != 0)
		model_reset(model, name);
}

/* What it was is told, to the packet. */
static void
reset_count(struct model *model, unsigned int name)
{
	uint64_t value = model->states[name].value;
	char text[32], answer[128] = "";

	snprintf(text, sizeof(text), "reset c%u", name);
	if (model_find(model, name) == NULL) {
		live_command(text, -ENOENT);
		return;
	}
	snprintf(answer, sizeof(answer), "c%u.packets %" PRIu64 "\nc%u.bytes %" PRIu64 "\n", name,
		value, name, LIVE_BYTES * value);
	live_answered(text, 0, answer);
	model_reset_count(model, name);
}

static void
reset_total(struct model *model)
{
	char answer[64];

	snprintf(answer, sizeof(answer), "total %" PRIu64 "\n", model->total);
	live_answered("reset total", 0, answer);
	model_reset_total(model);
}

/* What a device has counted that nobody has read counts from 0 on: then there is none of these. */
static void
reset(struct model *model, bool all_is_read)
{
	unsigned int name = live_draw_below(MODEL_NAMES), what = live_draw_below(3);

	if (what == 0 && all_is_read)
		reset_count(model, name);
	else if (what == 1 && all_is_read)
		reset_total(model);
	else
		reset_quota(model, name);
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

/* What has been done in the model. */
static uint64_t
count_done(const struct model *model)
{
	uint64_t done = model->total + model->others + model->execs;

	for (unsigned int name = 0; name < MODEL_NAMES; name++)
		done += model->states[name].fired + model->states[name].is_spent;
	return done;
}

/* What came last is counted by the device, and nobody has read that. A quota has it when it is
 * read, so there is none then. */
static bool unread;
/* And one more comes in the midst of what is done now: to this port. */
static unsigned int within;

/* It comes before anything has changed, so it is of what was; nothing fires by it. */
static void
begin_within(const struct model *model)
{
	struct model probe = *model;

	within = live_draw_below(LIVE_DRAW_PORTS);
	(void)model_packet(&probe, within);
	if (unread && count_done(&probe) == count_done(model))
		live_hard->receive_within(within);
}

static void
end_within(struct model *model)
{
	int passed = unread ? live_hard->received() : -1;

	if (passed >= 0)
		assert_int_equal(passed, model_packet(model, within));
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
	unsigned int name = live_draw_below(MODEL_NAMES),
		     op = live_hard != NULL ? live_draw_below(3) : live_draw_below(7) % 4;
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
	end_within(model);
	ops[op].done(model, name);
}

static void
step(struct model *model)
{
	struct trip_flow **flows[MODEL_NAMES] = {0};
	struct model_rule rules[MODEL_NAMES];
	unsigned int n = live_draw_rules(model, rules), name = live_draw_below(MODEL_NAMES);
	char text[32];

	for (unsigned int i = 0; unread && i < n; i++)
		rules[i].limit = 0;
	for (unsigned int i = 0; i < MODEL_NAMES; i++)
		if (place_of(i) >= 0)
			flows[i] = live_bed.quota.counts[place_of(i)].flows;
	begin_within(model);
	switch (live_draw_below(5)) {
	case 0:
		command_with("reload t", rules, n, NULL);
		end_within(model);
		model_reload(model, rules, n);
		break;
	case 1:
		n = RTE_MIN(n, 2u);
		command_with("apply test", rules, n, model);
		end_within(model);
		model_apply(model, rules, n);
		break;
	case 2:
		snprintf(text, sizeof(text), "remove c%u", name);
		live_command(text, model_find(model, name) != NULL ? 0 : -ENOENT);
		end_within(model);
		if (model_find(model, name) != NULL)
			model_remove(model, name);
		break;
	case 3:
		reset(model, !unread);
		break;
	default:
		do_op(model);
	}
	/* If it has not come. */
	end_within(model);
	note_renewed(model, flows);
}

static void
advance(struct model *model)
{
	uint64_t moments = live_draw_below(20) == 0  ? live_draw_below(MODEL_HOUR / 2)
			   : live_draw_below(4) == 0 ? live_draw_below(40)
						     : live_draw_below(4);

	tripd_bed_advance(&live_bed, moments * 100000000);
	model_advance(model, moments);
}

static void
open_random(void)
{
	const struct tripd_live live = {4096, 4096, 4096, 1, 0};

	live_draw_random.state = trip_test_seed("changes");
	if (live_hard != NULL)
		tripd_bed_open(&live_bed,
			"counter total\ncounter others\ncount keep port 0 priority 9 engine hw "
			"pattern eth / ipv4 / udp dst is 99 / end\n",
			live);
	else
		tripd_bed_open_by_packets(&live_bed,
			"counter total\ncounter others\n"
			"count keep port 0 priority 9 pattern eth / end\n",
			live);
	live_bed.quota.programs = &live_programs;
	live_bed.quota.told = count_exec;
	execs = 0;
}

static void
send_packets(struct model *model)
{
	for (unsigned int p = 0; p < PACKETS; p++) {
		unsigned int port = live_draw_below(LIVE_DRAW_PORTS);
		uint64_t done = count_done(model);

		assert_int_equal(live_packet(port), model_packet(model, port));
		/* What that makes the device drop it drops by now. */
		if (live_hard != NULL && count_done(model) != done)
			check(model);
	}
	unread = live_hard != NULL && live_draw_below(2) == 0;
	for (unsigned int i = 0; i < model->n; i++)
		unread &= model->rules[i].limit == 0;
	if (!unread)
		check(model);
}

static void
changes_count_and_do_what_the_model_says(void **state)
{
	uint64_t sequences = trip_test_rounds(SEQUENCES);
	struct model model = {0};

	open_random();
	live_command("remove keep", 0);
	for (uint64_t i = 0; i < sequences; i++)
		for (unsigned int k = 0; k < STEPS; k++) {
			step(&model);
			check(&model);
			send_packets(&model);
			if (live_hard != NULL)
				continue;
			advance(&model);
			check(&model);
		}
	check(&model);
	tripd_bed_close(&live_bed);
}

int
live_random(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_count_and_do_what_the_model_says),
	};
	int ret = live_init();

	return ret != 0 ? ret : cmocka_run_group_tests(tests, NULL, NULL);
}
