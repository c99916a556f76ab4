/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A change, step by step: room, counters and flows first, which may fail, and then are undone. Then
 * what cannot: work that goes is canceled, flows take the places of others, work comes in, old
 * flows end, the latest first. So whatever packet comes in between counts either in the rule that
 * was to count it before, or in the one that is to count it now.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <trip.h>

#include "apply/port.h"
#include "apply/when.h"
#include "live.h"
#include "now.h"
#include "quota.h"

#define END_NS UINT64_C(2000000000)

struct change {
	struct tripd_quota *quota;
	const struct trip_apply_difference *difference;
	struct trip_rules *next;
	FILE *answer;
	/* By index in the new rules: flows that are new; later, those of a count that changed. */
	struct trip_apply_count *flows;
	struct trip_cntr **cntrs;
	/* By index in the new rules: where they are at work. */
	unsigned int *counts_at, *counters_at;
	/* By index in the new rules: an operation has ended it; renewed, it would come back. */
	bool *dead;
	/* Rules at work before, and how many. */
	unsigned int n_counts, n_counters, n_whens;
};

static bool
is_new(const struct change *change, unsigned int i)
{
	enum trip_apply_what what = change->difference->counts[i].what;

	return what == TRIP_APPLY_ADD || what == TRIP_APPLY_CHANGE ||
	       (what == TRIP_APPLY_RENEW && !change->dead[i]);
}

static bool
replaces(const struct change *change, unsigned int i)
{
	return is_new(change, i) && change->difference->counts[i].what != TRIP_APPLY_ADD;
}

int
tripd_live_resolve(const struct tripd_quota *quota, struct trip_rules *next, FILE *answer)
{
	for (unsigned int i = 0; i < next->n_counts; i++) {
		struct trip_rules_count *count = &next->counts[i];

		if (!trip_apply_port(count, &count->port)) {
			fprintf(answer, "count %s: there is no such port (line %u)\n", count->name,
				count->line);
			return -ENODEV;
		}
		count->port_by = TRIP_RULES_PORT_ID;
		if (tripd_plan_find(quota->plan, count->port) >= 0)
			continue;
		fprintf(answer,
			"count %s: port %u is not in use: a rule, --ports or --iface has to name "
			"it "
			"from the start (line %u)\n",
			count->name, count->port, count->line);
		return -ENODEV;
	}
	return 0;
}

/* ---- room -------------------------------------------------------------------------------------
 */

static int
check_room(const struct change *change, const char *what, uint64_t taken, uint64_t more,
	uint64_t room, const char *option)
{
	if (taken + more <= room)
		return 0;
	fprintf(change->answer,
		"%" PRIu64 " %s are at work, and this takes %" PRIu64
		" more while it changes: there "
		"is room for %" PRIu64 " (%s from the start)\n",
		taken, what, more, room, option);
	return -ENOSPC;
}

static uint64_t
count_flows(const struct trip_rules *rules)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < rules->n_counts; i++)
		n += rules->counts[i].gone ? 0 : rules->counts[i].n_patterns;
	return n;
}

static uint64_t
count_works(const struct trip_rules *rules)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < rules->n_whens; i++)
		n += rules->whens[i].gone ? 0 : trip_apply_when_works(rules, &rules->whens[i]);
	return n;
}

static bool
has_quota(const struct trip_rules *rules)
{
	for (unsigned int i = 0; i < rules->n_counters; i++)
		if (rules->counters[i].quota != NULL)
			return true;
	return false;
}

/* What is put to work at the start only. */
static int
check_kinds(const struct change *change)
{
	const struct trip_rules *next = change->next;

	if (has_quota(change->quota->rules) || has_quota(next)) {
		fprintf(change->answer, "not yet: this version cannot change rules with a 'quota' "
					"while they are at "
					"work\n");
		return -ENOTSUP;
	}
	for (unsigned int i = 0; i < next->n_whens; i++)
		if (change->difference->whens[i].what == TRIP_APPLY_ADD &&
			next->whens[i].op == TRIP_RULES_OP_EXEC) {
			fprintf(change->answer,
				"not yet: this version cannot add an 'exec' to rules at work (line "
				"%u)\n",
				next->whens[i].line);
			return -ENOTSUP;
		}
	return 0;
}

static int
check_rooms(const struct change *change)
{
	const struct trip_rules *work = change->quota->rules, *next = change->next;
	const struct tripd_quota *quota = change->quota;
	uint64_t flows = 0, cntrs = 0, works = 0;
	int ret;

	for (unsigned int i = 0; i < next->n_counts; i++) {
		flows += is_new(change, i) ? next->counts[i].n_patterns : 0;
		cntrs += change->difference->counts[i].what == TRIP_APPLY_ADD ? 2 : 0;
	}
	for (unsigned int i = 0; i < next->n_counters; i++)
		cntrs += change->difference->counters[i].what == TRIP_APPLY_ADD;
	for (unsigned int i = 0; i < next->n_whens; i++)
		if (change->difference->whens[i].what == TRIP_APPLY_ADD)
			works += trip_apply_when_works(next, &next->whens[i]);
	ret = check_room(
		change, "flows", count_flows(work), flows, quota->max_flows, "--live-flows");
	if (ret == 0)
		ret = check_room(change, "counters of the rules",
			2 * (uint64_t)work->n_counts + work->n_counters, cntrs, quota->max_cntrs,
			"--live-counters");
	if (ret == 0)
		ret = check_room(change, "items of work", count_works(work), works,
			quota->max_works, "--live-works");
	return ret;
}

/* Array `array` of n entries gets room for `more`, which are 0. */
static int
extend(void *array, unsigned int n, unsigned int more, size_t size)
{
	void *entries;

	memcpy(&entries, array, sizeof(entries));
	entries = reallocarray(entries, (size_t)n + more + 1, size);
	if (entries == NULL)
		return -ENOMEM;
	memset((char *)entries + n * size, 0, ((size_t)more + 1) * size);
	memcpy(array, &entries, sizeof(entries));
	return 0;
}

static void
find_dead(struct change *change)
{
	struct trip_flow_count sum;

	for (unsigned int i = 0; i < change->next->n_counts; i++) {
		const struct trip_apply_step *step = &change->difference->counts[i];

		change->dead[i] =
			step->what == TRIP_APPLY_RENEW &&
			trip_apply_count_query(&change->quota->counts[step->at], &sum) == 0 &&
			sum.fate == TRIP_FLOW_FATE_DELETED;
	}
}

/* For all that may come in. */
static int
make_room(struct change *change)
{
	struct tripd_quota *quota = change->quota;
	struct trip_rules *work = quota->rules;
	unsigned int counts = change->next->n_counts, counters = change->next->n_counters;
	unsigned int whens = change->next->n_whens;

	change->dead = calloc(counts + 1, sizeof(*change->dead));
	change->flows = calloc(counts + 1, sizeof(*change->flows));
	change->cntrs = calloc(counters + 1, sizeof(struct trip_cntr *));
	change->counts_at = calloc(counts + 1, sizeof(unsigned int));
	change->counters_at = calloc(counters + 1, sizeof(unsigned int));
	if (change->dead == NULL || change->flows == NULL || change->cntrs == NULL ||
		change->counts_at == NULL || change->counters_at == NULL ||
		extend(&work->counts, work->n_counts, counts, sizeof(*work->counts)) != 0 ||
		extend(&work->counters, work->n_counters, counters, sizeof(*work->counters)) != 0 ||
		extend(&work->whens, work->n_whens, whens, sizeof(*work->whens)) != 0 ||
		extend(&quota->counts, work->n_counts, counts, sizeof(*quota->counts)) != 0 ||
		extend(&quota->counters, work->n_counters, counters, sizeof(struct trip_cntr *)) !=
			0 ||
		extend(&quota->fired, work->n_whens, whens, sizeof(*quota->fired)) != 0 ||
		extend(&quota->items, work->n_whens, whens, sizeof(*quota->items)) != 0) {
		fprintf(change->answer, "no memory for so many rules\n");
		return -ENOMEM;
	}
	find_dead(change);
	return check_kinds(change) != 0 ? -ENOTSUP : check_rooms(change);
}

/* ---- what can fail, and is undone -------------------------------------------------------------
 */

/* Also asked of all of them before any is made: what an engine refuses counts nothing meanwhile. */
static int
place_count(const struct change *change, unsigned int i, struct trip_apply_place *place,
	const char **why)
{
	const struct trip_rules_count *rule = &change->next->counts[i];
	int ret = tripd_engine_keep(change->next, rule, why);

	return ret == 0 ? tripd_quota_place(change->quota, change->next, rule, place, why) : ret;
}

static int
open_count(struct change *change, unsigned int i, bool only_ask)
{
	struct tripd_quota *quota = change->quota;
	struct trip_rules_count *rule = &change->next->counts[i];
	struct trip_apply_place place;
	const char *why;
	int ret = place_count(change, i, &place, &why);

	if (ret == 0 && !only_ask) {
		rule->born = ++quota->last_born;
		ret = replaces(change, i)
			      ? trip_apply_count_renew(&change->flows[i],
					&quota->counts[change->difference->counts[i].at], rule,
					&place, &why)
			      : trip_apply_count_open(
					&change->flows[i], quota->domain, rule, &place, &why);
	}
	if (ret != 0)
		fprintf(change->answer, "count %s: %s (line %u)\n", rule->name,
			why != NULL ? why : trip_error_message(), rule->line);
	return ret;
}

static int
open_all(struct change *change)
{
	const struct trip_apply_difference *difference = change->difference;
	int ret = 0;

	for (unsigned int i = 0; i < change->next->n_counts && ret == 0; i++)
		if (is_new(change, i))
			ret = open_count(change, i, true);
	for (unsigned int i = 0; i < change->next->n_counters && ret == 0; i++) {
		const char *name = change->next->counters[i].name;

		if (difference->counters[i].what != TRIP_APPLY_ADD)
			continue;
		ret = trip_apply_cntr(
			change->quota->domain, name, "", TRIP_CNTR_EVENTS_COMP, &change->cntrs[i]);
		if (ret != 0)
			fprintf(change->answer, "counter %s: %s\n", name, trip_error_message());
	}
	for (unsigned int i = 0; i < change->next->n_counts && ret == 0; i++)
		if (is_new(change, i))
			ret = open_count(change, i, false);
		else if (change->dead[i])
			/* What matches nothing stands wherever it is said to. */
			change->next->counts[i].born = ++change->quota->last_born;
	return ret;
}

static void
undo(struct change *change)
{
	for (unsigned int i = change->next->n_counts; i-- > 0;) {
		if (replaces(change, i))
			(void)trip_apply_count_end(&change->flows[i]);
		else
			(void)trip_apply_count_close(&change->flows[i]);
	}
	for (unsigned int i = 0; i < change->next->n_counters; i++)
		if (change->cntrs[i] != NULL)
			trip_cntr_close(change->cntrs[i]);
}

/* ---- what comes in ----------------------------------------------------------------------------
 */

/* The statement moves to the rules at work. */
static void
take_count(struct change *change, unsigned int i)
{
	const struct trip_apply_step *step = &change->difference->counts[i];
	struct trip_rules *work = change->quota->rules;
	struct trip_rules_count *from = &change->next->counts[i], *to, none = {0};

	change->counts_at[i] = step->what == TRIP_APPLY_ADD ? work->n_counts++ : step->at;
	to = &work->counts[change->counts_at[i]];
	if (step->what == TRIP_APPLY_ADD)
		change->quota->counts[change->counts_at[i]] = change->flows[i];
	if (!is_new(change, i)) {
		/* Of what is added to, lines are no file's. */
		to->line = change->difference->onto ? to->line : from->line;
		if (change->dead[i])
			to->born = from->born;
		return;
	}
	/* What is replaced goes with the new rules. */
	none = *to;
	*to = *from;
	*from = none;
	/* Names of those that are left out are looked up no more. */
	memcpy(from->name, to->name, sizeof(from->name));
}

static void
take_counter(struct change *change, unsigned int i)
{
	const struct trip_apply_step *step = &change->difference->counters[i];
	struct trip_rules *work = change->quota->rules;

	if (step->what != TRIP_APPLY_ADD) {
		change->counters_at[i] = step->at;
		return;
	}
	change->counters_at[i] = work->n_counters;
	work->counters[work->n_counters] = change->next->counters[i];
	change->quota->counters[work->n_counters++] = change->cntrs[i];
}

/* Its names are those of rules at work from here on. */
static unsigned int
take_when(struct change *change, unsigned int i)
{
	struct tripd_quota *quota = change->quota;
	struct trip_rules *work = quota->rules;
	struct trip_rules_when *when = &work->whens[work->n_whens];

	*when = change->next->whens[i];
	change->next->whens[i] = (struct trip_rules_when){0};
	if (when->ref == TRIP_RULES_REF_COUNTER)
		when->index = change->counters_at[when->index];
	else if (when->ref != TRIP_RULES_REF_CLOCK)
		when->index = change->counts_at[when->index];
	if (trip_rules_op_of(when->op)->target == TRIP_OP_ON_FLOW || when->on_count)
		when->target = change->counts_at[when->target];
	else if (trip_rules_op_of(when->op)->target == TRIP_OP_ON_CNTR)
		when->target = change->counters_at[when->target];
	quota->items[work->n_whens].since = trip_cntr_read(trip_clock_cntr(quota->domain));
	return work->n_whens++;
}

static void
queue(struct change *change, unsigned int i)
{
	const struct trip_rules_when *when = &change->quota->rules->whens[i];
	int ret = tripd_quota_queue(change->quota, i);

	if (ret != 0)
		fprintf(change->answer, "%s: %s\n", when->source, trip_error_message());
}

static void
take_whens(struct change *change)
{
	for (unsigned int i = 0; i < change->next->n_whens; i++) {
		const struct trip_apply_step *step = &change->difference->whens[i];

		if (step->what == TRIP_APPLY_ADD)
			queue(change, take_when(change, i));
		else if (!change->difference->onto)
			change->quota->rules->whens[step->at].line = change->next->whens[i].line;
	}
}

/* ---- what takes the place of another ----------------------------------------------------------
 */

/* A drop of it ends by itself: with what it is queued anew by, it begins anew. */
static bool
drop_ends(const struct tripd_quota *quota, unsigned int count)
{
	const struct trip_rules *work = quota->rules;

	for (unsigned int i = 0; i < work->n_whens; i++) {
		const struct trip_rules_when *when = &work->whens[i];

		if (!when->gone && when->op == TRIP_RULES_OP_DROP && when->target == count &&
			quota->fired[i] > 0 && when->condition.kind == TRIP_CONDITION_RATE &&
			when->condition.when.rate.until_time > 0)
			return true;
	}
	return false;
}

/* What operations have made of the old flows becomes of the new ones, too. */
static void
carry_fate(struct change *change, unsigned int i)
{
	const struct trip_apply_count *old =
		&change->quota->counts[change->difference->counts[i].at];
	const struct trip_rules_count *rule =
		&change->quota->rules->counts[change->difference->counts[i].at];
	bool drops = (rule->actions & TRIP_RULES_ACTION_DROP) != 0;
	struct trip_flow_count count;
	struct trip_rules_when when = {.op = TRIP_RULES_OP_DROP};

	if (trip_apply_count_query(old, &count) != 0)
		return;
	if (count.fate == TRIP_FLOW_FATE_DELETED &&
		change->difference->counts[i].what == TRIP_APPLY_RENEW)
		when.op = TRIP_RULES_OP_DELETE;
	else if (drops && count.fate == TRIP_FLOW_FATE_PASS)
		when.op = TRIP_RULES_OP_PASS;
	else if (drops || count.fate != TRIP_FLOW_FATE_DROP ||
		 drop_ends(change->quota, change->difference->counts[i].at))
		return;
	if (tripd_quota_do(change->quota, &change->flows[i], &when) != 0)
		fprintf(change->answer, "count %s: '%s' does not stay as it was done: %s\n",
			rule->name, trip_rules_op_of(when.op)->word, trip_error_message());
}

/* Work on flows of a count that changes is taken off them, and comes back on the new ones; in
 * between nothing of it is lost, for it fires at once where it is due. */
static void
replace_flows(struct change *change)
{
	struct tripd_quota *quota = change->quota;
	bool *changes = calloc(change->n_counts + 1, sizeof(*changes));
	bool *waits = calloc(change->n_whens + 1, sizeof(*waits));
	unsigned int n = 0;

	for (unsigned int i = 0; i < change->next->n_counts; i++)
		if (replaces(change, i)) {
			n++;
			if (changes != NULL)
				changes[change->difference->counts[i].at] = true;
		}
	for (unsigned int i = 0; n > 0 && i < change->n_whens; i++) {
		const struct trip_rules_when *when = &quota->rules->whens[i];

		if (changes != NULL && waits != NULL && !change->difference->whens_go[i] &&
			!when->gone && trip_rules_op_of(when->op)->target == TRIP_OP_ON_FLOW &&
			changes[when->target])
			waits[i] = tripd_quota_cancel(quota, i);
	}
	if (n > 0)
		tripd_quota_settled(quota);
	for (unsigned int i = 0; n > 0 && i < change->next->n_counts; i++)
		if (replaces(change, i)) {
			carry_fate(change, i);
			trip_apply_count_swap(&quota->counts[change->difference->counts[i].at],
				&change->flows[i]);
		}
	for (unsigned int i = 0; waits != NULL && i < change->n_whens; i++)
		if (waits[i])
			queue(change, i);
	free(changes);
	free(waits);
}

/* ---- what goes --------------------------------------------------------------------------------
 */

static void
cancel_gone(struct change *change)
{
	struct trip_rules *work = change->quota->rules;

	for (unsigned int i = 0; i < change->n_whens; i++)
		if (change->difference->whens_go[i]) {
			tripd_quota_cancel(change->quota, i);
			work->whens[i].gone = true;
		}
}

/* An ending flow: of a count that goes, or of one that has new ones. */
struct ending {
	uint64_t born;
	struct trip_apply_count *flows;
	/* Whose they were. */
	struct trip_apply_count *count;
};

static int
latest_first(const void *left, const void *right)
{
	const struct ending *a = left, *b = right;

	return a->born > b->born ? -1 : a->born < b->born;
}

/* A home may yet hold on to work that was canceled. */
static void
end_flows(struct change *change, const struct ending *ending)
{
	uint64_t deadline = now_ns(CLOCK_MONOTONIC) + END_NS;
	struct trip_apply_count *flows = ending->flows;
	struct trip_flow_count sum = {0};

	trip_apply_count_retire(flows);
	(void)trip_apply_count_query(flows, &sum);
	for (unsigned int k = 0; k < flows->n_flows; k++)
		while (trip_flow_destroy(flows->flows[k]) == -EBUSY &&
			now_ns(CLOCK_MONOTONIC) < deadline)
			tripd_quota_settled(change->quota);
	free(flows->flows);
	flows->flows = NULL;
	flows->n_flows = 0;
	if (flows == ending->count) {
		flows->earlier_packets = sum.packets;
		flows->earlier_bytes = sum.bytes;
	} else {
		ending->count->earlier_packets += sum.packets;
		ending->count->earlier_bytes += sum.bytes;
	}
}

static void
close_gone(struct trip_cntr **cntr)
{
	/* Where others have found it, it stays until the end. */
	if (*cntr != NULL && trip_cntr_close(*cntr) == 0)
		*cntr = NULL;
}

static void
end_counts(struct change *change)
{
	const struct trip_apply_difference *difference = change->difference;
	struct tripd_quota *quota = change->quota;
	struct trip_rules *work = quota->rules;
	struct ending *endings =
		calloc(change->n_counts + change->next->n_counts + 1, sizeof(*endings));
	unsigned int n = 0;

	for (unsigned int i = 0; i < change->n_counts && endings != NULL; i++)
		if (difference->counts_go[i])
			endings[n++] = (struct ending){
				work->counts[i].born, &quota->counts[i], &quota->counts[i]};
	/* What is left of the rule that was replaced is in the new rules. */
	for (unsigned int i = 0; i < change->next->n_counts && endings != NULL; i++)
		if (replaces(change, i))
			endings[n++] = (struct ending){change->next->counts[i].born,
				&change->flows[i], &quota->counts[difference->counts[i].at]};
	if (n > 1)
		qsort(endings, n, sizeof(*endings), latest_first);
	for (unsigned int i = 0; i < n; i++)
		end_flows(change, &endings[i]);
	free(endings);
	for (unsigned int i = 0; i < change->n_counts; i++)
		if (difference->counts_go[i]) {
			work->counts[i].gone = true;
			close_gone(&quota->counts[i].packets);
			close_gone(&quota->counts[i].bytes);
		}
	for (unsigned int i = 0; i < change->n_counters; i++)
		if (difference->counters_go[i]) {
			work->counters[i].gone = true;
			work->counters[i].last = trip_cntr_read(quota->counters[i]);
			close_gone(&quota->counters[i]);
		}
}

static void
carry_out(struct change *change)
{
	cancel_gone(change);
	replace_flows(change);
	for (unsigned int i = 0; i < change->next->n_counters; i++)
		take_counter(change, i);
	for (unsigned int i = 0; i < change->next->n_counts; i++)
		take_count(change, i);
	take_whens(change);
	tripd_quota_settled(change->quota);
	end_counts(change);
}

int
tripd_live_change(struct tripd_quota *quota, const struct trip_apply_difference *difference,
	struct trip_rules *next, FILE *answer)
{
	struct change change = {
		.quota = quota,
		.difference = difference,
		.next = next,
		.answer = answer,
		.n_counts = quota->rules->n_counts,
		.n_counters = quota->rules->n_counters,
		.n_whens = quota->rules->n_whens,
	};
	int ret = make_room(&change);

	if (ret == 0) {
		ret = open_all(&change);
		if (ret == 0)
			carry_out(&change);
		else
			undo(&change);
	}
	free(change.dead);
	free(change.flows);
	free(change.cntrs);
	free(change.counts_at);
	free(change.counters_at);
	return ret;
}
