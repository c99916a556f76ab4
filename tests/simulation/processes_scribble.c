/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that is attached writes what it likes where its calls write: into its channels (the
 * ring of what it has submitted, and of what came back, states, and descriptors), its waiter slots,
 * its events, the bells of all homes, the values of all counters and who has which queue; rings for
 * it, and is killed.
 * Homes live on, and nobody else has to do with it, but counters: whoever is attached may change
 * any of the domain's, and have functions called and flows changed. What homes keep to themselves
 * in the same memory it leaves alone: trip_domain.h.
 */
#include <string.h>

#include <trip_test.h>

#include "domain/domain.h"
#include "domain/handle.h"
#include "doorbell.h"
#include "event_ring.h"
#include "processes.h"
#include "waiter.h"

#define WORDS 48
#define SUM 64
#define HOMES 2
#define CHANNELS 32
#define FIRINGS_MAX 4096

/* Of a domain: who has filled a channel with garbage, and nobody has had it since. */
static struct {
	uint64_t opening;
	const struct sim_process *writers[HOMES][CHANNELS];
	/* Times that items of such channels have fired. */
	uint32_t firings;
	/* It has changed a counter, and is yet to ring for it. */
	bool unrung;
	/* Queues may have two processes. */
	bool claimed;
} garbage;

struct region {
	void *base;
	size_t size;
};

static struct region
region_of(const struct trip_channel_client *channel, uint64_t which)
{
	uint32_t slots = channel->map.slots;

	switch (which) {
	case 0:
		return (struct region){channel->submit.ring, trip_ring_size(channel->submit.size)};
	case 1:
		return (struct region){
			channel->returned.ring, trip_ring_size(channel->returned.size)};
	case 2:
		return (struct region){channel->map.state, slots * sizeof(*channel->map.state)};
	}
	return (struct region){channel->map.desc, slots * sizeof(*channel->map.desc)};
}

/* The user's channels, those of its threads too. */
static void
set_writers(const struct user *user, const struct sim_process *writer)
{
	const struct trip_domain *domain = user->domain;

	for (uint32_t h = 0; h < domain->engine.n_homes; h++) {
		for (uint32_t c = 0; c < domain->n_channels; c++) {
			uint32_t number = domain->submitters[h][c].number;

			sim_expect(h < HOMES && number < CHANNELS, "there are too many channels");
			garbage.writers[h][number] = writer;
		}
	}
}

void
processes_garbage_begin(void)
{
	memset(&garbage, 0, sizeof(garbage));
}

void
processes_garbage_ends(const struct user *user)
{
	if (garbage.opening == user->opening)
		set_writers(user, NULL);
}

bool
processes_garbage_is_in(uint64_t opening)
{
	return garbage.opening == opening && opening != 0;
}

const struct sim_process *
processes_garbage_writer(const struct trip_home *home, uint32_t channel)
{
	return processes_garbage_is_in(home->engine->base_tsc)
		       ? garbage.writers[home->index][channel]
		       : NULL;
}

/* What fires again sooner than a home comes round is never through: its state is overwritten in the
 * end, which takes it back. */
void
processes_garbage_fires(const struct trip_channel_home *channel, uint32_t slot)
{
	if (++garbage.firings > FIRINGS_MAX)
		atomic_store(&channel->map.state[slot], 0);
}

/* Of a domain that has gone nothing is asked any more; whose primary has yet to return from opening
 * it is the latest. */
static void
note_garbage(const struct user *user)
{
	if (user->opening < processes.opening || user->opening < garbage.opening)
		return;
	if (garbage.opening != user->opening)
		processes_garbage_begin();
	garbage.opening = user->opening;
	set_writers(user, user->process);
}

/* Small numbers now and then: some of what is written is nearly right. */
static uint32_t
draw_word(struct trip_random *random)
{
	uint64_t word = trip_random_below(random, UINT64_C(1) << 32);

	return (uint32_t)(word % 3 == 0 ? word / 3 % 20 : word);
}

static void
write_word(const struct trip_channel_client *channel, struct trip_random *random)
{
	struct region region = region_of(channel, trip_random_below(random, 4));
	uint32_t *words = region.base, at;

	/* What it has submitted is no further than the ring is long: then it is looked at. */
	if (trip_random_below(random, 4) == 0)
		channel->submit.ring->tail += trip_random_below(random, 4);
	at = (uint32_t)trip_random_below(random, region.size / sizeof(*words));
	words[at] = draw_word(random);
}

bool
processes_garbage_is_unrung(void)
{
	return garbage.unrung;
}

bool
processes_garbage_is_in_claims(uint64_t opening)
{
	return processes_garbage_is_in(opening) && garbage.claimed;
}

/* Bits of indices that there are, and of others; none without one above it, which nobody would
 * come by. */
static void
write_bells(const struct trip_home *home, struct trip_random *random)
{
	uint32_t which = (uint32_t)trip_random_below(random, TRIP_DOORBELL_SECTIONS);
	const struct trip_doorbell_section *section = &home->doorbell.section[which];
	uint64_t bit;

	if (section->count == 0)
		return;
	if (trip_random_below(random, 2) == 0) {
		trip_doorbell_ring(&home->doorbell, which, draw_word(random) % section->count);
		return;
	}
	bit = UINT64_C(1) << trip_random_below(random, 64);
	atomic_fetch_or(&section->leaf[trip_random_below(random, section->leaves)], bit);
	for (uint32_t i = 0; i < section->spans; i++)
		atomic_fetch_or(
			&home->doorbell.summary[section->first + i / 64], UINT64_C(1) << i % 64);
}

/* No more than an item that goes on comes to the end of. */
static void
write_cell(
	const struct trip_domain *domain, const struct trip_home *home, struct trip_random *random)
{
	uint32_t local = (uint32_t)trip_random_below(random, domain->engine.cntrs_per_home);
	struct trip_cell *cell = &home->cells[local];

	garbage.unrung = true;
	switch (trip_random_below(random, 4)) {
	case 0:
		atomic_store(&cell->success, trip_random_below(random, SUM));
		break;
	case 1:
		atomic_store(&cell->error, trip_random_below(random, SUM));
		break;
	case 2:
		atomic_store(&cell->setgen, draw_word(random));
		break;
	default:
		atomic_store(&cell->errgen, draw_word(random));
	}
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_CNTR, local);
	garbage.unrung = false;
}

/* One that it has been given, and uses for nothing just now. */
static void
write_waiter(struct trip_domain *domain, const struct trip_home *home, struct trip_random *random)
{
	struct trip_slots *slots = &domain->waiters[home->index];
	uint32_t slot = trip_slots_take(slots), *words;

	if (slot == TRIP_SLOTS_NONE)
		return;
	words = (uint32_t *)&home->waiters[slot];
	for (unsigned int i = 0; i < 3; i++) {
		size_t at = trip_random_below(random, sizeof(home->waiters[slot]) / sizeof(*words));

		words[at] = draw_word(random);
	}
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_WAITER, slot);
	trip_slots_give(slots, slot);
}

static void
write_events(const struct trip_home *home, struct trip_random *random)
{
	struct trip_event_ring_shared *shared = home->events[0].shared;

	if (trip_random_below(random, 2) == 0)
		atomic_store(&shared->head, trip_random_below(random, UINT64_C(1) << 40));
	else
		atomic_store(&shared->tail, trip_random_below(random, UINT64_C(1) << 40));
}

/* Nobody's, the primary's or a process's, be it there or not; and since when a burst is on. */
static void
write_claim(const struct trip_domain *domain, struct trip_random *random)
{
	struct trip_claim *claim =
		&domain->engine.claims[trip_random_below(random, domain->engine.n_queues)];

	garbage.claimed = true;
	if (trip_random_below(random, 2) == 0)
		atomic_store(&claim->owner, draw_word(random) % (CLIENTS + 3) - 1);
	else
		atomic_store(&claim->since, draw_word(random));
}

static void
write_elsewhere(
	struct trip_domain *domain, const struct trip_home *home, struct trip_random *random)
{
	switch (trip_random_below(random, 5)) {
	case 0:
		write_bells(home, random);
		break;
	case 1:
		write_cell(domain, home, random);
		break;
	case 2:
		write_waiter(domain, home, random);
		break;
	case 3:
		write_claim(domain, random);
		break;
	default:
		write_events(home, random);
	}
}

static void
scribble(struct user *user, const struct act *act)
{
	struct trip_random random = {.state = act->seed};
	struct trip_domain *domain = user->domain;

	for (uint32_t i = 0; i < act->value * WORDS / 8; i++) {
		uint32_t n = domain->engine.n_homes;
		struct trip_home *home = domain->engine.homes[trip_random_below(&random, n)];
		const struct trip_submitter *submitter =
			&domain->submitters[home->index]
					   [trip_random_below(&random, domain->n_channels)];

		if (trip_random_below(&random, 4) == 0)
			write_elsewhere(domain, home, &random);
		else
			write_word(submitter->channel, &random);
		if (trip_random_below(&random, 4) == 0) {
			trip_doorbell_ring(&home->doorbell, TRIP_BELL_CHANNEL, submitter->number);
			sim_pause();
		}
	}
}

void
processes_scribble(struct user *user, const struct act *act)
{
	struct sim_process *self = user->process;

	sim_op("writes garbage where it may, and ends");
	user->scribbles = true;
	note_garbage(user);
	scribble(user, act);
	if (act->ms > 0)
		sim_rest();
	processes.changes++;
	/* Another one may come, and have its place. */
	if (processes_replace(user))
		sim_kill(self);
	else
		sim_exit();
}
