/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the world, and runs the homes, the wire and the driver's events. */
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "nics.h"
#include "template.h"

/* For each of several pools so many flows are taken. */
#define FLOWS_A_POOL 256

struct nics nics;

static uint64_t
now_of(struct trip_home *home)
{
	return sim_now();
}

static void
report(void *arg, const char *sentence)
{
	/* Somebody may be in the middle of a ring. */
	if (strstr(sentence, "a leaf bit is set without its summary bit") == NULL)
		sim_fail("%s", sentence);
}

static void
run_home(void *arg)
{
	struct trip_home *home = arg;

	for (;;) {
		bool looks;

		sim_op("iterates");
		if (trip_home_iterate(home, sim_now()) == 0) {
			sim_pause();
			continue;
		}
		sim_progress();
		nics_judge_home(home->index);
		looks = sim_look(true);
		if (!sim_has_buffered())
			(void)trip_home_check(home, report, NULL);
		(void)sim_look(looks);
	}
}

static void
run_wire(void *arg)
{
	static const char *const burst = "brings packets of flow %u";
	uint32_t left = 0;

	for (uint32_t f = 0; f < nics.n_flows; f++)
		left += nics.bursts[f];
	for (uint32_t f = 0; left > 0; f = (f + 1) % nics.n_flows) {
		if (nics.bursts[f] == 0)
			continue;
		nics.bursts[f]--;
		left--;
		sim_op(burst, f);
		sim_pause();
		nic_receive(f, 1 + left % 3);
		sim_tell("%u of them", 1 + left % 3);
		sim_progress();
		if (left % 8 == 0)
			sim_rest();
	}
}

static void
run_reader(void *arg)
{
	for (uint32_t n = nics.readings; n > 0; n--) {
		sim_op("reads what flow %u feeds", n % nics.n_flows);
		nics_read(n % nics.n_flows);
		sim_pause();
	}
}

/* --- all of it --- */

static void *
lines(size_t size)
{
	void *memory = aligned_alloc(64, RTE_ALIGN(size, 64));

	if (memory == NULL)
		abort();
	memset(memory, 0, RTE_ALIGN(size, 64));
	return memory;
}

static void
make_home(uint32_t index)
{
	static const char *const bells[] = {
		"summary %u of home 0's bell", "summary %u of home 1's bell"};
	static const char *const names[] = {"home 0", "home 1"};
	struct trip_home *home;

	nics.memory[index] = lines(trip_home_size(&nics.shape));
	home = trip_home_init(nics.memory[index], &nics.engine, index, &nics.shape);
	if (home == NULL)
		abort();
	nics.engine.homes[index] = home;
	home->budget = 8u << sim_draw(4);
	/* It has nothing to repair. */
	home->scrub.period_tsc = home->scrub.next_tsc = NICS_NEVER;
	home->fed.period_tsc = nics.refresh;
	home->clock = now_of;
	sim_name(home->doorbell.summary, 8, TRIP_DOORBELL_WORDS, bells[index]);
	(void)sim_spawn(names[index], false, run_home, home);
}

static void
make_engine(void)
{
	nics.engine.cntrs_per_home = CNTRS;
	nics.engine.waiters_per_home = nics.shape.n_waiters = 2;
	nics.engine.functions = &nics.function;
	nics.engine.n_functions = 1;
	nics.engine.tsc_hz = 1000000000;
	nics.engine.n_flows = NIC_FLOWS;
	nics.engine.flows = nics.slots;
	nics.engine.feeds = nics.feeds;
	nics.engine.reads = nics.reads = lines(NIC_FLOWS * sizeof(*nics.reads));
	nics.engine.folded = nics.folded;
	nics.engine.actions = nics.actions;
	nics.engine.changed = &nics.changed;
	/* As if there had been enough for all pools but the first. */
	atomic_init(&nics.engine.most_counted, FLOWS_A_POOL * (nics.nic.pools - 1));
	nics.shape.n_cntrs = CNTRS;
	nics.shape.n_slots = SLOTS;
	nics.shape.n_handler_slots = 4;
	nics.shape.n_events = SLOTS;
	nics.shape.n_clients = 1;
	nics.shape.n_client_slots = CLIENT_SLOTS;
	nics.shape.n_channels = 2 + nics.engine.n_homes;
}

static void
notify(void *arg, enum trip_port_event event)
{
}

static void
open_port(void)
{
	nic_begin(&nics.nic);
	if (trip_hard_open(&nics.hard, &nics.engine, 0, 0, (uint32_t)(nics.period / 1000), notify,
		    NULL) != 0)
		abort();
	/* The NIC's is known. */
	nics.hard->facts.port.refresh_lag_ns = nics.nic.lag;
	nics.hard->facts.port.refresh_lag_from = TRIP_PORT_FACT_KNOWN;
	nics.hard->lag.bound = nics.hard->lag.assumed = nics.nic.lag;
	sim_name(&nics.hard->desk.tickets, 8, 1, "tickets drawn");
	sim_name(&nics.hard->desk.served, 8, 1, "tickets served");
	sim_name(&nics.hard->desk.asleep, 1, 1, "whether the worker sleeps");
	sim_name(&nics.hard->beats.ran_tsc, 8, 1, "what beats have counted");
	sim_name(&nics.hard->beats.wanted, 4, 1, "beats that are wanted");
	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		static const char *const done[] = {
			"errands of home 0 that are done", "errands of home 1 that are done"};

		trip_errand_init(&nics.hard->desk.rings[h],
			&nics.hard->errands[(size_t)h * TRIP_HARD_ERRANDS], nics.errands);
		sim_name(&nics.hard->desk.rings[h].done, 4, 1, done[h]);
	}
	atomic_init(&nics.engine.desks[0], &nics.hard->desk);
}

static void
draw_lateness(struct nic_lateness *lateness)
{
	lateness->asks = sim_draw(2) == 0;
	lateness->held_every = sim_draw(3) == 0 ? 0 : 1 + (uint32_t)sim_draw(4);
	/* Once in a while longer than anybody waits. */
	lateness->held_lags = sim_draw(4) == 0 ? 12 : 4;
	lateness->bad_alarms = sim_draw(8) == 0 ? 1 + (uint32_t)sim_draw(4) : 0;
}

static void
begin(void)
{
	struct nic_lateness lateness = {0};
	uint32_t slow;

	memset(&nics, 0, sizeof(nics));
	nics_plan();
	make_engine();
	sim_local(&trip_engine_current);
	sim_local(&trip_hard_current);
	sim_patience(nics_patience());
	for (uint32_t h = 0; h < nics.engine.n_homes; h++)
		make_home(h);
	open_port();
	nic_interrupt(sim_draw(4) == 0 ? 2 + (uint32_t)sim_draw(30) : 0);
	draw_lateness(&lateness);
	nics_openings_begin();
	(void)sim_spawn("control", false, nics_control, NULL);
	(void)sim_spawn("wire", false, run_wire, NULL);
	(void)sim_spawn("reader", false, run_reader, NULL);
	if (nics.n_events > 0)
		(void)sim_spawn("port", false, nics_port, NULL);
	if (nics.comes_late)
		lateness.held_every = 1;
	if (nics.nic.pools > 1)
		lateness = (struct nic_lateness){.asks = lateness.asks, .seldom = true};
	nic_begin_interrupt(&lateness);
	nics_client_begin();
	slow = sim_draw(2) == 0 ? 0 : 1 + (uint32_t)sim_draw(4);
	if (nics.comes_late)
		slow = nics.nic.pools == 1;
	nic_hold_readings(slow);
	/* What is done to all flows takes several batches, then. */
	if (sim_draw(2) == 0 || nics.stops)
		nics.hard->batch = 1 + (uint32_t)sim_draw(2);
	nics_lasting_begin();
}

static void
forget(void)
{
	for (uint32_t f = 0; f < NIC_FLOWS; f++)
		trip_rule_fini(&nics.flows[f].rule);
	nics_client_forget();
	nics_openings_forget();
	if (!nics.closed) {
		/* Its actor is gone with the history. */
		nics.hard->started = false;
		if (nics.hard->rules.templates != NULL)
			trip_template_close(nics.hard->rules.templates, true);
		trip_hard_close(nics.hard);
	}
	for (uint32_t h = 0; h < nics.engine.n_homes; h++) {
		trip_home_fini(nics.engine.homes[h]);
		free(nics.memory[h]);
	}
	free(nics.reads);
}

int
main(int argc, char **argv)
{
	static const struct sim_world world = {.name = "nics",
		.length = 8192,
		.begin = begin,
		.judge = nics_judge,
		.forget = forget};

	return sim_main(argc, argv, &world);
}
