/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the world, runs homes, queues and the control thread, and gives all memory back. */
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "accept.h"
#include "due.h"
#include "homes.h"
#include "waiter.h"

#define SCRUB_TICKS 8192
/* Of the scrub: one is under way; one suspects, one repairs, and there is what comes of that. */
#define PASSES 4
#define NEVER (UINT64_MAX / 4)
/* Ticks before a moment to which time goes. */
#define SOON (UINT64_C(1) << 20)

struct homes homes;
const struct homes_part *const homes_parts[HOMES_PARTS] = {&homes_idle, &homes_quota, &homes_until,
	&homes_rate, &homes_sleepers, &homes_feeds, &homes_lasting};

uint64_t
homes_now(struct trip_home *home)
{
	return sim_now();
}

/* What queues have counted for it, and nobody was told of. */
static uint64_t
unread(uint32_t cntr)
{
	uint64_t sum = 0;

	for (uint32_t feed = 0; homes.feeds && feed < TRIP_FLOW_FEEDS; feed++) {
		enum trip_count_kind kind = (enum trip_count_kind)(feed % TRIP_COUNT_KINDS);

		for (uint32_t q = 0; homes.flow.cntr[feed] == cntr && q < QUEUES; q++)
			sum += trip_count_read(&homes.counts[q], kind) -
			       atomic_load(&homes.folded[q].of[kind]);
	}
	return sum;
}

uint64_t
homes_sum(uint32_t cntr)
{
	const struct trip_home *home = homes_of(cntr);
	bool looks = sim_look(true);
	uint64_t sum;

	if (homes_is_clock(cntr)) {
		sum = sim_now();
	} else {
		sum = trip_cell_sum(&home->cells[cntr % CNTRS]) + unread(cntr);
	}
	(void)sim_look(looks);
	return sum;
}

/* No later than that, nor than a home is to be woken. */
static uint64_t
next_moment(uint64_t moment)
{
	for (uint32_t h = 0; h < homes.engine.n_homes; h++)
		moment = RTE_MIN(moment, homes.engine.homes[h]->clock_tsc);
	return moment > sim_now() + 2 * SOON ? moment - SOON : moment;
}

void
homes_skip_to(uint64_t moment)
{
	uint64_t next;

	for (; sim_now() < moment; sim_progress())
		do {
			next = next_moment(moment);
			sim_polls_until(next);
			sim_pause();
		} while (sim_now() < next);
	sim_polls_until(0);
}

static void *
lines(size_t size)
{
	void *memory = aligned_alloc(64, RTE_ALIGN(size, 64));

	if (memory == NULL)
		abort();
	memset(memory, 0, RTE_ALIGN(size, 64));
	return memory;
}

/* --- homes --- */

static void
run_home(void *arg)
{
	struct trip_home *home = arg;

	sim_laps(homes.kills ? PASSES : 0);
	for (;;) {
		uint64_t pass = home->scrub.next_tsc;
		unsigned int done;

		sim_op("iterates");
		done = trip_home_iterate(home, sim_now());
		if (home->scrub.next_tsc != pass)
			sim_lap();
		if (done == 0) {
			sim_expect(!home->sweeping,
				"home %u has done nothing, in the middle of a sweep", home->index);
			homes.pauses[home->index] = true;
			sim_pause();
			homes.pauses[home->index] = false;
			continue;
		}
		sim_progress();
		if (!sim_has_buffered())
			homes_check(home, false);
	}
}

static void
make_home(uint32_t index)
{
	struct trip_home *home;
	char name[16];

	homes.memory[index] = lines(trip_home_size(&homes.shape));
	home = trip_home_init(homes.memory[index], &homes.engine, index, &homes.shape);
	if (home == NULL)
		abort();
	homes.engine.homes[index] = home;
	home->budget = homes.budgets[index];
	home->hot.log2 = homes.hot_log2[index];
	/* Where nobody dies it has nothing to repair but what is merely slow. */
	home->scrub.period_tsc = homes.kills ? SCRUB_TICKS : NEVER;
	home->scrub.next_tsc = homes.kills ? 0 : NEVER;
	home->fed.period_tsc = NEVER;
	home->clock = homes_now;
	for (uint32_t i = 0; i < homes.shape.n_waiters; i++)
		atomic_init(&home->waiter_owners[i], (uint8_t)(i < CLIENTS ? 1 + i : 0));
	for (uint32_t i = 0; i < CALLED; i++)
		homes.watches[index * CNTRS + i] =
			sim_watch(&home->cells[i].success, sizeof(home->cells[i].success));
	snprintf(name, sizeof(name), "home %u", index);
	(void)sim_spawn(name, false, run_home, home);
}

static void
name_home(uint32_t index)
{
	static const char *const cells[] = {"cell %u of home 0", "cell %u of home 1"};
	static const char *const bells[] = {
		"summary %u of home 0's bell", "summary %u of home 1's bell"};
	static const char *const leaves[] = {
		"channels' leaf %u of home 0", "channels' leaf %u of home 1"};
	static const char *const waiters[] = {"waiter %u of home 0", "waiter %u of home 1"};
	static const char *const states[] = {
		"slot %u at home 0 (channel 0)", "slot %u at home 1 (channel 0)"};
	static const char *const memories[] = {
		"shared memory of home 0", "shared memory of home 1"};
	static const char *const homes_own[] = {"home 0", "home 1"};
	const struct trip_home *home = homes.engine.homes[index];

	sim_name(home->cells, sizeof(*home->cells), trip_home_cntrs(&home->shape), cells[index]);
	sim_name(home->doorbell.summary, 8, TRIP_DOORBELL_WORDS, bells[index]);
	sim_name(home->doorbell.section[TRIP_BELL_CHANNEL].leaf, 8, 1, leaves[index]);
	sim_name(home->waiters, sizeof(*home->waiters), home->shape.n_waiters, waiters[index]);
	sim_name(home->channels[0].map.state, 8, home->channels[0].map.slots, states[index]);
	/* And what none of these is. */
	sim_name(homes.memory[index], trip_home_size(&homes.shape), 1, memories[index]);
	sim_name(home, sizeof(*home), 1, homes_own[index]);
}

/* --- queues that count a flow --- */

static void
run_queue(void *arg)
{
	uint32_t queue = (uint32_t)(uintptr_t)arg;
	struct trip_count *count = &homes.counts[queue];

	for (; homes.bursts[queue] > 0; homes.bursts[queue]--) {
		unsigned int reached;

		if (homes.in_rounds || homes.bursts[queue] % 2 == 0)
			sim_rest();
		sim_op("counts a burst of 3 packets");
		trip_count_add(count, 3, 180);
		trip_count_fence();
		reached = trip_count_reached(count);
		if (reached == 0)
			continue;
		trip_count_cross(&homes.moments[queue], reached, sim_now());
		trip_source_cross(&homes.engine, 0, reached);
	}
}

static void
make_flow(void)
{
	homes.counts = lines(QUEUES * sizeof(*homes.counts));
	homes.read = lines(sizeof(*homes.read));
	for (uint32_t q = 0; q < QUEUES; q++)
		trip_count_init(&homes.counts[q]);
	homes.flow.n_queues = QUEUES;
	for (uint32_t i = 0; i < TRIP_FLOW_FEEDS; i++)
		homes.flow.cntr[i] = TRIP_NONE;
	homes.flow.cntr[TRIP_COUNT_KIND_PACKETS] = FED;
	atomic_init(&homes.feed.cntr[TRIP_COUNT_KIND_PACKETS], FED);
	atomic_init(&homes.feed.cntr[TRIP_COUNT_KIND_BYTES], TRIP_NONE);
	homes.engine.n_flows = 1;
	homes.engine.n_queues = QUEUES;
	homes.engine.flows = &homes.flow;
	homes.engine.feeds = &homes.feed;
	homes.engine.counts = homes.counts;
	homes.engine.moments = homes.moments;
	homes.engine.reads = homes.read;
	homes.engine.folded = homes.folded;
	homes_tell_parts(make);
}

/* --- the control thread: as runtime/primary/process.c does it --- */

static void
silence_slot(struct trip_home *home, uint32_t slot)
{
	trip_waiter_disarm(home, slot);
	trip_doorbell_ring(&home->doorbell, TRIP_BELL_WAITER, slot);
	atomic_store(&home->waiters[slot].sleepers, 0);
}

static void
begin_dropping(struct user *user)
{
	sim_op("finds that %s has died, and has it dropped", user->name);
	sim_join(user->actor);
	user->dropping = true;
	for (uint32_t h = 0; h < homes.engine.n_homes; h++)
		silence_slot(homes.engine.homes[h], user->number);
	for (uint32_t h = 0; h < homes.engine.n_homes; h++)
		trip_drop_ask(homes.engine.homes[h], user->number);
	sim_progress();
}

static bool
all_dropped(const struct user *user)
{
	for (uint32_t h = 0; h < homes.engine.n_homes; h++)
		if (!trip_drop_done(homes.engine.homes[h], user->number))
			return false;
	return true;
}

static void
replace(struct user *user)
{
	sim_op("lets another one attach in the place of %s", user->name);
	user->dropping = false;
	user->waits = user->sleeps = false;
	memset(user->credits, 0, sizeof(user->credits));
	memset(user->set, 0, sizeof(user->set));
	homes_items_gone(user);
	for (uint32_t h = 0; h < homes.engine.n_homes; h++)
		homes.left[homes.n_left++] = user->homes[h];
	memset(user->homes, 0, sizeof(user->homes));
	user->actor = sim_spawn(user->name, true, homes_user, user);
}

static void
run_control(void *arg)
{
	for (;;) {
		bool moved = false;

		sim_op("looks who has died");
		for (uint32_t i = 0; i < CLIENTS; i++) {
			struct user *user = &homes.users[i];

			if (user->dropping && all_dropped(user)) {
				replace(user);
				moved = true;
			} else if (!user->dropping && sim_is_dead(user->actor)) {
				begin_dropping(user);
				moved = true;
			}
		}
		if (!moved)
			sim_pause();
	}
}

/* --- all of it --- */

static void
make_users(void)
{
	for (uint32_t i = 0; i < USERS; i++) {
		struct user *user = &homes.users[i];
		bool mortal = homes.kills && i < CLIENTS;

		user->number = i;
		if (i < CLIENTS)
			snprintf(user->name, sizeof(user->name), "process %u", i);
		else
			snprintf(user->name, sizeof(user->name), "primary");
		user->actor = sim_spawn(user->name, mortal, homes_user, user);
	}
}

static void
begin(void)
{
	memset(&homes, 0, sizeof(homes));
	homes_plan();
	homes.engine.cntrs_per_home = CNTRS;
	homes.engine.waiters_per_home = homes.shape.n_waiters;
	homes.engine.functions = &homes.function;
	homes.engine.n_functions = 1;
	homes.engine.tsc_hz = 1000000000;
	atomic_init(&homes.function.function, homes_called);
	sim_local(&trip_engine_current);
	/* What is to rest has. */
	sim_patience(homes.idles ? 4 * REST_MAX : 0);
	make_flow();
	for (uint32_t h = 0; h < homes.engine.n_homes; h++) {
		make_home(h);
		name_home(h);
	}
	sim_name(&homes, sizeof(homes), 1, "the primary");
	if (homes.feeds) {
		for (uint32_t h = 0; h < homes.engine.n_homes; h++)
			trip_source_link(homes.engine.homes[h], 0);
		for (uintptr_t q = 0; q < QUEUES; q++)
			(void)sim_spawn(
				q == 0 ? "queue 0" : "queue 1", false, run_queue, (void *)q);
	}
	make_users();
	if (homes.kills)
		(void)sim_spawn("control", false, run_control, NULL);
	for (unsigned int i = 0; i < HOMES_PARTS; i++)
		if (homes.has[i] && homes_parts[i]->run != NULL)
			(void)sim_spawn(homes_parts[i]->actor, false, homes_parts[i]->run,
				(void *)(uintptr_t)sim_draw(UINT64_MAX));
}

static void
forget(void)
{
	for (unsigned int i = 0; i < homes.n_left; i++)
		if (homes.left[i] != NULL)
			trip_home_fini(homes.left[i]);
	for (uint32_t h = 0; h < homes.engine.n_homes; h++) {
		for (uint32_t i = 0; i < CLIENTS; i++)
			if (homes.users[i].homes[h] != NULL)
				trip_home_fini(homes.users[i].homes[h]);
		trip_home_fini(homes.engine.homes[h]);
		free(homes.memory[h]);
	}
	free(homes.counts);
	free(homes.read);
}

int
main(int argc, char **argv)
{
	static const struct sim_world world = {.name = "homes",
		.length = 8192,
		.begin = begin,
		.judge = homes_judge,
		.forget = forget};

	return sim_main(argc, argv, &world);
}
