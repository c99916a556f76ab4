/* SPDX-License-Identifier: BSD-3-Clause */
/* Which keys of `each` statements come and go. Each table keeps the last of these; what is written
 * over before it is read is told of as a number. */
#include <stdlib.h>

#include "quota.h"
#include "rules.h"

#define EVENTS_BURST 64
/* Of one table in one turn: where forged keys come as fast as they can, others have theirs. */
#define TURN 1024u

static void
take(struct tripd_quota *quota, unsigned int i, const struct trip_each_event *event)
{
	uint64_t *next = &quota->eaches[i].next_events[event->table];

	quota->n_keys_unread += event->number - *next;
	*next = event->number + 1;
	quota->key_told(quota->told_arg, i, event);
}

static void
read_table(struct tripd_quota *quota, unsigned int i, uint32_t table, uint64_t most)
{
	const struct tripd_each *each = &quota->eaches[i];
	struct trip_each_event events[EVENTS_BURST];
	uint64_t had = 0;
	int n;

	do {
		n = trip_each_events(each->each, table, each->next_events[table], events,
			sizeof(events[0]), EVENTS_BURST);
		for (int k = 0; k < n; k++)
			take(quota, i, &events[k]);
		had += n > 0 ? (uint64_t)n : 0;
	} while (n == EVENTS_BURST && had < most);
}

/* Without memory for it, it is tried again. */
static void
read_each(struct tripd_quota *quota, unsigned int i, bool all)
{
	struct trip_each_info info = {.size = sizeof(info)};
	struct tripd_each *each = &quota->eaches[i];

	if (each->each == NULL || quota->key_told == NULL ||
		trip_each_query(each->each, &info) != 0 || info.events_kept == 0)
		return;
	if (each->next_events == NULL)
		each->next_events = calloc(info.tables, sizeof(*each->next_events));
	if (each->next_events == NULL)
		return;
	for (uint32_t table = 0; table < info.tables; table++)
		read_table(quota, i, table, all ? info.events_kept : TURN);
}

void
tripd_quota_keys_read(struct tripd_quota *quota)
{
	for (unsigned int i = 0; i < quota->rules->n_eaches; i++)
		read_each(quota, i, false);
}

void
tripd_quota_keys_read_all(struct tripd_quota *quota, unsigned int each)
{
	read_each(quota, each, true);
}
