/* SPDX-License-Identifier: BSD-3-Clause */
/* Whoever waits for homes, or runs them by hand. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#include "domain/detach.h"
#include "domain/error.h"
#include "domain/launch.h"
#include "domain/progress.h"
#include "call.h"
#include "hard.h"

/* How long a thread that runs no homes lets them go on. */
static const struct timespec follow_pause = {.tv_nsec = 20000};
/* Longer than a burst takes whose thread is not kept from its CPU. */
#define BURST_US 20

static unsigned int
progress_all(struct trip_domain *domain)
{
	unsigned int done = 0;

	for (uint32_t i = 0; i < domain->engine.n_homes; i++)
		done += trip_launch_iterate(domain->engine.homes[i]);
	return done;
}

int
trip_progress(struct trip_domain *domain)
{
	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	if (domain->attr.progress != TRIP_PROGRESS_MANUAL)
		return trip_error_set(EINVAL, "domain \"%s\" progresses by itself", domain->name);
	/* From a function that a home is calling: the outer call goes on anyway. */
	return trip_domain_on_home(domain) ? 0 : (int)progress_all(domain);
}

bool
trip_progress_on_worker(const struct trip_domain *domain)
{
	return trip_hard_current != NULL || trip_domain_on_home(domain);
}

int
trip_progress_check_worker(
	const struct trip_domain *domain, const char *object, uint32_t number, const char *change)
{
	return trip_progress_on_worker(domain)
		       ? trip_error_set(EDEADLK,
				 "%s %" PRIu32
				 ": neither a home nor a port's worker can %s, which would "
				 "wait for it",
				 object, number, change)
		       : 0;
}

int
trip_progress_check_named(
	const struct trip_domain *domain, const char *object, const char *name, const char *change)
{
	if (trip_detach_check(domain) != 0)
		return -ESHUTDOWN;
	return trip_progress_on_worker(domain)
		       ? trip_error_set(EDEADLK,
				 "%s \"%s\": neither a home nor a port's worker can %s, which "
				 "would wait for it",
				 object, name, change)
		       : 0;
}

static _Thread_local bool follows;

void
trip_progress_follow(void)
{
	follows = true;
}

void
trip_progress_lock(struct trip_domain *domain)
{
	if (domain->attr.progress == TRIP_PROGRESS_LCORE) {
		pthread_mutex_lock(&domain->control);
		return;
	}
	while (pthread_mutex_trylock(&domain->control) != 0)
		trip_progress_wait(domain);
}

void
trip_progress_wait(struct trip_domain *domain)
{
	if (follows) {
		nanosleep(&follow_pause, NULL);
		return;
	}
	/* Service cores may be stopped: then it is on us. */
	if (domain->attr.progress == TRIP_PROGRESS_LCORE || progress_all(domain) == 0)
		sched_yield();
}

void
trip_progress_wait_burst(uint64_t began)
{
	if (rte_rdtsc() - began < rte_get_tsc_hz() / US_PER_S * BURST_US)
		rte_pause();
	else
		nanosleep(&follow_pause, NULL);
}

void
trip_progress_quiesce(struct trip_domain *domain)
{
	for (uint32_t i = 0; i < domain->engine.n_homes; i++) {
		struct trip_home *home = domain->engine.homes[i];
		uint64_t epoch = trip_home_epoch(home);

		/* A primary that has ended may have been killed in the middle of one. */
		while (!trip_home_quiesced(home, epoch) && trip_detach_check(domain) == 0)
			trip_progress_wait(domain);
	}
}

void
trip_progress_post(struct trip_domain *domain, struct trip_home *home,
	void (*function)(struct trip_home *home, uint32_t arg), uint32_t arg)
{
	while (!trip_call_post(home, function, arg))
		trip_progress_wait(domain);
}

void
trip_progress_call(struct trip_domain *domain, struct trip_home *home,
	void (*function)(struct trip_home *home, uint32_t arg), uint32_t arg)
{
	uint32_t mark;

	trip_progress_post(domain, home, function, arg);
	mark = trip_call_mark(home);
	while (!trip_call_ran(home, mark))
		trip_progress_wait(domain);
}
