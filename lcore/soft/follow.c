/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows the rulebook of a port: makes its table, and applies changes in bursts. */
#include <errno.h>
#include <string.h>

#include "follow.h"

static uint64_t
applied_of(const struct trip_follow *follow)
{
	return atomic_load_explicit(&follow->applied, memory_order_relaxed);
}

static void
set_applied(struct trip_follow *follow, uint64_t applied)
{
	/* Release: the table is so far. Partners: the acquires in trip_follow_begin() and
	 * trip_follow_is_behind(). */
	atomic_store_explicit(&follow->applied, applied, memory_order_release);
}

/* Has the table what the rules say of an index; false: not yet, a burst is still on what it had, or
 * there is no memory now. */
static bool
apply(struct trip_follow *follow, uint32_t index)
{
	struct trip_table_rule rule, had;
	struct trip_pattern pattern, old;
	bool is = trip_rulebook_get(&follow->rules, index, &rule, &pattern);
	bool was = trip_table_get(follow->table, index, &had, &old);
	int error;

	if (was && is && had.sequence == rule.sequence)
		return true;
	if (was)
		trip_table_remove(follow->table, index);
	if (!is)
		return true;
	error = trip_table_add(follow->table, &rule, &pattern);
	return error != -EBUSY && error != -ENOMEM;
}

static bool
goes_by_log(struct trip_follow *follow, uint64_t changes)
{
	uint64_t at = applied_of(follow);
	uint32_t index;

	if (at == changes)
		return false;
	if (!trip_rulebook_change(&follow->rules, at, &index)) {
		follow->scanning = true;
		follow->scan = 0;
		follow->scan_changes = changes;
		return true;
	}
	if (!apply(follow, index))
		return false;
	set_applied(follow, at + 1);
	return true;
}

static bool
scans(struct trip_follow *follow)
{
	uint32_t high = atomic_load_explicit(&follow->rules.head->high, memory_order_relaxed);

	high = high < follow->rules.max_rules ? high : follow->rules.max_rules;
	for (uint32_t i = 0; i < TRIP_FOLLOW_LOOKS && follow->scan < high; i++) {
		uint32_t index = follow->scan;
		uint64_t now = trip_rulebook_sequence(&follow->rules, index);

		if (now != trip_table_sequence_of(follow->table, index)) {
			if (!apply(follow, index))
				return false;
			follow->scan++;
			return true;
		}
		follow->scan++;
	}
	if (follow->scan < high)
		return true;
	/* What has changed meanwhile is in the log behind. */
	follow->scanning = false;
	set_applied(follow, follow->scan_changes);
	return true;
}

static void
catch_up(struct trip_follow *follow, uint64_t changes, uint64_t most)
{
	bool goes_on = true;

	for (; most > 0 && goes_on; most--)
		goes_on = follow->scanning ? scans(follow) : goes_by_log(follow, changes);
}

uint64_t
trip_follow_begin(struct trip_follow *follow)
{
	uint64_t changes = trip_rulebook_changes(&follow->rules);

	if (atomic_load_explicit(&follow->applied, memory_order_acquire) == changes)
		return changes;
	if (pthread_mutex_trylock(&follow->lock) == 0) {
		catch_up(follow, changes, TRIP_FOLLOW_CHANGES);
		pthread_mutex_unlock(&follow->lock);
	}
	return changes;
}

int
trip_follow_open(struct trip_follow *follow, void *memory, uint32_t max_rules)
{
	uint64_t changes;
	int error;

	memset(follow, 0, sizeof(*follow));
	error = trip_table_open(max_rules, &follow->table);
	if (error != 0)
		return error;
	trip_rulebook_view(&follow->rules, memory, max_rules);
	pthread_mutex_init(&follow->lock, NULL);
	changes = trip_rulebook_changes(&follow->rules);
	follow->scanning = true;
	follow->scan_changes = changes;
	catch_up(follow, changes, UINT64_MAX);
	if (!follow->scanning && applied_of(follow) >= changes)
		return 0;
	trip_follow_close(follow);
	return -ENOMEM;
}

void
trip_follow_close(struct trip_follow *follow)
{
	trip_table_close(follow->table);
	pthread_mutex_destroy(&follow->lock);
}
