/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a queue of the software flow engine, between its bursts. */
#include <string.h>

#include "soft.h"

void
trip_soft_open(struct trip_soft_queue *queue, struct trip_table *table, bool sent,
	const struct trip_soft_shared *shared, trip_soft_cross cross, trip_soft_now now, void *arg)
{
	memset(queue, 0, sizeof(*queue));
	queue->table = table;
	queue->lookup.table = table;
	queue->lookup.counts = shared->counts;
	queue->lookup.actions = shared->actions;
	queue->moments = shared->moments;
	queue->police_of = shared->police_of;
	queue->police = shared->police;
	queue->n_police = shared->n_police;
	queue->traffic = shared->traffic;
	queue->lookup.sent = sent ? TRIP_WANT_SENT : 0;
	queue->each.zone = shared->each_zone;
	queue->each.queue = shared->each;
	queue->each.raise = shared->each_raise;
	queue->each.arg = arg;
	queue->cross = cross;
	queue->now = now;
	queue->arg = arg;
	trip_era_attach(&table->era, &queue->reader);
}

void
trip_soft_follow(
	struct trip_soft_queue *queue, struct trip_follow *follow, struct trip_claim *claim)
{
	queue->follow = follow;
	queue->claim = claim;
}

void
trip_soft_close(struct trip_soft_queue *queue)
{
	trip_era_detach(&queue->table->era, &queue->reader);
}
