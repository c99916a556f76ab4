/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No ring is lost in a sleep. The monitored line is the doorbell's, which every ringer writes, and
 * it is looked at again once it is monitored: a ring before that is seen, one after that ends the
 * sleep. The home's timers, its clock's among them, end it as well; what is in neither (that the
 * domain is closed) waits for the end of the sleep, which is bounded.
 */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_pause.h>
#include <rte_power_intrinsics.h>

#include "domain/error.h"
#include "domain/idle.h"

static bool
can_monitor(void)
{
	struct rte_cpu_intrinsics intrinsics;

	rte_cpu_get_intrinsics_support(&intrinsics);
	return intrinsics.power_monitor;
}

int
trip_idle_check(const struct trip_domain_attr *attr)
{
	if (attr->idle != NULL && attr->progress != TRIP_PROGRESS_LCORE)
		return trip_error_set(
			EINVAL, "domain: idle is given, but no lcore is its own to idle on");
	for (unsigned int i = 0; attr->idle != NULL && i < attr->n_lcores; i++) {
		if ((unsigned int)attr->idle[i] > TRIP_IDLE_SLEEP)
			return trip_error_set(EINVAL, "domain: idle %d of lcore %u is unknown",
				(int)attr->idle[i], attr->lcores[i]);
		if (attr->idle[i] == TRIP_IDLE_MONITOR && !can_monitor())
			return trip_error_set(ENOTSUP,
				"domain: lcore %u cannot monitor memory: its CPU has no umwait",
				attr->lcores[i]);
	}
	return 0;
}

/* -1 keeps the lcore awake. */
static int
rung(const uint64_t value, const uint64_t opaque[RTE_POWER_MONITOR_OPAQUE_SZ])
{
	const struct trip_home *home = (const void *)(uintptr_t)opaque[0];

	return trip_home_idle(home) ? 0 : -1;
}

/* How long it may sleep now, in tsc ticks. */
static uint64_t
left(struct trip_home *home, uint64_t now)
{
	return now < home->timer_tsc ? RTE_MIN(home->idle_tsc, home->timer_tsc - now) : 0;
}

static void
monitor(struct trip_home *home)
{
	uint64_t now = trip_home_clock(home);
	struct rte_power_monitor_cond condition = {
		.addr = (void *)home->doorbell.summary,
		.size = sizeof(*home->doorbell.summary),
		.fn = rung,
		.opaque = {(uintptr_t)home},
	};

	rte_power_monitor(&condition, now + left(home, now));
}

static void
sleep_idle(struct trip_home *home)
{
	struct timespec time;
	uint64_t ns;

	if (home->now - home->busy_tsc < home->idle_tsc) {
		rte_pause();
		return;
	}
	ns = trip_engine_ns(home->engine, left(home, trip_home_clock(home)));
	time.tv_sec = (time_t)(ns / NS_PER_S);
	time.tv_nsec = (long)(ns % NS_PER_S);
	nanosleep(&time, NULL);
}

void
trip_idle_share(const struct trip_home *home)
{
	/* Who spins has been told to keep the CPU. */
	if (home->shares_cpu && home->idle != TRIP_IDLE_SPIN)
		sched_yield();
}

void
trip_idle_wait(struct trip_home *home)
{
	/* It did nothing, but a round is under way: there is no time to sleep. */
	if (!trip_home_idle(home)) {
		trip_idle_share(home);
		return;
	}
	switch ((enum trip_idle)home->idle) {
	case TRIP_IDLE_PAUSE:
		if (home->shares_cpu)
			sched_yield();
		else
			rte_pause();
		break;
	case TRIP_IDLE_SPIN:
		break;
	case TRIP_IDLE_MONITOR:
		monitor(home);
		break;
	case TRIP_IDLE_SLEEP:
		sleep_idle(home);
	}
}
