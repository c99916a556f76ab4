/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a home. What holds pointers and descriptors is private to this process; everything
 * else is one block that may be shared, carved twice by the same code, first to learn its size.
 */
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "call.h"
#include "group.h"
#include "home.h"
#include "node.h"
#include "waiter.h"

struct carver {
	uint8_t *base;
	size_t used;
	/* The memory is to be made new; otherwise it is another process's, and we are `client`. */
	bool fresh;
	uint32_t client;
};

/* The next `bytes`, on a cache line of their own; NULL while only the size is asked for. */
static void *
carve(struct carver *carver, size_t bytes)
{
	size_t at = carver->used;

	carver->used += RTE_ALIGN_CEIL(bytes, RTE_CACHE_LINE_SIZE);
	return carver->base != NULL ? carver->base + at : NULL;
}

uint32_t
trip_home_channel_slots(const struct trip_home_shape *shape, uint32_t channel)
{
	uint32_t own = trip_home_own_channels(shape);

	if (channel == 0)
		return shape->n_slots;
	if (channel < own - shape->n_threads)
		return shape->n_handler_slots;
	if (channel < own || (channel - own) % trip_home_client_channels(shape) != 0)
		return shape->n_thread_slots;
	return shape->n_client_slots;
}

/* Few items have one: it is as much memory as three of them. */
uint32_t
trip_home_channel_hidden(const struct trip_home_shape *shape, uint32_t channel)
{
	return channel == 0 ? shape->n_groups
			    : trip_group_share(trip_home_channel_slots(shape, channel));
}

uint32_t
trip_home_hidden(const struct trip_home_shape *shape)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < shape->n_channels; i++)
		n += trip_home_channel_hidden(shape, i);
	return n;
}

uint32_t
trip_home_first_hidden(const struct trip_home_shape *shape, uint32_t channel)
{
	uint32_t first = shape->n_cntrs - shape->n_hidden;

	for (uint32_t i = 0; i < channel; i++)
		first += trip_home_channel_hidden(shape, i);
	return first;
}

static uint32_t
node_count(const struct trip_home_shape *shape)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < shape->n_channels; i++)
		n += trip_home_channel_slots(shape, i);
	return n;
}

static void
doorbell_shape(const struct trip_home_shape *shape, struct trip_doorbell_shape *bell)
{
	*bell = (struct trip_doorbell_shape){
		.count = {[TRIP_BELL_CHANNEL] = shape->n_channels,
			[TRIP_BELL_WAITER] = shape->n_waiters,
			[TRIP_BELL_CNTR] = trip_home_cntrs(shape),
			[TRIP_BELL_CALL] = 1 + shape->n_clients,
			[TRIP_BELL_HARD] = TRIP_PORTS_MAX},
		.words = {[TRIP_BELL_CHANNEL] = 1,
			[TRIP_BELL_WAITER] = 1,
			[TRIP_BELL_CNTR] = 4,
			[TRIP_BELL_CALL] = 1,
			[TRIP_BELL_HARD] = 1},
	};
}

static void
channel_shape(const struct trip_home_shape *shape, uint32_t home, uint32_t channel,
	struct trip_channel_shape *out)
{
	/* Numbered through over all homes, so that an id says where its item is. */
	out->slots = trip_home_channel_slots(shape, channel);
	out->first = home * node_count(shape);
	for (uint32_t i = 0; i < channel; i++)
		out->first += trip_home_channel_slots(shape, i);
}

static void
carve_channels(struct carver *carver, struct trip_home *home, const struct trip_home_shape *shape,
	uint32_t index)
{
	uint32_t mine = trip_home_client_channel(shape, carver->client);

	for (uint32_t i = 0; i < shape->n_channels; i++) {
		struct trip_channel_shape channel;
		void *memory, *marks;

		channel_shape(shape, index, i, &channel);
		memory = carve(carver, trip_channel_size(&channel));
		marks = carve(carver, trip_channel_marks_size(&channel));
		if (home == NULL)
			continue;
		if (!carver->fresh) {
			if (i >= mine && i - mine < trip_home_client_channels(shape))
				trip_channel_map_client(&home->clients[i - mine], memory, &channel);
			continue;
		}
		trip_channel_init(memory, &channel);
		trip_channel_map_home(&home->channels[i], memory, &channel, marks);
		trip_channel_map_client(&home->clients[i], memory, &channel);
	}
}

static void
carve_events(struct carver *carver, struct trip_home *home, const struct trip_home_shape *shape)
{
	for (uint32_t i = 0; i <= shape->n_clients; i++) {
		uint32_t limit = i == 0 ? shape->n_events : shape->n_client_slots;
		void *memory = carve(carver, trip_event_ring_size(limit));

		if (home != NULL && carver->fresh)
			trip_event_ring_init(&home->events[i], memory, limit);
		else if (home != NULL && i == 1 + carver->client)
			trip_event_ring_map(home->events, memory, limit);
	}
}

static void
carve_work(struct carver *carver, struct trip_home *home, const struct trip_home_shape *shape)
{
	uint32_t n = node_count(shape), pool_nodes = n + shape->n_waiters;
	struct trip_node *nodes = carve(carver, n * sizeof(*nodes));
	void *pool = carve(carver, trip_pending_pool_size(pool_nodes));

	carve_events(carver, home, shape);
	if (home == NULL || !carver->fresh)
		return;
	home->nodes = nodes;
	home->n_nodes = n;
	trip_pending_pool_init(&home->pool, pool, pool_nodes);
}

static void
carve_waiters(struct carver *carver, struct trip_home *home, const struct trip_home_shape *shape)
{
	struct trip_waiter *waiters = carve(carver, shape->n_waiters * sizeof(*waiters));
	struct trip_waiter_node *nodes = carve(carver, shape->n_waiters * sizeof(*nodes));

	if (home == NULL)
		return;
	home->waiters = waiters;
	home->waiter_nodes = nodes;
}

static void
carve_cntrs(struct carver *carver, struct trip_home *home, const struct trip_home_shape *shape)
{
	uint32_t n = trip_home_cntrs(shape);
	struct trip_cell *cells = carve(carver, n * sizeof(*cells));
	struct trip_home_cntr *cntrs = carve(carver, n * sizeof(*cntrs));
	uint32_t *fed = carve(carver, n * sizeof(*fed));
	uint64_t *armed = carve(carver, (n + 63) / 64 * sizeof(*armed));

	if (home == NULL)
		return;
	home->cells = cells;
	home->cntrs = cntrs;
	home->fed.cntrs = fed;
	home->armed = armed;
	if (!carver->fresh)
		return;
	for (uint32_t i = 0; i < n; i++) {
		trip_cell_init(&cells[i]);
		trip_pending_init(&cntrs[i].pending);
		cntrs[i].waiters = TRIP_NONE;
		cntrs[i].sources = TRIP_NONE;
		cntrs[i].deferred = TRIP_NONE;
		cntrs[i].conditions = TRIP_NONE;
	}
}

static void
carve_home(struct carver *carver, struct trip_home *home, const struct trip_home_shape *shape,
	uint32_t index)
{
	struct trip_doorbell_shape bell;
	void *doorbell, *epoch = carve(carver, sizeof(*home->epoch)),
			*published = carve(carver, sizeof(*home->published)),
			*spreads = carve(carver, TRIP_HOME_SPREADS * sizeof(*home->spreads));

	doorbell_shape(shape, &bell);
	doorbell = carve(carver, trip_doorbell_size(&bell));
	if (home != NULL) {
		home->epoch = epoch;
		home->published = published;
		home->spreads = spreads;
		if (carver->fresh)
			trip_doorbell_init(doorbell, &bell);
		trip_doorbell_map(&home->doorbell, doorbell, &bell);
	}
	carve_cntrs(carver, home, shape);
	carve_waiters(carver, home, shape);
	carve_channels(carver, home, shape, index);
	carve_work(carver, home, shape);
}

size_t
trip_home_size(const struct trip_home_shape *shape)
{
	struct carver carver = {0};

	carve_home(&carver, NULL, shape, 0);
	return carver.used;
}

/* With as many ends of channels and rings of events as this process has. */
static struct trip_home *
alloc_home(const struct trip_home_shape *shape, uint32_t n_channels, uint32_t n_events)
{
	struct trip_home *home = aligned_alloc(alignof(struct trip_home), sizeof(*home));

	if (home == NULL)
		return NULL;
	memset(home, 0, sizeof(*home));
	home->shape = *shape;
	home->channels = calloc(n_channels, sizeof(*home->channels));
	home->clients = calloc(n_channels, sizeof(*home->clients));
	home->events = calloc(n_events, sizeof(*home->events));
	home->waiter_fds = malloc(shape->n_waiters * sizeof(*home->waiter_fds));
	home->waiter_owners = calloc(shape->n_waiters, sizeof(*home->waiter_owners));
	for (uint32_t i = 0; home->waiter_fds != NULL && i < shape->n_waiters; i++)
		atomic_init(&home->waiter_fds[i], -1);
	if (home->channels != NULL && home->clients != NULL && home->events != NULL &&
		home->waiter_fds != NULL && home->waiter_owners != NULL)
		return home;
	trip_home_fini(home);
	return NULL;
}

struct trip_home *
trip_home_init(void *memory, struct trip_engine *engine, uint32_t index,
	const struct trip_home_shape *shape)
{
	struct carver carver = {.base = memory, .fresh = true};
	struct trip_home *home = alloc_home(shape, shape->n_channels, 1 + shape->n_clients);

	if (home == NULL)
		return NULL;
	home->calls = aligned_alloc(alignof(struct trip_calls), sizeof(*home->calls));
	if (home->calls == NULL) {
		trip_home_fini(home);
		return NULL;
	}
	memset(home->calls, 0, sizeof(*home->calls));
	memset(memory, 0, trip_home_size(shape));
	carve_home(&carver, home, shape, index);
	home->first_slot = home->channels[0].map.first;
	home->clock_tsc = UINT64_MAX;
	home->unsent_tsc = UINT64_MAX;
	home->fed.next_tsc = UINT64_MAX;
	home->looks = TRIP_NONE;
	home->holds = TRIP_NONE;
	home->engine = engine;
	home->index = index;
	atomic_flag_clear(&home->progressing);
	return home;
}

struct trip_home *
trip_home_map(void *memory, struct trip_engine *engine, uint32_t index,
	const struct trip_home_shape *shape, uint32_t client)
{
	struct carver carver = {.base = memory, .client = client};
	struct trip_home *home = alloc_home(shape, trip_home_client_channels(shape), 1);

	if (home == NULL)
		return NULL;
	carve_home(&carver, home, shape, index);
	home->engine = engine;
	home->index = index;
	return home;
}

void
trip_home_renew_channel(struct trip_home *home, uint32_t channel)
{
	struct trip_channel_client *client = &home->clients[channel];
	struct trip_channel_shape shape;

	channel_shape(&home->shape, home->index, channel, &shape);
	trip_channel_renew(client, &home->channels[channel], &shape);
}

void
trip_home_fini(struct trip_home *home)
{
	free(home->calls);
	free(home->events);
	free(home->channels);
	free(home->clients);
	free(home->waiter_fds);
	free(home->waiter_owners);
	free(home);
}
