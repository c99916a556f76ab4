/* SPDX-License-Identifier: BSD-3-Clause */
/* Clears away what a client has left: its items, then its channels. drop.h has the order. */
#include "accept.h"
#include "drop.h"
#include "errand.h"
#include "fire.h"
#include "home.h"
#include "lasting.h"
#include "node.h"

void
trip_drop_ask(struct trip_home *home, uint32_t client)
{
	atomic_store_explicit(&home->drops[client].asked, true, memory_order_release);
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CALL, 1 + client);
}

bool
trip_drop_done(struct trip_home *home, uint32_t client)
{
	return !atomic_load_explicit(&home->drops[client].asked, memory_order_acquire);
}

uint64_t
trip_drop_garbage(const struct trip_home *home, uint32_t client)
{
	return home->drops[client].garbage;
}

void
trip_drop_begin(struct trip_home *home, uint32_t client)
{
	struct trip_drop *drop = &home->drops[client];

	/* C4 of doorbell.h: another may have rung for it before. */
	if (drop->under_way || !atomic_load(&drop->asked))
		return;
	for (uint32_t i = 0; i < trip_home_client_channels(&home->shape); i++)
		trip_accept_forget(home, trip_home_client_channel(&home->shape, client) + i);
	drop->under_way = true;
	drop->channel = 0;
	drop->marked = false;
	drop->slot = 0;
	drop->port = 0;
	home->n_drops++;
}

bool
trip_drop_has(const struct trip_home *home, uint32_t channel)
{
	uint32_t client;

	if (home->n_drops == 0)
		return false;
	client = trip_home_client_of(&home->shape, channel);
	return client != TRIP_NONE && home->drops[client].under_way;
}

static void
drop_item(struct trip_home *home, uint32_t index)
{
	struct trip_node *node = &home->nodes[index];
	struct trip_channel_home *channel = &home->channels[node->channel];
	bool over = trip_lasting_is_over(home, trip_node_end(home, node));

	trip_accept_remove(home, index);
	/* One that was canceled, or has only to end, counts nothing. */
	if (trip_channel_claim(channel, index - trip_node_first(home, channel), node->generation) &&
		!over)
		trip_fire_fail(home, (uint8_t)node->op, node->target, node->completion);
	trip_node_drop(home, index);
	trip_engine_stat(over ? &home->stats.cut : &home->stats.canceled, 1);
}

static void
finish(struct trip_home *home, uint32_t client)
{
	struct trip_drop *drop = &home->drops[client];
	struct trip_event_ring *events = &home->events[1 + client];

	drop->garbage = 0;
	for (uint32_t i = 0; i < trip_home_client_channels(&home->shape); i++) {
		uint32_t channel = trip_home_client_channel(&home->shape, client) + i;

		drop->garbage += home->channels[channel].garbage;
		trip_home_renew_channel(home, channel);
	}
	trip_event_ring_init(events, events->shared, events->limit);
	drop->under_way = false;
	home->n_drops--;
	atomic_store_explicit(&drop->asked, false, memory_order_release);
}

/*
 * Operations of the client that ports' workers have yet to end: what they count and tell would be
 * found by whoever has its counters and its ring of events next. It has none but those that were
 * sent before a mark taken now.
 */
static bool
errands_left(struct trip_home *home, struct trip_drop *drop)
{
	for (; drop->port < TRIP_PORTS_MAX; drop->port++) {
		struct trip_errand_desk *desk = trip_engine_desk(home->engine, drop->port);
		struct trip_errand_ring *ring = desk != NULL ? &desk->rings[home->index] : NULL;

		if (ring != NULL && !drop->marked)
			drop->mark = trip_errand_mark(ring);
		drop->marked = ring != NULL;
		if (ring != NULL && !trip_errand_settled(ring, drop->mark))
			return true;
		drop->marked = false;
	}
	return false;
}

/* The items of one of its channels, and then the next channel's. */
static unsigned int
drop_items(struct trip_home *home, struct trip_drop *drop, uint32_t channel, unsigned int budget)
{
	uint32_t slots = trip_home_channel_slots(&home->shape, channel);
	unsigned int done = 0;

	if (drop->slot == 0 && trip_accept_fail(home, channel, budget))
		return budget;
	for (; drop->slot < slots && done < budget; drop->slot++, done++) {
		if (trip_channel_held(&home->channels[channel], drop->slot))
			drop_item(home, trip_node_of(home, channel, drop->slot));
	}
	if (drop->slot == slots) {
		drop->channel++;
		drop->slot = 0;
	}
	return done;
}

static unsigned int
run(struct trip_home *home, uint32_t client, unsigned int budget)
{
	struct trip_drop *drop = &home->drops[client];

	if (drop->channel < trip_home_client_channels(&home->shape))
		return drop_items(home, drop,
			trip_home_client_channel(&home->shape, client) + drop->channel, budget);
	if (errands_left(home, drop))
		return 0;
	finish(home, client);
	return 1;
}

unsigned int
trip_drop_run(struct trip_home *home, unsigned int budget)
{
	unsigned int done = 0;

	for (uint32_t i = 0; home->n_drops > 0 && i < home->shape.n_clients; i++)
		if (home->drops[i].under_way)
			done += run(home, i, budget);
	return done;
}
