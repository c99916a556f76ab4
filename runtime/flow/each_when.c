/* SPDX-License-Identifier: BSD-3-Clause */
/* Conditions of statements that count by keys: what is asked for is checked, and becomes data. */
#include <errno.h>
#include <inttypes.h>

#include <rte_common.h>

#include "domain/error.h"
#include "flow/each.h"

/* A condition, or a member of one. */
struct place {
	const struct trip_each_attr *attr;
	const struct trip_each_when *when;
	const char *what;
	uint32_t at;
};

const char *
trip_each_plan_name(const struct trip_each_attr *attr)
{
	return attr->name != NULL ? attr->name : "";
}

/* Two numbers of it, where the message has any. */
#define refuse(place, error, format, ...)                        \
	trip_error_set(error, "each \"%s\": %s %" PRIu32 format, \
		trip_each_plan_name((place)->attr), (place)->what, (place)->at, ##__VA_ARGS__)

static int
check_rate(const struct place *place)
{
	const struct trip_each_when *when = place->when;

	if (when->count != 0)
		return refuse(place, EINVAL, " has a count and a rate");
	if (when->rate > TRIP_KEYED_RATE_MAX || when->burst > TRIP_KEYED_BURST_MAX)
		return refuse(place, EINVAL,
			": rate %" PRIu64 " or burst %" PRIu64 " is above 2^40", when->rate,
			when->burst);
	if (when->until > when->burst)
		return refuse(place, EINVAL, ": until %" PRIu64 " is above its burst %" PRIu64,
			when->until, when->burst);
	if (when->again != 0 && when->until != 0)
		return refuse(place, EINVAL,
			": until %" PRIu64 " of a rate that is told again, whose bucket is empty",
			when->until);
	return 0;
}

static int
check_quiet(const struct place *place)
{
	const struct trip_each_when *when = place->when;

	if (when->count != 0)
		return refuse(place, EINVAL, " has a count and a time for which it is quiet");
	return when->quiet_us < place->attr->idle_us
		       ? 0
		       : refuse(place, EINVAL,
				 ": quiet_us %" PRIu64 " is not below the statement's idle_us "
				 "%" PRIu64 ", at which the key goes",
				 when->quiet_us, place->attr->idle_us);
}

static int
check_count(const struct place *place)
{
	const struct trip_each_when *when = place->when;

	return when->count >= 1 && when->count <= TRIP_EACH_COUNT_MAX
		       ? 0
		       : refuse(place, EINVAL, ": count %" PRIu64 " is not in 1 to 2^48 - 1",
				 when->count);
}

static int
check_group(const struct place *place)
{
	const struct trip_each_when *when = place->when;

	if (when->group > TRIP_EACH_ANY)
		return refuse(
			place, EINVAL, " is group %" PRIu32 ", which is unknown", when->group);
	return (when->count | when->rate | when->every | when->quiet_us) == 0
		       ? 0
		       : refuse(place, EINVAL, " has members, and something else");
}

static int
check_when(const struct place *place)
{
	const struct trip_each_when *when = place->when;

	if ((unsigned int)when->of > TRIP_EACH_BYTES)
		return refuse(place, EINVAL, " is of %d, which is unknown", (int)when->of);
	if (when->rate != 0 && when->quiet_us != 0)
		return refuse(place, EINVAL, " has a rate and a time for which it is quiet");
	if (when->rate == 0 && (when->until != 0 || when->seconds != 0 || when->again != 0))
		return refuse(place, EINVAL, " has an until, seconds or again, and no rate");
	if (when->rate == 0 && when->every > TRIP_EACH_COUNT_MAX)
		return refuse(place, EINVAL, ": every %" PRIu64 " is above 2^48 - 1", when->every);
	if (trip_each_is_group(when))
		return check_group(place);
	if (when->rate != 0)
		return check_rate(place);
	return when->quiet_us != 0 ? check_quiet(place) : check_count(place);
}

/* ---- members ----------------------------------------------------------------------------------
 */

/* Whose it is: those of a group that is a member come behind it. */
static int
check_owner(const struct place *place, const struct trip_each_member *member)
{
	const struct trip_each_attr *attr = place->attr;
	const struct trip_each_when *owner;

	if (member->within == 0 && member->of >= attr->n_whens)
		return refuse(place, EINVAL, " is of condition %" PRIu32 " of %" PRIu32, member->of,
			attr->n_whens);
	if (member->within > place->at)
		return refuse(place, EINVAL, " is of member %" PRIu32 ", which is not before it",
			member->within - 1);
	owner = member->within != 0 ? &attr->members[member->within - 1].when
				    : &attr->whens[member->of];
	if (!trip_each_is_group(owner))
		return refuse(place, EINVAL, " is of what has no members");
	if (!trip_each_is_group(&member->when))
		return 0;
	if (member->within != 0)
		return refuse(place, EINVAL, " is a group, and nested twice");
	return owner->group != member->when.group
		       ? 0
		       : refuse(place, EINVAL, " is a group within one of its kind");
}

static int
check_member(const struct place *place, const struct trip_each_member *member)
{
	int error = check_when(place);

	if (error != 0)
		return error;
	if (member->when.again != 0 || (member->when.rate == 0 && member->when.every != 0) ||
		member->when.until != 0)
		return refuse(place, EINVAL, " holds once, and has an until, every or again");
	return check_owner(place, member);
}

static int
plan_members(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	if (attr->n_members > TRIP_EACH_MEMBERS_MAX ||
		(attr->n_members > 0 && attr->members == NULL))
		return trip_error_set(EINVAL,
			"each \"%s\": %" PRIu32 " members are none, or more than %d",
			trip_each_plan_name(attr), attr->n_members, TRIP_EACH_MEMBERS_MAX);
	for (uint32_t i = 0; i < attr->n_members; i++) {
		const struct trip_each_member *member = &attr->members[i];
		const struct place place = {attr, &member->when, "member", i};
		int error = check_member(&place, member);

		if (error != 0)
			return error;
		statement->members[i] = *member;
		if (member->within != 0)
			statement->of_member[member->within - 1] |= 1u << i;
		else
			statement->of_when[member->of] |= 1u << i;
	}
	statement->n_members = attr->n_members;
	return 0;
}

static int
check_empty(const struct trip_each_attr *attr, const struct trip_each_statement *statement)
{
	for (uint32_t i = 0; i < attr->n_whens; i++)
		if (trip_each_is_group(&attr->whens[i]) && statement->of_when[i] == 0)
			return trip_error_set(EINVAL,
				"each \"%s\": condition %" PRIu32 " has no members",
				trip_each_plan_name(attr), i);
	for (uint32_t i = 0; i < attr->n_members; i++)
		if (trip_each_is_group(&attr->members[i].when) && statement->of_member[i] == 0)
			return trip_error_set(EINVAL,
				"each \"%s\": member %" PRIu32 " has no members",
				trip_each_plan_name(attr), i);
	return 0;
}

/* ---- all of a statement ----------------------------------------------------------------------
 */

/* What a key has one of, or a few. */
struct shared {
	uint32_t rates, n_quiets;
	uint64_t quiets[TRIP_EACH_QUIETS_MAX];
};

static int
share(const struct place *place, struct shared *shared, struct trip_each_statement *statement)
{
	uint64_t quiet = place->when->quiet_us;
	uint32_t i = 0;

	if (place->when->rate != 0 && shared->rates++ > 0)
		return refuse(place, ENOTSUP, " is a second rate, and a key has one bucket");
	if (quiet == 0)
		return 0;
	while (i < shared->n_quiets && shared->quiets[i] != quiet)
		i++;
	if (i == TRIP_EACH_QUIETS_MAX)
		return refuse(place, ENOTSUP,
			": quiet_us %" PRIu64 " is another one than %d, which is the limit", quiet,
			TRIP_EACH_QUIETS_MAX);
	if (i == shared->n_quiets)
		shared->quiets[shared->n_quiets++] = quiet;
	statement->quiet = statement->quiet != 0 ? RTE_MIN(statement->quiet, quiet) : quiet;
	return 0;
}

static int
share_all(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	struct shared shared = {0};
	int error = 0;

	for (uint32_t i = 0; i < attr->n_whens && error == 0; i++)
		error = share(
			&(struct place){attr, &attr->whens[i], "condition", i}, &shared, statement);
	for (uint32_t i = 0; i < attr->n_members && error == 0; i++)
		error = share(&(struct place){attr, &attr->members[i].when, "member", i}, &shared,
			statement);
	return error;
}

static void
plan_when(const struct trip_each_when *when, uint32_t at, struct trip_each_statement *statement)
{
	statement->whens[at] = *when;
	statement->rates |= (uint8_t)((unsigned int)(when->rate != 0) << at);
	statement->counts |= when->count != 0;
}

int
trip_each_plan_whens(const struct trip_each_attr *attr, struct trip_each_statement *statement)
{
	int error = 0;

	if (attr->n_whens > TRIP_EACH_WHENS_MAX || (attr->n_whens > 0 && attr->whens == NULL))
		return trip_error_set(EINVAL,
			"each \"%s\": %" PRIu32 " conditions are none, or more than %d",
			trip_each_plan_name(attr), attr->n_whens, TRIP_EACH_WHENS_MAX);
	for (uint32_t i = 0; i < attr->n_whens && error == 0; i++) {
		error = check_when(&(struct place){attr, &attr->whens[i], "condition", i});
		plan_when(&attr->whens[i], i, statement);
	}
	if (error == 0)
		error = plan_members(attr, statement);
	if (error == 0)
		error = check_empty(attr, statement);
	if (error == 0)
		error = share_all(attr, statement);
	statement->n_whens = error == 0 ? attr->n_whens : 0;
	return error;
}

void
trip_each_plan_memos(struct trip_each_statement *statement)
{
	for (uint32_t i = 0; i < statement->n_whens; i++) {
		const struct trip_each_when *when = &statement->whens[i];
		bool again = when->rate != 0 ? when->again != 0 : when->every != 0;

		if (!again || (statement->anew >> i & 1) != 0)
			continue;
		statement->again |= (uint8_t)(1u << i);
		statement->next[i] = (uint8_t)++statement->memos;
	}
	if (statement->n_members > 0)
		statement->members_told = (uint8_t)++statement->memos;
	if (statement->quiet != 0)
		statement->seen = (uint8_t)++statement->memos;
	if (statement->anew == 0)
		return;
	statement->life = (uint8_t)(statement->memos + 1);
	statement->memos += TRIP_KEYED_ANEW_WORDS;
}
