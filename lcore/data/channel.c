/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of a channel, and the client's half; the protocol is in channel.h. */
#include <string.h>

#include "channel.h"

/* Offsets from the start of the channel's memory. */
struct layout {
	struct trip_doorbell_shape doorbell;
	uint32_t ring; /* entries */
	size_t returned;
	size_t canceled;
	size_t state;
	size_t desc;
	size_t size;
};

static size_t
lines(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

static bool
shape_possible(const struct trip_channel_shape *shape)
{
	return shape->slots != 0 && shape->slots <= TRIP_CHANNEL_SLOTS &&
	       (uint64_t)shape->first + shape->slots <= UINT64_C(1) << TRIP_CHANNEL_SLOT_BITS;
}

/* The submission ring comes first. */
static void
lay_out(struct layout *layout, const struct trip_channel_shape *shape)
{
	size_t ring;

	memset(layout, 0, sizeof(*layout));
	layout->doorbell.count[0] = shape->slots;
	layout->doorbell.words[0] = TRIP_DOORBELL_WORDS;
	layout->ring = 1;
	while (layout->ring < shape->slots)
		layout->ring *= 2;
	ring = trip_ring_size(layout->ring);
	layout->returned = ring;
	layout->canceled = layout->returned + ring;
	layout->state = layout->canceled + lines(trip_doorbell_size(&layout->doorbell));
	layout->desc = layout->state + lines((size_t)shape->slots * 8);
	layout->size = layout->desc + (size_t)shape->slots * sizeof(struct trip_work_desc);
}

/* Of a slot that is the client's: relaxed, the return ring ordered it. */
static uint64_t
generation_of(const struct trip_channel_map *map, uint32_t slot)
{
	return trip_channel_word_generation(
		atomic_load_explicit(&map->state[slot], memory_order_relaxed));
}

size_t
trip_channel_size(const struct trip_channel_shape *shape)
{
	struct layout layout;

	if (!shape_possible(shape))
		return 0;
	lay_out(&layout, shape);
	return layout.size;
}

/* All slots are free, and their generations go on; none is beyond `most`. */
static void
free_all(uint8_t *memory, const struct trip_channel_map *map, const struct layout *layout,
	uint64_t most)
{
	struct trip_ring_end returned;

	if (most > TRIP_CHANNEL_GENERATION_MAX)
		most = TRIP_CHANNEL_GENERATION_MAX;
	trip_ring_init((void *)memory);
	trip_ring_init((void *)(memory + layout->returned));
	trip_doorbell_init(memory + layout->canceled, &layout->doorbell);
	trip_ring_map_producer(&returned, (void *)(memory + layout->returned), layout->ring);
	for (uint32_t slot = 0; slot < map->slots; slot++) {
		uint64_t generation = generation_of(map, slot);

		atomic_store_explicit(&map->state[slot],
			trip_channel_word(generation < most ? generation : most, TRIP_CHANNEL_FREE),
			memory_order_relaxed);
		trip_ring_enqueue(&returned, &slot, 1);
	}
}

void
trip_channel_init(void *memory, const struct trip_channel_shape *shape)
{
	struct trip_channel_map map = {.slots = shape->slots};
	struct layout layout;

	lay_out(&layout, shape);
	map.state = (void *)((uint8_t *)memory + layout.state);
	memset((void *)map.state, 0, shape->slots * sizeof(*map.state));
	free_all(memory, &map, &layout, 0);
}

static void
map_rings(struct trip_channel_client *client, void *memory, const struct layout *layout)
{
	trip_ring_map_producer(&client->submit, memory, layout->ring);
	trip_ring_map_consumer(
		&client->returned, (void *)((uint8_t *)memory + layout->returned), layout->ring);
}

void
trip_channel_renew(struct trip_channel_client *client, struct trip_channel_home *home,
	const struct trip_channel_shape *shape)
{
	void *memory = home->submit.ring, *marks = home->marks;
	/* And one that was about to be submitted. */
	uint64_t accepted = home->accepted + 1;
	struct layout layout;

	lay_out(&layout, shape);
	free_all(memory, &home->map, &layout, accepted);
	trip_channel_map_home(home, memory, shape, marks);
	home->accepted = accepted;
	/* Other homes may be about to cancel by what else it has. */
	map_rings(client, memory, &layout);
}

static void
map_common(struct trip_channel_map *map, struct trip_doorbell *canceled, uint8_t *memory,
	const struct trip_channel_shape *shape, struct layout *layout)
{
	lay_out(layout, shape);
	map->state = (void *)(memory + layout->state);
	map->desc = (void *)(memory + layout->desc);
	map->slots = shape->slots;
	map->first = shape->first;
	trip_doorbell_map(canceled, memory + layout->canceled, &layout->doorbell);
}

void
trip_channel_map_client(
	struct trip_channel_client *channel, void *memory, const struct trip_channel_shape *shape)
{
	struct layout layout;

	map_common(&channel->map, &channel->canceled, memory, shape, &layout);
	map_rings(channel, memory, &layout);
}

void
trip_channel_map_home(struct trip_channel_home *channel, void *memory,
	const struct trip_channel_shape *shape, void *marks)
{
	struct layout layout;

	memset(channel, 0, sizeof(*channel));
	map_common(&channel->map, &channel->canceled, memory, shape, &layout);
	trip_ring_map_consumer(&channel->submit, memory, layout.ring);
	trip_ring_map_producer(
		&channel->returned, (void *)((uint8_t *)memory + layout.returned), layout.ring);
	channel->marks = marks;
	memset(marks, 0, trip_channel_marks_size(shape));
}

static bool
is_retired(const struct trip_channel_map *map, uint32_t slot)
{
	return generation_of(map, slot) >= TRIP_CHANNEL_GENERATION_MAX;
}

int
trip_channel_alloc(struct trip_channel_client *channel, uint32_t up_to)
{
	uint32_t slot;
	int n;

	do {
		n = trip_ring_dequeue_to(&channel->returned, up_to, &slot, 1);
		if (n == 0)
			return -EAGAIN;
		if (n < 0 || slot >= channel->map.slots)
			return -EPROTO;
		/* A retired one stays out of the ring. */
	} while (is_retired(&channel->map, slot));
	return (int)slot;
}

int
trip_channel_alloc_more(
	struct trip_channel_client *channel, uint32_t up_to, uint32_t *more, unsigned int n)
{
	struct trip_ring_end *returned = &channel->returned;
	uint32_t slots[1 + TRIP_CHANNEL_MORE], item;
	int found;

	for (;;) {
		found = trip_ring_peek(returned, up_to, slots, 1 + n);
		if (found >= 0 && (uint32_t)found <= n)
			return -EAGAIN;
		for (unsigned int i = 0; i <= n; i++)
			if (found < 0 || slots[i] >= channel->map.slots)
				return -EPROTO;
		/* What has no generation of its own, a retired slot will do for. */
		for (item = 0; item <= n && is_retired(&channel->map, slots[item]); item++)
			;
		if (item <= n)
			break;
		trip_ring_release(returned, 1);
	}
	trip_ring_release(returned, 1 + n);
	for (unsigned int i = 0; i < n; i++)
		more[i] = slots[i + (i >= item)];
	return (int)slots[item];
}

void
trip_channel_chain(const struct trip_channel_client *channel, const uint32_t *slots, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		trip_channel_desc(channel, slots[i])->memory = i + 1 < n ? 1 + slots[i + 1] : 0;
}

int
trip_channel_submit(struct trip_channel_client *channel, uint32_t slot, uint64_t *id)
{
	_Atomic uint64_t *state = &channel->map.state[slot];
	uint64_t generation = generation_of(&channel->map, slot) + 1;
	int error;

	*id = trip_channel_id(&channel->map, slot, generation);
	/* Release, with the ring's, pairs with accept. */
	atomic_store_explicit(
		state, trip_channel_word(generation, TRIP_CHANNEL_QUEUED), memory_order_release);
	error = trip_ring_enqueue(&channel->submit, &slot, 1);
	/* It has room for all slots, so a full one is a garbage one. */
	return error == 0 ? 0 : -EPROTO;
}

uint64_t
trip_channel_queued_id(const struct trip_channel_client *channel, uint32_t slot)
{
	uint64_t word = atomic_load_explicit(&channel->map.state[slot], memory_order_relaxed);

	return trip_channel_word_state(word) == TRIP_CHANNEL_QUEUED
		       ? trip_channel_id(&channel->map, slot, trip_channel_word_generation(word))
		       : 0;
}

int
trip_channel_cancel(const struct trip_channel_client *channel, uint64_t id)
{
	uint32_t slot = trip_channel_id_number(id) - channel->map.first;
	uint64_t generation = trip_channel_id_generation(id);
	uint64_t queued = trip_channel_word(generation, TRIP_CHANNEL_QUEUED);

	/* A number below the first wraps far beyond the slots. */
	if (slot >= channel->map.slots)
		return -ENOENT;
	/* K1, against claim. */
	if (!atomic_compare_exchange_strong(&channel->map.state[slot], &queued,
		    trip_channel_word(generation, TRIP_CHANNEL_CANCELED)))
		return -ENOENT;
	trip_doorbell_ring(&channel->canceled, 0, slot); /* K2 */
	return 0;
}
