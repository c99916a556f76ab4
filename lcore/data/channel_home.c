/* SPDX-License-Identifier: BSD-3-Clause */
/* The home's half of a channel; the protocol is in channel.h. */
#include <string.h>

#include "channel.h"

/* Two bits a slot, in memory of the home's own. */
enum mark {
	MARK_NONE,     /* not ours */
	MARK_HELD,     /* accepted */
	MARK_DROPPED,  /* accepted, and reported as canceled */
	MARK_OPERANDS, /* operands or condition of an accepted one */
};

size_t
trip_channel_marks_size(const struct trip_channel_shape *shape)
{
	return ((size_t)shape->slots + 31) / 32 * 8;
}

static enum mark
mark_get(const struct trip_channel_home *channel, uint32_t slot)
{
	return (enum mark)(channel->marks[slot / 32] >> slot % 32 * 2 & 3);
}

static void
mark_set(struct trip_channel_home *channel, uint32_t slot, enum mark mark)
{
	uint64_t *marks = &channel->marks[slot / 32];
	unsigned shift = slot % 32 * 2;

	*marks = (*marks & ~(UINT64_C(3) << shift)) | (uint64_t)mark << shift;
}

static enum trip_channel_state
state_get(const struct trip_channel_home *channel, uint32_t slot)
{
	return trip_channel_word_state(atomic_load(&channel->map.state[slot]));
}

bool
trip_channel_take_operands(struct trip_channel_home *channel, uint32_t slot)
{
	if (slot >= channel->map.slots || mark_get(channel, slot) != MARK_NONE ||
		state_get(channel, slot) != TRIP_CHANNEL_FREE)
		return false;
	mark_set(channel, slot, MARK_OPERANDS);
	channel->held++;
	return true;
}

void
trip_channel_read_operands(const struct trip_channel_home *channel, uint32_t slot, void *operands)
{
	memcpy(operands, &channel->map.desc[slot], TRIP_OPERANDS_MAX);
}

/* Once: the client may write there. */
static uint32_t
read_once(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

uint32_t
trip_channel_next(const struct trip_channel_home *channel, uint32_t slot)
{
	return read_once(&channel->map.desc[slot].memory);
}

static bool
return_beside(struct trip_channel_home *channel, uint32_t slot)
{
	if (!trip_channel_take_operands(channel, slot))
		return false;
	trip_channel_return(channel, slot);
	return true;
}

/* One that was canceled before it was accepted, and with it the slots beside its own, if any. */
static void
return_canceled(struct trip_channel_home *channel, uint32_t slot)
{
	const struct trip_work_desc *desc = &channel->map.desc[slot];
	uint32_t operands = read_once(&desc->operands), condition = read_once(&desc->condition);
	uint32_t memory = trip_channel_next(channel, slot), end = read_once(&desc->end);

	trip_channel_return(channel, slot);
	(void)return_beside(channel, operands - 1);
	(void)return_beside(channel, condition - 1);
	(void)return_beside(channel, end - 1);
	for (unsigned int i = 0; i < TRIP_CHANNEL_MEMORY; i++) {
		uint32_t next;

		if (memory - 1 >= channel->map.slots)
			break;
		next = trip_channel_next(channel, memory - 1);
		if (!return_beside(channel, memory - 1))
			break;
		memory = next;
	}
}

/* Decides on one index from the submission ring; true where it is to be delivered. */
static bool
accept_slot(struct trip_channel_home *channel, uint32_t slot)
{
	enum trip_channel_state state;

	if (slot >= channel->map.slots || mark_get(channel, slot) != MARK_NONE) {
		channel->garbage++;
		return false;
	}
	state = state_get(channel, slot);
	if (state != TRIP_CHANNEL_QUEUED && state != TRIP_CHANNEL_CANCELED) {
		channel->garbage++;
		return false;
	}
	mark_set(channel, slot, MARK_HELD);
	channel->held++;
	channel->accepted++;
	if (state == TRIP_CHANNEL_CANCELED)
		return_canceled(channel, slot);
	return state == TRIP_CHANNEL_QUEUED;
}

int
trip_channel_accept(
	struct trip_channel_home *channel, uint32_t up_to, uint32_t *slots, uint32_t max)
{
	int i, n, delivered = 0;

	n = trip_ring_dequeue_to(&channel->submit, up_to, slots, max);
	if (n < 0)
		channel->garbage++;
	for (i = 0; i < n; i++)
		if (accept_slot(channel, slots[i]))
			slots[delivered++] = slots[i];
	return n < 0 ? n : delivered;
}

uint64_t
trip_channel_read(
	const struct trip_channel_home *channel, uint32_t slot, struct trip_work_desc *desc)
{
	*desc = channel->map.desc[slot];
	return trip_channel_word_generation(atomic_load(&channel->map.state[slot]));
}

bool
trip_channel_queued(const struct trip_channel_home *channel, uint32_t slot, uint64_t generation)
{
	return atomic_load(&channel->map.state[slot]) ==
	       trip_channel_word(generation, TRIP_CHANNEL_QUEUED);
}

bool
trip_channel_claim(struct trip_channel_home *channel, uint32_t slot, uint64_t generation)
{
	uint64_t queued = trip_channel_word(generation, TRIP_CHANNEL_QUEUED);

	return atomic_compare_exchange_strong(&channel->map.state[slot], &queued,
		trip_channel_word(generation, TRIP_CHANNEL_FIRING)); /* against K1 */
}

unsigned
trip_channel_take_canceled(struct trip_channel_home *channel, uint32_t *slots, unsigned max)
{
	unsigned i, reported = 0, n = trip_doorbell_take(&channel->canceled, 0, slots, max);

	for (i = 0; i < n; i++) {
		uint32_t slot = slots[i];

		if (mark_get(channel, slot) != MARK_HELD)
			continue;
		if (state_get(channel, slot) != TRIP_CHANNEL_CANCELED)
			continue;
		mark_set(channel, slot, MARK_DROPPED);
		slots[reported++] = slot;
	}
	return reported;
}

/* All of it but the ring, and how many are held. */
static bool
release_slot(struct trip_channel_home *channel, uint32_t slot)
{
	_Atomic uint64_t *state = &channel->map.state[slot];
	uint64_t generation;

	if (mark_get(channel, slot) == MARK_NONE)
		return false;
	mark_set(channel, slot, MARK_NONE);
	generation =
		trip_channel_word_generation(atomic_load_explicit(state, memory_order_relaxed));
	/* Release: whoever waits for the end of what had started sees its effects. */
	atomic_store_explicit(
		state, trip_channel_word(generation, TRIP_CHANNEL_FREE), memory_order_release);
	return true;
}

void
trip_channel_return_many(struct trip_channel_home *channel, const uint32_t *slots, unsigned int n)
{
	uint32_t released[TRIP_CHANNEL_RETURNS];
	unsigned int count = 0;

	for (unsigned int i = 0; i < n; i++)
		if (release_slot(channel, slots[i]))
			released[count++] = slots[i];
	channel->held -= count;
	if (count > 0 && trip_ring_enqueue(&channel->returned, released, count) != 0)
		channel->garbage += count;
}

void
trip_channel_return(struct trip_channel_home *channel, uint32_t slot)
{
	trip_channel_return_many(channel, &slot, 1);
}

bool
trip_channel_held(const struct trip_channel_home *channel, uint32_t slot)
{
	enum mark mark = mark_get(channel, slot);

	return mark == MARK_HELD || mark == MARK_DROPPED;
}

bool
trip_channel_has_operands(const struct trip_channel_home *channel, uint32_t slot)
{
	return mark_get(channel, slot) == MARK_OPERANDS;
}

/* All entries of a ring are slots in one of the wanted states and not ours. */
static bool
check_entries(const struct trip_channel_home *channel, const struct trip_ring_end *end,
	uint32_t wanted, uint32_t *entries)
{
	uint32_t head = atomic_load(&end->ring->head), tail = atomic_load(&end->ring->tail);

	*entries = tail - head;
	for (; head != tail; head++) {
		uint32_t slot = atomic_load(&end->ring->entry[head & (end->size - 1)]);

		if (slot >= channel->map.slots || mark_get(channel, slot) != MARK_NONE)
			return false;
		if ((wanted & 1u << state_get(channel, slot)) == 0)
			return false;
	}
	return true;
}

static const char *
check_held(const struct trip_channel_home *channel)
{
	uint32_t slot, held = 0;

	for (slot = 0; slot < channel->map.slots; slot++) {
		enum trip_channel_state state = state_get(channel, slot);
		enum mark mark = mark_get(channel, slot);

		if (state > TRIP_CHANNEL_CANCELED)
			return "channel: a slot in no known state";
		if (trip_channel_held(channel, slot) && state == TRIP_CHANNEL_FREE)
			return "channel: a slot that is free and held";
		if (mark == MARK_OPERANDS && state != TRIP_CHANNEL_FREE)
			return "channel: a slot with operands is not free to look at";
		if (mark == MARK_DROPPED && state != TRIP_CHANNEL_CANCELED)
			return "channel: a slot was reported as canceled and is not";
		if (mark == MARK_NONE && state == TRIP_CHANNEL_FIRING)
			return "channel: a slot is firing and not held";
		held += mark != MARK_NONE;
	}
	return held == channel->held ? NULL : "channel: the count of held slots is wrong";
}

const char *
trip_channel_check(const struct trip_channel_home *channel)
{
	uint32_t submitted, returned, size = channel->submit.size;
	const uint32_t queued = 1u << TRIP_CHANNEL_QUEUED | 1u << TRIP_CHANNEL_CANCELED;
	const char *wrong;

	if ((wrong = trip_ring_check(channel->submit.ring, size)) != NULL)
		return wrong;
	if ((wrong = trip_ring_check(channel->returned.ring, size)) != NULL)
		return wrong;
	if (!check_entries(channel, &channel->submit, queued, &submitted))
		return "channel: a submitted slot is not queued, or already accepted";
	if (!check_entries(channel, &channel->returned, 1u << TRIP_CHANNEL_FREE, &returned))
		return "channel: a returned slot is not free, or still held";
	if ((uint64_t)submitted + returned + channel->held > channel->map.slots)
		return "channel: a slot is in two places";
	if ((wrong = check_held(channel)) != NULL)
		return wrong;
	return trip_doorbell_check(&channel->canceled);
}
