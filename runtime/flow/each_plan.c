/* SPDX-License-Identifier: BSD-3-Clause */
/* Statements that count by keys: what is asked for is checked, and becomes data. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_common.h>

#include "domain/error.h"
#include "flow/each.h"
#include "flow/each_rule.h"
#include "each_hand.h"
#include "each_help.h"
#include "police.h"

#define KEPT_DEFAULT 1024u
#define KEPT_BY_HAND 64u
/* As flows have it that say none. */
#define POLICE_BURST_MS 100u

static int
plan_key(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	const char *message = "key: it has no field";
	int error = attr->parts == NULL ? -EINVAL
					: trip_each_key_compile(attr->parts, attr->n_parts,
						  &statement->key, &message);

	if (error != 0)
		return trip_error_set(
			-error, "each \"%s\": %s", trip_each_plan_name(attr), message);
	memcpy(statement->parts, attr->parts, attr->n_parts * sizeof(*attr->parts));
	statement->n_parts = attr->n_parts;
	return 0;
}

static int
plan_pattern(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	struct rte_flow_error error = {0};
	struct trip_pattern pattern = {0};
	int result =
		attr->pattern != NULL ? trip_pattern_compile(attr->pattern, &pattern, &error) : 0;

	if (result != 0)
		return trip_error_set(-result, "each \"%s\": %s", trip_each_plan_name(attr),
			error.message != NULL ? error.message : "its pattern is refused");
	trip_each_queue_filter(&pattern, statement);
	return 0;
}

/* What a condition, or member, has of its table. */
static void
set_limit(const struct trip_each_statement *statement, const struct trip_each_when *when,
	struct trip_keyed_limit *limit, struct trip_keyed_attr *attr)
{
	bool of_bytes = when->of == TRIP_EACH_BYTES;

	if (when->rate != 0) {
		attr->rate_of_bytes = of_bytes;
		attr->rate = when->rate;
		attr->seconds = when->seconds;
		attr->burst = when->burst;
		attr->until = when->until;
	} else if (when->quiet_us != 0) {
		for (uint32_t i = 0; attr->quiets[i] != when->quiet_us; i++)
			if (attr->quiets[i] == 0)
				attr->quiets[i--] = when->quiet_us;
	} else if (when->count != 0) {
		/* Its part of it. */
		*(of_bytes ? &limit->bytes : &limit->packets) =
			trip_count_share(when->count, RTE_MAX(statement->n_tables, 1u));
	}
}

struct trip_keyed_attr
trip_each_keyed(const struct trip_each_statement *statement)
{
	struct trip_keyed_attr attr = {.max = statement->max,
		.words = statement->key.words,
		.by_bytes = statement->rank == TRIP_EACH_BYTES,
		.idle = statement->idle,
		.holds = statement->holds != 0 || statement->hands,
		.hold_max = statement->hands ? TRIP_KEYED_EVER : 0,
		.hold_round = statement->hold_round,
		.closed = statement->full == TRIP_EACH_CLOSED,
		.notes = statement->events_kept,
		.memos = statement->memos,
		.anew = statement->life,
		.window = statement->window,
		.bucket = statement->bucket,
		.members_told = statement->members_told,
		.seen = statement->seen,
		.n_members = statement->n_members,
		.n_tables = statement->n_tables,
		.pitch = (uint64_t)statement->table_lines * TRIP_EACH_LINE};

	memcpy(attr.next, statement->next, sizeof(attr.next));
	for (uint32_t i = 0; i < statement->n_whens; i++) {
		const struct trip_each_act *act = &statement->acts[i];
		uint64_t time = trip_each_act_time(act);

		if ((statement->holds >> i & 1) != 0)
			attr.hold_max = RTE_MAX(attr.hold_max, time == 0 ? TRIP_KEYED_EVER : time);
		if (act->op == TRIP_EACH_OP_POLICE)
			attr.police = trip_police_word(
				act->rate, act->unit == TRIP_POLICE_UNIT_PACKETS, POLICE_BURST_MS);
		if (statement->whens[i].rate != 0) {
			attr.hold_of_rate = time;
			attr.hold_count = act->until_count;
			attr.rate_limit = i;
			attr.rate_again = (statement->again >> i & 1) != 0;
		}
		set_limit(statement, &statement->whens[i], &attr.limits[i], &attr);
	}
	for (uint32_t i = 0; i < statement->n_members; i++) {
		if (statement->members[i].when.rate != 0)
			attr.rate_member = i + 1;
		set_limit(statement, &statement->members[i].when, &attr.members[i], &attr);
	}
	return attr;
}

static int
check_events(const struct trip_each_attr *attr)
{
	uint32_t kept = attr->events_kept;

	if (kept == 0 || (kept >= TRIP_KEYED_NOTES_MIN && kept <= TRIP_KEYED_NOTES_MAX &&
				 (kept & (kept - 1)) == 0))
		return 0;
	return trip_error_set(EINVAL,
		"each \"%s\": events_kept %" PRIu32 " is no power of two in %" PRIu32
		" to %" PRIu32,
		trip_each_plan_name(attr), kept, TRIP_KEYED_NOTES_MIN, TRIP_KEYED_NOTES_MAX);
}

static int
plan_table(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	struct trip_keyed_attr keyed;
	size_t size;

	if ((unsigned int)attr->rank > TRIP_EACH_BYTES)
		return trip_error_set(EINVAL, "each \"%s\": rank %d is unknown",
			trip_each_plan_name(attr), (int)attr->rank);
	if (attr->max < 1 || attr->max > TRIP_KEYED_MAX)
		return trip_error_set(EINVAL,
			"each \"%s\": max %" PRIu32 " is not in 1 to %" PRIu32,
			trip_each_plan_name(attr), attr->max, TRIP_KEYED_MAX);
	if (attr->idle_us < TRIP_KEYED_IDLE_MIN || attr->idle_us > TRIP_KEYED_IDLE_MAX)
		return trip_error_set(EINVAL,
			"each \"%s\": idle_us %" PRIu64 " is not in %" PRIu32 " to %" PRIu64,
			trip_each_plan_name(attr), attr->idle_us, TRIP_KEYED_IDLE_MIN,
			TRIP_KEYED_IDLE_MAX);
	statement->max = attr->max;
	statement->rank = attr->rank;
	statement->idle = attr->idle_us;
	statement->events_kept = attr->events_kept;
	keyed = trip_each_keyed(statement);
	size = trip_keyed_size(&keyed);
	if (size == 0)
		return trip_error_set(EINVAL,
			"each \"%s\": of a rate of %" PRIu64
			" more than 2^61 come in its idle_us %" PRIu64,
			trip_each_plan_name(attr), keyed.rate, attr->idle_us);
	statement->table_lines = (uint32_t)((size + TRIP_EACH_LINE - 1) / TRIP_EACH_LINE);
	return 0;
}

/* ---- trips ------------------------------------------------------------------------------------
 */

static int
plan_trips(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	uint32_t kept = attr->trips_kept;

	statement->hands = attr->by_hand != 0;
	if (attr->n_whens > 0 || statement->hands)
		statement->kept = kept != 0           ? kept
				  : attr->n_whens > 0 ? KEPT_DEFAULT
						      : KEPT_BY_HAND;
	if (attr->reserved != 0)
		return trip_error_set(EINVAL, "each \"%s\": reserved %" PRIu32 " is not 0",
			trip_each_plan_name(attr), attr->reserved);
	if (kept == 0)
		return 0;
	if (statement->kept == 0)
		return trip_error_set(EINVAL,
			"each \"%s\": trips_kept %" PRIu32 " without a condition",
			trip_each_plan_name(attr), kept);
	return kept >= TRIP_EACH_RING_MIN && kept <= TRIP_EACH_RING_MAX && (kept & (kept - 1)) == 0
		       ? 0
		       : trip_error_set(EINVAL,
				 "each \"%s\": trips_kept %" PRIu32
				 " is no power of two in %" PRIu32 " to %" PRIu32,
				 trip_each_plan_name(attr), kept, TRIP_EACH_RING_MIN,
				 TRIP_EACH_RING_MAX);
}

static int
check_police(const struct trip_each_attr *attr, uint32_t at)
{
	const struct trip_each_act *act = &attr->acts[at];

	if (act->unit != TRIP_POLICE_UNIT_BITS && act->unit != TRIP_POLICE_UNIT_PACKETS)
		return trip_error_set(EINVAL,
			"each \"%s\": condition %" PRIu32 " polices unit %" PRIu32
			", which is unknown",
			trip_each_plan_name(attr), at, act->unit);
	return act->rate >= 1 && act->rate <= TRIP_POLICE_MAX
		       ? 0
		       : trip_error_set(EINVAL,
				 "each \"%s\": condition %" PRIu32 " polices at %" PRIu64
				 ", which is not in 1 to 2^40 - 1",
				 trip_each_plan_name(attr), at, act->rate);
}

static int
check_until(const struct trip_each_attr *attr, uint32_t at)
{
	const struct trip_each_act *act = &attr->acts[at];
	bool has_time = act->op == TRIP_EACH_OP_DROP && act->time_us != 0;

	if (attr->whens[at].rate == 0 || act->op == TRIP_EACH_OP_RESET || has_time)
		return trip_error_set(EINVAL,
			"each \"%s\": condition %" PRIu32 " has an end, and %s",
			trip_each_plan_name(attr), at,
			has_time                    ? "a time"
			: attr->whens[at].rate == 0 ? "no rate"
						    : "does nothing that lasts");
	if (act->until_us >= 1 && act->until_us <= TRIP_KEYED_IDLE_MAX && act->until_count >= 1 &&
		act->until_count <= TRIP_EACH_COUNT_MAX)
		return 0;
	return trip_error_set(EINVAL,
		"each \"%s\": condition %" PRIu32 ": until_count %" PRIu64
		" is not in 1 to 2^48 - 1, or until_us %" PRIu64 " not in 1 to 2^48",
		trip_each_plan_name(attr), at, act->until_count, act->until_us);
}

/* An entry is held in one manner. */
static int
check_lasting(const struct trip_each_attr *attr, const struct trip_each_statement *statement)
{
	uint32_t first = statement->holds != 0 ? (uint32_t)__builtin_ctz(statement->holds) : 0;
	const struct trip_each_act *one = &statement->acts[first];

	for (uint32_t i = first + 1; i < attr->n_whens; i++) {
		const struct trip_each_act *other = &statement->acts[i];

		if ((statement->holds >> i & 1) == 0 ||
			(one->op == other->op &&
				(one->op != TRIP_EACH_OP_POLICE ||
					(one->rate == other->rate && one->unit == other->unit))))
			continue;
		return trip_error_set(ENOTSUP,
			"each \"%s\": what conditions %" PRIu32 " and %" PRIu32
			" do lasts, and is not the same",
			trip_each_plan_name(attr), first, i);
	}
	return 0;
}

static int
check_act(const struct trip_each_attr *attr, uint32_t at)
{
	const struct trip_each_act *act = &attr->acts[at];
	int error = 0;

	if ((unsigned int)act->op > TRIP_EACH_OP_POLICE)
		return trip_error_set(EINVAL,
			"each \"%s\": condition %" PRIu32 " does %d, which is unknown",
			trip_each_plan_name(attr), at, (int)act->op);
	if (act->op == TRIP_EACH_OP_POLICE)
		error = check_police(attr, at);
	else if (act->op != TRIP_EACH_OP_DROP && act->time_us != 0)
		return trip_error_set(EINVAL,
			"each \"%s\": condition %" PRIu32
			" does nothing that lasts, and has a time",
			trip_each_plan_name(attr), at);
	if (error == 0 && (act->until_us != 0 || act->until_count != 0))
		error = check_until(attr, at);
	if (error != 0 || act->op != TRIP_EACH_OP_DROP || act->time_us <= TRIP_KEYED_IDLE_MAX)
		return error;
	return trip_error_set(EINVAL,
		"each \"%s\": condition %" PRIu32 ": time_us %" PRIu64 " is above 2^48",
		trip_each_plan_name(attr), at, act->time_us);
}

/* A hand comes by in such a part of the shortest time for which a key is held. */
#define ROUNDS_OF_HOLD 128u
/* Microseconds, where anybody may hold one for any time. */
#define ROUND_BY_HAND UINT64_C(100000)

static void
plan_act(const struct trip_each_act *act, uint32_t at, struct trip_each_statement *statement)
{
	uint64_t time = trip_each_act_time(act);
	uint64_t round = RTE_MAX(time / ROUNDS_OF_HOLD, UINT64_C(1));

	statement->acts[at] = *act;
	if (act->op == TRIP_EACH_OP_RESET)
		statement->anew |= (uint8_t)(1u << at);
	if (act->op == TRIP_EACH_OP_RESET || (act->op == TRIP_EACH_OP_NONE && time == 0))
		return;
	statement->holds |= (uint8_t)(1u << at);
	if (time != 0 && (statement->hold_round == 0 || round < statement->hold_round))
		statement->hold_round = round;
	if (act->until_us != 0)
		statement->window = (uint8_t)++statement->memos;
	if (act->op == TRIP_EACH_OP_POLICE && statement->bucket == 0) {
		statement->bucket = (uint8_t)(statement->memos + 1);
		statement->memos += 2;
	}
}

static int
plan_acts(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	int error = 0;

	if ((unsigned int)attr->full > TRIP_EACH_CLOSED)
		return trip_error_set(EINVAL, "each \"%s\": full %d is unknown",
			trip_each_plan_name(attr), (int)attr->full);
	statement->full = attr->full;
	for (uint32_t i = 0; attr->acts != NULL && i < attr->n_whens && error == 0; i++) {
		error = check_act(attr, i);
		if (error == 0)
			plan_act(&attr->acts[i], i, statement);
	}
	if (error == 0)
		error = check_lasting(attr, statement);
	trip_each_plan_memos(statement);
	if (statement->hands &&
		(statement->hold_round == 0 || statement->hold_round > ROUND_BY_HAND))
		statement->hold_round = ROUND_BY_HAND;
	statement->behind = statement->holds != 0 || statement->hands || statement->quiet != 0;
	statement->shares = statement->counts || statement->holds != 0 || statement->memos != 0;
	return error;
}

int
trip_each_plan(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	int error = plan_key(attr, statement);

	if (error == 0)
		error = plan_pattern(attr, statement);
	if (error == 0)
		error = plan_trips(attr, statement);
	/* Before the table, which has its limits. */
	if (error == 0)
		error = trip_each_plan_whens(attr, statement);
	if (error == 0)
		error = plan_acts(attr, statement);
	if (error == 0)
		error = check_events(attr);
	if (error == 0)
		error = trip_each_rule_plan(attr, statement);
	return error == 0 ? plan_table(attr, statement) : error;
}

/* Once it is known how many. */
void
trip_each_plan_tables(struct trip_each_statement *statement, uint32_t n_tables)
{
	statement->n_tables = n_tables;
	statement->ring_lines = trip_each_statement_ring_lines(statement);
	statement->help_lines = trip_each_help_lines(statement);
	statement->hand_lines = trip_each_hand_lines(statement);
}
