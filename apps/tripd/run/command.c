/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands: what they say is hostile until the rules language has read it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <trip.h>

#include "apply/difference.h"
#include "apply/set.h"
#include "apply/source.h"
#include "by_hand.h"
#include "command.h"
#include "live.h"
#include "now.h"
#include "quota.h"
#include "report.h"

/* Of the words of a command. */
#define WORDS_MAX 512

struct command {
	struct tripd_commands *commands;
	FILE *answer;
	/* Behind the first word; and behind the first line. */
	char words[WORDS_MAX];
	const char *text;
	size_t length;
	/* It only looks: no event tells of it. */
	bool looks;
	/* The rules are of tripd's own file, which its operator has written. */
	bool of_own_file;
};

/* ---- reading ----------------------------------------------------------------------------------
 */

static int
say_errors(struct command *command, int ret, struct trip_rules_errors *errors)
{
	if (errors != NULL)
		trip_rules_errors_print(errors, command->answer);
	else if (ret != 0)
		fprintf(command->answer, "no memory for the rules\n");
	trip_rules_errors_free(errors);
	return ret;
}

/* Rules that are added to those at work; without `whens`, to what these speak of. */
static int
parse_onto(struct command *command, bool whens, const char *name, const char *text, size_t length,
	struct trip_rules **rules, struct trip_rules_errors **errors)
{
	char *base = NULL;
	size_t base_length = 0;
	int ret = trip_apply_source(
		command->commands->quota->rules, whens, NULL, &base, &base_length);

	*errors = NULL;
	if (ret == 0) {
		ret = trip_rules_parse_onto(name, text, length, base, base_length, rules, errors);
		free(base);
	}
	return ret;
}

/*
 * Rules that came along may name a file of a set only as it is at work. It is read as whoever runs
 * tripd, and what is wrong with it is shown.
 */
static int
take_sets(struct command *command, struct trip_rules *next)
{
	const struct trip_rules *work = command->commands->quota->rules;

	for (unsigned int i = 0; i < next->n_sets; i++) {
		struct trip_rules_set *set = &next->sets[i];
		unsigned int k = 0;

		while (k < work->n_sets &&
			(work->sets[k].gone || strcmp(work->sets[k].source, set->source) != 0))
			k++;
		if (k < work->n_sets) {
			set->digest = work->sets[k].digest;
		} else if (set->path != NULL) {
			fprintf(command->answer,
				"set %s: a file of a set comes with tripd's own rules: tripctl "
				"reload (line %u)\n",
				set->name, set->line);
			return -EPERM;
		}
	}
	return 0;
}

/* tripd's own file, or what came along. */
static int
read_rules(struct command *command, struct trip_rules **rules)
{
	const char *own = command->commands->rules;
	struct trip_rules_errors *errors = NULL;
	int ret;

	if (command->words[0] == 0 && own == NULL) {
		fprintf(command->answer, "it has no rules file\n");
		return -ENOENT;
	}
	command->of_own_file = command->words[0] == 0;
	ret = command->of_own_file ? trip_rules_parse_file(own, true, rules, &errors)
				   : trip_rules_parse_text(command->words, command->text,
					     command->length, rules, &errors);
	if (ret != 0)
		return say_errors(command, ret, errors);
	trip_rules_errors_print((*rules)->warnings, command->answer);
	ret = command->of_own_file ? trip_apply_set_load_all(*rules, command->answer)
				   : take_sets(command, *rules);
	if (ret != 0)
		trip_rules_free(*rules);
	return ret;
}

/* ---- doing ------------------------------------------------------------------------------------
 */

static int
put_to_work(struct command *command, const struct trip_apply_difference *difference,
	struct trip_rules *next)
{
	char *text = NULL;
	size_t length = 0;
	/* Before its statements move. */
	FILE *file = open_memstream(&text, &length);
	int ret = file != NULL ? 0 : -ENOMEM;

	if (ret == 0)
		trip_apply_difference_print(difference, file);
	if (file != NULL && fclose(file) != 0)
		ret = -ENOMEM;
	if (ret != 0)
		fprintf(command->answer, "no memory to say what changes\n");
	if (ret == 0)
		ret = tripd_live_change(
			command->commands->quota, difference, next, command->answer);
	if (ret == 0) {
		fwrite(text, 1, length, command->answer);
		command->commands->n_changes += difference->n_changes;
	}
	free(text);
	return ret;
}

static int
say_no_memory(struct command *command, int ret)
{
	if (ret != 0)
		fprintf(command->answer, "no memory to compare the rules\n");
	return ret;
}

static int
compare(struct command *command, struct trip_apply_difference *difference, struct trip_rules *next,
	enum trip_apply_mode mode)
{
	struct tripd_quota *quota = command->commands->quota;
	int ret = say_no_memory(
		command, trip_apply_difference_find(difference, quota->rules, next, mode));

	if (ret == 0)
		ret = tripd_live_resolve(quota, difference, next, command->answer);
	return ret == 0 ? say_no_memory(command, trip_apply_difference_order(difference)) : ret;
}

/* Takes the rules over. */
static int
change(struct command *command, struct trip_rules *next, enum trip_apply_mode mode, bool only_tell)
{
	struct trip_apply_difference difference = {0};
	int ret = compare(command, &difference, next, mode);

	if (ret == 0 && !only_tell && !command->of_own_file)
		ret = tripd_live_may(&difference, command->commands->asker, command->answer);
	if (ret == 0 && only_tell)
		trip_apply_difference_print(&difference, command->answer);
	else if (ret == 0)
		ret = put_to_work(command, &difference, next);
	trip_apply_difference_free(&difference);
	trip_rules_free(next);
	return ret;
}

/* The file of one set alone. */
static int
reread(struct command *command)
{
	struct tripd_quota *quota = command->commands->quota;
	struct trip_rules_set *set, next = {0};
	unsigned int i = 0;
	int ret;

	while (i < quota->rules->n_sets &&
		(quota->rules->sets[i].gone ||
			strcmp(quota->rules->sets[i].name, command->words) != 0))
		i++;
	if (i == quota->rules->n_sets || quota->rules->sets[i].path == NULL) {
		fprintf(command->answer, "no 'set' with a file is named '%.32s'\n", command->words);
		return -ENOENT;
	}
	set = &quota->rules->sets[i];
	next.path = set->path;
	snprintf(next.name, sizeof(next.name), "%s", set->name);
	ret = trip_apply_set_load(&next, command->answer);
	if (ret == 0 && next.digest != set->digest) {
		ret = trip_apply_set_fill(quota->sets[i], &next);
		if (ret == 0) {
			set->n_entries = next.n_entries;
			set->digest = next.digest;
			command->commands->n_changes++;
			fprintf(command->answer, "~ %s\n", set->source);
		} else {
			fprintf(command->answer, "%s\n", trip_error_message());
		}
	}
	free(next.entries);
	return ret;
}

static int
reload(struct command *command)
{
	struct trip_rules *next;
	int ret = read_rules(command, &next);

	return ret == 0 ? change(command, next, TRIP_APPLY_WHOLE, false) : ret;
}

static int
diff(struct command *command)
{
	struct trip_rules *next;
	int ret = read_rules(command, &next);

	return ret == 0 ? change(command, next, TRIP_APPLY_WHOLE, true) : ret;
}

static int
apply(struct command *command)
{
	struct trip_rules_errors *errors;
	struct trip_rules *next;
	int ret = parse_onto(command, true, command->words[0] != 0 ? command->words : "rules",
		command->text, command->length, &next, &errors);

	if (ret != 0)
		return say_errors(command, ret, errors);
	ret = take_sets(command, next);
	if (ret == 0)
		return change(command, next, TRIP_APPLY_ONTO, false);
	trip_rules_free(next);
	return ret;
}

/* What is left has no mistake of its own. */
static int
change_without(struct command *command, const struct trip_apply_skip *skip)
{
	struct trip_rules_errors *errors = NULL;
	struct trip_rules *next;
	char *text;
	size_t length;
	int ret = trip_apply_source(command->commands->quota->rules, true, skip, &text, &length);

	if (ret == 0) {
		ret = trip_rules_parse_text("rules", text, length, &next, &errors);
		free(text);
	}
	if (ret != 0)
		return say_errors(command, ret, errors);
	(void)take_sets(command, next);
	return change(command, next, TRIP_APPLY_WITHOUT, false);
}

static int
remove_name(struct command *command)
{
	struct trip_apply_skip skip;
	int ret = trip_apply_skip_find(
		&skip, command->commands->quota->rules, command->words, command->answer);

	if (ret == -ENOENT)
		fprintf(command->answer,
			"no 'count' rule, 'counter', 'quota', 'set' or 'each' is named '%.32s'\n",
			command->words);
	if (ret == -ENOMEM)
		fprintf(command->answer, "no memory to compare the rules\n");
	if (ret == 0)
		ret = change_without(command, &skip);
	trip_apply_skip_free(&skip);
	return ret;
}

/* What the language says of an operation, without the place in words that nobody wrote. */
static int
parse_op(struct command *command, struct trip_rules **rules)
{
	struct trip_rules_errors *errors;
	char text[WORDS_MAX + 32];
	int ret;

	snprintf(text, sizeof(text), "when after 1ns %s", command->words);
	ret = parse_onto(command, false, "", text, strlen(text), rules, &errors);
	if (errors != NULL && errors->n_list > 0)
		fprintf(command->answer, "%s\n", errors->list[0].message);
	else if (ret != 0)
		fprintf(command->answer, "no memory for the operation\n");
	trip_rules_errors_free(errors);
	return ret;
}

static int
do_on_count(struct command *command, const struct trip_rules_when *when, const char *name)
{
	struct tripd_quota *quota = command->commands->quota;
	struct trip_flow_count sum;
	unsigned int i = 0;
	int ret;

	while (quota->rules->counts[i].gone || strcmp(quota->rules->counts[i].name, name) != 0)
		i++;
	ret = tripd_quota_do(quota, &quota->counts[i], when);
	if (ret == 0 && tripd_quota_is_hold(when->op))
		quota->holds[i].by_hand |= 1u << when->op;
	else if (ret == 0)
		tripd_quota_passed(quota, i, when->op, quota->now.done_at);
	if (ret == 0)
		ret = trip_apply_count_query(&quota->counts[i], &sum);
	if (ret == 0)
		fprintf(command->answer, "%s: %" PRIu64 " packets, %" PRIu64 " bytes\n", name,
			sum.packets, sum.bytes);
	else
		fprintf(command->answer, "%s: %s\n", name, trip_strerror(ret));
	return ret;
}

static int
do_on_counter(struct command *command, const struct trip_rules_when *when, const char *name)
{
	struct tripd_quota *quota = command->commands->quota;
	struct trip_rules_when own = *when;
	int ret;

	own.target = 0;
	while (quota->rules->counters[own.target].gone ||
		strcmp(quota->rules->counters[own.target].name, name) != 0)
		own.target++;
	ret = tripd_quota_do(quota, NULL, &own);
	if (ret == 0)
		fprintf(command->answer, "%s: %" PRIu64 "\n", name,
			trip_cntr_read(quota->counters[own.target]));
	else
		fprintf(command->answer, "%s: %s\n", name, trip_strerror(ret));
	return ret;
}

/* What it has come to by then; it begins anew. */
static int
reset_one(struct command *command, const char *name, bool on_count, unsigned int i)
{
	struct tripd_quota *quota = command->commands->quota;
	const struct tripd_anew *anew =
		on_count ? &quota->anew_counts[2 * i] : &quota->anew_counters[i];
	int ret = tripd_anew_reset_now(quota, on_count, i);

	if (ret != 0)
		fprintf(command->answer, "%s: %s\n", name, trip_strerror(ret));
	else if (on_count)
		fprintf(command->answer, "%s.packets %" PRIu64 "\n%s.bytes %" PRIu64 "\n", name,
			anew[0].was, name, anew[1].was);
	else
		fprintf(command->answer, "%s %" PRIu64 "\n", name, anew->was);
	return ret;
}

/* Its keys, which its name stands for. */
static int
reset_each(struct command *command, unsigned int i)
{
	struct tripd_quota *quota = command->commands->quota;
	const struct trip_each_info *was = &quota->eaches[i].last;
	int ret = tripd_quota_each_reset(quota, i);

	if (ret != 0)
		fprintf(command->answer, "%s\n", trip_error_message());
	else
		fprintf(command->answer, "%s.packets %" PRIu64 "\n%s.bytes %" PRIu64 "\n",
			was->name, was->packets, was->name, was->bytes);
	return ret;
}

static int
reset_name(struct command *command, const char *name)
{
	const struct trip_rules *rules = command->commands->quota->rules;

	for (unsigned int i = 0; i < rules->n_counts; i++)
		if (!rules->counts[i].gone && strcmp(rules->counts[i].name, name) == 0)
			return reset_one(command, name, true, i);
	for (unsigned int i = 0; i < rules->n_counters; i++)
		if (!rules->counters[i].gone && strcmp(rules->counters[i].name, name) == 0)
			return reset_one(command, name, false, i);
	for (unsigned int i = 0; i < rules->n_eaches; i++)
		if (!rules->eaches[i].count.gone && strcmp(rules->eaches[i].count.name, name) == 0)
			return reset_each(command, i);
	fprintf(command->answer, "no 'count' rule, 'counter', 'quota' or 'each' is named '%.32s'\n",
		name);
	return -ENOENT;
}

static int
reset(struct command *command)
{
	return reset_name(command, command->words);
}

static int
do_now(struct command *command)
{
	const struct trip_rules_when *when;
	struct trip_rules *rules;
	enum trip_op_target target;
	int ret;

	if (tripd_by_hand_is_meant(command->commands->quota, command->words))
		return tripd_by_hand(command->commands->quota, command->words, command->answer);
	ret = parse_op(command, &rules);
	if (ret != 0)
		return ret;
	/* The text's, which is first; those at work are behind it. */
	when = &rules->whens[0];
	target = trip_rules_op_of(when->op)->target;
	if (when->lasts != 0) {
		fprintf(command->answer, "what is done at once stays: 'for' is for rules\n");
		ret = -EINVAL;
	} else if (when->op == TRIP_RULES_OP_RESET) {
		ret = reset_name(command, when->on_count ? rules->counts[when->target].name
							 : rules->counters[when->target].name);
	} else if (target == TRIP_OP_ON_FLOW) {
		ret = do_on_count(command, when, rules->counts[when->target].name);
	} else if (target == TRIP_OP_ON_CNTR) {
		ret = do_on_counter(command, when, rules->counters[when->target].name);
	} else {
		fprintf(command->answer, "'%s' acts on no count and no counter\n",
			trip_rules_op_of(when->op)->word);
		ret = -EINVAL;
	}
	trip_rules_free(rules);
	return ret;
}

/* For programs, which may ask each second. */
static int
quotas(struct command *command)
{
	command->looks = true;
	return tripd_report_quotas(command->commands->quota, command->answer);
}

static const struct {
	const char *word;
	int (*run)(struct command *command);
} all[] = {
	{"do", do_now},
	{"reset", reset},
	{"apply", apply},
	{"remove", remove_name},
	{"diff", diff},
	{"reload", reload},
	{"reread", reread},
	{"quotas", quotas},
};

static int
run(struct command *command, const char *text, size_t line)
{
	for (unsigned int i = 0; i < RTE_DIM(all); i++) {
		size_t n = strlen(all[i].word);

		if (line < n || memcmp(text, all[i].word, n) != 0 || (line > n && text[n] != ' '))
			continue;
		if (line > n)
			memcpy(command->words, text + n + 1, line - n - 1);
		return all[i].run(command);
	}
	fprintf(command->answer, "there is no such command\n");
	return -EINVAL;
}

int
tripd_command(const char *text, size_t length, FILE *answer, void *arg)
{
	const char *end = memchr(text, '\n', length);
	size_t line = end != NULL ? (size_t)(end - text) : length;
	struct tripd_commands *commands = arg;
	struct command command = {
		.commands = arg,
		.answer = answer,
		.text = end != NULL ? end + 1 : "",
		.length = end != NULL ? length - line - 1 : 0,
	};
	int ret;

	if (line >= sizeof(command.words) || memchr(text, 0, line) != NULL) {
		fprintf(answer, "a command is one line of up to %d characters\n", WORDS_MAX - 1);
		return -EINVAL;
	}
	ret = run(&command, text, line);
	if (commands->told != NULL && !command.looks)
		commands->told(commands->told_arg, text, line, ret);
	return ret;
}
