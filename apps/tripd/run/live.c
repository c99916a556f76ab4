/* SPDX-License-Identifier: BSD-3-Clause */
/* A change of rules at work: what of it can fail, and is undone then. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <trip.h>

#include "apply/set.h"
#include "live.h"
#include "live_change.h"
#include "quota.h"
#include "start/resolve.h"

bool
tripd_change_is_new(const struct tripd_change *change, unsigned int i)
{
	enum trip_apply_what what = change->difference->counts[i].what;

	return what == TRIP_APPLY_ADD || what == TRIP_APPLY_CHANGE ||
	       (what == TRIP_APPLY_RENEW && (!change->dead[i] || change->lets_go[i]));
}

bool
tripd_change_replaces(const struct tripd_change *change, unsigned int i)
{
	return tripd_change_is_new(change, i) &&
	       change->difference->counts[i].what != TRIP_APPLY_ADD;
}

static void
say_no_memory(const char *word, const struct trip_rules_count *count, FILE *answer)
{
	fprintf(answer, "no memory for the ports of %s %s\n", word, count->name);
}

/* Those that it has at work, which may be found no more: a device of a name or an address that has
 * gone, or another one of that name that has come. */
static int
keep_ports(const struct trip_rules_count *work, struct trip_rules_count *count, const char *word,
	FILE *answer)
{
	uint16_t ids[TRIP_RULES_PORTS_MAX];
	int ret;

	for (unsigned int i = 0; i < work->n_ports; i++)
		ids[i] = work->ports[i].id;
	ret = trip_rules_set_ports(count, ids, work->n_ports);
	if (ret != 0)
		say_no_memory(word, count, answer);
	return ret;
}

static int
resolve(const struct tripd_quota *quota, struct trip_rules_count *count, const char *word,
	FILE *answer)
{
	const struct trip_rules_port *missing;
	int ret = tripd_resolve_count(count, &missing);

	if (ret == 0)
		ret = tripd_plan_any(quota->plan, count);
	if (ret == -ENODEV) {
		fprintf(answer, "%s %s: ", word, count->name);
		tripd_resolve_say(missing, answer);
		fprintf(answer, " (line %u)\n", count->line);
	} else if (ret != 0)
		say_no_memory(word, count, answer);
	for (unsigned int i = 0; i < count->n_ports && ret == 0; i++) {
		if (tripd_plan_find(quota->plan, count->ports[i].id) >= 0)
			continue;
		fprintf(answer,
			"%s %s: port %u is not in use: a rule, --ports or --iface has to name "
			"it from the start (line %u)\n",
			word, count->name, count->ports[i].id, count->line);
		ret = -ENODEV;
	}
	return ret;
}

int
tripd_live_resolve(const struct tripd_quota *quota, const struct trip_apply_difference *difference,
	struct trip_rules *next, FILE *answer)
{
	struct trip_rules_count *count;
	int ret = 0;

	for (unsigned int i = 0; (count = trip_rules_placed(next, i)) != NULL && ret == 0; i++) {
		bool each = i >= next->n_counts;
		const struct trip_apply_step *step =
			each ? &difference->eaches[i - next->n_counts] : &difference->counts[i];
		const char *word = each ? "each" : "count";

		if (step->what == TRIP_APPLY_KEEP)
			ret = keep_ports(each ? &quota->rules->eaches[step->at].count
					      : &quota->rules->counts[step->at],
				count, word, answer);
		else if (step->what != TRIP_APPLY_LEAVE)
			ret = resolve(quota, count, word, answer);
	}
	return ret;
}

int
tripd_live_may(const struct trip_apply_difference *difference, uid_t asker, FILE *answer)
{
	const struct trip_rules *next = difference->next;
	uid_t own = geteuid();

	if (asker == 0 || asker == own)
		return 0;
	for (unsigned int i = 0; i < next->n_whens; i++) {
		if (difference->whens[i].what != TRIP_APPLY_ADD ||
			next->whens[i].op != TRIP_RULES_OP_EXEC)
			continue;
		fprintf(answer,
			"exec %s: programs run as tripd's user %u, and user %u is neither that nor "
			"root: they come with tripd's own rules: tripctl reload (line %u)\n",
			next->whens[i].text, (unsigned int)own, (unsigned int)asker,
			next->whens[i].line);
		return -EPERM;
	}
	return 0;
}

/* ---- what can fail, and is undone -------------------------------------------------------------
 */

/* Also asked of all of them before any is made: what an engine refuses counts nothing meanwhile. */
static int
place_count(const struct tripd_change *change, unsigned int i, uint16_t port,
	struct trip_apply_place *place, const char **why)
{
	const struct trip_rules_count *rule = &change->next->counts[i];
	int ret = tripd_engine_keep(change->next, rule, port, why);

	return ret == 0 ? tripd_quota_place(change->quota, change->next, rule, port, place, why)
			: ret;
}

/* Of the new rules' counters: one at work, or its own. */
static struct trip_cntr *
cntr_of(const struct tripd_change *change, unsigned int i)
{
	const struct trip_apply_step *step = &change->difference->counters[i];

	return step->what == TRIP_APPLY_ADD ? change->cntrs[i] : change->quota->counters[step->at];
}

/* Until they end they take no packet from others: they count in addition, on no counter. Where
 * software has no such flows, those that are there stay. */
static void
open_dead(struct tripd_change *change, unsigned int i)
{
	const struct tripd_quota *quota = change->quota;
	struct trip_rules_count rule = change->next->counts[i];
	const char *why;
	int ret = 0;

	rule.actions = TRIP_RULES_ACTION_PASSTHRU;
	rule.allow = false;
	for (unsigned int k = 0; k < rule.n_ports && ret == 0; k++) {
		struct trip_apply_place place = {
			.port = quota->ports[tripd_plan_find(quota->plan, rule.ports[k].id)],
			.engine = TRIP_FLOW_ENGINE_SW,
			.reason = "an operation has ended it",
		};

		ret = trip_apply_count_add(&change->flows[i], &rule, &place, &why);
	}
	if (ret != 0)
		(void)trip_apply_count_end(&change->flows[i]);
	change->lets_go[i] = ret == 0;
}

/* On all of its ports, or with `only_ask` on none. */
static int
open_flows(struct tripd_change *change, unsigned int i, bool only_ask, const char **why)
{
	const struct trip_rules_count *rule = &change->next->counts[i];
	struct trip_cntr *more[TRIP_FLOW_CNTRS_MAX];
	struct trip_apply_place place;
	int ret = 0;

	for (unsigned int k = 0; k < rule->n_quotas; k++)
		more[k] = cntr_of(change, rule->quotas[k]);
	for (unsigned int k = 0; k < rule->n_ports && ret == 0; k++) {
		ret = place_count(change, i, rule->ports[k].id, &place, why);
		place.more = more;
		place.n_more = rule->n_quotas;
		if (ret == 0 && !only_ask)
			ret = trip_apply_count_add(&change->flows[i], rule, &place, why);
	}
	return ret;
}

static int
open_count(struct tripd_change *change, unsigned int i, bool only_ask)
{
	struct tripd_quota *quota = change->quota;
	struct trip_rules_count *rule = &change->next->counts[i];
	const char *why = NULL;
	int ret = 0;

	if (!only_ask) {
		rule->born = ++quota->last_born;
		if (change->dead[i])
			open_dead(change, i);
		else if (tripd_change_replaces(change, i))
			trip_apply_count_renew(&change->flows[i],
				&quota->counts[change->difference->counts[i].at]);
		else
			ret = trip_apply_count_open(&change->flows[i], quota->domain, rule);
	}
	if (ret == 0 && !change->dead[i])
		ret = open_flows(change, i, only_ask, &why);
	if (ret != 0)
		fprintf(change->answer, "count %s: %s (line %u)\n", rule->name,
			why != NULL ? why : trip_error_message(), rule->line);
	return ret;
}

/* Those that are new; the others get what was read for them last, when nothing else can fail. */
static int
open_sets(struct tripd_change *change)
{
	int ret = 0;

	for (unsigned int i = 0; i < change->next->n_sets && ret == 0; i++)
		if (change->difference->sets[i].what == TRIP_APPLY_ADD)
			ret = trip_apply_set_open(
				change->quota->domain, &change->next->sets[i], &change->sets[i]);
	if (ret != 0)
		fprintf(change->answer, "%s\n", trip_error_message());
	return ret;
}

/* All of them, or none. The domain has their entries then. */
static int
fill_sets(struct tripd_change *change)
{
	struct trip_rules_set *sets = change->next->sets;
	unsigned int n = 0;
	int ret;

	for (unsigned int i = 0; i < change->next->n_sets; i++) {
		const struct trip_apply_step *step = &change->difference->sets[i];

		if (step->what == TRIP_APPLY_CHANGE)
			change->fills[n++] = (struct trip_set_change){
				change->quota->sets[step->at], sets[i].entries, sets[i].n_entries};
	}
	ret = trip_set_replace_all(change->fills, n);
	if (ret != 0)
		fprintf(change->answer, "%s\n", trip_error_message());
	for (unsigned int i = 0; i < change->next->n_sets && ret == 0; i++)
		if (change->difference->sets[i].what == TRIP_APPLY_CHANGE) {
			free(sets[i].entries);
			sets[i].entries = NULL;
		}
	return ret;
}

static int
open_counter(struct tripd_change *change, unsigned int i)
{
	const struct trip_rules_counter *counter = &change->next->counters[i];
	int ret = trip_apply_cntr(change->quota->domain, counter->name, "",
		counter->quota != NULL ? counter->quota->events : TRIP_CNTR_EVENTS_COMP,
		&change->cntrs[i]);

	if (ret != 0)
		fprintf(change->answer, "counter %s: %s\n", counter->name, trip_error_message());
	return ret;
}

static int
open_counters(struct tripd_change *change)
{
	unsigned int n_quotas = 0;
	int ret = 0;

	for (unsigned int i = 0; i < change->next->n_counters && ret == 0; i++) {
		if (change->difference->counters[i].what != TRIP_APPLY_ADD)
			continue;
		n_quotas += change->next->counters[i].quota != NULL;
		ret = open_counter(change, i);
	}
	if (ret != 0)
		return ret;
	ret = tripd_period_room(change->quota, n_quotas);
	if (ret != 0)
		fprintf(change->answer, "%u quotas: %s\n", n_quotas, trip_strerror(ret));
	return ret;
}

static int
open_each(struct tripd_change *change, unsigned int i)
{
	const struct trip_rules_each *rule = &change->next->eaches[i];
	int ret = tripd_quota_each_open(change->quota, rule, &change->eaches[i]);

	if (ret != 0)
		fprintf(change->answer, "%s (line %u)%s\n", trip_error_message(), rule->count.line,
			ret == -ENOSPC ? ": --each-memory from the start makes room" : "");
	return ret;
}

/* What was counted by one that changes ends here: its name and memory are the new one's. */
static int
reopen_each(struct tripd_change *change, unsigned int i)
{
	int ret;

	/* What its keys have tripped by. */
	(void)tripd_quota_read(change->quota);
	ret = tripd_quota_each_end(change->quota, change->difference->eaches[i].at);
	if (ret == 0)
		return open_each(change, i);
	fprintf(change->answer, "%s\n", trip_error_message());
	return ret;
}

/* Those that are new before those that change, which are undone at a price. */
static int
open_eaches(struct tripd_change *change)
{
	const struct trip_apply_step *steps = change->difference->eaches;
	int ret = 0;

	for (unsigned int i = 0; i < change->next->n_eaches && ret == 0; i++)
		if (steps[i].what == TRIP_APPLY_ADD)
			ret = open_each(change, i);
	for (unsigned int i = 0; i < change->next->n_eaches && ret == 0; i++)
		if (steps[i].what == TRIP_APPLY_CHANGE)
			ret = reopen_each(change, i);
	return ret;
}

/* One that was to change is there again, and begins anew. */
static void
undo_eaches(struct tripd_change *change)
{
	struct tripd_quota *quota = change->quota;

	for (unsigned int i = 0; i < change->next->n_eaches; i++)
		if (change->eaches[i] != NULL)
			(void)trip_each_close(change->eaches[i]);
	for (unsigned int i = 0; i < change->next->n_eaches; i++) {
		const struct trip_apply_step *step = &change->difference->eaches[i];
		const struct trip_rules_each *rule = &quota->rules->eaches[step->at];
		struct trip_each *each;
		int ret;

		if (step->what != TRIP_APPLY_CHANGE || quota->eaches[step->at].each != NULL)
			continue;
		ret = tripd_quota_each_open(quota, rule, &each);
		if (ret == 0)
			tripd_quota_each_take(quota, step->at, each);
		fprintf(change->answer, "each %s stays as it was, %s%s\n", rule->count.name,
			ret == 0 ? "and begins anew" : "but does not count: ",
			ret == 0 ? "" : trip_error_message());
	}
}

static int
open_all(struct tripd_change *change)
{
	int ret = open_sets(change);

	for (unsigned int i = 0; i < change->next->n_counts && ret == 0; i++)
		if (tripd_change_is_new(change, i))
			ret = open_count(change, i, true);
	if (ret == 0)
		ret = open_counters(change);
	for (unsigned int k = 0; k < change->next->n_counts && ret == 0; k++) {
		unsigned int i = change->difference->order[k];

		if (tripd_change_is_new(change, i))
			ret = open_count(change, i, false);
		else if (change->dead[i])
			/* What matches nothing stands wherever it is said to. */
			change->next->counts[i].born = ++change->quota->last_born;
	}
	if (ret == 0)
		ret = tripd_change_room_for_ids(change);
	if (ret == 0)
		ret = open_eaches(change);
	return ret == 0 ? fill_sets(change) : ret;
}

static void
undo(struct tripd_change *change)
{
	undo_eaches(change);
	for (unsigned int i = change->next->n_counts; i-- > 0;) {
		if (tripd_change_replaces(change, i))
			(void)trip_apply_count_end(&change->flows[i]);
		else
			(void)trip_apply_count_close(&change->flows[i]);
	}
	for (unsigned int i = 0; i < change->next->n_counters; i++)
		if (change->cntrs[i] != NULL)
			trip_cntr_close(change->cntrs[i]);
	for (unsigned int i = 0; i < change->next->n_sets; i++)
		if (change->sets[i] != NULL)
			trip_set_close(change->sets[i]);
	for (unsigned int i = 0; i < change->next->n_whens; i++)
		(void)tripd_quota_item_close(&change->quota->items[change->n_whens + i]);
}

int
tripd_live_change(struct tripd_quota *quota, const struct trip_apply_difference *difference,
	struct trip_rules *next, FILE *answer)
{
	struct tripd_change change = {
		.quota = quota,
		.difference = difference,
		.next = next,
		.answer = answer,
		.n_counts = quota->rules->n_counts,
		.n_counters = quota->rules->n_counters,
		.n_whens = quota->rules->n_whens,
		.n_sets = quota->rules->n_sets,
		.n_eaches = quota->rules->n_eaches,
	};
	int ret = tripd_change_check(&change);

	if (ret == 0) {
		ret = open_all(&change);
		if (ret == 0)
			tripd_change_carry_out(&change);
		else
			undo(&change);
	}
	free(change.dead);
	free(change.lets_go);
	free(change.flows);
	free(change.cntrs);
	free(change.sets);
	free(change.eaches);
	free(change.counts_at);
	free(change.counters_at);
	free(change.whens_at);
	free(change.eaches_at);
	free(change.changes);
	free(change.waits);
	free(change.endings);
	free(change.fills);
	return ret;
}
