/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is behind a key that has tripped: keys of other statements that belong to it. A statement is
 * finer where its keys have all fields of the other's, and more: `ipv4.dst,ipv4.src` tells sources
 * of `ipv4.dst`, and this hosts of `ipv4.dst/24`. Going over its keys once serves all trips that
 * were read together.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "now.h"
#include "quota.h"
#include "rules.h"

/* The clock is looked at behind so many keys. Those of several tables are gathered before, which
 * takes so long for each at least. */
#define LOOK_KEYS 256u
#define GATHER_NS 16u

/* A trip, and where what belongs to it goes. */
struct sought {
	const struct trip_each_trip *trip;
	struct tripd_top *top;
	bool by_bytes;
};

/* Trips in the order of their keys. */
struct search {
	const struct trip_each *fine, *onto;
	struct sought sought[TRIPD_TOPS_TRIPS];
	unsigned int n;
	uint32_t key_size;
	/* Keys that were gone over; and when it is given up. */
	uint64_t n_keys, until_ns;
};

static bool
counts_on(const struct trip_rules_count *count, uint16_t port)
{
	for (unsigned int i = 0; i < count->n_ports; i++)
		if (count->ports[i].id == port)
			return true;
	return false;
}

/* Whether a statement sees where another one does. */
static bool
sees(const struct trip_rules_count *fine, const struct trip_rules_count *onto)
{
	bool all = fine->direction == onto->direction;

	for (unsigned int i = 0; i < onto->n_ports; i++)
		all &= counts_on(fine, onto->ports[i].id);
	return all;
}

static bool
is_finer(const struct tripd_quota *quota, unsigned int fine, unsigned int onto)
{
	const struct trip_each *own = quota->eaches[fine].each, *other = quota->eaches[onto].each;
	const uint8_t none[TRIP_EACH_KEY_MAX] = {0};
	uint8_t key[TRIP_EACH_KEY_MAX];

	return own != NULL && fine != onto &&
	       sees(&quota->rules->eaches[fine].count, &quota->rules->eaches[onto].count) &&
	       trip_each_project(own, none, other, key) == 0 &&
	       trip_each_project(other, none, own, key) != 0;
}

/* ---- one statement ----------------------------------------------------------------------------
 */

/* The first trip whose key is not before this one. */
static unsigned int
find(const struct search *search, const uint8_t *key)
{
	unsigned int low = 0, high = search->n;

	while (low < high) {
		unsigned int at = (low + high) / 2;

		if (memcmp(search->sought[at].trip->key, key, search->key_size) < 0)
			low = at + 1;
		else
			high = at;
	}
	return low;
}

static uint64_t
had(const struct trip_each_entry *entry, bool by_bytes)
{
	return by_bytes ? entry->bytes : entry->packets;
}

static void
offer(struct tripd_top *top, const struct trip_each_entry *entry, bool by_bytes)
{
	unsigned int at = top->n;

	while (at > 0 && had(&top->keys[at - 1], by_bytes) < had(entry, by_bytes))
		at--;
	if (at == TRIPD_TOP_KEYS)
		return;
	if (top->n < TRIPD_TOP_KEYS)
		top->n++;
	memmove(&top->keys[at + 1], &top->keys[at], (top->n - 1 - at) * sizeof(top->keys[0]));
	top->keys[at] = *entry;
}

static int
visit(const struct trip_each_entry *entry, void *arg)
{
	struct search *search = arg;
	uint8_t key[TRIP_EACH_KEY_MAX];
	unsigned int at;

	if (search->n_keys++ % LOOK_KEYS == 0 && now_ns(CLOCK_MONOTONIC) > search->until_ns)
		return 1;
	if (trip_each_project(search->fine, entry->key, search->onto, key) != 0)
		return 1;
	for (at = find(search, key);
		at < search->n && memcmp(search->sought[at].trip->key, key, search->key_size) == 0;
		at++)
		offer(search->sought[at].top, entry, search->sought[at].by_bytes);
	return 0;
}

static void
begin(struct search *search, const struct tripd_quota *quota, unsigned int each,
	const struct trip_each_trip *trip, struct tripd_top *top)
{
	const unsigned int when = quota->rules->eaches[each].whens[trip->when];
	unsigned int at = find(search, trip->key);

	memmove(&search->sought[at + 1], &search->sought[at],
		(search->n++ - at) * sizeof(search->sought[0]));
	search->sought[at] = (struct sought){
		trip, top, quota->rules->whens[when].ref == TRIP_RULES_REF_KEY_BYTES};
}

/* An end tells of none: that is over; nor does what is done by hand. */
static bool
has_tops(const struct trip_each_trip *trip)
{
	return (trip->flags & (TRIP_EACH_TRIP_END | TRIP_EACH_TRIP_HAND)) == 0;
}

/* All that is behind them, or nothing. */
static void
look_into(const struct tripd_quota *quota, unsigned int fine, unsigned int onto,
	const struct trip_each_trip *trips, unsigned int n, struct tripd_tops *tops,
	uint64_t until_ns)
{
	struct search search = {.fine = quota->eaches[fine].each,
		.onto = quota->eaches[onto].each,
		.key_size = trips[0].key_size,
		.until_ns = until_ns};

	for (unsigned int i = 0; i < n; i++) {
		struct tripd_top *top = &tops[i].of[tops[i].n];

		if (!has_tops(&trips[i]))
			continue;
		*top = (struct tripd_top){.each = fine};
		tops[i].n++;
		begin(&search, quota, onto, &trips[i], top);
	}
	if (search.n == 0 || trip_each_walk(search.fine, visit, &search) == 0)
		return;
	for (unsigned int i = 0; i < n; i++)
		tops[i].n -= has_tops(&trips[i]);
}

/* Whether it is worth to begin with one. */
static bool
has_time(const struct trip_each *each, uint64_t until_ns)
{
	struct trip_each_info info = {.size = sizeof(info)};
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	return now < until_ns && trip_each_query(each, &info) == 0 &&
	       (info.tables == 1 || info.keys <= (until_ns - now) / GATHER_NS);
}

struct tripd_tops *
tripd_quota_tops(const struct tripd_quota *quota, unsigned int each,
	const struct trip_each_trip *trips, unsigned int n, uint64_t until_ns)
{
	struct tripd_tops *tops = NULL;
	unsigned int looked = 0;

	for (unsigned int i = 0; i < quota->rules->n_eaches && looked < TRIPD_TOPS; i++) {
		if (!is_finer(quota, i, each))
			continue;
		if (tops == NULL)
			tops = calloc(n, sizeof(*tops));
		if (tops == NULL)
			return NULL;
		if (has_time(quota->eaches[i].each, until_ns))
			look_into(quota, i, each, trips, n, tops, until_ns);
		looked++;
	}
	return tops;
}
