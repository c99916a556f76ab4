/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channel: how one process hands work items to one home, in memory shared by the two. An arena of
 * slots (a descriptor and a state word each), a ring of submitted slots, a ring of returned slots,
 * and a doorbell of canceled slots. The return ring starts full and is the client's free list: a
 * slot is taken from its head and comes back at its tail, so that reuse is first in, first out and
 * needs no memory of its own. Neither ring can overflow, for each slot is in one place at a time.
 *
 * The state word is generation << 3 | state. Who moves it, and how:
 *	FREE -> QUEUED		client, submit: a store, generation + 1; the slot is its own
 *	QUEUED -> CANCELED	client, cancel: compare-exchange
 *	QUEUED -> FIRING	home, claim: compare-exchange
 *	CANCELED, FIRING -> FREE  home, return: a store; nobody else moves these
 * So a generation is either claimed or canceled, exactly one of them (WORK-08), by whoever's
 * compare-exchange comes first; it needs no ring space and no progress of the home. An interval
 * item stays QUEUED while a further firing is due, and a home asks trip_channel_queued() before
 * each firing but the last: cancel returns 0 exactly as long as a further firing is queued, without
 * a window between firing and re-arming in which it would be refused (WORK-14).
 *
 * Each submitted slot is returned exactly once. The home keeps two bits a slot in memory of its own
 * (the marks), moved by its one thread only: NONE -> HELD when it accepts the index from the ring,
 * HELD -> DROPPED when trip_channel_take_canceled() has reported it, NONE -> OPERANDS by
 * trip_channel_take_operands(), and back to NONE by trip_channel_return(), which refuses a slot at
 * NONE. A cancel does its compare-exchange (K1) and then rings the canceled doorbell (K2). There
 * are two ways for the home to meet it.
 *
 * K1 came before accept looked at the state: accept returns the slot at once and does not deliver
 * it. Where the bell is read before, it finds NONE and is ignored; K1 precedes K2, so that accept
 * does see CANCELED. Where the bell is read after, it finds NONE; or a later generation at HELD
 * that is QUEUED or FIRING, and is ignored; or one at HELD that is CANCELED too, which it reports,
 * rightly, if not for its own sake. The bell of that one finds DROPPED or NONE then.
 *
 * K1 came after that: the slot is delivered, and HELD. Either the home fails to claim it, and
 * returns the slot; the bell finds NONE. Or the bell is read before that: it reports the slot once
 * and marks it DROPPED, and whoever took the report returns the slot instead of claiming it.
 *
 * No cancel is overlooked, since K1 precedes K2 and a bell is read after it rang (doorbell.h).
 *
 * A work id is generation << 28 | the slot's number in the domain, that is the channel's first
 * number + the slot. 36 bits of generation make it unique for ever: a slot that has used them up is
 * retired, never handed out again. Each generation of a slot was submitted, so none is beyond the
 * number of slots that the home has ever accepted of the channel: where a client is gone the home
 * takes what is beyond that for garbage, which it is, and whoever comes next has the slot.
 *
 * An item with operands has a second slot, and one with a condition another: the descriptor of its
 * own names them, and their lines are the operands, and the condition's parameters. One that lasts
 * has another, and a condition that has much to remember has more of them, each of which names the
 * next: nothing is in these, they stand for as many nodes of the home. All those are submitted in
 * no ring and stay FREE for whoever looks at their state, so nothing cancels, flushes or lists
 * them; the home marks them OPERANDS when it takes the item, and returns them with that. Where the
 * item was canceled before it was accepted, accept does so.
 *
 * The client can scribble on all of this at any time. So the home believes no index from the ring
 * or a descriptor that is out of range or already held, copies a descriptor once (the caller
 * validates the copy), and addresses nothing by what it reads here. What it had to ignore is
 * counted in `garbage`.
 */
#ifndef TRIP_CHANNEL_H
#define TRIP_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doorbell.h"
#include "ring.h"

#define TRIP_CHANNEL_SLOT_BITS 28
#define TRIP_CHANNEL_SLOTS TRIP_DOORBELL_INDICES
#define TRIP_CHANNEL_GENERATION_MAX ((UINT64_C(1) << 36) - 1)

/* Not one trigger, but all. */
#define TRIP_CHANNEL_ANY UINT32_MAX

enum trip_channel_state {
	TRIP_CHANNEL_FREE,
	TRIP_CHANNEL_QUEUED,
	TRIP_CHANNEL_FIRING,
	TRIP_CHANNEL_CANCELED,
};

static inline uint64_t
trip_channel_word(uint64_t generation, enum trip_channel_state state)
{
	return generation << 3 | state;
}

static inline enum trip_channel_state
trip_channel_word_state(uint64_t word)
{
	return (enum trip_channel_state)(word & 7);
}

static inline uint64_t
trip_channel_word_generation(uint64_t word)
{
	return word >> 3;
}

/* Of an id: the number of its slot within the domain, and its generation. */
static inline uint32_t
trip_channel_id_number(uint64_t id)
{
	return (uint32_t)(id & ((UINT64_C(1) << TRIP_CHANNEL_SLOT_BITS) - 1));
}

static inline uint64_t
trip_channel_id_generation(uint64_t id)
{
	return id >> TRIP_CHANNEL_SLOT_BITS;
}

/* Bytes of operands that an item may have beside its target and value. */
#define TRIP_OPERANDS_MAX 48

/* What the client asks for; plain data, all references are indices. */
struct trip_work_desc {
	uint64_t threshold;
	uint64_t interval;
	uint64_t context;
	uint64_t value;
	uint32_t trigger;    /* counter */
	uint32_t target;     /* counter, flow or function, by op */
	uint32_t completion; /* counter, or UINT32_MAX: none */
	uint8_t op;
	uint8_t flags;
	uint8_t condition_kind;
	/* It is one of the pairs of an item, and its target a hidden counter; the home does not
	 * care. */
	uint8_t is_pair;
	/* 1 + the slot of the channel that has them, or 0: none */
	uint32_t operands;
	uint32_t condition;
	/* the first of those that the condition remembers in */
	uint32_t memory;
	/* how it ends, where it lasts */
	uint32_t end;
};

_Static_assert(sizeof(struct trip_work_desc) == 64, "a descriptor is one cache line");

struct trip_channel_shape {
	uint32_t slots;
	uint32_t first; /* number of slot 0 within the domain, see the work id */
};

/* Where things are, by this process's own reckoning. */
struct trip_channel_map {
	struct trip_work_desc *desc;
	_Atomic uint64_t *state;
	uint32_t slots;
	uint32_t first;
};

/* The client's handle. cancel only reads it; the other calls move it, under the caller's lock. */
struct trip_channel_client {
	struct trip_channel_map map;
	struct trip_doorbell canceled;
	struct trip_ring_end submit;
	struct trip_ring_end returned;
};

/* The home's handle, for its thread alone. */
struct trip_channel_home {
	struct trip_channel_map map;
	struct trip_doorbell canceled;
	struct trip_ring_end submit;
	struct trip_ring_end returned;
	uint64_t *marks;
	uint32_t held;     /* slots whose mark is not NONE */
	uint64_t accepted; /* of all clients that it has had; no generation is beyond that */
	uint64_t garbage;  /* what was ignored because no correct client does it */
};

/* Bytes of the shared memory (on a cache line) and of the home's marks; 0: impossible shape. */
size_t trip_channel_size(const struct trip_channel_shape *shape);
size_t trip_channel_marks_size(const struct trip_channel_shape *shape);

/* Fresh memory. */
void trip_channel_init(void *memory, const struct trip_channel_shape *shape);

void trip_channel_map_client(
	struct trip_channel_client *channel, void *memory, const struct trip_channel_shape *shape);
/* The marks are zeroed: for a channel that was just initialised or reset. */
void trip_channel_map_home(struct trip_channel_home *channel, void *memory,
	const struct trip_channel_shape *shape, void *marks);

/*
 * Makes the channel of a client that is gone new, whatever it left there: all slots are free, and
 * their generations go on. The home's, while it holds nothing of it.
 */
void trip_channel_renew(struct trip_channel_client *client, struct trip_channel_home *home,
	const struct trip_channel_shape *shape);

/* --- client --- */

/* How far the home has returned slots: what alloc takes as up_to. */
static inline uint32_t
trip_channel_returned(const struct trip_channel_client *channel)
{
	return trip_ring_tail(&channel->returned);
}

/*
 * A free slot that was returned before up_to, to be filled and submitted, -EAGAIN, or -EPROTO where
 * the ring is garbage. Caller holds the client's lock.
 */
int trip_channel_alloc(struct trip_channel_client *channel, uint32_t up_to);

/* The same of an item that has so many slots beside its own, at most TRIP_CHANNEL_MORE: all of
 * them, or none. Of these a condition remembers in TRIP_CHANNEL_MEMORY at most. */
#define TRIP_CHANNEL_MEMORY 13
#define TRIP_CHANNEL_MORE (3 + TRIP_CHANNEL_MEMORY)
int trip_channel_alloc_more(
	struct trip_channel_client *channel, uint32_t up_to, uint32_t *more, unsigned int n);

/* The descriptor to fill between alloc and submit. */
static inline struct trip_work_desc *
trip_channel_desc(const struct trip_channel_client *channel, uint32_t slot)
{
	return &channel->map.desc[slot];
}

/* Where TRIP_OPERANDS_MAX bytes of operands, or of a condition, go; its number goes into the
 * descriptor. */
static inline void *
trip_channel_operands(const struct trip_channel_client *channel, uint32_t slot)
{
	return &channel->map.desc[slot];
}

/* Chains slots that a condition remembers in, for the descriptor to name the first of them. */
void trip_channel_chain(
	const struct trip_channel_client *channel, const uint32_t *slots, unsigned int n);

/*
 * Hands the slot to the home; the caller rings the home's doorbell afterwards. 0, or -EPROTO where
 * the ring is garbage. Caller holds the client's lock.
 */
int trip_channel_submit(struct trip_channel_client *channel, uint32_t slot, uint64_t *id);

/*
 * 0: canceled, it will not fire; the caller rings the home's doorbell. -ENOENT: it has fired, was
 * canceled before, or is none of this channel's. Any thread of the process, without a lock.
 */
int trip_channel_cancel(const struct trip_channel_client *channel, uint64_t id);

/* The id of the item that is queued in a slot, or 0. Any thread. */
uint64_t trip_channel_queued_id(const struct trip_channel_client *channel, uint32_t slot);

/* How far it has submitted, under the caller's lock; and whether the home has accepted all that
 * comes before, or never will, where the ring is garbage. Any thread. */
static inline uint32_t
trip_channel_submitted(const struct trip_channel_client *channel)
{
	return channel->submit.here;
}

static inline bool
trip_channel_accepted(const struct trip_channel_client *channel, uint32_t up_to)
{
	uint32_t left =
		up_to - atomic_load_explicit(&channel->submit.ring->head, memory_order_acquire);

	return left - 1 >= channel->submit.size;
}

/* --- home --- */

/* How far the client has submitted: what accept takes as up_to. */
static inline uint32_t
trip_channel_pending_tail(const struct trip_channel_home *channel)
{
	return trip_ring_tail(&channel->submit);
}

/* Whether anything was submitted before up_to that was not accepted yet. */
static inline bool
trip_channel_pending(const struct trip_channel_home *channel, uint32_t up_to)
{
	return channel->submit.here != up_to;
}

/*
 * Accepts slots in the order of their submission, none behind up_to, and looks at no more than max
 * of them: what was canceled already goes straight back, so fewer may be delivered while
 * trip_channel_pending() still holds. Returns how many, or -EPROTO where the ring is garbage. Each
 * delivered slot is to be returned once.
 */
int trip_channel_accept(
	struct trip_channel_home *channel, uint32_t up_to, uint32_t *slots, uint32_t max);

/*
 * Copies the descriptor of an accepted slot, once and for all, and returns its generation. A cancel
 * that came since is found by claim or by take_canceled.
 */
uint64_t trip_channel_read(
	const struct trip_channel_home *channel, uint32_t slot, struct trip_work_desc *desc);

/*
 * The operands of an accepted item are the home's from now on, and returned as the item is. False:
 * no correct client names this slot, and nothing was taken.
 */
bool trip_channel_take_operands(struct trip_channel_home *channel, uint32_t slot);

/* Then, of a slot that a condition remembers in: 1 + the next one, or 0. */
uint32_t trip_channel_next(const struct trip_channel_home *channel, uint32_t slot);

/* Then: copies them, once and for all. */
void trip_channel_read_operands(
	const struct trip_channel_home *channel, uint32_t slot, void *operands);

/* Whether this firing, which leaves a further one queued, may happen. */
bool trip_channel_queued(
	const struct trip_channel_home *channel, uint32_t slot, uint64_t generation);

/* The last firing, or the only one, may happen. False: it was canceled; return the slot. */
bool trip_channel_claim(struct trip_channel_home *channel, uint32_t slot, uint64_t generation);

/*
 * Accepted slots that were canceled since: forget and return each. Looks at no more than max bells,
 * and not all of them are for such slots, so fewer may be reported while
 * trip_channel_canceling() still holds.
 */
unsigned trip_channel_take_canceled(
	struct trip_channel_home *channel, uint32_t *slots, unsigned max);

static inline bool
trip_channel_canceling(const struct trip_channel_home *channel)
{
	return !trip_doorbell_idle(&channel->canceled);
}

/* Gives an accepted slot back, once it was claimed, or found or reported canceled. */
void trip_channel_return(struct trip_channel_home *channel, uint32_t slot);

/* The same of many, in their order; at most TRIP_CHANNEL_RETURNS. */
#define TRIP_CHANNEL_RETURNS 64
void trip_channel_return_many(
	struct trip_channel_home *channel, const uint32_t *slots, unsigned int n);

/* Whether a slot was accepted and not returned yet; whether it was taken as one of operands. */
bool trip_channel_held(const struct trip_channel_home *channel, uint32_t slot);
bool trip_channel_has_operands(const struct trip_channel_home *channel, uint32_t slot);

/* The id that the client knows the item by. */
static inline uint64_t
trip_channel_id(const struct trip_channel_map *map, uint32_t slot, uint64_t generation)
{
	return generation << TRIP_CHANNEL_SLOT_BITS | (map->first + slot);
}

/* NULL, or which invariant does not hold; while neither side is in a call. */
const char *trip_channel_check(const struct trip_channel_home *channel);

#endif
