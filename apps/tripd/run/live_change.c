/* SPDX-License-Identifier: BSD-3-Clause */
/* A change of rules at work: what cannot be undone, in the order in which no packet is lost. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <trip.h>

#include "live_change.h"
#include "now.h"

#define END_NS UINT64_C(2000000000)

void
tripd_change_queue(struct tripd_change *change, unsigned int i)
{
	const struct trip_rules_when *when = &change->quota->rules->whens[i];
	int ret = tripd_quota_queue(change->quota, i, tripd_quota_trigger(change->quota, when));

	if (ret != 0)
		fprintf(change->answer, "%s: %s\n", when->source, trip_error_message());
}

/* ---- what takes the place of another ----------------------------------------------------------
 */

/* By whom it has been done to a count that has not passed since. */
struct doers {
	/* By hand, or by a statement, which may have gone: it stays. */
	bool for_ever;
	/* By statements that end it: it goes on, or begins anew, on new flows; or it has ended with
	 * its statement, which the old flows may not show yet. */
	bool for_a_time;
};

static struct doers
doers_of(const struct tripd_change *change, unsigned int count, enum trip_rules_op op)
{
	const struct tripd_quota *quota = change->quota;
	const struct trip_rules *work = quota->rules;
	struct doers doers = {
		.for_ever = (quota->holds[count].by_hand & 1u << op) != 0,
		/* It may have ended since. */
		.for_a_time = (change->changes[count].pins & 1u << op) != 0,
	};

	for (unsigned int i = 0; i < work->n_whens; i++) {
		const struct trip_rules_when *when = &work->whens[i];

		if (when->op != op || when->target != count)
			continue;
		/* Of a period that is over, too, while something else keeps it from passing. */
		doers.for_ever |= tripd_quota_owes(quota, i);
		if (!tripd_quota_has_held(quota, i))
			continue;
		doers.for_a_time |= tripd_quota_lasts(when);
		doers.for_ever |= !tripd_quota_lasts(when);
	}
	return doers;
}

static void
carry(struct tripd_change *change, unsigned int i, const struct trip_rules_when *when)
{
	if (tripd_quota_do(change->quota, &change->flows[i], when) != 0)
		fprintf(change->answer, "count %s: '%s' does not stay as it was done: %s\n",
			change->next->counts[i].name, trip_rules_op_of(when->op)->word,
			trip_error_message());
}

/* Of a fate that is no end: whether operations drop it, or let it pass, whatever its actions. */
static void
carry_drop(struct tripd_change *change, unsigned int i, enum trip_flow_fate fate)
{
	unsigned int at = change->difference->counts[i].at;
	const struct trip_rules_count *rule = &change->quota->rules->counts[at];
	struct tripd_hold *hold = &change->quota->holds[at];
	struct doers doers = doers_of(change, at, TRIP_RULES_OP_DROP);
	bool was_to = (rule->actions & TRIP_RULES_ACTION_DROP) != 0;
	bool is_to = (change->next->counts[i].actions & TRIP_RULES_ACTION_DROP) != 0;
	/* But for what ends by itself. */
	bool drops = doers.for_ever ||
		     (doers.for_a_time ? was_to && !hold->passed : fate == TRIP_FLOW_FATE_DROP);
	bool is_made = doers.for_ever || drops != was_to;
	struct trip_rules_when when = {.op = drops ? TRIP_RULES_OP_DROP : TRIP_RULES_OP_PASS};

	hold->passed = is_made && !drops;
	if (is_made && drops != is_to)
		carry(change, i, &when);
}

/* What flows have counted that only stand for those that an operation has ended. */
static void
leave_out(struct tripd_change *change, unsigned int i)
{
	struct trip_apply_count *count = &change->quota->counts[change->difference->counts[i].at];
	struct trip_flow_count sum;

	/* All of it, then. */
	trip_apply_count_retire(&change->flows[i]);
	if (trip_apply_count_query(&change->flows[i], &sum) != 0)
		return;
	count->earlier_packets -= sum.packets;
	count->earlier_bytes -= sum.bytes;
}

/* What operations have made of the old flows becomes of the new ones, too. */
static void
carry_fate(struct tripd_change *change, unsigned int i)
{
	const struct trip_apply_step *step = &change->difference->counts[i];
	struct tripd_quota *quota = change->quota;
	struct trip_rules_when when = {.op = TRIP_RULES_OP_DELETE};
	struct trip_flow_count count;
	struct doers police;

	if (trip_apply_count_query(&quota->counts[step->at], &count) != 0)
		return;
	if (count.fate == TRIP_FLOW_FATE_DELETED) {
		quota->holds[step->at] = (struct tripd_hold){.passed_at = quota->n_events};
		if (step->what == TRIP_APPLY_RENEW)
			carry(change, i, &when);
		if (change->lets_go[i])
			leave_out(change, i);
		return;
	}
	carry_drop(change, i, count.fate);
	police = doers_of(change, step->at, TRIP_RULES_OP_POLICE);
	when = (struct trip_rules_when){.op = TRIP_RULES_OP_POLICE,
		.value = count.police_rate,
		.unit = (enum trip_police_unit)count.police_unit};
	if (count.police_rate != 0 && (police.for_ever || !police.for_a_time))
		carry(change, i, &when);
}

/* ---- work that waits --------------------------------------------------------------------------
 */

/* Of pairs in the same words. */
static bool
pairs_move(const struct trip_rules_pairs *was, const struct trip_rules_pairs *is)
{
	for (unsigned int i = 0; was != NULL && i < was->n; i++)
		if (was->pair[i].threshold != is->pair[i].threshold ||
			pairs_move(was->pair[i].nested, is->pair[i].nested))
			return true;
	return false;
}

/* A `when` of these words is at work, and another value of its quota makes it due. */
static bool
moves(const struct tripd_change *change, unsigned int i)
{
	const struct trip_apply_step *step = &change->difference->whens[i];
	const struct trip_rules_when *was, *is = &change->next->whens[i];

	if (step->what != TRIP_APPLY_KEEP)
		return false;
	was = &change->quota->rules->whens[step->at];
	return was->threshold != is->threshold || pairs_move(was->pairs, is->pairs);
}

/* It acts on flows whose places others take. */
static bool
acts_on_changed(const struct tripd_change *change, unsigned int i)
{
	const struct trip_rules_when *when = &change->quota->rules->whens[i];

	return !when->gone && !change->difference->whens_go[i] &&
	       trip_rules_op_of(when->op)->target == TRIP_OP_ON_FLOW &&
	       change->changes[when->target].are_new;
}

/* On flows whose places others take, it has begun what ends by itself, and has not yet. */
static bool
goes_on(const struct tripd_change *change, unsigned int i)
{
	return tripd_quota_lasts(&change->quota->rules->whens[i]) && acts_on_changed(change, i) &&
	       tripd_quota_holds(change->quota, i);
}

/* Its end comes with the work that is taken back, and old flows would pass until they go. */
static void
pin(struct tripd_change *change)
{
	struct tripd_quota *quota = change->quota;

	for (unsigned int i = 0; i < change->next->n_counts; i++)
		if (tripd_change_replaces(change, i))
			change->changes[change->difference->counts[i].at].are_new = true;
	for (unsigned int i = 0; i < change->n_whens; i++) {
		const struct trip_rules_when *when = &quota->rules->whens[i];
		int ret;

		if (!goes_on(change, i))
			continue;
		change->changes[when->target].pins |= 1u << when->op;
		ret = tripd_quota_do(quota, &quota->counts[when->target], when);
		if (ret != 0 && ret != -ENOENT)
			fprintf(change->answer, "%s: it passes while rules change: %s\n",
				when->source, trip_error_message());
	}
}

/* All that goes, or is queued anew: in between nothing of it is lost, for it fires at once where it
 * is due. What has fired is known then. */
static void
take_back(struct tripd_change *change)
{
	struct tripd_quota *quota = change->quota;

	for (unsigned int i = 0; i < change->n_whens; i++)
		if (change->difference->whens_go[i])
			(void)tripd_quota_cancel(quota, i);
		else if (acts_on_changed(change, i))
			change->waits[i] =
				tripd_quota_cancel(quota, i) || quota->rules->whens[i].every != 0;
	for (unsigned int i = 0; i < change->next->n_whens; i++)
		if (moves(change, i))
			(void)tripd_quota_cancel(quota, change->difference->whens[i].at);
	tripd_quota_settled(quota);
}

/* What a quota's statement that goes has dropped passes, unless something holds it. */
static void
note_gone(struct tripd_change *change)
{
	struct tripd_quota *quota = change->quota;

	for (unsigned int i = 0; i < change->n_whens; i++) {
		struct trip_rules_when *when = &quota->rules->whens[i];

		if (!change->difference->whens_go[i])
			continue;
		quota->items[i].owed |= tripd_period_in(quota, when) && tripd_quota_holds(quota, i);
		when->gone = true;
	}
}

/* Returns whether what one of them had reached is not any more. */
static bool
move_pairs(const struct tripd_quota *quota, struct trip_rules_pairs *pairs,
	const struct trip_rules_pairs *to)
{
	bool lost = false;

	for (unsigned int i = 0; pairs != NULL && i < pairs->n; i++) {
		uint64_t was = pairs->pair[i].threshold, is = to->pair[i].threshold;

		lost |= move_pairs(quota, pairs->pair[i].nested, to->pair[i].nested);
		if (was < is) {
			uint64_t value = trip_cntr_read(quota->counters[pairs->pair[i].index]);

			lost |= was <= value && value < is;
		}
		pairs->pair[i].threshold = is;
	}
	return lost;
}

/* A quota has another value. What has fired does not fire again, unless that is not reached any
 * more: then what it dropped passes. Of what repeats, thresholds above the last one fire. */
static void
move(struct tripd_change *change, unsigned int i)
{
	struct tripd_quota *quota = change->quota;
	unsigned int at = change->difference->whens[i].at;
	struct trip_rules_when *when = &quota->rules->whens[at];
	uint64_t threshold = change->next->whens[i].threshold, *fired = &quota->fired[at];
	bool lost = move_pairs(quota, when->pairs, change->next->whens[i].pairs);

	if (*fired > 0 && when->every != 0) {
		uint64_t last = when->threshold + when->every * (*fired - 1);

		*fired = last < threshold ? 0 : 1 + (last - threshold) / when->every;
	} else if (*fired > 0 && (lost || tripd_quota_value(quota, when) < threshold)) {
		quota->items[at].owed |= tripd_quota_holds(quota, at);
		tripd_quota_rearm(quota, at);
	}
	when->threshold = threshold;
	change->waits[at] = *fired == 0 || when->every != 0;
}

/* What has begun goes on, for what is left of its time or until its rate is over; what waits, waits
 * again. A rate does that as it goes on. */
static void
bring_back(struct tripd_change *change)
{
	struct tripd_quota *quota = change->quota;

	for (unsigned int i = 0; i < change->n_whens; i++) {
		const struct trip_rules_when *when = &quota->rules->whens[i];
		bool begun = goes_on(change, i);

		/* One that lasts is canceled, too, and has fired all the same. */
		if (change->waits[i] && (when->every != 0 || quota->fired[i] == 0) &&
			!(begun && when->lasts == 0))
			tripd_change_queue(change, i);
		if (begun && tripd_quota_go_on(quota, i) != 0)
			fprintf(change->answer, "%s: %s\n", when->source, trip_error_message());
	}
}

static void
replace_flows(struct tripd_change *change)
{
	for (unsigned int i = 0; i < change->next->n_counts; i++)
		if (tripd_change_replaces(change, i)) {
			carry_fate(change, i);
			trip_apply_count_swap(
				&change->quota->counts[change->difference->counts[i].at],
				&change->flows[i]);
		}
}

/* ---- what goes --------------------------------------------------------------------------------
 */

static int
latest_first(const void *left, const void *right)
{
	const struct tripd_ending *a = left, *b = right;

	return a->born > b->born ? -1 : a->born < b->born;
}

/* Which have been retired. A home may yet hold on to work that was canceled. */
static void
end_flows(struct tripd_change *change, const struct tripd_ending *ending)
{
	uint64_t deadline = now_ns(CLOCK_MONOTONIC) + END_NS;
	struct trip_apply_count *flows = ending->flows;
	struct trip_flow_count sum = {0};

	(void)trip_apply_count_query(flows, &sum);
	/* The first last: all of them may be policed by its bucket. */
	for (unsigned int k = flows->n_flows; k-- > 0;)
		while (trip_flow_destroy(flows->flows[k]) == -EBUSY &&
			now_ns(CLOCK_MONOTONIC) < deadline)
			tripd_quota_settled(change->quota);
	free(flows->flows);
	flows->flows = NULL;
	flows->n_flows = 0;
	/* Its own has what was before in it already. */
	if (flows == ending->count)
		flows->earlier_packets = flows->earlier_bytes = flows->earlier_policed_packets =
			flows->earlier_policed_bytes = 0;
	ending->count->earlier_packets += sum.packets;
	ending->count->earlier_bytes += sum.bytes;
	ending->count->earlier_policed_packets += sum.policed_packets;
	ending->count->earlier_policed_bytes += sum.policed_bytes;
}

static void
close_cntr(struct trip_cntr **cntr)
{
	if (*cntr != NULL && trip_cntr_close(*cntr) == 0)
		*cntr = NULL;
}

void
tripd_change_close_gone(struct tripd_quota *quota)
{
	const struct trip_rules *work = quota->rules;

	for (unsigned int i = 0; i < work->n_counts; i++)
		if (work->counts[i].gone) {
			close_cntr(&quota->counts[i].packets);
			close_cntr(&quota->counts[i].bytes);
		}
	for (unsigned int i = 0; i < work->n_counters; i++)
		if (work->counters[i].gone)
			close_cntr(&quota->counters[i]);
	for (unsigned int i = 0; i < work->n_whens; i++)
		if (work->whens[i].gone)
			close_cntr(&quota->items[i].gate);
	for (unsigned int i = 0; i < work->n_sets; i++)
		if (work->sets[i].gone && quota->sets[i] != NULL &&
			trip_set_close(quota->sets[i]) == 0)
			quota->sets[i] = NULL;
	for (unsigned int i = 0; i < work->n_eaches; i++)
		if (work->eaches[i].count.gone)
			(void)tripd_quota_each_end(quota, i);
}

static void
end_counts(struct tripd_change *change)
{
	const struct trip_apply_difference *difference = change->difference;
	struct tripd_quota *quota = change->quota;
	struct trip_rules *work = quota->rules;
	struct tripd_ending *endings = change->endings;
	unsigned int n = 0;

	for (unsigned int i = 0; i < change->n_counts; i++)
		if (difference->counts_go[i])
			endings[n++] = (struct tripd_ending){
				work->counts[i].born, &quota->counts[i], &quota->counts[i]};
	/* What is left of the rule that was replaced is in the new rules. */
	for (unsigned int i = 0; i < change->next->n_counts; i++)
		if (tripd_change_replaces(change, i))
			endings[n++] = (struct tripd_ending){change->next->counts[i].born,
				&change->flows[i], &quota->counts[difference->counts[i].at]};
	if (n > 1)
		qsort(endings, n, sizeof(*endings), latest_first);
	/* Their last counts may take a while to show, and so they wait together. */
	for (unsigned int i = 0; i < n; i++)
		trip_apply_count_retire(endings[i].flows);
	for (unsigned int i = 0; i < n; i++)
		end_flows(change, &endings[i]);
}

/* Once no flow asks for them any more. */
static void
end_others(struct tripd_change *change)
{
	const struct trip_apply_difference *difference = change->difference;
	struct tripd_quota *quota = change->quota;
	struct trip_rules *work = quota->rules;

	for (unsigned int i = 0; i < change->n_counts; i++)
		work->counts[i].gone |= difference->counts_go[i];
	for (unsigned int i = 0; i < change->n_counters; i++)
		if (difference->counters_go[i]) {
			work->counters[i].gone = true;
			work->counters[i].last = trip_cntr_read(quota->counters[i]);
		}
	for (unsigned int i = 0; i < change->n_sets; i++)
		work->sets[i].gone |= difference->sets_go[i];
	for (unsigned int i = 0; i < change->n_eaches; i++)
		work->eaches[i].count.gone |= difference->eaches_go[i];
	tripd_change_close_gone(quota);
}

void
tripd_change_carry_out(struct tripd_change *change)
{
	pin(change);
	take_back(change);
	note_gone(change);
	for (unsigned int i = 0; i < change->next->n_whens; i++)
		if (moves(change, i))
			move(change, i);
	replace_flows(change);
	bring_back(change);
	tripd_change_take(change);
	tripd_quota_settled(change->quota);
	/* What does not is tried at the next look. */
	(void)tripd_period_pass(change->quota);
	end_counts(change);
	end_others(change);
}
