/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "life.h"
#include "source.h"
#include "sweep.h"

/* What becomes of the handles of rules and of shared counters. */
enum handles {
	/* They are good: read, and take out. */
	HANDLES_GOOD,
	/* The driver has thrown those of rules away, and those of counters where it says so. */
	HANDLES_STOPPED,
	/* It has thrown all away. */
	HANDLES_DEAD,
};

static const struct {
	enum rte_eth_event_type event;
	uint32_t notice;
} events[] = {
	{RTE_ETH_EVENT_INTR_RMV, TRIP_HARD_REMOVED},
	{RTE_ETH_EVENT_INTR_RESET, TRIP_HARD_RESET},
	{RTE_ETH_EVENT_ERR_RECOVERING, TRIP_HARD_RECOVERING},
	{RTE_ETH_EVENT_RECOVERY_SUCCESS, TRIP_HARD_RECOVERED},
	{RTE_ETH_EVENT_RECOVERY_FAILED, TRIP_HARD_REMOVED},
};

/* In the thread of the device's interrupts, which must not be kept: all counters of a driver may
 * depend on it. */
static int
take_note(uint16_t port_id, enum rte_eth_event_type event, void *arg, void *ret_param)
{
	struct trip_hard *hard = arg;

	for (unsigned int i = 0; i < RTE_DIM(events); i++)
		if (events[i].event == event)
			atomic_fetch_or_explicit(
				&hard->notices, events[i].notice, memory_order_release);
	trip_hard_wake(hard);
	return 0;
}

int
trip_life_watch(struct trip_hard *hard)
{
	for (unsigned int i = 0; i < RTE_DIM(events); i++) {
		int error = rte_eth_dev_callback_register(
			hard->port_id, events[i].event, take_note, hard);

		if (error != 0)
			return error;
	}
	return 0;
}

void
trip_life_unwatch(struct trip_hard *hard)
{
	for (unsigned int i = 0; i < RTE_DIM(events); i++)
		while (rte_eth_dev_callback_unregister(
			       hard->port_id, events[i].event, take_note, hard) == -EAGAIN)
			sched_yield();
}

static void *
fast_path(const struct trip_hard *hard)
{
	/* ethdev writes it in plain words when a port starts and stops; we only compare. */
	return __atomic_load_n(&rte_eth_fp_ops[hard->port_id].rxq.data, __ATOMIC_RELAXED);
}

void
trip_life_running(struct trip_hard *hard)
{
	hard->running = fast_path(hard);
}

void
trip_life_lose(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	flow->ended = true;
	/* A shared counter may have more to show, until it is final. */
	if (flow->rule.shared == NULL)
		trip_sweep_finish(hard, flow);
	trip_engine_stat(&hard->stats.lost, 1);
	atomic_store_explicit(&hard->engine->flows[flow->index].lost, true, memory_order_relaxed);
	trip_source_fail(hard->engine, flow->index);
}

/* A removed port is there until it is closed, and closing it is not safe over a shared counter:
 * mlx5's DV engine, where it reads counters one by one, then takes a value of the counter for a
 * pointer. */
static void
give_back(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	(void)trip_rule_destroy(hard->port_id, &flow->rule);
	trip_rule_unshare(hard->port_id, &flow->rule);
}

static void
take_out(struct trip_hard *hard, struct trip_hard_flow *flow, enum handles handles)
{
	bool kept = handles == HANDLES_GOOD ||
		    (handles == HANDLES_STOPPED && hard->facts.port.keeps_shared);

	if (handles == HANDLES_GOOD) {
		(void)trip_sweep_read(hard, flow);
		(void)trip_rule_destroy(hard->port_id, &flow->rule);
	}
	if (hard->removed)
		give_back(hard, flow);
	flow->rule.flow = NULL;
	flow->out_tsc = rte_rdtsc();
	if (!kept)
		flow->rule.shared = NULL;
	if (flow->rule.shared == NULL)
		trip_sweep_forget(hard, flow);
	trip_engine_stat(&hard->stats.rules, UINT64_MAX);
}

/* Returns how many are lost. */
static uint32_t
take_all_out(struct trip_hard *hard, enum handles handles, bool for_good)
{
	uint32_t lost = 0;

	for (uint32_t i = 0; i < hard->engine->n_flows; i++) {
		struct trip_hard_flow *flow = hard->flows[i];

		if (flow == NULL)
			continue;
		if (flow->rule.flow != NULL)
			take_out(hard, flow, handles);
		else if (hard->removed)
			give_back(hard, flow);
		else if (handles == HANDLES_DEAD)
			flow->rule.shared = NULL;
		if (flow->ended || (flow->recreate && !for_good))
			continue;
		trip_life_lose(hard, flow);
		lost++;
	}
	return lost;
}

static bool
put_back(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	struct rte_flow_error error;

	if (hard->facts.port.indirect && flow->rule.shared == NULL &&
		trip_rule_share(hard->port_id, &flow->rule, &error) != 0)
		return false;
	if (trip_rule_create(hard->port_id, &flow->rule, flow->rule.drop, &error) != 0)
		return false;
	flow->out_tsc = 0;
	flow->final = false;
	flow->read_tsc = rte_rdtsc();
	trip_engine_stat(&hard->stats.rules, 1);
	trip_engine_stat(&hard->stats.recreated, 1);
	trip_horizon_add(&hard->horizon, flow->index, flow->read_tsc);
	return true;
}

static uint32_t
put_all_back(struct trip_hard *hard)
{
	uint32_t lost = 0;

	trip_life_running(hard);
	for (uint32_t i = 0; i < hard->engine->n_flows; i++) {
		struct trip_hard_flow *flow = hard->flows[i];

		if (flow == NULL || flow->ended || flow->rule.flow != NULL || put_back(hard, flow))
			continue;
		trip_life_lose(hard, flow);
		lost++;
	}
	hard->notify(hard->notify_arg, TRIP_PORT_STARTED);
	return lost;
}

static void
remove_port(struct trip_hard *hard)
{
	if (hard->removed)
		return;
	hard->removed = true;
	take_all_out(hard, HANDLES_DEAD, true);
	hard->notify(hard->notify_arg, TRIP_PORT_REMOVED);
}

static void
stop_port(struct trip_hard *hard, enum handles handles)
{
	hard->running = NULL;
	take_all_out(hard, handles, false);
	hard->notify(hard->notify_arg, TRIP_PORT_STOPPED);
}

int
trip_hard_stopping(struct trip_hard *hard, struct trip_hard_call *call)
{
	uint32_t lost;

	if (hard->removed || hard->running == NULL)
		return 0;
	hard->running = NULL;
	lost = take_all_out(hard, hard->paused ? HANDLES_STOPPED : HANDLES_GOOD, false);
	hard->notify(hard->notify_arg, TRIP_PORT_STOPPED);
	return (int)lost;
}

int
trip_hard_started(struct trip_hard *hard, struct trip_hard_call *call)
{
	/* One that was reset or that has recovered is told so by its being started. */
	hard->paused = false;
	return hard->removed ? 0 : (int)put_all_back(hard);
}

/* The driver has restarted the port by itself. */
static void
recover(struct trip_hard *hard)
{
	hard->paused = false;
	if (hard->removed)
		return;
	if (hard->facts.port.keeps_rules) {
		trip_life_running(hard);
		return;
	}
	stop_port(hard, HANDLES_STOPPED);
	(void)put_all_back(hard);
}

/* A stop that nobody told us of: ethdev's fast path leads nowhere, or to other queues. */
static void
look_for_stop(struct trip_hard *hard)
{
	if (hard->removed || hard->paused || hard->running == NULL ||
		fast_path(hard) == hard->running)
		return;
	stop_port(hard, hard->facts.port.keeps_rules ? HANDLES_GOOD : HANDLES_STOPPED);
}

void
trip_life_look(struct trip_hard *hard)
{
	uint32_t notices = atomic_exchange_explicit(&hard->notices, 0, memory_order_acquire);

	if ((notices & TRIP_HARD_REMOVED) != 0) {
		remove_port(hard);
		return;
	}
	if ((notices & TRIP_HARD_RECOVERING) != 0)
		hard->paused = true;
	if ((notices & TRIP_HARD_RECOVERED) != 0)
		recover(hard);
	if ((notices & TRIP_HARD_RESET) != 0 && !hard->removed)
		stop_port(hard, HANDLES_DEAD);
	look_for_stop(hard);
}
