/* SPDX-License-Identifier: BSD-3-Clause */
/* What befalls the port: the application stops and starts it, with a word to the library or
 * without; it recovers from an error, is reset, or removed. */
#include <rte_common.h>

#include "nics.h"

/* Of a lag whoever is put off waits such a part. */
#define PATIENCE 8

/* Ticks for which an event goes on at the least, from one pause to the next. It has pauses of no
 * other kind, but while it waits for what somebody else does. */
#define IN_EVENT 200000

void
nics_draw_event(struct nics_event *event)
{
	static const enum nics_event_kind kinds[] = {EVENT_RESTART, EVENT_RESTART, EVENT_RESTART,
		EVENT_STOP_UNTOLD, EVENT_RECOVERY, EVENT_RECOVERY, EVENT_RECOVERY_FAILED,
		EVENT_RESET, EVENT_REMOVAL};

	event->kind = kinds[sim_draw(RTE_DIM(kinds))];
	event->rests = sim_draw(2) == 0;
	event->pauses = (uint32_t)sim_draw(UINT64_C(1) << sim_draw(6));
	event->between = (uint32_t)sim_draw(8);
	event->dies = sim_draw(4) == 0;
	event->hushed = sim_draw(2) == 0;
	event->before_stop = sim_draw(8) == 0;
	event->after_start = sim_draw(8) == 0;
	event->times = 1 + (uint32_t)sim_draw(2);
	event->succeeds = sim_draw(2) == 0;
}

int
nics_try(int (*run)(struct trip_hard *hard, struct trip_hard_call *call),
	struct trip_hard_flow *flow)
{
	struct rte_flow_error error = {0};
	struct trip_hard_call call = {.run = run, .flow = flow, .error = &error};
	int result;

	sim_progress();
	result = trip_hard_call(nics.hard, &call);
	sim_progress();
	return result;
}

/* As the runtime is; where a lag is short there is nobody to wait for. */
static void
be_patient(void)
{
	uint64_t until = sim_now() + nics.nic.lag / PATIENCE;

	if (nics.nic.pools == 1)
		return;
	sim_until(until);
	while (sim_now() < until)
		sim_pause();
}

int
nics_call(int (*run)(struct trip_hard *hard, struct trip_hard_call *call),
	struct trip_hard_flow *flow)
{
	int result;

	while ((result = nics_try(run, flow)) == -EAGAIN)
		be_patient();
	return result;
}

static void
pauses(uint32_t n)
{
	for (; n > 0; n--) {
		/* Nothing rests in the middle of an event. */
		if (nics.in_event)
			sim_until(sim_now() + IN_EVENT);
		sim_pause();
	}
}

/* --- by the driver --- */

static void
begin_recovery(const struct nics_event *event)
{
	for (uint32_t n = event->times; n > 0; n--) {
		sim_op("has an error");
		if (event->dies) {
			nic_go_away();
			pauses(1);
		}
		nic_begin_anew(RTE_ETH_EVENT_ERR_RECOVERING);
		pauses(event->between);
		if (n == 1 || !event->succeeds)
			continue;
		sim_op("has recovered, for the moment");
		nic_come_back(true);
		nic_tell(RTE_ETH_EVENT_RECOVERY_SUCCESS);
	}
}

static void
end_recovery(void)
{
	sim_op("has recovered");
	nic_come_back(true);
	nic_tell(RTE_ETH_EVENT_RECOVERY_SUCCESS);
}

static void
recover(const struct nics_event *event)
{
	begin_recovery(event);
	end_recovery();
}

static void
fail_to_recover(const struct nics_event *event)
{
	begin_recovery(event);
	sim_op("cannot recover");
	nic_remove(RTE_ETH_EVENT_RECOVERY_FAILED);
}

static void
remove_device(const struct nics_event *event)
{
	sim_op("removes the device");
	nic_remove(RTE_ETH_EVENT_INTR_RMV);
}

/* --- and by the application --- */

/* Whoever tells of a recovery is another thread than the one that stops the port. */
static struct amid {
	const struct nics_event *event;
	bool is_told, is_over;
} amid;

static void
run_amid(void *arg)
{
	pauses(amid.event->between % 4);
	begin_recovery(amid.event);
	while (!amid.is_told)
		sim_pause();
	end_recovery();
	amid.is_over = true;
	sim_progress();
}

/* Begins while the worker takes rules out because of the stop. */
static void
recover_amid(const struct nics_event *event)
{
	amid = (struct amid){.event = event};
	(void)sim_spawn("driver", false, run_amid, NULL);
	(void)nics_call(trip_hard_stopping, NULL);
	amid.is_told = true;
	sim_progress();
	sim_op("waits for the driver");
	while (!amid.is_over)
		sim_pause();
}

static void
restart(const struct nics_event *event)
{
	bool is_amid = event->hushed && event->succeeds;

	sim_op("stops the port");
	if (is_amid)
		recover_amid(event);
	else
		(void)nics_call(trip_hard_stopping, NULL);
	if (event->before_stop && !is_amid)
		recover(event);
	nic_stop();
	pauses(event->between);
	sim_op("starts the port");
	nic_start();
	if (event->after_start)
		begin_recovery(event);
	(void)nics_call(trip_hard_started, NULL);
	if (event->after_start)
		end_recovery();
}

static int
do_nothing(struct trip_hard *hard, struct trip_hard_call *call)
{
	return 0;
}

static void
restart_untold(const struct nics_event *event)
{
	/* Nor is it known of a rule that comes back after a recovery: see create(). */
	(void)nics_call(do_nothing, NULL);
	nics.untold = true;
	while (nics.creates)
		sim_pause();
	sim_op("stops the port without a word");
	nic_surprise(true);
	nic_stop();
	pauses(event->between);
	sim_op("starts the port");
	nic_start();
	(void)nics_call(trip_hard_started, NULL);
	nic_surprise(false);
	nics.untold = false;
}

static void
reset(const struct nics_event *event)
{
	sim_op("wants to be reset");
	if (event->dies) {
		nic_go_away();
		pauses(1);
	}
	nic_begin_anew(RTE_ETH_EVENT_INTR_RESET);
	pauses(event->between);
	sim_op("is reset");
	if (!event->hushed)
		(void)nics_call(trip_hard_stopping, NULL);
	nic_come_back(false);
	(void)nics_call(trip_hard_started, NULL);
}

void
nics_port(void *arg)
{
	static void (*const events[])(const struct nics_event *event) = {
		[EVENT_RESTART] = restart,
		[EVENT_STOP_UNTOLD] = restart_untold,
		[EVENT_RECOVERY] = recover,
		[EVENT_RECOVERY_FAILED] = fail_to_recover,
		[EVENT_RESET] = reset,
		[EVENT_REMOVAL] = remove_device,
	};

	for (unsigned int i = 0; i < nics.n_events && !nics.closes && !nic_is_removed(); i++) {
		const struct nics_event *event = &nics.events[i];

		sim_act(1 + event->number);
		if (event->rests)
			sim_rest();
		pauses(event->pauses);
		if (nics.closes)
			break;
		nics.in_event = true;
		events[event->kind](event);
		nics.in_event = false;
		sim_progress();
	}
}
