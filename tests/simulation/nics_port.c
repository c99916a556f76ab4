/* SPDX-License-Identifier: BSD-3-Clause */
/* What befalls the port: the application stops and starts it, with a word to the library or
 * without; it recovers from an error, is reset, or removed. */
#include <rte_common.h>

#include "nics.h"

void
nics_draw_event(struct nics_event *event)
{
	static const enum nics_event_kind kinds[] = {EVENT_RESTART, EVENT_RESTART, EVENT_RESTART,
		EVENT_STOP_UNTOLD, EVENT_RECOVERY, EVENT_RESET, EVENT_REMOVAL};

	event->kind = kinds[sim_draw(RTE_DIM(kinds))];
	event->rests = sim_draw(2) == 0;
	event->pauses = (uint32_t)sim_draw(UINT64_C(1) << sim_draw(6));
	event->between = (uint32_t)sim_draw(8);
}

int
nics_call(int (*run)(struct trip_hard *hard, struct trip_hard_call *call),
	struct trip_hard_flow *flow)
{
	struct rte_flow_error error = {0};
	struct trip_hard_call call = {.run = run, .flow = flow, .error = &error};
	int result;

	sim_progress();
	do
		result = trip_hard_call(nics.hard, &call);
	while (result == -EAGAIN);
	sim_progress();
	return result;
}

static int
do_nothing(struct trip_hard *hard, struct trip_hard_call *call)
{
	return 0;
}

static void
pauses(uint32_t n)
{
	for (; n > 0; n--)
		sim_pause();
}

static void
restart(const struct nics_event *event)
{
	sim_op("stops the port");
	(void)nics_call(trip_hard_stopping, NULL);
	nic_stop();
	pauses(event->between);
	sim_op("starts the port");
	nic_start();
	(void)nics_call(trip_hard_started, NULL);
}

static void
restart_untold(const struct nics_event *event)
{
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
recover(const struct nics_event *event)
{
	sim_op("has an error");
	nic_surprise(true);
	nic_go_away();
	nic_tell(RTE_ETH_EVENT_ERR_RECOVERING);
	pauses(event->between);
	sim_op("has recovered");
	nic_come_back(true);
	nic_tell(RTE_ETH_EVENT_RECOVERY_SUCCESS);
	(void)nics_call(do_nothing, NULL);
	nic_surprise(false);
}

static void
reset(const struct nics_event *event)
{
	sim_op("wants to be reset");
	nic_surprise(true);
	nic_go_away();
	nic_tell(RTE_ETH_EVENT_INTR_RESET);
	pauses(event->between);
	sim_op("is reset");
	(void)nics_call(trip_hard_stopping, NULL);
	nic_come_back(false);
	(void)nics_call(trip_hard_started, NULL);
	nic_surprise(false);
}

static void
remove_device(const struct nics_event *event)
{
	sim_op("removes the device");
	nic_remove();
}

void
nics_port(void *arg)
{
	static void (*const events[])(const struct nics_event *event) = {
		[EVENT_RESTART] = restart,
		[EVENT_STOP_UNTOLD] = restart_untold,
		[EVENT_RECOVERY] = recover,
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
