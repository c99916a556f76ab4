/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An `each` that closes while tripd goes on: all of its keys pass then, which is told of those that
 * were dropped. What is to be told is found before, and told behind it: one that cannot be closed
 * goes on as it was, and nobody has been told anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "grow.h"
#include "now.h"
#include "quota.h"
#include "rules.h"

/* 0 is for ever. */
static uint64_t
time_of(const struct trip_each_act *act)
{
	if (act->until_us != 0)
		return act->until_us - 1;
	return act->op == TRIP_EACH_OP_DROP ? act->time_us - 1 : UINT64_MAX;
}

/* What lasts of an entry is that of the condition, of those by which it has tripped, whose time is
 * the longest: so a trip has it (trip_each.h). UINT32_MAX: nothing does. */
static uint32_t
lasting_of(const struct trip_rules_each *rule, const struct trip_each_entry *entry)
{
	uint32_t last = UINT32_MAX;

	for (uint32_t i = 0; i < rule->n_whens; i++) {
		const struct trip_each_act *act = &rule->acts[i];
		bool lasts = act->op == TRIP_EACH_OP_DROP || act->op == TRIP_EACH_OP_POLICE ||
			     act->until_us != 0;

		if ((entry->tripped >> i & 1) == 0 || !lasts ||
			(last != UINT32_MAX && time_of(act) <= time_of(&rule->acts[last])))
			continue;
		last = i;
	}
	return last;
}

struct ending {
	struct tripd_quota *quota;
	unsigned int each;
	uint64_t time_ns;
	/* What is to be told. */
	struct tripd_trip *ends;
	size_t n, room;
	/* Likewise, of keys that are held by hand. */
	struct hand {
		struct trip_each_trip trip;
		char key[TRIP_EACH_TEXT_MAX];
	} * hands;
	size_t n_hands, hands_room;
};

static int
note_by_hand(struct ending *ending, const struct trip_each_trip *trip)
{
	int ret = tripd_grow(&ending->hands, &ending->hands_room, ending->n_hands + 1, SIZE_MAX,
		sizeof(*ending->hands));

	if (ret != 0)
		return ret;
	ending->hands[ending->n_hands].trip = *trip;
	return trip_each_text(ending->quota->eaches[ending->each].each, trip->key,
		ending->hands[ending->n_hands++].key, TRIP_EACH_TEXT_MAX);
}

static int
note(struct ending *ending, const struct trip_each_trip *trip)
{
	struct tripd_trip end =
		tripd_quota_each_trip(ending->quota, ending->each, trip, ending->time_ns);

	if (end.key == NULL || tripd_grow(&ending->ends, &ending->room, ending->n + 1, SIZE_MAX,
				       sizeof(*ending->ends)) != 0) {
		free(end.key);
		return -ENOMEM;
	}
	ending->ends[ending->n++] = end;
	return 0;
}

/* Of one that is dropped just now the end may be all that is told. */
static int
note_held(const struct trip_each_entry *entry, void *arg)
{
	struct ending *ending = arg;
	const struct tripd_quota *quota = ending->quota;
	uint32_t when = lasting_of(&quota->rules->eaches[ending->each], entry);
	struct trip_each_trip trip = {.packets = entry->packets,
		.bytes = entry->bytes,
		.ns = quota->packet_ns - quota->packet_began,
		.when = when,
		.times = 1,
		.flags = TRIP_EACH_TRIP_END};

	memcpy(trip.key, entry->key, sizeof(trip.key));
	if (entry->by_hand != 0) {
		trip.when = entry->op;
		trip.flags |= TRIP_EACH_TRIP_HAND;
		return note_by_hand(ending, &trip);
	}
	if (entry->until_ns == 0 || when == UINT32_MAX)
		return 0;
	return note(ending, &trip);
}

static int
compare(const void *left, const void *right)
{
	const struct tripd_trip *a = left, *b = right;
	int order = strcmp(a->key, b->key);

	return order != 0 ? order : (a->when > b->when) - (a->when < b->when);
}

/* Unless it is among the first `n`, which are in order: it was held when it was looked at. */
static int
note_ended(struct ending *ending, const struct trip_each_trip *trip, size_t n)
{
	struct tripd_trip *end;
	int ret = note(ending, trip);

	if (ret != 0 || n == 0)
		return ret;
	end = &ending->ends[ending->n - 1];
	if (bsearch(end, ending->ends, n, sizeof(*end), compare) != NULL) {
		free(end->key);
		ending->n--;
	}
	return 0;
}

/* Likewise; there are few. */
static int
note_hand_ended(struct ending *ending, const struct trip_each_trip *trip)
{
	for (size_t i = 0; i < ending->n_hands; i++)
		if (memcmp(ending->hands[i].trip.key, trip->key, sizeof(trip->key)) == 0)
			return 0;
	return note_by_hand(ending, trip);
}

/* Some may have ended while the others were looked for; what has begun meanwhile is as if it had
 * not. */
static int
note_all_ended(struct ending *ending)
{
	const struct tripd_each *each = &ending->quota->eaches[ending->each];
	const uint64_t end = tripd_quota_each_trips(each);
	const size_t n = ending->n;
	struct trip_each_trip trip;
	bool sorted = false;
	int ret = 0;

	for (uint64_t next = each->next;
		ret == 0 && next < end &&
		trip_each_trips(each->each, next, &trip, sizeof(trip), 1) == 1;
		next = trip.number + 1) {
		if ((trip.flags & TRIP_EACH_TRIP_END) == 0)
			continue;
		if (!sorted && n > 0)
			qsort(ending->ends, n, sizeof(*ending->ends), compare);
		sorted = true;
		ret = (trip.flags & TRIP_EACH_TRIP_HAND) != 0 ? note_hand_ended(ending, &trip)
							      : note_ended(ending, &trip, n);
	}
	return ret;
}

/* Where no key is dropped, none is looked for: those of several queues are sorted, which takes
 * seconds where there are millions. */
static int
note_all(struct ending *ending)
{
	const struct tripd_each *each = &ending->quota->eaches[ending->each];
	struct trip_each_info info = {.size = sizeof(info)};
	int ret = trip_each_query(each->each, &info);

	if (ret == 0 && info.held > 0)
		ret = trip_each_walk(each->each, note_held, ending);
	return ret == 0 ? note_all_ended(ending) : ret;
}

/* Their keys are taken over, or freed. */
static void
settle(struct ending *ending, bool tell)
{
	for (size_t i = 0; tell && i < ending->n_hands; i++)
		tripd_quota_each_told(
			ending->quota, ending->each, &ending->hands[i].trip, ending->hands[i].key);
	free(ending->hands);
	for (size_t i = 0; i < ending->n; i++)
		if (tell)
			tripd_quota_tell(ending->quota, &ending->ends[i]);
		else
			free(ending->ends[i].key);
	free(ending->ends);
}

int
tripd_quota_each_end(struct tripd_quota *quota, unsigned int i)
{
	struct ending ending = {.quota = quota, .each = i, .time_ns = now_ns(CLOCK_REALTIME)};
	int ret = 0;

	/* That takes as long as counters of hardware lag, and trips come meanwhile. */
	tripd_quota_each_settle(&quota->eaches[i]);
	if (quota->eaches[i].each != NULL) {
		(void)tripd_quota_each_read(quota, ending.time_ns);
		ret = note_all(&ending);
	}
	if (ret == 0)
		ret = tripd_quota_each_close(quota, i);
	settle(&ending, ret == 0);
	return ret;
}

int
tripd_quota_each_reset(struct tripd_quota *quota, unsigned int i)
{
	struct trip_each_info last;
	struct trip_each *each;
	int ret = tripd_quota_each_end(quota, i);

	if (ret == 0)
		ret = tripd_quota_each_open(quota, &quota->rules->eaches[i], &each);
	if (ret != 0)
		return ret;
	last = quota->eaches[i].last;
	tripd_quota_each_take(quota, i, each);
	quota->eaches[i].last = last;
	return 0;
}
