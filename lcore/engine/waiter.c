/* SPDX-License-Identifier: BSD-3-Clause */
/* The home's side of waiters: follows and answers what they ask. waiter.h has the protocol. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>

#include "due.h"
#include "home.h"
#include "waiter.h"

/* Of a second: how long a signal that the kernel had no memory for waits. */
#define UNSENT_HZ 1000

/* False: not armed, or its owner is just writing; it rings again when it is done. */
static bool
copy_request(struct trip_waiter *w, struct trip_waiter_node *node)
{
	uint32_t word = atomic_load(&w->word);

	if (trip_waiter_state(word) != TRIP_WAITER_ARMED)
		return false;
	node->cntr = atomic_load_explicit(&w->cntr, memory_order_acquire);
	node->signals = atomic_load_explicit(&w->signals, memory_order_acquire);
	node->threshold = atomic_load_explicit(&w->threshold, memory_order_acquire);
	node->seen.success = atomic_load_explicit(&w->success, memory_order_acquire);
	node->seen.error = atomic_load_explicit(&w->error, memory_order_acquire);
	node->seen.setgen = atomic_load_explicit(&w->setgen, memory_order_acquire);
	node->seen.errgen = atomic_load_explicit(&w->errgen, memory_order_acquire);
	node->word = word;
	return atomic_load(&w->word) == word;
}

static void
unlink_node(struct trip_home *home, uint32_t waiter)
{
	struct trip_waiter_node *node = &home->waiter_nodes[waiter];
	struct trip_home_cntr *cntr = &home->cntrs[node->cntr];

	if (node->prev != TRIP_NONE)
		home->waiter_nodes[node->prev].next = node->next;
	else
		cntr->waiters = node->next;
	if (node->next != TRIP_NONE)
		home->waiter_nodes[node->next].prev = node->prev;
	if (node->queued) {
		trip_pending_remove(&home->pool, &cntr->pending, home->n_nodes + waiter);
		trip_due_dropped(home, node->cntr, node->threshold);
	} else if (node->threshold == TRIP_WAITER_ANY)
		cntr->watchers--;
	node->queued = false;
	node->word = 0;
}

static void
link_node(struct trip_home *home, uint32_t waiter)
{
	struct trip_waiter_node *node = &home->waiter_nodes[waiter];
	struct trip_home_cntr *cntr = &home->cntrs[node->cntr];

	node->prev = TRIP_NONE;
	node->next = cntr->waiters;
	if (node->next != TRIP_NONE)
		home->waiter_nodes[node->next].prev = waiter;
	cntr->waiters = waiter;
	cntr->unchecked = true;
	if (node->threshold == TRIP_WAITER_ANY) {
		cntr->watchers++;
		return;
	}
	/* On success >= threshold the sum is this or more, as long as the error is the same. Above
	 * the largest threshold of a work item, but not of a sum. */
	node->queued = trip_due_queue(home, node->cntr,
		trip_cell_clamp(node->threshold) + trip_cell_clamp(node->seen.error),
		home->n_nodes + waiter);
	/* The next iteration tries again. */
	if (!node->queued)
		trip_doorbell_ring(&home->doorbell, TRIP_BELL_WAITER, waiter);
}

/* False: its descriptor is not written yet, for want of memory. */
static bool
signal_slot(struct trip_engine *engine, uint32_t slot)
{
	struct trip_home *home = engine->homes[slot / engine->waiters_per_home];
	int fd = atomic_load_explicit(
		&home->waiter_fds[slot % engine->waiters_per_home], memory_order_acquire);
	uint64_t one = 1;
	ssize_t written = 0;

	trip_waiter_wake(&home->waiters[slot % engine->waiters_per_home]);
	if (fd < 0)
		return true;
	if ((fd & TRIP_WAITER_SOCKET) != 0)
		/* A full one (EAGAIN) is ready, too, and so is one whose other end has gone. */
		return send(fd & ~TRIP_WAITER_SOCKET, &one, sizeof(one),
			       MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
		       (errno != ENOBUFS && errno != ENOMEM);
	/* An eventfd needs no memory, and is never full: each of 2^64-2 signals in it had a request
	 * of its own. */
	written = write(fd, &one, sizeof(one));
	(void)written;
	return true;
}

static void
list_unsent(struct trip_home *home, uint32_t waiter, uint32_t word)
{
	struct trip_waiter_node *node = &home->waiter_nodes[waiter];
	struct trip_due_list *unsent = &home->unsent;
	bool listed = node->unsent != 0;

	/* What it was listed for has been taken back. */
	node->unsent = word;
	if (listed)
		return;
	if (unsent->count++ == 0)
		unsent->head = waiter;
	else
		home->waiter_nodes[unsent->tail].next_unsent = waiter;
	unsent->tail = waiter;
	home->unsent_tsc = RTE_MIN(home->unsent_tsc, home->now + home->engine->tsc_hz / UNSENT_HZ);
	trip_home_timers(home);
}

/* Signals, unless the owner has taken the request back, which it may as long as that fails. */
static void
wake(struct trip_home *home, uint32_t waiter, uint32_t word, uint32_t signals)
{
	uint32_t generation = word & ~TRIP_WAITER_STATE_MASK, armed = word;
	uint32_t signaling = generation | TRIP_WAITER_SIGNALING;
	_Atomic uint32_t *state = &home->waiters[waiter].word;

	if (!atomic_compare_exchange_strong(state, &word, signaling)) {
		trip_engine_stat(&home->stats.wakes_suppressed, 1);
		return;
	}
	if (!signal_slot(home->engine, signals)) {
		trip_engine_stat(&home->stats.wakes_failed, 1);
		if (atomic_compare_exchange_strong(state, &signaling, armed))
			list_unsent(home, waiter, armed);
		return;
	}
	/* Release: the owner that sees it finds in its descriptor what was written. Partner: W1. */
	atomic_store_explicit(state, generation | TRIP_WAITER_SIGNALED, memory_order_release);
	trip_engine_stat(&home->stats.wakes, 1);
}

static bool
node_satisfied(const struct trip_waiter_node *node, const struct trip_cell_sample *sample)
{
	if (sample->error != node->seen.error || sample->errgen != node->seen.errgen)
		return true;
	if (node->threshold != TRIP_WAITER_ANY)
		return sample->success >= node->threshold;
	return sample->success != node->seen.success || sample->setgen != node->seen.setgen;
}

/* Nobody has others signalled: their descriptors are as they want them. */
static bool
is_sane(const struct trip_home *home, uint32_t waiter)
{
	const struct trip_waiter_node *node = &home->waiter_nodes[waiter];
	uint32_t per_home = home->engine->waiters_per_home, home_of = node->signals / per_home;

	return node->cntr < trip_home_cntrs(&home->shape) && home_of < home->engine->n_homes &&
	       atomic_load_explicit(
		       &home->engine->homes[home_of]->waiter_owners[node->signals % per_home],
		       memory_order_relaxed) ==
		       atomic_load_explicit(&home->waiter_owners[waiter], memory_order_relaxed);
}

unsigned int
trip_waiter_accept(struct trip_home *home, unsigned int budget)
{
	uint32_t rung[32];
	unsigned int n, done = 0;

	while (done < budget && (n = trip_doorbell_take(&home->doorbell, TRIP_BELL_WAITER, rung,
					 RTE_DIM(rung))) > 0) {
		for (unsigned int i = 0; i < n; i++) {
			struct trip_waiter_node *node = &home->waiter_nodes[rung[i]];
			uint32_t old = node->word != 0 ? node->cntr : TRIP_NONE;

			node->suspect = false;
			if (old != TRIP_NONE)
				unlink_node(home, rung[i]);
			if (copy_request(&home->waiters[rung[i]], node) && is_sane(home, rung[i]))
				link_node(home, rung[i]);
			else
				node->word = 0;
			/* Settling arms the cell and compares afterwards. */
			if (node->word != 0)
				trip_due_touch(home, node->cntr);
			if (old != TRIP_NONE)
				trip_due_touch(home, old);
		}
		done += n;
	}
	return done;
}

unsigned int
trip_waiter_settle(struct trip_home *home, uint32_t index, unsigned int budget)
{
	struct trip_home_cntr *cntr = &home->cntrs[index];
	struct trip_cell_sample before = cntr->settled, now;
	unsigned int woken = 0;
	uint32_t next;

	trip_cell_sample(&home->cells[index], &now);
	cntr->settled = now;
	if (cntr->waiters == TRIP_NONE)
		return 0;
	/* Thresholds alone are the pending set's business. */
	if (cntr->watchers == 0 && !cntr->unchecked && now.error == before.error &&
		now.errgen == before.errgen)
		return 0;
	for (uint32_t i = cntr->waiters; i != TRIP_NONE && woken < budget; i = next) {
		const struct trip_waiter_node *node = &home->waiter_nodes[i];
		uint32_t word = node->word, signals = node->signals;

		next = node->next;
		if (!node_satisfied(node, &now))
			continue;
		unlink_node(home, i);
		wake(home, i, word, signals);
		woken++;
	}
	cntr->unchecked = woken == budget;
	if (cntr->unchecked)
		trip_due_ring_self(home, index);
	return woken;
}

void
trip_waiter_fire(struct trip_home *home, uint32_t waiter)
{
	uint32_t word = home->waiter_nodes[waiter].word;
	uint32_t signals = home->waiter_nodes[waiter].signals;

	home->waiter_nodes[waiter].queued = false;
	unlink_node(home, waiter);
	wake(home, waiter, word, signals);
}

void
trip_waiter_send_again(struct trip_home *home, unsigned int budget)
{
	struct trip_due_list *unsent = &home->unsent;

	if (home->now < home->unsent_tsc)
		return;
	home->unsent_tsc = UINT64_MAX;
	/* Those that fail again come last. */
	for (uint32_t n = RTE_MIN(unsent->count, budget); n > 0; n--) {
		uint32_t waiter = unsent->head;
		struct trip_waiter_node *node = &home->waiter_nodes[waiter];
		uint32_t word = node->unsent;

		unsent->head = node->next_unsent;
		unsent->count--;
		node->unsent = 0;
		/* Where its owner has armed it anew, the rest of the node is of that. */
		if (is_sane(home, waiter))
			wake(home, waiter, word, node->signals);
	}
	if (unsent->count > 0)
		home->unsent_tsc = home->now + home->engine->tsc_hz / UNSENT_HZ;
}
