/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer on commands to tripd. Bytes up to the first form feed are the rules at work, each part
 * behind it a command. Whatever is asked: who is refused is told why; a change has of each
 * statement what its mode says; and what it leaves is rules, which the next command finds at work.
 *
 * What tripd does to a domain is not here, but that it is asked for what there is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply/difference.h"
#include "apply/set.h"
#include "apply/source.h"
#include "fuzzed_rules.h"
#include "run/command.h"
#include "run/live.h"
#include "run/quota.h"
#include "run/report.h"

#define FORM_FEED 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the rules at work ------------------------------------------------------------------------
 */

static void
open_work(struct tripd_quota *quota, struct trip_rules *rules)
{
	*quota = (struct tripd_quota){
		.rules = rules,
		.counts = calloc(rules->n_counts + 1, sizeof(*quota->counts)),
		.counters = calloc(rules->n_counters + 1, sizeof(struct trip_cntr *)),
		.anew_counts = calloc(2 * (size_t)rules->n_counts + 1, sizeof(*quota->anew_counts)),
		.anew_counters = calloc(rules->n_counters + 1, sizeof(*quota->anew_counters)),
		.sets = calloc(rules->n_sets + 1, sizeof(struct trip_set *)),
		.eaches = calloc(rules->n_eaches + 1, sizeof(*quota->eaches)),
		.holds = calloc(rules->n_counts + 1, sizeof(*quota->holds)),
	};
	/* In the order in which they were created. */
	for (unsigned int i = 0; i < rules->n_counts; i++)
		rules->counts[i].born = ++quota->last_born;
}

static void
close_work(struct tripd_quota *quota)
{
	trip_rules_free(quota->rules);
	free(quota->counts);
	free(quota->counters);
	free(quota->anew_counts);
	free(quota->anew_counters);
	free(quota->sets);
	free(quota->eaches);
	free(quota->holds);
}

/* ---- a change ---------------------------------------------------------------------------------
 */

/* Steps of one kind of statement: each at one that is there, none of it twice. */
static void
check_steps(const struct trip_apply_step *steps, unsigned int n, const bool *go, unsigned int n_go)
{
	bool *met = calloc(n_go + 1, sizeof(*met));

	for (unsigned int i = 0; i < n; i++) {
		if (steps[i].what == TRIP_APPLY_ADD || steps[i].what == TRIP_APPLY_LEAVE)
			continue;
		must(steps[i].at < n_go && !go[steps[i].at] && !met[steps[i].at]);
		met[steps[i].at] = true;
	}
	for (unsigned int i = 0; i < n_go; i++)
		must(met[i] != go[i]);
	free(met);
}

/* What is added onto others leaves none of them; what is left without some is as it was. */
static void
check_mode(const struct trip_apply_difference *difference)
{
	const struct trip_rules *work = difference->work, *next = difference->next;

	for (unsigned int i = 0; difference->mode == TRIP_APPLY_ONTO && i < work->n_counts; i++)
		must(!difference->counts_go[i]);
	for (unsigned int i = 0; difference->mode == TRIP_APPLY_ONTO && i < work->n_counters; i++)
		must(!difference->counters_go[i]);
	for (unsigned int i = 0; difference->mode == TRIP_APPLY_ONTO && i < work->n_whens; i++)
		must(!difference->whens_go[i]);
	if (difference->mode != TRIP_APPLY_WITHOUT)
		return;
	for (unsigned int i = 0; i < next->n_counts; i++)
		must(difference->counts[i].what == TRIP_APPLY_KEEP ||
			difference->counts[i].what == TRIP_APPLY_RENEW);
	for (unsigned int i = 0; i < next->n_counters; i++)
		must(difference->counters[i].what == TRIP_APPLY_KEEP);
	for (unsigned int i = 0; i < next->n_whens; i++)
		must(difference->whens[i].what == TRIP_APPLY_KEEP);
	for (unsigned int i = 0; i < next->n_sets; i++)
		must(difference->sets[i].what == TRIP_APPLY_KEEP);
	for (unsigned int i = 0; i < next->n_eaches; i++)
		must(difference->eaches[i].what == TRIP_APPLY_KEEP);
	must(difference->n_changes > 0);
}

/* Each of the new counts is once in the order of flows. */
static void
check_order(const struct trip_apply_difference *difference)
{
	unsigned int n = difference->next->n_counts;
	bool *met = calloc(n + 1, sizeof(*met));

	for (unsigned int k = 0; k < n; k++) {
		must(difference->order[k] < n && !met[difference->order[k]]);
		met[difference->order[k]] = true;
	}
	free(met);
}

static void
skip_left(bool *skip, const struct trip_apply_step *steps, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		skip[i] = steps[i].what == TRIP_APPLY_LEAVE;
}

/* The rules that there are then. With the others' words they differ from them in nothing. */
static struct trip_rules *
take_over(const struct trip_apply_difference *difference)
{
	const struct trip_rules *next = difference->next;
	struct trip_apply_skip skip = {
		.counts = calloc(next->n_counts + 1, sizeof(bool)),
		.counters = calloc(next->n_counters + 1, sizeof(bool)),
		.whens = calloc(next->n_whens + 1, sizeof(bool)),
		.sets = calloc(next->n_sets + 1, sizeof(bool)),
		.eaches = calloc(next->n_eaches + 1, sizeof(bool)),
	};
	bool *met = calloc(difference->work->n_whens + 1, sizeof(*met));
	struct trip_rules *rules;
	size_t length;
	char *text;

	skip_left(skip.counts, difference->counts, next->n_counts);
	skip_left(skip.counters, difference->counters, next->n_counters);
	skip_left(skip.sets, difference->sets, next->n_sets);
	skip_left(skip.eaches, difference->eaches, next->n_eaches);
	/* One that was said again is there once. */
	for (unsigned int i = 0; i < next->n_whens; i++) {
		const struct trip_apply_step *step = &difference->whens[i];

		skip.whens[i] = step->what == TRIP_APPLY_KEEP && met[step->at];
		met[step->what == TRIP_APPLY_KEEP ? step->at : difference->work->n_whens] = true;
	}
	must(trip_apply_source(next, true, &skip, &text, &length) == 0);
	rules = own_rules(text, length);
	free(text);
	free(met);
	trip_apply_skip_free(&skip);
	return rules;
}

/* Rules differ in nothing from themselves. */
static void
check_same(const struct trip_rules *rules)
{
	struct trip_apply_difference difference;
	struct trip_rules *again;
	size_t length;
	char *text;

	must(trip_apply_source(rules, true, NULL, &text, &length) == 0);
	again = own_rules(text, length);
	must(trip_apply_difference_find(&difference, rules, again, TRIP_APPLY_WITHOUT) == 0);
	must(trip_apply_difference_order(&difference) == 0);
	must(difference.n_changes == 0);
	trip_apply_difference_free(&difference);
	trip_rules_free(again);
	free(text);
}

int
tripd_live_change(struct tripd_quota *quota, const struct trip_apply_difference *difference,
	struct trip_rules *next, FILE *answer)
{
	const struct trip_rules *work = difference->work;
	struct trip_rules *rules;

	check_steps(difference->counts, next->n_counts, difference->counts_go, work->n_counts);
	check_steps(
		difference->counters, next->n_counters, difference->counters_go, work->n_counters);
	check_steps(difference->sets, next->n_sets, difference->sets_go, work->n_sets);
	check_steps(difference->eaches, next->n_eaches, difference->eaches_go, work->n_eaches);
	if (difference->mode != TRIP_APPLY_ONTO)
		check_steps(difference->whens, next->n_whens, difference->whens_go, work->n_whens);
	check_mode(difference);
	check_order(difference);
	rules = take_over(difference);
	check_same(rules);
	close_work(quota);
	open_work(quota, rules);
	return 0;
}

/* ---- what is done at once ---------------------------------------------------------------------
 */

int
tripd_quota_do(struct tripd_quota *quota, const struct trip_apply_count *count,
	const struct trip_rules_when *when)
{
	if (count != NULL)
		must(count >= quota->counts && count < quota->counts + quota->rules->n_counts);
	else
		must(when->target < quota->rules->n_counters);
	return 0;
}

int
tripd_live_may(const struct trip_apply_difference *difference, uid_t asker, FILE *answer)
{
	return 0;
}

int
tripd_live_resolve(const struct tripd_quota *quota, const struct trip_apply_difference *difference,
	struct trip_rules *next, FILE *answer)
{
	return 0;
}

bool
tripd_quota_is_hold(enum trip_rules_op op)
{
	return op == TRIP_RULES_OP_DROP;
}

void
tripd_quota_passed(
	struct tripd_quota *quota, unsigned int count, enum trip_rules_op op, uint64_t at)
{
	must(count < quota->rules->n_counts && !quota->rules->counts[count].gone);
}

int
tripd_anew_reset_now(struct tripd_quota *quota, bool on_count, unsigned int index)
{
	must(on_count ? index < quota->rules->n_counts && !quota->rules->counts[index].gone
		      : index < quota->rules->n_counters && !quota->rules->counters[index].gone);
	return 0;
}

int
tripd_quota_each_reset(struct tripd_quota *quota, unsigned int each)
{
	must(each < quota->rules->n_eaches && !quota->rules->eaches[each].count.gone);
	return 0;
}

int
tripd_quota_each_hold(struct tripd_quota *quota, unsigned int each, const char *key,
	enum trip_each_op op, uint64_t time_us, FILE *answer)
{
	must(each < quota->rules->n_eaches && !quota->rules->eaches[each].count.gone);
	must(key[0] != 0 && (op != TRIP_EACH_OP_NONE || time_us == 0));
	return 0;
}

int
tripd_report_quotas(const struct tripd_quota *quota, FILE *out)
{
	fprintf(out, "[]");
	return 0;
}

int
trip_apply_count_query(const struct trip_apply_count *count, struct trip_flow_count *sum)
{
	*sum = (struct trip_flow_count){0};
	return 0;
}

/* Files of sets are tripd's, and none is read here. */
int
trip_apply_set_load(struct trip_rules_set *rule, FILE *file)
{
	fprintf(file, "%s: not here\n", rule->path);
	return -ENOENT;
}

int
trip_apply_set_load_all(struct trip_rules *rules, FILE *file)
{
	abort();
}

int
trip_apply_set_fill(struct trip_set *set, struct trip_rules_set *rule)
{
	abort();
}

uint64_t
trip_cntr_read(struct trip_cntr *cntr)
{
	return 0;
}

const char *
trip_error_message(void)
{
	return "";
}

const char *
trip_strerror(int error)
{
	return strerror(-error);
}

/* ---- commands ---------------------------------------------------------------------------------
 */

static const int refusals[] = {-EINVAL, -ENOENT, -EPERM, -EBUSY};

/* As the library hands it over: with a zero behind it. */
static void
command(struct tripd_commands *commands, const char *text, size_t length)
{
	char *own = malloc(length + 1), *said = NULL;
	size_t size = 0;
	FILE *answer = open_memstream(&said, &size);
	bool known = false;
	int ret;

	memcpy(own, text, length);
	own[length] = 0;
	ret = tripd_command(own, length, answer, commands);
	fclose(answer);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++)
		known |= ret == refusals[i];
	must(ret == 0 || (known && size > 0));
	free(said);
	free(own);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	const char *next = size > 0 ? memchr(at, FORM_FEED, size) : NULL;
	struct trip_rules *rules = fuzzed_rules(at, next != NULL ? (size_t)(next - at) : size);
	struct tripd_quota quota;
	struct tripd_commands commands = {.quota = &quota};

	if (rules == NULL)
		return 0;
	open_work(&quota, rules);
	while (next != NULL) {
		at = next + 1;
		next = memchr(at, FORM_FEED, (size_t)(end - at));
		command(&commands, at, (size_t)((next != NULL ? next : end) - at));
	}
	close_work(&quota);
	return 0;
}
