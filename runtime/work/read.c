/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions that are delivered as events. */
#include <string.h>

#include <rte_common.h>

#include "domain/detach.h"
#include "domain/sized.h"
#include "work/submitter.h"

#define READ_BATCH 32u

/* What the program has room for: `count` events of its size. */
struct reading {
	char *events;
	size_t size;
	uint32_t count;
	/* Of one-shot items, of those that were read. */
	uint32_t credits;
};

static void
give_event(struct reading *reading, const struct trip_event *event)
{
	union trip_event_shown told = {.own = {.size = reading->size, .event = *event}};

	told.shown.reserved = 0;
	memcpy(reading->events, &told, reading->size);
	reading->events += reading->size;
	reading->count--;
	reading->credits += event->one_shot;
}

static void
read_home(struct trip_home *home, struct reading *reading)
{
	struct trip_event events[READ_BATCH];
	unsigned int n;

	do {
		n = trip_event_ring_pop(home->events, events, RTE_MIN(reading->count, READ_BATCH));
		for (unsigned int i = 0; i < n; i++)
			give_event(reading, &events[i]);
	} while (n == READ_BATCH);
}

int
trip_work_read(
	struct trip_domain *domain, struct trip_work_event *events, size_t size, uint32_t count)
{
	struct reading reading = {(char *)events, size, RTE_MIN(count, (uint32_t)INT32_MAX), 0};
	uint32_t room = reading.count;
	int error = trip_detach_check(domain);

	if (error == 0)
		error = TRIP_SIZED_CHECK(trip_work_event, size);
	if (error != 0)
		return error;
	pthread_mutex_lock(&domain->reader);
	/* Goes on with the next home each time, so that none is starved. */
	for (uint32_t i = 0; i < domain->engine.n_homes && reading.count > 0; i++) {
		read_home(domain->engine.homes[domain->read_home], &reading);
		domain->read_home = (domain->read_home + 1) % domain->engine.n_homes;
	}
	pthread_mutex_unlock(&domain->reader);
	if (reading.credits > 0)
		trip_submitter_give_credit(domain, reading.credits);
	return (int)(room - reading.count);
}
