/* SPDX-License-Identifier: BSD-3-Clause */
/* A change of rules at work: whether there is room for it, and what cannot become of what. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <trip.h>

#include "apply/each.h"
#include "apply/when.h"
#include "exec.h"
#include "live_change.h"
#include "quota.h"

static int
check_room(const struct tripd_change *change, const char *what, uint64_t taken, uint64_t more,
	uint64_t room, const char *option)
{
	if (taken + more <= room)
		return 0;
	fprintf(change->answer,
		"%" PRIu64 " %s are at work, and this takes %" PRIu64
		" more while it changes: there is room for %" PRIu64 " (%s from the start)\n",
		taken, what, more, room, option);
	return -ENOSPC;
}

static uint64_t
flows_of(const struct trip_rules_count *count)
{
	return (uint64_t)count->n_patterns * count->n_ports;
}

static uint64_t
count_flows(const struct trip_rules *rules)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < rules->n_counts; i++)
		n += rules->counts[i].gone ? 0 : flows_of(&rules->counts[i]);
	return n;
}

/* Rules of their keys in hardware. */
static uint64_t
count_keys(const struct trip_rules *rules)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < rules->n_eaches; i++)
		n += rules->eaches[i].count.gone ? 0 : trip_apply_each_flows(&rules->eaches[i]);
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

/* Those of what has gone are kept as long as others have them. */
static uint64_t
count_cntrs(const struct tripd_quota *quota)
{
	const struct trip_rules *rules = quota->rules;
	uint64_t n = 0;

	for (unsigned int i = 0; i < rules->n_counts; i++)
		n += (quota->counts[i].packets != NULL) + (quota->counts[i].bytes != NULL);
	for (unsigned int i = 0; i < rules->n_counters; i++)
		n += quota->counters[i] != NULL;
	for (unsigned int i = 0; i < rules->n_whens; i++)
		n += quota->items[i].gate != NULL;
	return n;
}

/* A count that stays in hardware is not policed there. */
static int
check_police(const struct tripd_change *change)
{
	const struct trip_apply_difference *difference = change->difference;
	const struct trip_rules *next = change->next;
	struct trip_flow_count sum;

	for (unsigned int i = 0; i < next->n_whens; i++) {
		unsigned int count = next->whens[i].target;

		if (difference->whens[i].what != TRIP_APPLY_ADD ||
			next->whens[i].op != TRIP_RULES_OP_POLICE ||
			tripd_change_is_new(change, count) ||
			trip_apply_count_query(
				&change->quota->counts[difference->counts[count].at], &sum) != 0 ||
			sum.engine == TRIP_FLOW_ENGINE_SW)
			continue;
		fprintf(change->answer,
			"'police' is done in software, and count %s is at work in hardware (line "
			"%u)\n",
			next->counts[count].name, next->whens[i].line);
		return -ENOTSUP;
	}
	return 0;
}

/* What a counter counts is said when it is opened. */
static int
check_kinds(const struct tripd_change *change)
{
	static const char *const words[] = {
		[TRIP_CNTR_EVENTS_COMP] = "packets", [TRIP_CNTR_EVENTS_BYTES] = "bytes"};

	for (unsigned int i = 0; i < change->next->n_counters; i++) {
		const struct trip_apply_step *step = &change->difference->counters[i];
		const struct trip_rules_counter *next = &change->next->counters[i];
		const struct trip_rules_quota *was = change->quota->rules->counters[step->at].quota;

		if (step->what != TRIP_APPLY_KEEP && step->what != TRIP_APPLY_CHANGE)
			continue;
		if ((was != NULL) == (next->quota != NULL) &&
			(was == NULL || was->events == next->quota->events))
			continue;
		fprintf(change->answer,
			"%s is a %s%s at work, and cannot become a %s%s (line %u): remove it "
			"first\n",
			next->name, was != NULL ? "quota of " : "counter",
			was != NULL ? words[was->events] : "",
			next->quota != NULL ? "quota of " : "counter",
			next->quota != NULL ? words[next->quota->events] : "", next->line);
		return -ENOTSUP;
	}
	return 0;
}

/* Programs of `exec` that are new. */
static int
check_programs(const struct tripd_change *change)
{
	const struct trip_rules *next = change->next;
	unsigned int n = 0;

	for (unsigned int i = 0; i < next->n_whens; i++) {
		const struct trip_rules_when *when = &next->whens[i];
		int ret;

		if (change->difference->whens[i].what != TRIP_APPLY_ADD ||
			when->op != TRIP_RULES_OP_EXEC)
			continue;
		ret = tripd_exec_check_one(change->quota->programs, when->text, ++n);
		if (ret == 0)
			continue;
		if (ret == -ENOSPC)
			fprintf(change->answer,
				"exec %s: more than %d programs, with those that have yet to end "
				"(line %u)\n",
				when->text, TRIPD_EXEC_MAX, when->line);
		else
			fprintf(change->answer, "exec %s: %s (line %u)\n", when->text,
				ret == -ECHILD ? "no program can be started here" : strerror(-ret),
				when->line);
		return ret;
	}
	if (tripd_exec_room(change->quota->programs, change->n_whens + next->n_whens, n) == 0)
		return 0;
	fprintf(change->answer, "no memory for the programs of so many rules\n");
	return -ENOMEM;
}

/* One that changes ends before it begins anew. */
static uint64_t
more_keys(const struct tripd_change *change)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < change->next->n_eaches; i++) {
		const struct trip_apply_step *step = &change->difference->eaches[i];
		uint64_t next = trip_apply_each_flows(&change->next->eaches[i]), has = 0;

		if (step->what == TRIP_APPLY_CHANGE)
			has = trip_apply_each_flows(&change->quota->rules->eaches[step->at]);
		else if (step->what != TRIP_APPLY_ADD)
			continue;
		n += next > has ? next - has : 0;
	}
	return n;
}

static int
check_rooms(const struct tripd_change *change)
{
	const struct trip_rules *work = change->quota->rules, *next = change->next;
	const struct tripd_quota *quota = change->quota;
	uint64_t flows = more_keys(change), cntrs = 0, works = 0;
	int ret;

	for (unsigned int i = 0; i < next->n_counts; i++) {
		flows += tripd_change_is_new(change, i) ? flows_of(&next->counts[i]) : 0;
		cntrs += change->difference->counts[i].what == TRIP_APPLY_ADD ? 2 : 0;
	}
	for (unsigned int i = 0; i < next->n_counters; i++)
		cntrs += change->difference->counters[i].what == TRIP_APPLY_ADD;
	for (unsigned int i = 0; i < next->n_whens; i++) {
		if (change->difference->whens[i].what != TRIP_APPLY_ADD)
			continue;
		works += trip_apply_when_works(next, &next->whens[i]);
		cntrs += trip_apply_when_is_gated(&next->whens[i]);
	}
	ret = check_room(change, "flows", count_flows(work) + count_keys(work), flows,
		quota->max_flows, "--live-flows");
	if (ret == 0)
		ret = check_room(change, "counters of the rules", count_cntrs(quota), cntrs,
			quota->max_cntrs, "--live-counters");
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

/* A quota that is of it at work, and not in the new rules. */
static bool
feeds_what_goes(const struct tripd_change *change, unsigned int i)
{
	const struct trip_apply_difference *difference = change->difference;
	const struct trip_rules_count *next = &change->next->counts[i];
	const struct trip_rules_count *work =
		&change->quota->rules->counts[difference->counts[i].at];

	for (unsigned int k = 0; k < work->n_quotas; k++) {
		bool stays = false;

		for (unsigned int q = 0; q < next->n_quotas; q++) {
			const struct trip_apply_step *step = &difference->counters[next->quotas[q]];

			stays |= step->what != TRIP_APPLY_ADD && step->at == work->quotas[k];
		}
		if (!stays)
			return true;
	}
	return false;
}

static void
find_dead(struct tripd_change *change)
{
	struct trip_flow_count sum;

	for (unsigned int i = 0; i < change->next->n_counts; i++) {
		const struct trip_apply_step *step = &change->difference->counts[i];

		change->dead[i] =
			step->what == TRIP_APPLY_RENEW &&
			trip_apply_count_query(&change->quota->counts[step->at], &sum) == 0 &&
			sum.fate == TRIP_FLOW_FATE_DELETED;
		change->lets_go[i] = change->dead[i] && feeds_what_goes(change, i);
	}
}

/* For all that may come in. */
static int
make_room(struct tripd_change *change)
{
	struct tripd_quota *quota = change->quota;
	struct trip_rules *work = quota->rules;
	unsigned int counts = change->next->n_counts, counters = change->next->n_counters;
	unsigned int whens = change->next->n_whens, sets = change->next->n_sets;
	unsigned int eaches = change->next->n_eaches;

	change->dead = calloc(counts + 1, sizeof(*change->dead));
	change->lets_go = calloc(counts + 1, sizeof(*change->lets_go));
	change->flows = calloc(counts + 1, sizeof(*change->flows));
	change->cntrs = calloc(counters + 1, sizeof(struct trip_cntr *));
	change->sets = calloc(sets + 1, sizeof(struct trip_set *));
	change->whens_at = calloc(whens + 1, sizeof(unsigned int));
	change->eaches_at = calloc(eaches + 1, sizeof(unsigned int));
	change->eaches = calloc(eaches + 1, sizeof(struct trip_each *));
	change->counts_at = calloc(counts + 1, sizeof(unsigned int));
	change->counters_at = calloc(counters + 1, sizeof(unsigned int));
	change->changes = calloc(work->n_counts + 1, sizeof(*change->changes));
	change->waits = calloc(work->n_whens + 1, sizeof(bool));
	change->fills = calloc(sets + 1, sizeof(*change->fills));
	change->endings = calloc((size_t)work->n_counts + counts + 1, sizeof(*change->endings));
	if (change->endings == NULL || change->fills == NULL || change->dead == NULL ||
		change->lets_go == NULL || change->flows == NULL || change->cntrs == NULL ||
		change->counts_at == NULL || change->counters_at == NULL || change->sets == NULL ||
		change->changes == NULL || change->waits == NULL || change->eaches == NULL ||
		change->whens_at == NULL || change->eaches_at == NULL ||
		extend(&work->eaches, work->n_eaches, eaches, sizeof(*work->eaches)) != 0 ||
		extend(&quota->eaches, work->n_eaches, eaches, sizeof(*quota->eaches)) != 0 ||
		extend(&work->sets, work->n_sets, sets, sizeof(*work->sets)) != 0 ||
		extend(&quota->sets, work->n_sets, sets, sizeof(struct trip_set *)) != 0 ||
		extend(&work->counts, work->n_counts, counts, sizeof(*work->counts)) != 0 ||
		extend(&work->counters, work->n_counters, counters, sizeof(*work->counters)) != 0 ||
		extend(&work->whens, work->n_whens, whens, sizeof(*work->whens)) != 0 ||
		extend(&quota->counts, work->n_counts, counts, sizeof(*quota->counts)) != 0 ||
		extend(&quota->holds, work->n_counts, counts, sizeof(*quota->holds)) != 0 ||
		extend(&quota->counters, work->n_counters, counters, sizeof(struct trip_cntr *)) !=
			0 ||
		extend(&quota->anew_counts, 2 * work->n_counts, 2 * counts,
			sizeof(*quota->anew_counts)) != 0 ||
		extend(&quota->anew_counters, work->n_counters, counters,
			sizeof(*quota->anew_counters)) != 0 ||
		extend(&quota->fired, work->n_whens, whens, sizeof(*quota->fired)) != 0 ||
		extend(&quota->items, work->n_whens, whens, sizeof(*quota->items)) != 0) {
		fprintf(change->answer, "no memory for so many rules\n");
		return -ENOMEM;
	}
	find_dead(change);
	return 0;
}

int
tripd_change_check(struct tripd_change *change)
{
	int ret = make_room(change);

	tripd_change_close_gone(change->quota);
	if (ret == 0)
		ret = check_kinds(change);
	if (ret == 0)
		ret = check_police(change);
	if (ret == 0)
		ret = check_programs(change);
	return ret == 0 ? check_rooms(change) : ret;
}

int
tripd_change_room_for_ids(const struct tripd_change *change)
{
	const struct trip_rules *next = change->next;
	struct tripd_quota *quota = change->quota;
	unsigned int n_items = change->n_whens;
	int ret = tripd_quota_room(
		&quota->now.item, (unsigned int)(count_flows(next) + count_flows(quota->rules)));

	for (unsigned int i = 0; i < next->n_whens && ret == 0; i++) {
		const struct trip_apply_step *step = &change->difference->whens[i];
		const struct trip_rules_when *when = &next->whens[i];
		bool on_flows = trip_rules_op_of(when->op)->target == TRIP_OP_ON_FLOW;
		uint64_t n = on_flows ? flows_of(&next->counts[when->target]) : 1;

		struct tripd_item *item =
			&quota->items[step->what == TRIP_APPLY_ADD ? n_items++ : step->at];

		/* What goes on for a time may be queued again, too; and a gate. */
		ret = tripd_quota_room(item, 2 * (unsigned int)n + 1);
		if (ret == 0)
			ret = tripd_quota_gate(quota, item, when);
	}
	if (ret != 0)
		fprintf(change->answer, "no room for so many items of work: %s\n",
			trip_strerror(ret));
	return ret;
}
