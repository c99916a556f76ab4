/* SPDX-License-Identifier: BSD-3-Clause */
/* A port stops, starts, is reset or removed: what becomes of its rules. */
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "life.h"
#include "notice.h"
#include "refresher.h"
#include "source.h"
#include "sweep.h"
#include "template.h"

/* Rules that are taken out or put back together. */
#define BATCH TRIP_BATCH_MAX

/* What becomes of the handles of rules and of shared counters. */
enum handles {
	/* They are good: read, and take out. */
	HANDLES_GOOD,
	/* So they are, but the driver is about to throw those of counters away. */
	HANDLES_LAST,
	/* The driver has thrown those of rules away, and those of counters where it says so. */
	HANDLES_STOPPED,
	/* It has thrown all away. */
	HANDLES_DEAD,
};

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

/* The rule of a flow is gone for good: its counters are told by their error value. */
static void
lose(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	flow->ended = true;
	/* A shared counter may have more to show, until it is final. */
	if (flow->rule.shared == NULL)
		trip_sweep_finish(hard, flow);
	trip_engine_stat(&hard->stats->lost, 1);
	atomic_store_explicit(&hard->engine->flows[flow->index].lost, true, memory_order_relaxed);
	trip_source_fail(hard->engine, flow->index);
}

/* A removed port is there until it is closed, and closing it is not safe over a shared counter:
 * mlx5's DV engine, where it reads counters one by one, then takes a value of the counter for a
 * pointer. With templates it is the other way round: a flow queue may never answer again, and what
 * is not given back goes with the port. So it is where the device was recovering: nobody knows
 * whether the handles are good. */
static void
give_back(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	if (hard->rules.templates == NULL && !hard->paused) {
		(void)trip_rule_take(&hard->rules, &flow->rule);
		trip_rule_unshare(hard->port_id, &flow->rule);
	}
	trip_rule_forget(&hard->rules, &flow->rule);
	flow->rule.shared = NULL;
}

/* What a shared counter has counted to the last; then it is given back. */
static void
read_last(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	if (flow->rule.shared == NULL)
		return;
	(void)trip_sweep_read(hard, flow);
	trip_rule_unshare(hard->port_id, &flow->rule);
}

/* What becomes of a flow's counter: also of one whose rule went before, and which is not final yet.
 */
static void
leave_counter(struct trip_hard *hard, struct trip_hard_flow *flow, enum handles handles)
{
	if (handles == HANDLES_LAST)
		read_last(hard, flow);
	if (hard->removed)
		give_back(hard, flow);
	if (handles == HANDLES_DEAD ||
		(handles == HANDLES_STOPPED && !hard->facts.port.keeps_shared))
		flow->rule.shared = NULL;
	if (flow->rule.shared != NULL)
		return;
	if (flow->ended)
		trip_sweep_finish(hard, flow);
	else
		trip_sweep_forget(hard, flow);
}

static void
take_out(struct trip_hard *hard, struct trip_hard_flow *flows[], uint32_t n, enum handles handles)
{
	struct trip_rule_change changes[BATCH];
	struct rte_flow_error error;
	bool good = handles == HANDLES_GOOD || handles == HANDLES_LAST;

	for (uint32_t i = 0; i < n; i++) {
		changes[i] = (struct trip_rule_change){
			.rule = &flows[i]->rule, .want = TRIP_RULE_TAKE, .error = &error};
		if (good)
			(void)trip_sweep_read(hard, flows[i]);
	}
	if (good)
		trip_rule_apply(&hard->rules, changes, n);
	/* While rules were waited for the driver may have told that it recovers: it is asked for
	 * nothing more. */
	if (hard->paused)
		handles = RTE_MAX(handles, HANDLES_STOPPED);
	for (uint32_t i = 0; i < n; i++) {
		leave_counter(hard, flows[i], handles);
		trip_rule_forget(&hard->rules, &flows[i]->rule);
		trip_refresher_out(hard, flows[i]);
		trip_engine_stat(&hard->stats->rules, UINT64_MAX);
	}
}

/* Fills in flows that have a rule, or have none and want one, from `at` on. */
static uint32_t
gather(const struct trip_hard *hard, uint32_t *at, bool with, struct trip_hard_flow *flows[])
{
	uint32_t n = 0;

	for (; *at < hard->engine->n_flows && n < hard->batch; ++*at) {
		struct trip_hard_flow *flow = hard->flows[*at];

		if (flow != NULL && (flow->rule.entry.flow != NULL) == with &&
			(with || !flow->ended))
			flows[n++] = flow;
	}
	return n;
}

/* Returns how many are lost. */
static uint32_t
take_all_out(struct trip_hard *hard, enum handles handles, bool for_good)
{
	struct trip_hard_flow *flows[BATCH];
	uint32_t lost = 0, at = 0, n;

	while ((n = gather(hard, &at, true, flows)) > 0) {
		take_out(hard, flows, n, handles);
		/* What is left dies. */
		if (trip_notice_pass(hard) == -EBUSY)
			handles = RTE_MAX(handles, HANDLES_STOPPED);
	}
	for (uint32_t i = 0; i < hard->engine->n_flows; i++) {
		struct trip_hard_flow *flow = hard->flows[i];

		if (flow == NULL)
			continue;
		leave_counter(hard, flow, handles);
		if (flow->ended || (flow->recreate && !for_good))
			continue;
		lose(hard, flow);
		lost++;
	}
	return lost;
}

/* The driver has thrown the tables away too. */
static void
drop_templates(struct trip_hard *hard)
{
	if (hard->rules.templates == NULL)
		return;
	trip_template_close(hard->rules.templates, true);
	hard->rules.templates = NULL;
	hard->probed = false;
}

/* When the port runs again, nothing is left in its queue, nor in its tables where they do not keep
 * it. */
static void
clear_templates(struct trip_hard *hard)
{
	struct trip_template *templates = hard->rules.templates;

	if (templates == NULL)
		return;
	templates->batch.broken = 0;
	if (!hard->facts.port.keeps_rules)
		trip_template_clear(templates);
}

/* Of a stop that is over for the driver nothing stands any more, also of what nobody could take
 * out: of all flows, or of those that are to come back. */
static void
end_stuck(struct trip_hard *hard, bool of_all)
{
	for (uint32_t i = 0; i < hard->engine->n_flows && !hard->facts.port.keeps_rules; i++) {
		struct trip_hard_flow *flow = hard->flows[i];

		if (flow != NULL && (of_all || (flow->rule.entry.flow == NULL && !flow->ended)))
			flow->rule.stuck = false;
	}
}

static void
note_back(struct trip_hard *hard, struct trip_hard_flow *flow)
{
	flow->out_tsc = 0;
	flow->final = false;
	flow->read_tsc = rte_rdtsc();
	trip_engine_stat(&hard->stats->rules, 1);
	trip_engine_stat(&hard->stats->recreated, 1);
	trip_horizon_add(&hard->horizon, flow->index, flow->read_tsc);
}

/* Returns how many are lost. */
static uint32_t
put_back(struct trip_hard *hard, struct trip_hard_flow *flows[], uint32_t n)
{
	struct trip_rule_change changes[BATCH];
	struct trip_hard_flow *asked[BATCH];
	struct rte_flow_error error;
	uint32_t n_asked = 0, lost = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct trip_rule *rule = &flows[i]->rule;

		if (hard->facts.port.indirect && rule->shared == NULL &&
			trip_rule_share(hard->port_id, rule, &error) != 0) {
			lose(hard, flows[i]);
			lost++;
			continue;
		}
		asked[n_asked] = flows[i];
		changes[n_asked++] = (struct trip_rule_change){
			.rule = rule, .want = TRIP_RULE_PUT, .drop = rule->drop, .error = &error};
	}
	trip_rule_apply(&hard->rules, changes, n_asked);
	for (uint32_t i = 0; i < n_asked; i++) {
		/* Where the port recovers or is reset it comes back after that. */
		bool is_lost = changes[i].result != 0 && !hard->paused;

		if (changes[i].result == 0)
			note_back(hard, asked[i]);
		else if (is_lost)
			lose(hard, asked[i]);
		lost += is_lost;
	}
	return lost;
}

static uint32_t
put_all_back(struct trip_hard *hard)
{
	struct trip_hard_flow *flows[BATCH];
	struct rte_flow_error error;
	uint32_t lost = 0, at = 0, n;

	trip_life_running(hard);
	hard->stopped = TRIP_HARD_RUNS;
	/* What is left when the next recovery begins comes back at its end. */
	while (trip_notice_pass(hard) == 0 && (n = gather(hard, &at, false, flows)) > 0) {
		/* After a reset. If it does not answer, the rules find that out. */
		if (!hard->probed)
			(void)trip_hard_probe(hard, &error);
		lost += put_back(hard, flows, n);
	}
	trip_notice_forward(hard, TRIP_PORT_STARTED);
	return lost;
}

static void
remove_port(struct trip_hard *hard)
{
	hard->removed = true;
	take_all_out(hard, HANDLES_DEAD, true);
	drop_templates(hard);
	hard->paused = false;
	trip_notice_forward(hard, TRIP_PORT_REMOVED);
}

/* Returns how many are lost. */
static uint32_t
stop_port(struct trip_hard *hard, enum handles handles)
{
	uint32_t lost;

	hard->running = NULL;
	lost = take_all_out(hard, handles, false);
	if (handles == HANDLES_DEAD)
		drop_templates(hard);
	trip_notice_forward(hard, TRIP_PORT_STOPPED);
	return lost;
}

int
trip_hard_stopping(struct trip_hard *hard, struct trip_hard_call *call)
{
	uint32_t lost;

	hard->stopped = TRIP_HARD_STOP_TOLD;
	if (hard->removed || hard->running == NULL)
		return 0;
	hard->running = NULL;
	lost = take_all_out(hard,
		hard->paused                    ? HANDLES_STOPPED
		: hard->facts.port.keeps_shared ? HANDLES_GOOD
						: HANDLES_LAST,
		false);
	trip_notice_forward(hard, TRIP_PORT_STOPPED);
	return (int)lost;
}

int
trip_hard_started(struct trip_hard *hard, struct trip_hard_call *call)
{
	enum trip_hard_stop stopped = hard->stopped;
	uint32_t lost = 0;

	if (hard->removed)
		return 0;
	/* One whose stop nobody has told of, or seen, is told so by its being started. */
	if (stopped == TRIP_HARD_RUNS && hard->running != NULL && !hard->facts.port.keeps_rules)
		lost = stop_port(hard, HANDLES_STOPPED);
	/* Since one that was seen rules may have gone in. Of one that was not, nobody knows since
	 * when: what is stuck may have gone in after it, and stand. */
	if (stopped != TRIP_HARD_STOP_SEEN)
		clear_templates(hard);
	if (stopped != TRIP_HARD_RUNS)
		end_stuck(hard, stopped == TRIP_HARD_STOP_TOLD);
	return (int)(lost + put_all_back(hard));
}

/* The driver has restarted the port by itself. */
static void
recover(struct trip_hard *hard)
{
	hard->paused = false;
	if (hard->facts.port.keeps_rules) {
		clear_templates(hard);
		trip_life_running(hard);
		return;
	}
	(void)stop_port(hard, HANDLES_STOPPED);
	clear_templates(hard);
	end_stuck(hard, true);
	/* Otherwise whoever has told of a stop is to tell of a start. */
	if (hard->stopped != TRIP_HARD_STOP_TOLD)
		(void)put_all_back(hard);
}

/* Nothing of it is left to wait for, not even the end of a recovery. */
static void
reset(struct trip_hard *hard)
{
	hard->paused = false;
	(void)stop_port(hard, HANDLES_DEAD);
	end_stuck(hard, true);
	hard->stopped = TRIP_HARD_STOP_TOLD;
}

/* A stop that nobody told us of: ethdev's fast path leads nowhere, or to other queues. A port that
 * has been started again looks as before: ethdev keeps no trace of a stop that is over. */
static void
look_for_stop(struct trip_hard *hard)
{
	if (hard->removed || hard->paused || hard->running == NULL ||
		fast_path(hard) == hard->running)
		return;
	(void)stop_port(hard, hard->facts.port.keeps_rules ? HANDLES_GOOD : HANDLES_STOPPED);
	/* It may just begin, and what is stuck still stand. */
	clear_templates(hard);
	if (hard->stopped == TRIP_HARD_RUNS)
		hard->stopped = TRIP_HARD_STOP_SEEN;
}

void
trip_life_look(struct trip_hard *hard)
{
	uint32_t notices = trip_notice_take(hard);

	if (hard->removed)
		return;
	if ((notices & TRIP_HARD_REMOVED) != 0) {
		hard->paused |= notices != TRIP_HARD_REMOVED;
		remove_port(hard);
		return;
	}
	/* Of what is in the set, this was told first: trip_notice_take(). */
	if ((notices & TRIP_HARD_RESET) != 0)
		reset(hard);
	hard->paused |= (notices & TRIP_HARD_RECOVERING) != 0;
	if ((notices & TRIP_HARD_RECOVERED) != 0)
		recover(hard);
	look_for_stop(hard);
}
