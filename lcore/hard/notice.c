/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes note of what a driver tells, and keeps it until the worker asks it for nothing. */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "notice.h"

#define WAIT_S 1
#define SLEEP_NS 20000

/* From here on rules die. */
#define BEGINNINGS (TRIP_HARD_RECOVERING | TRIP_HARD_RESET)

/* What one says of what was told before does not count any more. */
static const struct {
	enum rte_eth_event_type event;
	uint32_t notice, before;
} events[] = {
	{RTE_ETH_EVENT_INTR_RMV, TRIP_HARD_REMOVED, 0},
	{RTE_ETH_EVENT_INTR_RESET, TRIP_HARD_RESET, TRIP_HARD_RECOVERING | TRIP_HARD_RECOVERED},
	{RTE_ETH_EVENT_ERR_RECOVERING, TRIP_HARD_RECOVERING, TRIP_HARD_RECOVERED},
	{RTE_ETH_EVENT_RECOVERY_SUCCESS, TRIP_HARD_RECOVERED, 0},
	{RTE_ETH_EVENT_RECOVERY_FAILED, TRIP_HARD_REMOVED, 0},
};

/* Until the turn that is under way, if any, is over. */
static void
wait_for_turn(const struct trip_hard *hard)
{
	static const struct timespec pause = {.tv_nsec = SLEEP_NS};
	uint64_t until = rte_rdtsc() + WAIT_S * hard->engine->tsc_hz;
	/* Partner: trip_notice_enter(). Either the turn has seen the notice, or it is seen here. */
	uint32_t turn = atomic_load(&hard->turns);

	/* Within a call of its own it has to go on. */
	if (turn % 2 == 0 || trip_hard_current == hard)
		return;
	while (atomic_load_explicit(&hard->turns, memory_order_acquire) == turn &&
		rte_rdtsc() < until)
		nanosleep(&pause, NULL);
}

/* In a thread of the driver's. */
static int
take_note(uint16_t port_id, enum rte_eth_event_type event, void *arg, void *ret_param)
{
	struct trip_hard *hard = arg;
	unsigned int i = 0;

	while (events[i].event != event)
		i++;
	atomic_fetch_and(&hard->notices, ~events[i].before);
	atomic_fetch_or(&hard->notices, events[i].notice);
	trip_errand_wake(&hard->desk);
	if ((events[i].notice & BEGINNINGS) != 0)
		wait_for_turn(hard);
	return 0;
}

int
trip_notice_watch(struct trip_hard *hard)
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
trip_notice_unwatch(struct trip_hard *hard)
{
	for (unsigned int i = 0; i < RTE_DIM(events); i++)
		while (rte_eth_dev_callback_unregister(
			       hard->port_id, events[i].event, take_note, hard) == -EAGAIN)
			sched_yield();
}

uint32_t
trip_notice_take(struct trip_hard *hard)
{
	return atomic_exchange(&hard->notices, 0);
}

bool
trip_notice_waits(const struct trip_hard *hard)
{
	return atomic_load_explicit(&hard->notices, memory_order_relaxed) != 0;
}

void
trip_notice_enter(struct trip_hard *hard)
{
	/* Before the look at the notices. Partner: wait_for_turn(). */
	atomic_fetch_add(&hard->turns, 1);
}

void
trip_notice_leave(struct trip_hard *hard)
{
	/* Release: the calls of this turn were before what begins now. */
	atomic_fetch_add_explicit(&hard->turns, 1, memory_order_release);
}

/* The turn goes on. What was told meanwhile is taken up when it is over. */
static int
resume(struct trip_hard *hard)
{
	uint32_t notices;

	trip_notice_enter(hard);
	notices = atomic_load(&hard->notices);
	if (hard->removed || (notices & TRIP_HARD_REMOVED) != 0)
		return -ENODEV;
	hard->paused |= (notices & BEGINNINGS) != 0;
	return hard->paused ? -EBUSY : 0;
}

int
trip_notice_pass(struct trip_hard *hard)
{
	trip_notice_leave(hard);
	return resume(hard);
}

void
trip_notice_forward(struct trip_hard *hard, enum trip_port_event event)
{
	trip_notice_leave(hard);
	hard->notify(hard->notify_arg, event);
	(void)resume(hard);
}
