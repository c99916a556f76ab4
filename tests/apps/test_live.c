/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules that change while they are at work, by the commands that tripctl sends: random ones, with
 * packets in between, against a model; what is refused changes nothing; what is hostile is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "live_model.h"
#include "rules.h"
#include "trip_test.h"
#include "tripd_bed.h"

/* A thousand in a long run. */
#define SEQUENCES 50
#define STEPS 5
#define PACKETS 10
#define PORTS 16

static struct tripd_bed bed;
static struct trip_random random_state;

/* ---- the rules at work ------------------------------------------------------------------------
 */

static void
progress(void)
{
	tripd_bed_progress(&bed);
	tripd_quota_read(&bed.quota);
}

/* To be freed. */
static char *
command_of(const char *text, size_t length, int expected)
{
	char *answer = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&answer, &size);
	int status = tripd_command(text, length, file, &bed.commands);

	fclose(file);
	if (getenv("TRIP_SAY") != NULL)
		printf("%.*s\n=> %s\n", (int)length, text, answer);
	if (status != expected)
		fail_msg("%.*s: %d, not %d: %s", (int)length, text, status, expected, answer);
	progress();
	return answer;
}

static void
command(const char *text, int expected)
{
	free(command_of(text, strlen(text), expected));
}

/* Whether it passes. */
static bool
packet(unsigned int port)
{
	static const uint8_t head[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 46, 0,
		0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 0, 0, 26, 0, 0};
	struct rte_mbuf *pkt = rte_pktmbuf_alloc(tripd_bed_pool);
	uint8_t *bytes = (uint8_t *)rte_pktmbuf_append(pkt, 60);
	uint16_t n;

	memset(bytes, 0, 60);
	memcpy(bytes, head, sizeof(head));
	bytes[37] = (uint8_t)port;
	n = trip_port_burst(bed.quota.ports[0], 0, &pkt, 1);
	rte_pktmbuf_free_bulk(&pkt, n);
	progress();
	return n == 1;
}

/* The place at work of a name, or -1. */
static int
place_of(unsigned int name)
{
	for (unsigned int i = 0; i < bed.quota.rules->n_counts; i++)
		if (!bed.quota.rules->counts[i].gone &&
			bed.quota.rules->counts[i].name[1] == (char)('0' + name))
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

static void
draw_rule(struct model_rule *rule, unsigned int name, const struct model *model)
{
	const struct model_state *state = &model->states[name];

	*rule = (struct model_rule){.name = name,
		.low = below(PORTS),
		.priority = below(2),
		.also = below(4) == 0,
		.threshold = below(3) == 0 ? 0 : 1 + state->packets + below(10)};
	rule->high = rule->low + below(PORTS - rule->low);
	rule->drops = !rule->also && below(6) == 0;
	rule->every = rule->threshold != 0 && below(2) == 0 ? 1 + below(4) : 0;
	rule->limit = below(3) == 0 ? 1 + state->spent + below(10) : 0;
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
	if (rule->limit != 0)
		fprintf(file, "quota q%u %u per month of c%u.packets\nwhen q%u spent drop c%u\n",
			rule->name, (unsigned int)rule->limit, rule->name, rule->name, rule->name);
	if (rule->threshold != 0 && rule->every != 0)
		fprintf(file, "when c%u.packets >= %u every %u add total 1\n", rule->name,
			(unsigned int)rule->threshold, (unsigned int)rule->every);
	else if (rule->threshold != 0)
		fprintf(file, "when c%u.packets >= %u  drop c%u # it is enough\n", rule->name,
			(unsigned int)rule->threshold, rule->name);
}

/* A command with these rules; `first` is its first line. Of those that `has` has, no `when`. */
static void
command_with(const char *first, const struct model_rule *rules, unsigned int n, struct model *has)
{
	bool whens_first = below(2) == 0;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	fprintf(file, "%s\n%s", first, has == NULL ? "counter total\n" : "");
	for (unsigned int round = 0; round < 2; round++)
		for (unsigned int i = 0; i < n; i++)
			if ((round == 0) != whens_first)
				write_count(file, &rules[i]);
			else if (has == NULL || model_find(has, rules[i].name) == NULL)
				write_when(file, &rules[i]);
	fclose(file);
	free(command_of(text, size, 0));
	if (has == NULL) {
		/* It is what that file says: nothing is left to change. */
		char *answer;

		memcpy(text, "diff   ", 7);
		answer = command_of(text, size, 0);
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

/* Once its home has read all flows of it. */
static void
check_cntr(struct trip_cntr *cntr, uint64_t expected)
{
	for (unsigned int i = 0; i < 1000000 && trip_cntr_read(cntr) < expected; i++)
		tripd_quota_pause(&bed.quota);
	assert_int_equal(trip_cntr_read(cntr), expected);
}

/* Those at work, by their names: each of a count. */
static void
check_quotas(const struct model *model)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < model->n; i++)
		n += model->rules[i].limit != 0;
	for (unsigned int i = 1; i < bed.quota.rules->n_counters; i++) {
		const struct trip_rules_counter *counter = &bed.quota.rules->counters[i];

		if (counter->gone)
			continue;
		check_cntr(bed.quota.counters[i],
			model->states[(unsigned int)(counter->name[1] - '0')].spent);
		n--;
	}
	assert_int_equal(n, 0);
}

static void
check(struct model *model)
{
	check_quotas(model);
	progress();
	for (unsigned int name = 0; name < MODEL_NAMES; name++) {
		const struct model_state *state = &model->states[name];
		int at = place_of(name);
		struct trip_flow_count sum;

		assert_int_equal(at >= 0, model_find(model, name) != NULL);
		if (at < 0)
			continue;
		check_cntr(bed.quota.counts[at].packets, state->packets);
		assert_int_equal(trip_apply_count_query(&bed.quota.counts[at], &sum), 0);
		assert_int_equal(sum.packets, state->packets);
		assert_int_equal(sum.bytes, 60 * state->packets);
		assert_int_equal(sum.fate, state->deleted   ? TRIP_FLOW_FATE_DELETED
					   : state->dropped ? TRIP_FLOW_FATE_DROP
							    : TRIP_FLOW_FATE_PASS);
		check_cntr(bed.quota.counts[at].packets, state->packets);
		check_cntr(bed.quota.counts[at].bytes, 60 * state->packets);
	}
	check_cntr(bed.quota.counters[0], model->total);
}

static void
do_op(struct model *model)
{
	static const struct {
		const char *word;
		void (*done)(struct model *model, unsigned int name);
	} ops[] = {{"drop", model_drop}, {"pass", model_pass}, {"delete", model_delete}};
	unsigned int name = below(MODEL_NAMES), op = below(5) % 3;
	char text[32];

	snprintf(text, sizeof(text), "do %s c%u", ops[op].word, name);
	if (model_find(model, name) == NULL) {
		command(text, -EINVAL);
		return;
	}
	/* What has ended stays so. */
	if (model->states[name].deleted)
		return;
	command(text, 0);
	ops[op].done(model, name);
}

static void
reset(struct model *model)
{
	unsigned int name = below(MODEL_NAMES);
	const struct model_rule *rule = model_find(model, name);
	char text[32];

	snprintf(text, sizeof(text), "reset q%u", name);
	command(text, rule != NULL && rule->limit != 0 ? 0 : -ENOENT);
	if (rule != NULL && rule->limit != 0)
		model_reset(model, name);
}

static void
step(struct model *model)
{
	struct model_rule rules[MODEL_NAMES];
	unsigned int n = draw_rules(model, rules), name = below(MODEL_NAMES);
	char text[32];

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
		command(text, model_find(model, name) != NULL ? 0 : -ENOENT);
		if (model_find(model, name) != NULL)
			model_remove(model, name);
		break;
	case 3:
		reset(model);
		break;
	default:
		do_op(model);
	}
}

static void
changes_count_and_do_what_the_model_says(void **state)
{
	uint64_t sequences = trip_test_rounds(SEQUENCES);
	struct model model = {0};

	random_state.state = trip_test_seed("changes");
	tripd_bed_open(&bed, "counter total\ncount keep port 0 priority 9 pattern eth / end\n",
		(struct tripd_live){4096, 4096, 1024, 1});
	command("remove keep", 0);
	for (uint64_t i = 0; i < sequences; i++)
		for (unsigned int k = 0; k < STEPS; k++) {
			step(&model);
			check(&model);
			for (unsigned int p = 0; p < PACKETS; p++) {
				unsigned int port = below(PORTS);

				assert_int_equal(packet(port), model_packet(&model, port));
			}
			check(&model);
		}
	tripd_bed_close(&bed);
}

/* ---- what is refused --------------------------------------------------------------------------
 */

#define RULES                                                               \
	"counter total\n"                                                   \
	"count web port 0 pattern eth / ipv4 / udp dst range 0 - 7 / end\n" \
	"when web.packets >= 3 drop web\n"

static void
refused(const char *text, size_t length, int error, const char *why)
{
	char *answer = command_of(text, length, error);

	if (strstr(answer, why) == NULL)
		fail_msg("%.60s: %s, not %s", text, answer, why);
	free(answer);
}

static void
what_is_refused_changes_nothing(void **state)
{
	static const struct {
		const char *text;
		int error;
		const char *why;
	} wrong[] = {
		{"apply f\ncount a port 0 pattern eth / end\ncount b port 0 pattern etc / end\n",
			-EINVAL, "f:2:24: expected"},
		{"apply f\nwhen wbe.packets >= 1 drop web\n", -EINVAL,
			"no 'count' rule is named 'wbe': did you mean 'web'?"},
		{"apply f\ncounter web\n", -EINVAL, "f: with what is at work, 'when web.packets"},
		{"apply f\ncount a port 3 pattern eth / end\n", -ENODEV, "port 3 is not in use"},
		{"apply f\ncount a port name \"no\" pattern eth / end\n", -ENODEV,
			"there is no such port"},
		{"apply f\ncount a port 0 egress pattern eth / end\n", -ENOTSUP, "egress"},
		{"apply f\ncount a port 0 pattern eth / ipv4 / udp dst range 1 - 254 / end\n",
			-ENOSPC, "--live-flows"},
		{"remove wbe", -ENOENT,
			"no 'count' rule, 'counter', 'quota' or 'set' is named 'wbe'"},
		{"do drop wbe", -EINVAL, "did you mean 'web'?"},
		{"do drop", -EINVAL, "expected a name"},
		{"do drop web for 10s", -EINVAL, "'for' is for rules"},
		{"do log \"x\"", -EINVAL, "acts on no count"},
		{"reload", -ENOENT, "no rules file"},
		{"", -EINVAL, "no such command"},
		{"reloading", -EINVAL, "no such command"},
	};

	tripd_bed_open(&bed, RULES, (struct tripd_live){4, 4, 16, 1});
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++)
		refused(wrong[i].text, strlen(wrong[i].text), wrong[i].error, wrong[i].why);
	assert_int_equal(bed.commands.n_changes, 0);
	assert_int_equal(bed.quota.rules->n_counts, 1);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(packet(i), i < 3);
	check_cntr(bed.quota.counts[0].packets, 5);
	tripd_bed_close(&bed);
}

/* Zeros, one long line, many lines, depth: as long as a command may be. */
static void
what_is_hostile_is_refused(void **state)
{
	static const struct {
		const char *first;
		char fill;
	} hostile[] = {{"apply f\n", 0}, {"apply f\n", '('}, {"apply f\n", '\\'}, {"diff f\n", '"'},
		{"apply f\nwhen all ", '('}, {"reload f\ncount ", 'x'}, {"apply f\n#", 'x'}};
	size_t length = 4u << 20;
	char *text = malloc(length + 1);

	tripd_bed_open(&bed, RULES, (struct tripd_live){4, 4, 16, 1});
	for (unsigned int i = 0; i < RTE_DIM(hostile); i++) {
		size_t n = strlen(hostile[i].first);

		memset(text, hostile[i].fill, length);
		memcpy(text, hostile[i].first, n);
		text[length] = 0;
		/* A comment adds nothing. */
		free(command_of(text, length, hostile[i].first[n - 1] == '#' ? 0 : -EINVAL));
	}
	memset(text, 0, length);
	free(command_of(text, length, -EINVAL));
	free(command_of("do drop web\0x", 13, -EINVAL));
	assert_int_equal(bed.commands.n_changes, 0);
	tripd_bed_close(&bed);
	free(text);
}

/* Of each what it was when it went; the report has it to the end. */
static void
what_has_gone_keeps_its_counts(void **state)
{
	struct trip_flow_count sum;

	tripd_bed_open(&bed, RULES, (struct tripd_live){16, 16, 16, 1});
	for (unsigned int i = 0; i < 4; i++)
		packet(1);
	command("do add total 7", 0);
	command("remove web", 0);
	command("remove total", 0);
	packet(1);
	assert_true(bed.quota.rules->counts[0].gone);
	assert_int_equal(trip_apply_count_query(&bed.quota.counts[0], &sum), 0);
	assert_int_equal(sum.packets, 4);
	assert_int_equal(bed.quota.rules->counters[0].last, 7);
	assert_int_equal(bed.quota.n_trips, 1);
	/* Anew, it begins anew. */
	command("apply f\n" RULES, 0);
	packet(1);
	check_cntr(bed.quota.counts[1].packets, 1);
	assert_int_equal(tripd_quota_settle(&bed.quota), -1);
	tripd_bed_close(&bed);
}

#define POLICED(high)                                                              \
	"count web port 0 pattern eth / ipv4 / udp dst range 0 - " high " / end\n" \
	"when web.packets >= 3 police web 8bit/s\n"

/* Its patterns share a rate, at which one packet passes a minute; so do those that take their
 * place, and what did not pass is not forgotten. */
static void
what_is_policed_stays_so(void **state)
{
	struct trip_flow_count sum;

	tripd_bed_open(&bed, POLICED("6"), (struct tripd_live){16, 16, 16, 1});
	for (unsigned int i = 0; i < 3; i++)
		packet(1);
	assert_int_equal(tripd_quota_settle(&bed.quota), -1);
	for (uint16_t i = 0; i < 6; i++)
		packet(i);
	assert_int_equal(trip_apply_count_query(&bed.quota.counts[0], &sum), 0);
	assert_int_equal(sum.fate, TRIP_FLOW_FATE_POLICE);
	assert_int_equal(sum.policed_packets, 5);
	command("reload f\n" POLICED("7"), 0);
	for (uint16_t i = 0; i < 6; i++)
		packet(i);
	assert_int_equal(trip_apply_count_query(&bed.quota.counts[0], &sum), 0);
	assert_int_equal(sum.fate, TRIP_FLOW_FATE_POLICE);
	assert_int_equal(sum.packets, 15);
	assert_int_equal(sum.policed_packets, 10);
	command("do pass web", 0);
	for (uint16_t i = 0; i < 6; i++)
		packet(i);
	assert_int_equal(trip_apply_count_query(&bed.quota.counts[0], &sum), 0);
	assert_int_equal(sum.fate, TRIP_FLOW_FATE_PASS);
	assert_int_equal(sum.policed_packets, 10);
	tripd_bed_close(&bed);
}

#define WEB "count web port 0 pattern eth / ipv4 / udp dst range 0 - 7 / end\n"
#define DNS "count dns port 0 pattern eth / ipv4 / udp dst is 9 / end\n"

/* What the quota at a place has come to, once its home has read all. */
static void
expect_spent(unsigned int counter, uint64_t spent)
{
	check_cntr(bed.quota.counters[counter], spent);
}

static void
send_some(unsigned int port, unsigned int n, bool pass)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(packet(port), pass);
}

/* It comes over counts that are there, gets another value, is of others, and goes. */
static void
a_quota_changes_at_work(void **state)
{
	tripd_bed_open(&bed, "counter n\n" WEB DNS, (struct tripd_live){16, 16, 64, 1});
	send_some(1, 3, true);
	command("apply f\nquota q 4 per day of web.packets\nwhen q spent drop web\n"
		"when q >= 50 % every 2 add n 1\n",
		0);
	/* From here on. */
	send_some(1, 3, true);
	expect_spent(1, 3);
	check_cntr(bed.quota.counters[0], 1);
	command("apply f\nquota q 8 per day of web.packets\n", 0);
	assert_int_equal(bed.quota.rules->counters[1].quota->limit, 8);
	/* It was due at 2, and is at 4, 6 and 8. */
	send_some(1, 4, true);
	check_cntr(bed.quota.counters[0], 3);
	send_some(1, 1, true);
	send_some(1, 1, false);
	expect_spent(1, 9);
	check_cntr(bed.quota.counters[0], 4);
	/* What is spent by either value stays so; what is not any more passes, until it is. */
	command("apply f\nquota q 9 per day of web.packets\n", 0);
	send_some(1, 1, false);
	command("apply f\nquota q 12 per day of web.packets\n", 0);
	send_some(1, 2, true);
	send_some(1, 1, false);
	/* Of one more count, with what it has. */
	command("apply f\nquota q 14 per day of web.packets, dns.packets\n", 0);
	send_some(9, 1, true);
	expect_spent(1, 14);
	send_some(1, 1, false);
	send_some(9, 1, true);
	expect_spent(1, 16);
	command("remove web", -EBUSY);
	command("remove q", 0);
	send_some(1, 1, true);
	assert_int_equal(bed.quota.rules->counters[1].last, 16);
	/* And it does not feed the next one of that name. */
	command("apply f\nquota q 2 of web.packets\nwhen q spent drop web\n", 0);
	send_some(1, 2, true);
	send_some(1, 1, false);
	expect_spent(2, 3);
	command("remove web", 0);
	assert_true(bed.quota.rules->counters[2].gone);
	check_cntr(bed.quota.counts[1].packets, 2);
	tripd_bed_close(&bed);
}

/* Periods end of those that have come; a reload says the order of flows all the same. */
static void
a_quota_that_has_come_begins_anew(void **state)
{
	struct tripd_period *period;

	tripd_bed_open(&bed, WEB "count all port 0 pattern eth / end\n",
		(struct tripd_live){16, 16, 64, 1});
	command("apply f\nquota q 2 per hour of web.packets\nwhen q spent drop web\n", 0);
	send_some(1, 2, true);
	send_some(1, 1, false);
	/* It stands where it was: before what it overlaps. */
	check_cntr(bed.quota.counts[1].packets, 0);
	expect_spent(0, 3);
	period = tripd_period_of(&bed.quota, 0);
	assert_int_equal(tripd_period_update(&bed.quota, period->ends), 0);
	assert_int_equal(period->spent, 3);
	send_some(1, 2, true);
	send_some(1, 1, false);
	expect_spent(0, 3);
	command("do reset q", 0);
	assert_int_equal(period->n_ended, 2);
	send_some(1, 2, true);
	/* Of another kind there is none of this name. */
	command("apply f\nquota q 2 of web.bytes\n", -ENOTSUP);
	command("reload f\n" WEB "counter q\n", -ENOTSUP);
	command("apply f\nwhen q spent exec \"/bin/true\"\n", -ECHILD);
	send_some(1, 1, false);
	tripd_bed_close(&bed);
}

#define FOR_A_TIME(high)                                                           \
	"count web port 0 pattern eth / ipv4 / udp dst range 0 - " high " / end\n" \
	"when web.packets >= 3 drop web for 500ms\n"

/* On the flows that take the place of those that it began on, too. */
static void
what_drops_for_a_time_ends(void **state)
{
	tripd_bed_open(&bed, FOR_A_TIME("7"), (struct tripd_live){16, 16, 16, 1});
	for (unsigned int i = 0; i < 4; i++)
		packet(1);
	command("reload t\n" FOR_A_TIME("9"), 0);
	/* It goes on, and is told once. */
	assert_false(packet(1));
	assert_int_equal(bed.quota.n_trips, 1);
	while (!bed.quota.items[0].ended)
		progress();
	assert_true(packet(1));
	assert_int_equal(bed.quota.fired[0], 1);
	assert_int_equal(bed.quota.n_trips, 2);
	/* What drops for ever still does. */
	command("do drop web", 0);
	command("reload t\n" FOR_A_TIME("7"), 0);
	assert_false(packet(1));
	tripd_bed_close(&bed);
}

#define ASKING "count asked port 0 pattern ipv4 src in us / udp dst in ports / end\n"

static void
answered(const char *text, int expected, const char *answer)
{
	char *said = command_of(text, strlen(text), expected);

	assert_string_equal(said, answer);
	free(said);
}

static void
declined(const char *text, int error, const char *why)
{
	refused(text, strlen(text), error, why);
}

/* A set that changes alone leaves the counts that ask for it where they are. */
static void
sets_change_and_counts_stay(void **state)
{
	tripd_bed_open(&bed, "set us { 10.0.0.0/24 }\nset ports { 5, 6 }\n" ASKING,
		(struct tripd_live){16, 16, 16, 1});
	for (unsigned int i = 4; i < 8; i++)
		packet(i);
	check_cntr(bed.quota.counts[0].packets, 2);
	answered("apply f\nset ports { 6, 7 }\n", 0, "~ set ports { 6, 7 }\n");
	for (unsigned int i = 4; i < 8; i++)
		packet(i);
	check_cntr(bed.quota.counts[0].packets, 4);
	answered("diff f\nset us { 10.0.0.0/24 }\nset  ports { 6, 7 } # same\n" ASKING, 0, "");
	declined("remove us", -EBUSY, "count asked asks for the set us");
	declined("apply f\nset us file /dev/null\n", -EPERM, "comes with tripd's own rules");
	declined("reread us", -ENOENT, "no 'set' with a file is named 'us'");
	declined("apply f\nset us { 10.0.0.0/33 }\n", -EINVAL, "f:1:10: expected an address");
	/* Another set in place of one that goes, in one change. */
	answered("reload f\nset them { 10.0.0.1 }\nset ports { 6, 7 }\ncount asked port 0 pattern "
		 "ipv4 src in them / udp dst in ports / end\n",
		0,
		"- set us { 10.0.0.0/24 }\n"
		"~ count asked port 0 pattern ipv4 src in them / udp dst in ports / end\n"
		"+ set them { 10.0.0.1 }\n");
	packet(6);
	check_cntr(bed.quota.counts[0].packets, 5);
	answered("remove asked", 0,
		"- count asked port 0 pattern ipv4 src in them / udp dst in ports / end\n");
	answered("remove them", 0, "- set them { 10.0.0.1 }\n");
	assert_int_equal(bed.quota.rules->n_sets, 3);
	tripd_bed_close(&bed);
}

/* What is allowed passes whatever drops the rest, and counts in one rule and in `also`. */
static void
what_is_allowed_is_never_dropped(void **state)
{
	tripd_bed_open(&bed,
		"count all port 0 pattern eth / end\nalso count every port 0 pattern eth / end\n"
		"quota few 3 of all.packets\nwhen few spent drop all\n"
		"allow five port 0 pattern udp dst is 5 / end\n",
		(struct tripd_live){16, 16, 16, 1});
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(packet(i), i < 3 || i == 5);
	command("do drop every", 0);
	assert_true(packet(5));
	check_cntr(bed.quota.counts[2].packets, 2);
	check_cntr(bed.quota.counts[1].packets, 9);
	check_cntr(bed.quota.counts[0].packets, 7);
	declined("do drop five", -EINVAL, "'five' is an 'allow', which nothing drops");
	tripd_bed_close(&bed);
}

/* It comes while others are at work, and goes before them all the same. */
static void
what_is_allowed_later_goes_first(void **state)
{
	tripd_bed_open(&bed,
		"count all port 0 pattern eth / end actions drop / end\nset few { 3 }\n",
		(struct tripd_live){16, 16, 16, 1});
	assert_false(packet(2));
	answered("apply f\nallow two port 0 pattern udp dst is 2 / end\n"
		 "allow three port 0 pattern udp dst in few / end\n",
		0,
		"+ allow two port 0 pattern udp dst is 2 / end\n"
		"+ allow three port 0 pattern udp dst in few / end\n");
	assert_true(packet(2) && packet(3) && !packet(4));
	command("apply f\nset few { 4 }\n", 0);
	assert_true(packet(2) && !packet(3) && packet(4));
	command("remove two", 0);
	assert_false(packet(2));
	check_cntr(bed.quota.counts[0].packets, 4);
	tripd_bed_close(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_count_and_do_what_the_model_says),
		cmocka_unit_test(what_is_refused_changes_nothing),
		cmocka_unit_test(what_is_hostile_is_refused),
		cmocka_unit_test(what_has_gone_keeps_its_counts),
		cmocka_unit_test(what_drops_for_a_time_ends),
		cmocka_unit_test(a_quota_changes_at_work),
		cmocka_unit_test(a_quota_that_has_come_begins_anew),
		cmocka_unit_test(what_is_policed_stays_so),
		cmocka_unit_test(sets_change_and_counts_stay),
		cmocka_unit_test(what_is_allowed_is_never_dropped),
		cmocka_unit_test(what_is_allowed_later_goes_first),
	};
	int ret;

	ret = tripd_bed_init();
	return ret != 0 ? ret : cmocka_run_group_tests(tests, NULL, NULL);
}
