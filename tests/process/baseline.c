/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <rte_memzone.h>

#include "baseline.h"
#include "domain/domain.h"
#include "family.h"
#include "flow/flow.h"
#include "home.h"
#include "node.h"
#include "polled.h"
#include "flow/port.h"
#include "primary/process.h"
#include "domain/progress.h"
#include "cntr/registry.h"
#include "primary/server.h"
#include "waiter.h"

void
baseline_settle(void)
{
	while (trip_progress(family_domain) > 0)
		;
}

static void
count(struct baseline *baseline, const char *whose, const char *what, uint64_t n)
{
	assert_true(baseline->n < BASELINE_COUNTS);
	snprintf(baseline->counts[baseline->n].what, sizeof(baseline->counts[0].what), "%s%s%s",
		whose, whose[0] != 0 ? ": " : "", what);
	baseline->counts[baseline->n++].n = n;
}

/* ---- what this process has --------------------------------------------------------------------
 */

/* Sockets, pipes and the like: EAL opens files as its heap grows. */
static uint64_t
descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	char target[64];
	uint64_t n = 0;
	ssize_t size;

	assert_non_null(folder);
	while ((entry = readdir(folder)) != NULL) {
		size = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target));
		n += size > 0 && target[0] != '/';
	}
	closedir(folder);
	/* The proxy's stays, from the first call of a flow on. */
	return n - family_domain->server->proxy.started;
}

/* Of those, the proxy's is one. */
static uint64_t
polled(void)
{
	return polled_count() - family_domain->server->proxy.started;
}

static void
count_zone(const struct rte_memzone *zone, void *n)
{
	(void)zone;
	++*(uint64_t *)n;
}

/* Every one that is left is to be had. */
static uint64_t
free_cntrs(void)
{
	static struct trip_cntr *cntrs[4096];
	unsigned int n = 0;

	while (n < 4096 && trip_cntr_open(family_domain, NULL, &cntrs[n], NULL) == 0)
		n++;
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(trip_cntr_close(cntrs[i]), 0);
	return n;
}

static uint64_t
used(const struct trip_indices *indices)
{
	return indices->fresh - indices->n_freed;
}

static uint64_t
connections(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < TRIP_SERVER_CONNECTIONS; i++)
		n += family_domain->server->connections[i] != NULL;
	return n;
}

/* What flows and ports have, for whomever. */
static void
count_flows(struct baseline *baseline)
{
	struct trip_domain *domain = family_domain;
	uint64_t handles = 0, rules = 0, fed = 0, held_back = 0, claimed = 0, bursts = 0;

	trip_progress_lock(domain);
	/* As whoever creates the next does. */
	trip_flow_free_held(domain, NULL);
	for (uint32_t i = domain->held_flows; i != 0; i = domain->more[i - 1].next_held)
		held_back++;
	for (uint32_t i = 0; i < TRIP_PORTS_MAX; i++)
		handles += domain->ports[i] != NULL ? domain->ports[i]->n_found : 0;
	for (uint32_t i = 0; i < domain->engine.n_flows; i++)
		/* What fires as a flow is destroyed may mark an index that is not used again before
		 * (indices.h). */
		rules += (atomic_load(&domain->engine.actions[i]) & TRIP_ACTION_ACTIVE) != 0;
	for (uint32_t i = 0; i < domain->engine.n_homes * domain->engine.cntrs_per_home; i++)
		fed += atomic_load(&domain->entries[i].flows);
	for (uint32_t i = 0; i < domain->engine.n_queues; i++) {
		claimed += atomic_load(&domain->engine.claims[i].owner) != TRIP_CLAIM_NONE;
		bursts += atomic_load(&domain->engine.claims[i].owner) == TRIP_CLAIM_NONE &&
			  atomic_load(&domain->engine.claims[i].since) != TRIP_ERA_IDLE;
	}
	count(baseline, "", "flows", used(&domain->flows));
	count(baseline, "", "flows held back by bursts", held_back);
	count(baseline, "", "rules that match", rules);
	count(baseline, "", "flows that feed counters", fed);
	count(baseline, "", "handles of ports", handles);
	count(baseline, "", "queues claimed", claimed);
	count(baseline, "", "bursts of nobody", bursts);
	pthread_mutex_unlock(&domain->control);
}

/* What the proxy holds for processes that are gone. */
static uint64_t
held_for_nobody(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < family_domain->attr.max_processes; i++) {
		const struct trip_process *process = &family_domain->server->processes[i];

		for (uint32_t p = 0; p < TRIP_PORTS_MAX && !process->used; p++)
			n += process->held.ports[p];
		n += process->used ? 0 : process->held.n;
	}
	return n;
}

static void
count_domain(struct baseline *baseline)
{
	struct trip_domain *domain = family_domain;
	struct trip_server *server = domain->server;
	uint64_t zones = 0, processes = 0;

	rte_memzone_walk(count_zone, &zones);
	for (uint32_t i = 0; i < domain->attr.max_processes; i++)
		processes += server->processes[i].used;
	count(baseline, "", "counters to be had", free_cntrs());
	count(baseline, "", "counters", domain->n_cntrs);
	count(baseline, "", "wait sets", domain->n_sets);
	count(baseline, "", "counters objects", domain->n_counters);
	count(baseline, "", "ports", domain->n_ports);
	count(baseline, "", "functions", used(&domain->functions));
	count(baseline, "", "processes", processes);
	count(baseline, "", "flows and handles of no process", held_for_nobody());
	count(baseline, "", "connections", connections());
	count(baseline, "", "watches", server->n_watches);
	count(baseline, "", "memzones", zones);
	count(baseline, "", "descriptors", descriptors());
	count(baseline, "", "descriptors that epoll waits for", polled());
}

/* ---- what homes have --------------------------------------------------------------------------
 */

/* All are taken, each once, and given back in their order. */
static uint64_t
free_waiters(struct trip_home *home)
{
	static uint32_t taken[65536];
	struct trip_slots *slots = &family_domain->waiters[home->index];
	uint32_t n = 0;

	while ((taken[n] = trip_slots_take(slots)) != TRIP_SLOTS_NONE) {
		assert_true(taken[n] < home->shape.n_waiters);
		assert_int_equal(atomic_load(&home->waiter_owners[taken[n]]), 0);
		n++;
		assert_true(n <= home->shape.n_waiters);
	}
	for (uint32_t i = n; i > 0; i--)
		trip_slots_give(slots, taken[i - 1]);
	return n;
}

static void
count_waiters(struct baseline *baseline, const char *whose, struct trip_home *home)
{
	uint64_t owned = 0, fds = 0, followed = 0, armed = 0, sleepers = 0;

	for (uint32_t i = 0; i < home->shape.n_waiters; i++) {
		if (atomic_load(&home->waiter_owners[i]) != 0) {
			owned++;
			continue;
		}
		fds += atomic_load(&home->waiter_fds[i]) >= 0;
		followed += home->waiter_nodes[i].word != 0;
		armed += (atomic_load(&home->waiters[i].word) & TRIP_WAITER_STATE_MASK) ==
			 TRIP_WAITER_ARMED;
		sleepers += atomic_load(&home->waiters[i].sleepers);
	}
	count(baseline, whose, "waiters to be had", free_waiters(home));
	count(baseline, whose, "waiters of processes", owned);
	count(baseline, whose, "descriptors of waiters that are nobody's", fds);
	count(baseline, whose, "requests of waiters that are nobody's", armed);
	count(baseline, whose, "requests followed that are nobody's", followed);
	count(baseline, whose, "sleepers on waiters that are nobody's", sleepers);
}

/* Channels that no process has are as new. */
static void
count_channels(struct baseline *baseline, const char *whose, struct trip_home *home)
{
	const struct trip_process *processes = family_domain->server->processes;
	uint64_t held = 0, submitted = 0, missing = 0, events = 0;

	for (uint32_t c = trip_home_own_channels(&home->shape); c < home->shape.n_channels; c++) {
		uint32_t i = (c - trip_home_own_channels(&home->shape)) /
			     trip_home_client_channels(&home->shape);
		const struct trip_channel_home *channel = &home->channels[c];
		const struct trip_event_ring_shared *ring = home->events[1 + i].shared;

		if (processes[i].used)
			continue;
		held += channel->held;
		submitted += atomic_load(&channel->submit.ring->tail) -
			     atomic_load(&channel->submit.ring->head);
		missing += channel->map.slots - (atomic_load(&channel->returned.ring->tail) -
							atomic_load(&channel->returned.ring->head));
		events += atomic_load(&ring->tail) - atomic_load(&ring->head);
	}
	count(baseline, whose, "slots held of nobody's channel", held);
	count(baseline, whose, "slots submitted in nobody's channel", submitted);
	count(baseline, whose, "slots missing in nobody's channel", missing);
	count(baseline, whose, "events unread of nobody", events);
}

static void
count_home(struct baseline *baseline, struct trip_home *home)
{
	char whose[16];

	snprintf(whose, sizeof(whose), "home %" PRIu32, home->index);
	count(baseline, whose, "counters", used(&family_domain->cntrs[home->index]));
	count(baseline, whose, "items that wait", atomic_load(&home->stats.pending));
	count(baseline, whose, "channels under way", home->accept.n_sweep + home->n_canceling);
	count(baseline, whose, "processes to be dropped", home->n_drops);
	count_waiters(baseline, whose, home);
	count_channels(baseline, whose, home);
}

/* ---- all of it --------------------------------------------------------------------------------
 */

void
baseline_take(struct baseline *baseline)
{
	*baseline = (struct baseline){0};
	baseline_settle();
	/* The control thread closes what homes might have been writing, when they have come by. */
	family_until(family_domain->server->n_retired == 0);
	/* It sends a descriptor before it closes its own of it, and forgets a connection before it
	 * closes that. It does one thing after the other, so behind an answer all that is done. */
	(void)family_attached();
	/* What strangers have left unread, threads close. */
	family_until(trip_hangup_count() == 0);
	assert_int_equal(trip_domain_check(family_domain, stderr), 0);
	count_domain(baseline);
	count_flows(baseline);
	baseline_settle();
	for (uint32_t i = 0; i < family_domain->engine.n_homes; i++)
		count_home(baseline, family_domain->engine.homes[i]);
}

uint64_t
baseline_count(const struct baseline *baseline, const char *what)
{
	for (unsigned int i = 0; i < baseline->n; i++)
		if (strcmp(baseline->counts[i].what, what) == 0)
			return baseline->counts[i].n;
	fail_msg("nothing is counted as \"%s\"", what);
	return 0;
}

void
baseline_expect(const struct baseline *wanted)
{
	struct baseline found;

	/* Connections end a moment later than their process. */
	family_until(connections() == baseline_count(wanted, "connections"));
	family_until(descriptors() == baseline_count(wanted, "descriptors"));
	baseline_take(&found);
	assert_int_equal(found.n, wanted->n);
	for (unsigned int i = 0; i < found.n; i++)
		if (found.counts[i].n != wanted->counts[i].n)
			fail_msg("%s: %" PRIu64 ", not %" PRIu64 " as before", found.counts[i].what,
				found.counts[i].n, wanted->counts[i].n);
}
